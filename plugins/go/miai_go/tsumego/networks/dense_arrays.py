"""The fully connected network without torch: its weights as arrays for kernels, and batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.errors import WeightsError
from miai_go.tsumego.kernels import FAMILY
from miai_go.tsumego.kernels import net as kernels
from miai_go.tsumego.networks.batch import Batch
from miai_go.tsumego.networks.building import filled_values
from miai_go.tsumego.networks.files import NetHeader
from miai_go.tsumego.planes import REFERENCE, Layout

_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class DenseArrays:
    """The weights of a `DenseNet` in the layout that `miai_go.tsumego.kernels.net` takes.

    Attributes:
      window: points on a side of the window.
      few: whether it takes the reference's planes alone.
      first: float32 of shape (planes * window ** 2, width); bias: of shape (width,).
      inner: of shape (2 * blocks, width, width), inputs first; biases: (2 * blocks, width).
      value: of shape (width + 1,), the bias last.
      policy: of shape (width, window ** 2 + 1); policy_bias: of shape (window ** 2 + 1,).
    """

    window: int
    few: bool
    first: _Floats
    bias: _Floats
    inner: _Floats
    biases: _Floats
    value: _Floats
    policy: _Floats
    policy_bias: _Floats

    @classmethod
    def of(cls, header: NetHeader, tensors: dict[str, NDArray[Any]]) -> Self:
        """Return the weights of tensors by name.

        Raises:
          WeightsError: they are of another network, or not those that their header tells of.
          ParameterError: the network's parameters are wrong.
          KeyError, ValueError: a tensor is missing, or has no such shape.
        """
        if header.network != "dense":
            raise WeightsError(f"is of the network '{header.network}'; 'dense' alone can be used")
        values = filled_values(header.network, header.network_parameters)
        layers = [
            f"blocks.{block}.{name}"
            for block in range(values["blocks"])
            for name in ("first", "second")
        ]
        first = _turned(tensors["first.weight"])
        width, actions = int(values["width"]), header.shape.actions
        arrays = cls(
            window=header.window,
            few=header.planes == REFERENCE,
            first=first,
            bias=_float(tensors["first.bias"]),
            inner=np.stack(
                [_turned(tensors[f"{name}.weight"]) for name in layers]
                or [np.zeros((width, width), np.float32)]
            )[: len(layers)],
            biases=_float([tensors[f"{name}.bias"] for name in layers]).reshape(-1, width),
            value=_float(np.append(tensors["value.weight"].reshape(-1), tensors["value.bias"])),
            policy=_turned(tensors["policy.weight"]),
            policy_bias=_float(tensors["policy.bias"]),
        )
        arrays._check((header.shape.planes * header.window**2, width), actions)
        return arrays

    def arrays(self) -> tuple[_Floats, ...]:
        """Return the weights in the order in which `evaluate` takes them, `bias` left out."""
        return self.first, self.inner, self.biases, self.value, self.policy, self.policy_bias

    def room(self) -> _Floats:
        """Return work space for `evaluate`."""
        return np.empty((4, max(len(self.bias), self.window**2 + 1)), np.float32)

    def load(self) -> None:
        """Load the kernel, or compile it, before a clock runs."""
        load_dense()

    def evaluate(
        self,
        layout: Layout,
        problems: ArrayLike,
        attackers: ArrayLike,
        defenders: ArrayLike,
        sides: ArrayLike,
        *,
        picks: ArrayLike | None = None,
    ) -> tuple[_Floats, _Floats]:
        """Return values and logits; see `miai_go.tsumego.networks.reckoned.Reckoned`."""
        self.load()
        return self._evaluate(Batch.of(layout, problems, attackers, defenders, sides, picks))

    def _evaluate(self, batch: Batch) -> tuple[_Floats, _Floats]:
        values, logits = batch.room()
        kernels.evaluate_all(
            *batch,
            self.window,
            self.few,
            self.first,
            self.bias,
            self.inner,
            self.biases,
            self.value,
            self.policy,
            self.policy_bias,
            np.empty(64, np.int16),
            np.empty(len(self.bias), np.float32),
            np.empty(64, np.uint64),
            self.room(),
            values,
            logits,
        )
        return values, logits

    def _check(self, first: tuple[int, int], actions: int) -> None:
        width = first[1]
        shapes = {
            "first": (self.first.shape, first),
            "first's bias": (self.bias.shape, (width,)),
            "blocks": (self.inner.shape[1:], (width, width)),
            "blocks' biases": (self.biases.shape, (len(self.inner), width)),
            "value": (self.value.shape, (width + 1,)),
            "policy": (self.policy.shape, (width, actions)),
            "policy's bias": (self.policy_bias.shape, (actions,)),
        }
        for name, (shape, wanted) in shapes.items():
            if shape != wanted:
                raise WeightsError(f"the layer '{name}' has the shape {shape}, not {wanted}")


def _turned(weights: NDArray[Any]) -> _Floats:
    """Return weights with the inputs first."""
    return np.ascontiguousarray(weights.T, np.float32)


def _float(values: Any) -> _Floats:
    return np.ascontiguousarray(np.array(values), np.float32)


@cache
def load_dense() -> None:
    """Load the kernel, or compile it, before a clock runs."""
    from miai_go.tsumego.kernels import planes as plane_kernels
    from miai_go.tsumego.kernels import stones

    few = plane_kernels.FEW_PLANES
    one = np.zeros((1, 1), np.float32)
    nothing = DenseArrays(
        window=3,
        few=True,
        first=np.zeros((few * 9, 1), np.float32),
        bias=one[0],
        inner=one[None][:0],
        biases=one[:0],
        value=np.zeros(2, np.float32),
        policy=np.zeros((1, 10), np.float32),
        policy_bias=np.zeros(10, np.float32),
    )
    words = np.zeros((1, stones.ZONE_WORDS), np.uint64)
    words[0, [stones.POINTS, stones.TARGET]] = 1
    facts = np.zeros((1, 64, plane_kernels.FACTS), np.int64)
    layout = Layout(words, np.zeros((1, 64), np.uint64), facts, np.ones(1, np.int64))
    with FAMILY.compiling("tsumego-net"):
        nothing._evaluate(Batch.of(layout, [0], [0], [1], [0]))
