"""The end of play under rules that a tree, which counts by area, does not know."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import GameError
from miai.game import State
from miai.search.protocol import SearchResult
from miai.values import ValueUnit
from miai_go.rules.board import BLACK
from miai_go.rules.dead_stones import settle, settled_margin
from miai_go.rules.game import GoGame, GoState, Phase
from miai_go.search.tree_view import TreeView

_CLOSE: Final = 0.05
"""Under territory scoring, a pass this close to the best value is as good."""
_TRIED: Final = 10
"""Visits after which the value of a pass counts."""


def go_state(state: State, game: GoGame) -> GoState:
    """Return a state that a search of `game` can begin at. Raises `GameError` for others."""
    if not isinstance(state, GoState) or state.game.size != game.size:
        raise GameError(f"this search is for Go on {game.size}x{game.size}")
    if state.game is not game and (state.game.rules, state.game.white_bonus) != (
        game.rules,
        game.white_bonus,
    ):
        raise GameError("this search is for Go with other rules or another komi")
    if state.is_terminal():
        raise GameError("the game is over: there is nothing to search")
    return state


def settled(state: GoState, *, pass_when_winning: bool) -> SearchResult | None:
    """Return the result of a position that needs no search, or None.

    The game's own judge settles dead stones. A pass is answered by a pass if that wins.
    """
    if state.phase != Phase.PLAY:
        action, value = settle(state), value_of_margin(settled_margin(state), state)
    # Two passes end the game: if it is won as counted now, playing on can only lose it.
    elif state.passes and pass_when_winning and pass_value(state) > 0:
        action, value = state.game.pass_action, pass_value(state)
    else:
        return None
    return SearchResult(action=action, value=value, unit=ValueUnit.EXPECTED_UTILITY)


def counts_like_a_tree(game: GoGame) -> bool:
    """Return whether the game counts as trees do: by area, every stone alive."""
    return game.rules.scoring == "area" and game.rules.dead_stones == "none"


def pass_value(state: GoState) -> float:
    """Return the utility of two passes now for the player to move; 0 where it does not matter."""
    if state.passes > 0 or state.game.rules.scoring == "territory":
        return value_of_margin(settled_margin(state), state)
    return 0.0


def root_mask(state: GoState, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the moves that a search may choose, bool of shape (size * size + 1,), pass last.

    The legal ones, without a pass that ends and loses the game if there is any other move that the
    tree has (`allowed`).
    """
    mask = np.zeros(state.game.pass_action + 1, np.bool_)
    mask[state.legal_actions()] = True
    if state.passes > 0 and pass_value(state) < 0 and (mask & allowed)[:-1].any():
        mask[-1] = False
    return mask


def choose(state: GoState, tree: TreeView) -> int:
    """Return the move to play after a search.

    If the game counts in another way than the tree, that is not always the tree's best. Under
    territory scoring it is a pass as soon as the board, counted now, is won and no move is worth
    more. It is not a pass that loses by the game's own count, unless nothing else was tried.
    """
    best = tree.best()
    if counts_like_a_tree(state.game):
        return best
    # The tree counts every stone as alive and prisoners not at all, so near the end its values tell
    # too little: what a pass is worth now is counted by the game's own judge instead.
    visits, values = tree.visits(), np.nan_to_num(tree.values(), nan=-1.0)
    last = state.game.pass_action
    if state.game.rules.scoring == "territory" and pass_value(state) > 0:
        if visits[last] >= _TRIED and values[last] >= values[best] - _CLOSE:
            return last
    elif best == last and value_of_margin(settled_margin(state), state) < 0:
        others = visits[:-1].copy()
        others[~tree.allowed()[:-1]] = 0
        if others.any():
            return int(others.argmax())
    return best


def value_of_margin(margin: float, state: GoState) -> float:
    """Return the utility of a margin of Black's for the player to move."""
    black = float(np.sign(margin))
    return black if state.to_move == BLACK else -black
