"""Agents that keep an exact belief: their common part, `rbc-seed` and `rbc-strong`.

With a clock, a turn gets a sixteenth of the remaining time and most of the increment, so that the
clock never runs out; 60 % of a turn go to the sense. The belief gets a quarter of a turn: on a
short clock it is kept smaller. After G. Perrotta's rule
(https://github.com/ginoperrotta/reconchess-strangefish2), without its floor.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import chess
import numpy as np

from miai import Agent, ClockReading, Decision, Json, Observation, TimeControl
from miai.agent import Judgement
from miai.errors import WeightsError
from miai.values import Evaluation, ValueUnit
from miai_rbc.agents.choice import (
    CHECK,
    Choice,
    GameProgress,
    MoveSettings,
    Scorer,
    Scores,
    choose_move,
    combine,
    draw_boards,
    make_engine,
    opponent_weights,
    window_values,
)
from miai_rbc.belief import scans
from miai_rbc.belief.belief import RbcBelief, make_belief
from miai_rbc.belief.weighted import SHIPPED, OpponentModel, WeightedBoards, blend, load_model
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.board import NOTHING
from miai_rbc.kernels.expansion import move_tables, shuffle
from miai_rbc.kernels.filters import count_king_captures, find_checks, keep_kings, play_requests
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.scan import WINDOWS, move_entries
from miai_rbc.rbc_parameters import (
    MAX_DEPTH,
    BeliefParameters,
    ModelWeights,
    SamplingParameters,
    SeedParameters,
    StrongParameters,
)
from miai_rbc.rules.actions import SENSE_NOTHING, action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import BoardGame, RbcGame
from miai_rbc.rules.observations import Event, Moved, OpponentMoved
from miai_rbc.rules.rows import BLACK_CAPTURES

_TURN_SHARE = 1 / 16
_INCREMENT_SHARE = 0.8  # of what a turn adds to the clock
_MAX_TURN = 40.0  # seconds
_BELIEF_SHARE = 0.25
_WEIGHING_SHARE = 0.3
_LIMIT_SHARE = 0.8  # of the limit of a clock with one for each decision
_BOARDS_PER_SECOND = 1_000_000.0  # expanded on a slow machine, with many repetitions
_MIN_BOARDS = 512
_UNLIMITED = 1 << 60
_CARRIED_PER_SECOND = 30_000.0  # boards that the model expands on a slow machine
_PONDERED = 2000  # boards on which moves are valued while the opponent thinks
_ENTROPY_SAMPLE = 100_000  # boards; more take time and give the same entropy
_FEW = 200  # boards; a sense gets less time for fewer of them
_CONSIDERED = 1000  # boards weighed for the scan `weighted`
_QUANTILE = 0.05  # of the weight: the low end of a move's scores
_KING = 5000.0  # centipawns that a king counts


def _seconds(clock: ClockReading, share: float) -> float:
    """Return the seconds of a share of a turn; infinite without a clock."""
    if clock.limit is None:
        return np.inf
    if clock.control.kind == "per-move":  # sense and move have a limit each
        return _LIMIT_SHARE * clock.limit
    actions = 2 if clock.control.increment_per == "action" else 1
    turn = clock.limit * _TURN_SHARE + _INCREMENT_SHARE * actions * clock.control.increment
    return share * min(_MAX_TURN, turn, 0.5 * clock.limit)


def _stating(decision: Decision, **figures: Json) -> Decision:
    return replace(decision, statistics={**decision.statistics, **figures})


class BeliefAgent(Agent):
    """Keeps all possible boards and its `progress`; subclasses choose senses and moves."""

    BELIEF: ClassVar[type[RbcBelief]] = RbcBelief
    SENSE_SHARE: ClassVar[float] = 0.6  # of a turn's time

    game: BoardGame

    def __init__(self, game: BoardGame, parameters: BeliefParameters) -> None:
        super().__init__(game)
        load_beliefs()
        self.parameters = parameters
        self._belief, self.progress = self.BELIEF(game, 0), GameProgress()
        self._pending: list[Observation] = []
        self.draw = np.random.default_rng(0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a belief of one board."""
        super().new_game(seed, player=player, log=log)
        self._pending.clear()
        self.draw = np.random.default_rng(seed)
        self._belief = make_belief(self.game, player, self.parameters, seed=seed, kind=self.BELIEF)
        self.progress = GameProgress()

    def observe(self, observation: Observation) -> None:
        """Store an observation; the belief is updated when it is needed."""
        super().observe(observation)
        self._pending.append(observation)

    @property
    def belief(self) -> RbcBelief:
        """The agent's belief, up to date with its observations."""
        while self._pending:
            count = len(self._belief.events)
            self._belief.observe(self._pending.pop(0))
            for event in self._belief.events[count:]:
                self.follow(event)
        return self._belief

    def obvious_sense(self) -> int | None:
        """Return a sense that leaves one board whatever it shows; None if there is none."""
        belief = self.belief
        if len(belief) > _FEW or not belief.complete:
            return None
        bits = scans.entropy(belief.boards, self.view.player)
        if bits.max() <= np.log2(len(belief) - 0.5):
            return None
        return scans.best_window(bits) if len(belief) > 1 else SENSE_NOTHING

    def follow(self, event: Event) -> None:
        """Called after the belief was updated by an event: remember what the own moves led to."""
        spent = self._belief.quiet / self.game.parameters.reversible_moves_limit
        self.progress.follow(event, self._belief.boards, spent)

    def act(self, clock: ClockReading) -> Decision:
        """Return a sense or a request."""
        legal, timed, now = self.view.legal_actions, clock.limit is not None, time.monotonic()
        senses = legal[0] <= SENSE_NOTHING
        limit = self.parameters.limit
        if timed:
            self._belief.patience = _BELIEF_SHARE * _seconds(clock, 1.0)
            boards = int(_BOARDS_PER_SECOND * self._belief.patience)
            self._belief.limit = min(limit, max(_MIN_BOARDS, boards))
        else:
            self._belief.patience, self._belief.limit = None, limit
        belief = self.belief
        # The fewer boards are possible, the less there is to find out.
        share = self.SENSE_SHARE
        part = share * min(1.0, len(belief) / _FEW) if senses else 1 - share
        deadline = now + _seconds(clock, part) if timed else None
        statistics: dict[str, Json] = {"boards": len(belief)}
        if belief.limit != limit:
            statistics["limit"] = belief.limit
        if belief.stashed or belief.dropped:
            statistics |= {"stashed": belief.stashed, "dropped": belief.dropped}
        if belief.rebuilt:
            statistics["rebuilt"] = belief.rebuilt
        if senses:
            obvious = self.obvious_sense()
            action = self.sense(deadline, statistics) if obvious is None else obvious
        else:
            choice = self.move(self.requests(), deadline)
            statistics |= {
                "why": choice.why,
                "candidates": choice.candidates,
                "scored_boards": choice.boards,
            }
            if choice.value is not None:
                value = Evaluation(round(choice.value, 1), ValueUnit.CENTIPAWNS)
                statistics |= value.statistics()
            action = action_of(choice.request)
        return Decision(action if action in legal else legal[0], statistics=statistics)

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Update the belief by the own move's outcome, while the opponent thinks."""
        if not stop():
            self.belief  # noqa: B018 - reading it updates it

    def requests(self) -> list[int]:
        """Return the moves that can be requested, without `NOTHING`."""
        return self.belief.boards.requests()

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the square to sense; facts for the record go into `statistics`."""
        raise NotImplementedError("the game has no senses")

    @abstractmethod
    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the move to request."""


class SamplingAgent(BeliefAgent):
    """Scores moves on sampled boards; subclasses choose senses.

    Attributes:
      move_settings: how moves are compared.
    """

    parameters: SamplingParameters
    move_settings: MoveSettings

    def __init__(self, game: BoardGame, parameters: SamplingParameters) -> None:
        super().__init__(game, parameters)
        self.load()
        self.engine = make_engine(self.parameters)
        self.scorer = Scorer(self.engine)

    def load(self) -> None:
        """Load more than beliefs need."""

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game; all earlier scores are forgotten."""
        super().new_game(seed, player=player, log=log)
        self.scorer.new_game(self.progress)

    def weigh_by_value(
        self, boards: BoardSet, deadline: float | None, *, considered: int, check: float
    ) -> tuple[BoardSet, Scores]:
        """Return boards of a belief with their probabilities; see `opponent_weights`."""
        sample = boards.sample(considered, self.draw)
        now = time.monotonic()
        until = None if deadline is None else now + _WEIGHING_SHARE * (deadline - now)
        return sample, opponent_weights(sample.rows, self.scorer, check=check, deadline=until)

    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the best move over sampled boards."""
        return choose_move(
            *(self.belief.boards, requests, self.scorer, self.draw, self.move_settings),
            deadline=deadline,
        )

    def weigh(self, boards: BoardSet, deadline: float | None) -> tuple[BoardSet, Scores]:
        """Return boards of a belief with their probabilities, here all alike."""
        return boards, np.full(len(boards), 1 / len(boards))

    def judge(self, action: int | None) -> Judgement:
        """Return the decision, and a request's value by the boards on which moves are compared.

        The statistics have ``worlds``, the number of possible boards, and where a sense is due
        ``information``: the bits that it was to give, the most that one gives, and that sense.
        """
        decision = self.act(ClockReading(control=TimeControl()))
        evaluation = Evaluation.from_statistics(decision.statistics)
        boards, weights = self.weigh(self.belief.boards, None)
        if decision.action <= SENSE_NOTHING:
            bits = scans.weighted(boards, self.view.player, weights)
            own = dict(zip(scans.CENTRES, bits.tolist(), strict=True)).get(action or 0, 0.0)
            most = [round(bits.max().item(), 3), scans.best_window(bits)]
            return _stating(decision, worlds=len(boards), information=[round(own, 3), *most]), None
        decision = _stating(decision, worlds=len(boards))
        played = [m for m in [NOTHING, *self.requests()] if action_of(m) == action]
        if not played or evaluation is None:
            return decision, None
        best = next(m for m in [NOTHING, *self.requests()] if action_of(m) == decision.action)
        sample = draw_boards(boards.rows, weights, self.move_settings.samples, self.draw)
        scores = self.scorer.matrix(sample.rows, [best, *played])
        values = combine(scores, sample.shares(len(scores)), self.move_settings)
        return decision, evaluation.value - float(values[0] - values[1])

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


class SeedAgent(SamplingAgent):
    """Senses where the boards split best by one square, and plays the best worst score."""

    parameters: SeedParameters

    def __init__(self, game: RbcGame, parameters: SeedParameters | None = None) -> None:
        super().__init__(game, parameters or SeedParameters())
        self.move_settings = MoveSettings(samples=self.parameters.samples)

    def load(self) -> None:
        """Load the scan that no other agent uses."""
        load_partition()

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the centre of the best window of the scan."""
        boards = self.belief.boards
        weights = scans.NO_WEIGHTS
        if self.parameters.scan == "weighted":
            boards, weights = self.weigh_by_value(
                boards, deadline, considered=_CONSIDERED, check=0.0
            )
        values = scans.SCANS[self.parameters.scan](boards, self.view.player, weights)
        return scans.best_window(values)


class StrongAgent(SamplingAgent):
    """Weighs boards by a model of the opponent's moves, and senses for the move that follows."""

    parameters: StrongParameters

    def __init__(self, game: RbcGame, parameters: StrongParameters | None = None) -> None:
        own = parameters or StrongParameters()
        super().__init__(game, own)
        self._configured = self.move_settings = MoveSettings(
            samples=own.samples,
            depth=MAX_DEPTH if own.search_depth is None else own.search_depth,
            low=own.low,
            quantile=_QUANTILE,
            king=_KING,
            capture=own.capture,
            evaluations=own.evaluations,
            deeper=own.deeper,
            danger=own.danger,
        )
        self._weighted: WeightedBoards | None = None

    def load(self) -> None:
        """Load the opponent model."""
        weights = self.parameters.weights
        self._carrying: tuple[OpponentModel, ModelWeights] | None = None
        if isinstance(weights, ModelWeights):
            try:
                model = load_model(Path(weights.file) if weights.file else SHIPPED)
            except WeightsError as error:
                raise WeightsError(f"weights.file: {error}") from None
            load_opponent(model)
            self._carrying = model, weights

    def act(self, clock: ClockReading) -> Decision:
        """Return a sense or a request; a clock takes the place of the budget of evaluations.

        A hard limit of every move is not a clock: its time need not be used up.
        """
        timed = clock.control.kind != "none"
        unlimited = replace(self._configured, evaluations=_UNLIMITED)
        self.move_settings = unlimited if timed else self._configured
        return super().act(clock)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with the certainty of the first board."""
        super().new_game(seed, player=player, log=log)
        if self._carrying is not None:
            model, weights = self._carrying
            self._weighted = WeightedBoards(
                self._belief.boards, model, capacity=weights.carried, seed=seed
            )

    def follow(self, event: Event) -> None:
        """Carry the probabilities of boards along, of fewer ones on a short clock."""
        super().follow(event)
        if self._weighted is not None and self._carrying is not None:
            patience = self._belief.patience
            capacity = self._carrying[1].carried
            if patience is not None:
                capacity = min(capacity, max(_MIN_BOARDS, int(_CARRIED_PER_SECOND * patience)))
            self._weighted.capacity = capacity
            self._weighted.observe(event, self._belief.boards)

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Value moves on the boards that the opponent's turn will probably lead to.

        Values are cached by position and depth, so that decisions do not depend on it when
        evaluations limit them; on a clock more boards are reached.
        """
        super().ponder(stop)
        waits = isinstance(self._belief.events[-1], Moved) if self._belief.events else False
        if self._weighted is None or not waits or stop():
            return
        boards = self._weighted.predicted(_PONDERED)
        moves = [*boards.requests(), NOTHING] if len(boards) else []
        for row in boards.rows:
            if stop():
                return
            self.scorer.matrix(row[None], moves)

    def weigh(self, boards: BoardSet, deadline: float | None) -> tuple[BoardSet, Scores]:
        """Return boards of a belief with their probabilities, by the model or by their value."""
        considered = self.parameters.considered
        if self._weighted is None or self._carrying is None:
            return self.weigh_by_value(boards, deadline, considered=considered, check=CHECK)
        carried, doubt = self._weighted.boards, self._carrying[1].doubt
        weights = blend(self._weighted, boards, doubt)
        missing = doubt * (1.0 - len(carried) / len(boards))
        if missing <= 0.0:
            return carried, weights
        others = boards.sample(considered, self.draw)  # some of them carried too
        rows = np.concatenate([carried.rows, others.rows])
        return BoardSet(rows), np.append(weights, np.full(len(others), missing / len(others)))

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the window whose outcome is worth most to the move that follows."""
        boards = self.belief.boards
        considered, weights = self.weigh(boards, deadline)
        if self._weighted is None or self._carrying is None:
            bits = scans.entropy(boards.sample(_ENTROPY_SAMPLE, self.draw), self.view.player)
        else:
            bits = scans.weighted(considered, self.view.player, weights)
            names = (*self._carrying[0].names, "random")
            statistics["likeliest"] = round(float(self._weighted.weights.max()), 4)
            statistics["style"] = names[int(np.argmax(self._weighted.styles))]
        values = window_values(
            *(considered, weights, self.view.player, self.scorer, boards.requests(), self.draw),
            self.move_settings,
            deadline=deadline,
        )
        return scans.best_window(values + self.parameters.bit * bits)

    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the best move over boards drawn by their weight."""
        boards, weights = self.weigh(self.belief.boards, deadline)
        return choose_move(
            *(boards, requests, self.scorer, self.draw, self.move_settings),
            weights=weights,
            deadline=deadline,
        )


# -- loading kernels ------------------------------------------------------------------------------


@cache
def load_beliefs() -> None:
    """Load the kernels of beliefs, scans and move choice, before a clock runs.

    After an installation they are compiled, which takes seconds; later they are read from the cache
    on disk. The embedded engine loads its own.
    """
    with FAMILY.compiling("beliefs"):
        boards = BoardSet.of_fens([BLACK_CAPTURES])
        boards.after_opponent(None)
        boards.after_opponent(None, limit=MAX_MOVES, threads=2)
        after, _ = boards.after_opponent(chess.E4)
        after.union(boards)
        _load_scans_and_choice(after)
        after.sensed(1 << chess.A8, np.zeros(7, np.uint64))
        (request, *_) = after.requests()
        after.moved(request, request, None)
        shuffle(after.rows, np.uint64(0))  # as of a belief with too many boards
        keep_kings(after.rows)
        empty = np.zeros((WINDOWS, 4), np.uint64)
        move_tables(empty, empty)
        move_entries(empty[0], empty[0].view(float), empty[1], empty[1].view(float))


def load_partition() -> None:
    """Load the scan of `SeedAgent`."""
    with FAMILY.compiling("partition"):
        scans.partition(BoardSet.of_fens([BLACK_CAPTURES]), 0)


def load_opponent(model: OpponentModel | None = None) -> None:
    """Load the kernel that carries weights along, and the scan of weighted boards."""
    with FAMILY.compiling("opponent"):
        boards = BoardSet.of_fens([BLACK_CAPTURES])
        weighted = WeightedBoards(boards, model or load_model(SHIPPED), capacity=1, seed=0)
        weighted.observe(OpponentMoved(None), boards)


def _load_scans_and_choice(boards: BoardSet) -> None:
    weights = np.ones(len(boards))
    boards.occupancy()
    for scan in (scans.entropy, scans.weighted):
        scan(boards, 0, weights)
    requests = np.array(boards.requests(), np.int32)
    count_king_captures(boards.rows, requests, weights, np.empty(len(requests)))
    find_checks(boards.rows, np.empty(len(boards), np.bool_))
    play_requests(boards.rows, requests, np.empty((len(boards), len(requests), 8), np.uint64))
    boards.copy().play(int(requests[0]))
