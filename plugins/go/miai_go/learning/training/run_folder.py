"""The folder of a training run: its config, checkpoints and journal.

What a run tells while it goes on: a line on the terminal, a CSV file, TensorBoard's events.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import hashlib
import io
import re
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from miai.errors import ConfigError
from miai.files import locked, write_text, writing
from miai.parameters import assign, fill, read_toml
from miai.plain import dumps, loads
from miai.plugins.configs import refuse_other_config
from miai.tensors import TrainingRecord
from miai_go.errors import TrainingError

ModelT = TypeVar("ModelT", bound=BaseModel)

CONFIG: Final = "config.toml"
_SETTINGS: Final = "settings.json"
SCAFFOLDING: Final = frozenset((CONFIG, _SETTINGS))
"""What a run writes before it looks for games and weights."""
_PATH: Final = re.compile(r"[^\s\"',=\[\]]*/")
"""The folders of a path, which are nobody else's business."""


@dataclass(frozen=True, slots=True)
class TrainingPlan(Generic[ModelT]):
    """A checked config and where its run is kept.

    Attributes:
      config: the config.
      folder: of the run.
      digest: of all settings, 16 hexadecimal digits.
      command: the command line without paths, for the history of weights.
    """

    config: ModelT
    folder: Path
    digest: str
    command: str

    def record(self, *, data: str, steps: int = 0, seed: int = 0) -> TrainingRecord:
        """Return today's entry for the history of weights.

        Args:
          data: describes the training data.
          steps: optimiser steps made.
          seed: of the run.
        """
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        return TrainingRecord(
            command=self.command, config=self.digest, data=data, steps=steps, seed=seed, date=date
        )


def load_plan(
    path: Path,
    model: type[ModelT],
    *,
    command: str,
    assignments: Iterable[str] = (),
    out: Path | None,
    example: str | None = None,
) -> TrainingPlan[ModelT]:
    """Read a training config and settle the run's folder.

    Args:
      command: the words after ``miai go`` that train so, such as ``train sl``.
      assignments: ``table.key=value`` texts that override the file.
      out: the folder; by default ``runs/`` and the config's name.
      example: the config to begin with, for errors; by default that of ``train``.

    Raises:
      ConfigError: the config is wrong, or the folder holds a run of another config.
    """
    assignments = list(assignments)
    kind = command.split()[-1]
    usual = f"configs/go-{'zero-7x7' if kind == 'zero' else kind}.toml"
    text, raw = read_toml(path, example=example or usual)
    refuse_other_config(path, raw, model)
    assign(raw, assignments, model)
    config = fill(model, raw, source=str(path))
    settings = dumps(config.model_dump(mode="json"))
    folder = run_folder(path, out)
    _settle(folder, text, settings, model)
    given = "".join(f" --set {_PATH.sub('', a)}" for a in assignments)
    digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
    return TrainingPlan(config, folder, digest, f"miai go {command} {path.name}{given}")


def run_folder(config: Path, out: Path | None) -> Path:
    """Return the folder of a run: `out`, or ``runs/`` and the config's name."""
    return out or Path("runs") / config.stem


def _settle(folder: Path, text: str, settings: str, model: type[BaseModel]) -> None:
    """Make the folder, or see that it is of the same run; steps may have changed."""
    kept = folder / _SETTINGS
    with writing(folder, TrainingError):
        # A run that was refused at once has left nothing but its scaffolding.
        begun = kept.exists() and any(e.name not in SCAFFOLDING for e in folder.iterdir())
        if begun and _kept(kept, model) != _comparable(settings):
            raise ConfigError(
                f"{folder}: holds a run with other settings; give another folder with --out, "
                "or the config it was begun with (more steps or rounds are fine)"
            )
        if not begun:
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / CONFIG, text)
        write_text(kept, settings)


def _kept(path: Path, model: type[BaseModel]) -> Any:
    """Return the settings that a run was begun with; those that are newer have their defaults."""
    try:
        text = path.read_text("utf-8")
        with contextlib.suppress(ValidationError):
            text = dumps(model.model_validate_json(text).model_dump(mode="json"))
        return _comparable(text)
    except ValueError as error:
        raise TrainingError(
            f"{path}: is damaged: {error}; delete it if the run was begun with this config, else "
            "give another folder with --out"
        ) from error


def _comparable(settings: str) -> Any:
    """Return settings without what may change when a run goes on."""
    values = loads(settings)
    for section, free in _FREE.items():
        if isinstance(values, dict) and isinstance(values.get(section), dict):
            for name in free:
                values[section].pop(name, None)
    return values


_FREE: Final = {
    "run": ("steps", "minutes", "threads", "device", "log_every", "checkpoint_every"),
    "data": ("resident",),
    "game": ("rounds",),
    "selfplay": ("rounds",),
}
"""The settings that may change when a run goes on, by table."""


_FILE: Final = "log.csv"
_EVENTS: Final = "events"
_LOCK: Final = "lock"


class TrainingJournal(AbstractContextManager["TrainingJournal"]):
    """Writes figures by step; used in a ``with`` statement.

    ``log.csv`` has a row for every figure: step, name, value, seconds since 1970. A run that goes
    on from a checkpoint first drops the rows beyond it. TensorBoard's events are written where
    tensorboardX is installed. One process at a time has the journal of a folder.

    Args:
      folder: of the run.
      step: where the run begins or goes on.
      quiet: no lines on standard error.
    """

    def __init__(self, folder: Path, *, step: int = 0, quiet: bool = False) -> None:
        self._path = folder / _FILE
        self._out: TextIO | None = None if quiet else sys.stderr
        self._lock = ExitStack()
        busy = TrainingError(
            f"{folder}: another process is training there; wait for it, or use another --out"
        )
        with writing(folder, TrainingError):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(locked(folder / _LOCK, busy))
            if self._path.exists():  # the rows of later steps will be made again
                with self._path.open(newline="", encoding="utf-8") as file:
                    rows = list(csv.reader(file))
                text = io.StringIO()
                csv.writer(text).writerows(rows[:1])
                csv.writer(text).writerows(
                    row
                    for row in rows[1:]
                    if len(row) == len(rows[0]) and row[0].isdigit() and int(row[0]) <= step
                )
                write_text(self._path, text.getvalue())
            self._file = self._path.open("a", newline="", encoding="utf-8")
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            self._events = None
        else:
            self._events = SummaryWriter(str(folder / _EVENTS), purge_step=step or None)
        self._rows = csv.writer(self._file)
        if self._file.tell() == 0:
            self._rows.writerow(["step", "name", "value", "time"])

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the files."""
        self._file.close()
        self._lock.close()
        if self._events is not None:
            self._events.close()

    def note(self, step: int, figures: Mapping[str, float], *, line: str = "") -> None:
        """Write figures of a step, and a line on the terminal."""
        now = time.time()
        for name, value in figures.items():
            self._rows.writerow([step, name, f"{value:.6g}", f"{now:.1f}"])
            if self._events is not None:
                self._events.add_scalar(name, value, step)
        # Each step at once, so that a killed run has its log.
        self._file.flush()
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """Write a line on the terminal."""
        if self._out is not None:
            print(line, file=self._out, flush=True)
