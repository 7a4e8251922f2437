"""What a command is, and how its words are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from miai.errors import InvalidActionError
from miai_go.gtp.analysis import COLORS
from miai_go.gtp.session import Session
from miai_go.gtp.wire import Command, GtpError
from miai_go.rules.coordinates import parse_vertex

Handler: TypeAlias = Callable[[Session, tuple[str, ...]], str]
"""Returns the response to a command with these arguments; raises `MiaiError` to refuse it."""

Streamer: TypeAlias = Callable[[Session, Command], None]
"""Writes the response itself; raises `MiaiError` before the first line to refuse."""


def expect(words: Sequence[str], least: int, most: int | None = None) -> None:
    """Raise `GtpError` unless the number of arguments is in these bounds."""
    if not least <= len(words) <= (least if most is None else most):
        raise GtpError("syntax error: wrong number of arguments")


def color(word: str) -> int:
    """Return the player of a colour. Raises `GtpError`."""
    if word.lower() not in COLORS:
        raise GtpError("syntax error: a color is b, w, black or white")
    return COLORS[word.lower()]


def action(session: Session, word: str) -> int:
    """Return the action of a vertex. Raises `GtpError`."""
    try:
        return parse_vertex(word, session.table.game.size)
    except InvalidActionError as error:
        raise GtpError(f"invalid coordinate: {error}") from error


def whole(word: str, what: str) -> int:
    """Return a number of 0 or more. Raises `GtpError`."""
    if not (word.isascii() and word.isdigit() and len(word) <= 9):
        raise GtpError(f"syntax error: {what} is a whole number")
    return int(word)


def number(word: str, what: str) -> float:
    """Return a finite number. Raises `GtpError`."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: {what} is a number")
    return value
