"""The prover against exhaustion, and against what players have long known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tsumego.brute_force import ATTACKER, DEFENDER, NOBODY, Fight, forced, reachable
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.tsumego.prover import Master, Prover, Verdict
from miai_go.tsumego.zones import Zone

MASTERS = {NOBODY: Master.NOBODY, ATTACKER: Master.ATTACKER, DEFENDER: Master.DEFENDER}


def fight_of(zone: Zone, master: int) -> Fight:
    return Fight(zone.size, frozenset(zone.points), zone.target, master)


def check(zone: Zone, *, most: int) -> int:
    """Compare all verdicts of a zone with exhaustion; return how many were compared."""
    attackers = frozenset(np.flatnonzero(zone.stones == zone.attacker).tolist())
    defenders = frozenset(np.flatnonzero(zone.stones == zone.defender).tolist())
    compared = 0
    for number, master in MASTERS.items():
        fight = fight_of(zone, number)
        for side in (ATTACKER, DEFENDER):
            root = (attackers, defenders, side, -1)
            graph = reachable(fight, root, most)
            if graph is None:
                continue
            taken = {state for state in graph if zone.target not in state[1]}
            won = forced(graph, taken, ATTACKER)
            prover = Prover(zone, master=master, table_bytes=1 << 16)
            finding = prover.ask(prover.begin(side))
            assert finding.verdict != Verdict.UNSOLVED
            assert (finding.verdict == Verdict.REACHED) == (root in won), (zone, master, side)
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(40))
def test_verdicts_are_those_of_exhaustion(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    zone = tiny_zone(rng, most_points=9, most_empty=5)
    check(zone, most=20_000)
