"""Submarine hunt as a problem for searches over beliefs: a hidden target with a hidden heading.

A submarine is on an n x n sea, on some square and with a heading. The hunter's turn: some pings in
a row, each asking on which side of a line between two ranks or two files the submarine is; then a
charge on a block of b x b squares. The hunter wins if the submarine is in it. Otherwise the
submarine, which knows everything, goes one square ahead, or turns left or right by 90 degrees and
goes one square that way; it never turns back and never leaves the sea.

Squares are numbered row by row from a1 = 0; headings are 0 north (to the next rank), 1 east, 2
south, 3 west. A hidden part is `4 * square + heading`.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from miai.beliefs.problem import Reply, goes_on, over
from miai_miniblind.roots import DrawsRoots, nearest

LEAST_SIZE, GREATEST_SIZE = 3, 16
MOST_PINGS = 8
HEADINGS = "nesw"
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # of a heading, as (ranks, files)


class HuntPublic(NamedTuple):
    """What the hunter knows for certain.

    Attributes:
      pings: pings left before the charge.
    """

    pings: int


class SubHuntProblem(DrawsRoots):
    """The problem on n x n squares, with some pings a turn and charges of b x b squares.

    Depth counts charges. Values: 1 for a hit, 0 where the depth ends.

    Actions: first the n - 1 lines between ranks, the lowest first; then the n - 1 lines between
    files, from the left; then the blocks by their lower left corner, row by row. What is told of a
    ping: 1 if the submarine is above the line or to the right of it, else 0; of a charge: 0.

    Attributes:
      n, pings, blast: squares on a side of the sea, pings a turn, squares on a side of a block.
      squares: of the sea.
      lines: pings are the actions below it.
      least, greatest, reachability: see `BeliefProblem`.
    """

    least, greatest, reachability = 0.0, 1.0, True

    def __init__(self, n: int = 8, pings: int = 2, blast: int = 2) -> None:
        if not LEAST_SIZE <= n <= GREATEST_SIZE:
            raise ValueError(
                f"the sea has {LEAST_SIZE} to {GREATEST_SIZE} squares on a side, got n = {n}"
            )
        if not 0 <= pings <= MOST_PINGS:
            raise ValueError(f"a turn has 0 to {MOST_PINGS} pings, got {pings}")
        if not 1 <= blast <= n:
            raise ValueError(f"a block has 1 to n = {n} squares on a side, got {blast}")
        self.n, self.pings, self.blast = n, pings, blast
        self.squares = n * n
        self.lines = 2 * (n - 1)
        self._across = n - blast + 1  # blocks from left to right
        self._moves = [self._list_moves(hidden) for hidden in range(4 * n * n)]
        self._told = (
            tuple(goes_on(0, hidden) for hidden in range(4 * n * n)),
            tuple(goes_on(1, hidden) for hidden in range(4 * n * n)),
        )
        self._hit = (over(self.greatest),)

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: HuntPublic) -> Sequence[int]:
        """Return the pings, or after the last one the charges."""
        if public.pings:
            return range(self.lines)
        return range(self.lines, self.lines + self._across**2)

    def cost(self, public: HuntPublic, action: int) -> int:
        """Return 0 for a ping, 1 for a charge."""
        return 0 if public.pings else 1

    def replies(self, public: HuntPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return what a ping tells, the hit of a charge, or every move after one that missed."""
        rank, file = divmod(hidden >> 2, self.n)
        if public.pings:
            place, line = (rank, action) if action < self.n - 1 else (file, action - self.n + 1)
            return (self._told[place > line][hidden],)
        low, left = divmod(action - self.lines, self._across)
        if 0 <= rank - low < self.blast and 0 <= file - left < self.blast:
            return self._hit
        return self._moves[hidden]

    def after(self, public: HuntPublic, action: int, observation: Hashable) -> HuntPublic:
        """Return the pings left: one less, or after a charge those of a new turn."""
        return HuntPublic(public.pings - 1 if public.pings else self.pings)

    def evaluate(self, public: HuntPublic, hidden: int) -> float:
        """Return 0: not proved."""
        return 0.0

    def universe(self, public: HuntPublic) -> range:
        """Return all squares with all headings."""
        return range(4 * self.squares)

    # -- roots ------------------------------------------------------------------------------------

    def random_public(self, rng: random.Random) -> HuntPublic:
        """Return the start of a turn; nothing is drawn."""
        return HuntPublic(self.pings)

    def consistent(self, public: HuntPublic) -> range:
        """Return all that the public part allows."""
        return self.universe(public)

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return the states whose square is nearest to that of a random one; see `nearest`."""
        return nearest(states, self._distance, rng)

    # -- rules ------------------------------------------------------------------------------------

    def _distance(self, a: int, b: int) -> int:
        """Return the greater of the distances in ranks and files."""
        (rank, file), (rank_b, file_b) = divmod(a >> 2, self.n), divmod(b >> 2, self.n)
        return max(abs(rank - rank_b), abs(file - file_b))

    def _list_moves(self, hidden: int) -> tuple[Reply, ...]:
        square, heading = divmod(hidden, 4)
        rank, file = divmod(square, self.n)
        found = []
        for turned in sorted(((heading - 1) % 4, heading, (heading + 1) % 4)):
            to_rank, to_file = rank + _STEPS[turned][0], file + _STEPS[turned][1]
            if 0 <= to_rank < self.n and 0 <= to_file < self.n:
                found.append(goes_on(0, 4 * (to_rank * self.n + to_file) + turned))
        return tuple(found)
