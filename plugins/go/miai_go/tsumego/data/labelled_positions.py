"""Data sets of life-and-death positions with proved answers: shards and folds.

A position is the stones of a zone, the target, the points next to the zone (wall, or beyond the
edge of the board) and the first mover. The roles of attacker and defender replace the colours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai_go.errors import DataError
from miai_go.learning.data.shard_files import (
    Columns,
    ShardColumn,
    ShardFormat,
    ShardManifest,
    numbered_folders,
)
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.tsumego.data.growth import PASS, LabelledPosition
from miai_go.tsumego.kernels import planes as kernels
from miai_go.tsumego.kernels.stones import ZONE_WORDS
from miai_go.tsumego.networks.zone_planes import PlaneLayout, Views, encode, layout_of
from miai_go.tsumego.problems.canonical_keys import canonical_keys, scrambled
from miai_go.tsumego.zones import MAX_ZONE_POINTS, Zone

# Columns

BOARD_POINTS: Final = 625

COLUMNS: Final[Mapping[str, ShardColumn]] = {
    "problem": ShardColumn("<i4", "position"),
    "attackers": ShardColumn("<u8", "position"),
    "defenders": ShardColumn("<u8", "position"),
    "side": ShardColumn("|i1", "position"),
    "safe": ShardColumn("|i1", "position"),
    "best": ShardColumn("<u8", "position"),
    "level": ShardColumn("<i2", "position"),
    "key": ShardColumn("<u8", "position"),
    "words": ShardColumn("<u8", "problem", ZONE_WORDS),
    "points": ShardColumn("<i2", "problem", MAX_ZONE_POINTS),
    "stones": ShardColumn("|i1", "problem", BOARD_POINTS),
    "size": ShardColumn("|i1", "problem"),
    "target": ShardColumn("<i2", "problem"),
    "defender": ShardColumn("|i1", "problem"),
    "source": ShardColumn("<i8", "problem"),
    "root": ShardColumn("<u8", "problem"),
    "links": ShardColumn("<i4", "link", 2),
}
"""Columns of a shard.

Position: number of its problem in the set, the fields of `LabelledPosition`, and its key.
Problem: words and points of the zone and the whole board (both padded with -1), points on a side,
a stone of the target, its colour, the number of its source, the key of its first position.
Link: two problems with a common position, which the set has only once, with the earlier problem."""


def rows_of(
    zone: Zone, positions: Sequence[LabelledPosition], source: int
) -> dict[str, NDArray[Any]]:
    """Return the columns of problem 0, without links."""
    count = len(positions)
    attackers = np.array([p.attackers for p in positions], np.uint64)
    defenders = np.array([p.defenders for p in positions], np.uint64)
    sides = np.array([p.side for p in positions], np.int8)
    blocks = np.empty(count, np.uint64)
    kernels.target_blocks(zone.words, defenders, blocks)
    keys = canonical_keys(
        zone, attackers.tolist(), defenders.tolist(), blocks.tolist(), sides.tolist()
    )
    columns: dict[str, Any] = {
        "problem": np.zeros(count, np.int32),
        "attackers": attackers,
        "defenders": defenders,
        "side": sides,
        "safe": [p.safe for p in positions],
        "best": np.array([p.best for p in positions], np.uint64),
        "level": [p.level for p in positions],
        "key": keys,
        "words": zone.words[None],
        "points": _padded(zone.points, MAX_ZONE_POINTS),
        "stones": _padded(zone.stones, BOARD_POINTS),
        "size": [zone.size],
        "target": [zone.target],
        "defender": [zone.defender],
        "source": [source],
        "root": keys[:1],
    }
    return {n: np.ascontiguousarray(v, COLUMNS[n].dtype) for n, v in columns.items()}


def joined(parts: Sequence[Columns]) -> dict[str, NDArray[Any]]:
    """Concatenate the columns of one or more problems."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _padded(values: Sequence[int] | NDArray[Any], width: int) -> NDArray[np.int16]:
    out = np.full((1, width), -1, np.int16)
    out[0, : len(values)] = values
    return out


class LifeManifest(ShardManifest):
    """Manifest of a shard of positions; all shards of a set have the same `settings`.

    Attributes:
      next_source: number of the first source after this shard.
    """

    next_source: int = Field(ge=0)


def _shape(manifest: LifeManifest, column: ShardColumn) -> tuple[int, ...]:
    """Return the shape of a column, with the rows of the first column of its kind."""
    first = next(name for name, other in COLUMNS.items() if other.per == column.per)
    rows = next(iter(manifest.columns[first].shape), -1)
    return (rows, int(column.width)) if column.width else (rows,)


LIFE_SHARDS: Final = ShardFormat(
    name="miai-tsumego-shard",
    version=1,
    manifest=LifeManifest,
    columns=COLUMNS,
    shape=_shape,
    remedy="copy it again, or make the set again in another folder",
)


# Reading


@dataclass(frozen=True, eq=False)
class LabelledPositions:
    """A data set of positions with their answers.

    Attributes:
      columns: arrays by name, see `COLUMNS`, with the rows of all shards.
      digest: digest of the contents, 16 hexadecimal digits.
    """

    columns: dict[str, NDArray[Any]]
    digest: str

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> Self:
        """Return the set in a folder.

        Raises:
          DataError: there is no set, or it is damaged.
        """
        shards = [LIFE_SHARDS.open(shard, verify=verify) for shard in numbered_folders(folder)]
        if not shards:
            raise DataError(
                f"{folder}: contains no positions; make some with: miai go tsumego data make"
            )
        total = hashlib.sha256()
        for manifest, _columns in shards:
            for name in COLUMNS:
                total.update(manifest.columns[name].sha256.encode())
        columns = joined([columns for _manifest, columns in shards])
        _check(folder, columns)
        return cls(columns, total.hexdigest()[:16])

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.columns["problem"])

    @property
    def problems(self) -> int:
        """Number of problems."""
        return len(self.columns["size"])

    @cached_property
    def layout(self) -> PlaneLayout:
        """Zones of all problems."""
        c = self.columns
        return layout_of(c["words"], c["points"], c["size"])

    def safe(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.bool_]:
        """Return whether the target of each position is safe."""
        return self.columns["safe"][rows].astype(bool)

    def empty_points(self) -> NDArray[np.int64]:
        """Return the number of empty points at the start of each position's problem."""
        c = self.columns
        stones = np.take_along_axis(c["stones"], np.maximum(c["points"], 0), 1)
        empty: NDArray[np.int64] = ((c["points"] >= 0) & (stones == 0)).sum(1)
        by_position: NDArray[np.int64] = empty[c["problem"]]
        return by_position

    def views(
        self,
        rows: NDArray[np.int64],
        *,
        planes: str,
        window: int,
        turn: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Views:
        """Return the planes of positions in a symmetry; by `rng`, with random centre and symmetry.

        See `miai_go.tsumego.networks.zone_planes.encode`.
        """
        c, picks, turns = self.columns, None, np.full(len(rows), turn)
        if rng is not None:
            picks = rng.integers(1 << 16, size=len(rows))
            turns = rng.integers(SYMMETRIES, size=len(rows))
        return encode(
            self.layout,
            c["problem"][rows],
            c["attackers"][rows],
            c["defenders"][rows],
            c["side"][rows],
            planes=planes,
            window=window,
            picks=picks,
            turns=turns,
        )


def policy_targets(
    best: NDArray[np.uint64], places: NDArray[np.int16], window: int
) -> NDArray[np.float32]:
    """Return policy targets, float32 of shape (n, window ** 2 + 1).

    All solving moves have the same probability. The last entry is for no move: none is needed, none
    helps, or all are outside the window.
    """
    count = len(best)
    out = np.zeros((count, window**2 + 1), np.float32)
    bits = np.arange(PASS, dtype=np.uint64)
    solving = (best[:, None] >> bits & np.uint64(1)).astype(bool) & (places[:, :PASS] >= 0)
    row, point = np.nonzero(solving)
    out[row, places[row, point]] = 1.0
    total = out.sum(1)
    out[total == 0, -1] = 1.0
    out /= np.maximum(total, 1.0)[:, None]
    return out


def _check(folder: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Check what the kernels rely on."""
    problems = len(columns["size"])
    of, links = columns["problem"], columns["links"]
    counts = (columns["points"] >= 0).sum(1)
    whole = (np.uint64(1) << counts.astype(np.uint64)) - np.uint64(1)
    words = columns["words"]
    fits = (
        len(of) > 0
        and of.min() >= 0
        and of.max() < problems
        and (links.size == 0 or (links.min() >= 0 and links.max() < problems))
        and (counts > 0).all()
        and (columns["size"] > 0).all()
        and (words[:, 64] == whole).all()
        and (words[:, :64] & ~whole[:, None] == 0).all()
        and ((words[:, 65] | words[:, 66]) & ~whole == 0).all()
        and (np.bitwise_count(words[:, 66]) == 1).all()
    )
    if fits:
        stones = columns["attackers"] | columns["defenders"]
        fits = bool(
            (stones & ~whole[of] == 0).all()
            and (columns["attackers"] & columns["defenders"] == 0).all()
            and (columns["defenders"] & words[of, 66] != 0).all()
            and np.isin(columns["side"], (0, 1)).all()
            and np.isin(columns["safe"], (0, 1)).all()
        )
    if not fits:
        raise DataError(f"{folder}: contains invalid positions; make the set again elsewhere")


# Folds

By = Literal["problem", "position"]
FOLDS: Final = 5


def folds_of(
    positions: LabelledPositions, *, folds: int = FOLDS, seed: int = 0, by: By = "problem"
) -> NDArray[np.int64]:
    """Return the fold of each position, int64 of shape (n,), from 0 to `folds` - 1.

    Args:
      by: "problem" keeps connected problems in one fold, which depends on them and the seed alone;
        problems are connected if they share a position, up to symmetry and colour. A growing set
        may connect more problems, some of which then change their fold. "position" draws each
        position separately, for comparison; it leaks, because positions that differ by one stone
        end up in different folds.
    """
    if by == "position":
        keys = positions.columns["key"]
    else:
        roots = positions.columns["root"]
        keys = roots[_groups(positions)][positions.columns["problem"]]
    # By a digest of the keys rather than in order, so that most problems keep their fold when the
    # set grows.
    drawn = scrambled(keys ^ scrambled(np.array([seed], np.uint64)))
    return (drawn % np.uint64(folds)).astype(np.int64)


def _groups(positions: LabelledPositions) -> NDArray[np.int64]:
    """Return for each problem the one of its group with the smallest root key."""
    # Union-find. The least key leads, so that folds do not depend on the order of problems.
    roots = positions.columns["root"]
    leader = list(range(positions.problems))

    def find(problem: int) -> int:
        while leader[problem] != problem:
            leader[problem] = leader[leader[problem]]
            problem = leader[problem]
        return problem

    for a, b in positions.columns["links"].tolist():
        first, second = find(a), find(b)
        if roots[second] < roots[first]:
            first, second = second, first
        leader[second] = first
    return np.array([find(problem) for problem in range(positions.problems)], np.int64)
