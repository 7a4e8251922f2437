"""Reading plain SGF fast: one game, no variations, no set-up, the players in turn.

One regular expression must match the whole of the data, and a second one takes the moves out of
what the first has seen to be a chain of nodes. Whatever is not as plain as that is left to
`miai_go.sgf`, which reads or refuses it; what is read here it would read alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from miai_go.parameters import MAX_MOVES, MAX_SIZE

_MOST_BYTES: Final = 256 * 1024
"""Below the limits of `miai_go.sgf_check` on values, nodes and files, all at once."""

_SPACE: Final = rb"[ \t\r\n]*+"
_VALUES: Final = rb"(?:\[(?:[^\\\]]++|\\.)*+\]" + _SPACE + rb")++"
_PROPERTIES: Final = rb"(?:(?!(?:A[BWE]|PL|[BW])\[)[A-Z]{1,64}+" + _VALUES + rb")*+"
_MOVE: Final = rb";" + _SPACE + _PROPERTIES + rb"([BW])\[((?:[a-z][a-z])?)\]" + _SPACE + _PROPERTIES

_GAME = re.compile(
    _SPACE + rb"\(" + _SPACE + rb";" + _SPACE + b"(" + _PROPERTIES + b")"
    b"((?:" + _MOVE.replace(b"([BW])", b"[BW]").replace(b"((?:", b"(?:(?:") + rb")*+)"
    rb"\)" + _SPACE,
    re.DOTALL,
)
_MOVES = re.compile(_MOVE, re.DOTALL)
_HEADS = re.compile(rb"([A-Z]++)(" + _VALUES + rb")", re.DOTALL)
_PLAIN = re.compile(rb"[^\\\[\]\r\n]*+")
_SIZE = re.compile(rb"[1-9][0-9]?")
_KOMI = re.compile(rb"-?[0-9]{1,3}(?:\.[0-9]{1,4})?")

_ANY_BYTES: Final = frozenset({b"ISO-8859-1", b"iso-8859-1", b"latin-1"})
_UNICODE: Final = frozenset({b"UTF-8", b"utf-8", b"UTF8", b"utf8"})
_READ: Final = (b"RU", b"RE", b"BR", b"WR")


@dataclass(frozen=True, slots=True)
class Scanned:
    """A game as it is written.

    Attributes:
      size: points on a side.
      actions: the moves, Black first, the players in turn.
      komi: points; None where it is missing.
      rules, result, black_rank, white_rank: RU, RE, BR and WR as written; empty where missing.
    """

    size: int
    actions: list[int]
    komi: float | None
    rules: str
    result: str
    black_rank: str
    white_rank: str


def scan(data: bytes) -> Scanned | None:
    """Return the game that plain SGF holds, or None where it is not plain."""
    if len(data) > _MOST_BYTES or b"\0" in data:
        return None
    match = _GAME.fullmatch(data)
    if match is None:
        return None
    head = _head(match[1])
    if head is None or not _text_is_fine(data, head.get(b"CA")):
        return None
    size, komi = head.get(b"SZ", b"19"), head.get(b"KM")
    if not _SIZE.fullmatch(size) or (komi is not None and not _KOMI.fullmatch(komi)):
        return None
    if int(size) > MAX_SIZE:
        return None
    actions = _actions(_MOVES.findall(match[2]), int(size))
    if actions is None or len(actions) > MAX_MOVES:
        return None
    texts = {name: head.get(name, b"").decode("ascii", "replace") for name in _READ}
    return Scanned(
        int(size),
        actions,
        None if komi is None else float(komi),
        texts[b"RU"],
        texts[b"RE"],
        texts[b"BR"],
        texts[b"WR"],
    )


def _head(root: bytes) -> dict[bytes, bytes] | None:
    """Return the root's properties that are read here; None where one is not plain."""
    found: dict[bytes, bytes] = {}
    for name, values in _HEADS.findall(root):
        if name in (b"SZ", b"KM", b"CA", b"GM", b"HA", *_READ):
            value = values.strip()[1:-1]
            if name in found or not _PLAIN.fullmatch(value):
                return None
            found[name] = value.strip()
    if found.get(b"GM", b"1") != b"1" or found.get(b"HA", b"0") != b"0":
        return None
    return found


def _text_is_fine(data: bytes, charset: bytes | None) -> bool:
    """Say whether the data is text of the charset that it names, as far as is known here."""
    if charset is None or charset in _ANY_BYTES:
        return True
    if charset not in _UNICODE:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _actions(moves: list[tuple[bytes, bytes]], size: int) -> list[int] | None:
    """Return the actions; None where the players do not take turns or one is off the board."""
    if not moves:
        return []
    colors, points = zip(*moves, strict=True)
    if b"".join(colors) != (b"BW" * len(moves))[: len(moves)]:
        return None
    names = _names(size)
    try:
        return [names[point] for point in points]
    except KeyError:
        return None


@cache
def _names(size: int) -> dict[bytes, int]:
    """Return the action of each point as SGF writes it; row 0 is the lowest there, too."""
    letters = "abcdefghijklmnopqrstuvwxy"[:size]
    names = {
        f"{x}{y}".encode(): (size - 1 - row) * size + column
        for row, y in enumerate(letters)
        for column, x in enumerate(letters)
    }
    names[b""] = size * size
    if size < 20:  # as SGF up to version 3 wrote a pass
        names[b"tt"] = size * size
    return names
