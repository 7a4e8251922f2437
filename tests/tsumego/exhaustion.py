"""Whole zones compared with exhaustion: both first movers, all ko masters, and positions within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from tests.tsumego.brute_force import (
    ATTACKER,
    DEFENDER,
    NOBODY,
    Fight,
    LoneAttacker,
    State,
    forced,
    reachable,
)
from tests.tsumego.tiny_zones import held_zone, tiny_zone

from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.solver.ordering_net import OrderingNet
from miai_go.tsumego.solver.prover import Master, ProofVerdict, Prover, ZonePosition
from miai_go.tsumego.zones import Zone

MASTERS = {NOBODY: Master.NOBODY, ATTACKER: Master.ATTACKER, DEFENDER: Master.DEFENDER}
MOST_POINTS, MOST_EMPTY = 15, 6
MOST_STATES = 50_000
_TABLE_BYTES = 1 << 13
"""So little that entries are evicted all the time."""


@dataclass
class Comparison:
    """What came of comparing zones.

    Attributes:
      zones: that were compared.
      comparisons: of whole zones, one for each first mover and ko master.
      unsafe: comparisons in which exhaustion says that the target can be captured.
      critical: zones of which it can with the attacker first alone (nobody is ko master).
      ko: zones whose answer is another one with another ko master.
      advised: comparisons of whole zones with a prover that a network advises.
      within: comparisons of positions that play within the zones can reach.
      states: positions that were exhausted, with the target standing.
      left_out: zones with more positions than are exhausted.
      wrong: what the prover and exhaustion disagree on.
    """

    zones: int = 0
    comparisons: int = 0
    unsafe: int = 0
    critical: int = 0
    ko: int = 0
    advised: int = 0
    within: int = 0
    states: int = 0
    left_out: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(
        self,
        zone: Zone,
        rng: np.random.Generator,
        *,
        places: int,
        network: OrderingNet | None = None,
    ) -> None:
        """Compare a zone, and so many positions within it for each first mover and ko master."""
        output: dict[tuple[int, int], bool] = {}
        alone = Exhausted.of(zone, NOBODY)
        for number, master in MASTERS.items():
            # Mastery lifts bans and nothing else: without any, play is the same.
            graph = Exhausted.of(zone, number) if alone and alone.bans and number >= 0 else alone
            if graph is None:
                self.left_out += 1
                return
            self.states += len(graph.standing)
            for root in roots(zone):
                output[number, root[2]] = root in graph.captured
                count = len(graph.standing)
                drawn = rng.choice(count, min(places, count), replace=False)
                within = [graph.standing[i] for i in drawn]
                self._ask(zone, master, [root, *within], graph.captured, None)
                if network is not None:
                    self._ask(zone, master, [root], graph.captured, network)
                    self.advised += 1
                self.within += len(within)
        self.zones += 1
        self.comparisons += len(output)
        self.unsafe += sum(output.values())
        self.critical += output[NOBODY, ATTACKER] != output[NOBODY, DEFENDER]
        self.ko += any(
            len({output[master, side] for master in MASTERS}) > 1 for side in (ATTACKER, DEFENDER)
        )

    def _ask(
        self,
        zone: Zone,
        master: Master,
        states: list[State],
        captured: set[State],
        network: OrderingNet | None,
    ) -> None:
        """Ask one prover about positions in turn."""
        prover = Prover(zone, master=master, table_bytes=_TABLE_BYTES, network=network)
        for state in states:
            verdict = prover.ask(place_of(zone, state)).verdict
            right = ProofVerdict.REACHED if state in captured else ProofVerdict.PREVENTED
            if verdict != right:
                board = zone.stones.reshape(zone.size, zone.size).tolist()
                self.wrong.append(
                    f"{verdict.value}, not {right.value}: {state}, ko master {master.name}, "
                    f"target {zone.target}, {board}"
                )


def compare(
    rng: np.random.Generator, zones: int, *, places: int, network: OrderingNet | None
) -> Iterator[Comparison]:
    """Compare so many different zones; yield what came of it so far after each."""
    found = Comparison()
    for zone in different_zones(rng):
        found.add(zone, rng, places=places, network=network)
        yield found
        if found.zones >= zones:
            return


@dataclass(frozen=True)
class Exhausted:
    """All that play can reach from a zone, for both first movers: either may pass.

    Attributes:
      fight: the zone, with its ko master.
      graph: what follows each position.
      standing: positions in which the target stands.
      captured: those from which it can be captured, and those in which it is.
    """

    fight: Fight
    graph: dict[State, list[State]]
    standing: list[State]
    captured: set[State]

    @classmethod
    def of(cls, zone: Zone, master: int, *, max_states: int = MOST_STATES) -> Exhausted | None:
        """Exhaust a zone; None where it has too many positions."""
        fight = Fight(zone.size, frozenset(zone.points), zone.target, master)
        graph = reachable(fight, roots(zone)[ATTACKER], max_states)
        if graph is None:
            return None
        assert all(root in graph for root in roots(zone))
        standing = [state for state in graph if zone.target in state[1]]
        captured = forced(graph, set(graph) - set(standing), ATTACKER)
        return cls(fight, graph, standing, captured)

    @property
    def bans(self) -> bool:
        """Whether any point is ever banned."""
        return any(state[3] >= 0 for state in self.graph)

    def sure_of_two_eyes(self) -> set[State]:
        """Return the positions in which the defender can force two eyes."""
        alone = LoneAttacker(self.fight)
        alive = {state for state in self.graph if alone.cannot_take(state[0], state[1])}
        return forced(self.graph, alive, DEFENDER)


def different_zones(rng: np.random.Generator) -> Iterator[Zone]:
    """Draw zones without end, no two of which are the same but for symmetry, colours and place."""
    seen: set[int] = set()
    while True:
        draw = tiny_zone if rng.random() < 0.15 else held_zone
        zone = draw(rng, most_points=MOST_POINTS, most_empty=MOST_EMPTY)
        key = CanonicalForm(zone).key
        if key not in seen:
            seen.add(key)
            yield zone


def roots(zone: Zone) -> list[State]:
    attackers = frozenset(np.flatnonzero(zone.stones == zone.attacker).tolist())
    defenders = frozenset(np.flatnonzero(zone.stones == zone.defender).tolist())
    return [(attackers, defenders, side, -1) for side in (ATTACKER, DEFENDER)]


def place_of(zone: Zone, state: State) -> ZonePosition:
    attackers = sum(1 << i for i, p in enumerate(zone.points) if p in state[0])
    defenders = sum(1 << i for i, p in enumerate(zone.points) if p in state[1])
    ban = -1 if state[3] < 0 else zone.points.index(state[3])
    return ZonePosition(attackers, defenders, state[2], ban)
