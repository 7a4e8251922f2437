"""Groups, seatings and seeds; tournaments of games of more than two players, reports, lists."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournaments.formats import entrants, make, names, play
from tests.tournaments.support import config_text, player, refused, tournament
from tests.warm_command import run_miai
from tests.whole_texts import assert_report

import miai
from miai.errors import ConfigError, MiaiError, ParameterError
from miai.game import GameInfo
from miai.record_reader import read_record
from miai.testing.game_checks import check_returns
from miai_classics.kuhn_poker import KuhnPoker
from miai_classics.tic_tac_toe import TicTacToe
from miai_tournaments.config.load import load_tournament
from miai_tournaments.config.opening_source import Openings
from miai_tournaments.formats.format import Entrants, Format, FormatStep, Meeting, Pairing
from miai_tournaments.formats.groups import GroupDraw
from miai_tournaments.formats.match import MatchFormat, MatchFormatParameters, PayoffTestParameters
from miai_tournaments.formats.static import (
    Gauntlet,
    GauntletParameters,
    RoundRobin,
    RoundRobinParameters,
)
from miai_tournaments.ratings.payoffs import MeanPayoff, Payoffs, PayoffTest
from miai_tournaments.ratings.rankings import Rankings
from miai_tournaments.report.joint_ratings import Identity, RunResults, join_runs
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import count_games
from miai_tournaments.running.schedule import Schedule, player_seed
from miai_tournaments.store.rows import PAYOFFS, GameRow, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

NAMES = ("ann", "bob", "cid", "dee", "eve", "fay", "gus")
PIG = miai.load_game("pig")


def scheduled(
    format_: Format, *, game: miai.Game = PIG, seed: int = 1, names: tuple[str, ...] = NAMES
) -> dict[str, ScheduledGame]:
    rows = [PlayerRow(name=name, agent="random") for name in names]
    openings = Openings(game, 1)
    games = Schedule(format_, rows, seed=seed, openings=openings).advance(room=1)
    by_id = {game.game_id: game for game in games}
    assert len(by_id) == len(games) == format_.most_games()
    return by_id


def field(players: int, *, seats: int, rounds: int = 1, seed: int = 1) -> Entrants:
    return Entrants(players=NAMES[:players], rounds=rounds, seed=seed, seats=seats)


def round_robin(players: int, *, seats: int, rounds: int = 1, **parameters: Any) -> RoundRobin:
    entrants = field(players, seats=seats, rounds=rounds)
    return RoundRobin(entrants, RoundRobinParameters(**parameters))


# -- groups and seatings --------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_every_group_plays_every_seating_once_a_round(seats: int) -> None:
    games = scheduled(round_robin(5, seats=seats, rounds=2))
    seatings = Counter(game.players for game in games.values())
    assert seatings == dict.fromkeys(permutations(NAMES[:5], seats), 2)


@pytest.mark.parametrize(("players", "seats", "seatings"), [(6, 5, None), (5, 4, "balanced")])
def test_in_each_block_of_a_group_everybody_has_each_seat_once(
    players: int, seats: int, seatings: str | None
) -> None:
    games = scheduled(round_robin(players, seats=seats, rounds=3, seatings=seatings))
    blocks: dict[str, list[ScheduledGame]] = {}
    for game in games.values():
        blocks.setdefault(game.pair_id, []).append(game)
    groups = Counter(tuple(sorted(block[0].players)) for block in blocks.values())
    assert groups == dict.fromkeys(combinations(NAMES[:players], seats), 3)
    for block in blocks.values():
        assert len(block) == seats
        for column in zip(*(game.players for game in block), strict=True):
            assert sorted(column) == sorted(block[0].players)
        assert len({(game.seed, game.opening, game.round) for game in block}) == 1
        assert len(block[0].opening) == 2, "a roll and the face of the die"
        for name in block[0].players:
            assert len({player_seed(game, name) for game in block}) == 1
    assert len({block[0].seed for block in blocks.values()}) == len(blocks)
    orders = {block[0].players for block in blocks.values()}
    assert len(orders) > 2 * len(groups), "the order round the table is drawn anew"


def test_more_rounds_and_players_keep_every_game_and_the_order_of_names_does_not_matter() -> None:
    few = scheduled(round_robin(4, seats=3, rounds=1))
    many = scheduled(round_robin(6, seats=3, rounds=3))
    assert few.items() <= many.items()
    turned = Entrants(players=NAMES[3::-1], rounds=1, seed=1, seats=3)
    assert scheduled(RoundRobin(turned, RoundRobinParameters())) == few
    other = scheduled(round_robin(4, seats=3), seed=2)
    assert {game.seed for game in other.values()}.isdisjoint(game.seed for game in few.values())


def test_colours_can_be_drawn() -> None:
    games = scheduled(round_robin(5, seats=3, rounds=60, colours="random"))
    seatings = Counter(game.players for game in games.values())
    assert len(games) == 60 * 10
    assert len(seatings) == 60, "every order of every group has been drawn"
    with pytest.raises(ParameterError, match=r"format\.seatings: has no effect with colours"):
        round_robin(5, seats=3, colours="random", seatings="all")


@given(st.integers(2, 7), st.integers(2, 4), st.integers(1, 6), st.integers(0, 99))
def test_a_sample_of_groups_is_balanced_at_any_time(
    players: int, seats: int, count: int, seed: int
) -> None:
    seats = min(seats, players)
    names = NAMES[:players]
    every = len(list(combinations(names, seats)))
    if count > every:
        with pytest.raises(ParameterError, match=rf"format\.groups: is {count}, but"):
            GroupDraw(names, seats, count, seed=seed)
        return
    draw = GroupDraw(names, seats, count, seed=seed)
    played = Counter[str](dict.fromkeys(names, 0))
    drawn = []
    for _ in range(4):
        for group in draw.draw():
            assert list(group) == sorted(set(group))
            played.update(group)
            drawn.append(group)
            assert max(played.values()) - min(played.values()) <= 1
    again = GroupDraw(names, seats, count, seed=seed)
    assert [group for _ in range(4) for group in again.draw()] == drawn


def test_each_hero_meets_all_groups_of_the_others() -> None:
    format_ = Gauntlet(field(6, seats=3), GauntletParameters(heroes=("fay", "ann")))
    groups = Counter(tuple(sorted(game.players)) for game in scheduled(format_).values())
    others = list(combinations(NAMES[1:5], 2))
    expected = [tuple(sorted((hero, *two))) for hero in ("ann", "fay") for two in others]
    assert groups == dict.fromkeys(expected, 6)
    fixed = Gauntlet(field(4, seats=3), GauntletParameters(heroes=("dee",), colours="fixed"))
    assert {game.players[0] for game in scheduled(fixed).values()} == {"dee"}
    with pytest.raises(ParameterError, match=r"format\.heroes: leaves 1 of the 2 opponents"):
        Gauntlet(field(3, seats=3), GauntletParameters(heroes=("ann", "bob")))


def test_a_match_is_of_blocks_in_orders_that_are_drawn() -> None:
    format_ = MatchFormat(field(4, seats=4), MatchFormatParameters(pairs=30))
    games = list(scheduled(format_, game=miai.load_game("pig", players=4)).values())
    assert len(games) == 120
    for begin in range(0, 120, 4):
        block = games[begin : begin + 4]
        assert len({game.pair_id for game in block}) == len({game.seed for game in block}) == 1
        for column in zip(*(game.players for game in block), strict=True):
            assert sorted(column) == list(NAMES[:4])
    orders = {game.players for game in games if game.players[0] == "ann"}
    assert len(orders) == 6, "all orders round the table"
    assert format_.title() == "match of 30 blocks"
    fixed = MatchFormat(field(4, seats=4), MatchFormatParameters(pairs=3, colours="fixed"))
    played = scheduled(fixed, game=miai.load_game("pig", players=4)).values()
    assert {game.players for game in played} == {NAMES[:4]}


def test_a_test_of_payoffs_bounds_the_excess_over_the_mean() -> None:
    """Of three players one may have at most two thirds of the range more than the mean."""
    bound = miai.load_game("goofspiel", players=3, returns_type="total_points").info.payoff_bound
    assert bound == 15 - 15 / 3
    entrants = Entrants(players=NAMES[:3], seats=3, payoff_bound=bound)
    test = PayoffTestParameters(mean0=0.0, mean1=2.0)
    parameters = MatchFormatParameters(pairs=100, payoff_test=test)
    format_ = MatchFormat(entrants, parameters)
    meetings: list[Meeting] = []
    while not (step := format_.more(meetings, room=1)).finished:
        for pairing in step.pairings:
            place = pairing.players.index("ann")
            scores = tuple(10.0 if n == place else -5.0 for n in range(3))
            meetings.append(Meeting(pairing, [scores] * 3))
    assert step.facts["verdict"] == "H1"
    assert step.facts["mean"] == pytest.approx(10.0)
    assert step.facts["text"].startswith("test of ann against bob and cid: H1 accepted")
    assert "blocks, mean +10.000" in step.facts["text"]


def test_points_are_shares_of_the_opponents_or_excesses_over_the_mean() -> None:
    for payoffs, returns, expected in (
        (False, (1.0, 0.0, 1.0), {"ann": 0.75, "bob": 0.0, "cid": 0.75}),
        (True, (6.0, 0.0, -3.0), {"ann": 5.0, "bob": -1.0, "cid": -4.0}),
    ):
        format_ = round_robin(3, seats=3)
        rows = [PlayerRow(name=name, agent="random") for name in NAMES[:3]]
        schedule = Schedule(format_, rows, seed=1, openings=Openings(PIG), payoffs=payoffs)
        for game in schedule.advance(room=1):
            by_name = dict(zip(("ann", "bob", "cid"), returns, strict=True))
            schedule.record(game.game_id, [by_name[name] for name in game.players])
        for meeting in schedule._meetings:
            assert meeting.scores == [tuple(expected[name] for name in meeting.pairing.players)] * 3


# -- configs --------------------------------------------------------------------------------------

FOUR = tuple(player(name) for name in NAMES[:4])
SMALL = {"name": "pig", "goal": 6, "turns": 3}


def test_the_number_of_players_cannot_differ_within_a_tournament(tmp_path: Path) -> None:
    text = config_text(*FOUR, game={**SMALL, "players": 2}, format={"name": "pairings"})
    text = text.replace(
        "[[players]]",
        '[[format.pairings]]\nfirst = "ann"\nsecond = "bob"\nsettings = {players = 3}\n[[players]]',
        1,
    )
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ConfigError, match="makes pig a game of 3 players"):
        load_tournament(tmp_path / "x.toml")


# -- runs -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_agent_that_fails_is_last_and_named(tmp_path: Path, mischief: dict[str, str]) -> None:
    config = tmp_path / "x.toml"
    players = (*FOUR[:2], player("bad", "mischief", way="illegal"))
    game = {**SMALL, "goal": 30}
    config.write_text(config_text(*players, game=game, tournament={"rounds": 1}))
    words = ("run", config, "--out", tmp_path / "out", "--executor", "serial")
    done = tournament(*words, env=mischief)
    with Store.read(tmp_path / "out") as store:
        rows = store.results()
    assert len(rows) == 6
    for row in rows:
        seat = row.players.index("bad")
        assert (row.termination, row.loser) == ("illegal-action", seat)
        assert row.returns == tuple(-1.0 if n == seat else 0.5 for n in range(3))
    assert "bad lost to ann and bob by illegal-action" in done.stdout
    assert "ann = bob > bad (illegal-action: " in done.stdout


# -- several games in one list --------------------------------------------------------------------


def test_different_games_are_joined_only_on_request() -> None:
    agents = tuple(Identity.of(name, "mcts", {}, version="miai 1.0") for name in "abc")
    three = [(seats, (2, 1, 0)) for seats in permutations("012")]
    numbers = ("0", "1", "2")
    pig = RunResults(
        source="pig",
        game="pig",
        identities=agents,
        results=Rankings.from_games(three, players=numbers),
    )
    four = [(tuple("210"), (2, 2, 0)), (tuple("102"), (0, 1, 2))]
    ludo = RunResults(
        source="ludo",
        game="ludo",
        identities=agents[::-1],
        results=Rankings.from_games(four, players=numbers),
    )
    with pytest.raises(ConfigError, match=r"is a run of ludo, pig of pig; .*--across-games"):
        join_runs([pig, ludo])
    joined = join_runs([pig, ludo], across_games=True)
    assert joined.kinds == (("pig", "{}"), ("ludo", "{}"))
    assert isinstance(joined.results, Rankings)
    assert joined.results.players == ("a", "b", "c")
    assert joined.results.kinds[1].seats.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert joined.results.games() == 8


def row(players: tuple[str, ...], returns: tuple[float, ...], number: int = 0) -> GameRow:
    return GameRow(
        game_id=f"g{number}",
        pair_id=f"b{number}",
        round=1,
        players=players,
        seed=number,
        status="done",
        returns=returns,
        termination="terminal",
    )


def test_a_live_count_of_rankings_equals_a_later_one() -> None:
    games = ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    rows = [row(NAMES[:3], returns, n) for n, returns in enumerate(games)]
    counted, live = count_games(rows), count_games((), players=NAMES[:3])
    for each in rows:
        live.note(each)
    assert (live.players, live.rankings) == (counted.players, counted.rankings)


# -- payoffs --------------------------------------------------------------------------------------


def test_games_among_members_do_not_count_for_a_team() -> None:
    payoffs = Payoffs()
    payoffs.add("one", ("ann", "bob", "cid"), (3.0, -1.0, -2.0))
    payoffs.add("other", ("ann", "dee", "eve"), (4.0, -2.0, -2.0))
    team = payoffs.of_team(("ann", "bob"))
    assert team is not None
    assert (team.value, team.games) == (4.0, 1)


def test_a_report_of_payoffs_ranks_by_them(tmp_path: Path) -> None:
    rows = []
    for block, luck in enumerate((3.0, -4.0, 2.0)):
        for turn in range(3):
            names = NAMES[turn:3] + NAMES[:turn]
            returns = [{"ann": -1.0, "bob": 2.0, "cid": -1.0}[name] for name in names]
            returns[0] += luck
            returns[1] -= luck
            rows.append(row(names, tuple(returns), block))
    info = RunInfo(
        name="x", seed=1, rounds=1, game="chips", game_version=1, resolved={PAYOFFS: {"bound": 9.0}}
    )
    report = build_report(rows, info=info, players=NAMES[:3], details=True)
    assert_report("three-payoffs", report, tmp_path)


# -- games, seeds and openings come from names, not from positions: extension changes nothing ------


GAME = miai.load_game("tic_tac_toe")

player_names = st.lists(
    st.text("abcdefghXYZ0123456789.+-_", min_size=1, max_size=8),
    min_size=2,
    max_size=6,
    unique_by=str.casefold,
)
rounds = st.integers(1, 4)
seeds = st.integers(0, 2**63 - 1)
plies = st.integers(0, 3)


def players(found: list[str], **parameters: int) -> list[PlayerRow]:
    return [PlayerRow(name=name, agent="random", parameters=parameters) for name in found]


def schedule(
    rows: list[PlayerRow], *, rounds: int = 2, seed: int = 0, random_plies: int = 2
) -> dict[str, ScheduledGame]:
    entrants = Entrants(players=tuple(row.name for row in rows), rounds=rounds)
    format_ = RoundRobin(entrants, RoundRobinParameters())
    openings = Openings(GAME, random_plies)
    games = Schedule(format_, rows, seed=seed, openings=openings).advance(room=1)
    by_id = {game.game_id: game for game in games}
    assert len(by_id) == len(games), "ids are unique"
    return by_id


@given(player_names, rounds, seeds, plies)
def test_everybody_plays_everybody_in_colour_swapped_pairs(
    found: list[str], rounds: int, seed: int, plies: int
) -> None:
    games = schedule(players(found), rounds=rounds, seed=seed, random_plies=plies)
    assert len(games) == rounds * len(found) * (len(found) - 1)
    seats = Counter(game.players for game in games.values())
    assert set(seats.values()) == {rounds}
    pairs: dict[str, list[ScheduledGame]] = {}
    for game in games.values():
        pairs.setdefault(game.pair_id, []).append(game)
    for one, other in pairs.values():
        assert one.players == other.players[::-1]
        assert (one.seed, one.opening, one.round) == (other.seed, other.opening, other.round)
        assert len(one.opening) == plies
        for name in one.players:
            assert player_seed(one, name) == player_seed(other, name)
        assert len({player_seed(one, name) for name in one.players}) == 2
    assert len({pair[0].seed for pair in pairs.values()}) == len(pairs)


@settings(max_examples=40)
@given(player_names, rounds, st.integers(0, 3), st.randoms(use_true_random=False))
def test_more_players_and_rounds_and_another_order_keep_every_game(
    found: list[str], rounds: int, more: int, random: object
) -> None:
    few = schedule(players(found[:-1] if len(found) > 2 else found), rounds=rounds)
    shuffled = players(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    many = schedule(shuffled, rounds=rounds + more)
    assert few.items() <= many.items()


def test_a_seed_depends_on_run_agent_and_pair_but_not_on_parameters() -> None:
    """A release that adds or removes a parameter of an agent changes no games."""

    def seed(rows: list[PlayerRow], run: int = 0) -> int:
        return schedule(rows, seed=run)["a~b~0001a"].seed

    base = seed(players(["a", "b"]))
    assert base == seed(players(["a", "b", "c"]))
    assert base != seed(players(["a", "b"]), run=1)
    assert base == seed(players(["a", "b"], simulations=7))
    other = PlayerRow(name="a", agent="mcts", parameters={})
    assert base != seed([other, *players(["b"])])
    assert base != schedule(players(["a", "b"]))["a~b~0002a"].seed


def test_ids_and_seeds_stay_what_they_are() -> None:
    """A change would give every config other games."""
    game = schedule(players(["a", "b"]), seed=1)["a~b~0002b"]
    assert game.players == ("b", "a")
    assert game.seed == 8621923943556524953
    assert player_seed(game, "a") == 5624159205264952538


class Odd(RoundRobin):
    """A format of a plugin that answers what it should not."""

    answer: FormatStep | Exception = FormatStep()
    static = False

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (FormatStep(), "the format (2 rounds) waits for no game: a defect"),
        (ValueError("x"), "the format (2 rounds) failed: ValueError: x; a defect of its plugin"),
        (MiaiError("is full"), "is full"),
    ],
)
def test_a_format_that_fails_is_named(answer: FormatStep | Exception, message: str) -> None:
    odd = Odd(Entrants(players=("a", "b"), rounds=2), RoundRobinParameters())
    odd.answer = answer
    made = Schedule(odd, players(["a", "b"]), seed=1, openings=Openings(GAME))
    with pytest.raises(MiaiError) as caught:
        made.advance(room=1)
    assert str(caught.value) == message


# -- where results are payoffs, their size counts: in reports, formats and tests of matches --------


INFO = RunInfo(
    name="poker",
    seed=1,
    rounds=1,
    game="kuhn_poker",
    game_version=1,
    resolved={PAYOFFS: {"bound": 2.0}},
)


def rows(*games: tuple[str, str, float], of_a_pair: int = 2) -> list[GameRow]:
    """Return finished games ``(first, second, payoff of the first)``, in pairs as they come."""
    return [
        GameRow(
            game_id=f"g{number}",
            pair_id=f"p{number // of_a_pair}",
            round=1,
            players=(first, second),
            seed=1,
            status="done",
            returns=(payoff, -payoff),
            termination="terminal",
        )
        for number, (first, second, payoff) in enumerate(games)
    ]


# Means


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=30))
def test_a_mean_against_one_opponent_has_the_interval_of_student(
    pairs: list[tuple[int, int]],
) -> None:
    payoffs = Payoffs()
    for number, (one, other) in enumerate(pairs):  # of ann: first as the first, then as the second
        payoffs.add(f"p{number}", ("ann", "bob"), (one, -one))
        payoffs.add(f"p{number}", ("bob", "ann"), (-other, other))
    mean = payoffs.of("ann")
    assert mean is not None
    assert mean == payoffs.against("ann", "bob")
    values = [(one + other) / 2 for one, other in pairs]
    assert mean.value == pytest.approx(np.mean(values))
    assert (mean.pairs, mean.games) == (len(pairs), 2 * len(pairs))
    half = scipy.stats.t.ppf(0.975, len(pairs) - 1) * scipy.stats.sem(values)
    assert mean.margin == pytest.approx(half, rel=2e-3, abs=1e-12)
    theirs = payoffs.of("bob")
    assert theirs == replace(mean, value=-mean.value) or theirs == replace(mean, value=0.0)


def test_intervals_cover_the_mean_over_opponents_of_different_strength() -> None:
    rng = np.random.default_rng(5)
    expected = {"weak": 3.0, "even": 0.0, "strong": -2.0}
    covered = 0
    widths = []
    for _ in range(1000):
        payoffs = Payoffs()
        for name, mean in expected.items():
            for number in range(6):
                payoff = rng.normal(mean, 1.0)
                payoffs.add(f"{name}{number}", ("hero", name), (payoff, -payoff))
        found = payoffs.of("hero")
        assert found is not None
        assert found.margin is not None
        covered += abs(found.value - 1 / 3) <= found.margin
        widths.append(found.margin)
    assert 925 <= covered <= 970  # 950 expected, three standard errors are 21
    assert np.mean(widths) == pytest.approx(scipy.stats.t.ppf(0.975, 15) / math.sqrt(18), rel=0.03)


def test_one_pair_has_no_interval() -> None:
    payoffs = Payoffs()
    payoffs.add("p", ("ann", "bob"), (2.0, -2.0))
    assert payoffs.of("ann") == MeanPayoff(value=2.0, margin=None, pairs=1, games=1)
    assert payoffs.of("cid") is None
    assert payoffs.against("ann", "cid") is None
    assert payoffs.ranking(["cid", "bob", "ann"]) == ["ann", "bob", "cid"]


# Reports


@pytest.mark.parametrize("option", ["anchor", "superiority", "bootstrap"])
def test_options_about_ratings_are_refused(option: str) -> None:
    value: Any = {"anchor": "a", "superiority": True, "bootstrap": 10}[option]
    with pytest.raises(ConfigError, match=f"^{option}: is about ratings, but the results of this"):
        build_report(rows(("a", "b", 1.0)), info=INFO, **{option: value})


def test_a_live_count_equals_a_later_one() -> None:
    games = rows(("a", "b", 1.0), ("b", "a", -2.0), ("a", "c", 2.0))
    live = count_games(games[:1], payoffs=True)
    for row in games[1:]:
        live.note(row)
    assert live.payoffs == count_games(games, payoffs=True).payoffs


# A run


@pytest.mark.slow
def test_a_run_of_poker_has_duplicate_deals_and_a_report_of_payoffs(tmp_path: Path) -> None:
    players = (player("wild"), player("sage", "ismcts", simulations=60), player("mad"))
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players, game={"name": "kuhn_poker"}, tournament={"rounds": 8}))
    out = tmp_path / "out"
    done = tournament("run", config, "--out", out, "--workers", 2)
    assert "Mean payoff per game" in done.stdout
    with Store.read(out) as store:
        games = {row.game_id: row for row in store.results()}
        records = {name: read_record(store.record(name)) for name in games}
    assert len(games) == 48
    for name, record in records.items():
        if name.endswith("a"):
            twin = records[f"{name[:-1]}b"]
            deals = [[m.action for m in r.moves if m.actor < 0] for r in (record, twin)]
            assert deals[0] == deals[1]
            assert [p.name for p in twin.players] == [p.name for p in record.players][::-1]
    plain = json.loads(tournament("report", out, "--json").stdout)
    for entry in plain["players"]:
        own = [
            row.returns[row.players.index(entry["name"])]
            for row in games.values()
            if entry["name"] in row.players
        ]
        assert entry["mean_return"] == pytest.approx(np.mean(own))
        assert entry["low"] < entry["mean_return"] < entry["high"]
    means = [entry["mean_return"] for entry in plain["players"]]
    assert means == sorted(means, reverse=True)
    tournament("report", out, "--format", "html", "--out", tmp_path / "page.html")
    assert "two games of the same deal" in (tmp_path / "page.html").read_text()
    assert "superiority: is about ratings" in refused("report", out, "--superiority")
    rated = run_miai(["rate", str(out)], timeout=60)
    assert rated.returncode == 2
    assert "the results of kuhn_poker are payoffs, which have no ratings" in rated.stderr


# Formats


def by_strength(order: tuple[str, ...]) -> Callable[[Pairing, int], float]:
    """Payoffs by which the last player wins most games, and the first most chips."""

    def payoff(pairing: Pairing, game: int) -> float:
        ahead = order.index(pairing.second) - order.index(pairing.first)
        return (5.0 if game else -1.0) * math.copysign(1.0, ahead)

    return payoff


def test_points_of_a_meeting_are_added_up() -> None:
    meeting = Meeting(Pairing(first="a", second="b", round=1), [(1.5, -1.5), (-0.5, 0.5)])
    assert (meeting.points_of("a"), meeting.points_of("b")) == (1.0, -1.0)
    won = Meeting(Pairing(first="a", second="b", round=1), [(1.0, 0.0), None])
    assert (won.points, won.points_of("b"), won.complete) == (1.0, 0.0, False)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("name", ["knockout", "swiss"])
def test_the_most_chips_win(count: int, name: str) -> None:
    order = names(count)[::-1]
    values: dict[str, object] = {"rounds": count - 1} if name == "swiss" else {}
    built = make(name, entrants(count, payoff_bound=6.0), **values)
    _, end = play(built, by_strength(order), shared=0.0)
    assert end.facts["ranking"][0] == order[0]
    if name == "swiss" and count % 2:
        points = {entry["name"]: entry["points"] for entry in end.facts["standings"]}
        assert sum(points.values()) == pytest.approx(0.0)  # a bye is worth nothing


def test_a_tied_match_of_payoffs_is_played_on() -> None:
    built = make("knockout", entrants(2, payoff_bound=2.0), pairs=1, tiebreaks=3)

    def even(pairing: Pairing, game: int) -> float:
        return 1.0 if game else -1.0

    meetings, end = play(built, even, shared=0.0)
    assert len(meetings) == 4
    assert end.facts["ranking"][0] == names(2)[0]


# The sequential test


def capital_step_by_step(values: list[float], mean: float) -> float:
    """The capital after bets on values above a mean, one after another; all from 0 to 1."""
    capital, seen = 1.0, [0.5]
    squares = 0.25
    for value in values:
        estimate = sum(seen) / len(seen)
        variance = squares / len(seen)
        best = (estimate - mean) / (variance + (estimate - mean) ** 2)
        capital *= 1 + min(max(best, 0.0), 0.75 / mean) * (value - mean)
        seen.append(value)
        squares += (value - sum(seen) / len(seen)) ** 2
    return capital


@given(st.lists(st.integers(-4, 4), max_size=25), st.integers(-5, 4))
def test_the_evidence_is_the_capital_of_a_bettor(pairs: list[int], low: int) -> None:
    test = PayoffTest(mean0=low / 10, mean1=low / 10 + 0.15, bound=2.0)
    evidence = test.path(pairs)
    assert evidence.shape == (len(pairs), 2)
    values = [(pair / 2 / 2 + 1) / 2 for pair in pairs]
    low_, high = ((mean / 2 + 1) / 2 for mean in (test.mean0, test.mean1))
    for count in range(1, len(pairs) + 1):
        expected = (
            capital_step_by_step(values[:count], low_),
            capital_step_by_step([1 - v for v in values[:count]], 1 - high),
        )
        assert np.exp(evidence[count - 1]) == pytest.approx(expected, rel=1e-9)


def test_nobody_gains_on_average_under_a_hypothesis() -> None:
    """The capital's expectation over all sequences is 1 where the hypothesis holds exactly."""
    outcomes = ((-2.0, 0.5), (0.0, 0.3), (4.0, 0.2))  # of a pair; a mean payoff of -0.1 a game
    mean = sum(value * chance for value, chance in outcomes) / 2
    above = PayoffTest(mean0=mean, mean1=1.0, bound=2.0)
    below = PayoffTest(mean0=-1.0, mean1=mean, bound=2.0)
    for place, test in ((0, above), (1, below)):
        total = 0.0
        for sequence in product(outcomes, repeat=7):
            values = [value for value, _ in sequence]
            chance = math.prod(chance for _, chance in sequence)
            total += chance * math.exp(test.path(values)[-1, place])
        assert total == pytest.approx(1.0, rel=1e-9)


def test_each_error_has_its_own_limit() -> None:
    gains = [0.5, 1.0] * 40  # of the first player, so H0 is rejected, or without them H1
    verdicts = {}
    for sign in (1, -1):
        for alpha, beta in ((0.2, 0.001), (0.001, 0.2)):
            test = PayoffTest(mean0=-0.1, mean1=0.1, bound=2.0, alpha=alpha, beta=beta)
            verdicts[sign, alpha] = test.decide([sign * gain for gain in gains])
    assert [state.verdict for state in verdicts.values()] == ["H1", "H1", "H0", "H0"]
    assert verdicts[1, 0.2].pairs < verdicts[1, 0.001].pairs
    assert verdicts[-1, 0.001].pairs < verdicts[-1, 0.2].pairs
    assert verdicts[1, 0.2].limit_h0 == pytest.approx(math.log(5))
    assert verdicts[1, 0.2].limit_h1 == pytest.approx(math.log(1000))


def test_later_pairs_change_nothing() -> None:
    test = PayoffTest(mean0=0.0, mean1=0.5, bound=2.0)
    pairs = [2.0] * 40
    state = test.decide(pairs)
    assert state.verdict == "H1"
    assert test.decide(pairs[: state.pairs] + [-4.0] * 100) == state
    assert test.decide(pairs[: state.pairs - 1]).verdict is None
    assert test.decide([]).pairs == 0
    with pytest.raises(ValueError, match="beyond its bound, 2"):
        test.decide([4.5])


# Games declare it


def test_a_game_without_payoffs_has_three_results() -> None:
    class Odd(TicTacToe):
        info: GameInfo = replace(TicTacToe.info, max_utility=2.0, min_utility=-2.0)

    state = Odd().new_initial_state()
    for action in (0, 3, 1, 4, 2):
        state.apply_action(action)
    (finding,) = check_returns(state, random.Random(0))
    assert "not a loss, a draw or a win" in finding
    assert "declare GameInfo.payoffs" in finding
    assert KuhnPoker.info.payoff_bound == 2.0
    assert TicTacToe.info.payoff_bound is None


def test_formats_know_which_points_players_share() -> None:
    assert entrants(2).shared == 1.0
    assert entrants(2, payoff_bound=3.0).shared == 0.0
