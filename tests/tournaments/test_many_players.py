"""Tournaments of games of more than two players: groups, seatings, runs, reports, lists."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournaments.support import config_text, player, tournament
from tests.whole_texts import assert_report

import miai
from miai.errors import ConfigError, ParameterError
from miai_tournaments.config.load import load_tournament
from miai_tournaments.config.opening_source import Openings
from miai_tournaments.formats.format import Entrants, Format, Meeting
from miai_tournaments.formats.groups import GroupDraw
from miai_tournaments.formats.match import MatchFormat, MatchFormatParameters, PayoffTestParameters
from miai_tournaments.formats.static import (
    Gauntlet,
    GauntletParameters,
    RoundRobin,
    RoundRobinParameters,
)
from miai_tournaments.ratings.payoffs import Payoffs
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
