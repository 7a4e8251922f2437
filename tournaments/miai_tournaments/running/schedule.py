"""The schedule: asks the format for pairings and makes games of them.

A game's identity and seed derive from names: the run's seed, the players' identities and the
number of their meeting. Positions in a list play no part, so a run that gains players or rounds
keeps the games it had.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import factorial
from string import ascii_lowercase
from typing import Any, Final

from miai.errors import MiaiError, StoreError
from miai.playing.openings import Opening
from miai.seeds import derive_seed
from miai_tournaments.config.opening_source import Openings, with_settings
from miai_tournaments.formats.format import Format, FormatStep, Meeting, Pairing
from miai_tournaments.store.rows import PlayerRow, ScheduledGame
from miai_tournaments.store.store import Store

_LONGEST_NAMES: Final = 120


class Schedule:
    """The games of a tournament, in the order in which its format asks for them.

    Every decision follows from the format and the scores. A run is therefore resumed by asking
    from the beginning again, with the scores in the store; see `catch_up`.

    Args:
      players: all of them.
      seed: of the run.
      openings: source of the games' openings.
      scores: returns of finished games, by identity.
      payoffs: whether the size of the returns counts, or only who has more.

    Attributes:
      finished: whether the format has given its last answer.
      facts: the format's latest facts, with ``open`` (true) while more games may follow.
      surplus: identities of the games that are no longer needed.
    """

    def __init__(
        self,
        format_: Format,
        players: Sequence[PlayerRow],
        *,
        seed: int,
        openings: Openings,
        scores: Mapping[str, Sequence[float]] | None = None,
        payoffs: bool = False,
    ) -> None:
        self._format = format_
        self._identities = {player.name: _identity(player) for player in players}
        self._seed = seed
        self._openings = {"{}": openings}
        self._drawn: Mapping[str, tuple[int, ...]] = {}
        self._scores = dict(scores or {})
        self._payoffs = payoffs
        self._pair_counts: Counter[tuple[str, ...]] = Counter()
        self._meetings: list[Meeting] = []
        self._places: dict[str, tuple[Meeting, int, list[int]]] = {}
        self._groups: list[list[str]] = []
        self._complete = 0
        self._ask_after: int | None = None
        self.finished = False
        self.facts: Mapping[str, Any] = {}
        self.surplus: frozenset[str] = frozenset()

    def catch_up(self, store: Store) -> list[ScheduledGame]:
        """Advance to where a stored run is. Returns the games that the store lacks.

        Raises:
          StoreError: the store has a game that the format does not schedule.
        """
        # All pairings of a static format were written when the run began: no need to ask for a
        # million games again, unless there are more now, or some rows are gone.
        if self._format.static and store.size == self._format.most_games():
            self.finished, self.facts = True, store.info().facts
            return []
        stored = store.identities()
        openings = self._openings["{}"]
        if openings.random_plies and openings.balance is not None:
            self._drawn = store.openings()  # valuing them again would take long
        if not self._format.static:
            self._scores = dict(store.scores())
        games = self.advance(room=len(stored))
        unknown = stored - self._places.keys() - {game.game_id for game in games}
        if unknown:
            raise StoreError(
                f"{store.path}: contains games that its format ({self._format.title()}) does not "
                f"schedule, for example '{min(unknown)}'; continue with the version of miai that "
                "began the run, or begin a new run in another folder"
            )
        return [game for game in games if game.game_id not in stored]

    def advance(self, *, room: int) -> list[ScheduledGame]:
        """Ask the format until it waits for results. Returns the new games to play.

        Args:
          room: games that could be played at once.

        Raises:
          MiaiError: the format failed, or waits for no game.
        """
        games: list[ScheduledGame] = []
        # A format may answer more than once before it needs a result, for example if scores of a
        # resumed run are known already.
        while self._format_is_due():
            step = self._ask(max(room, len(self._scores)))
            games += self._add(step)
            if not step.pairings and self._format_is_due():
                raise MiaiError(f"the format ({self._format.title()}) waits for no game: a defect")
        return [game for game in games if game.game_id not in self.surplus]

    def _format_is_due(self) -> bool:
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

    def _add(self, step: FormatStep) -> list[ScheduledGame]:
        """Add the games of the format's answer."""
        self.finished, self._ask_after = step.finished, step.ask_after
        self.facts = step.facts if step.finished else {**step.facts, "open": True}
        games: list[ScheduledGame] = []
        for pairing in step.pairings:
            added = self._games_of(pairing)
            games += added
            if step.finished and step.counted is None:
                continue  # nobody asks for their scores, and they may be a million
            meeting = Meeting(pairing, [None] * len(added))
            self._meetings.append(meeting)
            self._groups.append([game.game_id for game in added])
            for number, game in enumerate(added):
                seats = [game.players.index(name) for name in pairing.players]
                self._places[game.game_id] = meeting, number, seats
                if game.game_id in self._scores:
                    self.record(game.game_id, self._scores[game.game_id])
        if step.counted is not None:
            self.surplus = frozenset(
                game_id for group in self._groups[step.counted :] for game_id in group
            )
        return games

    def _games_of(self, pairing: Pairing) -> list[ScheduledGame]:
        """Return the games of a pairing: a block with the same seed and opening, or one."""
        names = tuple(sorted(pairing.players))
        self._pair_counts[names] += 1
        number = self._pair_counts[names]
        identities = [self._identities[name] for name in names]
        # By identities and the number of the meeting, not by the place in the schedule: games of a
        # run that grows keep their seeds.
        pair_seed = derive_seed(self._seed, "pair", *identities, number)
        pair_id = f"{_joined(names)}~{number:04}"
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
            for suffix, seats in zip(ascii_lowercase, _seatings(pairing, pair_seed), strict=False)
        ]

    def _opening(self, pairing: Pairing, pair_id: str, pair_seed: int) -> Opening:
        if pair_id in self._drawn:
            return Opening(self._drawn[pair_id])
        key = json.dumps(pairing.settings, sort_keys=True) if pairing.settings else "{}"
        if key not in self._openings:
            self._openings[key] = with_settings(self._openings["{}"], pairing.settings)
        return self._openings[key].opening(pairing.opening or pairing.round, pair_seed)

    def record(self, game_id: str, returns: Sequence[float]) -> None:
        """Record the result of a game."""
        if game_id in self._places:
            meeting, number, seats = self._places[game_id]
            meeting.scores[number] = tuple(self._score(returns, seat) for seat in seats)

    def _score(self, returns: Sequence[float], seat: int) -> float:
        """Return the points of a seat, see `Meeting`."""
        own, rest = returns[seat], (*returns[:seat], *returns[seat + 1 :])
        if self._payoffs:
            return sum(own - other for other in rest) / len(returns)
        return sum(0.5 if own == other else float(own > other) for other in rest) / len(rest)


def _identity(player: PlayerRow) -> str:
    """Return a player's name and agent as one text.

    Its parameters are left out, so that an agent that gains or loses one plays the same games.
    """
    return json.dumps([player.name, player.agent], separators=(",", ":"))


def _joined(names: Sequence[str]) -> str:
    """Return names as one; many long ones, which become part of a file's name, by a digest."""
    text = "~".join(names)
    if len(text) <= _LONGEST_NAMES:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{text[: _LONGEST_NAMES - 13]}~{digest}"


def _seatings(pairing: Pairing, seed: int) -> list[tuple[str, ...]]:
    """Return the players of each game in seat order."""
    players = pairing.players
    if pairing.colours == "swap":  # everybody moves a seat on from game to game
        start = players.index(min(players))
        turned = (*players[start:], *players[:start])
        return [(*turned[n:], *turned[:n]) for n in range(len(turned))]
    if pairing.colours == "fixed":
        return [players]
    drawn = (derive_seed(seed, "colours") + 1) % factorial(len(players))
    return [_permutation(sorted(players), drawn)]


def _permutation(items: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the permutation of a number from 0, in lexicographic order."""
    rest, order = list(items), []
    while rest:
        place, number = divmod(number, factorial(len(rest) - 1))
        order.append(rest.pop(place))
    return tuple(order)


def player_seed(game: ScheduledGame, name: str) -> int:
    """Return the seed of a player in a game: the same in both games of a pair."""
    return derive_seed(game.seed, "player", name)
