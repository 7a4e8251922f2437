"""Three clients of one UCI engine compared: miai's own, and the two of python-chess.

All ask the same Stockfish the same short questions that agents ask: best moves and scores of one
board after another, limited by depth or nodes. They share one core with the engine and take turns.
Processor time is that of the client and of its engine; the engine's is much the same for all.

    python benchmarks/uci_client.py
    python benchmarks/uci_client.py --json --positions 400 --rounds 5
"""

import argparse
import asyncio
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import chess
import chess.engine
import psutil

from miai.errors import MiaiError
from miai_rbc.engines.stockfish import find_engine
from miai_rbc.engines.uci import UciProcess

OPTIONS: Final = {"Hash": 16, "Threads": 1}
WANTED: Final = chess.engine.INFO_SCORE | chess.engine.INFO_PV
SECONDS: Final = 60.0
"""The longest wait for one answer."""


class Limit(NamedTuple):
    """Where a search ends, and the number of best moves it names."""

    depth: int | None
    nodes: int | None
    lines: int

    def __str__(self) -> str:
        end = f"depth {self.depth}" if self.depth is not None else f"nodes {self.nodes}"
        return f"{end}, {self.lines} best"


LIMITS: Final = (
    Limit(1, None, 1),
    Limit(1, None, 3),
    Limit(2, None, 1),
    Limit(3, None, 3),
    Limit(4, None, 3),
    Limit(None, 300, 1),
)

Ask = Callable[[Sequence[chess.Board], Limit], list[str]]
"""Return the best move on each board."""


@contextmanager
def own(program: str) -> Iterator[Ask]:
    """Ask with `miai_rbc.engines.uci`."""
    process = UciProcess([program], OPTIONS, seconds=SECONDS)

    def ask(boards: Sequence[chess.Board], limit: Limit) -> list[str]:
        process.set_lines(limit.lines)
        end = str(limit).partition(",")[0]
        return [process.search(board.fen(), end, seconds=SECONDS)[0].move for board in boards]

    yield ask
    process.close()


@contextmanager
def simple(program: str) -> Iterator[Ask]:
    """Ask with `chess.engine.SimpleEngine`, whose event loop runs in a thread."""
    with chess.engine.SimpleEngine.popen_uci(program) as engine:
        engine.configure(OPTIONS)

        def ask(boards: Sequence[chess.Board], limit: Limit) -> list[str]:
            end = chess.engine.Limit(depth=limit.depth, nodes=limit.nodes)
            answers = (
                engine.analyse(board, end, multipv=limit.lines, game="one", info=WANTED)
                for board in boards
            )
            return [answer[0]["pv"][0].uci() for answer in answers]

        yield ask


@contextmanager
def protocol(program: str) -> Iterator[Ask]:
    """Ask with `chess.engine.UciProtocol`, awaited in one event loop without threads."""
    with asyncio.Runner() as runner:
        _, engine = runner.run(chess.engine.popen_uci(program))
        runner.run(engine.configure(OPTIONS))

        async def answers(boards: Sequence[chess.Board], limit: Limit) -> list[str]:
            end = chess.engine.Limit(depth=limit.depth, nodes=limit.nodes)
            moves = []
            for board in boards:
                answer = await engine.analyse(
                    board, end, multipv=limit.lines, game="one", info=WANTED
                )
                moves.append(answer[0]["pv"][0].uci())
            return moves

        yield lambda boards, limit: runner.run(answers(boards, limit))
        runner.run(engine.quit())


CLIENTS: Final = {"own": own, "SimpleEngine": simple, "UciProtocol": protocol}


def positions(count: int, seed: int) -> list[chess.Board]:
    """Return boards in the middle of random games, with a choice of at least three moves."""
    rng, boards = random.Random(seed), list[chess.Board]()
    while len(boards) < count:
        board = chess.Board()
        for _ in range(rng.randint(8, 40)):
            if board.is_game_over():
                break
            board.push(rng.choice(list(board.legal_moves)))
        if board.legal_moves.count() >= 3:
            boards.append(chess.Board(board.fen()))
    return boards


class Spent(NamedTuple):
    """Seconds of one batch: processor time of the client and of the engine, and wall time."""

    client: float
    engine: float
    wall: float


def measure(ask: Ask, engine: psutil.Process, boards: Sequence[chess.Board], limit: Limit) -> Spent:
    """Ask about each board once."""
    before, wall, client = engine.cpu_times(), time.perf_counter(), time.process_time()
    ask(boards, limit)
    client, wall = time.process_time() - client, time.perf_counter() - wall
    after = engine.cpu_times()
    return Spent(client, after.user + after.system - before.user - before.system, wall)


def compare(count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Return a row for each kind of request and client: medians over the rounds."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    program, boards, rows = str(find_engine("stockfish")), positions(count, seed), []
    for limit in LIMITS:
        spent: dict[str, list[Spent]] = {name: [] for name in CLIENTS}
        for number in range(rounds):
            for name in list(CLIENTS)[:: 1 - 2 * (number % 2)]:
                with CLIENTS[name](program) as ask:
                    (engine,) = psutil.Process().children()
                    ask(boards[:20], limit)
                    spent[name].append(measure(ask, engine, boards, limit))
        base = statistics.median(s.client + s.engine for s in spent["own"])
        for name, times in spent.items():
            total = statistics.median(s.client + s.engine for s in times)
            rows.append(
                {
                    "request": str(limit),
                    "client": name,
                    "requests_per_second": round(
                        count / statistics.median(s.wall for s in times), 1
                    ),
                    "client_us": round(1e6 / count * statistics.median(s.client for s in times), 1),
                    "engine_us": round(1e6 / count * statistics.median(s.engine for s in times), 1),
                    "processor_time_ratio": round(total / base, 2),
                }
            )
    return {
        "benchmark": "uci_client",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.processor() or platform.machine()}, one core",
        "python": platform.python_version(),
        "python_chess": chess.__version__,
        "positions": count,
        "rounds": rounds,
        "seed": seed,
        "rows": rows,
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--positions", type=int, default=300, help="Boards of a batch (300)")
    parser.add_argument("--rounds", type=int, default=5, help="Batches of each client (5)")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the positions (1)")
    arguments = parser.parse_args()
    try:
        report = compare(arguments.positions, arguments.rounds, arguments.seed)
    except MiaiError as error:
        print(f"uci_client: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, python-chess {report['python_chess']}")
    print("request           client        requests/s  client us  engine us  processor time")
    for row in report["rows"]:
        print(
            f"{row['request']:<18}{row['client']:<13}{row['requests_per_second']:>11,.0f}"
            f"{row['client_us']:>11,.0f}{row['engine_us']:>11,.0f}"
            f"{row['processor_time_ratio']:>15.2f}x"
        )


if __name__ == "__main__":
    main()
