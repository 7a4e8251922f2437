"""The agent `equilibrium`: a search whose play is hard to exploit, in games that hide information.

A game that fits into its tree is solved from its start; the strategies are kept from one decision
to the next, so that all are parts of one approximate equilibrium. In a larger game, each decision
solves a subgame that begins with worlds of the player's belief (knowledge-limited subgame solving;
Zhang, Sandholm 2021), on a tree that grows where play leads (Zhang, Sandholm 2025, arXiv
2506.01242). The rest is in `growing_tree`.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from miai.agent import Decision, ThinkingAgent, Thought
from miai.clock import ClockReading
from miai.errors import BeliefTooLargeError
from miai.game import Game, Observation, State
from miai.information import BeliefState, EnumeratedBelief, Worlds, world_weights
from miai.parameters import Parameters, parameter
from miai.plain import Json
from miai.plugins.extras import missing_extra
from miai.search.evaluators import evaluation_in_place, make_evaluator
from miai.search.growing_tree import GrowingTree, RootWorld, Sequences, complete_tree
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
