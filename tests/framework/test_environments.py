"""Games as environments: the checks of PettingZoo and Gymnasium, copies, masks, what is hidden."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, seed_test
from tests.framework.histories import TTT
from tests.seeds import seed_of_test
from tests.warm_command import run_python

import miai
from miai.environments import AecEnvironment
from miai.errors import IllegalActionError, ParameterError
from miai.plugins.extras import install_line

GAMES = (
    "tic_tac_toe",
    "phantom_tic_tac_toe",
    "kuhn_poker",
    "mini_rbc",
    "goofspiel",  # players act at once
    "prisoners_dilemma",  # and are rewarded on the way
)

pytestmark = pytest.mark.filterwarnings("ignore")


def aec(name: str) -> AecEnvironment:
    environment = miai.to_pettingzoo(miai.load_game(name))
    assert isinstance(environment, AecEnvironment)
    return environment


@pytest.mark.parametrize("name", GAMES)
def test_pettingzoo_s_checks_pass(name: str) -> None:
    game = miai.load_game(name)
    api_test(aec(name), num_cycles=100)
    seed_test(lambda: aec(name), num_cycles=20)
    parallel_api_test(miai.to_pettingzoo(game, parallel=True), num_cycles=100)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
def test_gymnasium_s_check_passes(name: str, player: int) -> None:
    with warnings.catch_warnings():
        environment = miai.to_gymnasium(miai.load_game(name), player=player)
        check_env(environment, skip_render_check=True)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_has_the_rewards_masks_and_tensors_of_the_rules(name: str) -> None:
    """Each game is played beside by the rules alone, with the same draws of chance."""
    rng = random.Random(seed_of_test())
    environment = aec(name)
    for _ in range(10):
        environment.reset(seed=rng.randrange(1000))
        state = miai.load_game(name).new_initial_state()
        total = dict.fromkeys(environment.possible_agents, 0.0)
        for agent in environment.agent_iter():
            history = environment.played.state.history()
            while state.move_number() < len(history):
                state.apply_action(history[state.move_number()])
            observation, reward, terminated, truncated, _ = environment.last()
            total[agent] += reward
            number = environment.possible_agents.index(agent)
            legal = [] if terminated or truncated else state.legal_actions()
            assert np.flatnonzero(observation["action_mask"]).tolist() == legal
            assert np.array_equal(observation["observation"], expected(state, number))
            environment.step(rng.choice(legal) if legal else None)
        assert tuple(total.values()) == state.returns()


def expected(state: miai.State, player: int) -> Any:
    if state.game.observation_tensor_shape():
        return state.observation_tensor(player)
    text = state.information_state_string(player).encode()
    return np.array([*text, *[0] * (4096 - len(text))], np.uint8)


def test_a_copy_is_independent_and_draws_the_same() -> None:
    environment: Any = miai.to_pettingzoo(miai.load_game("pig", goal=100))
    environment.reset(seed=3)
    copy = environment.clone()
    seen: list[list[str]] = []
    for one in (copy, environment):  # whole, one by one: were the dice shared, they would differ
        seen.append([])
        for _ in range(20):
            one.step(0)
            seen[-1].append(str(one.played.state))
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 10


@pytest.mark.parametrize("parallel", [False, True])
def test_a_step_of_a_copy_leaves_the_other(parallel: bool) -> None:
    environment: Any = miai.to_pettingzoo(miai.load_game("kuhn_poker"), parallel=parallel)
    environment.reset(seed=3)
    copy, before = environment.clone(), str(environment.played.state)
    copy.step({"first": 0, "second": 0} if parallel else 0)
    assert str(environment.played.state) == before


def test_an_observation_does_not_depend_on_what_is_hidden() -> None:
    seen: dict[str, set[bytes]] = {}
    for seed in range(40):
        environment = aec("kuhn_poker")
        environment.reset(seed=seed)
        card = str(environment.played.state)
        tensor = environment.observe("first")["observation"].tobytes()
        seen.setdefault(card, set()).add(tensor)
    assert len(seen) == 6, "six deals"
    assert len(set().union(*seen.values())) == 3, "three cards of one's own"


def test_masks_of_those_who_wait_tell_nothing() -> None:
    one_by_one = aec("tic_tac_toe")
    one_by_one.reset(seed=1)
    together: Any = miai.to_pettingzoo(TTT, parallel=True)
    together.reset(seed=1)
    one_by_one.step(4)
    observations, *_ = together.step({"x": 4, "o": 0})
    assert one_by_one.observe("x")["action_mask"].tolist() == [0] * 9
    assert one_by_one.observe("o")["action_mask"].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]
    assert observations["x"]["action_mask"].tolist() == [1] * 9
    assert observations["o"]["action_mask"].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]


def test_an_illegal_action_is_refused_or_loses() -> None:
    environment = aec("tic_tac_toe")
    environment.reset(seed=1)
    environment.step(4)
    with pytest.raises(IllegalActionError, match="not legal"):
        environment.step(4)
    with pytest.raises(IllegalActionError, match="has to act"):
        environment.step(None)
    assert environment.agent_selection == "o"
    against = miai.to_gymnasium(TTT, player=1)
    _, info = against.reset(seed=1)
    (taken,) = np.flatnonzero(info["action_mask"] == 0).tolist()
    _, reward, terminated, _, info = against.step(taken)
    assert (reward, terminated, info["illegal"]) == (-1.0, True, True)
    strict = miai.to_gymnasium(TTT, player=1, illegal="raise")
    strict.reset(seed=1)
    with pytest.raises(IllegalActionError):
        strict.step(taken)


def test_wrong_players_and_opponents_are_refused() -> None:
    with pytest.raises(ParameterError, match="players 0 to 1"):
        miai.to_gymnasium(TTT, player=2)
    with pytest.raises(ParameterError, match="for each of the players 1"):
        miai.to_gymnasium(TTT, {0: miai.make_agent("random", TTT)})


def test_without_the_libraries_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None; import miai\n"
        "try: miai.to_pettingzoo\n"
        "except miai.MiaiError as error: print(error)"
    )
    assert install_line("miai[environments]") in run_python(code)
