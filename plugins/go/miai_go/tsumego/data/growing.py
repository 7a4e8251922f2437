"""From one problem to many positions: moves that change what the target's life hangs on.

A board of a zone is *alive* when the target is safe whoever moves first, *dead* when it is safe
with neither, *critical* when it depends. From a board those moves are played that change this
status: what settles a critical board, what threatens to revive a dead target or to kill a living
one. Level by level, each board once; each gives two positions, one for either first mover.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai_go.tsumego.prover import Place, Prover, Verdict
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone

PASS: Final = 63

_Board = tuple[int, int]
_Status = tuple[bool, bool]
"""Whether the target is safe when the attacker moves first, when the defender does."""


@dataclass(frozen=True, slots=True)
class Position:
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


def grow(zone: Zone, rng: np.random.Generator, *, most_boards: int, nodes: int) -> list[Position]:
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
        self._known: dict[Place, bool] = {}
        self._target = 1 << zone.number(zone.target)

    def positions(self) -> list[Position]:
        root = (self._zone.attackers, self._zone.defenders)
        try:
            if self._status(root) != (False, True):
                return []
        except _UnsolvedError:
            return []
        out: list[Position] = []
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

    def _asked(self, board: _Board, level: int, found: dict[_Board, None]) -> list[Position]:
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
            out.append(Position(*board, side, safe, best, level))
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

    def _moves(self, board: _Board, side: int) -> list[tuple[int, Place]]:
        moves = self._prover.moves(Place(*board, side))
        return [(move, place) for move, place in moves if move != PASS]

    def _status(self, board: _Board) -> _Status:
        return self._safe(Place(*board, ATTACKER)), self._safe(Place(*board, DEFENDER))

    def _safe(self, place: Place) -> bool:
        known = self._known.get(place)
        if known is None:
            finding = self._prover.ask(place, nodes=self._nodes)
            if finding.verdict == Verdict.UNSOLVED:
                raise _UnsolvedError
            known = self._known[place] = finding.verdict == Verdict.PREVENTED
        return known
