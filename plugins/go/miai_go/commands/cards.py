"""What weights files are, for people: networks, exported networks, pattern policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from miai_go.networks.header import TrainingRecord, WeightsHeader
    from miai_go.patterns.policy import PatternHeader

_ONNX: Final = ".onnx"


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
    from miai_go.networks.tensors import read_metadata

    if path.suffix == _ONNX:
        from miai_go.inference.loading import open_network

        runner = open_network(path)
        runner.close()
        return _network_card(runner.header, None)
    from miai_go.patterns.policy import METADATA_KEY

    if METADATA_KEY in read_metadata(path):
        from miai_go.patterns.policy import PatternPolicy

        policy = PatternPolicy.load(path)
        return _pattern_card(policy.header, policy.weights.size)
    return _network_card(*_checked(path))


def _checked(path: Path) -> tuple[WeightsHeader, int]:
    """Return a network's header and how many numbers it holds."""
    from miai_go.errors import WeightsError
    from miai_go.networks.header import digest, header_of_metadata
    from miai_go.networks.tensors import read_tensors

    tensors, metadata = read_tensors(path)
    header = header_of_metadata(metadata, where=str(path))
    if digest(header, tensors) != header.sha256:
        raise WeightsError(
            f"{path}: its digest is not that of what it holds: it was damaged or changed after it "
            "was written; copy it again"
        )
    return header, sum(array.size for array in tensors.values())


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
