"""Reads a config file, applies ``--set path=value`` and checks every table and component.

Nothing is started here. All mistakes are reported together, one line each, with the file and the
path in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from miai.errors import ConfigError, ParameterError, near_matches
from miai.game import Game
from miai.parameters import Parameters, explain, mistakes, read_toml
from miai.plain import parse_assignment
from miai.playing.adjudication import ADJUDICATOR, make_panel
from miai.playing.openings import OpeningReader
from miai.plugins.kinds import GAME
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai_tournaments.config.balance import check_balance
from miai_tournaments.config.entrants import (
    check_names,
    names_of,
    parameters_of,
    player,
    players_of,
)
from miai_tournaments.config.openings import (
    Openings,
    check_settings,
    file_openings,
    in_order,
    opening_file,
    opening_reader,
    random_openings,
    with_settings,
)
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import (
    MAX_GAMES,
    ConfigSection,
    OpeningsSection,
    RunSection,
    TimeSection,
    TournamentConfig,
    TournamentSection,
)
from miai_tournaments.formats.format import Format, Variants, build_format, format_component
from miai_tournaments.store.export import record_format
from miai_tournaments.store.folder import has_store
from miai_tournaments.store.rows import PlayerRow

SectionT = TypeVar("SectionT", bound=ConfigSection)


def check_game(raw: Mapping[str, Any], problems: Problems) -> tuple[str | None, Game | None]:
    """Return the game's name and the game, each None if invalid."""
    table = raw.get("game")
    if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
        return None, None  # the models report why
    component, game = None, None
    with problems.at("game.name"):
        component = registry().get(GAME, name)
    if component is None:
        return None, None
    with problems.at("game"):
        filled = component.fill(parameters_of(table, frozenset({"name"})), where="game")
        game = component.load_factory()(filled)
    if game is not None and game.num_players() != 2:
        problems.add(
            "game.name",
            f"{name} has {game.num_players()} players; tournaments need a game for 2",
        )
    return name, game


def check_players(raw: Mapping[str, Any], game: str | None, problems: Problems) -> list[PlayerRow]:
    """Return the players with valid agents and parameters for the game of that name.

    Without a game, only the agents' names are checked.
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
    """Check what models cannot check: time, records and openings. Returns the openings.

    Args:
      game_name: None if the game does not exist.
      game: None also if its parameters are invalid.
      folder: folder that relative paths start from.
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
    source: Openings | None = None
    if openings.file is not None:
        source = _file_openings(openings, openings.file, game, head, folder, problems)
    elif game is not None:
        with problems.at("openings.random_plies"):
            limit = None if head is None else head.move_limit
            source = random_openings(openings.random_plies, game, limit)
    if openings.balance is None or game is None:
        return source
    with problems.at("openings.balance"):
        balance = check_balance(openings.balance, game)
        return None if source is None else replace(source, balance=balance)
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
                    record_format(name, game)


def _refuse_unknown(kind: str, name: str) -> None:
    """Raise `UnknownComponentError` if no game has a component of that kind and name."""
    known = registry().components(kind, adapted=True)
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
    source: Openings | None = None
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
            source = file_openings(path, reader, game, None if head is None else head.move_limit)
    if source is not None and head is not None:
        with problems.at("openings.start"):
            return in_order(source, section, head.seed)
    return None


def _section(raw: Mapping[str, Any], name: str, model: type[SectionT]) -> SectionT | None:
    """Return one table; None if it is invalid, which the models report."""
    try:
        return model.model_validate(raw.get(name, {}))
    except ValidationError:
        return None


Field = Sequence[tuple[int, PlayerRow]]
"""The players, each with the number of its table."""


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """A format with its players.

    Attributes:
      format: the format.
      players: the players, including variants.
      entries: number of each player's table.
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
) -> CheckedConfig | None:
    """Return the format and its players; None if something is invalid, which is added to problems.

    Args:
      rows: the valid players, in the order of the config.
    """
    names = names_of(config)
    check_names(names, problems)
    component: Component[Format] | None = None
    parameters: Parameters | None = None
    with problems.at("format.name"):
        component = format_component(config.format.name)
    if component is None:
        return None
    with problems.at("format"):
        parameters = component.fill(config.format.parameters, where="format")
        _check_rounds(raw, component, problems)
    if parameters is None or [row.name for row in rows] != [name for _, name in names]:
        return None  # mistakes of players are collected already
    field = [(number, row) for (number, _), row in zip(names, rows, strict=True)]
    with problems.at("format"):
        return _checked(config, component, parameters, field, openings, problems)
    return None


def _check_rounds(raw: Mapping[str, Any], component: Component[Format], problems: Problems) -> None:
    """Refuse ``tournament.rounds`` if it has no effect or is set twice."""
    if "rounds" not in raw.get("tournament", {}):
        return
    table = raw.get("format", {})
    if not getattr(component.load_factory(), "takes_rounds", False):
        own = [
            name for name in ("rounds", "pairs") if name in component.load_parameters().model_fields
        ]
        problems.add(
            "tournament.rounds",
            f"has no effect with the format {component.name}; leave it out"
            + (f" and set format.{own[0]}" if own else ""),
        )
    elif "rounds" in table or "rounds" in table.get("parameters", {}):
        problems.add("tournament.rounds", "is also set by format.rounds; leave one of them out")


def _checked(
    config: TournamentConfig,
    component: Component[Format],
    parameters: Parameters,
    field: Field,
    openings: Openings | None,
    problems: Problems,
) -> CheckedConfig | None:
    seed = config.tournament.seed
    variants = getattr(component.load_factory(), "variants", lambda *_, **__: None)
    varied = variants(parameters, seed=seed)
    if varied is not None:
        field = _with_variants(field, varied, config.game.name)
        check_names([(number, row.name) for number, row in field], problems)
    if len(field) < 2:
        problems.add("players", f"has too few entries: {len(field)}; at least 2 are needed")
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
        problems.add(path, f"leads to {most} games; the maximum is {MAX_GAMES}")
    if openings is not None:
        for path, settings in built.settings().items():
            with problems.at(path):
                check_settings(openings, settings, where=path)
    return CheckedConfig(built, players, tuple(number for number, _ in field))


def _with_variants(field: Field, variants: Variants, game: str) -> Field:
    """Return the field with variants in place of a player; its name becomes their team's."""
    base = next((row for _, row in field if row.name == variants.player), None)
    if base is None:
        names = ", ".join(row.name for _, row in field)
        raise ParameterError(
            f"format.player: no player is called '{variants.player}'; choose one of {names}"
        )
    for _, row in field:
        if row is not base and row.team == base.name:
            raise ParameterError(
                f"format.player: '{row.name}' has the team '{base.name}', which is the team of the "
                "variants; give it another team"
            )
    width = len(str(len(variants.values)))
    players = [
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
    return [(number, new) for number, row in field for new in (players if row is base else [row])]


Rules = Mapping[str, Mapping[str, Any]]
"""Adjudicators by name, in their order, with their parameters in the config."""


def check_rules(
    raw: Mapping[str, Any], game_name: str | None, game: Game | None, problems: Problems
) -> None:
    """Check that the adjudicators exist and can judge the game; see `check_sections`."""
    section = raw.get("adjudication")
    tables = section.get("rules") if isinstance(section, Mapping) else None
    for number, table in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            continue  # the models report why
        path, name = f"adjudication.rules[{number}]", table["name"]
        component = None
        with problems.at(f"{path}.name"):
            component = registry().get(ADJUDICATOR, name, game=game_name)
        if component is None or game is None:
            continue
        with problems.at(path):
            component.build(game, values=parameters_of(table, frozenset({"name"})), where=path)


def check_rules_for_settings(
    config: TournamentConfig, built: Format, openings: Openings, problems: Problems
) -> None:
    """Check that the rules can judge the games of pairings with their own settings."""
    rules = rules_of(config)
    for path, settings in built.settings().items() if rules else ():
        with problems.at(path):
            make_panel(with_settings(openings, settings, where=path).game, rules)


def rules_of(config: TournamentConfig) -> Rules:
    """Return the rules of a config."""
    return {rule.name: rule.parameters for rule in config.adjudication.rules}


def resolved_rules(config: TournamentConfig) -> dict[str, Any]:
    """Return the parts of the table that results depend on, as plain data with defaults."""
    filled = {
        name: registry()
        .get(ADJUDICATOR, name, game=config.game.name)
        .fill(given)
        .model_dump(mode="json")
        for name, given in rules_of(config).items()
    }
    return {
        "hold_out": config.adjudication.hold_out,
        "order": list(filled),
        "rules": filled,
    }


_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")


def apply_overrides(raw: dict[str, Any], assignments: Iterable[str]) -> list[str]:
    """Apply assignments ``path=value`` to the parsed config; return the full paths.

    ``rounds=20`` means ``tournament.rounds``, and ``workers=1`` means ``run.workers``. Players
    have a number or a name: ``players[0].simulations``, ``players[mcts-100].simulations``.

    Raises:
      ConfigError: some are not assignments, or have an unknown path; one line for each.
    """
    changed, problems = [], []
    for assignment in assignments:
        try:
            changed.append(_apply(raw, assignment))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return changed


def _apply(raw: dict[str, Any], assignment: str) -> str:
    """Apply one assignment; return its full path."""
    try:
        path, value = parse_assignment(assignment)
    except ConfigError as error:
        raise ConfigError(f"--set {assignment}: {error}") from None
    where = f"--set {path}"
    *steps, last = _steps(path, where)
    if steps and steps[0] not in TournamentConfig.model_fields:
        known = near_matches(steps[0], TournamentConfig.model_fields)
        raise ConfigError(f"{where}: there is no table '{steps[0]}'. {known}")
    target: Any = raw
    full = ""
    for step in steps:
        below = _descend(target, step, where)
        if isinstance(target, list):
            full += f"[{next(n for n, item in enumerate(target) if item is below)}]"
        else:
            full += f".{step}" if full else step
        target = below
    return full + _assign(target, last, value, full, where)


def _assign(target: Any, last: str, value: Any, full: str, where: str) -> str:
    """Set an entry of a table or list; return the end of its path."""
    if isinstance(target, list):
        if not last.isdecimal() or int(last) >= len(target):
            raise ConfigError(
                f"{where}: a list of {len(target)} has no key '{last}'; write {full}[0].{last}"
            )
        target[int(last)] = value
        return f"[{int(last)}]"
    if not isinstance(target, dict):
        raise ConfigError(f"{where}: '{last}' is below a value, which has no keys")
    _refuse_number(target, last, where)
    target[last] = value
    return f".{last}" if full else last


def _refuse_number(table: dict[str, Any], step: str, where: str) -> None:
    """Refuse the number of an entry where the config has no list."""
    if step.isdecimal() and step not in table:
        raise ConfigError(
            f"{where}: the config has no list here, so there is no [{step}]; write the list into "
            "the file, or set the whole list"
        )


def _steps(path: str, where: str) -> list[str]:
    steps = [name or index for name, index in _STEP.findall(path)]
    if not steps or not _STEP.sub("", path) == "":
        raise ConfigError(f"{where}: no path; write table.key or players[0].key")
    if len(steps) > 1:
        return steps
    for section, model in (("tournament", TournamentSection), ("run", RunSection)):
        if path in model.model_fields:
            return [section, path]
    if path in TournamentConfig.model_fields:
        raise ConfigError(f"{where}: is a table; name one of its keys: {path}.key=value")
    known = (*TournamentSection.model_fields, *RunSection.model_fields)
    raise ConfigError(
        f"{where}: unknown key. {near_matches(path, known)} Keys of other tables are written "
        "table.key, those of players players[0].key."
    )


def _descend(target: Any, step: str, where: str) -> Any:
    if isinstance(target, dict):
        _refuse_number(target, step, where)
        return target.setdefault(step, {})
    if isinstance(target, list):
        if step.isdecimal() and int(step) < len(target):
            return target[int(step)]
        for item in target:
            if isinstance(item, dict) and item.get("name") == step:
                return item
        names = [str(item.get("name")) for item in target if isinstance(item, dict)]
        raise ConfigError(
            f"{where}: no entry '{step}' among {len(target)}. {near_matches(step, names)}".rstrip()
        )
    raise ConfigError(f"{where}: '{step}' is below a value, which has no keys")


_EXAMPLE = "configs/quickstart.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournament:
    """A checked config with its components.

    Attributes:
      config: the config.
      game: the game.
      players: the players, including members of teams and variants.
      entries: number of each player's table.
      format: the format.
      openings: source of the games' openings.
      text, source: content and path of the file.
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
        """Return a player's place in the config, for messages."""
        numbers = (n for n, row in zip(self.entries, self.players, strict=True) if row.name == name)
        return f"players[{next(numbers)}] ({name})"

    def game_given(self) -> dict[str, Any]:
        """Return the game's parameters in the config."""
        return self.game.parameters.model_dump(mode="json", exclude_unset=True)

    def game_parameters(self) -> dict[str, Any]:
        """Return all parameters of the game, with defaults."""
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
    """Return the tournament of a parsed config.

    Args:
      source: path of the config, for messages.
      folder: folder that relative paths in the config start from.
      text: content of the file.
      settings: paths of the values that ``--set`` has changed.

    Raises:
      ConfigError: something is wrong; one line for each mistake.
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
    """Add a problem if the deadline ends games whose players all keep to their clocks."""
    deadline, time = config.run.game_deadline, config.time
    if deadline is None or time.kind not in {"absolute", "fischer", "byo-yomi"}:
        return
    whole = game.num_players() * time.seconds
    if whole > deadline:
        problems.add(
            "run.game_deadline",
            f"is {deadline:g} s, but the players have {whole:g} s on their clocks: a slow game "
            "would be void; raise it, or leave it out",
        )


def _about_folder(path: Path) -> str:
    if has_store(path):
        return f"is a tournament's folder; continue it with `miai tournament resume {path}`"
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
