"""What RE states: who won, by how much or by what; in the words of servers, books and tools."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from miai_go.rules.board import BLACK, WHITE


@dataclass(frozen=True, slots=True)
class StatedResult:
    """A result.

    Attributes:
      winner: 0 Black, 1 White; None for a draw.
      points: the winner's margin in points; nan if it is not stated.
      by: ``points``, ``resignation``, ``time``, ``forfeit``, or empty if that is not stated.
    """

    winner: int | None
    points: float = math.nan
    by: str = ""

    @property
    def sign(self) -> int:
        """1 if Black won, -1 if White did, 0 for a draw."""
        return 0 if self.winner is None else 1 - 2 * self.winner

    @property
    def margin(self) -> float:
        """Black's margin in points; nan if it is not stated."""
        return 0.0 if self.winner is None else self.sign * self.points


_COLOURS: Final = {
    **dict.fromkeys(("b", "black", "黑", "黒", "흑"), BLACK),
    **dict.fromkeys(("w", "white", "白", "백"), WHITE),
}
_DRAWS: Final = frozenset({"0", "0.0", "draw", "jigo", "tie", "持碁", "和棋", "무승부", "빅"})
_PLUS: Final = re.compile(
    r"(?P<winner>b|w|black|white|[黑黒흑白백])(?:\s*\+(?P<how>.*)|\s+(?:wins?|won)(?:\s+(?:by\s+)?(?P<by>.*))?)?",
    re.DOTALL,
)
_WON: Final = re.compile(
    r"(?P<winner>[黑黒흑白백])(?!.*[负負敗败패未不])(?P<how>.*[胜勝贏赢승].*)", re.DOTALL
)
_POINTS: Final = re.compile(
    r"([0-9]{1,3})(?:[.,]([0-9]{1,4}))?\s*(?P<half>(?:目|집)?\s*[半반])?\s*"
    r"(?P<unit>points?|pts?\.?|moku|目|집|子|zi)?(?:\s*[勝胜승ち(].*)?",
    re.DOTALL,
)
_WAYS: Final = (
    (
        "resignation",
        re.compile(r"r|res|resign(?:ed|ation|s)?\b.*|r(?:es)?\W.*|(?:中盘|中盤|中押|불계).*"),
    ),
    ("time", re.compile(r"t|(?:on )?time\b.*|timeout|(?:超时|超時|時間|时间|시간).*")),
    ("forfeit", re.compile(r"f|forfeit(?:ed)?\b.*")),
)
_DENIED: Final = re.compile(r"void|lost|both|\?|\bno\b|\bnot\b")


def result_of(text: str) -> StatedResult | None:
    """Return the result that RE states, or None if it states none, or in words not known here.

    >>> result_of("W+3,5"), result_of("黑中盘胜").by
    (StatedResult(winner=1, points=3.5, by='points'), 'resignation')
    """
    said = unicodedata.normalize("NFKC", text).strip().lower()
    if said in _DRAWS:
        return StatedResult(None, 0.0, "points")
    found = _PLUS.fullmatch(said) or _WON.fullmatch(said)
    if found is None:
        return None
    winner, words = _COLOURS[found["winner"]], found.groupdict()
    how = (words["how"] or words.get("by") or "").strip().lstrip("番胜勝승 ")
    if number := _POINTS.fullmatch(how):
        points = float(f"{number[1]}.{number[2] or 0}") + 0.5 * bool(number["half"])
        if number["unit"] in ("子", "zi") or points % 0.5 == 0.25:
            points *= 2  # of stones: each is worth two points
        # Where komi is half a point, W+0 cannot be a draw: it is a winner without a margin.
        return StatedResult(winner, points, "points") if points else StatedResult(winner)
    by = next((way for way, pattern in _WAYS if pattern.fullmatch(how)), "")
    said_otherwise = not by and how and (words.get("by") or _DENIED.search(how))
    return None if said_otherwise else StatedResult(winner, by=by)
