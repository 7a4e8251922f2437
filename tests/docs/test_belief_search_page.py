"""The page on search over beliefs: its example runs, its table names what is registered."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from miai.plugins.loader import registry

PAGE = (Path(__file__).parents[2] / "docs" / "belief-search.md").read_text(encoding="utf-8")


def test_its_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "belief-search.md", "exec"), names)
    assert len(capsys.readouterr().out.splitlines()) == 3
    (lines,) = re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL)
    test = doctest.DocTestParser().get_doctest(lines, names, "belief-search.md", None, 0)
    assert len(test.examples) == 4
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0


def test_it_names_all_bounds_and_retention_policies() -> None:
    section = PAGE.split("## Bounds and retention\n")[1].split("\n## ")[0]
    for component in [*registry().components("bounds"), *registry().components("retention")]:
        if component.plugin == "miai":
            assert f"`{component.name}`" in section
