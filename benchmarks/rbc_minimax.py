"""Bounds compared on Reconnaissance Blind Chess: nodes and time of `rbc-minimax` with each arm.

Roots are beliefs before a sense, from games played from the seed. All arms search the same roots
with the same candidate senses and moves, each with empty bounds. A value is wrong if it differs
from that of `none`; a move is wrong if it does not guarantee that value. A root is saturated if the
king can always be lost; a speed-up means nothing there, so these roots are listed separately. `all`
uses cores, tries moves before senses, and tries no board alone.

    python benchmarks/rbc_minimax.py [--json] [--roots N] [--depth 1 2] [--least N] [--most N]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.conditions import conditions
from miai.beliefs import BeliefResult, named_bounds
from miai_rbc.parameters import MinimaxProblemParameters
from miai_rbc.search.minimax import RbcMinimaxSearch, load_minimax
from miai_rbc.search.problem import RbcProblem, RbcRoot


@dataclass(frozen=True)
class Arm:
    """How a root is searched: bounds, their parameters, and parameters of the search."""

    bounds: str
    parameters: dict[str, Any]
    search: dict[str, Any]


ARMS: dict[str, Arm] = {
    "none": Arm("none", {}, {}),
    "table": Arm("table", {}, {}),
    "table, null window": Arm("table", {}, {"window": "null"}),
    "singles": Arm("singles", {}, {}),
    "exact": Arm("exact", {}, {}),
    "cores": Arm("cores", {}, {}),
    "cores, none alone": Arm("cores", {}, {"singles": False}),
    "table, blind first": Arm("table", {}, {"blind_first": True}),
    "all": Arm("cores", {}, {"singles": False, "blind_first": True}),
    "all, null window": Arm("cores", {}, {"singles": False, "blind_first": True, "window": "null"}),
    "dominance": Arm("dominance", {"k": 64}, {}),
    "minhash": Arm("minhash", {"k": 64}, {}),
    "approx-dominance": Arm("approx-dominance", {"k": 64}, {}),
    "approx-minhash": Arm("approx-minhash", {"k": 64}, {}),
}
BASE = "none"
SIZES = {1: (1000, 100_000), 2: (20, 1000)}
"""Minimum and maximum boards of a root, by depth."""


def searcher(problem: RbcProblem, arm: Arm) -> RbcMinimaxSearch:
    """Return a search with empty bounds."""
    return RbcMinimaxSearch(problem, named_bounds(arm.bounds, **arm.parameters), **arm.search)


def saturated(rules: dict[str, Any], root: RbcRoot, depth: int) -> bool:
    """Return whether every candidate can lose the king."""
    problem = RbcProblem(MinimaxProblemParameters(**{**rules, "king_loss": None}))
    return searcher(problem, ARMS["all"]).search(root, depth).value <= problem.least


def measure(
    problem: RbcProblem, name: str, roots: Sequence[RbcRoot], depth: int
) -> tuple[list[BeliefResult], float, int]:
    """Return an arm's results, its seconds, and the bytes of its bounds."""
    results, held, seconds = [], 0, 0.0
    for root in roots:
        began = time.perf_counter()
        search = searcher(problem, ARMS[name])
        results.append(search.search(root, depth))
        seconds += time.perf_counter() - began
        held += search.bounds.nbytes
    return results, seconds, held


def rows_of(
    problem: RbcProblem, kind: str, roots: Sequence[RbcRoot], depth: int, arms: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a row for each arm."""
    rows: list[dict[str, Any]] = []
    truth: list[float] = []
    judges = [searcher(problem, ARMS["table"]) for _ in roots]
    for name in arms:
        results, seconds, held = measure(problem, name, roots, depth)
        truth = truth or [result.value for result in results]
        wrong = [result.value != value for result, value in zip(results, truth, strict=True)]
        worse = [
            judge.guarantees(root, result.action, depth) < value
            for judge, root, result, value in zip(judges, roots, results, truth, strict=True)
        ]
        row: dict[str, Any] = {"game": "rbc", "depth": depth, "class": kind, "arm": name}
        for key in ("nodes", "leaves", "valued"):
            row[key] = sum(result.statistics[key] for result in results)
        row["seconds"] = round(seconds, 3)
        row |= {"bytes": held, "wrong_values": sum(wrong), "wrong_moves": sum(worse)}
        row |= {"roots": len(roots), "boards": [root.size for root in roots]}
        rows.append(row)
    return rows


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the arms of one class of roots."""
    base = rows[0]
    sizes = np.percentile(base["boards"], (0, 50, 100)).astype(int).tolist()
    print(f"rbc, depth {base['depth']}, {base['roots']} {base['class']} roots of {sizes} boards")
    for row in rows:
        print(
            f"  {row['arm']:<19}{row['nodes']:>10} nodes  {base['nodes'] / row['nodes']:>6.2f}x"
            f"{row['seconds']:>9.2f} s  {base['seconds'] / row['seconds']:>5.2f}x"
            f"{row['leaves']:>11} leaves"
            f"  wrong values {row['wrong_values']}, moves {row['wrong_moves']}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--roots", type=int, default=10, help="Roots per depth (10)")
    parser.add_argument("--depth", type=int, nargs="+", default=[1, 2], choices=(1, 2))
    parser.add_argument("--least", type=int, help="Minimum boards (1000 at depth 1, else 20)")
    parser.add_argument("--most", type=int, help="Maximum boards (100,000 at depth 1, else 1000)")
    parser.add_argument("--senses", type=int, default=4, help="Windows tried at each sense (4)")
    parser.add_argument("--moves", type=int, default=4, help="Requests tried at each move (4)")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--seed", type=int, default=1, help="Seed of the roots")
    arguments = parser.parse_args()
    arms = [BASE, *(name for name in arguments.arms if name != BASE)]
    for arm in ARMS.values():
        load_minimax(arm.bounds)  # compiles
    rows = []
    for depth in arguments.depth:
        least, most = arguments.least or SIZES[depth][0], arguments.most or SIZES[depth][1]
        rules = {"least": least, "most": most, "senses": arguments.senses, "moves": arguments.moves}
        rules |= {"deep_boards": max(1000, most) if depth == 2 else 1000}
        problem = RbcProblem(MinimaxProblemParameters(**rules))
        roots = problem.roots("game", arguments.roots, depth=depth, seed=arguments.seed)
        classes: dict[str, list[RbcRoot]] = {"game": [], "saturated": []}
        for root in roots:
            classes["saturated" if saturated(rules, root, depth) else "game"].append(root)
        for kind, chosen in classes.items():
            if not chosen:
                continue
            fresh = rows_of(problem, kind, chosen, depth, arms)
            rows += fresh
            if not arguments.json:
                show(fresh)
    if arguments.json:
        figures = {
            "rows": rows,
            "seed": arguments.seed,
            "senses": arguments.senses,
            "moves": arguments.moves,
            "load_after": round(os.getloadavg()[0], 2),
            **conditions(),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
