"""Train a value network on one position from each game of self-play (Silver et al. 2016).

One policy plays up to a random ply, then a random sensible move is played, then a stronger policy
plays to the end. Only the position after the random move is used: all positions of a game share
its result, and a network would memorise the games.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from miai.parameters import parameter
from miai_go.learning.data.shards import ShardWriter, open_shards, shard_folders
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.selfplay.policy_games import PolicyGames
from miai_go.learning.training.config_sections import LessonSection, NetworkTraining, PlayedGames
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import learning_threads
from miai_go.learning.training.measuring import GameMeasures
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.training.supervised import SupervisedConfig, train_supervised
from miai_go.learning.training.training_run import TrainingResult
from miai_go.nets.inference import load_oracle
from miai_go.nets.oracle import Oracle
from miai_go.shipped import find_weights


def marked(game: StoredGame, ply: int) -> StoredGame:
    """Return a game with a single training position."""
    weight = np.zeros(len(game.moves), np.float16)
    weight[ply] = 1
    return replace(game, weight=weight)


class ValueGameSection(PlayedGames):
    """The games of self-play."""

    policy: str = parameter(help="Weights of the policy before the random move")
    player: str = parameter(help="Weights of the policy after the random move")
    games: int = parameter(100_000, ge=10, unit="games", help="Number of games")
    batch: int = parameter(256, ge=1, unit="games", help="Games played in step")
    last_random: int = parameter(50, ge=0, unit="plies", help="Latest ply of the random move")
    temperature: float = parameter(1.0, gt=0, le=10, help="Temperature of both policies")
    validation: float = parameter(0.05, gt=0, lt=1, help="Share of validation games")


class ValueConfig(NetworkTraining):
    """The config of ``miai go train value``."""

    game: ValueGameSection


def train_value(plan: TrainingPlan[ValueConfig]) -> TrainingResult[GameMeasures]:
    """Make the missing games, then train from the newest checkpoint.

    Raises:
      MiaiError: names or weights are wrong, a loss is not finite, or nothing can be written.
    """
    config, games = plan.config, plan.folder / "games"
    # Refuses what it must before the games, which take hours.
    make_network(config.game.size, config.encoder, config.network, seed=config.run.seed)
    players = _players(config)
    with TrainingJournal(plan.folder / "making") as own:
        _make_games(games, players, config, own)
    learning_threads(config.run)  # self-play left torch with one
    learning = SupervisedConfig(
        data=LessonSection(
            sources=(str(games),),
            size=config.game.size,
            games=None,
            min_moves=0,
            validation=config.game.validation,
            test=0.0,
            targets_only=True,
        ),
        encoder=config.encoder,
        network=config.network,
        optimiser=config.optimiser,
        loss=config.loss,
        run=config.run,
    )
    inner = TrainingPlan(learning, plan.folder, plan.digest, plan.command)
    return train_supervised(inner)


def _players(config: ValueConfig) -> tuple[Oracle, Oracle]:
    game, run = config.game, config.run

    def player(named: str) -> Oracle:
        path = find_weights(named, size=game.size)
        return load_oracle(path, size=game.size, precision=run.precision, device=run.device)

    return player(game.policy), player(game.player)


def _make_games(
    folder: Path, players: tuple[Oracle, Oracle], config: ValueConfig, journal: TrainingJournal
) -> None:
    """Play games into a shard set until it has as many as the config says; keep those there are.

    `players` are the network before the random move, and the one after it. Raises `DataError` if
    the folder cannot be written, `InferenceError` if a network cannot answer.
    """
    section = config.game
    rules = PolicyGames(
        size=section.size,
        half_komi=round(2 * section.komi),
        max_moves=section.max_moves,
        temperature=section.temperature,
    )
    number = len(shard_folders(folder)) if folder.is_dir() else 0
    done = sum(s.games for s in open_shards(folder, verify=False)) if number else 0
    before = np.zeros(section.batch, np.int64)
    while done < section.games:
        # Each shard has random numbers of its own, so that a run that goes on makes the same games.
        rng = np.random.default_rng([config.run.seed, number])
        plies = rng.integers(0, section.last_random + 1, section.batch)
        played = rules.play(players, before, before, rng=rng, random_at=plies, after=before + 1)
        marked_games = [
            marked(game, ply + 1)
            for game, ply in zip(played, plies.tolist(), strict=True)
            if len(game.moves) > ply + 1
        ]
        with ShardWriter(folder, size=section.size, sources=("self-play",)) as writer:
            for game in marked_games:
                writer.add(game)
        number, done = number + 1, done + len(marked_games)
        journal.say(f"{done}/{section.games} games")
