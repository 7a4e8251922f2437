"""Answers of networks that are remembered by position, whatever symmetry it is met under."""

from __future__ import annotations

import numpy as np
import pytest
from tests.go.positions import go
from tests.go_learning.go_forest_slow import ONE, Judged, random_judge, random_state, root_of

from miai_go.nets.encoder import Positions, positions_of
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.game import GoState, Start
from miai_go.rules.symmetry import point_tables
from miai_go.search.forest import Forest, RememberingValuer, TreeSettings

SIZE = 5
PASS = SIZE * SIZE


def played(moves: list[int], *, symmetry: int = 0) -> GoState:
    """Return the state after moves, each turned by a symmetry."""
    table = point_tables(SIZE)[symmetry]
    state = go(board_size=SIZE, suicide=False).new_initial_state()
    for move in moves:
        state.apply_action(int(table[move]))
    return state


def asked(judged: Judged) -> int:
    return sum(judged.batches)


def valuer(*, positions: int = 1024) -> tuple[RememberingValuer, Judged]:
    judged = Judged(random_judge(SIZE, seed=3))
    return RememberingValuer(judged, size=SIZE, positions=positions), judged


def at(*states: GoState) -> Positions:
    return positions_of(list(states))


@pytest.mark.parametrize("seed", range(3))
def test_symmetries_and_transpositions_get_the_first_answer_turned(seed: int) -> None:
    memory, judged = valuer()
    game = go(board_size=SIZE, suicide=False)
    moves = random_state(game, 9, np.random.default_rng(seed)).history()
    first_logits, first_values = (a.copy() for a in memory.value_leaves(at(played(moves))))
    turned = at(*(played(moves, symmetry=s) for s in range(SYMMETRIES)))
    logits, values = memory.value_leaves(turned)
    assert asked(judged) == 1
    assert (values == first_values[0]).all()
    for symmetry in range(SYMMETRIES):
        back = logits[symmetry][point_tables(SIZE)[symmetry]]
        assert (back == first_logits[0]).all(), symmetry


@pytest.mark.parametrize(
    ("moves", "other", "positions"),
    [
        ([2, 6, 13, 9], [13, 9, 2, 6], 1),  # another order
        ([2, 6, 13], [2, 6, 14], 2),  # another stone
        ([2, 6], [6, 2], 2),  # the colours exchanged
        ([2, 6, 13, 9], [2, 6, 13, 9, PASS], 2),  # White to move
        ([2, PASS, 13, 6], [2, 6, 13, PASS], 2),  # after a pass that may end the game
    ],
)
def test_what_a_network_sees_tells_positions_apart(
    moves: list[int], other: list[int], positions: int
) -> None:
    memory, judged = valuer()
    memory.value_leaves(at(played(moves)))
    memory.value_leaves(at(played(other)))
    assert asked(judged) == positions


def test_a_ko_tells_positions_apart() -> None:
    memory, judged = valuer()
    taken = played([1, 2, 5, 8, 11, 12, 22, 6, 7])
    assert taken.board.ko_point is not None
    stones = taken.board.stones().ravel()
    black, white = (tuple(np.flatnonzero(stones == color).tolist()) for color in (1, 2))
    later = go(board_size=SIZE).new_state(Start(black, white, 1))
    memory.value_leaves(at(taken))
    memory.value_leaves(at(later))
    assert asked(judged) == 2


def test_only_unknown_positions_of_a_batch_are_asked_about() -> None:
    memory, judged = valuer()
    states = [played([a]) for a in (0, 1, 2, 6, 7, 12)]  # no two are symmetric
    memory.value_leaves(at(states[1], states[4]))
    logits, values = memory.value_leaves(at(*states))
    assert judged.batches == [2, 4]
    fresh = Judged(random_judge(SIZE, seed=3))
    expected_logits, expected_values = fresh.value_leaves(at(*states))
    assert (logits == expected_logits).all()
    assert (values == expected_values).all()
    assert memory.statistics() == {"recalled": 2 / 8}


def test_forgotten_and_replaced_answers_are_asked_for_again() -> None:
    memory, judged = valuer()
    memory.value_leaves(at(played([0])))
    memory.forget()
    memory.value_leaves(at(played([0])))
    assert asked(judged) == 2
    small, judged = valuer(positions=1)
    for move in (0, 1, 0):
        logits, _ = small.value_leaves(at(played([move])))
        expected, _ = Judged(random_judge(SIZE, seed=3)).value_leaves(at(played([move])))
        assert (logits == expected).all()
    assert asked(judged) == 3


def test_a_search_asks_less_and_sees_the_same_where_positions_decide() -> None:
    """The judge looks at stones and player alone, and so does the memory without symmetries."""
    game = go(board_size=SIZE, suicide=False)
    state = random_state(game, 12, np.random.default_rng(8))
    plain = random_judge(SIZE, seed=5)
    visits = []
    counts = []
    for remembered in (False, True):
        judged = Judged(lambda stones, color, last: plain(stones, color, last // PASS * PASS))
        forest = Forest(SIZE, 1, max_nodes=100_000, leaves=4, seed=1)
        forest.configure(0, TreeSettings())
        forest.set_root(0, root_of(state))
        used = RememberingValuer(judged, size=SIZE, positions=1 << 16) if remembered else judged
        forest.search(ONE, 2000, used)
        visits.append(forest.tree(0).visits())
        counts.append(asked(judged))
    assert counts[1] < counts[0]
    assert (visits[0] == visits[1]).all()
