"""Games of OpenSpiel in miai: what loads, the rules of a game, and what stays hidden."""

from __future__ import annotations

import random
from typing import Any

import pyspiel
import pytest
from tests.seeds import seed_of_test

from miai.errors import ConformanceError, IllegalActionError, ParameterError
from miai.information import EnumeratedBelief, PlayerView
from miai.plugins.kinds import GAME
from miai.plugins.registry import Registry
from miai.testing import check_game
from miai_openspiel import plugin
from miai_openspiel.catalogue import ask_openspiel, games
from miai_openspiel.games import OpenSpielGame
from miai_openspiel.parameters import parameters_of

QUICK = (
    "2048",  # one player
    "backgammon",  # chance that all see
    "bargaining",
    "blotto",  # one simultaneous choice
    "connect_four",
    "dark_hex",
    "goofspiel",  # simultaneous choices and chance
    "hearts",  # four players
    "kuhn_poker",
    "leduc_poker",
    "matrix_pd",  # not of constant sum
    "phantom_ttt",
    "tiny_hanabi",  # cooperative
)


def load(name: str, **parameters: Any) -> OpenSpielGame:
    return OpenSpielGame(name, parameters_of(name)(**parameters))


FAULTY = {
    "chat_game": "has more legal actions than its number of distinct actions",
    "python_hangman": "fails when it is asked for its number of chance outcomes",
    "python_liars_poker": "its states share one tensor, which changes with any of them",
}
"""Games that break a rule, by a fault in OpenSpiel; docs/openspiel.md has reproductions."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", games())
def test_every_game_keeps_the_rules(name: str) -> None:
    if name in FAULTY:
        with pytest.raises(ConformanceError):
            check_game(load(name), games=1, max_plies=12, worlds=20, seed=1)
    else:
        check_game(load(name), games=1, max_plies=12, worlds=20, seed=1)


def test_the_catalogue_is_that_of_openspiel() -> None:
    asked = ask_openspiel()
    assert asked["games"] == games()
    assert len(games()) + len(asked["left_out"]) == len(pyspiel.registered_names())
    assert len(games()) >= 100


@pytest.mark.parametrize("name", QUICK)
def test_a_game_keeps_the_rules(name: str) -> None:
    check_game(load(name), games=2, max_plies=25, worlds=100, seed=seed_of_test())


@pytest.mark.parametrize("name", QUICK)
def test_a_game_goes_as_in_openspiel(name: str) -> None:
    """The same actions, by another way through OpenSpiel, end the game with the same returns."""
    game, rng = load(name), random.Random(seed_of_test())
    state = game.new_initial_state()
    for _ in range(2000):
        if state.is_terminal():
            break
        actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
    twin = game.inner.deserialize_state(state.inner.serialize())
    assert twin.is_terminal() == state.is_terminal()
    if state.is_terminal():
        assert state.returns() == tuple(twin.returns())
    chance = game.chance_offset
    history = [action - chance * (actor < 0) for action, actor in played(state)]
    assert history == twin.history()


def test_chance_has_the_probabilities_of_the_rules() -> None:
    """In 2048 a new tile is a two nine times in ten, on each free cell alike."""
    chances = sorted(chance for _, chance in load("2048").new_initial_state().chance_outcomes())
    assert chances == pytest.approx([0.1 / 16] * 16 + [0.9 / 16] * 16)


def played(state: Any) -> list[tuple[int, int]]:
    return list(zip(state.history(), state.actors(), strict=True))


def test_all_games_register_under_their_names() -> None:
    registry = Registry().for_plugin("openspiel")
    plugin.miai_register(registry)
    names = [component.name for component in registry.components(GAME)]
    assert len(names) == len(games()) + 1
    game = registry.build(GAME, "openspiel:leduc_poker", values={"players": 3})
    assert game.info.num_players == 3
    assert game.info.name == "openspiel:leduc_poker"
    misere = registry.build(GAME, "openspiel", values={"game": "misere(game=tic_tac_toe())"})
    assert misere.info.name == "openspiel"
    assert misere.new_initial_state().legal_actions() == list(range(9))


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("leduc_poker", {"players": 99}, "does not load 'leduc_poker'"),
        ("leduc_poker", {"players": "two"}, "players"),
        ("hex", {"board_size": 10_000_000}, "10000000 is too large"),
        ("leduc_poker", {"player": 2}, "unknown parameter. Did you mean 'players'"),
        ("openspiel", {"game": "no_such_game"}, "has no game 'no_such_game'"),
        ("openspiel", {"game": "mfg_garnet"}, "mean-field game"),
        ("openspiel", {"game": "negotiation"}, "draws its chance by itself"),
    ],
)
def test_what_openspiel_refuses_is_said_in_one_line(
    name: str, parameters: dict[str, Any], said: str
) -> None:
    registry = Registry().for_plugin("openspiel")
    plugin.miai_register(registry)
    full = name if name == "openspiel" else f"openspiel:{name}"
    with pytest.raises(ParameterError) as error:
        registry.build(GAME, full, values=parameters)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_an_illegal_action_is_refused_with_the_position() -> None:
    state = load("tic_tac_toe").new_initial_state()
    state.apply_action(4)
    with pytest.raises(IllegalActionError, match="not legal") as error:
        state.apply_action(4)
    assert ".x." in str(error.value.position)


# -- what is hidden -------------------------------------------------------------------------------


def test_a_player_of_kuhn_poker_sees_its_own_card_alone() -> None:
    game = load("kuhn_poker")
    views: dict[tuple[int, int], list[object]] = {}
    for first in range(3):
        for second in {0, 1, 2} - {first}:
            state = game.new_initial_state()
            seen: list[list[object]] = [[state.observation(0)], [state.observation(1)]]
            for card in (first, second):
                state.apply_action(game.chance_offset + card)
                for player in (0, 1):
                    if (observation := state.observation(player)) is not None:
                        seen[player].append(observation)
            assert views.setdefault((0, first), seen[0]) == seen[0]
            assert views.setdefault((1, second), seen[1]) == seen[1]
    assert len({str(seen) for (player, _), seen in views.items() if player == 0}) == 3
    assert len({str(seen) for (player, _), seen in views.items() if player == 1}) == 3


def test_a_simultaneous_choice_is_not_seen_before_all_are_made() -> None:
    game = load("matrix_pd")
    worlds = set()
    for choice in (0, 1):
        state = game.new_initial_state()
        view = PlayerView(game, 1)
        belief = EnumeratedBelief(game, 1)
        start = state.observation(1)
        assert start is not None
        view.observe(start)
        belief.observe(start)
        state.apply_action(choice)
        told = state.observation(1)
        assert told is not None
        assert told.action is None
        view.observe(told)
        belief.observe(told)
        assert len(belief) == 2
        worlds.add((str(view.observations), state.information_state_string(1)))
    assert len(worlds) == 1


def test_notations_of_hidden_games_do_not_tell_who_acts() -> None:
    game = load("phantom_ttt")
    state = game.new_initial_state()
    assert state.action_to_string(4) == "(1,1)"
    assert state.string_to_action(" (1,1) ") == 4
    assert load("kuhn_poker").action_text(0) == "Pass"
    assert load("kuhn_poker").action_text(2) == "chance 0"
