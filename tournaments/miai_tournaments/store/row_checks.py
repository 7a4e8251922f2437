"""Converts rows of a store to objects, checking every value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final, TypeGuard, get_origin, get_type_hints
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from miai_tournaments.store.rows import NAME, GameRow, GameStatus, PlayerRow, RunInfo

_INTEGER_END: Final = 2**63
_LARGEST: Final = 1e300


def is_int(value: Any) -> bool:
    """Return whether a value is a whole number from 0 that fits the store."""
    return type(value) is int and 0 <= value < _INTEGER_END


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST


def is_name(value: Any) -> bool:
    """Return whether a value may name a player, a game or a tournament, and so a file."""
    return isinstance(value, str) and re.fullmatch(NAME, value) is not None


def is_list(value: Any, check: Callable[[Any], bool]) -> TypeGuard[list[Any]]:
    """Return whether a value is a list whose items all pass a check."""
    return isinstance(value, list) and all(map(check, value))


Checks = Mapping[str, TypeAdapter[Any]]
"""What each column or fact may contain."""


def checks_of(row: type) -> Checks:
    """Return what the fields of a dataclass of rows may contain, in their order."""
    hints = get_type_hints(row, include_extras=True)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}


def _in_json(row: type) -> list[str]:
    """Return the fields that are stored as JSON: lists and tables."""
    hints = get_type_hints(row)
    return [name for name, hint in hints.items() if get_origin(hint) in (tuple, Mapping)]


_RUN: Final = checks_of(RunInfo)
_PLAYER: Final = checks_of(PlayerRow)
PLAYER_COLUMNS: Final = tuple(_PLAYER)
GAME_COLUMNS: Final = (
    *("game_id", "pair_id", "round", "players", "seed", "opening", "settings", "status"),
    *("returns", "termination", "loser", "detail", "moves", "player_moves", "seconds"),
    *("cpu_seconds", "wall_seconds", "started", "versions", "void_count", "void_reason"),
)
"""Columns of a game in the order of its checksum."""
_GAME: Final = checks_of(GameRow)
_JSON: Final = frozenset((*_in_json(PlayerRow), *_in_json(GameRow)))
_BY_SEAT: Final = ("returns", "player_moves", "seconds", "cpu_seconds")


def run_info(rows: Iterable[Sequence[Any]]) -> RunInfo:
    """Return the facts of the run. Raises `ValueError` naming the row."""
    values = {}
    for key, text in rows:
        values[key] = run_value(key, text)
    for field in fields(RunInfo):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            raise ValueError(f"table run: row '{field.name}' is missing")
    return RunInfo(**values)


def run_value(key: Any, text: Any) -> Any:
    """Return one fact of the run. Raises `ValueError` naming the row."""
    where = f"table run, row {_shown(key)}"
    if key not in _RUN:
        raise ValueError(f"{where}: is unknown to this version of miai")
    return checked(decoded(text, where, "value"), _RUN[key], where, "value")


def player_row(cells: Sequence[Any]) -> PlayerRow:
    """Return a player. Raises `ValueError` naming the row."""
    return PlayerRow(**row_values("players", _PLAYER, cells))


def game_row(cells: Sequence[Any], players: Collection[str]) -> GameRow:
    """Return a game of the given players. Raises `ValueError` naming the row."""
    values = _game_values(GAME_COLUMNS, cells)
    where, seats = f"table games, row '{values['game_id']}'", len(values["players"])
    for name in values["players"]:
        if name not in players:
            raise ValueError(f"{where}: has a player '{name}' who is not in table players")
    for column in _BY_SEAT:
        _check_seats(values, column, where, seats)
    if values["loser"] is not None and values["loser"] >= seats:
        raise ValueError(f"{where}: loser is {values['loser']}, but should be below {seats}")
    if values["status"] == "done" and not values["returns"]:
        raise ValueError(f"{where}: is done, but returns is empty")
    return GameRow(**values)


def _check_seats(values: Mapping[str, Any], column: str, where: str, seats: int) -> None:
    if len(values[column]) not in (0, seats):
        shown = _shown(list(values[column]))
        raise ValueError(f"{where}: {column} is {shown}, but should be a list of {seats}")


def checksums(columns: Sequence[Sequence[Any]]) -> Iterator[int]:
    """Return the CRC-32 of each row of a table that is given by its columns."""
    # Cells are separated by a control character, which hardly any has, so that ("ab", "c") and
    # ("a", "bc") differ. CRC-32 finds accidents; it is no protection against somebody who wants to
    # cheat.
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
    values = _game_values(("game_id", "players", "returns"), (game_id, players, returns))
    where = f"table games, row {_shown(game_id)}"
    _check_seats(values, "returns", where, len(values["players"]))
    if not values["returns"]:
        raise ValueError(f"{where}: is done, but returns is empty")
    return values["game_id"], values["returns"]


def opening(pair_id: Any, actions: Any) -> tuple[str, tuple[int, ...]]:
    """Return a pair's identity and opening. Raises `ValueError` naming the pair."""
    values = _game_values(("pair_id", "opening"), (pair_id, actions))
    return values["pair_id"], values["opening"]


def _game_values(columns: Sequence[str], cells: Sequence[Any]) -> dict[str, Any]:
    """Return the values of some columns of a game, the first of which names the row."""
    return row_values("games", {name: _GAME[name] for name in columns}, cells)


def known_status(status: Any) -> GameStatus:
    """Return the status of a game. Raises `ValueError` if it is not one."""
    valid: GameStatus = checked(status, _GAME["status"], "table games", "status")
    return valid


def row_values(
    table: str,
    expected: Checks,
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
    for (column, check), stored in zip(expected.items(), cells, strict=True):
        value = decoded(stored, where, column) if column in as_json else stored
        values[column] = checked(value, check, where, column)
    return values


def decoded(text: Any, where: str, column: str) -> Any:
    """Return the value of a JSON text. Raises `ValueError` that names the row with `where`."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{where}: {column} is {_shown(text)}, which is not JSON") from None


def checked(value: Any, check: TypeAdapter[Any], where: str, column: str) -> Any:
    """Return a value if it is valid. Raises `ValueError` that names the row with `where`."""
    try:
        return check.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = "".join(f"[{step}] " for step in first["loc"] if isinstance(step, int))
        words = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        raise ValueError(f"{where}: {column} is {_shown(value)}, but {place}{words}") from None


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
