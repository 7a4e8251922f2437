"""Mini-RBC as a game: White searches for Black's king, Black sees everything.

The rules are those of `miai_miniblind.mini_rbc`, written down for one state and without tables.

What mini-RBC can be asked for, and the root at which a game of it begins.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Literal, Self

from pydantic import model_validator

from miai import Game, GameInfo, Parameters, parameter
from miai.beliefs.problem import Root
from miai_miniblind.blind import BlindState, Starts, actor_of, board_text, parse_square, square_name
from miai_miniblind.mini_rbc import MiniRbcProblem, MiniRbcPublic


class MiniRbcParameters(Parameters):
    """The board, where it begins and when it ends."""

    size: int = parameter(5, ge=4, le=8, help="Squares on a side of the board")
    window: int = parameter(3, ge=1, le=8, help="Squares on a side of a sensed window")
    decoy: bool = parameter(False, help="Whether Black has a decoy, too")
    king: str = parameter("b1", help="Square of White's king at the start", max_length=3)
    rook: str = parameter("a1", help="Square of White's rook at the start", max_length=3)
    starts: tuple[str, ...] = parameter(
        (),
        help="Where Black may begin: squares of its king, followed by that of the decoy; "
        "by default wherever the kings are apart",
        max_length=4096,
    )
    max_turns: int = parameter(30, ge=1, le=10_000, help="White's moves after which it is a draw")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.window > self.size:
            raise ValueError(f"window is {self.window}, but the board has {self.size} on a side")
        root_of(self)
        return self


def root_of(parameters: MiniRbcParameters) -> Root[MiniRbcPublic]:
    """Return where a game begins: White's pieces and the hidden parts that may be.

    Raises:
      ValueError: a square is not on the board, two pieces share one, or the starts are not alike.
    """
    problem = problem_of(parameters)
    size = parameters.size
    king = parse_square(parameters.king, rows=size, columns=size)
    rook = parse_square(parameters.rook, rows=size, columns=size)
    if king == rook:
        raise ValueError(f"king and rook are both on {parameters.king}; give each a square")
    public = MiniRbcPublic(king, rook, parameters.decoy)
    if not parameters.starts:
        return Root(public, tuple(problem.consistent(public)))
    placed = [_parse_start(text, size) for text in parameters.starts]
    counts = {len(pieces) for pieces in placed}
    if len(counts) > 1 or not counts <= ({1, 2} if parameters.decoy else {1}):
        due = "king and decoy, or all the king alone" if parameters.decoy else "the king alone"
        raise ValueError(f"starts: each gives the square of {due}")
    public = public._replace(decoy=counts == {2})
    hidden = {problem.hidden(*pieces) for pieces in placed}
    if wrong := hidden - set(problem.universe(public)):
        first = problem.black_pieces(min(wrong))
        names = "".join(square_name(square, size) for square in first if square is not None)
        raise ValueError(f"starts: two pieces share a square in {names!r}")
    return Root(public, tuple(sorted(hidden)))


def _parse_start(text: str, size: int) -> list[int]:
    names = re.findall(r"[a-z][0-9]*", text) if re.fullmatch(r"([a-z][0-9]+){1,2}", text) else []
    if not names:
        raise ValueError(f"starts: {text[:20]!r} is not one or two squares; write e5 or e5d4")
    pieces = [parse_square(name, rows=size, columns=size) for name in names]
    if len(set(pieces)) < len(pieces):
        raise ValueError(f"starts: two pieces share a square in {text!r}")
    return pieces


def problem_of(parameters: MiniRbcParameters, *, graded: bool = False) -> MiniRbcProblem:
    """Return the problem of a game's board."""
    return MiniRbcProblem(parameters.size, parameters.window, parameters.decoy, graded)


Phase = Literal["start", "sense", "move", "answer", "over"]


class MiniRbc(Game):
    """The game. White's actions are numbered as in the problem, then come Black's and chance's.

    Black's king to square s is `black + s`, its decoy to s is `black + squares + s`; chance's
    choice of the hidden part h is `starts.first + h`.
    """

    parameters: MiniRbcParameters

    def __init__(self, parameters: MiniRbcParameters | None = None) -> None:
        self.parameters = parameters or MiniRbcParameters()
        size = self.parameters.size
        self.problem = problem_of(self.parameters)
        self.squares = size * size
        self.black = self.problem.numbers.pass_ + 1
        root = root_of(self.parameters)
        self.start = root.public
        self.starts = Starts(list(root.hidden), first=self.black + 2 * self.squares)
        self.info = GameInfo(
            name="mini_rbc",
            version=1,
            num_players=2,
            num_distinct_actions=self.starts.first,
            max_game_length=3 * self.parameters.max_turns,
            max_chance_outcomes=self.starts.first + max(root.hidden) + 1,
            player_names=("white", "black"),
            perfect_information=False,
        )

    @classmethod
    def from_root(
        cls, problem: MiniRbcProblem, root: Root[MiniRbcPublic], *, max_turns: int = 30
    ) -> MiniRbc:
        """Return the game that begins at a root: chance chooses one of its hidden parts.

        Raises:
          ValueError: White does not sense next.
        """
        if not root.public.senses:
            raise ValueError("a game begins with a sense; this root has White to move")
        n = problem.n
        texts = []
        for hidden in root.hidden:
            pieces = (s for s in problem.black_pieces(hidden) if s is not None)
            texts.append("".join(square_name(square, n) for square in pieces))
        parameters = MiniRbcParameters(
            size=n,
            window=problem.w,
            decoy=problem.decoy,
            king=square_name(root.public.king, n),
            rook=square_name(root.public.rook, n),
            starts=tuple(texts),
            max_turns=max_turns,
        )
        return cls(parameters)

    def belief_problem(self, *, graded: bool = False) -> MiniRbcProblem:
        """Return the problem of this board, for White; its actions have the same numbers."""
        return problem_of(self.parameters, graded=graded)

    def new_initial_state(self) -> MiniRbcState:
        """Return White's pieces, Black's not yet chosen."""
        return MiniRbcState(self)

    def state_at(self, public: MiniRbcPublic, hidden: int) -> MiniRbcState:
        """Return a state of the problem, without a history and with all turns left."""
        state = self.new_initial_state()
        state.place(public, hidden)
        return state


class MiniRbcState(BlindState):
    """Where the pieces stand, and what is done next."""

    game: MiniRbc

    def __init__(self, game: MiniRbc) -> None:
        super().__init__(game)
        self._white_king, self._rook = game.start.king, game.start.rook
        self._black_king = -1
        self._decoy: int | None = None
        self._phase: Phase = "start"
        self._turns = 0

    @property
    def public(self) -> MiniRbcPublic:
        """White's pieces, whether there is a decoy and whether White senses next."""
        has_decoy = self._decoy is not None
        return MiniRbcPublic(self._white_king, self._rook, has_decoy, self._phase != "move")

    @property
    def hidden(self) -> int:
        """The hidden part: where Black's pieces stand."""
        return self.game.problem.hidden(self._black_king, self._decoy)

    def place(self, public: MiniRbcPublic, hidden: int) -> None:
        """Put all pieces where they stand in a state of the problem."""
        self._white_king, self._rook = public.king, public.rook
        self._black_king, self._decoy = self.game.problem.black_pieces(hidden)
        self._phase = "sense" if public.senses else "move"

    def current_player(self) -> int:
        """Return chance at the start, White for a sense and a move, then Black."""
        return actor_of(self._phase)

    def legal_actions(self) -> list[int]:
        """Return the windows, White's moves, Black's steps or the starts."""
        if self._phase == "start":
            return [action for action, _ in self.chance_outcomes()]
        if self._phase == "sense":
            return list(range(self.game.problem.numbers.windows))
        if self._phase == "move":
            return self._white_moves()
        return self._black_moves() if self._phase == "answer" else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the places where Black may begin, equally probable."""
        return self.game.starts.outcomes() if self._phase == "start" else []

    def _apply(self, action: int) -> None:
        if self._phase == "start":
            self._tell_nothing()
            self.place(self.game.start, self.game.starts.hidden_of(action))
        elif self._phase == "sense":
            self._tell(action, {"seen": self._seen(action)})
            self._phase = "move"
        elif self._phase == "move":
            self._move_white(action)
        else:
            self._move_black(action - self.game.black)

    # -- White ------------------------------------------------------------------------------------

    def _seen(self, window: int) -> tuple[str, ...]:
        """Return Black's pieces in a window: ``("ke5", "dd4")``."""
        side = self.game.parameters.window
        row, column = divmod(window, self.game.parameters.size - side + 1)
        seen = []
        for letter, square in (("k", self._black_king), ("d", self._decoy)):
            if square is not None:
                down, right = self._place(square)
                if 0 <= down - row < side and 0 <= right - column < side:
                    seen.append(letter + self._name(square))
        return tuple(seen)

    def _white_moves(self) -> list[int]:
        numbers = self.game.problem.numbers
        slides = [self._slide(step, stops=(self._white_king,)) for step in _STRAIGHT]
        slid = sorted(numbers.rook + square for slide in slides for square in slide)
        steps = [numbers.king + s for s in self._beside(self._white_king) if s != self._rook]
        return [*slid, *steps, numbers.pass_]

    def _slide(self, step: tuple[int, int], *, stops: tuple[int, ...]) -> list[int]:
        """Return the rook's squares in a direction, up to the edge or before a square of these."""
        row, column = self._place(self._rook)
        size = self.game.parameters.size
        squares: list[int] = []
        while True:
            row, column = row + step[0], column + step[1]
            square = row * size + column
            if not (0 <= row < size and 0 <= column < size) or square in stops:
                return squares
            squares.append(square)

    def _move_white(self, action: int) -> None:
        numbers = self.game.problem.numbers
        if action == numbers.pass_:
            ended = self._white_king
        elif action >= numbers.king:
            ended = self._white_king = action - numbers.king
        else:
            ended = self._rook = self._end_of_slide(action - numbers.rook)
        captured = ended in (self._black_king, self._decoy)
        self._tell(action, {"ended": self._name(ended), "captured": captured})
        if ended == self._black_king:
            self._end(1.0)
            return
        if captured:
            self._decoy = None
        self._phase = "answer"

    def _end_of_slide(self, to: int) -> int:
        slides = (self._slide(step, stops=(self._white_king,)) for step in _STRAIGHT)
        slide = next(slide for slide in slides if to in slide)
        black = [square for square in slide if square in (self._black_king, self._decoy)]
        first = min(map(slide.index, [to, *black]))
        return slide[first]

    # -- Black ------------------------------------------------------------------------------------

    def _black_moves(self) -> list[int]:
        protected = self._rook in self._beside(self._white_king)
        taken: tuple[int | None, ...] = (self._decoy, self._rook if protected else None)
        steps = [self.game.black + s for s in self._beside(self._black_king) if s not in taken]
        if self._decoy is None:
            return steps
        row, column = self._place(self._decoy)
        taken = (self._black_king, self._white_king, self._rook)
        for square in self._beside(self._decoy):
            to_row, to_column = self._place(square)
            if (to_row == row or to_column == column) and square not in taken:
                steps.append(self.game.black + self.game.squares + square)
        return steps

    def _move_black(self, move: int) -> None:
        self._tell_nothing()
        self._turns += 1
        self._phase = "sense"
        if move >= self.game.squares:
            self._decoy = move - self.game.squares
        else:
            self._black_king = move
        if self._black_king in (self._white_king, self._rook):
            self._end(-1.0)
        elif self._turns == self.game.parameters.max_turns:
            self._end(0.0)

    # -- the rest ---------------------------------------------------------------------------------

    def _end(self, value: float) -> None:
        self._phase = "over"
        self._finish(value)

    def winner_to_string(self, value: float) -> str:
        """Return ``white wins``, ``black wins`` or ``draw``."""
        return "white wins" if value > 0 else "black wins" if value < 0 else "draw"

    def _place(self, square: int) -> tuple[int, int]:
        return divmod(square, self.game.parameters.size)

    def _name(self, square: int) -> str:
        return square_name(square, self.game.parameters.size)

    def _beside(self, square: int) -> list[int]:
        """Return the squares one step of a king away, in increasing order."""
        row, column = self._place(square)
        size = self.game.parameters.size
        return [
            r * size + c
            for r in range(max(0, row - 1), min(size, row + 2))
            for c in range(max(0, column - 1), min(size, column + 2))
            if (r, c) != (row, column)
        ]

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._white_king, other._rook = self._white_king, self._rook
        other._black_king, other._decoy = self._black_king, self._decoy
        other._phase, other._turns = self._phase, self._turns

    def key(self) -> Hashable:
        """Return pieces, phase, turns and the result."""
        black = (self._black_king, self._decoy)
        return (self._white_king, self._rook, *black, self._phase, self._turns, self._value)

    def letters(self) -> str:
        """Return ``K`` and ``R`` for White's pieces, ``k`` and ``d`` for Black's."""
        pieces = ((self._decoy, "d"), (self._rook, "R"), (self._white_king, "K"))
        found = dict(pieces)
        if self._value != 1.0:
            found[self._black_king] = "k"  # last, since it may have captured
        return "".join(found.get(square, ".") for square in range(self.game.squares))

    def __str__(self) -> str:
        return board_text(self.letters(), self.game.parameters.size)

    def action_to_string(self, action: int) -> str:
        """Return ``sense a1``, ``Ra3``, ``Kb2``, ``pass``; ``kb4``, ``db4``; ``@b4d4`` at first."""
        numbers, squares = self.game.problem.numbers, self.game.squares
        if action < numbers.windows:
            side = self.game.parameters.size - self.game.parameters.window + 1
            row, column = divmod(action, side)
            return f"sense {self._name(row * self.game.parameters.size + column)}"
        if action == numbers.pass_:
            return "pass"
        if action < numbers.pass_:
            letter, square = "RK"[action >= numbers.king], (action - numbers.rook) % squares
            return letter + self._name(square)
        if action < self.game.starts.first:
            black = action - self.game.black
            return "kd"[black >= squares] + self._name(black % squares)
        pieces = self.game.problem.black_pieces(self.game.starts.hidden_of(action))
        return "@" + "".join(self._name(square) for square in pieces if square is not None)


_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
