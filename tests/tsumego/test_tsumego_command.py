"""``miai go solve`` as a process: one problem, a collection, a proof, mistakes, Ctrl-C."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.tsumego.drawn import drawn, empty_corner, second_line
from tests.tsumego.known_seki import BENT_FOUR_IN_THE_CORNER, SEKI
from tests.warm_command import run_miai
from tests.whole_texts import assert_expected

from miai.errors import MiaiError
from miai_go.errors import ProblemError
from miai_go.tsumego.commands import solve_command
from miai_go.tsumego.commands.solve_command import First, KoSide, seconds_of
from miai_go.tsumego.problem_sgf import collection_sgf
from miai_go.tsumego.solver.solver import ProblemReport, Solver

CORNER_FIVE = dataclasses.replace(second_line(5, corner=True), to_play=2, solutions=(1, 4))


def solve(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return run_miai(["go", "solve", *map(str, words)])


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "five.sgf"
    path.write_bytes(collection_sgf([CORNER_FIVE]))
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
    (path / "a.sgf").write_bytes(collection_sgf(problems))
    (path / "b.sgf").write_text("(;SZ[9]AB[aa])(;SZ[30]AB[aa]MA[aa])(;SZ[5]AW[cc]MA[cc])")
    return path


def test_problems_are_reported_drawn_and_proved(
    one: Path,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # names of problems are paths
    one, folder = Path(one.name), Path(folder.name)
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


def test_a_limit_leaves_it_unsolved_without_a_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.sgf"
    path.write_bytes(collection_sgf([empty_corner()]))
    solve_command.solve([path], nodes=5_000)
    output = capsys.readouterr().out
    assert "unsolved" in output
    assert "not everything is solved: 5,000 positions were searched" in output
    tree = tmp_path / "proof.sgf"
    path.write_bytes(collection_sgf([CORNER_FIVE]))
    with pytest.raises(ProblemError, match="there is no proof to show for an unsolved problem"):
        solve_command.solve([path], nodes=20, tree=tree)
    with pytest.raises(ProblemError, match="there is no proof to show"):
        solve_command.write_tree(tree, empty_corner(), Solver(empty_corner()), seconds=0.1)
    assert not tree.exists()


def test_unreadable_problems_are_reported_with_status_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text("(;SZ[9]AB[aa])")
    done = solve(path)
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


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("500ms", 0.5), ("2m", 120), ("3", 3), ("0.5h", 1800)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-1s", "1e9", "s", "1d", "inf", "1 s"])
def test_invalid_durations_are_refused(text: str) -> None:
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
