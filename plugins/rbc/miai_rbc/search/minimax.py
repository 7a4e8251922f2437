"""`rbc-minimax`: beliefs of boards, searched by the recursion of `miai.beliefs.recursion`.

`BoardTree` is the game below one root as a `BeliefProblem`. It shows the rules board by board, and
is the oracle of the compiled search, which is many times faster.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from miai.beliefs.bounds import MakeBounds, named_bounds
from miai.beliefs.deepening import DeepeningSearch, Window, WindowResult
from miai.beliefs.problem import Reply, Root, goes_on, over
from miai.beliefs.recursion import BeliefSearchParameters, Recursion, SearchBudget
from miai.errors import UnsuitableGameError
from miai_rbc.agents.belief_agents import load_beliefs
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.belief_search import (
    OVER,
    count_replies,
    play_request,
    sense_outcomes,
    write_replies,
)
from miai_rbc.kernels.bitboards import WIN, Words
from miai_rbc.kernels.board import PAWNS, WORDS
from miai_rbc.rbc_parameters import MAX_OWN_MOVES, MinimaxProblemParameters
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of, move_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import BLACK_CAPTURES
from miai_rbc.search.candidates import AT_ROOT, Valuer, load_rare, own_pieces
from miai_rbc.search.problem import DrawnRoot, RbcProblem, RbcRoot

SENSE, MOVE, REPLY = range(3)
"""What comes next: the player's sense, its move, or the opponent's whole turn."""

TURN = -1
"""The only action of a node where the opponent's turn comes next."""

_NO_CAPTURE = -1


class MinimaxSearchParameters(BeliefSearchParameters):
    """Parameters of the search `rbc-minimax`."""


class Public(NamedTuple):
    """The public part of a belief below a root.

    Attributes:
      own: the player's pieces after its last move; see `own_pieces`.
      capture: the square of the opponent's capture since, -1 for none; `AT_ROOT` at the root.
      phase: what comes next.
    """

    own: bytes
    capture: int
    phase: int


class BoardTree:
    """Reconnaissance Blind Chess below one root, as a `BeliefProblem`.

    A move costs 1. Senses and the opponent's turn cost nothing. Where the depth ends the opponent
    is to move, and the board has the value that the `Valuer` gives it.

    Args:
      drawn: the boards of the root.
      valuer: values boards.
      player: the player who searches.

    Attributes:
      rows: the boards met so far, by number; numbers are the hidden parts.
    """

    least, greatest = -float(WIN), float(WIN)
    reachability = False

    def __init__(self, drawn: DrawnRoot, valuer: Valuer, player: int) -> None:
        self.candidates, self.player = drawn.candidates, player
        self._valuer = valuer
        self.rows: list[Words] = []
        self._numbers: dict[bytes, int] = {}
        self._values: dict[int, float] = {}
        self._unvalued: set[int] = set()
        self._own = own_pieces(drawn.rows[0], player)
        self._drawn = tuple(self._number(row) for row in drawn.rows)

    def root(self, *, senses: bool) -> Root[Public]:
        """Return the belief of all boards of the root."""
        return Root(Public(self._own, AT_ROOT, SENSE if senses else MOVE), self._drawn)

    def universe(self, public: Public) -> None:
        """Return None: boards are met one by one."""

    def actions(self, public: Public) -> Sequence[int]:
        """Return the senses or moves to try, best first, or the opponent's turn."""
        if public.phase == REPLY:
            return (TURN,)
        if public.phase == SENSE:
            return self.candidates.senses(public.own, public.capture)
        return [action_of(move) for move in self.candidates.requests(public.own, public.capture)]

    def cost(self, public: Public, action: int) -> int:
        """Return 1 for a move."""
        return int(public.phase == MOVE)

    def replies(self, public: Public, hidden: int, action: int) -> Sequence[Reply]:
        """Return what follows on one board."""
        if public.phase == REPLY:
            return self._turn(hidden)
        board = self.rows[hidden][None]
        if public.phase == SENSE:
            seen = np.empty(1, np.uint64)
            sense_outcomes(board, self.player, action, seen)
            return (goes_on(int(seen[0]), hidden),)
        after, codes = np.empty_like(board), np.empty(1, np.int64)
        play_request(board, self._request(public, action), after, codes)
        if codes[0] == OVER:
            return (over(self.greatest),)
        number = self._number(after[0])
        if number not in self._values:
            self._unvalued.add(number)
        return (goes_on((int(codes[0]), own_pieces(after[0], self.player)), number),)

    def after(self, public: Public, action: int, observation: Hashable) -> Public:
        """Return the public part after an observation.

        What a sense shows changes the belief alone, so beliefs after different senses meet.
        """
        if public.phase == SENSE:
            return public._replace(phase=MOVE)
        if public.phase == REPLY:
            assert isinstance(observation, int)
            return Public(public.own, observation, SENSE)
        assert isinstance(observation, tuple)
        return Public(observation[1], _NO_CAPTURE, REPLY)

    def evaluate(self, public: Public, hidden: int) -> float:
        """Return the value of a board after the player's last move."""
        if hidden not in self._values:
            # All boards that were met since are valued together: most of them are asked for next.
            rows = np.stack([self.rows[number] for number in self._unvalued])
            values = self._valuer.values(rows, self.player).tolist()
            self._values.update(zip(self._unvalued, values, strict=True))
            self._unvalued.clear()
        return self._values[hidden]

    def _turn(self, hidden: int) -> list[Reply]:
        """Return every outcome of the opponent's turn; what it captures is observed."""
        board, starts = self.rows[hidden][None], np.empty(2, np.int64)
        count_replies(board, starts)
        after = np.empty((int(starts[1]), WORDS), np.uint64)
        codes = np.empty(len(after), np.int64)
        write_replies(board, starts, after, codes)
        replies = [
            goes_on(code, self._number(row))
            for code, row in zip(codes.tolist(), after, strict=True)
            if code != OVER
        ]
        if OVER in codes:
            replies.append(over(float(self._valuer.lost(board, self.player)[0])))
        return replies

    def _request(self, public: Public, action: int) -> int:
        pawns = int.from_bytes(public.own[8 * PAWNS : 8 * PAWNS + 8], "little")
        start = (action - PASS - 1) >> 6
        return move_of(action, pawn=action > PASS and bool(pawns >> (start & 63) & 1))

    def _number(self, row: Words) -> int:
        key = row.tobytes()
        # Hidden parts are numbers, met in order: a belief's mask stays short.
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rows)
            self.rows.append(row)
        return number


# -- the search ------------------------------------------------------------------------------------


def minimax_search(problem: Any, parameters: MinimaxSearchParameters) -> RbcMinimaxSearch:
    """Return the search: the component ``rbc-minimax``.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem`.
    """
    make_bounds = named_bounds(parameters.bounds, **parameters.bounds_parameters)
    return RbcMinimaxSearch(
        problem, make_bounds, window=parameters.window, adaptive=parameters.adaptive
    )


class RbcMinimaxSearch(DeepeningSearch[RbcRoot]):
    """Searches beliefs of Reconnaissance Blind Chess in plain Python, one to three own moves deep.

    If a root has more boards than the rules allow at a depth, a sample is searched. Its value is an
    upper bound of the root's, and the statistics give both numbers of boards: ``boards`` searched
    and ``root_boards``. They also count ``valued``, the boards that the engine valued. Bounds are
    new for each root.

    Args:
      make_bounds, window, adaptive: as in `BeliefSearch`.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem`.
    """

    shares = False

    def __init__(
        self,
        problem: Any,
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        if not isinstance(problem, RbcProblem):
            raise UnsuitableGameError(
                f"rbc-minimax searches the problem 'rbc', not {type(problem).__name__}; "
                "use the search 'recursive'"
            )
        super().__init__(problem, window)
        self.problem = problem
        self._make_bounds, self._adaptive = make_bounds, adaptive
        self._valuer = Valuer(problem.rules.king_loss)
        self._budget = SearchBudget()
        self._valued_before = self._boards = 0
        self._below: tuple[RbcRoot, int, BoardTree, Recursion[Public]] | None = None

    def guarantees(self, root: RbcRoot, action: int, depth: int) -> float:
        """Return the value that a sense or a move guarantees at a root, with best play after it.

        It need not be a candidate of the search.

        Raises:
          ValueError: the depth is not 1 to 3, or the root has no such action.
        """
        check_depth(depth)
        if root.senses:
            if not (0 <= action < SENSE_NOTHING and 0 < action % 8 < 7 and 0 < action // 8 < 7):
                raise ValueError(f"{action} is not the centre of a window to sense")
        elif action not in {PASS, *map(action_of, root.boards.requests())}:
            raise ValueError(
                f"{action} is not a request at the root; requests are actions from {PASS} on"
            )
        self._budget.begin()
        tree, recursion = self.below(root, depth)
        return recursion.guarantees(tree.root(senses=root.senses), action, depth)

    def candidates(self, root: RbcRoot) -> list[int]:
        """Return the senses or moves tried at a root, as actions, best first."""
        tree, _ = self.below(root, 1)
        return list(tree.actions(tree.root(senses=root.senses).public))

    def below(self, root: RbcRoot, depth: int) -> tuple[BoardTree, Recursion[Public]]:
        """Return the game below a root, or below a sample of its boards, and the search of it."""
        # Tree and bounds serve the next depth only if it searches as many boards of this root: a
        # smaller sample has other replies and values, for which the bounds do not hold.
        room = min(root.size, self.problem.room(depth))
        if self._below is None or self._below[:2] != (root, room):
            drawn = self.problem.draw(self._valuer, root, room)
            tree = BoardTree(drawn, self._valuer, root.player)
            recursion = Recursion(tree, self._make_bounds, adaptive=self._adaptive)
            recursion.budget = self._budget
            self._below = (root, room, tree, recursion)
        return self._below[2:]

    @contextmanager
    def _limited(
        self, root: RbcRoot, depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> Iterator[None]:
        check_depth(depth)
        self._valued_before, self._boards = self._valuer.valued, 0
        self._budget.begin(max_nodes=max_nodes, seconds=seconds)
        yield

    def _at_depth(self, root: RbcRoot, depth: int, guess: float | None) -> WindowResult:
        result = super()._at_depth(root, depth, guess)
        self._boards = min(root.size, self.problem.room(depth))
        return result

    def _in_window(self, root: RbcRoot, depth: int, alpha: float, beta: float) -> WindowResult:
        tree, recursion = self.below(root, depth)
        return recursion.root(tree.root(senses=root.senses), depth, alpha, beta)

    def _counts_of(self, root: RbcRoot) -> Mapping[str, int]:
        counts = {} if self._below is None else self._below[3].counts()
        return {
            **counts,
            "valued": self._valuer.valued - self._valued_before,
            "boards": self._boards,
            "root_boards": root.size,
        }


def check_depth(depth: int) -> None:
    """Raise `ValueError` for a depth that is not searched."""
    if not 1 <= depth <= MAX_OWN_MOVES:
        raise ValueError(f"rbc-minimax searches 1 to {MAX_OWN_MOVES} own moves deep, not {depth}")


@cache
def load_minimax(bounds: str = "table") -> None:
    """Load the compiled functions of a search with these bounds, before a clock runs."""
    load_beliefs()
    boards, _ = BoardSet.of_fens([BLACK_CAPTURES]).after_opponent(None)
    with FAMILY.compiling("minimax"):
        problem = RbcProblem(MinimaxProblemParameters(senses=2, moves=1))
        RbcMinimaxSearch(problem, named_bounds(bounds)).search(RbcRoot(boards), 2)
        load_rare()
