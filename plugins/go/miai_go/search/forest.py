"""Trees of many games in the same arrays, searched in step so that their leaves make one batch.

`Forest` grows the trees, `ForestTree` reads one of them, `NetworkValuer` values leaves by networks,
`RememberingValuer` remembers what they answered, and `Rollouts` plays leaves to the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai.errors import ParameterError
from miai.kernels import packed
from miai_go.kernels import forest as kernels
from miai_go.kernels import recall as recall_kernels
from miai_go.kernels import rollouts as rollout_kernels
from miai_go.kernels import rules, trail
from miai_go.kernels.playouts import PlayoutSpace
from miai_go.nets.encoder import Positions
from miai_go.nets.oracle import Answers, Oracle, known_komi, shown_positions
from miai_go.nets.patterns import PatternPolicy, pattern_room
from miai_go.rules.board import Board, BoardError, KoRule, check_size, history_key
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import point_tables
from miai_go.search.tree_view import TreeView

_WHOLE: Final = ("gumbel", "depth", "rollouts")
"""The settings that are integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """Settings of one tree's search. Values are from -1 to 1.

    The others are described in `AlphaZeroParameters` and `AlphaGoParameters`.

    Attributes:
      c_base: visits at which `c_puct` has grown by log 2; 0: it does not grow.
      fpu: assumed loss of an untried move against its parent, times the square root of the summed
        priors of the moves tried; `root_fpu` at the root.
      gumbel: moves considered at the root by sequential halving; 0 for PUCT.
      c_visit, c_scale: of the transformation of values (Danihelka et al. 2022).
      depth: maximum depth in plies; nodes there get no children.
      score_weight: share of the score in the worth of a finished game. Above 0 nothing is proven.
      forced: weight of forced playouts at the root of PUCT (Wu 2019, section 3.2); 0 for none.
    """

    c_puct: float = 1.5
    c_base: float = 19652.0
    fpu: float = 0.2
    root_fpu: float = 0.2
    gumbel: int = 0
    c_visit: float = 50.0
    c_scale: float = 1.0
    depth: int = 120
    rollouts: int = 0
    mix: float = 0.5
    score_weight: float = 0.0
    forced: float = 0.0

    def write(self, settings: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Write the settings into a tree's rows as kernels read them."""
        for row, whole in ((settings, True), (weights, False)):
            places, values = _entries(self, whole=whole)
            row[places] = values


@lru_cache(maxsize=64)
def _entries(
    settings: TreeSettings, *, whole: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places and values of the settings that are whole numbers, or of the others."""
    chosen = {n: v for n, v in asdict(settings).items() if (n in _WHOLE) == whole}
    places = np.array([getattr(kernels, name.upper()) for name in chosen], np.int64)
    return places, np.array(list(chosen.values()), np.float64)


@cache
def halving_schedule(considered: int, simulations: int) -> NDArray[np.int32]:
    """Return for each simulation the number of earlier visits of its move; int32, read only.

    Sequential halving (Karnin et al. 2013) as in Danihelka et al. 2022: all `considered` moves are
    visited equally often, then the better half of them, and so on; each phase has the same share of
    the simulations. The visits alone determine the moves.
    """
    if considered <= 1 or simulations == 0:
        plan = np.arange(simulations, dtype=np.int32)
    else:
        plan = _halved(considered, simulations)
    plan.flags.writeable = False
    return plan


def _halved(considered: int, simulations: int) -> NDArray[np.int32]:
    phases = int(np.ceil(np.log2(considered)))
    visits = np.zeros(considered, np.int32)
    parts: list[NDArray[np.int32]] = []
    remaining, alive = simulations, considered
    while remaining > 0:
        # Each phase gets the same share of the simulations, but at least one round of visits.
        for _ in range(max(1, simulations // (phases * alive))):
            parts.append(visits[:alive].copy())
            visits[:alive] += 1
            remaining -= alive
        # Two moves stay to the end: a single one would get all remaining visits without a rival.
        alive = max(2, alive // 2)
    return np.concatenate(parts)[:simulations]


class Rollouts:
    """Plays games to their end from leaves of one board size. Not safe for several threads.

    Args:
      policy: draws the moves; None: uniformly over legal moves that fill no own eye.
    """

    def __init__(self, size: int, policy: PatternPolicy | None = None) -> None:
        points = size * size
        # Room for the moves of a playout; a longer limit is cut to it.
        self.longest = 4 * points + 8
        self._policy = policy
        self._trail = np.zeros(trail.trail_words(size), np.int16)
        self._record = np.zeros(self.longest, np.uint32)
        self._space = packed(
            PlayoutSpace(
                board=np.zeros(rules.board_words(size), np.uint32),
                record=self._record,
                owner=np.zeros(points, np.int8),
                stack=np.zeros(points, np.int32),
            )
        )
        self._room = pattern_room(size) if policy is not None else None

    def results(
        self,
        leaves: Positions,
        games: NDArray[np.int32],
        *,
        counts: NDArray[np.int64],
        limits: NDArray[np.int64],
        komi: NDArray[np.float64],
        rng: NDArray[np.uint64],
        shares: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the mean worth of the ends, float64 of shape (leaves,), for the player to move.

        Args:
          games: the game of each leaf.
          counts: rollouts from each leaf of a game; without any the mean is 0.
          limits: moves after which a rollout of a game is stopped and counted.
          komi: of each game, in points.
          rng: random states of the games, updated.
          shares: of the score in the worth of an end, for each game; None for none.
        """
        out = np.zeros(len(leaves))
        limits = np.minimum(limits, self.longest)
        shares = np.zeros_like(komi) if shares is None else shares
        settings = packed(rollout_kernels.RolloutGames(counts, limits, komi, shares, rng))
        inputs = (leaves.words, leaves.trails, games, settings, self._space)
        if self._policy is None or self._room is None:
            rollout_kernels.light_rollouts(*inputs, out)
        else:
            table = self._policy.weights
            rollout_kernels.pattern_rollouts(*inputs, self._trail, table, self._room, out)
        return out


class ForestTree(TreeView):
    """A view of one tree of a forest and of its root."""

    def __init__(
        self,
        nodes: NDArray[np.int32],
        floats: NDArray[np.float64],
        root: Positions,
        *,
        settings: NDArray[np.int64],
        weights: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> None:
        super().__init__(
            nodes,
            floats[kernels.TOTAL],
            root.words[0],
            actions=len(noise),
            priors=floats[kernels.PRIOR],
        )
        self.size = root.size
        self._floats = floats
        self._root = root
        self._settings = settings
        self._weights = weights
        self._noise = noise

    @property
    def to_move(self) -> int:
        """The player to move at the root: 0 Black, 1 White."""
        return int(self._root.trails[0, trail.COLOR]) - 1

    @property
    def passes(self) -> int:
        """Passes made just before the root."""
        return int(self._settings[kernels.PASSES])

    @property
    def board(self) -> Board:
        """A copy of the board at the root."""
        return self._root.board(0)

    @property
    def nodes(self) -> int:
        """Nodes in memory."""
        return int(self._settings[kernels.USED])

    @property
    def valued(self) -> bool:
        """Whether the root itself was valued."""
        return bool(self._nodes[kernels.VALUED, 0])

    def priors(self) -> NDArray[np.float64]:
        """Return the prior of each move at the root, (size * size + 1,), noise included."""
        return self.spread(self._floats[kernels.PRIOR, self.children()])

    def pruned_visits(self) -> NDArray[np.int64]:
        """Return the visits of each move without forced ones that did not pay, (size * size + 1,).

        See `kernels.prune_forced`.
        """
        visits = np.zeros(len(self.actions()), np.int64)
        kernels.prune_forced(self._nodes, self._floats, self._weights, visits)
        return self.spread(visits)

    def improved_policy(self) -> NDArray[np.float64]:
        """Return the improved policy at the root, (size * size + 1,) (Danihelka et al. 2022)."""
        scores, policy = np.zeros_like(self._noise), np.zeros_like(self._noise)
        kernels.improved_policy(self._nodes, self._floats, self._weights, scores, policy)
        return self.spread(policy[: len(self.actions())])

    def best(self) -> int:
        """Return the move to play; see `TreeView.best_child`.

        A Gumbel search takes, of the moves with most visits, the best by noise, prior and
        transformed value.
        """
        if not self._settings[kernels.GUMBEL] or self.proven > 0:
            return super().best()
        block, actions = self.children(), self.actions()
        scores = np.empty_like(self._noise)
        kernels.transformed_root(self._nodes, self._floats, self._weights, scores)
        scores = scores[: len(actions)] + self._noise[: len(actions)]
        visits, status = self._nodes[kernels.VISITS, block], self._nodes[kernels.STATUS, block]
        # The last moves of a halving have equally many visits, so the scores decide between them.
        return int(actions[np.lexsort((-scores, -visits, -status))[0]])


MAX_DEPTH: Final = 400
"""Maximum length of a path in plies."""

Games = NDArray[np.int32]


class LeafValuer(Protocol):
    """Values leaves in bulk, as networks do."""

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits (leaves, size * size + 1), pass last, and values (leaves,).

        Both float32 and for the player to move; values from -1 to 1.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRoot:
    """The position at the root of a tree.

    Attributes:
      trail: the earlier moves and the player to move, int16 of shape (`trail.trail_words(size)`,).
      komi: in points.
      passes: passes made just before, 0 or 1.
      history: `history_key` of every earlier position that superko compares with.
    """

    board: Board
    trail: NDArray[np.int16]
    komi: float
    passes: int = 0
    history: Sequence[int] | NDArray[np.uint64] = ()
    ko_rule: KoRule = KoRule.SIMPLE
    suicide: bool = False


class Forest:
    """A tree for each of several games on boards of one size.

    Values are results, 1 won, -1 lost, for the player to move at the root of the game. Moves in the
    trees are the legal ones that fill no own eye, and the pass; two passes end a game, which is
    counted by area with every stone alive. Won and lost nodes are proven, unless the score weighs.
    The same seeds, roots and answers of the valuer give the same trees. Raises `ValueError` if a
    number is too small.

    Args:
      max_nodes: nodes of each tree, 56 bytes each; when they are used up, its search ends.
      leaves: maximum leaves of one tree that are valued at once.
      max_moves: longest game, in actions, that `play` follows.
      max_budget: maximum simulations of one Gumbel search.
      rollout_policy: draws the moves of rollouts; None for light playouts.
    """

    def __init__(
        self,
        size: int,
        games: int,
        *,
        max_nodes: int,
        leaves: int = 1,
        max_moves: int = 1000,
        max_budget: int = 0,
        seed: int = 0,
        rollout_policy: PatternPolicy | None = None,
    ) -> None:
        check_size(size)
        points = size * size
        if games < 1 or leaves < 1:
            raise ValueError("games and leaves must be at least 1")
        if max_nodes < points + 2:
            raise ValueError(f"max_nodes must be at least {points + 2}, not {max_nodes}")
        self.size = size
        self.games = games
        self.leaves = leaves
        self._pass = points
        self._max_moves = max_moves
        self._rng = np.empty(games, np.uint64)
        self.reseed(seed)
        self._rollouts = Rollouts(size, rollout_policy)
        self._make_trees(max_nodes, max_budget)
        self._make_leaves()
        for game in range(games):
            self.configure(game, TreeSettings())
            self._clear(game)

    def _make_trees(self, max_nodes: int, max_budget: int) -> None:
        """Make the arrays of the trees and of their roots, and a view of each tree."""
        games, actions = self.games, self._pass + 1
        # Zeros of this size come from the system page by page, so a tree takes memory as it grows.
        self._ints = np.zeros((games, kernels.FIELDS, max_nodes), np.int32)
        self._floats = np.zeros((games, kernels.FLOATS, max_nodes), np.float64)
        self._spare = (
            np.zeros((kernels.FIELDS, max_nodes), np.int32),
            np.zeros((kernels.FLOATS, max_nodes), np.float64),
        )
        self._settings = np.zeros((games, kernels.SETTINGS), np.int64)
        self._budgets = np.zeros(games, np.int64)
        self._weights = np.zeros((games, kernels.WEIGHTS), np.float64)
        self._noise = np.zeros((games, actions), np.float64)
        self._roots = Positions.room(self.size, games)
        self._history = np.zeros((games, self._max_moves + MAX_DEPTH + 2), np.uint64)
        self._schedule = np.zeros((games, max_budget), np.int32)
        self._trees = [
            ForestTree(
                self._ints[game],
                self._floats[game],
                self._roots[game : game + 1],
                settings=self._settings[game],
                weights=self._weights[game],
                noise=self._noise[game],
            )
            for game in range(games)
        ]
        self._all = packed(
            kernels.Trees(
                boards=self._roots.words,
                trails=self._roots.trails,
                ints=self._ints,
                floats=self._floats,
                settings=self._settings,
                weights=self._weights,
                history=self._history,
                noise=self._noise,
                schedule=self._schedule,
            )
        )

    def _make_leaves(self) -> None:
        """Make the arrays of a batch of leaves, and work space."""
        count = self.games * self.leaves + 1
        rows = count + self.leaves  # room for the paths to leaves that were pending
        self._leaves = Positions.room(self.size, count)
        self._owners = np.zeros(count, np.int32)
        self._batch = packed(
            kernels.Leaves(
                words=self._leaves.words,
                trails=self._leaves.trails,
                paths=np.zeros((rows, MAX_DEPTH + 1), np.int32),
                depths=np.zeros(rows, np.int32),
                owners=self._owners,
            )
        )
        self._work_space = packed(
            kernels.DescentSpace(
                owner=np.zeros(self._pass, np.int8),
                stack=np.zeros(self._pass, np.int32),
                scores=np.zeros(self._pass + 1),
            )
        )

    def reseed(self, seed: int) -> None:
        """Begin the random numbers of all games again."""
        self._rng[:] = np.random.SeedSequence(seed).generate_state(self.games, np.uint64)

    def tree(self, game: int) -> ForestTree:
        """Return the view of a game's tree, which stays valid."""
        return self._trees[game]

    # -- setting up ---------------------------------------------------------------------------

    def configure(self, game: int, settings: TreeSettings) -> None:
        """Set how a tree searches from now on."""
        settings.write(self._settings[game], self._weights[game])
        # The rows of `Leaves.paths` have room for no more.
        self._settings[game, kernels.DEPTH] = min(settings.depth, MAX_DEPTH)

    def set_root(self, game: int, root: ForestRoot) -> None:
        """Start a new tree at a position.

        Raises `BoardError` for another size, `ValueError` if the game is longer than `max_moves`.
        """
        if root.board.size != self.size:
            raise BoardError(f"the forest is for boards of size {self.size}")
        keys = np.asarray(root.history, np.uint64)
        if len(keys) + 1 > self._max_moves:
            raise ValueError(f"a history of {len(keys)} positions, but max_moves is lower")
        self._roots.words[game] = root.board.words
        self._roots.trails[game] = root.trail
        settings = self._settings[game]
        settings[kernels.PASSES] = root.passes
        settings[kernels.KO_RULE] = root.ko_rule
        settings[kernels.SUICIDE] = root.suicide
        self._weights[game, kernels.KOMI] = root.komi
        # The present position is among those that may not recur: a suicide of one stone would
        # repeat it.
        now = history_key(root.board.hash, self._trees[game].to_move, root.ko_rule)
        self._history[game, : len(keys)] = keys
        self._history[game, len(keys)] = now
        settings[kernels.HISTORY] = len(keys) + 1
        self._clear(game)

    def play(self, game: int, action: int, *, keep: bool = True) -> None:
        """Play a legal action at a root; with `keep`, keep the subtree. Raises as `set_root`."""
        child = self._trees[game].child(action) if keep else 0
        settings = self._settings[game]
        if settings[kernels.HISTORY] + 1 > self._max_moves:
            raise ValueError(f"a game of more than max_moves = {self._max_moves} actions")
        kernels.play_root(
            self._roots.words[game], self._roots.trails[game], settings, self._history[game], action
        )
        # A child without children holds nothing worth keeping.
        if child and self._ints[game, kernels.COUNT, child]:
            settings[kernels.USED] = kernels.keep_branch(
                self._ints[game], self._floats[game], *self._spare, child
            )
        else:
            self._clear(game)

    def blur(self, game: int, noise: NDArray[np.float64], *, share: float) -> None:
        """Mix noise (moves allowed at the root,) with sum 1 into the priors of a valued root."""
        block = self._trees[game].children()
        allowed = self._ints[game, kernels.STATUS, block] != kernels.FORBIDDEN
        prior = self._floats[game, kernels.PRIOR, block]
        prior[allowed] = (1 - share) * prior[allowed] + share * noise[: allowed.sum()]

    def set_priors(self, game: int, priors: NDArray[np.float64]) -> None:
        """Replace the priors (size * size + 1,), pass last, at a valued root.

        Those of the allowed moves should add up to 1.
        """
        tree = self._trees[game]
        self._floats[game, kernels.PRIOR, tree.children()] = priors[tree.actions()]

    def add_gumbel(self, game: int, noise: NDArray[np.float64]) -> None:
        """Set a Gumbel search's noise (size * size + 1,), in the order of the root's children."""
        self._noise[game] = noise

    # -- searching ----------------------------------------------------------------------------

    def value_roots(self, games: Games, valuer: LeafValuer) -> None:
        """Value the roots that were not valued yet, which does not count as a simulation.

        Afterwards their moves are the legal ones of the game, superko included.
        """
        # A root is valued as a simulation of depth 0, for which the budget is lent and taken back.
        fresh = games[self._ints[games, kernels.VALUED, 0] == 0]
        if len(fresh):
            self._settings[fresh, kernels.DONE] = 0
            self._settings[fresh, kernels.BUDGET] = 1
            self._advance(fresh, valuer)
        kernels.forbid_repeats(games, self._all)
        self._settings[games, kernels.DONE] = 0
        self._settings[games, kernels.BUDGET] = 0

    def search(
        self,
        games: Games,
        budgets: ArrayLike,
        valuer: LeafValuer,
        *,
        stop: Callable[[], bool] | None = None,
    ) -> NDArray[np.int64]:
        """Search several trees in step, each with its own number of simulations.

        A Gumbel search starts from the earlier visits of its root. Returns the simulations of each,
        int64 of shape (games,); fewer if a root is proven or its tree is full.

        Args:
          games: int32, without repetition.
          stop: called after each batch; returns whether to end early.
        """
        self.value_roots(games, valuer)
        for game, budget in zip(games.tolist(), np.broadcast_to(budgets, len(games)), strict=True):
            self._settings[game, kernels.BUDGET] = self._budgets[game] = budget
            # The schedule is for the moves that may be chosen: more would plan visits that none of
            # them can get.
            if considered := int(self._settings[game, kernels.GUMBEL]):
                moves = int(
                    (self._ints[game, kernels.STATUS, self._trees[game].children()] >= 0).sum()
                )
                plan = halving_schedule(min(considered, max(moves, 1)), int(budget))
                self._schedule[game, : len(plan)] = plan
        active = games
        while len(active):
            self._advance(active, valuer)
            if stop is not None and stop():
                break
            settings = self._settings[active]
            unfinished = settings[:, kernels.DONE] < settings[:, kernels.BUDGET]
            # A proven root needs no more simulations.
            unfinished &= self._ints[active, kernels.STATUS, 0] == kernels.OPEN
            active = active[unfinished]
        done: NDArray[np.int64] = self._settings[games, kernels.DONE]
        return done

    def full(self, game: int) -> bool:
        """Return whether the last call was a search that ended as a tree had no more room."""
        # The kernel cuts the budget where there is no room for children, or no move at the root.
        cut = self._settings[game, kernels.BUDGET] < self._budgets[game]
        return bool(cut and self._trees[game].allowed().any())

    def _advance(self, games: Games, valuer: LeafValuer) -> None:
        """Gather one batch of leaves and value it, if there are any."""
        count = kernels.gather(games, self.leaves, self._all, self._batch, self._work_space)
        if count == 0:
            return  # every simulation ended in a finished game
        try:
            logits, values = valuer.value_leaves(self._leaves[:count])
        except BaseException:
            for game in np.unique(self._owners[:count]).tolist():
                self._clear(game)  # otherwise its leaves would stay pending
            raise
        results = self._rolled(count)
        kernels.apply(count, self._all, self._batch, results, logits, values)

    def _rolled(self, count: int) -> NDArray[np.float64]:
        """Return the mean results of rollouts from the leaves, 0 in trees without them."""
        settings = self._settings
        counts = settings[:, kernels.ROLLOUTS].copy()
        owners = self._owners[:count]
        if not counts[owners].any():
            return np.zeros(count)
        return self._rollouts.results(
            self._leaves[:count],
            owners,
            counts=counts,
            # A rollout that only repeats itself ends here, and is counted as it lies.
            limits=np.full(self.games, 3 * self._pass),
            komi=self._weights[:, kernels.KOMI].copy(),
            shares=self._weights[:, kernels.SCORE_WEIGHT].copy(),
            rng=self._rng,
        )

    def _clear(self, game: int) -> None:
        kernels.clear_root(self._ints[game], self._floats[game], self._settings[game])


_LEAST_VARIANCE: Final = 5.0
_OPEN_VARIANCE: Final = 0.4
"""The variance of a score in points, on a settled board and for each point without an owner.

Rough figures for 9x9, from the errors of an early network's scores in recorded games."""
_LOGISTIC: Final = math.pi / math.sqrt(12)
"""A logistic score with a mean of m deviations is won with a value of tanh(m * `_LOGISTIC`)."""


def shifted_values(
    values: NDArray[np.float32], ownership: NDArray[np.float32], gains: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return values if the final scores were higher by some points.

    A value is taken as the chance that a score with a logistic distribution is above 0. Its
    variance grows with the points whose owner is uncertain.

    Args:
      values: (n,), from -1 to 1.
      ownership: expected owners, (n, size, size).
      gains: points, (n,).
    """
    uncertain = (1 - ownership**2).sum(axis=(1, 2))
    deviations = gains / np.sqrt(_LEAST_VARIANCE + _OPEN_VARIANCE * uncertain)
    # A value of 1 has infinite log odds, which no difference in points could move.
    logits = np.arctanh(np.clip(values, -0.9999, 0.9999)) + _LOGISTIC * deviations
    shifted: NDArray[np.float32] = np.tanh(logits).astype(np.float32)
    return shifted


class NetworkValuer:
    """Values leaves by one network with both heads, or by one for policy and one for value.

    Without a policy all priors are equal; without a value all values are 0. Raises `ParameterError`
    if a network lacks its head.

    Values are for the komi of the network's training. Beyond it they are shifted, if the network
    expects owners too, which tell how far the score is settled; a network that sees komi is then
    shown the nearest one that it knows.

    Args:
      score_weight: share of the expected score in a value, as `TreeSettings` has it.
    """

    def __init__(
        self, policy: Oracle | None, value: Oracle | None, *, score_weight: float = 0.0
    ) -> None:
        if policy is not None and not policy.has_policy:
            raise ParameterError("the policy's weights have no policy head; choose other weights")
        if value is not None and not value.has_value:
            raise ParameterError("the value's weights have no value head; choose other weights")
        self.policy = policy
        self.value = value
        self._score_weight = score_weight
        self._komi = None if value is None else known_komi(value)
        self._room: dict[int, NDArray[np.uint8]] = {}

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits and values; see `LeafValuer`. Raises `InferenceError`."""
        count = len(leaves)
        if self.policy is None:
            logits = np.zeros((count, leaves.size**2 + 1), np.float32)
            return logits, self._values(leaves)
        answers = self.policy.infer(self._planes(self.policy, leaves))
        assert answers.policy is not None
        # One run of a network with both heads.
        if self.value is self.policy:
            return answers.policy, self._worth(answers, leaves)
        return answers.policy, self._values(leaves)

    def _values(self, leaves: Positions) -> NDArray[np.float32]:
        if self.value is None:
            return np.zeros(len(leaves), np.float32)
        return self._worth(self.value.infer(self._planes(self.value, leaves)), leaves)

    def _worth(self, answers: Answers, leaves: Positions) -> NDArray[np.float32]:
        """Return the values, for the leaves' komi, with a share for the score."""
        value, share = answers.value, self._score_weight
        assert value is not None
        if not share and self._komi is None:
            return value
        gain = self._gains(leaves)
        if gain.any() and answers.ownership is not None:
            value = shifted_values(value, answers.ownership, gain)
        if not share:
            return value
        if answers.score is None:
            raise ParameterError(
                "score_weight: the value's weights have no score head; set it to 0, or choose "
                "weights that have one"
            )
        # On the scale of `miai_go.kernels.rollouts.outcome`, which values finished games.
        lead = np.tanh((answers.score + gain) / leaves.size)
        mixed: NDArray[np.float32] = ((1 - share) * value + share * lead).astype(np.float32)
        return mixed

    def outlook(self, positions: Positions) -> tuple[NDArray[np.float32] | None, ...]:
        """Return the owners (n, size, size) and leads in points (n,) that the value expects.

        Both are for the player to move, and None if the network lacks the head. Raises
        `InferenceError`.
        """
        if self.value is None:
            return None, None
        answers = self.value.infer(self._planes(self.value, positions))
        score = None if answers.score is None else answers.score + self._gains(positions)
        return answers.ownership, score

    def _gains(self, leaves: Positions) -> NDArray[np.float32]:
        """Return the points that the player to move gains by komi beyond the values' range."""
        if self._komi is None:
            return np.zeros(len(leaves), np.float32)
        komi = leaves.komi()
        black = np.clip(komi, *self._komi) - komi
        gains: NDArray[np.float32] = np.where(leaves.colors() == 1, black, -black)
        return gains.astype(np.float32, copy=False)

    def _planes(self, oracle: Oracle, leaves: Positions) -> NDArray[np.uint8]:
        """Return the planes of leaves, in memory that is reused."""
        encoder, count = oracle.encoder, len(leaves)
        leaves = shown_positions(oracle, leaves)
        room = self._room.get(id(oracle))
        if room is None or len(room) < count:
            shape = (count, encoder.planes, encoder.size, encoder.size)
            room = self._room[id(oracle)] = np.empty(shape, np.uint8)
        return encoder.encode(leaves, room[:count])

    def statistics(self) -> dict[str, float]:
        """Return the statistics of the network with the priors; empty without a network."""
        oracle = self.policy or self.value
        return {} if oracle is None else oracle.statistics()


class RememberingValuer:
    """Remembers what another valuer answered for a position, or for one of its symmetries.

    A position is remembered without the order of its moves, which encoders also see: an answer may
    be for another order. `forget` before a game makes the answers independent of earlier games.

    Args:
      positions: maximum answers remembered, rounded up to a power of two; each takes 4 bytes per
        action, and 12 more. Newer answers replace older ones.

    Attributes:
      valuer: the other valuer.
    """

    def __init__(self, valuer: LeafValuer, *, size: int, positions: int) -> None:
        self.valuer = valuer
        # A power of two, so that the kernel finds a row by a mask.
        rows = 1 << max(positions - 1, 0).bit_length()
        actions = size * size + 1
        # A fixed seed: with other keys other positions would share a row of the table, and moves
        # would differ from process to process.
        rng = np.random.default_rng(0)
        self._hashing = packed(
            recall_kernels.Hashing(
                turns=point_tables(size),
                codes=rng.integers(1 << 64, size=(size * size, 3), dtype=np.uint64),
                extras=rng.integers(1 << 64, size=2, dtype=np.uint64),
                hashes=np.zeros(SYMMETRIES, np.uint64),
            )
        )
        self._table = recall_kernels.AnswerTable(
            keys=np.zeros(rows, np.uint64),
            logits=np.zeros((rows, actions), np.float32),
            values=np.zeros(rows, np.float32),
        )
        self._asked = self._recalled = 0
        self._make_room(0)

    def forget(self) -> None:
        """Forget all answers."""
        self._table.keys[:] = 0
        self._asked = self._recalled = 0

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits and values, in arrays that the next call reuses; see `LeafValuer`."""
        count = len(leaves)
        if count > len(self._batch.missing):
            self._make_room(count)
        batch, tables = self._batch, (self._hashing, packed(self._table), packed(self._batch))
        unknown = recall_kernels.recall(count, leaves.words, leaves.trails, *tables)
        if unknown:
            asked = leaves if unknown == count else leaves[batch.missing[:unknown]]
            logits, values = self.valuer.value_leaves(asked)
            recall_kernels.store(unknown, logits, values, *tables)
        self._asked += count
        self._recalled += count - unknown
        return batch.logits[:count], batch.values[:count]

    def statistics(self) -> dict[str, float]:
        """Return `recalled`, the share of the answers that were remembered."""
        return {"recalled": self._recalled / max(self._asked, 1)}

    def _make_room(self, count: int) -> None:
        self._batch = recall_kernels.AnswerBatch(
            keys=np.zeros(count, np.uint64),
            symmetries=np.zeros(count, np.uint8),
            logits=np.zeros((count, self._table.logits.shape[1]), np.float32),
            values=np.zeros(count, np.float32),
            missing=np.zeros(count, np.int64),
        )
