"""Oracles from files: which library runs a network, in which numbers, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from miai.errors import PluginError
from miai_go.encoders import load_encoder
from miai_go.encoders.protocol import Encoder
from miai_go.errors import InferenceError, WeightsError, require_torch
from miai_go.inference.ensemble import Ensemble
from miai_go.inference.precision import Precision, torch_precision
from miai_go.inference.protocol import Oracle
from miai_go.networks.header import WeightsHeader
from miai_go.networks.weights import load_weights

Backend = Literal["auto", "torch", "onnx"]
Symmetry = Literal["none", "average", "random"]


def load_oracle(
    path: str | Path,
    *,
    backend: Backend = "auto",
    precision: Precision = "auto",
    threads: int = 1,
    symmetry: Symmetry = "none",
    fixed_batch: int | None = None,
    device: str = "cpu",
    seed: int = 0,
) -> Oracle:
    """Return the network of a weights file, ready to answer.

    Args:
      path: a weights file, or an ``.onnx`` file that `export_onnx` wrote, which needs no torch.
      backend: ``torch`` or ``onnx`` (ONNX Runtime); ``auto`` takes ONNX Runtime for ``.onnx``
        files and for int8, else torch.
      precision: ``fp32``, ``bf16``, ``int8`` or ``auto``; see `miai_go.inference.precision`. For
        int8 a weights file is quantised as it is loaded, which takes seconds: an exported file
        or the inference server saves that.
      threads: of the library that runs it.
      symmetry: ``average`` over the eight symmetric copies of a position, or one ``random`` copy;
        see `Ensemble`.
      fixed_batch: fill every batch up to so many positions, so that an answer does not depend on
        what else is asked with it.
      device: torch's name of it; ONNX Runtime runs on the CPU.
      seed: of the random copies.

    Raises:
      WeightsError: the file cannot be read or is not what it says.
      MissingExtraError: what runs it is not installed.
      InferenceError: it cannot be run so.
    """
    runner = open_network(
        path,
        backend=backend,
        precision=precision,
        threads=threads,
        fixed_batch=fixed_batch,
        device=device,
    )
    return runner if symmetry == "none" else Ensemble(runner, symmetry, seed=seed)


@runtime_checkable
class Runner(Oracle, Protocol):
    """An oracle that runs a network itself.

    Attributes:
      header: what the network is.
    """

    header: WeightsHeader


def open_network(
    path: str | Path,
    *,
    backend: Backend = "auto",
    precision: Precision = "auto",
    threads: int = 1,
    fixed_batch: int | None = None,
    device: str = "cpu",
) -> Runner:
    """Return what runs the network of a weights file; see `load_oracle`."""
    path = Path(path)
    if fixed_batch is not None and fixed_batch < 1:
        raise InferenceError(f"fixed_batch is {fixed_batch}; give 1 or more, or none")
    if path.suffix == ".onnx" or backend == "onnx" or precision == "int8":
        if backend == "torch" or device != "cpu":
            raise InferenceError(
                f"{path}: ONNX Runtime runs it, on the CPU; backend '{backend}' on device "
                f"'{device}' cannot: give fp32 or bf16 and a .safetensors file"
            )
        from miai_go.inference.onnx_oracle import open_onnx

        return open_onnx(path, precision, threads=threads, fixed_batch=fixed_batch)
    return _with_torch(path, precision, threads, fixed_batch, device)


def encoder_of(header: WeightsHeader, *, where: str) -> Encoder:
    """Return the encoder whose planes weights take.

    Raises:
      WeightsError: no plugin brings it, or it makes other planes than the weights were trained on.
    """
    try:
        encoder = load_encoder(header.encoder, header.size, header.encoder_parameters)
    except PluginError as error:
        raise WeightsError(f"{where}: its encoder cannot be had: {error}") from error
    if encoder.planes != header.planes:
        raise WeightsError(
            f"{where}: trained on {header.planes} planes of the encoder '{header.encoder}', which "
            f"makes {encoder.planes} here; use the version of its plugin that they were made with"
        )
    return encoder


def _with_torch(
    path: Path, precision: Precision, threads: int, fixed_batch: int | None, device: str
) -> Runner:
    require_torch(f"{path}")
    from miai_go.inference.torch_oracle import TorchOracle

    weights = load_weights(path)
    return TorchOracle(
        weights,
        encoder_of(weights.header, where=str(path)),
        precision=torch_precision(precision, device),
        threads=threads,
        fixed_batch=fixed_batch,
        device=device,
    )
