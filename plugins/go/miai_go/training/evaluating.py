"""Measuring weights on recorded games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError
from miai_go.data.dataset import GoDataset
from miai_go.data.filters import GameFilters
from miai_go.data.split import SPLITS, Split
from miai_go.inference.loading import load_oracle
from miai_go.inference.precision import Precision
from miai_go.networks.protocol import Outputs
from miai_go.shipped import find_weights
from miai_go.training.measuring import Measures, measure

if TYPE_CHECKING:
    from miai_go.inference.protocol import Oracle


def evaluate_weights(
    weights: str,
    sources: Sequence[Path],
    *,
    split: str = "all",
    limit: int | None = None,
    precision: str = "fp32",
    symmetry: str = "none",
    note: Callable[[str], None] | None = None,
) -> Measures:
    """Return the measures of weights on games.

    Args:
      note: is told in a line what was left out of SGF.

    Raises:
      ConfigError: an option has a value that there is not.
      WeightsError, DataError: weights or games cannot be read.
    """
    _check("split", split, SPLITS)
    _check("precision", precision, get_args(Precision))
    _check("symmetry", symmetry, ("none", "average"))
    oracle = load_oracle(
        find_weights(weights, default=""),
        precision=cast(Precision, precision),
        symmetry=cast(Any, symmetry),
    )
    filters = GameFilters(size=oracle.encoder.size)
    data = GoDataset(sources, encoder=oracle.encoder, split=cast(Split, split), filters=filters)
    if note is not None and (left_out := data.left_out()):
        note(left_out)
    return measure(lambda planes: _outputs(oracle, planes), data, limit=limit)


def _outputs(oracle: Oracle, planes: NDArray[np.uint8]) -> Outputs:
    import torch

    answers = oracle.infer(planes)
    found = (answers.policy, answers.value, answers.ownership, answers.score)
    return Outputs(*(None if a is None else torch.from_numpy(a.astype(np.float32)) for a in found))


def _check(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(f"--{name} {value}: is none of {', '.join(known)}")
