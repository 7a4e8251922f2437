"""Simulations a second of tree search with a network: leaves in batches against one at a time.

9x9, a residual tower with random weights, everything on one thread. Own: trees in step, `leaves`
leaves of each in one batch, over one game and over many. Plain: the way that most Python projects
go, a Python object for every node, the board copied in Python, and for every leaf the torch module
called directly on a batch of one in fp32; its rules and planes are those of `miai_go`, so that it
is the search that is compared. Both search the same positions by PUCT, in turn in one process; the
seconds are CPU time. Self-play is wall time, two threads, each with 32 games at once and its own
copy of the network, for a number of seconds. The length of games depends on the network, and most
games are unfinished at the end, so games per hour are estimated from the positions searched, at 60
moves per game, the usual length of games between engines.

    python benchmarks/go_search.py
    python benchmarks/go_search.py --json --encoders zero --precisions bf16
"""

import argparse
import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from common.conditions import conditions
from common.evidence import record
from miai_go.kernels import trail
from miai_go.learning.selfplay.tree_games import TreeGames, TreeSelfPlay
from miai_go.nets.encoder import Encoder, Positions, load_encoder
from miai_go.nets.inference import load_oracle
from miai_go.nets.network import NetworkShape, WeightsHeader, build_network, save_weights
from miai_go.nets.oracle import Oracle
from miai_go.rules.board import Board
from miai_go.search.forest import Forest, ForestRoot, NetworkValuer, TreeSettings

SIZE = 9
PASS = SIZE * SIZE
HALF_KOMI = 14
OPENING = 6  # random moves before each position that is searched
LEAVES = (1, 8, 64)
GAMES = (1, 32)
C_PUCT = 1.5
MAX_MOVES = 162
MOVES = 60  # of a game, for games an hour

Precision = Literal["bf16", "fp32", "int8"]
BATCHES = 1, 8, 32
Words = NDArray[np.int16]


def openings(count: int, seed: int) -> list[tuple[Board, Words]]:
    """Return boards after random moves, and their trails; Black is to move."""
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(count):
        board, words = Board(SIZE), np.zeros(trail.trail_words(SIZE), np.int16)
        trail.begin_trail(board.words, words, np.int64(1), np.int64(HALF_KOMI))
        moves = rng.choice(PASS, OPENING, replace=False).astype(np.int16)
        trail.extend_trail(board.words, words, moves, False)
        results.append((board, words))
    return results


# -- the plain way --------------------------------------------------------------------------------


class Node:
    """A move with its statistics; `total` is from the view of the player who made it."""

    __slots__ = ("board", "children", "passes", "prior", "total", "trail", "visits")

    def __init__(self, prior: float) -> None:
        self.prior = prior
        self.visits = 0
        self.total = 0.0
        self.children: dict[int, Node] = {}
        self.board: Board | None = None
        self.trail: Words | None = None
        self.passes = 0


class PlainSearch:
    """PUCT as most projects write it: an object per node, a network call per simulation."""

    def __init__(self, network: torch.nn.Module, encoder: Encoder) -> None:
        self._network = network.eval()
        self._encoder = encoder
        self._scales = torch.from_numpy(encoder.scales).view(1, -1, 1, 1)

    def search(self, board: Board, words: Words, simulations: int) -> Node:
        """Return the root of a tree after `simulations` simulations."""
        root = Node(1.0)
        root.board, root.trail = board, words
        self._expand(root)
        for _ in range(simulations):
            self._simulate(root)
        return root

    def _simulate(self, root: Node) -> None:
        node, path = root, [root]
        while node.children:
            action, child = self._select(node)
            if child.board is None:
                self._play(node, child, action)
            path.append(child)
            node = child
        value = self._expand(node) if node.passes < 2 else self._result(node)
        for above in reversed(path):
            value = -value
            above.visits += 1
            above.total += value

    @staticmethod
    def _select(node: Node) -> tuple[int, Node]:
        spread = C_PUCT * math.sqrt(node.visits + 1)
        best, highest = -1, -math.inf
        for action, child in node.children.items():
            visits = child.visits
            value = child.total / visits if visits else 0.0
            score = value + spread * child.prior / (1 + visits)
            if score > highest:
                best, highest = action, score
        return best, node.children[best]

    @staticmethod
    def _play(parent: Node, child: Node, action: int) -> None:
        assert parent.board is not None
        assert parent.trail is not None
        child.board, child.trail = parent.board.copy(), parent.trail.copy()
        trail.extend_trail(child.board.words, child.trail, np.array([action], np.int16), False)
        child.passes = parent.passes + 1 if action == PASS else 0

    def _expand(self, node: Node) -> float:
        """Expand a node and return its value for the player to move."""
        assert node.board is not None
        assert node.trail is not None
        position = Positions(SIZE, node.board.words[None], node.trail[None])
        planes = torch.from_numpy(self._encoder.encode(position))
        with torch.inference_mode():
            outputs = self._network(planes * self._scales)
        logits = outputs.policy[0].numpy()
        color = int(node.trail[trail.COLOR]) - 1
        actions = [*node.board.legal_points(color).tolist(), PASS]
        chances = np.exp(logits[actions] - logits.max())
        chances /= chances.sum()
        node.children = {
            action: Node(prior) for action, prior in zip(actions, chances.tolist(), strict=True)
        }
        return float(outputs.value[0])

    @staticmethod
    def _result(node: Node) -> float:
        assert node.board is not None
        assert node.trail is not None
        margin = node.board.area_score() - HALF_KOMI / 2
        result = float(np.sign(margin))
        return result if node.trail[trail.COLOR] == 1 else -result


# -- measuring ------------------------------------------------------------------------------------


class Subject:
    """One network on disk, as the plain way and as oracles run it."""

    def __init__(self, folder: Path, encoder: str, *, height: int, width: int, seed: int) -> None:
        self.encoder = load_encoder(encoder, SIZE, {})
        self.values = {"height": height, "width": width}
        shape = NetworkShape(SIZE, self.encoder.planes)
        self.network = build_network("tower", shape, self.values, seed=seed)
        self.path = folder / f"{encoder}.safetensors"
        header = WeightsHeader(
            network="tower",
            network_parameters=self.values,
            encoder=encoder,
            size=SIZE,
            planes=self.encoder.planes,
            komi=(HALF_KOMI / 2, HALF_KOMI / 2),
        )
        save_weights(self.path, self.network, header)

    def oracle(self, precision: Precision) -> Oracle:
        """Return the network, running on one thread."""
        return load_oracle(self.path, size=SIZE, precision=precision, threads=1)


def measure_batches(
    subject: Subject, precisions: list[Precision], repetitions: int, seed: int
) -> list[dict[str, Any]]:
    """Time the network alone; return milliseconds of CPU time for each precision and batch."""
    rng = np.random.default_rng(seed)
    shape = subject.encoder.planes, SIZE, SIZE
    oracles = {p: subject.oracle(p) for p in precisions}
    rows: list[dict[str, Any]] = []
    for batch in BATCHES:
        planes = rng.integers(0, 2, (batch, *shape), dtype=np.uint8)
        times: dict[Precision, list[float]] = {p: [] for p in precisions}
        for _ in range(1 + 20 * repetitions):  # in turn, so that all have the same conditions
            for precision, oracle in oracles.items():
                began = time.process_time()
                oracle.infer(planes)
                times[precision].append(1000 * (time.process_time() - began))
        rows += [
            {"precision": p, "batch": batch, "milliseconds": round(median(values[1:]), 3)}
            for p, values in times.items()
        ]
    return rows


def timed(work: Callable[[], int]) -> float:
    """Return the work done per second of CPU time."""
    started = time.process_time()
    done = work()
    return done / (time.process_time() - started)


def plain_work(
    search: PlainSearch, starts: list[tuple[Board, Words]], simulations: int
) -> Callable[[], int]:
    """Return a plain search of one position."""
    board, words = starts[0]
    return lambda: search.search(board, words, simulations).visits


def forest_work(
    valuer: NetworkValuer, starts: list[tuple[Board, Words]], leaves: int, simulations: int
) -> Callable[[], int]:
    """Return a search of all positions in step."""
    games = len(starts)
    forest = Forest(SIZE, games, max_nodes=(PASS + 1) * (simulations + 2), leaves=leaves)
    for game, (board, words) in enumerate(starts):
        forest.configure(game, TreeSettings(c_puct=C_PUCT))
        forest.set_root(game, ForestRoot(board=board, trail=words, komi=HALF_KOMI / 2))
    numbers = np.arange(games, dtype=np.int32)
    return lambda: int(forest.search(numbers, simulations, valuer).sum())


def spread(speeds: list[float]) -> dict[str, float]:
    """Return the median, minimum and maximum."""
    return {
        "median": round(median(speeds)),
        "least": round(min(speeds)),
        "most": round(max(speeds)),
    }


def measure_search(
    subject: Subject, precisions: list[Precision], simulations: int, repetitions: int, seed: int
) -> dict[str, Any]:
    """Run the arms in turn; return simulations per second and ratios to the plain search."""
    plain = PlainSearch(subject.network, subject.encoder)
    oracles = {p: subject.oracle(p) for p in precisions}
    valuers = {p: NetworkValuer(oracle, oracle) for p, oracle in oracles.items()}
    arms = [(p, games, leaves) for p in precisions for games in GAMES for leaves in LEAVES]
    speeds: dict[Any, list[float]] = {arm: [] for arm in ["plain", *arms]}
    warm = openings(2, seed)
    plain_work(plain, warm, 10)()
    for valuer in valuers.values():
        forest_work(valuer, warm, 4, 20)()
    for repetition in range(repetitions):
        starts = openings(max(GAMES), seed + 1 + repetition)
        speeds["plain"].append(timed(plain_work(plain, starts, simulations)))
        for arm in arms:
            precision, games, leaves = arm
            work = forest_work(valuers[precision], starts[:games], leaves, simulations)
            speeds[arm].append(timed(work))
    slow = median(speeds["plain"])
    rows = [
        {
            "precision": precision,
            "games": games,
            "leaves": leaves,
            "simulations_per_second": spread(speeds[precision, games, leaves]),
            "ratio": round(median(speeds[precision, games, leaves]) / slow, 1),
        }
        for precision, games, leaves in arms
    ]
    return {"plain": spread(speeds["plain"]), "rows": rows}


def measure_selfplay(
    subject: Subject, precision: Precision, seconds: float, simulations: int, seed: int
) -> dict[str, Any]:
    """Run self-play on two threads; return positions per second and games per hour."""
    rules = TreeGames(size=SIZE, half_komi=HALF_KOMI, max_moves=MAX_MOVES, simulations=simulations)
    oracles = [subject.oracle(precision) for _ in range(2)]
    plays = [
        TreeSelfPlay(rules, games=1_000_000, at_once=max(GAMES), seed=seed + k) for k in range(2)
    ]
    ended: list[int] = []
    torch.set_num_threads(1)

    def run(play: TreeSelfPlay, oracle: Oracle, until: float) -> None:
        valuer = NetworkValuer(oracle, oracle)
        while time.perf_counter() < until:
            ended.append(len(play.step(valuer)))

    started = time.perf_counter()
    threads = [
        threading.Thread(target=run, args=(play, oracle, started + seconds))
        for play, oracle in zip(plays, oracles, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - started
    rate = sum(play.positions for play in plays) / took
    return {
        "precision": precision,
        "simulations": simulations,
        "seconds": round(took, 1),
        "positions_per_second": round(rate, 1),
        "games_ended": sum(ended),
        "games_per_hour": round(rate * 3600 / MOVES),
        "mean_batch": round(mean(o.statistics()["mean_batch"] for o in oracles), 1),
    }


def benchmark(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure every encoder."""
    torch.set_num_threads(1)
    batches: dict[str, Any] = {}
    search: dict[str, Any] = {}
    selfplay: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for encoder in arguments.encoders:
            subject = Subject(
                Path(folder),
                encoder,
                height=arguments.height,
                width=arguments.width,
                seed=arguments.seed,
            )
            batches[encoder] = measure_batches(
                subject, arguments.precisions, arguments.repetitions, arguments.seed
            )
            search[encoder] = measure_search(
                subject,
                arguments.precisions,
                arguments.simulations,
                arguments.repetitions,
                arguments.seed,
            )
            selfplay[encoder] = [
                measure_selfplay(subject, p, arguments.selfplay_seconds, 32, arguments.seed)
                for p in arguments.precisions
            ]
    return {
        "benchmark": "go_search",
        **conditions(),
        "numba": numba.__version__,
        "torch": torch.__version__,
        "bf16_in_hardware": bool(torch.cpu._is_avx512_bf16_supported()),
        "board_size": SIZE,
        "network": f"tower {arguments.height}x{arguments.width}, random weights",
        "simulations": arguments.simulations,
        "repetitions": arguments.repetitions,
        "seed": arguments.seed,
        "batches": batches,
        "search": search,
        "selfplay": selfplay,
        "games_per_hour": {e: max(r["games_per_hour"] for r in selfplay[e]) for e in selfplay},
        "ratio": {e: max(row["ratio"] for row in search[e]["rows"]) for e in search},
    }


def tell(report: dict[str, Any]) -> None:
    """Print the figures as text."""
    print(f"{report['machine']}; Python {report['python']}, torch {report['torch']}")
    print(f"{report['network']}, 9x9, {report['simulations']} simulations a search")
    for encoder, rows in report["batches"].items():
        for row in rows:
            times = f"{row['milliseconds']} ms of CPU time"
            print(f"{encoder}: {row['precision']}  batch {row['batch']:2}  {times}")
    for encoder, results in report["search"].items():
        plain = results["plain"]
        print(f"{encoder}: plain, one leaf at a time, {plain['median']:,} simulations a second")
        for row in results["rows"]:
            speed = row["simulations_per_second"]
            print(
                f"  {row['precision']}  games {row['games']:2}  leaves {row['leaves']:2}  "
                f"{speed['median']:6,} ({speed['least']:,} to {speed['most']:,})  "
                f"{row['ratio']} times"
            )
        for row in report["selfplay"][encoder]:
            print(
                f"  {row['precision']}  self-play: {row['positions_per_second']} positions/s in "
                f"{row['seconds']} s: {row['games_per_hour']:,} games of {MOVES} moves an hour"
            )


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--encoders", nargs="+", default=["alphago", "zero"])
    parser.add_argument(
        "--precisions", nargs="+", choices=["bf16", "fp32", "int8"], default=["bf16", "fp32"]
    )
    parser.add_argument("--height", type=int, default=5, help="Blocks of the network")
    parser.add_argument("--width", type=int, default=64, help="Channels of the network")
    parser.add_argument("--simulations", type=int, default=400, help="Simulations per search")
    parser.add_argument("--repetitions", type=int, default=3, help="Searches per arm")
    parser.add_argument("--selfplay-seconds", type=float, default=60.0, help="Seconds of self-play")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the positions")
    report = benchmark(arguments := parser.parse_args())
    if arguments.record:
        for row in report["search"]["zero"]["rows"]:
            if row["leaves"] == 8:
                speeds = row["simulations_per_second"]
                record(
                    f"network-search-{row['games']}",
                    f"{row['ratio']:.1f} times as fast",
                    interval=f"{speeds['least']:,} to {speeds['most']:,} simulations per second",
                )
    if arguments.json:
        print(json.dumps(report))
    else:
        tell(report)


if __name__ == "__main__":
    main()
