"""The tree of Monte-Carlo tree search: nodes, backup and proofs.

Statistics of an action live at the node where it is taken, from the point of view of the player
who takes it, so a mean is read without touching the child.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from math import isclose
from typing import TypeAlias

from miai.game import GameInfo, Player, State

Utility: TypeAlias = Sequence[float]
"""The utilities of all players, in player order."""

Path: TypeAlias = "list[tuple[Node, int]]"
"""The way of one simulation: nodes from the root on, with the index of the action taken."""


class Node:
    """One state of the tree.

    Attributes:
      player: who acts: a player, `Player.CHANCE` or `Player.TERMINAL`.
      visits: simulations that came here, one that stopped here included.
      actions: the legal actions, the tried ones first and in the order in which they were tried;
        empty until the node is expanded. At a chance node: the outcomes.
      priors: probabilities of `actions`; None where all are alike. At a chance node: cumulative.
      children: the nodes behind the tried actions; None where the tree was full. At a chance
        node as long as `actions`, None for outcomes not yet drawn.
      edge_visits: visits of each child.
      edge_totals: sum of the utilities backed up through each child, for `player`.
      proofs: proven utilities of all players behind an action, by index.
      proven: utilities of all players where they are certain: the end of a game, or a proof.
      pending: whether its evaluation is asked for and not yet there.
    """

    __slots__ = (
        "actions",
        "children",
        "edge_totals",
        "edge_visits",
        "pending",
        "player",
        "priors",
        "proofs",
        "proven",
        "visits",
    )

    def __init__(self, player: int) -> None:
        self.player = player
        self.visits = 0
        self.actions: list[int] = []
        self.priors: list[float] | None = None
        self.children: list[Node | None] = []
        self.edge_visits: list[int] = []
        self.edge_totals: list[float] = []
        self.proofs: dict[int, Utility] | None = None
        self.proven: Utility | None = None
        self.pending = False

    @classmethod
    def of(cls, state: State) -> Node:
        """Return a node for the state, proven when the game is over there."""
        node = cls(state.current_player())
        if node.player == Player.TERMINAL:
            node.proven = state.returns()
        return node

    def expand(self, state: State) -> None:
        """List the actions of the state that the node stands for."""
        if self.player != Player.CHANCE:
            self.actions = state.legal_actions()
            return
        outcomes = state.chance_outcomes()
        self.actions = [action for action, _ in outcomes]
        self.priors = list(accumulate(probability for _, probability in outcomes))
        self.children = [None] * len(outcomes)
        self.edge_visits = [0] * len(outcomes)
        self.edge_totals = [0.0] * len(outcomes)

    def rank(self, priors: Sequence[float], rng: random.Random) -> None:
        """Give the actions their priors and sort the untried ones by them, ties at random."""
        tried = len(self.children)
        order = list(range(tried, len(self.actions)))
        rng.shuffle(order)
        order.sort(key=lambda index: -priors[index])
        order = [*range(tried), *order]
        self.actions = [self.actions[index] for index in order]
        self.priors = [priors[index] for index in order]

    def begin(self, rng: random.Random) -> None:
        """Start trying another action: the one of greatest prior, any where all are alike."""
        if self.priors is None:
            actions, tried = self.actions, len(self.children)
            other = tried + int(rng.random() * (len(actions) - tried))
            actions[tried], actions[other] = actions[other], actions[tried]
        self.children.append(None)
        self.edge_visits.append(0)
        self.edge_totals.append(0.0)

    def draw(self, rng: random.Random) -> int:
        """Return the index of an outcome of this chance node, drawn by the probabilities."""
        return rng.choices(range(len(self.actions)), cum_weights=self.priors)[0]

    def value(self, index: int) -> float:
        """Return the utility of a tried action for `player`: proven, else the mean so far."""
        if self.proofs and index in self.proofs:
            return self.proofs[index][self.player]
        return self.edge_totals[index] / self.edge_visits[index]

    def is_settled(self) -> bool:
        """Return whether no search can tell more: the node, or every action of it, is proven."""
        return self.proven is not None or len(self.proofs or ()) == len(self.actions) > 0

    def size(self) -> int:
        """Return the number of nodes from here on."""
        count, stack = 0, [self]
        while stack:
            count += 1
            stack.extend(child for child in stack.pop().children if child is not None)
        return count


class Solver:
    """Proves nodes from their proven children (MCTS-Solver, Winands et al. 2008), in vectors.

    A proven value is what every subgame-perfect play from there yields: with two players and a
    constant sum, the minimax value. A node is proven when its player has an action proven to be
    worth the greatest utility of the game, or when all its actions are proven and one utility
    vector is best; a chance node when all outcomes are. With more players, or no constant sum, a
    node whose player is indifferent between different outcomes for the others is left open,
    because how a tie is broken would decide.
    """

    def __init__(self, info: GameInfo) -> None:
        self._max = info.max_utility
        # Where one player has the most, it must leave no choice about what the others have.
        others, total = info.num_players - 1, info.utility_sum
        self._win_settles = others == 0 or (
            total is not None
            and (others == 1 or isclose(total - self._max, others * info.min_utility))
        )

    def note(self, node: Node, index: int, proven: Utility) -> None:
        """Note that an action is proven, and prove the node if that settles it."""
        if node.proofs is None:
            node.proofs = {}
        node.proofs[index] = proven
        if node.player == Player.CHANCE:
            if len(node.proofs) == len(node.actions):
                node.proven = _expectation(node)
        elif self._win_settles and proven[node.player] >= self._max:
            node.proven = proven
        elif len(node.proofs) == len(node.actions):
            node.proven = _best(node.player, node.proofs)


def _best(player: int, proofs: dict[int, Utility]) -> Utility | None:
    best = max(proofs.values(), key=lambda proven: proven[player])
    ties = (proven for proven in proofs.values() if _alike(proven[player], best[player]))
    return best if all(all(map(_alike, tie, best)) for tie in ties) else None


def _alike(left: float, right: float) -> bool:
    # Expectations that are equal may differ by rounding, and a tie must not be taken for none.
    return isclose(left, right, abs_tol=1e-9)


def _expectation(node: Node) -> Utility:
    assert node.priors is not None
    assert node.proofs is not None
    below = [0.0, *node.priors[:-1]]
    weights = [upto - before for upto, before in zip(node.priors, below, strict=True)]
    proofs = [node.proofs[index] for index in range(len(node.actions))]
    return [
        sum(weight * value for weight, value in zip(weights, column, strict=True))
        for column in zip(*proofs, strict=True)
    ]


def back_up(path: Path, leaf: Node, value: Utility, *, loss: float, solver: Solver | None) -> None:
    """Add a simulation's utilities to its path, and prove what they prove.

    Visits were counted on the way down, and `loss` added to every total as a virtual loss; it is
    taken back here. Above a proven node its proven value is backed up in place of the sample.
    """
    proven = leaf.proven if solver is not None else None
    for node, index in reversed(path):
        if solver is not None:
            if proven is not None and node.proven is None and index not in (node.proofs or ()):
                solver.note(node, index, proven)
            proven = node.proven
        if node.player >= 0:
            node.edge_totals[index] += value[node.player] - loss
        if proven is not None:
            value = proven
