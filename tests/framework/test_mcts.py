"""Monte-Carlo tree search: golden trees, proofs, chance, batches, reuse, budgets."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.framework.histories import TTT, state_after
from tests.framework.tree_games import (
    DRAW,
    LOSS,
    WIN,
    Chance,
    Choice,
    DiceRace,
    End,
    Endless,
    EstimateEvaluator,
    Tree,
    TreeGame,
    expectiminimax,
    general_trees,
    minimax,
    rational_outcomes,
    states_of,
    winner_takes_all_trees,
    zero_sum_trees,
)

import miai
from miai.errors import GameError, HiddenInformationError, PluginError
from miai.parameters import build_parameters
from miai.search.alphabeta import AlphaBeta, AlphaBetaParameters
from miai.search.evaluators import RandomRollout
from miai.search.mcts import Mcts, MctsParameters, Node, best_value, most_visits, puct, uct
from miai.search.protocol import Evaluator, SearchResult


def mcts(game: miai.Game, evaluator: Evaluator | None = None, **values: Any) -> Mcts:
    return Mcts(game, MctsParameters(**values), evaluator=evaluator)


def root_of(search: Mcts) -> Node:
    assert search.root is not None
    return search.root


def searched(
    game: miai.Game, evaluator: Evaluator | None = None, **values: Any
) -> tuple[SearchResult, Node]:
    search = mcts(game, evaluator, **values)
    return search.search(game.new_initial_state()), root_of(search)


# -- play -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["uct", "puct"])
def test_it_plays_tic_tac_toe_perfectly(selection: str) -> None:
    memory: dict[Hashable, float] = {}
    states = [state for state in states_of(TTT) if not state.is_terminal()]
    values = {"selection": selection, "simulations": 1500}
    search = Mcts(TTT, build_parameters(MctsParameters, values))
    for number, state in enumerate(random.Random(3).sample(states, 60)):
        search.new_game(number)
        action = search.search(state).action
        expected = expectiminimax(state, memory)
        assert expectiminimax(state.child(action), memory) == expected, f"seed {number}\n{state}"


# -- golden trees: every number worked out by hand ------------------------------------------------

DEEPER = (Choice(0, (WIN, LOSS)), Choice(0, (LOSS, WIN)))
GOLDEN = Choice(
    0,
    (
        Choice(1, (Choice(0, DEEPER, (0.2, -0.2)), Choice(0, DEEPER, (-0.6, 0.6))), (0.5, -0.5)),
        Choice(1, (Choice(0, DEEPER, (0.1, -0.1)),), (-0.25, 0.25)),
    ),
)
PRIORS = {(): (0.7, 0.3), (0,): (0.6, 0.4), (1,): (1.0,)}


class GoldenEvaluator(EstimateEvaluator):
    """Estimates from the tree, priors from the table."""

    def prior(self, states: Sequence[miai.State]) -> list[NDArray[np.float64]]:
        return [np.array(PRIORS.get(tuple(state.history()), (0.5, 0.5))) for state in states]


def test_four_simulations_of_puct() -> None:
    found, root = searched(
        TreeGame(GOLDEN),
        GoldenEvaluator(),
        simulations=4,
        selection="puct",
        exploration=1.0,
        solver=False,
    )
    # 1: the greater prior: 0, value 0.5.
    # 2: 0: 0.5 + 0.7/2 = 0.85; 1: mean 0.5 + 0.3 = 0.8. Below 0 the greater prior: 0, 0.2.
    # 3: 0: 0.35 + sqrt(2) 0.7/3 = 0.68; 1: mean 0.35 + sqrt(2) 0.3 = 0.774: value -0.25.
    # 4: 0: 0.35 + sqrt(3) 0.7/3 = 0.754; 1: -0.25 + sqrt(3) 0.3/2 = 0.01. Below 0, for player 1:
    #    0: -0.2 + sqrt(2) 0.6/2 = 0.224; 1: mean -0.2 + sqrt(2) 0.4 = 0.366: value -0.6.
    assert (root.actions, root.visits, root.edge_visits) == ([0, 1], 4, [3, 1])
    assert root.edge_totals == pytest.approx([0.5 + 0.2 - 0.6, -0.25])
    below = root.children[0]
    assert below is not None
    assert (below.player, below.visits, below.edge_visits) == (1, 3, [1, 1])
    assert below.edge_totals == pytest.approx([-0.2, 0.6])  # for player 1, who moves there
    assert found.visits == {0: 3, 1: 1}
    assert found.values == pytest.approx({0: 0.1 / 3, 1: -0.25})
    assert (found.action, found.pv) == (0, (0, 1))
    assert found.value == pytest.approx(0.1 / 3)


def node(visits: list[int], means: list[float], *, player: int = 0, untried: int = 0) -> Node:
    """Return an expanded node with the statistics given."""
    made = Node(player)
    made.actions = list(range(len(visits) + untried))
    made.visits = sum(visits) + 1
    made.children = [Node(1 - player) for _ in visits]
    made.edge_visits = visits
    made.edge_totals = [n * mean for n, mean in zip(visits, means, strict=True)]
    return made


def test_uct_by_hand() -> None:
    # N = 10, ln 10 = 2.3026: bonus c sqrt(2.3026/6) = 0.6195 c and c sqrt(2.3026/3) = 0.8761 c
    assert uct(exploration=1.0)(node([6, 3], [0.30, 0.05])) == 1  # 0.9195 < 0.9261
    assert uct(exploration=0.9)(node([6, 3], [0.30, 0.05])) == 0  # 0.8575 > 0.8385
    assert uct(exploration=0.0)(node([6, 3], [0.30, 0.05])) == 0
    assert uct(exploration=1.0)(node([6, 3], [0.30, 0.05], untried=1)) == 2
    assert uct(exploration=1.0, fpu=0.92)(node([6, 3], [0.30, 0.05], untried=1)) == 1
    assert uct(exploration=1.0, fpu=0.93)(node([6, 3], [0.30, 0.05], untried=1)) == 2


def test_puct_by_hand() -> None:
    # N = 10: 0.30 + 0.4 sqrt(10)/7 c and 0.05 + 0.6 sqrt(10)/4 c, that is 0.181 c and 0.474 c.
    current = node([6, 3], [0.30, 0.05])
    current.priors = [0.4, 0.6]
    assert puct(exploration=1.0)(current) == 1  # 0.481 < 0.524
    assert puct(exploration=0.8)(current) == 0  # 0.445 > 0.429
    current = node([6, 3], [0.30, 0.05], untried=1)
    current.priors = [0.4, 0.5, 0.1]
    assert puct(exploration=1.0)(current) == 2  # the mean, 1.95/9, and 0.1 sqrt(10): 0.533
    assert puct(exploration=1.0, fpu=0.1)(current) == 0


def test_proven_actions_are_worth_their_utility_or_skipped() -> None:
    current = node([6, 3], [0.30, 0.05], player=1)
    current.proofs = {1: (-0.95, 0.95)}
    assert uct(exploration=1.0)(current) == 1
    assert uct(exploration=1.0, proven="skip")(current) == 0
    current.proofs = {1: (1.0, -1.0)}
    assert uct(exploration=1.0)(current) == 0
    current.priors = [0.5, 0.5]
    assert puct(exploration=1.0)(current) == 0
    assert puct(exploration=1.0, proven="skip")(current) == 0


def test_the_final_choice_by_hand() -> None:
    assert most_visits(node([5, 9, 2], [0.5, 0.1, 0.9])) == 1
    assert best_value(node([5, 9, 2], [0.5, 0.1, 0.9])) == 2
    assert most_visits(node([5, 5], [0.1, 0.2])) == 1
    draw_known = node([5, 9, 2], [0.5, -0.1, 0.9])
    draw_known.proofs = {0: (0.0, 0.0)}
    assert most_visits(draw_known) == 0  # certainly better than what looks like -0.1
    draw_known.edge_totals[1] = 0.9
    assert most_visits(draw_known) == 1
    lost = node([5, 9], [-1.0, -1.0])
    lost.proofs = {1: (-1.0, 1.0)}
    assert most_visits(lost) == 0  # the other may yet hold


def test_the_players_of_a_game_of_three_each_want_their_own_utility() -> None:
    def choice(player: int, *children: Tree) -> Choice:
        return Choice(player, children)

    tree = choice(
        0,
        choice(1, End((1.0, 0.0, 0.0)), choice(2, End((0.0, 0.5, 0.1)), End((1.0, 0.9, 0.0)))),
        choice(2, End((0.2, 0.3, 0.9)), End((0.9, 0.9, 0.8))),
    )
    # Player 2 gives player 1 0.5, which beats 0: player 0 gets 0.0 by the first action and, since
    # player 2 prefers 0.9 to 0.8, 0.2 by the second.
    game = TreeGame(tree, players=3, utility_sum=None, bounds=(0.0, 1.0))
    for solver in (True, False):
        found, _ = searched(game, RandomRollout(game), simulations=4000, solver=solver)
        assert found.action == 1
        assert found.statistics["proven"] == solver
        assert found.value == pytest.approx(0.2, abs=0 if solver else 0.1)


# -- proofs ---------------------------------------------------------------------------------------


@settings(max_examples=75, deadline=None)
@given(tree=zero_sum_trees(), seed=st.integers(0, 9), batch=st.sampled_from([1, 4]))
def test_a_proven_value_is_the_minimax_value(tree: Choice, seed: int, batch: int) -> None:
    game = TreeGame(tree, merge=False)
    search = Mcts(game, MctsParameters(simulations=400, batch=batch))
    search.new_game(seed)
    found = search.search(game.new_initial_state())
    value = minimax(tree) if tree.player == 0 else -minimax(tree)
    if found.statistics["proven"]:
        assert found.value == pytest.approx(value, abs=1e-9)
        after = minimax(tree.children[found.action])
        assert (after if tree.player == 0 else -after) == pytest.approx(value, abs=1e-9)
    assert -1 <= found.value <= 1


def test_small_games_are_always_proven() -> None:
    memory: dict[Hashable, float] = {}
    late = [s for s in states_of(TTT) if not s.is_terminal() and s.move_number() >= 5]
    search = Mcts(TTT, MctsParameters(simulations=20_000))
    for state in random.Random(4).sample(late, 80):
        found = search.search(state)
        value = expectiminimax(state, memory)
        assert found.statistics["proven"], str(state)
        assert found.value == (value if state.current_player() == 0 else -value)


@pytest.mark.parametrize("players", [2, 3])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_without_a_constant_sum_a_proof_is_what_every_rational_play_yields(
    players: int, data: st.DataObject
) -> None:
    tree = data.draw(general_trees(players=players))
    check_proof(TreeGame(tree, players=players, utility_sum=None, merge=False), tree)


@settings(max_examples=60, deadline=None)
@given(tree=winner_takes_all_trees(players=3))
def test_where_the_winner_takes_all_a_win_is_proof_enough(tree: Choice) -> None:
    game = TreeGame(tree, players=3, utility_sum=1.0, bounds=(0.0, 1.0), merge=False)
    check_proof(game, tree)


def check_proof(game: TreeGame, tree: Choice) -> None:
    found, root = searched(game, simulations=300)
    if root.proven is not None:
        (outcome,) = rational_outcomes(tree)
        assert list(root.proven) == pytest.approx(list(map(float, outcome)), abs=1e-9)
        assert found.value == pytest.approx(float(outcome[tree.player]), abs=1e-9)


def test_a_proven_root_is_answered_at_once() -> None:
    game = TreeGame(Choice(0, (LOSS, Choice(1, (WIN, WIN)), DRAW)))
    search = mcts(game, simulations=1_000_000)
    found = search.search(game.new_initial_state())
    assert (found.action, found.value, found.statistics["proven"]) == (1, 1.0, True)
    assert int(str(found.statistics["simulations"])) < 20
    again = search.search(game.new_initial_state())
    assert (again.action, again.statistics["simulations"]) == (1, 0)


def test_a_chain_is_proven_by_the_simulation_that_reaches_its_end() -> None:
    chain: Tree = WIN
    for _ in range(6):
        chain = Choice(1, (chain,), (0.0, 0.0))
    assert isinstance(chain, Choice)
    found, _ = searched(TreeGame(chain), EstimateEvaluator(), simulations=1000)
    assert found.statistics["simulations"] == 6
    assert (found.value, found.pv) == (-1.0, (0,) * 6)


def test_above_a_proven_node_its_proven_value_is_backed_up() -> None:
    class DrawFirst(EstimateEvaluator):
        def prior(self, states: Sequence[miai.State]) -> list[NDArray[np.float64]]:
            return [np.array([0.9, 0.1]) for _ in states]

    # For player 1 the draw is better than the loss that is tried after it.
    second = Choice(1, (DRAW, WIN), (0.25, -0.25))
    game = TreeGame(Choice(0, (second, Choice(1, (second, second), (-1.0, 1.0)))))
    search = Mcts(
        game,
        MctsParameters(simulations=3, selection="puct"),
        evaluator=DrawFirst(),
        select_root=lambda current: 0,
    )
    search.search(game.new_initial_state())
    assert root_of(search).edge_totals == [0.25 + 0.0 + 0.0]  # the last simulation saw the loss


# -- convergence and chance -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", [True, False])
def test_the_dice_race_is_played_as_expectiminimax_plays_it(solver: bool) -> None:
    game = DiceRace()
    memory: dict[Hashable, float] = {}
    search = Mcts(game, MctsParameters(simulations=3000, solver=solver))
    choices = [state for state in states_of(game) if state.current_player() >= 0]
    for number, state in enumerate(random.Random(8).sample(choices, 12)):
        search.new_game(number)
        found = search.search(state)
        sign = 1 if state.current_player() == 0 else -1
        assert found.value == pytest.approx(sign * expectiminimax(state, memory), abs=0.2)
        lost = expectiminimax(state, memory) - expectiminimax(state.child(found.action), memory)
        assert sign * lost < 0.1, f"seed {number}: {state}"


def test_chance_is_drawn_by_its_probabilities_and_proven_as_their_mean() -> None:
    deep = Choice(1, (Choice(0, (WIN, LOSS)), Choice(0, (WIN, LOSS))), (0.0, 0.0))
    dice = Chance((1.0, 2.0, 5.0), (deep, deep, deep))
    found, root = searched(
        TreeGame(Choice(0, (dice,)), merge=False),
        EstimateEvaluator(),
        simulations=8000,
        solver=False,
    )
    chance = root.children[0]
    assert chance is not None
    assert [n / 8000 for n in chance.edge_visits] == pytest.approx([0.125, 0.25, 0.625], abs=0.03)
    bet = Chance((1.0, 2.0, 5.0), (WIN, LOSS, Choice(1, (DRAW, DRAW))))
    found, _ = searched(TreeGame(Choice(0, (LOSS, bet))), simulations=1000)
    assert found.statistics["proven"]
    assert found.action == 1
    assert found.value == pytest.approx(0.125 - 0.25)


# -- batches --------------------------------------------------------------------------------------


def wide(children: int, depth: int, value: float = 0.25) -> Tree:
    if depth == 0:
        return WIN
    below = wide(children, depth - 1, value)
    return Choice(depth % 2, (below,) * children, (value, -value))


@pytest.mark.parametrize("batch", [1, 8, 64])
def test_the_evaluator_receives_batches_of_the_size_asked_for(batch: int) -> None:
    evaluator = EstimateEvaluator()
    game = TreeGame(wide(70, 3), merge=False)
    found, _ = searched(game, evaluator, simulations=256 + batch // 2, batch=batch)
    full, rest = divmod(256 + batch // 2, batch)
    assert evaluator.batches == [batch] * full + [rest] * (rest > 0)
    assert sum(found.visits.values()) == 256 + batch // 2


@pytest.mark.parametrize("selection", ["uct", "puct"])
def test_virtual_losses_leave_nothing_behind(selection: str) -> None:
    game = TreeGame(wide(4, 5), merge=False)
    _, root = searched(
        game, EstimateEvaluator(), simulations=500, batch=32, selection=selection, solver=False
    )
    assert backed_up(root, root=True) == sum(root.edge_visits) == 500


def backed_up(current: Node, *, root: bool = False) -> int:
    """Check the totals below a node of `wide` against each other; return the node's visits."""
    assert not current.pending
    sign = 1 if current.player == 0 else -1
    for child, visits, total in zip(
        current.children, current.edge_visits, current.edge_totals, strict=True
    ):
        assert child is not None
        assert backed_up(child) == visits
        if child.proven is not None:
            assert total == sign * visits
        else:  # its own evaluation, then all that went on below it
            below = sum(child.edge_totals) * (1 if child.player == 0 else -1)
            assert total == pytest.approx(sign * (0.25 + below))
    assert current.visits == sum(current.edge_visits) + (not root) or current.proven is not None
    return current.visits


def test_a_narrow_tree_gives_the_batch_it_can() -> None:
    chain: Tree = WIN
    for _ in range(30):
        chain = Choice(0, (chain,), (0.0, 0.0))
    assert isinstance(chain, Choice)
    evaluator = EstimateEvaluator()
    found, _ = searched(TreeGame(chain, merge=False), evaluator, simulations=20, batch=8)
    assert evaluator.batches == [1] * 20
    assert found.statistics["simulations"] == 20


# -- reuse ----------------------------------------------------------------------------------------


def test_the_tree_below_the_moves_played_is_kept_with_its_counts() -> None:
    state = TTT.new_initial_state()
    search = Mcts(state.game, MctsParameters(simulations=2000))
    first = search.search(state)
    root = root_of(search)
    reply_node = root.children[root.actions.index(first.action)]
    assert reply_node is not None
    reply = first.pv[1]
    index = reply_node.actions.index(reply)
    kept = reply_node.edge_visits[index]
    for action in (first.action, reply):
        state.apply_action(action)
        search.advance(action)
    second = search.search(state)
    assert second.statistics["reused"] == kept > 20
    assert search.root is reply_node.children[index]
    new = int(str(second.statistics["simulations"]))
    assert sum(second.visits.values()) == kept - 1 + new  # the node's own evaluation has no edge
    assert second.statistics["nodes"] == root_of(search).size()


def test_a_tree_for_another_position_is_dropped() -> None:
    state = TTT.new_initial_state()
    search = Mcts(state.game, MctsParameters(simulations=50))
    search.search(state)
    assert search.search(state_after(TTT, 4)).statistics["reused"] == 0
    search.search(state)
    search.advance(99)  # no action of this tree: whatever was meant, nothing is kept
    assert search.root is None


def test_reuse_goes_through_chance() -> None:
    game = DiceRace()
    search = Mcts(game, MctsParameters(simulations=400))
    state = game.new_initial_state()
    search.search(state)
    for action in (1, 0):  # leap, and fall short
        state.apply_action(action)
        search.advance(action)
    assert int(str(search.search(state).statistics["reused"])) > 10


# -- budgets --------------------------------------------------------------------------------------


def test_the_budget_of_simulations_is_exact() -> None:
    for simulations in (1, 7, 250):
        found, _ = searched(Endless(), simulations=simulations)
        assert found.statistics["simulations"] == simulations
        assert sum(found.visits.values()) == simulations


def test_the_deadline_is_kept() -> None:
    game = Endless()
    for search, seconds in (
        (Mcts(game, MctsParameters(simulations=10**9)), 0.1),
        (Mcts(game, MctsParameters(simulations=0, seconds=0.1)), None),
    ):
        began = time.monotonic()
        found = search.search(game.new_initial_state(), seconds=seconds)
        assert 0.1 <= time.monotonic() - began < 10.0
        assert int(str(found.statistics["simulations"])) > 1
    assert search.search(game.new_initial_state(), seconds=0.0).statistics["simulations"] == 1


@pytest.mark.parametrize("selection", ["uct", "puct"])
def test_the_tree_never_outgrows_its_limit(selection: str) -> None:
    game = TreeGame(wide(5, 6), merge=False)
    found, root = searched(
        game, EstimateEvaluator(), simulations=800, max_nodes=50, selection=selection, batch=4
    )
    assert found.statistics["nodes"] == root.size() == 50
    assert sum(found.visits.values()) == 800


def test_ends_are_proven_in_a_full_tree_too() -> None:
    game = TreeGame(Choice(0, (LOSS, LOSS, Choice(1, (LOSS, DRAW)))))
    found, _ = searched(game, simulations=500, max_nodes=1)
    assert found.action == 2
    assert found.visits[0] == found.visits[1] == 1


# -- sameness -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        *(
            partial(mcts, simulations=120, **values)
            for values in (
                *({}, {"batch": 16}, {"selection": "puct"}),
                {"evaluator_parameters": {"rollouts": 3}},
            )
        ),
        lambda g: AlphaBeta(g, AlphaBetaParameters(nodes=500), evaluator=RandomRollout(g)),
    ],
)
def test_two_searches_of_one_seed_agree_in_everything(
    make: Callable[[miai.Game], Mcts | AlphaBeta],
) -> None:
    first, second = make(TTT), make(TTT)
    first.new_game(9)
    first.search(TTT.new_initial_state())  # what was before a new game leaves no trace
    results: list[SearchResult] = []
    for search in (first, second):
        search.new_game(4)
        state = TTT.new_initial_state()
        for _ in range(4):
            results.append(search.search(state))
            state.apply_action(results[-1].action)
            search.advance(results[-1].action)
    assert results[:4] == results[4:]
    second.new_game(5)
    assert second.search(TTT.new_initial_state()) != results[0]


both = pytest.mark.parametrize("make", [Mcts, AlphaBeta])


@both
def test_the_root_is_left_as_it_was(make: type[Mcts | AlphaBeta]) -> None:
    state = state_after(TTT, 4)
    make(state.game).search(state)
    assert (state.history(), str(state)) == ([4], "...\n.x.\n...")
    assert state.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]


# -- policies and parameters ----------------------------------------------------------------------


def test_policies_are_functions() -> None:
    game = Endless()

    def first_untried_or_last(current: Node) -> int:
        return min(len(current.children), len(current.actions) - 1)

    def fewest_visits(current: Node) -> int:
        return current.edge_visits.index(min(current.edge_visits))

    search = Mcts(
        game,
        MctsParameters(simulations=20),
        select_root=first_untried_or_last,
        choose=fewest_visits,
    )
    found = search.search(game.new_initial_state())
    assert sorted(found.visits.values()) == [1, 1, 1, 17]
    assert found.visits[found.action] == 1
    straight_on = Mcts(game, MctsParameters(simulations=20), select=lambda current: 0)
    found = straight_on.search(game.new_initial_state())
    assert (list(found.visits.values()), found.statistics["depth"]) == ([20], 20)


def test_it_resigns_below_its_threshold_only() -> None:
    game = TreeGame(Choice(0, (LOSS, End((-0.5, 0.5)))))
    assert searched(game, resign_below=-0.4)[0].resign
    assert not searched(game, resign_below=-0.6)[0].resign
    assert not searched(game)[0].resign


# -- what it refuses ------------------------------------------------------------------------------


@both
def test_hidden_information_is_refused(make: type[Mcts | AlphaBeta]) -> None:
    with pytest.raises(HiddenInformationError, match=r"kuhn_poker hides inf.*ismcts, pimc and"):
        make(miai.load_game("kuhn_poker"))


@both
def test_a_root_without_a_decision_is_refused(make: type[Mcts | AlphaBeta]) -> None:
    game = TreeGame(Choice(0, (WIN, Chance((1.0,), (WIN,)))))
    for action, message in ((0, "the game is over"), (1, "chance acts next")):
        with pytest.raises(GameError, match=message):
            make(game).search(game.new_initial_state().child(action))


class Broken(EstimateEvaluator):
    """Answers in the wrong shape, with no numbers, or with priors that fit nothing."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def evaluate(self, states: Sequence[miai.State]) -> NDArray[np.float64]:
        values = super().evaluate(states)
        if self.fault == "shape":
            return values[:, :1]
        return values * np.nan if self.fault == "nan" else values

    def prior(self, states: Sequence[miai.State]) -> list[NDArray[np.float64]]:
        if self.fault == "length":
            return [np.ones(17) for _ in states]
        return [-prior if self.fault == "negative" else prior for prior in super().prior(states)]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("shape", r"evaluate returned shape \(1, 1\)"),
        ("nan", "not finite"),
        ("length", "17"),
        ("negative", "invalid probability"),
    ],
)
def test_a_broken_evaluator_is_named_and_leaves_no_tree(fault: str, message: str) -> None:
    game = TreeGame(wide(3, 4), merge=False)
    search = Mcts(game, MctsParameters(selection="puct"), evaluator=Broken(fault))
    with pytest.raises(PluginError, match=message):
        search.search(game.new_initial_state())
    assert search.root is None
