"""Games out of SGF bytes, of any kind: plain ones fast, all others by the full reader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.board import WHITE
from miai_go.data.games import BLACK_WON, DRAWN, UNKNOWN, WHITE_WON, StoredGame
from miai_go.data.scan import Scanned, scan
from miai_go.phases import Start
from miai_go.rules import Preset
from miai_go.sgf import SgfError, SgfGame, read_bytes

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
    """Return the rule set that RU names, as `miai_go.sgf.SgfGame.preset` does; None for none."""
    word = "".join(c for c in rules.lower() if c.isalnum())
    return next((preset for name, preset in _RULES.items() if word.startswith(name)), None)
