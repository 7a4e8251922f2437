"""Monte-Carlo tree search over any game of perfect information.

UCT (Kocsis & Szepesvari 2006) and PUCT (Silver et al. 2017) for any number of players, with chance
nodes, a solver, tree reuse and leaf batches. docs/search.md explains the choices.
"""

from __future__ import annotations

import math
import random
import time

from miai.game import Game, Player, State
from miai.search import limits
from miai.search.evaluators import evaluation_in_place, make_evaluator, priors, utilities
from miai.search.mcts_parameters import MctsParameters
from miai.search.mcts_tree import Node, Path, Solver, back_up
from miai.search.policies import Choose, Select, add_dirichlet_noise
from miai.search.protocol import Evaluator, SearchResult, Seedable
from miai.seeds import derive_seed


class Mcts:
    """Monte-Carlo tree search.

    Args:
      parameters: budgets and settings.
      evaluator: values and priors of leaves; None for the one that the parameters name.
      select: how to select inside the tree; None for what the parameters say.
      select_root: how to select at the root; None for `select`, if given, or else what the
        parameters say.
      choose: which action of the root to play; None for what the parameters say.

    Attributes:
      root: the node of the last search, or of the position since; None when nothing is kept.

    Raises:
      HiddenInformationError: the game hides information.
      UnknownComponentError: no evaluator has the name.
      ParameterError: the evaluator's parameters are wrong.
    """

    def __init__(
        self,
        game: Game,
        parameters: MctsParameters | None = None,
        *,
        evaluator: Evaluator | None = None,
        select: Select | None = None,
        select_root: Select | None = None,
        choose: Choose | None = None,
    ) -> None:
        limits.require_perfect_information(game, search="mcts")
        given = parameters or MctsParameters()
        self._given = given
        self._evaluator = evaluator or make_evaluator(
            given.evaluator, game, given.evaluator_parameters, search="mcts"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        self._select = select or given.select(game, proven="value")
        self._select_root = select_root or select or given.select(game, proven="skip")
        self._choose = choose or given.choose()
        self._solver = Solver(game.info) if given.solver else None
        # A virtual loss is the worst that can happen; a batch of one needs none and is exact.
        self._loss = game.info.min_utility if given.batch > 1 else 0.0
        self.root: Node | None = None
        self._state: State | None = None  # of the root, the search's own
        self._nodes: int | None = None  # None until the kept part of a tree is counted
        self._noised: Node | None = None
        self._depth = 0
        self.new_game(0)

    def new_game(self, seed: int) -> None:
        """Forget the tree; seed the search and its evaluator."""
        self._rng = random.Random(derive_seed(seed, "mcts"))
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))
        self._forget()

    def advance(self, action: int) -> None:
        """Keep the tree below `action`, drop the rest."""
        root, state = self.root, self._state
        if root is None or state is None:
            return
        kept = None
        if self._given.reuse and action in root.actions:
            index = root.actions.index(action)
            kept = root.children[index] if index < len(root.children) else None
        if kept is None:
            self._forget()
            return
        state.apply_unchecked(action)
        self.root, self._nodes = kept, None

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for the player to move.

        At least one simulation is made however short the time.

        Raises:
          GameError: the state is terminal or a chance node.
          PluginError: the evaluator's answers are malformed.
        """
        limits.require_decision(state)
        given = self._given
        deadline = limits.deadline_after(seconds, given.seconds)
        budget = given.simulations or math.inf
        try:
            root = self._rooted(state)
            reused, done = root.visits, 0
            while not root.is_settled() and done < budget:
                done += self._simulate(int(min(given.batch, budget - done)))
                if time.monotonic() >= deadline:
                    break
        except BaseException:
            self._forget()  # virtual losses may be left in the tree
            raise
        return self._result(root, {"simulations": done, "reused": reused})

    # -- the tree and its root ----------------------------------------------------------------

    def _forget(self) -> None:
        self.root = self._state = self._nodes = self._noised = None

    def _rooted(self, state: State) -> Node:
        """Return the root for the state, out of the tree where it is there."""
        known = self._state if self._given.reuse else None
        if known is None or known.key() != state.key():
            self._forget()
        if self.root is None:
            self.root = Node.of(state)
        root = self.root
        self._state = state.clone()
        self._nodes = root.size() if self._nodes is None else self._nodes
        self._depth = 0
        if not root.actions:
            root.expand(state)
            if self._given.selection == "puct" and root.priors is None:
                root.rank(priors(self._evaluator, [state])[0], self._rng)
        self._add_noise(root)
        return root

    def _add_noise(self, root: Node) -> None:
        alpha = self._given.dirichlet_alpha
        if alpha is None or root.priors is None or self._noised is root:
            return
        fraction = self._given.dirichlet_fraction
        noisy = add_dirichlet_noise(root.priors, self._rng, alpha=alpha, fraction=fraction)
        root.rank(noisy, self._rng)
        self._noised = root

    # -- simulations --------------------------------------------------------------------------

    def _simulate(self, count: int) -> int:
        """Make up to `count` simulations, their leaves evaluated together; return how many."""
        waiting: list[tuple[Path, Node, State]] = []
        done = 0
        while done < count:
            path, leaf, state = self._descend()
            if leaf.pending:
                self._retrace(path, leaf)
                break
            done += 1
            if leaf.proven is not None:
                back_up(path, leaf, leaf.proven, loss=self._loss, solver=self._solver)
                if path and path[0][0].is_settled():
                    break
            else:
                leaf.pending = True
                waiting.append((path, leaf, state))
        if waiting:
            self._finish(waiting)
        return done

    def _descend(self) -> tuple[Path, Node, State]:
        """Follow the policies to a leaf; return the way, the leaf and its state."""
        assert self.root is not None
        assert self._state is not None
        node, select = self.root, self._select_root
        state = self._state.clone()
        path: Path = []
        while node.proven is None:
            if not node.actions:
                if node.player != Player.CHANCE and (node.visits == 0 or node.pending):
                    break
                node.expand(state)
            if node.player == Player.CHANCE:
                index = node.draw(self._rng)
            else:
                index = select(node)
                if index == len(node.children):
                    node.begin(self._rng)
                node.edge_totals[index] += self._loss
            node.visits += 1
            node.edge_visits[index] += 1
            path.append((node, index))
            state.apply_unchecked(node.actions[index])
            node, select = node.children[index] or self._grow(node, index, state), self._select
        node.visits += 1
        if len(path) > self._depth:
            self._depth = len(path)
        return path, node, state

    def _grow(self, node: Node, index: int, state: State) -> Node:
        """Return a new node for the state, part of the tree unless that is full."""
        child = Node.of(state)
        assert self._nodes is not None
        if self._nodes < self._given.max_nodes:
            node.children[index] = child
            self._nodes += 1
        return child

    def _retrace(self, path: Path, leaf: Node) -> None:
        """Take back a way that ended where an evaluation is still awaited."""
        leaf.visits -= 1
        for node, index in path:
            node.visits -= 1
            node.edge_visits[index] -= 1
            if node.player != Player.CHANCE:
                node.edge_totals[index] -= self._loss

    def _finish(self, waiting: list[tuple[Path, Node, State]]) -> None:
        """Evaluate the leaves together and back their values up."""
        states = [state for _, _, state in waiting]
        if self._given.selection == "puct":
            # Before the values, for which the states may be changed.
            for (_, leaf, state), prior in zip(
                waiting, priors(self._evaluator, states), strict=True
            ):
                leaf.expand(state)
                leaf.rank(prior, self._rng)
        values = utilities(self._evaluate, states)
        for (path, leaf, _), value in zip(waiting, values, strict=True):
            leaf.pending = False
            back_up(path, leaf, value, loss=self._loss, solver=self._solver)

    # -- the answer ---------------------------------------------------------------------------

    def _result(self, root: Node, counts: dict[str, int]) -> SearchResult:
        index = self._choose(root)
        value = root.value(index)
        threshold = self._given.resign_below
        tried = range(len(root.children))
        return SearchResult(
            action=root.actions[index],
            value=value,
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
        )

    def _principal_variation(self, node: Node | None) -> tuple[int, ...]:
        """Return what `choose` would play from here on, up to chance or the edge of the tree."""
        actions = []
        while node is not None and node.player != Player.CHANCE and node.children:
            index = self._choose(node)
            actions.append(node.actions[index])
            node = node.children[index]
        return tuple(actions)
