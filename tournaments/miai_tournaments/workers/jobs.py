"""Jobs and outcomes of executors; all of it is plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from pydantic import TypeAdapter

from miai_tournaments.store.rows import GameResult

Fault = Literal["", "unavailable", "worker", "defect"]
"""Why a job has no result: an agent could not be started, the worker died or hung, or anything but
an agent raised an exception."""


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


class PlainData:
    """Base of dataclasses that cross between processes."""

    __slots__ = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        values: dict[str, Any] = _adapter(type(self)).dump_python(self)
        return values

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_plain` wrote, also after JSON. Raises `ValueError` if malformed."""
        item: Self = _adapter(cls).validate_python(values)
        return item


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(PlainData):
    """What all jobs of a run share; sent to each worker once.

    Attributes:
      game, game_parameters: the game component and its parameters.
      agents: for each player's name, ``(agent, parameters)``.
      time_control: the fields of `miai.clock.TimeControl`.
      move_limit: maximum plies of a game; None for the game's own length.
      limits: the fields of `miai.process.sandbox.ProcessLimits`.
      start_timeout: maximum seconds for an agent's start.
      warm_agents: maximum number of agents' processes that a worker keeps.
      logs: folder for agents' logs, with a folder for each game; None for none.
      rules: adjudicators by name with their parameters, in the order in which they are asked.
      hold_out: share of games that no adjudicator ends.
      record_policies: whether records hold the policies that players state.
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
    record_policies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GameJob(PlainData):
    """A game to play, or agents to start.

    Attributes:
      job_id: the game's id, or another name.
      kind: ``game``: play it; ``start``: only start the players' agents.
      players: names in seat order.
      seed: of the game.
      seeds: of the players.
      opening: actions that the referee plays first.
      settings: parameters of the game that differ from the setup's.
      tags: for the record.
    """

    job_id: str
    kind: Literal["game", "start"]
    players: tuple[str, ...]
    seed: int = 0
    seeds: tuple[int, ...] = ()
    opening: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome(PlainData):
    """The outcome of a job.

    Attributes:
      job_id: of the job.
      result: of a game; None without one.
      record: the game's record as JSON lines; empty without a result.
      fault: why it failed; empty if it did not.
      reason: the same in words.
      seconds: wall time of the work.
      standstill: seconds for which the worker stood still while the clock of a player ran that then
        failed to answer in time.
    """

    job_id: str
    result: GameResult | None = None
    record: str = ""
    fault: Fault = ""
    reason: str = ""
    seconds: float = 0.0
    standstill: float = 0.0
