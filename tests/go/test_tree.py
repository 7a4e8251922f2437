"""The compiled tree search: what it plays, what it proves, and that its seed decides."""

import math
import random
from time import perf_counter, process_time
from typing import Any, cast

import numpy as np
import pytest

from miai_go.kernels import uct as fields
from miai_go.rules.board import (
    BLACK,
    WHITE,
    Board,
    BoardError,
    IllegalPointError,
    KoRule,
    history_key,
)
from miai_go.search.mcts import UctTree


def parse(diagram: str) -> Board:
    """Read a board drawn like `Board.__str__`, without the coordinates."""
    rows = [row.split() for row in diagram.strip().splitlines()]
    return Board.from_stones([[".XO".index(mark) for mark in row] for row in reversed(rows)])


@pytest.mark.parametrize("rave", [0.0, 300.0])
@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_it_takes_the_stones_that_decide_the_game(color: int, rave: float) -> None:
    """Both sides have a chain in atari at the same point."""
    board = parse("""
        . X . O .
        X X . O O
        X X . O O
        X X X O O
        O O . X X
    """)
    if color == WHITE:
        board = Board.from_stones((3 - board.stones()) % 3)
    point = 2
    assert board.liberties(0).tolist() == board.liberties(4).tolist() == [point]
    tree = UctTree(5, seed=1, rave=rave)
    tree.set_root(board, color, komi=0.5 if color == BLACK else -0.5)
    tree.run(1000)
    assert tree.best() == point
    assert tree.value > 0.3


@pytest.mark.parametrize("rave", [0.0, 300.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_opens_at_the_centre_of_the_smallest_boards(seed: int, rave: float) -> None:
    tree = UctTree(3, seed=seed, rave=rave)
    tree.set_root(Board(3), BLACK, komi=4.5)
    tree.run(5000)
    assert tree.best() == 4
    assert tree.value > 0.5
    tree = UctTree(5, seed=seed, rave=rave)
    tree.set_root(Board(5), BLACK, komi=4.5)
    tree.run(10_000)
    assert tree.best() == 12
    assert tree.principal_variation()[0] == 12


def test_a_pass_that_wins_is_proven() -> None:
    board = parse("""
        . X . O .
        X X . O O
        . X . O .
        X X . O O
        . X . O .
    """)
    for komi, color in ((0.5, WHITE), (-0.5, BLACK)):
        tree = UctTree(5, seed=1)
        tree.set_root(board, color, komi=komi, passes=1)
        done = tree.run(5000)
        assert done < 5000
        assert tree.proven == 1
        assert tree.best() == 25
        assert tree.run(100) == 0


@pytest.mark.parametrize(("komi", "value"), [(0.0, 0), (-0.5, 1), (0.5, -1)])
def test_a_score_equal_to_komi_is_a_draw(komi: float, value: int) -> None:
    """Both players have two eyes and eight points, and nothing but passes to play."""
    board = parse("""
        X X O O
        . X O .
        X X O O
        . X O .
    """)
    for color, sign in ((BLACK, 1), (WHITE, -1)):
        tree = UctTree(4, seed=1)
        tree.set_root(board, color, komi=komi)
        tree.run(50)
        assert tree.best() == 16
        assert tree.value == value * sign
        assert tree.proven == value * sign


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_a_move_that_is_known_to_lose_keeps_its_value_where_no_other_is_allowed(color: int) -> None:
    tree = UctTree(3, seed=1)
    tree.set_root(Board(3), color, komi=0.5 if color == BLACK else -0.5, passes=1)
    tree.run(200)
    assert tree.values()[9] == -1
    assert tree.proven == 0
    only_a_pass = np.zeros(10, bool)
    only_a_pass[9] = True
    before = tree.visits()[9]
    tree.restrict(only_a_pass)
    tree.run(300)
    assert tree.visits()[9] == before + 300
    assert tree.values()[9] == -1


def searched(chunks: list[int], seed: int = 5, rave: float = 0.0) -> UctTree:
    tree = UctTree(7, seed=seed, rave=rave, exploration=0.7)
    tree.set_root(Board(7), BLACK, komi=9.0, ko_rule=KoRule.POSITIONAL)
    for chunk in chunks:
        assert tree.run(chunk) == chunk
    return tree


@pytest.mark.parametrize("rave", [0.0, 500.0])
def test_the_seed_alone_decides_not_the_chunks(rave: float) -> None:
    whole = searched([3000], rave=rave)
    parts = searched([1, 7, 992, 1500, 500], rave=rave)
    assert whole.nodes == parts.nodes
    used = whole.nodes
    assert (whole._nodes[:, :used] == parts._nodes[:, :used]).all()
    other = searched([3000], seed=6, rave=rave)
    assert (other.visits() != whole.visits()).any()


def test_visits_add_up_and_survive_moves() -> None:
    tree = searched([4000])
    assert tree.simulations == 4000
    assert tree.visits().sum() == 4000
    for _ in range(6):
        action = tree.best()
        expected = tree.visits()[action]
        value = tree.values()[action]
        replies = tree.principal_variation()[1:]
        assert tree.advance(action)
        assert tree.simulations == expected
        assert tree.value == pytest.approx(-value)
        assert tree.principal_variation() == replies
        assert tree.visits().sum() == expected - 1
        before = tree.simulations
        tree.run(1000)
        assert tree.simulations == before + 1000
        assert tree.visits().sum() == before + 999


def test_an_unknown_move_starts_a_new_tree() -> None:
    tree = searched([10])
    untried = int(np.flatnonzero(tree.visits() == 0)[0])
    assert not tree.advance(untried)
    assert tree.simulations == 0
    assert tree.to_move == WHITE
    assert tree.run(50) == 50
    with pytest.raises(IllegalPointError):
        tree.advance(untried)


def test_a_reused_tree_knows_the_game_it_is_in() -> None:
    """Ko, passes and colours of the kept tree are those of a tree made afresh."""
    rng = random.Random(3)
    tree = UctTree(4, seed=1)
    board, color, passes = Board(4), BLACK, 0
    tree.set_root(board, color, komi=0.5)
    for _ in range(60):
        tree.run(60)
        action = int(rng.choice(np.flatnonzero(tree.allowed())))
        tree.advance(action)
        board.play(color, action)
        color, passes = 1 - color, passes + 1 if action == 16 else 0
        if passes == 2:
            break
        assert tree.to_move == color
        assert (tree.board.stones() == board.stones()).all()
        assert tree.board.ko_point == board.ko_point
        fresh = UctTree(4, seed=1)
        fresh.set_root(board, color, komi=0.5, passes=passes)
        assert (fresh.allowed() == tree.allowed()).all()


def test_moves_outside_the_mask_are_not_searched() -> None:
    mask = np.zeros(26, bool)
    mask[[3, 7, 25]] = True
    tree = UctTree(5, seed=1)
    tree.set_root(Board(5), BLACK, komi=0.5)
    tree.restrict(mask)
    tree.run(500)
    assert set(np.flatnonzero(tree.visits())) <= {3, 7, 25}
    assert tree.visits().sum() == 500
    assert (tree.allowed() == mask).all()
    tree.advance(3)
    mask[3] = False
    tree.restrict(mask)
    before = tree.visits()[[7, 25]].sum()
    tree.run(300)
    assert tree.visits()[[7, 25]].sum() == before + 300
    tree.restrict(np.zeros(26, bool))
    assert not tree.allowed().any()
    assert tree.run(10) == 10
    with pytest.raises(BoardError, match="mask"):
        tree.restrict(np.ones(25, bool))


@pytest.mark.parametrize("to_move", [BLACK, WHITE])
def test_situational_superko_asks_who_was_to_move(to_move: int) -> None:
    """Black's move at 1 gives a position of the game, with White to move."""
    board = parse("""
        . . . . .
        . . . . .
        O O O X .
        O O X X .
        . X . X .
    """)
    rule = KoRule.SITUATIONAL
    history = [history_key(board.hash, to_move, rule)]
    for color, point in ((BLACK, 0), (WHITE, 2)):
        board.play(color, point)
        history.append(history_key(board.hash, 1 - color, rule))
    tree = UctTree(5, seed=1)
    tree.set_root(board, BLACK, komi=0.5, history=history[:-1], ko_rule=rule)
    tree.run(400)
    assert tree.allowed()[1] == (to_move == BLACK)
    assert (tree.visits()[1] > 0) == (to_move == BLACK)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [KoRule.POSITIONAL, KoRule.SITUATIONAL])
def test_the_tree_forbids_what_repeats_the_game_and_nothing_else(rule: KoRule) -> None:
    """In random games on tiny boards, each with a tree below its last position."""
    rng, forbidden, allowed = random.Random(11), 0, 0
    for _ in range(150):
        size = rng.choice((2, 2, 3))
        board, mover, seen = Board(size), BLACK, list[int]()
        for _ in range(rng.randrange(4, 14)):
            seen.append(history_key(board.hash, mover, rule))
            legal = [p for p in range(size * size + 1) if board.is_legal(mover, p)]
            board.play(mover, rng.choice(legal))
            mover = 1 - mover
        tree = UctTree(size, seed=1, exploration=3.0, expand_after=0)
        tree.set_root(board, mover, komi=0.0, history=seen, ko_rule=rule)
        tree.run(200)
        seen.append(history_key(board.hash, mover, rule))
        stack = [(0, board, mover, seen)]
        while stack:
            node, here, color, before = stack.pop()
            block, actions = tree.children(node), tree.actions(node)
            for child, action in zip(range(block.start, block.stop), actions, strict=True):
                after = here.copy()
                after.play(color, int(action))
                key = history_key(after.hash, 1 - color, rule)
                repeated = action != size * size and key in before
                if tree._nodes[fields.STATUS, child] == fields.FORBIDDEN:
                    assert repeated
                    forbidden += 1
                elif tree._nodes[fields.VISITS, child]:
                    assert not repeated
                    allowed += 1
                    stack.append((child, after, 1 - color, [*before, key]))
    assert forbidden > 300
    assert allowed > 3000


def upper_bound(
    own: tuple[float, float], amaf: tuple[float, float], parent: float, weights: dict[str, float]
) -> float:
    """UCT (Kocsis and Szepesvari 2006) with RAVE's schedule (Gelly and Silver 2007).

    `own` and `amaf` are visits and summed rewards; `parent` counts the parent's visits.
    """
    (visits, reward), (played, later) = own, amaf
    beta = 0.0
    if played and weights["rave"]:
        beta = math.sqrt(weights["rave"] / (3 * visits + weights["rave"]))
    if not visits and not beta:
        return weights["fpu"]
    bound = beta * later / max(played, 1) + (1 - beta) * reward / max(visits, 1)
    if visits:
        bound += weights["exploration"] * math.sqrt(math.log(parent + 1) / visits)
    return bound


def test_a_child_is_chosen_by_its_upper_bound() -> None:
    rng, decided_by_rave = np.random.default_rng(3), 0
    for _ in range(400):
        count, rave = int(rng.integers(2, 9)), float(rng.choice([0.0, 10.0, 300.0, 3000.0]))
        settings = {"exploration": rng.uniform(0, 2), "fpu": rng.uniform(-1, 2), "rave": rave}
        visits = rng.integers(0, 10 ** rng.integers(1, 5), count)
        played = visits + rng.integers(0, 2000, count) * (rng.random(count) < 0.8)
        played *= rave > 0
        own = np.array([visits, np.round(visits * rng.uniform(-1, 1, count))], np.int32)
        amaf = np.array([played, np.round(played * rng.uniform(-1, 1, count))], np.int32)
        parent = 1 + int(visits.sum())
        nodes = np.zeros((fields.FIELDS, 1 + count), np.int32)
        nodes[[fields.FIRST, fields.COUNT, fields.VISITS], 0] = 1, count, parent
        nodes[[fields.VISITS, fields.REWARD], 1:] = own
        nodes[[fields.AMAF_VISITS, fields.AMAF_REWARD], 1:] = amaf

        best = []
        for schedule in (rave, rave / 100):
            weights = {**settings, "rave": schedule}
            bounds = [
                upper_bound((own[0, n], own[1, n]), (amaf[0, n], amaf[1, n]), parent, weights)
                for n in range(count)
            ]
            best.append(int(np.argmax(bounds)))
            if schedule == rave and np.diff(sorted(bounds))[-1] < 1e-3:
                break  # float32 may decide otherwise
        else:
            kernel_weights = np.array([settings["exploration"], settings["fpu"], rave, 0.0])
            select, room = cast(Any, fields.select).py_func, np.zeros(count, np.float32)
            chosen = select(nodes, 0, kernel_weights, room)
            assert chosen - 1 == best[0]
            decided_by_rave += best[0] != best[1]
    assert decided_by_rave > 20


def test_a_full_tree_goes_on_without_growing() -> None:
    tree = UctTree(5, seed=1, max_nodes=100)
    tree.set_root(Board(5), BLACK, komi=0.5)
    assert tree.run(2000) == 2000
    assert tree.nodes <= 100
    assert tree.simulations == 2000


def test_nodes_get_children_after_the_visits_asked_for() -> None:
    sizes = []
    for expand_after in (0, 1, 5, 50):
        tree = UctTree(5, seed=1, expand_after=expand_after)
        tree.set_root(Board(5), BLACK, komi=0.5)
        tree.run(1000)
        visits, count = tree._nodes[[fields.VISITS, fields.COUNT], : tree.nodes]
        assert (visits[count > 0][1:] >= expand_after).all()
        sizes.append(tree.nodes)
    assert sizes == sorted(sizes, reverse=True)


def test_seconds_and_stop_end_a_search() -> None:
    tree = UctTree(9, seed=1)
    tree.set_root(Board(9), BLACK, komi=7.5)
    tree.run(100)
    started, spent = perf_counter(), process_time()
    assert tree.run(seconds=0.2) > 100
    assert perf_counter() - started > 0.15
    assert process_time() - spent < 0.6  # of this process, however busy the machine is
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    tree.run(stop=stop)
    assert len(asked) == 3
    with pytest.raises(ValueError, match="budget"):
        tree.run()


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="max_nodes must be at least 27"):
        UctTree(5, seed=1, max_nodes=26)
    with pytest.raises(ValueError, match="negative"):
        UctTree(5, seed=1, exploration=-1)
    with pytest.raises(BoardError, match="size 5, not 6"):
        UctTree(5, seed=1).set_root(Board(6), BLACK, komi=0.5)
