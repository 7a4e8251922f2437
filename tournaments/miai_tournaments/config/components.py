"""Checks what a config names: the game, the agents, the openings, the record formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from miai.errors import ConfigError
from miai.game import Game
from miai.openings import OpeningReader
from miai.plugins.loader import registry
from miai_tournaments.config.balance import check_balance
from miai_tournaments.config.entrants import parameters_of, players_of
from miai_tournaments.config.openings import (
    Openings,
    file_openings,
    in_order,
    opening_file,
    opening_reader,
    random_openings,
)
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import (
    OpeningsSection,
    Section,
    TimeSection,
    TournamentSection,
)
from miai_tournaments.store.export import format_for
from miai_tournaments.store.store import PlayerRow

SectionT = TypeVar("SectionT", bound=Section)


def check_game(raw: Mapping[str, Any], problems: Problems) -> tuple[str | None, Game | None]:
    """Return the game's name, None when there is no such game, and the game, None if in vain."""
    table = raw.get("game")
    if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
        return None, None  # the models have told why
    component, game = None, None
    with problems.at("game.name"):
        component = registry().get("game", name)
    if component is None:
        return None, None
    with problems.at("game"):
        filled = component.fill(parameters_of(table, frozenset({"name"})), where="game")
        game = component.load_factory()(filled)
    if game is not None and game.num_players() != 2:
        problems.add(
            "game.name",
            f"{name} is played by {game.num_players()}; a tournament of pairs needs a game for 2",
        )
    return name, game


def check_players(raw: Mapping[str, Any], game: str | None, problems: Problems) -> list[PlayerRow]:
    """Return the players whose agents and parameters are right for the game of that name.

    Without a game, only that there are such agents is checked.
    """
    tables = raw.get("players")
    rows = []
    for number, table in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
        if isinstance(table, dict) and isinstance(table.get("agent"), str):
            with problems.at(f"players[{number}].agent"):
                if game is None:
                    _refuse_unknown("agent", table["agent"])
                else:
                    rows += players_of(table, game, where=f"players[{number}]")
    return rows


def check_sections(
    raw: Mapping[str, Any],
    game_name: str | None,
    game: Game | None,
    folder: Path,
    problems: Problems,
) -> Openings | None:
    """Check what the models cannot know of the tables that they found right; return the openings.

    Args:
      game_name: None when there is no such game.
      game: None also when its parameters are wrong; what needs none is checked all the same.
      folder: what relative paths start from.
    """
    time = _section(raw, "time", TimeSection)
    if time is not None:
        with problems.at("time"):
            _check_time(time)
    _check_records(raw, game_name, problems)
    openings = _section(raw, "openings", OpeningsSection)
    if openings is None:
        return None
    head = _section(raw, "tournament", TournamentSection)
    found: Openings | None = None
    if openings.file is not None:
        found = _file_openings(openings, openings.file, game, head, folder, problems)
    elif game is not None:
        with problems.at("openings.random_plies"):
            limit = None if head is None else head.move_limit
            found = random_openings(openings.random_plies, game, limit)
    return _balanced(found, openings, game, problems)


def _balanced(
    found: Openings | None, section: OpeningsSection, game: Game | None, problems: Problems
) -> Openings | None:
    """Return openings with what they are valued by; None when something is wrong."""
    if section.balance is None or game is None:
        return found
    with problems.at("openings.balance"):
        balance = check_balance(section.balance, game)
        return None if found is None else replace(found, balance=balance)
    return None


def _check_time(section: TimeSection) -> None:
    try:
        section.control()
    except ConfigError as error:
        raise ConfigError(str(error).removeprefix("time control: ")) from None


def _check_records(raw: Mapping[str, Any], game: str | None, problems: Problems) -> None:
    run = raw.get("run")
    records = run.get("records") if isinstance(run, Mapping) else None
    for number, name in enumerate(records if isinstance(records, (list, tuple)) else ()):
        if isinstance(name, str):
            with problems.at(f"run.records[{number}]"):
                if game is None:
                    _refuse_unknown("record-format", name)
                else:
                    format_for(name, game)


def _refuse_unknown(kind: str, name: str) -> None:
    """Raise `UnknownComponentError` when no game has a component of that kind and name."""
    known = registry().agents() if kind == "agent" else registry().components(kind)
    if name not in {component.name for component in known}:
        registry().get(kind, name)


def _file_openings(
    section: OpeningsSection,
    file: str,
    game: Game | None,
    head: TournamentSection | None,
    folder: Path,
    problems: Problems,
) -> Openings | None:
    found: Openings | None = None
    path: Path | None = None
    reader: OpeningReader | None = None
    with problems.at("openings.file"):
        path = opening_file(file, folder)
    if game is None:
        return None
    with problems.at("openings.reader" if section.reader else "openings.file"):
        reader = opening_reader(section, game)
    if path is not None and reader is not None:
        with problems.at("openings.file"):
            found = file_openings(path, reader, game, None if head is None else head.move_limit)
    if found is not None and head is not None:
        with problems.at("openings.start"):
            return in_order(found, section, head.seed)
    return None


def _section(raw: Mapping[str, Any], name: str, model: type[SectionT]) -> SectionT | None:
    """Return one table, None when it is wrong: the models have told why."""
    try:
        return model.model_validate(raw.get(name, {}))
    except ValidationError:
        return None
