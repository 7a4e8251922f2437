"""``name=value`` on the command line."""

from __future__ import annotations

import tomllib
from typing import Any

from miai.errors import ConfigError


def parse_value(text: str) -> Any:
    """Return a value written as in TOML; anything that is no TOML value is the text itself.

    ``1000``, ``7.5``, ``true``, ``"quoted"`` and ``["a", "b"]`` are what they look like;
    ``gnugo --mode gtp`` is a text.
    """
    if "\n" in text or "\r" in text:
        return text
    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # a number of 5,000 digits is the former
        return text
    return values["value"] if values.keys() == {"value"} else text


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return the name and value of ``name=value``. Raises `ConfigError` without an ``=``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"'{text}' is no setting; write name=value")
    return name.strip(), parse_value(value.strip())
