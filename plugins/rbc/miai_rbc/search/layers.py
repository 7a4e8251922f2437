"""Layers: all boards that a root can reach under one public part, and what actions do to them.

The outcomes of a sense, a move or the opponent's turn are computed once for a whole layer. A belief
is an increasing array of board numbers, so following it is a gather. The boards of a layer are
sorted by hash, and so are those of every belief.

`Candidates` chooses the senses and moves to try, and `Valuer` values boards where the depth ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from miai.beliefs.sets import HashedSet
from miai_rbc.agents.choice import rank_candidates
from miai_rbc.belief import scans
from miai_rbc.engines.kernel import KernelEngine, KernelParameters, work_space
from miai_rbc.kernels.belief_search import (
    OVER,
    Numbers,
    Values,
    all_after,
    count_replies,
    enter,
    find_sources,
    group,
    hash_boards,
    look_up,
    mark_after,
    material,
    play_request,
    quiet_values,
    remove_pieces,
    replace_own_pieces,
    sense_outcomes,
    write_replies,
)
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import NOTHING, RIGHTS_SHIFT, STATE, WHITE, WORDS
from miai_rbc.parameters import MinimaxRules
from miai_rbc.rules.board_set import BoardSet

# -- values of boards where the depth ends ---------------------------------------------------------

DECIDED = WIN - 1000
"""Scores beyond it mean a forced king capture."""

_TABLE_MB = 4
_FIRST_ROOM = 1 << 12


def hashes_of(rows: Words) -> Words:
    """Return a 64-bit hash of each board: (n,)."""
    hashes = np.empty(len(rows), np.uint64)
    hash_boards(np.ascontiguousarray(rows), hashes)
    return hashes


class Valuer:
    """Values boards after the player's move, from the player's point of view.

    A value is the engine's score, a function of the board alone. Where the player's king is lost by
    force it is the material minus `MinimaxRules.king_loss`.

    Attributes:
      valued: the number of boards that the engine valued.
    """

    def __init__(self, rules: MinimaxRules) -> None:
        self._rules = rules
        self.valued = 0
        depth = max(1, rules.leaf_depth)
        self._engine = KernelEngine(KernelParameters(depth=depth, table_mb=_TABLE_MB))
        self._space, self._table = work_space(), np.zeros(4, np.uint64)
        self.forget()

    def forget(self) -> None:
        """Forget all boards."""
        self._keys = np.zeros(_FIRST_ROOM, np.uint64)
        self._known = np.zeros(_FIRST_ROOM)
        self._count = 0

    def values(self, rows: Words, player: int) -> Values:
        """Return the values of boards, uint64 (n, 8): float64 (n,) centipawns."""
        hashes, values = hashes_of(rows), np.empty(len(rows))
        if look_up(self._keys, self._known, hashes, values):
            missing = np.flatnonzero(np.isnan(values))
            fresh = self._fresh(rows[missing], player)
            values[missing] = fresh
            self._keep(hashes[missing], fresh)
        return values

    def lost(self, rows: Words, player: int) -> Values:
        """Return the values of boards on which the player's king is captured: float64 (n,)."""
        if self._rules.king_loss is None:
            return np.full(len(rows), -float(WIN))
        worth = np.empty(len(rows))
        material(rows, player, worth)
        return worth - self._rules.king_loss

    def best_moves(self, rows: Words, top: int) -> tuple[list[list[int]], int]:
        """Return the best moves on each board, best first, and the lowest of the best scores."""
        result = self._engine.evaluate(rows, top=top)
        moves = [[move for move in row if move != NO_MOVE] for row in result.moves.tolist()]
        return moves, int(result.scores.min())

    def _fresh(self, rows: Words, player: int) -> Values:
        self.valued += len(rows)
        theirs = np.empty(len(rows))
        if self._rules.leaf_depth:
            theirs[:] = self._engine.evaluate(rows).scores
        else:
            quiet_values(rows, *self._space, self._table, theirs)
        ours = 0.0 - theirs
        lost = np.flatnonzero(ours < -DECIDED)
        ours[lost] = self.lost(rows[lost], player)
        return ours

    def _keep(self, hashes: Words, values: Values) -> None:
        if 2 * (self._count + len(hashes)) > len(self._keys):
            keys, known = self._keys, self._known
            room = 1 << (4 * (self._count + len(hashes))).bit_length()
            self._keys, self._known = np.zeros(room, np.uint64), np.zeros(room)
            occupied = np.flatnonzero(keys)
            self._count = 0
            self._enter(keys[occupied], known[occupied])
        self._enter(hashes, values)

    def _enter(self, hashes: Words, values: Values) -> None:
        self._count += int(enter(self._keys, self._known, hashes, values))


# -- layers ----------------------------------------------------------------------------------------

AT_ROOT = -3
"""The code of the observation before the root."""


def own_pieces(row: Words, player: int) -> bytes:
    """Return a player's pieces by kind and its castling rights, which decide what it can move."""
    mine = ~row[WHITE] if player else row[WHITE]
    own = np.zeros(7, np.uint64)
    own[:6] = row[:6] & mine
    own[6] = (row[STATE] >> RIGHTS_SHIFT) & np.uint64(12 if player else 3)
    return own.tobytes()


class Candidates:
    """Chooses the senses and moves to try in the tree of one root.

    At the root they come from boards drawn there. Later the same boards are adapted: the player's
    pieces move to their current squares, and the opponent makes every move that fits the
    observation. So actions depend on the drawn boards and the public part, not on a belief.

    Args:
      drawn: (n, 8) boards drawn at the root, the player to move.

    Attributes:
      windows, moves: windows and requests, by own pieces and observation.
      lowest: the lowest score among the best moves of the boards from which moves were chosen last.
    """

    def __init__(self, rules: MinimaxRules, valuer: Valuer, drawn: Words, player: int) -> None:
        self._rules, self._valuer, self._drawn, self._player = rules, valuer, drawn, player
        self.windows: dict[tuple[bytes, int], list[int]] = {}
        self.moves: dict[tuple[bytes, int], list[int]] = {}
        self._boards: dict[tuple[bytes, int], Words] = {}
        self.lowest = 0

    def senses(self, own: bytes, capture: int) -> list[int]:
        """Return the centres of windows to sense, best first."""
        key = (own, capture)
        if key not in self.windows:
            self.windows[key] = self._windows(self._rows(own, capture))
        return self.windows[key]

    def requests(self, own: bytes, capture: int) -> list[int]:
        """Return the moves to request, best first."""
        key = (own, capture)
        if key not in self.moves:
            self.moves[key] = self._moves(self._rows(own, capture))
        return self.moves[key]

    def _rows(self, own: bytes, capture: int) -> Words:
        if capture == AT_ROOT:
            return self._drawn
        key = (own, capture)
        if key not in self._boards:
            self._boards[key] = self._adapted(own, capture)
        return self._boards[key]

    def _windows(self, rows: Words) -> list[int]:
        values = scans.entropy(BoardSet(rows), self._player)
        order = np.argsort(-values, kind="stable")[: self._rules.senses]
        return [scans.CENTRES[window] for window in order.tolist()]

    def _moves(self, rows: Words) -> list[int]:
        best_moves, self.lowest = self._valuer.best_moves(rows, self._rules.top)
        return rank_candidates(best_moves, np.ones(len(rows)), self._rules.moves) or [NOTHING]

    def _adapted(self, own: bytes, capture: int) -> Words:
        """Return boards of the root with these own pieces, after moves that fit an observation."""
        words = np.frombuffer(own, np.uint64)
        rows = np.empty_like(self._drawn)
        pieces, rights = words[:6].copy(), int(words[6])
        rows = rows[: int(replace_own_pieces(self._drawn, pieces, self._player, rights, rows))]
        starts = np.empty(len(rows) + 1, np.int64)
        count_replies(rows, starts)
        after = np.empty((int(starts[-1]), WORDS), np.uint64)
        captures = np.empty(len(after), np.int64)
        write_replies(rows, starts, after, captures)
        fit = after[captures == capture]
        if len(fit) == 0:  # no move fits the observation: remove the captured piece
            fit = rows if len(rows) else self._drawn[:1].copy()
            remove_pieces(fit, np.uint64(1 << capture if capture >= 0 else 0), self._player)
        _, first = np.unique(hashes_of(fit), return_index=True)
        return np.ascontiguousarray(fit[first[: self._rules.sample]])


SENSE, MOVE, REPLY = range(3)
"""What comes next: the player's sense, its move, or the opponent's whole turn."""


class Public(NamedTuple):
    """The public part of a belief.

    Attributes:
      root: identifies the boards drawn at the root, from which candidates are chosen.
      own: the player's pieces after its last move; see `own_pieces`.
      capture: the square of the opponent's capture since, -1 for none; `AT_ROOT` at the root.
      phase: what comes next.
    """

    root: int
    own: bytes
    capture: int
    phase: int


class Place(NamedTuple):
    """A layer, what comes next there, and the public part."""

    layer: Layer
    phase: int
    public: Public


class World:
    """The shared state of all layers below one root.

    Attributes:
      root: identifies the boards drawn.
      player: the player who searches.
    """

    def __init__(self, root: int, player: int, valuer: Valuer, candidates: Candidates) -> None:
        self.root, self.player = root, player
        self.valuer, self.candidates = valuer, candidates
        self._layers: dict[tuple[bytes, int, int], Layer] = {}

    def layer(self, rows: Words, hashes: Words, own: bytes, capture: int) -> tuple[Layer, Numbers]:
        """Return the layer of some boards, and the number of each in it."""
        distinct, first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
        key = (own, capture, HashedSet(distinct).key)
        if key not in self._layers:
            self._layers[key] = Layer(self, rows[first], distinct, own, capture)
        return self._layers[key], numbers.reshape(-1)

    def layers(self) -> list[Layer]:
        """Return all layers reached so far."""
        return list(self._layers.values())


class LayerStep:
    """The outcomes of one move, or of the opponent's turn, for each board of a layer.

    Args:
      starts: (n + 1,) index of the first outcome of each board.
      codes: (starts[n],) the observation of each outcome; `OVER` where the game ends.
      rows: (starts[n], 8) the next boards.
      ends: float64 (n,) the lowest value with which the game can end; infinity if it cannot.
      own: the player's pieces afterwards; None where it moved.

    Attributes:
      codes, layers, offsets: the possible observations, the layer after each, and the number of its
        first board when all layers are counted through; the last offset is the total.
      after: (starts[n],) the number of each next board; -1 where the game ends.
    """

    def __init__(
        self,
        world: World,
        starts: Numbers,
        codes: Numbers,
        rows: Words,
        *,
        ends: Values,
        own: bytes | None,
    ) -> None:
        self.starts, self.ends = starts, ends
        self.after = np.full(len(codes), -1, np.int64)
        self.codes = [code for code in np.unique(codes).tolist() if code != OVER]
        self.layers: list[Layer] = []
        self.offsets = [0]
        hashes = hashes_of(rows)
        for code in self.codes:
            at = np.flatnonzero(codes == code)
            pieces = own_pieces(rows[at[0]], world.player) if own is None else own
            capture = _NO_CODE if own is None else code
            layer, numbers = world.layer(rows[at], hashes[at], pieces, capture)
            self.after[at] = self.offsets[-1] + numbers
            self.layers.append(layer)
            self.offsets.append(self.offsets[-1] + len(layer))

    def parts(self, belief: Numbers) -> list[tuple[int, Numbers]]:
        """Return the parts of the next belief with their layer numbers, largest first."""
        marks = np.zeros(self.offsets[-1], np.bool_)
        mark_after(self.starts, self.after, belief, marks)
        successors = np.flatnonzero(marks)
        cuts = np.searchsorted(successors, self.offsets).tolist()
        parts = [
            (at, successors[cuts[at] : cuts[at + 1]] - self.offsets[at])
            for at in range(len(self.layers))
            if cuts[at] < cuts[at + 1]
        ]
        return sorted(parts, key=lambda part: -len(part[1]))

    def sources(self, belief: Numbers, at: int, targets: Numbers) -> Numbers:
        """Return boards of a belief that lead to all targets, preferring the first ones.

        Args:
          at, targets: the number of a layer, and boards of it.
        """
        marks = np.zeros(self.offsets[-1], np.bool_)
        marks[self.offsets[at] + targets] = True
        out = np.empty(len(belief), np.int64)
        count = find_sources(self.starts, self.after, belief, marks, len(targets), out)
        return np.sort(out[:count])

    def solved(self, closures: Mapping[int, Numbers], beta: float) -> Numbers:
        """Return the boards that lead only to solved boards and to ends of at least beta.

        Args:
          closures: solved boards, by the number of their layer.
        """
        marks, every = np.zeros(self.offsets[-1], np.bool_), np.empty(len(self.ends), np.bool_)
        for at, numbers in closures.items():
            marks[self.offsets[at] + numbers] = True
        all_after(self.starts, self.after, marks, every)
        return np.flatnonzero(every & (self.ends >= beta))


_NO_CODE = -1
_MAX_LOOKUPS = 256  # lookups cached per layer


class Layer:
    """Boards under one public part, in the order of their hashes.

    Attributes:
      rows, hashes: (n, 8), (n,) uint64.
      own, capture: as in `Public`.
      places: the places of the layer, by phase.
      best: float64 (n,) the best value of a last request found so far on each board alone; minus
        infinity at first.
    """

    def __init__(self, world: World, rows: Words, hashes: Words, own: bytes, capture: int) -> None:
        self.world, self.rows, self.hashes = world, rows, hashes
        self.own, self.capture = own, capture
        self.best = np.full(len(rows), -np.inf)
        self._labels: dict[int, tuple[Numbers, int]] = {}
        self._columns: dict[int, Values] = {}
        self._moves: dict[int, LayerStep] = {}
        self._replies: LayerStep | None = None
        self._looked_up: dict[int, Numbers] = {}
        self.places = [
            Place(self, phase, Public(world.root, own, capture, phase))
            for phase in (SENSE, MOVE, REPLY)
        ]

    def senses(self) -> list[int]:
        """Return the centres of the windows to sense."""
        return self.world.candidates.senses(self.own, self.capture)

    def requests(self) -> list[int]:
        """Return the moves to request."""
        return self.world.candidates.requests(self.own, self.capture)

    # -- beliefs --------------------------------------------------------------------------------

    def belief(self, boards: Numbers) -> HashedSet:
        """Return some boards as a set of hashes."""
        return HashedSet(self.hashes[boards])

    def find(self, belief: HashedSet) -> Numbers:
        """Return the boards of a set that are in this layer; cached, as bounds repeat sets."""
        if belief.key not in self._looked_up:
            if len(self._looked_up) >= _MAX_LOOKUPS:
                self._looked_up.clear()
            at = np.searchsorted(self.hashes, belief.hashes)
            at[at == len(self.hashes)] = 0
            self._looked_up[belief.key] = np.asarray(at[self.hashes[at] == belief.hashes])
        return self._looked_up[belief.key]

    def parts(self, belief: Numbers, centre: int) -> list[tuple[int, Numbers]]:
        """Return the parts into which a sense splits a belief, with labels, largest first."""
        labels, count = self._outcomes(centre)
        ends, out = np.zeros(count, np.int64), np.empty(len(belief), np.int64)
        group(labels, belief, ends, out)
        sizes = np.diff(ends, prepend=0)
        order = np.argsort(-sizes, kind="stable")[: int(np.count_nonzero(sizes))]
        return [
            (label, out[end - size : end])
            for label, end, size in zip(
                order.tolist(), ends[order].tolist(), sizes[order].tolist(), strict=True
            )
        ]

    def labels_of(self, some: Numbers, centre: int) -> Numbers:
        """Return the labels of a sense's results on some boards."""
        return np.asarray(self._outcomes(centre)[0][some])

    def showing(self, centre: int, label: int, some: Numbers) -> Numbers:
        """Return the boards on which a sense has the result of a label."""
        return np.asarray(some[self.labels_of(some, centre) == label])

    def _outcomes(self, centre: int) -> tuple[Numbers, int]:
        if centre not in self._labels:
            codes = np.empty(len(self), np.uint64)
            sense_outcomes(self.rows, self.world.player, centre, codes)
            distinct, labels = np.unique(codes, return_inverse=True)
            self._labels[centre] = labels.reshape(-1), len(distinct)
        return self._labels[centre]

    # -- moves ----------------------------------------------------------------------------------

    def column(self, request: int) -> Values:
        """Return the values of the boards after a last move; NaN where not yet computed."""
        if request not in self._columns:
            self._columns[request] = np.full(len(self), np.nan)
        return self._columns[request]

    def fill(self, request: int, some: Numbers) -> None:
        """Compute the column's values of some boards."""
        after, _ = self._requested(self.rows[some], request)
        values = self.world.valuer.values(after, self.world.player)
        self.column(request)[some] = values
        self.best[some] = np.maximum(self.best[some], values)

    def move(self, request: int) -> LayerStep:
        """Return the outcomes of a requested move."""
        if request not in self._moves:
            after, codes = self._requested(self.rows, request)
            ends = np.where(codes == OVER, float(WIN), np.inf)
            starts = np.arange(len(self) + 1)
            self._moves[request] = LayerStep(self.world, starts, codes, after, ends=ends, own=None)
        return self._moves[request]

    def replies(self) -> LayerStep:
        """Return the outcomes of the opponent's turn."""
        if self._replies is None:
            starts = np.empty(len(self) + 1, np.int64)
            count_replies(self.rows, starts)
            after = np.empty((int(starts[-1]), WORDS), np.uint64)
            codes = np.empty(len(after), np.int64)
            write_replies(self.rows, starts, after, codes)
            lost = np.logical_or.reduceat(codes == OVER, starts[:-1])
            ends = np.full(len(self), np.inf)
            ends[lost] = self.world.valuer.lost(self.rows[lost], self.world.player)
            self._replies = LayerStep(self.world, starts, codes, after, ends=ends, own=self.own)
        return self._replies

    def _requested(self, rows: Words, request: int) -> tuple[Words, Numbers]:
        after, codes = np.empty_like(rows), np.empty(len(rows), np.int64)
        play_request(rows, request, after, codes)
        return after, codes

    def __len__(self) -> int:
        return len(self.rows)
