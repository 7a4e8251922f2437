"""Oracles from files: the library and precision of a network, and averaging over symmetries."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import InferenceError, require_torch
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import WeightsHeader, encoder_of, load_weights
from miai_go.nets.network_parameters import Precision
from miai_go.nets.oracle import Answers, Floats, NetworkOracle, Oracle, Planes, check_planes
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import inverse, turned_planes, turned_policy
from miai_go.shipped import SUFFIX


def turned_answers(oracle: Oracle, planes: Planes, symmetries: NDArray[np.uint8]) -> Answers:
    """Return the answers for planes that are turned on the way in, turned back on the way out.

    Args:
      symmetries: of each row of the planes, (n,).
    """
    answers = oracle.infer(turned_planes(planes, symmetries))
    back, policy, owner = inverse(symmetries), answers.policy, answers.ownership
    return answers._replace(
        policy=None if policy is None else turned_policy(policy, back),
        ownership=None if owner is None else turned_planes(owner[:, None], back)[:, 0],
    )


class Ensemble:
    """An oracle that averages its network's answers over the symmetric copies of a position.

    This costs eight times as much. The policy is that of the mean probabilities, everything else
    the plain mean.
    """

    def __init__(self, oracle: NetworkOracle) -> None:
        self.encoder: Encoder = oracle.encoder
        self.has_policy: bool = oracle.has_policy
        self.has_value: bool = oracle.has_value
        self.header: WeightsHeader = oracle.header
        self.precision: str = oracle.precision
        self._oracle = oracle

    def infer(self, planes: Planes) -> Answers:
        """Return the network's answers over the symmetric copies of positions."""
        check_planes(planes, self.encoder)
        symmetries = np.tile(np.arange(SYMMETRIES, dtype=np.uint8), len(planes))
        copies = np.repeat(planes, SYMMETRIES, axis=0)
        answers = turned_answers(self._oracle, copies, symmetries)
        # Probabilities are averaged, not logits: one copy that excludes a move would outvote seven.
        policy = None if answers.policy is None else np.log(_mean(_softmax(answers.policy)))
        return answers._replace(policy=None).each(_mean)._replace(policy=policy)

    def statistics(self) -> dict[str, float]:
        """Return the statistics of the network's oracle, whose positions are copies."""
        return self._oracle.statistics()


def _softmax(logits: Floats) -> Floats:
    """Return probabilities, all above zero, so that they have a logarithm."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    tiny = np.float32(np.finfo(np.float32).tiny)
    chances: Floats = np.maximum(powers / powers.sum(axis=1, keepdims=True), tiny)
    return chances


def _mean(copies: Floats) -> Floats:
    """Return the mean over the copies of each position: (n * 8, ...) to (n, ...)."""
    groups = copies.reshape(-1, SYMMETRIES, *copies.shape[1:])
    means: Floats = groups.mean(axis=1, dtype=np.float32)
    return means


def load_oracle(
    path: str | Path,
    *,
    size: int | None = None,
    precision: Precision = "auto",
    threads: int = 1,
    device: str = "cpu",
) -> NetworkOracle:
    """Return the network of a weights file, ready to answer.

    Args:
      path: a weights file, or an ``.onnx`` file that `export_onnx` wrote, which needs no torch.
      size: points on a side of the boards to answer for; None for the only size that the network
        was trained for.
      precision: ``fp32`` or ``bf16`` in torch; ``int8`` in ONNX Runtime, which also runs ``.onnx``
        files; or ``auto``. For int8 a weights file is quantised as it is loaded, which takes
        seconds, unless there is an export of the same weights beside it: for ``net.safetensors``
        that is ``net.int8.onnx``. ``auto`` takes such an export without torch, or where the
        processor is faster with it; else bf16 where the device has hardware for it, else fp32.
      threads: threads of the library that runs the network.
      device: torch's name of the device; ONNX Runtime runs on the CPU.

    Raises:
      WeightsError: the file cannot be read, is not for this size, or is damaged.
      MissingExtraError: a library is not installed.
      InferenceError: the network cannot run with these settings.
    """
    path = Path(path)
    if path.suffix == SUFFIX and device == "cpu":
        oracle = _exported(path, precision, size=size, threads=threads)
        if oracle is not None:
            return oracle
    if path.suffix == ".onnx" or precision == "int8":
        if device != "cpu":
            raise InferenceError(
                f"{path}: ONNX Runtime runs it, on the CPU; device '{device}' cannot: give fp32 or "
                "bf16 and a .safetensors file"
            )
        from miai_go.nets.onnx_oracle import OnnxOracle, open_onnx

        return OnnxOracle(open_onnx(path, precision, threads=threads), size=size)
    require_torch(f"{path}")
    from miai_go.nets.torch_oracle import TorchOracle, torch_precision

    weights = load_weights(path, size=size)
    return TorchOracle(
        weights,
        encoder_of(weights.header, where=str(path), size=size),
        precision=torch_precision(precision, device),
        threads=threads,
        device=device,
        where=str(path),
    )


def network_header(path: Path) -> WeightsHeader:
    """Return the header of a weights file or of an ``.onnx`` file.

    Raises `WeightsError` if it cannot be read, `MissingExtraError` without ONNX Runtime for the
    latter.
    """
    if path.suffix != ".onnx":
        return WeightsHeader.read(path)
    from miai_go.nets.onnx_oracle import OnnxModel

    return OnnxModel.read(path).header


def export_beside(weights: Path) -> Path:
    """Return where the int8 export of a weights file is looked for."""
    return weights.with_suffix(".int8.onnx")


def _exported(
    weights: Path, precision: Precision, *, size: int | None, threads: int
) -> NetworkOracle | None:
    """Return the oracle of the int8 export beside weights, if it is wanted and is of these."""
    export = export_beside(weights)
    automatic = prefers_int8() or find_spec("torch") is None
    wanted = precision == "int8" or (precision == "auto" and automatic)
    if not (wanted and export.is_file() and find_spec("onnxruntime")):
        return None
    from miai_go.nets.onnx_oracle import OnnxOracle, open_onnx

    model = open_onnx(export, "auto", threads=threads)
    # An export that was left behind by a later training would play with other weights.
    same = model.header.sha256 == WeightsHeader.read(weights).sha256
    if not same or model.precision != "int8":
        return None
    return OnnxOracle(model, size=size)


def can_run(weights: Path) -> bool:
    """Return whether a player can run a weights file here, with its default precision."""
    if find_spec("torch") is not None:
        return True
    return export_beside(weights).is_file() and find_spec("onnxruntime") is not None


@cache
def prefers_int8() -> bool:
    """Return whether networks run faster in int8 on this processor than in bf16 or fp32.

    That is so where it has instructions for int8 vectors (AVX2 has, and VNNI faster ones) and none
    for bf16 matrices (AMX), as far as Linux tells.
    """
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    return "avx2" in flags and "amx_bf16" not in flags
