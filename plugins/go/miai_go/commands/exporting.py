"""Describing weights files, and exporting networks with a check of their answers."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai.files import sync_folder, writing
from miai_go.errors import WeightsError
from miai_go.nets.oracle import Answers

if TYPE_CHECKING:
    from miai_go.nets.patterns import PatternHeader
    from miai_go.nets.weights import WeightsHeader
    from miai_go.tensors import TrainingRecord


_ONNX_SUFFIX: Final = ".onnx"


@dataclass(frozen=True, slots=True)
class Card:
    """What is told of a weights file.

    Attributes:
      summary: a few words: what it is, for which boards, what it answers.
      rows: names and texts; empty texts are left out.
      history: what made it, the oldest first.
      parameters: numbers that it holds; None where that is not known.
      data: all of its header, plain data.
    """

    summary: str
    rows: Mapping[str, str]
    history: tuple[TrainingRecord, ...]
    parameters: int | None
    data: Mapping[str, Any]


def read_card(path: Path) -> Card:
    """Return what a file is, its digest checked.

    Raises:
      WeightsError: it is no weights file, or not what its header says.
      MissingExtraError: it is ONNX, and ONNX Runtime is not installed.
    """
    from miai_go.tensors import read_metadata

    if path.suffix == _ONNX_SUFFIX:
        from miai_go.nets.inference import load_oracle

        return _network_card(load_oracle(path).header, None)
    from miai_go.nets.patterns import PatternHeader, PatternPolicy
    from miai_go.nets.weights import WeightsHeader

    if PatternHeader.KEY in read_metadata(path):
        policy = PatternPolicy.load(path)
        return _pattern_card(policy.header, policy.weights.size)
    header, tensors = WeightsHeader.read_all(path)
    return _network_card(header, sum(array.size for array in tensors.values()))


def _network_card(header: WeightsHeader, parameters: int | None) -> Card:
    board, answers = f"{header.size}x{header.size}", ", ".join(header.outputs)
    low, high = header.komi
    rows = {
        "network": f"{header.network} {_told(header.network_parameters)}",
        "encoder": f"{header.encoder} {_told(header.encoder_parameters)}({header.planes} planes)",
        "board": f"{board}, komi {low:g} to {high:g}",
        "answers": answers,
        "weights": "" if parameters is None else f"{parameters} numbers",
        "licence": header.licence or "not told",
        "digest": header.sha256,
    }
    summary = f"{header.network} for {board}, {answers}"
    return Card(summary, rows, header.history, parameters, header.model_dump(mode="json"))


def _pattern_card(header: PatternHeader, parameters: int) -> Card:
    least, most = header.sizes
    boards = f"{least}x{least}" if least == most else f"{least}x{least} to {most}x{most}"
    rows = {
        "features": ", ".join(header.features),
        "board": boards,
        "answers": "policy",
        "weights": f"{parameters} numbers",
        "licence": header.licence or "not told",
        "digest": header.sha256,
    }
    summary = f"patterns for {boards}, policy of rollouts"
    return Card(summary, rows, header.history, parameters, header.model_dump(mode="json"))


def _told(values: Mapping[str, Any]) -> str:
    return "".join(f"{name}={value} " for name, value in values.items())


TOLERANCES: Final = {"fp32": 1e-4, "int8": 0.25}
"""Greatest difference of a probability, a value or an owner."""


@dataclass(frozen=True, slots=True)
class Checked:
    """How far an exported network's answers are from the network's own.

    Attributes:
      precision: fp32 or int8.
      positions: that were asked about, of games that the network played against itself.
      tolerance: what was allowed.
      differences: the greatest by answer; of the policy in probability, of the score in points.
    """

    precision: str
    positions: int
    tolerance: float
    differences: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def export_checked(
    source: Path,
    target: Path,
    precision: Literal["fp32", "int8"],
    *,
    positions: int = 256,
    seed: int = 0,
) -> Checked:
    """Write a weights file's network as ONNX, and compare its answers with torch's.

    Raises:
      MissingExtraError: torch, onnx, onnxscript or ONNX Runtime is not installed.
      WeightsError: the weights cannot be read or the file not written, or the answers differ by
        more than the tolerance; what was at `target` is then as it was.
    """
    from miai_go.nets.inference import load_oracle
    from miai_go.nets.onnx_export import export_onnx, own_games
    from miai_go.nets.weights import load_weights

    weights = load_weights(source)
    torch_oracle = load_oracle(source, backend="torch", precision="fp32")
    # Seeds differ from those that int8 is calibrated by.
    planes = own_games(weights, torch_oracle.encoder, positions, seed=seed + 1)
    with writing(target, WeightsError):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            draft = Path(folder) / target.name
            export_onnx(weights, draft, precision=precision, seed=seed)
            exported = load_oracle(draft, backend="onnx")
            differences = _differences(torch_oracle.infer(planes), exported.infer(planes))
            exported.close()
            checked = Checked(precision, len(planes), TOLERANCES[precision], differences)
            _judge(checked, source, points=weights.header.size**2)
            draft.replace(target)
            sync_folder(target.parent)
    return checked


def _judge(checked: Checked, source: Path, *, points: int) -> None:
    for name, difference in checked.differences.items():
        allowed = checked.tolerance * (points if name == "score" else 1)
        if not difference <= allowed:
            raise WeightsError(
                f"{source}: as ONNX in {checked.precision} its {name} differs by {difference:.3g}, "
                f"more than {allowed:g}, so nothing is written; "
                + ("use fp32" if checked.precision == "int8" else "tell its authors")
            )


def _differences(one: Answers, other: Answers) -> dict[str, float]:
    found = {}
    for name in ("policy", "value", "ownership", "score"):
        first, second = getattr(one, name), getattr(other, name)
        if first is not None and second is not None:
            if name == "policy":
                first, second = _chances(first), _chances(second)
            found[name] = float(np.abs(first - second).max())
    return found


def _chances(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    powers: NDArray[np.float64] = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    total: NDArray[np.float64] = powers.sum(1, keepdims=True)
    return powers / total
