"""Kinds of config file: which command takes a file, for those who give it to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import ConfigError, PluginError
from miai.plugins.kinds import CONFIG_FILE
from miai.plugins.loader import registry

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A kind of config file.

    Attributes:
      noun: what it is called, with its article: ``a tournament``.
      command: the command that takes it, without the file.
      model: the whole file.
    """

    noun: str
    command: str
    model: type[BaseModel]

    def has_tables(self, raw: Mapping[str, Any]) -> bool:
        """Return whether all tables of a file are known, and all required ones are there."""
        fields = self.model.model_fields
        required = {name for name, field in fields.items() if field.is_required()}
        return required <= set(raw) <= set(fields)

    def accepts(self, raw: Mapping[str, Any]) -> bool:
        """Return whether a file has no mistake."""
        from pydantic import ValidationError

        try:
            self.model.model_validate(raw)
        except ValidationError:
            return False
        return True


def refuse_other_config(path: Path, raw: Mapping[str, Any], model: type[BaseModel]) -> None:
    """Raise `ConfigError` if a file is not of a model but of another kind of config.

    Args:
      path: the file, for the message.
      raw: its tables.
      model: what the command takes.
    """
    if ConfigFile("", "", model).has_tables(raw):
        return
    others = [kind for kind in _kinds() if kind.model is not model and kind.has_tables(raw)]
    others = [kind for kind in others if kind.accepts(raw)] or others
    if len(others) == 1:
        (kind,) = others
        raise ConfigError(f"{path}: is the config of {kind.noun}; use `{kind.command} {path}`")


def _kinds() -> Iterator[ConfigFile]:
    for component in registry().components(CONFIG_FILE):
        try:
            yield component.build(values={})
        except PluginError:  # such as one that needs torch where that is not installed
            continue
