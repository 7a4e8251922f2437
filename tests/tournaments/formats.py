"""What the tests of formats share: scores out of thin air, and tournaments played on paper."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from miai_tournaments.config.entrants import format_component
from miai_tournaments.formats.format import Entrants, Format, FormatStep, Meeting, Pairing, games_of

Scores = Callable[[Pairing, int], float | tuple[float, ...]]
"""The first named player's score in a game of a pairing, by the game's number; or all players'."""

seeds = st.integers(0, 2**32 - 1)


def names(count: int) -> tuple[str, ...]:
    """Names whose order is not that of the seeds."""
    return tuple(f"p{(7 * n + 3) % 97:02}" for n in range(count))


def entrants(count: int, **more: Any) -> Entrants:
    return Entrants(players=names(count), **more)


def make(name: str, field: Entrants, **values: object) -> Format:
    """A format as the config makes it."""
    built: Format = format_component(name).build(field, values=values, where="format")
    return built


def chance(seed: int, *, draws: float = 0.3) -> Scores:
    """Scores by lot, the same for the same pairing whenever it is asked for."""

    def score(pairing: Pairing, game: int) -> float | tuple[float, ...]:
        names = " ".join(pairing.players)
        rng = random.Random(f"{seed} {names} {pairing.round} {pairing.opening} {game}")
        if pairing.others:
            return shares([rng.randrange(3) for _ in pairing.players])
        return 0.5 if rng.random() < draws else float(rng.random() < 0.5)

    return score


def strength(order: Sequence[str]) -> Scores:
    """The one who is earlier in the order wins every game."""

    def score(pairing: Pairing, game: int) -> tuple[float, ...]:
        return shares([-order.index(name) for name in pairing.players])

    return score


def shares(returns: Sequence[float]) -> tuple[float, ...]:
    """The share of its opponents that each player finished ahead of, ties half."""
    return tuple(
        (sum(float(own > other) + 0.5 * (own == other) for other in returns) - 0.5)
        / (len(returns) - 1)
        for own in returns
    )


def play(
    format_: Format,
    scores: Scores,
    *,
    rng: random.Random | None = None,
    rooms: Sequence[int] = (1,),
    shared: float = 1.0,
) -> tuple[list[Meeting], FormatStep]:
    """Play a tournament to its end, games finishing in a random order; return the last step.

    Args:
      rng: draws which of the open games ends next; None for schedule order.
      shared: points that the players share in a game.
      rooms: what the format is told of the room, drawn anew each time.
    """
    rng = rng or random.Random(0)
    meetings: list[Meeting] = []
    waiting: list[tuple[int, int]] = []
    ask_after: int | None = 0
    while True:
        complete = next((n for n, m in enumerate(meetings) if not m.complete), len(meetings))
        if complete >= (len(meetings) if ask_after is None else ask_after):
            step = format_.more(meetings, room=rng.choice(rooms))
            ask_after = step.ask_after
            for pairing in step.pairings:
                games = games_of(pairing.colours, seats=len(pairing.players))
                waiting += [(len(meetings), game) for game in range(games)]
                meetings.append(Meeting(pairing, [None] * games))
            if step.finished and (not waiting or step.counted is not None):
                return meetings, step
            if step.finished:
                ask_after = len(meetings) + 1
        if not waiting:
            return meetings, step
        number, game = waiting.pop(rng.randrange(min(len(waiting), max(rooms))))
        points = scores(meetings[number].pairing, game)
        meetings[number].scores[game] = (
            points if isinstance(points, tuple) else (points, shared - points)
        )
