"""Formats: they decide who meets whom next, from the scores so far.

A format knows names and scores and nothing else: no seeds of games, no openings, no store. It is
asked for pairings at the start and again whenever enough of them are complete, and its answer
depends on nothing but the entrants, its parameters and the scores, all in the order in which it
gave the pairings out. So the same results always lead to the same tournament, whichever worker
was faster and however often the run was interrupted; to resume is to ask again.

A plugin adds a format as a component of kind ``tournament-format``: a class derived from `Format`,
called with the `Entrants` and the filled parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from miai.errors import ParameterError, near_matches
from miai.parameters import Parameters, parameter
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai_tournaments.formats import FORMAT
from miai_tournaments.store.rows import PlayerRow

Colours = Literal["swap", "fixed", "random"]
"""Who moves first: ``swap``: two games with the same seed and opening, each player first once;
``fixed``: one game, the first named moves first; ``random``: one game, drawn from its seed."""

GAMES: Mapping[Colours, int] = {"swap": 2, "fixed": 1, "random": 1}
"""Games of a pairing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrants:
    """Who takes part.

    Attributes:
      players: names, in the order of the config, which is the order of seeding.
      rounds: ``tournament.rounds``, for formats that have no number of their own.
      seed: of the run, for what a format draws by lot.
      teams: the team of each player who is in one.
    """

    players: tuple[str, ...]
    rounds: int = 1
    seed: int = 0
    teams: Mapping[str, str] = field(default_factory=dict)

    def refuse_unknown(self, name: str, where: str) -> None:
        """Raise `ParameterError` when nobody is called so; `where` is the path of the name."""
        if name not in self.players:
            known = near_matches(name, self.players)
            raise ParameterError(f"{where}: no player is called '{name}'. {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two players who are to meet, in one game or in a colour-swapped pair of games.

    Attributes:
      first, second: names; which of them moves first is up to `colours`.
      round: from 1; games are played in its order.
      opening: which opening of a file, from 1; 0 for that of the round's number.
      settings: parameters of the game that are other than the tournament's, komi say.
    """

    first: str
    second: str
    round: int
    opening: int = 0
    colours: Colours = "swap"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Meeting:
    """A pairing that was given out, and its scores.

    Attributes:
      pairing: the pairing.
      scores: for each of its games 1, 0.5 or 0, of the view of `Pairing.first`; None while it is
        not played.
    """

    pairing: Pairing
    scores: list[float | None]

    @property
    def complete(self) -> bool:
        """Whether all of its games are played."""
        return None not in self.scores

    @property
    def points(self) -> float:
        """Points of `Pairing.first` in the games that are played."""
        return sum(score for score in self.scores if score is not None)

    def points_of(self, name: str) -> float:
        """Return the points of either player in a complete meeting."""
        return self.points if name == self.pairing.first else len(self.scores) - self.points


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatStep:
    """What a format answers.

    Attributes:
      pairings: to be played from now on, after those that were given out before.
      finished: whether this was the last answer: nothing is added and nothing left to be judged.
      counted: how many of the meetings count, from the first one on; None for all. What lies
        beyond is surplus: it is not played any more, and counts nowhere where it was.
      ask_after: ask again as soon as so many meetings, from the first one on, are complete; None
        for all of them.
      facts: what is to be told of the tournament as it stands, plain data; ``text`` is a line for
        people.
    """

    pairings: Sequence[Pairing] = ()
    finished: bool = False
    counted: int | None = None
    ask_after: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """Players that a format makes of one: the same agent with other parameters.

    Attributes:
      player: name of that one, in whose place they play, as a team of its name.
      values: the parameters that each of them has instead.
    """

    player: str
    values: Sequence[Mapping[str, Any]]


class Format(ABC):
    """Base of the formats; made from the entrants and the parameters of the component.

    The constructor raises `ParameterError`, each line beginning with the path ``format.x``, when
    the parameters do not suit the entrants.

    Attributes:
      static: whether all pairings are known from the start, and `more` is asked but once.
      exact: whether exactly `most_games` are played, not fewer.
      takes_rounds: whether ``tournament.rounds`` means something to it.
      may_gain_players: whether a run may be extended by players; then no pairing that was given
        out may change or move behind a new one of the same two players.
      may_grow: numbers among its parameters that a run may be extended by raising, likewise.
    """

    static: ClassVar[bool] = False
    exact: bool = True
    takes_rounds: ClassVar[bool] = False
    may_gain_players: ClassVar[bool] = False
    may_grow: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def variants(cls, parameters: Any, *, seed: int) -> Variants | None:  # noqa: ARG003 - see Sweep
        """Return the players to be made of one; None where those of the config play.

        Args:
          parameters: of the component, filled.
          seed: of the run.
        """
        return None

    @abstractmethod
    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return what is to be played next.

        Args:
          played: every pairing that was given out, in that order, some still without scores.
          room: games that could be played at once. How far the schedule runs ahead may depend on
            it; what counts may not.
        """

    @abstractmethod
    def most_games(self) -> int:
        """Return the greatest number of games that count."""

    @abstractmethod
    def title(self) -> str:
        """Return what is played, in a few words."""

    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return all settings that pairings may have, by their path in the config."""
        return {}


class StaticFormat(Format):
    """A format whose pairings are all known from the start."""

    static = True

    @abstractmethod
    def pairings(self) -> Iterable[Pairing]:
        """Return all pairings."""

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return all pairings."""
        return FormatStep(pairings=list(self.pairings()), finished=True)


def refuse_few(entrants: Entrants, what: str) -> None:
    """Raise `ParameterError` when there are not two players."""
    if len(entrants.players) < 2:
        raise ParameterError(f"format: a {what} needs two players or more; add some")


MOST = 1_000_000
"""Most rounds, pairs and the like: the bound on all games is checked besides."""


class RoundsParameters(Parameters):
    """Parameters of a format in rounds."""

    rounds: int | None = parameter(
        None, ge=1, le=MOST, help="Number of rounds (default: tournament.rounds)", unit="rounds"
    )

    def count(self, entrants: Entrants) -> int:
        """Return the number of rounds."""
        return entrants.rounds if self.rounds is None else self.rounds


def told_rounds(count: int) -> str:
    """Return a number of rounds in words."""
    return f"{count} round{'s' * (count != 1)}"


def format_component(name: str) -> Component[Format]:
    """Return the component of a format. Raises `UnknownComponentError`."""
    return registry().get(FORMAT, name)


def build_format(
    name: str,
    parameters: Mapping[str, Any],
    players: Sequence[PlayerRow],
    *,
    rounds: int,
    seed: int,
) -> Format:
    """Return the format of a tournament.

    Args:
      name: of the component.
      parameters: as given.
      players: in the order of the config.
      rounds: ``tournament.rounds``.
      seed: of the run.

    Raises:
      MiaiError: there is no such format, its parameters are wrong or do not suit the players, or
        its plugin is broken.
    """
    component = format_component(name)
    entrants = Entrants(
        players=tuple(player.name for player in players),
        rounds=rounds,
        seed=seed,
        teams={player.name: player.team for player in players if player.team},
    )
    return component.build(entrants, values=parameters, where="format")


def how_many(built: Format) -> str:
    """Return the number of games in words."""
    most = built.most_games()
    games = f"{most} game{'s' * (most != 1)}"
    return games if built.exact else f"at most {games}"
