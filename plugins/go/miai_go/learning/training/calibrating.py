"""Calibration of values: one factor of their log odds, fitted on games that were held out.

A value v stands for log odds of winning, 2 artanh(v). After training these are too small or too
large on new games; one factor corrects most of this (temperature scaling, Guo et al. 2017), and
changes neither the order of values nor the moves that a network predicts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from miai.errors import WeightsError
from miai.tensors import TrainingRecord
from miai_go.errors import DataError
from miai_go.learning.data.stored_games import Split
from miai_go.learning.training.measuring import evaluate_weights
from miai_go.nets.network import Outputs, WeightsHeader, encoder_of, load_weights, save_weights
from miai_go.nets.onnx_export import own_games
from miai_go.shipped import SUFFIX, find_weights

_NEAREST: Final = 1 - 1e-6  # values are taken no nearer to 1, whose log odds are infinite
_BOUNDS: Final = (0.05, 20.0)
_POSITIONS: Final = 64  # on which a scaled network is compared with itself
_UNSATURATED: Final = 1 - 1e-9
_SAME: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration did.

    Attributes:
      header: of the weights that were written.
      factor: of the log odds of winning; above 1 the values were too near to 0.
      positions: of the games of the fit, those with a result.
      errors: mean square error of values on these games, before and after.
      cross_entropies: cross-entropy of their results in nats, before and after.
    """

    header: WeightsHeader
    factor: float
    positions: int
    errors: tuple[float, float]
    cross_entropies: tuple[float, float]


def calibrate(
    weights: str, sources: Sequence[Path], out: Path, *, split: Split = "validation"
) -> Calibration:
    """Scale a network's values to fit the results of held-out games, and write the weights.

    Args:
      weights: a weights file, or the name of shipped weights.
      sources: games with results, of which the network should not have learnt.
      out: file to write.

    Raises:
      WeightsError: the weights cannot be read or written, have no values, or their values cannot be
        scaled because they do not come from a linear layer through tanh.
      DataError: the games cannot be read, or their results tell nothing about a factor.
    """
    path = find_weights(weights)
    _check_files(path, out)
    loaded = load_weights(path)
    if "value" not in loaded.header.outputs:
        raise WeightsError(f"{path}: has no value head, so there is nothing to calibrate")
    measures = evaluate_weights(str(path), sources, split=split)
    over = ~np.isnan(measures.result)
    values, results = measures.value[over], measures.result[over]
    factor = fitted_factor(values, results)
    encoder = encoder_of(loaded.header, where=str(path), size=loaded.header.sizes[0])
    planes = own_games(loaded, encoder, _POSITIONS, seed=1) * encoder.scales[:, None, None]
    scale_values(loaded.network, factor, torch.from_numpy(planes), where=str(path))
    record = TrainingRecord(
        command=f"miai go calibrate --split {split}",
        data=f"{len(np.unique(measures.game[over]))} games, {len(values)} positions; "
        f"factor {factor:.4f}",
        date=datetime.now(UTC).date().isoformat(),
    )
    header = loaded.header.model_copy(update={"history": (*loaded.header.history, record)})
    scaled = scaled_values(values, factor)
    return Calibration(
        header=save_weights(out, loaded.network, header),
        factor=factor,
        positions=len(values),
        errors=(_error(values, results), _error(scaled, results)),
        cross_entropies=(_cross_entropy(values, results), _cross_entropy(scaled, results)),
    )


def _check_files(path: Path, out: Path) -> None:
    if path.suffix == ".onnx":
        raise WeightsError(
            f"{path}: is an export; calibrate its {SUFFIX} file, and export that again"
        )
    if out.suffix != SUFFIX or out.is_dir():
        raise WeightsError(f"--out {out}: name a file that ends in {SUFFIX}")


def scaled_values(
    values: NDArray[np.floating], factor: NDArray[np.float64] | float
) -> NDArray[Any]:
    """Return values, of any shape, with their log odds multiplied."""
    scaled: NDArray[Any] = np.tanh(factor * np.arctanh(_bounded(values)))
    return scaled


def fitted_factor(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    """Return the factor of the values' log odds under which results are most likely.

    The likelihood has one maximum, which bisection finds.

    Args:
      values: float64 of shape (n,), between -1 and 1.
      results: float64 of shape (n,): 1 won, -1 lost, 0 drawn, as half of each.

    Raises:
      DataError: the factor would be outside 0.05 to 20.
    """
    halves = np.arctanh(_bounded(values))

    def slope(factor: float) -> float:
        """The derivative of the mean log likelihood; it falls."""
        return float(((results - np.tanh(factor * halves)) * halves).mean())

    low, high = _BOUNDS
    if not (len(values) and slope(low) > 0 > slope(high)):
        raise DataError(
            f"{len(values)} positions with results determine no factor of the values between "
            f"{low:g} and {high:g}; use more games, or weights that tell who wins"
        )
    # Bisect on a logarithmic scale, on which 1/2 is as far from 1 as 2.
    while high / low > 1 + 1e-9:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def scale_values(network: nn.Module, factor: float, planes: Tensor, *, where: str) -> None:
    """Multiply the log odds of a network's values, in the last linear layer of its value head.

    Args:
      planes: positions on which to see that this changes the values as it should, and no other
        answer; scaled, of shape (n, planes, size, size).

    Raises:
      WeightsError: the network's values are not the tanh of such a layer; it is unchanged.
    """
    # On a copy, so that a network that does not fit is unchanged; in double precision, so that a
    # difference is not rounding.
    trial = copy.deepcopy(network).double().eval()
    layer = _last_linear(trial)
    if layer is not None:
        before = _answers(trial, planes)
        _multiply(layer, factor)
        if _scaled_alone(before, _answers(trial, planes), factor):
            last = _last_linear(network)
            assert last is not None
            _multiply(last, factor)
            return
    raise WeightsError(
        f"{where}: its values cannot be scaled: they are not the tanh of a linear layer at the end "
        "of the network's attribute `value`"
    )


def _last_linear(network: nn.Module) -> nn.Linear | None:
    head = getattr(network, "value", None)
    layers = head.modules() if isinstance(head, nn.Module) else ()
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return linear[-1] if linear else None


def _multiply(layer: nn.Linear, factor: float) -> None:
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(factor)


def _answers(network: nn.Module, planes: Tensor) -> dict[str, Tensor]:
    with torch.no_grad():
        outputs: Outputs = network(planes.double())
    return {name: answer for name, answer in outputs._asdict().items() if answer is not None}


def _scaled_alone(before: dict[str, Tensor], after: dict[str, Tensor], factor: float) -> bool:
    """Return whether the log odds of values are multiplied, and the other answers are the same."""
    values = before["value"]
    telling = (values.abs() < _UNSATURATED) & (values != 0)
    expected = {**before, "value": torch.tanh(factor * torch.atanh(values))}
    alike = (
        torch.allclose(
            after[name][telling] if name == "value" else after[name],
            answer[telling] if name == "value" else answer,
            rtol=0,
            atol=_SAME,
        )
        for name, answer in expected.items()
    )
    return bool(telling.any()) and all(alike)


def _bounded(values: NDArray[Any]) -> NDArray[Any]:
    bounded: NDArray[Any] = np.clip(values, -_NEAREST, _NEAREST)
    return bounded


def _error(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    return float(((values - results) ** 2).mean())


def _cross_entropy(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    chance = (1 + _bounded(values)) / 2
    won = (1 + results) / 2
    return float(-(won * np.log(chance) + (1 - won) * np.log(1 - chance)).mean())
