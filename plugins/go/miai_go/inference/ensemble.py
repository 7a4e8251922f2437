"""A network asked about the symmetric copies of a position, which makes its answers better."""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.protocol import Encoder
from miai_go.inference.counting import Planes, check_planes
from miai_go.inference.protocol import Answers, Oracle
from miai_go.symmetry import SYMMETRIES, inverse, turned_planes, turned_policy

Floats = NDArray[np.float32]


class Ensemble:
    """An oracle whose network sees each position turned, and whose answers are turned back.

    With ``average`` it sees all eight copies, which costs eight times as much: the policy is that
    of the mean probabilities, all else the plain mean. With ``random`` it sees one copy, which is
    drawn from the position and the seed, so that the same position always meets the same copy,
    whatever is asked before it or beside it (AlphaGo Zero draws anew each time).

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self, oracle: Oracle, mode: Literal["average", "random"] = "average", *, seed: int = 0
    ) -> None:
        self.encoder = oracle.encoder
        self.has_policy = oracle.has_policy
        self.has_value = oracle.has_value
        self._oracle = oracle
        self._mode = mode
        self._key = hashlib.sha256(str(seed).encode("ascii")).digest()

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes, over their symmetric copies.

        Raises:
          InferenceError: as the network's oracle does.
        """
        check_planes(planes, self.encoder)
        if self._mode == "random":
            symmetries = np.array([self._drawn(row) for row in planes], np.uint8)
            return _turned_back(self._oracle.infer(turned_planes(planes, symmetries)), symmetries)
        symmetries = np.tile(np.arange(SYMMETRIES, dtype=np.uint8), len(planes))
        copies = np.repeat(planes, SYMMETRIES, axis=0)
        answers = _turned_back(self._oracle.infer(turned_planes(copies, symmetries)), symmetries)
        policy = answers.policy
        return Answers(
            policy=None if policy is None else np.log(_mean(_softmax(policy))),
            value=None if answers.value is None else _mean(answers.value),
            ownership=None if answers.ownership is None else _mean(answers.ownership),
            score=None if answers.score is None else _mean(answers.score),
        )

    def _drawn(self, planes: Planes) -> int:
        """Return the symmetry of one position."""
        return (
            hashlib.blake2b(planes.tobytes(), digest_size=1, key=self._key).digest()[0] % SYMMETRIES
        )

    def statistics(self) -> dict[str, float]:
        """Return what the network's oracle did; its positions are copies."""
        return self._oracle.statistics()

    def close(self) -> None:
        """Close the network's oracle."""
        self._oracle.close()


def _turned_back(answers: Answers, symmetries: NDArray[np.uint8]) -> Answers:
    back = inverse(symmetries)
    policy, ownership = answers.policy, answers.ownership
    return Answers(
        policy=None if policy is None else turned_policy(policy, back),
        value=answers.value,
        ownership=None if ownership is None else turned_planes(ownership[:, None], back)[:, 0],
        score=answers.score,
    )


def _softmax(logits: Floats) -> Floats:
    """Return probabilities, none of them zero, so that they have a logarithm."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    tiny = np.float32(np.finfo(np.float32).tiny)
    chances: Floats = np.maximum(powers / powers.sum(axis=1, keepdims=True), tiny)
    return chances


def _mean(copies: Floats) -> Floats:
    """Return the mean over the copies of each position: (n * 8, ...) to (n, ...)."""
    groups = copies.reshape(-1, SYMMETRIES, *copies.shape[1:])
    means: Floats = groups.mean(axis=1, dtype=np.float32)
    return means
