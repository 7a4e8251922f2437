"""Learning from nothing: self-play by tree search, then learning from it, round after round.

Silver et al. 2017; with Gumbel's search (Danihelka et al. 2022), playout-cap randomisation and
ownership and score as further lessons (Wu 2019).
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from miai_go.data.games import StoredGame
from miai_go.data.shards import shard_folders
from miai_go.data.writing import ShardWriter
from miai_go.errors import TrainingError
from miai_go.inference.protocol import Oracle
from miai_go.inference.torch_oracle import TorchOracle
from miai_go.networks.weights import Weights, load_weights
from miai_go.neural_search.valuers import NetworkValuer
from miai_go.selfplay.tree_games import ResignTally, TreeSelfPlay
from miai_go.training.checkpoints import Checkpoint
from miai_go.training.contests import contest
from miai_go.training.journal import Journal, Ticker
from miai_go.training.ladder import next_rung, read_ladder, write_ladder
from miai_go.training.learner import Learner
from miai_go.training.making import grown, make_network, prepare_torch
from miai_go.training.replay import Replay
from miai_go.training.rounds import (
    Ended,
    Rounds,
    default_threads,
    learning_threads,
    playing_copy,
    playing_model,
)
from miai_go.training.run_folder import Plan
from miai_go.training.zero_config import ZeroConfig


def train_zero(plan: Plan[ZeroConfig], *, journal: Journal | None = None) -> Ended:
    """Train from the newest checkpoint of the plan's folder on, or from the beginning.

    The same config and seed give the same games and weights, on any number of workers, as long as
    torch learns on one thread.

    Raises:
      MiaiError: names are wrong, a loss is not finite, or nothing can be written.
    """
    return _Zero(plan, journal).run()


class _Zero:
    def __init__(self, plan: Plan[ZeroConfig], journal: Journal | None) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._config = config
        self._folder = plan.folder / "games"
        network, self._encoder, self._header = make_network(
            config.game.size, config.encoder, config.network, seed=config.run.seed
        )
        self._replay = Replay(config, self._encoder, self._folder)
        self._learner = Learner(
            network,
            self._encoder.scales,
            optimiser=config.optimiser,
            loss=config.loss,
            run=config.run,
        )
        self._best: int | None = None  # the step whose weights play, where there is a gate
        self._seconds = 0.0
        self._rounds = Rounds(
            plan.folder,
            count=config.selfplay.rounds,
            learner=self._learner,
            header=self._grown,
            journal=journal,
        )

    def run(self) -> Ended:
        """Make the rounds that are left; where there is a gate, the weights are the best's.

        Weights that the run begins with have to be beaten, too; drawn ones have not.
        """
        begun = bool(self._config.gate.games and self._config.network.start)
        self._best = 0 if begun else None
        ended = self._rounds.run(
            self._round,
            state=self._state,
            restore=self._restore,
            keep_first=begun,
            greeting=self._replay.left_out(),
        )
        if self._config.gate.games and self._best is not None:
            return replace(ended, weights=self._rounds.checkpoints.weights(self._best))
        return ended

    def _state(self) -> dict[str, Any]:
        return {
            "best": self._best,
            "seconds": round(self._seconds, 1),
            "recorded": self._replay.digest(),
        }

    def _restore(self, found: Checkpoint) -> None:
        if found.state.get("recorded") != self._replay.digest():
            raise TrainingError(
                f"{found.folder}: learnt from other recorded games than there are now; put those "
                "back, or begin anew in another folder with --out"
            )
        self._best = found.state["best"]
        self._seconds = float(found.state["seconds"])

    # -- one round ----------------------------------------------------------------------------

    def _round(self, number: int, journal: Journal) -> None:
        began = time.perf_counter()
        figures = self._games(number, journal)
        figures |= self._learn(number)
        if self._config.gate.games:
            figures |= self._gate(number)
        self._seconds += time.perf_counter() - began
        told = "  ".join(f"{name} {value:.3g}" for name, value in figures.items())
        rounds = self._config.selfplay.rounds
        journal.note(self._learner.steps, figures, line=f"[{number + 1}/{rounds}] {told}")
        every = self._config.ladder.every
        if every and (number + 1) % every == 0:
            self._climb(number + 1, journal)

    def _games(self, number: int, journal: Journal) -> dict[str, float]:
        """Have the games of a round played, unless they are there; return figures of them."""
        folders = shard_folders(self._folder) if self._folder.is_dir() else []
        for later in folders[number + 1 :]:
            shutil.rmtree(later)  # of a run that was broken off and begun again
        if len(folders) > number:
            return {}
        if len(folders) < number:
            raise TrainingError(
                f"{self._folder}: has the games of {len(folders)} rounds, but {number} were made; "
                "put them back, or begin anew in another folder"
            )
        began = time.perf_counter()
        ticker = Ticker(journal.say, "games", self._config.selfplay.games)
        games, tally = self._play(number, ticker)
        seconds = time.perf_counter() - began
        with ShardWriter(
            self._folder,
            size=self._config.game.size,
            sources=("self-play",),
            games_a_shard=len(games) + 1,  # a round is one shard, however large
            moves_a_shard=sys.maxsize,
        ) as out:
            for game in games:
                out.add(game)
        figures = {
            "moves": float(np.mean([len(game.moves) for game in games])),
            "black": float(np.mean([game.result == 1 for game in games])),
            "games_a_second": len(games) / seconds,
        }
        if self._config.resign.below is not None and tally.held_out:
            figures["resign_wrong"] = tally.wrong / tally.held_out
        return figures

    def _play(self, number: int, ticker: Ticker) -> tuple[list[StoredGame], ResignTally]:
        """Return the games of all groups, in the groups' order."""
        section = self._config.selfplay
        shares = [len(part) for part in np.array_split(np.arange(section.games), section.groups)]
        workers = min(section.workers or default_threads(), section.groups)
        oracles = self._players(workers)
        free = list(range(workers))
        stopped = threading.Event()

        def play(group: int) -> tuple[list[StoredGame], ResignTally]:
            mine = free.pop()
            try:
                seed = int(
                    np.random.SeedSequence([self._config.run.seed, number, group]).generate_state(
                        1, np.uint64
                    )[0]
                )
                table = TreeSelfPlay(
                    self._config.games(), games=shares[group], at_once=section.at_once, seed=seed
                )
                valuer = NetworkValuer(oracles[mine], oracles[mine])
                games = []
                for game in takewhile(lambda _: not stopped.is_set(), table.play(valuer)):
                    games.append(game)
                    ticker.tick()
                return games, table.tally
            finally:
                free.append(mine)

        with ThreadPoolExecutor(workers) as pool:
            try:
                parts = list(pool.map(play, range(section.groups)))
            except BaseException:
                stopped.set()  # whoever plays on ends with the next game
                raise
        tally = ResignTally(sum(t.held_out for _g, t in parts), sum(t.wrong for _g, t in parts))
        return [game for games, _t in parts for game in games], tally

    def _players(self, count: int) -> list[Oracle]:
        """Return the network that plays in self-play, once for each thread."""
        if self._config.selfplay.precision == "run":
            return [self._player() for _ in range(count)]
        from miai_go.inference.onnx_oracle import OnnxOracle
        from miai_go.networks.onnx import onnx_model

        if self._best in {None, self._learner.steps}:
            model = playing_model(self._learner, self._header)
        else:
            path = self._rounds.checkpoints.weights(self._best)
            weights = load_weights(path, size=self._config.game.size)
            model = onnx_model(weights, precision="int8").SerializeToString()
        return [OnnxOracle(model, where="the network in int8") for _ in range(count)]

    def _player(self) -> Oracle:
        """Return the network that plays: the newest, or the best that passed the gate."""
        if self._best not in {None, self._learner.steps}:
            return self._kept(self._best)
        return playing_copy(self._learner, self._header, self._encoder, self._config.run)

    def _kept(self, step: int) -> Oracle:
        """Return the network as it was after so many steps."""
        path = self._rounds.checkpoints.weights(step)
        weights = load_weights(path, size=self._config.game.size)
        run = self._config.run
        return TorchOracle(
            weights, self._encoder, precision=run.precision, threads=1, device=run.device
        )

    def _learn(self, number: int) -> dict[str, float]:
        """Make the steps of a round; return mean figures."""
        config = self._config
        learning_threads(config.run)
        rounds = config.selfplay.rounds
        steps = config.run.steps * (number + 1) // rounds - config.run.steps * number // rounds
        sums: dict[str, float] = {}
        made = Counter[str]()
        lessons = self._replay.lessons(number, first=self._learner.steps, count=steps)
        for kind, lesson in lessons:
            for name, value in self._learner.learn(lesson).items():
                sums[kind + name] = sums.get(kind + name, 0.0) + value
                made[kind + name] += 1
        return {name: value / made[name] for name, value in sums.items()}

    # -- gates and ladders --------------------------------------------------------------------

    def _gate(self, number: int) -> dict[str, float]:
        """Let the newest weights play the best so far; they are the best if they win."""
        if self._best is None:
            self._best = self._learner.steps
            return {}
        result = contest(
            playing_copy(self._learner, self._header, self._encoder, self._config.run),
            self._player(),
            self._config,
            games=self._config.gate.games,
            simulations=self._config.search.simulations,
            seed=number,
        )
        if result.score >= self._config.gate.score:
            self._best = self._learner.steps
        return {"gate": result.score}

    def _climb(self, rounds: int, journal: Journal) -> None:
        """Play the weights that play against those of the rung before, and write the ladder."""
        config = self._config.ladder
        rungs = [rung for rung in read_ladder(self._plan.folder) if rung.round < rounds]
        before = rungs[-1] if rungs else None
        oracle = self._kept(before.steps) if before else self._untrained()
        own = self._player()
        began = time.perf_counter()
        result = contest(
            own,
            oracle,
            self._config,
            games=config.games,
            simulations=config.simulations,
            seed=rounds,
        )
        self._seconds += time.perf_counter() - began
        rung = next_rung(
            before,
            result,
            round=rounds,
            steps=self._learner.steps if self._best is None else self._best,
            games=rounds * self._config.selfplay.games,
            seconds=self._seconds,
        )
        write_ladder(self._plan.folder, [*rungs, rung])
        line = f"  {result.wins}-{result.draws}-{result.losses} against round {rung.against}: "
        line += f"{rung.elo:.0f} Elo in all (95 % of this rung: +-{rung.margin:.0f})"
        journal.note(self._learner.steps, {"elo": rung.elo}, line=line)

    def _untrained(self) -> Oracle:
        network, encoder, header = make_network(
            self._config.game.size,
            self._config.encoder,
            self._config.network,
            seed=self._config.run.seed,
        )
        return TorchOracle(Weights(network, header), encoder, threads=1)

    def _grown(self) -> Any:
        config, plan = self._config, self._plan
        return grown(
            self._header,
            command=plan.command,
            digest=plan.digest,
            data=self._replay.told(),
            run=config.run,
            steps=self._learner.steps,
            komi=self._replay.komi(),
        )
