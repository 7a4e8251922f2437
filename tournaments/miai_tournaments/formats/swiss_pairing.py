"""One round of a Swiss tournament: who meets whom, who has the bye, who moves first.

In the manner of FIDE's Dutch system: players are ranked by points, then by seed; from the top down
each gets the best opponent that leaves the rest a pairing of the same quality. The best opponent

1. has points as near as possible to one's own,
2. does not want the same colour (where a round is a single game),
3. stands where folding the score group puts it: the upper half meets the lower half in order.

Quality is absolute and comes before all of that. It is tried in turn, and the first that can be had
for all is taken: nobody meets twice, nobody has a second bye, and no two meet who both must have
the same colour; the same without regard to colours; a second bye; as few rematches as possible.
Whether the rest can be paired is answered exactly, by a maximum matching, so a rematch happens only
where every pairing has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from miai_tournaments.formats.matching import Matching

FIRST: Final = 1
SECOND: Final = -1


@dataclass(slots=True)
class Player:
    """A player before a round; its number is its place in the list, best seed first.

    Attributes:
      points: so far, those of byes included.
      opponents: numbers of those whom it met.
      byes: byes that it had.
      colours: `FIRST` or `SECOND` for each single game so far; empty where colours are swapped.
    """

    points: float = 0.0
    opponents: set[int] = field(default_factory=set)
    byes: int = 0
    colours: list[int] = field(default_factory=list)

    @property
    def balance(self) -> int:
        """Games in which it moved first, less the others."""
        return sum(self.colours)

    @property
    def must(self) -> int:
        """The colour that it must have, since it had the other twice more often or twice in a row.

        0 when there is none.
        """
        if abs(self.balance) > 1:
            return SECOND if self.balance > 0 else FIRST
        if len(self.colours) > 1 and self.colours[-1] == self.colours[-2]:
            return -self.colours[-1]
        return 0

    @property
    def wanted(self) -> int:
        """The colour that is due to it: what it must have, had less often, or did not have last.

        0 before its first game.
        """
        if self.must or not self.colours:
            return self.must
        if self.balance:
            return SECOND if self.balance > 0 else FIRST
        return -self.colours[-1]


Pairs = list[tuple[int, int]]
Allowed = Callable[[int, int], bool]


def pair_round(players: Sequence[Player]) -> tuple[Pairs, int | None]:
    """Return the pairs of the next round, top boards first, and who has the bye.

    Of each pair the first number is that of the player who is ranked higher.
    """
    ranking = sorted(range(len(players)), key=lambda n: (-players[n].points, n))

    def unmet(a: int, b: int) -> bool:
        return b not in players[a].opponents

    def suited(a: int, b: int) -> bool:
        return unmet(a, b) and not players[a].must * players[b].must > 0

    fewest = min(player.byes for player in players)
    free = [n for n in reversed(ranking) if players[n].byes == fewest]
    others = [n for n in reversed(ranking) if players[n].byes != fewest]
    for allowed, byes in ((suited, free), (unmet, free), (unmet, others)):
        found = _paired_exactly(players, ranking, allowed, byes)
        if found is not None:
            return found
    graph = _graph(players, unmet)
    if len(players) % 2 == 0:
        return _from_the_top(players, ranking, graph, unmet), None
    bye = min(free, key=lambda n: (graph.without(n).exposed, free.index(n)))
    return _from_the_top(players, ranking, graph.without(bye), unmet), bye


def colours(one: int, other: int, players: Sequence[Player], *, top: int) -> tuple[int, int]:
    """Return a pair with the one who moves first in front.

    Args:
      one: the one who is ranked higher.
      top: the colour of the first seed in the first round; others alternate.
    """
    a, b = players[one], players[other]
    if a.wanted == b.wanted == 0:
        colour = top if one % 2 == 0 else -top
    elif a.wanted != b.wanted:
        colour = a.wanted or -b.wanted
    else:
        colour = _contested(a, b)
    return (one, other) if colour == FIRST else (other, one)


def _contested(a: Player, b: Player) -> int:
    """Return the colour of `a` where both want the same: whoever needs it more, gets it."""
    need, theirs = ((p.must != 0, abs(p.balance)) for p in (a, b))
    if need != theirs:
        return a.wanted if need > theirs else -a.wanted
    for mine, other in zip(reversed(a.colours), reversed(b.colours), strict=False):
        if mine != other:
            return -mine
    return a.wanted


def _paired_exactly(
    players: Sequence[Player], ranking: Sequence[int], allowed: Allowed, byes: Sequence[int]
) -> tuple[Pairs, int | None] | None:
    """Return a pairing in which all pairs are allowed; None when there is none."""
    graph = _graph(players, allowed)
    if len(players) % 2 == 0:
        return None if graph.exposed else (_from_the_top(players, ranking, graph, allowed), None)
    for bye in byes:
        rest = graph.without(bye)
        if not rest.exposed:
            return _from_the_top(players, ranking, rest, allowed), bye
    return None


def _graph(players: Sequence[Player], allowed: Allowed) -> Matching:
    numbers = range(len(players))
    return Matching([[b for b in numbers if b != a and allowed(a, b)] for a in numbers])


def _from_the_top(
    players: Sequence[Player], ranking: Sequence[int], graph: Matching, allowed: Allowed
) -> Pairs:
    """Return pairs from the top down, each the best that keeps the pairing as good as it can be.

    A pair that is not allowed is taken only where it replaces one that would be needed later.
    """
    left = [n for n in ranking if graph.has(n)]
    pairs: Pairs = []
    while left:
        one = left[0]
        for other in _preferred(players, left):
            rest = graph.without(one, other)
            if rest.exposed + 2 * (not allowed(one, other)) == graph.exposed:
                break
        else:
            raise AssertionError("a maximum matching has an edge or a gap for every vertex")
        pairs.append((one, other))
        left = [n for n in left if n not in (one, other)]
        graph = rest
    return pairs


def _preferred(players: Sequence[Player], left: Sequence[int]) -> list[int]:
    """Return the opponents of the first one left, best first."""
    top = players[left[0]]
    group = [n for n in left if players[n].points == top.points]
    half = len(group) // 2
    fold = {n: (place < half, abs(place - half)) for place, n in enumerate(group)}

    def cost(place: int) -> tuple[float, bool, bool, int]:
        other = players[left[place]]
        clash = top.wanted != 0 and top.wanted == other.wanted
        return top.points - other.points, clash, *fold.get(left[place], (False, place))

    return [left[place] for place in sorted(range(1, len(left)), key=cost)]
