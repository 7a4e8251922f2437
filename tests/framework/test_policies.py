"""Policies that agents state: what is drawn is what is said, and the referee checks and records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import pytest
from tests.framework.histories import seen_by
from tests.framework.test_programs import ASKED, python

import miai
from miai.agent import Agent, RandomAgent, checked_policy
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentProtocolError
from miai.playing.match import play_game
from miai.process.agent_messages import unpack_policy
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import Termination
from miai.record_reader import read_record
from miai.testing import check_agent

READING = ClockReading(control=TimeControl())
KUHN = miai.load_game("kuhn_poker")


def at(agent: Agent, history: tuple[int, ...], *, player: int, seed: int = 0) -> Agent:
    """Bring an agent to the view of a history."""
    agent.new_game(seed, player=player)
    for observation in seen_by(agent.game, player, history):
        agent.observe(observation)
    return agent


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({0: 0.5, 1: 0.4}, "the probabilities sum to 0.9, not to 1"),
        ({0: 0.5, 1: 0.5 + 2e-6}, "sum to 1.000002"),
        ({}, "sum to 0"),
        ({0: math.nan, 1: 1.0}, "action 0 has probability nan"),
        ({0: 1.5, 1: -0.5}, "action 0 has probability 1.5"),
        ({0: 0.5, 7: 0.5}, "action 7 is not legal here"),
        ({0: "1"}, "0: '1' is not an action and its probability"),
        ({0: 10**400}, "is not an action and its probability"),
        ({"pass": 1.0}, "'pass': 1.0 is not an action"),
        ([0.5, 0.5], "returned a list, not a mapping"),
    ],
)
def test_a_wrong_policy_is_a_forfeit_that_says_what_is_wrong(policy: Any, message: str) -> None:
    class Wrong(RandomAgent):
        def policy(self) -> Mapping[int, float]:
            return policy  # type: ignore[no-any-return]  # the point

    record = miai.play(KUHN, [Wrong(KUHN), RandomAgent(KUHN)], record_policies=True)
    assert (record.termination, record.loser) == (Termination.PROTOCOL, 0)
    assert message in record.detail
    assert miai.play(KUHN, [Wrong(KUHN), RandomAgent(KUHN)]).termination is Termination.TERMINAL


def test_rounding_is_allowed_and_zeros_are_kept() -> None:
    assert checked_policy({1: 1 - 9e-7, 0: 0}, [0, 1]) == {1: 1 - 9e-7, 0: 0.0}


def test_two_policies_at_one_view_and_an_impossible_move_are_forfeits() -> None:
    class Wavers(RandomAgent):
        answers = itertools.cycle([{0: 1.0}, {1: 1.0}])

        def policy(self) -> Mapping[int, float]:
            return next(self.answers)

    class Denies(RandomAgent):
        def policy(self) -> Mapping[int, float]:
            return {1 - self.chosen: 1.0}

        def act(self, clock: ClockReading) -> miai.Decision:
            decision = super().act(clock)
            self.chosen = decision.action
            return decision

    for agent, message in [(Wavers, "two at one view"), (Denies, "has probability 0")]:
        record = miai.play(KUHN, [agent(KUHN), RandomAgent(KUHN)], record_policies=True)
        assert record.termination is Termination.PROTOCOL
        assert message in record.detail


def test_policies_are_recorded_across_processes_and_files() -> None:
    names: list[tuple[str, Any]] = [
        ("ismcts", {"simulations": 20, "temperature": 1.0}),
        ("random", {}),
    ]
    limits = ProcessLimits(isolation=Isolation.PROCESS)
    seats = [AgentProcess("kuhn_poker", {}, *n, name=n[0], limits=limits) for n in names]
    try:
        there = play_game(KUHN, seats, seed=3, record_policies=True)
    finally:
        for seat in seats:
            seat.close()
    agents = [miai.make_agent(name, KUHN, **given) for name, given in names]
    here = miai.play(KUHN, agents, seed=3, record_policies=True)
    assert [m.policy for m in here.moves] == [m.policy for m in there.moves]
    asked = [move for move in here.moves if move.actor >= 0]
    assert len({move.actor for move in asked}) == 2
    assert all(sum((move.policy or {}).values()) == pytest.approx(1) for move in asked)
    assert [m.policy for m in read_record(here.to_json_lines()).moves] == [
        m.policy for m in here.moves
    ]
    assert "policy" not in miai.play(KUHN, agents, seed=3).to_json_lines()


@pytest.mark.parametrize("answer", [{"policy": 3}, {"policy": [[1]]}, {"policy": [[[], 1.0]]}])
def test_a_process_that_answers_without_pairs_breaks_the_protocol(answer: dict[str, Any]) -> None:
    with pytest.raises(AgentProtocolError, match="pairs or null"):
        unpack_policy(answer)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 2.0])
def test_mcts_states_its_visits(temperature: float) -> None:
    """The oracle is the visits of its own statistics, raised to a power and normalised here."""
    game = miai.load_game("tic_tac_toe")
    agent = miai.make_agent("mcts", game, simulations=60, temperature=temperature, solver=False)
    at(agent, (4, 0, 2, 6, 7), player=1)
    policy = agent.policy()
    top = agent.act(READING).statistics["top"]
    assert isinstance(top, list)
    assert len(top) == 4
    assert policy is not None
    if temperature == 0:
        assert policy == {top[0][0]: 1.0}
        return
    weights = {action: visits ** (1 / temperature) for action, visits, _ in top}
    assert policy == pytest.approx({a: w / sum(weights.values()) for a, w in weights.items()})


@pytest.mark.parametrize("name", ["ismcts", "pimc"])
def test_a_policy_depends_on_the_view_and_not_on_earlier_thinking(name: str) -> None:
    agent, other = (miai.make_agent(name, KUHN, simulations=31) for _ in range(2))
    at(agent, (2, 3), player=0, seed=5).act(READING)  # a jack; then pass, bet
    for observation in seen_by(KUHN, 0, (2, 3, 0, 1))[len(agent.view.observations) :]:
        agent.observe(observation)
    first = at(other, (2, 3, 0, 1), player=0, seed=5).policy()
    assert agent.act(READING).action in (first or {})
    assert agent.policy() == first == other.policy()


@pytest.mark.parametrize(
    ("game", "name", "given"),
    [
        ("kuhn_poker", "ismcts", {"temperature": 1.0}),
        ("tic_tac_toe", "mcts", {"temperature": 0.7}),
        ("matching_pennies", "mcts", {}),
    ],
)
def test_searches_draw_from_what_they_state(game: str, name: str, given: dict[str, Any]) -> None:
    check_agent(
        lambda game: miai.make_agent(name, game, simulations=12, **given),
        miai.load_game(game),
        games=1,
        max_plies=6,
        draws=150,
    )


@pytest.mark.parametrize(
    ("pairs", "termination", "detail"),
    [
        ([["a3", 0.25], [1, 0.75]], "terminal", ""),
        ([[0, 0.5], [1, 0.4]], "protocol", "the probabilities sum to 0.9"),
        ([["z9", 1.0]], "protocol", "'z9', which is no text of a legal action"),
        ([[0]], "protocol", "answer.policy: expected a list of pairs"),
    ],
)
def test_a_program_sends_a_policy(pairs: Any, termination: str, detail: str) -> None:
    game = miai.load_game("tic_tac_toe")
    code = f"{ASKED}act(policy={pairs!r})\nfor q in questions(): act(action=q['legal'][0])"
    bot = miai.make_agent("program", game, command=python(code))
    record = miai.play(game, [bot, RandomAgent(game)], seed=2, record_policies=True)
    bot.close()
    assert detail in record.detail
    assert record.termination is Termination(termination), record.detail
    if termination == "terminal":
        assert [move.policy for move in record.moves[::2]][:2] == [{0: 0.25, 1: 0.75}, None]
