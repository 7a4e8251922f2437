"""Taking games from SGF sources: read, filtered, checked on a board, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from miai_go.learning.filters import GameFilters
from miai_go.learning.games import StoredGame
from miai_go.learning.reading import ReadGame, read_games
from miai_go.rules.coordinates import vertex
from miai_go.sgf.check import SgfError
from miai_go.sgf.sources import Limits, files_of

MOST_TOLD: Final = 1000
"""How many bad files a report tells by name; all are counted."""


@dataclass(slots=True)
class ImportReport:
    """What became of the games of an import.

    Attributes:
      files: SGF files that were looked at.
      games: games in them, bad ones included.
      taken: games that passed.
      dropped: how many did not, by the reason.
      bad: how many were no games: SGF that cannot be read, or moves that no board allows.
      told: (file and place, cause) of the first `MOST_TOLD` bad ones.
    """

    files: int = 0
    games: int = 0
    taken: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    told: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, source: str, cause: str) -> None:
        """Note a bad file or game."""
        self.bad += 1
        if len(self.told) < MOST_TOLD:
            self.told.append((source, cause))

    def reasons(self) -> str:
        """Return in a clause why games were not taken: each reason, and the first bad game."""
        reasons = [f"{count} dropped ({reason})" for reason, count in self.dropped.most_common()]
        if self.bad:
            reasons.append(f"{self.bad} bad, the first {': '.join(self.told[0])}")
        return f": {'; '.join(reasons)}" if reasons else ""

    def left_out(self) -> str:
        """Return in a line how many games were not taken, and why; empty where all were."""
        if self.taken == self.games:
            return ""
        return f"{self.games - self.taken} of {self.games} games are left out{self.reasons()}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "files": self.files,
            "games": self.games,
            "taken": self.taken,
            "dropped": dict(self.dropped.most_common()),
            "bad": self.bad,
            "bad_files": [{"source": source, "cause": cause} for source, cause in self.told],
        }


def import_games(
    sources: Iterable[Path],
    filters: GameFilters,
    report: ImportReport,
    *,
    known: Iterable[bytes] = (),
    progress: Callable[[ImportReport], None] | None = None,
    limits: Limits | None = None,
) -> Iterator[StoredGame]:
    """Yield the games of SGF files, folders and archives that pass, and count the others.

    Args:
      report: is kept up to date.
      known: names of games that are there already; they count as duplicates.
      progress: is called after every file.
      limits: of archives.

    Raises:
      DataError: a source is missing or of no known kind, or an archive is damaged.
    """
    seen = set(known)
    for source in sources:
        for file in files_of(source, limits=limits):
            report.files += 1
            if file.data is None:
                report.games += 1
                report.refuse(file.name, file.error)
            else:
                for game in read_games(file.data, file.name):
                    report.games += 1
                    stored = _taken(game, filters, report, seen, file.name)
                    if stored is not None:
                        yield stored
            if progress is not None:
                progress(report)


def _taken(
    game: ReadGame | SgfError,
    filters: GameFilters,
    report: ImportReport,
    seen: set[bytes],
    file: str,
) -> StoredGame | None:
    if isinstance(game, SgfError):
        report.refuse(file, str(game).removeprefix(f"{file}: "))
        return None
    reason = filters.refuses(game)
    if reason is not None:
        report.dropped[reason] += 1
        return None
    stored = game.stored(komi=filters.komi(game))
    legal = stored.legal_moves()
    if legal < len(stored.moves):
        report.refuse(game.source, _why_illegal(stored, legal))
        return None
    if not filters.duplicates:
        name = stored.name()
        if name in seen:
            report.dropped["duplicate"] += 1
            return None
        seen.add(name)
    report.taken += 1
    return stored


def _why_illegal(game: StoredGame, legal: int) -> str:
    if legal < 0:
        return "stones of the set-up have no liberty"
    name = vertex(int(game.moves[legal]), game.size)
    return f"move {legal + 1}, {name}, is illegal: occupied, a ko retaken at once, or suicide"
