"""Annotations of recorded games: what a search expects of positions, and who owned each point.

A network that learns values from results alone has one target for all positions of a game. The
value of a search is a target of its own for each position, and a steadier one (Schrittwieser et al.
2021, "Online and offline reinforcement learning by planning with a learned model", reanalyse).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.parameters import StrictModel, parameter
from miai.seeds import derive_seed
from miai_go.learning.data.batches import Rows, make_batch
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shard_making import StoppedError, make_shards
from miai_go.learning.data.stored_games import UNKNOWN, StoredGame
from miai_go.rules.board import Board
from miai_go.rules.dead_stones import dead_by_playouts
from miai_go.rules.scoring import area_score
from miai_go.search.forest import Forest, ForestRoot, LeafValuer, TreeSettings


class AnnotationSettings(StrictModel):
    """How games are annotated."""

    simulations: int = parameter(48, ge=1, help="Simulations of each search")
    every: int = parameter(
        2, ge=1, help="Interval of searched positions; values between are interpolated"
    )
    mix: float = parameter(0.2, ge=0, le=1, help="Share of the rollout in a leaf's value")
    seed: int = parameter(0, ge=0, help="Seed of the rollouts")
    games_a_shard: int = parameter(200, ge=1, help="Games per shard, which are annotated together")


class AnnotationPlan(AnnotationSettings):
    """All that determines annotations.

    Attributes:
      games: digest of the games.
      weights: digest of the network.
      precision: that in which the network runs.
      c_puct: weight of the priors.
      leaves: leaves of a tree that are valued in one batch.
    """

    games: str
    weights: str
    precision: str = "fp32"
    c_puct: float = Field(default=1.0, ge=0)
    leaves: int = Field(default=2, ge=1)


_AT_ONCE: Final = 64
"""Trees searched in step."""


def annotate(
    data: GoDataset,
    plan: AnnotationPlan,
    valuers: Sequence[LeafValuer],
    out: Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write the games with annotations as a shard set; return how many were annotated now.

    An interrupted run continues with the next shard. The same plan gives the same annotations on
    any number of workers.

    Args:
      valuers: one for each worker, equal.
      progress: called with the number of games that the set has.

    Raises:
      DataError: the folder has annotations of another plan, or cannot be written.
      InferenceError: a network fails.
    """
    manifests = [shard.manifest for shard in data.shards if shard.manifest is not None]
    sources = tuple(sorted({name for manifest in manifests for name in manifest.sources}))
    report = progress or (lambda _games: None)
    return make_shards(
        [out] * math.ceil(len(data) / plan.games_a_shard),
        lambda part, valuer, stopped: _annotated(data, plan, part, valuer, stopped),
        valuers,
        settings=plan.model_dump(mode="json"),
        sources=sources,
        progress=lambda parts: report(min(parts * plan.games_a_shard, len(data))),
    )


def _annotated(
    data: GoDataset, plan: AnnotationPlan, part: int, valuer: LeafValuer, stopped: threading.Event
) -> list[StoredGame]:
    """Return the games of a shard with their annotations."""
    numbers = np.arange(len(data))[part * plan.games_a_shard :][: plan.games_a_shard]
    lengths = data.lengths()[numbers]
    searched = [
        (number, ply)
        for number, length in zip(numbers.tolist(), lengths.tolist(), strict=True)
        # The first searched ply differs from game to game, so that both players are searched
        # equally.
        for ply in range(number % plan.every, length, plan.every)
    ]
    found = np.zeros(len(searched))
    for begin, values in search_positions(
        data, plan, searched, valuer, seed=derive_seed(plan.seed, part)
    ):
        if stopped.is_set():
            raise StoppedError
        found[begin : begin + len(values)] = values
    table = np.array(searched, np.int64).reshape(-1, 2)
    games = []
    for number in numbers.tolist():
        game, here = data.game(number), table[:, 0] == number
        between = _between(game, table[here, 1], found[here])
        games.append(replace(game, root_value=between, ownership=final_owners(game)))
    return games


def search_positions(
    data: GoDataset,
    plan: AnnotationPlan,
    positions: list[tuple[int, int]],
    valuer: LeafValuer,
    *,
    seed: int,
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the index of the first of some positions, and their values for the player to move.

    Args:
      positions: games of `data` by number, and plies in them.
    """
    forest = Forest(
        data.size,
        _AT_ONCE,
        # A simulation expands at most one node, to a child for each action.
        max_nodes=(data.size**2 + 1) * (plan.simulations + 2),
        leaves=plan.leaves,
        seed=seed,
    )
    tree = TreeSettings(c_puct=plan.c_puct, rollouts=int(plan.mix > 0), mix=plan.mix)
    for begin in range(0, len(positions), _AT_ONCE):
        games, plies = np.array(positions[begin : begin + _AT_ONCE], np.int64).T
        for slot, root in enumerate(_roots(data, games, plies)):
            forest.configure(slot, tree)
            forest.set_root(slot, root)
        slots = np.arange(len(games), dtype=np.int32)
        forest.search(slots, plan.simulations, valuer)
        trees = [forest.tree(slot) for slot in slots.tolist()]
        yield begin, np.array([float(tree.proven) or tree.value for tree in trees])


def _roots(
    data: GoDataset, games: NDArray[np.int64], plies: NDArray[np.int64]
) -> Iterator[ForestRoot]:
    """Yield positions as roots, with simple ko, by which recorded games were checked."""
    shard, game = data.locate(games)
    rows = Rows(data.size, shard, game, games, plies, np.zeros(len(games), np.uint8))
    reached = make_batch(data.shards, rows, None, with_positions=True).positions
    assert reached is not None
    for row in range(len(games)):
        columns = data.shards[int(shard[row])].columns
        half_komi = int(columns["half_komi"][game[row]])
        moves = columns["moves"][int(columns["offsets"][game[row]]) :]
        passed = plies[row] > 0 and int(moves[plies[row] - 1]) == data.size**2
        yield ForestRoot(
            board=reached.board(row),
            trail=reached.trails[row],
            komi=half_komi / 2,
            passes=int(passed),
        )


def _between(
    game: StoredGame, plies: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float16]:
    """Return a value for each position, for its player to move, by linear interpolation.

    Those before the first searched position have its value; those after the last one lead to the
    result, where it is known, or have its value.
    """
    side = game.sides()
    black = values * side[plies]
    if game.result != UNKNOWN:
        plies, black = np.append(plies, len(game.moves)), np.append(black, float(game.result))
    if not len(plies):
        return np.full(len(game.moves), np.nan, np.float16)
    filled: NDArray[np.float64] = np.interp(np.arange(len(side)), plies, black) * side
    return filled.astype(np.float16)


def final_owners(game: StoredGame) -> NDArray[np.int8] | None:
    """Return who owned each point at the end, or None if that is uncertain.

    It is certain when both players passed and the area agrees with the recorded margin, all stones
    being alive, or without those that playouts find dead.
    """
    ending, last = game.size**2, game.moves[-2:].tolist()
    if math.isnan(game.margin) or last != [ending, ending]:
        return None
    size, stones = game.size, game.stones
    board = Board(size) if stones is None else Board.from_stones(stones.reshape(size, size))
    for ply, action in enumerate(game.moves.tolist()):
        if action != ending:
            board.play((game.first - 1 + ply) % 2, action)
    for dead in ((), dead_by_playouts(board)):
        score = area_score(board, white_bonus=game.half_komi / 2, dead=dead)
        if score.margin == game.margin:
            return score.owners.ravel().astype(np.int8)
    return None
