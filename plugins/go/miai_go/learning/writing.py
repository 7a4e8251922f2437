"""Writing sets of Go games, one shard after another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from miai_go.errors import DataError
from miai_go.learning.games import StoredGame
from miai_go.learning.shard_files import numbered_folders, prepare_folder
from miai_go.learning.shards import GAME_SHARDS, columns_of, shard_folders

GAMES_A_SHARD: Final = 20_000
MOVES_A_SHARD: Final = 2_000_000


class ShardWriter:
    """Appends games to a shard set.

    Used in a ``with`` statement, which finishes the last shard; after an error what is not yet in
    a finished shard is left out.

    Args:
      folder: of the set; it is made where it is missing, and continued where it is not.
      size: points on a side.
      sources: names of what the games are taken from, for the manifest.
      settings: plain data that says how they are taken or made, for the manifest.
      games_a_shard, moves_a_shard: a shard is finished when it has so many.

    Attributes:
      written: games in the shards that this writer finished.

    Raises:
      DataError: the folder is of another board size, or cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        size: int,
        sources: tuple[str, ...] = (),
        settings: Mapping[str, Any] | None = None,
        games_a_shard: int = GAMES_A_SHARD,
        moves_a_shard: int = MOVES_A_SHARD,
    ) -> None:
        self.folder = folder
        self.written = 0
        self._size = size
        self._head = {"sources": list(sources), "settings": dict(settings or {})}
        self._limits = (games_a_shard, moves_a_shard)
        self._games: list[StoredGame] = []
        self._moves = 0
        self._prepare()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the last shard, if all went well."""
        if kind is None:
            self.flush()

    def add(self, game: StoredGame) -> None:
        """Append a game; a shard that is full is written.

        Raises:
          DataError: the game is of another size, or the shard cannot be written.
        """
        if game.size != self._size:
            raise DataError(
                f"{self.folder}: a {game.size}x{game.size} game in a set of "
                f"{self._size}x{self._size}; keep the sizes in sets of their own"
            )
        self._games.append(game)
        self._moves += len(game.moves)
        if len(self._games) >= self._limits[0] or self._moves >= self._limits[1]:
            self.flush()

    def flush(self) -> Path | None:
        """Write the games that were added as a shard; return its folder, None without games.

        Raises:
          DataError: it cannot be written; the games remain to be written.
        """
        if not self._games:
            return None
        number = max((int(shard.name) for shard in numbered_folders(self.folder)), default=-1) + 1
        fields = {"size": self._size, "games": len(self._games), "moves": self._moves, **self._head}
        shard = GAME_SHARDS.write(self.folder, number, columns_of(self._games), fields)
        self.written += len(self._games)
        self._games, self._moves = [], 0
        return shard

    def _prepare(self) -> None:
        prepare_folder(self.folder)
        for shard in shard_folders(self.folder)[:1]:
            if shard == self.folder:
                raise DataError(f"{self.folder}: is a shard itself; give the set that it is in")
            size = GAME_SHARDS.read_manifest(shard).size
            if size != self._size:
                raise DataError(
                    f"{self.folder}: is a set of {size}x{size} games; write those of "
                    f"{self._size}x{self._size} to another folder"
                )
