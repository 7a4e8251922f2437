"""Mini-RBC, a problem for searches over beliefs and a game: king and rook against a hidden king.

White's king and rook are public, Black's king is hidden. White's turn: sense one window of w x w
squares, then move the king, move the rook, or pass. Black, which sees everything, then makes one
step. White wins by capturing the king. Black wins by capturing White's king, or the rook where the
king does not protect it. With a *decoy* Black has a second piece, which steps one square
orthogonally, captures nothing and can be captured.

Squares are numbered row by row from a1 = 0. Without the decoy a hidden part is the square of
Black's king; with it, `king * squares + decoy`, where a decoy on the king's own square means that
it was captured.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Self, TypeAlias

from pydantic import model_validator

from miai import Game, GameInfo, Json, Observation, Parameters, Player, State, parameter
from miai.beliefs.problem import Reply, Root, goes_on, over
from miai_miniblind.boards import board_symmetries, board_text, parse_square, square_name
from miai_miniblind.roots import DrawsRoots, nearest

MIN_SIZE, MAX_SIZE = 4, 8
_CACHED = 1 << 17  # positions whose replies of Black are cached
_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))


class MiniRbcPublic(NamedTuple):
    """What White knows for certain.

    Attributes:
      king, rook: the squares of White's pieces.
      decoy: whether Black still has its decoy.
      senses: whether White senses next, or moves.
    """

    king: int
    rook: int
    decoy: bool = False
    senses: bool = True


class MiniRbcActions:
    """The numbers of White's actions, also those of the game ``mini_rbc``.

    First come the senses, by the window's lower left corner row by row; then the rook's moves, by
    their target; then the king's; then the pass.

    Attributes:
      windows: number of windows; senses are the numbers below it.
      rook, king: the number of a piece's move to square 0.
      pass_: the number of the pass.
    """

    def __init__(self, n: int, w: int) -> None:
        self.windows = (n - w + 1) ** 2
        self.rook = self.windows
        self.king = self.rook + n * n
        self.pass_ = self.king + n * n


class MiniRbcProblem(DrawsRoots):
    """The problem on n x n squares with windows of w x w.

    Depth counts White's moves; a sense costs none. Values: 1 for a win, 0 for everything else. If
    `graded`: 100 for a win, -100 for a loss, and where the depth ends 2, +2 with Black's king on
    the edge, +1 with the rook on a rank or file next to that of Black's king, +1 with the kings at
    most two steps apart, +2 with the decoy captured.

    A sense observes the square of Black's king plus 1, or 0 if it is not seen; with the decoy,
    (that of the king) * (squares + 1) + (that of the decoy). A move observes twice the square where
    the piece ended (the king's for a pass), plus 1 if it captured.

    Attributes:
      n, w: squares on a side of the board and of a window.
      decoy, graded: the variants.
      squares: squares of the board.
      numbers: the numbers of actions.
      least, greatest, reachability: see `BeliefProblem`.
    """

    def __init__(self, n: int, w: int, decoy: bool = False, graded: bool = False) -> None:
        if not MIN_SIZE <= n <= MAX_SIZE:
            raise ValueError(
                f"mini-RBC has {MIN_SIZE} to {MAX_SIZE} squares on a side, got n = {n}"
            )
        if not 1 <= w <= n:
            raise ValueError(f"a window has 1 to {n} squares on a side on this board, got {w}")
        self.n, self.w, self.decoy, self.graded = n, w, decoy, graded
        self.squares = n * n
        self.numbers = MiniRbcActions(n, w)
        self.least, self.greatest = (-100.0, 100.0) if graded else (0.0, 1.0)
        self.reachability = not graded
        self._board = _Board(n, w)
        self._images = board_symmetries(n, n)
        self._moves = lru_cache(None)(self._list_moves)
        self._black = lru_cache(_CACHED)(self._list_black)

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: MiniRbcPublic) -> Sequence[int]:
        """Return the senses, or the moves of rook and king and the pass, in increasing order."""
        if public.senses:
            return range(self.numbers.windows)
        return self._moves(public.king, public.rook)

    def cost(self, public: MiniRbcPublic, action: int) -> int:
        """Return 0 for a sense, 1 for a move."""
        return 0 if public.senses else 1

    def replies(self, public: MiniRbcPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return what a sense shows, or Black's replies to a move, a loss first."""
        king, decoy = self.black_pieces(hidden)
        if public.senses:
            return (goes_on(self._seen(king, decoy, action), hidden),)
        target, capture = self._white_move(public, action, king, decoy)
        if capture == king:
            return (over(self.greatest),)
        if capture is not None:
            decoy = None
        white_king, rook = self._placed(public, action, target)
        observation = 2 * target + (capture is not None)
        return self._black(white_king, rook, king, decoy, observation)

    def after(self, public: MiniRbcPublic, action: int, observation: Hashable) -> MiniRbcPublic:
        """Return White's pieces after a sense or a move with this observation."""
        if public.senses:
            return public._replace(senses=False)
        assert isinstance(observation, int)
        target, capture = divmod(observation, 2)
        king, rook = self._placed(public, action, target)
        return MiniRbcPublic(king, rook, public.decoy and not capture)

    def canonical(self, public: MiniRbcPublic) -> tuple[MiniRbcPublic, Callable[[int], int]]:
        """Return the least public part of all rotations and reflections, and its map."""
        king, rook, decoy, senses = public
        image = min(self._images, key=lambda image: (image[king], image[rook]))
        squares, whole = self.squares, MiniRbcPublic(image[king], image[rook], decoy, senses)
        if not self.decoy:
            return whole, image.__getitem__
        return whole, lambda hidden: image[hidden // squares] * squares + image[hidden % squares]

    def evaluate(self, public: MiniRbcPublic, hidden: int) -> float:
        """Return 0, or the graded value of a state that is neither won nor lost."""
        if not self.graded:
            return 0.0
        king, decoy = self.black_pieces(hidden)
        board = self._board
        value = 2.0
        if board.on_edge[king]:
            value += 2
        if board.beside[king][public.rook]:
            value += 1
        if board.distance(king, public.king) <= 2:
            value += 1
        if self.decoy and decoy is None:
            value += 2
        return value

    def universe(self, public: MiniRbcPublic) -> list[int]:
        """Return every placement of Black's pieces beside White's, in increasing order."""
        free = [s for s in range(self.squares) if s not in (public.king, public.rook)]
        if not self.decoy:
            return free
        if not public.decoy:
            return [self.hidden(king) for king in free]
        return [self.hidden(king, decoy) for king in free for decoy in free if decoy != king]

    # -- hidden parts and roots -------------------------------------------------------------------

    def hidden(self, king: int, decoy: int | None = None) -> int:
        """Return the hidden part with Black's king and decoy (None: captured) on these squares."""
        if not self.decoy:
            return king
        return king * self.squares + (king if decoy is None else decoy)

    def black_pieces(self, hidden: int) -> tuple[int, int | None]:
        """Return the squares of Black's king and decoy (or None)."""
        if not self.decoy:
            return hidden, None
        king, decoy = divmod(hidden, self.squares)
        return king, None if decoy == king else decoy

    def random_public(self, rng: random.Random) -> MiniRbcPublic:
        """Return White's king and rook on two random squares."""
        king, rook = rng.sample(range(self.squares), 2)
        return MiniRbcPublic(king, rook, self.decoy)

    def consistent(self, public: MiniRbcPublic) -> list[int]:
        """Return the placements in which the kings are not next to each other."""
        apart = self._board.distance
        return [
            hidden
            for hidden in self.universe(public)
            if apart(public.king, self.black_pieces(hidden)[0]) > 1
        ]

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return the states whose king is nearest to that of a random one; see `nearest`."""

        def apart(a: int, b: int) -> int:
            return self._board.distance(self.black_pieces(a)[0], self.black_pieces(b)[0])

        return nearest(states, apart, rng)

    # -- rules ------------------------------------------------------------------------------------

    def _seen(self, king: int, decoy: int | None, window: int) -> int:
        inside = self._board.windows[window]
        king_view = king + 1 if inside >> king & 1 else 0
        if not self.decoy:
            return king_view
        decoy_view = decoy + 1 if decoy is not None and inside >> decoy & 1 else 0
        return king_view * (self.squares + 1) + decoy_view

    def _list_moves(self, king: int, rook: int) -> tuple[int, ...]:
        board, numbers = self._board, self.numbers
        slides = [
            numbers.rook + to
            for to, path in enumerate(board.paths[rook])
            if path and king not in path
        ]
        steps = [numbers.king + to for to in board.steps[king] if to != rook]
        return (*slides, *steps, numbers.pass_)

    def _white_move(
        self, public: MiniRbcPublic, action: int, king: int, decoy: int | None
    ) -> tuple[int, int | None]:
        """Return where White's piece ended and the square of its capture, if any."""
        numbers = self.numbers
        if action == numbers.pass_:
            return public.king, None
        if action >= numbers.king:
            path: tuple[int, ...] = (action - numbers.king,)
        else:
            path = self._board.paths[public.rook][action - numbers.rook]
        for square in path:
            if square in (king, decoy):
                return square, square
        return path[-1], None

    def _placed(self, public: MiniRbcPublic, action: int, target: int) -> tuple[int, int]:
        """Return White's king and rook after a move whose piece ended on a square."""
        if action >= self.numbers.king:
            return target, public.rook
        return public.king, target

    def _list_black(
        self, white_king: int, rook: int, king: int, decoy: int | None, observation: int
    ) -> tuple[Reply, ...]:
        board = self._board
        steps = [to for to in board.steps[king] if to != decoy]
        protected = board.distance(white_king, rook) <= 1
        replies = []
        if white_king in steps or (rook in steps and not protected):
            replies.append(over(self.least))
        free = [to for to in steps if to not in (white_king, rook)]
        if decoy is None:
            return (*replies, *(goes_on(observation, self.hidden(to)) for to in free))
        replies += [goes_on(observation, self.hidden(to, decoy)) for to in free]
        moves = [to for to in board.sideways[decoy] if to not in (white_king, rook, king)]
        return (*replies, *(goes_on(observation, self.hidden(king, to)) for to in moves))


class _Board:
    """Tables of an n x n board.

    Attributes:
      windows: the squares of each window, as bits.
      steps, sideways: for each square, those one step away in eight and in four directions.
      paths: for two squares on one rank or file, those after the first up to the second; otherwise
        empty.
      on_edge: whether a square is on the edge.
      beside: whether the second square is on a rank or file next to that of the first.
    """

    def __init__(self, n: int, w: int) -> None:
        self._places = [divmod(square, n) for square in range(n * n)]
        squares = range(n * n)
        span = range(n - w + 1)
        self.windows = [
            sum(1 << n * (r + i) + c + j for i in range(w) for j in range(w))
            for r in span
            for c in span
        ]
        self.steps = [[b for b in squares if self.distance(a, b) == 1] for a in squares]
        self.sideways = [[b for b in self.steps[a] if abs(a - b) in (1, n)] for a in squares]
        self.paths = [[self._path(a, b, n) for b in squares] for a in squares]
        self.on_edge = [r in (0, n - 1) or c in (0, n - 1) for r, c in self._places]
        self.beside = [
            [abs(row - r) == 1 or abs(column - c) == 1 for r, c in self._places]
            for row, column in self._places
        ]

    def distance(self, a: int, b: int) -> int:
        """Return the steps of a king between two squares."""
        (row, column), (row_b, column_b) = self._places[a], self._places[b]
        return max(abs(row - row_b), abs(column - column_b))

    def _path(self, a: int, b: int, n: int) -> tuple[int, ...]:
        (row, column), (row_b, column_b) = self._places[a], self._places[b]
        if a == b or (row != row_b and column != column_b):
            return ()
        step = (1 if row == row_b else n) * (1 if b > a else -1)
        return tuple(range(a + step, b + step, step))


class MiniRbcProblemParameters(Parameters):
    """Parameters of the problem as a component."""

    n: int = parameter(5, ge=MIN_SIZE, le=MAX_SIZE, help="Squares on a side of the board")
    w: int = parameter(3, ge=1, le=MAX_SIZE, help="Squares on a side of a window")
    decoy: bool = parameter(False, help="Add a second hidden black piece")
    graded: bool = parameter(False, help="Use graded values instead of won and not proved")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        mini_rbc_problem(self)
        return self


def mini_rbc_problem(parameters: MiniRbcProblemParameters) -> MiniRbcProblem:
    """Return the problem. Raises `ValueError` if the window is larger than the board."""
    return MiniRbcProblem(
        parameters.n, parameters.w, decoy=parameters.decoy, graded=parameters.graded
    )


# The game. Its rules are stated again, for one state and without tables, so that tests can compare
# it with the problem.


class MiniRbcParameters(Parameters):
    """Parameters of the game ``mini_rbc``."""

    size: int = parameter(5, ge=4, le=8, help="Squares on a side of the board")
    window: int = parameter(3, ge=1, le=8, help="Squares on a side of the sensed window")
    decoy: bool = parameter(False, help="Add a second hidden black piece")
    king: str = parameter("b1", help="Square of White's king at the start", max_length=3)
    rook: str = parameter("a1", help="Square of White's rook at the start", max_length=3)
    starts: tuple[str, ...] = parameter(
        (),
        help="Possible starts of Black, such as e5 (its king) or e5d4 (king and decoy); default: "
        "wherever the kings are apart",
        max_length=4096,
    )
    max_turns: int = parameter(30, ge=1, le=10_000, help="White's moves until the game is a draw")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        root_of(self)
        return self


def root_of(parameters: MiniRbcParameters) -> Root[MiniRbcPublic]:
    """Return the root of a game: White's pieces and the possible hidden parts.

    Raises `ValueError` for a window larger than the board, a square off the board, two pieces on
    one, or a decoy in some starts only.
    """
    problem = problem_of(parameters)
    size = parameters.size
    king = parse_square(parameters.king, rows=size, columns=size)
    rook = parse_square(parameters.rook, rows=size, columns=size)
    if king == rook:
        raise ValueError(f"king and rook are both on {parameters.king}")
    public = MiniRbcPublic(king, rook, parameters.decoy)
    if not parameters.starts:
        return Root(public, tuple(problem.consistent(public)))
    starts = [_parse_start(text, size) for text in parameters.starts]
    counts = {len(pieces) for pieces in starts}
    if len(counts) > 1 or not counts <= ({1, 2} if parameters.decoy else {1}):
        pieces = "king and decoy, or all only the king" if parameters.decoy else "the king only"
        raise ValueError(f"starts: each must give the square of {pieces}")
    public = public._replace(decoy=counts == {2})
    hidden = {problem.hidden(*squares) for squares in starts}
    if strays := hidden - set(problem.universe(public)):
        first = problem.black_pieces(min(strays))
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


class MiniRbc(Game):
    """The game: White searches, Black sees everything.

    Chance begins it by choosing a hidden part. White's actions have the numbers of the problem,
    Black's follow: its king to square s is `black + s`, its decoy `black + squares + s`. Then come
    those of chance: `first_start` chooses the hidden part 0.

    Attributes:
      problem: the same game as a problem.
      squares, black, first_start: see above.
      start, starts: the public part at the start, and the hidden parts in increasing order, all
        equally likely.
    """

    parameters: MiniRbcParameters

    def __init__(self, parameters: MiniRbcParameters | None = None) -> None:
        self.parameters = parameters or MiniRbcParameters()
        self.problem = problem_of(self.parameters)
        self.squares = self.parameters.size**2
        self.black = self.problem.numbers.pass_ + 1
        self.first_start = self.black + 2 * self.squares
        root = root_of(self.parameters)
        self.start, self.starts = root.public, sorted(set(root.hidden))
        self.info = GameInfo(
            name="mini_rbc",
            version=1,
            num_players=2,
            num_distinct_actions=self.first_start,
            max_game_length=3 * self.parameters.max_turns,
            max_chance_outcomes=self.first_start + self.starts[-1] + 1,
            player_names=("white", "black"),
            perfect_information=False,
        )

    @classmethod
    def from_root(cls, problem: MiniRbcProblem, root: Root[MiniRbcPublic]) -> MiniRbc:
        """Return the game that begins at a root: chance chooses one of its hidden parts.

        Raises `ValueError` if White does not sense next.
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
        )
        return cls(parameters)

    def belief_problem(self, *, graded: bool = False) -> MiniRbcProblem:
        """Return the problem of this board, for White."""
        return problem_of(self.parameters, graded=graded)

    def new_initial_state(self) -> MiniRbcState:
        """Return the state before chance chooses Black's squares."""
        return MiniRbcState(self)

    def state_at(self, public: MiniRbcPublic, hidden: int) -> MiniRbcState:
        """Return a state of the problem, without a history and with all turns left."""
        state = self.new_initial_state()
        state.place(public, hidden)
        return state


TurnPhase: TypeAlias = Literal["start", "sense", "move", "answer", "over"]
"""Chance acts in ``start``, Black in ``answer``, nobody when the game is ``over``."""

_OTHER_ACTORS: Final = {"start": Player.CHANCE, "answer": 1, "over": Player.TERMINAL}


class MiniRbcState(State):
    """The squares of all pieces, and the phase.

    Both players notice every transition. White observes its own actions and what they revealed; of
    chance's choice and of Black's actions it observes only that they happened. Black observes
    everything.
    """

    game: MiniRbc

    def __init__(self, game: MiniRbc) -> None:
        super().__init__(game)
        self._phase: TurnPhase = "start"
        self._words: tuple[str, ...] = ()  # the information state of White
        self._revealed: Mapping[str, Json] = {}  # by the last action, to both players
        self._value: float | None = None  # of the finished game, to White
        self._white_king, self._rook = game.start.king, game.start.rook
        self._black_king = -1
        self._decoy: int | None = None
        self._turns = 0

    @property
    def public(self) -> MiniRbcPublic:
        """White's pieces, whether there is a decoy and whether White senses next."""
        has_decoy = self._decoy is not None
        return MiniRbcPublic(self._white_king, self._rook, has_decoy, self._phase != "move")

    @property
    def hidden(self) -> int:
        """The hidden part: the squares of Black's pieces."""
        return self.game.problem.hidden(self._black_king, self._decoy)

    def place(self, public: MiniRbcPublic, hidden: int) -> None:
        """Set up a state of the problem."""
        self._white_king, self._rook = public.king, public.rook
        self._black_king, self._decoy = self.game.problem.black_pieces(hidden)
        self._phase = "sense" if public.senses else "move"

    def current_player(self) -> int:
        """Return chance at the start, Black for an answer, otherwise White."""
        return _OTHER_ACTORS.get(self._phase, 0)

    def legal_actions(self) -> list[int]:
        """Return the actions of chance or a player in ascending order."""
        if self._phase == "start":
            return [action for action, _ in self.chance_outcomes()]
        if self._phase == "sense":
            return list(range(self.game.problem.numbers.windows))
        if self._phase == "over":
            return []
        return self._white_moves() if self._phase == "move" else self._black_moves()

    def _apply(self, action: int) -> None:
        if self._phase == "start":
            self._reveal_nothing()
            self.place(self.game.start, action - self.game.first_start)
        elif self._phase == "sense":
            self._reveal(action, {"seen": self._seen(action)})
            self._phase = "move"
        elif self._phase == "move":
            self._move_white(action)
        else:
            self._move_black(action - self.game.black)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the hidden parts at the start as actions, equally probable."""
        if self._phase != "start":
            return []
        starts = self.game.starts
        return [(self.game.first_start + hidden, 1 / len(starts)) for hidden in starts]

    def _reveal(self, action: int, data: Mapping[str, Json]) -> None:
        """Record what an action of White revealed."""
        words = ",".join(f"{key}={value}" for key, value in data.items())
        self._words = (*self._words, f"{self.action_to_string(action)}:{words}")
        self._revealed = data

    def _reveal_nothing(self) -> None:
        """Record an action of chance or of Black, which White does not see."""
        self._words = (*self._words, ".")
        self._revealed = {}

    def _finish(self, value: float) -> None:
        self._phase = "over"
        self._value = value
        self._words = (*self._words, self.result_to_string())

    def observation(self, player: int) -> Observation | None:
        """Return the actor, the action if the player sees it, and what it revealed.

        At the end `Observation.data` contains ``"result"`` for both players.
        """
        legal = self._legal_for(player)
        if not self._history:
            return Observation(player, legal_actions=legal)
        actor = self._actors[-1]
        data: dict[str, Json] = dict(self._revealed)
        if self._value is not None:
            data["result"] = self.result_to_string()
        action = self._history[-1] if player == 1 or actor == 0 else None
        return Observation(player, actor, action, data or None, legal)

    def information_state_string(self, player: int) -> str:
        """Return White's observations, ``.`` for what it did not see; for Black all actions."""
        if player == 1:
            return " ".join(map(self.action_to_string, self._history))
        return " ".join(self._words)

    def returns(self) -> tuple[float, ...]:
        """Return the value of the finished game to White, and the opposite; zeros before."""
        value = self._value or 0.0
        return (value, -value)

    def result_to_string(self) -> str:
        """Return ``white wins``, ``black wins`` or ``draw``; empty before the end."""
        value = self._value
        if value is None:
            return ""
        return "white wins" if value > 0 else "black wins" if value < 0 else "draw"

    # -- White ------------------------------------------------------------------------------------

    def _seen(self, window: int) -> tuple[str, ...]:
        """Return Black's pieces in a window: ``("ke5", "dd4")``."""
        side = self.game.parameters.window
        row, column = divmod(window, self.game.parameters.size - side + 1)
        pieces = []
        for letter, square in (("k", self._black_king), ("d", self._decoy)):
            if square is not None:
                down, right = self._place(square)
                if 0 <= down - row < side and 0 <= right - column < side:
                    pieces.append(letter + self._name(square))
        return tuple(pieces)

    def _white_moves(self) -> list[int]:
        numbers = self.game.problem.numbers
        slides = [self._slide(step, stops=(self._white_king,)) for step in _STRAIGHT]
        targets = sorted(numbers.rook + square for slide in slides for square in slide)
        steps = [numbers.king + s for s in self._beside(self._white_king) if s != self._rook]
        return [*targets, *steps, numbers.pass_]

    def _slide(self, step: tuple[int, int], *, stops: tuple[int, ...]) -> list[int]:
        """Return the rook's targets in a direction, up to the edge or before one of `stops`."""
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
            target = self._white_king
        elif action >= numbers.king:
            target = self._white_king = action - numbers.king
        else:
            target = self._rook = self._end_of_slide(action - numbers.rook)
        is_capture = target in (self._black_king, self._decoy)
        self._reveal(action, {"ended": self._name(target), "captured": is_capture})
        if target == self._black_king:
            self._finish(1.0)
            return
        if is_capture:
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
        blocked: tuple[int | None, ...] = (self._decoy, self._rook if protected else None)
        steps = [self.game.black + s for s in self._beside(self._black_king) if s not in blocked]
        if self._decoy is None:
            return steps
        row, column = self._place(self._decoy)
        blocked = (self._black_king, self._white_king, self._rook)
        for square in self._beside(self._decoy):
            to_row, to_column = self._place(square)
            if (to_row == row or to_column == column) and square not in blocked:
                steps.append(self.game.black + self.game.squares + square)
        return steps

    def _move_black(self, move: int) -> None:
        self._reveal_nothing()
        self._turns += 1
        self._phase = "sense"
        if move >= self.game.squares:
            self._decoy = move - self.game.squares
        else:
            self._black_king = move
        if self._black_king in (self._white_king, self._rook):
            self._finish(-1.0)
        elif self._turns == self.game.parameters.max_turns:
            self._finish(0.0)

    # -- texts and squares ------------------------------------------------------------------------

    def __str__(self) -> str:
        return board_text(self.letters(), self.game.parameters.size)

    def _name(self, square: int) -> str:
        return square_name(square, self.game.parameters.size)

    def _place(self, square: int) -> tuple[int, int]:
        return divmod(square, self.game.parameters.size)

    def _beside(self, square: int) -> list[int]:
        row, column = self._place(square)
        size = self.game.parameters.size
        return [
            r * size + c
            for r in range(max(0, row - 1), min(size, row + 2))
            for c in range(max(0, column - 1), min(size, column + 2))
            if (r, c) != (row, column)
        ]

    def _copy_to(self, other: Self) -> None:
        other._phase, other._words = self._phase, self._words
        other._revealed, other._value = self._revealed, self._value
        other._white_king, other._rook = self._white_king, self._rook
        other._black_king, other._decoy = self._black_king, self._decoy
        other._turns = self._turns

    def key(self) -> Hashable:
        """Return pieces, phase, turns and result."""
        black = (self._black_king, self._decoy)
        return (self._white_king, self._rook, *black, self._phase, self._turns, self._value)

    def letters(self) -> str:
        """Return a letter for each square: ``K``, ``R`` of White, ``k``, ``d`` of Black."""
        pieces = ((self._decoy, "d"), (self._rook, "R"), (self._white_king, "K"))
        board = dict(pieces)
        if self._value != 1.0:
            board[self._black_king] = "k"  # last, since it may have captured
        return "".join(board.get(square, ".") for square in range(self.game.squares))

    def action_to_string(self, action: int) -> str:
        """Return ``sense a1``, ``Ra3``, ``Kb2``, ``pass``; ``kb4``, ``db4``; start ``@b4d4``."""
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
        if action < self.game.first_start:
            black = action - self.game.black
            return "kd"[black >= squares] + self._name(black % squares)
        pieces = self.game.problem.black_pieces(action - self.game.first_start)
        return "@" + "".join(self._name(square) for square in pieces if square is not None)
