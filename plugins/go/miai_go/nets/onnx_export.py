"""Networks as ONNX files, which ONNX Runtime runs without torch.

The file takes planes from encoders as uint8 and scales them itself; its metadata contain the header
of the weights. For int8 the convolutions are quantized after training: weights per channel,
activations by their range on positions of the network's games against itself (Jacob et al. 2018),
and biases make up for the mean errors of the weights (Nagel et al. 2019). Convolutions with a
single output, the last ones of policy and ownership, stay in fp32: that costs nothing, and in int8
many moves would be rated equal.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from miai.errors import WeightsError
from miai.files import write_bytes, writing
from miai.plugins.extras import extra_needed
from miai_go.kernels.trail import begin_trail, extend_trail
from miai_go.nets.encoder import Encoder, Positions
from miai_go.nets.network import (
    INPUT,
    PRECISION_KEY,
    NetworkWeights,
    Outputs,
    WeightsHeader,
    encoder_of,
    folded,
)

if TYPE_CHECKING:
    from onnx import ModelProto

_CALIBRATION_BATCH = 64


def export_onnx(
    weights: NetworkWeights,
    path: str | Path,
    *,
    precision: Literal["fp32", "int8"] = "fp32",
    positions: int = 1024,
    seed: int = 0,
) -> WeightsHeader:
    """Write a network as an ONNX file, atomically; return the header that it carries.

    The digest in the header is that of the original weights.

    Args:
      precision: int8 makes the file a quarter as long and, on processors with int8 instructions
        (AVX2, or the faster VNNI), several times as fast.
      positions: for int8, the number of positions on which activations are measured.

    Raises `MissingExtraError` without a library of the export, `WeightsError` if it fails.
    """
    model = onnx_model(weights, precision=precision, positions=positions, seed=seed)
    with writing(path, WeightsError):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(Path(path), model.SerializeToString())
    return weights.header


def onnx_model(
    weights: NetworkWeights,
    *,
    precision: Literal["fp32", "int8"] = "fp32",
    positions: int = 1024,
    seed: int = 0,
) -> ModelProto:
    """Return a network as an ONNX model; see `export_onnx`."""
    _require("onnx", "onnxscript")
    sizes = weights.header.sizes
    encoders = [encoder_of(weights.header, where="the weights", size=size) for size in sizes]
    model = _traced(weights, encoders[0])
    if precision == "int8":
        share = -(-positions // len(sizes))
        games = [own_games(weights, encoder, share, seed=seed) for encoder in encoders]
        model = _quantized(model, games)
    entries = {WeightsHeader.KEY: weights.header.to_json(), PRECISION_KEY: precision}
    del model.metadata_props[:]
    for key, text in entries.items():
        model.metadata_props.add(key=key, value=text)
    return model


def _require(*modules: str) -> None:
    for module in modules:
        if find_spec(module) is None:
            raise extra_needed("making ONNX files", module, "miai-go[nn,onnx]")


def _traced(weights: NetworkWeights, encoder: Encoder) -> ModelProto:
    """Return the network as torch exports it, without traces of this machine."""
    network = _Exported(weights.network, encoder.scales).eval()
    sizes = weights.header.sizes
    axes = {0: torch.export.Dim("positions", min=1)}
    if len(sizes) > 1:
        axes |= dict.fromkeys((2, 3), torch.export.Dim("size", min=sizes[0], max=sizes[-1]))
    planes = torch.zeros(2, encoder.planes, sizes[0], sizes[0], dtype=torch.uint8)
    with _quietly():
        program = torch.onnx.export(
            network,
            (planes,),
            dynamo=True,
            input_names=[INPUT],
            output_names=list(weights.header.outputs),
            dynamic_shapes=(axes,),
            verbose=False,
        )
    assert program is not None
    model: ModelProto = program.model_proto
    _strip(model.graph)
    return model


def _strip(graph: Any) -> None:
    """Remove the traces on the nodes, which contain paths of this machine."""
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    del graph.value_info[:]


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence what torch's exporter says about its own deprecations and optional packages."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for category in (FutureWarning, DeprecationWarning, UserWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        logger.setLevel(level)


SizedPlanes: TypeAlias = Sequence[NDArray[np.uint8]]
"""The planes of positions for each size of board, (n, planes, size, size)."""


def _batches(games: SizedPlanes) -> Iterator[NDArray[np.uint8]]:
    step = _CALIBRATION_BATCH
    return (planes[i : i + step] for planes in games for i in range(0, len(planes), step))


def _quantized(model: ModelProto, games: SizedPlanes) -> ModelProto:
    """Return the model with int8 convolutions.

    Args:
      games: the planes on which its activations are measured, for each size of board.
    """
    _require("onnxruntime")
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._batches = _batches(games)

        def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
            batch = next(self._batches, None)
            return None if batch is None else {INPUT: batch}

    with tempfile.TemporaryDirectory(prefix="miai-go-") as folder:
        plain, source, target = (Path(folder) / name for name in ("plain", "source", "target"))
        onnx.save(model, plain)
        try:
            quant_pre_process(plain, source, skip_optimization=True, skip_symbolic_shape=True)
            quantize_static(
                source,
                target,
                Reader(),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                # Without AVX512-VNNI sums of two full products would overflow: with weights of
                # seven bits the answers are the same on every processor.
                reduce_range=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                op_types_to_quantize=["Conv"],
                nodes_to_exclude=_last_convolutions(onnx.load(source)),
            )
            quantised = onnx.load(target)
            _correct_biases(quantised, onnx.load(source), games)
        except Exception as error:  # of many kinds, by ONNX Runtime
            raise WeightsError(
                f"the network cannot be quantised: {type(error).__name__}: {error}; use fp32"
            ) from error
        return quantised


def _correct_biases(quantised: ModelProto, plain: ModelProto, games: SizedPlanes) -> None:
    """Change the biases of a quantised model so that convolutions have the right mean outputs.

    One after the other, each beside the corrected ones before it. Rounding the weights shifts
    their outputs, as few inputs have a mean of 0 (Nagel et al. 2019, "Data-free quantization
    through weight equalization and bias correction", section 4.2).
    """
    from onnx import numpy_helper

    makers = {output: node for node in quantised.graph.node for output in node.output}
    constants = {tensor.name: tensor for tensor in quantised.graph.initializer}
    convolutions = [node for node in plain.graph.node if node.op_type == "Conv"]
    right = _mean_outputs(plain, [node.output[0] for node in convolutions], games)
    for node in convolutions:
        name = node.output[0]
        bias = makers.get(makers[name].input[2]) if len(makers[name].input) > 2 else None
        if bias is None:
            continue  # without a bias, or in fp32
        values, scales = constants[bias.input[0]], numpy_helper.to_array(constants[bias.input[1]])
        missing = right[name] - _mean_outputs(quantised, [name], games)[name]
        corrected = numpy_helper.to_array(values) + np.rint(missing / scales).astype(np.int32)
        values.CopyFrom(numpy_helper.from_array(corrected.astype(np.int32), values.name))


def _mean_outputs(
    model: ModelProto, names: Sequence[str], games: SizedPlanes
) -> dict[str, NDArray[np.float64]]:
    """Return the means of inner outputs, by channel, over all positions and points."""
    import onnxruntime
    from onnx import ModelProto, helper

    open_model = ModelProto.FromString(model.SerializeToString())
    open_model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(
        open_model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    sums = dict.fromkeys(names, np.zeros(()))
    for batch in _batches(games):
        for name, output in zip(names, session.run(names, {INPUT: batch}), strict=True):
            sums[name] = sums[name] + output.mean(axis=(2, 3), dtype=np.float64).sum(axis=0)
    return {name: total / sum(map(len, games)) for name, total in sums.items()}


def _last_convolutions(model: ModelProto) -> list[str]:
    """Return the names of the convolutions with a single output channel."""
    outputs = {tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims}
    nodes = [node for node in model.graph.node if node.op_type == "Conv"]
    return [node.name for node in nodes if outputs.get(node.input[1]) == 1]


class _Exported(nn.Module):
    """A folded network that scales the planes of its encoder itself."""

    scales: Tensor

    def __init__(self, network: nn.Module, scales: NDArray[np.float32]) -> None:
        super().__init__()
        self.network = folded(network).cpu()
        self.register_buffer("scales", torch.from_numpy(scales).view(1, -1, 1, 1))

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        """Return the answers that are not None for uint8 planes (n, planes, size, size)."""
        outputs: Outputs = self.network(planes.to(torch.float32) * self.scales)
        return tuple(output for output in outputs if output is not None)


_GAMES = 32
_TRIES = 20


def own_games(
    weights: NetworkWeights, encoder: Encoder, positions: int, *, seed: int
) -> NDArray[np.uint8]:
    """Return planes of positions of games in which moves are drawn from the network's policy.

    Komi is drawn from the range in the header. Without a policy head all moves are equally likely.
    A game restarts after 1.5 moves per point of the board, or when no legal move was drawn, which
    is rare before its end. The number of positions is rounded up to whole plies of the games played
    at once.
    """
    rng = np.random.default_rng(seed)
    size = encoder.size
    games = Positions.room(size, _GAMES)
    low, high = (round(2 * komi) for komi in weights.header.komi)
    empty = games.words.copy()

    def begin(row: int) -> None:
        games.words[row] = empty[row]
        half_komi = rng.integers(low, high, endpoint=True)
        begin_trail(games.words[row], games.trails[row], np.int64(1), half_komi)

    for row in range(_GAMES):
        begin(row)
    batches: list[NDArray[np.uint8]] = []
    while len(batches) * _GAMES < positions:
        planes = encoder.encode(games)
        batches.append(planes.copy())
        chances = _chances(weights, encoder, planes)
        for row in range(_GAMES):
            over = games.plies()[row] >= size**2 * 3 // 2
            if over or not _play(games, row, chances[row], rng):
                begin(row)
    return np.concatenate(batches)


def _chances(
    weights: NetworkWeights, encoder: Encoder, planes: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Return the probabilities of the moves."""
    actions = encoder.size**2 + 1
    if "policy" not in weights.header.outputs:
        return np.full((len(planes), actions), 1 / actions)
    inputs = torch.from_numpy(planes * encoder.scales[None, :, None, None])
    device = next(weights.network.parameters()).device
    with torch.inference_mode():
        policy = weights.network.eval()(inputs.to(device)).policy
        chances: NDArray[np.float64] = torch.softmax(policy.double(), 1).cpu().numpy()
    chances /= chances.sum(1, keepdims=True)
    return chances


def _play(
    games: Positions, row: int, chances: NDArray[np.float64], rng: np.random.Generator
) -> bool:
    """Play a drawn move in one game; return whether a legal one was drawn."""
    for _ in range(_TRIES):
        action = np.array([rng.choice(len(chances), p=chances)], np.int16)
        if extend_trail(games.words[row], games.trails[row], action, False) == 1:
            return True
    return False
