"""Sizes of boards: one or several, in settings, in headers of files and in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, WithJsonSchema

from miai.errors import ConfigError
from miai_go.rules.coordinates import MAX_SIZE


def sizes_of(value: int | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes that a setting names, ascending, each once."""
    return (value,) if isinstance(value, int) else tuple(sorted(set(value)))


def plain_sizes(value: int | Iterable[int]) -> int | tuple[int, ...]:
    """Return sizes as files and settings state them: a single one as a number, or several."""
    sizes = sizes_of(value)
    return sizes if len(sizes) > 1 else sizes[0]


def board_names(sizes: int | Iterable[int]) -> str:
    """Return sizes as text: ``9x9``, ``7x7 to 13x13`` or ``7x7, 9x9 and 13x13``."""
    ordered = sizes_of(sizes)
    names = [f"{size}x{size}" for size in ordered]
    if len(names) > 2 and ordered[-1] - ordered[0] == len(names) - 1:
        return f"{names[0]} to {names[-1]}"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes of a command line: ``9``, ``7-13`` or ``9,13,19``. Raises `ConfigError`."""
    sizes: list[int] = []
    for word in text.split(","):
        low, dash, high = word.strip().partition("-")
        ends = (low, high if dash else low)
        numbers = [int(end) for end in ends if re.fullmatch("[0-9]{1,2}", end)]
        if len(numbers) < len(ends) or not 1 <= numbers[0] <= numbers[1] <= MAX_SIZE:
            raise ConfigError(
                f"sizes {text[:40]!r}: write 9, 7-13 or 9,13,19, each from 1 to {MAX_SIZE}"
            )
        sizes += range(numbers[0], numbers[1] + 1)
    return sizes_of(sizes)


def only_size(sizes: Sequence[int], *, what: str) -> int:
    """Return the only size of several that might be. Raises `ConfigError`, which begins `what`."""
    if len(sizes) != 1:
        raise ConfigError(f"{what} takes one size of board, not {board_names(sizes)}")
    return sizes[0]


def _checked(value: Any) -> int | tuple[int, ...]:
    sizes = list(value) if isinstance(value, list | tuple) else [value]
    if not sizes or not all(type(size) is int and 1 <= size <= MAX_SIZE for size in sizes):
        raise ValueError(f"a size from 1 to {MAX_SIZE}, or a list of such sizes, is required")
    return plain_sizes(sizes)


_Size: TypeAlias = Annotated[int, Field(ge=1, le=MAX_SIZE)]
BoardSizes: TypeAlias = Annotated[
    int | tuple[int, ...],
    PlainValidator(_checked),
    WithJsonSchema(TypeAdapter(_Size | tuple[_Size, ...]).json_schema()),
    PlainSerializer(plain_sizes, return_type=int | tuple[int, ...]),
]
"""A field of one size, or of several, ascending; see `plain_sizes`."""
