"""The tables of a tournament's config file as models."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, model_validator

from miai.clock import ControlKind, IncrementPer, TimeControl
from miai.errors import ConfigError
from miai.parameters import NAME_PATTERN, StrictModel, parameter
from miai.plugins.agent_files import with_file_agent
from miai.process.processors import available_processors
from miai.process.sandbox import Isolation, ProcessLimits, sandbox_hindrance, strongest_isolation
from miai.seeds import SEED_BITS

NAME = NAME_PATTERN
"""Names become parts of file names: letters, digits and ``_ . + -``, not beginning with a dot."""

MAX_NAME = 40
"""Maximum length of a player's name."""

MAX_PLAYERS = 1000
"""Maximum number of players."""

Seed = Annotated[int, Field(ge=0, lt=2**63)]

MAX_WORKERS = 1024

MAX_GAMES = 1_000_000
"""Maximum number of games."""

MOVE_DEADLINE = 300.0
"""Seconds per move without a clock or deadline in the config, so that a hung agent cannot block a
tournament."""


class ConfigSection(StrictModel):
    """Base of the tables."""


class TournamentSection(ConfigSection):
    """``[tournament]``.

    Attributes:
      name: name of the tournament, and of its folder below ``runs/``.
      seed: source of all seeds of the run (default: drawn at random, 128 bits).
      rounds: pairs of games between every two players of a round-robin: 2 R games in R rounds, R
        with each colour. Other formats may have their own numbers.
      move_limit: plies after which a game is stopped (default: the game's maximum length).
    """

    name: str = Field(pattern=NAME, max_length=80)
    seed: int = Field(default_factory=partial(secrets.randbits, SEED_BITS), ge=0, lt=2**SEED_BITS)
    rounds: int = Field(default=10, ge=1, le=MAX_GAMES)
    move_limit: int | None = Field(default=None, ge=1)


class ComponentSection(ConfigSection):
    """A component's name, and its parameters beside it."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, values: Any) -> Any:
        """Move keys that are not fields of the table to ``parameters``."""
        return _folded(values, cls)


def _folded(values: Any, model: type[BaseModel], *, into: str = "parameters") -> Any:
    if not isinstance(values, dict) or not isinstance(values.get(into, {}), dict):
        return values
    own = {key: value for key, value in values.items() if key in model.model_fields}
    rest = {key: value for key, value in values.items() if key not in model.model_fields}
    return {**own, into: {**rest, **values.get(into, {})}}


def with_game(table: Any) -> Any:
    """Return the table ``[game]`` with the game that ``program`` stands for.

    A table that names a game or a command, too, is returned unchanged.
    """
    if not isinstance(table, dict) or "program" not in table or {"name", "command"} & set(table):
        return table
    from miai.process.program_game import program_game

    name, parameters = program_game(table)
    return {"name": name, "parameters": parameters}


def _refuse_command(table: Any) -> None:
    if isinstance(table, dict) and "program" in table and "command" in table:
        raise ValueError("command: the program is the command; remove one of them")


class GameSection(ComponentSection):
    """``[game]``: the name of a game and its parameters.

    `program = [...]` stands for the game ``program`` with that command.
    """

    @model_validator(mode="before")
    @classmethod
    def _write_out(cls, values: Any) -> Any:
        """Replace what stands for a game."""
        if isinstance(values, dict) and "program" in values and "name" in values:
            raise ValueError("program: give the name of a game or a program, not both")
        _refuse_command(values)
        return with_game(values)


class FormatSection(ComponentSection):
    """``[format]``: the name of a format, a round-robin by default, and its parameters."""


PLAYER_KEYS = frozenset({"name", "agent", "team", "seeds"})
"""Keys of a player's table; all others are parameters of its agent."""


def with_agent(table: Any) -> Any:
    """Return the table of a player with the agent that ``program`` or ``FILE.py:CLASS`` stand for.

    A table that has both is returned unchanged.
    """
    if not isinstance(table, dict):
        return table
    if "program" not in table:
        return with_file_agent(table, PLAYER_KEYS)
    if "agent" in table:
        return table
    rest = {key: value for key, value in table.items() if key != "program"}
    return {**rest, "agent": "program", "command": table["program"]}


class PlayerSection(ComponentSection):
    """``[[players]]``: a player's name, its agent, and the agent's parameters.

    `program = [...]` stands for the agent ``program`` with that command, an agent
    ``FILE.py:CLASS`` for the agent ``file``.

    Attributes:
      team: name of its team, for the report.
      seeds: one player for each, named ``name-s1`` and so on; sets the agent's parameter ``seed``
        if it has one.
    """

    name: str = Field(pattern=NAME, max_length=MAX_NAME)
    agent: str
    team: str | None = Field(default=None, pattern=NAME, max_length=MAX_NAME)
    seeds: tuple[Seed, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="before")
    @classmethod
    def _write_out(cls, values: Any) -> Any:
        """Replace what stands for an agent."""
        if isinstance(values, dict) and "program" in values and "agent" in values:
            raise ValueError("program: a player has an agent or a program, not both")
        _refuse_command(values)
        return with_agent(values)

    @model_validator(mode="after")
    def _seeds_differ(self) -> PlayerSection:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: contains a duplicate")
        return self


class TimeSection(ConfigSection):
    """``[time]``: the fields of `miai.clock.TimeControl`, in seconds."""

    kind: ControlKind = "none"
    seconds: float = Field(default=0.0, ge=0)
    increment: float = Field(default=0.0, ge=0)
    increment_per: IncrementPer = "action"
    periods: int = Field(default=0, ge=0)
    period_seconds: float = Field(default=0.0, ge=0)
    ponder: bool = False
    margin: float = Field(default=0.1, ge=0)
    move_deadline: float | None = Field(default=None, gt=0)

    def control(self) -> TimeControl:
        """Return the time control. Raises `ConfigError` if the fields contradict each other."""
        values = self.model_dump()
        if self.kind == "none" and self.move_deadline is None:
            values["move_deadline"] = MOVE_DEADLINE
        return TimeControl(**values)


class BalanceSection(ConfigSection):
    """``[openings.balance]``: openings must be close to equal; all other keys are parameters.

    Attributes:
      evaluator, search: component that values openings; with a search, an evaluator belongs to it.
      within: maximum advantage of either player, in the game's utilities.
      tries: maximum number of random openings to draw per pair of games until one is balanced.
    """

    evaluator: str | None = None
    search: str | None = None
    within: float = Field(gt=0)
    tries: int = Field(default=200, ge=1, le=100_000)
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, values: Any) -> Any:
        if isinstance(values, dict) and None not in map(values.get, ("search", "evaluator")):
            rest = {key: value for key, value in values.items() if key != "evaluator"}
            inner = values.get("parameters", {})
            if isinstance(inner, dict):
                values = {**rest, "parameters": {"evaluator": values["evaluator"], **inner}}
        return _folded(values, cls)

    @model_validator(mode="after")
    def _one_component(self) -> BalanceSection:
        if self.evaluator is None and self.search is None:
            raise ValueError("an evaluator or a search is needed")
        return self


class OpeningsSection(ConfigSection):
    """``[openings]``: moves played before the agents; each pair of games shares an opening.

    Attributes:
      random_plies: number of uniformly random moves without passes, drawn from the pair's seed.
      file: file of openings, relative to the config file; each round uses the next one.
      reader: component of kind ``opening-reader`` (default: by the file's suffix, else ``moves``,
        one opening per line).
      order: order of the openings: as in the file, or drawn from the run's seed.
      start: number of the first opening, from 1.
      balance: condition on the openings' values.
      parameters: parameters of the reader; with a file, all other keys of the table.
    """

    random_plies: int = Field(default=0, ge=0, le=10_000)
    file: str | None = None
    reader: str | None = None
    order: Literal["sequential", "random"] = "sequential"
    start: int = Field(default=1, ge=1)
    balance: BalanceSection | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, values: Any) -> Any:
        return _folded(values, cls) if isinstance(values, dict) and values.get("file") else values

    @model_validator(mode="after")
    def _one_source(self) -> OpeningsSection:
        if self.file is not None and self.random_plies:
            raise ValueError("random_plies and file exclude each other; leave one of them out")
        if self.file is None and (self.reader is not None or self.parameters):
            raise ValueError("a reader needs a file to read")
        if self.file is None and (self.order, self.start) != ("sequential", 1):
            raise ValueError("order and start need a file of openings")
        if self.order == "random" and self.start != 1:
            raise ValueError("start has no effect with a random order; leave it out")
        if self.balance is not None and self.file is None and not self.random_plies:
            raise ValueError("balance needs random_plies or a file")
        return self


class RuleSection(ComponentSection):
    """``[[adjudication.rules]]``: the name of an adjudicator and its parameters."""


class AdjudicationSection(ConfigSection):
    """``[adjudication]``: rules that may end games early.

    Attributes:
      hold_out: share of the games, drawn by their seeds, that are played to their end anyway; the
        report says how often the rules would have been wrong.
      rules: adjudicators in their order; the first verdict counts.
    """

    hold_out: float = Field(default=0.0, ge=0, le=1)
    rules: tuple[RuleSection, ...] = Field(default=(), max_length=16)

    @model_validator(mode="after")
    def _rules_differ(self) -> AdjudicationSection:
        names = [rule.name for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"rules: '{twice[0]}' is named twice")
        if self.hold_out and not names:
            raise ValueError(
                "hold_out has no effect without rules; add [[adjudication.rules]] with a name"
            )
        return self


class LimitsSection(ConfigSection):
    """``[limits]``: limits of agents' processes; see `miai.process.sandbox.ProcessLimits`.

    Attributes:
      start_timeout: seconds for an agent to start.
      private: whether to hide the run's folder and other agents' files and to keep yours as they
        are, if the system supports it; without, the level of isolation is ``process``.
      isolation: ``none``, ``process`` or ``sandbox`` (default: the strongest that the machine
        offers).
      environment: names of environment variables that all agents get, such as the key of a server.
    """

    output_bytes: int = Field(default=1 << 20, ge=1)
    frame_bytes: int = Field(default=1 << 18, ge=1)
    answer_bytes: int = Field(default=1 << 24, ge=1)
    new_game_seconds: float = Field(default=60.0, gt=0)
    end_seconds: float = Field(default=10.0, gt=0)
    close_seconds: float = Field(default=2.0, gt=0)
    memory: int | None = Field(default=None, ge=16, le=1 << 24)
    processors: int | None = Field(default=None, ge=1, le=4096)
    processes: int = Field(default=1024, ge=1, le=1 << 22)
    disk: int = Field(default=1024, ge=1, le=1 << 24)
    start_timeout: float = Field(default=60.0, gt=0)
    private: bool = True
    isolation: Isolation | None = None
    environment: tuple[str, ...] = ()

    def limits(self, *hidden: Path, fixed: Iterable[Path] = ()) -> ProcessLimits:
        """Return the limits of an agent's process.

        Args:
          hidden: the run's folder and its config file.
          fixed: files and folders that no agent may change.
        """
        values = {name: getattr(self, name) for name in _LIMITS}
        values |= {"fixed": tuple(map(str, fixed)), "free": not self.private}
        if not self.private:
            values["isolation"] = self.isolation or Isolation.PROCESS
        elif hidden:
            values["hidden"] = tuple(str(path.absolute()) for path in hidden)
        return ProcessLimits(**values)

    def level(self) -> Isolation:
        """Return the level of isolation on this machine.

        Raises:
          ConfigError: the config asks for one that this machine does not offer.
        """
        reason = sandbox_hindrance()
        if self.isolation is Isolation.SANDBOX and reason is not None:
            raise ConfigError(
                f'limits.isolation = "sandbox": {reason}; install it, or leave the key out for '
                "the strongest level that this machine offers"
            )
        return self.limits().isolation or strongest_isolation()


_LIMITS: Final = {field.name for field in fields(ProcessLimits)} & set(LimitsSection.model_fields)


class RunSection(ConfigSection):
    """``[run]``: how the games are played; nothing here changes a result.

    Attributes:
      executor: name of the component that plays them.
      executor_parameters: its parameters; all other keys of the table.
      store: where a new run is kept: name of a store, or a URL whose scheme is the name (default: a
        file in the folder).
      store_parameters: its parameters besides the URL.
      workers: number of worker processes (default: one per processor).
      records: formats in which each game is also written to ``records/``.
      record_policies: whether records hold the policies that players state; one that breaks its
        contract is a forfeit then.
      grace: seconds for running games to finish after Ctrl-C.
      game_deadline: seconds after which a worker counts as hung and is killed, and its game is
        void (default: never).
      warm_agents: maximum number of agents' processes that a worker keeps between games, as far as
        there is memory (default: 128 for all workers together, at least 16 for each).
    """

    executor: str = "processes"
    executor_parameters: dict[str, Any] = Field(default_factory=dict)
    store: str | None = Field(default=None, max_length=2000)
    store_parameters: dict[str, Any] = Field(default_factory=dict)
    workers: int | None = Field(default=None, ge=1, le=MAX_WORKERS)
    records: tuple[str, ...] = ()
    record_policies: bool = False
    grace: float = Field(default=10.0, ge=0, le=86_400)
    game_deadline: float | None = Field(default=None, gt=0)
    warm_agents: int | None = Field(default=None, ge=2)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, values: Any) -> Any:
        """Move keys that are not fields of the table to the executor's parameters."""
        return _folded(values, cls, into="executor_parameters")

    def worker_count(self) -> int:
        """Return the number of workers, by default one per available processor."""
        return self.workers or available_processors()

    def warm_count(self) -> int:
        """Return the number of agents' processes that a worker keeps."""
        return self.warm_agents or max(16, 128 // self.worker_count())


class RunOverrides(ConfigSection):
    """The options of ``miai tournament run`` and ``resume`` that override ``[run]``."""

    executor: str | None = parameter(None, help="Executor of the games; `miai list executor`")
    workers: int | None = parameter(
        None, ge=1, le=MAX_WORKERS, help="Number of workers (default: one per processor)"
    )
    address: str | None = parameter(None, help="Cluster to use, HOST:PORT (default: start one)")
    records: tuple[str, ...] = parameter(
        (), help="Format in which each game is also written to DIR/records (repeatable)"
    )


class TournamentConfig(ConfigSection):
    """The whole file."""

    plugins: tuple[str, ...] = parameter((), help="Python files of plugins to load first")
    tournament: TournamentSection
    format: FormatSection = FormatSection(name="round-robin")
    game: GameSection
    time: TimeSection = TimeSection()
    openings: OpeningsSection = OpeningsSection()
    adjudication: AdjudicationSection = AdjudicationSection()
    limits: LimitsSection = LimitsSection()
    run: RunSection = RunSection()
    players: tuple[PlayerSection, ...] = Field(min_length=1, max_length=MAX_PLAYERS)
