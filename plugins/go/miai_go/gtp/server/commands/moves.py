"""Moves: played, asked for, and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from miai.search.protocol import SearchResult
from miai_go.agents import fills_eye
from miai_go.component_parameters import PlayoutJudgeParameters
from miai_go.coordinates import vertex
from miai_go.dead_stones import PlayoutJudge
from miai_go.gtp.server.commands.kinds import Handler, action, color, expect
from miai_go.gtp.server.free_state import FreeState
from miai_go.gtp.server.players import Stopwatch
from miai_go.gtp.server.session import Session


def _play(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 2)
    session.play(color(words[0]), action(session, words[1]))
    return ""


def _undo(session: Session, words: tuple[str, ...]) -> str:
    session.table.undo()
    session.forget()
    return ""


def _genmove(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    watch, player = Stopwatch(), color(words[0])
    result = choose(session, player)
    return played(session, player, result, watch)


def _reg_genmove(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    result = choose(session, color(words[0]))
    return vertex(result.action, session.table.game.size)


def _genmove_cleanup(session: Session, words: tuple[str, ...]) -> str:
    """Answer as ``genmove``, but do not pass before the opponent's dead stones are captured."""
    expect(words, 1)
    watch, player = Stopwatch(), color(words[0])
    result = choose(session, player)
    if result.action == session.table.game.pass_action and not result.resign:
        state = session.table.at_turn_of(player)
        left = _moves_that_clean_up(state)
        if left:
            result = choose(session, player, only=left)
    return played(session, player, result, watch)


def choose(session: Session, player: int, *, only: list[int] | None = None) -> SearchResult:
    """Return what to play for a player, and keep it to be explained.

    Args:
      only: the actions to choose from; None for all.
    """
    state = session.table.at_turn_of(player)
    regular = only is None and state.key() == session.table.state.key()
    if not regular:
        session.forget()  # the tree of another position, or with fewer moves, would mislead
    root = state if only is None else state.restricted(only)
    try:
        result = session.player.choose(root, seconds=session.budget(player))
    finally:
        if not regular:
            session.forget()
    if only is not None and result.action not in only:  # an agent that does not look
        result = replace(result, action=max(only, key=lambda a: result.visits.get(a, 0)), pv=())
    session.last = state, result
    return result


def played(session: Session, player: int, result: SearchResult, watch: Stopwatch) -> str:
    """Play what was chosen, unless it is to resign; return it in words."""
    if not result.resign:
        session.play(player, result.action)
    session.charge(player, watch)
    return "resign" if result.resign else vertex(result.action, session.table.game.size)


def _moves_that_clean_up(state: FreeState) -> list[int]:
    """Return moves that fill no eye, where stones of the opponent are dead; else none."""
    stones = state.board.stones().reshape(-1).tolist()
    own = state.to_move + 1
    judge = PlayoutJudge(state.game, PlayoutJudgeParameters())
    if not any(stones[point] == 3 - own for point in judge.dead_points(state)):
        return []
    points = [a for a in state.legal_actions() if a != state.game.pass_action]
    return [point for point in points if not fills_eye(stones, point, own)]


COMMANDS: Mapping[str, Handler] = {
    "play": _play,
    "genmove": _genmove,
    "reg_genmove": _reg_genmove,
    "undo": _undo,
    "kgs-genmove_cleanup": _genmove_cleanup,
}
