"""Phantom tic-tac-toe with line sensing as a problem for searches over beliefs.

On 3x3 or 3x4 cells the player and an opponent, who sees everything, place marks in turn, the
player first; three in a row win, a full board is a draw. Before each placement the player senses
one line: it is shown which of its cells the opponent holds. Then it names a cell. One that the
opponent holds is refused, and is known from then on, and the player names another.

Cells are numbered row by row from a1 = 0; 3x4 is three rows of four. A hidden part is the set of
the opponent's cells, bit c for cell c.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

from miai.beliefs.problem import Reply, goes_on, over
from miai_miniblind.blind import bits, squares_of
from miai_miniblind.roots import DrawsRoots

ROWS = 3
Phase = Literal["sense", "place", "await"]
SENSE: Final = "sense"
PLACE: Final = "place"
AWAIT: Final = "await"
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # as (rows, columns)


class PhantomPublic(NamedTuple):
    """What the player knows for certain.

    Attributes:
      own: the player's cells, as bits.
      known: cells of the opponent that were shown by a sense or a refusal, as bits.
      phase: whether the player senses, places, or awaits the answer to a mark that stands.
    """

    own: int = 0
    known: int = 0
    phase: Phase = SENSE


def winning_lines(columns: int) -> tuple[int, ...]:
    """Return every three in a row of 3 x `columns` cells, as bits, in increasing order."""
    found = []
    for row, column in ((r, c) for r in range(ROWS) for c in range(columns)):
        for down, right in _DIRECTIONS:
            last_row, last_column = row + 2 * down, column + 2 * right
            if last_row < ROWS and 0 <= last_column < columns:
                found.append(
                    bits((row + i * down) * columns + column + i * right for i in (0, 1, 2))
                )
    return tuple(sorted(found))


def sensing_lines(columns: int) -> tuple[int, ...]:
    """Return the lines that can be sensed, as bits, in the order of the senses' numbers.

    The rows from the lowest, whole; the columns from the left, whole; then the diagonals of three
    cells in increasing order of their bits: 3 + 3 + 2 lines on 3x3, 3 + 4 + 4 on 3x4.
    """
    rows = [bits(range(r * columns, (r + 1) * columns)) for r in range(ROWS)]
    files = [bits(range(c, ROWS * columns, columns)) for c in range(columns)]
    straight = {line & mask for mask in (*rows, *files) for line in winning_lines(columns)}
    return (*rows, *files, *(line for line in winning_lines(columns) if line not in straight))


class PhantomLinesProblem(DrawsRoots):
    """The problem on 3 rows of 3 or 4 columns. Values: 1 for a win, 0 for a draw, -1 for a loss.

    Actions: the senses by number, those of `sensing_lines`; then the cells, in order; the last one
    awaits the opponent's answer. Naming a cell costs no depth, whether or not the mark stands;
    awaiting the answer, the only action after a mark that stands, costs one. So depth counts
    standing marks, and a refusal costs nothing. Where the depth ends a state is worth 0.

    What is told: of a sense, the opponent's cells in the line, as bits; of a placement, 1 if it
    stood and 0 if it was refused; of the answer, 0.

    Attributes:
      rows, columns, cells: of the board.
      lines: what can be sensed; `await_` is the number of the last action.
      least, greatest, reachability: see `BeliefProblem`.
    """

    least, greatest, reachability = -1.0, 1.0, False
    rows = ROWS

    def __init__(self, columns: int = 3) -> None:
        if columns not in (3, 4):
            raise ValueError(f"the board has 3 or 4 columns, got {columns}")
        self.columns = columns
        self.cells = ROWS * columns
        self.lines = sensing_lines(columns)
        self.await_ = len(self.lines) + self.cells
        self._full = (1 << self.cells) - 1
        self._wins = winning_lines(columns)

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: PhantomPublic) -> Sequence[int]:
        """Return the senses; or the cells not known to be taken; or to await the answer."""
        if public.phase == SENSE:
            return range(len(self.lines))
        if public.phase == AWAIT:
            return (self.await_,)
        free = self._full & ~(public.own | public.known)
        return [len(self.lines) + cell for cell in squares_of(free)]

    def cost(self, public: PhantomPublic, action: int) -> int:
        """Return 1 for awaiting the opponent's answer, else 0."""
        return 1 if public.phase == AWAIT else 0

    def replies(self, public: PhantomPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return what is told, or each answer of the opponent; of its ends one of each value."""
        if public.phase == SENSE:
            return (goes_on(hidden & self.lines[action], hidden),)
        if public.phase == AWAIT:
            return self._answers(public.own, hidden)
        mark = 1 << action - len(self.lines)
        if hidden & mark:
            return (goes_on(0, hidden),)
        own = public.own | mark
        if self.has_line(own):
            return (over(1.0),)
        return (over(0.0),) if own | hidden == self._full else (goes_on(1, hidden),)

    def after(self, public: PhantomPublic, action: int, observation: Hashable) -> PhantomPublic:
        """Return what the player knows once it was told so."""
        assert isinstance(observation, int)
        own, known, phase = public
        if phase == SENSE:
            return PhantomPublic(own, known | observation, PLACE)
        if phase == AWAIT:
            return PhantomPublic(own, known, SENSE)
        mark = 1 << action - len(self.lines)
        if observation:
            return PhantomPublic(own | mark, known, AWAIT)
        return PhantomPublic(own, known | mark, PLACE)

    def evaluate(self, public: PhantomPublic, hidden: int) -> float:
        """Return 0."""
        return 0.0

    def universe(self, public: PhantomPublic) -> list[int]:
        """Return the sets of as many cells as the opponent holds, in increasing order.

        The known ones are in each, none of the player's is, and no three are in a row.
        """
        count = public.own.bit_count() - (public.phase == AWAIT)
        left = count - public.known.bit_count()
        free = list(squares_of(self._full & ~(public.own | public.known)))
        if left < 0 or left > len(free):
            return []
        sets = (public.known | bits(cells) for cells in combinations(free, left))
        return sorted(hidden for hidden in sets if not self.has_line(hidden))

    # -- roots ------------------------------------------------------------------------------------

    def random_public(self, rng: random.Random) -> PhantomPublic:
        """Return one or two marks of the player on random cells."""
        marks = rng.randint(1, 2)
        return PhantomPublic(own=bits(rng.sample(range(self.cells), marks)))

    def consistent(self, public: PhantomPublic) -> list[int]:
        """Return all that the public part allows."""
        return self.universe(public)

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return a random fifth to all of the states."""
        return rng.sample(states, rng.randint(-(-len(states) // 5), len(states)))

    # -- rules ------------------------------------------------------------------------------------

    def has_line(self, marks: int) -> bool:
        """Return whether a set of cells holds three in a row."""
        return any(marks & line == line for line in self._wins)

    def _answers(self, own: int, hidden: int) -> tuple[Reply, ...]:
        found: dict[Reply, None] = {}
        for cell in squares_of(self._full & ~(own | hidden)):
            marks = hidden | 1 << cell
            if self.has_line(marks):
                found[over(-1.0)] = None
            elif own | marks == self._full:
                found[over(0.0)] = None
            else:
                found[goes_on(0, marks)] = None
        return tuple(sorted(found, key=lambda reply: (not reply.ends, reply.value)))
