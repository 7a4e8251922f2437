"""The page on self-play and weights: its commands run, its tables name every option and file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from miai_go.commands import add_commands

PAGE = (Path(__file__).parents[2] / "docs" / "go-selfplay.md").read_text(encoding="utf-8")


def test_its_commands_run_and_its_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    add_commands(app)
    outputs = []
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)
            assert words.pop(0) == "miai"
            result = CliRunner().invoke(app, words)
            assert result.exception is None, line
            outputs.append(result.stdout)
    assert outputs[0].startswith("12 games")
    assert outputs[1].startswith("12 games of 5x5")
    assert outputs[2].startswith("4 games")
    named = re.findall(r"^\| `([\w.]+)/?", PAGE.split("### Output")[1], re.MULTILINE)
    assert set(named) == {p.name for p in Path("played").iterdir() if p.name != ".lock"}


def test_its_table_names_every_option() -> None:
    app = typer.Typer()
    add_commands(app)
    group = get_command(app).commands["go"]  # type: ignore[attr-defined]  # a group of groups
    options = {o for p in group.commands["selfplay"].params for o in (*p.opts, *p.secondary_opts)}
    table = PAGE.split("| option |")[1].split("\n\n")[0]
    assert options <= set(re.findall(r"--[a-z][\w-]*", table))
