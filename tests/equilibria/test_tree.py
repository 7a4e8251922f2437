"""Trees of games and best responses to policies, against OpenSpiel's and by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import Policy as OpenSpielPolicy
from tests.framework.broken_games import in_states
from tests.framework.tree_games import Choice, End, TreeGame, TreeState
from tests.seeds import seed_of_test

from miai import Game, Observation
from miai.api import load_game
from miai.equilibria import best_response, expected_values, exploitability, extract
from miai.equilibria.solver import Solver, averaged
from miai.equilibria.tree import InformationSet, Policy, Tree
from miai.errors import AgentProtocolError, UnsuitableGameError
from miai_openspiel.catalogue import parameters_of
from miai_openspiel.games import PREFIX, OpenSpielGame


def load(name: str, **parameters: Any) -> Game:
    """Return a game by name; of OpenSpiel, whose plugin tests do not load, with its prefix."""
    bridged = name.removeprefix(PREFIX)
    if bridged == name:
        return load_game(name, **parameters)
    return OpenSpielGame(bridged, parameters_of(bridged)(**parameters))


class Peer:
    """The game of OpenSpiel that a tree is of, and policies of the tree in it."""

    def __init__(self, tree: Tree) -> None:
        parameters = tree.game.parameters.model_dump(exclude_defaults=True)
        game = pyspiel.load_game(tree.game.info.name.removeprefix(PREFIX), parameters)
        turns = game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        self.tree, self.game = tree, game if turns else pyspiel.convert_to_turn_based(game)
        # Chance's actions are numbered differently, where chance begins.
        ours, theirs = (g.new_initial_state().legal_actions()[0] for g in (tree.game, self.game))
        self.offset = ours - theirs

    def text_of(self, at: InformationSet) -> str:
        state = self.game.new_initial_state()
        for action in at.history:
            state.apply_action(action - self.offset if state.is_chance_node() else action)
        return str(state.information_state_string(at.player))

    def policy(self, policy: Policy) -> OpenSpielPolicy:
        starts, by_text = self.tree.form.starts, {}
        for at in self.tree.information_sets:
            row = policy[starts[at.number] : starts[at.number + 1]].tolist()
            by_text[self.text_of(at)] = dict(zip(at.actions, row, strict=True))

        class Stated(OpenSpielPolicy):  # type: ignore[misc]  # it has no types
            def action_probabilities(self, state: Any, player: Any = None) -> dict[int, float]:
                return by_text[state.information_state_string()]

        return Stated(self.game, [0, 1])


QUICK: list[Any] = [
    ("kuhn_poker", {}),
    ("openspiel:kuhn_poker", {}),
    ("openspiel:liars_dice", {"dice_sides": 2}),
    ("openspiel:liars_dice", {"dice_sides": 3}),
    ("openspiel:dark_hex", {"board_size": 2}),
    ("goofspiel", {"num_cards": 3, "imp_info": True}),
]
LARGER = [
    ("openspiel:leduc_poker", {}),
    ("openspiel:liars_dice", {"dice_sides": 4}),
    ("openspiel:goofspiel", {"num_cards": 4, "imp_info": True}),
]


@pytest.mark.parametrize(
    ("name", "parameters"), QUICK + [pytest.param(*game, marks=pytest.mark.slow) for game in LARGER]
)
def test_exploitability_is_open_spiels(name: str, parameters: Mapping[str, Any]) -> None:
    tree = extract(load(name, **parameters))
    peer, rng = Peer(tree), np.random.default_rng(seed_of_test())
    weights = rng.exponential(size=tree.slots) * (rng.random(tree.slots) > 1 / 3)  # some are 0
    for policy in (tree.uniform(), averaged(weights, tree.form.starts)):
        found = nash_conv(peer.game, peer.policy(policy), return_only_nash_conv=False)
        measured = exploitability(tree, policy)
        assert measured.nash_conv == pytest.approx(found.nash_conv, abs=1e-9)
        gains = np.subtract(measured.best_responses, measured.values)
        assert gains == pytest.approx(found.player_improvements, abs=1e-9)
        value, response = best_response(tree, policy, 1)
        assert expected_values(tree, response)[1] == pytest.approx(value)


@pytest.mark.parametrize(("name", "parameters"), QUICK)
def test_a_walk_over_histories_adds_up_to_the_same(
    name: str, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = extract(load(name, **parameters))
    monkeypatch.setattr(f"{extract.__module__}._MOST_ENTRIES", 0)
    walked = extract(load(name, **parameters))
    assert (walked.is_walked, kept.is_walked) == (True, False)
    weights = np.random.default_rng(seed_of_test()).exponential(size=kept.slots)
    weights[: len(weights) // 3] *= np.arange(len(weights) // 3) % 2  # histories of no probability
    policy = averaged(weights, kept.form.starts)
    assert exploitability(walked, policy).nash_conv == pytest.approx(
        exploitability(kept, policy).nash_conv, abs=1e-12
    )
    with pytest.raises(UnsuitableGameError, match="walked in each iteration"):
        Solver(walked, "cfr")


KUHN = extract(load("kuhn_poker"))


def test_constant_sum_and_a_player_without_decisions() -> None:
    game = TreeGame(Choice(0, (End((1.0, 0.0)), End((0.0, 1.0)))), utility_sum=1.0)
    measured = exploitability(tree := extract(game), tree.uniform())
    assert (measured.values, measured.best_responses) == ((0.5, 0.5), (1.0, 0.5))


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(AgentProtocolError, match=r"sum to 0.9, .* player 0 after the actions"):
        KUHN.policy_from(lambda at: {0: 0.9})
    rounded = KUHN.policy_from(lambda at: {0: 0.5, 1: 0.5 + 5e-7})
    assert rounded[:2].sum() == pytest.approx(1.0, abs=1e-15)


class Silent(TreeState):
    """Tells players nothing."""

    def observation(self, player: int) -> Observation | None:
        return None


class Forgetful(TreeState):
    """Observes everything, and writes nothing."""

    def information_state_string(self, player: int) -> str:
        return ""


class Turning(TreeState):
    """Takes a position after an action for the start, or for each other."""

    def key(self) -> int:
        return min(1, len(self.history()) // 2)


def odd(states: type[TreeState], mover: int, *choices: tuple[End, ...]) -> Game:
    """Return a game in which player 0 decides after a player's action, with states of a class."""

    tree = Choice(mover, tuple(Choice(0, ends) for ends in choices))
    game: Game = in_states(TreeGame, lambda game: states(game))(tree)
    return game


ENDS = (End((1.0, -1.0)), End((-1.0, 1.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load("pig"), "pig: has 3 players; exp"),
        (lambda: TreeGame(Choice(0, ENDS), utility_sum=None), "no constant sum"),
        (
            lambda: TreeGame(Choice(1, (End((1.0, -0.5)), *ENDS))),
            r"the returns 1 and -0.5 after the actions \[0\] do not sum to 0",
        ),
        (lambda: load("phantom_tic_tac_toe"), r"about \d.\de\+10 .*from 500 .*limit is 57\."),
        (lambda: load("kuhn_poker"), "has more than 57 histories"),
        (lambda: odd(Turning, 0, ENDS, ENDS), "a state can recur, so a game may never end"),
        (
            lambda: TreeGame(Choice(0, (*[ENDS[0]] * 10, *[Choice(0, ENDS * 2)] * 10)), merge=True),
            "has 61 histories, and the limit is 57",  # of 4 worlds
        ),
        (lambda: odd(Silent, 0, ENDS, ENDS), r"the same observations .* \[\] and \[0\]"),
        (lambda: odd(Silent, 1, ENDS, ENDS[:1]), r"the same observations .* \[0\] and \[1\]"),
        (lambda: odd(Forgetful, 0, ENDS, ENDS), r"its information state after .* \[\] and \[0\]"),
        (lambda: TreeGame(ENDS[0]), "players never decide"),
    ],
)
def test_what_cannot_be_measured_is_refused(make: Callable[[], Game], message: str) -> None:
    with pytest.raises(UnsuitableGameError, match=message):
        extract(make(), max_histories=57)
