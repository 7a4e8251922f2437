"""Every arm finds the value that the definition gives, whatever it knew before."""

from __future__ import annotations

import itertools
import random
from collections.abc import Hashable, Sequence

import pytest
from tests.belief_search.random_problems import STATES, RandomProblem
from tests.framework.broken_games import in_states
from tests.framework.histories import state_after
from tests.slow import with_slow
from tests.warm_command import run_python

import miai
from miai import Game, State
from miai.beliefs import (
    BeliefSearch,
    GameProblem,
    Reply,
    Root,
    goes_on,
    named_bounds,
    over,
    search_belief,
)
from miai.errors import UnsuitableGameError
from miai.information import EnumeratedBelief
from miai.plugins.extras import install_line
from miai.search.alphabeta import AlphaBeta, AlphaBetaParameters
from miai_classics.kuhn_poker import KuhnPoker, KuhnPokerState
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcProblem
from miai_miniblind.roots import random_roots, won_roots

ARMS = ("none", "table", "singles", "exact", "cores", "minhash", "reference-minhash")
"""Those that make no errors."""


# -- means --------------------------------------------------------------------------------------


class AveragingProblem(RandomProblem):
    """The same with means where the depth ends."""

    averages = True


def test_means_are_valued_by_what_infers_nothing_and_refused_by_what_does() -> None:
    """A state more may raise a mean, which no worst case does."""
    problem, rose = AveragingProblem(5), 0
    for name in ("none", "table"):
        search = BeliefSearch(problem, named_bounds(name))
        for first, second in itertools.combinations(range(STATES), 2):
            values = [problem.evaluate((0, 0), state) for state in (first, second)]
            recursion = search.recursion
            mask = search.recursion.universe.mask((first, second))
            found = recursion.value((0, 0), mask, 0, problem.least, problem.greatest).value
            assert found == sum(values) / 2
            rose += found > values[0]
            assert search.search(Root((0, 0), (first, second)), 2).complete
    assert rose > 0
    for arm in ARMS[2:]:
        with pytest.raises(UnsuitableGameError, match="no belief bounds another"):
            BeliefSearch(problem, named_bounds(arm))


# -- what contradicts itself ----------------------------------------------------------------------


class WonLeaves(RandomProblem):
    """Of reachability, and yet won where the depth ends."""

    def evaluate(self, public: tuple[int, int], hidden: int) -> float:
        return self.greatest


def test_a_win_at_the_depth_limit_is_reported() -> None:
    search = BeliefSearch(WonLeaves(1, reachability=True), named_bounds("table"))
    with pytest.raises(UnsuitableGameError, match=r"evaluate\(\) returned 1.0"):
        search.search(Root((0, 0), tuple(range(STATES))), 2)


def test_roots_and_depths_that_cannot_be_are_refused() -> None:
    search = BeliefSearch(RandomProblem(1), named_bounds("none"))
    with pytest.raises(ValueError, match="does not allow"):
        search.search(Root((0, 0), (STATES,)), 1)
    with pytest.raises(ValueError, match="at least 1"):
        search.search(Root((0, 0), (3,)), 0)
    wrong = {(-1, 2): "from 0 on", (): "at least one state", (3, 3): "strictly increasing"}
    for hidden, message in wrong.items():
        with pytest.raises(ValueError, match=message):
            Root((0, 0), hidden)
    deep = BeliefSearch(RandomProblem(1, reachability=True), named_bounds("table"))
    with pytest.raises(UnsuitableGameError, match="exceeds Python's recursion limit"):
        deep.search(Root((0, 0), (0,)), 5000)


class OneMove(RandomProblem):
    """One move, which ends the game in the first of two states, and leads to the second."""

    def actions(self, public: tuple[int, int]) -> Sequence[int]:
        return [0]

    def cost(self, public: tuple[int, int], action: int) -> int:
        return 1

    def replies(self, public: tuple[int, int], hidden: int, action: int) -> Sequence[Reply]:
        return [over(0.5)] if hidden == 0 else [goes_on("on", 1)]

    def evaluate(self, public: tuple[int, int], hidden: int) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("hidden", "depth", "nodes", "leaves"), [((0,), 1, 1, 0), ((0, 1), 1, 2, 1), ((0, 1), 2, 3, 1)]
)
def test_nodes_and_leaves_are_counted_by_hand(
    hidden: tuple[int, ...], depth: int, nodes: int, leaves: int
) -> None:
    """The root, then the belief after the move, unless the game is over in every state."""
    found = BeliefSearch(OneMove(1), named_bounds("none")).search(Root((0, 1), hidden), depth)
    assert (found.statistics["nodes"], found.statistics["leaves"]) == (nodes, leaves)
    assert found.value == (0.25 if 1 in hidden else 0.5)


@pytest.mark.slow
def test_the_agent_wins_won_roots_whatever_the_opponent_does() -> None:
    problem = MiniRbcProblem(4, 2)
    for number, root in enumerate(won_roots(problem, 3, depth=3, seed=2)):
        game = MiniRbc.from_root(problem, root)
        for seed in range(4):
            ours = miai.make_agent("belief-minimax", game, depth=3, nodes=None)
            theirs = miai.make_agent("random", game, seed=seed)
            record = miai.play(game, [ours, theirs], seed=10 * number + seed)
            assert record.returns[0] == 1.0
            assert sum(m.actor == 0 and not m.text.startswith("sense") for m in record.moves) <= 3


def test_a_budget_of_nodes_is_kept_and_deepens() -> None:
    problem = MiniRbcProblem(4, 2, graded=True)
    root = random_roots(problem, 1, seed=4)[0]
    search = BeliefSearch(problem, named_bounds("cores"))
    little = search.search(root, 4, max_nodes=500)
    assert 0 < little.depth < 4
    assert not little.complete
    assert little.statistics["nodes"] <= 501
    none_at_all = BeliefSearch(problem, named_bounds("none")).search(root, 3, max_nodes=1)
    assert (none_at_all.depth, none_at_all.action, none_at_all.complete) == (0, -1, False)


# -- any game as a problem: against alpha-beta, and against enumeration ---------------------------


def root_of(problem: GameProblem, states: list[State]) -> Root[tuple[int, ...]]:
    return Root(problem.public(states), tuple(sorted({problem.number(s) for s in states})))


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_is_hidden_the_value_is_the_minimax_value(seed: int) -> None:
    game = miai.load_game("tic_tac_toe")
    rng, state = random.Random(seed), game.new_initial_state()
    for _ in range(3 + seed % 2):
        state.apply_action(rng.choice(state.legal_actions()))
    player = state.current_player()
    problem = GameProblem(game, player)
    found = search_belief(problem, root_of(problem, [state]), 9, named_bounds("table"))
    expected = AlphaBeta(game, AlphaBetaParameters(nodes=0)).search(state)
    assert found.value == expected.value


def worst_of_strategies(states: list[State], player: int, depth: int) -> float:
    """Return V_depth of a set of states of a game, from the State interface alone."""
    if depth == 0:
        return 0.0  # the middle of both games' utilities
    best = -float("inf")
    for action in states[0].legal_actions():
        worst, parts = states[0].game.max_utility(), dict[Hashable, dict[Hashable, State]]()
        stack = [(state.child(action), str(_told(state.child(action), player))) for state in states]
        while stack:
            state, output = stack.pop()
            if state.is_terminal():
                worst = min(worst, state.returns()[player])
            elif state.current_player() == player:
                parts.setdefault(output, {})[state.key()] = state
            else:
                for reply in state.legal_actions():
                    child = state.child(reply)
                    stack.append((child, output + str(_told(child, player))))
        for part in parts.values():
            worst = min(worst, worst_of_strategies(list(part.values()), player, depth - 1))
        best = max(best, worst)
    return best


def _told(state: State, player: int) -> object:
    seen = state.observation(player)
    return seen and (seen.actor, seen.action, seen.data, seen.legal_actions)


ALIKE = ("table", "singles", "cores")


@pytest.mark.parametrize("arm", ["none", "exact", "minhash", *with_slow(ALIKE, *ALIKE)])
@pytest.mark.parametrize("name", ["phantom_tic_tac_toe", "kuhn_poker"])
def test_where_something_is_hidden_it_is_the_value_of_the_definition(name: str, arm: str) -> None:
    game, compared = miai.load_game(name), 0
    for seed in range(5):
        rng, state = random.Random(seed), game.new_initial_state()
        beliefs = [EnumeratedBelief(game, player) for player in (0, 1)]
        for ply in range(9):
            for player, belief in enumerate(beliefs):
                if (observation := state.observation(player)) is not None:
                    belief.observe(observation)
            if state.is_terminal():
                break
            player = state.current_player()
            if player >= 0 and (name == "kuhn_poker" or len(beliefs[player]) > 1 < ply):
                worlds = list(beliefs[player])
                states = rng.sample(worlds, min(4, len(worlds)))  # any worlds are a belief
                problem = GameProblem(game, player)
                search = BeliefSearch(problem, named_bounds(arm))
                for depth in (1, 2) if name == "kuhn_poker" else (1,):
                    found = search.search(root_of(problem, states), depth)
                    assert found.value == worst_of_strategies(states, player, depth)
                    compared += 1
            state.apply_action(rng.choice(state.legal_actions()))
    assert compared > 4


class _Peeking(KuhnPokerState):
    """With the lowest card of the opponent's one may not bet: the actions tell what it holds."""

    def legal_actions(self) -> list[int]:
        legal = super().legal_actions()
        return legal[:1] if self.current_player() == 0 and self.history()[1] == 2 else legal


def test_a_game_whose_actions_depend_on_what_is_hidden_is_refused() -> None:
    game: Game = in_states(KuhnPoker, lambda game: _Peeking(game))()
    state, other = (state_after(game, 4, card) for card in (2, 3))
    problem = GameProblem(game, 0)
    with pytest.raises(UnsuitableGameError, match="depend on hidden state"):
        root_of(problem, [state, other])


# -- where datasketch and numba are not installed, as after README's install line -----------------


GAMES = """
import sys
sys.modules["datasketch"] = None  # importing it raises
import miai
from miai.beliefs.bounds import named_bounds
from miai.errors import MissingExtraError

hidden = miai.load_game("phantom_tic_tac_toe")
chess = miai.load_game("rbc", full_turn_limit=3)
players = {
    "belief-minimax": (hidden, "random", {"depth": 1}),
    "rbc-minimax": (chess, "rbc-random", {"depth": 1, "senses": 2, "moves": 2, "boards": 20}),
}
for name, (game, opponent, parameters) in players.items():
    player = miai.make_agent(name, game, bounds="minhash", **parameters)
    record = miai.play(game, [player, miai.make_agent(opponent, game)], seed=1)
    assert record.termination == "terminal", record.detail
try:
    miai.make_agent("belief-minimax", hidden, bounds="reference-minhash")
except MissingExtraError as error:
    print(error)
"""

FRAMEWORK = """
import sys
sys.modules["numba"] = None
import miai
from miai.errors import MissingExtraError

game = miai.load_game("phantom_tic_tac_toe")
for bounds in ("none", "table", "singles", "exact", "cores"):
    player = miai.make_agent("belief-minimax", game, bounds=bounds, depth=1)
    record = miai.play(game, [player, miai.make_agent("random", game)], seed=1)
    assert record.termination == "terminal", record.detail
try:
    miai.make_agent("belief-minimax", game, bounds="minhash")
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.slow
def test_both_agents_play_with_minhash_without_datasketch() -> None:
    assert install_line("miai[reference]") in run_python(GAMES)


@pytest.mark.slow
def test_all_bounds_but_sketches_work_without_numba() -> None:
    assert install_line("miai[sketches]") in run_python(FRAMEWORK)
