"""Policy gradients: train a policy on games against its earlier versions (REINFORCE).

As in Williams 1992 and Silver et al. 2016, with two improvements: the network's own value as a
baseline, if it has one, and generalised advantages (Schulman et al. 2016).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.parameters import StrictModel, parameter
from miai_go.kernels import selfplay as kernels
from miai_go.learning.data.batches import Batch
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.selfplay.policy_games import PolicyGames
from miai_go.learning.training.config_sections import NetworkTraining, PlayedGames
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner, Lesson, learning_threads, prepare_torch
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.training.training_run import Checkpoint, LossMeans, RoundsResult, TrainingRun
from miai_go.nets.oracle import Oracle


def advantages(
    values: NDArray[np.float64],
    results: NDArray[np.float32],
    games: NDArray[np.int64],
    *,
    trace: float,
) -> NDArray[np.float64]:
    """Return the generalised advantage of each move for its player (Schulman et al. 2016).

    Value differences between successive positions, with the result after the last one, are summed
    with weights 1, trace, trace squared and so on. With trace 1 the sum is the result minus the
    value, with trace 0 the next value minus this value.

    Args:
      values: expected result of each position, for the player to move, shape (n,); the games one
        after another, each in order.
      results: of the game, for the player to move, shape (n,).
      games: the number of the game of each position, shape (n,).
      trace: lambda, from 0 to 1.
    """
    out = np.zeros(len(values))
    for i in range(len(values) - 1, -1, -1):
        last = i + 1 == len(values) or games[i + 1] != games[i]
        if last:
            out[i] = carried = float(results[i]) - values[i]
        else:  # the opponent moves next, and its values have the other sign
            out[i] = carried = -values[i + 1] - values[i] - trace * carried
    return out


_CHUNK = 512


class PolicyGameSection(PlayedGames):
    """The games of training."""

    games: int = parameter(128, ge=2, multiple_of=2, unit="games", help="Games per round")
    rounds: int = parameter(500, ge=1, unit="rounds", help="Number of rounds")
    temperature: float = parameter(1.0, gt=0, le=10, help="Temperature of the policies")


class PoolSection(StrictModel):
    """The opponents: the initial weights and those of earlier rounds."""

    every: int = parameter(25, ge=1, unit="rounds", help="Rounds between new opponents")
    size: int = parameter(10, ge=1, unit="opponents", help="Number of newest opponents")


class GradientSection(StrictModel):
    """How advantages are computed."""

    trace: float = parameter(
        0.95, ge=0, le=1, help="Lambda: 1 uses the result alone, 0 the next value alone"
    )


class MatchSection(StrictModel):
    """The matches that measure progress against the initial weights."""

    every: int = parameter(25, ge=1, unit="rounds", help="Rounds between matches")
    games: int = parameter(200, ge=2, multiple_of=2, unit="games", help="Games per match")
    temperature: float = parameter(0.3, ge=0, help="Temperature of both policies")
    opening: int = parameter(6, ge=0, unit="moves", help="Opening moves sampled at temperature 1")


class ReinforceConfig(NetworkTraining):
    """The config of ``miai go train rl``."""

    game: PolicyGameSection = Field(default=PolicyGameSection())
    pool: PoolSection = Field(default=PoolSection())
    gradient: GradientSection = Field(default=GradientSection())
    match: MatchSection = Field(default=MatchSection())


def train_by_gradient(plan: TrainingPlan[ReinforceConfig]) -> RoundsResult:
    """Train to the last round, from the newest checkpoint of the plan's folder if there is one.

    Raises:
      MiaiError: names or weights are wrong, a loss is not finite, or nothing can be written.
    """
    return _Reinforcement(plan).run()


class _Reinforcement:
    def __init__(self, plan: TrainingPlan[ReinforceConfig]) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._config = config
        network, encoders, self._header = make_network(
            config.game.size, config.encoder, config.network, seed=config.run.seed
        )
        self._encoder = encoders[config.game.size]
        self._learner = Learner(network, self._encoder.scales, config, norms=config.network.norms)
        self._first = self._learner.playing_copy(self._header, self._encoder)
        self._pool: list[int] = []
        self._opened: dict[int, Oracle] = {}
        self._training = TrainingRun(
            plan.folder,
            learner=self._learner,
            save=self._save,
            state=lambda: {"pool": self._pool},
            restore=self._restore,
        )

    def run(self) -> RoundsResult:
        return self._training.rounds(self._config.game.rounds, self._round)

    def _restore(self, found: Checkpoint) -> None:
        self._pool = [int(step) for step in found.state["pool"]]

    def _round(self, number: int, journal: TrainingJournal) -> None:
        config = self._config
        if number and number % config.pool.every == 0:
            self._pool = [*self._pool, self._learner.steps][-config.pool.size :]
        own = self._learner.playing_copy(self._header, self._encoder)
        rng = np.random.default_rng([config.run.seed, number])
        games = self._play(own, rng)
        learning_threads(config.run)
        figures = self._learn(games, rng)
        figures["won"] = _score_of_even(games)
        figures["moves"] = float(np.mean([len(game.moves) for game in games]))
        text = "  ".join(f"{name} {value:.3g}" for name, value in figures.items())
        line = f"[{number + 1}/{config.game.rounds}] {text}"
        journal.note(self._learner.steps, figures, line=line)
        if (number + 1) % config.match.every == 0:
            self._match(number, journal)

    def _play(self, own: Oracle, rng: np.random.Generator) -> list[StoredGame]:
        """Return the games of a round; the learner is Black in the even ones."""
        config = self._config.game
        pool = [self._first, *(self._opponent(step) for step in self._pool)]
        opponents = 1 + rng.integers(0, len(pool), config.games)
        even = np.arange(config.games) % 2 == 0
        black, white = np.where(even, 0, opponents), np.where(even, opponents, 0)
        return self._rules(config.temperature).play([own, *pool], black, white, rng=rng)

    def _rules(self, temperature: float, *, opening: int = 0) -> PolicyGames:
        game = self._config.game
        return PolicyGames(
            size=game.size,
            half_komi=round(2 * game.komi),
            max_moves=game.max_moves,
            temperature=temperature,
            opening=opening,
        )

    def _opponent(self, step: int) -> Oracle:
        """Return the network of an earlier step, ready to play."""
        if step not in self._opened:
            path = self._training.checkpoints.weights(step)
            self._opened[step] = self._learner.earlier_player(path, self._encoder)
        return self._opened[step]

    def _learn(self, games: list[StoredGame], rng: np.random.Generator) -> dict[str, float]:
        """Train one pass over the learner's own moves; return mean losses."""
        config = self._config
        data = GoDataset.of_games(games, encoder=self._encoder)
        batches = data.batches(_CHUNK, symmetries=False, shuffle=False, with_positions=True)
        parts = list(batches)
        planes = np.concatenate([p.planes for p in parts if p.planes is not None])
        allowed = np.concatenate([_allowed(p) for p in parts])
        action = np.concatenate([p.action for p in parts])
        game = np.concatenate([p.game for p in parts])
        ply = np.concatenate([p.ply for p in parts])
        result = np.concatenate([p.result for p in parts])
        values = self._values(planes)
        gains = advantages(values, result, game, trace=config.gradient.trace)
        # The learner is Black, with the even plies, in the even games. Only its own moves are
        # learnt; those of opponents serve the values between them.
        mine = np.flatnonzero(ply % 2 == game % 2)
        gain = gains[mine]
        # Standardised, so that the size of a step does not depend on how one-sided a round was.
        gains[mine] = (gain - gain.mean()) / (gain.std() + 1e-6)
        order = rng.permutation(mine)
        means = LossMeans()
        steps = max(len(order) // config.optimiser.batch, 1)
        for rows in np.array_split(order, steps):
            lesson = Lesson(
                planes=planes[rows],
                action=action[rows],
                allowed=allowed[rows],
                weight=gains[rows].astype(np.float32),
                value=result[rows],
            )
            means.add(self._learner.learn(lesson))
        return means.take()

    def _values(self, planes: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the network's value of each position, 0 without a value head."""
        out = np.zeros(len(planes))
        for first in range(0, len(planes), _CHUNK):
            answers = self._learner.answers(planes[first : first + _CHUNK])
            if answers.value is not None:
                out[first : first + _CHUNK] = answers.value.numpy()
        return out

    def _match(self, number: int, journal: TrainingJournal) -> None:
        config = self._config.match
        own = self._learner.playing_copy(self._header, self._encoder)
        odd = np.arange(config.games) % 2
        rng = np.random.default_rng([self._config.run.seed, number, 1])
        rules = self._rules(config.temperature, opening=config.opening)
        score = _score_of_even(rules.play([own, self._first], odd, 1 - odd, rng=rng))
        line = f"  against the initial weights: {score:.1%} of {config.games} games"
        journal.note(self._learner.steps, {"match_score": score}, line=line)

    def _save(self, path: Path) -> None:
        game, run = self._config.game, self._config.run
        record = self._plan.record(
            data=f"games of its own, {game.games} a round", steps=self._learner.steps, seed=run.seed
        )
        komi = (game.komi, game.komi)
        header = self._header.trained(record, komi=komi, licence=run.licence)
        self._learner.save(path, header)


def _score_of_even(games: list[StoredGame]) -> float:
    """Return the share of the points won by the player who is Black in the even games."""
    results = [game.result * (1 if number % 2 == 0 else -1) for number, game in enumerate(games)]
    return 0.5 + 0.5 * float(np.mean(results))


def _allowed(batch: Batch) -> NDArray[np.bool_]:
    """Return the moves that the policy sampled from, shape (n, size * size + 1).

    Without this mask, each sensible move that loses would shift probability to moves that are never
    played, and nothing would reduce it again.
    """
    positions = batch.positions
    assert positions is not None
    out = np.zeros((len(positions), positions.size**2 + 1), np.bool_)
    kernels.sensible_moves(positions.words, positions.trails, out)
    return out
