"""The searches of Go that networks guide: ``alphazero``, ``alphago`` and ``policy``.

The first two grow a forest of one tree; ``policy`` plays a network's moves without a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import WeightsError
from miai.game import State
from miai.plain import Json
from miai.search.protocol import SearchResult
from miai.values import ValueUnit
from miai_go.nets.encoder import positions_of, trail_of
from miai_go.nets.network import same_weights
from miai_go.nets.oracle import NetworkOracle, Oracle, warn_of_komi
from miai_go.nets.patterns import PatternPolicy
from miai_go.rules.board import KoRule
from miai_go.rules.chains import fills_eye
from miai_go.rules.game import GoGame, GoState, Start
from miai_go.rules.playouts import load_rules
from miai_go.search.advice import Advice
from miai_go.search.ending import go_state, root_mask, settled
from miai_go.search.forest import (
    Forest,
    ForestRoot,
    ForestTree,
    LeafValuer,
    NetworkValuer,
    RememberingValuer,
    TreeSettings,
)
from miai_go.search.player_parameters import (
    AlphaGoParameters,
    AlphaZeroParameters,
    GumbelParameters,
    MixedValueParameters,
    NetworkParameters,
    PolicyParameters,
    TreeParameters,
)
from miai_go.search.tree_search import SearchClock, TreeSearch
from miai_go.shipped import find_weights

_ONE: Final = np.zeros(1, np.int32)
_TOP: Final = 10
"""Moves whose priors, or expected scores, go into the statistics."""
_UNLIMITED: Final = 1 << 40
"""Simulations that no search under a clock reaches."""


class ForestSearch(TreeSearch):
    """A search by a forest of one tree, whose leaves networks value in batches.

    Reproducible, as `TreeSearch` says, if the valuer gives the same answers. Advice about enclosed
    groups is mixed into the priors at the root.
    """

    ROOT_IS_VALUED = True
    parameters: TreeParameters
    _tree: ForestTree
    _forest: Forest

    def __init__(
        self,
        game: GoGame,
        *,
        valuer: Callable[[], LeafValuer],
        settings: TreeSettings,
        parameters: TreeParameters,
        rollout_policy: Callable[[], PatternPolicy | None] = lambda: None,
    ) -> None:
        super().__init__(game, parameters)
        self._settings = settings
        self._make_valuer = valuer
        self._rollout_policy = rollout_policy
        self._valuer: LeafValuer | None = None
        self._memory: RememberingValuer | None = None  # in front of the valuer
        self._planted = False  # whether there is a forest
        self._unadvised: NDArray[np.float64] | None = None  # the root's priors before any advice
        self._full = False
        self._planned = _UNLIMITED  # simulations where time alone limits a search
        self._outlook_at: tuple[Start, list[int]] | None = None  # where the two below are of
        self._outlook: dict[str, Json] = {}
        self._leads: dict[int, float] = {}

    def analyse(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the result of `search`, with all priors, and the expected owners and score."""
        if not self._begun:
            self.new_game(0)
        result = self._search(state, seconds, early=False, timed=seconds is not None)
        return self._with_outlook(go_state(state, self.game), result)

    def _with_outlook(self, state: GoState, result: SearchResult) -> SearchResult:
        statistics = {**result.statistics, **self._expected(state, result.visits)}
        if "priors" in statistics:
            statistics["priors"] = self._top_priors(None)
        return replace(result, statistics=statistics)

    def _expected(self, state: GoState, visits: Mapping[int, int]) -> dict[str, Json]:
        """Return what the value network expects at the end of the game, where it has the heads.

        `ownership` has a number for each point from A1, 1 the player to move, -1 the opponent;
        `score` is the lead of the player to move in points, `scores` that after each of the moves
        with the most visits.
        """
        if not isinstance(self._valuer, NetworkValuer):
            return {}
        # An analysis asks every few tenths of a second about the same position, so the answers are
        # kept, and only moves that are new among the most visited go to the network.
        place = state.start, state.history()
        if self._outlook_at != place:
            self._outlook_at, self._outlook, self._leads = place, {}, {}
            owners, score = self._valuer.outlook(positions_of([state]))
            if owners is not None:
                self._outlook["ownership"] = [round(float(x), 3) for x in owners[0].ravel()]
            if score is not None:
                self._outlook["score"] = round(float(score[0]), 2)
        if "score" not in self._outlook:
            return self._outlook
        moves = sorted(visits, key=lambda action: -visits[action])[:_TOP]
        ends = self.game.pass_action if state.passes else None  # a second pass ends play
        new = [a for a in moves if a not in self._leads and a != ends]
        if new:
            _owners, score = self._valuer.outlook(positions_of([state.child(a) for a in new]))
            assert score is not None
            leads = (round(-float(lead), 2) for lead in score)
            self._leads.update(zip(new, leads, strict=True))
        return {**self._outlook, "scores": [[a, self._leads[a]] for a in moves if a in self._leads]}

    @property
    def oracle(self) -> Oracle | None:
        """The network with the priors; None before it is loaded, or without one."""
        valuer = self._valuer
        return valuer.policy or valuer.value if isinstance(valuer, NetworkValuer) else None

    def _plant(self, seed: int) -> None:
        if not self._planted:
            self._prepare()
            self._planted = True
        self._forest.reseed(seed)
        if self._memory is not None:
            # A game must not depend on the games before it.
            self._memory.forget()

    def _prepare(self) -> None:
        """Load the networks, make the forest and search once, before any clock runs."""
        load_rules()
        parameters = self.parameters
        if self._valuer is None:
            self._valuer = self._make_valuer()
            if isinstance(self._valuer, NetworkValuer):
                warn_of_komi(self._valuer.value, self.game.white_bonus)
        if parameters.remembered:
            self._memory = RememberingValuer(
                self._valuer, size=self.game.size, positions=parameters.remembered
            )
        # The schedule of a Gumbel search is allocated once, for the longer of the two budgets.
        limits = (parameters.simulation_limit(timed=timed) for timed in (False, True))
        budget = max(limit or self._planned for limit in limits)
        self._forest = Forest(
            self.game.size,
            1,
            max_nodes=max(parameters.max_nodes, self.game.pass_action + 2),
            leaves=parameters.leaves,
            max_moves=self.game.max_moves + 2,
            max_budget=budget if self._settings.gumbel else 0,
            rollout_policy=self._rollout_policy() if self._settings.rollouts else None,
        )
        self._tree = self._forest.tree(0)
        self._forest.configure(0, self._settings)
        self._set_root(self.game.new_initial_state())
        # The first search and move load kernels and warm the networks up.
        self._forest.search(_ONE, min(8, budget), self._leaf_valuer())
        self._forest.play(0, self._tree.best())

    def _set_root(self, state: GoState) -> None:
        superko = self.game.ko_rule != KoRule.SIMPLE
        self._forest.set_root(
            0,
            ForestRoot(
                board=state.board,
                trail=trail_of(state),
                komi=self.game.white_bonus,
                passes=state.passes,
                # The forest adds the present position itself.
                history=state.positions()[:-1] if superko else (),
                ko_rule=self.game.ko_rule,
                suicide=self.game.rules.suicide,
            ),
        )
        self._unadvised = None

    def _schedules_visits(self) -> bool:
        return self._settings.gumbel > 0

    def _keeps_tree(self) -> bool:
        # Sequential halving plans all visits of the root beforehand, so it begins without any.
        return super()._keeps_tree() and not self._settings.gumbel

    def _play(self, action: int) -> None:
        self._forest.play(0, action)
        self._unadvised = None

    def _expand_root(self) -> None:
        if not self._tree.valued:
            self._unadvised = None
        self._forest.value_roots(_ONE, self._leaf_valuer())

    def _favour(self, advice: Advice) -> None:
        # Advice replaces earlier advice at the same root, so it is mixed into the network's priors.
        if self._unadvised is None:
            self._unadvised = self._tree.priors()
        priors = np.where(self._tree.allowed(), self._unadvised, 0.0)
        self._forest.set_priors(0, advice.mixed(priors))

    def _passes_when_winning(self) -> bool:
        # A search that plays for more points looks whether another move wins by more.
        return super()._passes_when_winning() and not self.parameters.score_weight

    def _only_time_limits(self) -> bool:
        # The most visited move is not the choice before the last halving.
        return super()._only_time_limits() and not self._settings.gumbel

    def _grow(self, clock: SearchClock | None) -> int:
        budget = self._limit or self._planned  # without a limit, a Gumbel search plans
        self._full = False
        done = int(self._forest.search(_ONE, budget, self._leaf_valuer(), stop=clock).item())
        self._full = self._forest.full(0)
        return done

    def _leaf_valuer(self) -> LeafValuer:
        # Remembered answers first; what is unknown goes on to the networks.
        valuer = self._memory or self._valuer
        assert valuer is not None
        return valuer

    def _statistics(self, started: float) -> dict[str, Json]:
        batches: dict[str, Json] = {}
        if isinstance(self._valuer, NetworkValuer):
            figures = self._valuer.statistics()
            batches = {"mean_batch": round(figures["mean_batch"], 5)}
        if self._memory is not None:
            batches["recalled"] = round(self._memory.statistics()["recalled"], 4)
        seconds = round(perf_counter() - started, 4)
        if self._full:
            batches["full"] = True  # the tree ended the search
        return {"seconds": seconds, **batches, "priors": self._top_priors(_TOP)}

    def _top_priors(self, count: int | None) -> Json:
        """Return the actions with the highest priors, all without a count, with these."""
        priors = self._tree.priors()
        # A stable sort, so that equal priors are listed alike on every machine.
        order = np.argsort(-priors, kind="stable")[:count].tolist()
        return [[a, round(float(priors[a]), 4)] for a in order if priors[a] > 0]


def open_oracle(weights: Path, parameters: NetworkParameters, *, size: int) -> NetworkOracle:
    """Open a network.

    Raises `WeightsError` if the weights cannot be read or are not for this size of board, and as
    `miai_go.nets.inference.load_oracle`.
    """
    from miai_go.nets.inference import load_oracle

    own = parameters
    return load_oracle(
        weights, size=size, precision=own.precision, threads=own.threads, device=own.device
    )


def _tree_settings(own: AlphaZeroParameters | AlphaGoParameters, **others: Any) -> TreeSettings:
    names = ("c_puct", "fpu", "score_weight")
    return TreeSettings(**{n: getattr(own, n) for n in names}, root_fpu=own.fpu, **others)


class AlphaZero(ForestSearch):
    """Tree search with one network for policy and value (Silver et al. 2017).

    PUCT, or sequential halving at the root (Danihelka et al. 2022), whose tree is not kept from
    move to move. Neither adds noise: that belongs to self-play.
    """

    def __init__(self, game: GoGame, parameters: AlphaZeroParameters | None = None) -> None:
        own = parameters or AlphaZeroParameters()

        def valuer() -> NetworkValuer:
            path = find_weights(own.weights, size=game.size)
            oracle = open_oracle(path, own.network, size=game.size)
            return NetworkValuer(oracle, oracle, score_weight=own.score_weight)

        gumbel = own.search if isinstance(own.search, GumbelParameters) else None
        settings = _tree_settings(own, gumbel=gumbel.considered if gumbel else 0)
        super().__init__(game, valuer=valuer, settings=settings, parameters=own)
        self._planned = gumbel.planned if gumbel else _UNLIMITED


class AlphaGo(ForestSearch):
    """Tree search with a policy network, a value network and rollouts (Silver et al. 2016).

    The value of a leaf is the network's, or (1 - mix) * network's value + mix * a rollout's result;
    with mix = 1 there is no value network.
    """

    def __init__(self, game: GoGame, parameters: AlphaGoParameters | None = None) -> None:
        own = parameters or AlphaGoParameters()
        mixed = own.leaf_value if isinstance(own.leaf_value, MixedValueParameters) else None

        def valuer() -> NetworkValuer:
            path = find_weights(own.policy, size=game.size)
            policy = open_oracle(path, own.network, size=game.size)
            value: Oracle | None = policy  # one evaluation has both answers
            if mixed is not None and mixed.mix == 1:
                value = None
            elif not same_weights(value_path := _value_path(own, path, size=game.size), path):
                value = open_oracle(value_path, own.network, size=game.size)
            return NetworkValuer(policy, value, score_weight=own.score_weight)

        settings = _tree_settings(
            own,
            depth=own.depth,
            rollouts=0 if mixed is None else 1,
            mix=0.0 if mixed is None else mixed.mix,
        )
        super().__init__(
            game,
            valuer=valuer,
            settings=settings,
            parameters=own,
            rollout_policy=lambda: (
                None if mixed is None else _rollout_policy(mixed.rollout, game.size)
            ),
        )


def _value_path(own: AlphaGoParameters, policy: Path, *, size: int) -> Path:
    """Return the value network's file: the policy's where none is named and that has values."""
    from miai_go.nets.inference import network_header

    if not own.value and "value" in network_header(policy).outputs:
        return policy
    try:
        return find_weights(own.value, size=size)
    except WeightsError as error:
        raise WeightsError(f"value: {error}") from error


def _rollout_policy(name: str, size: int) -> PatternPolicy | None:
    """Return the policy of rollouts; None for light playouts. Raises `WeightsError`."""
    if name == "light":
        return None
    return PatternPolicy.load(find_weights(name), size=size)


class PolicyPlayer:
    """Plays a policy network's most likely move, or draws a move by its probabilities.

    It never fills an own eye, and does not pass if that ends and loses the game. Answers are
    averaged over the symmetric copies of a position, which pays where each move has one.

    Attributes:
      oracle: the network; None before it is loaded.
    """

    def __init__(self, game: GoGame, parameters: PolicyParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or PolicyParameters()
        self.oracle: Oracle | None = None
        self._valuer: NetworkValuer | None = None  # before it is loaded
        self._rng = np.random.default_rng(0)

    def new_game(self, seed: int) -> None:
        """Seed the randomness, load the network and let it answer once."""
        load_rules()
        self._rng = np.random.default_rng(seed)
        self._ask(self.game.new_initial_state())

    def advance(self, action: int) -> None:
        """Do nothing: no state is kept between moves."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the policy's move, with the network's value where it has one, in any time."""
        position = go_state(state, self.game)
        result = settled(position, pass_when_winning=True)
        if result is not None:
            return result
        logits, value = self._ask(position)
        probabilities = _softmax(np.where(_sensible(position), logits, -np.inf))
        action = self._draw(probabilities)
        resign = self.parameters.resign_below
        order = np.argsort(-probabilities, kind="stable")[:10].tolist()
        return SearchResult(
            action=action,
            value=value or 0.0,
            unit=ValueUnit.SCORE if value is None else ValueUnit.EXPECTED_UTILITY,
            pv=(action,),
            resign=resign is not None and value is not None and value < resign,
            statistics={"priors": [[a, round(float(probabilities[a]), 4)] for a in order]},
        )

    def close(self) -> None:
        """Do nothing: the network ends with the player."""

    def _ask(self, state: GoState) -> tuple[NDArray[np.float64], float | None]:
        """Return the logits (size * size + 1,) and the value for the player to move."""
        if self._valuer is None:
            from miai_go.nets.inference import Ensemble

            size, own = self.game.size, self.parameters
            path = find_weights(own.weights, size=size)
            oracle = open_oracle(path, own.network, size=size)
            if not oracle.has_policy:
                raise WeightsError("policy: these weights have no policy head; choose others")
            self.oracle, copies = oracle, Ensemble(oracle)
            self._valuer = NetworkValuer(copies, copies if oracle.has_value else None)
            warn_of_komi(self._valuer.value, self.game.white_bonus)
        logits, values = self._valuer.value_leaves(positions_of([state]))
        value = None if self._valuer.value is None else float(values[0])
        return logits[0].astype(np.float64), value

    def _draw(self, probabilities: NDArray[np.float64]) -> int:
        if self.parameters.temperature == 0:
            return int(probabilities.argmax())
        # In logarithms, as powers of small probabilities would be 0; a forbidden move stays at 0.
        tempered = _softmax(np.log(np.maximum(probabilities, 1e-300)) / self.parameters.temperature)
        tempered[probabilities == 0] = 0
        return int(self._rng.choice(len(tempered), p=tempered / tempered.sum()))


def _sensible(state: GoState) -> NDArray[np.bool_]:
    """Return the moves to choose from, (size * size + 1,), pass last."""
    mask = root_mask(state, np.ones(state.game.pass_action + 1, np.bool_))
    stones = state.board.stones().ravel().tolist()
    for point in np.flatnonzero(mask[:-1]).tolist():
        if fills_eye(stones, point, state.to_move + 1):
            mask[point] = False
    if not mask.any():
        mask[-1] = True
    return mask


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp(logits - logits.max())
    total: float = weights.sum()
    return weights / total
