"""The set of positions: answers, copies, splits, stops and damage."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.tsumego.brute_force import ATTACKER, Fight, forced, reachable
from tests.tsumego.drawn import drawn, second_line
from tests.tsumego.small_nets import SETTINGS, small_set
from tests.whole_texts import assert_expected

from miai_go.errors import DataError
from miai_go.tsumego.commands import network_commands
from miai_go.tsumego.data import labelled_positions, position_sets
from miai_go.tsumego.data.growth import PASS, draw_room_zone, grow
from miai_go.tsumego.data.labelled_positions import LabelledPositions, folds_of, policy_targets
from miai_go.tsumego.data.position_sets import MakingSettings, make_set
from miai_go.tsumego.kernels.stones import PASS as KERNEL_PASS
from miai_go.tsumego.problem_sgf import Problem, collection_sgf
from miai_go.tsumego.solver.prover import ProofVerdict, Prover, ZonePosition


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory) -> LabelledPositions:
    return small_set(tmp_path_factory.mktemp("set") / "small")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> LabelledPositions:
    """The first of these positions, made in two runs of which the first was killed."""
    folder = tmp_path_factory.mktemp("few")
    make_set(folder, settings=SETTINGS, positions=40)
    (folder / ".unfinished-1").mkdir()
    few = small_set(folder, positions=100)
    assert sorted(path.name for path in folder.glob("*0*")) == ["000000", "000001"]
    assert not list(folder.glob(".unfinished*"))
    return few


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


def test_a_seed_makes_the_same_set_each_time(few: LabelledPositions) -> None:
    c = few.columns
    assert (len(few), few.problems, few.digest) == (148, 22, "111f5d2febac2bd9")
    assert PASS == KERNEL_PASS
    assert ((c["best"] != 0) == (few.safe() == (c["side"] == 1))).all()
    assert len(np.unique(c["key"])) == len(few)
    roots = np.flatnonzero(c["level"] == 0).tolist()
    empty = [len(fight.points - x - o) for fight, x, o in (boards_of(few, r) for r in roots)]
    assert few.empty_points()[roots].tolist() == empty


def test_a_collection_grows_into_a_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    five, three = second_line(5, corner=True), drawn("X X X X X\nT O O O X\n. . . O X")
    after, turned = five.stones.copy(), three.stones.reshape(13, 13).T.reshape(-1)
    after[[1, 3]] = (2, 1)  # after which E1 alone decides
    problems = [Problem(19, after, 19), five, three, Problem(13, turned, 1)]
    file, folder = tmp_path / "few.sgf", tmp_path / "set"
    file.write_bytes(collection_sgf(problems) + b"(;SZ[9]AB[aa])")
    settings = MakingSettings(problems=str(file), boards=60)
    for positions in (8, 99):
        network_commands.make(settings, folder, positions, 1)
    network_commands.show(folder)
    network_commands.show(folder, as_json=True)
    c = LabelledPositions.open(folder).columns
    names = ("problem", "level", "attackers", "defenders", "side", "safe", "best")
    rows = zip(*(c[name].tolist() for name in names), strict=True)
    table = "\n".join(" ".join(f"{value:b}" for value in row) for row in rows)
    printed = "".join(capsys.readouterr()).replace(str(tmp_path), "")
    assert_expected("tsumego/set.txt", f"{printed}{' '.join(names)}\n{table}\n")
    assert c["links"].tolist() == [[0, 1]]


def test_unproven_moves_are_not_reported_as_failures() -> None:
    zone = draw_room_zone(np.random.default_rng([3, 411]), most_empty=10)
    assert zone is not None
    limits = (900, 1_000_000)
    few, all_ = (grow(zone, np.random.default_rng(0), most_boards=20, nodes=n) for n in limits)
    assert [p.level for p in few] != [p.level for p in all_]  # boards are passed over
    prover, checked = Prover(zone), 0
    for position in few:
        solving = 0
        place = ZonePosition(position.attackers, position.defenders, position.side)
        for move, after in prover.moves(place):
            verdict = prover.settled(after) or prover.ask(after).verdict
            if move != PASS and (verdict == ProofVerdict.REACHED) == (position.side == ATTACKER):
                solving |= 1 << move
        if position.best & ~(1 << PASS):
            assert position.best == solving
            checked += 1
    assert checked > 10


@pytest.mark.slow
def test_a_set_is_the_same_on_any_workers(tmp_path: Path, positions: LabelledPositions) -> None:
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
    with contextlib.suppress(psutil.ZombieProcess):  # another test's, which nobody waited for
        return "miai.process.workers" in process.cmdline()
    return False


def test_folds_keep_connected_problems_together(few: LabelledPositions) -> None:
    pairs = np.array([(0, 3), (3, 7), (2, 9), (7, 11)], np.int32)
    positions = LabelledPositions({**few.columns, "links": pairs}, few.digest)
    problem, problems = few.columns["problem"], range(few.problems)

    def by_problem(positions: LabelledPositions, seed: int) -> str:
        folds = folds_of(positions, folds=5, seed=seed)
        (same,) = {len(np.unique(folds[problem == number])) for number in problems}
        assert same == 1
        return "".join(str(folds[problem == number][0]) for number in problems)

    assert by_problem(few, 1) == "4321144314000203034311"
    assert by_problem(positions, 1) == "1341144114010203034311"
    assert by_problem(few, 2) == "2432000443324020320413"
    single = folds_of(few, by="position")
    assert np.bincount(single).tolist() == [26, 26, 33, 33, 30]
    assert any(len(np.unique(single[problem == number])) > 1 for number in problems)


def test_policy_targets_share_alike_among_moves_that_succeed() -> None:
    places = np.full((4, 64), -1, np.int16)
    places[:, :3] = (4, 0, 8)
    best = np.array([0b101, 0b010, 1 << PASS, 0b1000], np.uint64)  # the last is beyond the window
    expected = np.zeros((4, 10))
    expected[0, [4, 8]], expected[1, 0], expected[2:, -1] = 0.5, 1, 1
    assert policy_targets(best, places, 3).tolist() == expected.tolist()


def test_invalid_positions_are_refused(few: LabelledPositions) -> None:
    c, last = few.columns, few.problems
    beyond = np.uint64(1 << 62)
    wrong: list[tuple[str, int | tuple[int, int], Any]] = [
        *(("problem", 0, -1), ("problem", 0, last), ("side", 0, 2), ("safe", 0, -1)),
        *(("attackers", 0, beyond), ("attackers", 0, c["defenders"][0]), ("defenders", 0, 0)),
        *(("size", 0, 0), ("words", (1, 64), 1), ("words", (1, 5), beyond)),
        *(("words", (1, 65), beyond), ("words", (1, 66), c["words"][1, 66] | beyond)),
        *(("words", (1, 66), 0), ("words", (1, 66), 3)),
    ]
    labelled_positions._check(Path("set"), c)
    for name, place, value in wrong:
        changed = c[name].copy()
        changed[place] = value
        with pytest.raises(DataError, match=r"^set: contains invalid positions; make the set"):
            labelled_positions._check(Path("set"), {**c, name: changed})
    for link in ((0, -1), (0, last)):
        with pytest.raises(DataError, match="invalid positions"):
            labelled_positions._check(Path("set"), {**c, "links": np.array([link], np.int32)})


def test_sets_that_cannot_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=f"^{tmp_path}: contains no positions; make some with: "):
        LabelledPositions.open(tmp_path)
    small_set(tmp_path, positions=1)
    other = SETTINGS.model_copy(update={"seed": 6})
    with pytest.raises(DataError, match=f"^{tmp_path}: holds a set with other settings; give anot"):
        make_set(tmp_path, settings=other, positions=100)
    monkeypatch.setattr(position_sets, "_BARREN_JOBS", 3)
    monkeypatch.setattr(position_sets, "label", lambda *_settings, **_job: [])
    with pytest.raises(DataError, match=": 96 random problems gave no new position: raise --most"):
        small_set(tmp_path, positions=100)
    file = tmp_path / "none.sgf"
    file.write_text("(;SZ[9]AB[aa])")
    with pytest.raises(DataError, match=f"^{file}: contains no problem; give random, shipped, or"):
        network_commands.make(MakingSettings(problems=str(file)), tmp_path, 1, 1)
