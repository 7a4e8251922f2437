"""Every format on paper: who meets whom how often, and that only results decide."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournaments.formats import chance, entrants, make, names, play, seeds, strength
from tests.whole_texts import assert_expected, assert_transcript, refusal, table_of

from miai.errors import MiaiError
from miai.plugins.loader import registry
from miai_tournaments.formats.format import Meeting, Pairing, how_many
from miai_tournaments.formats.knockout import bracket
from miai_tournaments.formats.sweep import SweepFormat, SweepFormatParameters
from miai_tournaments.formats.swiss import Matching, SwissPlayer, colours, pair_round
from miai_tournaments.ratings.sprt import Sprt

counts = st.integers(2, 9)
unhurried = settings(deadline=None)  # the machine may be busy


def two(meeting: Meeting) -> frozenset[str]:
    return frozenset((meeting.pairing.first, meeting.pairing.second))


LISTED = [
    {"first": "p03", "second": "p10", "weight": 2},
    {"first": "p10", "second": "p03", "colours": "fixed", "settings": {"komi": 0.5}},
]
FORMATS: list[tuple[str, dict[str, Any], int]] = [
    ("round-robin", {"rounds": 3}, 5),
    ("round-robin", {"colours": "random"}, 5),
    ("gauntlet", {"heroes": names(3)[1:], "rounds": 2, "colours": "fixed"}, 6),
    ("match", {"pairs": 7}, 2),
    ("match", {"pairs": 24, "sprt": {"elo0": 0, "elo1": 120}}, 2),
    ("swiss", {"rounds": 4, "pairs": 2}, 7),
    ("swiss", {"rounds": 5, "colours": "balance"}, 6),
    ("knockout", {"pairs": 1}, 7),
    ("adaptive", {"pairs": 30}, 5),
    ("adaptive", {"pairs": 90, "width": 400.0}, 4),
    ("pairings", {"pairings": LISTED}, 3),
    ("sweep", {"player": "p", "vary": {"x": [1]}, "method": "halving"}, 7),
]

OF_THREE: list[tuple[str, dict[str, Any], int]] = [
    ("round-robin", {"rounds": 2, "groups": 4}, 5),
    ("gauntlet", {"heroes": names(1), "rounds": 2}, 4),
    ("match", {"pairs": 5}, 3),
    ("match", {"pairs": 24, "sprt": {"elo0": 0, "elo1": 120}}, 3),
    ("pairings", {"pairings": [{"first": "p03", "second": "p10", "others": ("p17",)}]}, 4),
]


@pytest.mark.parametrize(
    ("name", "values", "count", "seats"),
    [
        pytest.param(*each, seats, marks=[pytest.mark.slow] if "sprt" in each[1] else [])
        for seats, formats in ((2, FORMATS), (3, OF_THREE))
        for each in formats
    ],
)
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_the_order_in_which_games_end_decides_nothing(
    name: str, values: dict[str, Any], count: int, seats: int, seed: int
) -> None:
    """One worker in schedule order, and many whose games end in any order: the same tournament."""
    teams = dict.fromkeys(names(count)[:5], "p")
    field = entrants(count, rounds=2, seed=seed, teams=teams, seats=seats)
    alone, end = play(make(name, field, **values), chance(seed))
    assert end.finished
    games = sum(len(m.scores) for m in alone[: end.counted])
    format_ = make(name, field, **values)
    assert games <= format_.most_games()
    assert games == format_.most_games() or not format_.exact
    for shuffle in range(3):
        rng = random.Random(f"{seed} {shuffle}")
        meetings, other = play(format_, chance(seed), rng=rng, rooms=(1, 4, 30))
        assert other.facts == end.facts
        counted = end.counted or len(alone)
        assert (other.counted or len(meetings)) == counted
        assert [(m.pairing, m.scores) for m in meetings[:counted]] == [
            (m.pairing, m.scores) for m in alone[:counted]
        ]


def test_tournaments_on_paper() -> None:
    lines = []
    for seats, formats in ((2, FORMATS), (3, OF_THREE)):
        for name, values, count in formats:
            field = entrants(count, rounds=2, seed=4, seats=seats, teams={names(count)[0]: "p"})
            format_ = make(name, field, **values)
            meetings, end = play(format_, chance(5), rooms=(3,))
            lines.append(f"{name} {values}, {count} players: {format_.title()}")
            grows = [*sorted(format_.may_grow), *["players"] * format_.may_gain_players]
            lines.append(f"{how_many(format_)}, {format_.most_games()}, {format_.static}, {grows}")
            lines += [f"{path}: {given}" for path, given in format_.settings().items()]
            if name == "adaptive":  # rounding decides between equal pairs
                continue
            for meeting in meetings:
                pairing = meeting.pairing
                scores = [[round(points, 3) for points in score or ()] for score in meeting.scores]
                names_ = " ".join(pairing.players)
                also = f"{pairing.colours} {pairing.opening} {dict(pairing.settings)}"
                lines.append(f"{pairing.round}: {names_} {also} {scores}")
            lines += [json.dumps(dict(end.facts)), ""]
    assert_expected("formats.txt", "\n".join(lines))


def test_every_registered_format_is_played_here() -> None:
    components = registry().components("tournament-format")
    assert {name for name, _, _ in FORMATS} == {component.name for component in components}
    assert {name for name, _, _ in OF_THREE} == {
        component.name
        for component in components
        if getattr(component.load_factory(), "any_seats", False)
    }


@unhurried
@given(counts, seeds, st.integers(1, 2), st.integers(0, 2))
def test_a_knockout_ends_with_one_who_lost_no_match(
    count: int, seed: int, pairs: int, tiebreaks: int
) -> None:
    format_ = make("knockout", entrants(count), pairs=pairs, tiebreaks=tiebreaks)
    meetings, step = play(format_, chance(seed, draws=0.6))
    ranking = step.facts["ranking"]
    assert sorted(ranking) == sorted(names(count))
    matches: dict[tuple[int, frozenset[str]], list[Meeting]] = {}
    for meeting in meetings:
        matches.setdefault((meeting.pairing.round, two(meeting)), []).append(meeting)
    assert len(matches) == count - 1
    assert len({m for _, m in matches}) == count - 1
    for (_, names_), met in matches.items():
        winner, loser = sorted(names_, key=ranking.index)
        points = [m.points_of(winner) for m in met]
        assert pairs <= len(met) <= pairs + tiebreaks
        if len(met) > pairs:
            assert sum(points[:pairs]) == pairs
            assert all(p == 1 for p in points[pairs:-1])
        if sum(points) == len(met):
            assert len(met) == pairs + tiebreaks
            assert names(count).index(winner) < names(count).index(loser)
        else:
            assert sum(points) > len(met)


@pytest.mark.parametrize("count", [2, 3, 5, 8, 13])
def test_the_best_seeds_meet_late_and_have_the_byes(count: int) -> None:
    places = bracket([str(n) for n in range(count)])
    size = len(places)
    assert size < 2 * count
    assert sorted(p for p in places if p) == sorted(str(n) for n in range(count))
    for seed in range(size - count):
        other = places[places.index(str(seed)) ^ 1]
        assert other is None
    meetings, step = play(make("knockout", entrants(count)), strength(names(count)))
    final = max(meetings, key=lambda m: m.pairing.round)
    assert two(final) == {*names(count)[:2]}
    assert step.facts["ranking"][:2] == list(names(count)[:2])


@pytest.mark.slow
@given(seeds, st.floats(-0.3, 0.3))
@settings(max_examples=6, deadline=None)
def test_a_match_is_decided_on_the_prefix_of_pairs(seed: int, bias: float) -> None:
    """The verdict is that of the test on all pairs, however few of them were ever scheduled."""
    rng = random.Random(seed)
    all_scores = [[float(rng.random() < 0.5 + bias) for _ in range(2)] for _ in range(150)]
    test = Sprt(0, 80)
    expected = test.decide([sum(scores) for scores in all_scores])
    field = entrants(2)
    for shuffle in range(2):
        format_ = make("match", field, pairs=150, sprt={"elo0": 0, "elo1": 80})
        meetings, step = play(
            format_,
            lambda pairing, game: all_scores[pairing.round - 1][game],
            rng=random.Random(f"{seed} {shuffle}"),
            rooms=(1, 2, 25),
        )
        assert step.facts["verdict"] == expected.verdict
        assert step.facts["pairs"] == expected.pairs
        assert (step.counted or len(meetings)) == expected.pairs
        curve = step.facts["curve"]
        assert len(curve) <= 200
        assert curve[-1] == [expected.pairs, pytest.approx(expected.llr, abs=1e-4)]
        if expected.verdict is not None:
            assert len(meetings) <= expected.pairs * (1 + 1 / 32 + 1 / 64) + 26


@pytest.mark.slow
@settings(unhurried, max_examples=40)
@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 2))
def test_halving_drops_all_but_one(count: int, rounds: int, opponents: int) -> None:
    if count + opponents < 2:
        return
    everybody = names(count + opponents)
    field = entrants(count + opponents, teams=dict.fromkeys(everybody[:count], "x"))
    values = {"player": "x", "vary": {"a": [1]}, "method": "halving"}
    format_ = make("sweep", field, rounds=rounds, **values)

    def score(pairing: Pairing, game: int) -> float:
        """The higher a variant's number is, the more it scores, against anybody."""
        one, other = (everybody.index(name) for name in (pairing.first, pairing.second))
        return (one + 1) / (count + 1) if opponents else float(one > other)

    meetings, step = play(format_, score)
    assert step.facts["ranking"][0] == everybody[count - 1]
    assert sorted(step.facts["ranking"]) == sorted(everybody[:count])
    assert 2 * len(meetings) == format_.most_games()
    busy = {
        number: {n for m in meetings if m.pairing.round == number for n in two(m)}
        & {*everybody[:count]}
        for number in {m.pairing.round for m in meetings}
    }
    for before, after in pairwise(busy[n] for n in sorted(busy)):
        assert after < before
        assert len(after) == -(-len(before) // 2)
    for number in busy:
        met = Counter(two(m) for m in meetings if m.pairing.round == number)
        assert set(met.values()) == {rounds * 2 ** (number - 1)}
    again = Counter((two(m), m.pairing.opening) for m in meetings)
    assert set(again.values()) <= {1}, "a rung repeats an opening of the one before"
    assert {m.pairing.opening for m in meetings} == {*range(1, len({o for _, o in again}) + 1)}


def test_a_sweep_that_is_not_halved_keeps_every_variant() -> None:
    everybody = names(5)
    field = entrants(5, teams=dict.fromkeys(everybody, "x"))
    format_ = make("sweep", field, rounds=1, player="x", vary={"a": [1]})
    _, step = play(format_, lambda pairing, game: float(pairing.first > pairing.second))
    assert sorted(step.facts["left"]) == sorted(everybody)


def test_a_sample_of_a_sweep_is_drawn_by_the_seed_within_its_bounds() -> None:
    values = {
        "player": "x",
        "method": "random",
        "samples": 50,
        "vary": {
            "n": {"low": 1, "high": 1000, "log": True},
            "c": {"low": 0.5, "high": 2.0},
            "name": ["a", "b"],
        },
    }
    filled = SweepFormatParameters.model_validate(values)
    drawn = SweepFormat.variants(filled, seed=1).values
    assert drawn == SweepFormat.variants(filled, seed=1).values
    assert drawn != SweepFormat.variants(filled, seed=2).values
    assert len(drawn) == 50
    assert all(type(v["n"]) is int and 1 <= v["n"] <= 1000 for v in drawn)
    assert all(0.5 <= v["c"] <= 2.0 and v["name"] in ("a", "b") for v in drawn)
    assert 10 <= sum(v["n"] <= 31 for v in drawn) <= 40, "log: half of them below the middle"


def test_contradictions_are_refused() -> None:
    def answer(line: str) -> str:
        who, _, table = line.partition(" players: ")
        name, _, count = who.partition(" of ")
        return refusal(lambda: make(name, entrants(int(count)), **table_of(table)))

    assert_transcript("format-refusals.txt", answer)


def test_a_grid_and_a_sample_that_are_too_large_are_refused() -> None:
    for values, message in (
        ({"vary": {"a": list(range(31)), "b": list(range(31))}}, "leads to 961 variants"),
        ({"vary": {"a": [1, 2]}, "samples": 3, "method": "random"}, "2 were found"),
    ):
        filled = SweepFormatParameters.model_validate({"player": "x", **values})
        with pytest.raises(MiaiError, match=message):
            SweepFormat.variants(filled, seed=0)


# -- Swiss rounds against brute force: no rematch while avoidable, balanced colours, fair byes -----


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


@pytest.mark.slow
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
