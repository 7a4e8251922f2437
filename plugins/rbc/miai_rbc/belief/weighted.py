"""The probability of boards, carried from turn to turn by a model of the opponent's moves.

After the opponent's turn, a board is as probable as the boards that lead to it, each times the
probability of the move, given what the opponent may know (Bayes' rule); a sense or the outcome of
an own move rules boards out. Beyond a capacity boards are drawn by priority sampling (Duffield,
Lund and Thorup 2007), so that weights stay unbiased.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.errors import WeightsError
from miai.tensors import FileHeader, Tensors, TrainingRecord
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.board import KINGS, NO_SQUARE, NOTHING, WHITE, WORDS
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.opponent import (
    AGES,
    FEATURES,
    ModelTables,
    Successors,
    carry_weights,
    weigh_moves,
)
from miai_rbc.rules.board_set import BoardSet, count_rows
from miai_rbc.rules.buffers import POOL
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed

SHIPPED: Final = Path(__file__).parents[1] / "shipped" / "opponent.safetensors"
"""The model that is used by default."""

MAX_UNITS: Final = 256
MAX_STYLES: Final = 31
_LICENCE: Final = "GPL-3.0-or-later"
_PHASE_STARTS = (4, 8, 16, 32)  # turns
_NOISE: Final = 0.02  # for opponents unlike the model
_TINY = 1e-300  # avoids division by zero

Weights = NDArray[np.float64]


def phase_of(turn: int) -> int:
    """Return the part of a game in which the opponent's turn with this number lies, from 0."""
    return sum(turn >= start for start in _PHASE_STARTS)


class OpponentHeader(FileHeader):
    """The header of an opponent model's file.

    Attributes:
      styles: names of the players whose styles were learned.
    """

    KEY: ClassVar[str] = "miai-rbc-opponent"
    KIND: ClassVar[str] = "an opponent model of Reconnaissance Blind Chess"
    REMEDY: ClassVar[str] = "train one with `miai rbc train-opponent`"

    styles: tuple[str, ...] = Field(min_length=1, max_length=MAX_STYLES)


@dataclass(frozen=True, slots=True)
class OpponentModel:
    """Probabilities of the opponent's moves on a board, for several styles of play.

    Attributes:
      table: float32 (`FEATURES`, units), a row for each feature; unit 0 is the linear one.
      styles: float32 (styles, units), the weights of the units. The last style moves at random: all
        its weights are zero.
      names: the names of the styles but the last.
    """

    table: NDArray[np.float32]
    styles: NDArray[np.float32]
    names: tuple[str, ...]

    @property
    def tables(self) -> ModelTables:
        """Both arrays, for the kernels."""
        return ModelTables(self.table, self.styles)

    @classmethod
    def of_tensors(
        cls, tensors: Tensors, names: tuple[str, ...], *, where: str = "opponent model"
    ) -> OpponentModel:
        """Return the model in a file's tensors. Raises `WeightsError` for other shapes."""
        shapes = {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
        units = tensors["table"].shape[-1] if "table" in tensors else 0
        single = np.dtype(np.float32)
        expected = {"table": ((FEATURES, units), single), "styles": ((len(names), units), single)}
        if shapes != expected or not 1 <= units <= MAX_UNITS:
            found = ", ".join(f"{name} {list(shape)}" for name, (shape, _) in shapes.items())
            raise WeightsError(
                f"{where}: has the tensors {found}; this miai-rbc reads float32 table "
                f"[{FEATURES}, n] and styles [{len(names)}, n], n at most {MAX_UNITS}"
            )
        styles = np.concatenate([tensors["styles"], np.zeros((1, units), np.float32)])
        return cls(np.ascontiguousarray(tensors["table"]), styles, names)

    def chances(
        self, row: Words, ages: NDArray[np.uint8], turn: int
    ) -> tuple[NDArray[np.int64], Weights]:
        """Return the moves that can be taken on a board, and their probabilities.

        Returns:
          int64 (n,), passing last, and float64 (styles, n).
        """
        moves = np.empty(MAX_MOVES + 1, np.int64)
        chances = np.empty((len(self.styles), MAX_MOVES + 1))
        n = weigh_moves(row, ages, phase_of(turn), self.tables, moves, chances)
        return moves[:n], chances[:, :n]

    def write(self, path: Path, *history: TrainingRecord) -> None:
        """Write the model's file. Raises `WeightsError`."""
        header = OpponentHeader(styles=self.names, history=history, licence=_LICENCE)
        header.write(path, {"table": self.table, "styles": self.styles[:-1]})


@cache
def load_model(path: Path = SHIPPED) -> OpponentModel:
    """Return the model of a file. Raises `WeightsError`."""
    header, tensors = OpponentHeader.read_all(path)
    return OpponentModel.of_tensors(tensors, header.styles, where=str(path))


class PieceAges:
    """What the opponent may know of a player's pieces, from the player's own moves.

    See `miai_rbc.kernels.opponent.AGES`.
    """

    def __init__(self) -> None:
        self._turn = 0
        self._moved = np.full(64, -1)  # the turn in which the piece on each square moved
        self._captured = False  # on the last turn

    def add(self, event: Moved) -> None:
        """Take the player's next move into account."""
        self._captured = event.captured is not None
        if event.taken != NOTHING:
            start, end = event.taken & 63, (event.taken >> 6) & 63
            self._moved[start], self._moved[end] = -1, self._turn
        self._turn += 1

    def ages(self) -> NDArray[np.uint8]:
        """Return the age of each square before the opponent's next turn: uint8 (64,)."""
        last = self._turn - 1
        ages = np.where(self._moved < 0, 0, np.where(self._moved == last - 1, 3, AGES - 1))
        ages[(self._moved == last) & (last >= 0)] = 2 if self._captured else 1
        return ages.astype(np.uint8)


class WeightedBoards:
    """Some of the boards of a belief with their probabilities, which are carried along.

    Attributes:
      boards: distinct boards, all of them possible.
      by_style: float64 (n, styles), the probability of each board and style; their sum is one.
      capacity: maximum number of boards after the opponent's turn.
      noise: probability of an opponent's move at random.
    """

    def __init__(
        self,
        start: BoardSet,
        model: OpponentModel,
        *,
        capacity: int,
        noise: float = _NOISE,
        seed: int,
    ) -> None:
        self.capacity, self.noise = capacity, noise
        # Nothing is known of the opponent yet; its moves will tell.
        self._shares = np.full(len(model.styles), 1.0 / len(model.styles))
        self._model, self._rng = model, np.random.default_rng(seed)
        self._pieces, self._turn = PieceAges(), 0
        self._begin(start.copy())

    @property
    def weights(self) -> Weights:
        """The probabilities of the boards: float64 (n,), summing to one."""
        return np.asarray(self.by_style.sum(axis=1))

    @property
    def styles(self) -> Weights:
        """The probabilities of the opponent's styles: float64 (styles,)."""
        return np.asarray(self.by_style.sum(axis=0))

    def observe(self, event: Event, belief: BoardSet) -> None:
        """Update the weights by an event.

        Args:
          belief: all boards after it, from which some are drawn when none remains here.
        """
        match event:
            case OpponentMoved():
                self._expand(NO_SQUARE if event.captured is None else event.captured)
            case Sensed():
                seen = self.boards.rows[:, : WHITE + 1] & np.uint64(event.window)
                self._keep((seen == event.pieces).all(axis=1))
            case Moved():
                self._move(event)
        total = self.by_style.sum()
        if total > 0:
            self.by_style /= total
            self._shares = self.styles
        elif len(belief):
            self._begin(belief.sample(self.capacity, self._rng))

    def _begin(self, boards: BoardSet) -> None:
        """Give all of some boards the same weight."""
        self.boards = boards
        self.by_style = np.tile(self._shares / len(boards), (len(boards), 1))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        self.boards, self.by_style = BoardSet(self.boards.rows[kept]), self.by_style[kept]

    def _move(self, event: Moved) -> None:
        self._pieces.add(event)
        captured = NO_SQUARE if event.captured is None else event.captured
        square = np.uint64(0 if captured == NO_SQUARE else 1 << captured)
        kings = (self.boards.rows[:, KINGS] & square) != 0  # their capture would end the game
        results = np.array(
            [(t, NO_SQUARE if c is None else c) for t, c in self.boards.play(event.requested)],
            np.int64,
        ).reshape(-1, 2)
        same = (results == (event.taken, captured)).all(axis=1)
        self._keep(same & (kings == event.ends))
        # Boards that differed in what was captured are the same now, and their weights add up.
        rows, places = np.unique(self.boards.rows, axis=0, return_inverse=True)
        sums = np.zeros((len(rows), len(self._shares)))
        np.add.at(sums, places.ravel(), self.by_style)
        self.boards, self.by_style = BoardSet(rows), sums

    def predicted(self, count: int) -> BoardSet:
        """Return the most probable boards after a turn of the opponent without a capture."""
        after = copy.copy(self)
        after._rng = np.random.default_rng(0)  # so that pondering does not change later draws
        after._expand(NO_SQUARE)
        order = np.argsort(-after.weights, kind="stable")
        return BoardSet(after.boards.rows[order[:count]])

    def _expand(self, captured: int) -> None:
        """Replace boards and weights by those after the opponent's turn."""
        rows = self.boards.rows
        room = count_rows(rows, captured) + 1
        out = POOL.take(room * WORDS).reshape(room, WORDS)
        sums = np.empty((room, len(self._shares)))
        slots = np.zeros(1 << (2 * room).bit_length(), np.uint64)
        # One more row than successors: each is written behind the last, and kept if it is new.
        count = carry_weights(
            rows,
            self.by_style,
            captured,
            self.noise,
            self._pieces.ages(),
            phase_of(self._turn),
            self._model.tables,
            Successors(out, sums, slots),
        )
        self._turn += 1
        places, scale = self._drawn(sums[:count].sum(axis=1))
        self.boards = BoardSet(out[:count][places].copy())
        # The sample's weights are scaled so that every group of boards keeps its expected weight.
        self.by_style = sums[:count][places] * scale[:, None]

    def _drawn(self, weights: Weights) -> tuple[NDArray[np.int64], Weights]:
        """Return which boards are carried on, and the factors of their weights."""
        if len(weights) <= self.capacity:
            return np.arange(len(weights)), np.ones(len(weights))
        keys = weights / (1.0 - self._rng.random(len(weights)))
        order = np.argpartition(-keys, self.capacity)
        drawn, threshold = order[: self.capacity], keys[order[self.capacity]]
        return drawn, np.maximum(1.0, threshold / np.maximum(weights[drawn], _TINY))


def blend(weighted: WeightedBoards, belief: BoardSet, doubt: float) -> Weights:
    """Return the weights of the carried boards, mixed with equal ones for all of the belief: (n,).

    Boards of the belief that are not carried have the rest of the weight, which sums to one.

    A belief beyond its limit is a sample: it can lack carried boards, and be smaller than they are.
    Then the carried boards share all of the doubt.

    Args:
      doubt: share of the weight that is the same for all boards of the belief.
    """
    # The model is wrong at times: no possible board may end up without weight.
    boards = max(len(belief), len(weighted.boards))
    return (1.0 - doubt) * weighted.weights + doubt / boards
