"""Networks, encoders and weights headers of a training run; copies of its network that play."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import torch
from torch import nn

from miai.plugins.loader import registry
from miai.tensors import TrainingRecord
from miai_go.errors import TrainingError
from miai_go.learning.learner import Learner
from miai_go.learning.sections import EncoderSection, NetworkSection, TrainingRunSection
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.nets.network import NetworkShape, build_network, filled_parameters, outputs_of
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.nets.weights import NetworkWeights, WeightsHeader, load_weights, save_weights
from miai_go.shipped import find_weights


def make_network(
    size: int, encoder: EncoderSection, network: NetworkSection, *, seed: int
) -> tuple[nn.Module, Encoder, WeightsHeader]:
    """Return a network, its encoder and the header of its weights.

    Heads for ownership and score that the weights to start from lack are initialised by `seed`.

    Raises:
      MiaiError: a name or parameter is wrong, or the weights to start from do not fit.
    """
    loaded_encoder = load_encoder(encoder.name, size, encoder.parameters)
    if network.start:
        start = _load_start(size, encoder, network, seed=seed)
        return start.network, loaded_encoder, start.header
    shape = NetworkShape(size, loaded_encoder.planes)
    header = WeightsHeader(
        network=network.name,
        network_parameters=network.parameters,
        encoder=encoder.name,
        encoder_parameters=encoder.parameters,
        size=size,
        planes=loaded_encoder.planes,
        komi=(0.0, 0.0),
        history=(),
        licence="",
        sha256="",
    )
    built = build_network(network.name, shape, network.parameters, seed=seed)
    return built, loaded_encoder, header.model_copy(update={"outputs": outputs_of(built, shape)})


def _load_start(
    size: int, encoder: EncoderSection, network: NetworkSection, *, seed: int
) -> NetworkWeights:
    """Return the weights to start from, with the heads that the config adds."""
    loaded = load_weights(find_weights(network.start, default=""), size=size)
    header = loaded.header
    _check_encoder(header, encoder, network)
    added = _added_heads(header, network)
    if not added:
        return loaded
    values = {**header.network_parameters, **dict.fromkeys(added, True)}
    shape = NetworkShape(size, header.planes)
    built = build_network(network.name, shape, values, seed=seed)
    missing, unknown = built.load_state_dict(loaded.network.state_dict(), strict=False)
    extra = [n for n in (*missing, *unknown) if n.partition(".")[0] not in added]
    if extra:
        raise TrainingError(
            f"network.start: '{network.name}' with {' and '.join(added)} has other weights than "
            f"without ({extra[0]}); leave it out of network.parameters"
        )
    grown_header = header.model_copy(
        update={"network_parameters": values, "outputs": outputs_of(built, shape)}
    )
    return NetworkWeights(built, grown_header)


def _check_encoder(header: WeightsHeader, encoder: EncoderSection, network: NetworkSection) -> None:
    """Raise `TrainingError` if the weights have another network or encoder than the config."""
    if (header.network, header.encoder) != (network.name, encoder.name):
        raise TrainingError(
            f"network.start: weights for '{header.network}' and '{header.encoder}', but the "
            f"config names '{network.name}' and '{encoder.name}'"
        )
    actual, expected = (
        registry().get("go.encoder", encoder.name).fill(values).model_dump(mode="json")
        for values in (header.encoder_parameters, encoder.parameters)
    )
    if actual != expected:
        raise TrainingError(
            f"network.start: weights trained with '{encoder.name}' {actual}, but "
            f"encoder.parameters are {expected}; use those of the training"
        )


def _added_heads(header: WeightsHeader, network: NetworkSection) -> list[str]:
    """Return the heads that the config adds; raise `TrainingError` for any other difference."""
    filled = filled_parameters(network.name, network.parameters)
    added = []
    for name in network.parameters:
        before = header.network_parameters[name]
        if name in {"ownership", "score"} and filled[name] is True and before is False:
            added.append(name)
        elif filled[name] != before:
            raise TrainingError(
                f"network.start: weights of '{network.name}' with {name} {before!r}, but "
                f"network.parameters say {filled[name]!r}; remove it"
            )
    return added


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
    """Set torch's threads, seed and deterministic algorithms.

    Raises:
      TrainingError: the device is unavailable.
    """
    if run.threads:
        torch.set_num_threads(run.threads)
    device = torch.device(run.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrainingError(f"run.device = '{run.device}': torch finds no such device; use 'cpu'")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(run.seed)


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
    torch.set_num_threads(run.threads or default_threads())


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
