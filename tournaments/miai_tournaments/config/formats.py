"""Checks the table ``[format]``: the format, its parameters, and what these make of the players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miai.errors import ParameterError
from miai.plugins.parameters import Parameters
from miai.plugins.registry import Component
from miai_tournaments.config.entrants import check_names, names_of, player
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import MAX_GAMES, TournamentConfig
from miai_tournaments.config.settings import check_settings
from miai_tournaments.formats.build import build_format, format_component
from miai_tournaments.formats.format import Format, Variants
from miai_tournaments.store.rows import PlayerRow

Field = Sequence[tuple[int, PlayerRow]]
"""The players, each with the number of the table that it comes from."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A format that suits its players.

    Attributes:
      format: the format.
      players: all of them, variants included.
      entries: the number of the table that each comes from.
    """

    format: Format
    players: tuple[PlayerRow, ...]
    entries: tuple[int, ...]


def check_format(
    raw: Mapping[str, Any],
    config: TournamentConfig,
    rows: Sequence[PlayerRow],
    openings: Openings | None,
    problems: Problems,
) -> Checked | None:
    """Return the format and its players; None when something is wrong, which is then noted.

    Args:
      rows: the players that are right, in the order of the config.
    """
    names = names_of(config)
    check_names(names, problems)
    component: Component | None = None
    parameters: Parameters | None = None
    with problems.at("format.name"):
        component = format_component(config.format.name)
    if component is None:
        return None
    with problems.at("format"):
        parameters = component.fill(config.format.parameters, where="format")
        _check_rounds(raw, component, problems)
    if parameters is None or [row.name for row in rows] != [name for _, name in names]:
        return None  # of the players, too, all is told
    field = [(number, row) for (number, _), row in zip(names, rows, strict=True)]
    with problems.at("format"):
        return _checked(config, component, parameters, field, openings, problems)
    return None


def _check_rounds(raw: Mapping[str, Any], component: Component, problems: Problems) -> None:
    """Refuse ``tournament.rounds`` where it means nothing, or is said twice."""
    if "rounds" not in raw.get("tournament", {}):
        return
    table = raw.get("format", {})
    if not getattr(component.load_factory(), "takes_rounds", False):
        own = [
            name for name in ("rounds", "pairs") if name in component.load_parameters().model_fields
        ]
        problems.add(
            "tournament.rounds",
            f"means nothing to the format {component.name}; leave it out"
            + (f" and give format.{own[0]}" if own else ""),
        )
    elif "rounds" in table or "rounds" in table.get("parameters", {}):
        problems.add("tournament.rounds", "is told by format.rounds too; leave one of them out")


def _checked(
    config: TournamentConfig,
    component: Component,
    parameters: Parameters,
    field: Field,
    openings: Openings | None,
    problems: Problems,
) -> Checked | None:
    seed = config.tournament.seed
    variants = getattr(component.load_factory(), "variants", lambda *_, **__: None)
    found = variants(parameters, seed=seed)
    if found is not None:
        field = _varied(field, found, config.game.name)
        check_names([(number, row.name) for number, row in field], problems)
    if len(field) < 2:
        problems.add("players", f"has too few entries: {len(field)}; at least 2")
        return None
    players = tuple(row for _, row in field)
    built = build_format(
        component.name,
        config.format.parameters,
        players,
        rounds=config.tournament.rounds,
        seed=seed,
    )
    most = built.most_games()
    if most > MAX_GAMES:
        path = "tournament.rounds" if built.takes_rounds else "format"
        problems.add(path, f"make {most} games; at most {MAX_GAMES} are played")
    if openings is not None:
        for path, settings in built.settings().items():
            with problems.at(path):
                check_settings(openings, settings, where=path)
    return Checked(built, players, tuple(number for number, _ in field))


def _varied(field: Field, variants: Variants, game: str) -> Field:
    """Return the field with the variants of a player in its place; they are a team of its name."""
    base = next((row for _, row in field if row.name == variants.player), None)
    if base is None:
        known = ", ".join(row.name for _, row in field)
        raise ParameterError(f"format.player: no player is called '{variants.player}'; {known} are")
    for _, row in field:
        if row is not base and row.team == base.name:
            raise ParameterError(
                f"format.player: '{row.name}' has the team '{base.name}', which is that of the "
                "variants; give it another team"
            )
    width = len(str(len(variants.values)))
    made = [
        player(
            f"{base.name}.{number:0{width}}",
            base.agent,
            {**base.given, **values},
            game,
            team=base.name,
            where="format.vary",
        )
        for number, values in enumerate(variants.values, start=1)
    ]
    return [(number, new) for number, row in field for new in (made if row is base else [row])]
