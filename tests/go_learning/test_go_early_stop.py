"""A budget in seconds is not spent on what could no longer change the move."""

import itertools
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from miai.clock import Clock, ClockReading, TimeControl
from miai_go.rules.game import GoGame
from miai_go.rules.game_parameters import GoParameters
from miai_go.search import tree_search
from miai_go.search.mcts import GoMcts
from miai_go.search.player_parameters import GoMctsParameters
from miai_go.search.tree_search import SearchClock


def test_a_lead_that_nothing_can_make_up_ends_the_search() -> None:
    visits = np.array([0, 0, 0], np.int32)
    clock = SearchClock(10.0, started=perf_counter() - 6, visits=lambda: visits)
    visits[:] = [300, 250, 50]  # 100 a second, so 400 more would come
    assert not clock()
    visits[:] = [550, 50, 0]
    assert clock()

    visits = np.array([1000, 500], np.int32)  # earlier ones do not count towards the rate
    clock = SearchClock(10.0, started=perf_counter() - 5, visits=lambda: visits)
    visits[0] += 100  # 20 a second, so 100 more
    assert clock()
    visits[1] += 450  # 110 a second, 550 more, and the second is 150 behind
    assert not clock()

    assert SearchClock(1.0, started=perf_counter() - 2)()  # without visits
    assert not SearchClock(100.0, started=perf_counter())()


def test_an_obvious_move_takes_less_than_its_time() -> None:
    game = GoGame(GoParameters(board_size=5, komi=0.5))  # nothing compares with the centre
    search = GoMcts(game, GoMctsParameters(simulations=0, seconds=0.75))
    search.new_game(1)
    started = process_time()
    result = search.search(game.new_initial_state())
    assert result.action == 12
    assert process_time() - started < 0.7


@pytest.mark.parametrize(
    ("changed", "passed", "stops"),
    [
        (2.0, 10.0, True),  # the move has been the same for long
        (8.0, 10.0, False),
        (8.0, 11.3, False),
        (8.0, 11.5, True),  # now for three tenths of the time
    ],
)
def test_a_search_goes_on_while_a_move_changes(changed: float, passed: float, stops: bool) -> None:
    """Two moves get 50 visits a second each; the second takes the lead after `changed` seconds."""
    now = 0.0

    def visits() -> NDArray[np.int32]:
        lead = -1 if now < changed else 1
        return np.array([50 * now - lead, 50 * now + lead], np.int32)

    clock = SearchClock(10.0, started=0.0, visits=visits, longest=25.0)
    looks = [now / 10 for now in range(10, round(10 * passed) + 1)]
    for now in looks:
        clock._started = perf_counter() - now
        stopped = clock()
        if stopped:
            break
    assert (now == passed and stopped) == stops


def clock_of(kind: str, seconds: float, **more: Any) -> ClockReading:
    return Clock(TimeControl(kind=kind, seconds=seconds, **more)).reading()  # type: ignore[arg-type]


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[SearchClock]:
    """The clocks of searches that end at once."""
    made: list[SearchClock] = []

    class Noted(SearchClock):
        def __init__(self, *words: Any, **values: Any) -> None:
            super().__init__(*words, **values)
            made.append(self)

        def __call__(self) -> bool:
            return True

    monkeypatch.setattr(tree_search, "SearchClock", Noted)
    monkeypatch.setattr(GoMcts, "_only_time_limits", lambda _search: True)
    return made


@pytest.mark.parametrize(
    ("size", "plies", "reading", "times"),
    [
        (9, 0, clock_of("per-move", 0.4), (0.36, 0.36)),
        (9, 0, clock_of("absolute", 81.0), (4.0, 10.0)),  # 81 / 4 moves if a third is saved
        (9, 10, clock_of("absolute", 61.0), (4.0, 10.0)),  # (81 / 4 - plies / 2) moves
        (9, 40, clock_of("absolute", 81.0), (8.0, 20.0)),  # 81 / 8 at least
        (9, 40, clock_of("fischer", 81.0, increment=1.0), (8.9, 20.9)),
        (5, 0, clock_of("absolute", 32.0), (4.0, 10.0)),  # on small boards at least 8
        (13, 0, clock_of("absolute", 169.0), (4.0, 10.0)),
    ],
)
def test_main_time_is_spread_over_the_moves_that_are_left(
    size: int, plies: int, reading: ClockReading, times: Any, clocks: list[SearchClock]
) -> None:
    game = GoGame(GoParameters(board_size=size, komi=7.5))
    state = game.new_initial_state()
    for action in range(plies):
        state.apply_action(action)
    search = GoMcts(game, GoMctsParameters(simulations=0, seconds=100.0))
    search.search_on_clock(state, reading)
    assert (clocks[0]._seconds, clocks[0]._longest) == pytest.approx(times)


@pytest.mark.parametrize("own", [None, 0.3, 60.0])
def test_seconds_that_are_given_are_the_most(own: float | None, clocks: list[SearchClock]) -> None:
    """Without a clock no move is lengthened, and on one none beyond the search's own limit."""
    game = GoGame(GoParameters(board_size=5))
    search = GoMcts(game, GoMctsParameters(simulations=0 if own else 100, seconds=own))
    search.search(game.new_initial_state(), seconds=15)
    search.search_on_clock(game.new_initial_state(), clock_of("absolute", 30.0))
    assert clocks[0]._longest == pytest.approx(min(15, own or 15))
    assert clocks[1]._longest == pytest.approx(min(9.375, own or 9.375))


def test_no_move_takes_longer_than_the_longest() -> None:
    """The lead changes at every look."""
    looks = itertools.count(1)

    def visits() -> NDArray[np.int32]:
        look = next(looks)
        lead = 1 if look % 2 else -1
        return np.array([500 * look + lead, 500 * look - lead], np.int32)

    clock = SearchClock(10.0, started=0.0, visits=visits, longest=25.0)
    for now in range(1, 25):
        clock._started = perf_counter() - now
        assert not clock(), now
    clock._started = perf_counter() - 25
    assert clock()
