"""Games written out as trees, the oracles that solve them, and a game of dice."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Self, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from miai import Game, GameInfo, Parameters, Player, State


@dataclass(frozen=True, slots=True)
class End:
    """The game is over."""

    returns: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A player chooses; `estimate` is what `EstimateEvaluator` says of the state."""

    player: int
    children: tuple[Tree, ...]
    estimate: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Chance:
    """Chance decides, by the weights."""

    weights: tuple[float, ...]
    children: tuple[Tree, ...]


Tree: TypeAlias = "End | Choice | Chance"
WIN, LOSS, DRAW = End((1.0, -1.0)), End((-1.0, 1.0)), End((0.0, 0.0))


class TreeGame(Game):
    """The game that a tree describes. Equal subtrees are equal states unless `merge` is False."""

    def __init__(
        self,
        tree: Tree,
        *,
        players: int = 2,
        utility_sum: float | None = 0.0,
        bounds: tuple[float, float] = (-1.0, 1.0),
        merge: bool = True,
        perfect: bool = True,
    ) -> None:
        self.tree = tree
        self.merge = merge
        self.parameters = Parameters()
        width, length = measure(tree, {})
        self.info = GameInfo(
            name="tree",
            version=1,
            num_players=players,
            num_distinct_actions=width,
            max_chance_outcomes=width,
            max_game_length=length,
            player_names=tuple(f"player {p}" for p in range(players)),
            min_utility=bounds[0],
            max_utility=bounds[1],
            utility_sum=utility_sum,
            perfect_information=perfect,
        )

    def new_initial_state(self) -> TreeState:
        return TreeState(self)


class TreeState(State):
    """A point in a tree."""

    game: TreeGame

    def __init__(self, game: TreeGame) -> None:
        super().__init__(game)
        self.tree = game.tree

    def current_player(self) -> int:
        if isinstance(self.tree, End):
            return Player.TERMINAL
        return self.tree.player if isinstance(self.tree, Choice) else Player.CHANCE

    def legal_actions(self) -> list[int]:
        return [] if isinstance(self.tree, End) else list(range(len(self.tree.children)))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        assert isinstance(self.tree, Chance)
        total = sum(self.tree.weights)
        return [(index, weight / total) for index, weight in enumerate(self.tree.weights)]

    def _apply(self, action: int) -> None:
        assert not isinstance(self.tree, End)
        self.tree = self.tree.children[action]

    def returns(self) -> tuple[float, ...]:
        if isinstance(self.tree, End):
            return self.tree.returns
        return (0.0,) * self.game.info.num_players

    def _copy_to(self, other: Self) -> None:
        other.tree = self.tree

    def key(self) -> Hashable:
        return self.tree if self.game.merge else tuple(self.history())

    def __str__(self) -> str:
        return f"after {self.history()}"


class EstimateEvaluator:
    """Says what the tree says; remembers the sizes of the batches."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        self.batches.append(len(states))
        return np.array([estimate(state) for state in states])

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        counts = [len(state.legal_actions()) for state in states]
        return [np.full(count, 1 / count) for count in counts]


def estimate(state: State) -> tuple[float, ...]:
    """Return the estimate written in the tree, else one that only the way here decides."""
    assert isinstance(state, TreeState)
    assert isinstance(state.tree, Choice), "evaluators see neither ends nor chance nodes"
    if state.tree.estimate:
        return state.tree.estimate
    value = zlib.crc32(repr(state.history()).encode()) / 2**32 * 1.8 - 0.9
    return (value, -value)


def states_of(game: Game) -> list[State]:
    """Return every state that can be reached, each once by key."""
    start = game.new_initial_state()
    found, stack = {start.key(): start}, [start]
    while stack:
        state = stack.pop()
        for action in state.legal_actions():
            child = state.child(action)
            if child.key() not in found:
                found[child.key()] = child
                stack.append(child)
    return list(found.values())


def measure(tree: Tree, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return (most actions of a state, greatest length); a shared subtree is measured once."""
    if isinstance(tree, End):
        return (1, 0)
    if id(tree) not in known:
        widths, lengths = zip(*(measure(child, known) for child in tree.children), strict=True)
        known[id(tree)] = max(len(tree.children), *widths), 1 + max(lengths)
    return known[id(tree)]


# -- oracles: they know trees and brute force, and nothing of the searches ------------------------


def minimax(tree: Tree) -> float:
    """Return the value for player 0 of a game whose utilities sum to a constant."""
    if isinstance(tree, End):
        return tree.returns[0]
    values = [minimax(child) for child in tree.children]
    if isinstance(tree, Chance):
        weighted = zip(tree.weights, values, strict=True)
        return sum(weight * value for weight, value in weighted) / sum(tree.weights)
    return max(values) if tree.player == 0 else min(values)


def rational_outcomes(tree: Tree) -> set[tuple[Fraction, ...]]:
    """Return the utilities of all subgame-perfect plays, ties broken in every pure way; exact."""
    if isinstance(tree, End):
        return {tuple(map(Fraction, tree.returns))}
    below = [sorted(rational_outcomes(child)) for child in tree.children]
    found: set[tuple[Fraction, ...]] = set()
    for combination in product(*below):
        if isinstance(tree, Chance):
            shares = [Fraction(weight) / Fraction(sum(tree.weights)) for weight in tree.weights]
            columns = zip(*combination, strict=True)
            found.add(tuple(sum(map(mul, shares, column), Fraction()) for column in columns))
        else:
            best = max(outcome[tree.player] for outcome in combination)
            found |= {outcome for outcome in combination if outcome[tree.player] == best}
    return found


# -- strategies: a tree is read off bytes, which are quick to draw and to shrink ------------------


class Reader:
    """Reads small numbers off bytes; zeros when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def below(self, limit: int) -> int:
        return next(self._data, 0) % limit

    def tree(self, depth: int, end: Callable[[Reader], End], players: int, *, chance: bool) -> Tree:
        kind = self.below(8)
        if depth == 0 or kind == 0:
            return end(self)
        children = tuple(
            self.tree(depth - 1, end, players, chance=chance) for _ in range(1 + self.below(3))
        )
        if chance and kind <= 2:
            return Chance(tuple(1.0 + self.below(4) for _ in children), children)
        return Choice(self.below(players), children)


def trees(
    end: Callable[[Reader], End], *, players: int = 2, depth: int = 5, chance: bool = True
) -> st.SearchStrategy[Choice]:
    """Trees that begin with a decision; players move in any order."""

    def grow(data: bytes) -> Choice:
        tree = Reader(data).tree(depth, end, players, chance=chance)
        return tree if isinstance(tree, Choice) else Choice(0, (tree,))

    return st.binary(min_size=80, max_size=300).map(grow)


def zero_sum_trees(*, chance: bool = True, total: float = 0.0) -> st.SearchStrategy[Choice]:
    """Trees for two players whose utilities sum to `total`."""

    def end(reader: Reader) -> End:
        value = (0.0, -1.0, 1.0, -0.5, 0.25)[reader.below(5)]
        return End((value, total - value))

    return trees(end, chance=chance)


def general_trees(*, players: int) -> st.SearchStrategy[Choice]:
    """Trees of any utilities."""

    def end(reader: Reader) -> End:
        return End(tuple((-1.0, 0.0, 1.0)[reader.below(3)] for _ in range(players)))

    return trees(end, players=players, depth=3)


def winner_takes_all_trees(*, players: int) -> st.SearchStrategy[Choice]:
    """Trees in which one player wins 1 and the others get nothing."""

    def end(reader: Reader) -> End:
        winner = reader.below(players)
        return End(tuple(float(player == winner) for player in range(players)))

    return trees(end, players=players, chance=False)


# -- a game of dice -------------------------------------------------------------------------------


class DiceRace(Game):
    """Who first has `goal` points wins. Walk for a point, or leap for 3 with probability 2/5.

    After 12 turns the points decide; equal points are a draw.
    """

    def __init__(self, goal: int = 6) -> None:
        self.goal = goal
        self.parameters = Parameters()
        self.info = GameInfo(
            name="dice_race",
            version=1,
            num_players=2,
            num_distinct_actions=2,
            max_chance_outcomes=2,
            max_game_length=12,
            player_names=("first", "second"),
        )

    def new_initial_state(self) -> DiceRaceState:
        return DiceRaceState(self)


class DiceRaceState(State):
    """The points, whose turn it is, and whether a die is in the air."""

    game: DiceRace

    def __init__(self, game: DiceRace) -> None:
        super().__init__(game)
        self.points = (0, 0)
        self.turn = 0
        self.rolling = False

    def current_player(self) -> int:
        if self.turn == 12 or max(self.points) >= self.game.goal:
            return Player.TERMINAL
        return Player.CHANCE if self.rolling else self.turn % 2

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else [0, 1]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(0, 0.6), (1, 0.4)]

    def _apply(self, action: int) -> None:
        if action == 1 and not self.rolling:
            self.rolling = True
            return
        gain = 3 * action if self.rolling else 1
        first, second = self.points
        self.points = (first + gain, second) if self.turn % 2 == 0 else (first, second + gain)
        self.rolling = False
        self.turn += 1

    def returns(self) -> tuple[float, ...]:
        if not self.is_terminal():
            return (0.0, 0.0)
        lead = float(np.sign(self.points[0] - self.points[1]))
        return (lead, -lead)

    def _copy_to(self, other: Self) -> None:
        other.points, other.turn, other.rolling = self.points, self.turn, self.rolling

    def key(self) -> Hashable:
        return (*self.points, self.turn, self.rolling)

    def __str__(self) -> str:
        return f"{self.points} turn {self.turn}"


def expectiminimax(state: State, memory: dict[Hashable, float]) -> float:
    """Return the value for player 0 by brute force."""
    key = state.key()
    if key not in memory:
        player = state.current_player()
        if player == Player.TERMINAL:
            memory[key] = state.returns()[0]
        elif player == Player.CHANCE:
            memory[key] = sum(
                probability * expectiminimax(state.child(outcome), memory)
                for outcome, probability in state.chance_outcomes()
            )
        else:
            values = [expectiminimax(state.child(a), memory) for a in state.legal_actions()]
            memory[key] = max(values) if player == 0 else min(values)
    return memory[key]


class Endless(Game):
    """No search sees its end: 200 plies of four actions; a hash of the way decides."""

    def __init__(self, players: int = 2) -> None:
        self.parameters = Parameters()
        self.info = GameInfo(
            name="endless",
            version=1,
            num_players=players,
            num_distinct_actions=4,
            max_game_length=200,
            player_names=tuple(map(str, range(players))),
        )

    def new_initial_state(self) -> EndlessState:
        return EndlessState(self)


class EndlessState(State):
    """The way so far."""

    def current_player(self) -> int:
        over = self.move_number() == self.game.info.max_game_length
        return Player.TERMINAL if over else self.move_number() % self.game.info.num_players

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else [0, 1, 2, 3]

    def _apply(self, action: int) -> None:
        pass

    def returns(self) -> tuple[float, ...]:
        players = self.game.info.num_players
        if not self.is_terminal():
            return (0.0,) * players
        winner = zlib.crc32(repr(self.history()).encode()) % players
        share = -1.0 / (players - 1)
        return tuple(1.0 if p == winner else share for p in range(players))

    def _copy_to(self, other: Self) -> None:
        pass

    def key(self) -> Hashable:
        return tuple(self.history())

    def __str__(self) -> str:
        return str(self.history())
