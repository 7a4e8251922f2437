"""Swiss system: in each round players with similar points meet, and no two of them twice.

Pairing follows FIDE's Dutch system: players are ranked by points, then by seed; from the top down
each gets the best opponent that leaves the rest a pairing of the same quality. The best opponent

1. has points as close as possible,
2. does not want the same colour (if a round is a single game),
3. has the place that folding the score group gives it: the upper half meets the lower half in
   order.

Quality comes first. These levels are tried in turn: no rematch, no second bye, and no two players
who both must have the same colour; the same regardless of colours; a second bye; as few rematches
as possible. A maximum matching (Edmonds 1965) decides exactly whether the rest can be paired, so a
rematch happens only if every pairing has one. It is kept while the top players are paired, so that
each check takes one augmenting path.

Ties in the standings are broken by the final points of a player's opponents:

- Buchholz: the sum of the opponents' points, once per meeting.
- Sonneborn-Berger: the sum of the opponents' points, each times the points scored against them.

A bye counts as a meeting with a virtual opponent who has the player's own final points, as in
FIDE's rules since 2023.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Final, Literal

from miai.errors import ParameterError
from miai.pages.document import counted
from miai.parameters import Parameters, parameter
from miai.seeds import derive_seed
from miai_tournaments.formats.format import (
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    refuse_few,
)

FIRST: Final = 1
SECOND: Final = -1
_NONE = -1


@dataclass(slots=True)
class SwissPlayer:
    """A player before a round; its number is its place in the list, best seed first.

    Attributes:
      points: points so far, including those of byes.
      opponents: numbers of its opponents so far.
      byes: number of its byes.
      colours: `FIRST` or `SECOND` for each single game so far; empty if colours are swapped.
    """

    points: float = 0.0
    opponents: set[int] = field(default_factory=set)
    byes: int = 0
    colours: list[int] = field(default_factory=list)

    @property
    def balance(self) -> int:
        """Games in which it moved first, minus the others."""
        return sum(self.colours)

    @property
    def must(self) -> int:
        """The colour that it must have after two more games, or two in a row, with the other.

        0 if either is possible.
        """
        if abs(self.balance) > 1:
            return SECOND if self.balance > 0 else FIRST
        if len(self.colours) > 1 and self.colours[-1] == self.colours[-2]:
            return -self.colours[-1]
        return 0

    @property
    def wanted(self) -> int:
        """Its due colour: the one it must have, had less often, or did not have last.

        0 before its first game.
        """
        if self.must or not self.colours:
            return self.must
        if self.balance:
            return SECOND if self.balance > 0 else FIRST
        return -self.colours[-1]


Pairs = list[tuple[int, int]]
Allowed = Callable[[int, int], bool]


def pair_round(players: Sequence[SwissPlayer]) -> tuple[Pairs, int | None]:
    """Return the pairs of the next round, top boards first, and the player with the bye.

    The first number of each pair is that of the player with the higher rank.
    """
    ranking = sorted(range(len(players)), key=lambda n: (-players[n].points, n))

    def unmet(a: int, b: int) -> bool:
        return b not in players[a].opponents

    def suited(a: int, b: int) -> bool:
        return unmet(a, b) and not players[a].must * players[b].must > 0

    # The lowest in the ranking with the fewest byes is asked first, so that a bye costs the race
    # for the top nothing.
    fewest = min(player.byes for player in players)
    free = [n for n in reversed(ranking) if players[n].byes == fewest]
    others = [n for n in reversed(ranking) if players[n].byes != fewest]
    # Each level gives up one demand. A later one is tried only if no complete pairing of the level
    # before exists, which the matching decides exactly.
    for allowed, byes in ((suited, free), (unmet, free), (unmet, others)):
        pairing = _paired_exactly(players, ranking, allowed, byes)
        if pairing is not None:
            return pairing
    # Rematches cannot be avoided: a maximum matching of those who have not met leaves the fewest.
    graph = _graph(players, unmet)
    if len(players) % 2 == 0:
        return _from_the_top(players, ranking, graph, unmet), None
    bye = min(free, key=lambda n: (graph.without(n).exposed, free.index(n)))
    return _from_the_top(players, ranking, graph.without(bye), unmet), bye


def colours(one: int, other: int, players: Sequence[SwissPlayer], *, top: int) -> tuple[int, int]:
    """Return a pair in the order of their moves.

    Args:
      one: the player with the higher rank.
      top: colour of the first seed in the first round; other seeds alternate.
    """
    a, b = players[one], players[other]
    if a.wanted == b.wanted == 0:
        colour = top if one % 2 == 0 else -top
    elif a.wanted != b.wanted:
        colour = a.wanted or -b.wanted
    else:
        colour = _contested(a, b)
    return (one, other) if colour == FIRST else (other, one)


def _contested(a: SwissPlayer, b: SwissPlayer) -> int:
    """Return the colour of `a` if both want the same: the player with the greater need gets it."""
    need, theirs = ((p.must != 0, abs(p.balance)) for p in (a, b))
    if need != theirs:
        return a.wanted if need > theirs else -a.wanted
    for mine, other in zip(reversed(a.colours), reversed(b.colours), strict=False):
        if mine != other:
            return -mine
    return a.wanted


def _paired_exactly(
    players: Sequence[SwissPlayer], ranking: Sequence[int], allowed: Allowed, byes: Sequence[int]
) -> tuple[Pairs, int | None] | None:
    """Return a pairing in which all pairs are allowed; None if there is none."""
    graph = _graph(players, allowed)
    if len(players) % 2 == 0:
        return None if graph.exposed else (_from_the_top(players, ranking, graph, allowed), None)
    for bye in byes:
        rest = graph.without(bye)
        if not rest.exposed:
            return _from_the_top(players, ranking, rest, allowed), bye
    return None


def _graph(players: Sequence[SwissPlayer], allowed: Allowed) -> Matching:
    numbers = range(len(players))
    return Matching([[b for b in numbers if b != a and allowed(a, b)] for a in numbers])


def _from_the_top(
    players: Sequence[SwissPlayer], ranking: Sequence[int], graph: Matching, allowed: Allowed
) -> Pairs:
    """Return pairs from the top down, each the best that preserves the quality of the pairing.

    A forbidden pair is chosen only if it replaces one that would be needed later.
    """
    unpaired = [n for n in ranking if graph.has(n)]
    pairs: Pairs = []
    while unpaired:
        one = unpaired[0]
        for other in _preferred(players, unpaired):
            # The pair is fine if the others can still be matched as well as before: one left
            # unmatched more means a rematch further down.
            rest = graph.without(one, other)
            if rest.exposed + 2 * (not allowed(one, other)) == graph.exposed:
                break
        else:
            raise AssertionError("a maximum matching has an edge or a gap for every vertex")
        pairs.append((one, other))
        unpaired = [n for n in unpaired if n not in (one, other)]
        graph = rest
    return pairs


def _preferred(players: Sequence[SwissPlayer], unpaired: Sequence[int]) -> list[int]:
    """Return the possible opponents of the first player, best first."""
    top = players[unpaired[0]]
    group = [n for n in unpaired if players[n].points == top.points]
    # Folding: the first of the upper half meets the first of the lower half, and so on.
    half = len(group) // 2
    fold = {n: (place < half, abs(place - half)) for place, n in enumerate(group)}

    def cost(place: int) -> tuple[float, bool, bool, int]:
        other = players[unpaired[place]]
        clash = top.wanted != 0 and top.wanted == other.wanted
        return top.points - other.points, clash, *fold.get(unpaired[place], (False, place))

    return [unpaired[place] for place in sorted(range(1, len(unpaired)), key=cost)]


@dataclass(slots=True)
class PairingCard:
    """One player's tournament.

    Attributes:
      name: name of the player.
      meetings: ``(opponent, points scored)`` for each meeting.
      byes: points received for each bye.
      colours: `FIRST` or `SECOND` for each meeting: who moved first, in its first game.
    """

    name: str
    meetings: list[tuple[str, float]] = field(default_factory=list)
    byes: list[float] = field(default_factory=list)
    colours: list[int] = field(default_factory=list)

    @property
    def points(self) -> float:
        """All points, including those of byes."""
        return sum(score for _, score in self.meetings) + sum(self.byes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One line of the final table."""

    name: str
    points: float
    buchholz: float
    sonneborn_berger: float
    byes: int


def standings(cards: Iterable[PairingCard]) -> Sequence[Standing]:
    """Return the table: by points, Buchholz, Sonneborn-Berger, then in the order of the cards."""
    cards = list(cards)
    points = {card.name: card.points for card in cards}
    table = []
    for card in cards:
        scores = [(score, points[opponent]) for opponent, score in card.meetings]
        # A bye counts as if against an opponent with the player's own points, so that it neither
        # helps nor hurts the tie-break.
        scores += [(bye, card.points) for bye in card.byes]
        standing = Standing(
            name=card.name,
            points=card.points,
            buchholz=sum(theirs for _, theirs in scores),
            sonneborn_berger=sum(score * theirs for score, theirs in scores),
            byes=len(card.byes),
        )
        table.append(standing)
    return sorted(table, key=lambda s: (-s.points, -s.buchholz, -s.sonneborn_berger))


class SwissParameters(Parameters):
    """Parameters of the Swiss system."""

    rounds: int = parameter(ge=1, le=10_000, help="Number of rounds", unit="rounds")
    pairs: int = parameter(1, ge=1, le=10_000, help="Pairs of games per pairing", unit="pairs")
    colours: Literal["swap", "balance"] = parameter(
        "swap", help="Colours swapped in pairs of games; or single games, colours balanced"
    )


class Swiss(Format):
    """The Swiss system; players are seeded in the order of the config.

    With an odd number of players one has the bye in each round: all points of the round, but no
    game; where results are payoffs, nothing. Byes count only in the standings.
    """

    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: SwissParameters) -> None:
        refuse_few(entrants, "swiss")
        n = len(entrants.players)
        limit = n - 1 + n % 2
        if parameters.rounds > limit:
            raise ParameterError(
                f"format.rounds: {parameters.rounds} rounds of {n} players have rematches; use at "
                f"most {limit}, or a round-robin"
            )
        if parameters.colours == "balance" and parameters.pairs > 1:
            raise ParameterError(
                "format.pairs: balanced colours are for single games; leave out pairs or colours"
            )
        self._names = entrants.players
        self._rounds = parameters.rounds
        self._pairs = parameters.pairs
        self._swap = parameters.colours == "swap"
        self._bye = self._round_games * entrants.shared
        self._top = FIRST if derive_seed(entrants.seed, "swiss colours") % 2 else SECOND

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the next round, or the final table."""
        rounds = [list(games) for _, games in groupby(played, key=lambda m: m.pairing.round)]
        facts = self._facts(rounds)
        if len(rounds) >= self._rounds:
            return FormatStep(finished=True, facts=facts)
        return FormatStep(pairings=self._round(len(rounds) + 1, rounds), facts=facts)

    def most_games(self) -> int:
        """Return the number of games."""
        return self._rounds * (len(self._names) // 2) * self._round_games

    def title(self) -> str:
        """Return the number of rounds."""
        return f"swiss, {counted(self._rounds, 'round')}"

    @property
    def _round_games(self) -> int:
        """Games of a player in a round."""
        return 2 * self._pairs if self._swap else 1

    def _round(self, number: int, rounds: Sequence[Sequence[Meeting]]) -> list[Pairing]:
        players = self._players(rounds)
        pairs, _ = pair_round(players)
        if not self._swap:
            pairs = [colours(one, other, players, top=self._top) for one, other in pairs]
        return [
            Pairing(
                first=self._names[one],
                second=self._names[other],
                round=number,
                opening=(number - 1) * self._pairs + pair,
                colours="swap" if self._swap else "fixed",
            )
            for one, other in pairs
            for pair in range(1, self._pairs + 1)
        ]

    def _players(self, rounds: Sequence[Sequence[Meeting]]) -> list[SwissPlayer]:
        """Return the players before the next round."""
        numbers = {name: number for number, name in enumerate(self._names)}
        return [
            SwissPlayer(
                points=card.points,
                opponents={numbers[opponent] for opponent, _ in card.meetings},
                byes=len(card.byes),
                colours=[] if self._swap else card.colours,
            )
            for card in self._cards(rounds).values()
        ]

    def _cards(self, rounds: Sequence[Sequence[Meeting]]) -> dict[str, PairingCard]:
        cards = {name: PairingCard(name) for name in self._names}
        for games in rounds:
            busy: set[str] = set()
            for meeting in games:
                one, other = meeting.pairing.first, meeting.pairing.second
                cards[one].meetings.append((other, meeting.points_of(one)))
                cards[other].meetings.append((one, meeting.points_of(other)))
                cards[one].colours.append(FIRST)
                cards[other].colours.append(SECOND)
                busy |= {one, other}
            for name in self._names:
                if name not in busy:
                    cards[name].byes.append(self._bye)
        return cards

    def _facts(self, rounds: Sequence[Sequence[Meeting]]) -> Mapping[str, Any]:
        table = standings(self._cards(rounds).values())
        leaders = ", ".join(f"{s.name} {s.points:g}" for s in table[:3])
        return {
            "kind": "swiss",
            "rounds": len(rounds),
            "standings": [asdict(standing) for standing in table],
            "ranking": [standing.name for standing in table],
            "text": f"after {counted(len(rounds), 'round')}: {leaders}" if rounds else "",
        }


# -- maximum matchings ----------------------------------------------------------------------------


class Matching:
    """A maximum matching of the remaining vertices.

    Args:
      neighbours: for each vertex its possible mates; the relation is symmetric.
    """

    def __init__(self, neighbours: Sequence[Sequence[int]]) -> None:
        self._neighbours = neighbours
        self._remains = [True] * len(neighbours)
        self._mate = [_NONE] * len(neighbours)
        # A greedy matching first: it leaves few vertices for the searches, each of which takes
        # O(V^2) steps.
        for vertex, others in enumerate(neighbours):
            if self._mate[vertex] == _NONE:
                free = next((other for other in others if self._mate[other] == _NONE), None)
                if free is not None:
                    self._mate[vertex], self._mate[free] = free, vertex
        self._complete()

    @property
    def exposed(self) -> int:
        """Number of remaining vertices without a mate."""
        vertices = zip(self._remains, self._mate, strict=True)
        return sum(remains and mate == _NONE for remains, mate in vertices)

    def has(self, vertex: int) -> bool:
        """Return whether a vertex remains."""
        return self._remains[vertex]

    def without(self, *vertices: int) -> Matching:
        """Return a maximum matching without some of the vertices."""
        # Copying the mates of the old matching is what makes this cheap: at most as many paths have
        # to be found as vertices were taken away.
        rest = object.__new__(Matching)
        rest._neighbours = self._neighbours
        rest._remains, rest._mate = self._remains.copy(), self._mate.copy()
        for vertex in vertices:
            rest._remains[vertex] = False
            if rest._mate[vertex] != _NONE:
                rest._mate[rest._mate[vertex]] = _NONE
        for vertex in vertices:
            rest._mate[vertex] = _NONE
        rest._complete()
        return rest

    def _complete(self) -> None:
        """Augment the matching until it is maximum.

        A vertex without an augmenting path never gets one by other augmentations, so one pass is
        enough.
        """
        for vertex, mate in enumerate(self._mate):
            if self._remains[vertex] and mate == _NONE and self._mate[vertex] == _NONE:
                end, parent = self._path(vertex)
                while end != _NONE:
                    before = parent[end]
                    following = self._mate[before]
                    self._mate[end], self._mate[before] = before, end
                    end = following

    def _path(self, root: int) -> tuple[int, list[int]]:
        """Return the end of an augmenting path, -1 for none, and the way back from it."""
        n = len(self._mate)
        base, parent, outer = list(range(n)), [_NONE] * n, [False] * n
        outer[root] = True
        queue = deque([root])
        while queue:
            vertex = queue.popleft()
            for other in self._neighbours[vertex]:
                mate = self._mate[other]
                # Within a blossom every vertex can be reached at even and odd distance: nothing
                # new.
                if not self._remains[other] or base[vertex] == base[other]:
                    continue
                if self._mate[vertex] == other:
                    continue
                # Two outer vertices are joined: an odd cycle, which bipartite graphs do not have.
                if other == root or (mate != _NONE and parent[mate] != _NONE):
                    self._shrink(vertex, other, base, parent, outer, queue)
                elif parent[other] == _NONE:
                    parent[other] = vertex
                    if mate == _NONE:
                        return other, parent
                    # The edge to a matched vertex can only be followed by its matching edge, so
                    # both are taken at once.
                    outer[mate] = True
                    queue.append(mate)
        return _NONE, parent

    def _shrink(
        self,
        one: int,
        other: int,
        base: list[int],
        parent: list[int],
        outer: list[bool],
        queue: deque[int],
    ) -> None:
        """Shrink the blossom that an edge between two outer vertices closes."""
        top = self._ancestor(one, other, base, parent)
        inside: set[int] = set()
        # Inner vertices of the cycle become outer ones, reached the other way round; the new
        # parents lead that way back.
        for vertex, child in ((one, other), (other, one)):
            while base[vertex] != top:
                mate = self._mate[vertex]
                inside |= {base[vertex], base[mate]}
                parent[vertex] = child
                child, vertex = mate, parent[mate]
        for vertex in range(len(base)):
            if base[vertex] in inside:
                base[vertex] = top
                if not outer[vertex]:
                    outer[vertex] = True
                    queue.append(vertex)

    def _ancestor(self, one: int, other: int, base: list[int], parent: list[int]) -> int:
        """Return the base at which the paths of two outer vertices to the root meet."""
        way = {vertex := base[one]}
        while self._mate[vertex] != _NONE:
            way.add(vertex := base[parent[self._mate[vertex]]])
        vertex = base[other]
        while vertex not in way:
            vertex = base[parent[self._mate[vertex]]]
        return vertex
