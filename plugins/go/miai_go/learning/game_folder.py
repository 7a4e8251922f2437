"""The folder of a self-play run.

::

    selfplay.json     the plan; other plans are refused
    games/            the shard set
    sgf/000000/       a file for each game, in folders of a thousand
    journal           finished games that are not in a shard yet
    logs/             output of the workers

A finished game goes to the journal at once. When all games before it are finished, its SGF file is
written. A full shard is published in one rename, and only then do its games leave the journal. A
run killed at any moment therefore has every finished game exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from miai.files import DRAFT_PATTERN, Journal, reading, write_text, writing
from miai.plain import dumps, loads
from miai_go.errors import DataError
from miai_go.learning.agent_games import COLORS, GamesPlan, PlayedGame, pack, unpack
from miai_go.learning.shard_files import LOCK, digest_of, locked_folder
from miai_go.learning.shards import GAME_SHARDS, ShardWriter, shard_folders

PLAN: Final = "selfplay.json"
GAMES_A_SHARD: Final = 1000
_SGF_A_FOLDER: Final = 1000
_UNLIMITED_MOVES: Final = 1 << 40
_MAX_PLAN_BYTES: Final = 1 << 20
_MAX_PATH_LENGTH: Final = 4096

SCAFFOLDING: Final = frozenset((LOCK, PLAN))
"""Files that a folder of games has before its first game."""


class GameFolder:
    """Accepts games in any order and writes them in the order of their numbers.

    Use it in a ``with`` statement. At its end, also after an error, the remaining games whose turn
    has come go into a last, shorter shard.

    Args:
      size: points on a side.
      games_a_shard: a shard ends before each game with a multiple of this number.

    Attributes:
      turn: number of the first game that is not written.

    Raises:
      DataError: the folder has games of another plan, another process writes to it, or it cannot be
        written.
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
        """Number of the first game that is not in a shard."""
        self._ready: list[PlayedGame | None] = []
        """The games from there to `turn`; None for a lost game."""
        self._waiting: dict[int, PlayedGame | None] = {}
        """Games that finished before their turn."""
        self._lost: dict[int, str] = {}
        self._lock = ExitStack()

    @property
    def torn(self) -> int:
        """Bytes of an incomplete journal entry, which were dropped."""
        return self._journal.torn

    def __enter__(self) -> Self:
        self._lock.enter_context(locked_folder(self.folder))
        try:
            with writing(self.folder, DataError):
                (self.folder / "sgf").mkdir(exist_ok=True)
                (self.folder / "games").mkdir(exist_ok=True)
            self._settle_plan()
            self._recover()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            while self._ready and self._ready[-1] is None:  # lost games are tried again
                self._ready.pop()
            self._publish()
        finally:
            self._lock.close()

    def missing(self, games: int) -> Iterator[int]:
        """Yield the numbers below `games` of missing games, in order."""
        return (n for n in range(self.turn, games) if n not in self._waiting)

    def have(self, games: int) -> int:
        """Return the number of games below `games` that are written or waiting."""
        return min(self.turn, games) + sum(number < games for number in self._waiting)

    def add(self, games: Mapping[int, PlayedGame]) -> None:
        """Add finished games by number. Raises `DataError` if they cannot be written."""
        with writing(self._journal.path, DataError):
            self._journal.append(_entry(number, played) for number, played in games.items())
        self._waiting.update(games)
        self._advance()

    def lose(self, number: int, reason: str) -> None:
        """Give up a game, so that later ones can be written. Raises `DataError` if they cannot."""
        self._waiting[number] = None
        self._lost[number] = reason
        self._advance()

    def _advance(self) -> None:
        """Write the games whose turn has come."""
        while self.turn in self._waiting:
            played = self._waiting.pop(self.turn)
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
        """Return the path of a game's SGF."""
        group = number // _SGF_A_FOLDER
        return self.folder / "sgf" / f"{group:06}" / f"{number:09}.sgf"

    def _publish(self) -> None:
        """Write the ready games as a shard."""
        games = [played.game for played in self._ready if played is not None]
        if not games:
            return
        end = self._first + len(self._ready)
        lost = {str(n): why for n, why in self._lost.items() if self._first <= n < end}
        settings = {**self._settings, "first": self._first, "next": end, "lost": lost}
        with ShardWriter(
            self.folder / "games",
            size=self._size,
            sources=("self-play",),
            settings=settings,
            games_a_shard=len(games),
            moves_a_shard=_UNLIMITED_MOVES,
        ) as writer:
            for game in games:
                writer.add(game)
        self._first, self._ready = end, []
        with writing(self._journal.path, DataError):
            self._journal.replace(
                _entry(number, played)
                for number, played in self._waiting.items()
                if played is not None
            )

    def _settle_plan(self) -> None:
        """Write the plan, or check that it is unchanged. Raises `DataError`."""
        path = self.folder / PLAN
        if not path.exists():
            if shard_folders(self.folder / "games"):
                raise DataError(f"{self.folder}: holds games but no {PLAN}; use another folder")
            with writing(path, DataError):
                write_text(path, dumps(self._settings) + "\n")
            return
        stored = _read_plan(path)
        differing = sorted(
            name
            for name in stored.keys() | self._settings.keys()
            if stored.get(name) != self._settings.get(name)
        )
        if differing:
            raise DataError(
                f"{self.folder}: holds games of another plan ({', '.join(differing)} differ: see "
                f"{PLAN}); use another folder with --out, or the settings of that plan"
            )

    def _recover(self) -> None:
        """Read which games are in shards, and the games of the journal."""
        for shard in shard_folders(self.folder / "games"):
            end = GAME_SHARDS.read_manifest(shard).settings.get("next")
            if type(end) is not int or end < self._first:
                raise DataError(f"{shard}: is not a shard of self-play; use another folder")
            self._first = end
        self.turn = self._first
        with writing(self._journal.path, DataError):
            entries = self._journal.read()
        for entry in entries:
            number = entry.pop("number", None) if isinstance(entry, dict) else None
            if type(number) is not int:
                raise DataError(f"{self._journal.path}: is not a journal of self-play")
            if number >= self._first:
                self._waiting[number] = unpack(entry)
        self._remove_drafts()
        self._advance()

    def _remove_drafts(self) -> None:
        """Remove temporary files of a killed process."""
        for place in (self.folder, self.sgf_file(self.turn).parent):
            for draft in place.glob(DRAFT_PATTERN):
                draft.unlink(missing_ok=True)


def settings_of(plan: GamesPlan) -> dict[str, Any]:
    """Return a plan as plain data, with digests of the files that the players' parameters name."""
    settings: dict[str, Any] = plan.model_dump(mode="json")
    files = {
        f"{color}.{name}": digest
        for color in COLORS
        for name, digest in _digests(getattr(plan, color).parameters.items())
    }
    return {**settings, "files": files}


def _digests(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, value in values:
        if not isinstance(value, str) or not 0 < len(value) < _MAX_PATH_LENGTH:
            continue
        with reading(value, DataError):
            if "\0" not in value and (path := Path(value).expanduser()).is_file():
                yield name, digest_of(path)


def _read_plan(path: Path) -> dict[str, Any]:
    with reading(path, DataError), path.open("rb") as file:
        content = file.read(_MAX_PLAN_BYTES)
    try:
        values = loads(content)
    except ValueError as error:
        raise DataError(f"{path}: is damaged: {error}; use another folder") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: is not a plan of self-play; use another folder")
    return values


def _entry(number: int, played: PlayedGame) -> dict[str, Any]:
    return {"number": number, **pack(played)}
