"""Networks at work: every way of running one gives the network's own answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.go_learning.go_networks_small import (
    HISTORY,
    NETWORKS,
    PLANES,
    SIZE,
    random_planes,
    small_file,
    small_header,
    small_network,
)
from torch import Tensor, nn

from miai.errors import ParameterError, UnknownComponentError, WeightsError
from miai.parameters import Parameters
from miai.plugins.loader import registry
from miai_go.errors import InferenceError
from miai_go.nets import onnx_export
from miai_go.nets import oracle as oracles
from miai_go.nets.encoder import load_encoder
from miai_go.nets.inference import Ensemble, export_beside, load_oracle, prefers_int8
from miai_go.nets.network import (
    INPUT,
    PRECISION_KEY,
    NetworkShape,
    Outputs,
    WeightsHeader,
    build_network,
    folded,
    load_weights,
    outputs_of,
    save_weights,
)
from miai_go.nets.network_parameters import Precision
from miai_go.nets.onnx_export import export_onnx
from miai_go.nets.onnx_oracle import OnnxOracle
from miai_go.nets.oracle import Answers, NetworkOracle, Oracle
from miai_go.nets.torch_oracle import TorchOracle

ROUNDING = 2e-5
"""Between orders of the same float32 sums, for logits of about 1."""

BF16 = 0.1
INT8 = 0.25
"""Between float32 and the coarser numbers, for logits of about 1."""


torch.set_num_threads(1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_file(tmp_path_factory.mktemp("weights") / "net.safetensors")


@pytest.fixture(scope="module")
def onnx_path(path: Path) -> Path:
    target = path.with_suffix(".onnx")
    export_onnx(load_weights(path), target)
    return target


@pytest.fixture(scope="module")
def int8_path(path: Path) -> Path:
    target = path.with_name("int8.onnx")
    export_onnx(load_weights(path), target, precision="int8", positions=256)
    return target


def own_answers(path: Path, planes: NDArray[np.uint8]) -> Answers:
    """Ask the unfolded network, in float64."""
    network = load_weights(path).network.double()
    with torch.no_grad():
        outputs = network(torch.from_numpy(planes.astype(np.float64)))
    arrays = (getattr(outputs, name) for name in Answers._fields)
    return Answers(*(None if a is None else a.float().numpy() for a in arrays))


def distance(one: Answers, other: Answers) -> float:
    """Return the greatest difference of two answers."""
    arrays, others = one.arrays(), other.arrays()
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype == np.float32
        assert array.shape == others[name].shape, name
    return max(float(np.abs(array - others[name]).max()) for name, array in arrays.items())


def single(oracle: Oracle, planes: NDArray[np.uint8]) -> Answers:
    """Ask one position at a time."""
    parts = [oracle.infer(planes[i : i + 1]).arrays() for i in range(len(planes))]
    return Answers(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@pytest.mark.parametrize("name", NETWORKS)
def test_torch_gives_the_network_s_answers(name: str, tmp_path: Path) -> None:
    path = small_file(tmp_path / "net.safetensors", name)
    planes = random_planes(9, seed=1)
    oracle = load_oracle(path, precision="fp32")
    assert distance(oracle.infer(planes), own_answers(path, planes)) < ROUNDING
    assert oracle.has_policy
    assert oracle.has_value
    assert oracle.encoder.planes == planes.shape[1]


@pytest.mark.slow
def test_a_batch_gives_what_single_positions_give(path: Path, onnx_path: Path) -> None:
    planes = random_planes(13, seed=2)
    for file in (path, onnx_path):
        oracle = load_oracle(file, precision="fp32")
        assert distance(oracle.infer(planes), single(oracle, planes)) < ROUNDING


def test_bf16_is_near_fp32(path: Path) -> None:
    planes = random_planes(32, seed=4)
    exact = load_oracle(path, precision="fp32").infer(planes)
    coarse = load_oracle(path, precision="bf16").infer(planes)
    assert 0 < distance(exact, coarse) < BF16 * SIZE  # the score is multiplied by the size


@pytest.mark.slow
def test_int8_is_near_fp32(path: Path, int8_path: Path) -> None:
    planes = random_planes(64, seed=5)
    exact = load_oracle(path, precision="fp32").infer(planes).arrays()
    coarse = load_oracle(int8_path).infer(planes).arrays()
    assert 0 < np.abs(exact["policy"] - coarse["policy"]).mean() < INT8
    assert np.abs(exact["value"] - coarse["value"]).mean() < INT8
    with pytest.raises(InferenceError, match="was exported in int8, not in fp32"):
        load_oracle(int8_path, precision="fp32")


@pytest.mark.slow
def test_an_int8_export_beside_weights_is_used_while_it_is_of_these(tmp_path: Path) -> None:
    weights, planes = small_file(tmp_path / "net.safetensors"), random_planes(5, seed=4)
    export = export_beside(weights)
    assert export.name == "net.int8.onnx"
    export_onnx(load_weights(weights), export, precision="int8", positions=64)
    exported = load_oracle(export).infer(planes)
    assert distance(load_oracle(weights, precision="int8").infer(planes), exported) == 0
    others: list[Precision] = ["fp32", "bf16"]
    for precision in others:
        assert distance(load_oracle(weights, precision=precision).infer(planes), exported) > 0
    assert isinstance(load_oracle(weights), OnnxOracle) == prefers_int8()
    assert isinstance(load_oracle(weights, precision="fp32"), TorchOracle)
    # Weights of the same name, trained on: the export is no longer theirs.
    header = small_header()
    save_weights(weights, small_network(header, seed=9), header)
    assert distance(load_oracle(weights, precision="int8").infer(planes), exported) > INT8
    assert isinstance(load_oracle(weights), TorchOracle)


@pytest.mark.slow
def test_weights_are_exported_once_for_all_oracles_until_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, planes = (small_file(tmp_path / "net.safetensors", "plain"), random_planes(5, seed=4))
    exported: list[Path] = []
    export = onnx_export.onnx_model

    def noted(*args: Any, **options: Any) -> Any:
        exported.append(weights)
        return export(*args, **options)

    monkeypatch.setattr(onnx_export, "onnx_model", noted)
    first, second = (load_oracle(weights, precision="int8") for _ in range(2))
    assert distance(first.infer(planes), second.infer(planes)) == 0
    assert len(exported) == 1
    header = small_header("plain")
    save_weights(weights, small_network(header, seed=9), header)
    trained_on = load_oracle(weights, precision="int8")
    assert distance(trained_on.infer(planes), first.infer(planes)) > 0
    assert len(exported) == 2
    weights.write_bytes(weights.read_bytes()[:-4] + bytes(4))
    with pytest.raises(WeightsError, match="digest"):
        load_oracle(weights, precision="int8")


@pytest.mark.slow
def test_onnx_gives_the_network_s_answers(path: Path, onnx_path: Path) -> None:
    planes = random_planes(5, seed=6)
    oracle = load_oracle(onnx_path)
    assert distance(oracle.infer(planes), own_answers(path, planes)) < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_exported_on_the_fly(name: str, tmp_path: Path) -> None:
    path = small_file(tmp_path / "net.safetensors", name)
    planes = random_planes(5, seed=6)
    oracle = load_oracle(path, precision="int8")
    assert distance(oracle.infer(planes), own_answers(path, planes)) < INT8


@pytest.mark.slow
def test_an_onnx_file_carries_the_header_and_no_traces(path: Path, onnx_path: Path) -> None:
    oracle: Any = load_oracle(onnx_path)
    assert oracle.header == load_weights(path).header
    data = onnx_path.read_bytes()
    for trace in (b"/miai_go/", b"site-packages", str(path.parent).encode()):
        assert trace not in data


@pytest.mark.slow
def test_a_wrong_onnx_file_is_refused(path: Path, onnx_path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    whole = onnx_path.read_bytes()
    for data in (b"", b"hello", whole[: len(whole) // 2], path.read_bytes()):
        bad.write_bytes(data)
        with pytest.raises(WeightsError, match=r"bad\.onnx"):
            load_oracle(bad)
    bad.write_bytes(whole.replace(b'"size":5', b'"size":6'))
    with pytest.raises(WeightsError, match="does not fit its header"):
        load_oracle(bad)
    with pytest.raises(WeightsError, match="cannot be read"):
        load_oracle(tmp_path / "none.onnx")


def turned(points: NDArray[Any], symmetry: int) -> NDArray[Any]:
    """Turn (..., size, size): written without tables."""
    points = np.rot90(points, symmetry % 4, (-2, -1))
    return points[..., ::-1] if symmetry >= 4 else points


def back(points: NDArray[Any], symmetry: int) -> NDArray[Any]:
    points = points[..., ::-1] if symmetry >= 4 else points
    return np.rot90(points, -(symmetry % 4), (-2, -1))


@pytest.mark.slow
def test_the_average_is_over_the_eight_copies(path: Path) -> None:
    planes = random_planes(3, seed=8)
    chances, values, owners = [], [], []
    for symmetry in range(8):
        answers = own_answers(path, np.ascontiguousarray(turned(planes, symmetry))).arrays()
        policy = answers["policy"]
        points = back(policy[:, :-1].reshape(-1, SIZE, SIZE), symmetry).reshape(3, -1)
        powers = np.exp(np.concatenate((points, policy[:, -1:]), 1).astype(np.float64))
        chances.append(powers / powers.sum(1, keepdims=True))
        values.append(answers["value"])
        owners.append(back(answers["ownership"], symmetry))
    found = Ensemble(load_oracle(path, precision="fp32")).infer(planes).arrays()
    assert np.abs(np.exp(found["policy"]) - np.mean(chances, 0)).max() < ROUNDING
    assert np.abs(found["value"] - np.mean(values, 0)).max() < ROUNDING
    assert np.abs(found["ownership"] - np.mean(owners, 0)).max() < ROUNDING


@pytest.mark.slow
def test_planes_that_do_not_fit_are_refused(path: Path, onnx_path: Path) -> None:
    planes = random_planes(2, seed=1)
    for file in (path, onnx_path):
        oracle = load_oracle(file)
        floats: Any = planes.astype(np.float32)
        for wrong in (planes[:, :2], planes[:0], floats, planes[..., :4]):
            with pytest.raises(InferenceError, match="the network takes uint8 of shape"):
                oracle.infer(wrong)
    with pytest.raises(InferenceError, match="cannot be used"):
        load_oracle(path, device="cuda:99")


def drawn_model(rng: np.random.Generator) -> tuple[Any, list[NDArray[np.float32]]]:
    """Return a model of two convolutions, with traces like those of torch; and its weights."""
    from onnx import TensorProto, helper, numpy_helper

    shapes = ((3, PLANES, 3, 3), (3,), (1, 3, 1, 1), (1,))
    tensors = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    names = ("w1", "b1", "w2", "b2")
    nodes = [
        helper.make_node("Cast", [INPUT], ["x"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Conv", ["x", "w1", "b1"], ["y"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["y"], ["z"], name="relu"),
        helper.make_node("Conv", ["z", "w2", "b2"], ["out"], name="last", doc_string="/here"),
    ]
    graph = helper.make_graph(
        nodes,
        "drawn",
        [helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["n", PLANES, SIZE, SIZE])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 1, SIZE, SIZE])],
        [numpy_helper.from_array(*pair) for pair in zip(tensors, names, strict=True)],
        doc_string="/here",
        value_info=[helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    graph.node[0].metadata_props.add(key="trace", value="/here")
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), tensors


def test_int8_keeps_mean_outputs_and_the_last_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    model, tensors = drawn_model(np.random.default_rng(1))
    w1, b1, w2, b2 = map(torch.from_numpy, tensors)
    games = [random_planes(count, seed=count) for count in (100, 30)]
    inner = torch.conv2d(torch.from_numpy(np.concatenate(games)).float(), w1, b1, padding=1)
    right = {"y": inner, "out": torch.conv2d(inner.relu(), w2, b2)}

    def errors(model: Any) -> list[float]:
        means = onnx_export._mean_outputs(model, list(right), games)
        return [float(np.abs(means[n] - t.mean((0, 2, 3)).numpy()).max()) for n, t in right.items()]

    assert max(errors(model)) < 1e-6
    quantised = onnx_export._quantized(model, games)
    inputs = [[*node.input][1:] for node in quantised.graph.node if node.op_type == "Conv"]
    assert inputs == [["w1_DequantizeLinear_Output", "b1"], ["w2", "b2"]]
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in quantised.graph.initializer}
    assert arrays["w1_quantized"].dtype == np.int8
    assert np.abs(arrays["w1_quantized"]).max() <= 64  # seven bits
    assert arrays["w1_scale"].shape == (3,)
    assert 0 < errors(quantised)[0] < 1e-4
    monkeypatch.setattr(onnx_export, "_correct_biases", lambda *_models: None)
    assert errors(onnx_export._quantized(model, games))[0] > 5e-4
    with pytest.raises(WeightsError, match=r"^the network cannot be quantised: .*; use fp32$"):
        onnx_export._quantized(model, [])


def test_a_model_has_its_header_and_no_traces(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx = pytest.importorskip("onnx")
    weights, (model, _tensors) = load_weights(path), drawn_model(np.random.default_rng(1))
    onnx_export._strip(model.graph)
    assert not list(model.graph.value_info)
    assert b"here" not in model.SerializeToString()
    asked: list[tuple[int, int]] = []

    def games(_weights: Any, _encoder: Any, positions: int, *, seed: int) -> NDArray[np.uint8]:
        asked.append((positions, seed))
        return random_planes(positions, seed=seed)

    monkeypatch.setattr(onnx_export, "_traced", lambda _weights, _encoder: model)
    monkeypatch.setattr(onnx_export, "own_games", games)
    names: list[Literal["fp32", "int8"]] = ["fp32", "int8"]
    for precision in names:
        target = tmp_path / "new" / f"{precision}.onnx"
        header = export_onnx(weights, target, precision=precision, positions=70, seed=5)
        assert header == weights.header
        written = {p.key: p.value for p in onnx.load(target).metadata_props}
        assert written == {WeightsHeader.KEY: header.to_json(), PRECISION_KEY: precision}
    assert asked == [(70, 5)]


def test_a_network_s_own_games_are_legal_and_begin_again(path: Path) -> None:
    weights, encoder = load_weights(path), load_encoder("zero", SIZE, {"history": HISTORY})
    planes = onnx_export.own_games(weights, encoder, 33, seed=1)
    assert planes.shape == (64, PLANES, SIZE, SIZE)
    assert not planes[:32, :2].any()
    assert planes[32:, :2].any((1, 2, 3)).sum() > 24  # the others passed
    chances = onnx_export._chances(weights, encoder, planes)
    policy = own_answers(path, planes).policy
    assert policy is not None
    powers = np.exp(policy.astype(np.float64))
    np.testing.assert_allclose(chances, powers / powers.sum(1, keepdims=True), atol=1e-6)
    header = weights.header.model_copy(update={"outputs": ("value",)})
    evenly = replace(weights, header=header)
    assert (onnx_export._chances(evenly, encoder, planes) == 1 / 26).all()
    planes = onnx_export.own_games(evenly, encoder, 40 * 32, seed=1)
    stones = planes[:, :2].sum((1, 2, 3)).reshape(40, 32)
    assert stones.sum(1)[:6].tolist() == [0, 29, 60, 91, 121, 149]
    assert (stones == 0).sum(1)[-4:].tolist() == [3, 0, 17, 0]  # after 37 moves in most games


class Told(NetworkOracle):
    """Answers, or fails with, what it is told."""

    def __init__(self, *told: Answers | Exception) -> None:
        header = small_header().model_copy(update={"outputs": ("policy", "value")})
        super().__init__(header, load_encoder("zero", SIZE, {"history": HISTORY}), where="net")
        self._told = iter(told)

    def _run(self, batch: NDArray[np.uint8]) -> Answers:
        told = next(self._told)
        if isinstance(told, Exception):
            raise told
        return told


def numbered(count: int, moves: int = 26) -> Answers:
    policy = np.full((count, moves), count, np.float32)
    return Answers(policy=policy, value=np.arange(count, dtype=np.float32))


def test_batches_are_joined_and_what_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planes = random_planes(5, seed=1)
    monkeypatch.setattr(oracles, "MAX_BATCH", 2)
    oracle = Told(numbered(2), numbered(2), numbered(1))
    found = {name: array.tolist() for name, array in oracle.infer(planes).arrays().items()}
    assert found == {"policy": [[n] * 26 for n in (2, 2, 2, 2, 1)], "value": [0, 1, 0, 1, 0]}
    assert oracle.statistics() == {"positions": 5, "batches": 3, "mean_batch": 5 / 3}
    nan = numbered(2)._replace(value=np.array([0, np.nan], np.float32))
    wrong: dict[str, Answers | Exception] = {
        "net: failed on 2 positions: ValueError": ValueError(),
        "net: failed on 2 positions: so": ValueError("so\nand so"),
        "net: its value is not finite; the weights are damaged: train them again, or go back to an "
        "earlier checkpoint": nan,
        "net: its policy for 2 positions on 5x5 has shape (2, 25), not (2, 26): use another file, "
        "or export it again": numbered(2, 25),
        "net: its value for 2 positions on 5x5 has shape None, not (2,): use another file, or "
        "export it again": numbered(2)._replace(value=None),
    }
    for message, told in wrong.items():
        with pytest.raises(InferenceError, match=f"^{re.escape(message)}$"):
            Told(told).infer(planes[:2])


# -- networks: heads, norms that are folded, pooling, plugins --------------------------------------


SHAPE = NetworkShape(SIZE, 4)


def asked(network: nn.Module, planes: Tensor) -> Outputs:
    with torch.no_grad():
        answers: Outputs = network(planes)
    return answers


def doubles(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 4, SIZE, SIZE, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_answers_what_its_heads_say(name: str) -> None:
    network = small_network(small_header(name))
    answers = asked(network, doubles(3, 0).float())
    shapes = {n: tuple(t.shape) for n, t in answers._asdict().items() if t is not None}
    more = {"ownership": (3, SIZE, SIZE), "score": (3,)} if name == "tower" else {}
    assert shapes == {"policy": (3, SIZE * SIZE + 1), "value": (3,), **more}
    assert answers.value is not None
    assert answers.value.abs().max() <= 1


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ({"height": 1, "width": 4, "value": "none"}, ("policy",)),
        ({"height": 1, "width": 4, "policy": "none", "value": "pooled"}, ("value",)),
        ({"height": 0, "width": 4, "score": True}, None),
    ],
)
def test_heads_are_disabled_and_replaced(off: dict[str, Any], left: tuple[str, ...] | None) -> None:
    network = build_network("tower", SHAPE, off)
    assert outputs_of(network, SHAPE) == (left or ("policy", "value", "score"))
    assert network.training, "asking for outputs leaves the network in training"


@pytest.mark.parametrize("name", NETWORKS)
def test_folded_norms_change_nothing(name: str) -> None:
    network = small_network(small_header(name)).double()
    planes = doubles(8, 1)
    with torch.no_grad():
        plain, fast = asked(network, planes), asked(folded(network), planes)
    for before, after in zip(plain, fast, strict=True):
        if before is not None:
            assert after is not None
            assert before.std() > 1e-3, "a constant answer would show nothing"
            assert torch.allclose(before, after, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_folded_network_is_made_of_ordinary_layers(name: str) -> None:
    network = folded(small_network(small_header(name)))
    owners = [m for m in network.modules() if list(m.parameters(recurse=False))]
    assert {type(m) for m in owners} == {nn.Conv2d, nn.Linear}


def test_weights_are_drawn_by_the_seed_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = build_network("tower", SHAPE, NETWORKS["tower"], seed=1)
    assert torch.equal(torch.rand(3), expected), "torch's own generator was touched"
    same = build_network("tower", SHAPE, NETWORKS["tower"], seed=1)
    other = build_network("tower", SHAPE, NETWORKS["tower"], seed=2)
    pairs = list(zip(one.parameters(), same.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b, _ in pairs)
    assert any(not torch.equal(a, c) for a, _, c in pairs)


def test_global_pooling_sees_the_far_corner() -> None:
    shape = NetworkShape(9, 4)
    planes = torch.zeros(1, 4, 9, 9, dtype=torch.float64)
    corner = planes.clone()
    corner[0, 0, 0, 0] = 1

    def effect(pooling: int) -> float:
        values = {"height": 1, "width": 32, "pooling": pooling}
        header = small_header("tower", **values).model_copy(update={"size": 9, "planes": 4})
        network = small_network(header).double()
        assert outputs_of(network, shape) == ("policy", "value")
        for name, parameter in network.named_parameters():
            if ".pool.spread." in name:  # which begin at zero
                torch.nn.init.constant_(parameter, 0.1)
        before, after = asked(network, planes).policy, asked(network, corner).policy
        assert before is not None
        assert after is not None
        return float((before - after)[0, 80].abs())

    assert effect(0) == 0
    assert effect(1) > 1e-6


class Constant(nn.Module):
    """A value head of a plugin."""

    def __init__(self, shape: NetworkShape, channels: int, parameters: Parameters) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.full((1,), 0.25))

    def forward(self, features: Tensor) -> Tensor:
        return self.value.expand(len(features))


def test_a_plugin_brings_a_head() -> None:
    components = registry()
    if "test-constant" not in {c.name for c in components.components("go.value-head")}:
        components.add("go.value-head", "test-constant", Constant, summary="Of a test")
    values = {"height": 1, "width": 4, "value": "test-constant"}
    answers = asked(build_network("tower", SHAPE, values), doubles(2, 0).float())
    assert answers.value is not None
    assert answers.value.tolist() == [0.25, 0.25]


def test_wrong_names_and_parameters_are_reported() -> None:
    with pytest.raises(UnknownComponentError, match="Did you mean 'tower'"):
        build_network("towr", SHAPE, {})
    with pytest.raises(ParameterError, match="widht: unknown parameter"):
        build_network("tower", SHAPE, {"widht": 3})
    with pytest.raises(UnknownComponentError, match=r"go\.value-head"):
        build_network("tower", SHAPE, {"value": "dens"})
