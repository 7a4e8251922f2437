"""Games of networks by tree search, many in step: self-play, sets of it to learn from, and matches.

Games of a match come in pairs: both players have each colour once from the same opening.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from miai.errors import ConfigError
from miai.parameters import StrictModel, parameter
from miai.seeds import derive_seed
from miai_go.errors import DataError
from miai_go.kernels import trail
from miai_go.learning.data.shard_making import StoppedError, check_new, check_settings, make_shards
from miai_go.learning.data.shards import set_of_size, sets_in, shard_folders
from miai_go.learning.data.stored_games import StoredGame, finished_game
from miai_go.nets.network_parameters import NetworkWorkers
from miai_go.nets.oracle import NetworkOracle, follows_komi
from miai_go.rules.board import Board, KoRule
from miai_go.rules.sizes import BoardSizes, sizes_of
from miai_go.search.forest import Forest, ForestRoot, LeafValuer, TreeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeGames:
    """Settings of self-play.

    Attributes:
      size: points on a side.
      half_komi: komi in half points.
      komi_spread: a game's komi is drawn evenly from those up to this many half points away.
      max_moves: a game of this length ends and is scored.
      tree: settings of the search; Gumbel's search uses neither Dirichlet noise nor reuse.
      simulations: of a full search, whose visits become a policy target.
      fast_simulations, full_share: playout-cap randomisation (Wu 2019): only this share of the
        moves gets a full search; the others get a fast one, without noise, forced playouts or
        policy target.
      noise_share, noise_total: Dirichlet noise at the root: its share in the priors, and the
        concentration of all moves together (10.83 is 0.03 for each of the 361 moves of 19x19).
      warm_moves: moves drawn by their visits (temperature 1) before the best ones are played.
      resign_below: a player resigns below this value; None for never.
      hold_out: share of the games without resignations, which measure wrong ones.
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
    komi_spread: int = 0


@dataclass(slots=True)
class ResignTally:
    """How often a resignation would have been wrong.

    Attributes:
      held_out: games that went on although a player would have resigned.
      wrong: those that this player did not lose.
    """

    held_out: int = 0
    wrong: int = 0


class _Running:
    """Moves, targets and values of a game in play."""

    def __init__(self, *, half_komi: int, may_resign: bool) -> None:
        self.half_komi = half_komi
        self.moves: list[int] = []
        self.policy: list[NDArray[np.float16]] = []
        self.weight: list[float] = []
        self.values: list[float] = []
        self.may_resign = may_resign
        self.resigner: int | None = None
        """The player who resigned, or would have, first."""


class TreeSelfPlay:
    """Self-play of several games in step; when one ends, the next takes its slot.

    The same rules, valuer and seed give the same games.

    Args:
      games: number of games.
      at_once: maximum number of games in step.

    Attributes:
      tally: counts of resignations.
      positions: number of positions searched.
    """

    def __init__(self, rules: TreeGames, *, games: int, at_once: int, seed: int) -> None:
        self._rules = rules
        self._rng = np.random.default_rng(seed)
        slots = min(games, at_once)
        self._forest = Forest(
            rules.size,
            slots,
            max_nodes=nodes_of(rules),
            max_moves=rules.max_moves + 2,
            max_budget=max(rules.simulations, rules.fast_simulations),
            seed=seed,
        )
        self._remaining = games
        self._active: list[int] = []
        self._running: list[_Running] = []
        self.tally = ResignTally()
        self.positions = 0
        for slot in range(slots):
            self._running.append(_Running(half_komi=rules.half_komi, may_resign=True))
            self._begin(slot)

    def play(self, valuer: LeafValuer) -> Iterator[StoredGame]:
        """Yield the games as they end. Raises `InferenceError` if the network fails."""
        while self._active:
            yield from self.step(valuer)

    def step(self, valuer: LeafValuer) -> list[StoredGame]:
        """Make a move in every game; return those that end.

        Raises:
          InferenceError: the network fails.
        """
        forest, rules = self._forest, self._rules
        slots = np.array(self._active, np.int32)
        # One draw for all games of the step, before anything depends on the order of their moves.
        full = self._rng.random(len(slots)) < rules.full_share
        forest.value_roots(slots, valuer)
        # A fast search only chooses a move. Forced playouts and noise explore for the sake of the
        # target, which it does not have (Wu 2019, section 3.1).
        fast = replace(rules.tree, forced=0.0)
        for slot, thorough in zip(slots.tolist(), full.tolist(), strict=True):
            self._forest.configure(slot, rules.tree if thorough else fast)
            self._add_noise(slot, full=thorough)
        budgets = np.where(full, rules.simulations, rules.fast_simulations)
        forest.search(slots, budgets, valuer)
        self.positions += len(slots)
        pairs = zip(slots.tolist(), full.tolist(), strict=True)
        moved = [self._moved(slot, full=thorough) for slot, thorough in pairs]
        return [done for done in moved if done is not None]

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
        """Make the move of the search, or resign; return the game if it ends."""
        forest, rules, running = self._forest, self._rules, self._running[game]
        target = self._target(game, full=full)
        action = self._chosen(game, len(running.moves))
        value = float(forest.tree(game).proven) or forest.tree(game).value
        mover = forest.tree(game).to_move
        running.policy.append(target.astype(np.float16))
        running.weight.append(1.0 if full else 0.0)
        running.values.append(value)
        running.moves.append(action)
        resigns = rules.resign_below is not None and value < rules.resign_below
        if resigns and running.resigner is None:
            running.resigner = mover
        if resigns and running.may_resign:
            # The move is not made, and `_ended` keeps as many targets as there are moves.
            running.moves.pop()
            return self._ended(game, loser=mover)
        last = action == rules.size**2 and forest.tree(game).passes > 0
        forest.play(game, action, keep=rules.tree.gumbel == 0)
        if last or len(running.moves) == rules.max_moves:
            return self._ended(game, loser=None)
        return None

    def _target(self, game: int, *, full: bool) -> NDArray[np.float64]:
        """Return the policy target of the search, of shape (size * size + 1,) and sum 1."""
        if self._rules.tree.gumbel:
            return self._forest.tree(game).improved_policy()
        tree = self._forest.tree(game)
        pruned = full and self._rules.tree.forced > 0
        visits = (tree.pruned_visits() if pruned else tree.visits()).astype(float)
        # After a proof the visits say where the search was before it; the target is the winning
        # move.
        if tree.proven > 0 or not visits.any():
            visits[:] = 0
            visits[tree.best()] = 1
        total: float = visits.sum()
        return visits / total

    def _chosen(self, game: int, ply: int) -> int:
        tree = self._forest.tree(game)
        visits = tree.visits().astype(np.float64)
        warm = ply < self._rules.warm_moves and not self._rules.tree.gumbel
        if not warm or tree.proven > 0 or not visits.any():
            return tree.best()
        return int(self._rng.choice(len(visits), p=visits / visits.sum()))

    def _begin(self, game: int) -> None:
        """Begin the next game in a slot, if any remain."""
        if not self._remaining:
            self._active = [slot for slot in self._active if slot != game]
            return
        self._remaining -= 1
        if game not in self._active:
            self._active.append(game)
        rules, half_komi = self._rules, self._rules.half_komi
        if spread := rules.komi_spread:
            half_komi += int(self._rng.integers(-spread, spread + 1))
        self._forest.configure(game, rules.tree)
        self._forest.set_root(game, empty_root(rules.size, half_komi))
        # Drawn before the game, so that the games held out are a fair sample of all.
        may_resign = bool(self._rng.random() >= rules.hold_out)
        self._running[game] = _Running(half_komi=half_komi, may_resign=may_resign)

    def _ended(self, game: int, *, loser: int | None) -> StoredGame:
        running, board = self._running[game], self._forest.tree(game).board
        count = len(running.moves)
        done = finished_game(
            board,
            np.array(running.moves, np.int16),
            half_komi=running.half_komi,
            loser=loser,
            policy=np.array(running.policy[:count], np.float16).reshape(count, board.size**2 + 1),
            weight=np.array(running.weight[:count], np.float16),
            root_value=np.array(running.values[:count], np.float16),
        )
        if running.resigner is not None and not running.may_resign:
            self.tally.held_out += 1
            self.tally.wrong += done.result != (-1 if running.resigner == 0 else 1)
        self._begin(game)
        return done


def nodes_of(rules: TreeGames) -> int:
    """Return the number of nodes for which a game's tree needs room."""
    simulations = max(rules.simulations, rules.fast_simulations)
    kept = 1 if rules.tree.gumbel else 3  # with reuse, trees of earlier moves take room too
    return (rules.size**2 + 1) * (simulations * kept + 2)


class SelfPlaySettings(StrictModel):
    """How games of self-play are played."""

    max_moves: int = parameter(
        0,
        ge=0,
        le=10_000,
        help="Move limit, then the game is scored by area. 0: one and a half times the number of "
        "points",
    )
    komi: float = parameter(7.0, ge=-1000, le=1000, multiple_of=0.5, help="Komi")
    komi_spread: float = parameter(
        0.0,
        ge=0,
        le=1000,
        multiple_of=0.5,
        help="Komi of each game is drawn evenly from --komi plus or minus this",
    )
    simulations: int = parameter(48, ge=1, le=10_000, help="Simulations of a full search")
    fast_simulations: int = parameter(4, ge=1, le=10_000, help="Simulations of a fast search")
    full_share: float = parameter(0.12, gt=0, le=1, help="Share of full searches")
    seed: int = parameter(0, ge=0, help="Seed of the games")
    games_a_shard: int = parameter(
        512, ge=1, help="Games per shard, played in step; those of each size with several sizes"
    )


class SelfPlayOrder(NetworkWorkers):
    """Whose games of self-play are wanted, and how many."""

    games: int = parameter(
        1024, ge=1, le=10_000_000, help="Total number of games, rounded up to whole shards"
    )
    sizes: str | None = parameter(
        None, help="Sizes of board, drawn for each game: 9, 7-13 or 9,13 (default: the network's)"
    )


def check_komi(settings: SelfPlaySettings, network: NetworkOracle, *, weights: str) -> None:
    """Raise `ConfigError` if komi is drawn that the values of a network cannot follow."""
    if settings.komi_spread and not follows_komi(network):
        raise ConfigError(
            f"--komi-spread {settings.komi_spread:g}: {weights} neither sees komi nor expects "
            "owners, so its values cannot follow komi; leave the spread out, or choose other "
            "weights"
        )


class SelfPlayPlan(SelfPlaySettings):
    """All that determines a set of self-play games.

    Attributes:
      weights: digest of the network.
      precision: that in which the network runs.
      size: points on a side; a game's size is drawn evenly from several.
      noise_share, noise_total, warm_moves: see `TreeGames`.
      c_puct: weight of the priors.
      forced: weight of forced playouts at the root.
    """

    weights: str
    precision: str = "fp32"
    size: BoardSizes = 9
    noise_share: float = Field(default=0.25, ge=0, le=1)
    noise_total: float = Field(default=10.0, gt=0)
    warm_moves: int = Field(default=12, ge=0)
    c_puct: float = Field(default=1.0, ge=0)
    forced: float = Field(default=2.0, ge=0)

    @field_validator("size")
    @classmethod
    def _has_room(cls, size: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if min(sizes_of(size)) < 2:
            raise ValueError("boards of games have at least 2x2 points")
        return size

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the boards, ascending."""
        return sizes_of(self.size)

    def rules(self, size: int) -> TreeGames:
        """Return the settings of the games on boards of a size."""
        return TreeGames(
            size=size,
            half_komi=round(2 * self.komi),
            komi_spread=round(2 * self.komi_spread),
            max_moves=self.max_moves or max(3 * size**2 // 2, 2),
            tree=TreeSettings(c_puct=self.c_puct, root_fpu=0.0, forced=self.forced),
            simulations=self.simulations,
            fast_simulations=self.fast_simulations,
            full_share=self.full_share,
            noise_share=self.noise_share,
            noise_total=self.noise_total,
            warm_moves=self.warm_moves,
        )


_AT_ONCE: Final = 192
"""Maximum number of games in step."""
_NODES: Final = 10_000_000
"""Maximum number of nodes of all their trees."""


def play_set(
    plan: SelfPlayPlan,
    games: int,
    valuers: Sequence[Mapping[int, LeafValuer]],
    out: Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write self-play games as a shard set; return how many were played now.

    Games of several sizes become a set for each, in folders such as ``9x9``. Policies and root
    values are those of full searches; moves of fast ones have neither. An interrupted run continues
    with the next shard. The same plan gives the same games on any number of workers; more games
    extend a set.

    Args:
      games: of all sizes, rounded up to a multiple of `games_a_shard`.
      valuers: for each worker one of each size, equal.
      progress: called with the number of games that the set has.

    Raises:
      DataError: the folder has games of another plan or other things, or cannot be written.
      InferenceError: a network fails.
    """
    _check_out(plan, out)
    several = len(plan.sizes) > 1
    rounds = math.ceil(games / plan.games_a_shard)
    shards = [shard for number in range(rounds) for shard in _drawn_sizes(plan, number)]
    games_before = [0, *accumulate(count for _size, count in shards)]

    def played(
        part: int, valuer: Mapping[int, LeafValuer], stopped: threading.Event
    ) -> list[StoredGame]:
        size, count = shards[part]
        return _played(plan, part, size, count, valuer[size], stopped)

    report = progress or (lambda _games: None)
    return make_shards(
        [set_of_size(out, size) if several else out for size, _count in shards],
        played,
        valuers,
        settings=plan.model_dump(mode="json"),
        sources=("self-play",),
        progress=lambda parts: report(games_before[parts]),
    )


def _check_out(plan: SelfPlayPlan, out: Path) -> None:
    """Raise `DataError` if a folder has games of other settings, or of sizes in another layout."""
    several = len(plan.sizes) > 1
    check_new(out)
    existing = sets_in(out) if out.is_dir() else []
    if existing and several == (out in existing):
        kind = "games of one size" if several else "sets of several sizes"
        raise DataError(f"{out}: has {kind}; use another folder with --out")
    for other in existing if several else ():  # also of sizes that this plan does not play
        check_settings(shard_folders(other), plan.model_dump(mode="json"))


def _played(
    plan: SelfPlayPlan,
    part: int,
    size: int,
    count: int,
    valuer: LeafValuer,
    stopped: threading.Event,
) -> list[StoredGame]:
    """Return the games of a shard. Raises `StoppedError` once the event is set."""
    rules = plan.rules(size)
    # Larger trees, fewer games in step: the memory of all trees together is bounded.
    at_once = max(min(_AT_ONCE, _NODES // nodes_of(rules)), 1)
    seed = derive_seed(plan.seed, part)
    table = TreeSelfPlay(rules, games=count, at_once=at_once, seed=seed)
    done: list[StoredGame] = []
    while len(done) < count:
        if stopped.is_set():
            raise StoppedError
        done += map(_of_full_searches, table.step(valuer))
    return done


def _drawn_sizes(plan: SelfPlayPlan, number: int) -> list[tuple[int, int]]:
    """Return the sizes of the games that are played together, and how many games have each."""
    rng = np.random.default_rng(derive_seed(plan.seed, "sizes", number))
    drawn = rng.choice(plan.sizes, plan.games_a_shard)
    sizes, counts = np.unique(drawn, return_counts=True)
    return list(zip(sizes.tolist(), counts.tolist(), strict=True))


def _of_full_searches(game: StoredGame) -> StoredGame:
    """Return a game without the policies and values of fast searches."""
    assert game.weight is not None
    assert game.policy is not None
    assert game.root_value is not None
    full = game.weight > 0
    policy = np.where(full[:, None], game.policy, np.float16(0))
    values = np.where(full, game.root_value, np.float16(np.nan))
    return replace(game, policy=policy, root_value=values)


def empty_root(size: int, half_komi: int, ko_rule: KoRule = KoRule.POSITIONAL) -> ForestRoot:
    """Return the empty board, Black to move, as a root."""
    board = Board(size)
    words = np.zeros(trail.trail_words(size), np.int16)
    trail.begin_trail(board.words, words, np.int64(1), np.int64(half_komi))
    return ForestRoot(board=board, trail=words, komi=half_komi / 2, ko_rule=ko_rule)


# Matches


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlayer:
    """A player of a match.

    Attributes:
      valuer: evaluates leaves.
      tree: settings of the search; matches use no Gumbel noise.
      simulations: for each move; 0 plays the move with the highest prior.
    """

    valuer: LeafValuer
    tree: TreeSettings
    simulations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRules:
    """Settings of a match.

    Attributes:
      size, half_komi, max_moves: see `TreeGames`.
      games: number of games, even.
      opening: number of first moves drawn from the first player's priors, the same for both games
        of a pair.
      seed: seed of the openings.
    """

    size: int
    half_komi: int
    max_moves: int
    games: int
    opening: int = 4
    seed: int = 0


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Result of a match.

    Attributes:
      wins, draws, losses: of the first player.
      played: the games; in even ones the first player is Black.
    """

    wins: int
    draws: int
    losses: int
    played: tuple[StoredGame, ...]

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points won by the first player."""
        return (self.wins + self.draws / 2) / self.games

    def elo(self) -> tuple[float, float]:
        """Return the first player's lead in Elo and half the width of its 95 % interval.

        Half a win and half a loss are added, which keeps the Elo of a clean score finite.
        """
        games = self.games + 1
        # Draws vary less than wins and losses, so with draws the interval is wider than need be.
        score = (self.wins + self.draws / 2 + 0.5) / games
        lead = 400 * math.log10(score / (1 - score))
        deviation = math.sqrt(score * (1 - score) / games)
        return lead, 1.96 * deviation * 400 / (math.log(10) * score * (1 - score))


def play_match(first: MatchPlayer, second: MatchPlayer, rules: MatchRules) -> MatchResult:
    """Play a match; the same players, rules and seed give the same games.

    Raises:
      InferenceError: a network fails.
    """
    return _Match(first, second, rules).play()


class _Match:
    def __init__(self, first: MatchPlayer, second: MatchPlayer, rules: MatchRules) -> None:
        self._players = (first, second)
        self._rules = rules
        self._forests = [self._new_forest(player) for player in self._players]
        self._moves: list[list[int]] = [[] for _ in range(rules.games)]
        self._done: list[StoredGame | None] = [None] * rules.games
        self._rng = np.random.default_rng(rules.seed)

    def play(self) -> MatchResult:
        self._open()
        while active := [g for g, done in enumerate(self._done) if done is None]:
            for number in (0, 1):
                mine = [g for g in active if self._done[g] is None and self._turn(g) == number]
                if mine:
                    self._move(number, np.array(mine, np.int32))
        played = tuple(game for game in self._done if game is not None)
        results = [game.result * (1 if g % 2 == 0 else -1) for g, game in enumerate(played)]
        return MatchResult(results.count(1), results.count(0), results.count(-1), played)

    def _turn(self, game: int) -> int:
        """Return the number of the player to move; the first is Black in even games."""
        return (self._forests[0].tree(game).to_move + game) % 2

    def _new_forest(self, player: MatchPlayer) -> Forest:
        rules = self._rules
        forest = Forest(
            rules.size,
            rules.games,
            max_nodes=(rules.size**2 + 1) * (player.simulations + 2),
            max_moves=rules.max_moves + 2,
            max_budget=player.simulations,
            seed=rules.seed,
        )
        for game in range(rules.games):
            forest.configure(game, player.tree)
            forest.set_root(game, empty_root(rules.size, rules.half_komi))
        return forest

    def _open(self) -> None:
        pairs = np.arange(0, self._rules.games, 2, dtype=np.int32)
        for _ in range(self._rules.opening):
            self._forests[0].value_roots(pairs, self._players[0].valuer)
            for game in pairs.tolist():
                priors = self._forests[0].tree(game).priors()
                # An opening without passes, which could end the game at once.
                priors[-1] = 0.0
                if not priors.any() or self._done[game] is not None:
                    continue
                action = int(self._rng.choice(len(priors), p=priors / priors.sum()))
                self._play(game, action)
                if game + 1 < self._rules.games:
                    self._play(game + 1, action)

    def _move(self, number: int, games: NDArray[np.int32]) -> None:
        player, forest = self._players[number], self._forests[number]
        forest.value_roots(games, player.valuer)
        if player.simulations:
            forest.search(games, player.simulations, player.valuer)
        for game in games.tolist():
            self._play(game, forest.tree(game).best())

    def _play(self, game: int, action: int) -> None:
        rules, moves = self._rules, self._moves[game]
        over = action == rules.size**2 and moves[-1:] == [action]
        moves.append(action)
        for forest in self._forests:
            forest.play(game, action, keep=False)
        if over or len(moves) == rules.max_moves:
            self._done[game] = finished_game(
                self._forests[0].tree(game).board,
                np.array(moves, np.int16),
                half_komi=rules.half_komi,
            )
