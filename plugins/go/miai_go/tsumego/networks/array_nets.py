"""Networks of life and death without torch: weights as arrays, which a compiled kernel evaluates.

Only networks ``zone`` are evaluated so: they are the better ones, and those that ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai.errors import ParameterError, WeightsError
from miai.kernels.lanes import LANES
from miai.tensors import Tensors
from miai_go.tsumego.components import ZoneParameters
from miai_go.tsumego.kernels import FAMILY, zone_net
from miai_go.tsumego.kernels import planes as kernels
from miai_go.tsumego.networks.net_files import NetHeader, read_net
from miai_go.tsumego.networks.zone_planes import EXTENDED, PlaneLayout, kernel_batch, tiny_layout

Floats = NDArray[np.float32]

_EPSILON: Final = 1e-5
"""What a norm adds to variances, torch's default."""
_COUNTER: Final = ".num_batches_tracked"


@dataclass(frozen=True, slots=True, eq=False)
class ArrayNet:
    """The weights of a `ZoneNet` in the layout that `miai_go.tsumego.kernels.zone_net` takes.

    Attributes:
      window: points on a side of the window.
      parameters: of the network.
      weights: the arrays, norms folded into them.
    """

    window: int
    parameters: ZoneParameters
    weights: zone_net.ZoneWeights

    @classmethod
    def of(cls, header: NetHeader, tensors: Tensors) -> Self:
        """Return the network of tensors. Raises `WeightsError` if they do not fit the header."""
        try:
            parameters = header.parameters
        except ParameterError as error:
            raise WeightsError(f"its network cannot be built: {error}") from error
        if not isinstance(parameters, ZoneParameters):
            raise WeightsError(
                f"a network '{header.network}' is evaluated by torch alone; train a network 'zone'"
            )
        if header.planes != EXTENDED:
            raise WeightsError(f"its planes are '{header.planes}'; a zone needs '{EXTENDED}'")
        _check_shapes(_shapes(parameters), tensors)
        weights = _weights(parameters, tensors)
        for name, array in weights._asdict().items():
            if not np.isfinite(array).all():
                raise WeightsError(f"its weights are too large: '{name}' is beyond 32 bits")
        return cls(header.window, parameters, weights)

    def load(self) -> None:
        """Load the kernel, or compile it, before a clock runs."""
        load_zone()

    def evaluate(
        self,
        layout: PlaneLayout,
        problems: ArrayLike,
        attackers: ArrayLike,
        defenders: ArrayLike,
        sides: ArrayLike,
        *,
        picks: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Return values from -1 to 1 (safe), of shape (n,), and logits of shape (n, 64).

        Logits are of the points of the zone, the last one of no move; -inf for no such point. For
        the arguments see `miai_go.tsumego.networks.zone_planes.encode`.
        """
        self.load()
        return self._evaluate(kernel_batch(layout, problems, attackers, defenders, sides, picks))

    def _evaluate(self, batch: kernels.ZoneBatch) -> tuple[Floats, Floats]:
        count = len(batch.problems)
        values, logits = np.empty(count, np.float32), np.empty((count, 64), np.float32)
        zone_net.evaluate_all(
            batch,
            self.window,
            self.parameters.width,
            self.parameters.height,
            self.weights,
            self.work(),
            values,
            logits,
        )
        return values, logits

    def work(self) -> zone_net.ZoneWork:
        """Return work space for the kernel."""
        window, width = self.window, self.parameters.width
        rows = zone_net.FEATURE_ROWS * width
        return zone_net.ZoneWork(
            places=np.empty(64, np.int16),
            squares=np.empty((window + 2 * zone_net.REACH) ** 2, np.int64),
            square=np.empty(64, np.int64),
            near=np.empty((2, 9 * 68), np.int64),
            starts=np.empty(10, np.int64),
            seen=np.empty((2, 64 * 64), np.int64),
            seen_starts=np.empty(65, np.int64),
            codes=np.empty(64, np.uint64),
            base=np.zeros(rows, np.float32),
            features=np.zeros(rows, np.float32),
            inner=np.zeros(rows, np.float32),
            pooled=np.empty(zone_net.POOLED * width, np.float32),
            shift=np.empty(width, np.float32),
            units=np.empty(zone_net.HIDDEN, np.float32),
            zeros=np.zeros(LANES, np.float32),
        )


@cache
def load_zone() -> None:
    """Load the kernel of networks, or compile it, before a clock runs."""
    parameters = ZoneParameters(height=1, width=LANES)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in _shapes(parameters).items()}
    tiny = ArrayNet(3, parameters, _weights(parameters, zeros))
    with FAMILY.compiling("tsumego-zone"):
        tiny._evaluate(kernel_batch(tiny_layout(), [0], [0], [1], [0]))


def _weights(parameters: ZoneParameters, tensors: Tensors) -> zone_net.ZoneWeights:
    width, height = parameters.width, parameters.height
    squares = zone_net.ACROSS**2
    sight, bias = _folded(tensors, "first")
    sight = sight.T.reshape(squares, kernels.PLANES, width)
    layers, biases, spreads = [], [], []
    for block in range(height):
        for name in ("first", "second"):
            layer, shift = _folded(tensors, f"blocks.{block}.{name}")
            layers.append(layer.reshape(width, 9, width).transpose(1, 2, 0))
            if name == "first":
                shift = shift + tensors[f"blocks.{block}.spread.bias"]
            biases.append(shift)
        spreads.append(tensors[f"blocks.{block}.spread.weight"].T)
    return zone_net.ZoneWeights(
        sight=_flat(sight),
        around=_flat(_around(sight)),
        bias=_flat(bias),
        inner=_flat(layers),
        biases=_flat(biases),
        spread=_flat(spreads),
        points=_with_bias(tensors, "points"),
        none=_with_bias(tensors, "none"),
        hidden=_flat(tensors["hidden.weight"].T),
        hidden_bias=_flat(tensors["hidden.bias"]),
        value=_with_bias(tensors, "value"),
    )


def _around(sight: NDArray[Any]) -> NDArray[Any]:
    """Return what a wall and a point of the zone give: (2 movers, 2, squares, width)."""
    out = np.empty((2, 2, len(sight), sight.shape[2]))
    for side, mover in enumerate((kernels.ATTACKER_FIRST, kernels.DEFENDER_FIRST)):
        wall = sight[:, [mover, kernels.OPPOSITE, kernels.LIBERTIES + 3, kernels.SIZES + 3]]
        out[side, zone_net.WALL] = wall.sum(1)
        out[side, zone_net.GROUND] = sight[:, [mover, kernels.ZONE]].sum(1)
    return out


def _folded(tensors: Tensors, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights (outputs, inputs) and bias of a layer and the norm after it."""
    # In double precision: the scale may be large where a variance is small.
    norm = {
        part: tensors[f"{name}.norm.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    }
    if (norm["running_var"] < 0).any():
        raise WeightsError(f"the layer '{name}' has a negative variance")
    scale = norm["weight"] / np.sqrt(norm["running_var"] + _EPSILON)
    weight = tensors[f"{name}.weight"].reshape(len(scale), -1) * scale[:, None]
    return weight, norm["bias"] - norm["running_mean"] * scale


def _with_bias(tensors: Tensors, name: str) -> Floats:
    return _flat(np.append(tensors[f"{name}.weight"].ravel(), tensors[f"{name}.bias"]))


def _flat(values: Any) -> Floats:
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.ascontiguousarray(np.array(values).ravel(), np.float32)


def _shapes(parameters: ZoneParameters) -> dict[str, tuple[int, ...]]:
    width, hidden = parameters.width, zone_net.HIDDEN
    pools = zone_net.POOLED * width
    layers = {"first": (width * zone_net.ACROSS**2, kernels.PLANES)}
    shapes: dict[str, tuple[int, ...]] = {}
    for block in range(parameters.height):
        layers |= {f"blocks.{block}.{name}": (width, 9 * width) for name in ("first", "second")}
        shapes[f"blocks.{block}.spread.weight"] = (width, pools)
        shapes[f"blocks.{block}.spread.bias"] = (width,)
    for name, layer in layers.items():
        shapes[f"{name}.weight"] = layer
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.norm.{part}"] = (width,)
    heads = {"points": (1, width), "none": (1, pools), "hidden": (hidden, pools)}
    for name, layer in {**heads, "value": (1, hidden)}.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = layer, layer[:1]
    return shapes


def _check_shapes(wanted: Mapping[str, tuple[int, ...]], tensors: Tensors) -> None:
    shapes = {n: t.shape for n, t in tensors.items() if not n.endswith(_COUNTER)}
    for name in sorted(wanted.keys() | shapes.keys()):
        if shapes.get(name) != wanted.get(name):
            raise WeightsError(
                f"the tensor '{name}' has the shape {shapes.get(name)}, not {wanted.get(name)}"
            )


def read_array_net(path: Path) -> ArrayNet:
    """Return the network of a file. Raises `WeightsError` as `ArrayNet.of`, or if unreadable."""
    header, tensors = read_net(path)
    try:
        return ArrayNet.of(header, tensors)
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from None
