"""The agent `equilibrium`: a search whose play is hard to exploit, in games that hide information.

A game that fits into its tree is solved from its start; the strategies are kept from one decision
to the next, so that all are parts of one approximate equilibrium. In a larger game, each decision
solves a subgame that begins with worlds of the player's belief (knowledge-limited subgame solving;
Zhang, Sandholm 2021), on a tree that grows where play leads (Zhang, Sandholm 2025, arXiv
2506.01242).

A node of the tree is a history, and an information set is all that its player has observed: the
sequence of its `State.observation` (perfect recall). A leaf that is not the end of the game has the
value that an evaluator gives it, until it is expanded: growing-tree CFR (Schmid et al. 2023,
"Student of Games").
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from miai.agent import Decision, ThinkingAgent, Thought
from miai.clock import ClockReading
from miai.errors import BeliefTooLargeError, EmptyBeliefError, UnsuitableGameError
from miai.game import Game, Observation, Player, State, sample_chance
from miai.information import BeliefState, EnumeratedBelief, Worlds, observation_key, world_weights
from miai.parameters import Parameters, parameter
from miai.plain import Json
from miai.plugins.extras import missing_extra
from miai.search.evaluators import Evaluate, evaluation_in_place, make_evaluator, utilities
from miai.search.protocol import Seedable, deadline_after, require_two_player_constant_sum
from miai.search.worlds import make_belief, mean_utility
from miai.seeds import derive_seed

_EXPLORATION = 0.35  # weight of exploration, in ranges of utilities
_DRAWS = 64  # random numbers for one path down a tree
_STEP = 2000  # nodes whose update takes about as long as a step of growth
_WORK = 200_000  # nodes that are updated between two looks at the time, about
_WORK_PER_WORLD = 10  # positions generated for the beliefs of the opponent, for each world
_LISTED = 2000  # worlds that are all looked at before some are drawn; a board of chess takes 20 us
_NEAR = 300  # positions up to a first decision before which a tree begins at the game's start
CHANCE = -1  # in place of an information set, of a chance node and of a leaf
_CAPACITY = 1024  # nodes for which a new tree has room


class EquilibriumParameters(Parameters):
    """Parameters of `Equilibrium`."""

    iterations: int = parameter(
        1000, ge=0, unit="iterations", help="Iterations per move; 0: no limit, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Time limit per move beside iterations; not reproducible"
    )
    nodes: int = parameter(
        20_000, ge=100, unit="nodes", help="Maximum size of a tree; a game that fits is unrolled"
    )
    worlds: int = parameter(
        300, ge=1, unit="worlds", help="Maximum number of worlds at the root of a subgame"
    )
    evaluator: str = parameter("random-rollout", component="evaluator", help="Evaluator of leaves")
    evaluator_parameters: dict[str, Any] = parameter({}, help="Parameters of the evaluator")
    belief: str = parameter(
        "enumerated", component="belief", help="Belief from which worlds are drawn"
    )
    belief_parameters: dict[str, Any] = parameter({}, help="Parameters of the belief")

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        if self.iterations == 0 and self.seconds is None:
            raise ValueError("iterations = 0 needs a budget in seconds")
        return self


class Equilibrium(ThinkingAgent):
    """Plays approximate equilibria of two-player games of constant sum.

    What it does is a function of the seed and its observations: a decision for which it was not
    asked is thought through when the next observation comes, unless only time limits it.

    Raises `UnsuitableGameError` for other games.
    """

    def __init__(self, game: Game, parameters: EquilibriumParameters | None = None) -> None:
        super().__init__(game)
        require_two_player_constant_sum(game, search="equilibrium")
        self.parameters = parameters = parameters or EquilibriumParameters()
        self._evaluator = make_evaluator(
            parameters.evaluator, game, parameters.evaluator_parameters, search="equilibrium"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        self._exploration = _EXPLORATION * (game.info.max_utility - game.info.min_utility)
        self._limit = min(parameters.worlds, max(1, parameters.nodes // 10))
        self._numbers = Sequences()
        try:
            _compile(game)
        except ImportError as error:  # numba
            raise missing_extra(error, "miai", "equilibrium") or error from None
        self._whole = complete_tree(game, self._numbers, parameters.nodes)
        self.policy_is_fixed = self._whole is not None
        self._begin(0, 0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game without strategies."""
        super().new_game(seed, player=player, log=log)
        self._begin(seed, player)

    def _begin(self, seed: int, player: int) -> None:
        self._tree, self._sampled = self._whole, False
        if self._whole is not None:
            self._whole.forget()
        else:
            self._numbers = Sequences()
        self._sequence = self._numbers.start(player)
        self._stated: dict[tuple[int, str], list[float]] = {}
        self._draws = np.random.default_rng(derive_seed(seed, "equilibrium"))
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))
        values = self.parameters.belief_parameters
        belief = make_belief(self.parameters.belief, self.game, player, values)
        if isinstance(belief, EnumeratedBelief) and belief.policy is None:
            belief.policy = self._policy_in
        self._belief: BeliefState[State] = belief

    def observe(self, observation: Observation) -> None:
        """Follow the game."""
        if self.view.legal_actions and self.parameters.iterations:
            self.policy()
        # Of our last decision, and of the opponent until our next one: beliefs depend on them.
        if self._thought is not None and self._tree is not None and self._whole is None:
            self._stated.update(self._tree.near_policies(self.view.player))
        super().observe(observation)
        self._sequence = self._numbers.extended(self._sequence, observation)
        if self._whole is None:
            self._belief.observe(observation)

    # -- thinking -----------------------------------------------------------------------------

    def think(self, clock: ClockReading) -> Thought:
        """Return the mean strategy at the current view, and an action drawn from it.

        It is uniform if the belief, a sample, was lost.
        """
        legal, player = self.view.legal_actions, self.view.player
        ends = deadline_after(clock.allotment(), self.parameters.seconds)
        statistics: dict[str, Json] = {"belief": len(self._belief)}
        if self._whole is not None or len(self._belief):
            if (tree := self._tree) is None or self._sampled or not tree.is_complete():
                tree = self._tree = self._rooted(ends)
            self._improve(tree, ends)
            policy, value = tree.solution(player, self._sequence)
            utility = value + (self.game.info.utility_sum or 0.0) / 2
            statistics |= {"iterations": tree.iterations, "nodes": tree.nodes}
            statistics |= {"worlds": tree.worlds, **mean_utility(utility)}
            statistics["strategy"] = [[action, round(p, 4)] for action, p in policy.items()]
        else:
            self._tree, policy = None, dict.fromkeys(legal, 1 / len(legal))
        action = self.rng.choices(list(policy), list(policy.values()))[0]
        return Decision(action, statistics=statistics), policy

    def _improve(self, tree: GrowingTree, ends: float) -> None:
        """Let a tree grow, and run the iterations of one decision."""
        left, growing, turn = self.parameters.iterations or math.inf, not tree.is_complete(), 0
        while left > 0:
            count = int(min(left, 1 + _WORK // tree.nodes))
            # An iteration takes as long as some steps of growth, the more nodes the more steps.
            for _ in range(1 + tree.nodes // _STEP):
                if not growing or tree.nodes >= self.parameters.nodes:
                    break
                count, turn = 1, turn + 1
                growing = tree.grow(self._draws.random(_DRAWS), turn % 2, self._exploration)
            tree.iterate(count)
            left -= count
            if time.monotonic() >= ends:
                break

    def _rooted(self, ends: float) -> GrowingTree:
        """Return a tree for the current decision, from the start of the game if that is near."""
        me, self._sampled = self.view.player, False
        tree = GrowingTree(self._numbers, self._evaluate)
        if self._tree is None and getattr(self._belief, "generated", math.inf) <= _NEAR:
            tree.begin(self.game.new_initial_state(), until=me, limit=self.parameters.nodes)
            if (me, self._sequence) in tree.index:
                return tree
            tree = GrowingTree(self._numbers, self._evaluate)
        complete = getattr(self._belief, "complete", True)
        self._sampled = not complete or len(self._belief) > self._limit
        tree.begin_subgame(list(self.roots(ends)), 1 - me)
        return tree

    def roots(self, ends: float) -> Iterator[RootWorld]:
        """Yield worlds of the belief, then those that only the opponent considers possible.

        The first are drawn by their weights without replacement (Efraimidis, Spirakis 2006). The
        second make the subgame one of order 2 (Zhang, Sandholm 2021); they are exact beliefs of the
        opponent, and are left out once one of these has too many worlds or time runs.
        """
        me, opponent, limit = self.view.player, 1 - self.view.player, self._limit
        now = time.monotonic()
        worlds, weights = self._listed()
        keys = np.log(self._draws.random(len(worlds))) / np.maximum(weights, 1e-300)
        drawn = {worlds[n].key(): n for n in np.argsort(-keys)[:limit].tolist()}
        mine = next(iter(worlds)).information_state_string(me)
        texts = {key: worlds[n].information_state_string(opponent) for key, n in drawn.items()}
        alternatives, start = self._alternatives(), self._numbers.start
        considered: dict[str, Worlds] = {}
        work = extra = 0
        for key, text in texts.items():
            late = work > _WORK_PER_WORLD * limit or time.monotonic() - now > (ends - now) / 4
            if late or len(drawn) + extra >= limit:
                break
            if text not in considered:
                theirs, generated = self._considered(worlds[drawn[key]])
                considered[text], work, extra = theirs, work + generated, extra + len(theirs)
                if not theirs:
                    break
        found = {key: (worlds[drawn[key]], text) for key, text in texts.items()}
        for text, theirs in considered.items():
            for key, (world, _) in theirs.items():
                # Equal keys mean equal futures: the opponent's world may have another past of ours.
                found.setdefault(key, (world, text))
        for key, (world, text) in found.items():
            belief = float(weights[drawn[key]]) if key in drawn else 0.0
            share = considered.get(text, {}).get(key, (world, belief))[1]
            known = world.information_state_string(me)
            sequences = {me: self._sequence if known == mine else start(me, known)}
            sequences[opponent] = start(opponent, text)
            both = sequences[0], sequences[1]
            yield RootWorld(world, both, belief, share, alternatives.get(text))

    def _listed(self) -> tuple[list[State], NDArray[np.float64]]:
        """Return the worlds of the belief with their weights; of very many a sample, alike."""
        belief = self._belief
        if len(belief) <= _LISTED:
            return list(belief), np.array(world_weights(belief))
        rng = random.Random(int(self._draws.integers(1 << 62)))
        worlds = [belief.sample(rng) for _ in range(self._limit)]
        return worlds, np.full(len(worlds), 1 / len(worlds))

    def _considered(self, world: State) -> tuple[Worlds, int]:
        """Return the opponent's belief in a world, by chance and our policy, and the work it was.

        It is empty if it is too large, or we do not act in all of its worlds.
        """
        me, opponent = self.view.player, 1 - self.view.player
        belief = EnumeratedBelief(self.game, opponent, limit=self._limit, policy=self._policy_in)
        state = self.game.new_initial_state()
        try:
            for action in (None, *world.history()):
                if action is not None:
                    state.apply_unchecked(action)
                if (observation := state.observation(opponent)) is not None:
                    belief.observe(observation)
        except BeliefTooLargeError:
            return {}, belief.generated
        theirs = {s.key(): (s, w) for s, w in zip(belief, belief.weights, strict=True)}
        complete = world.key() in theirs and all(me in s.acting_players() for s in belief)
        return theirs if complete else {}, belief.generated

    # -- what the last decision leaves ----------------------------------------------------------

    def _alternatives(self) -> dict[str, float]:
        """Return what the opponent can have by the last tree, by what it knows in our worlds.

        These are values of best responses to our policy (Burch, Johanson, Bowling 2014).
        """
        before, me, opponent = self._tree, self.view.player, 1 - self.view.player
        if before is None:
            return {}
        values = before.response_values(opponent)
        here = np.flatnonzero(before.sequences[: before.nodes, me] == self._sequence)
        alternatives = {}
        for node in here.tolist():
            state, number = before.states[node], int(before.sequences[node, opponent])
            if state is not None and me in state.acting_players() and number in values:
                alternatives[state.information_state_string(opponent)] = values[number]
        return alternatives

    def _policy_in(self, state: State) -> Sequence[float]:
        """Return the policy of who acts next in a state; uniform if no search has stated it."""
        actor, count = state.next_actor(), len(state.legal_actions())
        policy = None
        if self._stated:
            policy = self._stated.get((actor, state.information_state_string(actor)))
        return policy if policy is not None else [1 / count] * count


def _compile(game: Game) -> None:
    """Compile the kernels, or load their machine code, before a clock runs."""
    tree = GrowingTree(Sequences())
    tree.begin(game.new_initial_state())
    tree.grow(np.zeros(_DRAWS), 0, 0.0)
    tree.iterate(1)
    tree.best_response(0)


# -- trees that grow ------------------------------------------------------------------------------


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
    alternative: float | None = None


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
