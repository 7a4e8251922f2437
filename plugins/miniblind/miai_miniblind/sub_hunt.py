"""Submarine hunt, a problem for searches over beliefs: hidden square and heading.

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
from typing import NamedTuple, Self

from pydantic import model_validator

from miai import Parameters, parameter
from miai.beliefs.problem import Reply, goes_on, over
from miai_miniblind.roots import DrawsRoots, nearest

MIN_SIZE, MAX_SIZE = 3, 16
MAX_PINGS = 8
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # by heading, as (ranks, files)


class HuntPublic(NamedTuple):
    """What the hunter knows for certain: the pings left before the charge."""

    pings: int


class SubHuntProblem(DrawsRoots):
    """The problem on n x n squares, with some pings a turn and charges of b x b squares.

    Depth counts charges. Values: 1 for a hit, 0 where the depth ends.

    Actions: first the n - 1 lines between ranks, the lowest first; then the n - 1 lines between
    files, from the left; then the blocks by their lower left corner, row by row. A ping observes 1
    if the submarine is above the line or to the right of it, else 0; a charge observes 0.

    Attributes:
      n, pings, blast: squares on a side of the sea, pings per turn, squares on a side of a block.
      squares: number of squares.
      lines: number of lines; pings are the actions below it.
      least, greatest, reachability: see `BeliefProblem`.
    """

    least, greatest, reachability = 0.0, 1.0, True

    def __init__(self, n: int = 8, pings: int = 2, blast: int = 2) -> None:
        if not MIN_SIZE <= n <= MAX_SIZE:
            raise ValueError(f"the sea has {MIN_SIZE} to {MAX_SIZE} squares on a side, got n = {n}")
        if not 0 <= pings <= MAX_PINGS:
            raise ValueError(f"a turn has 0 to {MAX_PINGS} pings, got {pings}")
        if not 1 <= blast <= n:
            raise ValueError(f"a block has 1 to n = {n} squares on a side, got {blast}")
        self.n, self.pings, self.blast = n, pings, blast
        self.squares = n * n
        self.lines = 2 * (n - 1)
        self._across = n - blast + 1  # blocks from left to right
        self._moves = [self._list_moves(hidden) for hidden in range(4 * n * n)]
        self._ping_replies = (
            tuple(goes_on(0, hidden) for hidden in range(4 * n * n)),
            tuple(goes_on(1, hidden) for hidden in range(4 * n * n)),
        )
        self._hit = (over(self.greatest),)

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: HuntPublic) -> Sequence[int]:
        """Return the pings, or the charges after the last ping."""
        if public.pings:
            return range(self.lines)
        return range(self.lines, self.lines + self._across**2)

    def cost(self, public: HuntPublic, action: int) -> int:
        """Return 0 for a ping, 1 for a charge."""
        return 0 if public.pings else 1

    def replies(self, public: HuntPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return the observation of a ping, a hit, or the submarine's moves after a miss."""
        rank, file = divmod(hidden >> 2, self.n)
        if public.pings:
            place, line = (rank, action) if action < self.n - 1 else (file, action - self.n + 1)
            return (self._ping_replies[place > line][hidden],)
        low, first_file = divmod(action - self.lines, self._across)
        if 0 <= rank - low < self.blast and 0 <= file - first_file < self.blast:
            return self._hit
        return self._moves[hidden]

    def after(self, public: HuntPublic, action: int, observation: Hashable) -> HuntPublic:
        """Return one ping less, or after a charge those of a new turn."""
        return HuntPublic(public.pings - 1 if public.pings else self.pings)

    def evaluate(self, public: HuntPublic, hidden: int) -> float:
        """Return 0."""
        return 0.0

    def universe(self, public: HuntPublic) -> range:
        """Return all squares with all headings."""
        return range(4 * self.squares)

    # -- roots ------------------------------------------------------------------------------------

    def random_public(self, rng: random.Random) -> HuntPublic:
        """Return the start of a turn; nothing is drawn."""
        return HuntPublic(self.pings)

    def consistent(self, public: HuntPublic) -> range:
        """Return the universe."""
        return self.universe(public)

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return the states whose square is nearest to that of a random one; see `nearest`."""
        return nearest(states, self._distance, rng)

    # -- rules ------------------------------------------------------------------------------------

    def _distance(self, a: int, b: int) -> int:
        (rank, file), (rank_b, file_b) = divmod(a >> 2, self.n), divmod(b >> 2, self.n)
        return max(abs(rank - rank_b), abs(file - file_b))

    def _list_moves(self, hidden: int) -> tuple[Reply, ...]:
        square, heading = divmod(hidden, 4)
        rank, file = divmod(square, self.n)
        moves = []
        for course in sorted(((heading - 1) % 4, heading, (heading + 1) % 4)):
            to_rank, to_file = rank + _STEPS[course][0], file + _STEPS[course][1]
            if 0 <= to_rank < self.n and 0 <= to_file < self.n:
                moves.append(goes_on(0, 4 * (to_rank * self.n + to_file) + course))
        return tuple(moves)


class HuntProblemParameters(Parameters):
    """Parameters of the problem as a component."""

    n: int = parameter(8, ge=MIN_SIZE, le=MAX_SIZE, help="Squares on a side of the sea")
    pings: int = parameter(2, ge=0, le=MAX_PINGS, help="Pings before each charge")
    blast: int = parameter(2, ge=1, le=MAX_SIZE, help="Squares on a side of a charge's block")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        sub_hunt_problem(self)
        return self


def sub_hunt_problem(parameters: HuntProblemParameters) -> SubHuntProblem:
    """Return the problem. Raises `ValueError` if the block is larger than the sea."""
    return SubHuntProblem(parameters.n, parameters.pings, parameters.blast)
