"""What a network is given and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """What a network must fit.

    Attributes:
      size: points on a side.
      planes: planes of the encoder.
    """

    size: int
    planes: int

    @property
    def actions(self) -> int:
        """Moves of the policy: every point, then the pass."""
        return self.size**2 + 1


class Outputs(NamedTuple):
    """What a network makes of n positions; what it has no head for is None.

    A component of kind ``go.network`` is a factory(shape, parameters) -> torch.nn.Module whose
    ``forward(planes)`` takes float planes of shape (n, planes, size, size), already scaled, and
    returns these. All is from the view of the player to move.

    Attributes:
      policy: logits of the moves, float of shape (n, size * size + 1), the pass last.
      value: the result to expect, float of shape (n,), 1 won, -1 lost.
      ownership: who will own each point, float of shape (n, size, size), 1 the player to move, -1
        the opponent.
      score: points to win by, komi counted, float of shape (n,).
    """

    policy: Tensor | None = None
    value: Tensor | None = None
    ownership: Tensor | None = None
    score: Tensor | None = None
