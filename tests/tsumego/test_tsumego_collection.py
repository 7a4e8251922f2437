"""The shipped problems: intact, proved, all different; and the commands that make and list them."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai_go.tsumego.commands import problem_commands
from miai_go.tsumego.problem_sgf import Problem, problems_of, shipped_problems, shipped_sgf
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.families import family_problems
from miai_go.tsumego.problems.walled import SIZES
from miai_go.tsumego.shipped import PROBLEMS, PROBLEMS_DIGEST
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import Status, solve
from miai_go.tsumego.zones import find_zone

SAMPLE_SEED = 20

APP = typer.Typer()
GROUP = typer.Typer()
problem_commands.add_commands(GROUP)
APP.add_typer(GROUP, name="tsumego")


def reproved(problem: Problem) -> None:
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


def test_the_shipped_file_is_the_built_one() -> None:
    digest, name = PROBLEMS_DIGEST.read_text().split()
    assert name == "tsumego.sgf"
    assert hashlib.sha256(shipped_sgf()).hexdigest() == digest
    assert PROBLEMS.stat().st_size < 400_000


def test_it_says_which_command_made_it() -> None:
    message = re.search(rb"GC\[(miai go tsumego generate [^\]]*)\]", shipped_sgf())
    assert message
    assert b"--families" in message[1]
    assert b"--seed 1" in message[1]


def test_there_are_enough_of_all_kinds() -> None:
    problems = shipped_problems()
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
    problems = shipped_problems()[::every]
    keys = {CanonicalForm(find_zone(p.stones, p.target)).key for p in problems}
    assert len(keys) == len(problems)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_a_sample_is_proved_again(count: int) -> None:
    print(f"seed {SAMPLE_SEED}")
    problems = shipped_problems()
    chosen = np.random.default_rng(SAMPLE_SEED).choice(len(problems), count, replace=False)
    for index in sorted(chosen.tolist()):
        reproved(problems[index])


@pytest.mark.slow
def test_it_begins_with_the_families() -> None:
    shipped = shipped_problems()
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
    message = json.loads(
        run(
            "generate", "--out", str(out), "--count", "6", "--seed", "4", "--empty", "5-6", "--json"
        )
    )
    assert message["problems"] == 6
    assert message["by_empty"] == {"5": 3, "6": 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]
    if name.endswith(".gz"):
        (tmp_path / "plain.sgf").write_bytes(gzip.decompress(out.read_bytes()))
        out = tmp_path / "plain.sgf"
    if out.is_file():
        assert hashlib.sha256(out.read_bytes()).hexdigest() == message["sha256"]
    problems = list(problems_of(out))
    assert len(problems) == 6
    for problem in problems:
        assert isinstance(problem, Problem)
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
