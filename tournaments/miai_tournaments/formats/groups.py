"""Who meets whom in games of more than two players, and in which order round the table.

A *block* is as many games as a game has players. They share seed and opening, and the players move
round the table from game to game, so that each has every seat once: the pair of games with swapped
colours, for any number of players. Players in a circle can be ordered in (n - 1)! ways; the blocks
of all of them are all n! seatings.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from math import comb, factorial
from typing import Final, Literal

from miai.errors import ParameterError
from miai.parameters import Parameters, parameter
from miai.seeds import derive_seed

Seatings = Literal["all", "balanced"]
"""The blocks of a group in a round: ``all``: one for each order, so that all seatings occur;
``balanced``: one, its order drawn, so that each player has every seat once."""

MOST_SEATINGS: Final = 24
"""Up to this number of seatings, those of four players, all are played by default."""

PlayerGroup = tuple[str, ...]


class SeatingParameters(Parameters):
    """Parameters of a format whose players meet in groups, in games of two in pairs."""

    seatings: Seatings | None = parameter(
        None,
        help="Seatings of a group of more than two in a round: all, or balanced: each player in "
        "each seat once (default: all for up to four players)",
    )


def refuse_seatings(seatings: Seatings | None, seats: int) -> None:
    """Raise `ParameterError` if there is nothing to choose."""
    if seatings is not None and seats == 2:
        raise ParameterError(
            "format.seatings: has no effect in a game of two players; leave it out"
        )


def block_count(seatings: Seatings | None, seats: int) -> int:
    """Return the number of blocks of a group in a round; None stands for the default."""
    return factorial(seats - 1) if _all(seatings, seats) else 1


def _all(seatings: Seatings | None, seats: int) -> bool:
    return factorial(seats) <= MOST_SEATINGS if seatings is None else seatings == "all"


def table_orders(
    group: PlayerGroup, seatings: Seatings | None, *, seed: int, number: int
) -> Iterator[PlayerGroup]:
    """Yield the orders of a group's blocks in a round.

    Args:
      seed: seed of the run; with the names and `number` it decides a drawn order.
      number: how often the group meets up to this round.
    """
    if _all(seatings, len(group)):
        yield from ((group[0], *rest) for rest in permutations(group[1:]))
        return
    rest = list(group[1:])
    random.Random(derive_seed(seed, "order", *group, number)).shuffle(rest)
    yield (group[0], *rest)


class GroupDraw:
    """Draws groups of players: all of them in each round, or a balanced sample.

    In a sample, the players' numbers of groups differ by one at most at any time, and those who
    have met least often meet next.

    Args:
      names: the players, in order.
      seats: size of a group.
      count: groups in a round; None for all.
      seed: seed of the run, for samples.

    Raises:
      ParameterError: there are fewer groups than `count`.
    """

    def __init__(self, names: Sequence[str], seats: int, count: int | None, *, seed: int) -> None:
        self._names, self._seats = names, seats
        every = comb(len(names), seats)
        if count is not None and count > every:
            raise ParameterError(
                f"format.groups: is {count}, but {len(names)} players make {every} groups of "
                f"{seats}; leave it out to play them all"
            )
        self._count = count
        self.size = every if count is None else count
        self._rng = random.Random(derive_seed(seed, "groups"))
        self._played: Counter[str] = Counter()
        self._met: Counter[frozenset[str]] = Counter()

    def draw(self) -> Iterator[PlayerGroup]:
        """Yield the groups of the next round; the names of each are in order."""
        if self._count is None:
            yield from combinations(self._names, self._seats)
            return
        for _ in range(self._count):
            yield self._sample()

    def _sample(self) -> PlayerGroup:
        rest = list(self._names)
        self._rng.shuffle(rest)  # decides between players who are alike
        group: list[str] = []
        while len(group) < self._seats:
            # Played least comes first, so that numbers of groups stay within one of each other;
            # among equals, who met the group least.
            chosen = min(rest, key=lambda name: (self._played[name], self._meetings(name, group)))
            rest.remove(chosen)
            group.append(chosen)
        self._played.update(group)
        self._met.update(map(frozenset, combinations(group, 2)))
        return tuple(name for name in self._names if name in group)

    def _meetings(self, name: str, group: Sequence[str]) -> int:
        return sum(self._met[frozenset((name, other))] for other in group)
