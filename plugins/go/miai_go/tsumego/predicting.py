"""What a network says of every block on a board, and of the move that decides its fate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.board import EMPTY
from miai_go.errors import WeightsError
from miai_go.tsumego.errors import ProblemError
from miai_go.tsumego.networks.files import NetHeader, read_net_header
from miai_go.tsumego.networks.reckoned import NAMES, Reckoned, read_reckoned
from miai_go.tsumego.planes import encode, layout_of_zones, load_planes
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

_SIDES: Final = (ATTACKER, DEFENDER)


@dataclass(frozen=True, slots=True)
class Fate:
    """What a network says of one block.

    Attributes:
      points: its stones, points of the board.
      color: 1 black, 2 white.
      chances: that it cannot be captured when the attacker moves first, and when its owner does;
        None where it was not asked.
      moves: the move that the policy would play for either first mover, a point of the board; None
        where it sees none.
      reason: why it was not asked; empty where it was.
    """

    points: tuple[int, ...]
    color: int
    chances: tuple[float, float] | None
    moves: tuple[int | None, int | None]
    reason: str = ""

    @property
    def critical(self) -> bool:
        """Whether its fate is said to depend on who moves first."""
        return self.chances is not None and (self.chances[0] < 0.5) != (self.chances[1] < 0.5)


class Predictor:
    """A network that says of blocks whether they live.

    Args:
      weights: a file of `miai go tsumego train` or `quantize`. A network that kernels reckon needs
        no torch.

    Raises:
      WeightsError: it cannot be read or is not what it says.
      MissingExtraError: it needs torch, which is not installed.
    """

    def __init__(self, weights: Path) -> None:
        self._path = weights
        self.header: NetHeader = read_net_header(weights)
        self._reckoned: Reckoned | None = None
        self._net: Any = None
        if self.header.network in NAMES:
            self._reckoned = read_reckoned(weights)
        else:
            from miai_go.tsumego.networks.files import load_net

            self._net = load_net(weights).network

    def load(self) -> None:
        """Load kernels, or compile them, before a clock runs."""
        load_planes()
        if self._reckoned is not None:
            self._reckoned.load()

    def fates(self, stones: NDArray[np.int8]) -> list[Fate]:
        """Return the fate of every block of a board, lowest point first.

        Args:
          stones: int8 of shape (size * size,) or (size, size), 0 empty, 1 black, 2 white.

        Raises:
          WeightsError: as of `evaluate`.
        """
        board = np.asarray(stones, np.int8).reshape(-1)
        out = []
        for block in blocks_of(board):
            color = int(board[block[0]])
            try:
                zone = find_zone(board, block[0])
            except ProblemError as error:
                out.append(Fate(block, color, None, (None, None), str(error)))
                continue
            chances, logits = self.evaluate(zone)
            moves = [self._move(zone, logits[side]) for side in _SIDES]
            out.append(Fate(block, color, (chances[0], chances[1]), (moves[0], moves[1])))
        return out

    def evaluate(self, zone: Zone) -> tuple[list[float], NDArray[np.float32]]:
        """Return what is said of a zone as it stands.

        Returns:
          The chance that the target is safe, for the attacker and the defender moving first, and
          logits of shape (2, 64): of every point of the zone, the last of no move; -inf where there
          is no such point.

        Raises:
          WeightsError: it says nothing finite.
        """
        layout = layout_of_zones([zone])
        sets = ([0, 0], [zone.attackers] * 2, [zone.defenders] * 2, list(_SIDES))
        if self._reckoned is not None:
            values, logits = self._reckoned.evaluate(layout, *sets)
        else:
            values, logits = self._by_torch(layout, sets)
        if not np.isfinite(values).all() or np.isnan(logits).any():
            raise WeightsError(f"{self._path}: its weights are so large that it says no number")
        return [float(v + 1) / 2 for v in values], logits

    def _by_torch(self, layout: Any, sets: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        import torch

        views = encode(layout, *sets, planes=self.header.planes, window=self.header.window)
        with torch.inference_mode():
            outputs = self._net(torch.from_numpy(views.planes).float())
        answers = outputs.policy.numpy()
        places = views.places.astype(np.int64)
        logits = np.take_along_axis(answers, np.maximum(places, 0), 1)
        logits[places < 0] = -np.inf
        logits[:, 63] = answers[:, -1]
        return outputs.value.numpy(), logits

    def _move(self, zone: Zone, logits: NDArray[np.float32]) -> int | None:
        taken = zone.attackers | zone.defenders
        free = [i for i in range(len(zone.points)) if not taken >> i & 1]
        best = max(free, key=lambda i: float(logits[i]), default=None)
        return None if best is None or logits[best] == -np.inf else zone.points[best]


def blocks_of(board: NDArray[np.int8]) -> Iterator[tuple[int, ...]]:
    """Yield the blocks of a flat board, each as its points in order."""
    size = round(len(board) ** 0.5)
    known: set[int] = set()
    for point in np.flatnonzero(board != EMPTY).tolist():
        if point in known:
            continue
        block, edge = {point}, [point]
        while edge:
            row, column = divmod(edge.pop(), size)
            for r, c in ((-1, 0), (0, -1), (0, 1), (1, 0)):
                near = (row + r) * size + column + c
                inside = 0 <= row + r < size and 0 <= column + c < size
                if inside and near not in block and board[near] == board[point]:
                    block.add(near)
                    edge.append(near)
        known |= block
        yield tuple(sorted(block))
