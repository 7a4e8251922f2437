"""Kinds of config file: which command takes a file, for those who give it to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from miai.errors import ConfigError
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
      required, optional: names of its tables.
      load: returns the model of the whole file; may import heavy libraries.
    """

    noun: str
    command: str
    required: frozenset[str]
    optional: frozenset[str]
    load: Callable[[], type[BaseModel]]

    @classmethod
    def of(cls, model: type[BaseModel], *, noun: str = "", command: str = "") -> Self:
        """Return the kind of a model that is imported already."""
        required = {name for name, field in model.model_fields.items() if field.is_required()}
        optional = frozenset(model.model_fields) - required
        return cls(noun, command, frozenset(required), optional, lambda: model)

    def has_tables(self, raw: Mapping[str, Any]) -> bool:
        """Return whether all tables of a file are known, and all required ones are there."""
        return self.required <= set(raw) <= self.required | self.optional

    def same_tables(self, other: ConfigFile) -> bool:
        """Return whether two kinds have the same tables."""
        return (self.required, self.optional) == (other.required, other.optional)

    def accepts(self, raw: Mapping[str, Any]) -> bool:
        """Return whether a file has no mistake, or cannot be checked without a missing library."""
        from pydantic import ValidationError

        try:
            self.load().model_validate(raw)
        except ValidationError:
            return False
        except ImportError:
            return True
        return True


_TELLING = 3
"""Fewer tables than this fit several kinds by chance."""


def refuse_other_config(path: Path, raw: Mapping[str, Any], model: type[BaseModel]) -> None:
    """Raise `ConfigError` if a file is not of a model but of another kind of config.

    Args:
      path: the file, for the message.
      raw: its tables.
      model: what the command takes.
    """
    own = ConfigFile.of(model)
    if own.has_tables(raw):
        return
    kinds = [component.build(values={}) for component in registry().components(CONFIG_FILE)]
    others = [kind for kind in kinds if not kind.same_tables(own) and kind.has_tables(raw)]
    others = [kind for kind in others if kind.accepts(raw)] if len(others) > 1 else others
    if not others or (len(others) > 1 and len(raw) < _TELLING):
        return
    nouns = " or ".join(kind.noun for kind in others)
    commands = " or ".join(f"`{kind.command} {path}`" for kind in others)
    raise ConfigError(f"{path}: is the config of {nouns}; use {commands}")
