"""The search ``mcts`` of Go: the compiled tree, under all the rules of the game.

When a search with a budget in seconds ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from miai.game import State
from miai.search.protocol import SearchResult
from miai_go.rules.board import KoRule
from miai_go.rules.dead_stones import settled_margin
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import GoParameters
from miai_go.rules.phases import Start
from miai_go.rules.rule_sets import Rules
from miai_go.rules.state import GoState
from miai_go.search.ending import choose, counts_like_a_tree, go_state, root_mask, settled
from miai_go.search.parameters import GoMctsParameters
from miai_go.search.tree import Tree, load_search

if TYPE_CHECKING:
    from miai_go.search.life_advice import Advice, InPlay


_TRIED = 0.1
"""Share of the seconds that must have passed before the rate of simulations is believed."""


class SearchClock:
    """Says that the time of a search is over, or that the rest of it would change nothing.

    The most visited move is played. So once every simulation that there is still time for, at the
    rate so far, could not bring the second to as many visits as the first, the rest is saved
    (Huang, Coulom, Lin 2010, "Time management for Monte-Carlo tree search applied to the game of
    Go").

    Args:
      seconds: the budget.
      started: since when, as `time.perf_counter` tells.
      visits: asked for the visits of the moves at the root; None where time alone counts.
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float,
        visits: Callable[[], NDArray[np.int32]] | None = None,
    ) -> None:
        self._started = started
        self._seconds = seconds
        self._visits = visits
        self._before = int(visits().sum()) if visits is not None else 0

    def __call__(self) -> bool:
        """Return whether to stop."""
        passed = perf_counter() - self._started
        if passed >= self._seconds:
            return True
        if self._visits is None or passed < _TRIED * self._seconds:
            return False
        visits = np.sort(self._visits())
        rate = (int(visits.sum()) - self._before) / passed
        lead = int(visits[-1] - visits[-2]) if len(visits) > 1 else 0
        return lead > rate * (self._seconds - passed)


__all__ = ["GoMcts", "GoMctsParameters", "warm_up"]


class GoMcts:
    """Monte Carlo tree search for Go, tree and playouts compiled.

    The tree knows the ko rule of the game, superko included, and counts by area as the board
    stands. Where the game counts otherwise (territory, dead stones taken off), that is an
    approximation, and this class sees to the end of play: a pass that would lose by the game's own
    count is not played while there is anything else, and under territory scoring it passes as soon
    as the board, counted now, is won and no move is worth more than a pass.

    The tree is reused: it advances with the game. Of a draw by repetition under simple ko the tree
    knows nothing. Fixed numbers of simulations are reproducible; seconds are not.

    With `tsumego` it asks about enclosed groups first, see `miai_go.search.life_advice`: moves that
    save or kill get virtual wins at the root.

    Attributes:
      game, parameters: what it was built from.
    """

    def __init__(self, game: GoGame, parameters: GoMctsParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or GoMctsParameters()
        self._seed = 0
        self._tree: Tree | None = None
        self._start: Start | None = None
        self._line: list[int] = []
        self._in_play: InPlay | None = None

    def new_game(self, seed: int) -> None:
        """Forget everything, seed the randomness, and compile what is not compiled yet."""
        warm_up(self.game)
        self._in_play = self.parameters.asked()
        self._seed = seed
        self._tree = None
        self._start = None
        self._line = []

    def advance(self, action: int) -> None:
        """Follow the game: keep what the tree knows beyond `action`."""
        if self._start is None or self._tree is None:
            return
        tree, suicide = self._tree, self.game.rules.suicide
        over = self._line[-1:] == [self.game.pass_action] == [action]  # no move of the tree follows
        known = action <= self.game.pass_action and not over and self.parameters.reuse
        if known and tree.board.is_legal(tree.color, action, suicide=suicide):
            tree.advance(action)
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
        """
        position = go_state(state, self.game)
        done = settled(position, pass_when_winning=self.parameters.pass_when_winning)
        if done is not None:
            return done
        tree = self._tree_at(position)
        limits = [limit for limit in (self.parameters.seconds, seconds) if limit is not None]
        seconds = min(limits, default=None)
        began = perf_counter()
        advice = self._advised(tree, seconds)
        if seconds is not None:
            seconds -= perf_counter() - began
        return self._result(position, tree, self._run(tree, seconds), advice)

    def _advised(self, tree: Tree, seconds: float | None) -> Advice | None:
        """Favour what is known of enclosed groups; None where nobody is asked."""
        self._in_play = self._in_play or self.parameters.asked()
        if self._in_play is None or tree.proven:
            return None
        advice = self._in_play.look(tree.board, tree.color, seconds=seconds)
        tree.favour(np.where(tree.allowed(), advice.results(), 0))
        return advice

    def _run(self, tree: Tree, seconds: float | None) -> int:
        simulations = self.parameters.simulations or None
        if seconds is None:
            return tree.run(simulations)
        early = self.parameters.stop_early and simulations is None
        stop = SearchClock(seconds, started=perf_counter(), visits=tree.visits) if early else None
        return tree.run(simulations, seconds=seconds, stop=stop)

    # -- the tree -----------------------------------------------------------------------------

    def _tree_at(self, state: GoState) -> Tree:
        """Return a tree whose root is the state, as much of it kept as can be."""
        tree = self._tree
        if tree is None:
            parameters = self.parameters
            tree = self._tree = Tree(
                self.game.size,
                seed=self._seed,
                exploration=parameters.exploration_used,
                rave=parameters.rave,
                fpu=parameters.fpu,
                expand_after=parameters.expand_after_used,
                tactical=parameters.playouts == "tactical",
                max_nodes=max(parameters.max_nodes, self.game.pass_action + 2),
            )
        # A proof counts by area, as the board stands: where the game does not, it is none.
        trusted = tree.proven == 0 or counts_like_a_tree(self.game)
        if not (self._start == state.start and self._line == state.history() and trusted):
            self._set_root(tree, state)
        tree.restrict(root_mask(state, tree.allowed()))
        return tree

    def _set_root(self, tree: Tree, state: GoState) -> None:
        superko = self.game.ko_rule != KoRule.SIMPLE
        tree.set_root(
            state.board,
            state.to_move,
            komi=state.game.white_bonus,
            passes=state.passes,
            history=state.positions() if superko else (),
            ko_rule=self.game.ko_rule,
            suicide=self.game.rules.suicide,
        )
        self._start = state.start
        self._line = state.history()

    # -- the choice ---------------------------------------------------------------------------

    def _result(self, state: GoState, tree: Tree, done: int, advice: Advice | None) -> SearchResult:
        visits = tree.visits()
        values = np.nan_to_num(tree.values())
        action = choose(state, tree)
        proven = tree.proven if counts_like_a_tree(self.game) else 0
        value = float(proven or values[action])
        resign = self.parameters.resign_below
        pv = tree.principal_variation()
        tried = np.flatnonzero(visits).tolist()
        return SearchResult(
            action=action,
            value=value,
            visits={a: int(visits[a]) for a in tried},
            values={a: float(values[a]) for a in tried},
            pv=tuple(pv) if pv[:1] == [action] else (action,),
            resign=resign is not None and done > 0 and value < resign,
            statistics={
                "simulations": done,
                "reused": max(tree.simulations - done, 0),
                "nodes": tree.nodes,
                **({} if advice is None else {"tsumego": advice.statistics}),
            },
        )


def warm_up(game: GoGame) -> None:
    """Compile every kernel that a game of these rules calls, or load it from the cache on disk.

    After this no clock is ever charged for compilation. Takes some seconds after an installation,
    a fraction of one later, nothing the second time in a process.
    """
    if game.rules in _warm:
        return
    load_search()
    values = asdict(game.rules)
    if values["dead_stones"] != "none":
        values["dead_stones"] = "agreement"  # which asks the judge by playouts
    small = GoGame(GoParameters(board_size=3, **values))
    state = small.new_initial_state()
    search = GoMcts(small, GoMctsParameters(simulations=20, max_nodes=1000))
    for action in (4, 0):
        search.search(state)
        state.apply_action(action)
        search.advance(action)
    state.child(1).legal_actions()
    settled_margin(state)
    if state.game.rules.dead_stones != "none":
        state.score_with_dead((0,))
    _warm.add(game.rules)


_warm: Final[set[Rules]] = set()
