"""Collects the mistakes in a config and reports them together, one line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from miai.errors import ConfigError, MiaiError, ParameterError, near_matches
from miai_tournaments.config.schema import NAME, TournamentConfig

_ENTRY = re.compile(r"(players|arms|cells)\[(\d+)\](?:\.(.+))?", re.DOTALL)
_MOST_ALIKE = 3
"""Places of one message that are listed one by one."""
_MAX_NAME = {"players": 40, "arms": 60, "cells": 60}
_ORDER = {name: place for place, name in enumerate(TournamentConfig.model_fields)}


class Mistakes:
    """Collects mistakes and their places.

    Args:
      raw: the parsed config, for the names of its players, arms and cells.
      source: path of the file, for messages.
      settings: paths that ``--set`` changed; messages about them name the option.
    """

    def __init__(
        self, raw: Mapping[str, Any], *, source: str, settings: Collection[str] = ()
    ) -> None:
        self._raw = raw
        self._source = source
        self._settings = [path.replace(".parameters.", ".") for path in settings]
        self._mistakes: dict[tuple[str, str], None] = {}
        self._cause: BaseException | None = None

    def add(self, path: str, message: str) -> None:
        """Add a mistake at a path."""
        for line in message.splitlines() or [""]:
            self._mistakes[path, line] = None

    def add_line(self, line: str) -> None:
        """Add a line that begins with its path, like those of `ParameterError`."""
        path, _, message = line.partition(": ")
        self.add(path, message)

    def refuse_unknown(self, path: str, name: str, names: Sequence[str], noun: str) -> None:
        """Add a mistake if a name is not among those of the config."""
        if name not in names:
            self.add(path, f"no {noun} is called '{name}'. {near_matches(name, names)}")

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Add an exception of the block as a mistake, and continue after the block."""
        try:
            yield
        except ParameterError as error:
            for line in str(error).splitlines():
                self.add_line(line)
            self._cause = self._cause or error
        except MiaiError as error:
            self.add(path, str(error))
            self._cause = self._cause or error
        except Exception as error:  # a plugin's own code
            self.add(path, f"failed: {type(error).__name__}: {error}")
            self._cause = self._cause or error

    def raise_if_any(self) -> None:
        """Raise `ConfigError` with all mistakes, in the order of the file's tables."""
        if self._mistakes:
            # A mistake in a component shows in every player that uses it; one line with a count
            # says more than forty.
            counts = Counter(message for _, message in self._mistakes)
            lines: dict[str, None] = {}
            listed: set[str] = set()
            for path, message in sorted(self._mistakes, key=_position):
                if counts[message] <= _MOST_ALIKE:
                    lines[self._line(path, message)] = None
                elif message not in listed:  # the first stands for all
                    listed.add(message)
                    more = f" (and at {counts[message] - 1} other places)"
                    lines[self._line(path, message + more)] = None
            raise ConfigError("\n".join(lines)) from self._cause

    def _line(self, path: str, message: str) -> str:
        line = f"{self._source}: {self._place(path)}: {message}"
        for setting in self._settings:
            if _is_at_or_below(path, setting):
                return f"--set {path}: {message}"
            if _is_at_or_below(setting, path):
                line += f" (with --set {setting})"
        return line

    def _place(self, path: str) -> str:
        """Return a path with the name of its entry: ``players[1] (mcts-25): simulations``."""
        match = _ENTRY.fullmatch(path)
        if match is None:
            return path
        table, number, key = match[1], int(match[2]), match[3]
        entries = self._raw.get(table)
        entries = entries if isinstance(entries, (list, tuple)) else ()
        entry = entries[number] if number < len(entries) else None
        name = entry.get("name") if isinstance(entry, Mapping) else None
        place = f"{table}[{number}]"
        if isinstance(name, str) and re.match(NAME, name) and len(name) <= _MAX_NAME[table]:
            place += f" ({name})"
        return f"{place}: {key}" if key else place


def _position(mistake: tuple[str, str]) -> tuple[int, int]:
    """Return the order of a mistake: that of its table and player in the file."""
    player = re.match(r"players\[(\d+)\]", mistake[0])
    table = re.split(r"[.\[]", mistake[0])[0]
    return _ORDER.get(table, len(_ORDER)), int(player[1]) if player else -1


def _is_at_or_below(path: str, above: str) -> bool:
    return path == above or path.startswith((f"{above}.", f"{above}["))
