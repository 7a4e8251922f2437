"""Reading config files: TOML from disk, and values checked against a model."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from miai.cli.values import parse_assignment
from miai.errors import ConfigError, near_matches
from miai.paths import absence
from miai.plugins.parameters import explain

MAX_FILE_BYTES: Final = 1 << 20

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_toml(
    path: Path, *, example: str, about: Callable[[Path], str] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return a config file's text and what it parses to.

    Args:
      example: a config file that is there, for messages.
      about: what to say of a path that is a folder of a certain kind; empty for nothing special.

    Raises:
      ConfigError: there is no such file, it is too large, or it is not TOML.
    """
    text = _read(path, example, about)
    try:
        return text, tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is not TOML that anybody wrote: nested too deep") from None


def fill(model: type[ModelT], raw: Mapping[str, Any], *, source: str) -> ModelT:
    """Return the model filled with a config's values.

    Args:
      source: the file, for messages.

    Raises:
      ConfigError: something is wrong; every mistake is told, a line each.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        lines = [explain(detail, model, "") for detail in error.errors()]
        told = [line.replace("unknown parameter", "unknown key") for line in lines]
        raise ConfigError("\n".join(f"{source}: {line}" for line in told)) from None


def assign(raw: dict[str, Any], assignments: Iterable[str], model: type[BaseModel]) -> None:
    """Set what ``table.key=value`` says in a parsed config whose tables are fields of a model.

    Raises:
      ConfigError: one is no assignment, or its path leads nowhere.
    """
    for assignment in assignments:
        path, value = parse_assignment(assignment)
        table, *keys = path.split(".")
        if table not in model.model_fields:
            known = near_matches(table, model.model_fields)
            raise ConfigError(f"--set {path}: there is no table '{table}'. {known}")
        if not keys:
            raise ConfigError(f"--set {path}: is a table; name one of its keys: {table}.key=value")
        target: Any = raw
        for step in (table, *keys[:-1]):
            target = target.setdefault(step, {}) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            raise ConfigError(f"--set {path}: '{keys[-1]}' is below a value, which has no keys")
        target[keys[-1]] = value


def _read(path: Path, example: str, about: Callable[[Path], str] | None) -> str:
    try:
        if not path.is_file():
            raise ConfigError(f"{path}: {_why_unread(path, example, about)}")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_FILE_BYTES} bytes: no config file")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text, as TOML is: {error}") from None


def _why_unread(path: Path, example: str, about: Callable[[Path], str] | None) -> str:
    """Return why a path is no config file, and what to name instead."""
    special = about(path) if about is not None and path.is_dir() else ""
    if special:
        return special
    if path.exists():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        return f"is {what}; name a config file, {example} say"
    folder = path.parent
    told = absence(path, [p.name for p in folder.glob("*.toml")] if folder.is_dir() else [])
    return told if "toml" in told else f"{told} Name a config file, {example} say."
