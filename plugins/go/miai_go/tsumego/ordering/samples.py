"""Positions that searches met, and how a search of each alone goes.

The positions that a search looks at are of another kind than those of good play: most of them are
mistakes. So they are taken out of the prover's table. Each is then searched by itself, with an
empty table: whether the target is captured, and how many positions that takes to prove, is what the
network learns. Who advises these searches decides both which positions are met and what they cost,
so that a network learns best from searches that the network before it advised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai.seeds import derive_seed
from miai_go.tsumego.data.sources import draw_fight_zone
from miai_go.tsumego.guiding import OrderingNet
from miai_go.tsumego.kernels.traits import TRAITS, traits_of_all
from miai_go.tsumego.prover import Place, Prover, Verdict
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone

LEAST_EMPTY: Final = 10
MOST_EMPTY: Final = 14
_NODES: Final = 150_000
"""Positions that a zone's search may make; one that is not done by then is of use, too."""
_NODES_ALONE: Final = 30_000
"""Positions that the search of one position may make; one that needs more is left out."""
_OF_A_ZONE: Final = 60
_LEAST_MET: Final = 40
_TABLE_BYTES: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Positions and what became of them; all of shape (n,) but for the traits.

    Attributes:
      traits: float32 of shape (n, TRAITS); see `miai_go.tsumego.kernels.traits`.
      sides: int64, who is to move, 0 the attacker.
      captured: bool, whether the attacker captures the target.
      powers: float32, log2 of the positions that the proof took.
      zones: int64, the number of the zone, so that zones can be held out whole.
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
    """Draw zones until at least so many positions are there.

    Args:
      seed: the same one, with the same network, gives the same positions.
      network: advises the searches.
      progress: told now and then how many there are.
    """
    found: list[Samples] = []
    number, have = 0, 0
    while have < count:
        rng = np.random.default_rng(derive_seed("tsumego-ordering", seed, number))
        zone = draw_fight_zone(rng, empty=int(rng.integers(LEAST_EMPTY, MOST_EMPTY + 1)))
        if zone is not None and (drawn := _of_zone(rng, zone, number, network)) is not None:
            found.append(drawn)
            have += len(drawn)
            if progress is not None:
                progress(have)
        number += 1
    return joined(found)


def joined(parts: list[Samples]) -> Samples:
    """Return samples in one."""
    return Samples(
        traits=np.concatenate([part.traits for part in parts]),
        sides=np.concatenate([part.sides for part in parts]),
        captured=np.concatenate([part.captured for part in parts]),
        powers=np.concatenate([part.powers for part in parts]),
        zones=np.concatenate([part.zones for part in parts]),
    )


def _of_zone(
    rng: np.random.Generator, zone: Zone, number: int, network: OrderingNet | None
) -> Samples | None:
    """Search a zone, and search positions that were met; None where there were hardly any.

    In half of the zones all positions that were met are as likely, in the others those that took
    work are likelier.
    """
    prover = Prover(zone, network=network)
    for side in (ATTACKER, DEFENDER):
        prover.ask(prover.begin(side), nodes=_NODES)
    met = prover.met()
    if len(met.sides) < _LEAST_MET:
        return None
    weights = np.sqrt(np.minimum(met.work, 10_000) + 1.0)
    evenly = rng.random() < 0.5
    chosen = rng.choice(
        len(met.sides),
        min(_OF_A_ZONE, len(met.sides)),
        replace=False,
        p=None if evenly else weights / weights.sum(),
    )
    known, captured, powers = [], [], []
    for i in chosen.tolist():
        place = Place(
            int(met.attackers[i]), int(met.defenders[i]), int(met.sides[i]), int(met.bans[i])
        )
        alone = Prover(zone, table_bytes=_TABLE_BYTES, network=network)
        finding = alone.ask(place, nodes=_NODES_ALONE)
        if finding.verdict != Verdict.UNSOLVED:
            known.append(i)
            captured.append(finding.verdict == Verdict.REACHED)
            powers.append(np.log2(max(finding.nodes, 1)))
    traits = np.zeros((len(known), TRAITS), np.float32)
    zones = np.zeros(len(known), np.int64)
    traits_of_all(
        zone.words.reshape(1, -1),
        zones,
        np.ascontiguousarray(met.attackers[known]),
        np.ascontiguousarray(met.defenders[known]),
        np.ascontiguousarray(met.bans[known]),
        traits,
    )
    return Samples(
        traits=traits,
        sides=met.sides[known],
        captured=np.array(captured, np.bool_),
        powers=np.array(powers, np.float32),
        zones=zones + number,
    )
