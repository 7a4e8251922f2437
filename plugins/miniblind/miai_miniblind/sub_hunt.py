"""Submarine hunt, a problem for searches over beliefs and a game: hidden square and heading.

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
import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

from pydantic import model_validator

from miai import Parameters, parameter
from miai.beliefs.problem import Reply, Root, goes_on, over
from miai_miniblind.blind import BlindGame, BlindState, parse_square, square_name
from miai_miniblind.roots import DrawsRoots, nearest

MIN_SIZE, MAX_SIZE = 3, 16
MAX_PINGS = 8
HEADINGS = "nesw"
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


def sub_hunt_problem(parameters: HuntProblemParameters) -> SubHuntProblem:
    """Return the problem. Raises `ValueError` if the block is larger than the sea."""
    return SubHuntProblem(parameters.n, parameters.pings, parameters.blast)


# The game. Its rules are stated again, for one state, so that tests can compare it with the
# problem.

TURNS = ("left", "ahead", "right")
"""The submarine's actions, in the order of their numbers."""


class SubHuntParameters(Parameters):
    """Parameters of the game ``sub_hunt``."""

    size: int = parameter(8, ge=3, le=16, help="Squares on a side of the sea")
    pings: int = parameter(2, ge=0, le=8, help="Pings before each charge")
    blast: int = parameter(2, ge=1, le=16, help="Squares on a side of a charge's block")
    starts: tuple[str, ...] = parameter(
        (),
        help="Possible starts of the submarine, square and heading, such as c4n (default: any)",
        max_length=1024,
    )
    max_turns: int = parameter(20, ge=1, le=10_000, help="Charges until the submarine has escaped")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.blast > self.size:
            raise ValueError(f"blast is {self.blast}, but the sea has {self.size} on a side")
        root_of(self)
        return self


class SubHunt(BlindGame):
    """The game. The submarine's actions, `TURNS`, follow the number `submarine`."""

    parameters: SubHuntParameters

    def __init__(self, parameters: SubHuntParameters | None = None) -> None:
        self.parameters = parameters or SubHuntParameters()
        self.problem = _problem_of(self.parameters)
        self.blocks = self.parameters.size - self.parameters.blast + 1  # on a side
        self.submarine = self.problem.lines + self.blocks**2
        super().__init__(
            "sub_hunt",
            ("hunter", "submarine"),
            columns=self.parameters.size,
            root=root_of(self.parameters),
            first_start=self.submarine + len(TURNS),
            max_length=self.parameters.max_turns * (self.parameters.pings + 2),
        )

    @classmethod
    def from_root(
        cls, problem: SubHuntProblem, root: Root[HuntPublic], *, max_turns: int = 20
    ) -> SubHunt:
        """Return the game that begins at a root: chance chooses one of its hidden parts.

        Raises `ValueError` if the root is not at the start of a turn.
        """
        if root.public.pings != problem.pings:
            raise ValueError(
                f"a game begins with a turn of {problem.pings} pings; this root has "
                f"{root.public.pings} left"
            )
        texts = (square_name(h // 4, problem.n) + HEADINGS[h % 4] for h in root.hidden)
        parameters = SubHuntParameters(
            size=problem.n,
            pings=problem.pings,
            blast=problem.blast,
            starts=tuple(texts),
            max_turns=max_turns,
        )
        return cls(parameters)

    def belief_problem(self) -> SubHuntProblem:
        """Return the problem of this sea, for the hunter."""
        return self.problem

    def new_initial_state(self) -> SubHuntState:
        """Return the state before chance places the submarine."""
        return SubHuntState(self)


class SubHuntState(BlindState):
    """Square and heading of the submarine, the pings left, and the phase."""

    game: SubHunt

    def __init__(self, game: SubHunt) -> None:
        super().__init__(game)
        self._rank, self._file, self._heading = -1, -1, "n"
        self._pings = game.parameters.pings
        self._turns = 0

    @property
    def public(self) -> HuntPublic:
        """The pings left; those of a new turn while the submarine moves."""
        return HuntPublic(self._pings)

    @property
    def hidden(self) -> int:
        """The hidden part: square and heading."""
        square = self._rank * self.game.parameters.size + self._file
        return 4 * square + HEADINGS.index(self._heading)

    def place(self, public: HuntPublic, hidden: int) -> None:
        """Set up a state of the problem."""
        self._rank, self._file = divmod(hidden // 4, self.game.parameters.size)
        self._heading = HEADINGS[hidden % 4]
        self._pings = public.pings
        self._phase = "search"

    def _legal_moves(self) -> list[int]:
        if self._phase == "search":
            lines = self.game.problem.lines
            return list(range(lines)) if self._pings else list(range(lines, self.game.submarine))
        sea = range(self.game.parameters.size)
        targets = map(self._ahead, TURNS)
        inside = [rank in sea and file in sea for rank, file, _ in targets]
        return [self.game.submarine + turn for turn, fits in enumerate(inside) if fits]

    def _play(self, action: int) -> None:
        if self._phase == "answer":
            self._reveal_nothing()
            self._rank, self._file, self._heading = self._ahead(TURNS[action - self.game.submarine])
            self._phase = "search"
        elif self._pings:
            self._pings -= 1
            self._reveal(action, {"beyond": self._is_beyond(action)})
        else:
            self._charge(action)

    def _is_beyond(self, ping: int) -> bool:
        """Return whether the submarine is above the line of a ping, or to the right of it."""
        ranks = self.game.parameters.size - 1
        return self._rank > ping if ping < ranks else self._file > ping - ranks

    def _charge(self, action: int) -> None:
        low, first_file = divmod(action - self.game.problem.lines, self.game.blocks)
        blast = self.game.parameters.blast
        hit = self._rank in range(low, low + blast) and self._file in range(
            first_file, first_file + blast
        )
        self._reveal(action, {"hit": hit})
        self._turns += 1
        if hit:
            self._finish(1.0)
        elif self._turns == self.game.parameters.max_turns:
            self._finish(-1.0)
        else:
            self._phase, self._pings = "answer", self.game.parameters.pings

    def _ahead(self, turn: str) -> tuple[int, int, str]:
        right = {"n": "e", "e": "s", "s": "w", "w": "n"}
        heading = self._heading
        for _ in range({"ahead": 0, "right": 1, "left": 3}[turn]):
            heading = right[heading]
        rank = self._rank + (heading == "n") - (heading == "s")
        return rank, self._file + (heading == "e") - (heading == "w"), heading

    def winner_to_string(self, value: float) -> str:
        """Return ``hunter wins`` or ``submarine escapes``."""
        return "hunter wins" if value > 0 else "submarine escapes"

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._rank, other._file, other._heading = self._rank, self._file, self._heading
        other._pings, other._turns = self._pings, self._turns

    def key(self) -> Hashable:
        """Return square, heading, pings left, phase, turns and result."""
        submarine = (self._rank, self._file, self._heading)
        return (*submarine, self._pings, self._phase, self._turns, self._value)

    def letters(self) -> str:
        """Return the heading (``n``, ``e``, ``s`` or ``w``) on the submarine's square."""
        letters = ["."] * self.game.problem.squares
        if self._phase != "start":
            letters[self._rank * self.game.parameters.size + self._file] = self._heading
        return "".join(letters)

    def action_to_string(self, action: int) -> str:
        """Return ``ping 2`` above rank 2, ``ping b`` right of file b, ``charge b2``; ``left``.

        A charge is named by the lower left corner of its block; a start is ``@c4n``.
        """
        size, lines = self.game.parameters.size, self.game.problem.lines
        if action < size - 1:
            return f"ping {action + 1}"
        if action < lines:
            return f"ping {square_name(action - size + 1, size)[0]}"
        if action < self.game.submarine:
            low, first_file = divmod(action - lines, self.game.blocks)
            return f"charge {square_name(low * size + first_file, size)}"
        if action < self.game.first_start:
            return TURNS[action - self.game.submarine]
        square, heading = divmod(action - self.game.first_start, 4)
        return f"@{square_name(square, size)}{HEADINGS[heading]}"


def root_of(parameters: SubHuntParameters) -> Root[HuntPublic]:
    """Return the root of a game: the start of a turn and the possible hidden parts.

    Raises `ValueError` if a start is not a square and a heading.
    """
    public = HuntPublic(parameters.pings)
    if not parameters.starts:
        return Root(public, tuple(_problem_of(parameters).universe(public)))
    hidden = {_parse_start(text, parameters.size) for text in parameters.starts}
    return Root(public, tuple(sorted(hidden)))


def _parse_start(text: str, size: int) -> int:
    if not re.fullmatch(r"[a-z][0-9]+[nesw]", text):
        raise ValueError(f"starts: {text[:20]!r} is not a square and a heading; write c4n")
    square = parse_square(text[:-1], rows=size, columns=size)
    return 4 * square + HEADINGS.index(text[-1])


def _problem_of(parameters: SubHuntParameters) -> SubHuntProblem:
    return SubHuntProblem(parameters.size, parameters.pings, parameters.blast)
