"""The round-robin schedule: which games are played, with their identities and seeds.

A game's identity and seed come from the names of the things that it is made of: the run's seed,
the two players' identities and the number of the pair. Positions in a list play no part, so a run
that gains players or rounds keeps every game that it had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations

from miai.seeds import derive_seed
from miai_tournaments.config.openings import Openings
from miai_tournaments.store.store import PlayerRow, ScheduledGame


def identity(player: PlayerRow) -> str:
    """Return what makes a player the same: its name, its agent and all its parameters."""
    return json.dumps(
        [player.name, player.agent, player.parameters], sort_keys=True, separators=(",", ":")
    )


def round_robin(
    players: Sequence[PlayerRow], *, rounds: int, seed: int, openings: Openings
) -> Iterator[ScheduledGame]:
    """Yield the games of a round-robin, round by round.

    In each round every two players play a colour-swapped pair: two games with the same seed and
    the same opening, the first move once for each.
    """
    ordered = sorted(players, key=lambda player: player.name)
    for number in range(1, rounds + 1):
        for one, other in combinations(ordered, 2):
            yield from _pair(one, other, number=number, seed=seed, openings=openings)


def _pair(
    one: PlayerRow, other: PlayerRow, *, number: int, seed: int, openings: Openings
) -> Iterator[ScheduledGame]:
    pair_seed = derive_seed(seed, "pair", identity(one), identity(other), number)
    pair_id = f"{one.name}~{other.name}~{number:04}"
    opening = openings.opening(number, pair_seed)
    for suffix, seats in (("a", (one.name, other.name)), ("b", (other.name, one.name))):
        yield ScheduledGame(
            game_id=pair_id + suffix,
            pair_id=pair_id,
            round=number,
            players=seats,
            seed=pair_seed,
            opening=opening,
        )


def player_seed(game: ScheduledGame, name: str) -> int:
    """Return the seed of a player in a game: the same in both games of a pair."""
    return derive_seed(game.seed, "player", name)
