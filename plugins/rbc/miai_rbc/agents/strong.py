"""Agents of Reconnaissance Blind Chess that keep an exact belief: `rbc-seed` and `rbc-strong`.

How long to think: a share of the clock for each turn, most of it before the sense.

The share is a sixteenth of what is left, plus most of the increment, so that the clock never runs
out however long the game; within a turn 60 % go to the sense. The belief has a quarter of a turn:
on a short clock it is kept smaller. After G. Perrotta's rule
(https://github.com/ginoperrotta/reconchess-strangefish2), without its floor.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miai import Agent, ClockReading, Decision, Json, Observation, TimeControl
from miai_rbc.agents.minimax import Choice, Mixture, choose_move
from miai_rbc.agents.outcome_scan import outcome_values
from miai_rbc.agents.scoring import Scorer
from miai_rbc.agents.weights import by_opponent
from miai_rbc.belief import scans
from miai_rbc.belief.belief import RbcBelief, make_belief
from miai_rbc.belief.loading import load_beliefs
from miai_rbc.engines.protocol import make_engine
from miai_rbc.kernels.board import NOTHING
from miai_rbc.parameters import BeliefParameters, MoveParameters, SeedParameters, StrongParameters
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import RbcGame

_SHARE = 1 / 16
_INCREMENT_SHARE = 0.8
_SENSE = 0.6
_PER_MOVE = 0.8
_LONGEST = 40.0
_BELIEF = 0.25  # of a turn, for the belief
_BOARDS_A_SECOND = 1_000_000.0  # that an expansion makes of many repetitions on a slow machine
_FEWEST = 512


class Budget:
    """Deadlines of one game's turns, on the monotonic clock."""

    def sense_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the sense; None for as long as it takes."""
        return _deadline(clock, _SENSE)

    def move_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the move; None for as long as it takes."""
        return _deadline(clock, 1 - _SENSE)

    def boards(self, clock: ClockReading, limit: int) -> int:
        """Return how many boards a belief may be, so that expanding it takes a share of a turn."""
        if clock.limit is None:
            return limit
        seconds = _BELIEF * _seconds(clock.limit, clock.control, 1.0)
        return min(limit, max(_FEWEST, int(_BOARDS_A_SECOND * seconds)))

    def patience(self, clock: ClockReading) -> float | None:
        """Return the seconds to look for boards in a stash; None for as long as it takes."""
        if clock.limit is None:
            return None
        return _BELIEF * _seconds(clock.limit, clock.control, 1.0)


def _deadline(clock: ClockReading, share: float) -> float | None:
    """Return until when to think about a share of a turn."""
    if clock.limit is None:
        return None
    return time.monotonic() + _seconds(clock.limit, clock.control, share)


def _seconds(limit: float, control: TimeControl, share: float) -> float:
    if control.kind == "per-move":  # sense and move have a limit each
        return _PER_MOVE * limit
    turn = limit * _SHARE + _INCREMENT_SHARE * control.increment
    return share * min(_LONGEST, turn, 0.5 * limit)


class BeliefAgent(Agent):
    """Keeps the set of all possible boards; subclasses choose what to sense and what to move."""

    game: RbcGame

    def __init__(self, game: RbcGame, parameters: BeliefParameters) -> None:
        super().__init__(game)
        load_beliefs()
        self.parameters = parameters
        self._belief = RbcBelief(game, 0)
        self._told: list[Observation] = []
        self.draw = np.random.default_rng(0)
        self.budget = Budget()

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a belief of one board."""
        super().new_game(seed, player=player, log=log)
        self._belief.close()
        self._told.clear()
        given = self.parameters
        self.draw = np.random.default_rng(seed)
        self._belief = make_belief(self.game, player, given, seed=seed)
        self.budget = Budget()

    def observe(self, observation: Observation) -> None:
        """Remember what was told; the belief follows when it is needed."""
        super().observe(observation)
        self._told.append(observation)

    @property
    def belief(self) -> RbcBelief:
        """What the agent holds possible, after all that it was told."""
        while self._told:
            self._belief.observe(self._told.pop(0))
        return self._belief

    def act(self, clock: ClockReading) -> Decision:
        """Return what to sense or what to ask for."""
        legal = self.view.legal_actions
        sense_by, move_by = self.budget.sense_deadline(clock), self.budget.move_deadline(clock)
        self._belief.limit = self.budget.boards(clock, self.parameters.limit)
        self._belief.patience = self.budget.patience(clock)
        size = len(self.belief)
        statistics: dict[str, Json] = {"boards": size}
        if self._belief.limit != self.parameters.limit:
            statistics["limit"] = self._belief.limit
        if self.belief.stashed or self.belief.dropped:
            statistics |= {"stashed": self.belief.stashed, "dropped": self.belief.dropped}
        if self.belief.rebuilt:
            statistics["rebuilt"] = self.belief.rebuilt
        if legal[0] <= SENSE_NOTHING:
            action = self.sense(sense_by, statistics)
        else:
            choice = self.move(self.belief.boards.requests(), move_by)
            statistics |= {
                "why": choice.why,
                "candidates": choice.candidates,
                "scored_boards": choice.boards,
            }
            if choice.value is not None:
                statistics["value"] = round(choice.value, 1)
            action = PASS if choice.request == NOTHING else action_of(choice.request)
        return Decision(action if action in legal else legal[0], statistics=statistics)

    @abstractmethod
    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the square to sense; what is worth recording goes into `statistics`."""

    @abstractmethod
    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the move to ask for."""

    def close(self) -> None:
        """Release the belief's stash."""
        self._belief.close()


class MinimaxAgent(BeliefAgent):
    """Scores moves on sampled boards; subclasses choose what to sense."""

    parameters: MoveParameters

    def __init__(self, game: RbcGame, parameters: MoveParameters) -> None:
        super().__init__(game, parameters)
        self.engine = make_engine(self.parameters)
        self.scorer = Scorer(self.engine)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game; all that was valued before is forgotten."""
        super().new_game(seed, player=player, log=log)
        self.scorer.new_game()

    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the best move over sampled boards."""
        return self._choose(self.belief.boards, requests, None, deadline)

    def _choose(
        self,
        boards: BoardSet,
        requests: list[int],
        weights: NDArray[np.float64] | None,
        deadline: float | None,
    ) -> Choice:
        given = self.parameters
        return choose_move(
            boards,
            requests,
            self.scorer,
            self.draw,
            samples=given.samples,
            top=given.top,
            widest=given.widest,
            mixture=Mixture(mean=given.mean, low=given.low, quantile=given.quantile),
            weights=weights,
            deadline=deadline,
        )

    def weigh(
        self, boards: BoardSet, deadline: float | None
    ) -> tuple[BoardSet, NDArray[np.float64]]:
        """Return boards of a belief and how probable each is, by the opponent's interest."""
        considered = boards.sample(self.parameters.considered, self.draw)
        share = None
        if deadline is not None:
            now = time.monotonic()
            share = now + 0.3 * (deadline - now)
        weights = by_opponent(
            considered.rows,
            self.scorer,
            self.parameters.temperature,
            blind=self.parameters.blind,
            check=self.parameters.check,
            deadline=share,
        )
        return considered, weights

    def close(self) -> None:
        """End the engine too."""
        super().close()
        self.engine.close()


class SeedAgent(MinimaxAgent):
    """Senses where the boards split best by one square, and plays the best worst score."""

    parameters: SeedParameters

    def __init__(self, game: RbcGame, parameters: SeedParameters | None = None) -> None:
        super().__init__(game, parameters or SeedParameters())

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the centre of the best window of the scan."""
        boards = self.belief.boards
        if len(boards) == 1:
            return SENSE_NOTHING
        weights = scans.NO_WEIGHTS
        if self.parameters.scan == "weighted":
            boards, weights = self.weigh(boards, deadline)
        values = scans.SCANS[self.parameters.scan](boards, self.view.player, weights)
        return scans.best_window(values)


class StrongAgent(MinimaxAgent):
    """Weighs boards by how well they suit the opponent, and senses for the move that follows."""

    parameters: StrongParameters

    def __init__(self, game: RbcGame, parameters: StrongParameters | None = None) -> None:
        super().__init__(game, parameters or StrongParameters())

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the window whose outcome is worth most to the move that follows."""
        boards = self.belief.boards
        if len(boards) == 1:
            return SENSE_NOTHING
        given = self.parameters
        spread = scans.entropy(boards.sample(_SPREAD_OVER, self.draw), self.view.player)
        considered, weights = self.weigh(boards, deadline)
        values = outcome_values(
            considered,
            weights,
            self.view.player,
            self.scorer,
            boards.requests(),
            self.draw,
            samples=given.samples,
            top=given.top,
            widest=given.widest,
            mixture=Mixture(mean=given.mean, low=given.low, quantile=given.quantile),
            deadline=deadline,
        )
        return scans.best_window(values + _BIT * spread)

    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the best move over boards drawn by their weight."""
        considered, weights = self.weigh(self.belief.boards, deadline)
        return self._choose(considered, requests, weights, deadline)


_BIT = 8.0
"""Centipawns that a bit of information is worth beyond the move that follows."""
_SPREAD_OVER = 100_000
"""Boards that the bits are counted on: more would take time and say the same."""
