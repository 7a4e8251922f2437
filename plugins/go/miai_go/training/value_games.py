"""Positions for a value network: one of each game, after a random move (Silver et al. 2016).

A policy plays up to a random ply, then any sensible move is made, then a stronger policy plays to
the end. Only the position after the random move is learnt from: positions of one game have one
result, and a network would learn games by heart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from miai_go.data.games import StoredGame
from miai_go.data.shards import open_shards, shard_folders
from miai_go.data.writing import ShardWriter
from miai_go.inference.protocol import Oracle
from miai_go.selfplay.policy_games import PolicyGames


def make_value_games(
    folder: Path,
    players: tuple[Oracle, Oracle],
    rules: PolicyGames,
    *,
    games: int,
    batch: int,
    last_random: int,
    seed: int,
    progress: Callable[[int], None],
) -> None:
    """Write games into a shard set until it has `games`; what is there is not made again.

    Args:
      players: who plays before the random move, and who after it.
      batch: games in step, and in a shard.
      last_random: latest ply of the random move, from 0.
      progress: called with the games that are there.

    Raises:
      DataError: the folder cannot be written.
      InferenceError: a network cannot answer.
    """
    number = len(shard_folders(folder)) if folder.is_dir() else 0
    done = sum(s.games for s in open_shards(folder, verify=False)) if number else 0
    while done < games:
        rng = np.random.default_rng([seed, number])
        at = rng.integers(0, last_random + 1, batch)
        zeros = np.zeros(batch, np.int64)
        played = rules.play(players, zeros, zeros, rng=rng, random_at=at, after=zeros + 1)
        kept = [
            marked(game, int(ply) + 1)
            for game, ply in zip(played, at, strict=True)
            if len(game.moves) > ply + 1
        ]
        with ShardWriter(folder, size=rules.size, sources=("self-play",)) as writer:
            for game in kept:
                writer.add(game)
        number, done = number + 1, done + len(kept)
        progress(done)


def marked(game: StoredGame, ply: int) -> StoredGame:
    """Return a game of which one position alone is learnt from."""
    weight = np.zeros(len(game.moves), np.float16)
    weight[ply] = 1
    return replace(game, weight=weight)
