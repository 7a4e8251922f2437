"""A set of positions, read.

What is held out: whole problems with all that are connected with them, or single positions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.learning.life_columns import COLUMNS, scrambled
from miai_go.learning.life_shards import LIFE_SHARDS
from miai_go.learning.shard_files import numbered_folders
from miai_go.nets.life_planes import PlaneLayout, Views, encode, layout_of

PASS: Final = 63


@dataclass(frozen=True, eq=False)
class LabelledPositions:
    """Positions with their answers, and the problems that they are from.

    Attributes:
      columns: arrays by name, see `miai_go.learning.life_columns.COLUMNS`; a row for each position
        or problem, of all shards one after another.
      digest: of what the set holds, 16 hexadecimal digits.
    """

    columns: dict[str, NDArray[Any]]
    digest: str

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> Self:
        """Return the set in a folder.

        Raises:
          DataError: there is none, or it is damaged.
        """
        shards = [LIFE_SHARDS.open(shard, verify=verify) for shard in numbered_folders(folder)]
        if not shards:
            raise DataError(
                f"{folder}: holds no positions; make some with: miai go tsumego data make"
            )
        total = hashlib.sha256()
        for manifest, _columns in shards:
            for name in COLUMNS:
                total.update(manifest.columns[name].sha256.encode())
        joined = {n: np.concatenate([c[n] for _m, c in shards]) for n in COLUMNS}
        _check(folder, joined)
        return cls(joined, total.hexdigest()[:16])

    def __len__(self) -> int:
        """How many positions there are."""
        return len(self.columns["problem"])

    @property
    def problems(self) -> int:
        """How many problems there are."""
        return len(self.columns["size"])

    @cached_property
    def layout(self) -> PlaneLayout:
        """The zones of all problems."""
        c = self.columns
        return layout_of(c["words"], c["points"], c["size"])

    def safe(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.bool_]:
        """Return whether the target of each position is safe."""
        return self.columns["safe"][rows].astype(bool)

    def empty_points(self) -> NDArray[np.int64]:
        """Return how many points of its zone each problem began with empty, by position."""
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
        rng: np.random.Generator | None = None,
    ) -> Views:
        """Return positions as planes, seen from a random stone and side where `rng` is given."""
        c = self.columns
        drawn: dict[str, Any] = {}
        if rng is not None:
            drawn["picks"] = rng.integers(1 << 16, size=len(rows))
            drawn["turns"] = rng.integers(8, size=len(rows))
        return encode(
            self.layout,
            c["problem"][rows],
            c["attackers"][rows],
            c["defenders"][rows],
            c["side"][rows],
            planes=planes,
            window=window,
            **drawn,
        )


def policy_targets(
    best: NDArray[np.uint64], places: NDArray[np.int16], window: int
) -> NDArray[np.float32]:
    """Return the probabilities that a policy is to answer, float32 of shape (n, window ** 2 + 1).

    All moves that succeed are alike. The last entry is for no move: where none is needed, where
    none helps, and where all lie beyond the window.
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
    """Check what kernels rely on."""
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
        raise DataError(f"{folder}: holds what is no position; make the set anew elsewhere")


By = Literal["problem", "position"]
FOLDS: Final = 5
SPLITS: Final[tuple[By, ...]] = ("problem", "position")


def folds_of(
    positions: LabelledPositions, *, folds: int = FOLDS, seed: int = 0, by: By = "problem"
) -> NDArray[np.int64]:
    """Return the fold of each position, int64 of shape (n,), from 0 to `folds` - 1.

    Args:
      by: "problem" keeps problems together that share a position, up to symmetry and colour, and
        all their positions; which fold they are in depends on them and the seed alone. A set that
        grows may connect problems that were not connected, of which some change their fold then.
        "position" draws each position by itself, which leaks: its neighbours of one stone more or
        less are on the other side. It is for comparison.
    """
    if by == "position":
        keys = positions.columns["key"]
    else:
        roots = positions.columns["root"]
        keys = roots[_groups(positions)][positions.columns["problem"]]
    drawn = scrambled(keys ^ scrambled(np.array([seed], np.uint64)))
    return (drawn % np.uint64(folds)).astype(np.int64)


def _groups(positions: LabelledPositions) -> NDArray[np.int64]:
    """Return for each problem the one of its group whose first position has the least key."""
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
