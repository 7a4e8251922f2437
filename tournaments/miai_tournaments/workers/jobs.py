"""What executors carry: jobs to whoever plays them, outcomes back. All of it is plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from miai_tournaments.store.rows import GameResult

Fault = Literal["", "unavailable", "worker", "defect"]
"""Why a job has no result: an agent could not be started, the worker died or hung, or something
that is no agent raised an exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What all jobs of a run share; sent to each worker once.

    Attributes:
      game, game_parameters: the game component and its parameters as given.
      agents: for each player's name, ``(agent, parameters as given)``.
      time_control: the fields of `miai.clock.TimeControl`.
      move_limit: most plies of a game; None for the game's own length.
      limits: the fields of `miai.process.limits.ProcessLimits`.
      start_timeout: seconds that an agent may take to start.
      warm_agents: agents' processes that a worker keeps.
      logs: folder for agents' logs, one folder a game; None for none.
      rules: adjudicators by name with their parameters as given, in the order in which they are
        asked.
      hold_out: share of the games that no adjudicator ends.
    """

    game: str
    game_parameters: Mapping[str, Any]
    agents: Mapping[str, tuple[str, Mapping[str, Any]]]
    time_control: Mapping[str, Any]
    move_limit: int | None
    limits: Mapping[str, Any]
    start_timeout: float
    warm_agents: int
    logs: str | None
    rules: Sequence[tuple[str, Mapping[str, Any]]] = ()
    hold_out: float = 0.0

    def to_plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return _shallow(self)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_plain` wrote."""
        agents = {name: (agent, given) for name, (agent, given) in values["agents"].items()}
        rules = [(name, given) for name, given in values["rules"]]
        return cls(**{**values, "agents": agents, "rules": rules})


@dataclass(frozen=True, slots=True, kw_only=True)
class GameJob:
    """One piece of work.

    Attributes:
      job_id: the game's id, or what names the work.
      kind: ``game``: play it; ``start``: have the agents of the players begin a game, no more.
      players: names in seat order.
      seed: of the game.
      seeds: of the players.
      opening: actions that the referee plays first.
      settings: parameters of the game that are other than the setup's.
      tags: what the organiser adds to the record.
    """

    job_id: str
    kind: Literal["game", "start"]
    players: tuple[str, ...]
    seed: int = 0
    seeds: tuple[int, ...] = ()
    opening: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return _shallow(self)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_plain` wrote."""
        lists = {name: tuple(values[name]) for name in ("players", "seeds", "opening")}
        return cls(**{**values, **lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a job.

    Attributes:
      job_id: of the job.
      result: of a game; None when there is none.
      record: the game's record as JSON lines; empty without a result.
      fault: why there is no result; empty when all went well.
      reason: the same in words.
      seconds: wall time of the work.
    """

    job_id: str
    result: GameResult | None = None
    record: str = ""
    fault: Fault = ""
    reason: str = ""
    seconds: float = 0.0

    def to_plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        result = None if self.result is None else _shallow(self.result)
        return {**_shallow(self), "result": result}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_plain` wrote."""
        result = values["result"]
        if result is not None:
            lists = ("returns", "player_moves", "seconds", "cpu_seconds")
            result = GameResult(**{**result, **{name: tuple(result[name]) for name in lists}})
        return cls(**{**values, "result": result})


def _shallow(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass; unlike `dataclasses.asdict` nothing is copied."""
    return {name: getattr(item, name) for name in item.__dataclass_fields__}
