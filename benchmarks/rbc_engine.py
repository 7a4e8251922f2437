"""Speed and move quality of the embedded chess engine of Reconnaissance Blind Chess.

Positions of the middle game are made from a seed: random openings, then shallow games of the engine
against itself. `nodes_per_second` counts every node of the search, quiescence included, on one
core, each position by itself. `top3_share` is the share of positions whose best move is one of the
three that Stockfish names at depth 12.

    python benchmarks/rbc_engine.py
    python benchmarks/rbc_engine.py --json --positions 200 --depth 4
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import chess
import chess.engine
import numba
import numpy as np

from common.conditions import conditions
from miai.errors import MiaiError
from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.engines.stockfish import find_engine
from miai_rbc.rules.actions import move_name
from miai_rbc.rules.rows import row_of_board

OPENING_PLIES, GAME_PLIES, SELF_PLAY_DEPTH = 8, (8, 32), 2
EVEN = 300  # centipawns; positions that are further from even are left out
JUDGE_DEPTH, JUDGE_MOVES = 12, 3


def best_move(engine: KernelEngine, board: chess.Board) -> tuple[chess.Move, int]:
    """Return the engine's best move and its score for the side to move."""
    result = engine.evaluate(row_of_board(board)[None])
    return chess.Move.from_uci(move_name(int(result.moves[0, 0]))), int(result.scores[0])


def candidates(seed: int) -> Iterator[chess.Board]:
    """Yield positions: a random opening, then the engine's own moves."""
    rng = random.Random(seed)
    engine = KernelEngine(KernelParameters(depth=SELF_PLAY_DEPTH))
    while True:
        board, score = chess.Board(), 0
        plies = OPENING_PLIES + rng.randint(*GAME_PLIES)
        while len(board.move_stack) < plies and not board.is_game_over():
            if len(board.move_stack) < OPENING_PLIES:
                move = rng.choice(list(board.legal_moves))
            else:
                move, score = best_move(engine, board)
            if move not in board.legal_moves:
                break
            board.push(move)
        quiet = not board.is_check() and not board.is_game_over() and abs(score) < EVEN
        if quiet and len(board.move_stack) == plies:
            yield board


def judge(boards: list[chess.Board]) -> list[set[chess.Move]]:
    """Return the moves that Stockfish names for each board."""
    named = []
    with chess.engine.SimpleEngine.popen_uci(str(find_engine("stockfish"))) as stockfish:
        stockfish.configure({"Threads": 1, "Hash": 16})
        limit = chess.engine.Limit(depth=JUDGE_DEPTH)
        for board in boards:
            lines = stockfish.analyse(board, limit, multipv=JUDGE_MOVES, game=object())
            named.append({line["pv"][0] for line in lines if "pv" in line})
    return named


def benchmark(positions: int, depth: int, seed: int) -> dict[str, Any]:
    """Measure speed and agreement on `positions` positions."""
    source = candidates(seed)
    boards = [next(source) for _ in range(positions)]
    engine = KernelEngine(KernelParameters(depth=depth))
    best_moves, seconds, spent = [], 0.0, 0
    for board in boards:
        engine.new_game()
        row, before, started = row_of_board(board)[None], engine.nodes, time.process_time()
        result = engine.evaluate(row)
        seconds += time.process_time() - started
        spent += engine.nodes - before
        best_moves.append(chess.Move.from_uci(move_name(int(result.moves[0, 0]))))
    batch = np.stack([row_of_board(board) for board in boards])
    engine.new_game()
    started = time.process_time()
    engine.evaluate(batch)
    together = time.process_time() - started
    agreed = sum(move in named for move, named in zip(best_moves, judge(boards), strict=True))
    return {
        "benchmark": "rbc_engine",
        **conditions(),
        "numba": numba.__version__,
        "positions": positions,
        "seed": seed,
        "depth": depth,
        "nodes_per_second": round(spent / seconds),
        "nodes_per_position": round(spent / positions),
        "positions_per_second": round(positions / together, 1),
        "top3_share": round(agreed / positions, 3),
        "judge": f"Stockfish, depth {JUDGE_DEPTH}, its best {JUDGE_MOVES} moves",
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--positions", type=int, default=120, help="Number of positions")
    parser.add_argument("--depth", type=int, default=4, help="Search depth in plies (4)")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the positions")
    arguments = parser.parse_args()
    try:
        report = benchmark(arguments.positions, arguments.depth, arguments.seed)
    except MiaiError as error:
        print(f"rbc_engine: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, numba {report['numba']}")
    print(
        f"depth {report['depth']}: {report['nodes_per_second']:,} nodes a second, "
        f"{report['nodes_per_position']:,} a position, "
        f"{report['positions_per_second']:,} positions a second in one batch"
    )
    print(f"best move among the three of {report['judge']}: {report['top3_share']:.1%}")


if __name__ == "__main__":
    main()
