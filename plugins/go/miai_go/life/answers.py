"""What is proved of a problem that was made: its fate for both movers, and the moves that solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from miai_go.life.prover import Master, ProofVerdict, Prover
from miai_go.life.status import Status
from miai_go.life.zones import ATTACKER, DEFENDER, Zone

TABLE_BYTES: Final = 1 << 26

_STATUS: Final = {
    (True, True): Status.ALIVE,
    (False, True): Status.CRITICAL,
    (False, False): Status.DEAD,
}


class UnprovedError(Exception):
    """A proof met the limit of positions."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a target.

    Attributes:
      status: with the attacker as ko master; never `KO` or `UNSOLVED`.
      ko: whether, for some first mover, it is another with the defender as ko master.
    """

    status: Status
    ko: bool = False


@dataclass(frozen=True, slots=True)
class SolvedProblem:
    """A critical zone with its answer; the attacker is ko master.

    Attributes:
      attacks, defences: all first moves that capture, and that save, ascending.
      deep: for the attacker and the defender, whether what a solving move leads to has to be
        searched; otherwise all of them capture, or make unconditional life, by themselves.
      nodes: positions that the two proofs from the start took.
    """

    attacks: tuple[int, ...]
    defences: tuple[int, ...]
    deep: tuple[bool, bool]
    nodes: int


def fate_of(zone: Zone, *, nodes: int | None = None) -> Fate:
    """Prove what becomes of the target of a zone.

    Raises:
      UnprovedError: a proof takes more than `nodes` positions.
    """
    strict, mild = (
        _both(Prover(zone, master=master, table_bytes=TABLE_BYTES), nodes)
        for master in (Master.ATTACKER, Master.DEFENDER)
    )
    return Fate(_STATUS[strict], strict != mild)


def answer(zone: Zone, *, nodes: int, least: int = 0) -> SolvedProblem | Status:
    """Solve a zone, the attacker as ko master; return its status where nothing is to be solved.

    Args:
      nodes: positions that one proof may take.
      least: positions that the first two proofs must take together, or its moves are not looked
        for: `Status.CRITICAL` is returned.

    Raises:
      UnprovedError: a proof takes more.
    """
    prover = Prover(zone, table_bytes=TABLE_BYTES)
    attacked, defended = (
        prover.ask(prover.begin(side), nodes=nodes) for side in (ATTACKER, DEFENDER)
    )
    if ProofVerdict.UNSOLVED in (attacked.verdict, defended.verdict):
        raise UnprovedError
    safe = attacked.verdict == ProofVerdict.PREVENTED, defended.verdict == ProofVerdict.PREVENTED
    spent = attacked.nodes + defended.nodes
    if _STATUS[safe] != Status.CRITICAL or spent < least:
        return _STATUS[safe]
    attacks, deep_attack = _solving(prover, ATTACKER, nodes)
    defences, deep_defence = _solving(prover, DEFENDER, nodes)
    return SolvedProblem(attacks, defences, (deep_attack, deep_defence), spent)


def solving_moves(zone: Zone, first: int, *, nodes: int | None = None) -> tuple[int, ...]:
    """Return all moves on the board by which a side succeeds, ascending; the pass is none.

    The attacker succeeds by capturing, the defender by being safe; the attacker is ko master.

    Raises:
      UnprovedError: a proof takes more than `nodes` positions.
    """
    return _solving(Prover(zone, table_bytes=TABLE_BYTES), first, nodes)[0]


def _both(prover: Prover, nodes: int | None) -> tuple[bool, bool]:
    """Return whether the target is safe with the attacker first, and with the defender first."""
    return _safe(prover, ATTACKER, nodes), _safe(prover, DEFENDER, nodes)


def _safe(prover: Prover, first: int, nodes: int | None) -> bool:
    finding = prover.ask(prover.begin(first), nodes=nodes)
    if finding.verdict == ProofVerdict.UNSOLVED:
        raise UnprovedError
    return finding.verdict == ProofVerdict.PREVENTED


def _solving(prover: Prover, side: int, nodes: int | None) -> tuple[tuple[int, ...], bool]:
    """Return the solving points, and whether what one of them leads to has to be searched."""
    wanted = ProofVerdict.REACHED if side == ATTACKER else ProofVerdict.PREVENTED
    zone, begin = prover.zone, prover.begin(side)
    fresh = Prover(zone, table_bytes=TABLE_BYTES)  # which knows the rules only
    points, deep = [], False
    for move, place in prover.moves(begin):
        if zone.point(move) == zone.size**2:
            continue
        seen = fresh.decided(begin, move)
        verdict = seen or prover.ask(place, nodes=nodes).verdict
        if verdict == ProofVerdict.UNSOLVED:
            raise UnprovedError
        if verdict == wanted:
            points.append(zone.point(move))
            deep = deep or seen is None
    return tuple(sorted(points)), deep
