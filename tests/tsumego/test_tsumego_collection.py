"""The shipped problems: intact, proved, all different; and the commands that make and list them."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from tests.tsumego.drawn import drawn, empty_corner, second_line
from tests.tsumego.known_seki import BENT_FOUR_IN_THE_CORNER, SEKI
from tests.warm_command import run_miai
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai_go.errors import ProblemError
from miai_go.rules.coordinates import parse_vertex
from miai_go.tsumego import problem_sgf
from miai_go.tsumego.commands import problem_commands, solve_command
from miai_go.tsumego.commands.solve_command import First, KoSide, seconds_of
from miai_go.tsumego.networks.net_files import NetHeader
from miai_go.tsumego.networks.predictor import Predictor
from miai_go.tsumego.problem_sgf import Problem, collection_sgf, problems_of, read_problems
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.families import family_problems
from miai_go.tsumego.problems.walled import SIZES
from miai_go.tsumego.shipped import NETWORK, ORDERING, PROBLEMS, PROBLEMS_DIGEST
from miai_go.tsumego.solver.ordering_net import OrderingHeader
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import ProblemReport, Solver, Status, solve
from miai_go.tsumego.zones import find_zone

SAMPLE_SEED = 20

APP = typer.Typer()
GROUP = typer.Typer()
problem_commands.add_commands(GROUP)
APP.add_typer(GROUP, name="tsumego")


def reproved(problem: problem_sgf.Problem) -> None:
    """Compare everything in a problem's answer key with a separate proof."""
    report = solve(problem, ko_masters=(Master.ATTACKER,), seki=False, seconds=None)
    assert problem.first is not None, problem.name
    assert report.first_answer(problem.first).is_safe == problem.safe, problem.name
    assert report.zone.empty == problem.empty, problem.name
    if problem.to_play is None:
        assert report.status == (Status.ALIVE if problem.safe else Status.DEAD), problem.name
        assert problem.solutions == ()
        return
    assert problem.to_play == problem.first
    assert report.status == Status.CRITICAL, problem.name
    assert set(problem.solutions) == set(report.first_answer(problem.to_play).moves), problem.name
    assert problem.best in problem.solutions


@pytest.mark.parametrize(
    ("file", "digest"),
    [
        (PROBLEMS, PROBLEMS_DIGEST),
        (NETWORK, NETWORK.parent / "SHA256SUMS"),
        (ORDERING, ORDERING.parent / "ordering.sha256"),
    ],
    ids=["problems", "network", "ordering"],
)
def test_the_shipped_file_is_the_built_one(file: Path, digest: Path) -> None:
    expected, name = digest.read_text().split()
    assert name == file.name.removesuffix(".gz")
    data = problem_sgf.shipped_sgf() if file == PROBLEMS else file.read_bytes()
    assert hashlib.sha256(data).hexdigest() == expected
    assert file.stat().st_size < 400_000


def test_the_shipped_networks_say_how_they_were_made() -> None:
    header = NetHeader.read(NETWORK)
    assert header.bits == 5
    assert all("/" not in record.command for record in header.history)
    (record,) = OrderingHeader.read(ORDERING).history
    assert record.command.startswith("miai go tsumego ordering --rounds 3")


@pytest.mark.slow
def test_the_shipped_network_knows_most_of_the_shipped_problems() -> None:
    predictor = Predictor(NETWORK)
    right = []
    for problem in problem_sgf.shipped_problems()[::10]:
        if problem.first is None or problem.safe is None:
            continue
        zone = find_zone(problem.stones, problem.target)
        chances, _logits = predictor.evaluate(zone)
        defends = problem.first == zone.defender
        right.append((chances[int(defends)] > 0.5) == problem.safe)
    print(f"{sum(right)} of {len(right)}")
    assert len(right) > 150
    assert sum(right) > 0.65 * len(right)  # they were chosen to be hard


@pytest.mark.slow
def test_there_are_enough_of_all_kinds_and_the_command_that_made_them() -> None:
    made = re.search(rb"GC\[miai go tsumego generate ([^\]]*)\]", problem_sgf.shipped_sgf())
    assert made
    assert {b"--families", b"--seed 1"} <= set(re.findall(rb"--families|--seed \d+", made[1]))
    problems = problem_sgf.shipped_problems()
    assert len(problems) >= 2000
    empties = Counter(problem.empty for problem in problems)
    assert set(range(4, 15)) <= set(empties)
    assert min(empties[empty] for empty in range(4, 10)) >= 100
    assert {problem.size for problem in problems} == set(SIZES)
    movers = Counter((p.to_play, p.safe) for p in problems if p.to_play is not None)
    assert len(movers) == 4
    assert min(movers.values()) > len(problems) // 10
    assert len({problem.name for problem in problems}) == len(problems)


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_all_are_different_under_symmetry_colour_and_translation(every: int) -> None:
    problems = problem_sgf.shipped_problems()[::every]
    keys = {CanonicalForm(find_zone(p.stones, p.target)).key for p in problems}
    assert len(keys) == len(problems)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_a_sample_is_proved_again(count: int) -> None:
    print(f"seed {SAMPLE_SEED}")
    problems = problem_sgf.shipped_problems()
    chosen = np.random.default_rng(SAMPLE_SEED).choice(len(problems), count, replace=False)
    for index in sorted(chosen.tolist()):
        reproved(problems[index])


@pytest.mark.slow
def test_it_begins_with_the_families() -> None:
    shipped = problem_sgf.shipped_problems()
    for (member, problem), kept in zip(family_problems(), shipped, strict=False):
        assert kept.name == member.name
        assert np.array_equal(kept.stones, problem.stones)
        assert (kept.to_play, set(kept.solutions)) == (problem.to_play, set(problem.solutions))
        assert (kept.first, kept.safe) == (problem.first, problem.safe)


# The commands.


def run(*arguments: str) -> str:
    result = CliRunner().invoke(APP, ["tsumego", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", ["out.sgf", "out.sgf.gz", "folder"])
def test_generated_problems_are_read_and_solved(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    words = f"generate --count 6 --seed 4 --empty 5-6 --json --out {out}"
    message = json.loads(run(*words.split()))
    assert message["problems"] == 6
    assert message["by_empty"] == {"5": 3, "6": 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]
    if name.endswith(".gz"):
        (tmp_path / "plain.sgf").write_bytes(gzip.decompress(out.read_bytes()))
        out = tmp_path / "plain.sgf"
    if out.is_file():
        assert hashlib.sha256(out.read_bytes()).hexdigest() == message["sha256"]
    problems = list(problem_sgf.problems_of(out))
    assert len(problems) == 6
    for problem in problems:
        assert isinstance(problem, problem_sgf.Problem)
        reproved(problem)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--out", "x.txt"), "name a file that ends in .sgf"),
        (("--out", "x.sgf", "--empty", "a-b"), "write a range"),
        (("--out", "x.sgf", "--empty", "9-4"), "no zone has 9 to 4"),
        (("--out", "x.sgf", "--empty", "1-4"), "within 3-20"),
    ],
)
def test_impossible_requests_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(APP, ["tsumego", "generate", *arguments])
    assert result.exit_code != 0
    assert why in f"{result.output}{result.exception}"
    assert list(tmp_path.iterdir()) == []


def test_the_list_shows_families_and_shipped_problems() -> None:
    assert_expected("tsumego/list.txt", run("list") + run("list", "--json"))


# -- `miai go solve` as a process: one problem, a collection, a proof, mistakes, Ctrl-C ------------


CORNER_FIVE = dataclasses.replace(second_line(5, corner=True), to_play=2, solutions=(1, 4))


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "five.sgf"
    path.write_bytes(problem_sgf.collection_sgf([CORNER_FIVE]))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    problems = [
        CORNER_FIVE,
        dataclasses.replace(second_line(7, corner=False), to_play=1, solutions=(4,)),
        dataclasses.replace(second_line(6, corner=False), to_play=2),
        drawn(BENT_FOUR_IN_THE_CORNER),
        drawn(next(iter(SEKI.values()))),
    ]
    path = tmp_path / "all"
    path.mkdir()
    (path / "a.sgf").write_bytes(problem_sgf.collection_sgf(problems))
    (path / "b.sgf").write_text("(;SZ[9]AB[aa])(;SZ[30]AB[aa]MA[aa])(;SZ[5]AW[cc]MA[cc])")
    return path


@pytest.mark.usefixtures("one", "folder")
def test_problems_are_reported_drawn_and_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names of problems are paths
    one, folder = Path("five.sgf"), Path("all")
    trees = Path("new", "proof.sgf"), Path("few.sgf")
    solve_command.solve([one], limit="20s", tree=trees[0])
    solve_command.solve([one], first=First.ATTACKER, tree=trees[1], tree_nodes=9)
    options: dict[str, Any] = {"first": First.DEFENDER, "ko": KoSide.DEFENDER, "max_problems": 4}
    for as_json in (False, True):
        solve_command.solve([folder], as_json=as_json)
        solve_command.solve([folder], **options, as_json=as_json)
    text = re.sub(r"\d\.\d+ s\b|(?<=seconds\": )[\d.]+", "0", "".join(capsys.readouterr()))
    assert_expected("tsumego/solved.txt", text)
    for tree in trees:
        assert_expected(f"tsumego/{tree.name}", tree.read_text("utf-8"))


def test_a_limit_leaves_it_unsolved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.sgf"
    path.write_bytes(problem_sgf.collection_sgf([empty_corner()]))
    solve_command.solve([path], nodes=5_000)
    output = capsys.readouterr().out
    assert "unsolved" in output
    assert "not everything is solved: 5,000 positions were searched" in output
    tree = tmp_path / "proof.sgf"
    path.write_bytes(problem_sgf.collection_sgf([CORNER_FIVE]))
    with pytest.raises(ProblemError, match="there is no proof to show for an unsolved problem"):
        solve_command.solve([path], nodes=20, tree=tree)
    with pytest.raises(ProblemError, match="there is no proof to show"):
        solve_command.write_tree(tree, empty_corner(), Solver(empty_corner()), seconds=0.1)
    assert not tree.exists()


def test_unreadable_problems_are_reported_with_status_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text("(;SZ[9]AB[aa])")
    done = run_miai(["go", "solve", str(path)])
    assert done.returncode == 2
    assert "has no target; mark one of its stones with MA" in done.stdout
    assert done.stderr == "miai: no problem could be read; see the errors above\n"


def test_mistakes_are_refused_before_anything_is_solved(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MiaiError, match="there is no such file"):
        solve_command.solve([tmp_path / "missing.sgf"])
    with pytest.raises(ProblemError, match="of one problem, not of 6"):
        solve_command.solve([folder], tree=tmp_path / "proof.sgf")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProblemError, match="contains no SGF"):
        solve_command.solve([tmp_path / "empty"])
    assert not (tmp_path / "proof.sgf").exists()


def test_an_interruption_gives_the_summary_so_far(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Solver):
        def solve(self, **more: Any) -> ProblemReport:
            if self.zone.empty == 6:
                raise KeyboardInterrupt
            return super().solve(**more)

    monkeypatch.setattr("miai_go.tsumego.solver.solver.Solver", Interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted after 2 of 8 problems$"):
        solve_command.solve([folder])
    assert "\n2 problems, 2 solved; 5,732 positions" in capsys.readouterr().out


def test_durations() -> None:
    assert list(map(seconds_of, ("10s", "500ms", "2m", "3", "0.5h"))) == [10, 0.5, 120, 3, 1800]
    for text in ("", "0s", "-1s", "1e9", "s", "1d", "inf", "1 s"):
        with pytest.raises(ProblemError, match="is not a time"):
            seconds_of(text)


def test_a_node_limit_alone_has_no_time_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], one: Path
) -> None:
    """So that the answer does not depend on the machine."""
    limits = []

    class Noting(Solver):
        def solve(self, **more: Any) -> ProblemReport:
            limits.append((more["seconds"], more["nodes"]))
            return super().solve(**more)

    monkeypatch.setattr("miai_go.tsumego.solver.solver.Solver", Noting)
    for values in ({}, {"nodes": 500}, {"nodes": 500, "limit": "3s"}, {"limit": "2s"}):
        solve_command.solve([one], **values)
    assert limits == [(10.0, None), (None, 500), (3.0, 500), (2.0, None)]
    assert capsys.readouterr().out


# -- problems as SGF: what is read, what is written, and what is refused --------------------------


WALL = "AB[ag][bg][cg][dg][eg][fg][fh][fi]"
ROW = "AW[ah][bh][ch][dh][eh]"


def read_one(text: str | bytes) -> Problem:
    (problem,) = read_problems(text.encode() if isinstance(text, str) else text, source="x.sgf")
    if isinstance(problem, ProblemError):
        raise problem
    return problem


def test_a_problem_is_read_with_all_its_marks() -> None:
    problem = read_one(f"(;SZ[9]{WALL}{ROW}MA[bh]PL[W]TS[1]DS[1]AS[5]TR[bi](;W[bi])(;W[ei];B[bi]))")
    assert problem.size == 9
    assert problem.target == parse_vertex("B2", 9)
    assert problem.to_play == 2
    assert problem.solutions == (parse_vertex("B1", 9), parse_vertex("E1", 9))
    assert (problem.first, problem.safe, problem.empty) == (2, True, 5)
    assert problem.best == parse_vertex("B1", 9)
    assert problem.name == "x.sgf"
    assert (problem.stones == 1).sum() == 8
    assert (problem.stones == 2).sum() == 5


@pytest.mark.parametrize(
    ("marks", "target", "to_play", "first", "solutions"),
    [
        ("MA[bh]TS[0]DS[0]", 10, None, 1, ()),  # of a subproblem without PL
        ("MA[bh];B[bi]", 10, 1, None, (1,)),  # variations imply the solving side
        ("MA[bh](;B[bi])(;W[bi])", 10, None, None, ()),
        ("MA[bh]PL[B](;B[bi])(;W[ei])", 10, 1, None, (1,)),  # those of the other side do not count
        ("MA[bh][dh][ah]", 9, None, None, ()),  # several marks on one block
    ],
)
def test_marks_and_variations_say_who_solves_what(
    marks: str, target: int, to_play: int | None, first: int | None, solutions: tuple[int, ...]
) -> None:
    problem = read_one(f"(;SZ[9]{WALL}{ROW}{marks})")
    assert (problem.target, problem.to_play, problem.first) == (target, to_play, first)
    assert (problem.solutions, problem.safe) == (solutions, None if first is None else False)


def test_written_files_are_read_again() -> None:
    key: dict[str, Any] = {"to_play": 1, "solutions": (1, 4), "first": 1, "safe": False, "best": 1}
    problem = dataclasses.replace(
        second_line(5, corner=True), **key, empty=5, name="five ] in the \\ corner"
    )
    data = collection_sgf([problem, second_line(4, corner=True)])
    again, other = read_problems(data, source="both.sgf")
    assert isinstance(again, Problem)
    assert isinstance(other, Problem)
    assert again.name == "both.sgf: game 1"
    assert (again.stones == problem.stones).all()
    fields = ("size", "target", "empty", *key)
    assert [getattr(again, f) for f in fields] == [getattr(problem, f) for f in fields]
    assert other.to_play is None


BAD: dict[str, tuple[str | bytes, str]] = {
    "no target": (f"(;SZ[9]{WALL}{ROW})", "has no target; mark one of its stones"),
    "several targets": (f"(;SZ[9]{WALL}{ROW}MA[bh][cg])", "has 2 targets, at B2, C3"),
    "an empty point": (f"(;SZ[9]{WALL}{ROW}MA[ai])", "mark at A1 is on an empty point"),
    "off the board": (f"(;SZ[9]{WALL}AW[aj]MA[aj])", r"AW\[aj\] is malformed or off the 9x9"),
    "a mark off the board": (f"(;SZ[9]{WALL}{ROW}MA[jj])", r"MA\[jj\] is malformed or off"),
    "30x30": ("(;SZ[30]AB[aa]MA[aa])", r"SZ\[30\] is not a board size from 1 to 25"),
    "taken already": ("(;SZ[9]AW[ai]AB[ah][bi]MA[ai])", "target at A1 has no liberty"),
    "another is taken": (f"(;SZ[9]{WALL}{ROW}AW[aa]AB[ab][ba]MA[bh])", "at A9 has no liberty"),
    "both colours": (f"(;SZ[9]{WALL}AW[ag]MA[ag])", "AB and AW both contain A3"),
    "no stones": ("(;SZ[9]MA[aa];B[aa])", "no stones"),
    "another game": ("(;GM[2]SZ[8]MA[aa])", r"GM\[2\] is not Go"),
    "no colour": (f"(;SZ[9]{WALL}{ROW}MA[bh]PL[x])", r"PL\[x\] is malformed$"),
    "safe is 2": (f"(;SZ[9]{WALL}{ROW}MA[bh]TS[2])", r"TS\[2\] is neither 0 nor 1"),
    "many moves": (f"(;SZ[9]{WALL}{ROW}MA[bh]AS[1e9])", r"AS\[1e9\] is not a number"),
    "a move on a stone": (f"(;SZ[9]{WALL}{ROW}MA[bh];W[ah])", "begins at A2, on a stone"),
    "a move off the board": (f"(;SZ[9]{WALL}{ROW}MA[bh];W[jj])", "variation is off the board"),
    "no SGF": ("1. d4 d5", "is not SGF"),
    "cut short": (f"(;SZ[9]{WALL}{ROW}MA[b", "has no target"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_for_its_reason(name: str) -> None:
    text, reason = BAD[name]
    with pytest.raises(ProblemError, match=reason) as caught:
        read_one(text)
    assert str(caught.value).startswith("x.sgf: ")
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


# A row of black stones from edge to edge between two of White's, its liberties on one side of it,
# and, where B4 is empty, one on the other.
ROW_BETWEEN = (
    "AB[cg][cf][ce][cd][cc][cb][ca][fg][ff][fe][fd][fc][fb][fa]"
    "AW[af][ad][ab][bg][bf][be][bc][bb][ba][dg][de][dd][dc][da][ef][ec]"
)
NO_ZONE = {
    "a row that may be taken": (
        f"(;SZ[7]{ROW_BETWEEN}AW[bd]MA[dg])",
        "the wall is open: its block at C. can be captured, which connects the target with B",
    ),
    "a row with a liberty beyond": (f"(;SZ[7]{ROW_BETWEEN}MA[dg])", "the wall is open: its block"),
    "an open wall": ("(;SZ[19]AB[aa][ba]AW[ab]MA[ab])", "is the wall open"),
    "no safe wall": ("(;SZ[5]AB[ab][bb][ca]AW[ba]MA[ba])", "no block of the attacker"),
    "no wall": ("(;SZ[5]AW[cc]MA[cc])", "no block of the attacker"),
}


@pytest.mark.parametrize("name", NO_ZONE)
def test_a_wall_that_does_not_hold_is_refused_for_its_reason(name: str) -> None:
    text, reason = NO_ZONE[name]
    problem = read_one(text)
    with pytest.raises(ProblemError, match=reason):
        find_zone(problem.stones, problem.target)


def test_a_collection_goes_on_after_bad_problems() -> None:
    good = f"(;SZ[9]{WALL}{ROW}MA[bh])"
    bad = "(;SZ[30]MA[aa])(;GM[2]SZ[9]AB[aa]MA[aa])(;SZ[9]AB[aa])"
    found = list(read_problems((good + bad + good).encode(), source="all.sgf"))
    assert [isinstance(each, Problem) for each in found] == [True, False, False, False, True]
    assert "all.sgf: game 2: SZ[30]" in str(found[1])
    assert "GM[2]" in str(found[2])
    assert "all.sgf: game 4: has no target" in str(found[3])


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.sgf").write_bytes(collection_sgf([second_line(5, corner=True)]))
    (tmp_path / "a.SGF").write_text("nothing")
    (tmp_path / "notes.txt").write_text("no problem")
    (tmp_path / "deep" / "c.sgf").write_bytes(collection_sgf([second_line(6, corner=True)]))
    bad, first, second = problems_of(tmp_path)
    assert isinstance(bad, ProblemError)
    assert isinstance(first, Problem)
    assert isinstance(second, Problem)
    assert first.name.endswith("b.sgf")
    assert second.name.endswith("c.sgf")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_read_or_refused_and_nothing_else(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    whole = collection_sgf([dataclasses.replace(second_line(5, corner=True), to_play=1)])
    for _ in range(150):
        data = bytearray(whole)
        for index in rng.integers(0, len(data), int(rng.integers(1, 4))):
            data[index] = int(rng.choice(list(b"()[];\\ABWMZ019az\n\xff")))
        for each in read_problems(bytes(data), source="x"):
            assert isinstance(each, Problem | ProblemError)
