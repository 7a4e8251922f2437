"""The page on comparing: its config is valid, its commands run, its keys are those that exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.comparing.comparisons import CONFIGS, compare
from tests.docs.page_parts import page

from miai_tournaments.compare import schema
from miai_tournaments.compare.config import load_comparison
from miai_tournaments.config.schema import ConfigSection

PAGE = page("comparing")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)[::-1])  # the first of a language


def test_its_config_is_valid_and_names_every_key(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BLOCKS["toml"])
    found = load_comparison(path)
    assert list(found.arms) == ["table", "exact", "sketch-16"]
    models: dict[str, type[ConfigSection]] = {
        "comparison": schema.ComparisonSection,
        "arms": schema.ArmSection,
        "cells": schema.CellSection,
    }
    for name, model in models.items():
        text = re.findall(
            rf"^\[+{name}\]+\n(.*?)(?=^\[|\Z)", BLOCKS["toml"], re.DOTALL | re.MULTILINE
        )
        keys = set(re.findall(r"^(\w+) =", "".join(text), re.MULTILINE))
        known = set(model.model_fields)
        assert known - {"parameters"} <= keys
        assert keys - known <= ({"bounds", "bounds_parameters"} if name == "arms" else set())
    section = schema.ComparisonSection(name="x", baseline="y")
    assert (section.seeds, section.repeats, section.judge) == ((1,), 1, "y")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (CONFIGS / "compare-quick.toml").read_text()
    (tmp_path / "configs").mkdir()
    few = re.sub(r"^roots = \d+", "roots = 2", text, flags=re.MULTILINE)
    (tmp_path / "configs" / "compare-quick.toml").write_text(few)
    (tmp_path / "study.toml").write_text(BLOCKS["toml"].replace("roots = 30", "roots = 2"))
    monkeypatch.chdir(tmp_path)
    lines = [line.partition("#")[0] for line in BLOCKS["sh"].splitlines()]
    done: list[subprocess.CompletedProcess[str]] = []
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["miai", "compare"]
        done.append(compare(*words[2:], plots=not done))
    assert "kept in" not in done[1].stderr  # nothing is searched again
    rows = json.loads(done[1].stdout)["rows"]
    listed = re.search(r"The entries of `rows` have (.*?)\. An interval", PAGE)
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(rows[0]) | {"roots"}
    table = PAGE.split("## Files of a comparison\n")[1]
    entries = "".join(re.findall(r"^(\|.*?\|)", table, re.MULTILINE))
    output = {name.rstrip("/") for name in re.findall(r"`([\w.]+/?)`", entries)}
    folder = {path.name for path in (tmp_path / "runs" / "compare-quick").iterdir()}
    assert folder - {"lock", "comparison.sqlite-wal", "comparison.sqlite-shm"} <= output
    assert {"rows.csv", "searches.csv", "plots", "comparison.json"} <= folder
    plots = {path.stem for path in (tmp_path / "runs" / "compare-quick" / "plots").iterdir()}
    described = PAGE.split("## Read the plots\n")[1]
    # None of its arms differ in k alone.
    assert plots == set(re.findall(r"^\| `([\w-]+)` \|", described, re.M)) - {"error-by-k"}
