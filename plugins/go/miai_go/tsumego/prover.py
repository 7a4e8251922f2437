"""One question about a zone, answered with a proof or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter

import numpy as np

from miai_go.tsumego.guiding import OrderingNet, guide_of, no_guide
from miai_go.tsumego.kernels import FAMILY, search, stack, stones
from miai_go.tsumego.kernels import table as table_kernels
from miai_go.tsumego.questions import NO_BAN, Finding, Goal, Master, Met, Place, Verdict
from miai_go.tsumego.workspace import Workspace, empty_table
from miai_go.tsumego.zones import Zone

__all__ = [
    "NO_BAN",
    "Finding",
    "Goal",
    "Master",
    "Met",
    "Place",
    "Prover",
    "Verdict",
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
            return Finding(Verdict.UNSOLVED, None, work.made, work.entered, spent, why)
        verdict = Verdict.REACHED if status == stack.PROVEN else Verdict.PREVENTED
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

    def settled(self, place: Place) -> Verdict | None:
        """Return what a position is where that is seen on the board alone.

        The target is gone, or the attacker is to move and it is in atari, or it lives
        unconditionally (which is not asked with the defender to move where the goal is capture).
        """
        work = self._work
        work.set_root(place)
        status = int(search.settled(self.zone.words, *work.standing()))
        verdicts = {stack.PROVEN: Verdict.REACHED, stack.DISPROVEN: Verdict.PREVENTED}
        return verdicts.get(status)

    def decided(self, place: Place, move: int) -> Verdict | None:
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

    def met(self) -> Met:
        """Return all positions that are in the table: those of past searches, most of them."""
        rows = self._work.table.reshape(-1, table_kernels.ENTRY_WORDS)
        info = rows[:, table_kernels.INFO]
        kinds = ((info >> np.uint64(8)) & np.uint64(3)).astype(np.int64)
        rows, info, kinds = rows[kinds > 0], info[kinds > 0], kinds[kinds > 0]
        turns = (info & np.uint64(0xFF)).astype(np.int64)
        on_this_way = kinds == table_kernels.ON_THIS_WAY
        work = np.where(on_this_way, np.uint64(0), rows[:, table_kernels.WORK])
        return Met(
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
