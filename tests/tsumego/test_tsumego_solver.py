"""The prover and the solver: known groups, seki and ko, moves that solve, limits, proof trees."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.tsumego import known_seki
from tests.tsumego.brute_force import ATTACKER, DEFENDER, Fight, LoneAttacker, State
from tests.tsumego.drawn import drawn, empty_corner, named, second_line
from tests.tsumego.exhaustion import MASTERS, Exhausted, compare, roots
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.errors import ProblemError
from miai_go.sgf.reading import read_bytes
from miai_go.tsumego.shipped import ORDERING
from miai_go.tsumego.solver.answer_keys import KeyMoves, compare_key
from miai_go.tsumego.solver.ordering_net import OrderingNet
from miai_go.tsumego.solver.proof_tree import LineEnd, Proof, ProofNode, proof_tree, write_proofs
from miai_go.tsumego.solver.prover import _FIRST_BYTES, Goal, Master, ProofVerdict, Prover
from miai_go.tsumego.solver.solver import Solver, Status, solve
from miai_go.tsumego.zones import Zone, find_zone

MOST = 8_000


def test_all_moves_that_solve_a_row_are_listed() -> None:
    corner = second_line(5, corner=True)
    report = solve(corner)
    for answer in report.answers.values():
        assert answer.needs_move
        assert named(answer.moves, corner) == ["B1", "E1"]
    # Seven on the side begin at E: both ends kill; the point in the middle only saves.
    side = second_line(7, corner=False)
    answers = solve(side).answers
    assert named(answers[ATTACKER].moves, side) == ["E1", "L1"]
    assert named(answers[DEFENDER].moves, side) == ["E1", "H1", "L1"]


@pytest.mark.parametrize("name", known_seki.SEKI | known_seki.TWO_EYES | known_seki.TAKEN)
def test_seki_is_reported_where_it_is_one(name: str) -> None:
    report = solve(drawn((known_seki.SEKI | known_seki.TWO_EYES | known_seki.TAKEN)[name]))
    assert report.status == (Status.DEAD if name in known_seki.TAKEN else Status.ALIVE)
    assert [answer.seki for answer in report.answers.values()] == [name in known_seki.SEKI] * 2


def test_who_moves_first_may_decide_between_seki_and_two_eyes() -> None:
    report = solve(drawn(known_seki.FOUR_IN_SIX_AND_A_LIBERTY))
    assert report.status == Status.ALIVE
    assert report.answers[ATTACKER].seki is True
    assert report.answers[DEFENDER].seki is False


@pytest.mark.parametrize("text", [known_seki.BENT_FOUR_IN_THE_CORNER, known_seki.EYE_AND_KO])
def test_a_ko_decides(text: str) -> None:
    report = solve(drawn(text))
    assert report.status == Status.KO
    defended = report.answers[DEFENDER]
    assert defended.safe[Master.ATTACKER] is False
    assert defended.safe[Master.DEFENDER] is True
    assert solve(drawn(text), ko_masters=(Master.DEFENDER,)).answers[DEFENDER].is_safe


def test_a_double_ko_lives_though_the_attacker_takes_every_ko() -> None:
    report = solve(drawn(known_seki.DOUBLE_KO))
    assert report.status == Status.ALIVE
    # What never ends is no life by two eyes; whoever may connect has them.
    assert report.answers[ATTACKER].seki is True
    assert report.answers[DEFENDER].seki is False


def test_a_race_with_a_block_inside_the_zone() -> None:
    problem = drawn(known_seki.RACE)
    report = solve(problem)
    assert report.status == Status.CRITICAL
    assert named(report.answers[ATTACKER].moves, problem) == ["F1", "F3"]
    assert named(report.answers[DEFENDER].moves, problem) == ["D1"]


def status_of(zone: Zone, by_master: dict[int, Exhausted]) -> Status:
    safe = {
        master: [root not in exhausted.captured for root in roots(zone)]
        for master, exhausted in by_master.items()
    }
    if safe[ATTACKER] != safe[DEFENDER]:
        return Status.KO
    if safe[ATTACKER][ATTACKER]:
        return Status.ALIVE
    return Status.CRITICAL if safe[ATTACKER][DEFENDER] else Status.DEAD


def placed(before: State, after: State) -> frozenset[int]:
    """Return the stone that a move placed, as a set; empty for a pass."""
    attackers, defenders = after[0] - before[0], after[1] - before[1]
    return attackers if before[2] == ATTACKER else defenders


@pytest.mark.parametrize("seed", range(40))
def test_a_report_is_what_exhaustion_says(seed: int) -> None:
    print(f"seed {seed}")
    zone = tiny_zone(np.random.default_rng(2_000 + seed), most_points=9, most_empty=5)
    by_master = {}
    for number in MASTERS:
        exhausted = Exhausted.of(zone, number, max_states=MOST)
        if exhausted is None:
            pytest.skip("too many positions for exhaustion")
        by_master[number] = exhausted
    graph, falls = by_master[ATTACKER].graph, by_master[ATTACKER].captured
    lives = by_master[ATTACKER].sure_of_two_eyes()
    report = solve(zone)
    assert report.status == status_of(zone, by_master)
    for side, answer in report.answers.items():
        root = roots(zone)[side]
        assert answer.is_safe == (root not in falls)
        assert answer.seki == (root not in falls and root not in lives)
        for master, safe in answer.safe.items():
            assert safe == (root not in by_master[master.value].captured)
        if not answer.succeeds:
            assert (answer.moves, answer.needs_move) == ((), None)
            continue
        good = [state for state in graph[root] if (state in falls) == (side == ATTACKER)]
        points = {next(iter(placed(root, after)), None) for after in good}
        assert answer.needs_move == (None not in points)
        assert set(answer.moves) == (points if answer.needs_move else set())


def test_a_limit_of_nodes_or_time_leaves_it_unsolved_that_of_nodes_the_same_each_time() -> None:
    first, second = (solve(empty_corner(), nodes=3_000, seconds=None) for _ in range(2))
    assert first.status == Status.UNSOLVED
    assert first.why == "3,000 positions were searched"
    assert 3_000 <= first.nodes < 4_000
    assert all(answer.is_safe is None and not answer.moves for answer in first.answers.values())
    assert first.nodes == second.nodes

    report = solve(empty_corner(), seconds=0.2)
    assert report.status == Status.UNSOLVED
    assert report.why == "0.2 s have passed"
    assert report.seconds < 10.0


def test_no_limit_is_overdrawn_by_guessing() -> None:
    problem = second_line(7, corner=False)
    whole = solve(problem)
    for nodes in (1, 100, 1_000, 3_000, 10_000):
        part = solve(problem, nodes=nodes, seconds=None)
        assert part.status in (whole.status, Status.UNSOLVED)
        for side, answer in part.answers.items():
            full = whole.answers[side]
            assert answer.is_safe in (full.is_safe, None)
            assert set(answer.moves) <= set(full.moves)
            assert answer.seki in (full.seki, None)


def test_a_solver_goes_on_from_what_it_knows() -> None:
    solver = Solver(second_line(7, corner=False))
    assert solver.solve(nodes=200, seconds=None).status == Status.UNSOLVED
    assert solver.solve().status == Status.CRITICAL
    assert solver.solve().nodes == 0


def test_moves_that_were_not_searched_for_are_not_compared_with_the_key() -> None:
    row = dataclasses.replace(second_line(5, corner=True), to_play=2, solutions=(1, 4))
    assert compare_key(row, solve(row, first=DEFENDER)).moves == KeyMoves.ALL
    others_first = solve(row, first=ATTACKER)
    assert compare_key(row, others_first).to_play is True
    assert compare_key(row, others_first).moves is None
    dead = dataclasses.replace(second_line(6, corner=False), to_play=2, solutions=(1,))
    assert compare_key(dead, solve(dead, first=ATTACKER)).moves == KeyMoves.WRONG


def test_a_board_without_a_zone_is_refused() -> None:
    with pytest.raises(ProblemError, match="wall"):
        solve(drawn("T . O\n. . ."))


# -- proof trees, played again by rules of their own: every line ends where it is decided ----------


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
            assert state[2] == ATTACKER
            assert any(self.fight.target not in after[1] for after in self.fight.moves(state))
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
    root = roots(zone)[first]
    output = Replay(proof, fight, root, proof.verdict == ProofVerdict.REACHED)
    output.check(proof.root, root)
    output.finish()
    assert proof.count == sum(1 for _ in proof.root.walk())
    return output


KNOWN = {
    "corner five": second_line(5, corner=True),
    "corner four": second_line(4, corner=True),
    "side seven": second_line(7, corner=False),
    "bent four": drawn(known_seki.BENT_FOUR_IN_THE_CORNER),
    "eye and ko": drawn(known_seki.EYE_AND_KO),
    "double ko": drawn(known_seki.DOUBLE_KO),
    "race": drawn(known_seki.RACE),
    **{name: drawn(text) for name, text in (known_seki.SEKI | known_seki.TWO_EYES).items()},
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
    zone = find_zone(problem.stones, problem.target)
    output = replay(zone, ATTACKER, Master.ATTACKER, nodes=nodes)
    assert output.proof.cut
    assert output.proof.count <= nodes
    assert output.cuts > 0
    assert write_proofs(problem, [output.proof]).count(b"the tree is cut here") == output.cuts


def test_a_line_without_end_is_reported() -> None:
    problem = drawn(known_seki.DOUBLE_KO)
    proof = proof_tree(Prover(find_zone(problem.stones, problem.target)), ATTACKER)
    assert proof.verdict == ProofVerdict.PREVENTED
    assert LineEnd.REPEATED in {node.ending for node in proof.root.walk()}


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


# -- the prover against exhaustion, and against what players have long known -----------------------


def test_a_capture_on_the_board_needs_no_search() -> None:
    problem = drawn("X X X\nT . X")
    prover = Prover(find_zone(problem.stones, problem.target))
    begin = prover.begin(ATTACKER)
    place = dict(prover.moves(begin))[prover.zone.number(1)]
    assert prover.settled(place) == ProofVerdict.REACHED


def test_two_eyes_on_the_board_need_no_search() -> None:
    problem = drawn("X X X X X\nO O O O X\n. T . O X")
    prover = Prover(find_zone(problem.stones, problem.target), goal=Goal.LIFE)
    for side in (ATTACKER, DEFENDER):
        finding = prover.ask(prover.begin(side))
        assert (finding.verdict, finding.nodes) == (ProofVerdict.REACHED, 0)


def test_the_table_grows_up_to_its_limit_and_no_further() -> None:
    problem = empty_corner()
    sizes = []
    for limit in (_FIRST_BYTES, 4 * _FIRST_BYTES):
        prover = Prover(find_zone(problem.stones, problem.target), table_bytes=limit)
        first = prover._work.arrays.table.nbytes
        assert first == 1024 * 4 * 5 * 8  # buckets of four entries
        prover.ask(prover.begin(ATTACKER), nodes=40_000)
        prover.ask(prover.begin(DEFENDER), nodes=40_000)
        sizes.append(prover._work.arrays.table.nbytes / first)
    assert sizes == [1, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "zones"),
    [(0, 30), *(pytest.param(n, 250, marks=pytest.mark.soak) for n in range(1, 21))],
)
@pytest.mark.timeout(1800)
def test_every_verdict_is_that_of_exhaustion(seed: int, zones: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng([1, seed])
    *_, found = compare(rng, zones, places=3, network=OrderingNet.read(ORDERING))
    print(found)
    assert not found.wrong, found.wrong[0]
    assert found.zones == zones
    assert found.comparisons == found.advised == 6 * zones
    # Neither answer is rare, so that agreement means something.
    assert 0.3 < found.unsafe / found.comparisons < 0.9
    assert found.critical > zones // 10
    assert found.ko > 0
