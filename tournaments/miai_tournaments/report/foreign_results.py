"""Results of games that were played elsewhere, from PGN and CSV: who met whom, and the score."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from miai.errors import ConfigError
from miai.files import reading
from miai_tournaments.ratings.pair_results import PairResults, ScoredGame
from miai_tournaments.report.joint_ratings import Identity, RunResults

_SCORES: Final = {
    **dict.fromkeys(("1-0", "1", "1.0"), 1.0),
    **dict.fromkeys(("0-1", "0", "0.0"), 0.0),
    **dict.fromkeys(("1/2-1/2", "1/2", "0.5", "=", "\u00bd-\u00bd"), 0.5),
}
"""Texts of results with the first player's score."""
_UNFINISHED: Final = ("*", "?", "")
_COLUMNS: Final = (("first", "white"), ("second", "black"), ("score", "result"))
_TAG: Final = re.compile(r"""\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*""")
_LONGEST_LINE: Final = 1 << 20
_LONGEST_NAME: Final = 200
_MOST_SHOWN: Final = 5

_Place = Callable[[int, str], None]
"""Notes what is wrong with a line of a file."""


def read_results(path: Path) -> RunResults:
    """Return the results of a file of PGN or CSV, of untrusted origin, as those of a run.

    CSV has a heading with the columns ``first``, ``second`` and ``score`` (or ``white``, ``black``
    and ``result``), others are ignored. Of PGN the tags White, Black and Result count, no moves.
    Unfinished games are left out.

    Raises:
      ConfigError: the file cannot be read, or lines are wrong; the message names the first of them.
    """
    bad: list[str] = []
    wrong = 0

    def note(line: int, what: str) -> None:
        nonlocal wrong
        wrong += 1
        if wrong <= _MOST_SHOWN:
            bad.append(f"{path}:{line}: {what}")

    games: list[ScoredGame] = []
    unfinished = 0
    read = _pgn if path.suffix.lower() == ".pgn" else _csv
    with reading(path, ConfigError):
        for line, first, second, result in read(path, note):
            names = first, second
            score = _SCORES.get(result)
            if any(not n or len(n) > _LONGEST_NAME or not n.isprintable() for n in names):
                note(line, f"a player's name is empty, not printable or above {_LONGEST_NAME}")
            elif first == second:
                note(line, f"'{first}' plays against itself")
            elif score is not None:
                games.append((first, second, score))
            elif result in _UNFINISHED:
                unfinished += 1
            else:
                note(line, f"the result is {result[:40]!r}; write 1-0, 0-1, 1/2-1/2 or *")
    if wrong:
        more = f"\nand {wrong - len(bad)} more" if wrong > len(bad) else ""
        raise ConfigError("\n".join(bad) + more)
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


def _lines(path: Path, note: _Place) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; what is not UTF-8 is read as Latin-1."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE:
                note(number, f"has more than {_LONGEST_LINE:,} bytes")
                return
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                text = line.decode("latin-1")
            yield number, text


def _csv(path: Path, note: _Place) -> Iterator[tuple[int, str, str, str]]:
    rows = csv.reader(text for _, text in _lines(path, note))
    try:
        heading = [name.strip().lower() for name in next(rows, [])]
        found = [next((n for n in names if n in heading), None) for names in _COLUMNS]
        places = [heading.index(name) for name in found if name is not None]
        if len(places) < len(_COLUMNS):
            note(1, "the heading should have the columns first, second and score")
            return
        for row in rows:
            if len(row) > max(places):
                first, second, result = (row[place].strip() for place in places)
                yield rows.line_num, first, second, result
            elif row:
                note(rows.line_num, f"has {len(row)} cells, the heading {len(heading)}")
    except csv.Error as error:
        note(rows.line_num, str(error))


def _pgn(path: Path, note: _Place) -> Iterator[tuple[int, str, str, str]]:
    for begin, tags in _tags_of_games(path, note):
        missing = [name for name in ("White", "Black", "Result") if name not in tags]
        if missing:
            note(begin, f"a game without the tag {missing[0]}")
        else:
            yield begin, tags["White"], tags["Black"], tags["Result"]


def _tags_of_games(path: Path, note: _Place) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the tags of each game with the number of the line at which it begins."""
    tags: dict[str, str] = {}
    begin, in_moves, in_comment = 0, False, False
    for number, line in _lines(path, note):
        # A line in a comment may look like a tag.
        tag = None if in_comment else _TAG.fullmatch(line)
        if tag is None:
            if line.startswith("[") and not in_comment:
                note(number, f"is not a tag of PGN: {line.strip()[:60]!r}")
            elif line.strip() and not line.startswith("%"):
                in_moves, in_comment = True, _ends_in_comment(line, in_comment)
            continue
        if in_moves or not tags:
            if tags:
                yield begin, tags
            tags, begin, in_moves = {}, number, False
        tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2]).strip()
    if tags:
        yield begin, tags
    if in_comment:
        note(begin, "the game that begins here has a comment without its end")


def _ends_in_comment(line: str, in_comment: bool) -> bool:
    for sign in re.findall("[{};]", line):
        if sign == ";" and not in_comment:
            return False
        in_comment = in_comment if sign == ";" else sign == "{"
    return in_comment
