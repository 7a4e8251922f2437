"""Handicap stones (GTP version 2 draft 2, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from miai_go.coordinates import vertex
from miai_go.gtp.server.commands.kinds import Handler, action, expect, whole
from miai_go.gtp.server.session import Session
from miai_go.gtp.server.table import handicap_places
from miai_go.gtp.server.wire import GtpError
from miai_go.handicap import LEAST, fixed_points, most_fixed


def _fixed(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    session.table.require_empty()
    try:
        points = fixed_points(whole(words[0], "a handicap"), session.table.game.size)
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    return _placed(session, list(points))


def _free(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    session.table.require_empty()
    wanted, size = whole(words[0], "a handicap"), session.table.game.size
    if not LEAST <= wanted < size * size:
        raise GtpError(f"invalid number of stones: {LEAST} to {size * size - 1} fit")
    fixed = min(wanted, most_fixed(size))
    points = list(fixed_points(fixed, size)) if fixed else []
    return _placed(session, handicap_places(session.table, points, wanted))


def _set_free(session: Session, words: tuple[str, ...]) -> str:
    session.table.require_empty()
    points = [action(session, word) for word in words]
    last = session.table.game.pass_action
    if len(points) < LEAST or len(set(points)) < len(points) or last in points:
        raise GtpError("bad vertex list")
    _placed(session, points)
    return ""


def _placed(session: Session, points: list[int]) -> str:
    session.set_up(lambda: session.table.place_handicap(points))
    return " ".join(vertex(point, session.table.game.size) for point in points)


COMMANDS: Mapping[str, Handler] = {
    "fixed_handicap": _fixed,
    "place_free_handicap": _free,
    "set_free_handicap": _set_free,
}
