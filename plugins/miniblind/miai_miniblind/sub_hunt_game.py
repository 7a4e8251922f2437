"""Submarine hunt as a game: the hunter searches, the submarine sees everything.

The rules are those of `miai_miniblind.sub_hunt`, written down for one state.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Literal, Self

from pydantic import model_validator

from miai import Game, GameInfo, Parameters, parameter
from miai.beliefs.problem import Root
from miai_miniblind.blind import BlindState, Starts, actor_of, board_text, parse_square, square_name
from miai_miniblind.sub_hunt import HEADINGS, HuntPublic, SubHuntProblem

Phase = Literal["start", "search", "answer", "over"]
TURNS = ("left", "ahead", "right")
"""The submarine's actions, in the order of their numbers."""


class SubHuntParameters(Parameters):
    """The sea, what the hunter can do, and where and when it begins and ends."""

    size: int = parameter(8, ge=3, le=16, help="Squares on a side of the sea")
    pings: int = parameter(2, ge=0, le=8, help="Pings before each charge")
    blast: int = parameter(2, ge=1, le=16, help="Squares on a side of a charge's block")
    starts: tuple[str, ...] = parameter(
        (),
        help="Where the submarine may begin, square and heading: c4n; by default anywhere",
        max_length=1024,
    )
    max_turns: int = parameter(20, ge=1, le=10_000, help="Charges after which it has escaped")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.blast > self.size:
            raise ValueError(f"blast is {self.blast}, but the sea has {self.size} on a side")
        root_of(self)
        return self


class SubHunt(Game):
    """The game. The hunter's actions are numbered as in the problem, then come left, ahead, right.

    Chance's choice of the hidden part h is `starts.first + h`.
    """

    parameters: SubHuntParameters

    def __init__(self, parameters: SubHuntParameters | None = None) -> None:
        self.parameters = parameters or SubHuntParameters()
        self.problem = _problem_of(self.parameters)
        self.blocks = self.parameters.size - self.parameters.blast + 1  # on a side
        self.submarine = self.problem.lines + self.blocks**2
        root = root_of(self.parameters)
        self.starts = Starts(list(root.hidden), first=self.submarine + len(TURNS))
        self.info = GameInfo(
            name="sub_hunt",
            version=1,
            num_players=2,
            num_distinct_actions=self.starts.first,
            max_game_length=self.parameters.max_turns * (self.parameters.pings + 2),
            max_chance_outcomes=self.starts.first + max(root.hidden) + 1,
            player_names=("hunter", "submarine"),
            perfect_information=False,
        )

    @classmethod
    def from_root(
        cls, problem: SubHuntProblem, root: Root[HuntPublic], *, max_turns: int = 20
    ) -> SubHunt:
        """Return the game that begins at a root: chance chooses one of its hidden parts.

        Raises:
          ValueError: the root is not at the start of a turn.
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
        """Return the problem of this sea, for the hunter; its actions have the same numbers."""
        return self.problem

    def new_initial_state(self) -> SubHuntState:
        """Return the sea, the submarine not yet chosen."""
        return SubHuntState(self)

    def state_at(self, public: HuntPublic, hidden: int) -> SubHuntState:
        """Return a state of the problem, without a history and with all turns left."""
        state = self.new_initial_state()
        state.place(public, hidden)
        return state


class SubHuntState(BlindState):
    """Where the submarine is and goes, and what is done next."""

    game: SubHunt

    def __init__(self, game: SubHunt) -> None:
        super().__init__(game)
        self._rank, self._file, self._heading = -1, -1, "n"
        self._pings = game.parameters.pings
        self._phase: Phase = "start"
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
        """Put the submarine where it is in a state of the problem."""
        self._rank, self._file = divmod(hidden // 4, self.game.parameters.size)
        self._heading = HEADINGS[hidden % 4]
        self._pings = public.pings
        self._phase = "search"

    def current_player(self) -> int:
        """Return chance at the start, the hunter for pings and the charge, then the submarine."""
        return actor_of(self._phase)

    def legal_actions(self) -> list[int]:
        """Return the pings, the charges, the submarine's turns or the starts."""
        if self._phase == "start":
            return [action for action, _ in self.chance_outcomes()]
        if self._phase == "search":
            lines = self.game.problem.lines
            return list(range(lines)) if self._pings else list(range(lines, self.game.submarine))
        if self._phase == "answer":
            turns = enumerate(TURNS)
            return [self.game.submarine + i for i, turn in turns if self._can_go(turn)]
        return []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return where the submarine may begin, equally probable."""
        return self.game.starts.outcomes() if self._phase == "start" else []

    def _apply(self, action: int) -> None:
        if self._phase == "start":
            self._tell_nothing()
            start = HuntPublic(self.game.parameters.pings)
            self.place(start, self.game.starts.hidden_of(action))
        elif self._phase == "answer":
            self._tell_nothing()
            self._rank, self._file, self._heading = self._ahead(TURNS[action - self.game.submarine])
            self._phase = "search"
        elif self._pings:
            self._pings -= 1
            self._tell(action, {"beyond": self._is_beyond(action)})
        else:
            self._charge(action)

    def _is_beyond(self, ping: int) -> bool:
        """Return whether the submarine is above the line of a ping, or to the right of it."""
        ranks = self.game.parameters.size - 1
        return self._rank > ping if ping < ranks else self._file > ping - ranks

    def _charge(self, action: int) -> None:
        low, left = divmod(action - self.game.problem.lines, self.game.blocks)
        blast = self.game.parameters.blast
        hit = self._rank in range(low, low + blast) and self._file in range(left, left + blast)
        self._tell(action, {"hit": hit})
        self._turns += 1
        if hit:
            self._end(1.0)
        elif self._turns == self.game.parameters.max_turns:
            self._end(-1.0)
        else:
            self._phase, self._pings = "answer", self.game.parameters.pings

    def _ahead(self, turn: str) -> tuple[int, int, str]:
        """Return rank, file and heading after a move."""
        right = {"n": "e", "e": "s", "s": "w", "w": "n"}
        heading = self._heading
        for _ in range({"ahead": 0, "right": 1, "left": 3}[turn]):
            heading = right[heading]
        rank = self._rank + (heading == "n") - (heading == "s")
        return rank, self._file + (heading == "e") - (heading == "w"), heading

    def _can_go(self, turn: str) -> bool:
        sea = range(self.game.parameters.size)
        rank, file, _ = self._ahead(turn)
        return rank in sea and file in sea

    def _end(self, value: float) -> None:
        self._phase = "over"
        self._finish(value)

    def winner_to_string(self, value: float) -> str:
        """Return ``hunter wins`` or ``submarine escapes``."""
        return "hunter wins" if value > 0 else "submarine escapes"

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._rank, other._file, other._heading = self._rank, self._file, self._heading
        other._pings, other._phase, other._turns = self._pings, self._phase, self._turns

    def key(self) -> Hashable:
        """Return the submarine, the pings left, phase, turns and the result."""
        where = (self._rank, self._file, self._heading)
        return (*where, self._pings, self._phase, self._turns, self._value)

    def letters(self) -> str:
        """Return ``n``, ``e``, ``s`` or ``w``, the heading, where the submarine is."""
        letters = ["."] * self.game.problem.squares
        if self._phase != "start":
            letters[self._rank * self.game.parameters.size + self._file] = self._heading
        return "".join(letters)

    def __str__(self) -> str:
        return board_text(self.letters(), self.game.parameters.size)

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
            low, left = divmod(action - lines, self.game.blocks)
            return f"charge {square_name(low * size + left, size)}"
        if action < self.game.starts.first:
            return TURNS[action - self.game.submarine]
        square, heading = divmod(self.game.starts.hidden_of(action), 4)
        return f"@{square_name(square, size)}{HEADINGS[heading]}"


def root_of(parameters: SubHuntParameters) -> Root[HuntPublic]:
    """Return where a game begins: a turn, and the hidden parts that may be.

    Raises:
      ValueError: a start is not a square of the sea with a heading.
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
