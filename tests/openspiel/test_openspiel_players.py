"""OpenSpiel's players in miai, miai's in OpenSpiel, and searches of its hidden games."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from open_spiel.python.algorithms import cfr, expected_game_score
from tests.seeds import seed_of_test

import miai
from miai.agent import Agent, RandomAgent
from miai.errors import EmptyBeliefError, ParameterError, UnsuitableGameError
from miai.information import EnumeratedBelief, SampledBelief
from miai.search.worlds import Ismcts, IsmctsParameters, Pimc, PimcParameters
from miai_openspiel.bots import (
    MiaiBot,
    SpielMcts,
    SpielMctsParameters,
    SpielPolicy,
    SpielPolicyParameters,
    write_policy,
)
from miai_openspiel.catalogue import games
from miai_openspiel.games import OpenSpielGame
from miai_openspiel.parameters import parameters_of

SAMPLED: dict[str, Any] = {"belief": "sampled", "belief_parameters": {"limit": 50}}


def load(name: str, **parameters: Any) -> OpenSpielGame:
    return OpenSpielGame(name, parameters_of(name)(**parameters))


def test_openspiel_s_search_wins_against_random_moves() -> None:
    game = load("connect_four")
    search = SpielMcts(game, SpielMctsParameters(simulations=200))
    for number in range(4):
        agents = [search, RandomAgent(game)] if number % 2 == 0 else [RandomAgent(game), search]
        record = miai.play(game, agents, seed=number)
        assert record.returns is not None
        assert record.returns[number % 2] == 1.0


def test_its_games_repeat_with_the_seed() -> None:
    game = load("connect_four")
    search = SpielMcts(game, SpielMctsParameters(simulations=30))
    first, again, other = (miai.play(game, [search, search], seed=seed) for seed in (1, 1, 2))
    assert [m.action for m in first.moves] == [m.action for m in again.moves]
    assert [m.action for m in first.moves] != [m.action for m in other.moves]


def test_it_refuses_games_that_it_would_see_through() -> None:
    with pytest.raises(UnsuitableGameError, match="hides information"):
        SpielMcts(load("kuhn_poker"))
    with pytest.raises(UnsuitableGameError, match="choose a game openspiel:NAME"):
        SpielMcts(miai.load_game("tic_tac_toe"))


def test_a_policy_of_regret_plays_as_it_was_computed(tmp_path: Path) -> None:
    """The mean payoff against random moves is the expectation that OpenSpiel computes."""
    game = load("kuhn_poker")
    solver = cfr.CFRSolver(game.inner)
    for _ in range(200):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    write_policy(policy, tmp_path / "kuhn.json")
    agent = SpielPolicy(game, SpielPolicyParameters(file=str(tmp_path / "kuhn.json")))
    uniform = pyspiel.UniformRandomPolicy(game.inner)
    start = game.inner.new_initial_state()
    expected = expected_game_score.policy_value(start, [policy, uniform])[0]
    count, total = 2000, 0.0
    for number in range(count):
        record = miai.play(game, [agent, RandomAgent(game)], seed=10_000 + number)
        assert record.returns is not None
        total += record.returns[0]
        assert all(m.statistics["known"] for m in record.moves if m.actor == 0 and m.statistics)
    assert total / count == pytest.approx(expected, abs=4 * 2 / count**0.5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("[1]", "is not a policy"),
        ('{"0": {"a": 1}}', "is not a policy"),
        ('{"0": {"1": 7}}', "not between 0 and 1"),
        ("[" * 100_000, "is not a policy"),
    ],
)
def test_a_file_that_is_not_a_policy_is_refused(
    tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "p.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ParameterError, match=said):
        SpielPolicy(load("kuhn_poker"), SpielPolicyParameters(file=str(path)))


class Recorder(RandomAgent):
    """Notes what it observes."""

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.seen: list[object] = []

    def observe(self, observation: miai.Observation) -> None:
        super().observe(observation)
        self.seen.append(observation)


def test_an_agent_plays_as_a_bot_of_openspiel_and_observes_what_it_may() -> None:
    game, rng = load("leduc_poker"), random.Random(seed_of_test())
    agent = Recorder(game)
    bot = MiaiBot(agent, game, 1)
    for _ in range(20):
        bot.restart()
        state, mine = game.inner.new_initial_state(), game.new_initial_state()
        expected = [mine.observation(1)]
        while not state.is_terminal():
            if state.is_chance_node():
                action = rng.choice([outcome for outcome, _ in state.chance_outcomes()])
            elif state.current_player() == 1:
                action = bot.step(state)
                assert agent.seen == expected
            else:
                action = rng.choice(state.legal_actions())
            offset = game.chance_offset if state.is_chance_node() else 0
            state.apply_action(action)
            mine.apply_action(action + offset)
            if (seen := mine.observation(1)) is not None:
                expected.append(seen)


def test_a_sampled_belief_of_few_worlds_is_the_enumerated_one() -> None:
    game, rng = load("leduc_poker"), random.Random(seed_of_test())
    for _ in range(10):
        state = game.new_initial_state()
        beliefs = SampledBelief(game, 0), EnumeratedBelief(game, 0)
        while not state.is_terminal():
            if (seen := state.observation(0)) is not None:
                for belief in beliefs:
                    belief.observe(seen)
                keys = [{world.key() for world in belief} for belief in beliefs]
                assert keys[0] == keys[1]
            state.apply_action(rng.choice(state.legal_actions()))


def test_a_sampled_belief_holds_worlds_that_explain_all_observations() -> None:
    """Each world is played again from its history, by the game alone."""
    game, rng = load("phantom_ttt"), random.Random(seed_of_test())
    for _ in range(10):
        state, belief = game.new_initial_state(), SampledBelief(game, 1, limit=8)
        observations = []
        while not state.is_terminal():
            if (seen := state.observation(1)) is not None:
                observations.append(seen)
                belief.observe(seen)
                assert len(belief) <= 8
                for world in belief:
                    assert observed(world, 1) == observations
            state.apply_action(rng.choice(state.legal_actions()))
        again = SampledBelief(game, 1, limit=8)
        for seen in observations:
            again.observe(seen)
        assert [world.key() for world in again] == [world.key() for world in belief]


def observed(world: miai.State, player: int) -> list[object]:
    state = world.game.new_initial_state()
    seen = [state.observation(player)]
    for action in world.history():
        state.apply_action(action)
        seen.append(state.observation(player))
    return [observation for observation in seen if observation is not None]


def test_a_sampled_belief_without_worlds_says_so() -> None:
    game = load("kuhn_poker")
    belief = SampledBelief(game, 0)
    belief.observe(miai.Observation(0, None, None, "no such text"))
    assert len(belief) == 0
    with pytest.raises(EmptyBeliefError, match="raise the limit"):
        belief.sample(random.Random(1))


@pytest.mark.parametrize(
    "name", ["phantom_ttt", "dark_hex", "liars_dice", "leduc_poker", "goofspiel", "dark_chess"]
)
def test_hidden_games_are_searched(name: str) -> None:
    game = load(name)
    searches = (
        Ismcts(game, IsmctsParameters(simulations=20, **SAMPLED)),
        Pimc(game, PimcParameters(simulations=20, worlds=4, **SAMPLED)),
    )
    for search in searches:
        record = miai.play(game, [search, RandomAgent(game)], seed=3, move_limit=20)
        assert record.termination in ("terminal", "move-limit")
        mine = [move.statistics for move in record.moves if move.actor == 0]
        found = [statistics for statistics in mine if statistics and statistics["belief"]]
        # Fifty worlds are too few for the many moves of dark chess; the belief may get lost.
        assert len(found) == len(mine) or name == "dark_chess"
        assert found


HIDDEN = [
    name
    for name, entry in games().items()
    # A state of python_liars_poker takes so long to copy that a game takes minutes.
    if entry["hides"] and entry["players"] == 2 and name != "python_liars_poker"
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [Ismcts, Pimc])
@pytest.mark.parametrize("name", HIDDEN)
def test_every_hidden_game_of_two_players_is_searched(name: str, kind: type[Agent]) -> None:
    game = load(name)
    sampled: dict[str, Any] = {"belief": "sampled", "belief_parameters": {"limit": 20}}
    of = IsmctsParameters if kind is Ismcts else PimcParameters
    search = kind(game, of(simulations=10, **sampled))
    record = miai.play(game, [search, RandomAgent(game)], seed=1, move_limit=12)
    mine = [move.statistics for move in record.moves if move.actor == 0]
    assert not mine or any(statistics and statistics["belief"] for statistics in mine)


def test_search_wins_a_hidden_game_against_random_moves() -> None:
    game = load("phantom_ttt")
    search = Ismcts(game, IsmctsParameters(simulations=200, **SAMPLED))
    wins = 0.0
    for number in range(20):
        record = miai.play(game, [search, RandomAgent(game)], seed=number)
        assert record.returns is not None
        wins += (record.returns[0] + 1) / 2
    assert wins >= 15
