"""The format of shards of life and death positions with proved answers."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from miai_go.learning.life_columns import COLUMNS
from miai_go.learning.shard_files import ShardColumn, ShardFormat, ShardManifest


class LifeManifest(ShardManifest):
    """Manifest of a shard of positions; `settings` are the same in all shards of a set.

    Attributes:
      next_source: number of the first source after this shard.
    """

    next_source: int = Field(ge=0)


def _shape(manifest: LifeManifest, column: ShardColumn) -> tuple[int, ...]:
    """Return the shape of a column: as many rows as the first column of its kind has."""
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
