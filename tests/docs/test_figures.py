"""The script of the README's figures: its rows are stored, its marks are right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import figures  # noqa: E402 - a script


def test_every_row_is_measured_and_its_benchmark_exists() -> None:
    rows = json.loads(figures.STORE.read_text("utf-8"))
    assert set(rows) == set(figures.FIGURES)
    for figure in figures.FIGURES.values():
        assert (ROOT / "benchmarks" / figure.command[0]).is_file()
        assert all((ROOT / path).exists() for path in figure.code)
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    for name, row in rows.items():
        assert f"| {figures.FIGURES[name].title} | {row['value']} |" in page


def test_a_row_is_old_when_its_code_has_changed() -> None:
    figure = next(iter(figures.FIGURES.values()))
    if subprocess.run(["git", "-C", str(ROOT), "rev-parse"], capture_output=True).returncode:
        return  # not a checkout
    newest = figures.git("log", "-1", "--format=%h", "--", *figure.code)
    before = figures.git("log", "-1", "--format=%h", f"{newest}^")
    assert figures.is_old({"commit": before}, figure)
    assert not figures.is_old({"commit": newest}, figure)
    assert figures.is_old({"commit": "0000000"}, figure)


def test_the_readme_says_what_was_measured() -> None:
    """To the digits that it gives."""
    rows = json.loads(figures.STORE.read_text("utf-8"))
    readme = (ROOT / "README.md").read_text("utf-8")
    for name in ("mcts", "mcts-openspiel", "network-search-32", "beliefs", "overhead", "speed-up"):
        value = float(rows[name]["value"].removesuffix(" times").replace(",", ""))
        rounded = float(f"{value:.3g}")
        said = {f"{rounded:,.0f}", f"{value:.1f}", f"{value:.2f}", f"{value / 1e6:.1f} million"}
        assert any(re.search(rf"(?<![\d.,]){text}(?![\d]|[.,]\d)", readme) for text in said), name
    assert len({row["commit"] for row in rows.values()}) == 1
