"""A training run: steps or rounds, from the newest checkpoint to the end.

A checkpoint has everything a run needs to resume, in a folder that is complete or absent. Every
training of a network is a `TrainingRun`. What differs between trainings is passed in: the lessons
or rounds, the measurement, the state beside the learner, and how weights are saved.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from torch import Tensor

from miai.errors import WeightsError
from miai.files import sync_folder
from miai.plain import dumps, loads
from miai.tensors import read_metadata, read_tensors, write_tensors
from miai_go.errors import DivergedError, TrainingError
from miai_go.learning.training.config_sections import TrainingRunSection
from miai_go.learning.training.learner import Learner, Lesson
from miai_go.learning.training.measuring import Measures
from miai_go.learning.training.run_folder import TrainingJournal

MeasuresT = TypeVar("MeasuresT", bound=Measures)

ROUNDS: Final = "rounds"
SECONDS: Final = "seconds"
"""Keys of a checkpoint's state: rounds made, wall time of learning."""


# Checkpoints

WEIGHTS: Final = "weights.safetensors"
_MEMORY: Final = "learner.safetensors"
_STATE: Final = "state"
_NAME: Final = re.compile(r"step-\d{9}")
_DRAFT: Final = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint on disk.

    Attributes:
      folder: its folder, which holds the playing weights as `WEIGHTS`.
      step: optimiser steps made.
      state: plain data of the run.
    """

    folder: Path
    step: int
    state: Mapping[str, Any]

    @property
    def weights(self) -> Path:
        """The file of the playing weights."""
        return self.folder / WEIGHTS

    def tensors(self) -> dict[str, Tensor]:
        """Return the learner's tensors. Raises `TrainingError` if they are damaged."""
        import torch

        try:
            arrays, _texts = read_tensors(self.folder / _MEMORY)
        except WeightsError as error:
            raise _damaged(self.folder, error) from error
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


class Checkpoints:
    """The checkpoints of a run.

    Args:
      folder: created with the first checkpoint.
      keep: number of complete checkpoints; older ones keep only their weights.
    """

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self.folder = folder
        self._keep = keep

    def write(
        self,
        step: int,
        *,
        memory: Mapping[str, Tensor],
        state: Mapping[str, Any],
        save_weights: Any,
    ) -> Checkpoint:
        """Write a checkpoint; earlier ones stay until the new one is complete.

        Args:
          memory: the learner's tensors.
          state: plain data of the run.
          save_weights: writes the playing weights to a file.

        Raises:
          TrainingError: it cannot be written, or the weights are not finite.
        """
        draft = self.folder / f"{_DRAFT}{os.getpid()}"
        final = self._folder(step)
        try:
            for draft_left in self.folder.glob(f"{_DRAFT}*"):  # by a killed process
                shutil.rmtree(draft_left, ignore_errors=True)
            draft.mkdir(parents=True)
            save_weights(draft / WEIGHTS)
            arrays = {name: tensor.numpy() for name, tensor in memory.items()}
            write_tensors(draft / _MEMORY, arrays, {_STATE: dumps(dict(state))})
            if final.exists():
                shutil.rmtree(final)
            # Complete or absent: a run that is killed here resumes from the checkpoint before.
            draft.rename(final)
            sync_folder(self.folder)
        except (OSError, WeightsError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            where = f"{self.folder}: no checkpoint can be written"
            raise TrainingError(f"{where}: {reason}; {self.last_good()}") from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        for folder in self._folders()[: -self._keep]:
            # The weights stay: policy gradients and the loop of AlphaGo Zero play against older
            # ones.
            (folder / _MEMORY).unlink(missing_ok=True)
        return Checkpoint(final, step, state)

    def latest(self) -> Checkpoint | None:
        """Return the newest checkpoint to resume from; None if there is none.

        Raises:
          TrainingError: the newest is damaged.
        """
        for folder in reversed(self._folders()):
            memory = folder / _MEMORY
            if memory.exists():
                return _opened(folder, memory)
        return None

    def last_good(self) -> str:
        """Return a clause that names the newest checkpoint."""
        last = self.latest()
        return f"the last good checkpoint is {last.folder}" if last else "there is no checkpoint"

    def weights(self, step: int) -> Path:
        """Return the weights after `step` steps. Raises `TrainingError` if they are missing."""
        path = self._folder(step) / WEIGHTS
        if not path.exists():
            raise TrainingError(
                f"{path}: is missing, but the run still plays against these weights; restore them, "
                "or start again in another folder with --out"
            )
        return path

    def _folder(self, step: int) -> Path:
        return self.folder / f"step-{step:09}"

    def _folders(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))


def _opened(folder: Path, memory: Path) -> Checkpoint:
    try:
        state = loads(read_metadata(memory).get(_STATE, ""))
    except (ValueError, json.JSONDecodeError) as error:
        raise TrainingError(f"{memory}: its state cannot be read: {error}") from error
    except WeightsError as error:
        raise _damaged(folder, error) from error
    if not isinstance(state, dict):
        raise TrainingError(f"{memory}: its state is not a JSON object")
    return Checkpoint(folder, int(folder.name.removeprefix("step-")), state)


def _damaged(folder: Path, error: WeightsError) -> TrainingError:
    return TrainingError(f"{error}; delete {folder} to resume from the previous one")


# Runs


@dataclass(frozen=True, slots=True)
class TrainingResult(Generic[MeasuresT]):
    """The end of a run that goes in steps.

    Attributes:
      weights: the file of the last checkpoint.
      steps: optimiser steps made.
      measures: of the held-out positions.
      loading_share: share of the time spent waiting for lessons.
    """

    weights: Path
    steps: int
    measures: MeasuresT
    loading_share: float


@dataclass(frozen=True, slots=True)
class RoundsResult:
    """The end of a run that goes in rounds.

    Attributes:
      weights: the file of the last checkpoint.
      rounds: rounds made.
      steps: optimiser steps made.
    """

    weights: Path
    rounds: int
    steps: int


class LossMeans:
    """Means of losses over the steps since they were last taken."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._steps = 0

    def add(self, losses: Mapping[str, float]) -> None:
        """Add the losses of one step."""
        self._steps += 1
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def take(self) -> dict[str, float]:
        """Return the means, and start again."""
        means = {name: value / self._steps for name, value in self._sums.items()}
        self._sums, self._steps = {}, 0
        return means


class TrainingRun:
    """The steps or rounds of one run, resumed from its newest checkpoint.

    Args:
      folder: of the run.
      learner: the network and its optimiser.
      save: writes the weights to a file.
      state: returns plain data to keep in checkpoints beside the learner.
      restore: takes up a checkpoint's state; raises `TrainingError` if the run cannot resume.
      journal: receives the figures; by default the folder's own.

    Attributes:
      checkpoints: of the run.
    """

    def __init__(
        self,
        folder: Path,
        *,
        learner: Learner,
        save: Callable[[Path], None],
        state: Callable[[], dict[str, Any]],
        restore: Callable[[Checkpoint], None],
        journal: TrainingJournal | None = None,
    ) -> None:
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self._folder = folder
        self._learner = learner
        self._save = save
        self._state = state
        self._restore = restore
        self._journal = journal

    def steps(
        self,
        lessons: Callable[[int], Generator[Lesson, None, None]],
        *,
        run: TrainingRunSection,
        positions: int,
        measure: Callable[[], MeasuresT],
        held_out: str,
        greeting: str,
        notes: Sequence[str] = (),
    ) -> TrainingResult[MeasuresT]:
        """Make the remaining steps, within the run's time.

        Args:
          lessons: yields lessons without end, from that of a given step.
          positions: per step.
          measure: measures the learner's network, which has the averaged weights at that time.
          held_out: name of the measured positions; a prefix in the log.
          greeting: the first line.
          notes: more lines to begin with.

        Raises:
          MiaiError: the data is wrong, a loss is not finite, or a checkpoint cannot be written.
        """
        found = self._resume()
        learner, last = self._learner, found
        began, waited, first = time.perf_counter(), 0.0, learner.steps
        measures, measured = None, -1
        means = LossMeans()
        with self._noting() as journal, closing(lessons(first)) as stream:
            resumed = f"; resuming from step {found.step}" if found else ""
            for line in (f"{greeting}; {run.steps} steps{resumed}", *notes):
                journal.say(line)
            while learner.steps < run.steps and not learner.out_of_time():
                before = time.perf_counter()
                lesson = next(stream)
                waited += time.perf_counter() - before
                with self._diverging():
                    means.add(learner.learn(lesson))
                step = learner.steps
                if step % run.log_every == 0:
                    speed = (step - first) * positions / (time.perf_counter() - began)
                    mean = means.take()
                    losses = "  ".join(f"{n} {v:.4g}" for n, v in mean.items() if n != "rate")
                    line = f"[{step}/{learner.limits()}] {losses}  ({speed:.0f} positions/s)"
                    journal.note(step, mean, line=line)
                if step % run.measure_every == 0:
                    measures, measured = self._measure(journal, measure, held_out), step
                if step % run.checkpoint_every == 0 or step == run.steps:
                    last = self._write(step=step)
            if measures is None or measured != learner.steps:
                measures = self._measure(journal, measure, held_out)
        if last is None or last.step != learner.steps:
            last = self._write(step=learner.steps)
        share = waited / max(time.perf_counter() - began, 1e-9)
        return TrainingResult(last.weights, learner.steps, measures, share)

    def rounds(
        self,
        count: int,
        one_round: Callable[[int, TrainingJournal], None],
        *,
        keep_first: bool = False,
        greeting: str = "",
    ) -> RoundsResult:
        """Make the remaining rounds, within the run's time, with a checkpoint after each.

        Args:
          count: rounds of the whole run.
          one_round: makes the round of a number, from 0.
          keep_first: write a checkpoint of the initial weights, too, as of step 0.
          greeting: the first line; empty for none.

        Raises:
          MiaiError: from a round, or a checkpoint cannot be read or written.
        """
        found = self._resume()
        done = int(found.state.get(ROUNDS, 0)) if found else 0
        made, last = done, self._write(rounds=0) if found is None and keep_first else found
        with self._noting() as journal:
            if greeting:
                journal.say(greeting)
            if done:
                journal.say(f"resuming after round {done} of {count}")
            for number in range(done, count):
                if self._learner.out_of_time():
                    break
                with self._diverging():
                    one_round(number, journal)
                made = number + 1
                last = self._write(rounds=made)
        last = last or self._write(rounds=0)
        return RoundsResult(last.weights, made, self._learner.steps)

    def _resume(self) -> Checkpoint | None:
        """Load the newest checkpoint, if there is one, and return it."""
        found = self.checkpoints.latest()
        if found is not None:
            self._restore(found)
            seconds = float(found.state.get(SECONDS, 0.0))
            self._learner.load_tensors(found.tensors(), steps=found.step, seconds=seconds)
        return found

    def _noting(self) -> TrainingJournal:
        return self._journal or TrainingJournal(self._folder, step=self._learner.steps)

    @contextmanager
    def _diverging(self) -> Iterator[None]:
        """Add the last good checkpoint to the error of a loss that is not finite."""
        try:
            yield
        except DivergedError as error:
            raise TrainingError(f"{error}; {self.checkpoints.last_good()}") from error

    def _measure(
        self, journal: TrainingJournal, measure: Callable[[], MeasuresT], held_out: str
    ) -> MeasuresT:
        with self._learner.averaged_weights():
            measures = measure()
        parts = {f"{held_out} {name}": part for name, part in measures.parts().items()}
        for title, part in {held_out: measures, **parts}.items():
            prefix = title.replace(" ", "_")
            figures = {f"{prefix}_{name}": value for name, value in part.figures().items()}
            journal.note(self._learner.steps, figures, line=f"  {title}: {part.line()}")
        return measures

    def _write(self, **state: int) -> Checkpoint:
        return self.checkpoints.write(
            self._learner.steps,
            memory=self._learner.tensors(),
            state={**self._state(), SECONDS: self._learner.seconds, **state},
            save_weights=self._save,
        )
