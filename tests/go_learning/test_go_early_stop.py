"""A budget in seconds is not spent on what could no longer change the move."""

from time import perf_counter

import numpy as np
import pytest

from miai_go.rules.game import GoGame
from miai_go.rules.parameters import GoParameters
from miai_go.search.mcts import GoMcts
from miai_go.search.parameters import GoMctsParameters
from miai_go.search.tree_search import SearchClock


def test_a_lead_that_nothing_can_make_up_ends_the_search() -> None:
    visits = np.array([0, 0, 0], np.int32)
    clock = SearchClock(10.0, started=perf_counter() - 6, visits=lambda: visits)
    visits[:] = [300, 250, 50]  # 100 a second, so 400 more would come
    assert not clock()
    visits[:] = [550, 50, 0]
    assert clock()


def test_earlier_visits_do_not_count_towards_the_rate() -> None:
    visits = np.array([1000, 500], np.int32)
    clock = SearchClock(10.0, started=perf_counter() - 5, visits=lambda: visits)
    visits[0] += 100  # 20 a second, so 100 more
    assert clock()
    visits[1] += 450  # 110 a second, 550 more, and the second is 150 behind
    assert not clock()


def test_time_alone_counts_without_visits() -> None:
    assert SearchClock(1.0, started=perf_counter() - 2)()
    assert not SearchClock(100.0, started=perf_counter())()


@pytest.mark.parametrize("early", [True, False])
def test_an_obvious_move_takes_less_than_its_time(early: bool) -> None:
    game = GoGame(GoParameters(board_size=5, komi=0.5))  # nothing compares with the centre
    search = GoMcts(game, GoMctsParameters(simulations=0, seconds=1.5, stop_early=early))
    search.new_game(1)
    started = perf_counter()
    result = search.search(game.new_initial_state())
    assert result.action == 12
    assert (perf_counter() - started < 1.4) == early
