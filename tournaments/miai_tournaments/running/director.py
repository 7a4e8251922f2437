"""The director: asks the format what comes next, and keeps what it is to know of the games."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from miai.errors import MiaiError
from miai_tournaments.formats.format import Format, Meeting, Step
from miai_tournaments.running.schedule import Draw
from miai_tournaments.store.store import ScheduledGame


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

    def _ask(self, room: int) -> Step:
        try:
            return self._format.more(self._meetings, room=room)
        except MiaiError:
            raise
        except Exception as error:  # a plugin's own code
            raise MiaiError(
                f"the format ({self._format.title()}) failed: {type(error).__name__}: {error}; a "
                "defect of its plugin"
            ) from error

    def _take(self, step: Step) -> list[ScheduledGame]:
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
