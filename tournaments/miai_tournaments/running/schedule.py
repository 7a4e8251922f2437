"""From pairings to games: their identities, seeds and openings.

A game's identity and seed come from the names of the things that it is made of: the run's seed,
the two players' identities and how often the two have met. Positions in a list play no part, so a
run that gains players or rounds keeps every game that it had.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from miai.openings import Opening
from miai.seeds import derive_seed
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.settings import with_settings
from miai_tournaments.formats.format import Entrants, Pairing
from miai_tournaments.formats.round_robin import RoundRobin, RoundRobinParameters
from miai_tournaments.store.store import PlayerRow, ScheduledGame


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
