"""Pondering: agents in processes think while others do, and stop when they are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.child_imports import find_in
from tests.tournaments.support import PLUGIN

import miai
from miai.agent import Decision, RandomAgent
from miai.clock import ClockReading, TimeControl
from miai.game import Game
from miai.playing.match import InProcessSeat, Seat, play_game
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import GameRecord, Termination

PONDERING = TimeControl(kind="absolute", seconds=60.0, ponder=True)


@pytest.fixture(scope="module", autouse=True)
def mischief() -> Iterator[None]:
    yield from find_in(PLUGIN)


@pytest.fixture
def seats() -> Iterator[list[AgentProcess]]:
    """Seats that are killed at the end."""
    seats: list[AgentProcess] = []
    yield seats
    for seat in seats:
        seat.kill()


@pytest.fixture(scope="module")
def thinker(mischief: None) -> Iterator[AgentProcess]:
    """A seat that ponders well, for all tests."""
    seats: list[AgentProcess] = []
    yield mischievous(seats, "think")
    seats[0].kill()


class Slow(RandomAgent):
    """Takes its time."""

    def __init__(self, game: Game, seconds: float) -> None:
        super().__init__(game)
        self.seconds = seconds

    def act(self, clock: ClockReading) -> Decision:
        time.sleep(self.seconds)
        return super().act(clock)


def mischievous(
    seats: list[AgentProcess], ponder: str, *, game: str = "tic_tac_toe"
) -> AgentProcess:
    limits, parameters = ProcessLimits(isolation=Isolation.PROCESS), {"ponder": ponder}
    seats.append(AgentProcess(game, {}, "mischief", parameters, name="mischief", limits=limits))
    return seats[-1]


def play(seat: AgentProcess, control: TimeControl, *, delay: float) -> GameRecord:
    loaded = miai.load_game("tic_tac_toe")
    seats: list[Seat] = [seat, InProcessSeat(Slow(loaded, delay))]
    return play_game(loaded, seats, seed=3, time_control=control)


def pondered(record: GameRecord) -> list[Any]:
    """Return what the agent noted before each of its moves: own moves known, and seconds."""
    return [move.statistics["pondered"] for move in record.moves if move.actor == 0]


def test_an_agent_thinks_while_its_opponent_does(thinker: AgentProcess) -> None:
    record = play(thinker, PONDERING, delay=0.2)
    assert record.termination is Termination.TERMINAL, record.detail
    first, *later = pondered(record)
    assert first == []
    assert len(later) >= 2
    for number, notes in enumerate(later, 1):
        ((own, seconds),) = notes
        assert own == number  # the outcome of its move was there at once
        assert seconds > 0.1
    taken = [move.seconds or 0 for move in record.moves if move.actor == 0]
    thought = [notes[0][1] for notes in later]
    assert min(taken[1:]) < max(thought), "what it pondered is not on its clock"
    assert record.time_control["ponder"] is True


def test_an_agent_that_learnt_nothing_is_not_asked_again(seats: list[AgentProcess]) -> None:
    game = miai.load_game("mini_rbc")  # the opponent's move is heard of, and not its sense
    control = TimeControl(kind="absolute", seconds=600.0, ponder=True)
    ours = mischievous(seats, "think", game="mini_rbc")
    record = play_game(game, [ours, InProcessSeat(Slow(game, 0.01))], seed=3, time_control=control)
    assert record.termination is Termination.TERMINAL, record.detail
    counts = [len(notes) for notes in pondered(record)]
    assert counts[0] == 0
    assert set(counts[1::2]) == {0}, "between an own sense and the move nobody else acts"
    assert set(counts[2::2]) == {1}


@pytest.mark.parametrize("control", [TimeControl(kind="absolute", seconds=60.0), TimeControl()])
def test_without_permission_nobody_ponders(thinker: AgentProcess, control: TimeControl) -> None:
    record = play(thinker, control, delay=0.05)
    assert set(map(str, pondered(record))) == {"[]"}


def test_agents_of_this_process_do_not_ponder() -> None:
    class Refusing(RandomAgent):
        def ponder(self, stop: Callable[[], bool]) -> None:
            raise AssertionError("asked to ponder")

    game = miai.load_game("tic_tac_toe")
    record = miai.play(game, [Refusing(game), Refusing(game)], time_control=PONDERING)
    assert record.termination is Termination.TERMINAL, record.detail


def test_pondering_without_end_loses_on_time(seats: list[AgentProcess]) -> None:
    control = TimeControl(kind="absolute", seconds=1.0, ponder=True)
    began = time.monotonic()
    record = play(mischievous(seats, "hang"), control, delay=0.05)
    assert (record.termination, record.loser) == (Termination.TIME, 0)
    assert "did not answer 'act'" in record.detail
    assert time.monotonic() - began < 20
    own, opponent = (player.seconds or 0 for player in record.players)
    assert opponent < own


def test_an_error_in_pondering_is_a_crash(seats: list[AgentProcess]) -> None:
    record = play(mischievous(seats, "raise"), PONDERING, delay=0.05)
    assert (record.termination, record.loser) == (Termination.CRASH, 0)
    assert "RuntimeError: no thoughts" in record.detail


def test_the_next_game_begins_although_the_last_one_ended_pondering(thinker: AgentProcess) -> None:
    for _ in range(3):
        record = play(thinker, PONDERING, delay=0.02)
        assert record.termination is Termination.TERMINAL, record.detail
        assert pondered(record)[0] == []
