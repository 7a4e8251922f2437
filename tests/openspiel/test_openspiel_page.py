"""docs/openspiel.md: its commands, its tournament, and its reproductions of faults."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.docs.page_parts import ROOT, blocks, commands, page, run

PAGE = page("openspiel")
README = ROOT / "plugins" / "openspiel" / "README.md"
ENABLED = {"MIAI_DISABLE_PLUGINS": ""}


@pytest.mark.parametrize("words", commands(PAGE), ids=" ".join)
def test_a_command_of_the_page_plays_a_game(words: list[str], tmp_path: Path) -> None:
    assert "p0" in run(["miai", *words], tmp_path, **ENABLED)


@pytest.mark.slow
def test_the_tournament_of_the_page_is_played(tmp_path: Path) -> None:
    (config,) = blocks(PAGE, "toml")
    (tmp_path / "dark-hex.toml").write_text(config)
    shown = run("miai tournament run dark-hex.toml --out run", tmp_path, **ENABLED)
    assert "12 games" in shown + (tmp_path / "run" / "report.txt").read_text()
    assert "ismcts" in run("miai tournament report run", tmp_path, **ENABLED)


@pytest.mark.parametrize(
    "code", re.findall(r"^( *)```python\n(.*?)^ *```", PAGE, re.S | re.M), ids=lambda code: ""
)
def test_code_of_the_page_prints_what_it_says(code: tuple[str, str], tmp_path: Path) -> None:
    indent, lines = code
    program = re.sub(f"^{indent}", "", lines, flags=re.M)
    said = re.findall(r"print\(.*\)  # (.*)", program)
    printed = run([sys.executable, "-c", program], tmp_path, **ENABLED).splitlines()
    assert printed == said


def test_the_readme_s_session(tmp_path: Path) -> None:
    program = f"import doctest; raise SystemExit(doctest.testfile({str(README)!r}, False).failed)"
    run([sys.executable, "-c", program], tmp_path, **ENABLED)
