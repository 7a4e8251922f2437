"""Trees of games and best responses to policies, against OpenSpiel's and by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import Policy as OpenSpielPolicy
from tests.seeds import seed_of_test

from miai import Game
from miai.api import load_game
from miai.equilibria import exploitability, extract
from miai.equilibria.tree import Policy, Tree
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

    def __init__(self, name: str, ours: Game) -> None:
        game = pyspiel.load_game(name)
        turns = game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        self.game = game if turns else pyspiel.convert_to_turn_based(game)
        # Chance's actions are numbered differently, where chance begins.
        first = [g.new_initial_state().legal_actions()[0] for g in (ours, self.game)]
        self.offset = first[0] - first[1]

    def state_after(self, history: tuple[int, ...]) -> Any:
        state = self.game.new_initial_state()
        for action in history:
            state.apply_action(action - self.offset if state.is_chance_node() else action)
        return state

    def policy(self, tree: Tree, policy: Policy) -> OpenSpielPolicy:
        texts, starts = {}, tree.form.starts
        for number in range(len(tree)):
            at = tree.information_set(number)
            row = policy[starts[number] : starts[number + 1]]
            state = self.state_after(at.history)
            texts[state.information_state_string(at.player)] = dict(
                zip(at.actions, row.tolist(), strict=True)
            )

        class Stated(OpenSpielPolicy):  # type: ignore[misc]
            def action_probabilities(self, state: Any, player: Any = None) -> dict[int, float]:
                return texts[state.information_state_string()]

        return Stated(self.game, [0, 1])


def random_policy(tree: Tree, rng: np.random.Generator) -> Policy:
    """Draw a policy; a third of all actions are never taken where others are."""
    weights = rng.exponential(size=tree.slots) * (rng.random(tree.slots) > 1 / 3) + 1e-12
    counts = np.diff(tree.form.starts)
    totals = np.repeat(np.add.reduceat(weights, tree.form.starts[:-1]), counts)
    return np.asarray(weights / totals)


SMALL: list[Any] = [
    ("kuhn_poker", {}, "kuhn_poker"),
    ("openspiel:kuhn_poker", {}, "kuhn_poker"),
    ("openspiel:liars_dice", {"dice_sides": 2}, "liars_dice(dice_sides=2)"),
    ("openspiel:liars_dice", {"dice_sides": 3}, "liars_dice(dice_sides=3)"),
    ("openspiel:dark_hex", {"board_size": 2}, "dark_hex(board_size=2)"),
    ("goofspiel", {"num_cards": 3, "imp_info": True}, "goofspiel(num_cards=3,imp_info=True)"),
    *(
        pytest.param(*values, marks=pytest.mark.slow)
        for values in (
            ("openspiel:leduc_poker", {}, "leduc_poker"),
            ("openspiel:liars_dice", {"dice_sides": 4}, "liars_dice(dice_sides=4)"),
            (
                "openspiel:goofspiel",
                {"num_cards": 4, "imp_info": True},
                "goofspiel(num_cards=4,imp_info=True)",
            ),
        )
    ),
]


@pytest.mark.parametrize(("name", "parameters", "theirs"), SMALL)
def test_exploitability_is_open_spiels(
    name: str, parameters: Mapping[str, Any], theirs: str
) -> None:
    tree = extract(load(name, **parameters))
    peer = Peer(theirs, tree.game)
    rng = np.random.default_rng(seed_of_test())
    for policy in (tree.uniform(), random_policy(tree, rng)):
        found = nash_conv(peer.game, peer.policy(tree, policy), return_only_nash_conv=False)
        measured = exploitability(tree, policy)
        assert measured.nash_conv == pytest.approx(found.nash_conv, abs=1e-9)
        gains = np.subtract(measured.best_responses, measured.values)
        assert gains == pytest.approx(found.player_improvements, abs=1e-9)
