"""The columns of a shard of positions, and making them from problems.

One number for all copies of a position: moved, turned, mirrored or with the colours exchanged.

A position is what is in its zone, which of its stones are the target, what lies next to the zone
(wall, or the edge of the board), and who moves first. Attacker and defender take the colours'
place.

From one problem to many positions: moves that change what the target's life hangs on.

A board of a zone is *alive* when the target is safe whoever moves first, *dead* when it is safe
with neither, *critical* when it depends. From a board those moves are played that change this
status: what settles a critical board, what threatens to revive a dead target or to kill a living
one. Level by level, each board once; each gives two positions, one for either first mover.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.shard_files import Columns, ShardColumn
from miai_go.life.kernels import planes as kernels
from miai_go.life.kernels.stones import ZONE_WORDS
from miai_go.life.prover import ProofVerdict, Prover, ZonePosition
from miai_go.life.zones import ATTACKER, DEFENDER, MAX_ZONE_POINTS, Zone

_EMPTY, _ATTACKER, _DEFENDER, _TARGET, _WALL, _EDGE = range(6)
_KINDS: Final = 6
_STEPS: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))
_Words = NDArray[np.uint64]


def canonical_keys(
    zone: Zone,
    attackers: Iterable[int],
    defenders: Iterable[int],
    blocks: Iterable[int],
    sides: Iterable[int],
) -> _Words:
    """Return a key of 64 bits for each position of a zone, uint64 of shape (n,).

    Args:
      attackers, defenders, blocks: as sets of points of the zone: the stones, and those of the
        defender's that are the target.
      sides: who moves first.
    """
    inside = np.array([divmod(p, zone.size) for p in zone.points], np.int64)
    rim = _rim(zone)
    around = np.array([cell for cell, _kind in rim], np.int64).reshape(-1, 2)
    kinds = np.array([kind for _cell, kind in rim], np.int64)
    values = _values(len(inside), attackers, defenders, blocks)
    best: _Words | None = None
    for turn in range(8):
        rows, columns = _turned(np.concatenate((inside, around)), turn)
        table = _drawn(rows, columns)
        own = table[np.arange(len(inside)), values].sum(1, dtype=np.uint64)
        total = own + table[np.arange(len(inside), len(rows)), kinds].sum(dtype=np.uint64)
        best = total if best is None else np.minimum(best, total)
    assert best is not None
    mover = np.fromiter(sides, np.uint64)
    return scrambled(best + mover * np.uint64(0xD6E8FEB86659FD93))


def _rim(zone: Zone) -> list[tuple[tuple[int, int], int]]:
    """Return the points next to the zone, each a wall or beyond the edge of the board."""
    own = {divmod(p, zone.size) for p in zone.points}
    around = {(r + dr, c + dc) for r, c in own for dr, dc in _STEPS} - own
    kinds = []
    for r, c in sorted(around):
        beyond = not (0 <= r < zone.size and 0 <= c < zone.size)
        kinds.append(((r, c), _EDGE if beyond else _WALL))
    return kinds


def _values(
    points: int, attackers: Iterable[int], defenders: Iterable[int], blocks: Iterable[int]
) -> NDArray[np.int64]:
    """Return what is on each point, int64 of shape (n, points)."""
    bits = np.arange(points, dtype=np.uint64)

    def has(sets: Iterable[int]) -> NDArray[np.bool_]:
        words = np.fromiter(sets, np.uint64)
        return (words[:, None] >> bits & np.uint64(1)).astype(bool)

    stones = np.where(has(attackers), _ATTACKER, np.where(has(defenders), _DEFENDER, _EMPTY))
    return np.where(has(blocks), _TARGET, stones)


def _turned(cells: NDArray[np.int64], turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns under a symmetry, moved so that the least are 0."""
    rows, columns = cells[:, 0], cells[:, 1]
    if turn & 1:
        rows = -rows
    if turn & 2:
        columns = -columns
    if turn & 4:
        rows, columns = columns, rows
    return rows - rows.min(), columns - columns.min()


def _drawn(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> _Words:
    """Return a random word for each cell and kind, uint64 of shape (cells, kinds)."""
    cell: _Words = ((rows * 64 + columns) * _KINDS)[:, None].astype(np.uint64)
    kinds: _Words = np.arange(_KINDS, dtype=np.uint64)
    return scrambled(cell + kinds)


def scrambled(words: _Words) -> _Words:
    """Return SplitMix64's digests."""
    z = words + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Words = z ^ (z >> np.uint64(31))
    return mixed


PASS: Final = 63

_Board = tuple[int, int]
_Status = tuple[bool, bool]
"""Whether the target is safe when the attacker moves first, when the defender does."""


@dataclass(frozen=True, slots=True)
class LabelledPosition:
    """A position of a zone with its answer.

    Attributes:
      attackers, defenders: stones as sets of points of the zone.
      side: who moves first, 0 the attacker, 1 the defender.
      safe: whether the target cannot be captured, the attacker being ko master.
      best: the moves with which the first mover has its way, as a set of points of the zone, where
        it needs one of them; the pass (63) alone where it has its way without a move; none where
        nothing helps.
      level: moves away from the problem.
    """

    attackers: int
    defenders: int
    side: int
    safe: bool
    best: int
    level: int


class _UnsolvedError(Exception):
    """A position took more work than it was given."""


def grow(
    zone: Zone, rng: np.random.Generator, *, most_boards: int, nodes: int
) -> list[LabelledPosition]:
    """Return the positions that are found from a problem; none where it is not critical.

    Args:
      rng: which boards of a level are kept, where there are too many.
      most_boards: boards; each gives two positions.
      nodes: positions that the prover makes at most for one question. A problem that needs more is
        left out; a board that does, or a move on it, is passed over.
    """
    return _Growing(zone, rng, most_boards, nodes).positions()


class _Growing:
    def __init__(self, zone: Zone, rng: np.random.Generator, most_boards: int, nodes: int) -> None:
        self._zone = zone
        self._rng = rng
        self._most = most_boards
        self._nodes = nodes
        self._prover = Prover(zone)
        self._known: dict[ZonePosition, bool] = {}
        self._target = 1 << zone.number(zone.target)

    def positions(self) -> list[LabelledPosition]:
        root = (self._zone.attackers, self._zone.defenders)
        try:
            if self._status(root) != (False, True):
                return []
        except _UnsolvedError:
            return []
        out: list[LabelledPosition] = []
        seen, level, number = {root}, [root], 0
        while level and len(out) < 2 * self._most:
            found: dict[_Board, None] = {}
            room = self._most - len(out) // 2
            for board in self._chosen(level, room, number):
                out += self._asked(board, number, found)
            if not out:
                return []
            level = [board for board in found if board not in seen]
            seen.update(level)
            number += 1
        return out

    def _chosen(self, level: list[_Board], room: int, number: int) -> list[_Board]:
        """Return boards of a level, at random; later levels are to have some, too."""
        share = max(room // 3, 1) if number else room
        if len(level) <= share:
            return level
        picks = self._rng.choice(len(level), share, replace=False)
        return [level[i] for i in sorted(picks.tolist())]

    def _asked(
        self, board: _Board, level: int, found: dict[_Board, None]
    ) -> list[LabelledPosition]:
        """Return both positions of a board; add to `found` what moves that change it lead to.

        None are returned of a critical board with a move that takes too much work: which moves
        succeed there would be a guess.
        """
        status = self._status(board)
        critical = status[ATTACKER] != status[DEFENDER]
        out = []
        for side in (ATTACKER, DEFENDER):
            safe = status[side]
            goes_well = safe == (side == DEFENDER)
            best = 1 << PASS if goes_well else 0
            if critical:
                try:
                    best = self._solving(board, side)
                except _UnsolvedError:
                    return []
            if critical or not goes_well:
                found.update(self._changing(board, side, status))
            out.append(LabelledPosition(*board, side, safe, best, level))
        return out

    def _solving(self, board: _Board, side: int) -> int:
        """Return the moves after which a side has its way. Raises `_UnsolvedError`."""
        best = 0
        for move, place in self._moves(board, side):
            taken = not place.defenders & self._target
            if taken or self._safe(place) == (side == DEFENDER):
                best |= 1 << move
        return best

    def _changing(self, board: _Board, side: int, status: _Status) -> Iterator[tuple[_Board, None]]:
        """Yield the boards of another status that moves of a side lead to, as far as is known."""
        for _move, place in self._moves(board, side):
            after = (place.attackers, place.defenders)
            try:
                if place.defenders & self._target and self._status(after) != status:
                    yield after, None
            except _UnsolvedError:
                continue

    def _moves(self, board: _Board, side: int) -> list[tuple[int, ZonePosition]]:
        moves = self._prover.moves(ZonePosition(*board, side))
        return [(move, place) for move, place in moves if move != PASS]

    def _status(self, board: _Board) -> _Status:
        return self._safe(ZonePosition(*board, ATTACKER)), self._safe(
            ZonePosition(*board, DEFENDER)
        )

    def _safe(self, place: ZonePosition) -> bool:
        known = self._known.get(place)
        if known is None:
            finding = self._prover.ask(place, nodes=self._nodes)
            if finding.verdict == ProofVerdict.UNSOLVED:
                raise _UnsolvedError
            known = self._known[place] = finding.verdict == ProofVerdict.PREVENTED
        return known


BOARD_POINTS: Final = 625

COLUMNS: Final[Mapping[str, ShardColumn]] = {
    "problem": ShardColumn("<i4", "position"),
    "attackers": ShardColumn("<u8", "position"),
    "defenders": ShardColumn("<u8", "position"),
    "side": ShardColumn("|i1", "position"),
    "safe": ShardColumn("|i1", "position"),
    "best": ShardColumn("<u8", "position"),
    "level": ShardColumn("<i2", "position"),
    "key": ShardColumn("<u8", "position"),
    "words": ShardColumn("<u8", "problem", ZONE_WORDS),
    "points": ShardColumn("<i2", "problem", MAX_ZONE_POINTS),
    "stones": ShardColumn("|i1", "problem", BOARD_POINTS),
    "size": ShardColumn("|i1", "problem"),
    "target": ShardColumn("<i2", "problem"),
    "defender": ShardColumn("|i1", "problem"),
    "source": ShardColumn("<i8", "problem"),
    "root": ShardColumn("<u8", "problem"),
    "links": ShardColumn("<i4", "link", 2),
}
"""The columns. Of a position: number of its problem in the set, and as in
`LabelledPosition`; `key` is `canonical_keys`'. Of a problem: its zone's words
and points (padded with -1), the whole board (padded with -1), points on a side, a stone of the
target, its colour, the number of the source that it is from, the key of its first position. Links
are pairs of problems that have a position in common; it is kept with the earlier one alone."""


def rows_of(
    zone: Zone, positions: Sequence[LabelledPosition], source: int
) -> dict[str, NDArray[Any]]:
    """Return the columns of one problem, without links; `problem` is 0."""
    count = len(positions)
    attackers = np.array([p.attackers for p in positions], np.uint64)
    defenders = np.array([p.defenders for p in positions], np.uint64)
    sides = np.array([p.side for p in positions], np.int8)
    blocks = np.empty(count, np.uint64)
    kernels.target_blocks(zone.words[None], np.zeros(count, np.int64), attackers, defenders, blocks)
    keys = canonical_keys(
        zone, attackers.tolist(), defenders.tolist(), blocks.tolist(), sides.tolist()
    )
    columns: dict[str, Any] = {
        "problem": np.zeros(count, np.int32),
        "attackers": attackers,
        "defenders": defenders,
        "side": sides,
        "safe": [p.safe for p in positions],
        "best": np.array([p.best for p in positions], np.uint64),
        "level": [p.level for p in positions],
        "key": keys,
        "words": zone.words[None],
        "points": _padded(zone.points, MAX_ZONE_POINTS),
        "stones": _padded(zone.stones, BOARD_POINTS),
        "size": [zone.size],
        "target": [zone.target],
        "defender": [zone.defender],
        "source": [source],
        "root": keys[:1],
    }
    return {n: np.ascontiguousarray(v, COLUMNS[n].dtype) for n, v in columns.items()}


def joined(parts: Sequence[Columns]) -> dict[str, NDArray[Any]]:
    """Return the columns of several problems, one after another; at least one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _padded(values: Sequence[int] | NDArray[Any], width: int) -> NDArray[np.int16]:
    out = np.full((1, width), -1, np.int16)
    out[0, : len(values)] = values
    return out
