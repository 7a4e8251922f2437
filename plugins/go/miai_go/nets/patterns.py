"""The pattern policy: probabilities of moves from a table of weights, and its file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from miai.errors import WeightsError
from miai.tensors import FileHeader, Tensors, read_metadata
from miai_go.kernels import FAMILY
from miai_go.kernels import patterns as kernels
from miai_go.kernels.patterns import NEAR, OFFSETS, RINGS, SIDE, STATES, PatternBuffers
from miai_go.nets.encoder import Positions
from miai_go.nets.encoders import liberty_space
from miai_go.rules.coordinates import MAX_SIZE
from miai_go.shipped import SUFFIX

_KEY_SEED = 20070601
"""Seed of the hash keys, which weights depend on."""
_COLOR_OF = (0, 1, 1, 1, 2, 2, 2, 3)


def pattern_room(size: int) -> PatternBuffers:
    """Return work space of the kernels for boards of one size."""
    width = size + 2 * kernels.MARGIN
    actions = size * size + 1
    return PatternBuffers(
        liberties=liberty_space(size),
        codes=np.full(width * width, STATES - 1, np.uint8),
        steps=np.array([row * width + column for row, column in OFFSETS], np.int32),
        keys=pattern_keys(),
        hashes=np.zeros(24, np.uint32),
        moves=np.zeros(actions, np.int32),
        scores=np.zeros(actions, np.float32),
        features=np.zeros(actions * kernels.FAMILIES, np.int32),
    )


@cache
def pattern_keys() -> NDArray[np.uint32]:
    """Return the hash keys in the layout of `miai_go.kernels.patterns.PatternBuffers`.

    The key of a point under symmetry g is the plain key of where g takes it, so that turning the
    board permutes the eight hashes.
    """
    rng = np.random.Generator(np.random.PCG64(_KEY_SEED))
    index = {offset: k for k, offset in enumerate(OFFSETS)}
    plain = rng.integers(1 << 32, size=(len(OFFSETS), STATES), dtype=np.uint32)
    far = RINGS[0]
    # Beyond the first ring liberties share a key, as only colours count there.
    plain[far:] = plain[far:, :4][:, _COLOR_OF]
    patterns = np.empty((len(OFFSETS), STATES, 8), np.uint32)
    for k, offset in enumerate(OFFSETS):
        for g in range(8):
            patterns[k, :, g] = plain[index[_turned(offset, g)]]
    where = rng.integers(1 << 32, size=(kernels.PLACES, SIDE, SIDE), dtype=np.uint32)
    places = np.empty((kernels.PLACES, SIDE, SIDE, 8), np.uint32)
    for row in range(SIDE):
        for column in range(SIDE):
            for g in range(8):
                r, c = _turned((row - NEAR, column - NEAR), g)
                places[:, row, column, g] = where[:, r + NEAR, c + NEAR]
    keys = np.concatenate([patterns.ravel(), places.ravel()])
    keys.flags.writeable = True
    return keys


def _turned(offset: tuple[int, int], symmetry: int) -> tuple[int, int]:
    """Return an offset turned by `symmetry % 4` quarters, mirrored from 4 on."""
    row, column = offset
    for _ in range(symmetry % 4):
        row, column = column, -row
    return (row, -column) if symmetry >= 4 else (row, column)


PASS: Final = "pass"  # noqa: S105 - the name of a tensor


class PatternHeader(FileHeader):
    """The header of a pattern policy.

    Attributes:
      features: the families of features, in order.
      sizes: smallest and largest board that the policy was trained on.
    """

    KEY = "miai-patterns"
    KIND = "a pattern policy"
    REMEDY = "`miai go train rollout` makes one"

    features: tuple[str, ...] = kernels.NAMES
    sizes: tuple[int, int]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.features != kernels.NAMES:
            raise ValueError("other families of features than this miai-go has; train it again")
        if not 1 <= self.sizes[0] <= self.sizes[1] <= MAX_SIZE:
            raise ValueError(f"sizes {list(self.sizes)} are not a range of boards")
        return self

    def _tensor_line(self, name: str, tensor: NDArray[Any]) -> str:
        return f"\n{name} {list(tensor.shape)}\n"


class PatternPolicy:
    """A softmax policy over legal moves that fill no own eye, and the pass; see the kernels.

    Attributes:
      weights: float32, one table of all families; layout in `miai_go.kernels.patterns`.
      header: its description and history.
    """

    def __init__(self, weights: NDArray[np.float32], header: PatternHeader) -> None:
        self.weights = weights
        self.header = header

    @classmethod
    def untrained(cls, size: int) -> Self:
        """Return the policy that plays uniformly, for boards of one size."""
        weights = np.zeros(kernels.TABLE, np.float32)
        return cls(weights, PatternHeader(sizes=(size, size)))

    @classmethod
    def load(cls, path: str | Path, *, size: int | None = None) -> Self:
        """Return the policy of a file, which must be for boards of `size`; None for any.

        Raises:
          WeightsError: it cannot be read, is of another version or for other sizes, or is damaged.
        """
        header, tensors = PatternHeader.read_all(path)
        low, high = header.sizes
        if size is not None and not low <= size <= high:
            boards = f"{low}x{low}" if low == high else f"{low}x{low} to {high}x{high}"
            raise WeightsError(
                f"{path}: a pattern policy for {boards}, not for {size}x{size}; choose weights "
                "trained on that"
            )
        return cls(_joined(tensors, where=str(path)), header)

    def save(self, path: str | Path) -> None:
        """Write the policy atomically, in half precision. Raises `WeightsError`.

        The weights of this object are rounded, too, so that it plays as the file does. A weight
        that is not finite is refused.
        """
        # Half of the bytes: of what the weights of 13 features tell, the last digits tell nothing.
        with np.errstate(over="ignore"):  # the header's check of finite numbers says it better
            half = self.weights.astype(np.float16)
        self.weights = half.astype(np.float32)
        self.header = self.header.write(path, _parted(half))

    def probabilities(self, positions: Positions) -> NDArray[np.float32]:
        """Return the probability of each action, float32 of shape (n, size * size + 1)."""
        size = positions.size
        out = np.zeros((len(positions), size * size + 1), np.float32)
        words = np.array(positions.words, order="C")
        trails = np.array(positions.trails, order="C")
        with FAMILY.compiling("patterns"):
            kernels.pattern_probabilities(words, trails, self.weights, pattern_room(size), out)
        return out


def load_patterns() -> None:
    """Load the kernel of patterns, before a clock runs."""
    PatternPolicy.untrained(5).probabilities(Positions.room(5, 1))


def is_pattern_policy(path: Path) -> bool:
    """Return whether a file is a pattern policy, not a network. Raises `WeightsError`."""
    return path.suffix == SUFFIX and PatternHeader.KEY in read_metadata(path)


def _parted(weights: NDArray[np.float16]) -> Tensors:
    """Return a tensor for each family, and one for the pass."""
    ends = (*kernels.STARTS[1:], kernels.TABLE)
    tensors: Tensors = {PASS: weights[: kernels.PASSES]}
    for name, start, end in zip(kernels.NAMES, kernels.STARTS, ends, strict=True):
        tensors[name] = weights[start:end]
    return tensors


def _joined(tensors: Tensors, *, where: str) -> NDArray[np.float32]:
    """Return the table of the tensors, which must be those of `_parted`."""
    weights = np.zeros(kernels.TABLE, np.float16)
    parts = _parted(weights)
    if strange := sorted(parts.keys() ^ tensors.keys()):
        raise WeightsError(f"{where}: '{strange[0]}' is missing, or is not a family of features")
    for name, part in parts.items():
        tensor = tensors[name]
        if tensor.dtype != np.float16 or tensor.shape != part.shape:
            raise WeightsError(
                f"{where}: '{name}' is {tensor.dtype.name} of shape {tensor.shape}; float16 of "
                f"shape {part.shape} is required: train it again"
            )
        part[:] = tensor
    return weights.astype(np.float32)
