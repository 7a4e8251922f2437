"""Runs that go in rounds: play, learn, measure, keep; resumed at the round that was broken off."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from miai_go.errors import DivergedError, TrainingError
from miai_go.learning.checkpoints import Checkpoint, Checkpoints
from miai_go.learning.learner import Learner
from miai_go.learning.making import save_learnt
from miai_go.learning.run_folder import TrainingJournal
from miai_go.learning.sections import TrainingRunSection
from miai_go.nets.encoder import Encoder
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.nets.weights import NetworkWeights, WeightsHeader


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Attributes:
      weights: the file of the last checkpoint.
      rounds: rounds made.
      steps: optimiser steps made.
      seconds: of this sitting.
    """

    weights: Path
    rounds: int
    steps: int
    seconds: float


class Rounds:
    """Goes through the rounds of a run from the newest checkpoint on, and keeps one after each.

    Args:
      folder: of the run.
      count: rounds in all.
      learner: whose weights and memory are kept.
      header: called for the header of the weights as they are.

    Attributes:
      checkpoints: of the run.
    """

    def __init__(
        self,
        folder: Path,
        *,
        count: int,
        learner: Learner,
        header: Callable[[], WeightsHeader],
        journal: TrainingJournal | None,
    ) -> None:
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self._folder = folder
        self._count = count
        self._learner = learner
        self._header = header
        self._journal = journal

    def run(
        self,
        one_round: Callable[[int, TrainingJournal], None],
        *,
        state: Callable[[], dict[str, Any]],
        restore: Callable[[Checkpoint], None],
        keep_first: bool = False,
        greeting: str = "",
    ) -> Ended:
        """Make the rounds that are left.

        Args:
          one_round: makes the round of a number, from 0.
          state: what has to be kept beside the learner, plain data.
          restore: called with the checkpoint that the run goes on from, if any.
          keep_first: keep the weights that the run begins with, as of step 0, too.
          greeting: a line to say first; empty for none.

        Raises:
          MiaiError: from a round, or a checkpoint cannot be read or written.
        """
        began = time.perf_counter()
        found = self.checkpoints.latest()
        done = 0
        if found is not None:
            self._learner.load_tensors(found.tensors(), steps=found.step)
            done = int(found.state.get("rounds", 0))
            restore(found)
        elif keep_first:
            found = self._write({**state(), "rounds": 0})
        last = found
        with self._journal or TrainingJournal(self._folder, step=self._learner.steps) as journal:
            if greeting:
                journal.say(greeting)
            if done:
                journal.say(f"going on after round {done} of {self._count}")
            for number in range(done, self._count):
                try:
                    one_round(number, journal)
                except DivergedError as error:
                    raise TrainingError(f"{error}; {self.checkpoints.last_good()}") from error
                last = self._write({**state(), "rounds": number + 1})
        last = last or self._write({**state(), "rounds": 0})
        seconds = time.perf_counter() - began
        return Ended(last.weights, max(self._count, done), self._learner.steps, seconds)

    def _write(self, state: dict[str, Any]) -> Checkpoint:
        return self.checkpoints.write(
            self._learner.steps,
            memory=self._learner.tensors(),
            state=state,
            save_weights=lambda path: save_learnt(path, self._learner, self._header()),
        )


def playing_copy(
    learner: Learner, header: WeightsHeader, encoder: Encoder, run: TrainingRunSection
) -> TorchOracle:
    """Return a network with the weights that a learner keeps, made ready to play.

    torch has one thread from then on, until `learning_threads`.
    """
    before = learner.use_averaged()
    try:
        return TorchOracle(
            NetworkWeights(learner.network, header),
            encoder,
            precision=run.precision,
            threads=1,
            device=run.device,
        )
    finally:
        learner.restore(before)


def playing_model(learner: Learner, header: WeightsHeader) -> bytes:
    """Return a network with the weights that a learner keeps, for ONNX Runtime, in int8."""
    from miai_go.nets.onnx_export import onnx_model

    before = learner.use_averaged()
    try:
        weights = NetworkWeights(copy.deepcopy(learner.network).cpu().eval(), header)
    finally:
        learner.restore(before)
    model: bytes = onnx_model(weights, precision="int8").SerializeToString()
    return model


def learning_threads(run: TrainingRunSection) -> None:
    """Let torch learn with the threads of the run."""
    torch.set_num_threads(run.threads or default_threads())


def default_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
