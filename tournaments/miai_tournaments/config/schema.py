"""What a tournament's config file can say: one model a table of the file."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from miai.clock import ControlKind, TimeControl
from miai.parameters import NAME_PATTERN, StrictModel
from miai.process.limits import ProcessLimits

NAME = NAME_PATTERN
"""Names are letters, digits and ``_ . + -``, no dot first: they become parts of file names."""

MAX_NAME = 40
"""Most characters of a player's name."""

MAX_PLAYERS = 1000
"""Most players of one tournament."""

Seed = Annotated[int, Field(ge=0, lt=2**63)]

MAX_GAMES = 1_000_000
"""Most games of one tournament."""

MOVE_DEADLINE = 300.0
"""Seconds that any move may take where the config sets no clock and no deadline: a hung agent must
not stop a tournament for good."""


class ConfigSection(StrictModel):
    """Base of the tables."""


class TournamentSection(ConfigSection):
    """``[tournament]``.

    Attributes:
      name: of the tournament, and of its folder below ``runs/``.
      seed: what every seed of the run derives from.
      rounds: pairs of games that each two players play: with R rounds everybody plays everybody
        2 R times, R times with each colour. Other formats may have numbers of their own.
      move_limit: plies after which a game is stopped; by default the game's own greatest length.
    """

    name: str = Field(pattern=NAME, max_length=80)
    seed: int = Field(default=0, ge=0, lt=2**63)
    rounds: int = Field(default=10, ge=1, le=MAX_GAMES)
    move_limit: int | None = Field(default=None, ge=1)


class ComponentSection(ConfigSection):
    """A named component with its parameters, which stand beside its name in the file."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, values: Any) -> Any:
        """Gather the keys that are no fields of the table under ``parameters``."""
        return _folded(values, cls)


def _folded(values: Any, model: type[BaseModel]) -> Any:
    if not isinstance(values, dict) or not isinstance(values.get("parameters", {}), dict):
        return values
    own = {key: value for key, value in values.items() if key in model.model_fields}
    rest = {key: value for key, value in values.items() if key not in model.model_fields}
    return {**own, "parameters": {**rest, **values.get("parameters", {})}}


class GameSection(ComponentSection):
    """``[game]``: the name of a game and its parameters."""


class FormatSection(ComponentSection):
    """``[format]``: the name of a format, a round-robin by default, and its parameters."""


class PlayerSection(ComponentSection):
    """``[[players]]``: a player's name, its agent, and the agent's parameters.

    Attributes:
      team: what it belongs to, for the report.
      seeds: makes a player of each, named ``name-s1`` and so on, with the agent's parameter
        ``seed`` where it has one.
    """

    name: str = Field(pattern=NAME, max_length=MAX_NAME)
    agent: str
    team: str | None = Field(default=None, pattern=NAME, max_length=MAX_NAME)
    seeds: tuple[Seed, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _seeds_differ(self) -> PlayerSection:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: one is given twice")
        return self


class TimeSection(ConfigSection):
    """``[time]``: the fields of `miai.clock.TimeControl`, in seconds."""

    kind: ControlKind = "none"
    seconds: float = Field(default=0.0, ge=0)
    increment: float = Field(default=0.0, ge=0)
    periods: int = Field(default=0, ge=0)
    period_seconds: float = Field(default=0.0, ge=0)
    margin: float = Field(default=0.1, ge=0)
    move_deadline: float | None = Field(default=None, gt=0)

    def control(self) -> TimeControl:
        """Return the time control. Raises `ConfigError` when the fields contradict each other."""
        values = self.model_dump()
        if self.kind == "none" and self.move_deadline is None:
            values["move_deadline"] = MOVE_DEADLINE
        return TimeControl(**values)


class BalanceSection(ConfigSection):
    """``[openings.balance]``: openings are to be near to equal; all other keys are parameters.

    Attributes:
      evaluator, search: what values them, a component; beside a search, an evaluator is the
        search's.
      within: the largest advantage of either player, in the game's utilities.
      tries: random openings that are drawn for a pair of games until one is balanced.
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
            raise ValueError("name an evaluator or a search")
        return self


class OpeningsSection(ConfigSection):
    """``[openings]``: what is played before the agents are asked; each pair shares one.

    Attributes:
      random_plies: uniformly random moves without passes, drawn from the pair's seed.
      file: a file of openings, relative to the config file. Round after round takes the next one.
      reader: what reads the file, a component of kind ``opening-reader``; by default the one of
        the file's suffix, else ``moves``, a line of moves an opening.
      order: of the file's openings: as they stand there, or drawn from the run's seed.
      start: which of them is the first, from 1.
      balance: what an opening must be worth.
      parameters: of the reader; with a file, all other keys of the table.
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
            raise ValueError("give random_plies or a file, not both")
        if self.file is None and (self.reader is not None or self.parameters):
            raise ValueError("a reader needs a file to read")
        if self.file is None and (self.order, self.start) != ("sequential", 1):
            raise ValueError("order and start are of a file's openings; name a file")
        if self.order == "random" and self.start != 1:
            raise ValueError("start means nothing where the order is random")
        if self.balance is not None and self.file is None and not self.random_plies:
            raise ValueError("balance needs random_plies or a file")
        return self


class RuleSection(ComponentSection):
    """``[[adjudication.rules]]``: the name of an adjudicator and its parameters."""


class AdjudicationSection(ConfigSection):
    """``[adjudication]``: rules that may end games before their end.

    Attributes:
      hold_out: share of the games, drawn by their seeds, that are played to their end all the
        same: the report tells how often the rules would have been wrong.
      rules: adjudicators in the order in which they are asked; the first verdict counts.
    """

    hold_out: float = Field(default=0.0, ge=0, le=1)
    rules: tuple[RuleSection, ...] = Field(default=(), max_length=16)

    @model_validator(mode="after")
    def _rules_differ(self) -> AdjudicationSection:
        names = [rule.name for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"rules: '{twice[0]}' is given twice")
        if self.hold_out and not names:
            raise ValueError(
                "hold_out means nothing without rules; add [[adjudication.rules]] with a name"
            )
        return self


class LimitsSection(ConfigSection):
    """``[limits]``: bounds of agents' processes, see `miai.process.limits.ProcessLimits`.

    Attributes:
      start_timeout: seconds that an agent may take to start.
      private: whether agents' processes are kept from reading what the run's folder holds and
        other agents' temporary files, where the system can do that.
    """

    output_bytes: int = Field(default=1 << 20, ge=1)
    frame_bytes: int = Field(default=1 << 18, ge=1)
    answer_bytes: int = Field(default=1 << 24, ge=1)
    new_game_seconds: float = Field(default=60.0, gt=0)
    end_seconds: float = Field(default=10.0, gt=0)
    close_seconds: float = Field(default=2.0, gt=0)
    memory: int | None = Field(default=None, ge=16, le=1 << 24)
    processors: int | None = Field(default=None, ge=1, le=4096)
    start_timeout: float = Field(default=60.0, gt=0)
    private: bool = True

    def limits(self, folder: Path | None = None) -> ProcessLimits:
        """Return the limits of an agent's process, in the run of a folder if there is one."""
        names = [field.name for field in fields(ProcessLimits) if field.name != "hidden"]
        hidden = (str(folder.absolute()),) if folder is not None and self.private else ()
        return ProcessLimits(hidden=hidden, **{name: getattr(self, name) for name in names})


class RunSection(ConfigSection):
    """``[run]``: how the games are played; nothing here changes a result.

    Attributes:
      executor: ``processes``; ``serial`` for one game after the other under the runner; or ``ray``.
      address: of a Ray cluster, ``HOST:PORT`` or ``ray://HOST:PORT``; ``local`` begins one here.
      store: of a new run, ``postgresql://USER@HOST:PORT/DATABASE``; by default a file in the
        folder.
      workers: worker processes; by default as many as there are processors.
      records: formats in which each game is also written to ``records/``.
      grace: seconds that running games are given to finish after Ctrl-C.
      game_deadline: seconds after which a worker is taken for hung and killed, its game void;
        by default never.
      warm_agents: agents' processes that a worker keeps between games.
    """

    executor: Literal["processes", "serial", "ray"] = "processes"
    address: str = Field(default="local", max_length=200)
    store: str | None = Field(default=None, max_length=2000)
    workers: int | None = Field(default=None, ge=1, le=1024)
    records: tuple[str, ...] = ()
    grace: float = Field(default=10.0, ge=0, le=86_400)
    game_deadline: float | None = Field(default=None, gt=0)
    warm_agents: int = Field(default=16, ge=2)

    def worker_count(self) -> int:
        """Return the number of workers, the default being the processors we may use."""
        return self.workers or available_processors()


def available_processors() -> int:
    """Return the number of processors that this process may run on."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class TournamentConfig(ConfigSection):
    """The whole file."""

    tournament: TournamentSection
    format: FormatSection = FormatSection(name="round-robin")
    game: GameSection
    time: TimeSection = TimeSection()
    openings: OpeningsSection = OpeningsSection()
    adjudication: AdjudicationSection = AdjudicationSection()
    limits: LimitsSection = LimitsSection()
    run: RunSection = RunSection()
    players: tuple[PlayerSection, ...] = Field(min_length=1, max_length=MAX_PLAYERS)
