"""Games for the tests of data: random ones, as moves and as SGF, with and without oddities."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sgfmill import sgf

from miai_go.learning.data.shards import ShardWriter
from miai_go.learning.data.stored_games import StoredGame
from miai_go.rules.board import Board

RESULTS = ("B+3.5", "W+0.5", "B+R", "W+Resign", "0", "B+T")


def random_moves(seed: int, *, size: int = 9, length: int = 40, board: Board | None = None) -> Any:
    """Return legal moves, by simple ko and without suicide; a few of them passes."""
    rng = random.Random(seed)
    board = board or Board(size)
    moves = []
    for ply in range(length):
        points = board.legal_points(ply % 2).tolist()
        move = rng.choice(points) if points and rng.random() > 0.02 else size * size
        board.play(ply % 2, move)
        moves.append(move)
    return moves


def random_game(seed: int, *, size: int = 9, length: int = 40, search: bool = False) -> StoredGame:
    """Return a random game, with what a search leaves behind if asked."""
    rng = np.random.default_rng(seed)
    moves = np.array(random_moves(seed, size=size, length=length), np.int16)
    extra: dict[str, Any] = {}
    if search:
        policy = rng.random((length, size * size + 1))
        extra = {
            "policy": (policy / policy.sum(axis=1, keepdims=True)).astype(np.float16),
            "weight": (rng.random(length) < 0.4).astype(np.float16),
            "root_value": rng.uniform(-1, 1, length).astype(np.float16),
            "ownership": rng.integers(-1, 2, size * size).astype(np.int8),
        }
    result = int(rng.choice([1, -1]))
    extra |= {"result": result, "margin": result * 2.5}
    return StoredGame(size=size, moves=moves, half_komi=15, **extra)


def write_set(folder: Path, games: Sequence[StoredGame], **options: Any) -> Path:
    """Write games of one size as a set; return its folder."""
    with ShardWriter(folder, size=games[0].size, **options) as writer:
        for game in games:
            writer.add(game)
    return folder


def sgf_of(moves: Any, *, size: int = 9, seed: int = 0, odd: bool = False, **root: Any) -> bytes:
    """Return a game as SGF by sgfmill. `odd`: with comments, escapes and variations."""
    rng = random.Random(seed)
    file = sgf.Sgf_game(size=size, encoding="UTF-8")
    head = file.get_root()
    values = {"KM": 7.5, "RE": rng.choice(RESULTS), "RU": "Chinese", "PB": "a", **root}
    for name, value in values.items():
        if value is not None:
            head.set(name, value)
    if odd:
        head.set("C", r"[;B[aa]\] (;W[bb]) \\ ] ;B[cc]")
    for ply, move in enumerate(moves):
        node = file.extend_main_sequence()
        point = None if move == size * size else divmod(int(move), size)
        node.set_move("bw"[ply % 2], point)
        if odd and rng.random() < 0.3:
            node.set("C", rng.choice(["];B[aa", "a\\b]", ";W[ab]", "(;B[dd])", "é \\] ü"]))
        if odd and rng.random() < 0.05 and ply > 3:
            branch = node.parent.new_child()
            branch.set_move("bw"[ply % 2], None)
    data: bytes = file.serialise()
    return data


def turned(grid: NDArray[Any], symmetry: int) -> NDArray[Any]:
    """Return a grid (size, size) turned as `miai_go.rules.symmetry` says, by numpy."""
    if symmetry & 1:
        grid = grid[::-1]
    if symmetry & 2:
        grid = grid[:, ::-1]
    return grid.T if symmetry & 4 else grid
