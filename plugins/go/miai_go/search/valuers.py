"""Networks as valuers of leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.errors import ParameterError
from miai_go.nets.oracle import Oracle
from miai_go.nets.positions import Positions


class NetworkValuer:
    """Values leaves by one network with both heads, or by one for moves and one for values.

    Args:
      policy: says which moves are likely; None holds all of them for equally so.
      value: says who will win; None: nobody is held to.

    Raises:
      ParameterError: a network lacks the head that is asked of it.
    """

    def __init__(self, policy: Oracle | None, value: Oracle | None) -> None:
        if policy is not None and not policy.has_policy:
            raise ParameterError("the policy's weights have no policy head; name other weights")
        if value is not None and not value.has_value:
            raise ParameterError("the value's weights have no value head; name other weights")
        self.policy = policy
        self.value = value
        self._room: dict[int, NDArray[np.uint8]] = {}

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits (leaves, size * size + 1) and values (leaves,), for the player to move.

        Raises:
          InferenceError: a network cannot answer.
        """
        count = len(leaves)
        if self.policy is None:
            logits = np.zeros((count, leaves.size**2 + 1), np.float32)
            return logits, self._values(leaves)
        answers = self.policy.infer(self._planes(self.policy, leaves))
        assert answers.policy is not None
        if self.value is self.policy:
            assert answers.value is not None
            return answers.policy, answers.value
        return answers.policy, self._values(leaves)

    def _values(self, leaves: Positions) -> NDArray[np.float32]:
        if self.value is None:
            return np.zeros(len(leaves), np.float32)
        answers = self.value.infer(self._planes(self.value, leaves))
        assert answers.value is not None
        return answers.value

    def _planes(self, oracle: Oracle, leaves: Positions) -> NDArray[np.uint8]:
        """Return the planes of leaves, in memory that is used again."""
        encoder, count = oracle.encoder, len(leaves)
        room = self._room.get(id(oracle))
        if room is None or len(room) < count:
            shape = (count, encoder.planes, encoder.size, encoder.size)
            room = self._room[id(oracle)] = np.empty(shape, np.uint8)
        return encoder.encode(leaves, room[:count])

    def statistics(self) -> dict[str, float]:
        """Return what the networks did so far: positions, batches, mean batch, queue."""
        if self.policy is None:
            return self.value.statistics() if self.value is not None else {}
        figures = self.policy.statistics()
        if self.value is not None and self.value is not self.policy:
            figures |= {f"value_{name}": x for name, x in self.value.statistics().items()}
        return figures

    def close(self) -> None:
        """Release the networks."""
        for oracle in {id(o): o for o in (self.policy, self.value) if o is not None}.values():
            oracle.close()
