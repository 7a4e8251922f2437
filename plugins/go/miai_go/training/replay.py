"""What a round of AlphaGo Zero's loop learns from: its newest games, and recorded ones between."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from miai_go.data.batch import Batch
from miai_go.data.dataset import GoDataset
from miai_go.data.shards import Shard, shard_folders
from miai_go.encoders.protocol import Encoder
from miai_go.training.endless import endless
from miai_go.training.learner import Lesson
from miai_go.training.supervised import komi_range, lesson_of, open_games
from miai_go.training.zero_config import ZeroConfig


class Replay:
    """Hands out lessons; the same config and games give the same ones, whenever it is asked.

    Args:
      games: the folder of the run's own games, a shard a round.

    Attributes:
      recorded: the recorded games; None where the config names none.

    Raises:
      DataError: the recorded games cannot be read, or none are left to learn from.
    """

    def __init__(self, config: ZeroConfig, encoder: Encoder, games: Path) -> None:
        self._config = config
        self._encoder = encoder
        self._games = games
        data = config.recorded.data(config.game.size)
        self.recorded = open_games(data, encoder)[0] if data else None

    def digest(self) -> str | None:
        """Return what tells these recorded games from others; None where there are none."""
        return self.recorded.digest() if self.recorded else None

    def left_out(self) -> str:
        """Return in a line which recorded games were not taken; empty where all were."""
        return self.recorded.left_out() if self.recorded else ""

    def told(self) -> str:
        """Return what the weights' header says that they learnt from."""
        told = f"games of its own, {self._config.selfplay.games} a round"
        if self.recorded is not None:
            share, count = self._config.recorded.share, len(self.recorded)
            told += f"; {share:g} of the steps {count} recorded games, {self.digest()}"
        return told

    def komi(self) -> tuple[float, float]:
        """Return the least and the greatest komi that is learnt from, in points."""
        own = self._config.game.komi
        least, most = komi_range(self.recorded) if self.recorded else (own, own)
        return min(own, least), max(own, most)

    def lessons(self, number: int, *, first: int, count: int) -> Iterator[tuple[str, Lesson]]:
        """Yield the lessons of a round's steps, each with a prefix for the names of its losses.

        Recorded games come between the round's own, as evenly as their share of steps allows.

        Args:
          number: of the round, from 0.
          first: number of the run's step that comes next.
          count: steps.
        """
        share = self._config.recorded.share if self.recorded else 0.0
        own, recorded = self._own(number), self._from_records(int(first * share))
        with closing(own), closing(recorded):
            for step in range(first, first + count):
                if int((step + 1) * share) > int(step * share):
                    yield "recorded_", next(recorded)
                else:
                    yield "", next(own)

    def _own(self, number: int) -> Generator[Lesson, None, None]:
        """Yield what the newest rounds' games teach."""
        config = self._config
        newest = shard_folders(self._games)[: number + 1][-config.replay.rounds :]
        shards = [Shard.open(folder, verify=False) for folder in newest]
        batches = endless(
            GoDataset.of_shards(shards, encoder=self._encoder),
            config.optimiser.batch,
            seed=config.run.seed + 1 + number,
            targets_only=True,
        )
        with closing(batches):
            yield from map(self._lesson, batches)

    def _from_records(self, first: int) -> Generator[Lesson, None, None]:
        """Yield what recorded games teach, from a batch on."""
        if self.recorded is None:
            return
        config = self._config
        batches = endless(self.recorded, config.optimiser.batch, seed=config.run.seed, first=first)
        with closing(batches):
            yield from map(lesson_of, batches)

    def _lesson(self, batch: Batch) -> Lesson:
        assert batch.planes is not None
        value, share = batch.result, self._config.replay.root_share
        if share and batch.root_value is not None:
            expected = np.where(np.isnan(batch.root_value), value, batch.root_value)
            value = ((1 - share) * value + share * expected).astype(np.float32)
        return Lesson(
            planes=batch.planes,
            policy=batch.policy,
            value=value,
            ownership=batch.ownership,
            score=batch.score,
        )
