"""The Python of the pages and of the notebook runs; sessions print what the pages say."""

from __future__ import annotations

import ast
import builtins
import doctest
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.docs.page_parts import DOCS, ROOT, blocks, run_session

import miai
from miai.errors import ConfigError
from miai_tournaments.api import run_tournament

SLOW = ("docs/belief-search.md", "docs/miniblind.md", "docs/python.md", "docs/rbc.md")
PAGES = {
    "docs/belief-search.md": 2,
    "docs/equilibria.md": 1,
    "docs/go.md": 4,
    "docs/miniblind.md": 3,
    "docs/python.md": 9,
    "docs/ratings.md": 3,
    "docs/rbc.md": 1,
    "docs/searches.md": 5,
    "plugins/classics/README.md": 1,
    "plugins/go/README.md": 1,
    "plugins/miniblind/README.md": 1,
    "plugins/rbc/README.md": 1,
}
"""Pages and their numbers of blocks; pages of Python that needs more have tests of their own."""
PATH = DOCS / "tournament.ipynb"
CELLS = json.loads(PATH.read_text("utf-8"))["cells"]
CODE = [ast.parse("".join(c["source"]), PATH.name) for c in CELLS if c["cell_type"] == "code"]


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.slow] if p in SLOW else []) for p in PAGES]
)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its blocks in their order, which share their names."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text("utf-8")
    found = blocks(text, "(?:python|pycon)")
    assert len(found) == PAGES[page]
    names: dict[str, object] = {}
    for block in found:
        if ">>> " not in block:
            exec(compile(block, page, "exec"), names)
            continue
        run_session(block, names, page)


def test_sessions_of_the_testing_package_are_true() -> None:
    import miai.testing

    results = doctest.testmod(miai.testing)
    assert results.attempted > 3
    assert results.failed == 0


def test_a_run_is_continued_and_extended(tmp_path: Path) -> None:
    lines: list[str] = []
    config = {
        "tournament": {"name": "match", "seed": 1, "rounds": 2},
        "game": {"name": "tic_tac_toe"},
        "players": [{"name": "a", "agent": "random"}, {"name": "b", "agent": "random"}],
    }
    first = run_tournament(config, tmp_path / "run", executor="serial", show=lines.append)
    again = run_tournament(config, tmp_path / "run", executor="serial")
    assert first.to_json() == again.to_json()
    more = run_tournament(
        config, tmp_path / "run", overrides=["tournament.rounds=4"], executor="serial"
    )
    assert more.standings.first_player.games == 2 * first.standings.first_player.games
    assert config["tournament"] == {"name": "match", "seed": 1, "rounds": 2}


def test_every_mistake_in_a_mapping_is_named_with_its_path(tmp_path: Path) -> None:
    config = {
        "tournament": {"name": "match", "rounds": 0},
        "game": {"name": "tic_tac_toes"},
        "players": [{"name": "a", "agent": "randon"}, {"name": "b", "agent": "random"}],
    }
    with pytest.raises(ConfigError) as caught:
        run_tournament(config, tmp_path / "run")
    for path in ("tournament.rounds", "game", "tic_tac_toe"):
        assert path in str(caught.value)
    assert not (tmp_path / "run").exists()


# -- the notebook ---------------------------------------------------------------------------------


def test_its_cells_are_stripped_and_use_names_that_exist() -> None:
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in CELLS)
    names: dict[str, Any] = {}
    for node in (node for cell in CODE for node in ast.walk(cell)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(compile(ast.Module([node], []), PATH.name, "exec"), names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "miai":
            assert hasattr(miai, node.attr)
        elif isinstance(node, ast.Name):
            assert isinstance(node.ctx, ast.Store) or node.id in names | vars(builtins), node.id
            names[node.id] = node


@pytest.mark.slow
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, twice: the second time the run is there already."""
    monkeypatch.chdir(tmp_path)
    shown: list[list[Any]] = []
    for _ in range(2):
        names: dict[str, Any] = {}
        shown.append([])
        for cell in CODE:
            *before, last = cell.body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(before, []), PATH.name, "exec"), names)
            shown[-1].append(eval(compile(ast.Expression(last.value), PATH.name, "eval"), names))
    for value in shown[0][:-1]:
        assert value._repr_html_() or value._repr_svg_()
    assert shown[0][-1] == shown[1][-1]
    assert names["result"].statistics["solved"]
