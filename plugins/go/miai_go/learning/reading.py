"""Games out of SGF bytes, of any kind: plain ones fast, all others by the full reader.

Reading plain SGF fast: one game, no variations, no set-up, the players in turn.

One regular expression must match the whole of the data, and a second one takes the moves out of
what the first has seen to be a chain of nodes. Whatever is not as plain as that is left to
`miai_go.sgf.reading`, which reads or refuses it; what is read here it would read alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.games import BLACK_WON, DRAWN, UNKNOWN, WHITE_WON, StoredGame
from miai_go.rules.board import WHITE
from miai_go.rules.coordinates import MAX_SIZE
from miai_go.rules.parameters import MAX_MOVES, Preset
from miai_go.rules.state import Start
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import SgfGame, read_bytes

_MOST_BYTES: Final = 256 * 1024
"""Below the limits of `miai_go.sgf.check` on values, nodes and files, all at once."""

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


_RESULT = re.compile(r"(?P<winner>[BbWw])(?:lack|hite)?\+(?P<how>.*)", re.DOTALL)
_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,4})?")
_DRAWS: Final = frozenset({"0", "draw", "jigo", "b+0", "w+0", "b+0.0", "w+0.0"})
_RULES: Final[Mapping[str, Preset]] = {
    "trompt": "tromp-taylor",
    "cgos": "tromp-taylor",
    "chinese": "chinese",
    "japanese": "japanese",
    "jp": "japanese",
    "aga": "aga",
}
_NUMBER = re.compile(r"(-?[0-9]{1,5}(?:\.[0-9]{1,3})?)\??")


@dataclass(frozen=True, slots=True, eq=False)
class ReadGame:
    """A game as its record tells it.

    Attributes:
      source: file and place, for reports.
      size: points on a side.
      actions: the moves after the set-up.
      komi: points that White is given; None where it is not told.
      handicap: whether it has a handicap.
      rules, black_rank, white_rank: as written; empty where missing.
      result: 1 Black won, -1 White, 0 a draw, 2 unknown.
      margin: points that Black won by; nan where unknown.
      stones: the set-up, int8 of shape (points,), or None.
      first: who moves first, 1 black, 2 white.
    """

    source: str
    size: int
    actions: list[int]
    komi: float | None
    handicap: bool
    rules: str
    black_rank: str
    white_rank: str
    result: int
    margin: float
    stones: NDArray[np.int8] | None = None
    first: int = 1

    def stored(self, *, komi: float) -> StoredGame:
        """Return the game as it is kept, `komi` being the one that counts, in points."""
        return StoredGame(
            size=self.size,
            moves=np.array(self.actions, np.int16),
            half_komi=round(2 * komi),
            result=self.result,
            margin=self.margin,
            ratings=(rating_of(self.black_rank), rating_of(self.white_rank)),
            stones=self.stones,
            first=self.first,
        )


def read_games(data: bytes, source: str) -> Iterator[ReadGame | SgfError]:
    """Yield the games of SGF data, by their main lines, or instead of a game why it is none."""
    plain = scan(data)
    if plain is not None:
        yield _of_scanned(plain, source)
        return
    try:
        games = read_bytes(data, source=source)
    except SgfError as error:
        yield error
        return
    for game in games:
        try:
            yield _of_sgf(game)
        except SgfError as error:
            yield error


def _of_scanned(game: Scanned, source: str) -> ReadGame:
    result, margin = result_of(game.result)
    return ReadGame(
        source=source,
        size=game.size,
        actions=game.actions,
        komi=game.komi,
        handicap=False,
        rules=game.rules,
        black_rank=game.black_rank,
        white_rank=game.white_rank,
        result=result,
        margin=margin,
    )


def _of_sgf(game: SgfGame) -> ReadGame:
    line = game.main_line()
    result, margin = result_of(game.result)
    return ReadGame(
        source=": ".join(part for part in (game.source, game.place) if part),
        size=game.size,
        actions=list(line.actions),
        komi=game.komi,
        handicap=game.handicap > 0,
        rules=game.rules,
        black_rank=game._text("BR"),
        white_rank=game._text("WR"),
        result=result,
        margin=margin,
        stones=_stones(line.start, game.size),
        first=1 + line.start.to_move,
    )


def _stones(start: Start, size: int) -> NDArray[np.int8] | None:
    if not start.black and not start.white:
        return None
    stones = np.zeros(size * size, np.int8)
    stones[list(start.black)] = 1
    stones[list(start.white)] = 1 + WHITE
    return stones


def result_of(text: str) -> tuple[int, float]:
    """Return the result of a game and Black's margin in points, nan where it is unknown.

    >>> result_of("W+3.5"), result_of("Draw")
    ((-1, -3.5), (0, 0.0))
    """
    text = text.strip()
    if text.lower() in _DRAWS:
        return DRAWN, 0.0
    match = _RESULT.fullmatch(text)
    if match is None:
        return UNKNOWN, float("nan")
    result = BLACK_WON if match["winner"] in "Bb" else WHITE_WON
    how = match["how"].strip()
    return result, result * float(how) if _POINTS.fullmatch(how) else float("nan")


def rating_of(rank: str) -> float:
    """Return the number that BR or WR tells, as servers of engines write it; nan for none."""
    match = _NUMBER.fullmatch(rank.strip())
    return float(match[1]) if match else float("nan")


def preset_of(rules: str) -> Preset | None:
    """Return the rule set that RU names, as `SgfGame.preset` does; None if it names none."""
    word = "".join(c for c in rules.lower() if c.isalnum())
    return next((preset for name, preset in _RULES.items() if word.startswith(name)), None)
