"""Mini-RBC as a problem for searches over beliefs: king and rook against a hidden king.

White's king and rook are public, Black's king is hidden. White's turn: sense one window of w x w
squares, then move the king, move the rook, or pass. Black, which sees everything, then makes one
step. White wins by capturing the king, and loses when its own king, or its rook where the king
does not protect it, is stepped on. With a *decoy* Black has a second piece, which steps one square
orthogonally, captures nothing and can be captured.

Squares are numbered row by row from a1 = 0. Without the decoy a hidden part is the square of
Black's king; with it, `king * squares + decoy`, where a decoy on the king's own square is one that
was captured.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

from miai.beliefs.problem import Reply, goes_on, over
from miai_miniblind.roots import DrawsRoots, nearest

LEAST_SIZE, GREATEST_SIZE = 4, 8
_CACHED = 1 << 17  # positions of which Black's replies are kept
_NO_DECOY = -1


class MiniRbcPublic(NamedTuple):
    """What White knows for certain.

    Attributes:
      king, rook: the squares of White's pieces.
      decoy: whether Black has its decoy still.
      senses: whether White senses next, else it moves.
    """

    king: int
    rook: int
    decoy: bool = False
    senses: bool = True


class MiniRbcActions:
    """The numbers of White's actions, also those of the game ``mini_rbc``.

    First come the senses, by the window's lower left corner row by row; then the rook's moves, by
    the square asked for; then the king's; then the pass.

    Attributes:
      windows: senses are the numbers below it.
      rook, king: what is added to a square for a move of the piece to it.
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

    What is told of a sense: the square of Black's king plus 1, or 0 where it is not seen; and with
    the decoy (that of the king) * (squares + 1) + (that of the decoy). What is told of a move:
    twice the square where the piece ended (the king's for a pass), plus 1 if it captured.

    Attributes:
      n, w: squares on a side of the board and of a window.
      decoy, graded: the variants.
      squares: squares of the board.
      numbers: the numbers of actions.
      least, greatest, reachability: see `BeliefProblem`.
    """

    def __init__(self, n: int, w: int, decoy: bool = False, graded: bool = False) -> None:
        if not LEAST_SIZE <= n <= GREATEST_SIZE:
            raise ValueError(
                f"mini-RBC has {LEAST_SIZE} to {GREATEST_SIZE} squares on a side, got n = {n}"
            )
        if not 1 <= w <= n:
            raise ValueError(f"a window has 1 to n = {n} squares on a side, got w = {w}")
        self.n, self.w, self.decoy, self.graded = n, w, decoy, graded
        self.squares = n * n
        self.numbers = MiniRbcActions(n, w)
        self.least, self.greatest = (-100.0, 100.0) if graded else (0.0, 1.0)
        self.reachability = not graded
        self._board = _Board(n, w)
        self._moves = lru_cache(None)(self._list_moves)
        self._black = lru_cache(_CACHED)(self._list_black)

    # -- the problem ------------------------------------------------------------------------------

    def actions(self, public: MiniRbcPublic) -> Sequence[int]:
        """Return the senses, or the moves of rook and king and the pass; by number."""
        if public.senses:
            return range(self.numbers.windows)
        return self._moves(public.king, public.rook)

    def cost(self, public: MiniRbcPublic, action: int) -> int:
        """Return 0 for a sense, 1 for a move."""
        return 0 if public.senses else 1

    def replies(self, public: MiniRbcPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Return what a sense shows, or all that Black can do after a move; a loss comes first."""
        king, decoy = self._pieces(hidden)
        if public.senses:
            return (goes_on(self._seen(king, decoy, action), hidden),)
        ended, captured = self._white_move(public, action, king, decoy)
        if captured == king:
            return (over(self.greatest),)
        if captured != _NO_DECOY:
            decoy = _NO_DECOY
        white_king, rook = self._placed(public, action, ended)
        told = 2 * ended + (captured != _NO_DECOY)
        return self._black(white_king, rook, king, decoy, told)

    def after(self, public: MiniRbcPublic, action: int, observation: Hashable) -> MiniRbcPublic:
        """Return White's pieces after a sense or a move that was told so."""
        if public.senses:
            return public._replace(senses=False)
        assert isinstance(observation, int)
        ended, captured = divmod(observation, 2)
        king, rook = self._placed(public, action, ended)
        return MiniRbcPublic(king, rook, public.decoy and not captured)

    def evaluate(self, public: MiniRbcPublic, hidden: int) -> float:
        """Return 0, or the graded value of a state that is neither won nor lost."""
        if not self.graded:
            return 0.0
        king, decoy = self._pieces(hidden)
        board = self._board
        value = 2.0
        if board.on_edge[king]:
            value += 2
        if board.beside[king][public.rook]:
            value += 1
        if board.distance(king, public.king) <= 2:
            value += 1
        if self.decoy and decoy == _NO_DECOY:
            value += 2
        return value

    def universe(self, public: MiniRbcPublic) -> list[int]:
        """Return every placement of Black's pieces beside White's, in increasing order."""
        taken = (public.king, public.rook)
        free = [s for s in range(self.squares) if s not in taken]
        if not self.decoy:
            return free
        if not public.decoy:
            return [self.hidden(king) for king in free]
        return [self.hidden(king, decoy) for king in free for decoy in free if decoy != king]

    # -- hidden parts and roots -------------------------------------------------------------------

    def hidden(self, king: int, decoy: int | None = None) -> int:
        """Return the hidden part with Black's king and decoy on these squares.

        Args:
          decoy: None where there is none, or none any more.
        """
        if not self.decoy:
            return king
        return king * self.squares + (king if decoy is None else decoy)

    def black_pieces(self, hidden: int) -> tuple[int, int | None]:
        """Return the squares of Black's king and decoy, None where there is none."""
        king, decoy = self._pieces(hidden)
        return king, None if decoy == _NO_DECOY else decoy

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
            if apart(public.king, self._pieces(hidden)[0]) > 1
        ]

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return the states whose king is nearest to that of a random one; see `nearest`."""
        apart = self._board.distance
        return nearest(states, lambda a, b: apart(self._pieces(a)[0], self._pieces(b)[0]), rng)

    # -- rules ------------------------------------------------------------------------------------

    def _pieces(self, hidden: int) -> tuple[int, int]:
        if not self.decoy:
            return hidden, _NO_DECOY
        king, decoy = divmod(hidden, self.squares)
        return king, _NO_DECOY if decoy == king else decoy

    def _seen(self, king: int, decoy: int, window: int) -> int:
        inside = self._board.windows[window]
        seen = king + 1 if inside >> king & 1 else 0
        if not self.decoy:
            return seen
        seen_decoy = decoy + 1 if decoy != _NO_DECOY and inside >> decoy & 1 else 0
        return seen * (self.squares + 1) + seen_decoy

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
        self, public: MiniRbcPublic, action: int, king: int, decoy: int
    ) -> tuple[int, int]:
        """Return where White's piece ended and what it captured there, -1 for nothing."""
        numbers = self.numbers
        if action == numbers.pass_:
            return public.king, _NO_DECOY
        if action >= numbers.king:
            path: tuple[int, ...] = (action - numbers.king,)
        else:
            path = self._board.paths[public.rook][action - numbers.rook]
        for square in path:
            if square in (king, decoy):
                return square, square
        return path[-1], _NO_DECOY

    def _placed(self, public: MiniRbcPublic, action: int, ended: int) -> tuple[int, int]:
        """Return White's king and rook after a move whose piece ended on a square."""
        if action >= self.numbers.king:
            return ended, public.rook
        return public.king, ended

    def _list_black(
        self, white_king: int, rook: int, king: int, decoy: int, told: int
    ) -> tuple[Reply, ...]:
        board = self._board
        steps = [to for to in board.steps[king] if to != decoy]
        protected = board.distance(white_king, rook) <= 1
        found = []
        if white_king in steps or (rook in steps and not protected):
            found.append(over(self.least))
        free = [to for to in steps if to not in (white_king, rook)]
        if decoy == _NO_DECOY:
            found += [goes_on(told, self.hidden(to)) for to in free]
            return tuple(found)
        found += [goes_on(told, self.hidden(to, decoy)) for to in free]
        taken = (white_king, rook, king)
        moves = [to for to in board.sideways[decoy] if to not in taken]
        found += [goes_on(told, self.hidden(king, to)) for to in moves]
        return tuple(found)


class _Board:
    """Tables of an n x n board.

    Attributes:
      windows: the squares of each window, as bits.
      steps, sideways: for each square those one step away, in eight and in four directions.
      paths: for two squares of one rank or file those from the first, left out, to the second;
        empty for all others.
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
        self.beside = [[self._is_beside(a, b) for b in squares] for a in squares]

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

    def _is_beside(self, a: int, b: int) -> bool:
        (row, column), (row_b, column_b) = self._places[a], self._places[b]
        return abs(row - row_b) == 1 or abs(column - column_b) == 1
