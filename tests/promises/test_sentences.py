"""Every test of this room quotes the sentence that it holds, and a page still has that sentence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"README": "README.md", "SECURITY": "SECURITY.md"} | {
    page: f"docs/{page}.md" for page in ("errors", "install", "tutorial")
}


def promises() -> dict[str, list[tuple[str, str]]]:
    """Return for each test of the room the pages and sentences that its docstring quotes."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        if file != Path(__file__):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    said = " ".join((ast.get_docstring(node) or "").split())
                    quotes = re.findall(r'(\w+): "([^"]*)"', said)
                    found[f"{file.stem}.{node.name}"] = quotes
    return found


PROMISES = promises()


def test_there_are_promises_of_every_page() -> None:
    assert {page for quotes in PROMISES.values() for page, _ in quotes} == set(PAGES)


@pytest.mark.parametrize("name", PROMISES)
def test_the_page_still_makes_the_promise(name: str) -> None:
    assert PROMISES[name], 'quote the sentence: README: "..."'
    for page, sentence in PROMISES[name]:
        text = " ".join((ROOT / PAGES[page]).read_text("utf-8").split())
        assert sentence in text, f"{PAGES[page]} does not say: {sentence}"
