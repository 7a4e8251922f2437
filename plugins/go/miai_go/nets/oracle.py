"""Oracles: what a search asks for priors and values."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai.plugins.loader import PluginWarning
from miai_go.errors import InferenceError, first_line
from miai_go.nets.encoder import Encoder, Positions
from miai_go.nets.network import WeightsHeader

Planes = NDArray[np.uint8]
Floats = NDArray[np.float32]

MAX_BATCH = 1024
"""Maximum positions in one run of a network, which bounds its memory."""


class Answers(NamedTuple):
    """A network's answers for n positions: `miai_go.nets.network.Outputs` as float32 arrays.

    Those that only training uses are not among them.
    """

    policy: Floats | None = None
    value: Floats | None = None
    ownership: Floats | None = None
    score: Floats | None = None

    def each(self, function: Callable[[Floats], Floats]) -> Answers:
        """Return the answers with a function applied to each array."""
        return Answers(*(None if array is None else function(array) for array in self))

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays by name, without those that are None."""
        return {name: array for name, array in self._asdict().items() if array is not None}


@runtime_checkable
class Oracle(Protocol):
    """A network that answers batches of planes.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: whether its answers have these.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def infer(self, planes: Planes) -> Answers:
        """Return the answers for planes, uint8 of shape (n, planes, size, size), n at least 1.

        Raises:
          InferenceError: the planes do not fit, or the network cannot answer.
        """

    def statistics(self) -> dict[str, float]:
        """Return counts of the work so far; see `NetworkOracle.statistics`."""


def known_komi(oracle: Oracle) -> tuple[float, float] | None:
    """Return the range of komi, in points, beyond which answers are for the nearest komi in it.

    The range is that in the network's header. None without a header, and for a network that sees
    komi but expects no owners: its values cannot be shifted, so it is shown every komi.
    """
    header = getattr(oracle, "header", None)
    if header is None or (_sees_komi(oracle) and "ownership" not in header.outputs):
        return None
    low, high = header.komi
    return low, high


def follows_komi(oracle: Oracle) -> bool:
    """Return whether values depend on komi: the network sees it, or they are shifted by owners."""
    header = getattr(oracle, "header", None)
    return _sees_komi(oracle) or (header is not None and "ownership" in header.outputs)


def warn_of_komi(oracle: Oracle | None, komi: float) -> None:
    """Warn if the values of a network, which does not follow komi, are for another."""
    known = None if oracle is None or follows_komi(oracle) else known_komi(oracle)
    if known is not None and not known[0] <= komi <= known[1]:
        low, high = (f"{bound:g}" for bound in known)
        learnt = low if low == high else f"{low} to {high}"
        warnings.warn(
            f"the network does not see komi: its values are for komi {learnt}, which it learnt "
            f"from, not for {komi:g}, the komi (with White's bonus for handicap) of this game",
            PluginWarning,
            stacklevel=2,
        )


def shown_positions(oracle: Oracle, positions: Positions) -> Positions:
    """Return positions as a network is shown them.

    One that sees komi is shown the nearest of `known_komi`: far beyond that range its values follow
    komi too little.
    """
    known = known_komi(oracle) if _sees_komi(oracle) else None
    return positions if known is None else positions.within_komi(*known)


def _sees_komi(oracle: Oracle) -> bool:
    return getattr(oracle.encoder, "sees_komi", False)


class NetworkOracle(ABC):
    """An `Oracle` in this process. Safe for several threads; one batch runs at a time.

    Attributes:
      precision: that in which the network runs: ``fp32``, ``bf16`` or ``int8``.
    """

    precision: str

    def __init__(self, header: WeightsHeader, encoder: Encoder, *, where: str) -> None:
        self.header = header
        self.encoder = encoder
        self.has_policy = "policy" in header.outputs
        self.has_value = "value" in header.outputs
        self._where = where
        self._lock = threading.Lock()
        self._positions, self._batches = 0, 0

    def infer(self, planes: Planes) -> Answers:
        """Return the answers.

        Raises `InferenceError` also if the network fails, or answers NaN or in a wrong shape.
        """
        check_planes(planes, self.encoder)
        with self._lock:
            begins = range(0, len(planes), MAX_BATCH)
            answers = _joined([self._answer(planes[i : i + MAX_BATCH]) for i in begins])
            self._positions += len(planes)
            self._batches += len(begins)
        for name, array in answers.arrays().items():
            # A search would carry a nan up to the root, where every comparison with it is false.
            if not np.isfinite(array).all():
                raise InferenceError(
                    f"{self._where}: its {name} is not finite; the weights are damaged: train them "
                    "again, or go back to an earlier checkpoint"
                )
        return answers

    def _answer(self, batch: Planes) -> Answers:
        try:
            answers = self._run(batch)
        except Exception as error:  # of many kinds, by the library that runs the network
            raise InferenceError(
                f"{self._where}: failed on {len(batch)} positions: {first_line(error)}"
            ) from error
        check_answers(answers, self.header.outputs, batch, where=self._where)
        return answers

    def statistics(self) -> dict[str, float]:
        """Return positions, batches and positions per batch (mean_batch)."""
        with self._lock:
            return {
                "positions": self._positions,
                "batches": self._batches,
                "mean_batch": self._positions / max(self._batches, 1),
            }

    @abstractmethod
    def _run(self, batch: Planes) -> Answers:
        """Return the network's answers for one batch."""


def check_planes(planes: Planes, encoder: Encoder) -> None:
    """Raise `InferenceError` unless the encoder could have made the planes."""
    shape = (encoder.planes, encoder.size, encoder.size)
    if planes.dtype != np.uint8 or planes.shape[1:] != shape or len(planes) == 0:
        raise InferenceError(
            f"planes of {planes.dtype} and shape {planes.shape}; the network takes uint8 of shape "
            f"(n, {', '.join(map(str, shape))}), n at least 1: encode with the oracle's encoder"
        )


def check_answers(
    answers: Answers, outputs: Collection[str], planes: Planes, *, where: str
) -> None:
    """Raise `InferenceError` unless the answers have the shapes that those for the planes have.

    A search reads them without checks.

    Args:
      outputs: names of the network's outputs.
      where: the network, for messages.
    """
    count, size = len(planes), planes.shape[-1]
    shapes = {
        "policy": (count, size**2 + 1),
        "value": (count,),
        "ownership": (count, size, size),
        "score": (count,),
    }
    for name, array in answers._asdict().items():
        shape = None if array is None else array.shape
        if shape != shapes[name] and (array is not None or name in outputs):
            raise InferenceError(
                f"{where}: its {name} for {count} positions on {size}x{size} has shape {shape}, "
                f"not {shapes[name]}: use another file, or export it again"
            )


def _joined(parts: list[Answers]) -> Answers:
    """Return the answers for several batches as those for one."""
    if len(parts) == 1:
        return parts[0]
    columns = (
        [array for array in column if array is not None] for column in zip(*parts, strict=True)
    )
    return Answers(*(np.concatenate(column) if column else None for column in columns))
