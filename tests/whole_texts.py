"""Whole texts to compare with, as files of the folder ``expected`` beside this one.

After a change that is meant, run the tests with ``MIAI_EXPECTED=write``, and read the difference.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from miai.errors import MiaiError
from miai_tournaments.report.report import TournamentReport
from miai_tournaments.report.report_files import csv_files, write_report

FOLDER = Path(__file__).parent / "expected"


def assert_expected(name: str, text: str) -> None:
    """Check that a text is that of the file; styles, scripts and late digits do not count.

    Each element of a page or picture is on a line of its own in the file.
    """
    if name.endswith((".html", ".svg")):
        text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        text = re.sub(r"(sha256-|base64,)[\w+/=]*", r"\1", text).replace("><", ">\n<")
    text = re.sub(r"\d\.\d{6,}(e-?\d+)?", lambda found: f"{float(found[0]):.4f}", text)
    path = FOLDER / name
    if os.environ.get("MIAI_EXPECTED") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), name


def assert_transcript(name: str, answer: Callable[[str], str], *, prompt: str = "> ") -> None:
    """Check the answers to a file's lines that begin with the prompt; new ones are added there."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    asked = re.findall(rf"^{re.escape(prompt)}(.*)$", text, re.MULTILINE)
    assert asked
    assert_expected(name, "\n".join(f"{prompt}{line}\n{answer(line)}\n" for line in asked))


def refusal(attempt: Callable[[], object], *, folder: Path | None = None) -> str:
    """Return the message with which an attempt is refused, FOLDER in place of a folder."""
    with pytest.raises(MiaiError) as caught:
        attempt()
    return str(caught.value).replace(str(folder or "FOLDER"), "FOLDER")


def table_of(line: str) -> dict[str, Any]:
    """Return a table of TOML in one line, in which semicolons divide its own."""
    return tomllib.loads(line.replace("; ", "\n"))


def assert_report(name: str, report: TournamentReport, folder: Path) -> None:
    """Check a report with details in all formats but Parquet, and on terminals narrow and wide."""
    for width in (40, 60, 100, 140):
        terminal = Console(file=(file := io.StringIO()), width=width, color_system=None)
        terminal.print(report.render(width))
        text = report.to_text(width)
        assert_expected(f"{name}/{width}-columns.txt", f"{text}{file.getvalue()}")
    for form in ("text", "html", "markdown", "json"):
        path = write_report(report, folder, form, replays=report.rows[:2])
        assert_expected(f"{name}/{path.name}", path.read_text(encoding="utf-8"))
    tables = [f"{file}\n{content}" for file, content in csv_files(report).items()]
    assert_expected(f"{name}/tables.csv", "\n".join(tables))
