"""Reads a config file and checks all of it, components and their parameters included.

Nothing is started here. Whatever is wrong is told at once, a line each, with the file and the path
in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from miai.errors import ConfigError, MiaiError, ParameterError, near_matches
from miai.game import Game
from miai.plugins.loader import registry
from miai.plugins.parameters import explain
from miai_tournaments.config.openings import Openings, read_openings
from miai_tournaments.config.overrides import apply_overrides
from miai_tournaments.config.schema import MAX_GAMES, TournamentConfig
from miai_tournaments.store.export import record_format
from miai_tournaments.store.store import PlayerRow

MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournament:
    """A config that was checked, and what it names.

    Attributes:
      config: the config.
      game: the game, built.
      players: the players, their parameters filled.
      openings: what is played before the agents are asked.
      text: the file as it was written.
      source: the file as it was named, for messages.
    """

    config: TournamentConfig
    game: Game
    players: tuple[PlayerRow, ...]
    openings: Openings
    text: str
    source: str

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
    text = _read(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is not TOML that anybody wrote: nested too deep") from None
    changed = apply_overrides(raw, assignments)
    try:
        return check_tournament(raw, source=str(path), folder=path.parent, text=text)
    except ConfigError as error:
        told = [_blamed(line, f"{path}: ", changed) for line in str(error).splitlines()]
        raise ConfigError("\n".join(told)) from error.__cause__


def _blamed(line: str, source: str, changed: Iterable[str]) -> str:
    """Return a line of a message, about ``--set`` where the value at fault was set there."""
    for path in changed:
        if line.startswith(f"{source}{path}: "):
            return f"--set {line.removeprefix(source)}"
    return line


def check_tournament(raw: Mapping[str, Any], *, source: str, folder: Path, text: str) -> Tournament:
    """Return the tournament that parsed values describe.

    Args:
      source: where the values are from, for messages.
      folder: what relative paths in the values start from.
      text: the values as they were written.

    Raises:
      ConfigError: something is wrong; every mistake is told.
    """
    problems = _Problems(source)
    config = _validate(raw, problems)
    game = _game(raw, problems)
    players = _players(raw, game, problems)
    openings = None
    if config is not None:
        _check_names(config, problems)
        openings = _check_sections(config, game, folder, problems)
    problems.raise_if_any()
    assert config is not None
    assert game is not None
    assert openings is not None
    return Tournament(
        config=config,
        game=game,
        players=tuple(players),
        openings=openings,
        text=text,
        source=source,
    )


class _Problems:
    """Collects what is wrong, a line each."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: list[str] = []
        self.cause: BaseException | None = None

    def add(self, path: str, message: str) -> None:
        """Note what is wrong at a path; without a path the message names its own."""
        place = f"{self.source}: {path}" if path else self.source
        self.lines += [f"{place}: {line}" for line in message.splitlines() or [""]]

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Note what the block raises and go on after it."""
        try:
            yield
        except ParameterError as error:  # names its paths itself
            self.add("", str(error))
            self.cause = self.cause or error
        except MiaiError as error:
            self.add(path, str(error))
            self.cause = self.cause or error
        except Exception as error:  # a plugin's own code: broken, and told like any other mistake
            self.add(path, f"is broken: {type(error).__name__}: {error}")
            self.cause = self.cause or error

    def raise_if_any(self) -> None:
        if self.lines:
            raise ConfigError("\n".join(dict.fromkeys(self.lines))) from self.cause


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: is no file; name a config, configs/quickstart.toml say")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_FILE_BYTES} bytes: no config file")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {_why_unread(path, error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text, as TOML is: {error}") from None


def _why_unread(path: Path, error: OSError) -> str:
    if not isinstance(error, FileNotFoundError):
        return f"cannot be read: {error.strerror}"
    folder = path.parent
    names = [p.name for p in folder.glob("*.toml")] if folder.is_dir() else []
    known = near_matches(path.name, names) or f"There is no config in {folder}."
    return f"does not exist. {known}"


def _validate(raw: Mapping[str, Any], problems: _Problems) -> TournamentConfig | None:
    try:
        return TournamentConfig.model_validate(raw)
    except ValidationError as error:
        details = error.errors()
        for detail in details:
            if detail["type"] == "too_short" and _of_entries(details, detail["loc"]):
                continue  # those that are wrong were not counted
            line = explain(detail, TournamentConfig, "")
            problems.add("", line.replace("unknown parameter", "unknown key"))
        return None


def _of_entries(details: Iterable[Mapping[str, Any]], path: tuple[Any, ...]) -> bool:
    """Return whether something is wrong below a path."""
    return any(len(d["loc"]) > len(path) and d["loc"][: len(path)] == path for d in details)


def _game(raw: Mapping[str, Any], problems: _Problems) -> Game | None:
    game: Game | None = None
    table = raw.get("game")
    if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
        return None  # the models have told why
    with problems.at("game.name"):
        component = registry().get("game", name)
        filled = component.fill(parameters_of(table, {"name"}), where="game")
        game = component.load_factory()(filled)
    if game is not None and game.num_players() != 2:
        problems.add(
            "game.name",
            f"{name} is played by {game.num_players()}; a round-robin of pairs needs a game for 2",
        )
    return game


def _players(raw: Mapping[str, Any], game: Game | None, problems: _Problems) -> list[PlayerRow]:
    tables = raw.get("players")
    if game is None or not isinstance(tables, (list, tuple)):
        return []
    rows = []
    for number, table in enumerate(tables):
        if isinstance(table, dict) and isinstance(table.get("agent"), str):
            with problems.at(f"players[{number}].agent"):
                rows.append(_player(table, game, where=f"players[{number}]"))
    return rows


def _player(table: Mapping[str, Any], game: Game, *, where: str) -> PlayerRow:
    agent = table["agent"]
    if agent == "human":
        raise ConfigError("a person plays with `miai play`, not in a tournament")
    component = registry().get("agent", agent, game=game.info.name)
    filled = component.fill(parameters_of(table, {"name", "agent"}), where=where)
    return PlayerRow(
        name=str(table.get("name")),
        agent=agent,
        given=filled.model_dump(mode="json", exclude_unset=True),
        parameters=filled.model_dump(mode="json"),
    )


def parameters_of(table: Mapping[str, Any], own: set[str]) -> dict[str, Any]:
    """Return the parameters in a table: its keys but `own`, and those under ``parameters``."""
    rest = {key: value for key, value in table.items() if key not in own | {"parameters"}}
    inner = table.get("parameters", {})
    return {**rest, **inner} if isinstance(inner, dict) else rest


def _check_names(config: TournamentConfig, problems: _Problems) -> None:
    seen: dict[str, int] = {}
    for number, player in enumerate(config.players):
        # Names become parts of file names, and not every file system tells capitals apart.
        first = seen.setdefault(player.name.casefold(), number)
        if first != number:
            problems.add(
                f"players[{number}].name",
                f"'{player.name}' is the name of players[{first}] too; names must differ by more "
                "than capitals",
            )
    if config.game_count() > MAX_GAMES:
        problems.add(
            "tournament.rounds", f"make {config.game_count()} games; at most {MAX_GAMES} are played"
        )


def _check_sections(
    config: TournamentConfig, game: Game | None, folder: Path, problems: _Problems
) -> Openings | None:
    with problems.at("time"):
        config.time.control()
    if game is None:
        return None
    for number, name in enumerate(config.run.records):
        with problems.at(f"run.records[{number}]"):
            record_format(name, game.info)
    with problems.at("openings.file" if config.openings.file else "openings.random_plies"):
        return read_openings(config.openings, game, folder)
    return None
