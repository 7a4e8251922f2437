"""Figures are written by the commands that measure them, and the pages show their age."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import records

from common import conditions, evidence

PAGES = evidence.pages()
README = (evidence.ROOT / "README.md").read_text(encoding="utf-8")
README_ROWS = (
    ("mcts",),
    ("network-search-32",),
    ("alphago-gnugo",),
    ("families",),
    ("rbc-strong",),
    ("rbc-beliefs",),
    ("bounds-krk5",),
    ("overhead", "speed-up"),
)
"""The rows that the figures of the README come from, line by line."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a file of code, which two rows measure."""
    code = tmp_path / "code" / "file.py"
    code.parent.mkdir()
    code.write_text("1")
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    rows = [
        evidence.Row(name=name, what=name, command="run", code=["code"], shown=True)
        for name in ("first", "second")
    ]
    evidence.write_section(results / "only.json", evidence.Section(title="Only", rows=rows))
    monkeypatch.setattr(evidence, "PAGES", {"page": ("# Page", ("only",))})
    evidence.record("first", "7 ms", interval="6 to 8", command="run --fast", root=tmp_path)
    return tmp_path


def lines(root: Path) -> list[str]:
    evidence.digest_of_path.cache_clear()  # of another process
    (page,) = evidence.pages(root).values()
    return [line for line in page.splitlines() if line.startswith(("| first", "| second"))]


def test_a_recorded_row_is_on_the_page_with_where_it_comes_from(root: Path) -> None:
    first, second = lines(root)
    row = evidence.rows(root)["first"]
    assert row.commit == conditions.commit()
    machine = conditions.machine().partition(",")[0]
    origin = f"`run --fast`, {machine}, {row.date}" + f", {row.commit}" * bool(row.commit)
    assert first.startswith(f"| first | 7 ms (6 to 8) | {origin}")
    assert second == f"| second | {evidence.UNKNOWN} | `run` |"
    assert first in (root / "docs" / "page.md").read_text(encoding="utf-8")
    (told := root / "docs" / "told.md").write_text("7 ms (<!--row first-->\nx<!---->)\n")
    assert evidence.pages(root)[told] == f"7 ms (<!--row first-->{origin}<!---->)\n"


def test_a_row_is_marked_when_its_code_changes(root: Path) -> None:
    assert evidence.OLD not in lines(root)[0]
    (root / "code" / "file.py").write_text("2")
    assert evidence.OLD in lines(root)[0]
    (root / "code" / "file.py").write_text("1")
    assert evidence.OLD not in lines(root)[0]
    (root / "code" / "another.py").write_text("")
    assert evidence.OLD in lines(root)[0]


def test_a_row_of_unknown_code_is_marked(root: Path) -> None:
    ((path, section),) = evidence.sections(root).items()
    section.rows[1] = section.rows[1].model_copy(update={"figure": "5"})
    evidence.write_section(path, section)
    assert evidence.OLD in lines(root)[1]
    assert f"date and commit {evidence.UNKNOWN}" in lines(root)[1]


def test_a_row_that_nobody_has_is_not_recorded(root: Path) -> None:
    with pytest.raises(KeyError, match="frist"):
        evidence.record("frist", "7 ms", root=root)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_pages_are_made_from_the_rows(path: Path) -> None:
    """All but the marks: a change of code alone makes no test fail, `make check` looks at them."""
    stored = path.read_text(encoding="utf-8").replace(f", {evidence.OLD}", "")
    assert stored == PAGES[path].replace(f", {evidence.OLD}", ""), "run `make format`"


def test_a_figure_on_another_page_has_its_origin() -> None:
    for path in (evidence.ROOT / "docs").glob("*.md"):
        text = evidence.ORIGIN.sub("", path.read_text("utf-8"))
        assert "(`python benchmarks/" not in text, path


def test_the_benchmarks_are_read_in_ten_minutes() -> None:
    assert len(PAGES[evidence.ROOT / "docs" / "benchmarks.md"].split()) <= 3_000


def test_rows_name_code_and_commands_that_exist() -> None:
    for section in evidence.sections().values():
        for row in section.rows:
            assert all((evidence.ROOT / path).exists() for path in row.code), row.name
            for script in re.findall(r"benchmarks/\w+\.py", row.command):
                assert (evidence.ROOT / script).is_file(), row.name
    names = [row.name for s in evidence.sections().values() for row in s.rows]
    assert len(names) == len(set(names))


def test_the_readme_says_what_was_measured() -> None:
    """Each number is one of its rows', to the digits that the README gives."""
    table = README.partition("## Figures")[2].partition("##")[0]
    rows = evidence.rows()
    shown = re.findall(r"^\| ([^|]*[^| ][^|]*) \| (.*) \|$", table, re.MULTILINE)
    for (_, result), names in zip(shown, README_ROWS, strict=True):
        text = " ".join(f"{rows[name].what} {rows[name].result()}" for name in names)
        measured = {float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*\b", text)}
        for number in re.findall(r"\d[\d,.]*\b", result):
            said = float(number.replace(",", ""))
            assert any(
                said in (value, float(f"{value / unit:.{digits}g}"))
                for value in measured
                for unit in (1, 1e6)
                for digits in (2, 3)
            ), (names, number)


@pytest.mark.slow
@pytest.mark.parametrize(("test", "written"), [("assert 1", True), ("assert 0", False)])
def test_a_green_run_is_written_down_and_a_red_one_is_not(
    tmp_path: Path, test: str, written: bool
) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "records.py", "seeds.py"):
        text = (records.ROOT / "tests" / name).read_text(encoding="utf-8")
        (tmp_path / "tests" / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "tests" / "test_one.py").write_text(f"def test_one():\n    {test}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "MIAI_RECORD": "test 0"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    path = tmp_path / records.SECONDS.relative_to(records.ROOT)
    assert path.exists() == written
