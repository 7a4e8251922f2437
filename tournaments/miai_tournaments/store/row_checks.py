"""Converts rows of a store to objects, checking every value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, Final, TypeGuard, get_args
from zlib import crc32

from miai.seeds import SEED_BITS
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo, Status

_NAME: Final = re.compile(r"[\w+~-][\w.+~-]{0,199}")
"""Players' names and identities of games, which become parts of file names."""
_INTEGER_END: Final = 2**63
_LARGEST: Final = 1e300

Cell = tuple[str, Callable[[Any], bool]]
"""What a value should be: in words, and as a check."""


def is_int(value: Any, least: int = 0) -> bool:
    """Return whether a value is a whole number of at least `least` that fits the store."""
    return type(value) is int and least <= value < _INTEGER_END


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST


def is_duration(value: Any) -> bool:
    """Return whether a value is a number of seconds."""
    return is_number(value) and value >= 0


def is_name(value: Any) -> bool:
    """Return whether a value may name a player, a game or a tournament, and so a file."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def is_list(value: Any, check: Callable[[Any], bool]) -> TypeGuard[list[Any]]:
    """Return whether a value is a list whose items all pass a check."""
    return isinstance(value, list) and all(map(check, value))


def _by_player(seats: int) -> dict[str, Cell]:
    """Return what the columns with a value for each player of a game should be."""

    def each(words: str, check: Callable[[Any], bool]) -> Cell:
        return f"a list of {seats} {words}", lambda v: is_list(v, check) and len(v) in (0, seats)

    return {
        "returns": each("finite numbers", is_number),
        "loser": (
            f"a whole number below {seats}, or nothing",
            lambda v: v is None or (is_int(v) and v < seats),
        ),
        "player_moves": each("whole numbers", is_int),
        "seconds": each("durations", is_duration),
        "cpu_seconds": each("durations or nulls", lambda item: item is None or is_duration(item)),
    }


def _is_tables(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


TEXT: Cell = ("a text", lambda v: isinstance(v, str))
A_NAME: Cell = ("a name", is_name)
WORD: Cell = ("a name", lambda v: isinstance(v, str) and v != "" and v.isprintable())
COUNT: Cell = ("a whole number from 0", is_int)
_SEED: Cell = ("a whole number from 0", lambda v: type(v) is int and 0 <= v < 2**SEED_BITS)
ORDINAL: Cell = ("a whole number from 1", lambda v: is_int(v, 1))
_LIMIT: Cell = ("a whole number from 1, or nothing", lambda v: v is None or is_int(v, 1))
TABLE: Cell = ("a table", lambda v: isinstance(v, dict))
_TABLES: Cell = ("a table of tables", _is_tables)

_RUN: Mapping[str, Cell] = {
    "name": A_NAME,
    "seed": _SEED,
    "rounds": ORDINAL,
    "game": WORD,
    "game_version": COUNT,
    "game_parameters": TABLE,
    "time_control": TABLE,
    "move_limit": _LIMIT,
    "created": TEXT,
    "resolved": _TABLES,
    "config_text": TEXT,
    "config_path": TEXT,
    "format": TABLE,
    "facts": TABLE,
}
_PLAYER: Mapping[str, Cell] = {
    "name": A_NAME,
    "agent": WORD,
    "given": TABLE,
    "parameters": TABLE,
    "team": ("a name or nothing", lambda v: v == "" or is_name(v)),
}
_OF_TWO: Final = _by_player(2)
_GAME: Mapping[str, Cell] = {
    "game_id": A_NAME,
    "pair_id": A_NAME,
    "round": ORDINAL,
    "players": (
        "a list of two names or more",
        lambda v: is_list(v, is_name) and len(v) == len(set(v)) >= 2,
    ),
    "seed": COUNT,
    "opening": ("a list of actions", lambda v: is_list(v, is_int)),
    "settings": TABLE,
    "status": (f"one of {', '.join(get_args(Status))}", lambda v: v in get_args(Status)),
    "returns": _OF_TWO["returns"],
    "termination": TEXT,
    "loser": _OF_TWO["loser"],
    "detail": TEXT,
    "moves": COUNT,
    "player_moves": _OF_TWO["player_moves"],
    "seconds": _OF_TWO["seconds"],
    "cpu_seconds": _OF_TWO["cpu_seconds"],
    "wall_seconds": ("a duration", is_duration),
    "started": TEXT,
    "versions": ("a table of texts", _is_texts),
    "void_count": COUNT,
    "void_reason": TEXT,
}
_JSON: Final = frozenset(
    ("given", "parameters", "players", "opening", "settings", "returns", "versions")
) | {"player_moves", "seconds", "cpu_seconds"}
PLAYER_COLUMNS: Final = tuple(_PLAYER)
GAME_COLUMNS: Final = tuple(_GAME)


def run_info(rows: Iterable[Sequence[Any]]) -> RunInfo:
    """Return the facts of the run. Raises `ValueError` naming the row."""
    values = {}
    for key, text in rows:
        where = f"table run, row {_shown(key)}"
        if key not in _RUN:
            raise ValueError(f"{where}: is unknown to this version of miai")
        values[key] = checked(decoded(text, where, "value"), _RUN[key], where, "value")
    for field in fields(RunInfo):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            raise ValueError(f"table run: row '{field.name}' is missing")
    return RunInfo(**values)


def player_row(cells: Sequence[Any]) -> PlayerRow:
    """Return a player. Raises `ValueError` naming the row."""
    return PlayerRow(**row_values("players", _PLAYER, cells))


def game_row(cells: Sequence[Any], players: Collection[str]) -> GameRow:
    """Return a game of the given players. Raises `ValueError` naming the row."""
    values = _game_values(GAME_COLUMNS, cells)
    for name in values["players"]:
        if name not in players:
            raise ValueError(
                f"table games, row '{values['game_id']}': has a player '{name}' who is not in "
                "table players"
            )
    if values["status"] == "done" and not values["returns"]:
        raise ValueError(f"table games, row '{values['game_id']}': is done, but returns is empty")
    return GameRow(**values)


def checksums(columns: Sequence[Sequence[Any]]) -> Iterator[int]:
    """Return the CRC-32 of each row of a table that is given by its columns."""
    # Fields are separated by a character that no cell has, so that ("ab", "c") and ("a", "bc")
    # differ. CRC-32 finds accidents; it is no protection against somebody who wants to cheat.
    rows = zip(*(map(str, column) for column in columns), strict=True)
    return (crc32(text.encode(errors="surrogatepass")) for text in map("\x1f".join, rows))


def check_sums(
    columns: Sequence[Sequence[Any]],
    stored: Sequence[int | None],
    *,
    table: str = "games",
    names: Sequence[Any] | None = None,
    required: Sequence[bool] | None = None,
) -> None:
    """Raise `ValueError` that names the first row whose checksum is not the one that was stored.

    Args:
      columns: of the rows.
      stored: the checksums; None in a row without one.
      names: what to call the rows; by default by their first column.
      required: the rows that need a checksum; by default all do.
    """
    names = columns[0] if names is None else names
    required = [True] * len(names) if required is None else required
    rows = zip(names, checksums(columns), stored, required, strict=True)
    for name, actual, expected, needed in rows:
        if needed if expected is None else actual != expected:
            what = "is missing" if expected is None else "does not match"
            raise ValueError(
                f"table {table}, row {_shown(name)}: was damaged or changed after it was written; "
                f"its checksum {what}"
            )


def score(game_id: Any, players: Any, returns: Any) -> tuple[str, tuple[float, ...]]:
    """Return a finished game's identity and returns. Raises `ValueError` naming the row."""
    values = _some_values(game_id=game_id, players=players, returns=returns)
    if not values["returns"]:
        raise ValueError(f"table games, row {_shown(game_id)}: is done, but returns is empty")
    return values["game_id"], values["returns"]


def opening(pair_id: Any, actions: Any) -> tuple[str, tuple[int, ...]]:
    """Return a pair's identity and opening. Raises `ValueError` naming the pair."""
    values = _some_values(pair_id=pair_id, opening=actions)
    return values["pair_id"], values["opening"]


def _some_values(**cells: Any) -> dict[str, Any]:
    """Return the values of some columns of a game, the first of which names the row."""
    return _game_values(tuple(cells), list(cells.values()))


def _game_values(columns: Sequence[str], cells: Sequence[Any]) -> dict[str, Any]:
    """Return the values of some columns of a game, the first of which names the row.

    What a column by player should be depends on the number of players, so `players` comes before.
    """
    players = cells[columns.index("players")] if "players" in columns else ""
    # Before the text is parsed, since what the other cells should be depends on it.
    seats = players.count(",") + 1 if isinstance(players, str) else 2  # no name has a comma
    return row_values("games", _expected(columns, seats), cells)


@lru_cache(maxsize=256)
def _expected(columns: Sequence[str], seats: int) -> Mapping[str, Cell]:
    """Return what some columns of a game should be, by its number of players."""
    cells = {**_GAME, **_by_player(seats)}
    return {name: cells[name] for name in columns}


def known_status(status: Any) -> Status:
    """Return the status of a game. Raises `ValueError` if it is not one."""
    valid: Status = checked(status, _GAME["status"], "table games", "status")
    return valid


def row_values(
    table: str,
    expected: Mapping[str, Cell],
    cells: Sequence[Any],
    *,
    as_json: Collection[str] = _JSON,
) -> dict[str, Any]:
    """Return the values of a row by column; its first cell names it in messages.

    Args:
      as_json: columns that contain JSON; lists in it become tuples.

    Raises:
      ValueError: a value is malformed; the message names row and column.
    """
    where = f"table {table}, row {_shown(cells[0])}"
    values = {}
    for (column, cell), stored in zip(expected.items(), cells, strict=True):
        value = decoded(stored, where, column) if column in as_json else stored
        checked(value, cell, where, column)
        values[column] = tuple(value) if isinstance(value, list) else value
    return values


def decoded(text: Any, where: str, column: str) -> Any:
    """Return the value of a JSON text. Raises `ValueError` that names the row with `where`."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{where}: {column} is {_shown(text)}, which is not JSON") from None


def checked(value: Any, cell: Cell, where: str, column: str) -> Any:
    """Return a value if it is valid. Raises `ValueError` that names the row with `where`."""
    words, check = cell
    if not check(value):
        raise ValueError(f"{where}: {column} is {_shown(value)}, but should be {words}")
    return value


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
