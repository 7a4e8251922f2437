"""Tells which command takes a config file that was given to another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from miai.errors import ConfigError
from miai.parameters import ConfigFile
from miai.plugins.kinds import CONFIG_FILE
from miai.plugins.loader import registry

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
