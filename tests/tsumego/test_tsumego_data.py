"""The set of positions: answers, copies, splits, stops and damage."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import psutil
import pytest
from tests.tsumego.brute_force import ATTACKER, Fight, forced, reachable
from tests.tsumego.small_nets import SETTINGS, small_set

from miai_go.errors import DataError
from miai_go.tsumego.data.growth import PASS, draw_room_zone, grow
from miai_go.tsumego.data.labelled_positions import LabelledPositions, folds_of, policy_targets
from miai_go.tsumego.data.position_sets import make_set
from miai_go.tsumego.kernels.stones import PASS as KERNEL_PASS
from miai_go.tsumego.solver.prover import ProofVerdict, Prover, ZonePosition


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory) -> LabelledPositions:
    return small_set(tmp_path_factory.mktemp("set") / "small")


def boards_of(p: LabelledPositions, row: int) -> tuple[Fight, frozenset[int], frozenset[int]]:
    """Return a position as exhaustion takes it: the fight, and both sides' stones on the board."""
    c, problem = p.columns, int(p.columns["problem"][row])
    size = int(c["size"][problem])
    points = [int(n) for n in c["points"][problem] if n >= 0]
    board = c["stones"][problem][: size * size]
    defender = int(c["defender"][problem])
    stones = []
    for name, color in (("attackers", 3 - defender), ("defenders", defender)):
        inside = {n for i, n in enumerate(points) if int(c[name][row]) >> i & 1}
        beyond = {int(n) for n in np.flatnonzero(board == color) if n not in points}
        stones.append(frozenset(inside | beyond))
    fight = Fight(size, frozenset(points), int(c["target"][problem]), ATTACKER)
    return fight, stones[0], stones[1]


@pytest.mark.slow
def test_answers_and_moves_are_those_of_exhaustion(positions: LabelledPositions) -> None:
    c = positions.columns
    checked = moved = 0
    for row in np.random.default_rng(0).permutation(len(positions)).tolist():
        fight, attackers, defenders = boards_of(positions, row)
        if len(fight.points - attackers - defenders) > 4 or len(fight.points) > 12:
            continue
        root = (attackers, defenders, int(c["side"][row]), -1)
        graph = reachable(fight, root, 6_000)
        if graph is None:
            continue
        won = forced(graph, {s for s in graph if fight.target not in s[1]}, ATTACKER)
        assert bool(c["safe"][row]) == (root not in won), row
        best = int(c["best"][row])
        points = [int(n) for n in c["points"][c["problem"][row]] if n >= 0]
        if best & ~(1 << PASS):
            side = root[2]
            solving: set[int] = set()
            for after in graph[root]:
                stones, before = (after[0], root[0]) if side == ATTACKER else (after[1], root[1])
                new = (stones - before) & fight.points
                if new and (after in won) == (side == ATTACKER):
                    solving |= new
            assert {points[i] for i in range(63) if best >> i & 1} == solving, row
            moved += 1
        checked += 1
        if checked == 40:
            break
    print(f"{checked} checked, {moved} with a move")
    assert checked >= 30
    assert moved >= 5


@pytest.mark.slow
def test_moves_are_reported_where_needed(positions: LabelledPositions) -> None:
    c = positions.columns
    assert PASS == KERNEL_PASS
    has_its_way = positions.safe() == (c["side"] == 1)
    assert ((c["best"] != 0) == has_its_way).all()
    assert 0.2 < positions.safe().mean() < 0.8


@pytest.mark.slow
def test_unproven_moves_are_not_reported_as_failures() -> None:
    zone = draw_room_zone(np.random.default_rng([3, 411]), most_empty=10)
    assert zone is not None
    grown = [
        grow(zone, np.random.default_rng(0), most_boards=20, nodes=nodes)
        for nodes in (900, 1_000_000)
    ]
    assert [p.level for p in grown[0]] != [p.level for p in grown[1]]  # boards are passed over
    prover, checked = Prover(zone), 0
    for position in grown[0]:
        solving = 0
        for move, after in prover.moves(
            ZonePosition(position.attackers, position.defenders, position.side)
        ):
            verdict = prover.settled(after) or prover.ask(after).verdict
            if move != PASS and (verdict == ProofVerdict.REACHED) == (position.side == ATTACKER):
                solving |= 1 << move
        if position.best & ~(1 << PASS):
            assert position.best == solving
            checked += 1
    assert checked > 10


@pytest.mark.slow
def test_each_position_is_there_once_for_each_mover(positions: LabelledPositions) -> None:
    keys = positions.columns["key"]
    assert len(np.unique(keys)) == len(keys)


@pytest.mark.slow
def test_a_set_does_not_depend_on_workers_or_stops(
    tmp_path: Path, positions: LabelledPositions
) -> None:
    other = small_set(tmp_path / "two", workers=2)
    assert other.digest == positions.digest
    make_set(tmp_path / "stopped", settings=SETTINGS, positions=150)
    (tmp_path / "stopped" / ".unfinished-1").mkdir()  # what a killed run leaves
    after = small_set(tmp_path / "stopped", positions=600)
    count = len(positions)
    for name in ("key", "attackers", "defenders", "safe", "best", "problem"):
        assert (after.columns[name][:count] == positions.columns[name]).all(), name
    assert not list((tmp_path / "stopped").glob(".unfinished*"))


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(tmp_path: Path, positions: LabelledPositions) -> None:
    victims: list[psutil.Process] = []

    def kill_one(_progress: object) -> None:
        if not victims:
            victims.extend(p for p in psutil.Process().children() if is_worker(p))
            victims[0].kill()

    make_set(tmp_path, settings=SETTINGS, positions=600, workers=2, progress=kill_one)
    assert len(victims) == 2
    assert LabelledPositions.open(tmp_path).digest == positions.digest
    assert not any(map(is_worker, psutil.Process().children()))


def is_worker(process: psutil.Process) -> bool:
    return "miai.process.workers" in process.cmdline()


@pytest.mark.slow
def test_another_set_is_not_continued(tmp_path: Path) -> None:
    small_set(tmp_path, positions=50)
    other = SETTINGS.model_copy(update={"seed": 6})
    with pytest.raises(DataError, match="with other settings"):
        make_set(tmp_path, settings=other, positions=100)


@pytest.mark.slow
def test_folds_keep_connected_problems_together(positions: LabelledPositions) -> None:
    pairs = np.array([(0, 3), (3, 7), (2, 9), (7, 11)], np.int32)
    positions = LabelledPositions({**positions.columns, "links": pairs}, positions.digest)
    folds = folds_of(positions, folds=5, seed=1)
    problem = positions.columns["problem"]
    assert len(np.unique(folds)) == 5
    for number in range(positions.problems):
        assert len(np.unique(folds[problem == number])) == 1
    first = {int(n): int(folds[problem == n][0]) for n in np.unique(problem)}
    assert first[0] == first[3] == first[7] == first[11]
    assert first[2] == first[9]
    assert (folds_of(positions, folds=5, seed=2) != folds).any()


@pytest.mark.slow
def test_policy_targets_share_alike_among_moves_that_succeed() -> None:
    places = np.full((3, 64), -1, np.int16)
    places[:, :3] = (4, 0, 8)
    best = np.array([0b101, 1 << PASS, 0], np.uint64)
    targets = policy_targets(best, places, 3)
    assert targets[0, [4, 8]].tolist() == [0.5, 0.5]
    assert (targets[1:, -1] == 1).all()
    assert np.allclose(targets.sum(1), 1)


@pytest.mark.slow
def test_invalid_positions_are_refused(tmp_path: Path) -> None:
    small_set(tmp_path, positions=50)
    shard = tmp_path / "000000"
    wrong = np.array(np.load(shard / "attackers.npy"))
    wrong[0] = np.uint64(1 << 62)  # beyond every zone
    np.save(shard / "attackers.npy", wrong)
    manifest = json.loads((shard / "manifest.json").read_text())
    digest = hashlib.sha256((shard / "attackers.npy").read_bytes()).hexdigest()
    manifest["columns"]["attackers"]["sha256"] = digest
    (shard / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="invalid positions"):
        LabelledPositions.open(tmp_path)
