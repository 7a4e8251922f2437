"""Whether a config may extend a run that was begun with another.

Most formats allow more rounds or pairs, some more players.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from miai.errors import ConfigError
from miai.playing.adjudication import ADJUDICATOR
from miai.plugins.loader import registry
from miai_tournaments.config.load import Tournament, resolved_rules
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats import FORMAT
from miai_tournaments.formats.format import Format, format_component
from miai_tournaments.store.database import damaged
from miai_tournaments.store.store import Store

ABSENT = "(absent)"
"""In place of a value that one of two configs lacks."""

_RULES = "adjudication.rules."

_KINDS: Mapping[str, str] = {"game": "game", "format": FORMAT.name}


def resolve(tournament: Tournament) -> dict[str, Any]:
    """Return all of a config that its results depend on, as plain data; defaults filled in."""
    config = tournament.config
    return {
        "tournament": config.tournament.model_dump(mode="json"),
        "format": resolved_format(config),
        "game": {"name": config.game.name, **tournament.game_parameters()},
        "time": config.time.model_dump(mode="json"),
        "openings": tournament.openings.to_plain(),
        "adjudication": resolved_rules(config),
        "limits": config.limits.model_dump(mode="json", exclude_none=True, exclude={"private"}),
        "players": {p.name: {"agent": p.agent, **p.parameters} for p in tournament.players},
        "teams": {p.name: p.team for p in tournament.players if p.team},
    }


def resolved_format(config: TournamentConfig) -> dict[str, Any]:
    """Return a format's name and all its parameters, as plain data."""
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
    if isinstance(old, Mapping):
        old = {**_earlier(old), **old}
    lines = [
        f"  {_told(path, tournament)}: {change_text(before, after)}"
        for path, before, after in map(_dotted, differences(old, new))
        if not _allowed(path, before, after, tournament.format)
        and not _is_new_default(path, before, after, new)
    ]
    kept = [row.name for row in store.players()]
    given = [row.name for row in tournament.players]
    if not tournament.format.may_gain_players and set(kept) == set(given) and kept != given:
        lines.append(f"  players: in the order {', '.join(given)}, begun as {', '.join(kept)}")
    if lines:
        raise ConfigError(
            f"{tournament.source}: differs from the config that {store.folder} was begun with; "
            f"{_allowed_growth(tournament.format)}:\n"
            + "\n".join(lines)
            + "\nRestore the config, or begin a new run with --out."
        )


Difference = tuple[tuple[str, ...], Any, Any]
"""The keys that lead to a value, the old value and the new one."""


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yield everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif (list(old) if isinstance(old, tuple) else old) != new:
        yield path, old, new


def _dotted(difference: Difference) -> tuple[str, Any, Any]:
    """Return a difference with its path as a text; players' names are in brackets."""
    (first, *keys), before, after = difference
    if first == "players" and keys:
        first = f"players[{keys.pop(0)}]"
    return ".".join([first, *keys]), before, after


def _earlier(old: Mapping[str, Any]) -> dict[str, Any]:
    """Return what earlier versions did not record: one format, no teams, no rules."""
    default = TournamentConfig.model_fields["format"].get_default()
    filled = format_component(default.name).fill(default.parameters)
    return {
        "format": {"name": default.name, **filled.model_dump(mode="json")},
        "teams": {},
        "adjudication": {"hold_out": 0.0, "order": [], "rules": {}},
    }


def _allowed(path: str, before: Any, after: Any, format_: Format) -> bool:
    grows = {f"format.{name}" for name in format_.may_grow}
    if format_.takes_rounds:
        grows.add("tournament.rounds")
    if path in grows:
        return isinstance(before, int) and isinstance(after, int) and after > before
    new = path.startswith(("players[", "teams.")) and "]." not in path
    return format_.may_gain_players and before == ABSENT and new


def _allowed_growth(format_: Format) -> str:
    """Return what a run may gain, in words."""
    gains = ["players"] * format_.may_gain_players + sorted(format_.may_grow)
    if not gains:
        return "nothing may change"
    return f"a run can gain {' and '.join(gains)}, nothing else may change"


def _is_new_default(path: str, before: Any, after: Any, new: Mapping[str, Any]) -> bool:
    """Return whether a parameter is one that a newer plugin has added, at its default."""
    place, _, name = path.rpartition(".")
    rule = place.removeprefix(_RULES)
    if before != ABSENT or not (place in _KINDS or place.startswith(("players[", _RULES))):
        return False
    if place in _KINDS:
        kind, component = _KINDS[place], new[place]["name"]
    elif rule != place:
        kind, component = ADJUDICATOR.name, rule
    else:
        kind, component = "agent", new["players"][place[len("players[") : -1]]["agent"]
    fields = registry().get(kind, component, game=new["game"]["name"]).load_parameters()
    default = fields.model_fields[name].get_default() if name in fields.model_fields else ABSENT
    return bool(default == after)


def _told(path: str, tournament: Tournament) -> str:
    """Return a path with the number that a player has in the config; a removed one has none."""
    name, bracket, key = path.removeprefix("players[").partition("]")
    if not path.startswith("players[") or not bracket:
        return path
    if name not in {player.name for player in tournament.players}:
        return f"players ({name})"
    return tournament.place(name) + (f": {key.removeprefix('.')}" if key else "")


def change_text(before: Any, after: Any) -> str:
    """Return what became of a value."""
    if after == ABSENT:
        return "was removed"
    if before == ABSENT:
        return f"was added: {_show(after)}"
    return f"{_show(before)} -> {_show(after)}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
