"""What a search asks for priors and values.

What every oracle counts, and what planes it takes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import InferenceError
from miai_go.nets.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Answers:
    """What was inferred of n positions, from the view of the player to move.

    Attributes:
      policy: logits, float32 of shape (n, size * size + 1), the pass last; None without a policy
        head.
      value: the result to expect, float32 of shape (n,), 1 won, -1 lost; None without a value head.
      ownership: float32 of shape (n, size, size), 1 the player to move, or None.
      score: points to win by, float32 of shape (n,), or None.
    """

    policy: NDArray[np.float32] | None
    value: NDArray[np.float32] | None
    ownership: NDArray[np.float32] | None = None
    score: NDArray[np.float32] | None = None


@runtime_checkable
class Oracle(Protocol):
    """A network that answers batches of planes.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def infer(self, planes: NDArray[np.uint8]) -> Answers:
        """Return what is made of planes, uint8 of shape (n, planes, size, size), n at least 1.

        Raises:
          InferenceError: the network, or the server that holds it, cannot answer.
        """

    def statistics(self) -> dict[str, float]:
        """Return what was done so far: positions, batches, seconds, mean batch and queue."""

    def close(self) -> None:
        """Release what it holds; it is not used again."""


Planes = NDArray[np.uint8]


class Counter:
    """Positions, batches and seconds of an oracle, counted from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = 0
        self._positions = 0
        self._batches = 0
        self._seconds = 0.0
        self._wait = 0.0

    def add(
        self,
        *,
        positions: int,
        seconds: float,
        batches: int = 1,
        requests: int = 1,
        wait: float = 0,
    ) -> None:
        """Count batches that were answered.

        Args:
          seconds: that the network took.
          wait: seconds that the requests waited before, summed over them.
        """
        with self._lock:
            self._requests += requests
            self._positions += positions
            self._batches += batches
            self._seconds += seconds
            self._wait += wait

    def statistics(self) -> dict[str, float]:
        """Return the figures of the protocol.

        requests, positions and batches are counts; seconds what the network took in all;
        mean_batch positions in a batch; queue_wait mean seconds a request waited before its batch
        began.
        """
        with self._lock:
            return {
                "requests": float(self._requests),
                "positions": float(self._positions),
                "batches": float(self._batches),
                "seconds": self._seconds,
                "mean_batch": self._positions / max(self._batches, 1),
                "queue_wait": self._wait / max(self._requests, 1),
            }


def check_planes(planes: Planes, encoder: Encoder) -> None:
    """Raise `InferenceError` where planes are not what the encoder makes."""
    wanted = (encoder.planes, encoder.size, encoder.size)
    if planes.dtype != np.uint8 or planes.shape[1:] != wanted or len(planes) == 0:
        raise InferenceError(
            f"planes of {planes.dtype} and shape {planes.shape}; the network takes uint8 of shape "
            f"(n, {', '.join(map(str, wanted))}), n at least 1: encode with the oracle's encoder"
        )


def cut(planes: Planes, *, fixed_batch: int | None, most: int) -> Iterator[tuple[Planes, int]]:
    """Yield batches and how many of their rows are asked for.

    With `fixed_batch`, each has exactly that many rows, empty ones at the end; without, at most
    `most`.
    """
    step = fixed_batch or most
    for begin in range(0, len(planes), step):
        batch = planes[begin : begin + step]
        count = len(batch)
        if fixed_batch and count < fixed_batch:
            batch = np.zeros((fixed_batch, *planes.shape[1:]), np.uint8)
            batch[:count] = planes[begin:]
        yield batch, count


def join(parts: list[Answers]) -> Answers:
    """Return the answers of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    return Answers(
        policy=_joined([part.policy for part in parts]),
        value=_joined([part.value for part in parts]),
        ownership=_joined([part.ownership for part in parts]),
        score=_joined([part.score for part in parts]),
    )


def rows(answers: Answers, begin: int, end: int) -> Answers:
    """Return some of the answers, as views."""

    def some(array: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        return None if array is None else array[begin:end]

    return Answers(
        some(answers.policy), some(answers.value), some(answers.ownership), some(answers.score)
    )


def check_answers(answers: Answers, where: str) -> Answers:
    """Return the answers. Raises `InferenceError` where a number in them is not finite."""
    for what in ("policy", "value", "ownership", "score"):
        array = getattr(answers, what)
        if array is not None and not np.isfinite(array).all():
            raise InferenceError(
                f"{where}: its {what} is not finite; the weights are spoilt: train them again, or "
                "go back to an earlier checkpoint"
            )
    return answers


def _joined(arrays: list[NDArray[np.float32] | None]) -> NDArray[np.float32] | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None
