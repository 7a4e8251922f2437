"""The search ``mcts`` of Go: the compiled UCT tree with playouts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import numpy as np

from miai_go.rules.board import KoRule
from miai_go.rules.dead_stones import settled_margin
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import GoParameters, Rules
from miai_go.rules.state import GoState
from miai_go.search.parameters import GoMctsParameters
from miai_go.search.tree import Tree, load_search
from miai_go.search.tree_search import SearchClock, TreeSearch

if TYPE_CHECKING:
    from miai_go.search.life_advice import Advice


class GoMcts(TreeSearch):
    """Monte Carlo tree search for Go, tree and playouts compiled.

    The tree knows the ko rule of the game, superko included. Advice about enclosed groups becomes
    virtual wins at the root.
    """

    ROOT_IS_VALUED = False
    parameters: GoMctsParameters

    def __init__(self, game: GoGame, parameters: GoMctsParameters | None = None) -> None:
        super().__init__(game, parameters or GoMctsParameters())

    def _plant(self, seed: int) -> None:
        warm_up(self.game)
        parameters = self.parameters
        self._uct = Tree(
            self.game.size,
            seed=seed,
            exploration=parameters.exploration_used,
            rave=parameters.rave,
            fpu=parameters.fpu,
            expand_after=parameters.expand_after_used,
            tactical=parameters.playouts == "tactical",
            max_nodes=max(parameters.max_nodes, self.game.pass_action + 2),
        )

    def _tree(self) -> Tree:
        return self._uct

    def _set_root(self, state: GoState) -> None:
        superko = self.game.ko_rule != KoRule.SIMPLE
        self._uct.set_root(
            state.board,
            state.to_move,
            komi=state.game.white_bonus,
            passes=state.passes,
            history=state.positions() if superko else (),
            ko_rule=self.game.ko_rule,
            suicide=self.game.rules.suicide,
        )

    def _play(self, action: int) -> None:
        self._uct.advance(action)

    def _expand_root(self) -> None:
        pass  # `Tree.allowed` does

    def _favour(self, advice: Advice) -> None:
        self._uct.favour(np.where(self._uct.allowed(), advice.results(), 0))

    def _grow(self, clock: SearchClock | None) -> int:
        return self._uct.run(
            self.parameters.simulations or None,
            seconds=None if clock is None else clock.remaining(),
            stop=clock,
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
    _warm.update((game.rules, small.rules))  # before the search below, which warms up too
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


_warm: Final[set[Rules]] = set()
