"""docs/openspiel.md: its commands, its tournament, and its reproductions of faults."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm_command import run_miai

PAGE = (Path(__file__).parents[2] / "docs" / "openspiel.md").read_text("utf-8")
README = Path(__file__).parents[2] / "plugins" / "openspiel" / "README.md"
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)
    for line in block.splitlines()
]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MIAI_DISABLE_PLUGINS"}


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_plays_a_game(command: str, tmp_path: Path) -> None:
    program, *words = shlex.split(command)
    assert program == "miai"
    done = run_miai(words, cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "p0" in done.stdout


@pytest.mark.slow
def test_the_tournament_of_the_page_is_played(tmp_path: Path) -> None:
    (config,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.S | re.M)
    (tmp_path / "dark-hex.toml").write_text(config)
    words = ["tournament", "run", "dark-hex.toml", "--out", "run"]
    done = run_miai(words, cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "12 games" in done.stdout + (tmp_path / "run" / "report.txt").read_text()
    replayed = run_miai(["tournament", "report", "run"], cwd=tmp_path, env=ENVIRONMENT)
    assert "ismcts" in replayed.stdout


@pytest.mark.parametrize(
    "code", re.findall(r"^( *)```python\n(.*?)^ *```", PAGE, re.S | re.M), ids=lambda code: ""
)
def test_code_of_the_page_prints_what_it_says(code: tuple[str, str], tmp_path: Path) -> None:
    indent, lines = code
    program = re.sub(f"^{indent}", "", lines, flags=re.M)
    said = re.findall(r"print\(.*\)  # (.*)", program)
    printed = run(["-c", program], tmp_path).stdout.splitlines()
    assert printed == said


def test_the_readme_s_session(tmp_path: Path) -> None:
    program = f"import doctest; raise SystemExit(doctest.testfile({str(README)!r}, False).failed)"
    run(["-c", program], tmp_path)
