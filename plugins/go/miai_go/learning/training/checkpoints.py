"""Checkpoints: everything a run needs to resume, in folders that are complete or absent."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai.errors import WeightsError
from miai.files import sync_folder
from miai.plain import dumps, loads
from miai.tensors import read_tensors, write_tensors
from miai_go.errors import TrainingError

if TYPE_CHECKING:
    from torch import Tensor


WEIGHTS: Final = "weights.safetensors"
_MEMORY: Final = "learner.safetensors"
_STATE: Final = "state"
_NAME: Final = re.compile(r"step-(\d{9})")
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
            draft.rename(final)
            sync_folder(self.folder)
        except OSError as error:
            raise self._unwritten(error.strerror or str(error)) from error
        except WeightsError as error:
            raise self._unwritten(str(error)) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        self._thin()
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

    def _thin(self) -> None:
        for folder in self._folders()[: -self._keep]:
            (folder / _MEMORY).unlink(missing_ok=True)

    def _unwritten(self, reason: str) -> TrainingError:
        where = f"{self.folder}: no checkpoint can be written"
        return TrainingError(f"{where}: {reason}; {self.last_good()}")


def _opened(folder: Path, memory: Path) -> Checkpoint:
    from miai.tensors import read_metadata

    try:
        state = loads(read_metadata(memory).get(_STATE, ""))
    except (ValueError, json.JSONDecodeError) as error:
        raise TrainingError(f"{memory}: its state cannot be read: {error}") from error
    except WeightsError as error:
        raise _damaged(folder, error) from error
    if not isinstance(state, dict):
        raise TrainingError(f"{memory}: its state is not a JSON object")
    return Checkpoint(folder, _step_of(folder), state)


def _damaged(folder: Path, error: WeightsError) -> TrainingError:
    return TrainingError(f"{error}; delete {folder} to resume from the previous one")


def _step_of(folder: Path) -> int:
    match = _NAME.fullmatch(folder.name)
    assert match is not None
    return int(match[1])
