"""The rows of a comparison: costs and errors of each arm in each cell, with their intervals.

Shares have Wilson's interval, speed-ups that of a bootstrap over roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miai.seeds import derive_seed
from miai_tournaments.compare.results import Measurement, SearchKey
from miai_tournaments.compare.schema import Arm, RootBlock
from miai_tournaments.ratings.performance import wilson_interval

REPLICATES = 2000
_LEAST_ROOTS = 5
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval; the ends are None with too few data."""

    value: float
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """Return the interval as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


def wilson(count: int, total: int) -> Interval | None:
    """Return a share with its 95 % interval (E. Wilson, JASA 1927); None of nothing."""
    return Interval(count / total, *wilson_interval(count, total)) if total else None


def ratio_of_sums(
    above: Sequence[float], below: Sequence[float], *, name: Sequence[int | str]
) -> Interval | None:
    """Return sum(above) / sum(below) with the percentile interval of a bootstrap over roots.

    Roots are drawn with replacement, both figures of a root together. Below five roots there is
    no interval.

    Args:
      above, below: one figure a root each, at least 0.
      name: source of the generator's seed: the same figures give the same interval.

    Returns:
      None without roots, or if the sum below is 0.
    """
    if not above or sum(below) <= 0:
        return None
    ratio = sum(above) / sum(below)
    count = len(above)
    if count < _LEAST_ROOTS:
        return Interval(ratio)
    rng = np.random.default_rng(derive_seed("bootstrap", *name))
    pairs = np.array([above, below], dtype=float)  # (2, roots)
    ratios: list[float] = []
    chunk = max(1, _CHUNK // count)
    while (remaining := REPLICATES - len(ratios)) > 0:
        drawn = rng.integers(count, size=(min(remaining, chunk), count))
        sums = pairs[:, drawn].sum(axis=2)
        ratios += (sums[0] / np.maximum(sums[1], np.finfo(float).tiny)).tolist()
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return Interval(ratio, low, high)


Searches = Mapping[SearchKey, Measurement]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """One arm in one cell.

    Attributes:
      game, depth, kind, warm, arm: cell and arm.
      k: hashes per sketch, if the arm has that parameter.
      roots: number of complete searches.
      incomplete: number of searches that reached the node limit.
      nodes, leaves, seconds, setup: sums over `roots`.
      mean_seconds: mean over `roots`.
      entries, bytes: maximum size of the bounds at the end of a complete search.
      compared: roots that both the arm and the baseline searched completely.
      speedup_nodes, speedup_seconds: the baseline's sum over `compared` by the arm's.
      judged: roots whose true value is known.
      wrong_values, wrong_moves: judged roots with a wrong value, and with a move that guarantees
        less than the true value.
      too_high, too_low: wrong values by direction.
    """

    game: str
    depth: int
    kind: str
    warm: bool
    arm: str
    k: int | None
    roots: int
    incomplete: int
    nodes: int
    leaves: int
    seconds: float
    setup: float
    mean_seconds: Interval | None
    entries: int
    bytes: int
    compared: int
    speedup_nodes: Interval | None
    speedup_seconds: Interval | None
    judged: int
    wrong_values: int
    wrong_moves: int
    too_high: int
    too_low: int

    @property
    def wrong_value_rate(self) -> Interval | None:
        """Share of wrong values."""
        return wilson(self.wrong_values, self.judged)

    @property
    def wrong_move_rate(self) -> Interval | None:
        """Share of wrong moves."""
        return wilson(self.wrong_moves, self.judged)

    @property
    def cell(self) -> tuple[str, int, str, bool]:
        """Key of the cell: game, depth, class and whether searchers are warm."""
        return self.game, self.depth, self.kind, self.warm

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data; the class is called ``class``."""
        values: dict[str, Any] = {
            "game": self.game,
            "depth": self.depth,
            "class": self.kind,
            "cache": "warm" if self.warm else "cold",
        }
        names = [name for name in self.__slots__ if name not in ("game", "depth", "kind", "warm")]
        rates = ("wrong_value_rate", "wrong_move_rate")
        for name in (*names, *rates):
            value = getattr(self, name)
            values[name] = value.to_json() if isinstance(value, Interval) else value
        return values


def summarize(
    blocks: Iterable[RootBlock], arms: Mapping[str, Arm], searches: Searches, *, baseline: str
) -> list[ArmRow]:
    """Return a row for each arm of each block, in the order of the config, without empty ones."""
    rows = []
    for block in blocks:
        own = {name: _of_arm(block, name, searches) for name in block.arms}
        for name in arms:
            if own.get(name):
                rows.append(_row(block, arms[name], own[name], own.get(baseline, {})))
    return rows


def _of_arm(block: RootBlock, arm: str, searches: Searches) -> dict[tuple[int, int], Measurement]:
    """Return the measurements of an arm by seed and number of the root."""
    names = [(seed, root) for seed in block.seeds for root in range(block.roots)]
    keys = {name: SearchKey(*block.cell, *name, arm) for name in names}
    return {name: searches[key] for name, key in keys.items() if key in searches}


def _row(
    block: RootBlock,
    arm: Arm,
    own: Mapping[tuple[int, int], Measurement],
    base: Mapping[tuple[int, int], Measurement],
) -> ArmRow:
    done = [m for m in own.values() if m.complete]
    pairs = [(b, m) for n, m in own.items() if m.complete and (b := base.get(n)) and b.complete]
    judged = [m for m in done if m.wrong_value is not None]
    wrong = [m for m in judged if m.wrong_value]
    return ArmRow(
        game=block.game,
        depth=block.depth,
        kind=block.kind,
        warm=block.warm,
        arm=arm.name,
        k=arm.k,
        roots=len(done),
        incomplete=len(own) - len(done),
        nodes=sum(m.nodes for m in done),
        leaves=sum(m.leaves for m in done),
        seconds=sum(m.seconds for m in done),
        setup=sum(m.setup for m in done),
        mean_seconds=ratio_of_sums(
            [m.seconds for m in done], [1.0] * len(done), name=("mean", *block.names, arm.name)
        ),
        entries=max((m.entries for m in done), default=0),
        bytes=max((m.bytes for m in done), default=0),
        compared=len(pairs),
        speedup_nodes=speedup(pairs, "nodes", name=(*block.names, arm.name)),
        speedup_seconds=speedup(pairs, "seconds", name=(*block.names, arm.name)),
        judged=len(judged),
        wrong_values=len(wrong),
        wrong_moves=sum(bool(m.wrong_move) for m in judged),
        too_high=sum(m.truth is not None and m.value > m.truth for m in wrong),
        too_low=sum(m.truth is not None and m.value < m.truth for m in wrong),
    )


def speedup(
    pairs: Sequence[tuple[Measurement, Measurement]], what: str, *, name: Sequence[int | str]
) -> Interval | None:
    """Return the speed-up of the second of each pair against the first; see `ratio_of_sums`.

    Args:
      what: ``nodes`` or ``seconds``.
      name: source of the generator's seed.
    """
    above = [float(getattr(base, what)) for base, _ in pairs]
    below = [float(getattr(own, what)) for _, own in pairs]
    return ratio_of_sums(above, below, name=(what, *name))
