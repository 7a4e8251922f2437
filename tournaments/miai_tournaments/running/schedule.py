"""The director: asks the format what comes next, and keeps what it is to know of the games.

What is to be played: a config's format with all it needs, or that of a store.

From pairings to games: their identities, seeds and openings.

A game's identity and seed come from the names of the things that it is made of: the run's seed,
the two players' identities and how often the two have met. Positions in a list play no part, so a
run that gains players or rounds keeps every game that it had.

The openings of a run that was begun, from its store; every value is checked where it is read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from miai.errors import MiaiError, StoreError
from miai.game import Game
from miai.parameters import explain
from miai.playing.openings import Opening
from miai.seeds import derive_seed
from miai_tournaments.config.balance import check_balance
from miai_tournaments.config.extension import resolve, resolved_format
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.openings import Openings, told_lines, with_settings
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.format import (
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    build_format,
)
from miai_tournaments.formats.round_robin import RoundRobin, RoundRobinParameters
from miai_tournaments.store.database import damaged
from miai_tournaments.store.reading import is_int, is_list, is_number
from miai_tournaments.store.rows import PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import FILE_NAME, Store


def identity(player: PlayerRow) -> str:
    """Return what makes a player the same: its name, its agent and all its parameters."""
    return json.dumps(
        [player.name, player.agent, player.parameters], sort_keys=True, separators=(",", ":")
    )


class Draw:
    """Makes games of pairings, which it is given in schedule order.

    The pair of games for which two players meet for the n-th time has the same identity and seed
    in every format.

    Args:
      players: all of them.
      seed: of the run.
      openings: where the games' openings come from.
      drawn: random openings that are known already, by the identity of their pair.
    """

    def __init__(
        self,
        players: Sequence[PlayerRow],
        *,
        seed: int,
        openings: Openings,
        drawn: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._identities = {player.name: identity(player) for player in players}
        self._seed = seed
        self._openings = {"{}": openings}
        self._drawn = drawn or {}
        self._met: Counter[tuple[str, str]] = Counter()

    def games(self, pairing: Pairing) -> list[ScheduledGame]:
        """Return the games of a pairing: two with the same seed and opening, or one."""
        one, other = sorted((pairing.first, pairing.second))
        self._met[one, other] += 1
        number = self._met[one, other]
        known = self._identities
        pair_seed = derive_seed(self._seed, "pair", known[one], known[other], number)
        pair_id = f"{one}~{other}~{number:04}"
        opening = self._opening(pairing, pair_id, pair_seed)
        return [
            ScheduledGame(
                game_id=pair_id + suffix,
                pair_id=pair_id,
                round=pairing.round,
                players=seats,
                seed=pair_seed,
                opening=opening.actions,
                settings={**pairing.settings, **opening.settings},
            )
            for suffix, seats in zip("ab", _seats(pairing, one, other, pair_seed), strict=False)
        ]

    def _opening(self, pairing: Pairing, pair_id: str, pair_seed: int) -> Opening:
        if pair_id in self._drawn:
            return Opening(self._drawn[pair_id])
        key = json.dumps(pairing.settings, sort_keys=True)
        if key not in self._openings:
            self._openings[key] = with_settings(self._openings["{}"], pairing.settings)
        return self._openings[key].opening(pairing.opening or pairing.round, pair_seed)


def _seats(pairing: Pairing, one: str, other: str, seed: int) -> tuple[tuple[str, str], ...]:
    """Return the players of each game in seat order."""
    if pairing.colours == "swap":
        return (one, other), (other, one)
    if pairing.colours == "fixed":
        return ((pairing.first, pairing.second),)
    return ((one, other) if derive_seed(seed, "colours") % 2 else (other, one),)


def round_robin(
    players: Sequence[PlayerRow], *, rounds: int, seed: int, openings: Openings
) -> Iterator[ScheduledGame]:
    """Yield the games of a round-robin, round by round.

    In each round every two players play a colour-swapped pair: two games with the same seed and
    the same opening, the first move once for each.
    """
    draw = Draw(players, seed=seed, openings=openings)
    entrants = Entrants(players=tuple(player.name for player in players), rounds=rounds)
    for pairing in RoundRobin(entrants, RoundRobinParameters()).pairings():
        yield from draw.games(pairing)


def player_seed(game: ScheduledGame, name: str) -> int:
    """Return the seed of a player in a game: the same in both games of a pair."""
    return derive_seed(game.seed, "player", name)


class Director:
    """Leads a tournament from its beginning, however much of it is played already.

    Everything it decides follows from the format and the scores. So a run is resumed by leading
    it from its beginning again, with the scores that the store has: `advance` then returns all
    games up to now that are needed, those of the store among them.

    Args:
      scores: returns of games that are played, by identity.

    Attributes:
      finished: whether nothing is added any more, whatever comes.
      facts: what the format told last; with ``open``, which is true, as long as more games may
        follow.
      surplus: identities of the games that are not needed any more.
    """

    def __init__(
        self, format_: Format, draw: Draw, *, scores: Mapping[str, Sequence[float]] | None = None
    ) -> None:
        self._format = format_
        self._draw = draw
        self._scores = dict(scores or {})
        self._meetings: list[Meeting] = []
        self._places: dict[str, tuple[Meeting, int, bool]] = {}
        self._groups: list[list[str]] = []
        self._complete = 0
        self._ask_after: int | None = None
        self.finished = False
        self.facts: Mapping[str, Any] = {}
        self.surplus: frozenset[str] = frozenset()

    def note(self, game_id: str, returns: Sequence[float]) -> None:
        """Take note of a game that was played."""
        if game_id in self._places:
            meeting, number, swapped = self._places[game_id]
            own, theirs = returns[::-1] if swapped else returns
            meeting.scores[number] = 0.5 if own == theirs else float(own > theirs)

    def advance(self, *, room: int) -> list[ScheduledGame]:
        """Ask the format as long as it has something to say; return the games to be played.

        Args:
          room: games that could be played at once.

        Raises:
          MiaiError: the format waits for nothing, or broke.
        """
        games: list[ScheduledGame] = []
        while self._due():
            step = self._ask(max(room, len(self._scores)))
            games += self._take(step)
            if not step.pairings and self._due():
                raise MiaiError(f"the format ({self._format.title()}) waits for no game: a defect")
        return [game for game in games if game.game_id not in self.surplus]

    def knows(self, game_id: str) -> bool:
        """Return whether a game was scheduled up to now, surplus or not."""
        return game_id in self._places

    def _due(self) -> bool:
        while self._complete < len(self._meetings) and self._meetings[self._complete].complete:
            self._complete += 1
        enough = len(self._meetings) if self._ask_after is None else self._ask_after
        return not self.finished and self._complete >= min(enough, len(self._meetings))

    def _ask(self, room: int) -> FormatStep:
        try:
            return self._format.more(self._meetings, room=room)
        except MiaiError:
            raise
        except Exception as error:  # a plugin's own code
            raise MiaiError(
                f"the format ({self._format.title()}) failed: {type(error).__name__}: {error}; a "
                "defect of its plugin"
            ) from error

    def _take(self, step: FormatStep) -> list[ScheduledGame]:
        self.finished, self._ask_after = step.finished, step.ask_after
        self.facts = step.facts if step.finished else {**step.facts, "open": True}
        games: list[ScheduledGame] = []
        for pairing in step.pairings:
            added = self._draw.games(pairing)
            meeting = Meeting(pairing, [None] * len(added))
            self._meetings.append(meeting)
            self._groups.append([game.game_id for game in added])
            for number, game in enumerate(added):
                self._places[game.game_id] = meeting, number, game.players[0] != pairing.first
            games += added
        self._recall(games)
        if step.counted is not None:
            self.surplus = frozenset(
                game_id for group in self._groups[step.counted :] for game_id in group
            )
        return games

    def _recall(self, games: Iterable[ScheduledGame]) -> None:
        for game in games:
            if game.game_id in self._scores:
                self.note(game.game_id, self._scores[game.game_id])


JUDGED: Final = "openings"
"""The key of `RunInfo.resolved` that tells which lines of a file were found to be balanced."""


def stored_openings(info: RunInfo, config: TournamentConfig, game: Game, folder: Path) -> Openings:
    """Return the openings of a run.

    Raises:
      StoreError: the store does not tell them.
      MiaiError: what balances them is not there any more.
    """
    results: Any = info.resolved.get("results")
    told = results.get("openings") if isinstance(results, Mapping) else None
    lines = told_lines(told) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or lines is None or not is_int(told.get("random_plies")):
        raise _damaged(folder, "value has no openings")
    found = Openings(game, told["random_plies"], lines)
    if config.openings.balance is not None:
        found = replace(found, balance=check_balance(config.openings.balance, game))
    return with_judgement(found, info, folder)


def with_judgement(openings: Openings, info: RunInfo, folder: Path) -> Openings:
    """Return openings with what a store tells of the balance of their lines.

    Raises:
      StoreError: it tells of other lines, or of none where they are balanced.
    """
    if openings.balance is None or not openings.lines:
        return openings
    told = info.resolved.get(JUDGED, {})
    kept, values = told.get("kept"), told.get("values")
    if not is_list(kept, is_int) or not is_list(values, is_number) or len(kept) != len(values):
        raise _damaged(folder, "value does not tell which openings are balanced")
    if not kept or max(kept) >= len(openings.lines):
        raise _damaged(folder, "value tells of other openings")
    return replace(openings, kept=tuple(kept), values=tuple(values))


def _damaged(folder: Path, what: str) -> StoreError:
    return damaged(folder / FILE_NAME, f"table run, row 'resolved': {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentPlan:
    """A format, and what its pairings are made into games with."""

    format: Format
    players: Sequence[PlayerRow]
    seed: int
    openings: Openings

    def director(
        self,
        scores: Mapping[str, Sequence[float]] | None = None,
        *,
        drawn: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Director:
        """Return what leads the tournament; see `Director`, and `Draw` for `drawn`."""
        draw = Draw(self.players, seed=self.seed, openings=self.openings, drawn=drawn)
        return Director(self.format, draw, scores=scores)

    def continued(
        self, store: Store, *, extended: bool
    ) -> tuple[Director | None, list[ScheduledGame]]:
        """Return the director of a run that was begun, and the games that its store lacks.

        There is no director where all games are in the store and known from the start.

        Args:
          extended: whether there may be more games than when it was begun.

        Raises:
          StoreError: the store has a game that the format does not know.
        """
        if self.format.static and not extended:
            return None, []
        known = store.identities()
        if self.format.static and len(known) == self.format.most_games():
            return None, []
        dear = self.openings.random_plies and self.openings.balance is not None
        director = self.director(
            {} if self.format.static else store.scores(), drawn=store.openings() if dear else None
        )
        games = director.advance(room=len(known))
        unknown = [game_id for game_id in known if not director.knows(game_id)]
        if unknown:
            raise StoreError(
                f"{store.path}: holds games that its format ({self.format.title()}) does not lead "
                f"to, '{min(unknown)}' say; continue with the version of miai that began the run, "
                "or start anew in another folder"
            )
        return director, [game for game in games if game.game_id not in known]


def run_info(tournament: Tournament) -> RunInfo:
    """Return what a store tells of the run of a tournament."""
    config, section = tournament.config, tournament.config.tournament
    judgement = tournament.openings.judgement()
    format_ = resolved_format(config)
    own = format_.get("rounds") or format_.get("pairs")
    return RunInfo(
        name=section.name,
        seed=section.seed,
        rounds=own if isinstance(own, int) else section.rounds,
        game=tournament.game.info.name,
        game_version=tournament.game.info.version,
        game_parameters=tournament.game_parameters(),
        time_control=asdict(config.time.control()),
        move_limit=section.move_limit,
        resolved={
            "config": config.model_dump(mode="json"),
            "results": resolve(tournament),
            **({JUDGED: judgement} if judgement else {}),
        },
        config_text=tournament.text,
        config_path=tournament.source,
        format=format_,
    )


def extend(store: Store, tournament: Tournament, games: Sequence[ScheduledGame]) -> None:
    """Add games to a store, and write what a longer config says that continues its run."""
    before, info = store.info(), run_info(tournament)
    if games or before.resolved.get("results") != info.resolved["results"]:
        info = replace(info, created=before.created, facts=before.facts)
        store.extend(info, tournament.players, games)


def stored_config(info: RunInfo, folder: Path) -> TournamentConfig:
    """Return the config that a run was begun with. Raises `StoreError` when it is none."""
    try:
        return TournamentConfig.model_validate(info.resolved.get("config"))
    except ValidationError as error:
        wrong = explain(error.errors()[0], TournamentConfig, "config")
        raise _not_understood(folder, wrong) from error


def stored_format(config: TournamentConfig, players: Sequence[PlayerRow], folder: Path) -> Format:
    """Return the format of a run. Raises `StoreError` when it is not what was begun."""
    section = config.format
    try:
        return build_format(
            section.name,
            section.parameters,
            players,
            rounds=config.tournament.rounds,
            seed=config.tournament.seed,
        )
    except MiaiError as error:
        raise _not_understood(folder, " ".join(str(error).split())) from error


def _not_understood(folder: Path, wrong: str) -> StoreError:
    return StoreError(
        f"{folder / FILE_NAME}: its config is not understood by this version of miai; use the "
        f"version that began the run ({wrong})"
    )
