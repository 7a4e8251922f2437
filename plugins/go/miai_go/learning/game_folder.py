"""The folder of a self-play run: its plan, its games in order, and what waits for its turn.

::

    selfplay.json     what decides the games; another plan is refused
    games/            the shard set
    sgf/000000/       a file for each game, in folders of a thousand
    journal           games that are in no shard yet
    logs/             what the workers wrote

A finished game goes into the journal at once. When all before it are there it gets its SGF file;
when a shard is full it is published in one rename, and only then the journal lets its games go. So
a run that is killed at any moment has every game that was finished, once.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from miai.files import DRAFT_PATTERN, Journal, reading, write_text, writing
from miai.plain import dumps, loads
from miai_go.errors import DataError
from miai_go.learning.agent_games import COLORS, GamesPlan, PlayedGame, pack, unpack
from miai_go.learning.shards import GAME_SHARDS, shard_folders
from miai_go.learning.writing import ShardWriter

PLAN: Final = "selfplay.json"
GAMES_A_SHARD: Final = 1000
_SGF_A_FOLDER: Final = 1000
_MOST_MOVES: Final = 1 << 40  # as good as no limit of its own
_LONGEST_PLAN: Final = 1 << 20
_LONGEST_PATH: Final = 4096


class GameFolder:
    """Takes games in any order, keeps them in the order of their numbers.

    Used in a ``with`` statement, at whose end, after an error too, the games that have their turn
    go into a last, shorter shard.

    Args:
      size: points on a side.
      games_a_shard: a shard is published before each game whose number this divides.

    Attributes:
      turn: number of the first game that is not written.

    Raises:
      DataError: another plan's games are there, another process writes, or it cannot be written.
    """

    def __init__(
        self, folder: Path, plan: GamesPlan, *, size: int, games_a_shard: int = GAMES_A_SHARD
    ) -> None:
        self.folder = folder
        self.turn = 0
        self._size = size
        self._games_a_shard = games_a_shard
        self._settings = settings_of(plan)
        self._journal = Journal(folder / "journal")
        self._first = 0
        """Number of the first game that is in no shard."""
        self._ready: list[PlayedGame | None] = []
        """The games from there to `turn`; None for one that could not be played."""
        self._held: dict[int, PlayedGame | None] = {}
        """Games that came before their turn."""
        self._lost: dict[int, str] = {}
        self._lock: IO[bytes] | None = None

    @property
    def torn(self) -> int:
        """Bytes of a game whose writing was interrupted, which were dropped."""
        return self._journal.torn

    def __enter__(self) -> Self:
        with writing(self.folder, DataError):
            (self.folder / "sgf").mkdir(parents=True, exist_ok=True)
            (self.folder / "games").mkdir(exist_ok=True)
            self._lock = (self.folder / ".lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._settle_plan()
            self._recover()
        except BlockingIOError:
            self._unlock()
            raise DataError(f"{self.folder}: another process is playing games into it") from None
        except BaseException:
            self._unlock()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            while self._ready and self._ready[-1] is None:  # to be tried again some other time
                self._ready.pop()
            self._publish()
        finally:
            self._unlock()

    def missing(self, games: int) -> Iterator[int]:
        """Yield the numbers below `games` of those that are not there, in order."""
        return (n for n in range(self.turn, games) if n not in self._held)

    def have(self, games: int) -> int:
        """Return how many of the games below `games` are there, written or waiting."""
        return min(self.turn, games) + sum(number < games for number in self._held)

    def add(self, games: Mapping[int, PlayedGame]) -> None:
        """Take finished games, by number. Raises `DataError` where they cannot be written."""
        with writing(self._journal.path, DataError):
            self._journal.append(_entry(number, played) for number, played in games.items())
        self._held.update(games)
        self._advance()

    def lose(self, number: int, reason: str) -> None:
        """Let those behind it pass a game that cannot be played.

        Raises:
          DataError: they cannot be written.
        """
        self._held[number] = None
        self._lost[number] = reason
        self._advance()

    # -- writing ------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Write the games whose turn it is."""
        while self.turn in self._held:
            played = self._held.pop(self.turn)
            if played is not None and played.sgf:
                self._write_sgf(self.turn, played.sgf)
            self._ready.append(played)
            self.turn += 1
            if self.turn % self._games_a_shard == 0:
                self._publish()

    def _write_sgf(self, number: int, text: str) -> None:
        path = self.sgf_file(number)
        if not path.exists():
            with writing(path, DataError):
                path.parent.mkdir(exist_ok=True)
                write_text(path, text)

    def sgf_file(self, number: int) -> Path:
        """Return where a game's SGF is."""
        group = number // _SGF_A_FOLDER
        return self.folder / "sgf" / f"{group:06}" / f"{number:09}.sgf"

    def _publish(self) -> None:
        """Make a shard of the games that had their turn."""
        games = [played.game for played in self._ready if played is not None]
        if not games:
            return
        behind = self._first + len(self._ready)
        lost = {str(n): why for n, why in self._lost.items() if self._first <= n < behind}
        settings = {**self._settings, "first": self._first, "next": behind, "lost": lost}
        with ShardWriter(
            self.folder / "games",
            size=self._size,
            sources=("self-play",),
            settings=settings,
            games_a_shard=len(games),
            moves_a_shard=_MOST_MOVES,
        ) as writer:
            for game in games:
                writer.add(game)
        self._first, self._ready = behind, []
        with writing(self._journal.path, DataError):
            self._journal.replace(
                _entry(number, played)
                for number, played in self._held.items()
                if played is not None
            )

    # -- going on -----------------------------------------------------------------------------

    def _settle_plan(self) -> None:
        """Note the plan, or see that it is the same. Raises `DataError`."""
        path = self.folder / PLAN
        if not path.exists():
            if shard_folders(self.folder / "games"):
                raise DataError(f"{self.folder}: holds games but no {PLAN}; give another folder")
            with writing(path, DataError):
                write_text(path, dumps(self._settings) + "\n")
            return
        kept = _read_plan(path)
        differing = sorted(
            name
            for name in kept.keys() | self._settings.keys()
            if kept.get(name) != self._settings.get(name)
        )
        if differing:
            raise DataError(
                f"{self.folder}: holds games of another plan ({', '.join(differing)} differ: see "
                f"{PLAN}); give another folder with --out, or what it was begun with"
            )

    def _recover(self) -> None:
        """Find out what is there: in shards, and in the journal."""
        for shard in shard_folders(self.folder / "games"):
            behind = GAME_SHARDS.read_manifest(shard).settings.get("next")
            if type(behind) is not int or behind < self._first:
                raise DataError(f"{shard}: is no shard of self-play; give another folder")
            self._first = behind
        self.turn = self._first
        with writing(self._journal.path, DataError):
            entries = self._journal.read()
        for entry in entries:
            number = entry.pop("number", None) if isinstance(entry, dict) else None
            if type(number) is not int:
                raise DataError(f"{self._journal.path}: is no journal of self-play")
            if number >= self._first:
                self._held[number] = unpack(entry)
        self._remove_drafts()
        self._advance()

    def _remove_drafts(self) -> None:
        """Remove what a process that was killed was writing."""
        for place in (self.folder, self.sgf_file(self.turn).parent):
            for draft in place.glob(DRAFT_PATTERN):
                draft.unlink(missing_ok=True)

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def settings_of(plan: GamesPlan) -> dict[str, Any]:
    """Return a plan as plain data, with the digests of the files that its players name."""
    settings: dict[str, Any] = plan.model_dump(mode="json")
    files = {
        f"{color}.{name}": digest
        for color in COLORS
        for name, digest in _digests(getattr(plan, color).parameters.items())
    }
    return {**settings, "files": files}


def _digests(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, value in values:
        if not isinstance(value, str) or not 0 < len(value) < _LONGEST_PATH:
            continue
        try:
            if (path := Path(value).expanduser()).is_file():
                with path.open("rb") as file:
                    yield name, hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            raise DataError(f"{value}: cannot be read: {error}") from error


def _read_plan(path: Path) -> dict[str, Any]:
    with reading(path, DataError), path.open("rb") as file:
        content = file.read(_LONGEST_PLAN)
    try:
        values = loads(content)
    except ValueError as error:
        raise DataError(f"{path}: is damaged: {error}; give another folder") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: is no plan of self-play; give another folder")
    return values


def _entry(number: int, played: PlayedGame) -> dict[str, Any]:
    return {"number": number, **pack(played)}
