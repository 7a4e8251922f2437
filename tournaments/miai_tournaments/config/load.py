"""Reads a config file and checks all of it, components and their parameters included.

Nothing is started here. Whatever is wrong is told at once, a line each, with the file and the path
in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from miai.config_files import read_toml
from miai.game import Game
from miai.plugins.parameters import explain, mistakes
from miai_tournaments.config.adjudication import check_rules, check_rules_for_settings
from miai_tournaments.config.components import check_game, check_players, check_sections
from miai_tournaments.config.formats import check_format
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.overrides import apply_overrides
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.format import Format
from miai_tournaments.store.sharing import has_store
from miai_tournaments.store.store import PlayerRow

_EXAMPLE = "configs/quickstart.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournament:
    """A config that was checked, and what it names.

    Attributes:
      config: the config.
      game: the game, built.
      players: the players, their parameters filled, teams and variants included.
      entries: for each player the number of the table that it comes from.
      format: who meets whom.
      openings: what is played before the agents are asked.
      text: the file as it was written.
      source: the file as it was named, for messages.
    """

    config: TournamentConfig
    game: Game
    players: tuple[PlayerRow, ...]
    entries: tuple[int, ...]
    format: Format
    openings: Openings
    text: str
    source: str

    def place(self, name: str) -> str:
        """Return where a player stands in the config, for messages."""
        numbers = (n for n, row in zip(self.entries, self.players, strict=True) if row.name == name)
        return f"players[{next(numbers)}] ({name})"

    def game_given(self) -> dict[str, Any]:
        """Return the parameters of the game that the config gives."""
        return self.game.parameters.model_dump(mode="json", exclude_unset=True)

    def game_parameters(self) -> dict[str, Any]:
        """Return all parameters of the game, defaults included."""
        return self.game.parameters.model_dump(mode="json")


def load_tournament(path: Path, assignments: Iterable[str] = ()) -> Tournament:
    """Return the tournament that a config file describes.

    Args:
      assignments: ``path=value`` texts that override the file.

    Raises:
      ConfigError: the file cannot be read, or something in it is wrong.
    """
    text, raw = read_toml(path, example=_EXAMPLE, about=_about_folder)
    settings = apply_overrides(raw, assignments)
    return check_tournament(raw, source=str(path), folder=path.parent, text=text, settings=settings)


def check_tournament(
    raw: Mapping[str, Any],
    *,
    source: str,
    folder: Path,
    text: str,
    settings: Collection[str] = (),
) -> Tournament:
    """Return the tournament that parsed values describe.

    Args:
      source: where the values are from, for messages.
      folder: what relative paths in the values start from.
      text: the values as they were written.
      settings: paths of the values that ``--set`` has changed.

    Raises:
      ConfigError: something is wrong; every mistake is told.
    """
    problems = Problems(raw, source=source, settings=settings)
    config = _validate(raw, problems)
    name, game = check_game(raw, problems)
    players = check_players(raw, name, problems)
    openings = check_sections(raw, name, game, folder, problems)
    check_rules(raw, name, game, problems)
    if config is not None and game is not None:
        _check_deadline(config, game, problems)
    checked = None
    if config is not None:
        checked = check_format(raw, config, players, openings, problems)
    if config is not None and checked is not None and openings is not None:
        check_rules_for_settings(config, checked.format, openings, problems)
    problems.raise_if_any()
    assert config is not None
    assert game is not None
    assert openings is not None
    assert checked is not None
    return Tournament(
        config=config,
        game=game,
        players=checked.players,
        entries=checked.entries,
        format=checked.format,
        openings=openings,
        text=text,
        source=source,
    )


def _check_deadline(config: TournamentConfig, game: Game, problems: Problems) -> None:
    """Note a deadline that ends games whose players all keep their clocks."""
    deadline, time = config.run.game_deadline, config.time
    if deadline is None or time.kind not in {"absolute", "fischer", "byo-yomi"}:
        return
    whole = game.num_players() * time.seconds
    if whole > deadline:
        problems.add(
            "run.game_deadline",
            f"is {deadline:g} s, but the players have {whole:g} s on their clocks: a slow game "
            "would be void; give more, or leave it out",
        )


def _about_folder(path: Path) -> str:
    if has_store(path):
        return f"is a tournament's folder; go on with it by `miai tournament resume {path}`"
    return ""


def _validate(raw: Mapping[str, Any], problems: Problems) -> TournamentConfig | None:
    try:
        return TournamentConfig.model_validate(raw)
    except ValidationError as error:
        for detail in mistakes(error):
            line = explain(detail, TournamentConfig, "")
            if detail["loc"] == ("players",) and detail["type"] != "too_short":
                line += "; write [[players]], in double brackets, above the keys of each"
            if detail["loc"] == ("adjudication",) and isinstance(detail["input"], list):
                line = (
                    "adjudication: is a list; write [[adjudication.rules]], in double brackets, "
                    "above the keys of each rule"
                )
            problems.add_line(line.replace("unknown parameter", "unknown key"))
        return None
