"""The Go Text Protocol, version 2, as text: commands, their arguments, and responses."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from miai.errors import InvalidActionError, MiaiError
from miai_go.rules.coordinates import parse_vertex

MAX_LINE_BYTES: Final = 1 << 16
"""Maximum length of a line, from either side."""

COLORS: Final = {"b": 0, "black": 0, "w": 1, "white": 1}

_DROPPED: Final = {code: None for code in (*range(32), 127) if chr(code) != "\t"} | {9: " "}
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_MAX_DIGITS: Final = 9
_SHOWN: Final = 40


class TooLong:
    """Stands for a line of more than `MAX_LINE_BYTES`, which was discarded."""


class GtpError(MiaiError):
    """A command that fails. The message is the text of its response."""


@dataclass(frozen=True, slots=True)
class Command:
    """A controller's command; the name is empty if the line is an identity number alone."""

    id: int | None
    name: str
    arguments: tuple[str, ...]


def clean(line: bytes) -> str:
    """Return a line as text: control characters dropped, tabs as spaces, bad UTF-8 as U+FFFD."""
    return line.decode("utf-8", "replace").translate(_DROPPED)


def parse(line: bytes) -> Command | None:
    """Return the command of a line, or None for an empty line or a comment (``#``)."""
    words = clean(line).partition("#")[0].split()
    if not words:
        return None
    number = int(words.pop(0)) if _NUMBER.fullmatch(words[0]) else None
    return Command(number, words[0] if words else "", tuple(words[1:]))


def response(number: int | None, text: str, *, ok: bool = True) -> str:
    """Return a whole response, its closing empty line included."""
    # An empty line in the text would end the response.
    first, *others = [line.rstrip().replace("\t", " ") for line in text.split("\n")]
    body = "\n".join([first, *filter(None, others)])
    return f"{opening(number, ok=ok)}{f' {body}' if body else ''}\n\n"


def opening(number: int | None, *, ok: bool = True) -> str:
    """Return the beginning of a response."""
    return f"{'=' if ok else '?'}{'' if number is None else number}"


def one_line(text: str) -> str:
    """Return any text as one printable line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


# Arguments of commands. Every function raises `GtpError` for a word that it cannot read.


def color(word: str) -> int:
    """Return the player of a colour."""
    if word.lower() not in COLORS:
        raise GtpError("syntax error: a color is b, w, black or white")
    return COLORS[word.lower()]


def point(word: str, size: int) -> int:
    """Return the action of a vertex on a board of this size; ``pass`` included."""
    try:
        return parse_vertex(word, size)
    except InvalidActionError as error:
        raise GtpError(f"invalid coordinate: {error}") from error


def whole(word: str, name: str) -> int:
    """Return an integer of 0 or more; `name` is the argument's name in the error."""
    if not (word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS):
        raise GtpError(f"syntax error: {name} must be a whole number, not '{word[:_SHOWN]}'")
    return int(word)


def number(word: str, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number from `low` to `high`; `name` is the argument's name in the error."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and low <= value <= high):
        bounded = math.isfinite(low) and math.isfinite(high)
        bounds = f" from {low:.12g} to {high:.12g}" if bounded else ""
        raise GtpError(
            f"syntax error: {name} must be a finite number{bounds}, not '{word[:_SHOWN]}'"
        )
    return value
