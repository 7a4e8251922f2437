"""What the store holds of a run, of its players and of its games, as plain frozen objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["pending", "running", "done", "void", "surplus"]
"""What became of a game; a surplus one is not needed any more and counts nowhere, played or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What holds for the whole run.

    Attributes:
      name, seed, rounds: of the tournament; `rounds` colour-swapped pairs of games a pairing,
        unless `format` has a number of its own.
      game: name of the game component.
      game_version: `GameInfo.version` when the run was begun.
      game_parameters: all parameters, defaults included.
      time_control: the fields of `miai.clock.TimeControl`.
      move_limit: most plies of a game; None for the game's own length.
      created: when the run was begun, ISO 8601 in UTC.
      resolved: the whole config as it was understood, plain data.
      config_text: the config file as it was written.
      config_path: where it was, as it was named.
      format: its ``name`` and all its parameters; empty for a round-robin of earlier versions.
      facts: what the format told last: ``text``, a ``ranking``, a verdict, ``open`` while more
        games may follow; see docs/tournaments.md.
    """

    name: str
    seed: int
    rounds: int
    game: str
    game_version: int
    game_parameters: Mapping[str, Any] = field(default_factory=dict)
    time_control: Mapping[str, Any] = field(default_factory=dict)
    move_limit: int | None = None
    created: str = ""
    resolved: Mapping[str, Any] = field(default_factory=dict)
    config_text: str = ""
    config_path: str = ""
    format: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def given_game_parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the game that the config gives, in its order."""
        told: Any = self.resolved
        for key in ("config", "game", "parameters"):
            told = told.get(key) if isinstance(told, Mapping) else None
        return told if isinstance(told, Mapping) else {}

    def pairing_settings(self) -> list[Mapping[str, Any]]:
        """Return the parameters of the game that listed pairings have of their own, each once."""
        listed = self.format.get("pairings")
        found: list[Mapping[str, Any]] = []
        for pairing in listed if isinstance(listed, list) else ():
            settings = pairing.get("settings") if isinstance(pairing, Mapping) else None
            if isinstance(settings, Mapping) and settings and settings not in found:
                found.append(settings)
        return found

    def adjudication(self) -> Mapping[str, Any]:
        """Return the config's table of that name, defaults filled in; empty where none is told."""
        told: Any = self.resolved
        for key in ("results", "adjudication"):
            told = told.get(key) if isinstance(told, Mapping) else None
        return told if isinstance(told, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerRow:
    """One player.

    Attributes:
      name, agent: its own name, and its agent's.
      given, parameters: the agent's parameters as given, and with defaults.
      team: the team that it is in; empty for none.
    """

    name: str
    agent: str
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    team: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledGame:
    """A game to be played.

    Attributes:
      game_id: stable identity: the same game has the same in every run of the config.
      pair_id: shared by the two games of a colour-swapped pair.
      round: from 1.
      players: names in seat order; the first moves first.
      seed: shared by the pair.
      opening: actions that are played before the agents are asked.
      settings: parameters of the game that are other than the tournament's.
    """

    game_id: str
    pair_id: str
    round: int
    players: tuple[str, ...]
    seed: int
    opening: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameResult:
    """The outcome of a finished game.

    Attributes:
      returns: each player's utility, in seat order, as all that is per player.
      termination: why it ended, a value of `miai.record.Termination`.
      loser: seat of who resigned or forfeited; None otherwise.
      detail: the reason in words.
      moves: actions of players, the opening included.
      player_moves: decisions of each player.
      seconds, cpu_seconds: each player's wall and CPU time; CPU None where it was not measured.
      wall_seconds: of the whole game.
      started: ISO 8601 in UTC.
      versions: of the software involved.
    """

    returns: tuple[float, ...]
    termination: str
    loser: int | None = None
    detail: str = ""
    moves: int = 0
    player_moves: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float | None, ...] = ()
    wall_seconds: float = 0.0
    started: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRow(ScheduledGame):
    """A scheduled game and what became of it.

    `returns` and what follows is meaningful when `status` is ``done``, and when it is ``surplus``
    where `returns` is not empty; see `GameResult`.

    Attributes:
      status: pending, running, done, or void: its last attempt was void, it will be replayed; or
        surplus.
      void_count: attempts that were void, in all.
      void_reason: why the last of them was.
    """

    status: Status
    returns: tuple[float, ...] = ()
    termination: str = ""
    loser: int | None = None
    detail: str = ""
    moves: int = 0
    player_moves: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float | None, ...] = ()
    wall_seconds: float = 0.0
    started: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    void_count: int = 0
    void_reason: str = ""
