"""The memory of search trees of many games in step, and what can be read in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.board import Board
from miai_go.encoders.positions import Positions
from miai_go.kernels import forest as kernels
from miai_go.kernels import rules, trail


class Trees:
    """One tree for each of a number of games on boards of one size; `Forest` makes them grow.

    Values are results, 1 won, -1 lost, for the player to move at the root of the game in question.
    """

    def __init__(self, size: int, games: int, *, max_nodes: int) -> None:
        points = size * size
        self.size = size
        self.games = games
        self._pass = points
        self._ints = np.zeros((games, kernels.FIELDS, max_nodes), np.int32)
        self._floats = np.zeros((games, kernels.FLOATS, max_nodes), np.float64)
        self._settings = np.zeros((games, kernels.SETTINGS), np.int64)
        self._weights = np.zeros((games, kernels.WEIGHTS), np.float64)
        self._noise = np.zeros((games, points + 1), np.float64)
        self._roots = Positions.room(size, games)
        self._scores = np.zeros(points + 1, np.float64)

    def to_move(self, game: int) -> int:
        """Return who is to move at a root: 0 Black, 1 White."""
        return int(self._roots.trails[game, trail.COLOR]) - 1

    def passes(self, game: int) -> int:
        """Return how many passes were made just before a root."""
        return int(self._settings[game, kernels.PASSES])

    def board(self, game: int) -> Board:
        """Return a copy of the board at a root."""
        return self._roots.board(game)

    def nodes(self, game: int) -> int:
        """Return the nodes of a tree in memory."""
        return int(self._settings[game, kernels.USED])

    def simulations(self, game: int) -> int:
        """Return the simulations through a root, those kept from earlier moves included."""
        return int(self._ints[game, kernels.VISITS, 0])

    def value(self, game: int) -> float:
        """Return the mean value of the simulations through a root, 0 without any."""
        visits = self.simulations(game)
        return -float(self._floats[game, kernels.TOTAL, 0]) / visits if visits else 0.0

    def proven(self, game: int) -> int:
        """Return 1 if the player to move is proven to win, -1 to lose, 0 if neither."""
        return -int(self._ints[game, kernels.STATUS, 0])

    def visits(self, game: int) -> NDArray[np.int32]:
        """Return how often each move at a root was simulated, (size * size + 1,), pass last."""
        block = self._block(game)
        out = np.zeros(self._pass + 1, np.int32)
        out[self._actions(game, block)] = self._ints[game, kernels.VISITS, block]
        return out

    def values(self, game: int) -> NDArray[np.float64]:
        """Return the mean value of each move at a root, (size * size + 1,); nan if not tried."""
        block = self._block(game)
        visits = self._ints[game, kernels.VISITS, block]
        out = np.full(self._pass + 1, np.nan)
        with np.errstate(invalid="ignore"):
            means = self._floats[game, kernels.TOTAL, block] / visits
        out[self._actions(game, block)] = means
        return out

    def priors(self, game: int) -> NDArray[np.float64]:
        """Return the prior of each move at a root, (size * size + 1,), noise included."""
        block = self._block(game)
        out = np.zeros(self._pass + 1)
        out[self._actions(game, block)] = self._floats[game, kernels.PRIOR, block]
        return out

    def allowed(self, game: int) -> NDArray[np.bool_]:
        """Return which moves a valued root has, (size * size + 1,)."""
        block = self._block(game)
        mask = np.zeros(self._pass + 1, np.bool_)
        open_ = self._ints[game, kernels.STATUS, block] != kernels.FORBIDDEN
        mask[self._actions(game, block)[open_]] = True
        return mask

    def improved_policy(self, game: int) -> NDArray[np.float64]:
        """Return the improved policy at a root, (size * size + 1,) (Danihelka et al. 2022)."""
        block = self._block(game)
        found = np.zeros(self._pass + 1)
        kernels.improved_policy(
            self._ints[game], self._floats[game], self._weights[game], self._scores, found
        )
        out = np.zeros(self._pass + 1)
        out[self._actions(game, block)] = found[: block.stop - block.start]
        return out

    def best(self, game: int) -> int:
        """Return the move to play: a proven win, otherwise the one with the most visits.

        A proven loss only where nothing else is left. Among equals the higher mean value, then
        the higher prior, then the lower number. A Gumbel search takes, among the moves with most
        visits, the best by noise, prior and transformed value.
        """
        if self._settings[game, kernels.GUMBEL] and self.proven(game) <= 0:
            return self._best_gumbel(game)
        return self._best_of(game, 0)[1]

    def principal_variation(self, game: int, length: int = 20) -> list[int]:
        """Return the best moves for both players, from a root on, as far as they were tried."""
        moves: list[int] = []
        node = 0
        while len(moves) < length and self._ints[game, kernels.COUNT, node] > 0:
            node, action = self._best_of(game, node)
            if self._ints[game, kernels.VISITS, node] == 0:
                break
            moves.append(action)
        return moves

    def _best_gumbel(self, game: int) -> int:
        block = self._block(game)
        count = block.stop - block.start
        scores = np.empty(self._pass + 1)
        kernels.transformed_root(self._ints[game], self._floats[game], self._weights[game], scores)
        found = scores[:count] + self._noise[game, :count]
        visits = self._ints[game, kernels.VISITS, block]
        status = self._ints[game, kernels.STATUS, block]
        rank = np.where(status == kernels.OPEN, 0, status)
        best = int(np.lexsort((-found, -visits, -rank))[0])
        return int(self._actions(game, block)[best])

    def _best_of(self, game: int, node: int) -> tuple[int, int]:
        """Return the best child of a node that has children, and the action that leads there."""
        block = self._block(game, node)
        actions = self._actions(game, block)
        visits = self._ints[game, kernels.VISITS, block]
        values = self._floats[game, kernels.TOTAL, block] / np.maximum(visits, 1)
        priors = self._floats[game, kernels.PRIOR, block]
        status = self._ints[game, kernels.STATUS, block]
        rank = np.where(status == kernels.OPEN, 0, status)
        best = int(np.lexsort((actions, -priors, -values, -visits, -rank))[0])
        return block.start + best, int(actions[best])

    def _block(self, game: int, node: int = 0) -> slice:
        first = int(self._ints[game, kernels.FIRST, node])
        return slice(first, first + int(self._ints[game, kernels.COUNT, node]))

    def _actions(self, game: int, block: slice) -> NDArray[np.int64]:
        points = self._ints[game, kernels.POINT, block]
        actions = self._roots.words[game, points + rules.ACTION].astype(np.int64)
        return np.where(points == 0, self._pass, actions)

    def _child(self, game: int, action: int) -> int:
        """Return the node that an action at the root leads to, 0 for none."""
        block = self._block(game)
        found = np.flatnonzero(self._actions(game, block) == action)
        return block.start + int(found[0]) if len(found) else 0
