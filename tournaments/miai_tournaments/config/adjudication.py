"""Checks the table ``[adjudication]``: rules that may end games before their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miai.adjudication import make_panel
from miai.adjudication.panel import KIND
from miai.game import Game
from miai.plugins.loader import registry
from miai_tournaments.config.entrants import parameters_of
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.config.settings import with_settings
from miai_tournaments.formats.format import Format

Rules = Mapping[str, Mapping[str, Any]]
"""Adjudicators by name, in the order in which they are asked, with their parameters as given."""


def check_rules(
    raw: Mapping[str, Any], game_name: str | None, game: Game | None, problems: Problems
) -> None:
    """Check that there are such adjudicators for the game, and that they can judge it.

    Args:
      game_name: None when there is no such game.
      game: None also when its parameters are wrong.
    """
    section = raw.get("adjudication")
    tables = section.get("rules") if isinstance(section, Mapping) else None
    for number, table in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            continue  # the models have told why
        path, name = f"adjudication.rules[{number}]", table["name"]
        component = None
        with problems.at(f"{path}.name"):
            component = registry().get(KIND, name, game=game_name)
        if component is None or game is None:
            continue
        with problems.at(path):
            component.build(game, values=parameters_of(table, frozenset({"name"})), where=path)


def check_rules_for_settings(
    config: TournamentConfig, built: Format, openings: Openings, problems: Problems
) -> None:
    """Check that the rules can judge the games of pairings with settings of their own."""
    rules = rules_of(config)
    for path, settings in built.settings().items() if rules else ():
        with problems.at(path):
            make_panel(with_settings(openings, settings, where=path).game, rules)


def rules_of(config: TournamentConfig) -> Rules:
    """Return the rules of a config."""
    return {rule.name: rule.parameters for rule in config.adjudication.rules}


def resolved_rules(config: TournamentConfig) -> dict[str, Any]:
    """Return all of the table that results depend on, as plain data; defaults filled in."""
    filled = {
        name: registry().get(KIND, name, game=config.game.name).fill(given).model_dump(mode="json")
        for name, given in rules_of(config).items()
    }
    return {
        "hold_out": config.adjudication.hold_out,
        "order": list(filled),
        "rules": filled,
    }
