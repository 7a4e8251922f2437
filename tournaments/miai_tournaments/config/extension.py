"""Checks whether a config may extend a run that was begun with another one.

Most formats allow more rounds or pairs, some also more players.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from miai.errors import ConfigError, MiaiError
from miai.parameters import Parameters, tables_of
from miai.plugins.kinds import ADJUDICATOR
from miai.plugins.loader import registry
from miai_tournaments.config.entrants import format_component
from miai_tournaments.config.load import Tournament, resolved_rules
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.format import Format
from miai_tournaments.kinds import FORMAT
from miai_tournaments.store.database import damaged
from miai_tournaments.store.store import Store

Keys = tuple[str, ...]

ABSENT = "(absent)"
"""Stands for a value that one of two configs lacks."""

_KINDS: Mapping[str, str] = {"game": "game", "format": FORMAT.name}


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
            mode="json", exclude_none=True, exclude={"private", "isolation"}
        ),
        "players": {p.name: {"agent": p.agent, **p.parameters} for p in tournament.players},
        "teams": {p.name: p.team for p in tournament.players if p.team},
    }


def resolved_format(config: TournamentConfig) -> dict[str, Any]:
    """Return the name and all parameters of a format, as plain data."""
    filled = format_component(config.format.name).fill(config.format.parameters, where="format")
    return {"name": config.format.name, **filled.model_dump(mode="json")}


def refuse_other_config(store: Store, tournament: Tournament) -> list[str]:
    """Check that the config continues the run in the store; return its `outgrown` parameters.

    Those whose values the config names elsewhere, in a table, are not among them.

    Raises:
      ConfigError: it changes more than the format allows; one line for each difference.
      StoreError: the store does not record the run's config.
    """
    old, new = store.info().resolved.get("results"), resolve(tournament)
    if old is None:
        raise damaged(store.path, "table run, row 'resolved': value has no key 'results'")
    if isinstance(old, Mapping):
        old = copy.deepcopy({**_earlier(old), **old})
    gone = outgrown(old)
    missed = [path for path, target in gone.items() if not _move(old, new, path, target)]
    lines = [
        f"  {_place(path, tournament)}: {change_text(before, after)}"
        for path, before, after in differences(old, new)
        if not _allowed(path, before, after, tournament.format)
        and not _is_new_default(path, before, after, new)
    ]
    stored = [row.name for row in store.players()]
    named = [row.name for row in tournament.players]
    if not tournament.format.may_gain_players and set(stored) == set(named) and stored != named:
        lines.append(f"  players: in the order {', '.join(named)}, begun as {', '.join(stored)}")
    growth = _allowed_growth(tournament.format)
    names = [".".join(path) for path in gone]
    refuse_changes(
        lines, tournament.source, store.folder, growth=growth, noun="run", outgrown=names
    )
    return [".".join(path) for path in missed]


def outgrown(results: Any) -> dict[Keys, Keys | None]:
    """Return the parameters that a run records and its components no longer have.

    Args:
      results: what `resolve` returned in the version that began the run.

    Returns:
      Where each one was, and the place in a table that took it over, if there is one.
    """
    game, rules = str(_at(results, "game").get("name")), _at(results, "adjudication", "rules")
    components: list[tuple[Keys, str, str]] = [
        (("game",), "game", game),
        (("format",), FORMAT.name, str(_at(results, "format").get("name"))),
        *((("adjudication", "rules", name), ADJUDICATOR.name, name) for name in rules),
    ]
    for player, values in _at(results, "players").items():
        components.append((("players", player), "agent", str(_at(values).get("agent"))))
    gone: dict[Keys, Keys | None] = {}
    for path, kind, name in components:
        with suppress(MiaiError):  # a component that is gone is a difference of its own
            model = registry().get(kind, name, game=game).load_parameters()
            head = {"players": "agent", "adjudication": ""}.get(path[0], "name")
            for own in _unknown(model, _at(results, *path)):
                if own != (head,):
                    target = _target(model, own[-1]) if len(own) == 1 else None
                    gone[*path, *own] = target and (*path, *target)
    return gone


def outgrown_line(names: Iterable[str]) -> str:
    """Return the warning that a run is continued without some of its parameters."""
    return (
        "warning: the run was begun by an earlier version of miai; its games are played on without "
        f"parameters that are gone: {', '.join(names)}"
    )


def _unknown(model: type[Parameters], values: Mapping[str, Any]) -> Iterator[Keys]:
    """Yield the keys, also those in tables, that a model has no parameter for."""
    for name, value in values.items():
        field = model.model_fields.get(name)
        if field is None:
            yield (name,)
        elif isinstance(value, Mapping) and (tables := tables_of(field)):
            known = {key for table in tables for key in table.model_fields}
            yield from ((name, key) for key in value if key not in known)


def _target(model: type[Parameters], name: str) -> Keys | None:
    """Return the only place in a table of a model that took over a parameter."""
    if match := re.match(r"is now (\w+)\.(\w+)", model.moved.get(name, "")):
        return match[1], match[2]
    tables = [
        key
        for key, field in model.model_fields.items()
        if any(name in table.model_fields for table in tables_of(field))
    ]
    return (tables[0], name) if len(tables) == 1 else None


def _move(old: dict[str, Any], new: Mapping[str, Any], path: Keys, target: Keys | None) -> bool:
    """Remove an outgrown parameter, or move it to where the new config has it, if it does."""
    value = _at(old, *path[:-1]).pop(path[-1])
    if target is None or target[-1] not in _at(new, *target[:-1]):
        return False
    table = _at(old, *target[:-2]).setdefault(target[-2], {})
    if isinstance(table, dict):
        table.setdefault(target[-1], value)
    return True


def _at(values: Any, *path: str) -> dict[str, Any]:
    """Return the table at a path; an empty one where there is none."""
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else {}


def refuse_changes(
    lines: Sequence[str],
    source: str,
    folder: Path,
    *,
    growth: str,
    noun: str,
    outgrown: Sequence[str] = (),
) -> None:
    """Raise `ConfigError` if a config changes more than it may.

    Args:
      lines: the changes that are not allowed.
      source, folder: the config and the run that it should continue.
      growth: what may change, in words.
      noun: what messages call the run.
      outgrown: the parameters of the run that this version of miai lacks.
    """
    if lines:
        remedy = f"Restore the config, or begin a new {noun} with --out."
        if outgrown:
            remedy = (
                f"The {noun} is of an earlier version of miai, with {', '.join(outgrown)}; restore "
                f"the config if it has changed, else begin a new {noun} with --out."
            )
        raise ConfigError(
            f"{source}: differs from the config that {folder} was begun with; {growth}:\n"
            + "\n".join(lines)
            + f"\n{remedy}"
        )


def is_default(
    kind: str, name: str, path: tuple[str, ...], value: Any, *, game: str | None
) -> bool:
    """Return whether a component has a parameter with this default; the path goes into tables."""
    model = registry().get(kind, name, game=game).load_parameters()
    if not path or path[0] not in model.model_fields:
        return False
    default: Any = model.model_fields[path[0]].get_default()
    default = default.model_dump(mode="json") if isinstance(default, BaseModel) else default
    for key in path[1:]:
        default = default.get(key, ABSENT) if isinstance(default, Mapping) else ABSENT
    return bool(default == value)


Difference = tuple[Keys, Any, Any]
"""The keys that lead to a value, the old value and the new one."""


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yield everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif (list(old) if isinstance(old, tuple) else old) != new:
        yield path, old, new


def _earlier(old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for what earlier versions did not record: format, teams and rules."""
    default = TournamentConfig.model_fields["format"].get_default()
    filled = format_component(default.name).fill(default.parameters)
    return {
        "format": {"name": default.name, **filled.model_dump(mode="json")},
        "teams": {},
        "adjudication": {"hold_out": 0.0, "order": [], "rules": {}},
    }


def _allowed(path: tuple[str, ...], before: Any, after: Any, format_: Format) -> bool:
    grows = {("format", name) for name in format_.may_grow}
    if format_.takes_rounds:
        grows.add(("tournament", "rounds"))
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


def _is_new_default(path: tuple[str, ...], before: Any, after: Any, new: Mapping[str, Any]) -> bool:
    """Return whether a newer plugin has added a parameter, at its default."""
    match path:
        case ("game" | "format" as table, *own):
            kind, component = _KINDS[table], new[table]["name"]
        case ("adjudication", "rules", component, *own):
            kind = ADJUDICATOR.name
        case ("players", player, *own) if player in new["players"]:
            kind, component = "agent", new["players"][player]["agent"]
        case _:
            return False
    game = new["game"]["name"]
    return before == ABSENT and is_default(kind, component, tuple(own), after, game=game)


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
