"""Searches that ask about enclosed groups: what they play, and what it costs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, cast

import numpy as np
import pytest
import torch
from tests import size
from tests.tsumego.drawn import empty_corner

import miai
from miai import Parameters
from miai.errors import PluginError
from miai.plugins.loader import registry
from miai_go.rules.board import Board
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, GoState, Start
from miai_go.rules.game_parameters import GoParameters
from miai_go.search.advice import Advice
from miai_go.search.mcts import GoMcts, UctTree
from miai_go.search.player_parameters import GoMctsParameters
from miai_go.tsumego.adviser import (
    TIME_SHARE,
    GroupAdviser,
    SolverQuestion,
    enclosed,
    network_adviser,
)
from miai_go.tsumego.problem_sgf import Problem, shipped_problems
from miai_go.tsumego.zones import find_zone

FIVE_ON_THE_SECOND_LINE = """
    . . . . . . . . .
    . . O . . . O . .
    . . . . . . . . .
    O O O O O O O O O
    X X X X X X X X X
    . . . . . . . . .
    X X X X X X . . .
    O O O O O X . X .
    . . . . . X . . .
"""
"""Whoever moves first at B1 or E1 has its way, and the game: White 46 to 35, or Black 45 to 36."""
VITAL = ("B1", "E1")

STRAIGHT_THREE = """
    . . . . . . . . .
    . . O . . . O . .
    . . . . . . . . .
    O O O O O O O O O
    X X X X X X X X X
    . . . . . . . . .
    X X X X X . X . .
    O O O O X . . X .
    . . . O X . . . .
"""
"""B1 settles it."""

SQUARE_FOUR = """
    . . . . . . . . .
    . . O . . . O . .
    . . . . . . . . .
    O O O O O O O O O
    X X X X X X X X X
    X X X X . X . . .
    O O O X . X . X .
    . . O X . . . . .
    . . O X . . . . .
"""
"""White is dead, whoever moves first."""

JUST_TAKEN = """
    . . . . . . .
    . . . . . . .
    X X X X X X X
    X . . . . . .
    X X X X . . .
    O O O O X X X
    . X X O O . X
"""


def board_of(picture: str) -> Board:
    marks = {".": 0, "X": 1, "O": 2}
    rows = [[marks[mark] for mark in line.split()] for line in picture.strip().splitlines()]
    return Board.from_stones(rows[::-1])


def state_of(stones: Any, *, first: int, komi: float = 0.5) -> GoState:
    """Return a game that begins at a board, a colour to move, 1 black, 2 white."""
    board = np.asarray(stones).reshape(-1)
    size = round(len(board) ** 0.5)
    points = [tuple(np.flatnonzero(board == color).tolist()) for color in (1, 2)]
    game = GoGame(GoParameters(board_size=size, komi=komi))
    return game.new_state(Start(points[0], points[1], first - 1))


def mcts(state: GoState, *, seed: int = 1, **values: Any) -> GoMcts:
    search = GoMcts(state.game, GoMctsParameters(**values))
    search.new_game(seed)
    return search


def solver(nodes: int = 50_000) -> GroupAdviser:
    return GroupAdviser(SolverQuestion, nodes=nodes)


# -- what is played -------------------------------------------------------------------------------


@pytest.mark.slow
def test_shipped_problems_are_solved_more_often() -> None:
    problems = [p for p in shipped_problems() if p.size == 9 and p.solutions and p.to_play]
    problems = [p for p in problems if find_zone(p.stones, p.target).empty <= 12][::12][:20]
    assert len(problems) == 20
    found = {}
    for who in ("none", "solver"):
        found[who] = sum(_plays_right(problem, who) for problem in problems)
    print(found)
    assert found["solver"] >= 12
    assert found["solver"] >= 2 * found["none"]


def _plays_right(problem: Problem, who: str) -> bool:
    assert problem.to_play is not None
    state = state_of(problem.stones, first=problem.to_play)
    return mcts(state, simulations=200, adviser=who).search(state).action in problem.solutions


def test_a_group_that_can_get_out_is_not_asked_about() -> None:
    board = board_of(FIVE_ON_THE_SECOND_LINE).stones()
    assert len(list(enclosed(board.reshape(-1)))) == 1
    board[2, 2] = board[2, 4] = 0  # holes in the wall
    assert list(enclosed(board.reshape(-1))) == []


# -- what changes nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 9, 19])
def test_without_groups_nothing_is_asked_and_nothing_changes(size: int) -> None:
    state = GoGame(GoParameters(board_size=size)).new_initial_state()
    off = mcts(state, simulations=100).search(state)
    assert "advice" not in off.statistics
    asked = mcts(state, simulations=100, adviser="solver").search(state)
    nothing = {"asked": 0, "critical": 0, "solved": 0, "nodes": 0}
    assert asked.statistics["advice"] == nothing
    assert (asked.action, asked.visits, asked.values) == (off.action, off.visits, off.values)


@pytest.mark.parametrize("rave", [0.0, 1000.0])
def test_a_game_is_the_same_twice(rave: float) -> None:
    def played() -> list[Any]:
        state = state_of(board_of(FIVE_ON_THE_SECOND_LINE).stones(), first=2)
        search = mcts(state, seed=5, simulations=60, rave=rave, adviser="solver")
        output: list[Any] = []
        while not state.is_terminal() and len(output) < 12:
            result = search.search(state)
            output.append(result)
            state.apply_action(result.action)
            search.advance(result.action)
        return output

    first = played()
    assert first == played()
    assert sum(result.statistics["advice"]["asked"] for result in first) > 5


# -- what is asked --------------------------------------------------------------------------------


def test_answers_are_kept_while_the_other_player_is_looked_at_and_the_group_is_unchanged() -> None:
    board, adviser = board_of(FIVE_ON_THE_SECOND_LINE), solver()
    first = adviser.look(board, 0)
    assert first.statistics["nodes"] > 0
    adviser.look(board, 1)
    board.play(0, board.size * 7 + 4)
    again = adviser.look(board, 0)
    assert again.statistics["nodes"] == 0
    assert np.array_equal(again.weights, first.weights)


def test_moves_that_save_or_kill_are_favoured_and_others_in_the_zone_are_not() -> None:
    board = board_of(FIVE_ON_THE_SECOND_LINE)
    for color in (0, 1):
        advice = solver().look(board, color)
        names = [vertex(p, 9) for p in np.flatnonzero(advice.weights).tolist()]
        assert sorted(names) == sorted(VITAL)
        assert np.flatnonzero(advice.useless).tolist() == [0, 2, 3]  # A1, C1, D1
        assert advice.statistics["critical"] == advice.statistics["solved"] == 1
        assert (advice.results()[advice.useless] < 0).all()


def test_a_dead_group_needs_nothing_of_its_owner() -> None:
    board = board_of(SQUARE_FOUR)
    own, others = solver().look(board, 1), solver().look(board, 0)
    inside = [0, 1, 9, 10]
    assert own.useless[inside].all()
    assert not own.weights[inside].any()
    assert not others.weights[inside].any()


def test_a_zone_in_which_a_ko_was_just_taken_is_left_out() -> None:
    stones = board_of(JUST_TAKEN).stones().reshape(-1)
    zones = [zone for _, zone in enclosed(stones)]
    assert any(5 in zone.points for zone in zones)
    left = [zone for _, zone in enclosed(stones, ko=5)]
    assert len(left) < len(zones)
    assert not any(5 in zone.points for zone in left)


def test_larger_blocks_are_asked_about_first() -> None:
    counts = [count for count, _ in enclosed(many_groups().reshape(-1))]
    assert counts == [5, 5, 5, 5, 3, 3]


# -- limits ---------------------------------------------------------------------------------------


def many_groups() -> Any:
    """Return stones, (19, 19), with six groups that are critical or dead along two sides."""
    side = np.zeros((3, 19), np.int8)
    side[:, :6] = board_of(FIVE_ON_THE_SECOND_LINE).stones()[:3, :6]
    side[:, 13:] = 3 - side[:, 5::-1]
    side[:, 13:] %= 3  # the other corner has the colours exchanged
    side[:, 7:12] = [[2, 0, 0, 0, 2], [2, 1, 1, 1, 2], [2, 2, 2, 2, 2]]
    stones = np.zeros((19, 19), np.int8)
    stones[:3], stones[16:] = side, side[::-1]
    return stones


def test_a_board_of_nineteen_with_many_groups_stays_within_its_limit() -> None:
    board = Board.from_stones(many_groups())
    asked = []
    assert solver(1).look(board, 0).statistics["asked"] == 1
    for nodes in (300, 20_000):
        seen = solver(nodes)
        advice = seen.look(board, 0)
        print(advice.statistics)
        assert 0 < advice.statistics["nodes"] <= nodes * 1.2 + 100
        asked.append(advice.statistics["solved"])
    assert asked[0] < asked[1] == 6
    assert advice.statistics["critical"] == 4
    state = state_of(many_groups(), first=1)
    result = mcts(state, simulations=100, adviser="solver").search(state)
    assert result.statistics["advice"]["solved"] == 6  # type: ignore[index, call-overload]  # plain data, as we wrote it


def test_seconds_are_kept_and_questions_take_a_share() -> None:
    problem = empty_corner(size=9)
    assert find_zone(problem.stones, problem.target).empty > 30
    stones = problem.stones.reshape(9, 9).copy()
    stones[3:6, :6] = 1
    assert [zone.empty for _, zone in enclosed(stones.reshape(-1))] == []
    stones[2, :5] = 2
    board = Board.from_stones(stones)
    assert [zone.empty for _, zone in enclosed(stones.reshape(-1))] == [13]
    seen = solver(10**9)
    began = process_time()
    assert seen.look(board, 1, seconds=0.5).statistics["asked"] == 1
    assert process_time() - began < TIME_SHARE * 0.5 + 0.3
    state = state_of(stones, first=2)
    search = mcts(state, simulations=0, seconds=0.4, adviser="solver")
    began = process_time()
    result = search.search(state, seconds=0.3)
    assert process_time() - began < 0.6
    assert result.statistics["simulations"]


# -- the tree -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rave", [0.0, 500.0])
def test_virtual_results_guide_and_are_not_counted(rave: float) -> None:
    given = np.zeros(26, np.int32)
    given[3], given[12] = 40, -40

    def tree_with(results: Any) -> UctTree:
        tree = UctTree(5, seed=3, rave=rave, exploration=0.3)
        tree.favour(results)
        return tree

    plain, guided = tree_with(given * 0), tree_with(given)
    assert not guided.visits().any()
    assert np.isnan(guided.values()).all()
    for tree in (plain, guided):
        tree.run(200)
        assert tree.visits().sum() == tree.simulations == 200
        assert (np.nan_to_num(np.abs(tree.values())) <= 1).all()
    assert guided.visits()[3] > plain.visits()[3]
    assert guided.visits()[12] < plain.visits()[12]
    counted = guided.visits()
    guided.favour(given * 0)
    assert (guided.visits() == counted).all()
    guided.favour(given)
    guided.advance(3)
    assert guided.simulations == counted[3]


def test_virtual_wins_do_not_force_a_move() -> None:
    tree = UctTree(5, seed=1, rave=1000, exploration=0.1)
    given = np.zeros(26, np.int32)
    given[0] = Advice(np.ones(26), np.zeros(26, np.bool_), {}).results()[0]
    assert given[0] > 0
    tree.favour(given)  # the corner
    tree.run(1000)
    assert tree.best() != 0
    assert tree.visits()[0] < 100


# -- priors ---------------------------------------------------------------------------------------


def test_advice_is_a_part_of_the_priors() -> None:
    weights, useless = np.zeros(5), np.zeros(5, np.bool_)
    weights[1], useless[2] = 1.0, True
    priors = np.array([0.4, 0.1, 0.2, 0.0, 0.3])
    mixed = Advice(weights, useless, {}).mixed(priors)
    assert mixed.sum() == pytest.approx(1)
    assert mixed[1] > 0.5
    assert mixed[2] < 0.2 * mixed[0]
    assert mixed[0] / mixed[4] == pytest.approx(4 / 3)
    nothing = Advice(weights * 0, useless & False, {})
    assert nothing.mixed(priors) == pytest.approx(priors)
    illegal = np.array([0.6, 0.0, 0.2, 0.0, 0.2])
    assert Advice(weights, useless, {}).mixed(illegal)[1] == 0


# -- who is asked ---------------------------------------------------------------------------------


def test_a_plugin_adds_an_adviser(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wish(miai.Parameters):
        vertex: str = "A1"

    class Wisher:
        def __init__(self, game: GoGame, parameters: Wish) -> None:
            self._point = game.new_initial_state().string_to_action(parameters.vertex)

        def look(self, board: Board, color: int, *, seconds: float | None = None) -> Advice:
            weights = np.zeros(board.size**2 + 1)
            weights[self._point] = 5  # of five purposes
            return Advice(weights, weights < 0, {"wishes": 1})

    monkeypatch.setattr(registry(), "_components", dict(registry()._components))
    registry().add("go.adviser", "wisher", Wisher, parameters=Wish, summary="Wants one point")
    state = GoGame(GoParameters(board_size=5)).new_initial_state()
    wishing = mcts(state, simulations=20, adviser="wisher", adviser_parameters={"vertex": "B1"})
    result = wishing.search(state)
    assert state.action_to_string(result.action) == "B1"
    assert result.statistics["advice"] == {"wishes": 1}
    assert mcts(state, simulations=20).search(state).action != result.action


@pytest.mark.parametrize(
    ("advice", "message"),
    [
        (lambda: None, "expected Advice of 26 moves, got None"),
        (lambda: Advice(np.zeros(25), np.zeros(25, np.bool_), {}), "26 moves, got advice of 25"),
        (lambda: Advice(np.zeros(26), np.zeros(25, np.bool_), {}), "weights are of 26 moves, usel"),
        (lambda: Advice(np.zeros(26), cast("Any", np.zeros(26)), {}), "expected an array of bool"),
        *(
            (lambda w=w: Advice(np.full(26, w), np.zeros(26, np.bool_), {}), f"weights: {w}")
            for w in (np.nan, np.inf, 1e300, -0.5)
        ),
    ],
)
def test_wrong_advice_names_its_adviser(
    advice: Callable[[], Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong:
        def __init__(self, game: GoGame, parameters: miai.Parameters) -> None: ...

        def look(self, board: Board, color: int, *, seconds: float | None = None) -> Any:
            return advice()

    monkeypatch.setattr(registry(), "_components", dict(registry()._components))
    registry().add("go.adviser", "wrong", Wrong, summary="Wrong advice")
    state = GoGame(GoParameters(board_size=5)).new_initial_state()
    with pytest.raises(PluginError, match=f"go.adviser .wrong. .*{re.escape(message)}"):
        mcts(state, simulations=20, adviser="wrong").search(state)


COMMON = {
    "commands/training.py",
    "errors.py",
    "learning/data/shard_files.py",
    *(
        f"learning/training/{name}.py"
        for name in ("config_sections", "learner", "measuring", "run_folder", "training_run")
    ),
    "nets/network.py",
    "search/advice.py",
}
"""What life and death imports from other rooms of Go, besides rules and SGF (docs/design.md)."""


@pytest.mark.slow
def test_life_and_death_and_the_rest_of_go_import_what_is_listed_and_nothing_else() -> None:
    edges = size.imports(size.sources())
    go = Path("plugins/go/miai_go")
    inside = {path for path in edges if path.is_relative_to(go / "tsumego")}
    assert len(inside) > 30
    importers = {path for path in edges if path not in inside and edges[path] & inside}
    assert importers == {go / "plugin.py"}
    outside = set().union(*(edges[path] for path in inside)) - inside
    ours = {path.relative_to(go) for path in outside if path.is_relative_to(go)}
    assert {p.as_posix() for p in ours if p.parts[0] not in {"rules", "sgf"}} == COMMON
    assert {path.parts[0] for path in outside if not path.is_relative_to(go)} == {"framework"}


# -- what is loaded -------------------------------------------------------------------------------

MOVES = """
import sys
sys.modules["torch"] = None
import miai
from miai_go.rules.game import GoGame
from miai_go.rules.game_parameters import GoParameters
game = GoGame(GoParameters(board_size=5))
for who in ("none", "network", "solver"):
    agent = miai.make_agent("mcts", game, simulations=20, seed=1, adviser=who)
    try:
        agent.search.new_game(1)
    except Exception as error:
        print(who, type(error).__name__, error)
    else:
        agent.search.search(game.new_initial_state())
        print(who, "played;", "miai_go.tsumego.solver.prover" in sys.modules)
"""


@pytest.mark.slow
def test_each_loads_what_it_needs_and_none_needs_torch() -> None:
    run = subprocess.run([sys.executable, "-c", MOVES], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "none played; False\nnetwork played; True\nsolver played; True\n"


# -- searches with networks, and the network that is asked ----------------------------------------


torch.set_num_threads(1)


@pytest.fixture
def state() -> GoState:
    return state_of(board_of(FIVE_ON_THE_SECOND_LINE).stones(), first=1)


def search_of(state: GoState, name: str, **values: Any) -> Any:
    more: dict[str, Any] = {"simulations": 24, "network": {"precision": "fp32"}, **values}
    agent = miai.make_agent(name, state.game, leaves=4, **more)
    search = agent.search  # type: ignore[attr-defined]  # SearchAgent's, hidden by make_agent
    search.new_game(1)
    return search


def priors_of(search: Any, state: GoState) -> dict[str, float]:
    output = search.analyse(state, seconds=100).statistics["priors"]
    return {state.action_to_string(action): prior for action, prior in output}


@pytest.mark.parametrize("name", ["alphago", "alphazero"])
def test_the_vital_points_get_a_part_of_the_priors_once(name: str, state: GoState) -> None:
    off = priors_of(search_of(state, name), state)
    search = search_of(state, name, adviser="solver")
    first = priors_of(search, state)
    share = sum(first[point] for point in VITAL)
    assert share > 0.2 + sum(off[point] for point in VITAL) / 2
    assert sum(first.values()) == pytest.approx(1, abs=0.01)
    assert priors_of(search, state) == first
    result = search.search(state)
    assert result.statistics["advice"]["critical"] == 1
    assert state.action_to_string(result.action) in VITAL


def test_the_next_root_is_asked_about_and_kept_trees_are_not_changed(state: GoState) -> None:
    gumbel = search_of(state, "alphazero", search="gumbel", adviser="solver")
    assert state.action_to_string(gumbel.search(state).action) in VITAL
    search = search_of(state, "alphazero", adviser="solver")
    action = search.search(state).action
    assert state.action_to_string(action) in VITAL
    state.apply_action(action)
    search.advance(action)
    result = search.search(state)
    assert result.statistics["advice"]["critical"] == 0  # White is dead now
    assert result.statistics["reused"] > 0


def test_the_network_says_which_group_is_critical() -> None:
    board = board_of(STRAIGHT_THREE)
    seen = network_adviser(state_of(board.stones(), first=1).game, Parameters())
    advice = seen.look(board, 0)
    assert advice.statistics == {"asked": 1, "critical": 1, "solved": 1, "nodes": 0}
    assert np.flatnonzero(advice.weights).tolist() == [1]  # B1
    assert 0 < advice.weights.max() < 1
    again = seen.look(board, 0)
    assert (again.weights == advice.weights).all()


def test_mcts_asks_the_network() -> None:
    state = state_of(board_of(STRAIGHT_THREE).stones(), first=1)
    agent = miai.make_agent("mcts", state.game, simulations=40, seed=1, adviser="network")
    search = agent.search  # type: ignore[attr-defined]  # SearchAgent's, hidden by make_agent
    search.new_game(1)
    first = search.search(state)
    search.new_game(1)
    assert search.search(state) == first
    assert first.statistics["advice"]["critical"] == 1
