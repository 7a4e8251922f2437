"""How good a network of life and death is on positions with proved answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.data.dataset import Positions, policy_targets

if TYPE_CHECKING:
    from miai_go.networks.protocol import Outputs
    from miai_go.tsumego.networks.files import NetHeader

Answering = Callable[[NDArray[np.uint8]], "Outputs"]
Row = dict[str, float | int | str]

BATCH: Final = 1024
BINS: Final = 10
_SIDES: Final = ("attacker", "defender")


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """What was measured, an entry a position.

    Attributes:
      chance: that the target is safe, as the network says, float64 of shape (n,).
      safe: whether it is, bool of shape (n,).
      side: who moves first.
      empty: empty points that its problem began with.
      needed: whether a move is needed and there is one, bool of shape (n,).
      found: whether the policy's first choice among the points succeeds, bool of shape (n,).
    """

    chance: NDArray[np.float64]
    safe: NDArray[np.bool_]
    side: NDArray[np.int8]
    empty: NDArray[np.int64]
    needed: NDArray[np.bool_]
    found: NDArray[np.bool_]

    def figures(self) -> dict[str, float]:
        """Return accuracy, balanced accuracy, AUC, mean square error, and the policy's accuracy.

        Where only one answer occurs, AUC and balanced accuracy are left out.
        """
        out = {"positions": float(len(self.safe))}
        out["accuracy"] = float((self.told == self.safe).mean())
        if 0 < self.safe.mean() < 1:
            right = self.told == self.safe
            out["balanced"] = float((right[self.safe].mean() + right[~self.safe].mean()) / 2)
            out["auc"] = area(self.chance, self.safe)
        out["error"] = float(((self.chance - self.safe) ** 2).mean())
        out["majority"] = float(max(self.safe.mean(), 1 - self.safe.mean()))
        if self.needed.any():
            out["move"] = float(self.found[self.needed].mean())
        return out

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether the network takes the target for safe."""
        return self.chance >= 0.5

    def line(self) -> str:
        """Return the figures as a line."""
        return "  ".join(f"{name} {value:.4g}" for name, value in self.figures().items())

    def by_side(self) -> list[Row]:
        """Return the figures for either first mover."""
        return self._rows("first", [(name, self.side == i) for i, name in enumerate(_SIDES)])

    def by_size(self) -> list[Row]:
        """Return the figures by the empty points of the problem's zone."""
        sizes = np.unique(self.empty).tolist()
        return self._rows("empty", [(size, self.empty == size) for size in sizes])

    def calibration(self) -> list[Row]:
        """Return for each tenth of the chances their mean and the share that is safe."""
        place = np.clip((self.chance * BINS).astype(np.int64), 0, BINS - 1)
        rows: list[Row] = []
        for number in range(BINS):
            here = place == number
            if here.any():
                told, safe = float(self.chance[here].mean()), float(self.safe[here].mean())
                rows.append({"told": told, "safe": safe, "positions": int(here.sum())})
        return rows

    def calibration_error(self) -> float:
        """Return the mean distance of told chance and share of safe targets, by tenths."""
        total = 0.0
        for row in self.calibration():
            total += int(row["positions"]) * abs(float(row["told"]) - float(row["safe"]))
        return total / max(len(self.safe), 1)

    def _rows(self, name: str, parts: list[tuple[Any, NDArray[np.bool_]]]) -> list[Row]:
        return [{name: key, **self.only(here).figures()} for key, here in parts if here.any()]

    def only(self, here: NDArray[np.bool_]) -> Measures:
        """Return the measures of some positions."""
        return Measures(
            self.chance[here],
            self.safe[here],
            self.side[here],
            self.empty[here],
            self.needed[here],
            self.found[here],
        )


def measure(
    answers: Answering,
    header: NetHeader,
    positions: Positions,
    rows: NDArray[np.int64],
    *,
    views: int = 1,
) -> Measures:
    """Return the measures of a network on some positions of a set.

    Args:
      answers: the network: planes to outputs.
      header: what it is fed.
      views: sides that each position is seen from, 1 to 8; the chances are averaged.
    """
    chances, found = [], []
    for at in range(0, len(rows), BATCH):
        chance, right = _batch(answers, header, positions, rows[at : at + BATCH], views)
        chances.append(chance)
        found.append(right)
    columns = positions.columns
    moves = columns["best"][rows] & np.uint64((1 << 63) - 1)
    return Measures(
        np.concatenate(chances),
        positions.safe(rows),
        columns["side"][rows],
        positions.empty_points()[rows],
        moves != 0,
        np.concatenate(found),
    )


def _batch(
    answers: Answering,
    header: NetHeader,
    positions: Positions,
    rows: NDArray[np.int64],
    views: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    from miai_go.tsumego.planes import encode

    c, window = positions.columns, header.window
    chance = np.zeros(len(rows))
    found = np.zeros(len(rows), np.bool_)
    for turn in range(views):
        seen = encode(
            positions.layout,
            c["problem"][rows],
            c["attackers"][rows],
            c["defenders"][rows],
            c["side"][rows],
            planes=header.planes,
            window=window,
            turns=np.full(len(rows), turn),
        )
        outputs = answers(seen.planes)
        assert outputs.value is not None
        chance += (outputs.value.numpy().astype(np.float64) + 1) / 2 / views
        if turn == 0 and outputs.policy is not None:
            right = policy_targets(c["best"][rows], seen.places, window)
            chosen = outputs.policy.numpy()[:, :-1].argmax(1)
            found = right[np.arange(len(rows)), chosen] > 0
    return chance, found


def area(chance: NDArray[np.float64], safe: NDArray[np.bool_]) -> float:
    """Return the area under the curve: how likely a safe position is told the higher chance."""
    values, place = np.unique(chance, return_inverse=True)
    counts = np.bincount(place, minlength=len(values))
    ranks = np.cumsum(counts) - (counts - 1) / 2
    count = int(safe.sum())
    above = ranks[place][safe].sum() - count * (count + 1) / 2
    return float(above / (count * (len(safe) - count)))
