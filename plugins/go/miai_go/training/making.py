"""Networks, encoders and headers as training configs name them."""

from __future__ import annotations

import datetime
from pathlib import Path

import torch
from torch import nn

from miai.plugins.loader import registry
from miai_go.encoders import load_encoder
from miai_go.encoders.protocol import Encoder
from miai_go.errors import TrainingError
from miai_go.networks.building import build_network, filled_parameters, outputs_of
from miai_go.networks.header import TrainingRecord, WeightsHeader
from miai_go.networks.protocol import NetworkShape
from miai_go.networks.weights import load_weights, save_weights
from miai_go.shipped import find_weights
from miai_go.training.learner import Learner
from miai_go.training.sections import EncoderSection, NetworkSection, RunSection


def make_network(
    size: int, encoder: EncoderSection, network: NetworkSection, *, seed: int
) -> tuple[nn.Module, Encoder, WeightsHeader]:
    """Return a network, what feeds it, and the header of its weights so far.

    Raises:
      MiaiError: a name or parameter is wrong, or the weights to start from do not fit.
    """
    feeder = load_encoder(encoder.name, size, encoder.parameters)
    if network.start:
        loaded = load_weights(find_weights(network.start, default=""), size=size)
        _check_start(loaded.header, encoder, network)
        return loaded.network, feeder, loaded.header
    shape = NetworkShape(size, feeder.planes)
    header = WeightsHeader(
        network=network.name,
        network_parameters=network.parameters,
        encoder=encoder.name,
        encoder_parameters=encoder.parameters,
        size=size,
        planes=feeder.planes,
        komi=(0.0, 0.0),
        history=(),
        licence="",
        sha256="",
    )
    built = build_network(network.name, shape, network.parameters, seed=seed)
    return built, feeder, header.model_copy(update={"outputs": outputs_of(built, shape)})


def _check_start(header: WeightsHeader, encoder: EncoderSection, network: NetworkSection) -> None:
    """Raise `TrainingError` where weights to start from are not what the config names."""
    if (header.network, header.encoder) != (network.name, encoder.name):
        raise TrainingError(
            f"network.start: weights of '{header.network}' fed by '{header.encoder}', but the "
            f"config names '{network.name}' and '{encoder.name}'"
        )
    fed, wanted = (
        registry().get("go.encoder", encoder.name).fill(values).model_dump(mode="json")
        for values in (header.encoder_parameters, encoder.parameters)
    )
    if fed != wanted:
        raise TrainingError(
            f"network.start: weights fed by '{encoder.name}' with {fed}, but encoder.parameters "
            f"make that {wanted}; give those they were trained with"
        )
    given = filled_parameters(network.name, network.parameters)
    for name in network.parameters:
        if given[name] != header.network_parameters[name]:
            raise TrainingError(
                f"network.start: weights of '{network.name}' with {name} "
                f"{header.network_parameters[name]!r}, but network.parameters say {given[name]!r}; "
                "leave it out"
            )


def grown(
    header: WeightsHeader,
    *,
    command: str,
    digest: str,
    data: str,
    run: RunSection,
    steps: int,
    komi: tuple[float, float],
) -> WeightsHeader:
    """Return a header with one more entry of history."""
    record = TrainingRecord(
        command=command,
        config=digest,
        data=data,
        steps=steps,
        seed=run.seed,
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    )
    return header.model_copy(
        update={
            "history": (*header.history, record),
            "komi": komi,
            "licence": run.licence or header.licence,
        }
    )


def save_learnt(path: Path, learner: Learner, header: WeightsHeader) -> None:
    """Write the weights that a learner keeps. Raises `WeightsError`."""
    before = learner.use_averaged()
    try:
        save_weights(path, learner.network, header)
    finally:
        learner.restore(before)


def prepare_torch(run: RunSection) -> None:
    """Set torch's threads and make it deterministic.

    Raises:
      TrainingError: the device is not there.
    """
    if run.threads:
        torch.set_num_threads(run.threads)
    device = torch.device(run.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrainingError(f"run.device = '{run.device}': torch finds no such device; use 'cpu'")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(run.seed)
