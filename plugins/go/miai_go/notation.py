"""Actions of Go as text, and why an action is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from miai.errors import InvalidActionError
from miai_go.board import EMPTY
from miai_go.coordinates import parse_vertex
from miai_go.phases import Phase

if TYPE_CHECKING:
    from miai_go.state import GoState

RESUME: Final = "resume"


def read_action(state: GoState, text: str) -> int:
    """Return the legal action that is written so: ``D4``, ``pass``, ``resume``; case ignored.

    Where dead chains are marked, any stone of a chain names it.

    Raises:
      InvalidActionError: no vertex, or no legal action; the message says why.
    """
    if text.strip().lower() == RESUME and state.game.resume_action >= 0:
        action = state.game.resume_action
    else:
        action = parse_vertex(text, state.game.size)
    if state.phase == Phase.PROPOSE and action < state.game.pass_action:
        action = next(iter(state.board.group_at(action).tolist()), action)
    if not state.is_legal(action):
        raise InvalidActionError(f"go: {state.action_to_string(action)} {why_not(state, action)}")
    return action


def why_not(state: GoState, action: int) -> str:
    """Return why an action that exists is not legal: ``is occupied``."""
    if state.phase == Phase.OVER:
        return "is not legal: the game is over"
    if state.phase != Phase.PLAY or action >= state.game.pass_action:
        legal = ", ".join(state.action_to_string(a) for a in state.legal_actions())
        return f"is not legal here; legal are {legal}"
    if state.board.color_at(action) != EMPTY:
        return "is occupied"
    if state.board.ko_point == action:
        return "would retake the ko at once"
    rules = state.game.rules
    if state.board.is_legal(state.to_move, action, suicide=rules.suicide):
        return f"would repeat an earlier position ({rules.ko} superko)"
    return "would be suicide"
