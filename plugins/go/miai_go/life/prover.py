"""One question about a zone, answered with a proof or not at all.

Questions about a zone, and answers: what is asked of a prover, and what it says.

The arrays that the prover's kernels work on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.life.guiding import OrderingNet, guide_of, no_guide
from miai_go.life.kernels import FAMILY, search, stack, stones
from miai_go.life.kernels import table as table_kernels
from miai_go.life.zones import Zone

NO_BAN: Final = -1


class Goal(Enum):
    """What is to be reached: the capture of the target by the attacker, or life by the defender."""

    CAPTURE = stack.CAPTURE
    LIFE = stack.LIFE


class Master(Enum):
    """Who may retake a ko at once, as if it always had the larger threat; nobody: neither may."""

    NOBODY = stack.NO_MASTER
    ATTACKER = int(stones.ATTACKER)
    DEFENDER = int(stones.DEFENDER)


class ProofVerdict(Enum):
    """What became of a question."""

    REACHED = "reached"
    PREVENTED = "prevented"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a zone.

    Attributes:
      attackers, defenders: stones as sets of points of the zone.
      side: who is to move, 0 the attacker, 1 the defender.
      ban: the point that may not be played because of a ko, -1 for none.
    """

    attackers: int
    defenders: int
    side: int
    ban: int = NO_BAN


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a question.

    Attributes:
      verdict: whether the goal can be forced.
      move: the best move found for the side to move, as a point of the zone, 63 for the pass;
        None where the position was decided by itself.
      nodes: positions that were made.
      entered: nodes that were gone down into.
      seconds: wall time.
      why: why it is unsolved, empty otherwise.
    """

    verdict: ProofVerdict
    move: int | None
    nodes: int
    entered: int
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedPositions:
    """Positions that searches met; all of shape (n,).

    Attributes:
      attackers, defenders: uint64, stones as sets of points of the zone.
      sides, bans: int64, as in `Place`.
      work: int64, positions that were made the last time it was gone down into.
    """

    attackers: NDArray[np.uint64]
    defenders: NDArray[np.uint64]
    sides: NDArray[np.int64]
    bans: NDArray[np.int64]
    work: NDArray[np.int64]


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

    def verdict(self, child: int) -> ProofVerdict | None:
        """Return what a child of the root is known to be, on whatever way it is met."""
        if self._children[0, child, stack.PN] == 0:
            return ProofVerdict.REACHED
        rests = self._children[0, child, stack.LEAST]
        refuted = self._children[0, child, stack.DN] == 0 and rests == stack.NOWHERE
        return ProofVerdict.PREVENTED if refuted else None


def empty_table(wanted: int) -> NDArray[np.uint64]:
    """Return an empty table of so many bytes at most."""
    bucket = table_kernels.BUCKET * table_kernels.ENTRY_WORDS * 8
    buckets = 1 << max((wanted // bucket).bit_length() - 1, 4)
    return np.zeros(buckets * bucket // 8, np.uint64)


__all__ = [
    "NO_BAN",
    "Finding",
    "Goal",
    "Master",
    "Place",
    "ProofVerdict",
    "Prover",
    "SearchedPositions",
    "load_prover",
]

_LEVELS = 400
_CHUNK = 20_000
"""Positions between two looks at the clock, some ten milliseconds."""
_FIRST_BYTES = 1 << 18
_POSITIONS_AN_ENTRY = 6
"""About how many positions are made for each that is kept."""


class Prover:
    """Answers questions about one zone; what it found out it keeps for the next question.

    Args:
      goal: what is to be reached.
      master: who may retake a ko at once.
      table_bytes: memory for what was found out, taken as it is needed. Beyond that the entries
        that took least work are forgotten, which costs time and no truth.
      network: foretells how hard positions are, which says what is looked at first; None for what
        liberties and eye points tell. It is asked where the goal is capture, which it has learnt.
    """

    def __init__(
        self,
        zone: Zone,
        *,
        goal: Goal = Goal.CAPTURE,
        master: Master = Master.ATTACKER,
        table_bytes: int = 1 << 28,
        network: OrderingNet | None = None,
    ) -> None:
        load_prover()
        self.zone = zone
        self.goal = goal
        self.master = master
        self._most_bytes = table_bytes
        self._work = Workspace(goal, master, levels=_LEVELS, table=empty_table(_FIRST_BYTES))
        self._guide = no_guide()
        if network is not None and goal == Goal.CAPTURE:
            self._guide = guide_of(network)
        self._made = 0

    def begin(self, side: int) -> Place:
        """Return the position of the zone as it was found, with a side to move."""
        return Place(self.zone.attackers, self.zone.defenders, side)

    def ask(
        self,
        place: Place,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Finding:
        """Search until the question is answered, or a limit is met.

        Args:
          nodes: positions made at most; about so many, and the same each time.
          seconds: wall time.
          stop: asked now and then whether to give up.
        """
        started = perf_counter()
        work, why = self._work, ""
        if self.goal == Goal.LIFE and (verdict := self.settled(place)) is not None:
            return Finding(verdict, None, 0, 0, perf_counter() - started)
        work.set_root(place)
        status = stack.PAUSED
        while status == stack.PAUSED and not why:
            self._grow()
            left = _CHUNK if nodes is None else min(_CHUNK, nodes - work.made)
            before = work.made
            work.allow(max(left, 1))
            status = search.search(self.zone.words, *work.arrays(self._guide))
            self._made += work.made - before
            if status == stack.PAUSED:
                why = _limit(work.made, nodes, perf_counter() - started, seconds, stop)
        spent = perf_counter() - started
        if status == stack.TOO_DEEP:
            why = f"a line is longer than {_LEVELS} moves"
        if why:
            return Finding(ProofVerdict.UNSOLVED, None, work.made, work.entered, spent, why)
        verdict = ProofVerdict.REACHED if status == stack.PROVEN else ProofVerdict.PREVENTED
        return Finding(verdict, work.best_move(), work.made, work.entered, spent)

    def moves(self, place: Place) -> list[tuple[int, Place]]:
        """Return the moves of a position that the search considers, each with what it leads to.

        Moves are points of the zone, 63 is the pass: the side that wants the goal passes only where
        that ends a ban.
        """
        work = self._work
        work.set_root(place)
        count = search.list_children(self.zone.words, *work.arrays())
        return [(work.move(i), work.place_after(place, i)) for i in range(count)]

    def settled(self, place: Place) -> ProofVerdict | None:
        """Return what a position is where that is seen on the board alone.

        The target is gone, or the attacker is to move and it is in atari, or it lives
        unconditionally (which is not asked with the defender to move where the goal is capture).
        """
        work = self._work
        work.set_root(place)
        status = int(search.settled(self.zone.words, *work.standing()))
        verdicts = {stack.PROVEN: ProofVerdict.REACHED, stack.DISPROVEN: ProofVerdict.PREVENTED}
        return verdicts.get(status)

    def decided(self, place: Place, move: int) -> ProofVerdict | None:
        """Return what a move leads to where that is seen or known without a search.

        Raises:
          ValueError: it is not one of `moves`.
        """
        work = self._work
        work.set_root(place)
        count = search.list_children(self.zone.words, *work.arrays())
        for i in range(count):
            if work.move(i) == move:
                return work.verdict(i)
        raise ValueError(f"{move} is no move of {place}")

    def table_positions(self) -> SearchedPositions:
        """Return all positions that are in the table: those of past searches, most of them."""
        rows = self._work.table.reshape(-1, table_kernels.ENTRY_WORDS)
        info = rows[:, table_kernels.INFO]
        kinds = ((info >> np.uint64(8)) & np.uint64(3)).astype(np.int64)
        rows, info, kinds = rows[kinds > 0], info[kinds > 0], kinds[kinds > 0]
        turns = (info & np.uint64(0xFF)).astype(np.int64)
        on_this_way = kinds == table_kernels.ON_THIS_WAY
        work = np.where(on_this_way, np.uint64(0), rows[:, table_kernels.WORK])
        return SearchedPositions(
            attackers=rows[:, table_kernels.A],
            defenders=rows[:, table_kernels.D],
            sides=turns & 1,
            bans=(turns >> 1) - 1,
            work=work.astype(np.int64),
        )

    def _grow(self) -> None:
        """Take a larger table while there is room for one and this one fills."""
        table = self._work.table
        entries = len(table) // table_kernels.ENTRY_WORDS
        if self._made < entries * _POSITIONS_AN_ENTRY // 2 or table.nbytes * 4 > self._most_bytes:
            return
        larger = empty_table(table.nbytes * 4)
        table_kernels.move_all(table, larger)
        self._work.table = larger


def _limit(
    made: int,
    nodes: int | None,
    spent: float,
    seconds: float | None,
    stop: Callable[[], bool] | None,
) -> str:
    """Return why a search is given up, empty where it is not."""
    if nodes is not None and made >= nodes:
        return f"{nodes:,} positions were made"
    if seconds is not None and spent >= seconds:
        return f"{seconds:g} s were over"
    return "it was stopped" if stop is not None and stop() else ""


@cache
def load_prover() -> None:
    """Load the search, or compile it, before a clock runs."""
    with FAMILY.compiling("tsumego"):
        words = np.zeros(stones.ZONE_WORDS, np.uint64)
        words[[stones.POINTS, stones.TARGET]] = 1, 1
        work = Workspace(Goal.CAPTURE, Master.NOBODY, levels=2, table=empty_table(0))
        work.set_root(Place(0, 1, 0))
        search.search(words, *work.arrays(no_guide()))
        work.set_root(Place(0, 1, 0))
        search.list_children(words, *work.arrays())
        search.settled(words, *work.standing())
        table_kernels.move_all(work.table, empty_table(0))
