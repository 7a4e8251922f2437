"""The columns of a shard of positions, and making them from problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.data.growing import Position
from miai_go.tsumego.data.keys import canonical_keys
from miai_go.tsumego.kernels import planes as kernels
from miai_go.tsumego.kernels.stones import ZONE_WORDS
from miai_go.tsumego.zones import MOST_POINTS, Zone

Columns = Mapping[str, NDArray[Any]]
BOARD_POINTS: Final = 625


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Attributes:
      dtype: as numpy writes it, byte order included.
      per: one row for each position, problem or link.
      width: entries of a row; 0 for no second axis.
    """

    dtype: str
    per: Literal["position", "problem", "link"]
    width: int = 0


COLUMNS: Final[Mapping[str, Column]] = {
    "problem": Column("<i4", "position"),
    "attackers": Column("<u8", "position"),
    "defenders": Column("<u8", "position"),
    "side": Column("|i1", "position"),
    "safe": Column("|i1", "position"),
    "best": Column("<u8", "position"),
    "level": Column("<i2", "position"),
    "key": Column("<u8", "position"),
    "words": Column("<u8", "problem", ZONE_WORDS),
    "points": Column("<i2", "problem", MOST_POINTS),
    "stones": Column("|i1", "problem", BOARD_POINTS),
    "size": Column("|i1", "problem"),
    "target": Column("<i2", "problem"),
    "defender": Column("|i1", "problem"),
    "source": Column("<i8", "problem"),
    "root": Column("<u8", "problem"),
    "links": Column("<i4", "link", 2),
}
"""The columns. Of a position: number of its problem in the set, and as in
`miai_go.tsumego.data.growing.Position`; `key` is `canonical_keys`'. Of a problem: its zone's words
and points (padded with -1), the whole board (padded with -1), points on a side, a stone of the
target, its colour, the number of the source that it is from, the key of its first position. Links
are pairs of problems that have a position in common; it is kept with the earlier one alone."""


def rows_of(zone: Zone, positions: Sequence[Position], source: int) -> dict[str, NDArray[Any]]:
    """Return the columns of one problem, without links; `problem` is 0."""
    count = len(positions)
    attackers = np.array([p.attackers for p in positions], np.uint64)
    defenders = np.array([p.defenders for p in positions], np.uint64)
    sides = np.array([p.side for p in positions], np.int8)
    blocks = np.empty(count, np.uint64)
    kernels.target_blocks(zone.words[None], np.zeros(count, np.int64), attackers, defenders, blocks)
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
        "points": _padded(zone.points, MOST_POINTS),
        "stones": _padded(zone.stones, BOARD_POINTS),
        "size": [zone.size],
        "target": [zone.target],
        "defender": [zone.defender],
        "source": [source],
        "root": keys[:1],
    }
    return {n: np.ascontiguousarray(v, COLUMNS[n].dtype) for n, v in columns.items()}


def joined(parts: Sequence[Columns]) -> dict[str, NDArray[Any]]:
    """Return the columns of several problems, one after another; at least one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _padded(values: Sequence[int] | NDArray[Any], width: int) -> NDArray[np.int16]:
    out = np.full((1, width), -1, np.int16)
    out[0, : len(values)] = values
    return out
