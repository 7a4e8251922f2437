"""The Python of the pages runs, and its sessions print what the pages say."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = ("docs/miniblind.md", "docs/python.md", "docs/rbc.md")
PAGES = {
    "docs/belief-search.md": 2,
    "docs/equilibria.md": 1,
    "docs/go.md": 4,
    "docs/miniblind.md": 3,
    "docs/python.md": 7,
    "docs/ratings.md": 3,
    "docs/rbc.md": 1,
    "docs/searches.md": 5,
    "plugins/classics/README.md": 1,
    "plugins/go/README.md": 1,
    "plugins/miniblind/README.md": 1,
    "plugins/rbc/README.md": 1,
}
"""Pages and their numbers of blocks; pages of Python that needs more have tests of their own."""


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
    blocks = re.findall(r"```(?:python|pycon)\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == PAGES[page]
    names: dict[str, object] = {}
    for block in blocks:
        if ">>> " not in block:
            exec(compile(block, page, "exec"), names)
            continue
        session = doctest.DocTestParser().get_doctest(block, names, page, None, 0)
        output: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
            session, out=output.append, clear_globs=False
        )
        assert not output, "".join(output)
        names |= session.globs


def test_sessions_of_the_testing_package_are_true() -> None:
    import miai.testing

    results = doctest.testmod(miai.testing)
    assert results.attempted > 3
    assert results.failed == 0
