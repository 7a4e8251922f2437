"""Fitting an `OrderingNet` to samples. Needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from miai_go.tsumego.guiding import OrderingNet
from miai_go.tsumego.kernels.guide import DISPROOF, ODDS, OUTPUTS, PROOF
from miai_go.tsumego.kernels.traits import ALWAYS, TRAITS
from miai_go.tsumego.ordering.samples import Samples

HELD_OUT: Final = 10
"""Of so many zones one is held out, to tell how well the network foretells."""
_BATCH: Final = 512
_RATE: Final = 4e-3
_SIZE_WEIGHT: Final = 0.05
"""Of the squared error of a size, in powers of two, beside the cross-entropy of the odds."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a network foretells the samples of zones that were held out.

    Attributes:
      samples, held_out: positions that were learnt from, and that were not.
      right: share of the held-out ones of which it says rightly whether the target is captured.
      commoner: share of the commoner answer among them.
      proof, disproof: share of the variance of log2 of the sizes that is explained.
    """

    samples: int
    held_out: int
    right: float
    commoner: float
    proof: float
    disproof: float


def learn(samples: Samples, *, seed: int, width: int, steps: int) -> tuple[OrderingNet, Fit]:
    """Fit a network of so many hidden units; the rate falls to 0 over the steps.

    Either side to move has its own weights. The size of a proof is learnt from what was proved, the
    size of a disproof from what was disproved.
    """
    torch.manual_seed(seed)
    centre, scale = samples.traits.mean(0), samples.traits.std(0) + 1e-6
    centre[ALWAYS], scale[ALWAYS] = 0.0, 1.0
    learner = _Learner(width, mean=float(samples.powers.mean()))
    data = _Tensors(samples, (samples.traits - centre) / scale)
    held_out = samples.zones % HELD_OUT == 0
    train, test = (torch.from_numpy(np.flatnonzero(x)) for x in (~held_out, held_out))
    optimiser = torch.optim.Adam(learner.parameters(), lr=_RATE)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * (1 - step / steps)
        rows = train[torch.randint(len(train), (_BATCH,))]
        loss = data.loss(learner, rows)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        fit = data.fit(learner, test, learnt=len(train))
    return learner.unscaled(centre, scale), fit


class _Learner(nn.Module):
    """The network on traits of mean 0 and deviation 1."""

    def __init__(self, width: int, *, mean: float) -> None:
        super().__init__()
        self.linear = nn.Parameter(torch.zeros(2, TRAITS, OUTPUTS))
        self.inner = nn.Parameter(torch.randn(2, TRAITS, width) / TRAITS**0.5)
        self.outer = nn.Parameter(torch.randn(2, width, OUTPUTS) * 0.1 / max(width, 1) ** 0.5)
        with torch.no_grad():
            self.linear[:, ALWAYS, PROOF] = mean
            self.linear[:, ALWAYS, DISPROOF] = mean

    def forward(self, traits: Tensor, sides: Tensor) -> Tensor:
        """Return outputs of shape (n, OUTPUTS)."""
        both = [
            traits @ self.linear[side] + torch.relu(traits @ self.inner[side]) @ self.outer[side]
            for side in (0, 1)
        ]
        return torch.where((sides == 0)[:, None], both[0], both[1])

    def unscaled(self, centre: NDArray[np.float32], scale: NDArray[np.float32]) -> OrderingNet:
        """Return the weights for traits as they are counted."""
        return OrderingNet(
            linear=_unscaled(self.linear, centre, scale),
            inner=_unscaled(self.inner, centre, scale),
            outer=self.outer.detach().numpy().astype(np.float32),
        )


class _Tensors:
    """Samples as tensors, and what is measured on them."""

    def __init__(self, samples: Samples, scaled: NDArray[np.float32]) -> None:
        self._traits = torch.from_numpy(scaled.astype(np.float32))
        self._sides = torch.from_numpy(samples.sides)
        self._captured = torch.from_numpy(samples.captured)
        self._powers = torch.from_numpy(samples.powers)

    def loss(self, learner: _Learner, rows: Tensor) -> Tensor:
        """Return what is made small."""
        outputs = learner(self._traits[rows], self._sides[rows])
        captured = self._captured[rows].float()
        size = captured * outputs[:, PROOF] + (1 - captured) * outputs[:, DISPROOF]
        odds = nn.functional.binary_cross_entropy_with_logits(outputs[:, ODDS], captured)
        loss: Tensor = odds + _SIZE_WEIGHT * ((size - self._powers[rows]) ** 2).mean()
        return loss

    def fit(self, learner: _Learner, rows: Tensor, *, learnt: int) -> Fit:
        """Return how well samples are foretold."""
        outputs = learner(self._traits[rows], self._sides[rows])
        captured, powers = self._captured[rows], self._powers[rows]
        share = float(captured.float().mean())
        return Fit(
            samples=learnt,
            held_out=len(rows),
            right=float(((outputs[:, ODDS] > 0) == captured).float().mean()),
            commoner=max(share, 1 - share),
            proof=_explained(outputs[captured, PROOF], powers[captured]),
            disproof=_explained(outputs[~captured, DISPROOF], powers[~captured]),
        )


def _explained(foretold: Tensor, powers: Tensor) -> float:
    return 1 - float(((foretold - powers) ** 2).mean() / powers.var(correction=0))


def _unscaled(
    weights: Tensor, centre: NDArray[np.float32], scale: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Fold into weights of shape (2, TRAITS, ..) that their inputs were moved and scaled."""
    found = weights.detach().numpy().astype(np.float64) / scale[None, :, None]
    found[:, ALWAYS] -= (found * centre[None, :, None]).sum(1)
    return np.ascontiguousarray(found, np.float32)
