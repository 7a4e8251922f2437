"""Matches between two networks by tree search, all games in step; for gates, ladders and tables.

Games come in pairs: both players have each colour once from the same opening.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.agent_games import finished_game
from miai_go.learning.games import StoredGame
from miai_go.learning.tree_games import empty_root
from miai_go.rules.board import KoRule
from miai_go.search.forest import Forest, LeafValuer, TreeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlayer:
    """Who plays: what values its leaves, how its tree searches, and how far.

    Attributes:
      valuer: of its leaves.
      tree: settings of its trees; Gumbel's noise is left out in matches.
      simulations: of a move; 0 plays the move with the highest prior.
    """

    valuer: LeafValuer
    tree: TreeSettings
    simulations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRules:
    """How a match is played.

    Attributes:
      size, half_komi, max_moves: of the games.
      games: how many, even.
      opening: moves at the beginning that are drawn from the first player's priors, the same for
        both games of a pair.
      seed: of the openings.
    """

    size: int
    half_komi: int
    max_moves: int
    games: int
    opening: int = 4
    seed: int = 0


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How a match ended.

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
        """How many games were played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points that the first player took."""
        return (self.wins + self.draws / 2) / self.games

    def elo(self) -> tuple[float, float]:
        """Return the first player's lead in Elo and half the width of its 95 % interval.

        Half a game won and half a game lost are added, so that a clean score has a number too.
        """
        games = self.games + 1
        score = (self.wins + self.draws / 2 + 0.5) / games
        lead = 400 * math.log10(score / (1 - score))
        deviation = math.sqrt(score * (1 - score) / games)
        return lead, 1.96 * deviation * 400 / (math.log(10) * score * (1 - score))


def play_match(first: MatchPlayer, second: MatchPlayer, rules: MatchRules) -> MatchResult:
    """Play a match; the same players, rules and seed give the same games.

    Raises:
      InferenceError: a network cannot answer.
    """
    return _Match(first, second, rules).play()


class _Match:
    def __init__(self, first: MatchPlayer, second: MatchPlayer, rules: MatchRules) -> None:
        self._players = (first, second)
        self._rules = rules
        self._forests = [self._planted(player) for player in self._players]
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
        """Return whose turn it is: the first player is Black in even games."""
        return (self._forests[0].tree(game).to_move + game) % 2

    def _planted(self, player: MatchPlayer) -> Forest:
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
            root = empty_root(rules.size, rules.half_komi, KoRule.POSITIONAL)
            forest.set_root(game, root)
        return forest

    def _open(self) -> None:
        """Play the openings, drawn from the first player's priors."""
        pairs = np.arange(0, self._rules.games, 2, dtype=np.int32)
        for _ in range(self._rules.opening):
            self._forests[0].value_roots(pairs, self._players[0].valuer)
            for game in pairs.tolist():
                priors = self._forests[0].tree(game).priors()
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
