"""The rows of a tournament's store as frozen dataclasses: the run, its players and its games.

Their annotations say what a cell may contain; `miai_tournaments.store.row_checks` checks it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from miai.seeds import SEED_BITS

PAYOFFS: Final = "payoffs"
"""The table in `RunInfo.resolved` of a game whose results are payoffs."""

NAME: Final = r"[\w+~-][\w.+~-]{0,199}"
"""Players' names and identities of games, which become parts of file names."""

# Strict, since a cell of another type was not written by miai. Numbers are those that the database
# and JSON can hold: infinities and nan are not JSON.
Whole = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Ordinal = Annotated[int, Field(strict=True, ge=1, lt=2**63)]
Number = Annotated[float, Field(strict=True, ge=-1e300, le=1e300, allow_inf_nan=False)]
Duration = Annotated[float, Field(strict=True, ge=0, le=1e300, allow_inf_nan=False)]
Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, Field(strict=True, pattern=f"^{NAME}$")]


def _printable(word: str) -> str:
    if not word.isprintable():
        raise ValueError("should be printable")
    return word


Word = Annotated[str, Field(strict=True, min_length=1), AfterValidator(_printable)]


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("should have each name once")
    return names


GameStatus = Literal["pending", "running", "done", "void", "surplus", "missing"]
"""Status of a game; a surplus game is no longer needed and never counts, played or not.

A missing game was scheduled, but its row is gone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Facts of the whole run.

    Attributes:
      name, seed: name and seed of the tournament.
      rounds: colour-swapped pairs of games per pairing, unless `format` has its own number.
      game: name of the game component.
      game_version: `GameInfo.version` at the beginning of the run.
      game_parameters: all parameters, defaults included.
      time_control: fields of `miai.clock.TimeControl`.
      move_limit: maximum plies of a game; None for the game's own length.
      created: beginning of the run, ISO 8601 in UTC.
      resolved: the whole config with its defaults, as plain data.
      config_text, config_path: content and path of the config file.
      format: ``name`` and all parameters of the format.
      facts: latest facts of the format: ``text``, a ``ranking``, a verdict, ``open`` while more
        games may follow; see docs/tournaments.md.
      scheduled: number of rows of games; None if not recorded.
    """

    name: Name
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**SEED_BITS)]
    rounds: Ordinal
    game: Word
    game_version: Whole
    game_parameters: Mapping[str, Any] = field(default_factory=dict)
    time_control: Mapping[str, Any] = field(default_factory=dict)
    move_limit: Ordinal | None = None
    created: Text = ""
    resolved: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    config_text: Text = ""
    config_path: Text = ""
    format: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    scheduled: Whole | None = None

    def given_game_parameters(self) -> Mapping[str, Any]:
        """Return the game's parameters in the config, in its order."""
        return self._resolved("config", "game", "parameters")

    def isolation(self) -> str:
        """Return the level at which agents are isolated; empty if not recorded."""
        return str(self._resolved("isolation").get("level", ""))

    def payoff_bound(self) -> float | None:
        """Return the largest payoff of a game; None if games are won, drawn or lost."""
        bound = self._resolved(PAYOFFS).get("bound")
        return float(bound) if isinstance(bound, int | float) and 0 < bound < math.inf else None

    def adjudication(self) -> Mapping[str, Any]:
        """Return the config's table of that name with its defaults; empty if not recorded."""
        return self._resolved("results", "adjudication")

    def openings(self) -> Mapping[str, Any]:
        """Return the openings as of `Openings.to_plain`; empty if not recorded."""
        return self._resolved("results", "openings")

    def pairing_settings(self) -> list[Mapping[str, Any]]:
        """Return the different settings of listed pairings: their parameters of the game."""
        listed = self.format.get("pairings")
        different: list[Mapping[str, Any]] = []
        for pairing in listed if isinstance(listed, list) else ():
            settings = pairing.get("settings") if isinstance(pairing, Mapping) else None
            if isinstance(settings, Mapping) and settings and settings not in different:
                different.append(settings)
        return different

    def _resolved(self, *keys: str) -> Mapping[str, Any]:
        """Return a table within `resolved`; empty if it is absent or not a table."""
        value: Any = self.resolved
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerRow:
    """One player.

    Attributes:
      name, agent: names of the player and of its agent.
      given, parameters: the agent's parameters in the config, and with defaults.
      team: name of its team; empty for none.
    """

    name: Name
    agent: Word
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    team: Literal[""] | Name = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledGame:
    """A scheduled game.

    Attributes:
      game_id: stable identity, the same in every run of the config.
      pair_id: shared by the two games of a colour-swapped pair.
      round: from 1.
      players: names in seat order; the first moves first.
      seed: shared by the pair.
      opening: actions played before the agents move.
      settings: parameters of the game that differ from the tournament's.
    """

    game_id: Name
    pair_id: Name
    round: Ordinal
    players: Annotated[tuple[Name, ...], Field(min_length=2), AfterValidator(_different)]
    seed: Whole
    opening: tuple[Whole, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)  # without slots, so that `GameRow` can have two bases
class GameResult:
    """The outcome of a finished game.

    Attributes:
      returns: utilities of the players in seat order, as in all fields by player.
      termination: how it ended, a value of `miai.record.Termination`.
      loser: seat of the player who resigned or forfeited; None otherwise.
      detail: the reason in words.
      moves: number of the players' actions, including the opening.
      player_moves: decisions of each player.
      seconds, cpu_seconds: wall and CPU time of each player; CPU time None if not measured.
      wall_seconds: duration of the game.
      started: beginning of the game, ISO 8601 in UTC.
      versions: versions of the packages involved.
    """

    returns: tuple[Number, ...]
    termination: Text
    loser: Whole | None = None
    detail: Text = ""
    moves: Whole = 0
    player_moves: tuple[Whole, ...] = ()
    seconds: tuple[Duration, ...] = ()
    cpu_seconds: tuple[Duration | None, ...] = ()
    wall_seconds: Duration = 0.0
    started: Text = ""
    versions: Mapping[str, Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRow(ScheduledGame, GameResult):
    """A scheduled game with its status and result.

    The result is valid if `status` is ``done``, or ``surplus`` with non-empty `returns`.

    Attributes:
      status: pending, running, done, surplus, or void: the last attempt failed and is repeated.
      void_count: total number of void attempts.
      void_reason: reason of the last of them.
    """

    status: GameStatus
    returns: tuple[Number, ...] = ()
    termination: Text = ""
    void_count: Whole = 0
    void_reason: Text = ""
