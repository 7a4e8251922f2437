"""The search ``mcts`` of Go: a compiled UCT tree with optional RAVE, and playouts at its leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.kernels import FAMILY, rules
from miai_go.kernels import uct as kernels
from miai_go.kernels.playouts import PlayoutSpace
from miai_go.rules.board import Board, BoardError, KoRule, check_size, history_key
from miai_go.rules.dead_stones import settled_margin
from miai_go.rules.game import GoGame, GoState
from miai_go.rules.game_parameters import GoParameters, Rules
from miai_go.rules.playouts import WARM_UP_SIZE, load_rules
from miai_go.search.advice import Advice
from miai_go.search.player_parameters import GoMctsParameters
from miai_go.search.tree_search import SearchClock, TreeSearch
from miai_go.search.tree_view import TreeView

_CHUNK = 512  # maximum simulations between looks at the clock
_FPU = 10.0  # value of an untried move: every move is tried once before any is tried again
_LOOK_SECONDS = 0.01  # between two looks at the clock


class UctTree(TreeView):
    """UCT with optional RAVE, one playout for every simulation, kept between moves.

    Values are results, not points: 1 is a won game, -1 a lost one, 0 a draw, for the player to
    move at the root unless said otherwise.

    Moves in the tree are the legal ones that do not fill an own eye, and the pass. Two passes end
    the game and are scored as the board stands, by area; wins and losses found so are proven and
    cost no more simulations. Superko is kept in the tree, simple ko in the playouts. Not safe for
    use by two threads at once.

    With the same seed, positions and simulations the results are the same. `tactical` playouts
    answer atari (`miai_go.kernels.tactical`). For the other options see `GoMctsParameters`.
    """

    def __init__(
        self,
        size: int,
        *,
        seed: int,
        exploration: float = 0.5,
        rave: float = 0.0,
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
        # Not cleared: a node is written when it is made, and pages are touched as the tree grows.
        nodes = np.empty((kernels.FIELDS, max_nodes), np.int32)
        self._board = Board(size)
        self._favoured = np.zeros(points + 1, np.int32)
        super().__init__(
            nodes,
            nodes[kernels.REWARD],
            self._board.words,
            actions=points + 1,
            virtual=self._favoured,
        )
        self.size = size
        self._pass = points
        self._spare: NDArray[np.int32] | None = None
        self._weights = np.array([exploration, _FPU, rave, 0.0])
        self._settings = np.zeros(kernels.SETTINGS, np.int64)
        self._settings[kernels.EXPAND_AFTER] = expand_after
        self._settings[kernels.TACTICAL] = tactical
        self._rng = np.array([seed % 2**64], np.uint64)
        self._history = np.zeros(0, np.uint64)
        self._space = kernels.SimulationSpace(
            path=np.zeros(3 * points + 8, np.int32),
            first_by=np.zeros(rules.board_words(size) // rules.RECORD, np.int8),
            scores=np.zeros(points + 1, np.float32),
            playout=PlayoutSpace(
                board=np.zeros(rules.board_words(size), np.uint32),
                record=np.zeros(3 * points, np.uint32),
                owner=np.zeros(points, np.int8),
                stack=np.zeros(points, np.int32),
            ),
        )
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
    ) -> None:
        """Start a new tree at `board` with `color` to move, after `passes` passes.

        Args:
          history: `history_key` of every earlier position that superko compares with; the present
            one may be left out.
        """
        if board.size != self.size:
            raise BoardError(f"the tree is for boards of size {self.size}, not {board.size}")
        self._board = board.copy()
        self._words = self._board.words
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

    def restrict(self, legal: ArrayLike) -> None:
        """Forbid the moves at the root that a mask (size * size + 1,), pass last, leaves out."""
        self._search(0)
        super().restrict(legal)

    def favour(self, results: ArrayLike) -> None:
        """Give moves at the root virtual results, which replace earlier ones.

        They count in the search, RAVE included (Gelly and Silver 2007), but not in the number of
        simulations, the choice of the best move, or the tree that is kept.

        Args:
          results: integers of shape (size * size + 1,), pass last: wins, or losses below 0.
        """
        targets = np.asarray(results, np.int32)
        if targets.shape != (self._pass + 1,):
            raise BoardError(f"the results have shape {targets.shape}, not ({self._pass + 1},)")
        self._search(0)
        block, actions = self.children(), self.actions()
        # Only the difference to earlier results is added: a root may be favoured more than once.
        times = (np.abs(targets) - np.abs(self._favoured))[actions]
        rewards = (targets - self._favoured)[actions]
        for visits, reward in (
            (kernels.VISITS, kernels.REWARD),
            (kernels.AMAF_VISITS, kernels.AMAF_REWARD),
        ):
            self._nodes[visits, block] += times
            self._nodes[reward, block] += rewards
        self._favoured[:] = targets

    def advance(self, action: int) -> bool:
        """Play `action` at the root and keep the subtree; return whether there was one.

        The caller checks superko. Raises `IllegalPointError` if the move breaks the basic rules.
        """
        # Virtual results are for this root. In the subtree they would pass for visits that somebody
        # made.
        if self._favoured.any():
            self.favour(np.zeros_like(self._favoured))
        child = self.child(action)
        suicide = bool(self._settings[kernels.SUICIDE])
        self._board.play(self.to_move, action, suicide=suicide)
        passes = self._settings[kernels.PASSES] + 1 if action == self._pass else 0
        self._settings[kernels.PASSES] = passes
        self._settings[kernels.COLOR] = 3 - self._settings[kernels.COLOR]
        self._remember(np.array([self._key()], np.uint64))
        if child == 0 or self._nodes[kernels.VISITS, child] == 0:
            self._clear()
            return False
        if self._spare is None:
            self._spare = np.empty_like(self._nodes)
        self._settings[kernels.USED] = kernels.keep_subtree(self._nodes, self._spare, child)
        self._nodes, self._spare = self._spare, self._nodes
        self._totals = self._nodes[kernels.REWARD]
        return True

    def run(
        self,
        simulations: int | None = None,
        *,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Search until the simulations or the seconds are used up, or `stop` returns True.

        Returns the number of simulations. Ends early when the root is proven. With simulations
        alone, splitting them over several calls does not change the result. Raises `ValueError`
        without a budget.
        """
        if simulations is None and seconds is None and stop is None:
            raise ValueError("give a budget: simulations, seconds or a stop function")
        started = perf_counter()
        # Under a clock the first chunk is small, for slow machines; then the measured rate decides.
        chunk = 16 if seconds is not None else _CHUNK
        total = 0
        while simulations is None or total < simulations:
            batch = chunk if simulations is None else min(chunk, simulations - total)
            before = perf_counter()
            count = self._search(batch)
            total += count
            now = perf_counter()
            if count < batch or (stop is not None and stop()):
                break
            if seconds is not None:
                remaining = seconds - (now - started)
                if remaining <= 0:
                    break
                rate = count / max(now - before, 1e-6)
                chunk = int(min(max(rate * min(_LOOK_SECONDS, remaining), 1), _CHUNK))
        return total

    @property
    def board(self) -> Board:
        """A copy of the board at the root."""
        return self._board.copy()

    @property
    def to_move(self) -> int:
        """The player to move at the root."""
        return int(self._settings[kernels.COLOR]) - 1

    @property
    def nodes(self) -> int:
        """Nodes in memory."""
        return int(self._settings[kernels.USED])

    def allowed(self) -> NDArray[np.bool_]:
        """Return the moves that the tree has at the root, (size * size + 1,), pass last."""
        self._search(0)
        return super().allowed()

    def best(self) -> int:
        """Return the move to play; see `TreeView.best_child`."""
        self._search(0)
        return super().best()

    def _search(self, simulations: int) -> int:
        tree = kernels.UctArrays(
            self._nodes, self._settings, self._weights, self._history, self._rng
        )
        return kernels.search(self._board.words, tree, simulations, self._space)

    def _clear(self) -> None:
        self._nodes[:, 0] = 0
        self._settings[kernels.USED] = 1
        self._favoured[:] = 0

    def _key(self) -> int:
        return history_key(self._board.hash, self.to_move, self._ko_rule)

    def _remember(self, keys: NDArray[np.uint64]) -> None:
        """Append to the history, keeping room for a path."""
        known = int(self._settings[kernels.HISTORY])
        needed = known + len(keys) + len(self._space.path)
        if needed > len(self._history):
            self._history = np.concatenate([self._history[:known], np.zeros(2 * needed, np.uint64)])
        self._history[known : known + len(keys)] = keys
        self._settings[kernels.HISTORY] = known + len(keys)


@cache
def load_search() -> None:
    """Load the kernels of the tree search, and of the rules that it needs between moves."""
    with FAMILY.compiling("search"):
        tree = UctTree(WARM_UP_SIZE, seed=0, max_nodes=1000)
        tree.run(20)  # first, while another process may compile the rules
        load_rules()
        tree.advance(tree.best())


class GoMcts(TreeSearch):
    """Monte Carlo tree search for Go, tree and playouts compiled.

    The tree knows the ko rule of the game, superko included. Advice about enclosed groups becomes
    virtual wins at the root.
    """

    ROOT_IS_VALUED = False
    parameters: GoMctsParameters
    _tree: UctTree

    def __init__(self, game: GoGame, parameters: GoMctsParameters | None = None) -> None:
        super().__init__(game, parameters or GoMctsParameters())

    def _plant(self, seed: int) -> None:
        warm_up(self.game)
        parameters = self.parameters
        self._tree = UctTree(
            self.game.size,
            seed=seed,
            exploration=parameters.exploration_used,
            rave=parameters.rave,
            expand_after=parameters.expand_after,
            tactical=parameters.playouts == "tactical",
            max_nodes=max(parameters.max_nodes, self.game.pass_action + 2),
        )

    def _set_root(self, state: GoState) -> None:
        superko = self.game.ko_rule != KoRule.SIMPLE
        self._tree.set_root(
            state.board,
            state.to_move,
            komi=state.game.white_bonus,
            passes=state.passes,
            history=state.positions() if superko else (),
            ko_rule=self.game.ko_rule,
            suicide=self.game.rules.suicide,
        )

    def _play(self, action: int) -> None:
        self._tree.advance(action)

    def _expand_root(self) -> None:
        pass  # `UctTree.allowed` does

    def _favour(self, advice: Advice) -> None:
        self._tree.favour(np.where(self._tree.allowed(), advice.results(), 0))

    def _grow(self, clock: SearchClock | None) -> int:
        return self._tree.run(
            self._limit or None,
            # The seconds size the chunks, the clock decides when to stop.
            seconds=None if clock is None else clock.remaining(),
            stop=clock,
        )


def warm_up(game: GoGame) -> None:
    """Compile every kernel that a game of these rules calls, or load it from the cache on disk.

    After this no clock is charged for compilation.
    """
    if game.rules in _warm:
        return
    load_search()
    values = asdict(game.rules)
    if values["dead_stones"] != "none":
        values["dead_stones"] = "agreement"  # which uses the judge by playouts
    small = GoGame(GoParameters(board_size=3, **values))
    _warm.update((game.rules, small.rules))  # before the search below, which warms up too
    state = small.new_initial_state()
    search = GoMcts(small, GoMctsParameters(simulations=20, max_nodes=1000))
    # Two moves: the first search plants a tree, the second one is in a tree that followed a move,
    # which other kernels do.
    for action in (4, 0):
        search.search(state)
        state.apply_action(action)
        search.advance(action)
    state.child(1).legal_actions()
    settled_margin(state)
    if state.game.rules.dead_stones != "none":
        state.score_with_dead((0,))


_warm: Final[set[Rules]] = set()
