"""A run as tables for analysis: games, moves and players, each cell a number, a text or a truth.

What a row holds in a list or a table has a column for each entry, named by its path: ``returns.0``,
``settings.komi``. Rows are read when they are asked for, so files of a million games need little
memory.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from miai.errors import RecordError
from miai.plugins.extras import extra_needed
from miai.record import GameRecord
from miai.record_reader import read_record
from miai_tournaments.store.database import damaged
from miai_tournaments.store.export import whole_file
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store

Scalar = bool | int | float | str | None
Row = Mapping[str, Scalar]

_ROWS_AT_ONCE: Final = 50_000
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_GAME: Final[Mapping[str, type]] = {
    **dict.fromkeys(("game_id", "pair_id", "opening", "status", "termination", "detail"), str),
    **dict.fromkeys(("started", "void_reason"), str),
    **dict.fromkeys(("round", "seed", "loser", "moves", "void_count"), int),
    "wall_seconds": float,
}
_MOVE: Final[Mapping[str, type]] = {
    **dict.fromkeys(("game_id", "player", "text"), str),
    **dict.fromkeys(("ply", "actor", "action"), int),
    **dict.fromkeys(("seconds", "cpu_seconds"), float),
    "opening": bool,
}
_PLAYER: Final[Mapping[str, type]] = dict.fromkeys(("name", "agent", "team"), str)
_TABLES: Final = ("players", "returns", "player_moves", "seconds", "cpu_seconds", "settings")


class DataTable:
    """A table whose rows are read when they are asked for; iterate it for rows as dictionaries.

    `to_arrow`, `to_pandas` and `to_polars` raise `MissingExtraError` without their library.

    Args:
      rows: returns the rows, the same each time.
      known: types of the columns that are there without rows too.
    """

    def __init__(self, rows: Callable[[], Iterable[Row]], known: Mapping[str, type]) -> None:
        self._rows = rows
        self._known = known

    @cached_property
    def columns(self) -> Mapping[str, type]:
        """``bool``, ``int``, ``float`` or ``str`` by column; to find them, all rows are read once.

        Any cell may be None.
        """
        kinds: dict[str, set[type]] = {}
        for row in self._rows():
            for name, value in row.items():
                if name not in self._known:
                    kinds.setdefault(name, set()).add(_kind(value))
        return {**self._known, **{name: _common(found) for name, found in kinds.items()}}

    def __iter__(self) -> Iterator[dict[str, Scalar]]:
        columns = self.columns
        for row in self._rows():
            cells = ((name, kind, row.get(name)) for name, kind in columns.items())
            yield {name: None if cell is None else kind(cell) for name, kind, cell in cells}

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``."""
        schema = self._schema(_library("pyarrow", "parquet"))
        return _library("pyarrow", "parquet").Table.from_batches(self._batches(schema), schema)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; columns have the types that know of absent cells."""
        pandas, table = _library("pandas", "pandas"), self.to_arrow()
        kinds = {"bool": "Boolean", "int64": "Int64", "double": "Float64", "string": "String"}
        return table.to_pandas(types_mapper=lambda t: getattr(pandas, f"{kinds[str(t)]}Dtype")())

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
        return _library("polars", "polars").from_arrow(self.to_arrow())

    def write_parquet(self, path: Path) -> None:
        """Write the table as Parquet. Raises `StoreError` if it cannot be written."""
        schema = self._schema(_library("pyarrow", "parquet"))
        parquet = importlib.import_module("pyarrow.parquet")
        with whole_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
            for batch in self._batches(schema):
                writer.write_batch(batch)

    def write_csv(self, path: Path) -> None:
        """Write the table as CSV; see `csv_cell`. Raises `StoreError` if it cannot be written."""
        with whole_file(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(map(csv_cell, row.values()) for row in self)
            text.detach()

    def _schema(self, pyarrow: Any) -> Any:
        types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
        columns = self.columns.items()
        return pyarrow.schema([(name, types.get(kind, pyarrow.string())) for name, kind in columns])

    def _batches(self, schema: Any) -> Iterator[Any]:
        rows, batch = iter(self), _library("pyarrow", "parquet").RecordBatch
        while chunk := list(islice(rows, _ROWS_AT_ONCE)):
            yield batch.from_pylist(chunk, schema=schema)


class RunTables:
    """A run as tables, as it was when its games were first read; `open_run` makes it.

    Attributes:
      games: a row for each scheduled game: ``players.0``, ``returns.0``, ``seconds.0`` are of the
        player who moves first; ``opening`` has the numbers of its actions.
      moves: a row for each action of the finished games: ``actor`` is the player's number, or -1
        for chance, and ``player`` its name; ``statistics.KEY`` is what the agent reported, as far
        as it is one number, text or truth. `record` has the rest.
      players: a row for each player: its agent, its team and ``parameters.KEY``.
    """

    def __init__(self, folder: Path) -> None:
        """Read the players of a run. Raises `StoreError` if its store cannot be read."""
        self._folder = folder
        with Store.read(folder) as store:
            players = store.players()
        self.games = DataTable(lambda: map(_game, self._games), _GAME)
        self.moves = DataTable(self._moves, _MOVE)
        self.players = DataTable(
            lambda: (
                {**_fields(player, _PLAYER), **flat(player.parameters, "parameters.")}
                for player in players
            ),
            _PLAYER,
        )

    def record(self, game_id: str) -> GameRecord:
        """Return the record of a finished game. Raises `StoreError`."""
        with Store.read(self._folder) as store:
            return stored_record(store, game_id)

    @cached_property
    def _games(self) -> Sequence[GameRow]:
        with Store.read(self._folder) as store:
            return store.games()

    def _moves(self) -> Iterator[Row]:
        done = [game.game_id for game in self._games if game.status == "done"]
        with Store.read(self._folder) as store:
            for game_id in done:
                record = stored_record(store, game_id)
                for move in record.moves:
                    player = record.players[move.actor].name if move.actor >= 0 else None
                    reported = move.statistics.items()
                    yield {
                        **_fields(move, _MOVE),
                        "game_id": game_id,
                        "player": player,
                        **{f"statistics.{k}": v for k, v in reported if isinstance(v, Scalar)},
                    }


def flat(value: object, path: str = "") -> dict[str, Scalar]:
    """Return the cells of plain data by their path: ``{"komi": [1]}`` is ``komi.0``."""
    if isinstance(value, Mapping):
        parts: Iterable[tuple[object, object]] = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    else:
        return {path.rstrip("."): value if isinstance(value, Scalar) else str(value)}
    return {k: v for key, part in parts for k, v in flat(part, f"{path}{key}.").items()}


def csv_cell(value: object) -> object:
    """Return a cell of CSV; a text that a spreadsheet took for a formula gets an apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return f"'{value}"
    return "" if value is None else value


def _fields(row: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name, None) for name in names}


def _game(row: GameRow) -> Row:
    opening = " ".join(map(str, row.opening))
    more = flat(_fields(row, (*_TABLES, "versions")))
    return {**_fields(row, _GAME), "opening": opening, **more}


def stored_record(store: Store, game_id: str) -> GameRecord:
    """Return the record of a finished game. Raises `StoreError` if it is missing or none."""
    try:
        return read_record(store.record(game_id))
    except RecordError as error:
        raise damaged(store.path, f"table records, row '{game_id}': {error}") from error


def _kind(value: Scalar) -> type:
    return str if type(value) is int and not -(2**63) <= value < 2**63 else type(value)


def _common(kinds: set[type]) -> type:
    """Return the type of a column that has values of these types."""
    kinds = kinds - {type(None)}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _library(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise extra_needed("this table", module, f"miai[{extra}]") from None
