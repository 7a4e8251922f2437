"""What the games of a data set are like."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from miai_go.coordinates import vertex
from miai_go.data.columns import COLUMNS
from miai_go.data.dataset import GoDataset
from miai_go.data.shards import Shard
from miai_go.symmetry import point_tables

_RESULTS: Final = {1: "black", -1: "white", 0: "draw", 2: "unknown"}


def statistics(data: GoDataset, *, plies: int = 3, openings: int = 10) -> dict[str, Any]:
    """Return figures of all games in the shards of a data set, as plain data.

    Args:
      plies: length of the openings, which count as the same when they are up to symmetry.
      openings: how many of the commonest are told.
    """
    lengths = np.concatenate([shard.lengths() for shard in data.shards])
    results: Counter[str] = Counter()
    komi: Counter[float] = Counter()
    first_moves: Counter[tuple[int, ...]] = Counter()
    for shard in data.shards:
        results.update(_RESULTS[int(r)] for r in shard.columns["result"])
        komi.update((shard.columns["half_komi"] / 2).tolist())
        first_moves.update(_openings(shard, plies))
    ratings = np.concatenate([shard.columns["ratings"].ravel() for shard in data.shards])
    known = ratings[np.isfinite(ratings)]
    return {
        "size": data.size,
        "games": len(lengths),
        "moves": int(lengths.sum()),
        "shards": len(data.shards),
        "length": _spread(lengths),
        "results": dict(results.most_common()),
        "komi": {f"{value:g}": count for value, count in komi.most_common()},
        "rating": _spread(known) if len(known) else None,
        "columns": sorted({name for shard in data.shards for name in shard.columns} - _PLAIN),
        "openings": [
            {"moves": [vertex(move, data.size) for move in moves], "games": count}
            for moves, count in first_moves.most_common(openings)
        ],
    }


_PLAIN: Final = {name for name, column in COLUMNS.items() if not column.optional}


def _spread(values: Any) -> dict[str, float]:
    return {
        "least": float(values.min()),
        "median": float(np.median(values)),
        "mean": round(float(values.mean()), 2),
        "greatest": float(values.max()),
    }


def _openings(shard: Shard, plies: int) -> list[tuple[int, ...]]:
    """Return the first moves of the games that have so many, each turned to the least of eight.

    Games from a set-up have no opening.
    """
    columns = shard.columns
    long_enough = shard.lengths() >= plies
    if "stones" in columns:
        long_enough &= ~columns["stones"].any(axis=1)
    begins = columns["offsets"][:-1][long_enough]
    moves = columns["moves"][begins[:, None] + np.arange(plies)]
    turned = point_tables(shard.size)[:, moves]
    return [min(map(tuple, turned[:, g].tolist())) for g in range(len(begins))]
