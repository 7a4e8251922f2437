"""With a perfect evaluator, trees play small boards perfectly; the boards are solved here."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.go_learning.go_forest_slow import ONE

from miai_go.kernels import trail
from miai_go.nets.encoder import Positions
from miai_go.rules.board import Board
from miai_go.rules.chains import fills_eye
from miai_go.search.forest import Forest, ForestRoot, TreeSettings

Stones = tuple[int, ...]


class Position(NamedTuple):
    """All that decides the future under simple ko: colours are 1 and 2, ko -1 for none."""

    stones: Stones
    mover: int
    passes: int
    ko: int


class Solved:
    """Go on a small board, area scoring, simple ko, no suicide, no end by repetition.

    `values` holds 1 for a position that the player to move wins whatever the answers, -1 for one
    that is lost so, 0 for one that either player can keep from ending. Positions are kept in one
    of their eight symmetries only.
    """

    def __init__(self, size: int, komi: float) -> None:
        self.size = size
        self.komi = komi
        points = range(size * size)
        self.beside = [
            [q for q in points if abs(q // size - p // size) + abs(q % size - p % size) == 1]
            for p in points
        ]
        self.turns = self._symmetries()
        self.values = self._solve()

    def value(self, position: Position) -> int:
        return self.values[self.least(position)]

    def least(self, position: Position) -> Position:
        stones, mover, passes, ko = position
        turned = (
            (tuple(stones[p] for p in turn), -1 if ko < 0 else turn.index(ko))
            for turn in self.turns
        )
        found, at = min(turned)
        return Position(found, mover, passes, at)

    def moves(self, position: Position) -> list[tuple[int, Position]]:
        """Return actions and what they lead to; the pass last."""
        stones, mover, passes, ko = position
        out = []
        for point, stone in enumerate(stones):
            if stone == 0 and point != ko:
                after = self._played(stones, point, mover)
                if after is not None:
                    out.append((point, after))
        passed = Position(stones, 3 - mover, passes + 1, -1)
        return [*out, (self.size**2, passed)]

    def winner(self, stones: Stones) -> int:
        margin = self._area(stones, 1) - self._area(stones, 2) - self.komi
        return 1 if margin > 0 else 2

    def _played(self, stones: Stones, point: int, mover: int) -> Position | None:
        board = list(stones)
        board[point] = mover
        taken: set[int] = set()
        for q in self.beside[point]:
            if board[q] == 3 - mover and q not in taken:
                chain, free = self._chain(board, q)
                if not free:
                    taken |= chain
        for q in taken:
            board[q] = 0
        chain, free = self._chain(board, point)
        if not free:
            return None
        ko = min(taken) if len(taken) == len(chain) == len(free) == 1 else -1
        return Position(tuple(board), 3 - mover, 0, ko)

    def _chain(self, board: list[int] | Stones, point: int) -> tuple[set[int], set[int]]:
        chain, free, todo = {point}, set(), [point]
        while todo:
            for q in self.beside[todo.pop()]:
                if board[q] == 0:
                    free.add(q)
                elif board[q] == board[point] and q not in chain:
                    chain.add(q)
                    todo.append(q)
        return chain, free

    def _area(self, stones: Stones, color: int) -> int:
        """Return the stones of a colour and the empty points that do not reach the other."""
        reached = {p for p, stone in enumerate(stones) if stone == 3 - color}
        todo = list(reached)
        while todo:
            for q in self.beside[todo.pop()]:
                if stones[q] == 0 and q not in reached:
                    reached.add(q)
                    todo.append(q)
        own = {p for p, stone in enumerate(stones) if stone == color}
        todo = list(own)
        while todo:
            for q in self.beside[todo.pop()]:
                if stones[q] == 0 and q not in own:
                    own.add(q)
                    todo.append(q)
        return len(own - reached)

    def _symmetries(self) -> list[list[int]]:
        n = self.size
        one = [[r * n + c for c in range(n)] for r in range(n)]
        out = []
        for _ in range(4):
            one = [list(row) for row in zip(*one[::-1], strict=True)]
            out += [[p for row in one for p in row], [p for row in one for p in row[::-1]]]
        return out

    def _solve(self) -> dict[Position, int]:
        """Work back from the finished games to all positions that are decided."""
        start = Position((0,) * self.size**2, 1, 0, -1)
        values: dict[Position, int] = {start: 0}
        before: dict[Position, list[Position]] = defaultdict(list)
        answers: dict[Position, int] = {}
        decided, todo = [], [start]
        while todo:
            position = todo.pop()
            if position.passes == 2:
                won = self.winner(position.stones) == position.mover
                values[position] = 1 if won else -1
                decided.append(position)
                continue
            following = {self.least(after) for _, after in self.moves(position)}
            answers[position] = len(following)
            for after in following:
                before[after].append(position)
                if after not in values:
                    values[after] = 0
                    todo.append(after)
        for position in decided:
            for earlier in before[position]:
                if values[earlier]:
                    continue
                answers[earlier] -= 1
                if values[position] == -1 or answers[earlier] == 0:
                    values[earlier] = -values[position]
                    decided.append(earlier)
        return values


@cache
def solved(size: int, komi: float) -> Solved:
    return Solved(size, komi)


class Perfect:
    """Values leaves as they are solved, and holds all moves for equally likely."""

    def __init__(self, oracle: Solved) -> None:
        self._oracle = oracle

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        points = leaves.size**2
        values = np.zeros(len(leaves), np.float32)
        for row in range(len(leaves)):
            passes = int(leaves.last_actions()[row, 0] == points)
            values[row] = self._oracle.value(
                seen(leaves.board(row), int(leaves.colors()[row]), passes)
            )
        return np.zeros((len(leaves), points + 1), np.float32), values


def seen(board: Board, mover: int, passes: int) -> Position:
    ko = -1 if board.ko_point is None else board.ko_point
    return Position(tuple(board.stones().ravel().tolist()), mover, passes, ko)


def chosen(
    oracle: Solved, board: Board, mover: int, passes: int, settings: TreeSettings, budget: int
) -> int:
    """Return what a fresh tree plays in a position."""
    words = np.zeros(trail.trail_words(oracle.size), np.int16)
    trail.begin_trail(board.words.copy(), words, np.int64(mover), np.int64(2 * oracle.komi))
    if passes:
        words[trail.LAST] = oracle.size**2
    forest = Forest(oracle.size, 1, max_nodes=20_000, leaves=2, max_budget=budget)
    forest.configure(0, settings)
    forest.set_root(0, ForestRoot(board=board, trail=words, komi=oracle.komi, passes=passes))
    forest.search(ONE, budget, Perfect(oracle))
    return forest.tree(0).best()


def test_the_solver_agrees_with_known_results() -> None:
    """Black takes all of 3x3, by the centre only; 1x1 has no move at all (Tromp and Taylor)."""
    oracle = solved(3, 8.5)
    start = Position((0,) * 9, 1, 0, -1)
    assert oracle.value(start) == 1
    winning = [a for a, after in oracle.moves(start) if oracle.value(after) == -1]
    assert winning == [4]
    assert solved(1, 0.5).values[Position((0,), 1, 0, -1)] == -1
    assert solved(2, 4.5).value(Position((0,) * 4, 1, 0, -1)) == -1


def test_a_won_game_is_won_against_every_reply() -> None:
    """Black plays 3x3 from the empty board by trees; every answer of White's is gone through."""
    oracle = solved(3, 8.5)
    following: dict[Position, list[Position]] = {}
    todo = [(Board(3), 1, 0)]
    while todo:
        board, mover, passes = todo.pop()
        here = seen(board, mover, passes)
        if here in following:
            continue
        following[here] = []
        if passes == 2:
            assert oracle.winner(here.stones) == 1
            continue
        actions = [action for action, _ in oracle.moves(here)]
        if mover == 1:
            actions = [chosen(oracle, board, mover, passes, TreeSettings(), 60)]
        for action in actions:
            after = board.copy()
            after.play(mover - 1, action)
            passed = passes + 1 if action == 9 else 0
            following[here].append(seen(after, 3 - mover, passed))
            todo.append((after, 3 - mover, passed))
    ended = {here for here in following if here.passes == 2}
    left = set(following) - ended
    while settled := {here for here in left if ended.issuperset(following[here])}:
        ended |= settled
        left -= settled
    assert not left  # White cannot even make the game go round in a circle
    assert len(following) > 500


SETTINGS = {"puct": TreeSettings(), "gumbel": TreeSettings(gumbel=10)}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("size", "komi"), [(2, 0.5), (3, 0.5), (3, 3.5), (3, 8.5)])
def test_no_solved_result_is_given_away(size: int, komi: float, name: str) -> None:
    """In a won position the tree wins, in one that can be held it loses nothing."""
    oracle = solved(size, komi)
    rng = np.random.default_rng(size)
    everything = [p for p in oracle.values if p.passes < 2 and p.ko < 0]
    checked = {1: 0, 0: 0}
    for at in rng.permutation(len(everything))[:220].tolist():
        position = everything[at]
        value = oracle.values[position]
        sensible = {
            action: -oracle.value(after)
            for action, after in oracle.moves(position)
            if action == size**2 or not fills_eye(position.stones, action, position.mover)
        }
        if value < 0 or max(sensible.values()) < value or min(sensible.values()) >= value:
            continue  # there is nothing to give away, or it takes filling an own eye
        board = Board.from_stones(np.array(position.stones).reshape(size, size))
        action = chosen(oracle, board, position.mover, position.passes, SETTINGS[name], 40)
        assert sensible[action] >= value, (position, action)
        checked[value] += 1
    assert checked[1] >= (10 if size == 2 else 50), checked
