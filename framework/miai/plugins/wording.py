"""What is wrong with a value, in words for its author: pydantic's findings, translated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from miai.errors import near_matches

Detail = Mapping[str, Any]
"""One entry of ``pydantic.ValidationError.errors()``."""

_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": 'a text in quotes, "like this"',
    "list_type": "a list in brackets",
    "tuple_type": "a list in brackets",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is too small; at least {}"),
    "greater_than": ("gt", "is too small; more than {}"),
    "less_than_equal": ("le", "is too large; at most {}"),
    "less_than": ("lt", "is too large; less than {}"),
}
NAME_PATTERN = r"^[\w+-][\w.+-]*$"
"""The pattern of names that become parts of file names; ``..`` would lead out of the folder."""


def wording(detail: Detail) -> str:
    """Return what is wrong with a value and what it could be."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in _KINDS:
        return f"expected {_KINDS[kind]}, got {_shown(value, exact=True)}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{_shown(value)} {words.format(_shown(context[key]))}"
    translate = _OTHERS.get(kind)
    if translate is not None:
        return translate(value, context)
    message = str(detail["msg"]).removeprefix("Value error, ")
    whole_table = isinstance(value, (Mapping, BaseModel))
    return message if whole_table else f"{message}, got {_shown(value)}"


def _literal(value: Any, context: Mapping[str, Any]) -> str:
    known = re.findall(r"'([^']*)'", context["expected"])
    if not known:
        return f"expected {context['expected']}, got {_shown(value)}"
    near = near_matches(value, known) if isinstance(value, str) else ""
    guess = f"; d{near[1:]}" if near.startswith("Did") else ""
    return f"{_shown(value)} is not one of {', '.join(known)}{guess}"


def _pattern(value: Any, context: Mapping[str, Any]) -> str:
    if context["pattern"] == NAME_PATTERN:
        return f"{_shown(value)} is no name: letters, digits and _ . + - are, no dot first"
    return f"{_shown(value)} does not match {context['pattern']}"


def _multiple(value: Any, context: Mapping[str, Any]) -> str:
    step = context["multiple_of"]
    below = math.floor(value / step) * step
    near = f"{_shown(below)} or {_shown(below + step)}"
    return f"{_shown(value)} is no multiple of {_shown(step)}; {near} is"


def _too_short(value: Any, context: Mapping[str, Any]) -> str:
    return f"has too few entries: {context['actual_length']}; at least {context['min_length']}"


def _too_long(value: Any, context: Mapping[str, Any]) -> str:
    return f"has too many entries; at most {context['max_length']}"


_OTHERS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "literal_error": _literal,
    "enum": _literal,
    "string_pattern_mismatch": _pattern,
    "multiple_of": _multiple,
    "too_short": _too_short,
    "too_long": _too_long,
    "string_too_long": lambda value, context: (
        f"a text of {len(value)} characters is too long; at most {context['max_length']}"
    ),
    "string_too_short": lambda value, context: (
        f"a text of {len(value)} characters is too short; at least {context['min_length']}"
    ),
}


def _shown(value: Any, *, exact: bool = False) -> str:
    """Return a value as a config or a command line would have it, cut where it is long.

    Args:
      exact: whether 3.0 is told from 3.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not exact and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
