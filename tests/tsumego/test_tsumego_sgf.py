"""Problems as SGF: what is read, what is written, and what is refused, each for its reason."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.tsumego.drawn import second_line

from miai_go.errors import ProblemError
from miai_go.rules.coordinates import parse_vertex
from miai_go.tsumego.problem_sgf import Problem, collection_sgf, problems_of, read_problems
from miai_go.tsumego.zones import find_zone

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


def test_a_subproblem_without_pl_implies_the_first_mover() -> None:
    problem = read_one(f"(;SZ[9]{WALL}{ROW}MA[bh]TS[0]DS[0])")
    assert (problem.to_play, problem.first, problem.safe) == (None, 1, False)


def test_without_pl_the_variations_imply_the_solving_side() -> None:
    assert read_one(f"(;SZ[9]{WALL}{ROW}MA[bh];B[bi])").to_play == 1
    both = read_one(f"(;SZ[9]{WALL}{ROW}MA[bh](;B[bi])(;W[bi]))")
    assert (both.to_play, both.solutions) == (None, ())


def test_variations_of_the_other_side_are_not_solutions() -> None:
    problem = read_one(f"(;SZ[9]{WALL}{ROW}MA[bh]PL[B](;B[bi])(;W[ei]))")
    assert problem.solutions == (parse_vertex("B1", 9),)


def test_several_marks_on_one_block_are_one_target() -> None:
    assert read_one(f"(;SZ[9]{WALL}{ROW}MA[bh][dh][ah])").target == parse_vertex("A2", 9)


def test_written_files_are_read_again() -> None:
    problem = dataclasses.replace(
        second_line(5, corner=True),
        to_play=1,
        solutions=(1, 4),
        first=1,
        safe=False,
        best=1,
        empty=5,
        name="five ] in the \\ corner",
    )
    data = collection_sgf([problem, second_line(4, corner=True)])
    again, other = read_problems(data, source="both.sgf")
    assert isinstance(again, Problem)
    assert isinstance(other, Problem)
    assert again.name == "both.sgf: game 1"
    assert (again.stones == problem.stones).all()
    fields = ("size", "target", "to_play", "solutions", "first", "safe", "best", "empty")
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
    "another is taken": (
        f"(;SZ[9]{WALL}{ROW}AW[aa]AB[ab][ba]MA[bh])",
        "stone at A9 has no liberty",
    ),
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
