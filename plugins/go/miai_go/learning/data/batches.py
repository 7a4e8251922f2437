"""A batch of positions, made from games in shards; `dataset` chooses the positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.kernels import records, rules, trail
from miai_go.learning.data.shards import Shard
from miai_go.learning.data.stored_games import UNKNOWN
from miai_go.nets.encoder import Encoder, Positions
from miai_go.rules.symmetry import point_tables, turned_planes, turned_policy


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """n positions with the moves played and the results of their games.

    All are of one board size. Everything is turned by one symmetry a row; all values are from the
    view of the player to move.

    Attributes:
      size: points on a side of all boards.
      planes: of the encoder, uint8 of shape (n, planes, size, size); None without one.
      action: the move that was played, int64 of shape (n,); size * size is the pass.
      result: 1 the player to move won, -1 lost, 0 drew, nan unknown; float32 of shape (n,).
      score: points to win by, float32 of shape (n,), nan unknown.
      ply: moves played before, int64 of shape (n,).
      game: the game's number in the data set, int64 of shape (n,).
      symmetry: uint8 of shape (n,), see `miai_go.rules.symmetry`.
      policy: probabilities that a search found, float32 of shape (n, size * size + 1); None where
        no shard of this size has any. Rows of shards without any have the move that was played,
        and the weight 1.
      weight: of the policy target, float32 of shape (n,), or None; 0 where the search was too fast
        to learn from.
      root_value: what a search expected, float32 of shape (n,), nan unknown; or None.
      ownership: who owned each point at the end, int8 of shape (n, size, size): 1 the player to
        move, -1 the opponent, 0 neither; or None.
      positions: what the planes were made of, where that was asked for.
    """

    size: int
    planes: NDArray[np.uint8] | None
    action: NDArray[np.int64]
    result: NDArray[np.float32]
    score: NDArray[np.float32]
    ply: NDArray[np.int64]
    game: NDArray[np.int64]
    symmetry: NDArray[np.uint8]
    policy: NDArray[np.float32] | None
    weight: NDArray[np.float32] | None
    root_value: NDArray[np.float32] | None
    ownership: NDArray[np.int8] | None
    positions: Positions | None

    def __len__(self) -> int:
        return len(self.action)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The positions of a batch; each array has shape (n,).

    Attributes:
      size: points on a side of all boards.
      shard: number of the shard, int64.
      game: number of the game in its shard, int64.
      number: number of the game in the data set, int64.
      ply: int64; below the game's length.
      symmetry: uint8.
    """

    size: int
    shard: NDArray[np.int64]
    game: NDArray[np.int64]
    number: NDArray[np.int64]
    ply: NDArray[np.int64]
    symmetry: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.game)


def make_batch(
    shards: Sequence[Shard], rows: Rows, encoder: Encoder | None, *, with_positions: bool = False
) -> Batch:
    """Return the batch of some positions.

    Raises:
      DataError: the moves of a game cannot be played: the shard is damaged.
    """
    size = rows.size
    # The rows come from all shards in any order; one index for each shard and column reads them.
    groups = [(int(s), np.flatnonzero(rows.shard == s)) for s in np.unique(rows.shard)]
    gathered = _gather(shards, rows, groups)
    _aim_at_moves(shards, groups, gathered)
    positions = _positions(shards, rows, groups) if encoder is not None or with_positions else None
    planes = encoder.encode(positions) if encoder is not None and positions is not None else None
    side = 1 - 2 * ((gathered["first"] + rows.ply + 1) % 2)  # 1 for Black to move
    turned, row = point_tables(size)[rows.symmetry], np.arange(len(rows))
    result = gathered["result"].astype(np.float32)
    result[gathered["result"] == UNKNOWN] = np.nan
    policy, ownership = gathered.get("policy"), gathered.get("ownership")
    if ownership is not None:
        owners = (ownership * side[:, None].astype(np.int8)).reshape(-1, 1, size, size)
        ownership = turned_planes(owners, rows.symmetry)[:, 0]
    return Batch(
        size=size,
        planes=planes,
        action=turned[row, gathered["moves"]].astype(np.int64),
        result=result * side.astype(np.float32),
        score=gathered["margin"].astype(np.float32) * side.astype(np.float32),
        ply=rows.ply,
        game=rows.number,
        symmetry=rows.symmetry,
        policy=None if policy is None else turned_policy(policy.astype(np.float32), rows.symmetry),
        weight=_as_float32(gathered.get("weight")),
        root_value=_as_float32(gathered.get("root_value")),
        ownership=ownership,
        positions=positions if with_positions else None,
    )


def _as_float32(values: NDArray[Any] | None) -> NDArray[np.float32] | None:
    return None if values is None else values.astype(np.float32)


_DEFAULTS = {"first": 1, "weight": 0, "root_value": np.nan, "policy": 0, "ownership": 0}
"""Values for shards that lack a column which another shard has."""
_NOT_GATHERED: Final = frozenset({"offsets", "names", "ratings", "half_komi", "stones"})


def _gather(
    shards: Sequence[Shard], rows: Rows, groups: list[tuple[int, NDArray[np.int64]]]
) -> dict[str, NDArray[Any]]:
    """Return the column entries of each row, by its game or its move."""
    alike = (shard for shard in shards if shard.size == rows.size)
    columns = {name: values for shard in alike for name, values in shard.columns.items()}
    gathered: dict[str, NDArray[Any]] = {"first": np.ones(len(rows), np.int64)}
    for name in columns.keys() - _NOT_GATHERED:
        example = columns[name]
        shape = (len(rows), *example.shape[1:])
        gathered[name] = np.full(shape, _DEFAULTS.get(name, 0), example.dtype)
        for s, here in groups:
            values = shards[s].columns.get(name)
            if values is None:
                continue
            where = rows.game[here]
            if name in ("moves", "policy", "weight", "root_value"):
                where = shards[s].columns["offsets"][where] + rows.ply[here]
            gathered[name][here] = values[where]
    return gathered


def _aim_at_moves(
    shards: Sequence[Shard],
    groups: list[tuple[int, NDArray[np.int64]]],
    gathered: dict[str, NDArray[Any]],
) -> None:
    """Use the moves played as targets for shards without targets, if another shard has some."""
    for s, here in groups:
        if "policy" in gathered and "policy" not in shards[s].columns:
            gathered["policy"][here, gathered["moves"][here]] = 1
        if "weight" in gathered and "weight" not in shards[s].columns:
            gathered["weight"][here] = 1


def _positions(
    shards: Sequence[Shard], rows: Rows, groups: list[tuple[int, NDArray[np.int64]]]
) -> Positions:
    size = rows.size
    words = np.empty((len(rows), rules.board_words(size)), np.uint32)
    trails = np.zeros((len(rows), trail.trail_words(size)), np.int16)
    for s, here in groups:
        columns = shards[s].columns
        refused = records.reach(
            _empty(size),
            records.RecordedGames(
                moves=_unwritten(columns["moves"]),
                offsets=_unwritten(columns["offsets"]),
                half_komi=_unwritten(columns["half_komi"]),
                stones=_unwritten(columns.get("stones", _NO_STONES)),
                firsts=_unwritten(columns.get("first", _BLACK_FIRST)),
            ),
            records.Entries(
                games=rows.game[here],
                plies=rows.ply[here],
                symmetries=rows.symmetry[here],
                rows=here,
            ),
            point_tables(size),
            words,
            trails,
        )
        if refused >= 0:
            row = here[int(refused)]
            raise DataError(
                f"{shards[s].folder or 'games in memory'}: game {rows.game[row]} cannot be played "
                f"up to move {rows.ply[row]}; import it again"
            )
    return Positions(size, words, trails)


_NO_STONES = np.empty((0, 0), np.int8)
_BLACK_FIRST = np.empty(0, np.int8)


def _unwritten(column: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only column, like those of mapped files.

    So the kernel, which takes seconds to compile, is compiled for one kind of columns only.
    """
    view = column.view()
    view.flags.writeable = False
    return view


@cache
def _empty(size: int) -> NDArray[np.uint32]:
    return rules.empty_board(size)
