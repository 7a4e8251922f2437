"""Proof trees, played again by rules of their own: every line ends where it is decided."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.tsumego.brute_force import ATTACKER, DEFENDER, Fight, State
from tests.tsumego.drawn import drawn, empty_corner, second_line
from tests.tsumego.known_seki import (
    BENT_FOUR_IN_THE_CORNER,
    DOUBLE_KO,
    EYE_AND_KO,
    RACE,
    SEKI,
    TWO_EYES,
)
from tests.tsumego.lone_attacker import LoneAttacker
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.errors import ProblemError
from miai_go.sgf.reading import read_bytes
from miai_go.tsumego.solver.proof_tree import LineEnd, Proof, ProofNode, proof_tree, write_proofs
from miai_go.tsumego.solver.prover import Master, ProofVerdict, Prover
from miai_go.tsumego.zones import Zone, find_zone


@dataclass
class Replay:
    """Plays a tree on an independent board and checks every node of it."""

    proof: Proof
    fight: Fight
    root: State
    wins: bool
    following: dict[State, list[State]] = field(default_factory=dict)
    ended: set[State] = field(default_factory=set)
    shown: set[State] = field(default_factory=set)
    cuts: int = 0

    def check(self, node: ProofNode, state: State, line: tuple[State, ...] = ()) -> None:
        before = state in line
        assert not (self.wins and before), "a proof of capture comes back to itself"
        if node.ending is not None and node.ending != LineEnd.NO_MOVE:
            self._check_end(node, state, before)
            return
        assert self.fight.target in state[1]
        moves = self._moves(state)
        chosen = {child.move: child for child in node.children if child.move is not None}
        assert len(chosen) == len(node.children)
        if (state[2] == ATTACKER) == self.wins:
            assert len(chosen) == 1
            assert set(chosen) <= set(moves) | {self.fight.size**2}
        else:
            assert set(chosen) == set(moves), "all moves of the side that fails are shown"
        assert (node.ending == LineEnd.NO_MOVE) == (not chosen)
        every = self._moves(state, passing=True)
        self.following[state] = [every[move] for move in chosen]
        for move, child in chosen.items():
            self.check(child, every[move], (*line, state))

    def _check_end(self, node: ProofNode, state: State, before: bool) -> None:
        assert not node.children
        if node.ending == LineEnd.CAPTURED:
            assert self.fight.target not in state[1]
            assert self.wins
        elif node.ending == LineEnd.ATARI:
            taken = [
                after for after in self.fight.moves(state) if self.fight.target not in after[1]
            ]
            assert state[2] == ATTACKER
            assert taken
            assert self.wins
        elif node.ending == LineEnd.ALIVE:
            assert LoneAttacker(self.fight).cannot_take(state[0], state[1])
            assert not self.wins
        elif node.ending == LineEnd.REPEATED:
            assert before
            assert not self.wins
        elif node.ending == LineEnd.SHOWN:
            assert self._after(node.shown) == state
            self.shown.add(state)
            return
        else:
            assert node.ending == LineEnd.CUT
            self.cuts += 1
        self.ended.add(state)

    def finish(self) -> None:
        """Check that what is shown elsewhere is, and that a proof of capture comes to an end."""
        assert self.shown <= set(self.following) | self.ended
        assert self.proof.cut == (self.cuts > 0)
        if self.wins:
            self._check_no_loop()

    def _check_no_loop(self) -> None:
        left = dict(self.following)
        while left:
            done = [s for s, after in left.items() if not any(each in left for each in after)]
            assert done, "positions that are shown elsewhere lead back to each other"
            for state in done:
                del left[state]

    def _moves(self, state: State, *, passing: bool | None = None) -> dict[int, State]:
        """Return what follows each move; a pass of the attacker only where it ends a ban."""
        out = {}
        for after in self.fight.moves(state):
            attackers, defenders = after[0] - state[0], after[1] - state[1]
            placed = attackers if state[2] == ATTACKER else defenders
            if placed:
                out[next(iter(placed))] = after
            elif passing or state[2] == DEFENDER or state[3] >= 0:
                out[self.fight.size**2] = after
        return out

    def _after(self, moves: tuple[int, ...]) -> State:
        state = self.root
        for move in moves:
            state = self._moves(state, passing=True)[move]
        return state


def replay(zone: Zone, first: int, master: Master, **limits: int) -> Replay:
    proof = proof_tree(Prover(zone, master=master), first, **limits)
    fight = Fight(zone.size, frozenset(zone.points), zone.target, master.value)
    colors = (zone.attacker, zone.defender)
    attackers, defenders = (frozenset(np.flatnonzero(zone.stones == c).tolist()) for c in colors)
    root = (attackers, defenders, first, -1)
    output = Replay(proof, fight, root, proof.verdict == ProofVerdict.REACHED)
    output.check(proof.root, root)
    output.finish()
    assert proof.count == sum(1 for _ in proof.root.walk())
    return output


KNOWN = {
    "corner five": second_line(5, corner=True),
    "corner four": second_line(4, corner=True),
    "side seven": second_line(7, corner=False),
    "bent four": drawn(BENT_FOUR_IN_THE_CORNER),
    "eye and ko": drawn(EYE_AND_KO),
    "double ko": drawn(DOUBLE_KO),
    "race": drawn(RACE),
    **{name: drawn(text) for name, text in (SEKI | TWO_EYES).items()},
}


@pytest.mark.parametrize("name", KNOWN)
def test_proofs_of_known_positions_are_whole(name: str) -> None:
    zone = find_zone(KNOWN[name].stones, KNOWN[name].target)
    for first in (ATTACKER, DEFENDER):
        for master in Master:
            assert not replay(zone, first, master).proof.cut


@pytest.mark.parametrize("seed", range(25))
def test_proofs_of_random_zones_are_whole(seed: int) -> None:
    print(f"seed {seed}")
    zone = tiny_zone(np.random.default_rng(3_000 + seed), most_points=9, most_empty=5)
    for first in (ATTACKER, DEFENDER):
        for master in Master:
            replay(zone, first, master)


@pytest.mark.parametrize("nodes", [1, 5, 40, 150])
def test_a_tree_is_cut_at_its_limit_and_says_where(nodes: int) -> None:
    problem = second_line(7, corner=False)
    output = replay(
        find_zone(problem.stones, problem.target), ATTACKER, Master.ATTACKER, nodes=nodes
    )
    assert output.proof.cut
    assert output.proof.count <= nodes
    assert output.cuts > 0
    assert write_proofs(problem, [output.proof]).count(b"the tree is cut here") == output.cuts


def test_a_line_without_end_is_reported() -> None:
    problem = drawn(DOUBLE_KO)
    proof = proof_tree(Prover(find_zone(problem.stones, problem.target)), ATTACKER)
    assert proof.verdict == ProofVerdict.PREVENTED
    assert LineEnd.REPEATED in {node.ending for node in proof.root.walk()}


def test_no_verdict_gives_no_tree() -> None:
    problem = empty_corner()
    with pytest.raises(ProblemError, match="unsolved"):
        proof_tree(Prover(find_zone(problem.stones, problem.target)), ATTACKER, seconds=0.1)


def test_as_sgf_every_line_can_be_played_and_every_node_says_what_it_proves() -> None:
    problem = second_line(5, corner=True)
    zone = find_zone(problem.stones, problem.target)
    prover = Prover(zone)
    proofs = [proof_tree(prover, first) for first in (ATTACKER, DEFENDER)]
    games = read_bytes(write_proofs(problem, proofs))
    for game, proof, word in zip(games, proofs, ("unsafe", "safe"), strict=True):
        leaves = [node for node in proof.root.walk() if not node.children]
        assert len(list(game.lines())) == len(leaves)
        pending, nodes = [game.root], 0
        while pending:
            node = pending.pop()
            nodes += 1
            assert word in node.get("C")
            assert ("unsafe" in node.get("C")) == (word == "unsafe")
            pending.extend(node)
        assert nodes == proof.count
        assert "complete" in game.root.get("C")
