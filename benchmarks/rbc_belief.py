"""Beliefs of Reconnaissance Blind Chess: expansion, filters and scans, beside python-chess.

Boards come from random middle games: a player's exact belief after some turns with senses, then
as many turns of the opponent without a sense as it takes to reach a size; and, under `real_game`,
from a game of `rbc-seed` against itself, all turns of which are expanded one after the other. For
each size:
`successors_per_second` counts the successors generated while the opponent's turn is expanded and
repetitions are dropped, `python_chess_successors_per_second` the same with python-chess (copy,
push, key, a dict) on a sample of the same boards in the same run. One core, but for
`two_threads_speedup`.

    python benchmarks/rbc_belief.py [--json] [--sizes 1000 100000 ...] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import numpy as np

import miai
from common.conditions import conditions
from common.evidence import record
from miai_rbc.belief import scans
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.kernels.board import NO_SQUARE
from miai_rbc.kernels.filters import keep_moved, keep_sensed
from miai_rbc.rules.board_set import BoardSet, count_rows, expand_rows
from miai_rbc.rules.buffers import POOL
from miai_rbc.rules.game import RbcGame

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
PEER_BOARDS = 300


def middle_game(seed: int, turns: int) -> BoardSet:
    """Return White's belief before its move in a random game with senses."""
    game = miai.load_game("rbc")
    assert isinstance(game, RbcGame)
    rng = random.Random(seed)
    state, belief = game.new_initial_state(), RbcBelief(game, 0)
    belief.observe(state.observation(0))  # type: ignore[arg-type]  # the first is never None
    for _ in range(4 * turns + 1):
        if state.is_terminal():
            return middle_game(seed + 1000, turns)
        legal = state.legal_actions()
        action = rng.choice(legal)
        if action <= 64:
            action = 8 * rng.randrange(1, 7) + rng.randrange(1, 7)
        state.apply_action(action)
        observation = state.observation(0)
        if observation is not None and not state.is_terminal():
            belief.observe(observation)
    return belief.boards


def of_size(boards: BoardSet, size: int, rng: np.random.Generator) -> BoardSet:
    """Return boards with black to move whose successors without a capture are about `size`."""
    turned = _turned(boards)
    while True:
        found, _ = turned.after_opponent(None)
        if len(found) >= size:
            break
        turned = _turned(found)
    # The share of the boards that leads to `size`, found by trying a sample.
    count = float(len(turned))
    for _ in range(3):
        part = turned.sample(max(1, int(count)), rng)
        out, _ = part.after_opponent(None)
        if abs(len(out) - size) < 0.1 * size:
            break
        count = min(len(turned), max(1.0, count * size / len(out)))
    return part


def real_game(seed: int) -> list[BoardSet]:
    """Return the beliefs of both players of a game before each turn of the opponent."""
    game = miai.load_game("rbc")
    assert isinstance(game, RbcGame)
    agents = [miai.make_agent("rbc-seed", game, depth=1, samples=20, seed=seed) for _ in (0, 1)]
    record = miai.play(game, agents, seed=seed)
    state, found = game.new_initial_state(), []
    beliefs = [RbcBelief(game, player, limit=2_000_000) for player in (0, 1)]
    for move in [None, *record.moves]:
        if move is not None:
            state.apply_action(move.action)
        for player, belief in enumerate(beliefs):
            observation = state.observation(player)
            if observation is not None and not state.is_terminal():
                belief.observe(observation)
                if move is not None and move.actor == player and state.senses:
                    found.append(belief.boards.copy())
    return found


def measure_real_game(repeats: int, seed: int) -> dict[str, Any]:
    """Return the speed of all expansions of a real game, in order."""
    turns = real_game(seed)
    totals = [count_rows(boards.rows, NO_SQUARE) for boards in turns]

    def expand() -> int:
        for boards in turns:
            total = count_rows(boards.rows, NO_SQUARE)
            expand_rows(boards.rows, NO_SQUARE, total)
        return sum(totals)

    rng = np.random.default_rng(seed)
    sample = [
        b for boards in turns for b in boards.sample(PEER_BOARDS // len(turns) + 1, rng).boards()
    ]
    ours, peer = rate(expand, repeats), rate(lambda: python_chess(sample), repeats)
    return {
        "turns": len(turns),
        "most_boards": max(map(len, turns)),
        "successors": sum(totals),
        "successors_per_second": round(ours),
        "python_chess_successors_per_second": round(peer),
        "ratio": round(ours / peer, 1),
    }


def _turned(boards: BoardSet) -> BoardSet:
    """Return the boards with the other side to move."""
    after = boards.copy()
    after.rows[:, 7] ^= np.uint64(1)
    after.rows[:, 7] &= np.uint64(31)
    return after


def rate(work: Callable[[], int], repeats: int) -> float:
    """Return the rate per second, the median of the repetitions."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        count = work()
        found.append(count / (time.perf_counter() - began))
    return statistics.median(found)


def python_chess(boards: list[chess.Board]) -> int:
    """Expand boards as bots do; return the number of successors."""
    after: dict[Any, chess.Board] = {}
    count = 0
    for board in boards:
        for move in [*board.generate_pseudo_legal_moves(), chess.Move.null()]:
            child = board.copy(stack=False)
            child.push(move)
            after[child._transposition_key()] = child
            count += 1
    return count


def measure_size(size: int, repeats: int, seed: int) -> dict[str, Any]:
    """Return the figures for beliefs that are `size` boards after the opponent's turn."""
    rng = np.random.default_rng(seed)
    before = of_size(middle_game(seed, 6), size, rng)
    generated = count_rows(before.rows, NO_SQUARE)
    out = 0

    def expand(threads: int) -> int:
        nonlocal out
        total = count_rows(before.rows, NO_SQUARE, threads=threads)
        out = len(expand_rows(before.rows, NO_SQUARE, total, threads=threads)[0])
        return generated

    sample = list(before.sample(PEER_BOARDS, rng).boards())
    peer = rate(lambda: python_chess(sample), repeats)
    ours = rate(lambda: expand(1), repeats)
    two = rate(lambda: expand(2), repeats)
    peak = peak_bytes(lambda: expand(1))
    after, _ = before.after_opponent(None)
    return {
        "boards_in": len(before),
        "boards": out,
        "successors": generated,
        "successors_per_second": round(ours),
        "python_chess_successors_per_second": round(peer),
        "ratio": round(ours / peer, 1),
        "two_threads_speedup": round(two / ours, 2),
        "bytes_per_board": after.rows.nbytes / len(after),
        "peak_bytes_per_board": None if peak is None else round(peak / out, 1),
        **measure_looks(after, repeats),
    }


def measure_looks(boards: BoardSet, repeats: int) -> dict[str, float]:
    """Return the speed of scans and filters in boards per second."""
    window = np.uint64(0x1C1C1C << 16)
    seen = boards.rows[0, :7] & window
    request = boards.requests()[0]
    copies = [boards.rows.copy() for _ in range(2 * repeats)]

    def sense() -> int:
        keep_sensed(copies.pop(), window, seen)
        return len(boards)

    def move() -> int:
        keep_moved(copies.pop(), request, request, NO_SQUARE, False)
        return len(boards)

    def scan() -> int:
        scans.entropy(boards, 0)
        return len(boards)

    return {
        "scan_boards_per_second": round(rate(scan, repeats)),
        "sense_filter_boards_per_second": round(rate(sense, repeats)),
        "move_filter_boards_per_second": round(rate(move, repeats)),
    }


def peak_bytes(work: Callable[[], object]) -> int | None:
    """Return the peak memory of a piece of work in bytes; None outside Linux."""
    reset, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not reset.exists():
        return None
    POOL.clear()
    before = _kilobytes(status, "VmRSS")
    reset.write_text("5")
    work()
    return 1024 * (_kilobytes(status, "VmHWM") - before)


def _kilobytes(status: Path, name: str) -> int:
    line = next(x for x in status.read_text().splitlines() if x.startswith(name))
    return int(line.split()[1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=list(SIZES), help="Boards per belief"
    )
    parser.add_argument("--repeats", type=int, default=3, help="Repetitions; the median counts")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the games")
    arguments = parser.parse_args()
    measure_size(1000, 1, arguments.seed)  # compiles
    by_size = [measure_size(size, arguments.repeats, arguments.seed) for size in arguments.sizes]
    figures: dict[str, Any] = {key: [row[key] for row in by_size] for key in by_size[0]} | {
        "real_game": measure_real_game(arguments.repeats, arguments.seed),
        "load_before": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    if arguments.record:
        row = min(by_size, key=lambda row: abs(row["boards"] - 1_000_000))
        record(
            "rbc-beliefs",
            f"{row['successors_per_second']:,} per second",
            peer=f"{row['ratio']:.0f} times python-chess in the same run, {row['boards']:,} boards",
        )
    if arguments.json:
        print(json.dumps(figures))
        return
    for row in by_size:
        print(
            f"{row['boards']:>10} boards: {row['successors_per_second'] / 1e6:5.1f} million "
            f"successors/s, {row['ratio']:5.0f} times python-chess, two threads "
            f"{row['two_threads_speedup']:.2f}; scan {row['scan_boards_per_second'] / 1e6:.1f}, "
            f"sense {row['sense_filter_boards_per_second'] / 1e6:.0f}, "
            f"move {row['move_filter_boards_per_second'] / 1e6:.0f} million boards/s; "
            f"peak {row['peak_bytes_per_board']} bytes a board"
        )
    real = figures["real_game"]
    print(
        f"a real game: {real['turns']} turns, at most {real['most_boards']} boards: "
        f"{real['successors_per_second'] / 1e6:.1f} million successors/s, "
        f"{real['ratio']:.0f} times python-chess"
    )
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
