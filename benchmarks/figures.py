"""The figures of the README, each measured by its benchmark, on one commit and one machine.

    python benchmarks/figures.py                        print the table as it was last measured
    python benchmarks/figures.py --measure              measure every row again
    python benchmarks/figures.py --measure playouts-9   measure some rows again

A row is old when the code that it measures has changed since, and is marked so. Rows are stored in
benchmarks/figures.json as soon as they are measured. Matches and trainings take hours; they have
commands of their own in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.conditions import commit

ROOT = Path(__file__).parents[1]
STORE = ROOT / "benchmarks" / "figures.json"

Pick = Callable[[Mapping[str, Any]], tuple[str, str]]
"""Returns a figure and its range as texts, from what a benchmark prints with ``--json``."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A row.

    Attributes:
      title: what is measured.
      command: the benchmark and its options.
      code: files and folders that it measures.
      pick: the figure in the benchmark's JSON.
    """

    title: str
    command: tuple[str, ...]
    code: tuple[str, ...]
    pick: Pick


def number(key: str, *, spread: str = "", unit: str = "", digits: int = 0) -> Pick:
    """Return what picks a number, and its range from ``[median, minimum, maximum]``."""

    def pick(values: Mapping[str, Any]) -> tuple[str, str]:
        span = values[spread][1:] if spread else ()
        return (
            f"{values[key]:,.{digits}f}{unit}",
            " to ".join(f"{value:,.{digits}f}" for value in span),
        )

    return pick


GO = "plugins/go/miai_go"
PLAYOUTS = ("go_playouts.py",)
MCTS = ("go_mcts.py",)
OVERHEAD = ("tournament_overhead.py", "--games", "1000")
SEARCH = (
    *("go_search.py", "--encoders", "zero", "--precisions", "bf16", "--simulations", "200"),
    *("--repetitions", "5", "--selfplay-seconds", "2"),
)
BELIEFS = ("rbc_belief.py",)
REFEREE = (
    *("framework/miai/playing", "framework/miai/process"),
    *("tournaments/miai_tournaments/workers", "tournaments/miai_tournaments/running"),
    "tournaments/miai_tournaments/store",
)


def search_ratio(games: int) -> Pick:
    """Return what picks how much faster a search with 8 leaves per batch is."""

    def pick(values: Mapping[str, Any]) -> tuple[str, str]:
        (row,) = (
            row
            for row in values["search"]["zero"]["rows"]
            if (row["games"], row["leaves"]) == (games, 8)
        )
        speeds = row["simulations_per_second"]
        span = f"{speeds['least']:,} to {speeds['most']:,} simulations per second"
        return f"{row['ratio']:.1f} times", span

    return pick


def large_belief(key: str, unit: str = "") -> Pick:
    """Return what picks a number of the belief with about a million boards."""

    def pick(values: Mapping[str, Any]) -> tuple[str, str]:
        place = min(range(len(values["boards"])), key=lambda n: abs(values["boards"][n] - 1e6))
        return f"{values[key][place]:,.0f}{unit}", f"{values['boards'][place]:,} boards"

    return pick


FIGURES: Mapping[str, Figure] = {
    "playouts-9": Figure(
        "Go, light playouts per second on one core, 9x9",
        PLAYOUTS,
        (f"{GO}/kernels",),
        number("playouts_per_second_9", spread="interval_9"),
    ),
    "playouts-19": Figure(
        "Go, light playouts per second on one core, 19x19",
        PLAYOUTS,
        (f"{GO}/kernels",),
        number("playouts_per_second_19", spread="interval_19"),
    ),
    "mcts": Figure(
        "Go, simulations per second of compiled MCTS, 9x9",
        MCTS,
        (f"{GO}/kernels", f"{GO}/search"),
        number("simulations_per_second", spread="interval"),
    ),
    "mcts-openspiel": Figure(
        "Go, the same against OpenSpiel's C++ MCTSBot in the same run",
        MCTS,
        (f"{GO}/kernels", f"{GO}/search"),
        number("ratio", unit=" times", digits=1),
    ),
    "network-search-1": Figure(
        "Go, tree search with a network (bf16), 8 leaves per batch, one game, against one leaf "
        "at a time in plain Python (fp32)",
        SEARCH,
        (f"{GO}/kernels", f"{GO}/search", f"{GO}/nets"),
        search_ratio(1),
    ),
    "network-search-32": Figure(
        "Go, the same in 32 parallel games",
        SEARCH,
        (f"{GO}/kernels", f"{GO}/search", f"{GO}/nets"),
        search_ratio(32),
    ),
    "overhead": Figure(
        "Overhead of a tournament per short game, agents in their own processes, milliseconds",
        OVERHEAD,
        REFEREE,
        lambda values: (f"{1000 * values['overhead_seconds_per_game']:.2f}", "one worker"),
    ),
    "speed-up": Figure(
        "Speed-up by a second worker",
        OVERHEAD,
        REFEREE,
        number("two_worker_speedup", unit=" times", digits=2),
    ),
    "beliefs": Figure(
        "Reconnaissance Blind Chess, exact beliefs, successors per second on one core",
        BELIEFS,
        ("plugins/rbc/miai_rbc/kernels", "plugins/rbc/miai_rbc/belief"),
        large_belief("successors_per_second"),
    ),
    "beliefs-python-chess": Figure(
        "Reconnaissance Blind Chess, the same against python-chess in the same run",
        BELIEFS,
        ("plugins/rbc/miai_rbc/kernels", "plugins/rbc/miai_rbc/belief"),
        large_belief("ratio", " times"),
    ),
}


def git(*words: str) -> str:
    """Return what git prints."""
    command = ["git", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()


def is_old(row: Mapping[str, str], figure: Figure) -> bool:
    """Return whether the measured code has changed since a row was measured."""
    try:
        changed = git("log", "--oneline", f"{row['commit'].rstrip('+')}..HEAD", "--", *figure.code)
    except subprocess.CalledProcessError:  # a commit that is not here
        return True
    return bool(changed) or bool(git("status", "--porcelain", "--", *figure.code))


def measure(names: Sequence[str], rows: dict[str, dict[str, str]]) -> None:
    """Run the benchmarks of some rows, each command once, and store the rows."""
    commands = dict.fromkeys(FIGURES[name].command for name in names)
    measured = commit()  # before the first row is stored, which changes the checkout
    for command in commands:
        print(f"{' '.join(command)} ...", file=sys.stderr, flush=True)
        load = os.getloadavg()[0]
        done = subprocess.run(
            [sys.executable, str(ROOT / "benchmarks" / command[0]), *command[1:], "--json"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        values = json.loads(done.stdout)
        for name in names:
            if FIGURES[name].command == command:
                value, span = FIGURES[name].pick(values)
                rows[name] = {
                    "value": value,
                    "range": span,
                    "commit": measured,
                    "date": values["date"][:10],
                    "machine": values["machine"],
                    "load": f"{load:.1f}",
                }
        STORE.write_text(json.dumps(rows, indent=2, sort_keys=True) + "\n", "utf-8")


def table(rows: Mapping[str, Mapping[str, str]]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| what | figure | range | command | commit | date, machine, load | |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, figure in FIGURES.items():
        row = rows.get(name)
        command = f"`python benchmarks/{' '.join(figure.command)}`"
        if row is None:
            lines.append(f"| {figure.title} | | | {command} | | | not measured |")
            continue
        where = f"{row['date']}, {row['machine']}, {row['load']}"
        old = "old: the code has changed" if is_old(row, figure) else ""
        cells = (figure.title, row["value"], row["range"], command, row["commit"], where, old)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure rows, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--measure", nargs="*", metavar="ROW", help="Rows to measure (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="Print the stored rows as JSON")
    options = parser.parse_args(arguments)
    rows: dict[str, dict[str, str]] = json.loads(STORE.read_text("utf-8")) if STORE.exists() else {}
    unknown = sorted({*(options.measure or ())} - {*FIGURES})
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; the rows are {', '.join(FIGURES)}")
    if options.measure is not None:
        measure(options.measure or list(FIGURES), rows)
    print(json.dumps(rows) if options.json else table(rows))


if __name__ == "__main__":
    main()
