"""Swiss rounds against brute force: no rematch while avoidable, balanced colours, fair byes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournaments.formats import chance, entrants, make, names, play, seeds, strength

from miai_tournaments.formats.format import Meeting
from miai_tournaments.formats.matching import Matching
from miai_tournaments.formats.swiss import SwissPlayer, colours, pair_round


def matchings(vertices: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """All ways to pair up some of the vertices."""
    if len(vertices) < 2:
        yield []
        return
    one, *rest = vertices
    yield from matchings(tuple(rest))
    for other in rest:
        for more in matchings(tuple(n for n in rest if n != other)):
            yield [(one, other), *more]


graphs = st.integers(0, 9).flatmap(
    lambda n: st.tuples(
        st.just(n), st.sets(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=24)
    )
)


def largest(n: int, edges: set[tuple[int, int]], without: frozenset[int] = frozenset()) -> int:
    """Return the number of edges of a maximum matching, by trying all."""
    kept = [(a, b) for a, b in edges if a < b and not {a, b} & without]

    def best(place: int, used: frozenset[int]) -> int:
        if place == len(kept):
            return 0
        skipped = best(place + 1, used)
        if used & {*kept[place]}:
            return skipped
        return max(skipped, 1 + best(place + 1, used | {*kept[place]}))

    return best(0, frozenset())


@given(graphs, st.data())
def test_a_matching_is_as_large_as_brute_force_finds(
    graph: tuple[int, set[tuple[int, int]]], data: st.DataObject
) -> None:
    n, given_edges = graph
    count = n + 1
    edges = {(min(e), max(e)) for e in given_edges if e[0] != e[1]}
    edges = set(sorted(edges)[:12])
    lists = [[b for b in range(count) if (min(a, b), max(a, b)) in edges] for a in range(count)]
    matching = Matching(lists)
    assert matching.exposed == count - 2 * largest(n, edges)
    gone: frozenset[int] = frozenset()
    while len(gone) + 2 <= count:
        left = [v for v in range(count) if v not in gone]
        pair = data.draw(st.permutations(left))[:2]
        gone |= {*pair}
        matching = matching.without(*pair)
        assert matching.exposed == count - len(gone) - 2 * largest(n, edges, gone)


players = st.integers(2, 8)


@st.composite
def histories(draw: st.DrawFn) -> list[SwissPlayer]:
    """Players after some rounds of any pairing, with the points of any results."""
    count = draw(players)
    rng = random.Random(draw(seeds))
    found = [SwissPlayer() for _ in range(count)]
    for _ in range(draw(st.integers(0, count))):
        order = list(range(count))
        rng.shuffle(order)
        if count % 2:
            found[order[-1]].byes += 1
            found[order[-1]].points += 1
        for one, other in zip(order[::2], order[1::2], strict=False):
            found[one].opponents.add(other)
            found[other].opponents.add(one)
            score = rng.choice([0, 0.5, 1])
            found[one].points += score
            found[other].points += 1 - score
            found[one].colours.append(1)
            found[other].colours.append(-1)
    return found


def pairings(count: int) -> list[list[tuple[int, int]]]:
    return [m for m in matchings(tuple(range(count))) if len(m) == count // 2]


def due(colours: list[int]) -> int:
    """Return the colour of an absolute preference, 0 for none: FIDE's Dutch rules, C.04.3, A.6.a.

    It exists when a player's colour difference is greater than 1, or he had the same colour in the
    two latest games.
    """
    white, black = colours.count(1), colours.count(-1)
    if abs(white - black) > 1:
        return 1 if black > white else -1
    if colours[-2:] in ([1, 1], [-1, -1]):
        return -colours[-1]
    return 0


@settings(max_examples=150)
@given(histories())
def test_a_round_is_as_good_as_any_pairing_can_be(found: list[SwissPlayer]) -> None:
    pairs, bye = pair_round(found)
    count = len(found)
    assert Counter(n for pair in pairs for n in pair) + Counter(
        [] if bye is None else [bye]
    ) == Counter(range(count))
    assert (bye is None) == (count % 2 == 0)

    def rematches(ways: list[tuple[int, int]]) -> int:
        return sum(b in found[a].opponents for a, b in ways)

    def clashes(ways: list[tuple[int, int]]) -> int:
        return sum(due(found[a].colours) * due(found[b].colours) > 0 for a, b in ways)

    def second_bye(ways: list[tuple[int, int]]) -> bool:
        left = {*range(count)} - {n for pair in ways for n in pair}
        return any(found[n].byes > min(p.byes for p in found) for n in left)

    every = pairings(count)
    assert rematches(pairs) == min(
        rematches(m) for m in every if bye is None or rematches(m) == 0 or not second_bye(m)
    )
    spotless = [m for m in every if not rematches(m) and not second_bye(m)]
    if spotless:
        assert not second_bye(pairs)
        if not all(clashes(m) for m in spotless):
            assert not clashes(pairs)


def test_a_first_round_folds_the_field_and_later_ones_the_score_groups() -> None:
    pairs, bye = pair_round([SwissPlayer() for _ in range(8)])
    assert (pairs, bye) == ([(0, 4), (1, 5), (2, 6), (3, 7)], None)
    pairs, bye = pair_round([SwissPlayer() for _ in range(5)])
    assert (pairs, bye) == ([(0, 2), (1, 3)], 4)
    field = make("swiss", entrants(8), rounds=2)
    meetings, _ = play(field, strength(names(8)))
    order = names(8)
    second = [
        {order.index(m.pairing.first), order.index(m.pairing.second)}
        for m in meetings
        if m.pairing.round == 2
    ]
    assert second == [{0, 2}, {1, 3}, {4, 6}, {5, 7}]


def test_who_has_met_the_opponent_of_the_fold_meets_the_next_of_the_lower_half() -> None:
    # FIDE C.04.3, D.2: transpositions in the lower half come before exchanges with the upper one.
    players = [SwissPlayer() for _ in range(8)]
    players[0].opponents.add(4)
    players[4].opponents.add(0)
    pairs, _ = pair_round(players)
    assert pairs[0] == (0, 5)


@pytest.mark.parametrize("top", [1, -1])
def test_in_the_first_round_the_seeds_alternate_from_the_colour_drawn(top: int) -> None:
    # FIDE C.04.3, E.5: who has no preference alternates by the parity of the pairing number.
    players = [SwissPlayer() for _ in range(8)]
    pairs, _ = pair_round(players)
    firsts = {colours(one, other, players, top=top)[0] for one, other in pairs}
    assert firsts == ({0, 5, 2, 7} if top == 1 else {4, 1, 6, 3})


def test_equal_preferences_follow_the_latest_difference_of_colours() -> None:
    # FIDE C.04.3, E.3: alternate to the latest round in which one had White and the other Black.
    players = [SwissPlayer(colours=[1, -1, 1, -1]), SwissPlayer(colours=[-1, 1, 1, -1])]
    assert [player.wanted for player in players] == [1, 1]
    assert colours(0, 1, players, top=1) == (0, 1)
    players = [SwissPlayer(colours=[-1, 1, 1, -1]), SwissPlayer(colours=[1, -1, 1, -1])]
    assert colours(0, 1, players, top=1) == (1, 0)


@settings(max_examples=60)
@given(st.integers(2, 11), seeds, st.sampled_from(["swap", "balance"]), st.data())
def test_everybody_plays_once_a_round_and_nobody_twice_the_same(
    count: int, seed: int, colours: str, data: st.DataObject
) -> None:
    max_rounds = count - 1 + count % 2
    rounds = data.draw(st.integers(1, max_rounds))
    format_ = make("swiss", entrants(count, seed=seed), rounds=rounds, colours=colours)
    meetings, step = play(format_, chance(seed), rng=random.Random(seed), rooms=(3,))
    assert step.finished
    assert sum(len(m.scores) for m in meetings) == format_.most_games()
    for number in range(1, rounds + 1):
        busy = [n for m in meetings if m.pairing.round == number for n in _two(m)]
        assert len(set(busy)) == len(busy) == count - count % 2
    table = step.facts["standings"]
    assert [row["name"] for row in table] == step.facts["ranking"]
    points = sum(row["points"] for row in table)
    assert points == sum(len(m.scores) for m in meetings) + (count % 2) * rounds * (
        2 if colours == "swap" else 1
    )
    if rounds <= count // 2:  # then a rematch is never needed (Dirac 1952)
        met = Counter(frozenset(_two(m)) for m in meetings)
        assert set(met.values()) <= {1}
        assert max(row["byes"] for row in table) <= 1
    if colours == "balance":
        for name in names(count):
            own = [1 if m.pairing.first == name else -1 for m in meetings if name in _two(m)]
            if rounds < count // 2:
                assert abs(sum(own)) <= 2, own


@pytest.mark.parametrize("seed", range(8))
def test_nobody_has_three_games_of_one_colour_in_a_row_where_it_can_be_avoided(seed: int) -> None:
    """In a field so large that some opponent of the other preference is always left."""
    count, rounds = 24, 7
    format_ = make("swiss", entrants(count, seed=seed), rounds=rounds, colours="balance")
    meetings, _ = play(format_, chance(seed), rng=random.Random(seed), rooms=(3,))
    for name in names(count):
        own = [1 if m.pairing.first == name else -1 for m in meetings if name in _two(m)]
        assert len(own) == rounds
        assert abs(sum(own)) <= 2, own
        assert all(abs(sum(own[n : n + 3])) < 3 for n in range(rounds - 2)), own


def _two(meeting: Meeting) -> tuple[str, str]:
    return meeting.pairing.first, meeting.pairing.second


def test_more_rounds_continue_the_same_tournament() -> None:
    few, _ = play(make("swiss", entrants(9), rounds=3), chance(5))
    many, _ = play(make("swiss", entrants(9), rounds=6), chance(5))
    assert [m.pairing for m in many][: len(few)] == [m.pairing for m in few]
