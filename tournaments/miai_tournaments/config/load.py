"""Reads a config file, applies ``--set path=value`` and checks every table and component.

Nothing is started here. All mistakes are reported together, one line each, with the file and the
path in it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from miai.api import make_panel, record_format
from miai.errors import ConfigError, ParameterError, near_matches
from miai.game import Game
from miai.pages.document import counted
from miai.parameters import ConfigFile, Parameters, explain, mistakes, read_toml
from miai.plain import parse_assignment
from miai.playing.openings import OpeningReader, check_file
from miai.plugins.configs import refuse_other_config
from miai.plugins.kinds import ADJUDICATOR, GAME
from miai.plugins.loader import registry, use_plugin_file
from miai.plugins.registry import Component
from miai.seeds import SEED_BITS
from miai_tournaments.config.entrants import (
    build_format,
    check_names,
    format_component,
    names_of,
    parameters_of,
    player,
    players_of,
)
from miai_tournaments.config.mistakes import Mistakes
from miai_tournaments.config.opening_source import (
    Openings,
    check_balance,
    check_settings,
    file_openings,
    in_order,
    opening_reader,
    random_openings,
    with_settings,
)
from miai_tournaments.config.schema import (
    MAX_GAMES,
    ConfigSection,
    OpeningsSection,
    RunSection,
    TimeSection,
    TournamentConfig,
    TournamentSection,
    with_agent,
    with_game,
)
from miai_tournaments.formats.format import MOST_SEATS, Format, Variants
from miai_tournaments.kinds import EXECUTOR, FORMAT
from miai_tournaments.store.address import check_store
from miai_tournaments.store.folder import has_store
from miai_tournaments.store.rows import PlayerRow

if TYPE_CHECKING:
    from miai_tournaments.workers.executor import Executor

SectionT = TypeVar("SectionT", bound=ConfigSection)


AdjudicatorParameters = Mapping[str, Mapping[str, Any]]
"""Adjudicators by name, in their order, with their parameters in the config."""


def rules_of(config: TournamentConfig) -> AdjudicatorParameters:
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
    return {"hold_out": config.adjudication.hold_out, "order": list(filled), "rules": filled}


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
      raw: the parsed config, its seed included.
      folder: folder that relative paths in the config start from.
      draws_seed: whether the config names no seed, so that one was drawn.
    """

    config: TournamentConfig
    game: Game
    players: tuple[PlayerRow, ...]
    entries: tuple[int, ...]
    format: Format
    openings: Openings
    text: str
    source: str
    raw: Mapping[str, Any]
    folder: Path
    draws_seed: bool = False

    def with_seed(self, seed: int) -> Tournament:
        """Return the tournament with another seed. Raises `ConfigError`."""
        raw = _with_seed(self.raw, seed)
        return check_tournament(raw, source=self.source, folder=self.folder, text=self.text)

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
    refuse_other_config(path, raw, TournamentConfig)
    settings = apply_overrides(raw, assignments)
    return check_tournament(raw, source=str(path), folder=path.parent, text=text, settings=settings)


def config_file(parameters: Parameters) -> ConfigFile:
    """Return the kind of file that `load_tournament` takes."""
    return ConfigFile.of(TournamentConfig, noun="a tournament", command="miai tournament run")


def check_tournament(
    raw: Mapping[str, Any], *, source: str, folder: Path, text: str, settings: Collection[str] = ()
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
    head = raw.get("tournament")
    draws_seed = isinstance(head, Mapping) and "seed" not in head
    if draws_seed:
        # Drawn here and written into the config that the store keeps, so that a resumed run has the
        # same.
        raw = _with_seed(raw, secrets.randbits(SEED_BITS))
    problems = Mistakes(raw, source=source, settings=settings)
    tournament = _ConfigCheck(raw, folder, problems).tournament(source=source, text=text)
    return replace(tournament, draws_seed=draws_seed)


def _with_seed(raw: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    return {**raw, "tournament": {**raw["tournament"], "seed": seed}}


def _about_folder(path: Path) -> str:
    if has_store(path):
        return f"is a tournament's folder; continue it with `miai tournament resume {path}`"
    return ""


NumberedPlayers = Sequence[tuple[int, PlayerRow]]
"""The players, each with the number of its table."""


class _ConfigCheck:
    """Checks a parsed config table by table and collects all mistakes.

    Args:
      folder: folder that relative paths start from.
    """

    def __init__(self, raw: Mapping[str, Any], folder: Path, problems: Mistakes) -> None:
        self._raw, self._folder, self._problems = raw, folder, problems
        self._game_name: str | None = None
        self._game: Game | None = None

    def tournament(self, *, source: str, text: str) -> Tournament:
        """Return the tournament. Raises `ConfigError` with all mistakes."""
        # The whole file is validated once, and then each table by itself: a mistake in one must not
        # hide those in others. The order is that in which later checks need earlier results.
        config = self._config()
        self._load_plugins()
        self._check_game()
        rows = self._players()
        self._check_time()
        self._check_records()
        self._check_executor()
        self._check_store()
        openings = self._openings()
        self._check_rules()
        entry = None
        if config is not None:
            self._check_deadline(config)
            entry = self._format(config, rows, openings)
        if config is not None and entry is not None and openings is not None:
            self._check_rules_for_settings(config, entry[0], openings)
        self._problems.raise_if_any()
        if config is None or self._game is None or openings is None or entry is None:
            raise AssertionError("the mistake in the config was not reported")
        return Tournament(
            config=config,
            game=self._game,
            players=tuple(row for _, row in entry[1]),
            entries=tuple(number for number, _ in entry[1]),
            format=entry[0],
            openings=openings,
            text=text,
            source=source,
            raw=self._raw,
            folder=self._folder,
        )

    @property
    def _seats(self) -> int:
        """Number of players of a game, 2 where it is invalid."""
        return 2 if self._game is None else max(2, self._game.num_players())

    # -- tables -------------------------------------------------------------------------------

    def _config(self) -> TournamentConfig | None:
        try:
            return TournamentConfig.model_validate(self._raw)
        except ValidationError as error:
            for detail in mistakes(error):
                line = explain(detail, TournamentConfig, "")
                if detail["loc"] == ("players",) and detail["type"] != "too_short":
                    line += "; write [[players]], in double brackets, above the keys of each"
                if detail["loc"] == ("adjudication",) and isinstance(detail["input"], list):
                    line = (
                        "adjudication: is a list; write [[adjudication.rules]], in double "
                        "brackets, above the keys of each rule"
                    )
                self._problems.add_line(line.replace("unknown parameter", "unknown key"))
            return None

    def _section(self, name: str, model: type[SectionT]) -> SectionT | None:
        """Return one table; None if it is invalid, which `_config` reports."""
        try:
            return model.model_validate(self._raw.get(name, {}))
        except ValidationError:
            return None

    def _entries(self, table: str, key: str) -> list[Any]:
        """Return a list in a table; empty if there is none, which `_config` reports."""
        section = self._raw.get(table)
        entries = section.get(key) if isinstance(section, Mapping) else None
        return list(entries) if isinstance(entries, (list, tuple)) else []

    def _load_plugins(self) -> None:
        files = self._raw.get("plugins")
        for number, file in enumerate(files if isinstance(files, (list, tuple)) else ()):
            if isinstance(file, str):
                with self._problems.at(f"plugins[{number}]"):
                    use_plugin_file(self._folder / file)
        if files:  # what a plugin lacks is not told again of its game and agents
            self._problems.raise_if_any()

    def _check_game(self) -> None:
        table, component = with_game(self._raw.get("game")), None
        if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
            return  # `_config` reports why
        with self._problems.at("game.name"):
            registry().refuse_file(GAME, name, write='program = ["{}"] instead of the name')
            component = registry().get(GAME, name)
        if component is None:
            return
        self._game_name = name
        with self._problems.at("game"):
            filled = component.fill(parameters_of(table, frozenset({"name"})), where="game")
            self._game = component.load_factory()(filled)
        if self._game is not None and not 2 <= self._game.num_players() <= MOST_SEATS:
            self._problems.add(
                "game.name",
                f"{name} has {counted(self._game.num_players(), 'player')}; tournaments need a "
                f"game for 2 to {MOST_SEATS}",
            )

    def _players(self) -> list[PlayerRow]:
        """Return the valid players; without a game only the agents' names are checked."""
        tables = self._raw.get("players")
        rows = []
        for number, row in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
            table = with_agent(row)
            if isinstance(table, dict) and isinstance(table.get("agent"), str):
                with self._problems.at(f"players[{number}].agent"):
                    remedy = 'program = ["{}"] instead of the agent'
                    registry().refuse_file("agent", table["agent"], write=remedy)
                    if self._game_name is None:
                        _refuse_unknown("agent", table["agent"])
                    else:
                        rows += players_of(table, self._game_name, where=f"players[{number}]")
        return rows

    def _check_time(self) -> None:
        section = self._section("time", TimeSection)
        try:
            if section is not None:
                section.control()
        except ConfigError as error:
            self._problems.add("time", str(error).removeprefix("time control: "))

    def _check_records(self) -> None:
        for number, name in enumerate(self._entries("run", "records")):
            if isinstance(name, str):
                with self._problems.at(f"run.records[{number}]"):
                    if self._game_name is None:
                        _refuse_unknown("record-format", name)
                    else:
                        record_format(name, self._game_name)

    def _check_executor(self) -> None:
        """Check that the executor exists; every key that is not of ``[run]`` is its parameter."""
        section = self._section("run", RunSection)
        if section is None:
            return
        component: Component[Executor] | None = None
        with self._problems.at("run.executor"):
            component = registry().get(EXECUTOR, section.executor)
        if component is None:
            return
        fields = component.load_parameters().model_fields
        known = [*RunSection.model_fields, *fields]
        for key in section.executor_parameters.keys() - fields:
            self._problems.add(
                f"run.{key}",
                f"unknown key, and no parameter of the executor '{section.executor}'. "
                f"{near_matches(key, known)}",
            )
        values = {k: v for k, v in section.executor_parameters.items() if k in fields}
        with self._problems.at("run"):
            component.fill(values, where="run")

    def _check_store(self) -> None:
        section = self._section("run", RunSection)
        if section is not None:
            with self._problems.at("run.store"):
                check_store(section.store, section.store_parameters)

    def _check_deadline(self, config: TournamentConfig) -> None:
        """Add a problem if the deadline ends games whose players all keep to their clocks."""
        deadline, time = config.run.game_deadline, config.time
        clocked = time.kind in {"absolute", "fischer", "byo-yomi"}
        if self._game is None or deadline is None or not clocked:
            return
        whole = self._game.num_players() * time.seconds
        if whole > deadline:
            self._problems.add(
                "run.game_deadline",
                f"is {deadline:g} s, but the players have {whole:g} s on their clocks: a slow game "
                "would be void; raise it, or leave it out",
            )

    # -- openings -----------------------------------------------------------------------------

    def _openings(self) -> Openings | None:
        section = self._section("openings", OpeningsSection)
        if section is None:
            return None
        head = self._section("tournament", TournamentSection)
        source: Openings | None = None
        if section.file is not None:
            source = self._file_openings(section, section.file, head)
        elif self._game is not None:
            with self._problems.at("openings.random_plies"):
                limit = None if head is None else head.move_limit
                source = random_openings(section.random_plies, self._game, limit)
        if section.balance is None or self._game is None:
            return source
        with self._problems.at("openings.balance"):
            balance = check_balance(section.balance, self._game)
            return None if source is None else replace(source, balance=balance)
        return None

    def _file_openings(
        self, section: OpeningsSection, file: str, head: TournamentSection | None
    ) -> Openings | None:
        path = self._folder / file
        source: Openings | None = None
        reader: OpeningReader | None = None
        exists = False
        with self._problems.at("openings.file"):
            check_file(path)
            exists = True
        if self._game is None:
            return None
        with self._problems.at("openings.reader" if section.reader else "openings.file"):
            reader = opening_reader(section, self._game)
        if exists and reader is not None:
            with self._problems.at("openings.file"):
                limit = None if head is None else head.move_limit
                source = file_openings(path, reader, self._game, limit)
        if source is not None and head is not None:
            with self._problems.at("openings.start"):
                return in_order(source, section, head.seed)
        return None

    # -- adjudication -------------------------------------------------------------------------

    def _check_rules(self) -> None:
        """Check that the adjudicators exist and can judge the game."""
        for number, table in enumerate(self._entries("adjudication", "rules")):
            if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
                continue  # `_config` reports why
            path, component = f"adjudication.rules[{number}]", None
            with self._problems.at(f"{path}.name"):
                component = registry().get(ADJUDICATOR, table["name"], game=self._game_name)
            if component is not None and self._game is not None:
                values = parameters_of(table, frozenset({"name"}))
                with self._problems.at(path):
                    component.build(self._game, values=values, where=path)

    def _check_rules_for_settings(
        self, config: TournamentConfig, built: Format, openings: Openings
    ) -> None:
        """Check that the rules can judge the games of pairings with their own settings."""
        rules = rules_of(config)
        for path, settings in built.settings().items() if rules else ():
            with self._problems.at(path):
                make_panel(with_settings(openings, settings, where=path).game, rules)

    # -- format -------------------------------------------------------------------------------

    def _format(
        self, config: TournamentConfig, rows: Sequence[PlayerRow], openings: Openings | None
    ) -> tuple[Format, NumberedPlayers] | None:
        """Return the format and its players; None if something is invalid.

        Args:
          rows: the valid players, in the order of the config.
        """
        names = names_of(config)
        check_names(names, self._problems)
        component: Component[Format] | None = None
        parameters: Parameters | None = None
        with self._problems.at("format.name"):
            component = format_component(config.format.name)
        if component is None:
            return None
        self._check_seats(component)
        with self._problems.at("format"):
            parameters = component.fill(config.format.parameters, where="format")
            self._check_rounds(component)
        if parameters is None or [row.name for row in rows] != [name for _, name in names]:
            return None  # mistakes of players are collected already
        field = [(number, row) for (number, _), row in zip(names, rows, strict=True)]
        with self._problems.at("format"):
            return self._format_with_players(config, component, parameters, field, openings)
        return None

    def _check_seats(self, component: Component[Format]) -> None:
        """Refuse a format for two players in a game for more."""
        if self._seats == 2 or _takes_any_seats(component):
            return
        formats = registry().components(FORMAT)
        *names, last = (each.name for each in formats if _takes_any_seats(each))
        self._problems.add(
            "format.name",
            f"{component.name} is for games of 2 players, and {self._game_name} has "
            f"{self._seats}; use {', '.join(names)} or {last}",
        )

    def _check_rounds(self, component: Component[Format]) -> None:
        """Refuse ``tournament.rounds`` if it has no effect or is set twice."""
        # The parsed file, not the model: a default must not count as set by the user.
        if "rounds" not in self._raw.get("tournament", {}):
            return
        table, path = self._raw.get("format", {}), "tournament.rounds"
        if not getattr(component.load_factory(), "takes_rounds", False):
            fields = component.load_parameters().model_fields
            own = next((name for name in ("rounds", "pairs") if name in fields), None)
            self._problems.add(
                path,
                f"has no effect with the format {component.name}; leave it out"
                + (f" and set format.{own}" if own else ""),
            )
        elif "rounds" in table or "rounds" in table.get("parameters", {}):
            self._problems.add(path, "is also set by format.rounds; leave one of them out")

    def _format_with_players(
        self,
        config: TournamentConfig,
        component: Component[Format],
        parameters: Parameters,
        field: NumberedPlayers,
        openings: Openings | None,
    ) -> tuple[Format, NumberedPlayers] | None:
        seed = config.tournament.seed
        find_variants = getattr(component.load_factory(), "variants", lambda *_, **__: None)
        variants = find_variants(parameters, seed=seed)
        if variants is not None:
            field = _with_variants(field, variants, config.game.name)
            check_names([(number, row.name) for number, row in field], self._problems)
        if len(field) < self._seats:
            text = f"has too few entries: {len(field)}; at least {self._seats} are needed"
            self._problems.add("players", text)
            return None
        built = build_format(
            component.name,
            config.format.parameters,
            [row for _, row in field],
            rounds=config.tournament.rounds,
            seed=seed,
            payoff_bound=None if openings is None else openings.game.info.payoff_bound,
            seats=self._seats,
        )
        games = built.most_games()
        if games > MAX_GAMES:
            path = "tournament.rounds" if built.takes_rounds else "format"
            self._problems.add(path, f"leads to {games} games; the maximum is {MAX_GAMES}")
        if openings is not None:
            for path, settings in built.settings().items():
                with self._problems.at(path):
                    check_settings(openings, settings, where=path)
        return built, field


def _takes_any_seats(component: Component[Format]) -> bool:
    """Return whether a format knows games of more than two players."""
    return bool(getattr(component.load_factory(), "any_seats", False))


def _refuse_unknown(kind: str, name: str) -> None:
    """Raise `UnknownComponentError` if no game has a component of that kind and name."""
    known = registry().components(kind, adapted=True)
    if name not in {component.name for component in known}:
        registry().get(kind, name)


def _with_variants(field: NumberedPlayers, variants: Variants, game: str) -> NumberedPlayers:
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
