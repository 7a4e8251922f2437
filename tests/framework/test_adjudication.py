"""Adjudication: verdicts against oracles, what they leave in records, and who cannot bring them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.framework.test_match import pair

import miai
from miai.agent import Agent, Decision, RandomAgent
from miai.api import make_panel
from miai.clock import ClockReading
from miai.errors import RecordError
from miai.game import Game, State
from miai.playing.adjudication import Panel, Verdict, held_out
from miai.playing.agreement import (
    DrawAgreement,
    DrawAgreementParameters,
    ResignAgreement,
    ResignAgreementParameters,
    SolvedAdjudicator,
    SolvedParameters,
)
from miai.playing.match import play
from miai.playing.replay import replay
from miai.record import SCHEMA, GameRecord, MoveRecord, Termination, VerdictRecord
from miai.record_reader import read_record

GAME = miai.load_game("tic_tac_toe")
ROWS = ("012", "345", "678", "036", "147", "258", "048", "246")


class Sayer(RandomAgent):
    """Plays at random and says what it is told to say, whatever that is."""

    def __init__(self, game: Game, said: Any) -> None:
        super().__init__(game)
        self.said = said

    def act(self, clock: ClockReading) -> Decision:
        return Decision(super().act(clock).action, statistics={"value": self.said})


class Always:
    """An adjudicator that says the same of every position."""

    def __init__(self, *returns: float, reason: str = "so it is") -> None:
        self.verdict = Verdict(returns, reason)
        self.seed = 0

    def new_game(self, seed: int) -> None:
        self.seed = seed

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        return self.verdict


randoms = partial(pair, GAME)


def judged_again(record: GameRecord, panel: Panel) -> list[VerdictRecord]:
    """Return the verdicts that a panel gives on a recorded game."""
    state = GAME.new_initial_state()
    panel.new_game(record.seed)
    for number, move in enumerate(record.moves, 1):
        state.apply_action(move.action)
        if not move.opening and not state.is_terminal():
            panel.judge(state, record.moves[:number])
    return panel.verdicts


def test_each_rule_has_a_seed_of_its_own() -> None:
    rules = {name: Always(0.0, 0.0) for name in ("one", "other")}
    seeds = []
    for seed in (5, 6, 5):
        Panel(GAME, rules).new_game(seed)
        seeds.append(tuple(rule.seed for rule in rules.values()))
    assert seeds[0] == seeds[2]
    assert len({*seeds[0], *seeds[1]}) == 4


# -- solved ---------------------------------------------------------------------------------------


@cache
def value_for_x(board: str) -> int:
    """Return the value of a board under perfect play, by looking at all that can follow."""
    for mark, value in (("x", 1), ("o", -1)):
        if any(all(board[int(cell)] == mark for cell in row) for row in ROWS):
            return value
    if "." not in board:
        return 0
    mover = "x" if board.count("x") == board.count("o") else "o"
    children = [
        value_for_x(board[:cell] + mover + board[cell + 1 :])
        for cell in range(9)
        if board[cell] == "."
    ]
    return max(children) if mover == "x" else min(children)


@pytest.mark.parametrize("nodes", [1, 10, 60, pytest.param(400, marks=pytest.mark.slow)])
def test_solutions_equal_brute_force(nodes: int) -> None:
    found = Counter[float]()
    for seed in range(25):
        panel = make_panel(GAME, {"solved": {"nodes": nodes}})
        record = play(GAME, randoms(), seed=seed, panel=panel)
        if record.termination is not Termination.ADJUDICATION:
            continue
        board = str(replay(record)).replace("\n", "")
        value = value_for_x(board)
        assert record.returns == (value, -value), f"seed {seed}: {board}"
        found[record.returns[0]] += 1
        assert judged_again(record, make_panel(GAME, {"solved": {"nodes": nodes}})) == (
            record.verdicts
        )
    assert nodes == 1 or set(found) == {1.0, 0.0, -1.0}, found


def test_a_budget_that_is_too_small_decides_nothing() -> None:
    state = GAME.new_initial_state()
    assert SolvedAdjudicator(GAME, SolvedParameters(nodes=20)).judge(state, []) is None
    verdict = SolvedAdjudicator(GAME, SolvedParameters(nodes=100_000)).judge(state, [])
    assert verdict == Verdict((0.0, 0.0), "drawn under perfect play")


def test_earlier_games_do_not_change_what_a_budget_suffices_for() -> None:
    fresh, used = (make_panel(GAME, {"solved": {"nodes": 60}}) for _ in range(2))
    for seed in range(5):
        play(GAME, randoms(), seed=seed, panel=used)
    one, other = (play(GAME, randoms(), seed=9, panel=panel) for panel in (fresh, used))
    assert one.verdicts == other.verdicts
    assert len(one.moves) == len(other.moves)


# -- agreement ------------------------------------------------------------------------------------

RUBBISH: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 7, -7, 10**400, True, False, None),
    *("lost", "-1", [-1.0], {"value": -1.0}),
)
TOLD = st.floats(-1, 1) | st.sampled_from([-1, 1, 0, -0.9, 0.9]) | st.sampled_from(RUBBISH)


def output(values: Sequence[Any]) -> list[MoveRecord]:
    """Return moves of two players in turn, with what they say."""
    return [
        MoveRecord(ply=n, actor=n % 2, action=0, text="", statistics={"value": value})
        for n, value in enumerate(values)
    ]


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and -1 <= value <= 1


@settings(deadline=None, max_examples=100)
@given(values=st.lists(TOLD, max_size=8), count=st.integers(1, 3))
@example(values=[-1.0, 1.0] * 2, count=2)
@example(values=[1.0, -0.9] * 2, count=2)
@example(values=[-1.0, 1.0, "lost", 1.0, -1.0, 1.0], count=2)
def test_a_loss_is_decided_exactly_where_both_agree(values: list[Any], count: int) -> None:
    rule = ResignAgreement(GAME, ResignAgreementParameters(moves=count))
    verdict = rule.judge(GAME.new_initial_state(), output(values))
    last = values[-2 * count :]  # the last moves of each, as they move in turn
    agreed = len(last) == 2 * count and all(map(is_number, last))
    first = len(values) % 2  # whose move the first of these is
    one, two = (last[seat ^ first :: 2] for seat in (0, 1))
    expected = None
    if agreed and all(v <= -0.9 for v in one) and all(v >= 0.9 for v in two):
        expected = (-1.0, 1.0)
    if agreed and all(v <= -0.9 for v in two) and all(v >= 0.9 for v in one):
        expected = (1.0, -1.0)
    assert (None if verdict is None else verdict.returns) == expected


def test_a_false_claim_of_losing_loses() -> None:
    panel = make_panel(GAME, {"resign-agreement": {"moves": 2}})
    record = play(GAME, [Sayer(GAME, 0.95), Sayer(GAME, -0.99)], seed=1, panel=panel)
    assert (record.returns, record.termination) == ((1.0, -1.0), Termination.ADJUDICATION)
    assert record.detail == "resign-agreement: both give o -0.9 or less in 2 moves each"
    assert len(record.moves) == 4


def test_openings_say_nothing_and_a_minimum_of_plies_counts_them() -> None:
    rules = {"resign-agreement": {"moves": 1, "from_ply": 6}}
    agents = [Sayer(GAME, -1.0), Sayer(GAME, 1.0)]
    record = play(GAME, agents, seed=1, panel=make_panel(GAME, rules), opening=[0, 1, 2])
    assert len(record.moves) == 6
    rules["resign-agreement"]["from_ply"] = 0
    record = play(GAME, agents, seed=1, panel=make_panel(GAME, rules), opening=[0, 1, 2])
    assert len(record.moves) == 5


@settings(deadline=None, max_examples=100)
@given(
    values=st.lists(st.floats(-0.2, 0.2) | st.sampled_from(RUBBISH), max_size=8),
    count=st.integers(1, 3),
    from_ply=st.integers(0, 6),
)
@example(values=[0.0] * 6, count=2, from_ply=6)
def test_a_draw_is_decided_exactly_where_both_agree(
    values: list[Any], count: int, from_ply: int
) -> None:
    rule = DrawAgreement(GAME, DrawAgreementParameters(moves=count, within=0.1, from_ply=from_ply))
    verdict = rule.judge(GAME.new_initial_state(), output(values))
    last = values[-2 * count :]
    even = all(is_number(value) and abs(value) <= 0.1 for value in last)
    agreed = even and len(last) == 2 * count and len(values) >= from_ply
    assert (None if verdict is None else verdict.returns) == ((0.0, 0.0) if agreed else None)


# -- the panel and the record ---------------------------------------------------------------------


def test_the_first_rule_in_order_ends_the_game() -> None:
    panel = Panel(GAME, {"b": Always(1, -1), "a": Always(-1, 1)})
    record = play(GAME, randoms(), panel=panel)
    assert record.returns == (1.0, -1.0)
    assert record.detail == "b: so it is"
    assert (record.terminated, record.truncated, record.loser) == (True, False, None)
    assert record.verdicts == [
        VerdictRecord(rule="b", ply=0, returns=(1.0, -1.0), reason="so it is")
    ]


def test_chance_is_not_judged() -> None:
    game = miai.load_game("kuhn_poker")

    class Listener(Always):
        def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
            actors.append(moves[-1].actor)
            return None

    actors: list[int] = []
    agents: list[Agent] = [RandomAgent(game), RandomAgent(game)]
    record = play(game, agents, panel=Panel(game, {"a": Listener(0, 0)}))
    assert [move.actor for move in record.moves][:2] == [-1, -1]
    assert actors == [move.actor for move in record.moves[2:-1]]


def test_a_game_that_is_held_out_is_played_to_its_end_with_each_rule_s_first_verdict() -> None:
    plain = play(GAME, randoms(), seed=4)
    panel = Panel(GAME, {"b": Always(1, -1), "a": Always(-1, 1)}, hold_out=1.0)
    record = play(GAME, randoms(), seed=4, panel=panel)
    assert [move.action for move in record.moves] == [move.action for move in plain.moves]
    assert (record.returns, record.termination) == (plain.returns, Termination.TERMINAL)
    assert [(verdict.rule, verdict.ply) for verdict in record.verdicts] == [("b", 0), ("a", 0)]


def test_held_out_games_are_drawn_by_the_seed() -> None:
    drawn = [held_out(seed, 0.1) for seed in range(2000)]
    assert 150 <= sum(drawn) <= 250
    assert drawn == [held_out(seed, 0.1) for seed in range(2000)]
    assert not any(held_out(seed, 0.0) for seed in range(100))
    assert all(held_out(seed, 1.0) for seed in range(100))


@pytest.mark.parametrize("hold_out", [0.0, 1.0])
def test_records_with_verdicts_can_be_read_and_replayed(hold_out: float) -> None:
    panel = Panel(GAME, {"a": Always(-1, 1)}, hold_out=hold_out)
    record = play(GAME, randoms(), seed=2, panel=panel)
    text = record.to_json_lines()
    assert '"verdicts":' in text
    assert read_record(text) == record
    replay(record)


def test_records_without_verdicts_are_what_they_were() -> None:
    panel = make_panel(GAME, {"resign-agreement": {}})
    text = play(GAME, randoms(), seed=2, panel=panel).to_json_lines()
    assert text.startswith(f'{{"schema":"{SCHEMA}",')
    assert "verdicts" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": (1.0, -1.0)}, "the record gives returns"),
        ({"verdicts": []}, "without a verdict"),
        ({"verdicts": [VerdictRecord(rule="a", ply=9, returns=(-1.0, 1.0))]}, "does not fit"),
        ({"verdicts": [VerdictRecord(rule="a", ply=0, returns=(-1.0,))]}, "does not fit"),
        ({"loser": 0}, "with loser 0"),
        ({"verdicts": [VerdictRecord(rule="a", ply=1, returns=(-1.0, 1.0))]}, "not fit|without"),
        (
            {
                "returns": (-9.0, 9.0),
                "verdicts": [VerdictRecord(rule="a", ply=0, returns=(-9.0, 9.0))],
            },
            "which the game does not allow",
        ),
        ({"termination": Termination.TERMINAL}, "not terminal"),
    ],
)
def test_an_invalid_adjudication_is_refused(change: dict[str, Any], message: str) -> None:
    record = replace(play(GAME, randoms(), panel=Panel(GAME, {"a": Always(-1, 1)})), **change)
    with pytest.raises(RecordError, match=message):
        replay(read_record(record.to_json_lines()))


def test_a_reason_of_any_length_is_bounded() -> None:
    panel = Panel(GAME, {"long": Always(1, -1, reason="x" * 10_000)})
    assert len(play(GAME, randoms(), panel=panel).detail) < 300


# -- what is refused ------------------------------------------------------------------------------


def test_agreement_serves_games_that_hide_something() -> None:
    make_panel(miai.load_game("phantom_tic_tac_toe"), {"resign-agreement": {}})
