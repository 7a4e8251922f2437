"""Bounds compared on Reconnaissance Blind Chess: nodes and time with each arm.

Roots are beliefs before a sense, from games played from the seed. All arms search the same roots
with the same candidate senses and moves, each with empty bounds. A value is wrong if it differs
from that of the first arm; a move is wrong if it does not guarantee that value. A root is saturated
if the king can always be lost; a speed-up means nothing there, so these roots are listed apart. The
`compiled` arms search by RBC's kernel, the others by the recursion in plain Python. Arms alternate
at each root, and their time is that of the processor.

`--shared` shows what RBC would pay without a kernel of its own: `shared table` and `shared cores`
are the framework's compiled search, `prepared table` and `prepared cores` that of RBC. All boards
below a root are enumerated and valued for both beforehand, candidates are chosen, and their time
leaves that out. Roots at which the framework's search finds no memory are left out.

    python benchmarks/rbc_minimax.py [--json] [--roots N] [--depth 1 2] [--min-boards N]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any, cast

import numpy as np

from common.conditions import conditions
from miai.beliefs import BeliefResult, named_bounds
from miai.beliefs.compiled_search import RULES, CompiledSearch
from miai.beliefs.deepening import Window
from miai_rbc.kernels.belief_tree import BEST_REQUEST, BEST_SENSE, CORES
from miai_rbc.kernels.engine import INFINITE
from miai_rbc.rbc_parameters import CompiledBounds, MinimaxProblemParameters
from miai_rbc.search.candidates import Valuer
from miai_rbc.search.compiled import RbcCompiledSearch, load_compiled
from miai_rbc.search.minimax import REPLY, BoardTree, Public, RbcMinimaxSearch, load_minimax
from miai_rbc.search.problem import RbcProblem, RbcRoot


@dataclass(frozen=True)
class Measured:
    """A search, and its processor time in seconds."""

    result: BeliefResult
    seconds: float


ARMS: tuple[str, ...] = (
    *("none", "table", "singles", "exact", "cores", "minhash", "minhash alone"),
    *("compiled none", "compiled table", "compiled cores"),
)
SHARED = ("shared table", "shared cores", "prepared table", "prepared cores")
ALONE = {"verified": False, "threshold": 0.8}
"""Parameters of `minhash alone`, whose values may be wrong."""
WINDOWS: dict[str, Window] = {"table": "alpha-beta", "cores": "null"}
SIZES = {1: (1000, 100_000), 2: (20, 1000), 3: (2, 6)}
"""Minimum and maximum boards of a root, by depth."""


def searcher(problem: RbcProblem, arm: str) -> RbcMinimaxSearch | RbcCompiledSearch:
    """Return a search with empty bounds."""
    words = arm.split()
    if words[0] == "compiled":
        return RbcCompiledSearch(problem, cast(CompiledBounds, words[1]))
    return RbcMinimaxSearch(problem, named_bounds(words[0], **(ALONE if words[1:] else {})))


class ListedTree(BoardTree):
    """The game below a root, with all boards listed beforehand, as the framework's kernel needs."""

    def __init__(self, problem: RbcProblem, root: RbcRoot, depth: int) -> None:
        valuer = Valuer(problem.rules.king_loss)
        drawn = problem.draw(valuer, root, problem.room(depth))
        super().__init__(drawn, valuer, root.player)
        self.start = self.root(senses=root.senses)
        self._listed: dict[Public, set[int]] = {}
        layer = {(self.start.public, depth): set(self.start.hidden)}
        while layer:
            following: dict[tuple[Public, int], set[int]] = {}
            for (public, left), boards in layer.items():
                self._listed.setdefault(public, set()).update(boards)
                # Closures ask for a turn after the end of the depth, where it is met before it too.
                if left == 0 and public.phase != REPLY:
                    continue
                for action, board in product(self.actions(public), boards):
                    for reply in self.replies(public, board, action):
                        if not reply.ends:
                            after = self.after(public, action, reply.observation)
                            place = after, left - self.cost(public, action)
                            following.setdefault(place, set()).add(reply.hidden)
            layer = following

    def universe(self, public: Public) -> list[int]:  # type: ignore[override]
        """Return all boards of a public part."""
        return sorted(self._listed[public])


def saturated(rules: dict[str, Any], root: RbcRoot, depth: int) -> bool:
    """Return whether every candidate can lose the king."""
    problem = RbcProblem(MinimaxProblemParameters(**{**rules, "king_loss": None}))
    return RbcCompiledSearch(problem).search(root, depth).value <= problem.least


def measure(
    problem: RbcProblem, arms: Sequence[str], roots: Sequence[RbcRoot], depth: int
) -> tuple[dict[str, list[Measured]], list[RbcRoot]]:
    """Return each arm's results, and their roots; at each the arms take turns, with empty bounds.

    A root at which the framework's kernel finds no memory is left out.
    """
    results: dict[str, list[Measured]] = {name: [] for name in arms}
    searched = []
    for root in roots:
        fresh: dict[str, Measured] = {}
        try:
            if SHARED[0] in arms:  # both arms share the tables of one tree
                tree = ListedTree(problem, root, depth)
                for name in SHARED:
                    kind, bounds = name.split()
                    fresh[name] = (
                        shared(tree, bounds, depth)
                        if kind == "shared"
                        else prepared(problem, root, cast(CompiledBounds, bounds), depth)
                    )
        except (MemoryError, OSError):  # of numpy and of mmap
            continue
        for name in arms:
            if name not in SHARED:
                began = time.process_time()
                result = searcher(problem, name).search(root, depth)
                fresh[name] = Measured(result, time.process_time() - began)
            results[name].append(fresh[name])
        searched.append(root)
    return results, searched


def shared(tree: ListedTree, bounds: str, depth: int) -> Measured:
    """Search by the framework's kernel, once to fill its tables and once for the time."""
    for _ in range(2):
        search = CompiledSearch(tree, RULES[bounds], window=WINDOWS[bounds])
        began = time.process_time()
        result = search.search(tree.start, depth)
        seconds = time.process_time() - began
    return Measured(replace(result, statistics={**result.statistics, "valued": 0}), seconds)


def prepared(problem: RbcProblem, root: RbcRoot, bounds: CompiledBounds, depth: int) -> Measured:
    """Search by RBC's kernel a tree that it grew and valued before, without its conclusions."""
    search = RbcCompiledSearch(problem, bounds)
    search.search(root, depth)
    forest, layers, cache = search._search.forest, search._search.layers, search._search.cache
    forest.capped[:], forest.kills[:], cache.belief_keys[:] = INFINITE, 0, 0
    layers.killers[:] = layers.heads[:] = -1
    layers.facts[:, [BEST_REQUEST, BEST_SENSE]] = 0
    search._search.counts[CORES] = 0
    began = time.process_time()
    result = search.search(root, depth)
    return Measured(result, time.process_time() - began)


def rows_of(
    problem: RbcProblem, kind: str, drawn: Sequence[RbcRoot], depth: int, arms: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a row for each arm."""
    rows: list[dict[str, Any]] = []
    results, roots = measure(problem, arms, drawn, depth)
    if not roots:
        return []
    base = next(name for name in arms if name not in SHARED and name != "minhash alone")
    truth = [measured.result.value for measured in results[base]]
    judges = [
        cache(partial(RbcMinimaxSearch(problem, named_bounds("table")).guarantees, root))
        for root in roots
    ]
    for name in arms:
        answers = [measured.result for measured in results[name]]
        wrong = [result.value != value for result, value in zip(answers, truth, strict=True)]
        worse = [
            judge(result.action, depth) < value
            for judge, result, value in zip(judges, answers, truth, strict=True)
        ]
        row: dict[str, Any] = {"game": "rbc", "depth": depth, "class": kind, "arm": name}
        for key in ("nodes", "leaves", "valued"):
            row[key] = sum(result.statistics[key] for result in answers)
        row["processor_seconds"] = round(sum(item.seconds for item in results[name]), 3)
        row |= {"wrong_values": sum(wrong), "wrong_moves": sum(worse)}
        row |= {"roots": len(roots), "boards": [root.size for root in roots]}
        row |= {"left_out": len(drawn) - len(roots)}
        rows.append(row)
    return rows


def ratios(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how many times less processor time the best exact arm takes on unsaturated roots.

    The arms are compared at depth 2 with `none` and `table`, by the recursion and compiled.
    """
    seconds = {
        row["arm"]: row["processor_seconds"]
        for row in rows
        if row["depth"] == 2 and row["class"] == "game"
    }
    exact = [name for name in seconds if name not in ("minhash alone", *SHARED)]
    if not exact:
        return {}
    best = min(exact, key=lambda name: seconds[name])
    arms = ("none", "table", "compiled none", "compiled table")
    figures: dict[str, Any] = {"best_exact_arm": best}
    for name in arms:
        if name in seconds:
            ratio = seconds[name] / max(seconds[best], 1e-3)
            figures[f"processor_ratio_{name.replace(' ', '_')}"] = round(ratio, 2)
    return figures


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the arms of one class of roots."""
    base = rows[0]
    sizes = np.percentile(base["boards"], (0, 50, 100)).astype(int).tolist()
    print(f"rbc, depth {base['depth']}, {base['roots']} {base['class']} roots of {sizes} boards")
    if base["left_out"]:
        print(f"  left out, as the framework's kernel has no memory: {base['left_out']} roots")
    for row in rows:
        print(
            f"  {row['arm']:<19}{row['nodes']:>10} nodes  {base['nodes'] / row['nodes']:>6.2f}x"
            f"{row['processor_seconds']:>9.2f} s"
            f"  {base['processor_seconds'] / max(row['processor_seconds'], 1e-3):>5.2f}x"
            f"{row['leaves']:>11} leaves"
            f"  wrong values {row['wrong_values']}, moves {row['wrong_moves']}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--roots", type=int, default=10, help="Roots per depth (10)")
    parser.add_argument("--depth", type=int, nargs="+", default=[1, 2], choices=(1, 2, 3))
    parser.add_argument(
        "--min-boards", type=int, help="Minimum boards (1000, 20 and 2 at depths 1, 2 and 3)"
    )
    parser.add_argument("--max-boards", type=int, help="Maximum boards (100,000, 1000 and 6)")
    parser.add_argument("--senses", type=int, default=4, help="Windows tried at each sense (4)")
    parser.add_argument("--moves", type=int, default=4, help="Requests tried at each move (4)")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--shared", action="store_true", help="Measure the framework's kernel too")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the roots")
    arguments = parser.parse_args()
    arms = [*arguments.arms, *(SHARED if arguments.shared else ())]
    load_minimax()  # compiles
    load_compiled()
    rows = []
    for depth in arguments.depth:
        smallest = arguments.min_boards or SIZES[depth][0]
        largest = arguments.max_boards or SIZES[depth][1]
        rules = {"min_boards": smallest, "max_boards": largest}
        rules |= {"senses": arguments.senses, "moves": arguments.moves}
        rules |= {"deep_boards": max(1000, largest) if depth > 1 else 1000}
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
            if fresh and not arguments.json:
                show(fresh)
    if arguments.json:
        figures = {
            **ratios(rows),
            "rows": rows,
            "seed": arguments.seed,
            "senses": arguments.senses,
            "moves": arguments.moves,
            "load_after": round(os.getloadavg()[0], 2),
            **conditions(),
        }
        print(json.dumps(figures))
    else:
        for name, value in ratios(rows).items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
