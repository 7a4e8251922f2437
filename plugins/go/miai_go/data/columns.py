"""The columns of a shard: what they hold, their dtypes and shapes, and making them from games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai_go.data.games import NAME_BYTES, UNKNOWN, StoredGame
from miai_go.errors import DataError

Per = Literal["move", "game", "offset"]
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Attributes:
      dtype: as numpy writes it, byte order included.
      per: one entry for each move, for each game, or one more than games.
      width: entries of a row: "points", "actions", a number, or 0 for no second axis.
      optional: whether a shard may lack it.
    """

    dtype: str
    per: Per
    width: int | Literal["points", "actions"] = 0
    optional: bool = False

    def shape(self, *, size: int, games: int, moves: int) -> tuple[int, ...]:
        """Return the shape in a shard."""
        rows = {"move": moves, "game": games, "offset": games + 1}[self.per]
        widths = {"points": size * size, "actions": size * size + 1}
        width = widths[self.width] if isinstance(self.width, str) else self.width
        return (rows, width) if width else (rows,)


COLUMNS: Final[Mapping[str, Column]] = {
    "moves": Column("<i2", "move"),
    "offsets": Column("<i8", "offset"),
    "result": Column("|i1", "game"),
    "margin": Column("<f4", "game"),
    "half_komi": Column("<i2", "game"),
    "names": Column("|u1", "game", NAME_BYTES),
    "ratings": Column("<f4", "game", 2),
    "stones": Column("|i1", "game", "points", optional=True),
    "first": Column("|i1", "game", optional=True),
    "policy": Column("<f2", "move", "actions", optional=True),
    "weight": Column("<f2", "move", optional=True),
    "root_value": Column("<f2", "move", optional=True),
    "ownership": Column("|i1", "game", "points", optional=True),
}
"""The columns; what they hold is told at `miai_go.data.games.StoredGame`.

`moves` has all moves of all games one after another; those of game g begin at `offsets[g]`."""


def columns_of(games: Sequence[StoredGame]) -> dict[str, NDArray[Any]]:
    """Return the columns of some games, at least one, all of one size.

    An optional column is there where any of the games has it. Then the others' rows are: no stones,
    Black first, policy targets of weight 0, unknown root values (nan) and no owners (0).

    Raises:
      DataError: the sizes differ, or an array of a game has not the shape that it must have.
    """
    size = games[0].size
    for game in games:
        _check(game, size)
    lengths = [len(game.moves) for game in games]
    moves = sum(lengths)
    columns: dict[str, NDArray[Any]] = {
        "moves": np.concatenate([game.moves for game in games]),
        "offsets": np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        "result": np.array([game.result for game in games]),
        "margin": np.array([game.margin for game in games]),
        "half_komi": np.array([game.half_komi for game in games]),
        "names": np.frombuffer(b"".join(game.name() for game in games), np.uint8).reshape(
            len(games), NAME_BYTES
        ),
        "ratings": np.array([game.ratings for game in games]),
    }
    if any(game.first != 1 or game.stones is not None for game in games):
        columns["first"] = np.array([game.first for game in games])
    _add_optional(columns, games, size, moves)
    return {
        name: np.ascontiguousarray(values, COLUMNS[name].dtype) for name, values in columns.items()
    }


def _add_optional(
    columns: dict[str, NDArray[Any]], games: Sequence[StoredGame], size: int, moves: int
) -> None:
    offsets = columns["offsets"]
    for name in ("stones", "ownership", "policy", "weight", "root_value"):
        if all(getattr(game, name) is None for game in games):
            continue
        column = COLUMNS[name]
        values = np.zeros(column.shape(size=size, games=len(games), moves=moves), column.dtype)
        if name == "root_value":
            values[:] = np.nan
        for g, game in enumerate(games):
            given = getattr(game, name)
            if given is not None:
                values[g if column.per == "game" else slice(offsets[g], offsets[g + 1])] = given
        columns[name] = values
    if "policy" in columns:
        _weigh(columns, games)


def _weigh(columns: dict[str, NDArray[Any]], games: Sequence[StoredGame]) -> None:
    """Give moves with a policy target the weight 1 where none was told, those without 0."""
    weight = columns.setdefault("weight", np.zeros(len(columns["moves"]), np.float16))
    offsets = columns["offsets"]
    for g, game in enumerate(games):
        here = slice(offsets[g], offsets[g + 1])
        if game.policy is None:
            weight[here] = 0
        elif game.weight is None:
            weight[here] = 1


def _check(game: StoredGame, size: int) -> None:
    if game.size != size:
        raise DataError(f"a {game.size}x{game.size} game among games of {size}x{size}")
    if game.result not in (-1, 0, 1, UNKNOWN) or game.first not in (1, 2):
        raise DataError(f"a game with result {game.result} and first player {game.first}")
    for name in ("moves", "stones", "ownership", "policy", "weight", "root_value"):
        given = getattr(game, name)
        shape = COLUMNS[name].shape(size=size, games=1, moves=len(game.moves))
        wanted = shape[1:] if COLUMNS[name].per == "game" else shape
        if given is not None and given.shape != wanted:
            raise DataError(f"{name} of a game has shape {given.shape}, not {wanted}")
