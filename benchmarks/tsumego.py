"""Life and death: solving times of zones, and GNU Go's answers on the same positions.

    python benchmarks/tsumego.py --parts zones --sizes 8 10 12 14 --zones 30
    python benchmarks/tsumego.py --parts families gnugo --json
    python benchmarks/tsumego.py --parts exhaustion --json

`zones`: random walled fights by number of empty points, both first movers, the attacker as ko
master: the share solved within 1, 5 and 15 s per problem. `families`: the positions with known
answers. `exhaustion`: tiny zones and positions inside them, for both first movers and all ko
masters, compared with the exhaustive search of the tests. `ordering`: the same random zones with
and without the network that orders the search. `networks`: positions per second of CPU time with
the shipped network: in batches, one by one, and from boards with both first movers. `gnugo`:
`owl_attack` and `owl_defend` of GNU Go on zones of 6 to 10 empty points, or with `--gnugo-from
shipped` on shipped problems, nearly all of them critical; where it claims more than is proved, the
refutation of its move is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from common.conditions import conditions
from common.evidence import record
from miai.errors import MiaiError
from miai.process.programs import ProgramProcess
from miai_go.gtp.client import EngineLog, GtpClient
from miai_go.rules.coordinates import vertex
from miai_go.tsumego.networks.array_nets import ArrayNet, read_array_net
from miai_go.tsumego.networks.predictor import Predictor
from miai_go.tsumego.networks.zone_planes import PlaneLayout, layout_of_zones
from miai_go.tsumego.problem_sgf import Problem, collection_sgf, shipped_problems
from miai_go.tsumego.problems.families import members
from miai_go.tsumego.problems.walled import draw_fight, zone_within
from miai_go.tsumego.shipped import NETWORK, ORDERING
from miai_go.tsumego.solver.ordering_net import OrderingNet, find_ordering
from miai_go.tsumego.solver.prover import Finding, Master, ProofVerdict, Prover
from miai_go.tsumego.solver.solver import solve
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

WITHIN = (1.0, 5.0, 15.0)
_DRAWN, _BATCH = 64, 1024


def draw(rng: np.random.Generator, empty: int) -> tuple[Problem, Zone]:
    """Draw a random zone with `empty` empty points."""
    while True:
        fight = draw_fight(rng, empty)
        problem = None if fight is None else fight.problem()
        zone = None if problem is None else zone_within(problem, empty)
        if problem is not None and zone is not None:
            return problem, zone


def zones(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Solve random zones of each size, with the network that `miai go solve` uses."""
    network = find_ordering(arguments.network)
    rows = []
    for empty in arguments.sizes:
        rng = np.random.default_rng([arguments.seed, empty])
        spent, nodes, entered, safe = [], [], [], []
        for _ in range(arguments.zones):
            _problem, zone = draw(rng, empty)
            prover = Prover(zone, network=network)
            found = [
                prover.ask(prover.begin(side), seconds=arguments.seconds)
                for side in (ATTACKER, DEFENDER)
            ]
            solved = all(finding.verdict != ProofVerdict.UNSOLVED for finding in found)
            spent.append(sum(finding.seconds for finding in found) if solved else np.inf)
            nodes.append(sum(finding.nodes for finding in found))
            entered.append(sum(finding.entered for finding in found))
            safe.append(sum(finding.verdict == ProofVerdict.PREVENTED for finding in found))
        clock = np.array(spent)
        within = {f"{limit:g}": round(float(np.mean(clock <= limit)), 3) for limit in WITHIN}
        total = float(clock[np.isfinite(clock)].sum())
        known = np.isfinite(clock)
        rows.append(
            {
                "empty": empty,
                "zones": arguments.zones,
                "solved_within_seconds": within,
                "median_seconds": _finite(float(np.median(clock))),
                "median_nodes": int(np.median(nodes)),
                "nodes_per_second": round(float(np.array(nodes)[known].sum()) / max(total, 1e-9)),
                "entered_per_second": round(
                    float(np.array(entered)[known].sum()) / max(total, 1e-9)
                ),
                "critical": int(np.sum(np.array(safe)[known] == 1)),
            }
        )
        print(rows[-1], file=sys.stderr)
    return rows


def _finite(value: float) -> float | None:
    return round(value, 4) if np.isfinite(value) else None


def families() -> dict[str, Any]:
    """Prove all positions with published answers."""
    started, wrong, count = perf_counter(), [], 0
    for member in members():
        problem = member.diagram.place(19)
        count += 1
        zone, fate = find_zone(problem.stones, problem.target), member.fate
        strict, mild = (
            solve(zone, ko_masters=(master,), moves=False, seki=False, seconds=None).status
            for master in (Master.ATTACKER, Master.DEFENDER)
        )
        if (strict, strict != mild) != (fate.status, fate.ko):
            wrong.append(member.name)
    return {"positions": count, "wrong": wrong, "seconds": round(perf_counter() - started, 2)}


def exhaustion(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare the prover with exhaustion on distinct tiny zones."""
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the oracle is the tests'
    from tests.tsumego.exhaustion import Comparison, compare

    started, found = process_time(), Comparison()
    rng = np.random.default_rng([arguments.seed, 5])
    network = OrderingNet.read(ORDERING)
    for found in compare(rng, arguments.tiny_zones, places=3, network=network):
        if found.zones % 250 == 0:
            print(f"{found.zones} zones, {len(found.wrong)} disagreements", file=sys.stderr)
    figures = asdict(found) | {"wrong": found.wrong[:20], "disagreements": len(found.wrong)}
    compared = found.comparisons + found.advised + found.within
    return figures | {
        "agreement": 1 - len(found.wrong) / max(compared, 1),
        "cpu_seconds": round(process_time() - started, 1),
    }


def ordering(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Ask both provers about random zones, for both first movers.

    Ratios are geometric means of "without over with" over the questions that both answer.
    """
    network = find_ordering(arguments.network)
    rows = []
    for empty in arguments.ordering_sizes:
        rng = np.random.default_rng([arguments.seed, 12, empty])
        nodes, seconds, solved = [], [], []
        for _ in range(arguments.zones):
            _problem, zone = draw(rng, empty)
            for side in (ATTACKER, DEFENDER):
                found = [_timed(Prover(zone, network=n), side, arguments) for n in (None, network)]
                verdicts = [finding.verdict for finding, _spent in found]
                solved.append([verdict != ProofVerdict.UNSOLVED for verdict in verdicts])
                if all(solved[-1]) and verdicts[0] != verdicts[1]:
                    raise AssertionError(f"verdicts differ: {zone}")
                nodes.append([max(finding.nodes, 1) for finding, _spent in found])
                seconds.append([spent for _finding, spent in found])
        both = np.array(solved).all(1)
        rows.append(
            {
                "empty": empty,
                "questions": len(solved),
                "solved": np.array(solved).sum(0).tolist(),
                "solved_by_both": int(both.sum()),
                "times_fewer_nodes": _ratio(np.array(nodes)[both]),
                "times_less_cpu": _ratio(np.array(seconds)[both]),
                "nodes": np.array(nodes).sum(0).tolist(),
                "cpu_seconds": np.array(seconds).sum(0).round(2).tolist(),
            }
        )
        print(rows[-1], file=sys.stderr)
    return rows


def _timed(prover: Prover, side: int, arguments: argparse.Namespace) -> tuple[Finding, float]:
    """Return an answer and its processor time."""
    started = process_time()
    finding = prover.ask(prover.begin(side), nodes=arguments.ordering_nodes)
    return finding, process_time() - started


def _ratio(pairs: np.ndarray[Any, np.dtype[Any]]) -> float | None:
    """Return the geometric mean of the first over the second of each pair."""
    if not len(pairs):
        return None
    logs = np.log(np.maximum(pairs.astype(float), 1e-6))
    return round(float(np.exp((logs[:, 0] - logs[:, 1]).mean())), 3)


def networks(arguments: argparse.Namespace) -> dict[str, Any]:
    """Count evaluations of the shipped network per second of processor time."""
    rng = np.random.default_rng([arguments.seed, 2])
    drawn = [draw(rng, 8 + i % 5)[1] for i in range(_DRAWN)]
    layout = layout_of_zones(drawn)
    numbers = np.arange(_BATCH) % _DRAWN
    attackers = np.array([zone.attackers for zone in drawn], np.uint64)[numbers]
    defenders = np.array([zone.defenders for zone in drawn], np.uint64)[numbers]
    batch = (numbers, attackers, defenders, np.arange(_BATCH) // _DRAWN % 2)
    shipped = Predictor(NETWORK)
    rates = _array_rates(read_array_net(NETWORK), layout, batch)
    rates["from_boards_per_second"] = _rate(lambda: shipped.evaluate(drawn[0]), 2)
    return {"batch": _BATCH, **rates}


def _array_rates(
    network: ArrayNet, layout: PlaneLayout, batch: tuple[np.ndarray[Any, Any], ...]
) -> dict[str, int]:
    one = tuple(column[:1] for column in batch)
    return {
        "batches_per_second": _rate(lambda: network.evaluate(layout, *batch), _BATCH),
        "single_per_second": _rate(lambda: network.evaluate(layout, *one), 1),
    }


def _rate(work: Callable[[], object], positions: int) -> int:
    """Return positions a second of processor time, of about a second."""
    work()  # loads what is loaded once
    began, done = process_time(), 0
    while process_time() - began < 1.0:
        work()
        done += positions
    return round(done / (process_time() - began))


def gnugo(arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask GNU Go's reader about proved zones."""
    agreed, missed, claimed, asked = 0, {"kills": 0, "lives": 0}, [], 0
    with TemporaryDirectory() as folder, closing(_gnugo()) as engine:
        for problem, zone in _read_zones(arguments):
            for side in (ATTACKER, DEFENDER):
                asked += 1
                claim = _ask(engine, Path(folder), problem, zone, side)
                prover = Prover(zone)
                reached = prover.ask(prover.begin(side)).verdict == ProofVerdict.REACHED
                says_captured = claim[0] != 0 if side == ATTACKER else claim[0] == 0
                if says_captured == reached:
                    agreed += 1
                elif (side == ATTACKER) == says_captured:
                    claimed.append(_refutation(zone, side, claim, prover))
                else:
                    missed["kills" if side == ATTACKER else "lives"] += 1
    return {
        "positions": asked,
        "agreed": round(agreed / asked, 4),
        "missed": missed,
        "claimed_more": len(claimed),
        "refuted": [line for line in claimed if line],
        "unexplained": sum(not line for line in claimed),
    }


def _read_zones(arguments: argparse.Namespace) -> Iterator[tuple[Problem, Zone]]:
    """Yield the problems for GNU Go."""
    rng = np.random.default_rng([arguments.seed, 77])
    if arguments.gnugo_from == "random":
        for number in range(arguments.gnugo_zones):
            yield draw(rng, 6 + number % 5)
        return
    shipped = shipped_problems()
    chosen = rng.choice(len(shipped), min(arguments.gnugo_zones, len(shipped)), replace=False)
    for number in sorted(chosen.tolist()):
        problem = shipped[number]
        yield problem, find_zone(problem.stones, problem.target)


def _gnugo() -> GtpClient:
    engine = ProgramProcess(["gnugo", "--mode", "gtp", "--chinese-rules", "--seed", "1"])
    client = GtpClient(engine, EngineLog(), who="gnugo")
    client.handshake(seconds=20)
    return client


def _ask(
    engine: GtpClient, folder: Path, problem: Problem, zone: Zone, side: int
) -> tuple[int, str]:
    """Return GNU Go's code (0 no, 1 yes, 2 and 3 by ko) and its move."""
    path = folder / "problem.sgf"
    path.write_bytes(collection_sgf([problem]))
    engine.ask(f"loadsgf {path}", seconds=20)
    name = vertex(problem.target, problem.size)
    command = "owl_attack" if side == ATTACKER else "owl_defend"
    words = engine.ask(f"{command} {name}", seconds=60).split()
    return int(words[0]), words[1] if len(words) > 1 else "PASS"


def _refutation(zone: Zone, side: int, claim: tuple[int, str], prover: Prover) -> str:
    """Return the refutation of a claim by GNU Go: its move and the answer; empty if unknown."""
    names = {vertex(p, zone.size).upper(): p for p in (*zone.points, zone.size**2)}
    point = names.get(claim[1].upper())
    side_name = "attack" if side == ATTACKER else "defence"
    if point is None:
        return f"code {claim[0]}, {side_name} at {claim[1]} is outside the zone"
    place = dict(prover.moves(prover.begin(side))).get(zone.number(point))
    if place is None:
        return ""
    finding = prover.ask(place)
    fails = finding.verdict == (
        ProofVerdict.PREVENTED if side == ATTACKER else ProofVerdict.REACHED
    )
    if not fails:
        return ""
    answer = "no answer" if finding.move is None else vertex(zone.point(finding.move), zone.size)
    return f"code {claim[0]}, {side_name} at {claim[1]} fails against {answer}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("zones", "families", "exhaustion", "ordering", "networks", "gnugo")
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8, 10, 12, 14, 16, 20])
    parser.add_argument("--zones", type=int, default=30, help="Zones per size")
    parser.add_argument("--seconds", type=float, default=7.5, help="Seconds per first mover")
    parser.add_argument("--gnugo-zones", type=int, default=200)
    parser.add_argument("--gnugo-from", choices=("random", "shipped"), default="random")
    parser.add_argument("--tiny-zones", type=int, default=5_000, help="Tiny zones to exhaust")
    parser.add_argument("--ordering-sizes", nargs="+", type=int, default=[12, 13, 14])
    parser.add_argument(
        "--ordering-nodes", type=int, default=20_000_000, help="Node limit per question"
    )
    parser.add_argument(
        "--network", default="shipped", help="Ordering network: a file, `shipped` or `none`"
    )
    parser.add_argument("--seed", type=int, default=1, help="Seed of the zones")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    try:
        if "zones" in arguments.parts:
            figures["zones"] = zones(arguments)
        if "families" in arguments.parts:
            figures["families"] = families()
        if "exhaustion" in arguments.parts:
            figures["exhaustion"] = exhaustion(arguments)
        if "ordering" in arguments.parts:
            figures["ordering"] = ordering(arguments)
        if "networks" in arguments.parts:
            figures["networks"] = networks(arguments)
        if "gnugo" in arguments.parts:
            figures["gnugo"] = gnugo(arguments)
    except MiaiError as error:
        sys.exit(f"tsumego.py: {error}")
    if arguments.record and (proved := figures.get("families")):
        wrong = f"{len(proved['wrong'])} not" if proved["wrong"] else "all proved"
        record("families", f"{wrong} as published, in {proved['seconds']:.1f} s")
    figures |= {
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    print(json.dumps(figures) if arguments.json else json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
