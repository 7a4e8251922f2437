"""Proof-number search in a zone: questions, findings, and the prover that answers by proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import FAMILY, proof_search, stack, stones, transpositions
from miai_go.tsumego.solver.ordering_net import OrderingNet, guide_of
from miai_go.tsumego.zones import Zone

NO_BAN: Final = -1


class Goal(Enum):
    """Goal of a search: the attacker captures the target, or the defender makes life."""

    CAPTURE = stack.CAPTURE
    LIFE = stack.LIFE


class Master(Enum):
    """Ko master: the side that may retake a ko at once, as if its threats were always larger."""

    NOBODY = stack.NO_MASTER
    ATTACKER = int(stones.ATTACKER)
    DEFENDER = int(stones.DEFENDER)


class ProofVerdict(Enum):
    """Answer to a question."""

    REACHED = "reached"
    PREVENTED = "prevented"
    UNSOLVED = "unsolved"


SUCCESS: Final = (ProofVerdict.REACHED, ProofVerdict.PREVENTED)
"""The verdict on the capture with which each side succeeds, the attacker and the defender."""


@dataclass(frozen=True, slots=True)
class ZonePosition:
    """A position of a zone.

    Attributes:
      attackers, defenders: stones as sets of points of the zone.
      side: the side to move, 0 the attacker, 1 the defender.
      ban: the point that is forbidden because of a ko, -1 for none.
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
      move: the best move for the side to move, a point of the zone, 63 for the pass; None if the
        position needed no search.
      nodes: positions searched.
      entered: nodes expanded.
      seconds: wall time.
      why: why the question is unsolved; otherwise empty.
    """

    verdict: ProofVerdict
    move: int | None
    nodes: int
    entered: int
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedPositions:
    """Positions in a prover's table; all arrays have the shape (n,).

    Attributes:
      attackers, defenders: uint64, stones as sets of points of the zone.
      sides, bans: int64, as in `ZonePosition`.
      work: int64, positions searched when it was last expanded.
    """

    attackers: NDArray[np.uint64]
    defenders: NDArray[np.uint64]
    sides: NDArray[np.int64]
    bans: NDArray[np.int64]
    work: NDArray[np.int64]


class _Workspace:
    """The arrays of one prover for the kernels, and what a search leaves in them."""

    def __init__(
        self,
        words: NDArray[np.uint64],
        goal: Goal,
        master: Master,
        *,
        levels: int,
        table: NDArray[np.uint64],
    ) -> None:
        self.arrays = stack.SearchArrays(
            zone=words,
            task=np.array([goal.value, master.value], np.int64),
            table=table,
            tally=np.zeros(stack.TALLY_WORDS, np.int64),
            levels=np.zeros((levels, stack.LEVEL_WORDS), np.int64),
            sets=np.zeros((levels, stack.SET_WORDS), np.uint64),
            children=np.zeros((levels, stack.CHILDREN, stack.CHILD_WORDS), np.int64),
            child_sets=np.zeros((levels, stack.CHILDREN, 2), np.uint64),
            room=np.zeros(256, np.uint64),
        )

    def set_root(self, place: ZonePosition) -> None:
        """Set the position in which a search begins."""
        self.arrays.tally[:] = 0
        root = self.arrays.levels[0]
        root[:] = 0
        root[stack.SIDE] = place.side
        root[stack.BAN] = place.ban
        root[stack.COUNT] = -1
        root[[stack.TP, stack.TD]] = stack.INFINITE
        self.arrays.sets[0] = (place.attackers, place.defenders, 0)

    @property
    def searched(self) -> int:
        """Positions searched since the root was set."""
        return int(self.arrays.tally[stack.MADE])

    @property
    def entered(self) -> int:
        """Nodes expanded since the root was set."""
        return int(self.arrays.tally[stack.ENTERED])

    def best_move(self) -> int | None:
        """Return the root's best move; None if it needed no search."""
        best = int(self.arrays.levels[0, stack.AT])
        return self.move(best) if best >= 0 else None

    def move(self, child: int) -> int:
        """Return the move that leads to a child of the root."""
        return int(self.arrays.children[0, child, stack.MOVE])

    def place_after(self, place: ZonePosition, child: int) -> ZonePosition:
        """Return the position of a child of the root."""
        attackers, defenders = self.arrays.child_sets[0, child].tolist()
        ban = int(self.arrays.children[0, child, stack.CHILD_BAN])
        return ZonePosition(attackers, defenders, 1 - place.side, ban)


def _empty_table(max_bytes: int) -> NDArray[np.uint64]:
    """Return an empty table of at most `max_bytes` bytes, or of the minimum of 16 buckets."""
    bucket = transpositions.BUCKET * transpositions.ENTRY_WORDS * 8
    buckets = 1 << max((max_bytes // bucket).bit_length() - 1, 4)
    return np.zeros(buckets * bucket // 8, np.uint64)


# A level has room for 64 children, so that these take about two megabytes.
_LEVELS = 400
_CHUNK = 20_000
"""Positions between two looks at the clock, about ten milliseconds."""
# Begins at a quarter of a MiB, which fits a processor's cache, and grows when it fills.
_FIRST_BYTES = 1 << 18
_POSITIONS_PER_ENTRY = 6
"""Approximate number of positions searched per entry of the table."""


class Prover:
    """Answers questions about one zone, and keeps its results for the next question.

    Args:
      goal: the goal of the search.
      master: the ko master.
      table_bytes: memory limit of the table, which grows as needed. A full table evicts the entries
        that took the least work, which costs time but not correctness.
      network: predicts how hard positions are, which orders the search; None orders by liberties
        and eye points. It is used only for the goal that it was trained for, capture.
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
        self._max_bytes = table_bytes
        self._work = _Workspace(
            zone.words, goal, master, levels=_LEVELS, table=_empty_table(_FIRST_BYTES)
        )
        self._guide = guide_of(network if goal == Goal.CAPTURE else None)
        self._searched = 0

    def begin(self, side: int) -> ZonePosition:
        """Return the starting position of the zone, with `side` to move."""
        return ZonePosition(self.zone.attackers, self.zone.defenders, side)

    def ask(
        self, place: ZonePosition, *, nodes: int | None = None, seconds: float | None = None
    ) -> Finding:
        """Search until the question is answered or a limit is reached.

        Args:
          nodes: maximum number of positions, approximately but reproducibly.
          seconds: wall time limit.
        """
        started = perf_counter()
        work, why = self._work, ""
        # Who wants to make life may not pass in the search: an owner who lives already would have
        # to fill an eye of his own.
        if self.goal == Goal.LIFE and (verdict := self.settled(place)) is not None:
            return Finding(verdict, None, 0, 0, perf_counter() - started)
        work.set_root(place)
        status = stack.PAUSED
        while status == stack.PAUSED and not why:
            self._grow()
            # The kernel counts positions and knows no clock, so that a limit of nodes alone gives
            # the same search everywhere; between two chunks the caller is asked, and the time.
            chunk = _CHUNK if nodes is None else min(_CHUNK, nodes - work.searched)
            before = work.searched
            work.arrays.tally[stack.STOP] = before + max(chunk, 1)
            status = proof_search.search(work.arrays, self._guide)
            self._searched += work.searched - before
            if status == stack.PAUSED:
                why = limit_reached(work.searched, nodes, perf_counter() - started, seconds)
        spent = perf_counter() - started
        if status == stack.TOO_DEEP:
            why = f"a line is longer than {_LEVELS} moves"
        if why:
            return Finding(ProofVerdict.UNSOLVED, None, work.searched, work.entered, spent, why)
        verdict = ProofVerdict.REACHED if status == stack.PROVEN else ProofVerdict.PREVENTED
        return Finding(verdict, work.best_move(), work.searched, work.entered, spent)

    def moves(self, place: ZonePosition) -> list[tuple[int, ZonePosition]]:
        """Return the moves that the search considers in a position, each with the resulting place.

        Moves are points of the zone, 63 is the pass. The side that pursues the goal passes only to
        end a ban.
        """
        self._work.set_root(place)
        count = int(proof_search.list_children(self._work.arrays))
        return [(self._work.move(i), self._work.place_after(place, i)) for i in range(count)]

    def settled(self, place: ZonePosition) -> ProofVerdict | None:
        """Return the verdict on a position if the board alone shows it, otherwise None.

        The target is captured, or in atari with the attacker to move, or alive unconditionally
        (not checked with the defender to move if the goal is capture).
        """
        work = self._work
        work.set_root(place)
        status = int(proof_search.settled(work.arrays))
        verdicts = {stack.PROVEN: ProofVerdict.REACHED, stack.DISPROVEN: ProofVerdict.PREVENTED}
        return verdicts.get(status)

    def table_positions(self) -> SearchedPositions:
        """Return the positions in the table, which are most of those of past searches."""
        rows = self._work.arrays.table.reshape(-1, transpositions.ENTRY_WORDS)
        info = rows[:, transpositions.INFO]
        # The layout of `transpositions.keep`: side and ban in the lowest eight bits, then the kind.
        kinds = ((info >> np.uint64(8)) & np.uint64(3)).astype(np.int64)
        rows, info, kinds = rows[kinds > 0], info[kinds > 0], kinds[kinds > 0]
        turns = (info & np.uint64(0xFF)).astype(np.int64)
        on_path = kinds == transpositions.ON_THIS_PATH
        # Such an entry has a digest in the place of its work.
        work = np.where(on_path, np.uint64(0), rows[:, transpositions.WORK])
        return SearchedPositions(
            attackers=rows[:, transpositions.A],
            defenders=rows[:, transpositions.D],
            sides=turns & 1,
            bans=(turns >> 1) - 1,
            work=work.astype(np.int64),
        )

    def _grow(self) -> None:
        """Replace the table by a larger one when it fills, within the memory limit."""
        table = self._work.arrays.table
        entries = len(table) // transpositions.ENTRY_WORDS
        fills = self._searched >= entries * _POSITIONS_PER_ENTRY // 2
        if not fills or table.nbytes * 4 > self._max_bytes:
            return
        # By four, so that all moves together touch a third of the final table.
        larger = _empty_table(table.nbytes * 4)
        transpositions.move_all(table, larger)
        self._work.arrays = self._work.arrays._replace(table=larger)


def limit_reached(searched: int, nodes: int | None, spent: float, seconds: float | None) -> str:
    """Return which limit, of `nodes` positions or of `seconds`, is reached; empty if none is."""
    if nodes is not None and searched >= nodes:
        return f"{nodes:,} positions were searched"
    if seconds is not None and spent >= seconds:
        return f"{seconds:g} s have passed"
    return ""


@cache
def load_prover() -> None:
    """Load or compile the search, before a clock runs."""
    with FAMILY.compiling("tsumego"):
        # The smallest zone: one point, with a stone of the target. All kernels are called once with
        # the types that they get later, so that nothing is compiled on a clock.
        words = np.zeros(stones.ZONE_WORDS, np.uint64)
        words[[stones.POINTS, stones.TARGET]] = 1, 1
        work = _Workspace(words, Goal.CAPTURE, Master.NOBODY, levels=2, table=_empty_table(0))
        work.set_root(ZonePosition(0, 1, 0))
        proof_search.search(work.arrays, guide_of(None))
        work.set_root(ZonePosition(0, 1, 0))
        proof_search.list_children(work.arrays)
        proof_search.settled(work.arrays)
        transpositions.move_all(work.arrays.table, _empty_table(0))
