"""Games and positions of Go from words and drawn boards."""

from __future__ import annotations

from typing import Any

import miai
from miai_go.rules.game import GoGame, GoState


def go(**parameters: Any) -> GoGame:
    game = miai.load_game("go", **parameters)
    assert isinstance(game, GoGame)
    return game


def position(picture: str, *, to_move: str = "black", **parameters: Any) -> GoState:
    """A state from a drawn board, highest row first: X Black, O White."""
    rows = picture.split()
    size = len(rows)
    stones: dict[str, list[str]] = {"X": [], "O": [], ".": []}
    for number, row in enumerate(rows):
        for column, what in enumerate(row):
            stones[what].append(f"{'ABCDEFGHJKLMNOPQRST'[column]}{size - number}")
    game = go(
        board_size=size,
        black_stones=stones["X"],
        white_stones=stones["O"],
        first_player=to_move,
        **parameters,
    )
    return game.new_initial_state()


def play(state: GoState, moves: str) -> GoState:
    """Apply moves by their names; return the state."""
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state
