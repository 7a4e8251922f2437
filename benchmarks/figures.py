"""Measures the figures of the README that take minutes, and makes the pages: ``make figures``.

    python benchmarks/figures.py               measure all
    python benchmarks/figures.py overhead mcts measure the rows of these names

Each row of `benchmarks/results` has the command that measures it; a script with ``--record`` writes
what it has measured into its rows.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

from common.evidence import ROOT, rows

README = (
    *("playouts-9", "mcts", "network-search-32", "families"),
    *("rbc-beliefs", "bounds-krk5", "overhead"),
)
"""Rows, one of each command; matches take hours, and are recorded by their own commands."""


def main() -> None:
    """Run the command of each row."""
    known = {name for name, row in rows().items() if row.command.startswith("python benchmarks/")}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="Rows to measure")
    names = parser.parse_args().rows or README
    if unknown := sorted({*names} - known):
        parser.error(f"no row is called {', '.join(unknown)}; the rows are {', '.join(known)}")
    for command in dict.fromkeys(rows()[name].command for name in names):
        print(command, flush=True)
        words = [sys.executable, *shlex.split(command)[1:], "--record"]
        subprocess.run(words, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
