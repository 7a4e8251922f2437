"""What is wrong with a comparison's config: gathered, and told all at once, a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from miai.errors import ConfigError, MiaiError, ParameterError, near_matches
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import NAME
from miai_tournaments.live.progress import one_line

_ENTRY = re.compile(r"(arms|cells)\[(\d+)\](?:\.(.+))?", re.DOTALL)


class Mistakes(Problems):
    """As `Problems`, arms and cells being told by number and name: ``arms[2] (cores): k``."""

    def __init__(self, raw: Mapping[str, Any], *, source: str) -> None:
        super().__init__({}, source=source)
        self._raw = raw

    def add(self, path: str, message: str) -> None:
        """Note what is wrong at a path."""
        super().add(self._named(path), message)

    def refuse_unknown(self, path: str, name: str, known: Sequence[str], noun: str) -> None:
        """Note that a name is none of those that are known."""
        if name not in known:
            self.add(path, f"no {noun} is called '{name}'. {near_matches(name, known)}")

    @contextmanager
    def built_at(self, path: str) -> Iterator[None]:
        """As `at`, for a factory: what it says of its parameters is a mistake in the config."""
        with self.at(path):
            try:
                yield
            except MiaiError as error:
                if not isinstance(error, ParameterError):
                    raise
                raise ConfigError(one_line(str(error))) from error  # it does not know where it is
            except ValueError as error:
                raise ConfigError(one_line(str(error))) from error

    def _named(self, path: str) -> str:
        found = _ENTRY.fullmatch(path)
        if found is None:
            return path
        table, number, key = found[1], int(found[2]), found[3]
        entries = self._raw.get(table)
        entry = entries[number] if isinstance(entries, list) and number < len(entries) else None
        name = entry.get("name") if isinstance(entry, dict) else None
        told = f"{table}[{number}]"
        if isinstance(name, str) and re.match(NAME, name) and len(name) <= 60:
            told += f" ({name})"
        return f"{told}: {key}" if key else told
