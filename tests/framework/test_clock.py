"""Clocks: exact arithmetic, properties, and real agents that sleep."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.framework.histories import TTT

from miai.agent import RandomAgent
from miai.clock import Clock, ClockReading, TimeControl
from miai.playing.match import InProcessSeat, play_game
from miai.process.agent_process import AgentProcess
from miai.record import GameRecord, Termination

ABSOLUTE = TimeControl(kind="absolute", seconds=10.0, margin=0.5)
FISCHER = TimeControl(kind="fischer", seconds=10.0, increment=2.0, margin=0.5)
BYO_YOMI = TimeControl(kind="byo-yomi", seconds=10.0, periods=3, period_seconds=4.0, margin=0.5)


def after(control: TimeControl, *moves: float) -> Clock:
    clock = Clock(control)
    for seconds in moves:
        assert clock.charge(seconds), (control.kind, seconds, clock.limit())
    return clock


# -- exact arithmetic; all numbers are sums of powers of two ---------------------------------------


def test_without_a_clock_nothing_falls() -> None:
    clock = after(TimeControl(), 1e9)
    assert clock.limit() is clock.deadline() is clock.reading().main is None
    assert clock.spent == 1e9


def test_a_move_deadline_caps_any_clock() -> None:
    clock = Clock(TimeControl(kind="absolute", seconds=10.0, move_deadline=3.0, margin=0.0))
    assert clock.limit() == 3.0
    assert clock.charge(3.0)
    assert clock.charge(3.0)
    assert clock.charge(3.0)
    assert clock.limit() == 1.0


# -- properties -----------------------------------------------------------------------------------

exact = st.integers(0, 4000).map(lambda n: n / 64)
positive = st.integers(1, 4000).map(lambda n: n / 64)
margins = st.integers(0, 64).map(lambda n: n / 64)
controls = st.one_of(
    st.builds(TimeControl, kind=st.just("per-move"), seconds=positive, margin=margins),
    st.builds(TimeControl, kind=st.just("absolute"), seconds=positive, margin=margins),
    st.builds(
        TimeControl, kind=st.just("fischer"), seconds=positive, increment=exact, margin=margins
    ),
    st.builds(
        TimeControl,
        kind=st.just("byo-yomi"),
        seconds=exact,
        periods=st.integers(1, 6),
        period_seconds=positive,
        margin=margins,
    ),
)


class OracleClock:
    """The rules once more, in fractions, one tick at a time for byo-yomi."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.main = Fraction(control.seconds)
        self.periods = control.periods

    def limit(self) -> Fraction:
        return self.main + self.periods * Fraction(self.control.period_seconds)

    def charge(self, seconds: float) -> bool:
        control, used = self.control, Fraction(seconds)
        margin = Fraction(control.margin)
        if control.kind == "per-move":
            return used <= self.main + margin
        if control.kind != "byo-yomi":
            if used > self.main + margin:
                return False
            self.main = max(Fraction(0), self.main - used) + Fraction(control.increment)
            return True
        from_main = min(used, self.main)
        self.main -= from_main
        used -= from_main
        while used > Fraction(control.period_seconds) and self.periods > 1:
            used -= Fraction(control.period_seconds)
            self.periods -= 1
        return used <= Fraction(control.period_seconds) + margin


@settings(deadline=None)
@given(control=controls, moves=st.lists(exact, max_size=20))
@example(control=ABSOLUTE, moves=[4.0, 5.5, 1.0, 0.5, 0.75])  # by the margin alone, in the end
@example(control=FISCHER, moves=[10.0, 2.5, 2.75])  # the margin is lent: no debt, no credit
@example(control=FISCHER, moves=[10.75])
@example(control=BYO_YOMI, moves=[14.0, 4.0, 11.0])  # at the very end of the first period
@example(control=BYO_YOMI, moves=[14.25, 4.25])
@example(control=BYO_YOMI, moves=[10.0, 8.25])
@example(control=BYO_YOMI, moves=[22.5])
@example(control=BYO_YOMI, moves=[22.0, 4.5, 4.5])
def test_the_flag_falls_exactly_when_it_should(control: TimeControl, moves: list[float]) -> None:
    clock, oracle = Clock(control), OracleClock(control)
    for seconds in moves:
        deadline: Any = clock.deadline()
        in_time = clock.charge(seconds)
        assert in_time == oracle.charge(seconds) == (seconds <= deadline)
        if not in_time:
            return
        assert (Fraction(clock.main), clock.periods) == (oracle.main, oracle.periods)
        assert clock.limit() == oracle.limit()


@settings(deadline=None)
@given(control=controls, moves=st.lists(st.floats(0, 1e6), max_size=20))
def test_no_clock_shows_less_than_nothing(control: TimeControl, moves: list[float]) -> None:
    clock = Clock(control)
    for seconds in moves:
        clock.charge(seconds)
        reading: Any = clock.reading()
        assert min(reading.main, reading.limit) >= 0
        assert reading.periods >= (control.kind == "byo-yomi")
    assert clock.spent == pytest.approx(sum(moves))  # since Python 3.12 sum() rounds less


@settings(deadline=None)
@given(control=controls, moves=st.lists(exact, max_size=10))
def test_spending_the_allotted_time_never_loses_on_time(
    control: TimeControl, moves: list[float]
) -> None:
    clock = Clock(control)
    for share in moves:
        allotment: Any = clock.reading().allotment()
        assert clock.charge(allotment * min(1.0, share))


# -- bad settings ---------------------------------------------------------------------------------


def test_the_allotted_time_by_hand() -> None:
    fischer = TimeControl(kind="fischer", seconds=60.0, increment=2.0)
    assert Clock(fischer).reading().allotment(moves_left=30) == pytest.approx(60 / 30 + 0.9 * 2)
    absolute = TimeControl(kind="absolute", seconds=60.0)
    assert Clock(absolute).reading().allotment(moves_left=30) == pytest.approx(2.0)
    byo_yomi = TimeControl(kind="byo-yomi", seconds=60.0, periods=3, period_seconds=10.0)
    assert Clock(byo_yomi).reading().allotment(moves_left=30) == pytest.approx(2.0 + 9.0)
    assert ClockReading(control=TimeControl()).periods == 0


# -- real agents, really sleeping -----------------------------------------------------------------

MakeSeat = Callable[..., AgentProcess]


def sleep_through(seat: AgentProcess, control: TimeControl) -> GameRecord:
    other = InProcessSeat(RandomAgent(TTT))
    return play_game(TTT, [seat, other], seed=3, time_control=control)


def readings(record: GameRecord) -> list[Any]:
    return [move.statistics for move in record.moves if move.actor == 0]


def test_absolute_time_is_charged_over_the_game(make_seat: MakeSeat) -> None:
    seat = make_seat("sleeper", seconds=[0.3, 0.3])
    seat.start()
    record = sleep_through(seat, TimeControl(kind="absolute", seconds=60.0))
    assert record.termination is Termination.TERMINAL
    output = readings(record)
    assert output[0]["main"] == 60.0
    assert 40.0 < output[1]["main"] <= 59.7
    assert 40.0 < output[2]["main"] <= 59.4
    assert 0.6 <= record.players[0].seconds < 20.0


def test_absolute_time_runs_out_during_a_move(make_seat: MakeSeat) -> None:
    control = TimeControl(kind="absolute", seconds=1.5, margin=0.1)
    record = sleep_through(make_seat("sleeper", seconds=[0.8, 1000.0]), control)
    assert (record.termination, record.loser) == (Termination.TIME, 0)
    assert len(readings(record)) == 1
    assert record.players[0].seconds >= 1.6
    assert record.returns == (-1.0, 1.0)


@pytest.mark.slow
def test_fischer_increments_save_a_slow_player(make_seat: MakeSeat) -> None:
    control = TimeControl(kind="fischer", seconds=1.5, increment=1.2)
    record = sleep_through(make_seat("sleeper", seconds=[0.8, 0.8, 0.8]), control)
    assert record.termination is Termination.TERMINAL, record.detail
    assert record.players[0].seconds > 1.6


def test_an_answer_within_the_margin_counts(make_seat: MakeSeat) -> None:
    seat = make_seat("sleeper", seconds=[0.5])
    control = TimeControl(kind="per-move", seconds=0.4, margin=5.0)
    assert sleep_through(seat, control).termination is Termination.TERMINAL
