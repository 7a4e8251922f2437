"""What a search asks for priors and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.protocol import Encoder


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
