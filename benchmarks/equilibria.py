"""Exploitability and CFR on one core, beside OpenSpiel in the same run.

- `nash_conv`: milliseconds to measure a uniform policy on an extracted tree, and the time of
  OpenSpiel's Python; `extraction` is what the tree costs once, in seconds.
- `cfr`: iterations a second of CFR with alternating updates, and those of OpenSpiel's C++.
- `dark-hex`: exploitability of random play in games of 10**10 histories, which are walked.

Figures are CPU time of one thread: the median over repetitions, which take turns.

    python benchmarks/equilibria.py [--json] [--games leduc_poker ...] [--repeats N]
    python benchmarks/equilibria.py --walked GAME ...
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import pyspiel
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import UniformRandomPolicy

from common.conditions import conditions
from common.evidence import record
from miai.api import load_game
from miai.equilibria import exploitability, extract
from miai.equilibria.solver import EquilibriumSolver
from miai_openspiel.games import OpenSpielGame

GAMES = ("kuhn_poker", "leduc_poker", "liars_dice")
SLOW = 30_000  # histories: of larger games OpenSpiel's Python measures once, for a minute

Row = dict[str, Any]


def to_text(row: Row) -> dict[str, str]:
    """Return a row for the evidence."""
    return {key: str(value) for key, value in row.items()}


def seconds_of(call: Callable[[], object], least: float) -> float:
    """Return the CPU seconds of one call, repeated for at least as long as asked."""
    began, count = time.thread_time(), 0
    while (spent := time.thread_time() - began) < least or not count:
        call()
        count += 1
    return spent / count


def measure(name: str, repeats: int, least: float) -> Row:
    """Return the figures of one game."""
    began = time.thread_time()
    tree = extract(OpenSpielGame(name))
    extraction = time.thread_time() - began
    theirs, policy = pyspiel.load_game(name), tree.uniform()
    solver, peer = EquilibriumSolver(tree, "cfr"), pyspiel.CFRSolver(theirs)
    uniform = UniformRandomPolicy(theirs)
    exploitability(tree, policy)
    solver.advance(1)  # both are compiled by now
    slow = tree.histories > SLOW
    times: dict[str, list[float]] = {"nash_conv": [], "cfr": [], "peer_cfr": [], "peer": []}
    batch = max(1, 200_000 // tree.histories)
    for repeat in range(repeats):
        times["nash_conv"].append(seconds_of(lambda: exploitability(tree, policy), least))
        times["cfr"].append(seconds_of(lambda: solver.advance(batch), least) / batch)
        times["peer_cfr"].append(seconds_of(peer.evaluate_and_update_policy, least))
        if not (slow and repeat):
            times["peer"].append(seconds_of(lambda: nash_conv(theirs, uniform), 0.0))
    middle = {key: statistics.median(values) for key, values in times.items()}
    return {
        "game": name,
        "histories": tree.histories,
        "extraction": round(extraction, 2),
        "nash_conv_ms": round(1000 * middle["nash_conv"], 3),
        "nash_conv_times": round(middle["peer"] / middle["nash_conv"]),
        "nash_conv_times_with_extraction": round(middle["peer"] / extraction, 1),
        "cfr_per_second": round(1 / middle["cfr"]),
        "cfr_times": round(middle["peer_cfr"] / middle["cfr"]),
    }


def walk(text: str) -> Row:
    """Return the exploitability of random play in a large game of OpenSpiel, and what it took."""
    began = time.thread_time()
    tree = extract(load_game("openspiel", game=text), max_histories=10**12)
    extraction = time.thread_time() - began
    measured = exploitability(tree, tree.uniform())
    first, second = (len(player.sets) for player in tree.players)
    return {
        "game": text,
        "histories": tree.histories,
        "worlds": len(tree.found.worlds.actors),
        "information_sets": f"{first} and {second}",
        "extraction_minutes": round(extraction / 60, 1),
        "minutes": round((time.thread_time() - began) / 60, 1),
        "gibibytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1),
        "nash_conv": round(measured.nash_conv, 6),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--games", nargs="+", default=GAMES, help="Games of OpenSpiel")
    parser.add_argument("--repeats", type=int, default=5, help="Measurements of each (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of each (1)")
    parser.add_argument("--walked", nargs="+", default=[], help="Large games, instead")
    arguments = parser.parse_args()
    if arguments.walked:
        rows = [walk(text) for text in arguments.walked]
        if arguments.record:
            took = (f"{row['minutes']} min, {row['gibibytes']} GiB" for row in rows)
            record("dark-hex", ", ".join(took), table=[*map(to_text, rows)])
        print(*rows, sep="\n")
        return
    rows = [measure(name, arguments.repeats, arguments.seconds) for name in arguments.games]
    if arguments.record:
        for name, key in (("nash-conv", "nash_conv_times"), ("cfr", "cfr_times")):
            figures = ", ".join(f"{row[key]:,} times ({row['game']})" for row in rows)
            record(name, figures, table=[*map(to_text, rows)])
    if arguments.json:
        print(json.dumps({"benchmark": "equilibria", **conditions(), "rows": rows}))
        return
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
