"""The page of the soak: what the script writes it reads again, and its files exist."""

from __future__ import annotations

from pathlib import Path

from tests.soak import PAGE, page, read_rows, summary

ROOT = Path(__file__).parents[2]


def test_the_page_is_as_the_script_writes_it() -> None:
    text = PAGE.read_text("utf-8")
    rows = read_rows(text)
    assert rows
    assert page(rows) == text


def test_its_files_have_slow_tests() -> None:
    for name in read_rows(PAGE.read_text("utf-8")):
        shared = (ROOT / name).with_name("conftest.py")  # its fixtures may have slow parameters
        files = [path for path in (ROOT / name, shared) if path.exists()]
        assert any("mark.slow" in path.read_text("utf-8") for path in files), name


def test_the_summary_is_pytest_s_last_line() -> None:
    assert summary("...\n== 2 passed, 1 failed in 3.21s (0:00:03) ==\n\n") == "2 passed, 1 failed"
    assert summary("7 passed in 252.13s (0:04:12)\n") == "7 passed"
    assert summary("") == "no output"
