"""The agent `rbc-minimax` in whole games: legal, in time, the same by the seed, and sensible."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.rbc.games import rbc
from tests.rbc.test_rbc_agents import walk

import miai
from miai import ClockReading, TimeControl
from miai.playing.match import play_game
from miai.process.agent_process import AgentProcess
from miai.record import Termination
from miai_rbc.rules.actions import SENSE_NOTHING

SMALL: dict[str, Any] = {"senses": 2, "moves": 3, "boards": 60, "deep_boards": 8}
"""Parameters with which a move takes milliseconds."""


def agent(**more: Any) -> miai.Agent:
    return miai.make_agent("rbc-minimax", rbc(full_turn_limit=15), **{**SMALL, **more})


def test_it_captures_a_king_and_does_not_leave_its_own() -> None:
    """One board: what is guaranteed is what chess says."""
    for fen, expected in (
        ("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1", "e2e8"),
        ("4k3/8/8/8/8/8/3qK3/8 w - - 0 1", "e2d2"),
    ):
        game = rbc(fen=fen)
        made = miai.make_agent("rbc-minimax", game)
        made.new_game(1, player=0)
        state = game.new_initial_state()
        output = state.observation(0)
        assert output is not None
        made.observe(output)
        clock = ClockReading(control=TimeControl())
        assert made.act(clock).action == SENSE_NOTHING
        state.apply_action(SENSE_NOTHING)
        output = state.observation(0)
        assert output is not None
        made.observe(output)
        assert state.action_to_string(made.act(clock).action) == expected
        made.close()


def test_no_time_left_is_still_a_legal_answer() -> None:
    game = rbc(full_turn_limit=10)
    seats = [agent(boards=5000, deep_boards=2000) for _ in range(2)]
    clock = ClockReading(control=TimeControl(kind="per-move", seconds=9.0), main=0.0, limit=0.0)
    began = time.process_time()
    *_, (_, decisions) = walk(game, seats, 3, clock)
    assert len(decisions) > 20
    assert time.process_time() - began < 0.3 * len(decisions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "control",
    [
        TimeControl(kind="fischer", seconds=4.0, increment=0.1),
        pytest.param(TimeControl(kind="per-move", seconds=0.2), marks=pytest.mark.soak),
    ],
    ids=lambda control: control.kind,
)
def test_the_flag_never_falls(control: TimeControl) -> None:
    """In a process of its own, with its own parameters; compilation is done before the clock."""
    limits = {"full_turn_limit": 12}
    game = rbc(**limits)
    with (
        AgentProcess("rbc", limits, "rbc-minimax", {}, name="minimax") as made,
        AgentProcess("rbc", limits, "attacker", {}, name="attacker") as attacker,
    ):
        record = play_game(game, [made, attacker], seed=1, time_control=control)
        print(len(record.moves), [seat.seconds for seat in record.players])
        assert record.termination is Termination.TERMINAL, record.detail
        depths = {(move.statistics or {}).get("depth") for move in record.moves[::2]}
        assert 2 in depths or 1 in depths
