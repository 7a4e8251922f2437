"""Random zones for data sets, and labelled positions that grow from a problem.

Zones are walled fights, filled at random, or rooms that resemble unfinished eye spaces, in a ring
of the attacker's stones.

A board of a zone is *alive* if the target is safe with either first mover, *dead* if it is safe
with neither, else *critical*. Positions grow by moves that change this status: a move that settles
a critical board, threatens to revive a dead target or threatens to kill a living one. Each board
occurs once and gives two positions, one for each first mover.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.chains import captured_stone, chain_at, diagonals, neighbours
from miai_go.tsumego.problems.walled import draw_fight, zone_within
from miai_go.tsumego.solver.answer_keys import UnprovedError
from miai_go.tsumego.solver.prover import ProofVerdict, Prover, ZonePosition
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

SIZE: Final = 13
_TRIES: Final = 200
_MIN_EMPTY: Final = 4
_PLACES: Final = ("corner", "side", "side", "middle")

_Stones = NDArray[np.int8]


def draw_fight_zone(rng: np.random.Generator, *, empty: int) -> Zone | None:
    """Draw a zone with `empty` empty points, filled at random; None if many draws give none."""
    for _ in range(_TRIES):
        fight = draw_fight(rng, empty)
        zone = zone_within(fight.problem(), empty) if fight is not None else None
        if zone is not None:
            return zone
    return None


def draw_room_zone(rng: np.random.Generator, *, most_empty: int) -> Zone | None:
    """Draw the zone of a room in a ring of the attacker's stones.

    Args:
      most_empty: maximum number of empty points.

    Returns:
      The zone, or None if many draws give none.
    """
    for _ in range(_TRIES):
        zone = _drawn(rng, most_empty)
        if zone is not None:
            return zone
    return None


def _drawn(rng: np.random.Generator, most_empty: int) -> Zone | None:
    room = _room(rng, int(rng.integers(3, max(most_empty - 1, 4))))
    board = np.zeros(SIZE * SIZE, np.int8)
    inside = _furnish(board, room, rng)
    board[list(_ring(inside))] = BLACK_STONE
    own = {min(chain_at(board, p, SIZE)) for p in np.flatnonzero(board == WHITE_STONE).tolist()}
    if captured_stone(board, SIZE) is not None or not own:
        return None
    target = max(own, key=lambda point: (len(chain_at(board, point, SIZE)), point))
    try:
        zone = find_zone(board, target)
    except ProblemError:
        return None  # the wall is open
    return zone if _MIN_EMPTY <= zone.empty <= most_empty else None


def _room(rng: np.random.Generator, points: int) -> set[int]:
    """Draw connected points, at an edge or not."""
    place = _PLACES[int(rng.integers(len(_PLACES)))]
    row = column = SIZE // 2
    if place == "corner":
        column = int(rng.integers(2))
    if place != "middle":
        row = int(rng.integers(2))
    room = {row * SIZE + column}
    while len(room) < points:
        edge = sorted(_beside(room))
        # Points with several neighbours in the room are likelier, which makes compact rooms.
        touching = np.array([sum(n in room for n in neighbours(p, SIZE)) for p in edge], float)
        room.add(edge[int(rng.choice(len(edge), p=touching**2 / (touching**2).sum()))])
    return room


def _furnish(board: _Stones, room: set[int], rng: np.random.Generator) -> set[int]:
    """Put stones into and around the room; return the points within the wall."""
    # Shares are drawn for each room, so that rooms are of many kinds instead of all near the mean.
    enemy, friend = rng.uniform(0, 0.3), rng.uniform(0, 0.3)
    for point in sorted(room):
        draw = rng.random()
        board[point] = BLACK_STONE if draw < enemy else WHITE_STONE if draw > 1 - friend else EMPTY
    shell = _beside(room)
    inside = set(room)
    holes = rng.uniform(0, 0.25)
    for point in sorted(shell):
        draw = rng.random()
        if draw < holes / 2:
            board[point] = BLACK_STONE
            continue
        inside.add(point)
        if draw >= holes:
            board[point] = WHITE_STONE
    corners = rng.uniform(0, 0.8)
    for point in sorted(_ring(room) - shell):
        if rng.random() < corners:
            board[point] = WHITE_STONE
            inside.add(point)
    outer = rng.uniform(0, 0.15)
    for point in sorted(_beside(inside)):
        if board[point] == EMPTY and rng.random() < outer:
            inside.add(point)
    return inside


def _beside(points: set[int]) -> set[int]:
    """Return the neighbours of a set of points."""
    return {n for point in points for n in neighbours(point, SIZE)} - points


def _ring(points: set[int]) -> set[int]:
    """Return the points around a set, diagonal ones included."""
    around = {n for point in points for n in diagonals(point, SIZE)}
    return (around | _beside(points)) - points


# Positions

PASS: Final = 63

_Board = tuple[int, int]
_Status = tuple[bool, bool]
"""Whether the target is safe with the attacker, and with the defender, moving first."""


@dataclass(frozen=True, slots=True)
class LabelledPosition:
    """A position of a zone with its answer.

    Attributes:
      attackers, defenders: stones as sets of points of the zone.
      side: first mover, 0 the attacker, 1 the defender.
      safe: whether the target is safe; the attacker is ko master.
      best: solving moves of the first mover as a set of points of the zone; only the pass (63) if
        it succeeds without a move; empty if nothing helps.
      level: number of moves from the problem.
    """

    attackers: int
    defenders: int
    side: int
    safe: bool
    best: int
    level: int


def grow(
    zone: Zone, rng: np.random.Generator, *, most_boards: int, nodes: int
) -> list[LabelledPosition]:
    """Return the positions that grow from a problem; none if it is not critical.

    Args:
      rng: draws the boards of a level if there are too many.
      most_boards: maximum number of boards.
      nodes: maximum number of positions for one proof. A problem that needs more gives nothing;
        a board or move that does is skipped.
    """
    return _Growing(zone, rng, most_boards, nodes).positions()


class _Growing:
    def __init__(self, zone: Zone, rng: np.random.Generator, most_boards: int, nodes: int) -> None:
        self._zone = zone
        self._rng = rng
        self._most = most_boards
        self._nodes = nodes
        self._prover = Prover(zone)
        self._proofs: dict[ZonePosition, bool] = {}
        self._target = 1 << zone.number(zone.target)

    def positions(self) -> list[LabelledPosition]:
        root = (self._zone.attackers, self._zone.defenders)
        try:
            if self._status(root) != (False, True):
                return []
        except UnprovedError:
            return []
        # Level by level, so that the limit cuts off the boards that are farthest from the problem.
        out: list[LabelledPosition] = []
        seen, level, number = {root}, [root], 0
        while level and len(out) < 2 * self._most:
            successors: dict[_Board, None] = {}
            room = self._most - len(out) // 2
            for board in self._sample(level, room, number):
                out += self._labelled(board, number, successors)
            if not out:
                return []
            level = [board for board in successors if board not in seen]
            seen.update(level)
            number += 1
        return out

    def _sample(self, level: list[_Board], room: int, number: int) -> list[_Board]:
        """Return random boards of a level, few enough to leave room for later levels."""
        share = max(room // 3, 1) if number else room  # deeper levels get some, too
        if len(level) <= share:
            return level
        picks = self._rng.choice(len(level), share, replace=False)
        return [level[i] for i in sorted(picks.tolist())]

    def _labelled(
        self, board: _Board, level: int, successors: dict[_Board, None]
    ) -> list[LabelledPosition]:
        """Return both positions of a board; add the boards of another status after one move.

        A critical board with an unproved move gives no positions, as its solving moves are unknown.
        """
        status = self._status(board)
        critical = status[ATTACKER] != status[DEFENDER]
        out = []
        for side in (ATTACKER, DEFENDER):
            safe = status[side]
            succeeds = safe == (side == DEFENDER)
            # The label of a settled board says whether its side may play elsewhere.
            best = 1 << PASS if succeeds else 0
            if critical:
                try:
                    best = self._solving_moves(board, side)
                except UnprovedError:
                    return []
            # A side that succeeds by passing changes nothing by a move of its own, except to
            # blunder.
            if critical or not succeeds:
                successors.update(self._changes(board, side, status))
            out.append(LabelledPosition(*board, side, safe, best, level))
        return out

    def _solving_moves(self, board: _Board, side: int) -> int:
        """Return the solving moves of a side as a set. Raises `UnprovedError`."""
        best = 0
        for move, place in self._moves(board, side):
            captured = not place.defenders & self._target
            if captured or self._safe(place) == (side == DEFENDER):
                best |= 1 << move
        return best

    def _changes(self, board: _Board, side: int, status: _Status) -> Iterator[tuple[_Board, None]]:
        """Yield the boards with another status after a move of a side, as far as proofs succeed."""
        for _move, place in self._moves(board, side):
            after = (place.attackers, place.defenders)
            try:
                if place.defenders & self._target and self._status(after) != status:
                    yield after, None
            except UnprovedError:
                continue

    def _moves(self, board: _Board, side: int) -> list[tuple[int, ZonePosition]]:
        moves = self._prover.moves(ZonePosition(*board, side))
        return [(move, place) for move, place in moves if move != PASS]

    def _status(self, board: _Board) -> _Status:
        attacked, defended = (ZonePosition(*board, side) for side in (ATTACKER, DEFENDER))
        return self._safe(attacked), self._safe(defended)

    def _safe(self, place: ZonePosition) -> bool:
        safe = self._proofs.get(place)
        if safe is None:
            verdict = self._prover.ask(place, nodes=self._nodes).verdict
            if verdict == ProofVerdict.UNSOLVED:
                raise UnprovedError
            safe = self._proofs[place] = verdict == ProofVerdict.PREVENTED
        return safe
