"""Batches of positions from games in shards, in an order that depends on seeds alone.

A `Prefetcher` makes batches ahead of the training in a thread; the kernels release the GIL.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.kernels import records, rules, trail
from miai_go.learning.data.games import UNKNOWN
from miai_go.learning.data.shards import Shard
from miai_go.nets.encoder import Encoder, Positions
from miai_go.rules.coordinates import SYMMETRIES
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
    policy: NDArray[np.float32] | None = None
    weight: NDArray[np.float32] | None = None
    root_value: NDArray[np.float32] | None = None
    ownership: NDArray[np.int8] | None = None
    positions: Positions | None = None

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
        ownership=None if ownership is None else _turned_owners(ownership, side, rows, size),
        positions=positions if with_positions else None,
    )


def _as_float32(values: NDArray[Any] | None) -> NDArray[np.float32] | None:
    return None if values is None else values.astype(np.float32)


def _turned_owners(
    owners: NDArray[np.int8], side: NDArray[np.int64], rows: Rows, size: int
) -> NDArray[np.int8]:
    planes = (owners * side[:, None].astype(np.int8)).reshape(-1, 1, size, size)
    turned: NDArray[np.int8] = turned_planes(planes, rows.symmetry)[:, 0]
    return turned


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


# What a seed is drawn for, so that no two draws are the same.
_ORDER: Final = 1
_PLIES: Final = 2
_TURNS: Final = 3
_SIZES: Final = 4


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling of positions; see `miai_go.learning.data.dataset.GoDataset.batches`."""

    batch_size: int
    seed: int
    epoch: int
    symmetries: bool
    shuffle: bool
    targets_only: bool
    drop_last: bool

    def __post_init__(self) -> None:
        """Raise `DataError` if a number is out of range."""
        if self.batch_size < 1 or self.epoch < 0 or self.seed < 0:
            raise DataError(
                f"batch_size {self.batch_size}, epoch {self.epoch} and seed {self.seed} must be at "
                "least 1, 0 and 0"
            )

    def generator(self, purpose: int, number: int = 0) -> np.random.Generator:
        """Return the random generator for one purpose in this epoch."""
        return np.random.default_rng([self.seed, self.epoch, purpose, number])


class Games(Protocol):
    """Games from which batches are drawn: a `miai_go.learning.data.dataset.GoDataset`.

    Attributes:
      shards: the shards with the games.
      encoders: the encoders by size; empty without encoder.
      sizes: the sizes of boards.
    """

    shards: list[Shard]
    encoders: dict[int, Encoder]
    sizes: tuple[int, ...]

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of moves of each game."""

    def board_sizes(self) -> NDArray[np.uint8]:
        """Return the points on a side of each game's board."""

    def targets(self) -> NDArray[np.bool_]:
        """Return which positions, game after game, have a policy target with a weight."""

    def locate(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard numbers of games, and the numbers of the games in these shards."""

    def digest(self) -> str:
        """Return a digest of the games' names in order."""


class BatchStream:
    """Iterator over the batches of one epoch, from a given one.

    Args:
      data: the games.
      sampling: how they are drawn.
      start: number of the first batch.
      with_positions: whether batches hold positions beside planes.

    Attributes:
      next_batch: number of the batch that comes next.

    Raises:
      DataError: no position is left, or the epoch has fewer batches than `start`.
    """

    def __init__(
        self, data: Games, sampling: Sampling, *, start: int = 0, with_positions: bool = False
    ) -> None:
        self.sampling = sampling
        self.next_batch = start
        self._data = data
        self._with_positions = with_positions
        self._games, self._plies = _order(data, sampling)
        self._sizes, self._edges = self._arranged()
        if not 0 <= start <= len(self):
            raise DataError(f"there is no batch {start}: the epoch has {len(self)}")

    def __len__(self) -> int:
        """Number of batches in the epoch, including those before `start`."""
        return len(self._sizes)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises `DataError` if a shard is damaged."""
        if self.next_batch >= len(self):
            raise StopIteration
        batch = self.batch(self.next_batch)
        self.next_batch += 1
        return batch

    def rows(self, number: int) -> Rows:
        """Return the positions of a batch by number, without advancing."""
        sampling = self.sampling
        here = slice(self._edges[number, 0], self._edges[number, 1])
        games = self._games[here].astype(np.int64)
        shard, game = self._data.locate(games)
        turns = np.zeros(len(games), np.uint8)
        if sampling.symmetries:
            drawn = sampling.generator(_TURNS, number).integers(0, SYMMETRIES, len(games))
            turns = drawn.astype(np.uint8)
        plies = self._plies[here].astype(np.int64)
        return Rows(int(self._sizes[number]), shard, game, games, plies, turns)

    def batch(self, number: int) -> Batch:
        """Return a batch by number, without advancing."""
        rows = self.rows(number)
        return make_batch(
            self._data.shards,
            rows,
            self._data.encoders.get(rows.size),
            with_positions=self._with_positions,
        )

    def state(self) -> dict[str, Any]:
        """Return plain data from which `GoDataset.resume` continues with the next batch."""
        return {
            "games": self._data.digest(),
            "sampling": asdict(self.sampling),
            "batch": self.next_batch,
        }

    def _arranged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sort the positions by size; return the size of each batch, and where it lies among them.

        The latter is of shape (batches, 2). The seed draws the order of the sizes; each goes
        through its positions in their order.
        """
        sampling, sizes = self.sampling, self._data.board_sizes()[self._games]
        if len(self._data.sizes) > 1:
            by_size = np.argsort(sizes, kind="stable")
            self._games, self._plies = self._games[by_size], self._plies[by_size]
        turns, edges, end = [], [], 0
        for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
            begin, end = end, end + int(count)
            starts = np.arange(begin, end, sampling.batch_size)
            ends = np.minimum(starts + sampling.batch_size, end)
            if sampling.drop_last and len(starts) > 1 and end - starts[-1] < sampling.batch_size:
                starts, ends = starts[:-1], ends[:-1]
            turns.append(np.full(len(starts), size, np.int64))
            edges.append(np.stack((starts, ends), 1))
        order = np.concatenate(turns)
        if sampling.shuffle and len(turns) > 1:
            order = sampling.generator(_SIZES).permutation(order)
        places = np.argsort(np.argsort(order, kind="stable"))
        return order, np.concatenate(edges)[places]


def _order(data: Games, sampling: Sampling) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return games and plies of all positions in the order of the epoch."""
    lengths = data.lengths()
    kept = data.targets() if sampling.targets_only else None
    begins = np.concatenate(([0], np.cumsum(lengths)))
    positions = np.arange(begins[-1]) if kept is None else np.flatnonzero(kept)
    if not len(positions):
        raise DataError("no position is left: the games have no moves, or none has a target")
    if sampling.shuffle:
        positions = sampling.generator(_ORDER).permutation(positions)
    games = np.searchsorted(begins, positions, side="right") - 1
    return games.astype(np.int32), (positions - begins[games]).astype(np.int16)


_LOOK_SECONDS: Final = 0.1


class Prefetcher:
    """Iterator over the batches of a stream that makes some of them in advance.

    Used in a ``with`` statement, which ends the thread; the stream is not used beside it.

    Args:
      stream: what is made ahead.
      depth: batches that wait at most.

    Attributes:
      waited: seconds for which the taker of the batches had to wait for them so far.
    """

    def __init__(self, stream: BatchStream, *, depth: int = 4) -> None:
        self.waited = 0.0
        self._stream = stream
        self._state = stream.state()
        self._ready: queue.Queue[Batch | BaseException | None] = queue.Queue(max(1, depth))
        self._stop = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._make, name="go-batches", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the thread."""
        self.close()

    def __len__(self) -> int:
        """Number of batches in the epoch."""
        return len(self._stream)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises the error of making it."""
        if self._over:
            raise StopIteration
        began = time.perf_counter()
        got = self._ready.get()
        self.waited += time.perf_counter() - began
        if isinstance(got, Batch):
            self._state["batch"] += 1
            return got
        self.close()
        if got is None:
            raise StopIteration
        raise got

    def state(self) -> dict[str, Any]:
        """Return plain data from which `GoDataset.resume` continues after the last batch taken."""
        return dict(self._state)

    def close(self) -> None:
        """End the thread and drop the waiting batches."""
        self._over = True
        self._stop.set()
        self._thread.join()

    def _make(self) -> None:
        try:
            for batch in self._stream:
                if not self._put(batch):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)  # raised where the batch is asked for

    def _put(self, what: Batch | BaseException | None) -> bool:
        while not self._stop.is_set():
            try:
                self._ready.put(what, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
