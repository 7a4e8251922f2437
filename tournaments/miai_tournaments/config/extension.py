"""Checks whether a config may extend a run that was begun with another one.

Most formats allow more rounds or pairs, some also more players.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from miai.errors import ConfigError
from miai_tournaments.config.entrants import format_component
from miai_tournaments.config.load import Tournament, resolved_rules
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.format import Format
from miai_tournaments.store.database import damaged
from miai_tournaments.store.store import Store

KeyPath = tuple[str, ...]

ABSENT = "(absent)"
"""Stands for a value that one of two configs lacks."""


def resolve(tournament: Tournament) -> dict[str, Any]:
    """Return the parts of a config that its results depend on, as plain data with defaults."""
    config = tournament.config
    return {
        "tournament": config.tournament.model_dump(mode="json"),
        "format": resolved_format(config),
        "game": {"name": config.game.name, **tournament.game_parameters()},
        "time": config.time.model_dump(mode="json"),
        "openings": tournament.openings.to_plain(),
        "adjudication": resolved_rules(config),
        "limits": config.limits.model_dump(
            mode="json", exclude_none=True, exclude={"private", "isolation", "environment"}
        ),
        "players": {p.name: {"agent": p.agent, **p.parameters} for p in tournament.players},
        "teams": {p.name: p.team for p in tournament.players if p.team},
    }


def resolved_format(config: TournamentConfig) -> dict[str, Any]:
    """Return the name and all parameters of a format, as plain data."""
    filled = format_component(config.format.name).fill(config.format.parameters, where="format")
    return {"name": config.format.name, **filled.model_dump(mode="json")}


def refuse_other_config(store: Store, tournament: Tournament) -> None:
    """Check that the config continues the run in the store.

    Raises:
      ConfigError: it changes more than the format allows; one line for each difference.
      StoreError: the store does not record the run's config.
    """
    old, new = store.info().resolved.get("results"), resolve(tournament)
    if old is None:
        raise damaged(store.path, "table run, row 'resolved': value has no key 'results'")
    lines = [
        f"  {_place(path, tournament)}: {change_text(before, after)}"
        for path, before, after in differences(old, new)
        if not _allowed(path, before, after, tournament.format)
    ]
    stored = [row.name for row in store.players()]
    named = [row.name for row in tournament.players]
    if not tournament.format.may_gain_players and set(stored) == set(named) and stored != named:
        lines.append(f"  players: in the order {', '.join(named)}, begun as {', '.join(stored)}")
    growth = _allowed_growth(tournament.format)
    refuse_changes(lines, tournament.source, store.folder, growth=growth, noun="run")


def refuse_changes(
    lines: Sequence[str], source: str, folder: Path, *, growth: str, noun: str
) -> None:
    """Raise `ConfigError` if a config changes more than it may.

    Args:
      lines: the changes that are not allowed.
      source, folder: the config and the run that it should continue.
      growth: what may change, in words.
      noun: what messages call the run.
    """
    if lines:
        raise ConfigError(
            f"{source}: differs from the config that {folder} was begun with; {growth}:\n"
            + "\n".join(lines)
            + f"\nRestore the config, or the version of miai, or begin a new {noun} with --out."
        )


Difference = tuple[KeyPath, Any, Any]
"""The keys that lead to a value, the old value and the new one."""


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yield everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif (list(old) if isinstance(old, tuple) else old) != new:
        yield path, old, new


def _allowed(path: tuple[str, ...], before: Any, after: Any, format_: Format) -> bool:
    grows = {("format", name) for name in format_.may_grow}
    if format_.takes_rounds:
        grows.add(("tournament", "rounds"))
    # More rounds only append games: identities and seeds of those before stay the same
    # (`Schedule`).
    if path in grows:
        return isinstance(before, int) and isinstance(after, int) and after > before
    new = before == ABSENT and len(path) == 2 and path[0] in {"players", "teams"}
    return new and format_.may_gain_players


def _allowed_growth(format_: Format) -> str:
    """Return what a run may gain, in words."""
    gains = ["players"] * format_.may_gain_players + sorted(format_.may_grow)
    if not gains:
        return "nothing may change"
    return f"a run can gain {' and '.join(gains)}, nothing else may change"


def _place(path: tuple[str, ...], tournament: Tournament) -> str:
    """Return a path with the player's number in the config; a removed player has none."""
    table, *keys = path
    if table != "players" or not keys:
        return ".".join(path)
    name = keys.pop(0)
    if name not in {player.name for player in tournament.players}:
        return f"players ({name})"
    return tournament.place(name) + (f": {'.'.join(keys)}" if keys else "")


def change_text(before: Any, after: Any) -> str:
    """Return the change of a value in words."""
    if after == ABSENT:
        return "was removed"
    if before == ABSENT:
        return f"was added: {_show(after)}"
    return f"{_show(before)} -> {_show(after)}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
