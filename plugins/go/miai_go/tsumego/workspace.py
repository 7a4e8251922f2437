"""The arrays that the prover's kernels work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import stack
from miai_go.tsumego.kernels import table as table_kernels
from miai_go.tsumego.questions import Goal, Master, Place, Verdict


class Workspace:
    """The arrays of one prover."""

    def __init__(
        self, goal: Goal, master: Master, *, levels: int, table: NDArray[np.uint64]
    ) -> None:
        self.table = table
        self._task = np.array([goal.value, master.value], np.int64)
        self._tally = np.zeros(stack.TALLY_WORDS, np.int64)
        self._levels = np.zeros((levels, stack.LEVEL_WORDS), np.int64)
        self._sets = np.zeros((levels, stack.SET_WORDS), np.uint64)
        self._children = np.zeros((levels, stack.CHILDREN, stack.CHILD_WORDS), np.int64)
        self._child_sets = np.zeros((levels, stack.CHILDREN, 2), np.uint64)
        self._room = np.zeros(256, np.uint64)

    def arrays(self, *more: Any) -> tuple[Any, ...]:
        """Return all of them in the order in which kernels take them, and what comes after."""
        tally, levels, sets = self._tally, self._levels, self._sets
        children, child_sets = self._children, self._child_sets
        return (
            *(self._task, self.table, tally, levels, sets),
            *(children, child_sets, self._room, *more),
        )

    def standing(self) -> tuple[Any, ...]:
        """Return those that say how a position stands."""
        return self._task, self._levels, self._sets, self._room

    def set_root(self, place: Place) -> None:
        """Put a position where a search begins."""
        self._tally[:] = 0
        root = self._levels[0]
        root[:] = 0
        root[stack.SIDE] = place.side
        root[stack.BAN] = place.ban
        root[stack.COUNT] = -1
        root[[stack.TP, stack.TD]] = stack.INFINITE
        self._sets[0] = (place.attackers, place.defenders, 0)

    def allow(self, positions: int) -> None:
        """Let so many positions more be made."""
        self._tally[stack.STOP] = self.made + positions

    @property
    def made(self) -> int:
        """Positions that were made since the root was set."""
        return int(self._tally[stack.MADE])

    @property
    def entered(self) -> int:
        """Nodes that were gone down into since then."""
        return int(self._tally[stack.ENTERED])

    def best_move(self) -> int | None:
        """Return the root's best move; None where it was decided by itself."""
        best = int(self._levels[0, stack.AT])
        return self.move(best) if best >= 0 else None

    def move(self, child: int) -> int:
        """Return the move that leads to a child of the root."""
        return int(self._children[0, child, stack.MOVE])

    def place_after(self, place: Place, child: int) -> Place:
        """Return the position that a child of the root is."""
        attackers, defenders = self._child_sets[0, child].tolist()
        ban = int(self._children[0, child, stack.CHILD_BAN])
        return Place(attackers, defenders, 1 - place.side, ban)

    def verdict(self, child: int) -> Verdict | None:
        """Return what a child of the root is known to be, on whatever way it is met."""
        if self._children[0, child, stack.PN] == 0:
            return Verdict.REACHED
        rests = self._children[0, child, stack.LEAST]
        refuted = self._children[0, child, stack.DN] == 0 and rests == stack.NOWHERE
        return Verdict.PREVENTED if refuted else None


def empty_table(wanted: int) -> NDArray[np.uint64]:
    """Return an empty table of so many bytes at most."""
    bucket = table_kernels.BUCKET * table_kernels.ENTRY_WORDS * 8
    buckets = 1 << max((wanted // bucket).bit_length() - 1, 4)
    return np.zeros(buckets * bucket // 8, np.uint64)
