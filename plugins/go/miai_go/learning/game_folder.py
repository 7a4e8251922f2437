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

A journal: plain data, an entry a line, that outlives whoever writes it.

A line is a CRC-32 in eight hexadecimal digits, a blank and JSON. A line that was being written when
the power or the process went is known by its CRC, and dropped with what follows it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from miai.plain import dumps, loads
from miai_go.errors import DataError, WeightsError
from miai_go.learning.agent_games import COLORS, GamesPlan, PlayedGame, pack, unpack
from miai_go.learning.shards import read_manifest, shard_folders
from miai_go.learning.writing import ShardWriter
from miai_go.tensors import write_atomically


class GameJournal:
    """The journal in a file, which one process writes at a time.

    Attributes:
      path: the file; it need not be there.
      torn: bytes that `read` dropped from its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the entries, and cut off what is torn at the end.

        Raises:
          DataError: the file cannot be read or cut.
        """
        entries: list[dict[str, Any]] = []
        whole = 0
        try:
            with self.path.open("ab+") as file:
                file.seek(0)
                for line in file:
                    entry = _entry(line)
                    if entry is None:
                        break
                    entries.append(entry)
                    whole += len(line)
                self.torn = file.seek(0, os.SEEK_END) - whole
                if self.torn:
                    file.truncate(whole)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        return entries

    def append(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Add entries and bring them to the disk. Raises `DataError` where that fails."""
        try:
            with self.path.open("ab") as file:
                file.writelines(map(_line, entries))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error

    def replace(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Let these be all entries, whole or not at all. Raises `DataError` where that fails."""
        try:
            write_atomically(self.path, [_line(entry) for entry in entries])
        except WeightsError as error:
            raise DataError(str(error)) from error


def _line(entry: Mapping[str, Any]) -> bytes:
    body = dumps(entry).encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line, or None for a torn one."""
    checksum, _, body = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
        return None
    entry = loads(body)
    return entry if isinstance(entry, dict) else None


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
        self._journal = GameJournal(folder / "journal")
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
        try:
            (self.folder / "sgf").mkdir(parents=True, exist_ok=True)
            (self.folder / "games").mkdir(exist_ok=True)
            self._lock = (self.folder / ".lock").open("ab")
        except OSError as error:
            raise DataError(f"{self.folder}: cannot be written: {error.strerror}") from error
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
        self._journal.append({"number": number, **pack(played)} for number, played in games.items())
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
            _write(path, text)

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
        self._journal.replace(
            {"number": number, **pack(played)}
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
            _write(path, dumps(self._settings) + "\n")
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
            behind = read_manifest(shard).settings.get("next")
            if type(behind) is not int or behind < self._first:
                raise DataError(f"{shard}: is no shard of self-play; give another folder")
            self._first = behind
        self.turn = self._first
        for entry in self._journal.read():
            number = entry.pop("number", None)
            if type(number) is not int:
                raise DataError(f"{self._journal.path}: is no journal of self-play")
            if number >= self._first:
                self._held[number] = unpack(entry)
        self._remove_drafts()
        self._advance()

    def _remove_drafts(self) -> None:
        """Remove what a process that was killed was writing."""
        for place in (self.folder, self.sgf_file(self.turn).parent):
            for draft in place.glob(".*.new"):
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
    try:
        with path.open("rb") as file:
            values = loads(file.read(_LONGEST_PLAN))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path}: is damaged: {error}; give another folder") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: is no plan of self-play; give another folder")
    return values


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, [text.encode("utf-8")])
    except WeightsError as error:
        raise DataError(str(error)) from error
