"""Time settings and what is left."""

from __future__ import annotations

from collections.abc import Mapping

from miai_go.gtp.server.clocks import (
    KGS_KINDS,
    KINDS,
    EngineClock,
    TimeSettings,
    named_settings,
    plain_settings,
    seconds_of,
    stones_of,
)
from miai_go.gtp.server.commands.kinds import Handler, color, expect
from miai_go.gtp.server.session import Session


def _time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, plain_settings(words))


def _kgs_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, named_settings(words, KGS_KINDS))


def _kata_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, named_settings(words))


def _list_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return " ".join(KINDS)


def _time_left(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 3)
    player = color(words[0])
    # A controller whose clock went past its end may say so by a negative number.
    seconds = 0.0 if words[1].startswith("-") else seconds_of(words[1])
    session.clocks[player].tell(seconds, stones_of(words[2]))
    return ""


def _set(session: Session, settings: TimeSettings) -> str:
    session.clocks = [EngineClock(settings), EngineClock(settings)]
    return ""


COMMANDS: Mapping[str, Handler] = {
    "time_settings": _time_settings,
    "time_left": _time_left,
    "kgs-time_settings": _kgs_time_settings,
    "kata-time_settings": _kata_time_settings,
    "kata-list_time_settings": _list_time_settings,
}
