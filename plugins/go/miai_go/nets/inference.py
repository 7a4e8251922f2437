"""Oracles from files: the library and precision of a network, and averaging over symmetries."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai.errors import PluginError
from miai_go.errors import InferenceError, WeightsError, require_torch
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.nets.oracle import Answers, Oracle, Planes, check_planes
from miai_go.nets.weights import WeightsHeader, load_weights
from miai_go.rules.symmetry import SYMMETRIES, inverse, turned_planes, turned_policy

Floats = NDArray[np.float32]


class Ensemble:
    """An oracle whose network sees each position turned, and whose answers are turned back.

    With ``average`` it sees all eight copies, which costs eight times as much: the policy is that
    of the mean probabilities, all else the plain mean. With ``random`` it sees one copy, which is
    drawn from the position and the seed, so that the same position always meets the same copy,
    whatever is asked before it or beside it (AlphaGo Zero draws anew each time).

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self, oracle: Oracle, mode: Literal["average", "random"] = "average", *, seed: int = 0
    ) -> None:
        self.encoder = oracle.encoder
        self.has_policy = oracle.has_policy
        self.has_value = oracle.has_value
        self._oracle = oracle
        self._mode = mode
        self._key = hashlib.sha256(str(seed).encode("ascii")).digest()

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes, over their symmetric copies.

        Raises:
          InferenceError: as the network's oracle does.
        """
        check_planes(planes, self.encoder)
        if self._mode == "random":
            symmetries = np.array([self._drawn(row) for row in planes], np.uint8)
            return _turned_back(self._oracle.infer(turned_planes(planes, symmetries)), symmetries)
        symmetries = np.tile(np.arange(SYMMETRIES, dtype=np.uint8), len(planes))
        copies = np.repeat(planes, SYMMETRIES, axis=0)
        answers = _turned_back(self._oracle.infer(turned_planes(copies, symmetries)), symmetries)
        policy = answers.policy
        return Answers(
            policy=None if policy is None else np.log(_mean(_softmax(policy))),
            value=None if answers.value is None else _mean(answers.value),
            ownership=None if answers.ownership is None else _mean(answers.ownership),
            score=None if answers.score is None else _mean(answers.score),
        )

    def _drawn(self, planes: Planes) -> int:
        """Return the symmetry of one position."""
        return (
            hashlib.blake2b(planes.tobytes(), digest_size=1, key=self._key).digest()[0] % SYMMETRIES
        )

    def statistics(self) -> dict[str, float]:
        """Return what the network's oracle did; its positions are copies."""
        return self._oracle.statistics()

    def close(self) -> None:
        """Close the network's oracle."""
        self._oracle.close()


def _turned_back(answers: Answers, symmetries: NDArray[np.uint8]) -> Answers:
    back = inverse(symmetries)
    policy, ownership = answers.policy, answers.ownership
    return Answers(
        policy=None if policy is None else turned_policy(policy, back),
        value=answers.value,
        ownership=None if ownership is None else turned_planes(ownership[:, None], back)[:, 0],
        score=answers.score,
    )


def _softmax(logits: Floats) -> Floats:
    """Return probabilities, none of them zero, so that they have a logarithm."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    tiny = np.float32(np.finfo(np.float32).tiny)
    chances: Floats = np.maximum(powers / powers.sum(axis=1, keepdims=True), tiny)
    return chances


def _mean(copies: Floats) -> Floats:
    """Return the mean over the copies of each position: (n * 8, ...) to (n, ...)."""
    groups = copies.reshape(-1, SYMMETRIES, *copies.shape[1:])
    means: Floats = groups.mean(axis=1, dtype=np.float32)
    return means


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
      precision: ``fp32``, ``bf16``, ``int8`` or ``auto``; see `miai_go.nets.inference`. For
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
class NetworkRunner(Oracle, Protocol):
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
) -> NetworkRunner:
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
        from miai_go.nets.onnx_oracle import open_onnx

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
) -> NetworkRunner:
    require_torch(f"{path}")
    from miai_go.nets.torch_oracle import TorchOracle

    weights = load_weights(path)
    return TorchOracle(
        weights,
        encoder_of(weights.header, where=str(path)),
        precision=torch_precision(precision, device),
        threads=threads,
        fixed_batch=fixed_batch,
        device=device,
    )


Precision = Literal["auto", "fp32", "bf16", "int8"]


def torch_precision(precision: Precision, device: str) -> Literal["fp32", "bf16"]:
    """Return the precision that torch runs in, ``auto`` settled."""
    import torch

    if precision in ("fp32", "bf16"):
        return precision
    if device.startswith("cuda"):
        fast = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = bool(torch.cpu._is_avx512_bf16_supported())
    return "bf16" if fast else "fp32"
