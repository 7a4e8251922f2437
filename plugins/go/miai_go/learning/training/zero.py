"""AlphaGo Zero's loop: self-play by tree search, then training on it, round after round.

After Silver et al. 2017, with Gumbel search (Danihelka et al. 2022), and playout-cap randomisation,
ownership and score targets (Wu 2019). Training can mix in recorded games. A gate lets new weights
play only if they beat the best so far; a ladder of matches measures Elo.
"""

from __future__ import annotations

import csv
import io
import shutil
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, dataclass, fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter

from miai.files import write_text
from miai.pages.charts import Axis, Plot, Points, figure
from miai.process.processors import available_processors
from miai.progress import make_progress
from miai_go.errors import TrainingError, first_line
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import Shard, ShardWriter, shard_folders
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.selfplay.tree_games import (
    MatchPlayer,
    MatchResult,
    MatchRules,
    ResignTally,
    TreeSelfPlay,
    play_match,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner, Lesson, learning_threads, prepare_torch
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.training.supervised import endless, lesson_of
from miai_go.learning.training.training_run import Checkpoint, LossMeans, RoundsResult, TrainingRun
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import NetworkWeights, load_weights
from miai_go.nets.oracle import Oracle
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.search.forest import NetworkValuer, TreeSettings


def contest(
    first: Oracle, second: Oracle, config: ZeroConfig, *, games: int, simulations: int, seed: int
) -> MatchResult:
    """Play a match of two networks with PUCT, in the game of a config.

    Args:
      simulations: per move; 0 plays the policy alone.
      seed: of the openings.

    Raises:
      InferenceError: a network cannot answer.
    """
    tree = TreeSettings(c_puct=config.search.c_puct, fpu=config.search.fpu)
    players = [
        MatchPlayer(valuer=NetworkValuer(oracle, oracle), tree=tree, simulations=simulations)
        for oracle in (first, second)
    ]
    rules = MatchRules(
        size=config.game.size,
        half_komi=round(2 * config.game.komi),
        max_moves=config.game.max_moves,
        games=games,
        opening=config.ladder.opening,
        seed=seed,
    )
    return play_match(players[0], players[1], rules)


_LINE_SECONDS: Final = 15.0
"""Minimum time between two lines about the games of a round."""

FILE: Final = "ladder.csv"
PICTURE: Final = "ladder.svg"


@dataclass(frozen=True, slots=True)
class Rung:
    """One match of the ladder.

    Attributes:
      round: rounds made.
      steps: optimiser steps made.
      against: rounds that the opponent had made.
      wins, draws, losses: of the newer weights.
      elo: rating, the first rung's opponent being 0.
      margin: half the width of the 95 % interval of this match's difference.
      games: games of self-play so far.
      seconds: of all sittings so far, self-play, learning and matches.
    """

    round: int
    steps: int
    against: int
    wins: int
    draws: int
    losses: int
    elo: float
    margin: float
    games: int
    seconds: float


_RUNG: Final = TypeAdapter(Rung)


def read_ladder(folder: Path) -> list[Rung]:
    """Return the rungs of a run. Raises `TrainingError` if the file is damaged."""
    path = folder / FILE
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [_RUNG.validate_strings(row) for row in csv.DictReader(file)]
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"{path}: is not a ladder: {first_line(error)}; delete it to start again"
        ) from error


def write_ladder(folder: Path, rungs: list[Rung]) -> None:
    """Write the rungs of a run, with a picture."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow([field.name for field in fields(Rung)])
    rows.writerows(astuple(rung) for rung in rungs)
    write_text(folder / FILE, text.getvalue())
    points = [(0.0, 0.0, 0.0), *((float(rung.round), rung.elo, rung.margin) for rung in rungs)]
    write_text(folder / PICTURE, ladder_figure(points))


def ladder_figure(rungs: Sequence[tuple[float, float, float]]) -> str:
    """Return a ladder as SVG: the round, the Elo and half the 95 % interval of each rung."""
    ladder = Points(
        label="",
        points=[(round_, elo) for round_, elo, _ in rungs],
        y_spans=[(elo - margin, elo + margin) for _, elo, margin in rungs],
        series=0,
    )
    panel = Plot(
        title="",
        x=Axis(label="rounds of self-play", whole=True),
        y=Axis(label="Elo"),
        marks=[ladder],
        width=460,
    )
    note = "Each rung against the one before; bars are 95 % intervals."
    return figure("Elo of the ladder", [[panel]], note=note)


class Replay:
    """The lessons of each round; they depend on the config and the games alone.

    Args:
      games: the folder of the run's own games, a shard a round.

    Attributes:
      recorded: the recorded games; None where the config names none.

    Raises:
      DataError: the recorded games cannot be read, or none are left to learn from.
    """

    def __init__(self, config: ZeroConfig, encoder: Encoder, games: Path) -> None:
        self._config = config
        self._encoder = encoder
        self._games = games
        data = config.recorded.data(config.game.size)
        self.recorded = data.open(encoder)[0] if data else None

    def digest(self) -> str | None:
        """Return the digest of the recorded games; None without any."""
        return self.recorded.digest() if self.recorded else None

    def left_out(self) -> str:
        """Return a line about omitted recorded games; empty without any."""
        return self.recorded.left_out() if self.recorded else ""

    def description(self) -> str:
        """Return a description of the training data, for the header of the weights."""
        text = f"games of its own, {self._config.selfplay.games} a round"
        if self.recorded is not None:
            share, count = self._config.recorded.share, len(self.recorded)
            text += f"; {share:g} of the steps {count} recorded games, {self.digest()}"
        return text

    def komi(self) -> tuple[float, float]:
        """Return the minimum and maximum komi of the training games, in points."""
        own, spread = self._config.game.komi, self._config.game.komi_spread
        low, high = self.recorded.komi_range() if self.recorded else (own, own)
        return min(own - spread, low), max(own + spread, high)

    def lessons(self, number: int, *, first: int, count: int) -> Iterator[tuple[str, Lesson]]:
        """Yield the lessons of a round's steps, each with a prefix for the names of its losses.

        Lessons of recorded games are spread evenly among the round's own.

        Args:
          number: of the round, from 0.
          first: number of the run's next step.
          count: number of steps.
        """
        share = self._config.recorded.share if self.recorded else 0.0
        own, recorded = self._own(number), self._from_records(int(first * share))
        with closing(own), closing(recorded):
            for step in range(first, first + count):
                if int((step + 1) * share) > int(step * share):
                    yield "recorded_", next(recorded)
                else:
                    yield "", next(own)

    def _own(self, number: int) -> Generator[Lesson, None, None]:
        """Yield the lessons of the newest rounds' games."""
        config = self._config
        newest = shard_folders(self._games)[: number + 1][-config.replay.rounds :]
        shards = [Shard.open(folder, verify=False) for folder in newest]
        batches = endless(
            GoDataset.of_shards(shards, encoder=self._encoder),
            config.optimiser.batch,
            seed=config.run.seed + 1 + number,
            targets_only=True,
        )
        with closing(batches):
            share = config.replay.root_share
            for batch in batches:
                yield lesson_of(batch, root_share=share)

    def _from_records(self, first: int) -> Generator[Lesson, None, None]:
        """Yield the lessons of recorded games, from a given batch."""
        if self.recorded is None:
            return
        config = self._config
        batches = endless(self.recorded, config.optimiser.batch, seed=config.run.seed, first=first)
        with closing(batches):
            yield from map(lesson_of, batches)


def train_zero(
    plan: TrainingPlan[ZeroConfig], *, journal: TrainingJournal | None = None
) -> RoundsResult:
    """Train to the last round, from the newest checkpoint of the plan's folder if there is one.

    The same config and seed give the same games and weights, on any number of workers, as long as
    torch learns on one thread.

    Raises:
      MiaiError: names are wrong, a loss is not finite, or nothing can be written.
    """
    return _Zero(plan, journal).run()


class _Zero:
    def __init__(self, plan: TrainingPlan[ZeroConfig], journal: TrainingJournal | None) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._config = config
        self._folder = plan.folder / "games"
        network, encoders, self._header = make_network(
            config.game.size, config.encoder, config.network, seed=config.run.seed
        )
        self._encoder = encoders[config.game.size]
        if config.game.komi_spread and not getattr(self._encoder, "sees_komi", False):
            raise TrainingError(
                f"game.komi_spread: the encoder '{config.encoder.name}' does not show komi; set "
                "encoder.parameters = { komi = true }, or a spread of 0"
            )
        self._replay = Replay(config, self._encoder, self._folder)
        # Its copies play this komi while it learns.
        self._header = self._header.model_copy(update={"komi": self._replay.komi()})
        self._learner = Learner(network, self._encoder.scales, config, norms=config.network.norms)
        self._best: int | None = None  # the step whose weights play, where there is a gate
        self._seconds = 0.0
        self._training = TrainingRun(
            plan.folder,
            learner=self._learner,
            save=self._save,
            state=self._state,
            restore=self._restore,
            journal=journal,
        )

    def run(self) -> RoundsResult:
        """Make the remaining rounds; with a gate, return the best weights.

        The gate applies to given initial weights, too, but not to random ones.
        """
        begun = bool(self._config.gate.games and self._config.network.start)
        self._best = 0 if begun else None
        result = self._training.rounds(
            self._config.selfplay.rounds,
            self._round,
            keep_first=begun,
            greeting=self._replay.left_out(),
        )
        if self._config.gate.games and self._best is not None:
            return replace(result, weights=self._training.checkpoints.weights(self._best))
        return result

    def _state(self) -> dict[str, Any]:
        return {
            "best": self._best,
            "seconds": round(self._seconds, 1),
            "recorded": self._replay.digest(),
        }

    def _restore(self, found: Checkpoint) -> None:
        if found.state.get("recorded") != self._replay.digest():
            raise TrainingError(
                f"{found.folder}: was trained on other recorded games than there are now; restore "
                "them, or start again in another folder with --out"
            )
        self._best = found.state["best"]
        self._seconds = float(found.state["seconds"])

    # -- one round ----------------------------------------------------------------------------

    def _round(self, number: int, journal: TrainingJournal) -> None:
        began = time.perf_counter()
        figures = self._games(number, journal)
        figures |= self._learn(number)
        if self._config.gate.games:
            figures |= self._gate(number)
        self._seconds += time.perf_counter() - began
        text = "  ".join(f"{name} {value:.3g}" for name, value in figures.items())
        rounds = self._config.selfplay.rounds
        journal.note(self._learner.steps, figures, line=f"[{number + 1}/{rounds}] {text}")
        every = self._config.ladder.every
        if every and (number + 1) % every == 0:
            self._climb(number + 1, journal)

    def _games(self, number: int, journal: TrainingJournal) -> dict[str, float]:
        """Play the games of a round unless they exist; return their figures."""
        folders = shard_folders(self._folder) if self._folder.is_dir() else []
        for later in folders[number + 1 :]:
            shutil.rmtree(later)  # from an interrupted run
        if len(folders) > number:
            return {}
        if len(folders) < number:
            raise TrainingError(
                f"{self._folder}: has the games of {len(folders)} rounds, but {number} were made; "
                "restore them, or start again in another folder"
            )
        began = time.perf_counter()
        games, tally = self._play(number)
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

    def _play(self, number: int) -> tuple[list[StoredGame], ResignTally]:
        """Return the games of all groups, in the groups' order."""
        section = self._config.selfplay
        shares = [len(part) for part in np.array_split(np.arange(section.games), section.groups)]
        workers = min(section.workers or available_processors(), section.groups)
        oracles = self._players(workers)
        free = list(range(workers))
        stopped, counting = threading.Event(), threading.Lock()
        progress = make_progress("Play", unit="games", aside=True)
        progress.begin(done=0, total=section.games)

        def play(group: int) -> tuple[list[StoredGame], ResignTally]:
            mine = free.pop()
            try:
                # A group has a seed of its own, so that its games do not depend on the thread that
                # plays it.
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
                    with counting:
                        progress.advance("games", every=_LINE_SECONDS)
                return games, table.tally
            finally:
                free.append(mine)

        with ThreadPoolExecutor(workers) as pool:
            try:
                # In the order of the groups, whichever ends first.
                parts = list(pool.map(play, range(section.groups)))
            except BaseException:
                stopped.set()  # the other threads end with their next game
                raise
        tally = ResignTally(sum(t.held_out for _g, t in parts), sum(t.wrong for _g, t in parts))
        return [game for games, _t in parts for game in games], tally

    def _players(self, count: int) -> list[Oracle]:
        """Return the networks of self-play, one per thread."""
        if self._config.selfplay.precision == "run":
            return [self._player() for _ in range(count)]
        from miai_go.nets.onnx_export import onnx_model
        from miai_go.nets.onnx_oracle import OnnxOracle

        if self._best in {None, self._learner.steps}:
            model = self._learner.playing_model(self._header)
        else:
            path = self._training.checkpoints.weights(self._best)
            weights = load_weights(path, size=self._config.game.size)
            model = onnx_model(weights, precision="int8").SerializeToString()
        return [OnnxOracle(model, where="the network in int8") for _ in range(count)]

    def _player(self) -> Oracle:
        """Return the playing network: the newest, or the last that passed the gate."""
        if self._best not in {None, self._learner.steps}:
            return self._kept(self._best)
        return self._learner.playing_copy(self._header, self._encoder)

    def _kept(self, step: int) -> Oracle:
        """Return the network after a number of steps."""
        path = self._training.checkpoints.weights(step)
        return self._learner.earlier_player(path, self._encoder)

    def _learn(self, number: int) -> dict[str, float]:
        """Make the steps of a round; return mean losses."""
        config = self._config
        learning_threads(config.run)
        rounds = config.selfplay.rounds
        steps = config.run.steps * (number + 1) // rounds - config.run.steps * number // rounds
        means: dict[str, LossMeans] = defaultdict(LossMeans)
        lessons = self._replay.lessons(number, first=self._learner.steps, count=steps)
        for kind, lesson in lessons:
            means[kind].add(self._learner.learn(lesson))
        return {kind + name: v for kind, m in means.items() for name, v in m.take().items()}

    # -- gates and ladders --------------------------------------------------------------------

    def _gate(self, number: int) -> dict[str, float]:
        """Play the newest weights against the best; they become the best if they win."""
        if self._best is None:
            self._best = self._learner.steps
            return {}
        result = contest(
            self._learner.playing_copy(self._header, self._encoder),
            self._player(),
            self._config,
            games=self._config.gate.games,
            simulations=self._config.search.simulations,
            seed=number,
        )
        if result.score >= self._config.gate.score:
            self._best = self._learner.steps
        return {"gate": result.score}

    def _climb(self, rounds: int, journal: TrainingJournal) -> None:
        """Play the current player against the previous rung, and write the ladder."""
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
        lead, margin = result.elo()
        rung = Rung(
            round=rounds,
            steps=self._learner.steps if self._best is None else self._best,
            against=before.round if before else 0,
            wins=result.wins,
            draws=result.draws,
            losses=result.losses,
            elo=round((before.elo if before else 0.0) + lead, 1),
            margin=round(margin, 1),
            games=rounds * self._config.selfplay.games,
            seconds=round(self._seconds, 1),
        )
        write_ladder(self._plan.folder, [*rungs, rung])
        line = f"  {result.wins}-{result.draws}-{result.losses} against round {rung.against}: "
        line += f"{rung.elo:.0f} Elo in total (95 % interval of this rung: +-{rung.margin:.0f})"
        journal.note(self._learner.steps, {"elo": rung.elo}, line=line)

    def _untrained(self) -> Oracle:
        config = self._config
        network, encoders, _header = make_network(
            config.game.size, config.encoder, config.network, seed=config.run.seed
        )
        encoder = encoders[config.game.size]
        return TorchOracle(NetworkWeights(network, self._header), encoder, threads=1)

    def _save(self, path: Path) -> None:
        run = self._config.run
        record = self._plan.record(
            data=self._replay.description(), steps=self._learner.steps, seed=run.seed
        )
        komi = self._replay.komi()
        header = self._header.trained(record, komi=komi, licence=run.licence)
        self._learner.save(path, header)
