"""Plain data: what may cross between processes and into a record.

Writing is forgiving, since an agent is free to put a numpy number into its statistics; reading is
strict, since what is read was written elsewhere.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from miai.errors import ConfigError

MAX_DEPTH = 32
"""Maximum nesting depth of containers."""


def to_plain(value: object, *, what: str) -> Json:
    """Return `value` as a copy made of None, bool, int, float, str, lists and dicts only.

    Tuples become lists, arrays and numbers of numpy what they hold, keys texts, and numbers that
    are not finite the texts ``inf``, ``-inf`` and ``nan``, for which JSON has no number.

    Args:
      what: the name of the value for the message.

    Raises:
      TypeError: something in it is not plain, or it is nested deeper than `MAX_DEPTH`.
    """
    return _copy(value, what, MAX_DEPTH)


def _copy(value: Any, what: str, depth: int) -> Json:
    kind = type(value)
    if value is None or kind is int or kind is str or kind is bool:
        plain: Json = value
        return plain
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if depth == 0:
        raise TypeError(f"{what} is nested deeper than {MAX_DEPTH} containers")
    if isinstance(value, Mapping):
        return {str(k): _copy(v, f"{what}[{k!r}]", depth - 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(item, what, depth - 1) for item in value]
    if isinstance(value, (bool, int, float, str)):  # enumerations and other subclasses
        return _copy(_base(value), what, depth - 1)
    if hasattr(value, "tolist"):  # numpy, without importing it
        return _copy(value.tolist(), what, depth - 1)
    raise TypeError(f"{what} is of type {kind.__name__}, which is not plain data")


def _base(value: bool | int | float | str) -> bool | int | float | str:
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise AssertionError(value)


def loads(text: str | bytes) -> Any:
    """Return the JSON value that a text of foreign origin holds.

    Raises:
      ValueError: malformed, not UTF-8, a number that is not finite, a key twice in one object, or
        nested deeper than `MAX_DEPTH`.
    """
    try:
        value = _DECODER.decode(text.decode("utf-8") if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    _check_depth(value, MAX_DEPTH)
    return value


def dumps(value: object) -> str:
    """Return plain data as compact JSON on one line. Raises `ValueError` on NaN and infinity."""
    return _ENCODER.encode(value)


def one_line(text: str, *, limit: int = 1000) -> str:
    """Return text of foreign origin as one line that is safe to print, lines joined by slashes."""
    shown = "\n".join(text[: 2 * limit].splitlines())
    safe = "".join(c if c.isprintable() or c == "\n" else " " for c in shown)
    line = " / ".join(part.strip() for part in safe.split("\n") if part.strip())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _check_depth(value: object, depth: int) -> None:
    if isinstance(value, dict):
        items = list(value.values())
    elif isinstance(value, list):
        items = value
    else:
        return
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH} containers")
    for item in items:
        if type(item) is dict or type(item) is list:
            _check_depth(item, depth - 1)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not finite")
    return number


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("an object names one key twice")
    return mapping


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique
)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Plain data: what may cross from one process to another, and what a record holds."""


def parse_value(text: str) -> Any:
    """Return a value written as in TOML; a text that is not a TOML value is returned unchanged.

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
