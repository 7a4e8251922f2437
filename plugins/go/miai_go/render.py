"""Boards as text for a terminal, and the renderer of Go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from numpy.typing import NDArray

from miai_go.coordinates import COLUMNS
from miai_go.phases import Phase
from miai_go.pictures import board_definitions, board_picture

if TYPE_CHECKING:
    from miai.game import Game, State
    from miai.information import PlayerView
    from miai_go.game import GoGame
    from miai_go.state import GoState

STONES: Final = ".XO"
"""Empty, Black, White; dead stones are lower case."""

_TASKS: Final = {
    Phase.PLAY: "to play",
    Phase.PROPOSE: "to propose dead stones",
    Phase.REPLY: "to accept or resume",
}


def draw(
    stones: NDArray[np.int8],
    *,
    last: int | None = None,
    dead: tuple[int, ...] = (),
    stars: tuple[int, ...] = (),
    marks: Mapping[int, str] | None = None,
) -> str:
    """Return a board with coordinates, highest row first: X Black, O White, + star points.

    Args:
      stones: int8 of shape (size, size); row 0 is drawn lowest.
      last: the action to put in parentheses; a pass is not shown.
      dead: points of stones that are drawn in lower case.
      stars: points to mark where they are empty.
      marks: a character for each of these points instead of what lies there.
    """
    size = len(stones)
    header = "   " + " ".join(COLUMNS[:size])
    lines = [header]
    for row in reversed(range(size)):
        cells = " "
        for column in range(size):
            point = row * size + column
            cell = _cell(int(stones[row, column]), point in dead, point in stars)
            cells += (marks or {}).get(point, cell)
            cells += "(" if point + 1 == last and column + 1 < size else " "
            if point == last:
                cells = f"{cells[:-1]})"
        if last is not None and last == row * size:
            cells = "(" + cells[1:]
        lines.append(f"{row + 1:2}{cells}{row + 1}")
    lines.append(header)
    return "\n".join(lines)


def _cell(stone: int, dead: bool, star: bool) -> str:
    if stone == 0:
        return "+" if star else STONES[0]
    return STONES[stone].lower() if dead else STONES[stone]


def describe(state: GoState, *, marks: Mapping[int, str] | None = None) -> str:
    """Return a state as text: the board, and who is to do what, or the result.

    Args:
      marks: a character for each of these points instead of what lies there.
    """
    result = state.result_to_string()  # settles which stones are dead
    last = state.last_action
    picture = draw(
        state.board.stones(), last=last, dead=state.dead, stars=state.game.star_points, marks=marks
    )
    by_black, by_white = state.board.captures
    taken = f"captured: Black {by_black}, White {by_white}"
    if state.phase == Phase.OVER:
        return f"{picture}\n{result}; {taken}"
    name = state.game.info.player_names[state.to_move].capitalize()
    after = "" if last is None else f" after {state.action_to_string(last)}"
    return f"{picture}\n{name} {_TASKS[state.phase]}{after}; {taken}"


class GoRenderer:
    """The renderer of Go: the board with coordinates, star points and the last move marked."""

    def __init__(self, game: Game, parameters: object = None) -> None:
        self.game = game

    def render(self, view: PlayerView) -> str:
        """Return the position of a view, with who is to move and the prisoners."""
        return str(view.state)

    def marked(self, view: PlayerView, marks: Mapping[int, str]) -> str:
        """Return the position with a character at the place of each action, the pass left out."""
        return describe(cast("GoState", view.state), marks=marks)

    def svg_definitions(self) -> str:
        """Return the empty board as a definition."""
        return board_definitions(cast("GoGame", self.game).size)

    def svg(self, view: PlayerView) -> str:
        """Return the position of a view as a picture."""
        return self.svg_state(view.state)

    def svg_state(self, state: State) -> str:
        """Return a position as a picture: the last move marked, dead stones crossed out."""
        position = cast("GoState", state)
        position.result_to_string()  # settles which stones are dead
        return board_picture(position.board.stones(), last=position.last_action, dead=position.dead)

    def hint(self, view: PlayerView) -> str:
        """Return what to do while dead stones are settled; empty while stones are placed."""
        state = cast("GoState", view.state)
        if state.phase == Phase.PROPOSE:
            return _proposal_hint(state)
        if state.phase == Phase.REPLY:
            proposed = "The stones in lower case" if state.dead else "No stones"
            return f"{proposed} would be dead: pass accepts that, resume plays on."
        return ""


def _proposal_hint(state: GoState) -> str:
    stones = [action for action in state.legal_actions() if action != state.game.pass_action]
    if not stones:
        return "No stone is left to name; pass ends the list."
    example = state.action_to_string(stones[0])
    return f"Name a dead stone, such as {example}, to mark its chain; pass ends the list."
