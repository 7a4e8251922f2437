"""Counterfactual regret minimisation on a tree of histories that grows.

A child is numbered after its parent, and the children of a node are numbered in a row. So one pass
upwards in numbers carries reach probabilities down the tree, and one pass downwards carries values
up, whatever the order in which the tree grew.

An *edge* of an information set is one of its actions; edges of a set are numbered in a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels import part
from miai.search.kernels import kernel

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Arrays = tuple[NDArray[Any], ...]
"""A `TreeArrays` as a plain tuple."""


class TreeArrays(NamedTuple):
    """The arrays of a tree: (n) of n nodes, (s) of s information sets, (e) of e edges.

    Attributes:
      first, children: (n) number of the first child, and how many there are; a leaf has none.
      member: (n) the information set of a node at which a player acts; else negative.
      chance: (n) probability that chance leads from the parent to the node.
      value: (n) of a leaf: utility of player 0 above half the utility sum.
      owner, level: (s) the player, and how often it has acted before.
      edge, size: (s) the first edge, and the number of edges.
      regret, advice: (e) cumulative positive regret, and the regret of the latest iteration.
      strategy: (e) the present strategy.
      total: (e) sum of strategies, weighted by own reach and iteration.
      worth: (e) the owner's latest value of the action, given that the set is reached.
      visits: (e) how often `descend` chose the action for the explorer.
      reach, own, result: (n) work: probabilities of others and of the player, and values.
      gain, plan, mean: (e) work: counterfactual values, a response, mean strategies.
      weight, arrival: (s) work: probabilities that the others, and the player, reach a set.
    """

    first: Ints
    children: Ints
    member: Ints
    chance: Floats
    value: Floats
    owner: Ints
    level: Ints
    edge: Ints
    size: Ints
    regret: Floats
    advice: Floats
    strategy: Floats
    total: Floats
    mean: Floats
    worth: Floats
    visits: Floats
    reach: Floats
    own: Floats
    result: Floats
    gain: Floats
    plan: Floats
    weight: Floats
    arrival: Floats

    @classmethod
    def empty(cls, room: int) -> TreeArrays:
        """Return arrays of zeros for `room` nodes, sets and edges."""
        whole = {"first", "children", "member", "owner", "level", "edge", "size"}
        kinds: list[Any] = [np.int32 if f in whole else np.float64 for f in cls._fields]
        return cls(*(np.zeros(room, kind) for kind in kinds))

    def doubled(self) -> TreeArrays:
        """Return a copy with twice the room."""
        return TreeArrays(*(np.concatenate([array, np.zeros_like(array)]) for array in self))


@part
def _reach(tree: TreeArrays, nodes: int, player: int, strategy: Floats) -> None:
    """Carry the probabilities of the player, and of all others, from the root to each node."""
    tree.reach[0] = tree.own[0] = 1.0
    for node in range(nodes):
        reach, own = tree.reach[node], tree.own[node]
        first, count, group = tree.first[node], tree.children[node], tree.member[node]
        ours = group >= 0 and tree.owner[group] == player
        if ours:
            # Where a set has several nodes, the player reaches all with one probability.
            tree.arrival[group] = own
        for a in range(count):
            p = strategy[tree.edge[group] + a] if group >= 0 else tree.chance[first + a]
            tree.reach[first + a] = reach if ours else reach * p
            tree.own[first + a] = own * p if ours else own


@part
def _values(
    tree: TreeArrays, nodes: int, sets: int, player: int, strategy: Floats, plan: Floats
) -> None:
    """Carry values for the player from the leaves up, and sum them up by information set.

    The player follows `plan`, the other one `strategy`. `gain` becomes the counterfactual value of
    each edge of the player, and `weight` the others' probability to reach each of its sets.
    """
    for group in range(sets):
        tree.weight[group] = 0.0
        tree.gain[tree.edge[group] : tree.edge[group] + tree.size[group]] = 0.0
    sign = 1.0 if player == 0 else -1.0
    for node in range(nodes - 1, -1, -1):
        first, count, group = tree.first[node], tree.children[node], tree.member[node]
        value = 0.0
        if count == 0:
            value = sign * tree.value[node]
        elif group < 0:
            for child in range(first, first + count):
                value += tree.chance[child] * tree.result[child]
        elif tree.owner[group] == player:
            edge, reach = tree.edge[group], tree.reach[node]
            tree.weight[group] += reach
            for a in range(count):
                value += plan[edge + a] * tree.result[first + a]
                tree.gain[edge + a] += reach * tree.result[first + a]
        else:
            edge = tree.edge[group]
            for a in range(count):
                value += strategy[edge + a] * tree.result[first + a]
        tree.result[node] = value


@part
def _learn(tree: TreeArrays, sets: int, player: int, iteration: int) -> None:
    """Update the player's regrets, and its strategy for the next iteration."""
    share = float(iteration) * float(iteration)
    for group in range(sets):
        if tree.owner[group] != player:
            continue
        edge, stop = tree.edge[group], tree.edge[group] + tree.size[group]
        mean = total = 0.0
        for e in range(edge, stop):
            mean += tree.strategy[e] * tree.gain[e]
            if tree.weight[group] > 0.0:
                tree.worth[e] = tree.gain[e] / tree.weight[group]
        for e in range(edge, stop):
            tree.advice[e] = tree.gain[e] - mean
            tree.regret[e] = max(0.0, tree.regret[e] + tree.advice[e])
        for e in range(edge, stop):
            tree.total[e] += share * tree.arrival[group] * tree.strategy[e]
            total += max(0.0, tree.regret[e] + tree.advice[e])
        for e in range(edge, stop):
            promise = max(0.0, tree.regret[e] + tree.advice[e])
            tree.strategy[e] = promise / total if total > 0.0 else 1.0 / tree.size[group]


@kernel
def iterate(arrays: Arrays, nodes: int, sets: int, done: int, iterations: int) -> None:
    """Run iterations of predictive CFR+ after `done` earlier ones, the players in turn.

    Regret matching+ on regrets that count the latest one twice, as a prediction of the next
    (PCFR+; Farina, Kroer, Sandholm 2021). The mean strategy is weighted by the square of the
    iteration.
    """
    tree = TreeArrays(*arrays)
    for iteration in range(done + 1, done + iterations + 1):
        for player in range(2):
            _reach(tree, nodes, player, tree.strategy)
            _values(tree, nodes, sets, player, tree.strategy, tree.strategy)
            _learn(tree, sets, player, iteration)


@kernel
def respond(arrays: Arrays, nodes: int, sets: int, player: int) -> float:
    """Return the player's value of a best response to the other's mean strategy, at the root.

    `result` holds its values of all nodes, `reach` the others' probabilities, and `plan` the
    response. A set's actions need the responses in all sets below, which may lie under other nodes,
    so the sets are decided from the last level up.
    """
    tree = TreeArrays(*arrays)
    last = 0
    for group in range(sets):
        last = max(last, tree.level[group])
        edge, stop = tree.edge[group], tree.edge[group] + tree.size[group]
        total = 0.0
        for e in range(edge, stop):
            total += tree.total[e]
        for e in range(edge, stop):
            tree.mean[e] = tree.total[e] / total if total > 0.0 else tree.strategy[e]
            tree.plan[e] = tree.mean[e]
    _reach(tree, nodes, player, tree.mean)
    for level in range(last, -1, -1):
        _values(tree, nodes, sets, player, tree.mean, tree.plan)
        for group in range(sets):
            if tree.owner[group] == player and tree.level[group] == level:
                edge, stop = tree.edge[group], tree.edge[group] + tree.size[group]
                best = edge
                for e in range(edge, stop):
                    if tree.gain[e] > tree.gain[best]:
                        best = e
                tree.plan[edge:stop] = 0.0
                tree.plan[best] = 1.0
    _values(tree, nodes, sets, player, tree.mean, tree.plan)
    return float(tree.result[0])


@kernel
def descend(arrays: Arrays, draws: Floats, explorer: int, exploration: float) -> int:
    """Return the leaf at the end of a path, to be expanded.

    One-sided growing-tree CFR (Zhang, Sandholm 2025, after Schmid et al. 2023): only the explorer
    leaves its present strategy, in half of its decisions, for the action of the best PUCT score.

    Args:
      draws: uniform random numbers, which are used in circles.
      exploration: weight of exploration, in utilities.
    """
    tree = TreeArrays(*arrays)
    node, turn = 0, 0
    while tree.children[node] > 0:
        first, count, group = tree.first[node], tree.children[node], tree.member[node]
        draw, choice, total, best = draws[turn % len(draws)], 0, 0.0, -np.inf
        turn += 1
        explores = group >= 0 and tree.owner[group] == explorer
        if explores and draw < 0.5:
            visits = 1.0
            for e in range(tree.edge[group], tree.edge[group] + count):
                visits += tree.visits[e]
            for a in range(count):
                edge = tree.edge[group] + a
                bonus = np.sqrt(visits) / (1.0 + tree.visits[edge]) / count
                score = tree.worth[edge] + exploration * bonus
                if score > best:
                    best, choice = score, a
        else:
            point = 2.0 * draw - 1.0 if explores else draw
            while choice < count - 1:
                edge = tree.edge[group] + choice
                total += tree.chance[first + choice] if group < 0 else tree.strategy[edge]
                if total > point:
                    break
                choice += 1
        if explores:
            tree.visits[tree.edge[group] + choice] += 1.0
        node = first + choice
    return node
