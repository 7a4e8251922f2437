"""Adaptive: each next pair is the one that narrows the intervals of the ratings most.

Pairs are chosen in batches, from the joint fit of the batches before. A batch is chosen while the
one before it is still being played: its games count by the information that they will give,
whatever their results, so that workers never wait. The choice therefore depends on the results of
whole batches alone, never on which games happened to be finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from miai.errors import ParameterError
from miai.parameters import Parameters, parameter
from miai_tournaments.formats.format import (
    MOST,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    refuse_few,
)

if TYPE_CHECKING:
    from miai_tournaments.ratings.ratings import Ratings

_GROWTH = 16
"""A batch has at least one pair for this many earlier ones: a choice costs a fit of all games."""


class AdaptiveParameters(Parameters):
    """Parameters of the format."""

    pairs: int = parameter(ge=1, le=MOST, help="Maximum number of pairs of games", unit="pairs")
    width: float | None = parameter(
        None,
        gt=0,
        le=10_000,
        help="Stop when the widest 95 % interval is this wide, from end to end (default: never)",
        unit="Elo",
    )


class Adaptive(Format):
    """The adaptive format; see `miai_tournaments.ratings.designs`."""

    exact = False
    may_grow = frozenset({"pairs"})

    def __init__(self, entrants: Entrants, parameters: AdaptiveParameters) -> None:
        refuse_few(entrants, "tournament")
        if entrants.payoff_bound is not None:
            raise ParameterError(
                "format: adaptive is about ratings, but the results of this game are payoffs; use "
                "a round-robin"
            )
        self._names = sorted(entrants.players)
        self._pairs = parameters.pairs
        self._width = parameters.width

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the next batch, or the widest interval."""
        # Only complete batches enter the fit, whatever of the running one is done already: the
        # choice must not depend on the speed of the workers.
        begin, number, end = self._last_batch(len(played))
        ratings = self._ratings(played[:begin])
        reached = begin > 0 and self._width is not None and _widest(ratings)[0] <= self._width
        batch = [] if reached else list(self._choose(ratings, played, begin, end, number + 1))
        if not batch and all(meeting.complete for meeting in played):
            return FormatStep(finished=True, facts=_facts(self._ratings(played), len(played)))
        return FormatStep(
            pairings=batch, ask_after=len(played) if batch else None, facts=_facts(ratings, begin)
        )

    def most_games(self) -> int:
        """Return the number of games of all pairs."""
        return 2 * self._pairs

    def title(self) -> str:
        """Return the number of pairs and the width."""
        until = "" if self._width is None else f" until no interval is wider than {self._width:g}"
        return f"adaptive, at most {self._pairs} pairs" + (until and f"{until} Elo")

    def _last_batch(self, scheduled: int) -> tuple[int, int, int]:
        """Return the first pair and the number of the last batch, and the end of the next one."""
        begin, end, number = 0, 0, 0
        while end < scheduled:
            begin, end, number = end, end + self._size(end), number + 1
        return begin, number, min(end + self._size(end), self._pairs)

    def _size(self, before: int) -> int:
        """Return the pairs of a batch after `before` earlier pairs."""
        return max(len(self._names), before // _GROWTH)

    def _choose(
        self, ratings: Ratings, played: Sequence[Meeting], begin: int, end: int, number: int
    ) -> Iterator[Pairing]:
        """Yield the pairs up to `end`; those from `begin` on are still being played."""
        from miai_tournaments.ratings.designs import PairDesign, pair_information

        information = pair_information(ratings)
        design = PairDesign(ratings.covariance, information)
        place = {name: index for index, name in enumerate(self._names)}
        meetings = Counter(frozenset((m.pairing.first, m.pairing.second)) for m in played)
        for meeting in played[begin:]:
            design.add(place[meeting.pairing.first], place[meeting.pairing.second])
        for _ in range(len(played), end):
            one, other = (self._names[index] for index in design.choose())
            meetings[frozenset((one, other))] += 1
            opening = meetings[frozenset((one, other))]
            yield Pairing(first=one, second=other, round=number, opening=opening)

    def _ratings(self, played: Iterable[Meeting]) -> Ratings:
        """Return the joint fit of complete pairs.

        Names are sorted, so the first named player of a pair moves first in its first game.
        """
        from miai_tournaments.ratings.ratings import fit_ratings

        games = list[tuple[str, str, float]]()
        for meeting in played:
            one, other = meeting.pairing.first, meeting.pairing.second
            (ahead, _), (_, behind) = (scores for scores in meeting.scores if scores is not None)
            games += [(one, other, ahead), (other, one, behind)]
        return fit_ratings(games, players=self._names)


def _widest(ratings: Ratings) -> tuple[float, str]:
    """Return the length of the widest 95 % interval in Elo, and its player."""
    from miai_tournaments.ratings.ratings import Z95

    errors = ratings.standard_errors
    widest = int(errors.argmax())
    return 2 * Z95 * float(errors[widest]), ratings.players[widest]


def _facts(ratings: Ratings, pairs: int) -> Mapping[str, Any]:
    width, player = _widest(ratings)
    text = f"widest interval: {width:.0f} Elo ({player}), after {pairs} pairs"
    return {
        "kind": "adaptive",
        "pairs": pairs,
        "width": width,
        "widest": player,
        "text": text if pairs else "",
    }
