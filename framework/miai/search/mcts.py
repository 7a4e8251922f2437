"""Monte-Carlo tree search over any game of perfect information.

UCT (Kocsis & Szepesvari 2006) and PUCT (Silver et al. 2017) for any number of players, each of
whom maximises its own utility (max^n; Sturtevant 2008), with chance nodes, a solver, tree reuse and
leaf batches. Where several players act at once, each plays by regret matching. docs/searches.md
explains the choices.

Statistics of an action are stored at the node where it is taken, from the point of view of the
player who takes it, so that selection need not look at children. Policies are plain functions that
can be passed to `Mcts`: a `Select` returns the index of the action to follow, or the number of
children for an untried action; a `Choose` returns the index of the action to play.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import inf, isclose, log, sqrt
from typing import Literal, TypeAlias

from miai.game import Game, GameInfo, Player, State
from miai.parameters import parameter
from miai.search.evaluators import (
    TreeSearchParameters,
    evaluation_in_place,
    make_evaluator,
    priors,
    temperature_parameter,
    utilities,
)
from miai.search.protocol import (
    Evaluator,
    SearchResult,
    Seedable,
    deadline_after,
    require_actor,
    require_decision,
    require_perfect_information,
    visit_policy,
)
from miai.search.regret_matching import RegretMatching
from miai.seeds import derive_seed
from miai.values import ValueUnit

Utility: TypeAlias = Sequence[float]
"""The utilities of all players, in player order."""

Path: TypeAlias = "list[tuple[Node, int]]"
"""The path of one simulation: nodes from the root, with the index of the action taken."""


class Node:
    """One state of the tree.

    Attributes:
      player: the actor: a player or a constant of `Player`.
      visits: simulations through this node, including one that stopped here.
      actions: the legal actions, the tried ones first and in the order in which they were tried;
        empty until the node is expanded. At a chance node: the outcomes.
      priors: probabilities of `actions`; None if all are equal. At a chance node: cumulative.
      children: the nodes after the tried actions; None if the tree was full. At a chance node as
        long as `actions`, with None for outcomes not yet drawn.
      edge_visits: visits of each child.
      edge_totals: sum of the utilities backed up through each child, for `player`.
      proofs: proven utilities of all players after an action, by index.
      proven: certain utilities of all players, at the end of a game or by a proof; or None.
      pending: whether it waits for its evaluation.
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
        """Return a node for the state, proven if the game is over."""
        player = state.current_player()
        node = cls(player) if player != Player.SIMULTANEOUS else JointNode(player)
        if node.player == Player.TERMINAL:
            node.proven = state.returns()
        return node

    def expand(self, state: State) -> None:
        """List the actions of the node's state."""
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
        # The sort is stable, so equal priors stay in shuffled order.
        order.sort(key=lambda index: -priors[index])
        order = [*range(tried), *order]
        self.actions = [self.actions[index] for index in order]
        self.priors = [priors[index] for index in order]

    def begin(self, rng: random.Random) -> None:
        """Add a child for the untried action of greatest prior, or for a random one."""
        if self.priors is None:
            # Swap rather than pop: the tried actions stay at the front, where `children` index
            # them.
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
        """Return whether the node or each of its actions is proven."""
        return self.proven is not None or len(self.proofs or ()) == len(self.actions) > 0

    def size(self) -> int:
        """Return the number of nodes in this subtree."""
        count, stack = 0, [self]
        while stack:
            count += 1
            stack.extend(child for child in stack.pop().children if child is not None)
        return count


class JointNode(Node):
    """A state in which several players act at once.

    A child belongs to a combination of their actions; `actions` are the acting players. Such a node
    is never proven.

    Attributes:
      legal: the legal actions of each acting player.
      parts: each acting player's regret matching.
      combinations: the players' actions that lead to each child.
    """

    __slots__ = ("_indices", "combinations", "legal", "parts")

    def __init__(self, player: int) -> None:
        super().__init__(player)
        self.legal: list[list[int]] = []
        self.parts: list[RegretMatching] = []
        self.combinations: list[tuple[int, ...]] = []
        self._indices: dict[tuple[int, ...], int] = {}

    def expand(self, state: State) -> None:
        """List the acting players and their actions."""
        self.actions = list(state.acting_players())
        self.legal = [state.legal_actions_of(player) for player in self.actions]
        self.parts = [RegretMatching() for _ in self.actions]

    def draw(self, rng: random.Random) -> int:
        """Let each player draw an action; return the index of the combination."""
        pairs = zip(self.parts, self.legal, strict=True)
        combination = tuple(part.draw(legal, rng) for part, legal in pairs)
        # Nobody chooses a combination, it results; so nodes are made for those that occur.
        index = self._indices.setdefault(combination, len(self.combinations))
        if index == len(self.combinations):
            self.combinations.append(combination)
            self.children.append(None)
            self.edge_visits.append(0)
            self.edge_totals.append(0.0)
        return index

    def learn(self, index: int, value: Utility) -> None:
        """Let each player learn from the utilities of a combination."""
        moves = zip(self.actions, self.parts, self.legal, self.combinations[index], strict=True)
        for player, part, legal, action in moves:
            part.learn(legal, action, value[player])


class MctsSolver:
    """Proves nodes from their proven children (MCTS-Solver, Winands et al. 2008), in vectors.

    A proven value is the result of every subgame-perfect play from there: with two players and a
    constant sum, the minimax value. A node is proven when its player has an action proven to be
    worth the greatest utility of the game, or when all its actions are proven and one utility
    vector is best; a chance node when all outcomes are. With more players, or no constant sum, a
    node whose player is indifferent between different outcomes for the others is left open,
    because how a tie is broken would decide.
    """

    def __init__(self, info: GameInfo) -> None:
        self._max = info.max_utility
        # A maximum for one player must determine the utilities of the others.
        others, total = info.num_players - 1, info.utility_sum
        self._win_settles = others == 0 or (
            total is not None
            and (others == 1 or isclose(total - self._max, others * info.min_utility))
        )

    def note(self, node: Node, index: int, proven: Utility) -> None:
        """Record that an action is proven, and prove the node if that settles it."""
        if node.proofs is None:
            node.proofs = {}
        node.proofs[index] = proven
        if node.player == Player.CHANCE:
            if len(node.proofs) == len(node.actions):
                node.proven = _expectation(node)
        # One winning action is enough; the others need not be proven.
        elif self._win_settles and proven[node.player] >= self._max:
            node.proven = proven
        elif len(node.proofs) == len(node.actions):
            node.proven = _best(node.player, node.proofs)


def _best(player: int, proofs: dict[int, Utility]) -> Utility | None:
    # Which of equal actions the player takes is open, so ties must agree for all players.
    best = max(proofs.values(), key=lambda proven: proven[player])
    ties = (proven for proven in proofs.values() if _alike(proven[player], best[player]))
    return best if all(all(map(_alike, tie, best)) for tie in ties) else None


def _alike(left: float, right: float) -> bool:
    # Equal expectations may differ by rounding.
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


def back_up(
    path: Path, leaf: Node, value: Utility, *, loss: float, solver: MctsSolver | None
) -> None:
    """Add a simulation's utilities to its path, and prove the nodes that they settle.

    The descent counted visits and added `loss` to every total as a virtual loss, which is removed
    here. Above a proven node its proven value is backed up in place of the sample.
    """
    proven = leaf.proven if solver is not None else None
    for node, index in reversed(path):
        # A mixed strategy is never certain, so proofs end here.
        if isinstance(node, JointNode):
            node.learn(index, value)
            proven = None
            continue
        if solver is not None:
            if proven is not None and node.proven is None and index not in (node.proofs or ()):
                solver.note(node, index, proven)
            # Only what proves this node too goes on to its parent.
            proven = node.proven
        if node.player >= 0:
            # In the view of the player who chose the action, so that selection compares sums of one
            # node as they are; the virtual loss of the descent goes.
            node.edge_totals[index] += value[node.player] - loss
        if proven is not None:
            value = proven


Select: TypeAlias = Callable[[Node], int]
Choose: TypeAlias = Callable[[Node], int]

Proven: TypeAlias = Literal["value", "skip"]
"""How a policy treats a proven action.

``value`` scores it by its proven utility, without exploration, so that the mean of the node tends
to its true value; for nodes inside the tree. ``skip`` never selects it; for the root, whose mean
is not needed.
"""


def uct(*, exploration: float, fpu: float | None = None, proven: Proven = "value") -> Select:
    """Return UCT (Kocsis & Szepesvari 2006): mean + exploration * sqrt(ln N / n).

    N are the visits of the node, n those of the action.

    Args:
      exploration: utility by which one standard unit of doubt is rewarded.
      fpu: first-play urgency, the utility that an untried action is credited with (Gelly & Wang
        2006); None to try every action once before any a second time.
      proven: how to treat a proven action; see `Proven`.
    """

    def select(node: Node) -> int:
        tried = len(node.children)
        best, best_score = 0, -inf
        if tried < len(node.actions):
            # Tried actions come first, so this is the index of the first untried one.
            if fpu is None:
                return tried
            best, best_score = tried, fpu
        # The root of ln N / n in two factors: the logarithm is taken once, not once a child.
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
      proven: how to treat a proven action; see `Proven`.
    """

    def select(node: Node) -> int:
        priors, tried = node.priors, len(node.children)
        assert priors is not None, "PUCT needs priors; see Node.rank"
        scale = exploration * sqrt(node.visits)
        best, best_score = 0, -inf
        if tried < len(priors):
            # Without `fpu` an untried action counts as much as its siblings on average.
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


def _child_of(node: Node, actions: tuple[int, ...]) -> Node | None:
    """Return the node after an action, or after those of players who act at once; or None."""
    if isinstance(node, JointNode):
        choices = node.combinations
    else:
        choices = [(action,) for action in node.actions]
    index = choices.index(actions) if actions in choices else len(choices)
    return node.children[index] if index < len(node.children) else None


class MctsParameters(TreeSearchParameters):
    """Parameters of `Mcts`."""

    selection: Literal["uct", "puct"] = parameter(
        "uct", help="uct tries every action; puct is guided by the evaluator's priors"
    )
    temperature: float = temperature_parameter()
    solver: bool = parameter(
        True, help="Prove wins, losses and draws, and stop when the root is proven"
    )
    batch: int = parameter(
        1, ge=1, le=65_536, unit="states", help="Leaves evaluated together, under virtual loss"
    )
    max_nodes: int = parameter(
        500_000,
        ge=1,
        unit="nodes",
        help="Maximum tree size in nodes; when full, the search continues without expanding",
    )
    resign_below: float | None = parameter(
        None, unit="utility", help="Resign when the best action's value is below this; none: never"
    )

    def select(self, game: Game, *, proven: Proven) -> Select:
        """Return how to select inside the tree, or at the root."""
        scale = 0.5 * (game.info.max_utility - game.info.min_utility)
        make = uct if self.selection == "uct" else puct
        return make(exploration=self.exploration * scale, proven=proven)


class Mcts:
    """Monte-Carlo tree search.

    Args:
      parameters: budgets and settings.
      evaluator: values and priors of leaves; None for the one that the parameters name.
      select: how to select inside the tree; None for what the parameters say.
      select_root: how to select at the root; None for `select`, if any, or what the parameters say.
      choose: which action of the root to play, unless it is drawn by visits.

    Attributes:
      root: the node of the last search, or of the position since; None when nothing is kept.

    Raises:
      HiddenInformationError: the game hides information.
      PluginError: the evaluator's name or a parameter is wrong.
    """

    def __init__(
        self,
        game: Game,
        parameters: MctsParameters | None = None,
        *,
        evaluator: Evaluator | None = None,
        select: Select | None = None,
        select_root: Select | None = None,
        choose: Choose = most_visits,
    ) -> None:
        require_perfect_information(game, search="mcts")
        parameters = parameters or MctsParameters()
        self._parameters = parameters
        self._evaluator = evaluator or make_evaluator(
            parameters.evaluator, game, parameters.evaluator_parameters, search="mcts"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        self._select = select or parameters.select(game, proven="value")
        self._select_root = select_root or select or parameters.select(game, proven="skip")
        self._choose = choose
        self._solver = MctsSolver(game.info) if parameters.solver else None
        # A virtual loss is the worst that can happen; a batch of one needs none and is exact.
        self._loss = game.info.min_utility if parameters.batch > 1 else 0.0
        self.root: Node | None = None
        self._state: State | None = None  # of the root, the search's own
        self._nodes: int | None = None  # None until the reused part of a tree is counted
        self._joint: list[int] = []  # actions of a decision of several players, see `advance`
        self._depth = 0
        self.new_game(0)

    def new_game(self, seed: int) -> None:
        """Forget the tree; seed the search and its evaluator."""
        self._rng = random.Random(derive_seed(seed, "mcts"))
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))
        self._forget()

    def advance(self, action: int) -> None:
        """Keep the tree below `action`, drop the rest.

        Of a decision that several players take at once, the actions come in player order.
        """
        root, state = self.root, self._state
        if root is None or state is None:
            return
        self._joint.append(action)
        if isinstance(root, JointNode) and len(self._joint) < len(root.parts):
            return
        actions, self._joint = tuple(self._joint), []
        child = _child_of(root, actions)
        if child is None:
            self._forget()
            return
        for each in actions:
            state.apply_unchecked(each)
        self.root, self._nodes = child, None

    def close(self) -> None:
        """Close the search; it holds nothing outside this process."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for the player to move, after at least one simulation.

        Raises `GameError` at a terminal state or a chance node, and where several players act at
        once (`search_as` says for whom); `PluginError` for malformed evaluations.
        """
        return self.search_as(state, require_decision(state), seconds=seconds)

    def search_as(self, state: State, player: int, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for one of the acting players, after at least one simulation.

        Where several players act at once, the action is drawn from the player's mean strategy,
        which is among the statistics.

        Raises as `search`, and `GameError` if the player does not act.
        """
        require_actor(state, player)
        parameters = self._parameters
        deadline = deadline_after(seconds, parameters.seconds)
        budget = parameters.simulations or math.inf
        try:
            root = self._rooted(state)
            reused, done = root.visits, 0
            # With all actions proven the root may be open, if other players are indifferent, but no
            # simulation would change the choice.
            while not root.is_settled() and done < budget:
                done += self._simulate(int(min(parameters.batch, budget - done)))
                # Looked at after a batch: however short the time, an answer needs a visited action.
                if time.monotonic() >= deadline:
                    break
        except BaseException:
            self._forget()  # virtual losses may be left in the tree
            raise
        counts = {"simulations": done, "reused": reused}
        if isinstance(root, JointNode):
            return self._result_of_part(root, root.actions.index(player), counts)
        return self._result(root, counts)

    # -- the tree and its root ----------------------------------------------------------------

    def _forget(self) -> None:
        self.root = self._state = self._nodes = None
        self._joint = []

    def _rooted(self, state: State) -> Node:
        """Return the root for the state, from the tree if it contains it."""
        # Moves may have been taken back, or another game begun: the tree serves its own position
        # alone.
        if self._state is None or self._state.key() != state.key():
            self._forget()
        if self.root is None:
            self.root = Node.of(state)
        root = self.root
        self._state = state.clone()
        self._nodes = root.size() if self._nodes is None else self._nodes
        self._depth = 0
        if not root.actions:
            root.expand(state)
            if self._parameters.selection == "puct" and root.priors is None and root.player >= 0:
                root.rank(priors(self._evaluator, [state])[0], self._rng)
        return root

    # -- simulations --------------------------------------------------------------------------

    def _simulate(self, count: int) -> int:
        """Make up to `count` simulations, their leaves evaluated together; return how many."""
        waiting: list[tuple[Path, Node, State]] = []
        done = 0
        while done < count:
            path, leaf, state = self._descend()
            # The descent met a leaf of its own batch. Its visit would count a position twice that
            # is evaluated once, so it is undone, and the batch ends early.
            if leaf.pending:
                self._retrace(path, leaf)
                break
            done += 1
            if leaf.proven is not None:
                back_up(path, leaf, leaf.proven, loss=self._loss, solver=self._solver)
                # More simulations could not change the answer.
                if path and path[0][0].is_settled():
                    break
            else:
                leaf.pending = True
                waiting.append((path, leaf, state))
        if waiting:
            self._finish(waiting)
        return done

    def _descend(self) -> tuple[Path, Node, State]:
        """Follow the policies to a leaf; return the path, the leaf and its state."""
        assert self.root is not None
        assert self._state is not None
        node, select = self.root, self._select_root
        state = self._state.clone()
        path: Path = []
        while node.proven is None:
            if not node.actions:
                # A leaf lists its actions on its second visit: most leaves never have one.
                if node.player != Player.CHANCE and (node.visits == 0 or node.pending):
                    break
                node.expand(state)
            if node.player < 0:
                index = node.draw(self._rng)
            else:
                index = select(node)
                if index == len(node.children):
                    node.begin(self._rng)
                # Virtual loss: later descents of this batch should look elsewhere.
                node.edge_totals[index] += self._loss
            node.visits += 1
            node.edge_visits[index] += 1
            path.append((node, index))
            if isinstance(node, JointNode):
                for action in node.combinations[index]:
                    state.apply_unchecked(action)
            else:
                state.apply_unchecked(node.actions[index])
            node, select = node.children[index] or self._grow(node, index, state), self._select
        node.visits += 1
        if len(path) > self._depth:
            self._depth = len(path)
        return path, node, state

    def _grow(self, node: Node, index: int, state: State) -> Node:
        child = Node.of(state)
        assert self._nodes is not None
        # In a full tree the child serves this simulation and is dropped.
        if self._nodes < self._parameters.max_nodes:
            node.children[index] = child
            self._nodes += 1
        return child

    def _retrace(self, path: Path, leaf: Node) -> None:
        """Undo a path that ended at a leaf that waits for its evaluation."""
        leaf.visits -= 1
        for node, index in path:
            node.visits -= 1
            node.edge_visits[index] -= 1
            if node.player >= 0:
                node.edge_totals[index] -= self._loss

    def _finish(self, waiting: list[tuple[Path, Node, State]]) -> None:
        states = [state for _, _, state in waiting]
        if self._parameters.selection == "puct":
            # Before the values, for which the states may be changed.
            for (_, leaf, state), prior in zip(
                waiting, priors(self._evaluator, states), strict=True
            ):
                leaf.expand(state)
                if leaf.player >= 0:
                    leaf.rank(prior, self._rng)
        values = utilities(self._evaluate, states)
        for (path, leaf, _), value in zip(waiting, values, strict=True):
            leaf.pending = False
            back_up(path, leaf, value, loss=self._loss, solver=self._solver)

    # -- the answer ---------------------------------------------------------------------------

    def _result(self, root: Node, counts: dict[str, int]) -> SearchResult:
        best = self._choose(root)
        action, policy = root.actions[best], {root.actions[best]: 1.0}
        if self._parameters.temperature > 0 and not root.is_settled():
            visits = dict(zip(root.actions, root.edge_visits, strict=False))  # untried ones last
            policy = visit_policy(visits, self._parameters.temperature)
            action = self._rng.choices(list(policy), list(policy.values()))[0]
        value = root.value(best)
        threshold = self._parameters.resign_below
        tried = range(len(root.children))
        return SearchResult(
            action=action,
            value=value,
            unit=ValueUnit.EXPECTED_UTILITY,
            visits={root.actions[i]: root.edge_visits[i] for i in tried},
            values={root.actions[i]: root.value(i) for i in tried},
            pv=self._principal_variation(root),
            resign=threshold is not None and value < threshold,
            statistics={
                **counts,
                "nodes": self._nodes,
                "depth": self._depth,
                "proven": root.proven is not None,
            },
            policy=policy,
        )

    def _result_of_part(self, root: JointNode, number: int, counts: dict[str, int]) -> SearchResult:
        """Return the result for one of several players who act at once."""
        part, legal = root.parts[number], root.legal[number]
        strategy = part.strategy(legal)
        action = self._rng.choices(legal, strategy)[0]
        value, threshold = part.value(), self._parameters.resign_below
        return SearchResult(
            action=action,
            value=value,
            unit=ValueUnit.EXPECTED_UTILITY,
            visits={action: part.counts.get(action, 0) for action in legal},
            values={action: part.mean(action) for action in legal},
            pv=(action,),
            resign=threshold is not None and value < threshold,
            statistics={
                **counts,
                "nodes": self._nodes,
                "depth": self._depth,
                "strategy": [[a, round(p, 4)] for a, p in zip(legal, strategy, strict=True)],
            },
            policy=dict(zip(legal, strategy, strict=True)),
        )

    def _principal_variation(self, node: Node | None) -> tuple[int, ...]:
        """Return what `choose` would play from here on, as long as single players act."""
        actions = []
        while node is not None and node.player >= 0 and node.children:
            index = self._choose(node)
            actions.append(node.actions[index])
            node = node.children[index]
        return tuple(actions)
