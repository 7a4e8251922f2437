"""Bounds on beliefs compared: nodes and time of each arm on the same roots, and its errors.

A cell is a game, a depth and a class of roots. Every arm searches every root with empty bounds and,
except `all`, the same order of moves. A value is wrong if it differs from that of `table`; a move
is wrong if it does not guarantee that value. docs/miniblind.md defines nodes. One core is used. The
search is compiled, and times leave out enumerating the game; `--search recursive` uses plain
Python.

    python benchmarks/belief_search.py [--json] [--roots N] [--games krk5 phantom ...]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common.conditions import conditions
from common.evidence import record
from miai.beliefs import BeliefResult
from miai.beliefs.protocol import BeliefSearcher, RootedProblem, SizedRoot
from miai.plugins.loader import registry

ARMS: dict[str, dict[str, Any]] = {
    "table": {"bounds": "table", "window": "alpha-beta"},
    "table-null": {"bounds": "table"},
    "singles": {"bounds": "singles"},
    "exact": {"bounds": "exact"},
    "cores": {"bounds": "cores"},
    "cores-together": {"bounds": "cores", "bounds_parameters": {"singles": False}},
    "all": {"bounds": "cores", "adaptive": True, "symmetries": True},
    "minhash": {"bounds": "minhash", "bounds_parameters": {"k": 16}},
    "minhash alone": {"bounds": "minhash", "bounds_parameters": {"k": 16, "verified": False}},
}
BASE = "table"


@dataclass(frozen=True)
class Cell:
    """A problem, a depth and a class of roots."""

    problem: str
    parameters: dict[str, Any]
    depth: int
    kind: str


KRK4, KRK5, KRK6 = ({"n": n, "w": w} for n, w in ((4, 2), (5, 3), (6, 3)))
CELLS: dict[str, Cell] = {
    "krk4": Cell("mini_rbc", KRK4, 3, "hard"),
    "krk4-graded": Cell("mini_rbc", {**KRK4, "graded": True}, 3, "random"),
    "krk5": Cell("mini_rbc", KRK5, 5, "hard"),
    "krk5-deep": Cell("mini_rbc", KRK5, 6, "hard"),
    "krk5-graded": Cell("mini_rbc", {**KRK5, "graded": True}, 4, "hard"),
    "krk6": Cell("mini_rbc", KRK6, 4, "random"),
    "krk6-hard": Cell("mini_rbc", KRK6, 4, "hard"),
    "decoy": Cell("mini_rbc", {**KRK4, "decoy": True}, 3, "hard"),
    "decoy5": Cell("mini_rbc", {**KRK5, "decoy": True}, 3, "hard"),
    "decoy5-graded": Cell("mini_rbc", {**KRK5, "decoy": True, "graded": True}, 3, "random"),
    "phantom": Cell("phantom_lines", {}, 5, "random"),
    "phantom-hard": Cell("phantom_lines", {}, 3, "hard"),
    "phantom34": Cell("phantom_lines", {"columns": 4}, 4, "random"),
    "phantom34-hard": Cell("phantom_lines", {"columns": 4}, 3, "hard"),
    "hunt": Cell("sub_hunt", {"n": 6, "pings": 1, "blast": 2}, 3, "hard"),
    "hunt8": Cell("sub_hunt", {"n": 8, "pings": 2, "blast": 2}, 2, "hard"),
}


RECORDED = ("krk5", "phantom", "phantom34")
"""Cells with a row on the page."""


def problem_of(cell: Cell) -> RootedProblem:
    """Return the problem of a cell."""
    component = registry().get("belief-problem", cell.problem)
    problem: RootedProblem = component.build(values=cell.parameters)
    return problem


def searcher(problem: RootedProblem, arm: str, search: str) -> BeliefSearcher:
    """Return a search with empty bounds."""
    component = registry().get("belief-search", search)
    results: BeliefSearcher = component.build(problem, values=ARMS[arm])
    return results


def timed(
    problem: RootedProblem, arm: str, root: SizedRoot, arguments: argparse.Namespace, depth: int
) -> tuple[BeliefResult, float]:
    """Return what an arm finds of a root, and the median of the seconds it takes."""
    seconds = []
    for _ in range(arguments.repeats):
        search = searcher(problem, arm, arguments.search)
        began = time.perf_counter()
        results = search.search(root, depth)
        seconds.append(time.perf_counter() - began - results.enumeration_seconds)
    return results, statistics.median(seconds)


def measure(
    name: str, roots: Sequence[SizedRoot], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row for each arm."""
    cell, rows = CELLS[name], []
    problem = problem_of(cell)
    truth: list[float] = []
    for root in roots:
        searcher(problem, "all", arguments.search).search(
            root, cell.depth
        )  # compiles and enumerates
    judges = [searcher(problem, BASE, arguments.search) for _ in roots]
    for arm in arguments.arms:
        results, taken = zip(
            *(timed(problem, arm, root, arguments, cell.depth) for root in roots), strict=True
        )
        truth = truth or [result.value for result in results]
        wrong = [result.value != true for result, true in zip(results, truth, strict=True)]
        moves = [
            judge.guarantees(root, result.action, cell.depth) < true
            for judge, root, result, true in zip(judges, roots, results, truth, strict=True)
        ]
        rows.append(
            {
                "game": name,
                "depth": cell.depth,
                "class": cell.kind,
                "arm": arm,
                "nodes": sum(result.statistics["nodes"] for result in results),
                "leaves": sum(result.statistics["leaves"] for result in results),
                "seconds": round(sum(taken), 4),
                "bytes": sum(result.statistics.get("bounds_bytes", 0) for result in results),
                "wrong_values": sum(wrong),
                "wrong_moves": sum(moves),
                "roots": len(roots),
            }
        )
    return rows


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the arms of a cell."""
    base = rows[0]
    print(f"{base['game']}, depth {base['depth']}, {base['roots']} {base['class']} roots")
    for row in rows:
        print(
            f"  {row['arm']:<17}{row['nodes']:>11} nodes  {base['nodes'] / row['nodes']:>6.1f}x"
            f"{row['seconds']:>9.3f} s  {base['seconds'] / row['seconds']:>6.1f}x"
            f"{row['nodes'] / row['seconds'] / 1e6:>7.2f} M nodes/s"
            f"  wrong values {row['wrong_values']}, moves {row['wrong_moves']}",
            flush=True,
        )


def times(ratio: float) -> str:
    """Return a ratio to two digits or more."""
    return f"{ratio:.{int(ratio < 10)}f} times"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--roots", type=int, default=30, help="Roots per cell")
    parser.add_argument(
        "--repeats", type=int, default=5, help="Searches per root; the median counts"
    )
    parser.add_argument("--games", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--search", default="compiled", choices=("compiled", "recursive"))
    parser.add_argument("--seed", type=int, default=1, help="Seed of the roots")
    arguments = parser.parse_args()
    arguments.arms = [BASE, *(arm for arm in arguments.arms if arm != BASE)]
    rows = []
    for name in arguments.games:
        cell = CELLS[name]
        roots = problem_of(cell).roots(
            cell.kind, arguments.roots, depth=cell.depth, seed=arguments.seed
        )
        fresh = measure(name, roots, arguments)
        rows += fresh
        if not arguments.json:
            show(fresh)
    if arguments.record:
        for name in set(arguments.games) & set(RECORDED):
            base, learnt = (
                next(row for row in rows if (row["game"], row["arm"]) == (name, arm))
                for arm in (BASE, "all")
            )
            nodes, seconds = (base[key] / learnt[key] for key in ("nodes", "seconds"))
            record(f"bounds-{name}", f"{times(nodes)} fewer nodes, {times(seconds)} faster")
    if arguments.json:
        figures = {
            "rows": rows,
            "search": arguments.search,
            "seed": arguments.seed,
            "load_after": round(os.getloadavg()[0], 2),
            **conditions(),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
