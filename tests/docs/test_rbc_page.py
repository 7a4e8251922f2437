"""The page on Reconnaissance Blind Chess: its commands run, its names exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.warm_command import run_miai

from miai.plugins.loader import registry
from miai_rbc.belief.scans import SCANS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rbc.md").read_text(encoding="utf-8")


def table(heading: str) -> set[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE))


@pytest.mark.slow
def test_its_commands_run_and_draw_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    for command in "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines():
        name, *words = shlex.split(command)
        assert name == "miai"
        if words[:2] == ["play", "rbc"]:
            words += ["--set", "full_turn_limit=4"]  # whole games take a minute
        done = run_miai(words, cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    for name in ("belief.svg", "told.svg"):
        root = ElementTree.parse(tmp_path / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_its_tables_name_what_there_is() -> None:
    assert table("Scans") == set(SCANS)
    assert table("Engines") == {"kernel", "stockfish"}
    agents = {c.name for c in registry().components("agent", game="rbc", adapted=True)}
    assert table("Agents") <= agents
    assert agents - table("Agents") <= {
        c.name for c in registry().components("agent", game="tic_tac_toe", adapted=True)
    }
