"""Exporting to ONNX with a look at what comes out: no file is left that answers otherwise."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import WeightsError
from miai_go.inference.protocol import Answers

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
    from miai_go.inference.loading import load_oracle
    from miai_go.networks.calibration import own_games
    from miai_go.networks.onnx import export_onnx
    from miai_go.networks.weights import load_weights

    weights = load_weights(source)
    torch_oracle = load_oracle(source, backend="torch", precision="fp32")
    # Seeds differ from those that int8 is calibrated by.
    planes = own_games(weights, torch_oracle.encoder, positions, seed=seed + 1)
    try:
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
    except OSError as error:
        raise WeightsError(f"{target}: cannot be written: {error.strerror}") from error
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
