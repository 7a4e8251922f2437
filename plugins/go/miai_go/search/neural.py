"""A forest of one tree as a search of the framework.

The searches ``alphazero`` and ``alphago`` of Go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from miai.game import State
from miai.search.protocol import SearchResult
from miai_go.errors import WeightsError
from miai_go.nets.encoder import trail_of
from miai_go.nets.oracle import Oracle
from miai_go.nets.patterns import PatternPolicy
from miai_go.rules.board import KoRule
from miai_go.rules.game import GoGame
from miai_go.rules.phases import Start
from miai_go.rules.playouts import load_rules
from miai_go.rules.state import GoState
from miai_go.search.ending import choose, counts_like_a_tree, go_state, root_mask, settled
from miai_go.search.forest import Forest, ForestRoot, LeafValuer
from miai_go.search.mcts import SearchClock
from miai_go.search.parameters import (
    AlphaGoParameters,
    AlphaZeroParameters,
    NetworkParameters,
    TreeParameters,
)
from miai_go.search.settings import TreeSettings
from miai_go.search.valuers import NetworkValuer
from miai_go.shipped import find_weights

if TYPE_CHECKING:
    from miai_go.search.life_advice import Advice, InPlay


_ONE: Final = np.zeros(1, np.int32)
_SHOWN: Final = 10
"""Moves whose priors go into the statistics."""
_BATCHES: Final = ("mean_batch", "server_mean_batch", "server_queue_wait")
_CHUNK: Final = 100_000
"""Simulations that are as good as no limit for one search."""


class ForestSearch:
    """Searches one game with one tree, which is kept between moves.

    The tree counts by area, as the board stands; where the game counts otherwise, see
    `miai_go.search.ending`. With a budget in simulations and one thread the same seed gives the
    same
    moves as long as the valuer gives the same answers. With `tsumego` it asks about enclosed groups
    first, see `miai_go.search.life_advice`: moves that save or kill get a part of the priors.

    Args:
      valuer: what values leaves.
      settings: how the tree searches.
      parameters: budget, leaves, reuse, resigning.
      rollout_policy: draws the moves of rollouts; None for light playouts.

    Attributes:
      game, parameters: what it was built from.
    """

    def __init__(
        self,
        game: GoGame,
        *,
        valuer: Callable[[], LeafValuer],
        settings: TreeSettings,
        parameters: TreeParameters,
        rollout_policy: Callable[[], PatternPolicy | None] = lambda: None,
    ) -> None:
        self.game = game
        self.parameters = parameters
        self._settings = settings
        self._make_valuer = valuer
        self._rollout_policy = rollout_policy
        self._valuer: LeafValuer | None = None
        self._forest: Forest | None = None
        self._start: Start | None = None
        self._line: list[int] = []
        self._in_play: InPlay | None = None
        self._advised = False  # whether the root's priors have the advice in them

    def new_game(self, seed: int) -> None:
        """Forget everything, seed the randomness, load networks and kernels.

        Raises:
          MiaiError: the weights cannot be had, or what `tsumego` needs.
        """
        load_rules()
        self._in_play = self.parameters.asked()
        if self._valuer is None:
            self._valuer = self._make_valuer()
        self._start, self._line = None, []
        self._forest = self._planted(seed)
        self._warm(self._forest, self._valuer)

    def _planted(self, seed: int) -> Forest:
        parameters = self.parameters
        return Forest(
            self.game.size,
            1,
            max_nodes=max(parameters.max_nodes, self.game.pass_action + 2),
            leaves=parameters.leaves,
            max_moves=self.game.max_moves + 2,
            max_budget=_gumbel_budget(parameters, self._settings),
            seed=seed,
            rollout_policy=self._rollout_policy(),
        )

    def _warm(self, forest: Forest, valuer: LeafValuer) -> None:
        """Compile, and let networks make their first answers, before any clock runs."""
        forest.configure(0, self._settings)
        self._set_root(forest, self.game.new_initial_state())
        forest.search(_ONE, min(8, _gumbel_budget(self.parameters, self._settings) or 8), valuer)
        forest.best(0)
        self._start = None

    def advance(self, action: int) -> None:
        """Follow the game: keep what the tree knows beyond `action`."""
        forest = self._forest
        if self._start is None or forest is None:
            return
        over = self._line[-1:] == [self.game.pass_action] == [action]  # no move of the tree follows
        known = action <= self.game.pass_action and not over and self.parameters.reuse
        suicide = self.game.rules.suicide
        if known and forest.board(0).is_legal(forest.to_move(0), action, suicide=suicide):
            forest.play(0, action, keep=self._settings.gumbel == 0)
            self._advised = False
            self._line.append(action)
        else:
            self._start = None

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for the player to move; values are for that player.

        Args:
          state: a state of Go in which a player is to move; not changed.
          seconds: wall time after which an answer must be there; None for no such limit.

        Raises:
          GameError: the state is of another game, or the game is over.
          InferenceError: a network cannot answer.
        """
        return self._search(state, seconds, shown=_SHOWN, early=self.parameters.stop_early)

    def analyse(self, state: State, *, seconds: float) -> SearchResult:
        """Return what `search` does, with the priors of all moves among the statistics."""
        return self._search(state, seconds, shown=self.game.pass_action + 1, early=False)

    def _search(
        self, state: State, seconds: float | None, *, shown: int, early: bool
    ) -> SearchResult:
        started = perf_counter()
        position = go_state(state, self.game)
        done = settled(position, pass_when_winning=self.parameters.pass_when_winning)
        if done is not None:
            return done
        if self._forest is None:
            self.new_game(0)
        forest, valuer = self._forest, self._valuer
        assert forest is not None
        assert valuer is not None
        self._grow_to(forest, position, valuer)
        limits = [limit for limit in (self.parameters.seconds, seconds) if limit is not None]
        timed = not (self.parameters.simulations or self._settings.gumbel)
        advice = self._advise(forest, min(limits, default=None))
        watched = partial(forest.visits, 0) if early and timed else None
        stop = SearchClock(min(limits), started=started, visits=watched) if limits else None
        budget = self._budget(limited=stop is not None)
        simulations = int(forest.search(_ONE, budget, valuer, stop=stop)[0])
        result = self._result(position, forest, simulations)
        priors = forest.priors(0)
        order = np.argsort(-priors, kind="stable")[:shown].tolist()
        return replace(
            result,
            statistics={
                **result.statistics,
                "seconds": round(perf_counter() - started, 4),
                **_batches(valuer),
                **({} if advice is None else {"tsumego": advice.statistics}),
                "priors": [[a, round(float(priors[a]), 4)] for a in order if priors[a] > 0],
            },
        )

    @property
    def oracle(self) -> Oracle | None:
        """The network that says which moves are likely; None before it is loaded, or without."""
        valuer = self._valuer
        return valuer.policy or valuer.value if isinstance(valuer, NetworkValuer) else None

    def close(self) -> None:
        """Release what values leaves."""
        close = getattr(self._valuer, "close", None)
        if close is not None:
            close()

    def _budget(self, *, limited: bool) -> int:
        if self.parameters.simulations:
            return self.parameters.simulations
        assert limited, "parameters without any budget are refused when they are checked"
        return _gumbel_budget(self.parameters, self._settings) or _CHUNK

    # -- the tree -----------------------------------------------------------------------------

    def _grow_to(self, forest: Forest, state: GoState, valuer: LeafValuer) -> None:
        """Make the state the root, as much of the tree kept as can be, and value it."""
        trusted = forest.proven(0) == 0 or counts_like_a_tree(self.game)
        if not (self._start == state.start and self._line == state.history() and trusted):
            self._set_root(forest, state)
        forest.value_roots(_ONE, valuer)
        forest.restrict(0, root_mask(state, forest.allowed(0)))

    def _advise(self, forest: Forest, seconds: float | None) -> Advice | None:
        """Mix what is known of enclosed groups into the priors; None where nobody is asked."""
        if self._in_play is None or forest.proven(0):
            return None
        advice = self._in_play.look(forest.board(0), forest.to_move(0), seconds=seconds)
        if not self._advised:
            allowed = np.where(forest.allowed(0), forest.priors(0), 0.0)
            forest.set_priors(0, advice.mixed(allowed))
            self._advised = True
        return advice

    def _set_root(self, forest: Forest, state: GoState) -> None:
        superko = self.game.ko_rule != KoRule.SIMPLE
        forest.set_root(
            0,
            ForestRoot(
                board=state.board,
                trail=trail_of(state),
                komi=self.game.white_bonus,
                passes=state.passes,
                history=state.positions()[:-1] if superko else (),
                ko_rule=self.game.ko_rule,
                suicide=self.game.rules.suicide,
            ),
        )
        self._start = state.start
        self._line = state.history()
        self._advised = False

    # -- the choice ---------------------------------------------------------------------------

    def _result(self, state: GoState, forest: Forest, simulations: int) -> SearchResult:
        tree = _Searched(forest)
        visits, values = tree.visits(), np.nan_to_num(tree.values())
        action = choose(state, tree)
        proven = forest.proven(0) if counts_like_a_tree(self.game) else 0
        value = float(proven or (values[action] if visits[action] else forest.value(0)))
        pv = forest.principal_variation(0)
        tried = np.flatnonzero(visits).tolist()
        resign = self.parameters.resign_below
        return SearchResult(
            action=action,
            value=value,
            visits={a: int(visits[a]) for a in tried},
            values={a: float(values[a]) for a in tried},
            pv=tuple(pv) if pv[:1] == [action] else (action,),
            resign=resign is not None and (simulations > 0 or proven < 0) and value < resign,
            statistics={
                "simulations": simulations,
                "reused": max(forest.simulations(0) - simulations - 1, 0),
                "nodes": forest.nodes(0),
            },
        )


class _Searched:
    """The one tree of a forest, as `miai_go.search.ending` looks at it."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    def visits(self) -> NDArray[np.int32]:
        return self._forest.visits(0)

    def values(self) -> NDArray[np.float64]:
        return self._forest.values(0)

    def allowed(self) -> NDArray[np.bool_]:
        return self._forest.allowed(0)

    def best(self) -> int:
        return self._forest.best(0)


def _gumbel_budget(parameters: TreeParameters, settings: TreeSettings) -> int:
    """Return for how many simulations sequential halving is planned; 0 for PUCT."""
    if not settings.gumbel:
        return 0
    return parameters.simulations or parameters.planned


def _batches(valuer: LeafValuer) -> dict[str, float]:
    """Return how well batches were filled so far, and how long requests waited, in seconds."""
    if not isinstance(valuer, NetworkValuer):
        return {}
    told = valuer.statistics()
    return {name: round(told[name], 5) for name in _BATCHES if name in told}


__all__ = ["AlphaGo", "AlphaZero", "open_oracle"]


def open_oracle(weights: Path, parameters: NetworkParameters, *, size: int) -> Oracle:
    """Return a network at work, in this process or on this machine's server.

    Raises:
      MissingExtraError: a library is not installed.
      WeightsError: the file is no weights for boards of that size.
      InferenceError: what runs it, or the server, cannot be started.
    """
    oracle = _opened(weights, parameters)
    if oracle.encoder.size != size:
        trained = f"{oracle.encoder.size}x{oracle.encoder.size}"
        oracle.close()
        raise WeightsError(
            f"{weights}: weights for {trained}, not for {size}x{size}; choose weights trained on "
            f"{size}x{size}"
        )
    return oracle


def _opened(weights: Path, parameters: NetworkParameters) -> Oracle:
    fixed = parameters.fixed_batch or None
    if parameters.server:
        from miai_go.nets.client import RemoteOracle

        return RemoteOracle(
            weights,
            backend=parameters.backend,
            precision=parameters.precision,
            symmetry=parameters.symmetry,
            fixed_batch=fixed,
            device=parameters.device,
        )
    from miai_go.nets.inference import load_oracle

    return load_oracle(
        weights,
        backend=parameters.backend,
        precision=parameters.precision,
        threads=parameters.threads,
        symmetry=parameters.symmetry,
        fixed_batch=fixed,
        device=parameters.device,
    )


class AlphaZero(ForestSearch):
    """Tree search with one network for moves and values (Silver et al. 2017).

    PUCT, or sequential halving with Gumbel noise at the root (Danihelka et al. 2022). No noise
    otherwise: that belongs to self-play.
    """

    def __init__(self, game: GoGame, parameters: AlphaZeroParameters | None = None) -> None:
        own = parameters or AlphaZeroParameters()

        def valuer() -> NetworkValuer:
            path = find_weights(own.weights, default=f"zero-{game.size}x{game.size}")
            oracle = open_oracle(path, own, size=game.size)
            return NetworkValuer(oracle, oracle)

        settings = TreeSettings(
            c_puct=own.c_puct,
            fpu=own.fpu,
            root_fpu=own.fpu,
            virtual_loss=own.virtual_loss,
            temperature=own.temperature,
            gumbel=own.considered if own.search == "gumbel" else 0,
        )
        super().__init__(game, valuer=valuer, settings=settings, parameters=own)


class AlphaGo(ForestSearch):
    """Tree search with a policy network, a value network and rollouts (Silver et al. 2016).

    A leaf is worth (1 - mix) * value + mix * result of the rollouts. Where mix is 0 nothing is
    rolled out, where it is 1 no value network is asked.
    """

    def __init__(self, game: GoGame, parameters: AlphaGoParameters | None = None) -> None:
        own = parameters or AlphaGoParameters()
        board = f"{game.size}x{game.size}"

        def valuer() -> NetworkValuer:
            path = find_weights(own.policy, default=f"policy-{board}")
            policy = open_oracle(path, own, size=game.size)
            if own.mix == 1:
                return NetworkValuer(policy, None)
            value_path = find_weights(own.value, default=f"value-{board}")
            if value_path == path:
                return NetworkValuer(policy, policy)
            return NetworkValuer(policy, open_oracle(value_path, own, size=game.size))

        settings = TreeSettings(
            c_puct=own.c_puct,
            fpu=own.fpu,
            root_fpu=own.fpu,
            virtual_loss=own.virtual_loss,
            temperature=own.temperature,
            depth=own.depth,
            rollouts=own.rollouts if own.mix > 0 else 0,
            mix=own.mix,
            rollout_limit=own.rollout_limit,
        )
        super().__init__(
            game,
            valuer=valuer,
            settings=settings,
            parameters=own,
            rollout_policy=lambda: _rollout_policy(own.rollout, game.size),
        )


def _rollout_policy(named: str, size: int) -> PatternPolicy | None:
    """Return who plays rollouts; None for light playouts. Raises `WeightsError`."""
    if named == "light":
        return None
    return PatternPolicy.load(find_weights(named, default=""), size=size)
