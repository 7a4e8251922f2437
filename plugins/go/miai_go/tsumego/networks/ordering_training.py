"""Training data and training of the ordering network, which predicts how hard a proof is.

`sample` draws zones, searches them, and takes positions from the prover's table: unlike positions
of good play, most of them contain mistakes. Each sampled position is then searched alone with an
empty table; the network learns whether the target is captured and how many positions the proof
takes. A network learns best from searches that its predecessor advised, because the adviser affects
both the positions reached and their cost.

`learn` fits a `miai_go.tsumego.solver.ordering_net.OrderingNet` to the samples. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from miai.seeds import derive_seed
from miai_go.tsumego.data.growth import draw_fight_zone
from miai_go.tsumego.kernels.guide import DISPROOF, ODDS, OUTPUTS, PROOF
from miai_go.tsumego.kernels.traits import ALWAYS, TRAITS, traits_of_all
from miai_go.tsumego.solver.ordering_net import OrderingNet
from miai_go.tsumego.solver.prover import ProofVerdict, Prover, ZonePosition
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone

LEAST_EMPTY: Final = 10
MOST_EMPTY: Final = 14
_NODES: Final = 150_000
"""Node limit for the search of a zone; an unfinished search is useful, too."""
_NODES_ALONE: Final = 30_000
"""Node limit for the search of a sampled position; unsolved positions are dropped."""
_SAMPLES_PER_ZONE: Final = 60
_MIN_POSITIONS: Final = 40
_TABLE_BYTES: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Positions with the results of their searches; arrays of shape (n,) except the traits.

    Attributes:
      traits: float32 of shape (n, TRAITS); see `miai_go.tsumego.kernels.traits`.
      sides: int64, the side to move, 0 for the attacker.
      captured: bool, whether the attacker captures the target.
      powers: float32, log2 of the positions in the proof.
      zones: int64, numbers of the zones, so that whole zones can be held out.
    """

    traits: NDArray[np.float32]
    sides: NDArray[np.int64]
    captured: NDArray[np.bool_]
    powers: NDArray[np.float32]
    zones: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sides)


def sample(
    count: int,
    *,
    seed: int,
    network: OrderingNet | None = None,
    progress: Callable[[int], None] | None = None,
) -> Samples:
    """Draw zones until there are at least `count` positions.

    Args:
      seed: the same seed and network give the same positions.
      network: orders the searches.
      progress: called with the number of positions so far.
    """
    parts: list[Samples] = []
    number, have = 0, 0
    while have < count:
        rng = np.random.default_rng(derive_seed("tsumego-ordering", seed, number))
        zone = draw_fight_zone(rng, empty=int(rng.integers(LEAST_EMPTY, MOST_EMPTY + 1)))
        if zone is not None and (drawn := _of_zone(rng, zone, number, network)) is not None:
            parts.append(drawn)
            have += len(drawn)
            if progress is not None:
                progress(have)
        number += 1
    return joined(parts)


def joined(parts: list[Samples]) -> Samples:
    """Return several samples as one."""
    names = [field.name for field in fields(Samples)]
    return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _of_zone(
    rng: np.random.Generator, zone: Zone, number: int, network: OrderingNet | None
) -> Samples | None:
    """Search a zone and a sample of its table; None if the table is too small.

    In half of the zones the sample is uniform, in the others it prefers positions that took work.
    """
    prover = Prover(zone, network=network)
    for side in (ATTACKER, DEFENDER):
        prover.ask(prover.begin(side), nodes=_NODES)
    table = prover.table_positions()
    if len(table.sides) < _MIN_POSITIONS:
        return None
    weights = np.sqrt(np.minimum(table.work, 10_000) + 1.0)
    # Nearly all positions of a table took little work. Sampled evenly the network would not learn
    # what hard ones look like, and by work alone not what the search meets most.
    evenly = rng.random() < 0.5
    chosen = rng.choice(
        len(table.sides),
        min(_SAMPLES_PER_ZONE, len(table.sides)),
        replace=False,
        p=None if evenly else weights / weights.sum(),
    )
    known, captured, powers = [], [], []
    for i in chosen.tolist():
        place = ZonePosition(
            int(table.attackers[i]),
            int(table.defenders[i]),
            int(table.sides[i]),
            int(table.bans[i]),
        )
        # An empty table: what was searched before would make every proof look cheap.
        alone = Prover(zone, table_bytes=_TABLE_BYTES, network=network)
        finding = alone.ask(place, nodes=_NODES_ALONE)
        if finding.verdict != ProofVerdict.UNSOLVED:
            known.append(i)
            captured.append(finding.verdict == ProofVerdict.REACHED)
            powers.append(np.log2(max(finding.nodes, 1)))
    traits = np.zeros((len(known), TRAITS), np.float32)
    traits_of_all(
        zone.words,
        np.ascontiguousarray(table.attackers[known]),
        np.ascontiguousarray(table.defenders[known]),
        np.ascontiguousarray(table.bans[known]),
        traits,
    )
    return Samples(
        traits=traits,
        sides=table.sides[known],
        captured=np.array(captured, np.bool_),
        powers=np.array(powers, np.float32),
        zones=np.full(len(known), number),
    )


HELD_OUT: Final = 10
"""One zone in this many is held out to measure the predictions."""
_BATCH: Final = 512
_RATE: Final = 4e-3
_SIZE_WEIGHT: Final = 0.05
"""Weight of the squared error of log2 sizes beside the cross-entropy of the odds."""


@dataclass(frozen=True, slots=True)
class OrderingFit:
    """Accuracy of a network on held-out zones.

    Attributes:
      samples, held_out: numbers of training and held-out positions.
      right: accuracy of the capture prediction on held-out positions.
      commoner: share of the more common answer among them.
      proof, disproof: explained share of the variance of log2 sizes.
    """

    samples: int
    held_out: int
    right: float
    commoner: float
    proof: float
    disproof: float


def learn(
    samples: Samples, *, seed: int, width: int, steps: int
) -> tuple[OrderingNet, OrderingFit]:
    """Fit a network of `width` hidden units; the learning rate falls to 0 over the steps.

    Each side to move has its own weights. Proof sizes are trained on proved positions, disproof
    sizes on disproved ones.
    """
    torch.manual_seed(seed)
    centre, scale = samples.traits.mean(0), samples.traits.std(0) + 1e-6
    # The bias; scaled like the others it would be 0.
    centre[ALWAYS], scale[ALWAYS] = 0.0, 1.0
    learner = _Learner(width, mean=float(samples.powers.mean()))
    columns = [
        torch.from_numpy(column)
        for column in (
            ((samples.traits - centre) / scale).astype(np.float32),
            samples.sides,
            samples.captured,
            samples.powers,
        )
    ]
    # Whole zones are held out, since positions of one zone resemble each other.
    held_out = samples.zones % HELD_OUT == 0
    train, test = (torch.from_numpy(np.flatnonzero(x)) for x in (~held_out, held_out))
    optimiser = torch.optim.Adam(learner.parameters(), lr=_RATE)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * (1 - step / steps)
        rows = train[torch.randint(len(train), (_BATCH,))]
        loss = _loss(learner, *(column[rows] for column in columns))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    traits, sides, captured, powers = (column[test] for column in columns)
    with torch.no_grad():
        outputs = learner(traits, sides)
    share = float(captured.float().mean())
    fit = OrderingFit(
        samples=len(train),
        held_out=len(test),
        right=float(((outputs[:, ODDS] > 0) == captured).float().mean()),
        commoner=max(share, 1 - share),
        proof=_explained(outputs[captured, PROOF], powers[captured]),
        disproof=_explained(outputs[~captured, DISPROOF], powers[~captured]),
    )
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
        """Return the weights for unscaled traits."""
        return OrderingNet(
            linear=_unscaled(self.linear, centre, scale),
            inner=_unscaled(self.inner, centre, scale),
            outer=self.outer.detach().numpy().astype(np.float32),
        )


def _loss(
    learner: _Learner, traits: Tensor, sides: Tensor, captured: Tensor, powers: Tensor
) -> Tensor:
    outputs, proved = learner(traits, sides), captured.float()
    size = proved * outputs[:, PROOF] + (1 - proved) * outputs[:, DISPROOF]
    odds = nn.functional.binary_cross_entropy_with_logits(outputs[:, ODDS], proved)
    loss: Tensor = odds + _SIZE_WEIGHT * ((size - powers) ** 2).mean()
    return loss


def _explained(predicted: Tensor, powers: Tensor) -> float:
    return 1 - float(((predicted - powers) ** 2).mean() / powers.var(correction=0))


def _unscaled(
    weights: Tensor, centre: NDArray[np.float32], scale: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Fold the shift and scale of the inputs into weights of shape (2, TRAITS, ..)."""
    folded = weights.detach().numpy().astype(np.float64) / scale[None, :, None]
    folded[:, ALWAYS] -= (folded * centre[None, :, None]).sum(1)
    return np.ascontiguousarray(folded, np.float32)
