"""Networks, encoders and weights headers of a training run; copies of its network that play."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from miai.plugins.loader import registry
from miai.process.processors import available_processors
from miai.tensors import TrainingRecord
from miai_go.errors import TrainingError
from miai_go.learning.training.learner import Learner
from miai_go.learning.training.sections import EncoderSection, NetworkSection, TrainingRunSection
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.nets.network import NetworkShape, Outputs, build_network, filled_parameters, outputs_of
from miai_go.nets.oracle import first_line
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.nets.weights import NetworkWeights, WeightsHeader, load_weights, save_weights
from miai_go.rules.sizes import board_names, plain_sizes, sizes_of
from miai_go.shipped import find_weights

Encoders = Mapping[int, Encoder]
"""An encoder for each size of board, with the same planes and scales."""


def make_network(
    size: int | Sequence[int], encoder: EncoderSection, network: NetworkSection, *, seed: int
) -> tuple[nn.Module, Encoders, WeightsHeader]:
    """Return a network for boards of one size or several, its encoders and its weights' header.

    A network that starts from weights may be larger than theirs: with more blocks or pooling, which
    begin without effect, and with other heads, initialised by `seed`. It may also be for other
    sizes of board, if it depends on none. Parameters of encoder and network that the config does
    not name are theirs.

    Raises:
      MiaiError: a name or parameter is wrong, the network cannot learn these sizes, or the weights
        to start from do not fit.
    """
    sizes = sizes_of(size)
    encoder = encoder_with_start(encoder, network)
    encoders = _encoders(sizes, encoder)
    loaded_encoder = encoders[sizes[0]]
    if network.start:
        start = _load_start(sizes, loaded_encoder, encoder, network, seed=seed)
        return start.network, encoders, start.header
    shape = NetworkShape(sizes[0], loaded_encoder.planes)
    _check_sizes(network.name, network.parameters, shape.planes, sizes)
    header = WeightsHeader(
        network=network.name,
        network_parameters=network.parameters,
        encoder=encoder.name,
        encoder_parameters=encoder.parameters,
        size=plain_sizes(sizes),
        planes=loaded_encoder.planes,
        komi=(0.0, 0.0),
        history=(),
        licence="",
        sha256="",
    )
    built = build_network(network.name, shape, network.parameters, seed=seed)
    return built, encoders, header.model_copy(update={"outputs": outputs_of(built, shape)})


def encoder_with_start(encoder: EncoderSection, network: NetworkSection) -> EncoderSection:
    """Return the encoder of a config, with parameters that only the weights to start from name.

    Raises `WeightsError` if these cannot be read.
    """
    if not network.start:
        return encoder
    header = WeightsHeader.read(find_weights(network.start))
    before = header.encoder_parameters if header.encoder == encoder.name else {}
    return EncoderSection(name=encoder.name, parameters={**before, **encoder.parameters})


def _encoders(sizes: Sequence[int], encoder: EncoderSection) -> Encoders:
    """Return the encoder of a config for each size. Raises `TrainingError` if they differ."""
    encoders = {size: load_encoder(encoder.name, size, encoder.parameters) for size in sizes}
    first = encoders[sizes[0]]
    for other in encoders.values():
        if other.planes != first.planes or not np.array_equal(other.scales, first.scales):
            raise TrainingError(
                f"encoder: '{encoder.name}' has other planes on {board_names(other.size)} than on "
                f"{board_names(first.size)}, so one network cannot learn both; choose another, or "
                "one size"
            )
    return encoders


def scales_of(encoders: Encoders) -> NDArray[np.float32]:
    """Return the factor of each plane, float32 of shape (planes,)."""
    return next(iter(encoders.values())).scales


def _check_sizes(
    name: str,
    values: Mapping[str, Any],
    planes: int,
    sizes: Sequence[int],
    *,
    where: str = "network",
) -> None:
    """Raise `TrainingError` unless one network serves boards of all sizes.

    Networks made for the smallest and the largest board must have tensors of the same shapes, and
    with the same weights give the same answers.
    """
    if len(sizes) == 1:
        return
    shapes = [NetworkShape(size, planes) for size in (sizes[0], sizes[-1])]
    with torch.device("meta"):
        small, large = (build_network(name, shape, values).state_dict() for shape in shapes)
    names = sorted(small.keys() | large.keys())
    sized = [
        n for n in names if getattr(small.get(n), "shape", ()) != getattr(large.get(n), "shape", ())
    ]
    if sized:
        reason = f"of its {' and '.join(dict.fromkeys(n.partition('.')[0] for n in sized))}"
    else:
        reason = _difference(name, shapes, values)
    if reason:
        raise TrainingError(
            f"{where}: '{name}' cannot learn {board_names(sizes)} together because {reason}; use a "
            "tower with policy = 'convolution', value = 'pooled' and margins = false, or one size "
            "of board"
        )


def _difference(name: str, shapes: Sequence[NetworkShape], values: Mapping[str, Any]) -> str:
    """Return why networks made for two sizes answer differently on the larger board, or ''.

    Their weights are random: a new network's layers of zeros hide what comes before them.
    """
    size = shapes[-1].size
    generator = torch.Generator().manual_seed(size)
    planes = torch.rand(1, shapes[-1].planes, size, size, generator=generator)
    networks = [build_network(name, shape, values).eval() for shape in shapes]
    weights = _random_weights(networks[0], generator)
    answers: list[Outputs] = []
    with torch.inference_mode():
        for shape, network in zip(shapes, networks, strict=True):
            try:
                network.load_state_dict(weights)
                answers.append(network(planes))
            except Exception as error:  # of any kind, by a plugin's network
                return (
                    f"one made for {board_names(shape.size)} fails on {size}x{size} "
                    f"({first_line(error)})"
                )
    alike = all(
        one is other or (one is not None and other is not None and torch.equal(one, other))
        for one, other in zip(*answers, strict=True)
    )
    return "" if alike else "its answers depend on the size that it was made for"


def _random_weights(network: nn.Module, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Return weights for a network, none of them zero, that keep its answers moderate.

    Biases and the weights of norms are positive, so that few features are cut off.
    """
    weights = dict(network.state_dict())
    for name, tensor in network.named_parameters():
        if tensor.dim() > 1:
            drawn = torch.randn(tensor.shape, generator=generator)
            weights[name] = drawn / max(tensor[0].numel(), 1) ** 0.5
        else:
            weights[name] = torch.rand(tensor.shape, generator=generator)
    return weights


def _load_start(
    sizes: Sequence[int],
    loaded_encoder: Encoder,
    encoder: EncoderSection,
    network: NetworkSection,
    *,
    seed: int,
) -> NetworkWeights:
    """Return the weights to start from, with the heads that the config adds."""
    loaded = load_weights(find_weights(network.start))
    header = loaded.header
    if header.network != network.name:
        raise TrainingError(
            f"network.start: weights for '{header.network}', but the config names '{network.name}'"
        )
    check_encoder(header, encoder, loaded_encoder, where="network.start")
    values = {**header.network_parameters, **network.parameters}
    filled = filled_parameters(network.name, values)
    all_sizes = sizes_of({*header.sizes, *sizes})
    _check_sizes(network.name, filled, header.planes, all_sizes, where="network.start")
    header = header.model_copy(update={"size": plain_sizes(sizes)})
    if filled == header.network_parameters:
        return NetworkWeights(loaded.network, header)
    if network.norms == "fixed":
        raise TrainingError(
            "network.norms: fixed norms have the statistics of network.start, so it needs all "
            "blocks and heads of the network; train with norms = 'batch' first"
        )
    _check_growth(header, filled)
    shape = header.shape
    built = build_network(network.name, shape, filled, seed=seed)
    before = header.network_parameters
    renewed = {
        head for head in Outputs._fields if _settings(filled, head) != _settings(before, head)
    }
    _copy_weights(loaded.network, built, renewed=renewed)
    grown_header = header.model_copy(
        update={"network_parameters": filled, "outputs": outputs_of(built, shape)}
    )
    return NetworkWeights(built, grown_header)


def _check_growth(header: WeightsHeader, filled: Mapping[str, Any]) -> None:
    """Raise `TrainingError` for other differences than in height, pooling and heads."""
    heads = Outputs._fields
    free = {"height", "pooling", *heads, *(f"{head}_parameters" for head in heads)}
    for name in sorted(filled.keys() - free):
        before = header.network_parameters.get(name)
        if filled[name] != before:
            raise TrainingError(
                f"network.start: weights of '{header.network}' with {name} {before!r}, but "
                f"network.parameters say {filled[name]!r}; only height, pooling and heads may "
                "differ"
            )


def _settings(parameters: Mapping[str, Any], head: str) -> tuple[Any, Any]:
    """Return what the parameters of a network say about a head."""
    return parameters.get(head), parameters.get(f"{head}_parameters")


def _copy_weights(start: nn.Module, built: nn.Module, *, renewed: Set[str]) -> None:
    """Copy all weights but those of the renewed heads into a network that may be larger.

    Raises:
      TrainingError: weights do not fit, as the network is smaller.
    """
    weights = {
        name: tensor
        for name, tensor in start.state_dict().items()
        if name.partition(".")[0] not in renewed
    }
    places = built.state_dict()
    for name, tensor in weights.items():
        if name not in places or places[name].shape != tensor.shape:
            wanted = tuple(places[name].shape) if name in places else "no such weights"
            raise TrainingError(
                f"network.start: has '{name}' of shape {tuple(tensor.shape)}, but the network of "
                f"the config has {wanted}; it may have more blocks and pooling, not fewer"
            )
    built.load_state_dict(weights, strict=False)


def check_encoder(
    header: WeightsHeader, encoder: EncoderSection, loaded: Encoder, *, where: str
) -> None:
    """Raise `TrainingError` if weights were trained with another encoder than the config's.

    Args:
      loaded: the encoder of the config.
      where: the setting that names the weights.
    """
    if header.encoder != encoder.name:
        raise TrainingError(
            f"{where}: weights for the encoder '{header.encoder}', but the config names "
            f"'{encoder.name}'"
        )
    actual, expected = (
        registry().get("go.encoder", encoder.name).fill(values).model_dump(mode="json")
        for values in (header.encoder_parameters, encoder.parameters)
    )
    if actual != expected:
        raise TrainingError(
            f"{where}: weights trained with '{encoder.name}' {actual}, but encoder.parameters are "
            f"{expected}; choose other weights, or set encoder.parameters to theirs"
        )
    if header.planes != loaded.planes:
        raise TrainingError(
            f"{where}: weights for {header.planes} planes, but the encoder '{encoder.name}' has "
            f"{loaded.planes}; they were made with another version of it"
        )


def trained_header(
    header: WeightsHeader,
    record: TrainingRecord,
    *,
    komi: tuple[float, float],
    licence: str,
) -> WeightsHeader:
    """Return a header with one more entry of history."""
    return header.model_copy(
        update={
            "history": (*header.history, record),
            "komi": komi,
            "licence": licence or header.licence,
        }
    )


def save_learnt(path: Path, learner: Learner, header: WeightsHeader) -> None:
    """Write the learner's averaged weights. Raises `WeightsError`."""
    with learner.averaged_weights():
        save_weights(path, learner.network, header)


def prepare_torch(run: TrainingRunSection) -> None:
    """Set torch's threads and seed, and on processors deterministic algorithms.

    Raises:
      TrainingError: the device is unavailable.
    """
    if run.threads:
        torch.set_num_threads(run.threads)
    device = _known_device(run.device)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    else:
        torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(run.seed)


def _known_device(name: str) -> torch.device:
    """Return a device by its name. Raises `TrainingError` if torch does not find it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise TrainingError(
            f"run.device = '{name[:40]}': no device of torch; use 'cpu', 'cuda' or 'cuda:1'"
        ) from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise TrainingError(f"run.device = '{name}': torch finds no such device; use 'cpu'")
    return device


def playing_copy(
    learner: Learner, header: WeightsHeader, encoder: Encoder, run: TrainingRunSection
) -> TorchOracle:
    """Return a network with the learner's averaged weights, ready to play.

    It leaves torch with one thread; `learning_threads` restores the run's.
    """
    with learner.averaged_weights():
        return TorchOracle(
            NetworkWeights(learner.network, header),
            encoder,
            precision=run.precision,
            threads=1,
            device=run.device,
        )


def playing_model(learner: Learner, header: WeightsHeader) -> bytes:
    """Return a network with the learner's averaged weights, for ONNX Runtime, in int8."""
    from miai_go.nets.onnx_export import onnx_model

    with learner.averaged_weights():
        weights = NetworkWeights(copy.deepcopy(learner.network).cpu().eval(), header)
    model: bytes = onnx_model(weights, precision="int8").SerializeToString()
    return model


def learning_threads(run: TrainingRunSection) -> None:
    """Give torch the threads of the run."""
    torch.set_num_threads(run.threads or available_processors())
