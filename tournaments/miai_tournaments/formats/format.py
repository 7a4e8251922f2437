"""Formats decide which players meet next, from the scores so far.

A format knows only names and scores: no seeds of games, no openings, no store. A score is 1 for a
win, half a point for a draw and 0 for a loss; where results are payoffs, such as chips, it is the
payoff. It is asked for
pairings at the start and again whenever enough of them are complete. Its answer depends only on
the entrants, its parameters and the scores in the order of its pairings, so the same results always
lead to the same tournament, whatever the speed of the workers and the interruptions of the run.

A plugin adds a format as a component of kind ``tournament-format``: a class derived from `Format`,
called with the `Entrants` and the filled parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from miai.errors import ParameterError, near_matches
from miai.pages.document import counted

Colours = Literal["swap", "fixed", "random"]
"""Who has which seat, in a game of two who moves first. ``swap``: as many games as players, with
the same seed and opening, in which the players move round the table, so that each has every seat
once; in the first game the one whose name comes first in alphabetical order has the first.
``fixed``: one game, seats in the order of the names; ``random``: one game, drawn from its seed."""

MOST_SEATS: Final = 12
"""Maximum number of players of a game: ratings consider all 2^n sets of players who may tie."""


def games_of(colours: Colours, *, seats: int) -> int:
    """Return the number of games of a pairing of some players."""
    return seats if colours == "swap" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrants:
    """The participants.

    Attributes:
      players: names, in the order of the config, which is the order of seeding.
      rounds: ``tournament.rounds``, for formats without their own number.
      seed: seed of the run, for random decisions of the format.
      teams: team by player, for players in a team.
      payoff_bound: largest payoff of a game; None where games are won, drawn or lost.
      seats: number of players of a game.
    """

    players: tuple[str, ...]
    rounds: int = 1
    seed: int = 0
    teams: Mapping[str, str] = field(default_factory=dict)
    payoff_bound: float | None = None
    seats: int = 2

    @property
    def shared(self) -> float:
        """Return the points that the players of a game share: 1, or 0 where results are payoffs."""
        return 1.0 if self.payoff_bound is None else 0.0

    def refuse_unknown(self, name: str, where: str) -> None:
        """Raise `ParameterError` unless a player has this name; `where` is its path."""
        if name not in self.players:
            known = near_matches(name, self.players)
            raise ParameterError(f"{where}: no player is called '{name}'. {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The players of a game, who will meet in one game or in a block of games with swapped seats.

    Attributes:
      first, second: names; `colours` decides who moves first.
      others: further names, in a game of more than two players.
      round: from 1; games are played in the order of rounds.
      opening: number of the opening in a file, from 1; 0 for the round's number.
      settings: parameters of the game that differ from the tournament's, such as komi.
    """

    first: str
    second: str
    round: int
    others: tuple[str, ...] = ()
    opening: int = 0
    colours: Colours = "swap"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def players(self) -> tuple[str, ...]:
        """All names."""
        return (self.first, self.second, *self.others)


@dataclass(slots=True)
class Meeting:
    """A scheduled pairing and its scores.

    Attributes:
      pairing: the pairing.
      scores: points of each of `Pairing.players` in each of its games; None until the game is
        played. A win is 1, a draw 0.5, a loss 0, with more players the mean over the opponents; a
        payoff is the excess over the mean return of all players, for two half the difference of
        their returns.
    """

    pairing: Pairing
    scores: list[tuple[float, ...] | None]

    @property
    def complete(self) -> bool:
        """Whether all its games are played."""
        return None not in self.scores

    @property
    def points(self) -> float:
        """Points of `Pairing.first` in the played games."""
        return self.points_of(self.pairing.first)

    def points_of(self, name: str) -> float:
        """Return the points of one of the players in the played games."""
        place = self.pairing.players.index(name)
        return sum(scores[place] for scores in self.scores if scores is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatStep:
    """The answer of a format.

    Attributes:
      pairings: new pairings, which follow the earlier ones.
      finished: whether this is the last answer.
      counted: number of meetings that count, from the first one on; None for all. The others are
        surplus: they are no longer needed and never count.
      ask_after: number of meetings, from the first one on, after which to ask again; None for all.
      facts: current facts of the tournament as plain data; ``text`` is a line for people.
    """

    pairings: Sequence[Pairing] = ()
    finished: bool = False
    counted: int | None = None
    ask_after: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """Variants of one player: the same agent with other parameters.

    Attributes:
      player: name of the player whom they replace, and of their team.
      values: the changed parameters of each variant.
    """

    player: str
    values: Sequence[Mapping[str, Any]]


class Format(ABC):
    """Base class of formats, constructed from the entrants and the parameters.

    The constructor raises `ParameterError`, each line beginning with the path ``format.x``, if the
    parameters do not suit the entrants.

    Attributes:
      static: whether all pairings are known from the start, so that `more` is called once.
      exact: whether exactly `most_games` games are played, not fewer.
      any_seats: whether it knows games of more than two players, `Entrants.seats` of them.
      takes_rounds: whether the format uses ``tournament.rounds``.
      may_gain_players: whether a run can be extended by players; then existing pairings must stay
        unchanged and come before new ones of the same two players.
      may_grow: numeric parameters that can be raised to extend a run, on the same condition.
    """

    static: ClassVar[bool] = False
    exact: bool = True
    any_seats: ClassVar[bool] = False
    takes_rounds: ClassVar[bool] = False
    may_gain_players: bool = False
    may_grow: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def variants(cls, parameters: Any, *, seed: int) -> Variants | None:  # noqa: ARG003 - see Sweep
        """Return the variants of a player; None to use the players of the config.

        Args:
          parameters: parameters of the component.
          seed: seed of the run.
        """
        return None

    @abstractmethod
    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the next pairings.

        Args:
          played: all earlier pairings in their order, some still without scores.
          room: number of games that could be played at once. Only how far the schedule runs ahead
            may depend on it, not what counts.
        """

    @abstractmethod
    def most_games(self) -> int:
        """Return the maximum number of games that count."""

    @abstractmethod
    def title(self) -> str:
        """Return a short description."""

    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return all settings of pairings, by their path in the config."""
        return {}


def refuse_few(entrants: Entrants, what: str) -> None:
    """Raise `ParameterError` if there are fewer players than a game has."""
    if len(entrants.players) < entrants.seats:
        least = "two" if entrants.seats == 2 else entrants.seats
        raise ParameterError(f"format: a {what} needs at least {least} players; add some")


MOST = 1_000_000
"""Maximum number of rounds, pairs and the like; the number of games is limited separately."""


def by_round(meetings: Iterable[Meeting]) -> defaultdict[int, list[Meeting]]:
    """Return meetings by their round."""
    rounds = defaultdict[int, list[Meeting]](list)
    for meeting in meetings:
        rounds[meeting.pairing.round].append(meeting)
    return rounds


def points_by_player(meetings: Iterable[Meeting]) -> Mapping[str, float]:
    """Return the points of each player in meetings."""
    points = defaultdict[str, float](float)
    for meeting in meetings:
        for name in meeting.pairing.players:
            points[name] += meeting.points_of(name)
    return points


def how_many(built: Format) -> str:
    """Return the number of games in words."""
    count = built.most_games()
    return counted(count, "game") if built.exact else f"at most {counted(count, 'game')}"
