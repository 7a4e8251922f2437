"""The notebook of the documentation runs, and shows something after each cell."""

from __future__ import annotations

import ast
import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from tests.docs.page_parts import DOCS

import miai

PATH = DOCS / "tournament.ipynb"
CELLS = json.loads(PATH.read_text("utf-8"))["cells"]
CODE = [ast.parse("".join(c["source"]), PATH.name) for c in CELLS if c["cell_type"] == "code"]


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
