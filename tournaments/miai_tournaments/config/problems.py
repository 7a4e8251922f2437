"""What is wrong with a config: gathered, and told all at once, a line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from miai.errors import ConfigError, MiaiError, ParameterError
from miai_tournaments.config.schema import NAME, TournamentConfig

_PLAYER = re.compile(r"players\[(\d+)\](?:\.(.+))?")
_ORDER = {name: place for place, name in enumerate(TournamentConfig.model_fields)}


class Problems:
    """Collects what is wrong and where.

    Args:
      raw: the values of the config, for the names of its players.
      source: the file, for messages.
      settings: the paths that ``--set`` has changed; what is wrong there is blamed on the option.
    """

    def __init__(
        self, raw: Mapping[str, Any], *, source: str, settings: Collection[str] = ()
    ) -> None:
        self._names = player_names(raw)
        self._source = source
        self._settings = [path.replace(".parameters.", ".") for path in settings]
        self._found: dict[tuple[str, str], None] = {}
        self._cause: BaseException | None = None

    def add(self, path: str, message: str) -> None:
        """Note what is wrong at a path."""
        for line in message.splitlines() or [""]:
            self._found[path, line] = None

    def add_line(self, line: str) -> None:
        """Note a line that begins with its path, as `ParameterError` has them."""
        path, _, message = line.partition(": ")
        self.add(path, message)

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Note what the block raises and go on after it."""
        try:
            yield
        except ParameterError as error:
            for line in str(error).splitlines():
                self.add_line(line)
            self._cause = self._cause or error
        except MiaiError as error:
            self.add(path, str(error))
            self._cause = self._cause or error
        except Exception as error:  # a plugin's own code: broken, and told like any other mistake
            self.add(path, f"is broken: {type(error).__name__}: {error}")
            self._cause = self._cause or error

    def raise_if_any(self) -> None:
        """Raise `ConfigError` with all that was found, in the order of the file's tables."""
        if self._found:
            lines = [self._told(*found) for found in sorted(self._found, key=_place)]
            raise ConfigError("\n".join(lines)) from self._cause

    def _told(self, path: str, message: str) -> str:
        """Return the line about one mistake."""
        told = f"{self._source}: {place_of(path, self._names)}: {message}"
        for setting in self._settings:
            if _is_at_or_below(path, setting):
                return f"--set {path}: {message}"
            if _is_at_or_below(setting, path):
                told += f" (with --set {setting})"
        return told


def player_names(raw: Mapping[str, Any]) -> list[str]:
    """Return the names of a config's players; an empty text for one whose name is none."""
    tables = raw.get("players")
    if not isinstance(tables, (list, tuple)):
        return []
    names = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
    return [n if isinstance(n, str) and re.match(NAME, n) and len(n) <= 40 else "" for n in names]


def place_of(path: str, names: Sequence[str]) -> str:
    """Return a path as it is told: ``players[1] (mcts-25): simulations`` for a player's key."""
    found = _PLAYER.fullmatch(path)
    if found is None:
        return path
    number, key = int(found[1]), found[2]
    name = names[number] if number < len(names) else ""
    return f"players[{number}]" + (f" ({name})" if name else "") + (f": {key}" if key else "")


def _place(found: tuple[str, str]) -> tuple[int, int]:
    """Return where a mistake's table and player stand in the file."""
    player = _PLAYER.match(found[0])
    table = re.split(r"[.\[]", found[0])[0]
    return _ORDER.get(table, len(_ORDER)), int(player[1]) if player else -1


def _is_at_or_below(path: str, above: str) -> bool:
    return path == above or path.startswith((f"{above}.", f"{above}["))
