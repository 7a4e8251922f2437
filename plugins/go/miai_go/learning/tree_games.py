"""Games that a network plays against itself by tree search, as AlphaZero learns from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import trail
from miai_go.learning.agent_games import finished_game
from miai_go.learning.games import StoredGame
from miai_go.rules.board import Board, KoRule
from miai_go.search.forest import Forest, ForestRoot, LeafValuer, TreeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeGames:
    """How a network plays itself.

    Attributes:
      size: points on a side.
      half_komi: what White is given, in half points.
      max_moves: a game that lasts so long is counted as it stands.
      tree: how the trees search; with Gumbel neither Dirichlet noise nor reuse is used.
      simulations: of a full search, whose visits are learnt from.
      fast_simulations, full_share: playout-cap randomisation (Wu 2019): only this share of the
        moves gets a full search, the others a fast one, without noise and not learnt from.
      noise_share, noise_total: Dirichlet noise at the root: its share in the priors, and the
        concentration of all moves together (10.83 is 0.03 for each of the 361 moves of 19x19).
      warm_moves: moves drawn by their visits (at temperature 1); later ones are the best.
      resign_below: a player resigns whose value is so low; None for never.
      hold_out: share of the games in which nobody resigns, which tells how often it was wrong.
    """

    size: int
    half_komi: int
    max_moves: int
    tree: TreeSettings = field(default_factory=TreeSettings)
    simulations: int = 32
    fast_simulations: int = 8
    full_share: float = 1.0
    noise_share: float = 0.25
    noise_total: float = 10.0
    warm_moves: int = 10
    resign_below: float | None = None
    hold_out: float = 0.1


@dataclass(slots=True)
class ResignTally:
    """What the games in which nobody resigned tell about resigning.

    Attributes:
      held_out: games played on though somebody would have resigned.
      wrong: how many of them that player did not lose.
    """

    held_out: int = 0
    wrong: int = 0


class _Running:
    """One game in play: its moves, targets and values so far."""

    def __init__(self, *, may_resign: bool) -> None:
        self.moves: list[int] = []
        self.policy: list[NDArray[np.float16]] = []
        self.weight: list[float] = []
        self.values: list[float] = []
        self.may_resign = may_resign
        self.gave_up: int | None = None
        """Who would have resigned first."""


class TreeSelfPlay:
    """A number of games, some of them in step; each that ends makes room for the next.

    The same rules, valuer and seed give the same games.

    Args:
      games: how many are played.
      at_once: how many of them in step.

    Attributes:
      tally: what is known about resigning.
      positions: positions searched so far.
    """

    def __init__(
        self, rules: TreeGames, *, games: int, at_once: int, seed: int, superko: bool = True
    ) -> None:
        self._rules = rules
        self._rng = np.random.default_rng(seed)
        self._ko = KoRule.POSITIONAL if superko else KoRule.SIMPLE
        slots = min(games, at_once)
        gumbel = rules.tree.gumbel > 0
        nodes = (rules.size**2 + 1) * (rules.simulations * (1 if gumbel else 3) + 2)
        self._forest = Forest(
            rules.size,
            slots,
            max_nodes=nodes,
            max_moves=rules.max_moves + 2,
            max_budget=max(rules.simulations, rules.fast_simulations),
            seed=seed,
        )
        self._left = games
        self._active: list[int] = []
        self._running: list[_Running] = []
        self.tally = ResignTally()
        self.positions = 0
        for slot in range(slots):
            self._forest.configure(slot, rules.tree)
            self._running.append(_Running(may_resign=True))
            self._begin(slot)

    def play(self, valuer: LeafValuer) -> Iterator[StoredGame]:
        """Yield the games as they end.

        Raises:
          InferenceError: a network cannot answer.
        """
        while self._active:
            yield from self.step(valuer)

    def step(self, valuer: LeafValuer) -> list[StoredGame]:
        """Make a move in every game; return those that ended.

        Raises:
          InferenceError: a network cannot answer.
        """
        forest, rules = self._forest, self._rules
        slots = np.array(self._active, np.int32)
        full = self._rng.random(len(slots)) < rules.full_share
        forest.value_roots(slots, valuer)
        for slot, thorough in zip(slots.tolist(), full.tolist(), strict=True):
            self._add_noise(slot, full=thorough)
        budgets = np.where(full, rules.simulations, rules.fast_simulations)
        forest.search(slots, budgets, valuer)
        self.positions += len(slots)
        pairs = zip(slots.tolist(), full.tolist(), strict=True)
        moved = [self._moved(slot, full=thorough) for slot, thorough in pairs]
        return [done for done in moved if done is not None]

    # -- one move -----------------------------------------------------------------------------

    def _add_noise(self, game: int, *, full: bool) -> None:
        rules, actions = self._rules, self._rules.size**2 + 1
        if rules.tree.gumbel:
            noise = self._rng.gumbel(size=actions) if full else np.zeros(actions)
            self._forest.add_gumbel(game, noise)
            return
        moves = int(self._forest.tree(game).allowed().sum())
        if full and rules.noise_share > 0 and moves > 0:
            noise = self._rng.dirichlet(np.full(moves, rules.noise_total / moves))
            self._forest.blur(game, noise, share=rules.noise_share)

    def _moved(self, game: int, *, full: bool) -> StoredGame | None:
        """Make the move that was found; return the game if that ended it."""
        forest, rules, running = self._forest, self._rules, self._running[game]
        target = self._target(game)
        action = self._chosen(game, target, len(running.moves))
        value = float(forest.tree(game).proven) or forest.tree(game).value
        mover = forest.tree(game).to_move
        running.policy.append(target.astype(np.float16))
        running.weight.append(1.0 if full else 0.0)
        running.values.append(value)
        running.moves.append(action)
        gives_up = rules.resign_below is not None and value < rules.resign_below
        if gives_up and running.gave_up is None:
            running.gave_up = mover
        if gives_up and running.may_resign:
            running.moves.pop()
            return self._ended(game, loser=mover)
        last = action == rules.size**2 and forest.tree(game).passes > 0
        forest.play(game, action, keep=rules.tree.gumbel == 0)
        if last or len(running.moves) == rules.max_moves:
            return self._ended(game, loser=None)
        return None

    def _target(self, game: int) -> NDArray[np.float64]:
        """Return what the search makes of the moves, (size * size + 1,), adding up to 1."""
        if self._rules.tree.gumbel:
            return self._forest.tree(game).improved_policy()
        visits = self._forest.tree(game).visits().astype(np.float64)
        if self._forest.tree(game).proven > 0 or not visits.any():
            visits[:] = 0
            visits[self._forest.tree(game).best()] = 1
        total: float = visits.sum()
        return visits / total

    def _chosen(self, game: int, target: NDArray[np.float64], ply: int) -> int:
        if ply >= self._rules.warm_moves or self._rules.tree.gumbel:
            return self._forest.tree(game).best()
        return int(self._rng.choice(len(target), p=target))

    # -- beginning and end --------------------------------------------------------------------

    def _begin(self, game: int) -> None:
        """Begin the next game in a slot, if one is left."""
        if not self._left:
            self._active = [slot for slot in self._active if slot != game]
            return
        self._left -= 1
        if game not in self._active:
            self._active.append(game)
        self._forest.set_root(game, empty_root(self._rules.size, self._rules.half_komi, self._ko))
        may_resign = bool(self._rng.random() >= self._rules.hold_out)
        self._running[game] = _Running(may_resign=may_resign)

    def _ended(self, game: int, *, loser: int | None) -> StoredGame:
        running, board = self._running[game], self._forest.tree(game).board
        count = len(running.moves)
        done = finished_game(
            board,
            np.array(running.moves, np.int16),
            half_komi=self._rules.half_komi,
            loser=loser,
            policy=np.array(running.policy[:count], np.float16).reshape(count, board.size**2 + 1),
            weight=np.array(running.weight[:count], np.float16),
            root_value=np.array(running.values[:count], np.float16),
        )
        if running.gave_up is not None and not running.may_resign:
            self.tally.held_out += 1
            self.tally.wrong += done.result != (-1 if running.gave_up == 0 else 1)
        self._begin(game)
        return done


def empty_root(size: int, half_komi: int, ko_rule: KoRule) -> ForestRoot:
    """Return the empty board with Black to move as a root."""
    board = Board(size)
    words = np.zeros(trail.trail_words(size), np.int16)
    trail.begin_trail(board.words, words, np.int64(1), np.int64(half_komi))
    return ForestRoot(board=board, trail=words, komi=half_komi / 2, ko_rule=ko_rule)
