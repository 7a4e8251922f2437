"""Bounds on beliefs compared: nodes and time of each arm on the same roots, and its errors.

A cell is a game, a depth and a class of roots. Every arm searches every root with bounds of its
own, that know nothing before; the order of moves is the same for all. A value is wrong when it is
not that of `none`, or of `table` where `none` is left out; a move is wrong when it does not
guarantee that value. Nodes are defined in docs/belief-search.md. One core, pure Python.

    python benchmarks/belief_search.py [--json] [--roots N] [--games krk4 phantom ...]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from miai.belief_search import BeliefSearch, Root, named_bounds
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem
from miai_miniblind.roots import hard_roots, random_roots
from miai_miniblind.sub_hunt import SubHuntProblem

ARMS: dict[str, dict[str, Any]] = {
    "table": {},
    "singles": {},
    "exact": {},
    "cores": {},
    "dominance": {"k": 16},
    "minhash": {"k": 16},
    "approx-dominance": {"k": 16},
    "approx-minhash": {"k": 16},
}
BASE = "table"


@dataclass(frozen=True)
class Cell:
    """Where arms are compared.

    Attributes:
      problem: makes the problem.
      depth, kind: how deep, and which class of roots.
    """

    problem: Callable[[], Any]
    depth: int
    kind: str


CELLS: dict[str, Cell] = {
    "krk4": Cell(lambda: MiniRbcProblem(4, 2), 3, "hard"),
    "krk4-graded": Cell(lambda: MiniRbcProblem(4, 2, graded=True), 2, "random"),
    "krk5": Cell(lambda: MiniRbcProblem(5, 3), 4, "hard"),
    "krk5-random": Cell(lambda: MiniRbcProblem(5, 3), 3, "random"),
    "krk5-decoy": Cell(lambda: MiniRbcProblem(5, 3, decoy=True, graded=True), 1, "random"),
    "phantom": Cell(PhantomLinesProblem, 3, "random"),
    "hunt": Cell(lambda: SubHuntProblem(6, 1, 2), 2, "hard"),
}


def roots_of(cell: Cell, count: int, seed: int) -> list[Root[Any]]:
    """Return the roots of a cell."""
    problem = cell.problem()
    if cell.kind == "random":
        return random_roots(problem, count, seed=seed)
    return hard_roots(problem, count, depth=cell.depth, seed=seed)


def measure(name: str, roots: Sequence[Root[Any]]) -> list[dict[str, Any]]:
    """Return a row for each arm."""
    cell, rows = CELLS[name], []
    truth: list[float] = []
    for arm, parameters in ARMS.items():
        problem, nodes, entries, found = cell.problem(), 0, 0, []
        began = time.perf_counter()
        for root in roots:
            search: BeliefSearch[Any] = BeliefSearch(problem, named_bounds(arm, **parameters))
            result = search.search(root, cell.depth)
            nodes += result.statistics["nodes"]
            entries += result.statistics.get("bounds_bytes", 0)
            found.append((result.value, result.action))
        seconds = time.perf_counter() - began
        if arm == BASE:
            truth = [value for value, _ in found]
        wrong = [value != true for (value, _), true in zip(found, truth, strict=True)]
        moves = [
            guaranteed(cell, root, action) < true
            for root, (_, action), true in zip(roots, found, truth, strict=True)
        ]
        rows.append(
            {
                "game": name,
                "depth": cell.depth,
                "class": cell.kind,
                "arm": arm,
                "nodes": nodes,
                "seconds": round(seconds, 3),
                "bytes": entries,
                "wrong_values": sum(wrong),
                "wrong_moves": sum(moves),
                "roots": len(roots),
            }
        )
    return rows


def guaranteed(cell: Cell, root: Root[Any], action: int) -> float:
    """Return what an action guarantees at a root, by searches that make no errors."""
    problem = cell.problem()
    search: BeliefSearch[Any] = BeliefSearch(problem, named_bounds("exact"))
    worst = problem.greatest
    parts: dict[object, set[int]] = {}
    for hidden in root.hidden:
        for reply in problem.replies(root.public, hidden, action):
            if reply.ends:
                worst = min(worst, reply.value)
            else:
                parts.setdefault(reply.observation, set()).add(reply.hidden)
    depth = cell.depth - problem.cost(root.public, action)
    for told, part in parts.items():
        after, hidden_parts = problem.after(root.public, action, told), tuple(sorted(part))
        if depth < 1:
            value = min(problem.evaluate(after, hidden) for hidden in hidden_parts)
        else:
            value = search.search(Root(after, hidden_parts), depth).value
        worst = min(worst, value)
    return float(worst)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--roots", type=int, default=10, help="of each cell")
    parser.add_argument("--games", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--seed", type=int, default=1, help="of the roots")
    given = parser.parse_args()
    rows = []
    for name in given.games:
        fresh = measure(name, roots_of(CELLS[name], given.roots, given.seed))
        rows += fresh
        if given.json:
            continue
        base = next(row for row in fresh if row["arm"] == BASE)
        print(f"{name}, depth {base['depth']}, {base['roots']} {base['class']} roots")
        for row in fresh:
            print(
                f"  {row['arm']:<17}{row['nodes']:>10} nodes  {base['nodes'] / row['nodes']:>6.1f}x"
                f"{row['seconds']:>8.2f} s  {base['seconds'] / row['seconds']:>5.1f}x"
                f"  wrong values {row['wrong_values']}, moves {row['wrong_moves']}"
            )
    if given.json:
        figures = {
            "rows": rows,
            "seed": given.seed,
            "load_after": round(os.getloadavg()[0], 2),
            "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
            "python": platform.python_version(),
            "date": datetime.now(UTC).date().isoformat(),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
