"""Policies that agents state: the referee checks and records them, searches draw from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import pytest
from tests.framework.histories import at, seen_by
from tests.framework.test_programs import ASKED, playing, python

import miai
from miai.agent import RandomAgent, checked_policy
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentProtocolError
from miai.playing.match import play_game
from miai.process.agent_messages import unpack_policy
from miai.process.agent_process import AgentProcess
from miai.record import Termination
from miai.record_reader import read_record

READING = ClockReading(control=TimeControl())
KUHN = miai.load_game("kuhn_poker")


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([{0: 0.5, 1: 0.4}], "the probabilities sum to 0.9, not to 1"),
        ([{0: 0.5, 1: 0.5 + 2e-6}], "sum to 1.000002"),
        ([{0: math.nan, 1: 1.0}, {0: float("nan"), 1: 1.0}], "action 0 has probability nan"),
        ([{0: 1.5, 1: -0.5}], "action 0 has probability 1.5"),
        ([{0: 0.5, 7: 0.5}], "action 7 is not legal here"),
        ([{0: "1"}], "0: '1' is not an action and its chance"),
        ([{0: 10**400}], "is not an action and its chance"),
        ([{"pass": 1.0}], "'pass': 1.0 is not an action"),
        ([[0.5, 0.5]], "returned a list, not a mapping"),
        ([{0: 1.0}, {1: 1.0}], "two at one view, {0: 1.0} and then {1: 1.0}"),
        ([{0: 1.0}], "action 1, which was drawn, has probability 0"),  # the seed bets
    ],
)
def test_a_wrong_policy_is_a_forfeit_that_says_what_is_wrong(
    policies: list[Any], message: str
) -> None:
    class Wrong(RandomAgent):
        answers = itertools.cycle(policies)

        def policy(self) -> Mapping[int, float]:
            return next(self.answers)

    record = miai.play(KUHN, [Wrong(KUHN), RandomAgent(KUHN)], seed=1, record_policies=True)
    assert (record.termination, record.loser) == (Termination.PROTOCOL, 0)
    assert message in record.detail
    assert checked_policy({1: 1 - 9e-7, 0: 0}, [0, 1]) == {1: 1 - 9e-7, 0: 0.0}


def test_policies_are_recorded_across_processes_and_files() -> None:
    search: dict[str, Any] = {"simulations": 9, "temperature": 1}
    names = [("ismcts", search), ("random", {})]
    seats = [AgentProcess("kuhn_poker", {}, *each, name=each[0]) for each in names]
    try:
        there = play_game(KUHN, seats, seed=3, record_policies=True)
    finally:
        for seat in seats:
            seat.close()
    agents = [miai.make_agent(name, KUHN, **given) for name, given in names]
    here = miai.play(KUHN, agents, seed=3, record_policies=True)
    policies = [move.policy for move in here.moves]
    assert [bool(policy) for policy in policies] == [move.actor >= 0 for move in here.moves]
    assert [move.policy for move in there.moves] == policies
    assert [move.policy for move in read_record(here.to_json_lines()).moves] == policies
    assert "policy" not in miai.play(KUHN, agents, seed=3).to_json_lines()


@pytest.mark.parametrize("answer", [3, [[1]], [[[], 1.0]]])
def test_a_process_that_answers_without_pairs_breaks_the_protocol(answer: Any) -> None:
    with pytest.raises(AgentProtocolError, match="pairs or null"):
        unpack_policy({"policy": answer})


@pytest.mark.parametrize("temperature", [0.0, 0.5, 2.0])
def test_mcts_draws_by_its_visits(temperature: float) -> None:
    """The oracle is the visits of its own statistics, raised to a power and normalised here."""
    game = miai.load_game("tic_tac_toe")
    agent = miai.make_agent("mcts", game, simulations=60, temperature=temperature, solver=False)
    policy = at(agent, 4, 0, 2, 6, 7, player=1).policy()
    top: Any = agent.act(READING).statistics["top"]
    weights = {a: visits ** (1 / temperature) if temperature else 0.0 for a, visits, _ in top}
    expected = {a: w / sum(weights.values()) for a, w in weights.items() if temperature}
    assert policy == pytest.approx(expected or {top[0][0]: 1.0})


def test_a_policy_depends_on_the_view_and_not_on_earlier_thinking() -> None:
    given: Any = {"simulations": 31, "temperature": 1}
    agent, other = (miai.make_agent("ismcts", KUHN, **given) for _ in range(2))
    at(agent, 3, 4, player=0).act(READING)  # has a queen; then it passes, and the other bets
    for observation in seen_by(KUHN, 0, (3, 4, 0, 1))[len(agent.view.observations) :]:
        agent.observe(observation)
    assert agent.policy() == at(other, 3, 4, 0, 1, player=0).policy()


def test_a_program_sends_a_policy() -> None:
    code = f"{ASKED}act(policy=[['a3', 0.25], [1, 0.75]])\nact(id=2, action=q['legal'][1])\nhear()"
    record = playing(python(code), seed=2, record_policies=True)
    assert record.moves[0].policy == {0: 0.25, 1: 0.75}
