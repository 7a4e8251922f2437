"""Games of policies without search, many in step, for policy gradients and value networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import selfplay as kernels
from miai_go.kernels import trail
from miai_go.learning.data.stored_games import StoredGame, finished_game
from miai_go.nets.encoder import Positions
from miai_go.nets.oracle import Oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyGames:
    """Settings of games between policies.

    Attributes:
      size: points on a side.
      half_komi: komi in half points.
      max_moves: a game of this length ends and is scored.
      temperature: of the policies; 0 plays the likeliest move.
      opening: number of first moves drawn at temperature 1.
    """

    size: int
    half_komi: int = 14
    max_moves: int = 200
    temperature: float = 1.0
    opening: int = 0

    def play(
        self,
        players: Sequence[Oracle],
        black: NDArray[np.int64],
        white: NDArray[np.int64],
        *,
        rng: np.random.Generator,
        random_at: NDArray[np.int64] | None = None,
        after: NDArray[np.int64] | None = None,
    ) -> list[StoredGame]:
        """Play games in step; return them in order.

        Args:
          players: the policies.
          black, white: number of the policy that plays each colour, int64 of shape (games,).
          random_at: ply of each game, from 0, at which a random sensible move is played.
          after: number of the policy that plays both colours after that move.

        Raises:
          InferenceError: a network fails.
        """
        games = len(black)
        table = _Table(self, games)
        sides = np.stack([black, white])
        while len(table.active):
            rows = table.active
            ply = table.lengths[rows]
            who = sides[table.colors(), rows]
            if random_at is not None and after is not None:
                who = np.where(ply > random_at[rows], after[rows], who)
            logits = self._logits(players, who, table.positions())
            heat = np.where(ply < self.opening, 1.0, self.temperature)
            if random_at is not None:
                chance = ply == random_at[rows]
                # Equal logits at temperature 1: a uniform draw from the sensible moves.
                logits[chance] = 0
                heat = np.where(chance, 1.0, heat)
            table.step(logits, heat, rng)
        return table.games()

    def _logits(
        self, players: Sequence[Oracle], who: NDArray[np.int64], positions: Positions
    ) -> NDArray[np.float32]:
        logits = np.zeros((len(positions), self.size**2 + 1), np.float32)
        # A batch for each policy rather than each game.
        for number in np.unique(who).tolist():
            here = np.flatnonzero(who == number)
            chosen = Positions(self.size, positions.words[here], positions.trails[here])
            oracle = players[number]
            policy = oracle.infer(oracle.encoder.encode(chosen)).policy
            assert policy is not None
            logits[here] = policy
        return logits


class _Table:
    """Games in step.

    Attributes:
      active: numbers of the games in play.
      lengths: number of moves of each game.
    """

    def __init__(self, rules: PolicyGames, games: int) -> None:
        self._rules = rules
        self._all = Positions.room(rules.size, games)
        self._all.trails[:, trail.HALF_KOMI] = rules.half_komi
        self._moves = np.zeros((games, rules.max_moves), np.int16)
        self._done: list[StoredGame | None] = [None] * games
        self.active = np.arange(games)
        self.lengths = np.zeros(games, np.int64)

    def games(self) -> list[StoredGame]:
        """Return the finished games in order."""
        return [game for game in self._done if game is not None]

    def positions(self) -> Positions:
        """Return a copy of the positions of the active games."""
        return Positions(
            self._rules.size, self._all.words[self.active], self._all.trails[self.active]
        )

    def colors(self) -> NDArray[np.int64]:
        """Return who is to move in the active games: 0 Black, 1 White."""
        colors: NDArray[np.int64] = self._all.trails[self.active, trail.COLOR].astype(np.int64)
        return colors - 1

    def step(
        self, logits: NDArray[np.float32], heat: NDArray[np.float64], rng: np.random.Generator
    ) -> None:
        """Draw and play a move in each active game."""
        rows, here = self.active, self.positions()
        allowed = np.zeros(logits.shape, np.bool_)
        kernels.sensible_moves(here.words, here.trails, allowed)
        actions = np.zeros(len(rows), np.int16)
        kernels.draw_moves(logits, allowed, heat, rng.random(len(rows)), actions)
        over = np.zeros(len(rows), np.bool_)
        kernels.play_moves(here.words, here.trails, actions, over)
        self._all.words[rows], self._all.trails[rows] = here.words, here.trails
        self._moves[rows, self.lengths[rows]] = actions
        self.lengths[rows] += 1
        over |= self.lengths[rows] == self._rules.max_moves
        for game in rows[over].tolist():
            self._done[game] = finished_game(
                self._all.board(game),
                self._moves[game, : self.lengths[game]].copy(),
                half_komi=self._rules.half_komi,
            )
        self.active = rows[~over]
