"""The first commands run, and README's table is the one that the demo prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm_command import run_miai

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
FIRST = re.findall(r"```sh\n(.*?)```", INSTALL.partition("## First commands")[2], re.DOTALL)
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL) + FIRST
COMMANDS = [
    line.partition("  #")[0].strip() for block in BLOCKS for line in block.splitlines() if line
]
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    if words[0] == "miai":
        return run_miai(words[1:], cwd=folder, env=ENVIRONMENT, timeout=250)
    return subprocess.run(
        words,
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=250,
    )


def test_the_first_commands_are_the_two_of_make() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]


def test_make_demo_runs_the_quickstart() -> None:
    done = run("make --dry-run demo", ROOT)
    assert done.returncode == 0, done.stderr
    assert "miai tournament run configs/quickstart.toml" in done.stdout


@pytest.mark.slow
def test_its_table_is_the_one_that_the_demo_prints(tmp_path: Path) -> None:
    """All but the times, which differ by machine; games by simulations are the same anywhere."""
    done = run(f"miai tournament run {ROOT}/configs/quickstart.toml --out run", tmp_path)
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"```\n(Ratings: .*?)\n```", README, re.DOTALL)
    begin = done.stdout.rindex("Ratings: ")
    printed = done.stdout[begin:].split("\nReport: ")[0]
    assert without_times(printed) == without_times(shown)


def without_times(table: str) -> list[str]:
    """Return the lines of a ratings table without the two columns on the right."""
    title, header, rule, *rows = table.strip().splitlines()
    assert header.split()[-3:] == ["ms/move", "cpu", "ms"], header
    assert len(rule) == len(header), rule
    return [title, *(" ".join(row.split()[:-2]) for row in rows)]


@pytest.mark.slow
def test_every_command_runs(tmp_path: Path) -> None:
    """In their order, in a folder that has the configs, as a user does."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    quick = tmp_path / "configs" / "compare-quick.toml"
    quick.write_text(re.sub(r"(?m)^roots = \d+", "roots = 1", quick.read_text(encoding="utf-8")))
    for command in COMMANDS[2:]:
        if "tournament run" in command and "match-sprt" not in command:
            command += " --set tournament.rounds=1"
        if command.startswith("miai compare"):
            command += " --no-plots"  # those of the same config are drawn for docs/comparing.md
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
    assert len(README.split()) <= 900
