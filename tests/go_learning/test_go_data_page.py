"""The page on data: its code and commands run, and its tables name what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.warm_command import run_miai
from typer.testing import CliRunner

from miai_go.commands import add_commands
from miai_go.learning.data.shards import COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "go-data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_its_code_and_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(Path(__file__).parents[2] / "configs")
    names: dict[str, Any] = {}
    app = typer.Typer()
    add_commands(app)
    output = ""
    for language, text in BLOCKS:
        if language == "python":
            exec(text, names)
            continue
        assert language == "sh"
        for line in text.splitlines():
            assert line.startswith("miai ")
            if "tournament" in line:
                done = run_miai([*shlex.split(line)[1:], "--set", "rounds=1"], cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                continue
            result = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False)
            assert result.exit_code == 0
            output += result.stdout
    assert len(BLOCKS) == 8
    assert "40  written to nine" in output
    assert "chess.sgf: " in output
    assert "40 games of 9x9, 1200 moves" in output
    assert "40  annotated" in output
    assert "4  games played" in output
    assert "12  written to nine-agents" in output


def test_its_tables_name_the_options_and_the_columns() -> None:
    app = typer.Typer()
    add_commands(app)
    known = "".join(
        CliRunner().invoke(app, ["go", "data", name, "--help"], env={"COLUMNS": "200"}).stdout
        for name in ("import", "annotate", "play")
    )
    options = set(re.findall(r"`(--[\w-]+)`", PAGE))
    for option in options - {"--json", "--sha256", "--trust-first", "--records", "--set"}:
        assert option in known, option
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| \w", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(COLUMNS)
