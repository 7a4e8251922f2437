"""Proof trees as SGF: every node says what was proved there, and why a line ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from miai_go.board import BLACK_STONE, point_name
from miai_go.tsumego.problem_sgf import LETTER_OF, problem_file
from miai_go.tsumego.problems import Problem
from miai_go.tsumego.proof_tree import Ending, Proof, ProofNode
from miai_go.tsumego.prover import Master, Verdict
from miai_go.tsumego.zones import ATTACKER

_MASTERS = {
    Master.ATTACKER: "the attacker may retake every ko at once",
    Master.DEFENDER: "the defender may retake every ko at once",
    Master.NOBODY: "nobody may retake a ko at once",
}


def write_proofs(problem: Problem, proofs: Iterable[Proof]) -> bytes:
    """Return proofs of a problem as one SGF file, a game for each."""
    return b"".join(_game(problem, proof).serialise() for proof in proofs)


def _game(problem: Problem, proof: Proof) -> Any:
    zone = proof.prover.zone
    side = proof.root.place.side
    bare = Problem(
        size=zone.size,
        stones=zone.stones,
        target=zone.target,
        to_play=zone.color(side),
        name=problem.name,
    )
    file = problem_file(bare)
    root = file.get_root()
    root.set("C", _head(proof))
    pending: list[tuple[Any, ProofNode, int]] = [
        (root, child, side) for child in reversed(proof.root.children)
    ]
    while pending:
        parent, node, mover = pending.pop()
        child = parent.new_child()
        at = node.move if node.move is not None and node.move < zone.size**2 else None
        child.set_move(LETTER_OF[zone.color(mover)], None if at is None else divmod(at, zone.size))
        child.set("C", _comment(proof, node))
        pending.extend((child, below, 1 - mover) for below in reversed(node.children))
    return file


def _head(proof: Proof) -> str:
    zone = proof.prover.zone
    attacker, defender = _color(zone.attacker), _color(zone.defender)
    winner, other = attacker, defender
    if proof.verdict == Verdict.PREVENTED:
        winner, other = defender, attacker
    first = attacker if proof.root.place.side == ATTACKER else defender
    lines = [
        f"{defender}'s block at {point_name(zone.target, zone.size)}, {first} first: proved "
        f"{_word(proof.verdict)}; {_MASTERS[proof.prover.master]}.",
        f"One proved move of {winner}, all moves of {other} within the zone; {proof.count} nodes"
        + (", cut where it says so." if proof.cut else ", complete."),
        f"Positions made: {proof.root.nodes:,}.",
    ]
    if proof.root.ending is not None:
        lines.append(_ending(proof, proof.root))
    return "\n".join(lines)


def _comment(proof: Proof, node: ProofNode) -> str:
    if node.ending == Ending.CUT:
        return f"{_ending(proof, node)}."
    if node.ending is not None and node.ending != Ending.NO_MOVE:
        return f"{_word(proof.verdict)}: {_ending(proof, node)}."
    text = f"proved {_word(proof.verdict)}; positions made for it: {node.nodes:,}"
    return f"{text}: {_ending(proof, node)}." if node.ending else f"{text}."


def _ending(proof: Proof, node: ProofNode) -> str:
    assert node.ending is not None
    if node.ending != Ending.SHOWN:
        return str(node.ending.value)
    zone, side = proof.prover.zone, proof.root.place.side
    moves = [
        f"{'BW'[zone.color((side + ply) % 2) - 1]} {point_name(move, zone.size)}"
        for ply, move in enumerate(node.shown)
    ]
    return f"{node.ending.value}, after {', '.join(moves)}"


def _word(verdict: Verdict) -> str:
    return "unsafe" if verdict == Verdict.REACHED else "safe"


def _color(stone: int) -> str:
    return "Black" if stone == BLACK_STONE else "White"
