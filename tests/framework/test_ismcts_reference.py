"""How often ISMCTS chooses each action, compared with OpenSpiel's ISMCTS on the same games."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

pyspiel = pytest.importorskip("pyspiel", reason="needs the extra bench: open_spiel")

import numpy as np  # noqa: E402 - after the skip
from open_spiel.python.algorithms import ismcts, mcts  # noqa: E402
from tests.framework.histories import at  # noqa: E402

from miai import State  # noqa: E402
from miai.clock import ClockReading, TimeControl  # noqa: E402
from miai.search.worlds import InfoSetNode, Ismcts, IsmctsParameters  # noqa: E402
from miai_openspiel.games import OpenSpielGame  # noqa: E402

EXPLORATION = 1.4
"""In utilities, as OpenSpiel's ``uct_c``."""


def our_choices(
    game: OpenSpielGame, moves: tuple[int, ...], *, seeds: int, simulations: int
) -> Any:
    half = (game.info.max_utility - game.info.min_utility) / 2
    parameters = IsmctsParameters(simulations=simulations, exploration=EXPLORATION / half)
    agent = Ismcts(game, parameters)
    choices: Counter[int] = Counter()
    for seed in range(seeds):
        state = position(game, moves)
        at(agent, *state.history(), player=state.current_player(), seed=seed)
        choices[agent.act(ClockReading(control=TimeControl())).action] += 1
    return choices


def their_choices(
    game: OpenSpielGame, moves: tuple[int, ...], *, seeds: int, simulations: int
) -> Any:
    """Worlds are drawn from all histories that the player cannot tell from the true one."""
    state = position(game, moves).inner
    worlds = indistinguishable(game, state)
    choices: Counter[int] = Counter()
    for seed in range(seeds):
        generator, draw = np.random.RandomState(seed), random.Random(seed)
        bot = ismcts.ISMCTSBot(
            game.inner,
            mcts.RandomRolloutEvaluator(1, generator),
            EXPLORATION,
            simulations,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
            use_observation_string=False,
            allow_inconsistent_action_sets=False,
            random_state=generator,
        )
        bot.set_resampler(lambda *_, draw=draw: draw.choice(worlds).clone())
        choices[int(bot.step(state))] += 1
    return choices


def position(game: OpenSpielGame, moves: tuple[int, ...]) -> Any:
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(numbered(state, move))
    return state


def numbered(state: State, move: int) -> int:
    """Return the number here of a move of OpenSpiel's, or of what chance does."""
    game = state.game
    assert isinstance(game, OpenSpielGame)
    return move + game.chance_offset if state.is_chance_node() else move


def indistinguishable(game: OpenSpielGame, state: Any) -> list[Any]:
    player, length = state.current_player(), len(state.history())
    text = state.information_state_string(player)
    layer = [game.inner.new_initial_state()]
    for _ in range(length):
        layer = [s.child(a) for s in layer if not s.is_terminal() for a in s.legal_actions()]
    return [
        s
        for s in layer
        if s.current_player() == player and s.information_state_string(player) == text
    ]


slow = partial(pytest.param, marks=pytest.mark.soak)
SITUATIONS = [
    # first and second card; pass 0, bet 1
    *(("kuhn_poker", moves, 60, 300) for moves in [(1, 2, 0), (0, 1, 0)]),
    *(slow("kuhn_poker", moves, 60, 300) for moves in [(1, 0), (2, 0)]),
    # six cards, two of a rank; fold 0, call 1, raise 2
    ("leduc_poker", (2, 0, 2), 50, 200),
    *(slow("leduc_poker", moves, 50, 200) for moves in [(0, 2), (2, 4, 1)]),
    # after the second round's card: opponents with one tree for all cards would choose otherwise
    *(("leduc_poker", moves, 50, 200) for moves in [(4, 2, 1, 1, 0), (0, 2, 1, 1, 4, 1)]),
    ("phantom_ttt", (4,), 50, 200),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moves", "seeds", "simulations"), SITUATIONS)
def test_choices_are_as_frequent_as_in_openspiel(
    name: str, moves: tuple[int, ...], seeds: int, simulations: int
) -> None:
    from scipy.stats import chi2_contingency  # half a second

    game = OpenSpielGame(name)
    ours = our_choices(game, moves, seeds=seeds, simulations=simulations)
    theirs = their_choices(game, moves, seeds=seeds, simulations=simulations)
    actions = sorted({*ours, *theirs})
    if len(actions) == 1:
        return
    table = [[choices[action] for action in actions] for choices in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 0.001, (actions, table)


def test_exploration_counts_how_often_an_action_was_available() -> None:
    # 0.5 + sqrt(ln 10 / 10) = 0.98 for one, 0.5 + sqrt(ln 1000 / 10) = 1.33 for the other
    node = InfoSetNode(visited=True)
    for action, available in ((0, 9), (1, 999)):
        node.select([action], 1.0, random.Random(0))
        edge = node.edges[action]
        edge.available, edge.visits, edge.total = available, 10, 5.0
    assert node.select([0, 1], 1.0, random.Random(0)) == 1
    assert [node.edges[action].available for action in (0, 1)] == [10, 1000]
    node.select([0], 1.0, random.Random(0))
    assert [node.edges[action].available for action in (0, 1)] == [11, 1000]
