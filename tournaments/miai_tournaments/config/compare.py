"""May a config continue a run that was begun with another? Only with more players or rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from miai.errors import ConfigError
from miai.plugins.loader import registry
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.problems import place_of
from miai_tournaments.store.database import damaged
from miai_tournaments.store.store import Store

_ABSENT = "(absent)"


def resolve(tournament: Tournament) -> dict[str, Any]:
    """Return all of a config that its results depend on, as plain data; defaults filled in."""
    config = tournament.config
    return {
        "tournament": config.tournament.model_dump(mode="json"),
        "game": {"name": config.game.name, **tournament.game_parameters()},
        "time": config.time.model_dump(mode="json"),
        "openings": {
            "random_plies": tournament.openings.random_plies,
            "lines": [list(line) for line in tournament.openings.lines],
        },
        "limits": config.limits.model_dump(mode="json"),
        "players": {p.name: {"agent": p.agent, **p.parameters} for p in tournament.players},
    }


def refuse_other_config(store: Store, tournament: Tournament) -> None:
    """Check that the config continues the run in the store.

    Raises:
      ConfigError: it does more than add players or rounds; the differences are told by path.
      StoreError: the store does not tell what the run was begun with.
    """
    old, new = store.info().resolved.get("results"), resolve(tournament)
    if old is None:
        raise damaged(store.path, "table run, row 'resolved': value has no key 'results'")
    names = [player.name for player in tournament.players]
    lines = [
        f"  {_told(path, names)}: {_change(before, after)}"
        for path, before, after in differences(old, new)
        if not _allowed(path, before, after) and not _is_new_default(path, before, after, new)
    ]
    if lines:
        raise ConfigError(
            f"{tournament.source}: differs from the config that {store.folder} was begun with; a "
            "run can gain players and rounds, nothing else may change:\n"
            + "\n".join(lines)
            + "\nRestore the config, or begin a new run with --out."
        )


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, old value, new value) of everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}[{key}]" if path == "players" else f"{path}.{key}" if path else key
            yield from differences(old.get(key, _ABSENT), new.get(key, _ABSENT), below)
    elif old != new:
        yield path, old, new


def _allowed(path: str, before: Any, after: Any) -> bool:
    if path == "tournament.rounds":
        return isinstance(before, int) and isinstance(after, int) and after > before
    return before == _ABSENT and path.startswith("players[") and path.endswith("]")


def _is_new_default(path: str, before: Any, after: Any, new: Mapping[str, Any]) -> bool:
    """Return whether a parameter is one that a newer plugin has added, at its default."""
    place, _, name = path.rpartition(".")
    if before != _ABSENT or not (place == "game" or place.startswith("players[")):
        return False
    kind, component = "game", new["game"]["name"]
    if place != "game":
        kind, component = "agent", new["players"][place[len("players[") : -1]]["agent"]
    fields = registry().get(kind, component, game=new["game"]["name"]).load_parameters()
    default = fields.model_fields[name].get_default() if name in fields.model_fields else _ABSENT
    return bool(default == after)


def _told(path: str, names: Sequence[str]) -> str:
    """Return a path with the number that a player has in the config; a removed one has none."""
    name, bracket, key = path.removeprefix("players[").partition("]")
    if not path.startswith("players[") or not bracket:
        return path
    if name not in names:
        return f"players ({name})"
    return place_of(f"players[{names.index(name)}]{key}", names)


def _change(before: Any, after: Any) -> str:
    """Return what became of a value."""
    if after == _ABSENT:
        return "was removed"
    if before == _ABSENT:
        return f"was added: {_show(after)}"
    return f"{_show(before)} -> {_show(after)}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
