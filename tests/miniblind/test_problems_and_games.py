"""The problem against the game, which states the same rules on its own."""

from __future__ import annotations

import random
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import value_by_definition
from tests.miniblind.twins import TWINS, Twin, random_public, transitions, value_by_game, worlds_of

from miai_miniblind.mini_rbc import MiniRbcState
from miai_miniblind.roots import RootProver

STATES = 12  # of one belief, looked at under one public part

twins = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
seeds = st.integers(0, 2**32)


def some_states(twin: Twin, seed: int) -> tuple[Any, list[int]]:
    rng = random.Random(seed)
    public = random_public(twin.problem, rng)
    states = list(twin.problem.universe(public))
    return public, sorted(rng.sample(states, min(STATES, len(states))))


@twins
@given(seed=seeds)
@settings(max_examples=12, deadline=None)
def test_both_have_the_same_actions_and_depth_is_paid_where_the_opponent_answers(
    twin: Twin, seed: int
) -> None:
    public, states = some_states(twin, seed)
    for hidden in states:
        state = twin.game.state_at(public, hidden)
        assert (state.public, state.hidden) == (public, hidden)
        assert list(twin.problem.actions(public)) == state.legal_actions()
        for action in state.legal_actions():
            if not (child := state.child(action)).is_terminal():
                assert twin.problem.cost(public, action) == child.current_player()


@twins
@given(seed=seeds)
@settings(max_examples=12, deadline=None)
def test_every_action_has_the_same_outcome_in_both(twin: Twin, seed: int) -> None:
    """The same ends and next states, and the same told of two states in one iff in the other."""
    public, states = some_states(twin, seed)
    actions = twin.game.state_at(public, states[0]).legal_actions()
    for action in random.Random(seed).sample(actions, min(8, len(actions))):
        allowed: dict[Hashable, set[int]] = {}
        texts: dict[Hashable, str] = {}
        for hidden in states:
            state = twin.game.state_at(public, hidden)
            by_game = set(transitions(twin, state, action))
            replies = twin.problem.replies(public, hidden, action)
            assert len(set(replies)) == len(replies)
            by_problem: set[object] = {reply.value for reply in replies if reply.ends}
            for reply in replies:
                if not reply.ends:
                    after = twin.problem.after(public, action, reply.observation)
                    by_problem.add((reply.observation, reply.hidden, after))
                    if after not in allowed:
                        allowed[after] = set(twin.problem.universe(after))
                    assert reply.hidden in allowed[after]
            output = {o[0] for o in by_game if isinstance(o, tuple)}
            observations = {o[0] for o in by_problem if isinstance(o, tuple)}
            assert len(output) == len(observations) <= 1, "what is told depends on the answer"
            for text, observation in zip(output, observations, strict=True):
                assert texts.setdefault(observation, text) == text
            assert bare(by_game) == bare(by_problem)
        assert len(set(texts.values())) == len(texts)


def bare(outcomes: set[Any]) -> set[Any]:
    return {o[1:] if isinstance(o, tuple) else o for o in outcomes}


@twins
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_both_implementations_track_equal_beliefs(twin: Twin, seed: int) -> None:
    """From the start of a random game; by replies, and by enumerating all games."""
    rng = random.Random(seed)
    state = twin.game.new_initial_state()
    state.apply_action(rng.choice(state.legal_actions()))
    belief = set(twin.game.starts)
    if len(belief) > 300:
        return  # enumerating is slow there
    public = state.public
    for _ in range(7):
        before, action = state.hidden, rng.choice(state.legal_actions())
        state.apply_action(action)
        if not state.is_terminal() and state.current_player() == 1:
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            break
        replies = twin.problem.replies(public, before, action)
        output = next(r.observation for r in replies if r.hidden == state.hidden)
        everywhere = (r for h in belief for r in twin.problem.replies(public, h, action))
        belief = {r.hidden for r in everywhere if not r.ends and r.observation == output}
        public = twin.problem.after(public, action, output)
        assert public == state.public
        assert state.hidden in belief
        assert worlds_of(twin.game, state) == belief


VALUED = ["mini_rbc", "mini_rbc graded", "mini_rbc decoy"]


@pytest.mark.parametrize("name", VALUED)
@given(seed=seeds)
@settings(max_examples=4, deadline=None)
def test_values_by_definition_are_those_of_the_game(name: str, seed: int) -> None:
    twin, rng = TWINS[name], random.Random(seed)
    public = twin.problem.random_public(rng)
    states = rng.sample(list(twin.problem.consistent(public)), rng.randint(1, 3))
    games: list[MiniRbcState] = [twin.game.state_at(public, hidden) for hidden in states]
    by_game = value_by_game(twin, games, 1)
    assert value_by_definition(twin.problem, public, frozenset(states), 1) == by_game
    prover = RootProver(twin.problem)
    assert prover.wins(public, states, 1) == (by_game == twin.problem.greatest)
