"""The network that lives in the zone: the same with torch and in kernels, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tsumego.small_nets import small_net

from miai.errors import ParameterError
from miai.kernels.lanes import LANES
from miai_go.tsumego.kernels import stones
from miai_go.tsumego.networks.zone_planes import encode, layout_of

torch = pytest.importorskip("torch")

from miai.errors import WeightsError  # noqa: E402
from miai_go.nets.network import tensors_of  # noqa: E402
from miai_go.tsumego.networks.accuracy import answering  # noqa: E402
from miai_go.tsumego.networks.array_nets import ArrayNet, read_array_net  # noqa: E402
from miai_go.tsumego.networks.net_files import (  # noqa: E402
    Net,
    NetHeader,
    build_net,
    load_net,
    packed_net,
    quantize_net,
    save_net,
)

POSITIONS = 63
MAX_ZONE_POINTS = 63
SETTINGS: list[dict[str, Any]] = [
    {"height": 2, "width": 32},
    {"height": 1, "width": 16},
    {"height": 0, "width": 48},
]


def zone_net(window: int = 11, **parameters: Any) -> Net:
    """Return a network whose weights, and what its norms have seen, are drawn."""
    header = NetHeader(
        network="zone", network_parameters=parameters, planes="extended", window=window
    )
    network = build_net(header, seed=3)
    drawn = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if "norm" in name and tensor.is_floating_point():
                low = 0.5 if name.endswith(("norm.weight", "var")) else -0.3
                tensor.uniform_(low, low + 0.8, generator=drawn)
    return Net(network.eval(), header)


def drawn_zone(rng: np.random.Generator, count: int) -> tuple[Any, list[int], int, int, int]:
    """Return a zone of so many points scattered on a board, and stones: sets of its points."""
    size = int(rng.integers(int(count**0.5) + 2, 20))
    points = sorted(rng.choice(size**2, count, replace=False).tolist())
    words = np.zeros(stones.ZONE_WORDS, np.uint64)
    open_points = 0
    for i, point in enumerate(points):
        row, column = divmod(point, size)
        for r, c in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
            if not (0 <= r < size and 0 <= c < size):
                continue
            if r * size + c in points:
                words[i] |= np.uint64(1 << points.index(r * size + c))
            else:
                open_points |= 1 << i
    kinds = rng.integers(3, size=count)
    target = int(rng.integers(count))
    kinds[target] = 2
    words[stones.POINTS] = (1 << count) - 1
    words[stones.OPEN], words[stones.TARGET] = open_points, 1 << target
    sets = [sum(1 << i for i in range(count) if kinds[i] == kind) for kind in (1, 2)]
    return words, points, size, sets[0], sets[1]


def drawn_positions(seed: int) -> tuple[Any, ...]:
    """Return a layout, problems, attackers, defenders and sides: zones of all sizes."""
    rng = np.random.default_rng(seed)
    zones = [drawn_zone(rng, 1 + i % MAX_ZONE_POINTS) for i in range(POSITIONS)]
    words, points, sizes, attackers, defenders = zip(*zones, strict=True)
    padded = [[*p, *[-1] * (MAX_ZONE_POINTS - len(p))] for p in points]
    twice = np.arange(2 * POSITIONS) // 2
    return (
        layout_of(np.stack(words), padded, sizes),
        twice,
        np.array(attackers, np.uint64)[twice],
        np.array(defenders, np.uint64)[twice],
        np.arange(2 * POSITIONS) % 2,
    )


def by_torch(net: Net, positions: tuple[Any, ...], picks: Any) -> tuple[Any, Any]:
    """Return values and logits of the points of the zone, the last of no move."""
    window = net.header.window
    views = encode(*positions, planes=net.header.planes, window=window, picks=picks)
    outputs = answering(net.network)(views.planes)
    assert outputs.value is not None
    assert outputs.policy is not None
    policy, places = outputs.policy.numpy(), views.places.astype(np.int64)
    logits = np.take_along_axis(policy, np.maximum(places, 0), 1)
    logits[places < 0] = -np.inf
    logits[:, 63] = policy[:, -1]
    return outputs.value.numpy(), logits


@pytest.mark.parametrize("window", [3, 11, 25])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_array_network_is_the_torch_network(settings: dict[str, Any], window: int) -> None:
    net, positions = zone_net(window, **settings), drawn_positions(window)
    picks = np.random.default_rng(1).integers(100, size=2 * POSITIONS)
    values, logits = ArrayNet.of(net.header, tensors_of(net.network)).evaluate(
        *positions, picks=picks
    )
    wanted, wanted_logits = by_torch(net, positions, picks)
    assert values.std() > 0.01
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    np.testing.assert_allclose(logits, wanted_logits, atol=1e-4)


def test_the_order_of_positions_changes_nothing() -> None:
    net, positions = zone_net(height=1, width=16), drawn_positions(4)
    network = ArrayNet.of(net.header, tensors_of(net.network))
    values, logits = network.evaluate(*positions)
    order = np.random.default_rng(2).permutation(2 * POSITIONS)
    mixed = [column[order] for column in positions[1:]]
    again, again_logits = network.evaluate(positions[0], *mixed)
    np.testing.assert_array_equal(again, values[order])
    np.testing.assert_array_equal(again_logits, logits[order])


def test_planes_without_a_zone_have_no_move_and_no_features() -> None:
    outputs = answering(zone_net(height=1, width=16).network)(np.zeros((2, 21, 11, 11), np.uint8))
    assert outputs.value is not None
    assert outputs.policy is not None
    assert outputs.value[0] == outputs.value[1]
    assert (outputs.policy.argmax(1) == 121).all()


def test_few_bits_are_the_same_few_bits_in_kernels(tmp_path: Path) -> None:
    net, positions = zone_net(height=1, width=32), drawn_positions(5)
    size, packed = packed_net(net, 5)
    path = tmp_path / "small.safetensors"
    quantize_net(net, 5, path)
    assert size < sum(array.nbytes for array in tensors_of(net.network).values()) / 4
    values, _logits = read_array_net(path).evaluate(*positions)
    wanted, _ = by_torch(Net(packed, net.header), positions, None)
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    assert np.abs(values - by_torch(net, positions, None)[0]).max() > 1e-3


def test_planes_that_do_not_show_the_zone_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"planes\.planes = 'extended'"):
        small_net("zone", planes="reference")
    with pytest.raises(ParameterError, match=f"is not a multiple of {LANES}"):
        small_net("zone", planes="extended", width=LANES + 8)


@pytest.mark.parametrize(
    ("changes", "tensors", "reason"),
    [
        ({}, {"value.bias": None}, "'value.bias'"),
        ({}, {"blocks.1.spread.bias": np.zeros(16, np.float32)}, r"'blocks\.1\.spread\.bias'"),
        ({}, {"points.weight": np.zeros((1, 15), np.float32)}, r"'points\.weight'"),
        ({"network_parameters": {"width": 512, "height": 40}}, {}, "'blocks"),
        ({"planes": "reference"}, {}, "extended"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    changes: dict[str, Any], tensors: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    net, path = zone_net(height=1, width=16), tmp_path / "net.safetensors"
    arrays = {**tensors_of(net.network), **tensors}
    kept = {name: array for name, array in arrays.items() if array is not None}
    save_net(path, kept, net.header.model_copy(update=changes))
    for read in (read_array_net, load_net):
        with pytest.raises(WeightsError, match=reason):
            read(path)


def test_a_dense_network_is_left_to_torch(tmp_path: Path) -> None:
    net, path = small_net(width=8), tmp_path / "net.safetensors"
    save_net(path, tensors_of(net.network), net.header)
    with pytest.raises(WeightsError, match=r"net\.safetensors: .*'dense' is evaluated by torch"):
        read_array_net(path)


def test_beyond_all_bounds_is_refused() -> None:
    net = zone_net(height=0, width=16)
    arrays = tensors_of(net.network)
    wide = net.header.model_copy(update={"network_parameters": {"width": 1 << 40}})
    with pytest.raises(WeightsError, match="width"):
        ArrayNet.of(wide, arrays)
    arrays["first.norm.running_var"][3] = -1.0
    with pytest.raises(WeightsError, match="negative variance"):
        ArrayNet.of(net.header, arrays)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["first.weight", "blocks.0.first.norm.weight"])
def test_weights_that_become_infinite_with_their_norm_are_refused(name: str) -> None:
    net = zone_net(height=1, width=16)
    arrays = tensors_of(net.network)
    arrays["blocks.0.first.norm.running_var"][:] = 1e-6
    arrays["first.norm.running_var"][:] = 1e-6
    arrays[name][:] = 3e38
    with pytest.raises(WeightsError, match="too large"):
        ArrayNet.of(net.header, arrays)
