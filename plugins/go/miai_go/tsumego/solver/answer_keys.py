"""Answer keys of problems: proved for generated problems, compared with the proof for others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.prover import SUCCESS, ProofVerdict, Prover
from miai_go.tsumego.solver.solver import ProblemReport, Status
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone

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


def answer(zone: Zone, *, nodes: int, min_nodes: int = 0) -> SolvedProblem | Status:
    """Solve a zone with the attacker as ko master; return only the status if it is not critical.

    Args:
      nodes: maximum number of positions per proof.
      min_nodes: minimum number of positions in the first two proofs; a critical zone that takes
        fewer returns `Status.CRITICAL`, without its moves.

    Raises:
      UnprovedError: a proof takes more.
    """
    prover = Prover(zone, table_bytes=TABLE_BYTES)
    safe, spent = _prove_both(prover, nodes)
    if _STATUS[safe] != Status.CRITICAL or spent < min_nodes:
        return _STATUS[safe]
    attacks, deep_attack = _solving(prover, ATTACKER, nodes)
    defences, deep_defence = _solving(prover, DEFENDER, nodes)
    return SolvedProblem(attacks, defences, (deep_attack, deep_defence), spent)


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
    zone, begin = prover.zone, prover.begin(side)
    points, deep = [], False
    for move, place in prover.moves(begin):
        if zone.point(move) == zone.size**2:
            continue
        # What the board shows at once is no exercise.
        static = prover.settled(place)
        verdict = static or prover.ask(place, nodes=nodes).verdict
        if verdict == ProofVerdict.UNSOLVED:
            raise UnprovedError
        if verdict == SUCCESS[side]:
            points.append(zone.point(move))
            deep = deep or static is None
    return tuple(sorted(points)), deep


def with_key(
    problem: Problem, zone: Zone, *, first: int, moves: tuple[int, ...], name: str
) -> Problem:
    """Return a problem with its answer key; without `moves` the side that moves first fails."""
    mover = zone.color(first)
    return replace(
        problem,
        to_play=mover if moves else None,
        solutions=moves,
        name=name,
        first=mover,
        safe=(first == DEFENDER) == bool(moves),
        best=moves[0] if moves else None,
        empty=zone.empty,
    )


class KeyMoves(StrEnum):
    """How the key's moves compare with the proved solving moves.

    `ALL`: they are the same. `SOME`: the key's moves solve the problem, and so do others. `WRONG`:
    one of the key's moves does not solve it. `NOT_NEEDED`: a pass solves it too.
    """

    ALL = "all"
    SOME = "some"
    WRONG = "wrong"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class KeyComparison:
    """How the answer key in the file compares with the proof; None where either is missing.

    Attributes:
      to_play: whether the side that should succeed does, moving first.
      moves: how the key's moves compare with the solving moves.
      safe: whether the key is right about the target's safety.
    """

    to_play: bool | None
    moves: KeyMoves | None
    safe: bool | None


def compare_key(problem: Problem, report: ProblemReport) -> KeyComparison:
    """Compare a problem's answer key with what was proved."""
    safe = None
    if problem.safe is not None and problem.first is not None:
        proved = report.first_answer(problem.first).is_safe
        safe = None if proved is None else proved == problem.safe
    if problem.to_play is None:
        return KeyComparison(None, None, safe)
    succeeds = report.first_answer(problem.to_play).succeeds
    return KeyComparison(succeeds, _compare_moves(problem, report), safe)


def _compare_moves(problem: Problem, report: ProblemReport) -> KeyMoves | None:
    if not problem.solutions or problem.to_play is None:
        return None
    answer = report.first_answer(problem.to_play)
    if not answer.succeeds:
        return None if answer.succeeds is None else KeyMoves.WRONG
    if answer.needs_move is False:
        return KeyMoves.NOT_NEEDED
    if not answer.moves and not answer.open_moves:
        return None  # the search did not look for moves, or solved none
    key, proved = set(problem.solutions), set(answer.moves)
    if key & set(answer.open_moves):
        return None
    if not key <= proved:
        return KeyMoves.WRONG
    return KeyMoves.ALL if key == proved and not answer.open_moves else KeyMoves.SOME
