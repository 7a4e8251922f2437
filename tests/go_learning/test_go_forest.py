"""Trees guided by priors and values: against a slow tree, and on positions made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.go.positions import go
from tests.go_learning.go_forest_slow import (
    ONE,
    Judge,
    Judged,
    Node,
    SlowTree,
    nodes_of,
    random_judge,
    random_state,
    root_of,
    same_nodes,
    slow_nodes,
)

from miai_go.kernels import trail
from miai_go.nets.encoder import Positions
from miai_go.rules.board import Board, BoardError
from miai_go.rules.game import GoState
from miai_go.search.forest import Forest, ForestRoot, TreeSettings

SIMPLE = {"ko": "simple", "suicide": False}


def empty_board(size: int = 5) -> GoState:
    return go(board_size=size, **SIMPLE, komi=0.5).new_initial_state()


def planted(state: GoState, settings: TreeSettings, **more: Any) -> Forest:
    forest = Forest(state.game.size, 1, max_budget=400, **{"max_nodes": 40_000, **more})
    forest.configure(0, settings)
    forest.set_root(0, root_of(state))
    return forest


def drawn(picture: str, *, to_move: int = 0, komi: float = 0.5, passes: int = 0) -> ForestRoot:
    """Return a root at a drawn board, highest row first: X Black, O White."""
    rows = [[".XO".index(mark) for mark in row] for row in reversed(picture.split())]
    board = Board.from_stones(rows)
    words = np.zeros(trail.trail_words(board.size), np.int16)
    half_komi = np.int64(round(2 * komi))
    trail.begin_trail(board.words.copy(), words, np.int64(to_move + 1), half_komi)
    return ForestRoot(board=board, trail=words, komi=komi, passes=passes)


def output(size: int, values: dict[tuple[int, ...], float], *, default: float = 0.0) -> Judge:
    """Return a judge of positions on an empty board: the value of each set of moves, by Black."""

    def judge(stones: bytes, color: int, last: int) -> tuple[NDArray[np.float32], float]:
        lying = np.frombuffer(stones, np.int8)
        value = values.get(tuple(np.flatnonzero(lying).tolist()), default)
        return np.zeros(size * size + 1, np.float32), value if color == 0 else -value

    return judge


# -- against the slow tree ------------------------------------------------------------------------

PUCT = TreeSettings(c_puct=1.3, c_base=50.0, fpu=0.3, root_fpu=0.1)
SEARCHES: dict[str, tuple[TreeSettings, int]] = {
    "puct": (PUCT, 1),
    "leaves": (PUCT, 5),
    "flat": (replace(PUCT, c_base=0.0, fpu=-0.4, root_fpu=0.0), 2),
    "greedy": (replace(PUCT, c_puct=0.05, c_base=0.0, fpu=0.0), 1),
    "shallow": (replace(PUCT, depth=3), 3),
    "forced": (replace(PUCT, forced=4.0), 2),
    "score": (replace(PUCT, score_weight=0.3), 2),
    "gumbel": (TreeSettings(gumbel=6, c_visit=20.0, c_scale=0.3), 1),
    "gumbel-leaves": (TreeSettings(gumbel=8, c_visit=50.0, c_scale=0.1), 4),
    "gumbel-shallow": (TreeSettings(gumbel=16, depth=2, c_visit=5.0), 3),
}
GAMES: list[dict[str, Any]] = [
    {"board_size": 2, "ko": "simple", "komi": 0.5},
    {"board_size": 3, "rules": "tromp-taylor", "komi": 0.0},  # draws, positional superko, suicide
    {"board_size": 3, "rules": "aga", "dead_stones": "none", "komi": 1.5},  # situational superko
    {"board_size": 4, "rules": "chinese", "komi": 0.5},
    {"board_size": 5, **SIMPLE, "komi": 3.5},
]


@pytest.mark.parametrize("name", SEARCHES)
def test_the_tree_is_that_of_the_definitions(name: str) -> None:
    settings, leaves = SEARCHES[name]
    statuses = set()
    deepest = 0
    for number, parameters in enumerate(GAMES):
        game = go(**parameters)
        for seed in range(2):
            rng = np.random.default_rng((seed, number))
            state = random_state(game, int(rng.integers(0, 2 * game.size**2)), rng)
            if state.is_terminal() or state.passes > 1:
                continue
            judge = random_judge(game.size, seed=seed)
            slow = SlowTree(state, settings, judge, leaves)
            forest = planted(state, settings, leaves=leaves)
            if settings.gumbel:
                noise = rng.gumbel(size=game.pass_action + 1)
                slow.noise = noise.tolist()
                forest.add_gumbel(0, noise)
            done = forest.search(ONE, 90, Judged(judge)).tolist()
            assert done == [slow.search(90)], (name, parameters, seed)
            found = nodes_of(forest)
            differences = same_nodes(found, slow_nodes(slow))
            assert not differences, (name, parameters, seed, differences)
            improved = forest.tree(0).improved_policy()
            assert improved == pytest.approx(slow.improved_policy(), abs=1e-6)
            statuses |= {seen.status for seen in found.values()}
            deepest = max(deepest, max(len(way) for way, seen in found.items() if seen.visits))
    proofs = set() if settings.score_weight else {"won", "lost"}
    assert statuses == {"open", "forbidden"} | proofs
    assert deepest <= settings.depth
    assert deepest == settings.depth if settings.depth < 5 else deepest > 5


def test_forced_visits_are_pruned_one_by_one_where_they_did_not_pay() -> None:
    pruned = 0
    for seed in range(8):
        state = go(board_size=3, ko="simple", komi=0.5).new_initial_state()
        settings = TreeSettings(c_puct=1.3, c_base=50.0, forced=6.0)
        slow = SlowTree(state, settings, random_judge(3, seed=seed), 1)
        forest = planted(state, settings)
        forest.search(ONE, 60, Judged(random_judge(3, seed=seed)))
        slow.search(60)
        root = slow.root
        favourite = max(root.children, key=lambda c: c.visits)
        rate = 1.3 + math.log((root.visits + 51) / 50)

        def worth(child: Node, visits: int) -> float:
            bonus = rate * child.prior * math.sqrt(root.visits) / (1 + visits)  # noqa: B023
            return child.q() + bonus

        expected = [0] * 10
        for child in root.children:
            left = child.visits
            if child is not favourite and left:
                for _ in range(int(math.sqrt(6 * child.prior * root.visits))):
                    if left and worth(child, left - 1) < worth(favourite, favourite.visits):
                        left -= 1
                pruned += child.visits - left
                left = 0 if left == 1 else left
            expected[child.action] = left
        assert forest.tree(0).pruned_visits().tolist() == expected, seed
    assert pruned > 20


# -- sequential halving ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "budget", "visits"),
    [
        (4, 16, [6, 6, 2, 2]),  # two rounds of 8: four moves twice, two moves four times
        (8, 24, [7, 7, 3, 3, 1, 1, 1, 1]),  # three rounds of 8
        (3, 12, [5, 5, 2]),
        (16, 16, [1] * 16),  # the budget is used up by the first round
        (16, 4, [1] * 4),
        (2, 10, [5, 5]),
        (1, 5, [5]),
        (4, 18, [7, 7, 2, 2]),  # what the rounds leave over is for the best two
    ],
)
def test_the_budget_is_halved_among_the_best(moves: int, budget: int, visits: list[int]) -> None:
    """With values that are all alike the order is that of logit and noise, from first to last."""
    state = empty_board()
    rng = np.random.default_rng(moves)
    logits = rng.normal(0, 1, 26).astype(np.float32)
    logits[25] = -60  # so that no game ends

    def judge(stones: bytes, color: int, last: int) -> tuple[NDArray[np.float32], float]:
        return logits, 0.0

    forest = planted(state, TreeSettings(gumbel=moves))
    noise = rng.gumbel(size=26)
    forest.add_gumbel(0, noise)
    forest.search(ONE, budget, Judged(judge))
    order = np.argsort(-(logits + noise), kind="stable")
    wanted = visits + [0] * (26 - len(visits))
    assert forest.tree(0).visits()[order].tolist() == wanted
    assert forest.tree(0).best() == order[0]


# -- values and signs, by hand --------------------------------------------------------------------


def test_finished_games_are_worth_their_result_and_settle_the_game() -> None:
    """White is about to pass and lose, or to win: by area every point is Black's."""
    board = ".X. XXX .X."
    nothing = Judged(output(3, {}))
    for to_move, komi, proven in ((1, 0.5, -1), (0, 0.5, 1), (1, 9.5, 1), (0, 9.5, -1)):
        forest = Forest(3, 1, max_nodes=5000)
        forest.set_root(0, drawn(board, to_move=to_move, komi=komi, passes=1))
        done = int(forest.search(ONE, 2000, nothing)[0])
        assert done < 2000, (to_move, komi)
        assert forest.tree(0).proven == proven, (to_move, komi)
        if proven == 1:
            assert forest.tree(0).best() == 9
            assert forest.tree(0).values()[9] == 1
        assert forest.search(ONE, 10, nothing).tolist() == [0]
    forest.set_root(0, drawn(board, to_move=0, komi=9.0, passes=1))
    forest.search(ONE, 50, nothing)
    assert forest.tree(0).proven == 0  # a draw proves nothing
    assert forest.tree(0).values()[9] == 0


# -- many games -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puct", "leaves", "gumbel-leaves", "rollouts"])
def test_many_games_at_once_are_the_same_games_one_by_one(name: str) -> None:
    settings, leaves = SEARCHES.get(name, (TreeSettings(rollouts=1), 2))
    rng = np.random.default_rng(11)
    game = go(board_size=4, rules="chinese", komi=0.5)
    states = [random_state(game, moves, rng) for moves in (0, 3, 7, 12, 20)]
    budgets = [50, 10, 80, 1, 33]
    noise = rng.gumbel(size=(5, 17))
    judge = random_judge(4, seed=5)

    def forest_of_all() -> Forest:
        forest = Forest(4, 5, max_nodes=5000, leaves=leaves, max_budget=100, seed=3)
        for number, state in enumerate(states):
            forest.configure(number, settings)
            forest.set_root(number, root_of(state))
            forest.add_gumbel(number, noise[number])
        return forest

    together, alone = forest_of_all(), forest_of_all()
    valuer = Judged(judge)
    done = together.search(np.arange(5, dtype=np.int32), budgets, valuer)
    assert max(valuer.batches) > leaves
    for number in (3, 0, 4, 1, 2):
        found = alone.search(np.array([number], np.int32), budgets[number], Judged(judge))
        assert found.tolist() == [done[number]]
    proven = [alone.tree(number).proven != 0 for number in range(5)]
    assert done.tolist() == np.where(proven, done, budgets).tolist()
    for number in range(5):
        assert nodes_of(together, number) == nodes_of(alone, number)
        assert together.tree(number).best() == alone.tree(number).best()


# -- the tree between moves -----------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese", "aga"])
def test_only_the_branch_is_retained(rules: str) -> None:
    game = go(board_size=4, rules=rules, komi=0.5)
    rng = np.random.default_rng(21)
    judge = random_judge(4, seed=8)
    state = game.new_initial_state()
    forest = planted(state, TreeSettings(c_puct=0.7), leaves=2)
    kept = moves = 0
    while moves < 25 and not state.passes:
        forest.search(ONE, 60, Judged(judge))
        before = nodes_of(forest)
        assert forest.tree(0).nodes == len(before)
        visits = forest.tree(0).visits()
        action = int(visits.argmax() if moves % 3 else rng.choice(np.flatnonzero(visits)))
        forest.play(0, action)
        state.apply_action(action)
        moves += 1
        branch = {way[1:]: s for way, s in before.items() if way[:1] == (action,)}
        if len(branch) > 1:
            kept += 1
            assert nodes_of(forest) == branch
            assert forest.tree(0).nodes == len(branch)
        else:
            assert forest.tree(0).simulations == 0
        assert forest.tree(0).to_move == state.to_move
        assert forest.tree(0).passes == state.passes
        assert (forest.tree(0).board.stones() == state.board.stones()).all()
        assert forest.tree(0).board.hash == state.board.hash
        root = root_of(state)
        assert (forest._roots.trails[0] == root.trail).all()
    assert kept > 5


@pytest.mark.parametrize("settings", [TreeSettings(), TreeSettings(rollouts=1, mix=0.5)])
def test_a_full_tree_ends_the_search_and_grows_on_after_a_move(settings: TreeSettings) -> None:
    """A leaf without room for children is valued once a move, and not counted again."""
    forest = planted(empty_board(), settings, max_nodes=120, leaves=2)
    valuer = Judged(random_judge(5, seed=3))
    for moves in range(8):
        done = int(forest.search(ONE, 400, valuer)[0])
        assert 1 <= done < 400
        assert forest.full(0)
        assert forest.tree(0).nodes <= 120
        nodes = nodes_of(forest)
        inner = {way[:-1] for way in nodes}
        finished = (25, 25)  # two passes end a game, which is counted each time
        leaves = [way for way in nodes if way not in inner and way[-2:] != finished]
        assert 1 <= max(nodes[way].visits for way in leaves) <= 1 + moves
        assert forest.search(ONE, 400, valuer)[0] < 40
        forest.play(0, forest.tree(0).best())


def test_dropping_the_tree_keeps_the_game() -> None:
    game = go(board_size=5, rules="tromp-taylor")
    state = game.new_initial_state()
    forest = planted(state, TreeSettings())
    forest.search(ONE, 30, Judged(random_judge(5, seed=1)))
    forest.play(0, 12, keep=False)
    state.apply_action(12)
    assert forest.tree(0).simulations == 0
    assert forest.tree(0).nodes == 1
    again = planted(state, TreeSettings())
    for tree in (forest, again):
        tree.search(ONE, 50, Judged(random_judge(5, seed=1)))
    assert nodes_of(forest) == nodes_of(again)


# -- masks and noise ------------------------------------------------------------------------------


def test_moves_outside_the_mask_are_not_searched() -> None:
    for settings in (TreeSettings(), TreeSettings(gumbel=8)):
        forest = planted(empty_board(), settings, leaves=4)
        valuer = Judged(random_judge(5, seed=1))
        forest.value_roots(ONE, valuer)
        mask = np.zeros(26, np.bool_)
        mask[[3, 7, 25]] = True
        forest.tree(0).restrict(mask)
        assert forest.search(ONE, 90, valuer).tolist() == [90]
        assert set(np.flatnonzero(forest.tree(0).visits())) == {3, 7, 25}
        assert (forest.tree(0).allowed() == mask).all()
        assert forest.tree(0).best() in (3, 7, 25)
        assert forest.tree(0).improved_policy()[~mask].max() == 0
        assert forest.tree(0).improved_policy().sum() == pytest.approx(1)
        with pytest.raises(BoardError, match="mask"):
            forest.tree(0).restrict(np.ones(25, np.bool_))
        forest.tree(0).restrict(mask & False)
        assert forest.search(ONE, 50, valuer).tolist() == [0], "a root without moves"


def test_noise_is_mixed_into_the_priors_of_the_moves_allowed() -> None:
    forest = planted(empty_board(3), TreeSettings())
    valuer = Judged(random_judge(3, seed=1))
    forest.value_roots(ONE, valuer)
    before = forest.tree(0).priors()
    noise = np.random.default_rng(1).dirichlet(np.full(10, 0.5))
    forest.blur(0, noise, share=0.25)
    assert forest.tree(0).priors() == pytest.approx(0.75 * before + 0.25 * noise)
    assert forest.tree(0).priors().sum() == pytest.approx(1)
    mask = np.ones(10, np.bool_)
    mask[[0, 4]] = False
    forest.tree(0).restrict(mask)
    before = forest.tree(0).priors()
    noise = np.random.default_rng(2).dirichlet(np.full(8, 0.5))
    forest.blur(0, noise, share=0.5)
    assert forest.tree(0).priors()[mask] == pytest.approx(0.5 * before[mask] + 0.5 * noise)
    forest.blur(0, np.eye(8)[3], share=1.0)
    assert forest.search(ONE, 5, valuer).tolist() == [5]
    assert forest.tree(0).visits()[np.flatnonzero(mask)[3]] >= 1


# -- budgets --------------------------------------------------------------------------------------


def test_budgets_are_kept_by_each_tree_and_stop_ends_all_of_them() -> None:
    forest = Forest(5, 3, max_nodes=20_000, leaves=4)
    for number in range(3):
        forest.set_root(number, root_of(empty_board()))
    games = np.array([2, 0], np.int32)
    valuer = Judged(random_judge(5, seed=1))
    assert forest.search(games, [7, 30], valuer).tolist() == [7, 30]
    assert [forest.tree(g).simulations for g in range(3)] == [31, 0, 8]
    assert forest.search(games, 5, valuer).tolist() == [5, 5]
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    done = forest.search(games, 1000, valuer, stop=stop)
    assert len(asked) == 3
    assert done.tolist() == [12, 12]
    assert [forest.tree(g).simulations for g in range(3)] == [48, 0, 25]


class Failing:
    """Values some batches, then fails."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("the server is gone")
        return Judged(random_judge(leaves.size, seed=1)).value_leaves(leaves)


@pytest.mark.parametrize("batches", [0, 3])
def test_a_valuer_that_fails_leaves_a_tree_that_can_be_searched(batches: int) -> None:
    forest = planted(go(board_size=5).new_initial_state(), TreeSettings(), leaves=4)
    with pytest.raises(ConnectionError):
        forest.search(ONE, 100, Failing(batches))
    assert forest.search(ONE, 40, Judged(random_judge(5, seed=1))).tolist() == [40]
    assert forest.tree(0).visits().sum() == 40


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="max_nodes must be at least 27"):
        Forest(5, 1, max_nodes=26)
    with pytest.raises(ValueError, match="must be at least 1"):
        Forest(5, 0, max_nodes=100)
    with pytest.raises(ValueError, match="must be at least 1"):
        Forest(5, 1, max_nodes=100, leaves=0)
    with pytest.raises(BoardError, match="size 5"):
        Forest(5, 1, max_nodes=100).set_root(0, drawn("... ... ..."))
    forest = Forest(3, 1, max_nodes=100, max_moves=2)
    forest.set_root(0, drawn("... ... ..."))
    forest.play(0, 0)
    with pytest.raises(ValueError, match="max_moves"):
        forest.play(0, 1)
