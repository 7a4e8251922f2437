"""Runs the slow tests file by file and records what came of each in docs/soak.md.

    python -m tests.soak                      every file that this commit has no result of
    python -m tests.soak tests/rbc/test_differential.py ...

Each file's row is written as soon as it ends, so that a soak can be interrupted and goes on with
the same command. Rows of other commits stay until their file is run again.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.seeds import RANDOM

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "soak.md"
HEAD = """# Soak tests

`make test` leaves out the tests that take minutes. `make soak` runs them file by file and writes \
this page: what ran when, on which commit, and what came of it. Many promises of \
[failures](errors.md) rest on these tests.

| file | date | commit | load | minutes | result |
|---|---|---|---|---|---|
"""
TIMEOUT = 3600


def slow_files() -> list[str]:
    """Return the files with slow tests, in order."""
    words = ("-m", "slow", "--collect-only", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return sorted({line.split("::")[0] for line in done.stdout.splitlines() if "::" in line})


def commit() -> str:
    """Return the commit that is checked out, marked if files were changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", ".", ":!docs/soak.md")
    return git("rev-parse", "--short=7", "HEAD") + ("-changed" if changed else "")


def read_rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of a page, by file."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].startswith("`tests/"):
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def page(rows: dict[str, list[str]]) -> str:
    """Return the page."""
    lines = (f"| `{name}` | {' | '.join(cells)} |\n" for name, cells in sorted(rows.items()))
    return HEAD + "".join(lines)


def summary(output: str) -> str:
    """Return the last line of pytest's output without its frame and duration."""
    lines = [line for line in output.splitlines() if line.strip()]
    last = lines[-1].strip("= ") if lines else "no output"
    return re.sub(r" in [\d.]+s.*", "", last)


def run(name: str) -> list[str]:
    """Run the slow tests of a file; return the cells of its row."""
    began, load = time.monotonic(), os.getloadavg()[0]
    words = ("-m", "slow", "-q", "--timeout", str(TIMEOUT), name)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MIAI_TEST_SEED": RANDOM},
        check=False,
    )
    minutes = (time.monotonic() - began) / 60
    if done.returncode:
        print(done.stdout[-10_000:], file=sys.stderr)
    date = datetime.now(tz=UTC).date().isoformat()
    return [date, commit(), f"{load:.1f}", f"{minutes:.1f}", summary(done.stdout)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the files and write the page; return 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="files of tests (default: all with slow tests)")
    parser.add_argument("--again", action="store_true", help="also those with a result already")
    options = parser.parse_args(arguments)
    rows = read_rows(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    here, failed = commit(), False
    for name in options.files or slow_files():
        if not options.files and not options.again and rows.get(name, ["", ""])[1] == here:
            continue
        print(f"{name} ...", flush=True)
        rows[name] = run(name)
        failed = failed or "failed" in rows[name][-1] or "error" in rows[name][-1]
        print(f"  {rows[name][-1]} ({rows[name][-2]} min)", flush=True)
        PAGE.write_text(page(rows), "utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
