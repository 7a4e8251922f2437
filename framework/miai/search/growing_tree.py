"""Trees of histories that grow while both players learn from regrets, for `equilibrium`.

A node is a history, and an information set is all that its player has observed: the sequence of its
`State.observation` (perfect recall). A leaf that is not the end of the game has the value that an
evaluator gives it, until it is expanded: growing-tree CFR (Schmid et al. 2023, "Student of Games").
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai.errors import EmptyBeliefError, UnsuitableGameError
from miai.game import Game, Observation, Player, State, sample_chance
from miai.information import observation_key
from miai.search.evaluators import Evaluate, utilities

CHANCE = -1  # in place of an information set, of a chance node and of a leaf
_CAPACITY = 1024  # nodes for which a new tree has room


class Sequences:
    """Numbers for players' sequences of observations; equal ones have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def start(self, player: int, text: str = "") -> int:
        """Return the number of what a player knows, as a text, before any further observation."""
        return self._numbers.setdefault((player, text), len(self._numbers))

    def extended(self, number: int, observation: Observation | None) -> int:
        """Return the number after one more observation; the same after none."""
        if observation is None:
            return number
        key = number, observation_key(observation), tuple(observation.legal_actions)
        return self._numbers.setdefault(key, len(self._numbers))


@dataclass(frozen=True, slots=True)
class RootWorld:
    """A world at the root of a subgame.

    Attributes:
      state: the world.
      sequences: numbers of what each player has observed there.
      belief: its probability in the searcher's belief; 0 if only the opponent considers it.
      share: its weight among worlds alike to the opponent, by chance and the searcher's policy.
      alternative: what the opponent, given what it knows, can have instead of the subgame: utility
        above half the utility sum. None if unknown; then it has no choice.
    """

    state: State
    sequences: tuple[int, int]
    belief: float
    share: float
    alternative: float | None


class GrowingTree:
    """A tree of histories, and the players' strategies in it.

    Attributes:
      arrays: the tree for kernels, with room for more.
      nodes, sets, edges: how much of it is used.
      iterations: number of iterations so far.
      worlds: number of worlds of the root that are active.
      states: the state of each node; None at the end of the game and above the root of a subgame.
      parent: (room,) the parent of each node.
      sequences: (room, 2) the numbers of what both players have observed.
      turns: (room, 2) how often both players have acted since the root.
      index: the number of each information set, by its player and the player's sequence.
      actions: the actions of each information set.
    """

    def __init__(self, numbers: Sequences, evaluate: Evaluate | None = None) -> None:
        from miai.search.kernels.regrets import TreeArrays  # numba, which listings do not need

        self._numbers, self._evaluate = numbers, evaluate
        self._rng = random.Random(0)  # of chance between a leaf and the decision that is evaluated
        self.nodes = self.sets = self.edges = self.iterations = 0
        self.states: list[State | None] = []
        self.index: dict[tuple[int, int], int] = {}
        self.actions: list[list[int]] = []
        self.arrays = TreeArrays.empty(_CAPACITY)
        self.parent = np.zeros(_CAPACITY, np.int32)
        self.sequences = np.zeros((_CAPACITY, 2), np.int32)
        self.turns = np.zeros((_CAPACITY, 2), np.int32)
        self._entries: list[int] = []  # the nodes of the worlds of the root
        self.worlds = self._scanned = 0

    # -- roots --------------------------------------------------------------------------------

    def begin(self, state: State, *, until: int | None = None, limit: int = 0) -> None:
        """Begin at the start of a game; expand all up to the first decisions of player `until`.

        Expansion stops at `limit` nodes.
        """
        start, extended = self._numbers.start, self._numbers.extended
        sequences = [extended(start(player), state.observation(player)) for player in (0, 1)]
        self._append(None, 0, (0, 0))
        self._entries, self.worlds = [self._append(state, 0, sequences)], 1
        self.arrays.chance[1] = 1.0
        self._set_children(0, 1, CHANCE)
        node, evaluate, self._evaluate = 1, self._evaluate, None
        while until is not None and node < self.nodes < limit:
            if self._is_open(node) and not self.turns[node, until]:
                self.expand(node)
            node += 1
        self._evaluate = evaluate
        if evaluate is not None:
            self._value({n: s for n, s in enumerate(self.states) if s and self._is_open(n)})

    def begin_subgame(self, roots: Sequence[RootWorld], opponent: int) -> None:
        """Begin with worlds, of which only the first is active yet: see `grow`.

        Above each world is a node of the *resolve* gadget: the opponent enters the subgame or takes
        its alternative (Burch, Johanson, Bowling 2014; Moravčík et al. 2016, 2017). A strategy that
        leaves it nothing to gain by entering is as safe as the one that the alternatives are from.
        """
        self._append(None, 0, (0, 0))
        for root in roots:
            self._append(None, 0, root.sequences)
        self._set_children(0, 1, CHANCE)
        for gadget, root in enumerate(roots, start=1):
            first, choice = self.nodes, CHANCE
            if root.alternative is not None:
                end = self._append(None, gadget, root.sequences)
                self.arrays.value[end] = root.alternative * (1 - 2 * opponent)
                # No sequence of observations has a negative number.
                choice = self._set(opponent, -1 - root.sequences[opponent], [0, 1], 0)
            entry = self._append(root.state, gadget, root.sequences)
            self.arrays.chance[entry] = 1.0
            self.turns[entry, opponent] = 1
            self._entries.append(entry)
            self._set_children(gadget, first, choice)
        known = [root.sequences[opponent] for root in roots]
        _, self._groups = np.unique(known, return_inverse=True)
        self._beliefs = np.array([root.belief for root in roots])
        self._shares = np.array([root.share for root in roots])
        self._activate()

    def _activate(self) -> None:
        """Let chance lead to one more world of the root.

        What the opponent may know is weighted half by the belief and half evenly (Zhang, Sandholm
        2025): all weights are safe, and these also fit the opponent that is expected. Worlds that
        it cannot tell apart are weighted by chance and the searcher's policy.
        """
        entry = self._entries[self.worlds]
        self.worlds += 1
        if self._is_open(entry):
            self.expand(entry)
        groups, shares = self._groups[: self.worlds], self._shares[: self.worlds]
        beliefs = np.bincount(groups, self._beliefs[: self.worlds])
        sums = np.bincount(groups, shares)
        likely = beliefs / beliefs.sum() + (sums > 0) / np.count_nonzero(sums)
        self.arrays.chance[1 : 1 + self.worlds] = likely[groups] * shares / sums[groups] / 2

    # -- growth -------------------------------------------------------------------------------

    def grow(self, draws: NDArray[np.float64], explorer: int, exploration: float) -> bool:
        """Activate a world of the root or expand a leaf, in turns; return False if all is done.

        The leaf is where `kernels.regrets.descend` leads or, where that is the end of the game, the
        first one. So a tree with enough room grows to the end of the game everywhere.
        """
        from miai.search.kernels.regrets import descend

        waiting = self.worlds < len(self._entries)
        leaf: int | None = None
        if not (waiting and draws[-1] < 0.5):
            leaf = descend(self.arrays[:], draws, explorer, exploration)
            if not self._is_open(leaf):
                leaf = None if waiting else self.first_leaf()
        if leaf is not None:
            self.expand(leaf)
        elif waiting:
            self._activate()
        return leaf is not None or waiting

    def is_complete(self) -> bool:
        """Return whether the tree reaches the end of the game everywhere."""
        return self.worlds == len(self._entries) and self.first_leaf() is None

    def first_leaf(self) -> int | None:
        """Return the first node that can be expanded; None if the tree is complete."""
        while self._scanned < self.nodes:
            if self._is_open(self._scanned):
                return self._scanned
            self._scanned += 1
        return None

    def expand(self, node: int) -> None:
        """Give a leaf its children, and value those at which the game is not over."""
        state = self.states[node]
        assert state is not None
        actor, first = state.next_actor(), self.nodes
        if chance := actor == Player.CHANCE:
            outcomes = state.chance_outcomes()
        else:
            outcomes = [(action, 1.0) for action in state.legal_actions()]
        before, extended = self.sequences[node].tolist(), self._numbers.extended
        for action, probability in outcomes:
            child = state.clone()
            child.apply_unchecked(action)
            sequences = [extended(before[p], child.observation(p)) for p in (0, 1)]
            number = self._append(None if child.is_terminal() else child, node, sequences)
            if chance:
                self.arrays.chance[number] = probability
            else:
                self.turns[number, actor] += 1
            if child.is_terminal():
                self.arrays.value[number] = _above_half(child.returns())
        group = CHANCE
        if not chance:
            actions = [action for action, _ in outcomes]
            group = self._set(actor, before[actor], actions, int(self.turns[node, actor]))
        self._set_children(node, first, group)
        fresh = {n: s for n in range(first, self.nodes) if (s := self.states[n]) is not None}
        # Nobody knows yet what the first of several players who act at once has chosen.
        pending = [number for number, child in fresh.items() if child.pending_actions()]
        for number in pending:
            del fresh[number]
            self.expand(number)
        if self._evaluate is not None and fresh:
            self._value(fresh)

    def _value(self, leaves: dict[int, State]) -> None:
        """Let the evaluator value leaves; chance is drawn until a player decides."""
        assert self._evaluate is not None
        asked: dict[int, State] = {}
        for number, leaf in leaves.items():
            state = leaf.clone()
            while state.is_chance_node():
                state.apply_unchecked(sample_chance(state, self._rng))
            if state.is_terminal():
                self.arrays.value[number] = _above_half(state.returns())
            else:
                asked[number] = state
        if asked:
            rows = utilities(self._evaluate, list(asked.values()))
            self.arrays.value[list(asked)] = [_above_half(row) for row in rows]

    def _is_open(self, node: int) -> bool:
        return self.states[node] is not None and not self.arrays.children[node]

    def _append(self, state: State | None, parent: int, sequences: Sequence[int]) -> int:
        """Add a node, a leaf until it has children; return its number."""
        node = self.nodes
        if node == len(self.parent):
            # A set has a node of its own, and an edge a child, so there are no more of them.
            self.arrays = self.arrays.doubled()
            self.parent = np.concatenate([self.parent, np.zeros_like(self.parent)])
            self.sequences = np.concatenate([self.sequences, np.zeros_like(self.sequences)])
            self.turns = np.concatenate([self.turns, np.zeros_like(self.turns)])
        self.nodes += 1
        self.states.append(state)
        self.parent[node] = parent
        self.arrays.member[node] = CHANCE
        self.sequences[node] = sequences
        self.turns[node] = self.turns[parent]
        return node

    def _set_children(self, node: int, first: int, group: int) -> None:
        """Make all nodes from `first` on the children of a node of an information set or chance."""
        arrays = self.arrays
        arrays.first[node], arrays.children[node] = first, self.nodes - first
        arrays.member[node] = group

    def _set(self, player: int, sequence: int, actions: list[int], level: int) -> int:
        """Return the number of an information set, a new one the first time."""
        group = self.index.setdefault((player, sequence), self.sets)
        if group < self.sets:
            if self.actions[group] != actions:
                raise UnsuitableGameError(
                    f"equilibrium: player {player} observes the same but has different legal "
                    f"actions: {actions} and {self.actions[group]}"
                )
            return group
        arrays = self.arrays
        arrays.owner[group], arrays.level[group] = player, level
        arrays.edge[group], arrays.size[group] = self.edges, len(actions)
        self.actions.append(actions)
        self.sets += 1
        self.edges += len(actions)
        arrays.strategy[self.edges - len(actions) : self.edges] = 1 / len(actions)
        return group

    # -- learning -----------------------------------------------------------------------------

    def iterate(self, iterations: int) -> None:
        """Run iterations of predictive CFR+; see `kernels.regrets.iterate`."""
        from miai.search.kernels.regrets import iterate

        iterate(self.arrays[:], self.nodes, self.sets, self.iterations, iterations)
        self.iterations += iterations

    def forget(self) -> None:
        """Forget all strategies, and keep the tree."""
        for name in ("regret", "advice", "total", "worth", "visits"):
            getattr(self.arrays, name).fill(0)
        sizes = self.arrays.size[: self.sets]
        self.arrays.strategy[: self.edges] = np.repeat(1 / sizes, sizes)
        self.iterations = 0

    def solution(self, player: int, sequence: int) -> tuple[dict[int, float], float]:
        """Return the mean strategy of an information set, and its value for the player.

        The value is a utility above half the utility sum. Raises `EmptyBeliefError` if the tree
        does not have the set.
        """
        group = self.index.get((player, sequence))
        if group is None:
            raise EmptyBeliefError(
                f"equilibrium: nothing that can happen explains the observations of player {player}"
            )
        policy, edge = self._mean(group), self.arrays.edge[group]
        value = float(self.arrays.worth[edge : edge + len(policy)] @ policy)
        return dict(zip(self.actions[group], policy, strict=True)), value

    def near_policies(self, searcher: int) -> dict[tuple[int, str], list[float]]:
        """Return the policies of the searcher's first turn, and of the other until its second one.

        They are found by the player and what it knows, as `State.information_state_string` says.
        """
        policies: dict[tuple[int, str], list[float]] = {}
        groups, nodes = np.unique(self.arrays.member[: self.nodes], return_index=True)
        for group, node in zip(groups.tolist(), nodes.tolist(), strict=True):
            state, player = self.states[node], int(self.arrays.owner[group])
            near = group != CHANCE and self.turns[node, searcher] <= (player != searcher)
            if state is not None and near:
                policies[player, state.information_state_string(player)] = self._mean(group)
        return policies

    def best_response(self, player: int) -> float:
        """Return a player's utility above half the sum by its best response to the other's mean."""
        from miai.search.kernels.regrets import respond

        return respond(self.arrays[:], self.nodes, self.sets, player)

    def response_values(self, player: int) -> dict[int, float]:
        """Return that utility given what the player knows, by the number of its observations.

        It is the mean over the nodes at which it came to know this, weighted by the others' reach.
        """
        self.best_response(player)
        sequences = self.sequences[: self.nodes, player]
        fresh = np.flatnonzero(sequences != sequences[self.parent[: self.nodes]])
        reach = self.arrays.reach[fresh]
        numbers, places = np.unique(sequences[fresh], return_inverse=True)
        masses = np.bincount(places, reach)
        sums = np.bincount(places, reach * self.arrays.result[fresh])
        rows = zip(numbers.tolist(), masses.tolist(), sums.tolist(), strict=True)
        return {number: total / mass for number, mass, total in rows if mass > 0}

    def _mean(self, group: int) -> list[float]:
        """Return the mean strategy of a set; where its player never comes, the present one."""
        edge, stop = self.arrays.edge[group], self.arrays.edge[group] + self.arrays.size[group]
        total = self.arrays.total[edge:stop]
        mean = total / total.sum() if total.any() else self.arrays.strategy[edge:stop]
        policy: list[float] = mean.tolist()
        return policy


def _above_half(utilities: Sequence[float]) -> float:
    """Return the first player's utility above half of the sum."""
    return (utilities[0] - utilities[1]) / 2


def complete_tree(game: Game, numbers: Sequences, limit: int) -> GrowingTree | None:
    """Return the tree of a whole game; None if it has more nodes than the limit.

    An estimate from random games first, so that no large game is unrolled in vain.
    """
    from miai.equilibria.worlds import is_larger

    if is_larger(game, limit):
        return None
    tree = GrowingTree(numbers)
    tree.begin(game.new_initial_state())
    while (leaf := tree.first_leaf()) is not None:
        if tree.nodes > limit:
            return None
        tree.expand(leaf)
    return tree
