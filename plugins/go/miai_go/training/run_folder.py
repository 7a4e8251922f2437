"""The folder of a training run: its config, checkpoints and journal."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from miai.config_files import assign, fill, read_toml
from miai.errors import ConfigError
from miai.plain import dumps
from miai_go.errors import TrainingError, WeightsError
from miai_go.networks.tensors import write_atomically

ModelT = TypeVar("ModelT", bound=BaseModel)

CONFIG: Final = "config.toml"
_SETTINGS: Final = "settings.json"
_FIRST: Final = frozenset((CONFIG, _SETTINGS))
"""What a run writes before it looks for games and weights."""
_PATH: Final = re.compile(r"[^\s\"',=\[\]]*/")
"""The folders of a path, which are nobody else's business."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[ModelT]):
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


def load_plan(
    path: Path,
    model: type[ModelT],
    *,
    kind: str,
    assignments: Iterable[str] = (),
    out: Path | None = None,
) -> Plan[ModelT]:
    """Read a training config and settle the run's folder.

    Args:
      kind: the training: sl, rl, value, zero.
      assignments: ``table.key=value`` texts that override the file.
      out: the folder; by default ``runs/`` and the config's name.

    Raises:
      ConfigError: the config is wrong, or the folder holds a run of another config.
    """
    assignments = list(assignments)
    text, raw = read_toml(path, example=f"configs/go-{kind}.toml")
    assign(raw, assignments, model)
    config = fill(model, raw, source=str(path))
    settings = dumps(config.model_dump(mode="json"))
    folder = out or Path("runs") / path.stem
    _settle(folder, text, settings, model)
    given = "".join(f" --set {_PATH.sub('', a)}" for a in assignments)
    digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
    return Plan(config, folder, digest, f"miai go train {kind} {path.name}{given}")


def _settle(folder: Path, text: str, settings: str, model: type[BaseModel]) -> None:
    """Make the folder, or see that it is of the same run; steps may have changed."""
    kept = folder / _SETTINGS
    try:
        begun = kept.exists() and _begun(folder)
        if begun and _kept(kept, model) != _comparable(settings):
            raise ConfigError(
                f"{folder}: holds a run with other settings; give another folder with --out, "
                "or the config it was begun with (more steps or rounds are fine)"
            )
        if not begun:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / CONFIG).write_text(text, encoding="utf-8")
        write_atomically(kept, [settings.encode("utf-8")])
    except OSError as error:
        raise TrainingError(f"{folder}: cannot be written: {error.strerror}") from error
    except WeightsError as error:
        raise TrainingError(str(error)) from error


def _begun(folder: Path) -> bool:
    """Return whether a run has made anything; one that was refused at once has not."""
    return any(entry.name not in _FIRST for entry in folder.iterdir())


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
    from miai.plain import loads

    values = loads(settings)
    if isinstance(values, dict) and isinstance(values.get("run"), dict):
        for free in ("steps", "threads", "device", "log_every", "checkpoint_every"):
            values["run"].pop(free, None)
    for section in ("game", "selfplay"):  # more rounds of the same, too
        if isinstance(values, dict) and isinstance(values.get(section), dict):
            values[section].pop("rounds", None)
    return values
