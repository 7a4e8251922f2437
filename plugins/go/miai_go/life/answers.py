"""Proofs for generated problems: the target's fate for both movers, and the solving moves."""

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
    """A proof exceeds its limit of positions."""


@dataclass(frozen=True, slots=True)
class Fate:
    """Fate of a target.

    Attributes:
      status: with the attacker as ko master; never `KO` or `UNSOLVED`.
      ko: whether the answer for some first mover differs with the defender as ko master.
    """

    status: Status
    ko: bool = False


@dataclass(frozen=True, slots=True)
class SolvedProblem:
    """A critical zone with its answer; the attacker is ko master.

    Attributes:
      attacks, defences: all first moves that capture, and all that save, ascending.
      deep: for the attacker and the defender, whether some solving move needs a search; otherwise
        every one captures or makes unconditional life at once.
      nodes: positions searched by the two proofs from the start.
    """

    attacks: tuple[int, ...]
    defences: tuple[int, ...]
    deep: tuple[bool, bool]
    nodes: int


def fate_of(zone: Zone, *, nodes: int | None = None) -> Fate:
    """Prove the fate of the target of a zone.

    Raises:
      UnprovedError: a proof takes more than `nodes` positions.
    """
    strict, mild = (
        _prove_both(Prover(zone, master=master, table_bytes=TABLE_BYTES), nodes)[0]
        for master in (Master.ATTACKER, Master.DEFENDER)
    )
    return Fate(_STATUS[strict], strict != mild)


def answer(zone: Zone, *, nodes: int, least: int = 0) -> SolvedProblem | Status:
    """Solve a zone with the attacker as ko master; return only the status if it is not critical.

    Args:
      nodes: maximum number of positions per proof.
      least: minimum number of positions in the first two proofs; a critical zone that takes fewer
        returns `Status.CRITICAL`, without its moves.

    Raises:
      UnprovedError: a proof takes more.
    """
    prover = Prover(zone, table_bytes=TABLE_BYTES)
    safe, spent = _prove_both(prover, nodes)
    if _STATUS[safe] != Status.CRITICAL or spent < least:
        return _STATUS[safe]
    attacks, deep_attack = _solving(prover, ATTACKER, nodes)
    defences, deep_defence = _solving(prover, DEFENDER, nodes)
    return SolvedProblem(attacks, defences, (deep_attack, deep_defence), spent)


def solving_moves(zone: Zone, first: int, *, nodes: int | None = None) -> tuple[int, ...]:
    """Return all moves by which a side succeeds, ascending, without the pass.

    The attacker succeeds by capturing, the defender by being safe. The attacker is ko master.

    Raises:
      UnprovedError: a proof takes more than `nodes` positions.
    """
    return _solving(Prover(zone, table_bytes=TABLE_BYTES), first, nodes)[0]


def _prove_both(prover: Prover, nodes: int | None) -> tuple[tuple[bool, bool], int]:
    """Return whether the target is safe with the attacker, the defender first, and the nodes."""
    attacked, defended = (
        prover.ask(prover.begin(side), nodes=nodes) for side in (ATTACKER, DEFENDER)
    )
    if ProofVerdict.UNSOLVED in (attacked.verdict, defended.verdict):
        raise UnprovedError
    safe = attacked.verdict == ProofVerdict.PREVENTED, defended.verdict == ProofVerdict.PREVENTED
    return safe, attacked.nodes + defended.nodes


def _solving(prover: Prover, side: int, nodes: int | None) -> tuple[tuple[int, ...], bool]:
    """Return the solving points, and whether one of them needs a search."""
    wanted = ProofVerdict.REACHED if side == ATTACKER else ProofVerdict.PREVENTED
    zone, begin = prover.zone, prover.begin(side)
    fresh = Prover(zone, table_bytes=TABLE_BYTES)  # knows only the rules
    points, deep = [], False
    for move, place in prover.moves(begin):
        if zone.point(move) == zone.size**2:
            continue
        static = fresh.decided(begin, move)
        verdict = static or prover.ask(place, nodes=nodes).verdict
        if verdict == ProofVerdict.UNSOLVED:
            raise UnprovedError
        if verdict == wanted:
            points.append(zone.point(move))
            deep = deep or static is None
    return tuple(sorted(points)), deep
