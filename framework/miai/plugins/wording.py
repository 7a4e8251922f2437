"""What is wrong with a value, in words for its author: pydantic's findings, translated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

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
    "list_type": "a list, [1, 2]",
    "tuple_type": "a list, [1, 2]",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least {}"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"),
    "less_than": ("lt", "less than {}"),
}
NAME_PATTERN = r"^[\w.+-]+$"
"""The pattern of names that become parts of file names."""


def wording(detail: Detail) -> str:
    """Return what is wrong with a value and what it could be."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in _KINDS:
        return f"is {_KINDS[kind]}, got {_shown(value)}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"is {words.format(context[key])}, got {_shown(value)}"
    translate = _OTHERS.get(kind)
    if translate is not None:
        return translate(value, context)
    message = detail["msg"].removeprefix("Value error, ")
    return f"{message}, got {_shown(value)}"


def _literal(value: Any, context: Mapping[str, Any]) -> str:
    known = re.findall(r"'([^']*)'", context["expected"])
    if not isinstance(value, str) or not known:
        return f"is one of {context['expected']}, got {_shown(value)}"
    near = near_matches(value, known)
    guess = "" if near.startswith("Known") else f"{near} "
    return f"{_shown(value)} is unknown. {guess}Known: {', '.join(known)}."


def _pattern(value: Any, context: Mapping[str, Any]) -> str:
    if context["pattern"] == NAME_PATTERN:
        return f"{_shown(value)} is no name: letters, digits and _ . + - are, as in 'mcts-100'"
    return f"{_shown(value)} does not match {context['pattern']}"


def _too_short(value: Any, context: Mapping[str, Any]) -> str:
    return f"has {context['actual_length']} of the at least {context['min_length']} that it needs"


def _too_long(value: Any, context: Mapping[str, Any]) -> str:
    return f"has more than the {context['max_length']} that it may have"


_OTHERS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "literal_error": _literal,
    "enum": _literal,
    "string_pattern_mismatch": _pattern,
    "too_short": _too_short,
    "too_long": _too_long,
    "string_too_long": lambda value, context: (
        f"is a text of at most {context['max_length']} characters, got {len(value)}"
    ),
    "string_too_short": lambda value, context: (
        f"is a text of at least {context['min_length']} characters, got {_shown(value)}"
    ),
}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
