"""The zone's network without torch: its weights as arrays for kernels, and batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai.kernels.lanes import LANES
from miai_go.errors import WeightsError
from miai_go.tsumego.kernels import FAMILY, stones
from miai_go.tsumego.kernels import planes as plane_kernels
from miai_go.tsumego.kernels import zone_ground as ground
from miai_go.tsumego.kernels import zone_net as kernels
from miai_go.tsumego.networks.batch import Batch
from miai_go.tsumego.networks.building import filled_values
from miai_go.tsumego.networks.files import NetHeader
from miai_go.tsumego.networks.parameters import ZoneParameters
from miai_go.tsumego.planes import EXTENDED, Layout

_Floats = NDArray[np.float32]
_Tensors = dict[str, NDArray[Any]]
_EPSILON: Final = 1e-5
"""What a norm adds to variances, torch's default."""
_COUNTER: Final = ".num_batches_tracked"


@dataclass(frozen=True, slots=True, eq=False)
class ZoneArrays:
    """The weights of a `ZoneNet` in the layout that `miai_go.tsumego.kernels.zone_net` takes.

    Attributes:
      window: points on a side of the window.
      parameters: of the network.
      weights: the arrays, norms folded into them.
    """

    window: int
    parameters: ZoneParameters
    weights: kernels.Weights

    @classmethod
    def of(cls, header: NetHeader, tensors: _Tensors) -> Self:
        """Return the weights of tensors by name.

        Raises:
          WeightsError: they are of another network, or not those that their header tells of.
          ParameterError: the network's parameters are wrong.
        """
        if header.network != "zone" or header.planes != EXTENDED:
            raise WeightsError(
                f"is of the network '{header.network}' on the planes '{header.planes}'; 'zone' on "
                f"'{EXTENDED}' alone can be used"
            )
        values = filled_values(header.network, header.network_parameters)
        parameters = ZoneParameters.model_validate(values)
        _check(parameters, tensors)
        weights = _weights(parameters, tensors)
        for name, array in weights._asdict().items():
            if not np.isfinite(array).all():
                raise WeightsError(f"its weights are too large: '{name}' is beyond 32 bits")
        return cls(header.window, parameters, weights)

    def work(self) -> ground.Work:
        """Return work space for the kernel."""
        window, reach, width = self.window, self.parameters.reach, self.parameters.width
        rows = ground.FEATURE_ROWS * width
        return ground.Work(
            places=np.empty(64, np.int16),
            squares=np.empty((window + 2 * reach) ** 2, np.int64),
            at=np.empty(64, np.int64),
            near=np.empty((2, 9 * 68), np.int64),
            starts=np.empty(10, np.int64),
            seen=np.empty((2, 64 * 64), np.int64),
            seen_starts=np.empty(65, np.int64),
            codes=np.empty(64, np.uint64),
            base=np.zeros(rows, np.float32),
            features=np.zeros(rows, np.float32),
            inner=np.zeros(rows, np.float32),
            pooled=np.empty(kernels.POOLED * width, np.float32),
            shift=np.empty(width, np.float32),
            units=np.empty(len(self.weights.hidden_bias), np.float32),
            zeros=np.zeros(LANES, np.float32),
        )

    def load(self) -> None:
        """Load the kernel, or compile it, before a clock runs."""
        load_zone()

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
            self.parameters.reach,
            self.parameters.width,
            self.parameters.height,
            self.weights,
            self.work(),
            values,
            logits,
        )
        return values, logits


def _weights(parameters: ZoneParameters, tensors: _Tensors) -> kernels.Weights:
    width, height = parameters.width, parameters.height
    squares = (2 * parameters.reach + 1) ** 2
    sight, bias = _folded(tensors, "first")
    sight = sight.T.reshape(squares, plane_kernels.PLANES, width)
    layers, biases, spreads = [], [], []
    for block in range(height):
        for name in ("first", "second"):
            layer, shift = _folded(tensors, f"blocks.{block}.{name}")
            layers.append(layer.reshape(width, 9, width).transpose(1, 2, 0))
            if name == "first":
                shift = shift + tensors[f"blocks.{block}.spread.bias"]
            biases.append(shift)
        spreads.append(tensors[f"blocks.{block}.spread.weight"].T)
    spare = -parameters.hidden % LANES
    return kernels.Weights(
        sight=_flat(sight),
        around=_flat(_around(sight)),
        bias=_flat(bias),
        inner=_flat(layers),
        biases=_flat(biases),
        spread=_flat(spreads),
        points=_with_bias(tensors, "points"),
        none=_with_bias(tensors, "none"),
        hidden=_flat(np.pad(tensors["hidden.weight"].T, ((0, 0), (0, spare)))),
        hidden_bias=_flat(np.pad(tensors["hidden.bias"], (0, spare))),
        value=_flat(
            np.concatenate(
                (tensors["value.weight"].reshape(-1), np.zeros(spare), tensors["value.bias"])
            )
        ),
    )


def _around(sight: NDArray[Any]) -> NDArray[Any]:
    """Return what a wall and a point of the zone give: (2 movers, 2, squares, width)."""
    p = plane_kernels
    out = np.empty((2, 2, len(sight), sight.shape[2]))
    for side, mover in enumerate((p.ATTACKER_FIRST, p.DEFENDER_FIRST)):
        wall = sight[:, [mover, p.OPPOSITE, p.LIBERTIES + 3, p.SIZES + 3]]
        out[side, ground.WALL] = wall.sum(1)
        out[side, ground.GROUND] = sight[:, [mover, p.ZONE]].sum(1)
    return out


def _folded(tensors: _Tensors, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights (outputs, inputs) and bias of a layer and the norm after it."""
    norm = {
        part: tensors[f"{name}.norm.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    }
    if (norm["running_var"] < 0).any():
        raise WeightsError(f"the layer '{name}' has a negative variance")
    scale = norm["weight"] / np.sqrt(norm["running_var"] + _EPSILON)
    weight = tensors[f"{name}.weight"].reshape(len(scale), -1) * scale[:, None]
    return weight, norm["bias"] - norm["running_mean"] * scale


def _with_bias(tensors: _Tensors, name: str) -> _Floats:
    return _flat(np.append(tensors[f"{name}.weight"].reshape(-1), tensors[f"{name}.bias"]))


def _flat(values: Any) -> _Floats:
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.ascontiguousarray(np.array(values).reshape(-1), np.float32)


def _check(parameters: ZoneParameters, tensors: _Tensors) -> None:
    wanted = _shapes(parameters)
    given = {n: t.shape for n, t in tensors.items() if not n.endswith(_COUNTER)}
    for name in sorted(wanted.keys() | given.keys()):
        if given.get(name) != wanted.get(name):
            raise WeightsError(
                f"the tensor '{name}' has the shape {given.get(name)}, not {wanted.get(name)}"
            )


def _shapes(parameters: ZoneParameters) -> dict[str, tuple[int, ...]]:
    width, hidden = parameters.width, parameters.hidden
    squares, pooled = (2 * parameters.reach + 1) ** 2, kernels.POOLED * width
    layers = {"first": (width * squares, plane_kernels.PLANES)}
    shapes: dict[str, tuple[int, ...]] = {}
    for block in range(parameters.height):
        layers |= {f"blocks.{block}.{name}": (width, 9 * width) for name in ("first", "second")}
        shapes[f"blocks.{block}.spread.weight"] = (width, pooled)
        shapes[f"blocks.{block}.spread.bias"] = (width,)
    for name, layer in layers.items():
        shapes[f"{name}.weight"] = layer
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.norm.{part}"] = (width,)
    heads = {"points": (1, width), "none": (1, pooled), "hidden": (hidden, pooled)}
    for name, shape in {**heads, "value": (1, hidden)}.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    return shapes


@cache
def load_zone() -> None:
    """Load the kernel, or compile it, before a clock runs."""
    parameters = ZoneParameters(height=1, width=LANES, hidden=LANES, reach=1)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in _shapes(parameters).items()}
    nothing = ZoneArrays(3, parameters, _weights(parameters, zeros))
    words = np.zeros((1, stones.ZONE_WORDS), np.uint64)
    words[0, [stones.POINTS, stones.TARGET]] = 1
    facts = np.zeros((1, 64, plane_kernels.FACTS), np.int64)
    layout = Layout(words, np.zeros((1, 64), np.uint64), facts, np.ones(1, np.int64))
    with FAMILY.compiling("tsumego-zone"):
        nothing._evaluate(Batch.of(layout, [0], [0], [1], [0]))
