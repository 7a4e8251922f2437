"""Results of games that were played elsewhere, from PGN and CSV: who met whom, and the score."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from miai.errors import ConfigError
from miai.files import reading
from miai_tournaments.ratings.pair_results import PairResults, ScoredGame
from miai_tournaments.report.joint_ratings import Identity, RunResults

_SCORES: Final = {
    **dict.fromkeys(("1-0", "1", "1.0"), 1.0),
    **dict.fromkeys(("0-1", "0", "0.0"), 0.0),
    **dict.fromkeys(("1/2-1/2", "1/2", "0.5"), 0.5),
}
"""Texts of results with the first player's score."""
_COLUMNS: Final = (("first", "white"), ("second", "black"), ("score", "result"))
_TAG: Final = re.compile(r"""\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*""")
_LONGEST_LINE: Final = 1 << 20
_LONGEST_NAME: Final = 200

_Found = Iterator[tuple[int, str, str, str]]
"""The line of a game, its players and its result."""


def read_results(path: Path) -> RunResults:
    """Return the results of a file of PGN or CSV, of untrusted origin, as those of a run.

    CSV has a heading with the columns ``first``, ``second`` and ``score`` (or ``white``, ``black``
    and ``result``); others are ignored. Of PGN the tags White, Black and Result count, no moves.
    Games with the result ``*`` are left out.

    Raises:
      ConfigError: the file cannot be read, or a line is wrong; the message names it.
    """
    games: list[ScoredGame] = []
    unfinished = 0
    with reading(path, ConfigError):
        for line, first, second, result in (_pgn if path.suffix.lower() == ".pgn" else _csv)(path):
            for name in (first, second):
                if not name or len(name) > _LONGEST_NAME or not name.isprintable():
                    what = f"has the player {name[:40]!r}; a name has 1 to {_LONGEST_NAME} signs"
                    raise ConfigError(f"{path}:{line}: {what}")
            if first == second:
                raise ConfigError(f"{path}:{line}: '{first}' plays against itself")
            if result != "*" and result not in _SCORES:
                what = f"the result is {result[:40]!r}; write 1-0, 0-1, 1/2-1/2, 1, 0, 0.5 or *"
                raise ConfigError(f"{path}:{line}: {what}")
            if result == "*":
                unfinished += 1
            else:
                games.append((first, second, _SCORES[result]))
    if not games:
        raise ConfigError(f"{path}: has no game with a result")
    results = PairResults.from_games(games)
    return RunResults(
        source=str(path),
        game="results from elsewhere",
        identities=tuple(Identity(name, "") for name in results.players),
        results=results,
        unfinished=unfinished,
    )


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; one that is not UTF-8 is read as Latin-1."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
            if len(line) == _LONGEST_LINE:
                raise ConfigError(f"{path}:{number}: has more than {_LONGEST_LINE:,} bytes")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                yield line.decode("latin-1")


def _csv(path: Path) -> _Found:
    rows = csv.reader(_lines(path), strict=True)
    try:
        heading = [name.strip().lower() for name in next(rows, [])]
        places = [heading.index(n) for names in _COLUMNS for n in names if n in heading][:3]
        if len(places) < len(_COLUMNS):
            raise ConfigError(f"{path}:1: the heading has no columns first, second and score")
        for row in filter(None, rows):
            if len(row) != len(heading):
                what = f"has {len(row)} cells, the heading {len(heading)}"
                raise ConfigError(f"{path}:{rows.line_num}: {what}")
            first, second, result = (row[place].strip() for place in places)
            yield rows.line_num, first, second, result
    except csv.Error as error:
        raise ConfigError(f"{path}:{rows.line_num}: {error}") from None


def _pgn(path: Path) -> _Found:
    for begin, tags in _tags_of_games(path):
        missing = [name for name in ("White", "Black", "Result") if name not in tags]
        if missing:
            raise ConfigError(f"{path}:{begin}: a game without the tag {missing[0]}")
        yield begin, tags["White"], tags["Black"], tags["Result"]


def _tags_of_games(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the tags of each game with the number of the line at which it begins."""
    tags: dict[str, str] = {}
    begin, in_moves, in_comment = 0, False, False
    for number, line in enumerate(_lines(path), 1):
        # A line in a comment may look like a tag.
        tag = None if in_comment else _TAG.fullmatch(line)
        if tag is None:
            if line.startswith("[") and not in_comment:
                raise ConfigError(f"{path}:{number}: is not a tag: {line.strip()[:60]!r}")
            if line.strip() and not line.startswith("%"):
                in_moves, in_comment = True, _ends_in_comment(line, in_comment)
            continue
        if in_moves or not tags:
            if tags:
                yield begin, tags
            tags, begin, in_moves = {}, number, False
        tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2]).strip()
    if in_comment:
        raise ConfigError(f"{path}:{begin}: begins a game with a comment that does not end")
    if tags:
        yield begin, tags


def _ends_in_comment(line: str, in_comment: bool) -> bool:
    for sign in re.findall("[{};]", line):
        if sign == ";" and not in_comment:
            return False  # outside braces it begins a comment up to the end of the line
        in_comment = sign != "}"
    return in_comment
