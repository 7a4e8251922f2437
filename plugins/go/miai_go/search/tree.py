"""Compiled Monte Carlo tree search for Go.

Loading kernels, or compiling them, before a clock runs.

Each function does its work once in a process. After an installation that takes some seconds, later
a fraction of one, which reads the cache on disk; see `miai.kernels.cache`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.kernels import FAMILY, rules
from miai_go.kernels import uct as kernels
from miai_go.rules.board import Board, BoardError, KoRule, check_size, history_key
from miai_go.rules.playouts import WARM_UP_SIZE, load_rules

_CHUNK = 512  # simulations between looks at the clock, at most
_LOOK_SECONDS = 0.01  # between two looks at the clock


class Tree:
    """UCT with optional RAVE, one playout for every simulation, kept between moves.

    Values are results, not points: 1 is a won game, -1 a lost one, 0 a draw, for the player to
    move at the root unless said otherwise.

    Moves in the tree are the legal ones that do not fill an own eye, and the pass. Two passes end
    the game and are scored as the board stands, by area; wins and losses found so are proven and
    cost no more simulations. Superko is kept in the tree, simple ko in the playouts. Not safe for
    use by two threads at once.

    Args:
      size: points on a side.
      seed: the same seed, positions and numbers of simulations give the same results.
      exploration: factor of the UCT term, on values from -1 to 1.
      rave: number of visits at which a move's own value and its all-moves-as-first value have
        equal weight; 0 switches RAVE off.
      fpu: value of a move never tried; above 1 plus the exploration term, every move is tried
        before any is tried twice.
      expand_after: visits after which a node gets children.
      max_nodes: maximum size in nodes (32 bytes each, doubled by reuse). When full, the search
        continues without expanding.
      tactical: whether playouts answer atari (`miai_go.kernels.tactical`); default: light ones.
    """

    def __init__(
        self,
        size: int,
        *,
        seed: int,
        exploration: float = 0.5,
        rave: float = 0.0,
        fpu: float = 10.0,
        expand_after: int = 1,
        max_nodes: int = 1_000_000,
        tactical: bool = False,
    ) -> None:
        check_size(size)
        points = size * size
        if max_nodes < points + 2:
            raise ValueError(f"max_nodes must be at least {points + 2}, not {max_nodes}")
        if expand_after < 0 or exploration < 0 or rave < 0:
            raise ValueError("expand_after, exploration and rave must not be negative")
        self.size = size
        self._pass = points
        self._nodes = np.empty((kernels.FIELDS, max_nodes), np.int32)
        self._spare: NDArray[np.int32] | None = None
        self._weights = np.array([exploration, fpu, rave, 0.0])
        self._settings = np.zeros(kernels.SETTINGS, np.int64)
        self._settings[kernels.EXPAND_AFTER] = expand_after
        self._settings[kernels.TACTICAL] = tactical
        self._rng = np.array([seed % 2**64], np.uint64)
        self._path = np.zeros(3 * points + 8, np.int32)
        self._history = np.zeros(0, np.uint64)
        self._scratch = (
            np.zeros(3 * points, np.uint32),
            np.zeros(rules.board_words(size) // rules.RECORD, np.int8),
            np.zeros(points + 1, np.float32),
            np.zeros(points, np.int8),
            np.zeros(points, np.int32),
        )
        self._words = np.zeros(rules.board_words(size), np.uint32)
        self._board = Board(size)
        self._given = np.zeros(points + 1, np.int32)
        self.set_root(self._board, 0, komi=0.0)

    def set_root(
        self,
        board: Board,
        color: int,
        *,
        komi: float,
        passes: int = 0,
        history: Sequence[int] | NDArray[np.uint64] = (),
        ko_rule: KoRule = KoRule.SIMPLE,
        suicide: bool = False,
        legal: ArrayLike | None = None,
    ) -> None:
        """Start a new tree at `board` with `color` to move.

        `passes` is the number of passes made just before. `history` holds the `history_key` of
        every earlier position that superko compares with; the present one may be left out. `legal`
        is a mask (size * size + 1,), pass last, of the moves allowed at the root. Raises
        `BoardError` for a board of another size or a mask of another shape.
        """
        if board.size != self.size:
            raise BoardError(f"the tree is for boards of size {self.size}, not {board.size}")
        self._board = board.copy()
        self._komi = float(komi)
        self._ko_rule = KoRule(ko_rule)
        self._weights[kernels.KOMI] = komi
        self._settings[kernels.COLOR] = color + 1
        self._settings[kernels.PASSES] = passes
        self._settings[kernels.KO_RULE] = ko_rule
        self._settings[kernels.SUICIDE] = suicide
        self._settings[kernels.HISTORY] = 0
        self._remember(np.asarray(history, np.uint64))
        self._remember(np.array([self._key()], np.uint64))
        self._clear()
        if legal is not None:
            self.restrict(legal)

    def restrict(self, legal: ArrayLike) -> None:
        """Forbid the moves at the root that a mask (size * size + 1,), pass last, leaves out."""
        mask = np.asarray(legal, np.bool_)
        if mask.shape != (self._pass + 1,):
            raise BoardError(f"the mask has shape {mask.shape}, not ({self._pass + 1},)")
        self._search(0)
        block = self._children()
        status = self._nodes[kernels.STATUS, block]
        status[~mask[self._actions(block)]] = kernels.FORBIDDEN

    def favour(self, results: ArrayLike) -> None:
        """Give moves at the root virtual results, in place of those that were given before.

        They count in the search, beside RAVE's too (Gelly and Silver 2007), and nowhere else: not
        in what was simulated, not in the choice of the best, and not in what is kept of the tree.

        Args:
          results: whole numbers of shape (size * size + 1,), pass last: wins, or losses below 0.

        Raises:
          BoardError: they are of another shape.
        """
        wanted = np.asarray(results, np.int32)
        if wanted.shape != (self._pass + 1,):
            raise BoardError(f"the results have shape {wanted.shape}, not ({self._pass + 1},)")
        self._search(0)
        block = self._children()
        actions = self._actions(block)
        times = (np.abs(wanted) - np.abs(self._given))[actions]
        rewards = (wanted - self._given)[actions]
        for visits, reward in (
            (kernels.VISITS, kernels.REWARD),
            (kernels.AMAF_VISITS, kernels.AMAF_REWARD),
        ):
            self._nodes[visits, block] += times
            self._nodes[reward, block] += rewards
        self._given = wanted.copy()

    def advance(self, action: int) -> bool:
        """Play `action` at the root and keep what the tree knows beyond it.

        Returns whether the tree knew anything. Raises `IllegalPointError` for a move against the
        basic rules; superko is the caller's to check.
        """
        if self._given.any():
            self.favour(np.zeros_like(self._given))
        block = self._children()
        found = np.flatnonzero(self._actions(block) == action)
        suicide = bool(self._settings[kernels.SUICIDE])
        self._board.play(self.color, action, suicide=suicide)
        passes = self._settings[kernels.PASSES] + 1 if action == self._pass else 0
        self._settings[kernels.PASSES] = passes
        self._settings[kernels.COLOR] = 3 - self._settings[kernels.COLOR]
        self._remember(np.array([self._key()], np.uint64))
        child = block.start + int(found[0]) if len(found) else 0
        if child == 0 or self._nodes[kernels.VISITS, child] == 0:
            self._clear()
            return False
        if self._spare is None:
            self._spare = np.empty_like(self._nodes)
        self._settings[kernels.USED] = kernels.keep_subtree(self._nodes, self._spare, child)
        self._nodes, self._spare = self._spare, self._nodes
        return True

    def run(
        self,
        simulations: int | None = None,
        *,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Search for a number of simulations or seconds, whichever ends first; return simulations.

        `stop` is asked now and then whether to end early. Ends early, too, when the root is
        proven. With a number of simulations alone, how they are split over calls makes no
        difference to the result. Raises `ValueError` without any budget.
        """
        if simulations is None and seconds is None and stop is None:
            raise ValueError("give a budget: simulations, seconds or a stop function")
        started = perf_counter()
        chunk = 16 if seconds is not None else _CHUNK
        done = 0
        while simulations is None or done < simulations:
            wanted = chunk if simulations is None else min(chunk, simulations - done)
            before = perf_counter()
            got = self._search(wanted)
            done += got
            now = perf_counter()
            if got < wanted or (stop is not None and stop()):
                break
            if seconds is not None:
                left = seconds - (now - started)
                if left <= 0:
                    break
                rate = got / max(now - before, 1e-6)
                chunk = int(min(max(rate * min(_LOOK_SECONDS, left), 1), _CHUNK))
        return done

    @property
    def board(self) -> Board:
        """A copy of the board at the root."""
        return self._board.copy()

    @property
    def color(self) -> int:
        """The player to move at the root."""
        return int(self._settings[kernels.COLOR]) - 1

    @property
    def simulations(self) -> int:
        """Simulations through the root, those kept from earlier moves included."""
        return int(self._nodes[kernels.VISITS, 0])

    @property
    def nodes(self) -> int:
        """Nodes in memory."""
        return int(self._settings[kernels.USED])

    @property
    def proven(self) -> int:
        """1 if the player to move at the root is proven to win, -1 to lose, 0 if neither."""
        return -int(self._nodes[kernels.STATUS, 0])

    @property
    def value(self) -> float:
        """The mean result of the simulations through the root, 0 without any."""
        visits = self.simulations
        return -int(self._nodes[kernels.REWARD, 0]) / visits if visits else 0.0

    def visits(self) -> NDArray[np.int32]:
        """Return how often each move at the root was simulated, (size * size + 1,), pass last."""
        return self._spread(kernels.VISITS) - np.abs(self._given)

    def values(self) -> NDArray[np.float64]:
        """Return the mean result of each move at the root, (size * size + 1,); nan if not tried."""
        visits = self.visits()
        rewards = self._spread(kernels.REWARD) - self._given
        return np.where(visits > 0, rewards / np.maximum(visits, 1), np.nan)

    def allowed(self) -> NDArray[np.bool_]:
        """Return which moves the root has, (size * size + 1,), as far as is known."""
        self._search(0)
        block = self._children()
        mask = np.zeros(self._pass + 1, np.bool_)
        status = self._nodes[kernels.STATUS, block]
        mask[self._actions(block)[status != kernels.FORBIDDEN]] = True
        return mask

    def best(self) -> int:
        """Return the move to play: a proven win, otherwise the one with the most visits.

        A proven loss only where nothing else is left. Among equals the higher mean result, then
        the lower number.
        """
        self._search(0)
        return self._best_of(0)[1]

    def principal_variation(self, length: int = 20) -> list[int]:
        """Return the best moves for both players, from the root on, as far as they were tried."""
        moves: list[int] = []
        node = 0
        while len(moves) < length and self._nodes[kernels.COUNT, node] > 0:
            node, action = self._best_of(node)
            if self._nodes[kernels.VISITS, node] == 0:
                break
            moves.append(action)
        return moves

    def _search(self, simulations: int) -> int:
        return kernels.search(
            self._board.words,
            self._words,
            self._nodes,
            self._settings,
            self._weights,
            self._history,
            self._rng,
            simulations,
            self._path,
            *self._scratch,
        )

    def _clear(self) -> None:
        self._nodes[:, 0] = 0
        self._settings[kernels.USED] = 1
        self._given[:] = 0

    def _key(self) -> int:
        return history_key(self._board.hash, self.color, self._ko_rule)

    def _remember(self, keys: NDArray[np.uint64]) -> None:
        """Append to the history, keeping room for a path."""
        known = int(self._settings[kernels.HISTORY])
        needed = known + len(keys) + len(self._path)
        if needed > len(self._history):
            self._history = np.concatenate([self._history[:known], np.zeros(2 * needed, np.uint64)])
        self._history[known : known + len(keys)] = keys
        self._settings[kernels.HISTORY] = known + len(keys)

    def _children(self, node: int = 0) -> slice:
        first = int(self._nodes[kernels.FIRST, node])
        return slice(first, first + int(self._nodes[kernels.COUNT, node]))

    def _actions(self, block: slice) -> NDArray[np.int64]:
        points = self._nodes[kernels.POINT, block]
        actions = self._board.words[points + rules.ACTION].astype(np.int64)
        return np.where(points == 0, self._pass, actions)

    def _spread(self, field: int) -> NDArray[np.int32]:
        block = self._children()
        out = np.zeros(self._pass + 1, np.int32)
        out[self._actions(block)] = self._nodes[field, block]
        return out

    def _best_of(self, node: int) -> tuple[int, int]:
        """Return the best child of a node that has children, and the action that leads there."""
        block = self._children(node)
        actions = self._actions(block)
        given = self._given[actions] if node == 0 else np.zeros_like(actions)
        visits = self._nodes[kernels.VISITS, block] - np.abs(given)
        values = (self._nodes[kernels.REWARD, block] - given) / np.maximum(visits, 1)
        status = self._nodes[kernels.STATUS, block]
        rank = np.where(status == kernels.OPEN, 0, status)
        best = int(np.lexsort((actions, -values, -visits, -rank))[0])
        return block.start + best, int(actions[best])


@cache
def load_search() -> None:
    """Load the tree search, and the rules that it needs between moves."""
    load_rules()
    with FAMILY.compiling("search"):
        tree = Tree(WARM_UP_SIZE, seed=0, max_nodes=1000)
        tree.run(20)
        tree.advance(tree.best())
