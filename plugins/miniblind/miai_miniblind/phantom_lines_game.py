"""Phantom tic-tac-toe with line sensing as a game: ``x`` searches, ``o`` sees everything.

The rules are those of `miai_miniblind.phantom_lines`, written down for one state.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Literal, Self

from pydantic import model_validator

from miai import Game, GameInfo, Parameters, parameter
from miai.beliefs.problem import Root
from miai_miniblind.blind import (
    BlindState,
    Starts,
    actor_of,
    bits,
    board_text,
    parse_square,
    square_name,
    squares_of,
)
from miai_miniblind.phantom_lines import AWAIT, PLACE, ROWS, SENSE, PhantomLinesProblem
from miai_miniblind.phantom_lines import PhantomPublic as Public

Phase = Literal["start", "sense", "place", "answer", "over"]


class PhantomLinesParameters(Parameters):
    """The board, and marks that stand at the start."""

    columns: int = parameter(3, ge=3, le=4, help="Cells in a row; there are three rows")
    own: tuple[str, ...] = parameter((), help="Cells that x holds at the start", max_length=12)
    starts: tuple[str, ...] = parameter(
        (),
        help="Where o may stand at the start, as many cells as x: a1b2; by default anywhere",
        max_length=1000,
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        root_of(self)
        return self


class PhantomLines(Game):
    """The game. Senses and cells are numbered as in the problem, for both players.

    Chance's choice of the hidden part h, where there is one, is `starts.first + h`.
    """

    parameters: PhantomLinesParameters

    def __init__(self, parameters: PhantomLinesParameters | None = None) -> None:
        self.parameters = parameters or PhantomLinesParameters()
        self.problem = PhantomLinesProblem(self.parameters.columns)
        root = root_of(self.parameters)
        self.start = root.public
        cells = self.problem.cells
        self.starts = Starts(list(root.hidden), first=len(self.problem.lines) + cells)
        self.info = GameInfo(
            name="phantom_lines",
            version=1,
            num_players=2,
            num_distinct_actions=self.starts.first,
            # A sense for each mark of x, and each mark of o is refused once.
            max_game_length=2 * ((cells + 1) // 2) + 2 * (cells // 2),
            max_chance_outcomes=self.starts.first + max(root.hidden) + 1 if root.public.own else 0,
            player_names=("x", "o"),
            perfect_information=False,
        )

    @classmethod
    def from_root(cls, problem: PhantomLinesProblem, root: Root[Public]) -> PhantomLines:
        """Return the game that begins at a root: chance chooses one of its hidden parts.

        Raises:
          ValueError: the player does not sense next, or knows marks of the opponent.
        """
        if root.public.phase != SENSE or root.public.known:
            raise ValueError(
                f"a game begins with a sense and nothing known; this root has {root.public}"
            )
        columns = problem.columns
        names = [square_name(cell, columns) for cell in range(problem.cells)]
        parameters = PhantomLinesParameters(
            columns=columns,
            own=tuple(names[cell] for cell in squares_of(root.public.own)),
            starts=tuple("".join(names[c] for c in squares_of(h)) for h in root.hidden if h),
        )
        return cls(parameters)

    def belief_problem(self) -> PhantomLinesProblem:
        """Return the problem of this board, for x; its actions have the same numbers."""
        return self.problem

    def new_initial_state(self) -> PhantomLinesState:
        """Return the marks of x; those of o not yet chosen, where there are any."""
        return PhantomLinesState(self)

    def state_at(self, public: Public, hidden: int) -> PhantomLinesState:
        """Return a state of the problem, without a history."""
        state = self.new_initial_state()
        state.place(public, hidden)
        return state


class PhantomLinesState(BlindState):
    """The marks, what x knows of those of o, and what is done next."""

    game: PhantomLines

    def __init__(self, game: PhantomLines) -> None:
        super().__init__(game)
        self._board = ["."] * game.problem.cells
        for cell in squares_of(game.start.own):
            self._board[cell] = "x"
        self._known: frozenset[int] = frozenset()
        self._phase: Phase = "start" if game.start.own else "sense"

    @property
    def public(self) -> Public:
        """The marks of x, those of o that it knows, and the phase."""
        phase = self._phase if self._phase in (SENSE, PLACE) else AWAIT
        return Public(self._marks("x"), bits(self._known), phase)

    @property
    def hidden(self) -> int:
        """The hidden part: the marks of o."""
        return self._marks("o")

    def place(self, public: Public, hidden: int) -> None:
        """Put all marks where they stand in a state of the problem."""
        for cell in range(self.game.problem.cells):
            own, other = public.own >> cell & 1, hidden >> cell & 1
            self._board[cell] = "x" if own else "o" if other else "."
        self._known = frozenset(squares_of(public.known))
        phases: dict[str, Phase] = {SENSE: "sense", PLACE: "place", AWAIT: "answer"}
        self._phase = phases[public.phase]

    def current_player(self) -> int:
        """Return chance at the start, x for a sense and for marks, o for its answer."""
        return actor_of(self._phase)

    def legal_actions(self) -> list[int]:
        """Return lines, cells not known to be taken, free cells for o, or starts."""
        lines = len(self.game.problem.lines)
        if self._phase == "start":
            return [action for action, _ in self.chance_outcomes()]
        if self._phase == "sense":
            return list(range(lines))
        cells = range(self.game.problem.cells)
        if self._phase == "place":
            return [lines + c for c in cells if self._board[c] != "x" and c not in self._known]
        if self._phase == "answer":
            return [lines + c for c in cells if self._board[c] == "."]
        return []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the places where o may stand, equally probable."""
        return self.game.starts.outcomes() if self._phase == "start" else []

    def _apply(self, action: int) -> None:
        cell = action - len(self.game.problem.lines)
        if self._phase == "start":
            self._tell_nothing()
            self.place(self.game.start, self.game.starts.hidden_of(action))
        elif self._phase == "sense":
            line = squares_of(self.game.problem.lines[action])
            taken = [c for c in line if self._board[c] == "o"]
            self._known |= set(taken)
            self._tell(action, {"seen": tuple(map(self._name, taken))})
            self._phase = "place"
        elif self._phase == "place":
            self._try(action, cell)
        else:
            self._tell_nothing()
            self._mark(cell, "o", then="sense")

    def _try(self, action: int, cell: int) -> None:
        stood = self._board[cell] == "."
        self._tell(action, {"stood": stood})
        if stood:
            self._mark(cell, "x", then="answer")
        else:
            self._known |= {cell}

    def _mark(self, cell: int, letter: str, *, then: Phase) -> None:
        self._board[cell] = letter
        self._phase = then
        won = self._has_three(letter)
        if won or "." not in self._board:
            self._phase = "over"
            self._finish(0.0 if not won else 1.0 if letter == "x" else -1.0)

    def _has_three(self, letter: str) -> bool:
        columns = self.game.problem.columns
        held = {divmod(c, columns) for c, mark in enumerate(self._board) if mark == letter}
        return any(
            {(row + i * down, column + i * right) for i in range(3)} <= held
            for row, column in held
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        )

    def _marks(self, letter: str) -> int:
        return bits(cell for cell, mark in enumerate(self._board) if mark == letter)

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._board, other._known, other._phase = self._board.copy(), self._known, self._phase

    def key(self) -> Hashable:
        """Return the board, what x knows, and the phase."""
        return ("".join(self._board), bits(self._known), self._phase)

    def letters(self) -> str:
        """Return ``x`` and ``o`` for the marks."""
        return "".join(self._board)

    def winner_to_string(self, value: float) -> str:
        """Return ``x wins``, ``o wins`` or ``draw``."""
        return "x wins" if value > 0 else "o wins" if value < 0 else "draw"

    def __str__(self) -> str:
        return board_text(self.letters(), self.game.problem.columns)

    def action_to_string(self, action: int) -> str:
        """Return ``sense a1b1c1``, ``b2`` for a mark of either player, ``@a1b2`` at first."""
        lines = self.game.problem.lines
        if action < len(lines):
            return f"sense {''.join(map(self._name, squares_of(lines[action])))}"
        if action < self.game.starts.first:
            return self._name(action - len(lines))
        cells = squares_of(self.game.starts.hidden_of(action))
        return f"@{''.join(map(self._name, cells))}"

    def _name(self, cell: int) -> str:
        return square_name(cell, self.game.problem.columns)


def root_of(parameters: PhantomLinesParameters) -> Root[Public]:
    """Return where a game begins: the marks of x and where those of o may be.

    Raises:
      ValueError: a cell is not on the board, or the marks of x and of o do not go together.
    """
    problem = PhantomLinesProblem(parameters.columns)
    own = _parse_cells("own", "".join(parameters.own), parameters.columns)
    public = Public(own=own)
    possible = problem.universe(public)
    if problem.has_line(own) or not possible:
        raise ValueError(f"own: x cannot hold {''.join(parameters.own)} when it is its turn")
    if not parameters.starts:
        return Root(public, tuple(possible))
    hidden = {_parse_cells("starts", text, parameters.columns) for text in parameters.starts}
    if not hidden <= set(possible):
        raise ValueError(
            f"starts: each gives {own.bit_count()} cells, as many as own has, none of which is in "
            "own and no three in a row"
        )
    return Root(public, tuple(sorted(hidden)))


def _parse_cells(name: str, text: str, columns: int) -> int:
    if not re.fullmatch(r"([a-z][0-9])*", text):
        raise ValueError(f"{name}: {text[:20]!r} is not a row of cells; write a1b2")
    cells = [
        parse_square(cell, rows=ROWS, columns=columns) for cell in re.findall(r"[a-z][0-9]", text)
    ]
    if len(set(cells)) < len(cells):
        raise ValueError(f"{name}: {text!r} has a cell twice")
    return bits(cells)
