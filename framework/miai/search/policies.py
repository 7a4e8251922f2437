"""How Monte-Carlo tree search selects: policies as plain functions.

A `Select` is given a node and returns the index of the action to follow; the number of children
stands for an action not yet tried. A `Choose` names the action to play in the end. Any function
of these types can be handed to `Mcts`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf, log, sqrt
from typing import Literal, TypeAlias

from miai.search.mcts_tree import Node

Select: TypeAlias = Callable[[Node], int]
Choose: TypeAlias = Callable[[Node], int]

Proven: TypeAlias = Literal["value", "skip"]
"""What a proven action is to a policy.

``value``: worth just its proven utility, for there is nothing to explore, so that the mean of the
node tends to its true value; for inside the tree. ``skip``: left out, because it can tell nothing
more; for the root, whose mean nobody needs.
"""


def uct(*, exploration: float, fpu: float | None = None, proven: Proven = "value") -> Select:
    """Return UCT (Kocsis & Szepesvari 2006): mean + exploration * sqrt(ln N / n).

    N are the visits of the node, n those of the action.

    Args:
      exploration: utility by which one standard unit of doubt is rewarded.
      fpu: first-play urgency, the utility that an untried action is credited with (Gelly & Wang
        2006); None to try every action once before any a second time.
      proven: what a proven action is taken for; see `Proven`.
    """

    def select(node: Node) -> int:
        tried = len(node.children)
        best, best_score = 0, -inf
        if tried < len(node.actions):
            if fpu is None:
                return tried
            best, best_score = tried, fpu
        scale = exploration * sqrt(log(node.visits)) if node.visits > 1 else 0.0
        proofs, player = node.proofs, node.player
        edges = enumerate(zip(node.edge_visits, node.edge_totals, strict=True))
        for index, (visits, total) in edges:
            score = total / visits + scale / sqrt(visits)
            if proofs is not None and index in proofs:
                score = proofs[index][player] if proven == "value" else -inf
            if score > best_score:
                best, best_score = index, score
        return best

    return select


def puct(*, exploration: float, fpu: float | None = None, proven: Proven = "value") -> Select:
    """Return PUCT as in AlphaZero: mean + exploration * prior * sqrt(N) / (1 + n).

    Args:
      exploration: utility by which a prior of one is rewarded at N = 1, n = 0.
      fpu: the mean that an untried action is credited with; None for the mean of the node so far
        (0 utility before the first visit, when the greatest prior decides).
      proven: what a proven action is taken for; see `Proven`.
    """

    def select(node: Node) -> int:
        priors, tried = node.priors, len(node.children)
        assert priors is not None, "PUCT needs priors; see Node.rank"
        scale = exploration * sqrt(node.visits)
        best, best_score = 0, -inf
        if tried < len(priors):
            mean = sum(node.edge_totals) / (sum(node.edge_visits) or 1) if fpu is None else fpu
            best, best_score = tried, mean + scale * priors[tried]
        proofs, player = node.proofs, node.player
        edges = enumerate(zip(node.edge_visits, node.edge_totals, strict=True))
        for index, (visits, total) in edges:
            score = total / visits + scale * priors[index] / (1 + visits)
            if proofs is not None and index in proofs:
                score = proofs[index][player] if proven == "value" else -inf
            if score > best_score:
                best, best_score = index, score
        return best

    return select


def most_visits(node: Node) -> int:
    """Return the most visited action ("robust child"); ties go to the greater utility.

    Where the node is proven, the action that proves it. Else a proven action is preferred to the
    most visited open one only when it is better than that one's mean: a proven loss never is.
    """
    tried, proofs = range(len(node.children)), node.proofs or {}
    open_ = [index for index in tried if index not in proofs]
    best = max(proofs, key=lambda i: (node.value(i), node.edge_visits[i]), default=None)
    if best is not None and (node.proven is not None or not open_):
        return best
    robust = max(open_, key=lambda i: (node.edge_visits[i], node.value(i)))
    if best is not None and node.value(best) > node.value(robust):
        return best
    return robust


def best_value(node: Node) -> int:
    """Return the action of greatest utility, proven or mean ("max child"); ties by visits.

    Where the node is proven, the action that proves it.
    """
    among = node.proofs if node.proven is not None and node.proofs else range(len(node.children))
    return max(among, key=lambda i: (node.value(i), node.edge_visits[i]))


def add_dirichlet_noise(
    priors: list[float], rng: random.Random, *, alpha: float, fraction: float
) -> list[float]:
    """Return priors mixed with a share of Dirichlet noise, as AlphaZero does at its root.

    Args:
      alpha: concentration; the smaller, the more the noise favours few actions.
      fraction: the share of the noise, 0 to 1.
    """
    noise = [rng.gammavariate(alpha, 1.0) for _ in priors]
    total = sum(noise)
    if total <= 0.0:  # a tiny alpha can underflow to no noise at all
        return priors
    return [
        (1.0 - fraction) * prior + fraction * sample / total
        for prior, sample in zip(priors, noise, strict=True)
    ]
