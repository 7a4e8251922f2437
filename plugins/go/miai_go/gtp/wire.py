"""GTP version 2 on the wire: lines of bytes to commands, results to responses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from miai.errors import MiaiError

MAX_LINE_BYTES: Final = 1 << 16
"""Longest line of a controller; what is longer is refused whole."""

_DROPPED: Final = {code: None for code in (*range(32), 127) if chr(code) != "\t"} | {9: " "}
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


class GtpError(MiaiError):
    """A command that fails: what stands behind the question mark."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a controller.

    Attributes:
      id: its identity number; None without one.
      name: its name; empty where the line had an identity number alone.
      arguments: the words behind it.
    """

    id: int | None
    name: str
    arguments: tuple[str, ...]


def parse(line: bytes) -> Command | None:
    """Return the command of a line, or None for an empty line or a comment.

    Control characters are left out, a tab is a space, ``#`` begins a comment. Bytes that are no
    UTF-8 become U+FFFD, which no command's name holds.
    """
    text = line.decode("utf-8", "replace").translate(_DROPPED)
    words = text.partition("#")[0].split()
    if not words:
        return None
    number = None
    if _NUMBER.fullmatch(words[0]):
        number = int(words.pop(0))
    return Command(number, words[0] if words else "", tuple(words[1:]))


def response(number: int | None, text: str, *, ok: bool = True) -> str:
    """Return a whole response, its closing empty line included."""
    return f"{opening(number, ok=ok)}{_separated(text)}\n\n"


def opening(number: int | None, *, ok: bool = True) -> str:
    """Return how a response begins."""
    return f"{'=' if ok else '?'}{'' if number is None else number}"


def one_line(text: str) -> str:
    """Return a text of any origin as one line that a response may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _separated(text: str) -> str:
    """Return a text without the empty lines that would end the response, set off from its head."""
    lines = [line.rstrip().replace("\t", " ") for line in text.split("\n")]
    body = "\n".join([lines[0], *(line for line in lines[1:] if line)])
    return f" {body}" if body else ""
