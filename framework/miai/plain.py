"""Plain data, which may cross between processes and go into a record.

Writing is lenient, since an agent may put a numpy number into its statistics; reading is strict,
since its input is of foreign origin.
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
    """Return a copy of `value` that consists of None, bool, int, float, str, lists and dicts.

    Tuples become lists, numpy's arrays and numbers Python's, and keys texts. Numbers that are not
    finite become the texts ``inf``, ``-inf`` and ``nan``, as JSON cannot express them. `what` names
    the value in messages.

    Raises `TypeError` if a part is not plain, or nested deeper than `MAX_DEPTH`.
    """
    return _copy(value, what, MAX_DEPTH)


def _copy(value: Any, what: str, depth: int) -> Json:
    # The frequent types first and by identity: this is run for every observation.
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
    for base in (int, float, str):
        if isinstance(value, base):  # enumerations and other subclasses
            return _copy(base(value), what, depth - 1)
    if hasattr(value, "tolist"):  # numpy, without importing it
        return _copy(value.tolist(), what, depth - 1)
    raise TypeError(f"{what} is of type {kind.__name__}, which is not plain data")


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text of foreign origin.

    Raises `ValueError` if it is malformed, not UTF-8, has a number that is not finite or a key
    twice in one object, or is nested deeper than `MAX_DEPTH`.
    """
    try:
        value = _DECODER.decode(text.decode("utf-8") if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    _check_depth(value, MAX_DEPTH)
    return value


def dumps(value: object) -> str:
    """Return plain data as compact JSON on one line. Raises `ValueError` for NaN and infinity."""
    return _ENCODER.encode(value)


def one_line(text: str, *, limit: int = 1000) -> str:
    """Return a text of foreign origin as one line that is safe to print; slashes join its lines."""
    parts = text[: 2 * limit].splitlines()
    safe = ("".join(c if c.isprintable() else " " for c in part).strip() for part in parts)
    line = " / ".join(filter(None, safe))
    return line if len(line) <= limit else line[: limit - 3] + "..."


def listed(words: Sequence[str], *, limit: int = 8) -> str:
    """Return words as an enumeration: ``a``, ``a and b``, ``a, b and c``; empty without any.

    Of more than `limit` words only the first are named: ``a, b and 97 more``.
    """
    if len(words) > limit:
        words = [*words[:limit], f"{len(words) - limit} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


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
    raise ValueError(f"{text} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("an object has a key twice")
    return mapping


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique
)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Plain data."""


def parse_value(text: str) -> Any:
    """Return the TOML value of a text (``7.5``, ``true``, ``["a"]``), or else the text itself."""
    if "\n" in text or "\r" in text:
        return text
    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # a number of 5,000 digits raises the former
        return text
    return values["value"] if values.keys() == {"value"} else text


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return the name and value of ``name=value``. Raises `ConfigError` without an ``=``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"'{text}' is not a setting; write name=value")
    return name.strip(), parse_value(value.strip())
