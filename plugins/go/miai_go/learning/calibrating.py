"""Calibration of values: one factor of their log odds, fitted on games that were held out.

A value v is the log odds 2 artanh(v) of winning. Training leaves them too small or too large on
new games; one factor mends the most of it (temperature scaling, Guo et al. 2017), and changes
neither the order of values nor the moves that a network predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from miai.errors import WeightsError
from miai.tensors import TrainingRecord
from miai_go.errors import DataError
from miai_go.learning.measuring import GameMeasures, evaluate_weights
from miai_go.nets.network import TRAINING_ONLY, Outputs
from miai_go.nets.weights import NetworkWeights, WeightsHeader, load_weights, save_weights
from miai_go.shipped import find_weights

_NEAREST: Final = 1 - 1e-6  # values are taken no nearer to 1, whose log odds are infinite
_BOUNDS: Final = (0.05, 20.0)
_SAME: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration did.

    Attributes:
      header: of the weights that were written.
      factor: of the log odds of winning; above 1 the values were too near to 0.
      measures: of the network before, on the games of the fit.
      errors: mean square error of values on these games, before and after.
      surprises: cross-entropy of their results in nats, before and after.
    """

    header: WeightsHeader
    factor: float
    measures: GameMeasures
    errors: tuple[float, float]
    surprises: tuple[float, float]


def calibrate(
    weights: str, sources: Sequence[Path], out: Path, *, split: str = "validation"
) -> Calibration:
    """Write weights whose values have the most likely factor of their log odds.

    Args:
      weights: a weights file, or the name of shipped weights.
      sources: games with results, of which the network should not have learnt.
      out: file to write.

    Raises:
      ConfigError: there is no such split.
      WeightsError: the weights cannot be read or written, have no values, or their values cannot be
        scaled because they do not come from a linear layer through tanh.
      DataError: the games cannot be read, or their results tell nothing about a factor.
    """
    path = find_weights(weights, default="")
    loaded = load_weights(path)
    if "value" not in loaded.header.outputs:
        raise WeightsError(f"{path}: has no value head, so there is nothing to calibrate")
    measures = evaluate_weights(str(path), sources, split=split)
    known = ~np.isnan(measures.result)
    values, results = measures.value[known], measures.result[known]
    factor = fitted_factor(values, results)
    scale_values(loaded, factor, where=str(path))
    record = TrainingRecord(
        command=f"miai go calibrate --split {split}",
        data=f"{len(np.unique(measures.game[known]))} games, {len(values)} positions; "
        f"factor {factor:.4f}",
        date=datetime.now(UTC).date().isoformat(),
    )
    header = loaded.header.model_copy(update={"history": (*loaded.header.history, record)})
    scaled = scaled_values(values, factor)
    return Calibration(
        header=save_weights(out, loaded.network, header),
        factor=factor,
        measures=measures,
        errors=(_error(values, results), _error(scaled, results)),
        surprises=(_surprise(values, results), _surprise(scaled, results)),
    )


def scaled_values(values: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Return values, of any shape, with their log odds multiplied by a factor."""
    scaled: NDArray[np.float64] = np.tanh(factor * np.arctanh(_bounded(values)))
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
    while high / low > 1 + 1e-9:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def scale_values(weights: NetworkWeights, factor: float, *, where: str) -> None:
    """Multiply the log odds of a network's values, in the last linear layer of its value head.

    Raises:
      WeightsError: the network's values are not the tanh of such a layer; it is unchanged.
    """
    head = getattr(weights.network, "value", None)
    layers = head.modules() if isinstance(head, nn.Module) else ()
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    before = _some_answers(weights)
    state = {name: tensor.clone() for name, tensor in weights.network.state_dict().items()}
    if linear:
        with torch.no_grad():
            for parameter in linear[-1].parameters():
                parameter.mul_(factor)
    after = _some_answers(weights)
    for name, answer in before._asdict().items():
        if answer is None or name in TRAINING_ONLY:
            continue
        expected = torch.tanh(factor * torch.atanh(answer)) if name == "value" else answer
        if not torch.allclose(getattr(after, name), expected, atol=_SAME):
            weights.network.load_state_dict(state)
            raise WeightsError(
                f"{where}: its values cannot be scaled: they are not the tanh of a linear layer at "
                "the end of the network's attribute `value`"
            )


def _some_answers(weights: NetworkWeights) -> Outputs:
    shape = weights.header.shape
    generator = torch.Generator().manual_seed(1)
    planes = torch.rand(16, shape.planes, shape.size, shape.size, generator=generator)
    with torch.no_grad():
        answers: Outputs = weights.network(planes)
    return answers


def _bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(values, -_NEAREST, _NEAREST)


def _error(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    return float(((values - results) ** 2).mean())


def _surprise(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    chance = (1 + _bounded(values)) / 2
    won = (1 + results) / 2
    return float(-(won * np.log(chance) + (1 - won) * np.log(1 - chance)).mean())
