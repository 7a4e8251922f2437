"""Phantom tic-tac-toe with line sensing, a problem for searches over beliefs.

On 3x3 or 3x4 cells the player and an opponent, who sees everything, place marks in turn, the
player first; three in a row win, a full board is a draw. Before each placement the player senses
one line, which shows the cells of the opponent in it. Then it names a cell. A cell of the opponent
is refused, and the player, who now knows it, names another.

Cells are numbered row by row from a1 = 0; 3x4 is three rows of four. A hidden part is the set of
the opponent's cells, bit c for cell c.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

from miai import Parameters, parameter
from miai.beliefs.problem import Reply, goes_on, over
from miai.beliefs.sets import numbers
from miai.values import ValueUnit
from miai_miniblind.boards import bits, board_symmetries
from miai_miniblind.roots import DrawsRoots

ROWS = 3
PublicPhase = Literal["sense", "place", "await"]
SENSE: Final = "sense"
PLACE: Final = "place"
AWAIT: Final = "await"
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # as (rows, columns)


class PhantomPublic(NamedTuple):
    """What the player knows for certain.

    Attributes:
      own: the player's cells, as bits.
      known: cells of the opponent seen by a sense or a refusal, as bits.
      phase: whether the player senses, places, or awaits the answer to its mark.
    """

    own: int = 0
    known: int = 0
    phase: PublicPhase = SENSE


def winning_lines(columns: int) -> tuple[int, ...]:
    """Return every three in a row of 3 x `columns` cells, as bits, in increasing order."""
    lines = []
    for row, column in ((r, c) for r in range(ROWS) for c in range(columns)):
        for down, right in _DIRECTIONS:
            last_row, last_column = row + 2 * down, column + 2 * right
            if last_row < ROWS and 0 <= last_column < columns:
                lines.append(
                    bits((row + i * down) * columns + column + i * right for i in (0, 1, 2))
                )
    return tuple(sorted(lines))


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

    Actions: the lines of `sensing_lines`, the cells, and to await the opponent's answer. Naming a
    cell costs no depth, whether or not it is refused; awaiting the answer, the only action after a
    mark, costs one. So depth counts marks. Where the depth ends a state is worth 0.

    Observations: of a sense, the opponent's cells in the line, as bits; of a placement, 1 for a
    mark and 0 for a refusal; of the answer, 0.

    Attributes:
      rows, columns, cells: of the board.
      lines: the lines that can be sensed.
      await_: the number of the last action.
      least, greatest, reachability: see `BeliefProblem`.
    """

    least, greatest, reachability = -1.0, 1.0, False
    value_unit = ValueUnit.UTILITY
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
        self._images = [
            [bits(image[cell] for cell in numbers(marks)) for marks in range(self._full + 1)]
            for image in board_symmetries(ROWS, columns)
        ]

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: PhantomPublic) -> Sequence[int]:
        """Return the senses, the cells not known to be taken, or to await the answer."""
        if public.phase == SENSE:
            return range(len(self.lines))
        if public.phase == AWAIT:
            return (self.await_,)
        free = self._full & ~(public.own | public.known)
        return [len(self.lines) + cell for cell in numbers(free)]

    def cost(self, public: PhantomPublic, action: int) -> int:
        """Return 1 for awaiting the opponent's answer, else 0."""
        return 1 if public.phase == AWAIT else 0

    def replies(self, public: PhantomPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return the observation, or the opponent's answers (ends of equal value once)."""
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
        """Return what the player knows after an observation."""
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
        """Return the opponent's possible sets of cells, in increasing order.

        Each contains the known cells, none of the player's, and no three in a row.
        """
        count = public.own.bit_count() - (public.phase == AWAIT)
        unknown = count - public.known.bit_count()
        free = list(numbers(self._full & ~(public.own | public.known)))
        if unknown < 0:
            return []
        sets = (public.known | bits(cells) for cells in combinations(free, unknown))
        return sorted(hidden for hidden in sets if not self.has_line(hidden))

    def canonical(self, public: PhantomPublic) -> tuple[PhantomPublic, Callable[[int], int]]:
        """Return the least public part of all rotations and reflections, and its map."""
        own, known, phase = public
        image = min(self._images, key=lambda image: (image[own], image[known]))
        return PhantomPublic(image[own], image[known], phase), image.__getitem__

    # -- roots ------------------------------------------------------------------------------------

    def random_public(self, rng: random.Random) -> PhantomPublic:
        """Return the player's marks on one or two random cells."""
        marks = rng.randint(1, 2)
        return PhantomPublic(own=bits(rng.sample(range(self.cells), marks)))

    def consistent(self, public: PhantomPublic) -> list[int]:
        """Return the universe."""
        return self.universe(public)

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return a random selection of a fifth to all of the states."""
        return rng.sample(states, rng.randint(-(-len(states) // 5), len(states)))

    # -- rules ------------------------------------------------------------------------------------

    def has_line(self, marks: int) -> bool:
        """Return whether a set of cells contains three in a row."""
        return any(marks & line == line for line in self._wins)

    def _answers(self, own: int, hidden: int) -> tuple[Reply, ...]:
        replies: set[Reply] = set()
        for cell in numbers(self._full & ~(own | hidden)):
            marks = hidden | 1 << cell
            if self.has_line(marks):
                replies.add(over(-1.0))
            elif own | marks == self._full:
                replies.add(over(0.0))
            else:
                replies.add(goes_on(0, marks))
        return tuple(sorted(replies, key=lambda r: (not r.ends, r.value, r.hidden)))


class PhantomProblemParameters(Parameters):
    """Parameters of the problem as a component."""

    columns: int = parameter(3, ge=3, le=4, help="Columns of the board, which has three rows")


def phantom_lines_problem(parameters: PhantomProblemParameters) -> PhantomLinesProblem:
    """Return the problem."""
    return PhantomLinesProblem(parameters.columns)
