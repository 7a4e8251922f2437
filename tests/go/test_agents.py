"""Go's own players: fast random, compiled tree search, rollouts."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest
from tests.go.positions import go, play, position

import miai
from miai.clock import Clock, TimeControl
from miai.errors import GameError
from miai.testing import check_agent
from miai_go.rules.agents import FastRandomAgent, GoRollouts
from miai_go.rules.chains import fills_eye
from miai_go.rules.game import GoGame, GoState
from miai_go.rules.game_parameters import GoRolloutParameters
from miai_go.search.mcts import GoMcts
from miai_go.search.player_parameters import GoMctsParameters


def mcts(game: GoGame, **parameters: Any) -> GoMcts:
    """Return a search with a seed."""
    search = GoMcts(game, GoMctsParameters(**parameters))
    search.new_game(1)
    return search


def searched(state: GoState, **parameters: Any) -> str:
    return state.action_to_string(mcts(state.game, **parameters).search(state).action)


# -- contracts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fast-random", "mcts", "random"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"rules": "tromp-taylor"},
        {"rules": "chinese", "dead_stones": "agreement"},
        {"rules": "japanese"},
        {"rules": "aga", "handicap_points": ["B2", "C3"]},
    ],
    ids=lambda p: p["rules"],
)
def test_agents_keep_their_contract(name: str, parameters: dict[str, Any]) -> None:
    game = go(board_size=4, **parameters)
    more = {"simulations": 30} if name == "mcts" else {}
    check_agent(lambda g: miai.make_agent(name, g, **more), game, games=1)


def test_a_search_of_another_board_is_refused() -> None:
    search = mcts(go(board_size=9))
    with pytest.raises(GameError, match="9x9"):
        search.search(go(board_size=5).new_initial_state())
    with pytest.raises(GameError, match="over"):
        search.search(play(go(board_size=9).new_initial_state(), "pass pass"))


# -- fast random ----------------------------------------------------------------------------------


def test_fast_random_never_fills_an_eye_and_passes_only_when_nothing_else_is_left() -> None:
    game = go(board_size=7, rules="chinese", dead_stones="none")
    for seed in range(8):
        state = game.new_initial_state()
        agents = [FastRandomAgent(game), FastRandomAgent(game)]
        for player, agent in enumerate(agents):
            agent.new_game(seed, player=player)
        clock = Clock(TimeControl()).reading()
        while not state.is_terminal():
            player = state.current_player()
            action = agents[player].act(clock).action
            stones = state.board.stones().reshape(-1).tolist()
            free = [p for p in state.legal_actions()[:-1] if not fills_eye(stones, p, player + 1)]
            assert action in free or (action == game.pass_action and not free), f"{seed}\n{state}"
            state.apply_action(action)
            for player, agent in enumerate(agents):
                observation = state.observation(player)
                assert observation is not None
                agent.observe(observation)
        assert state.move_number() < game.max_moves


# -- tree search ----------------------------------------------------------------------------------


def test_the_tree_is_kept_from_move_to_move() -> None:
    game = go(board_size=5)
    state, search = game.new_initial_state(), mcts(game, simulations=500)
    result = search.search(state)
    assert result.statistics["reused"] == 0
    for action in result.pv[:2]:
        state.apply_action(action)
        search.advance(action)
    reused = search.search(state).statistics["reused"]
    assert isinstance(reused, int)
    assert reused > 10


def test_a_search_may_be_asked_of_any_state_in_any_order() -> None:
    game = go(board_size=5)
    state, search, rng = game.new_initial_state(), mcts(game, simulations=100), random.Random(5)
    for _ in range(30):
        if state.is_terminal():
            break
        result = search.search(state)
        assert state.is_legal(result.action)
        other = state.child(rng.choice(state.legal_actions()))
        if not other.is_terminal():
            assert other.is_legal(search.search(other).action)
        action = rng.choice(state.legal_actions()[:-1] or [result.action])
        state.apply_action(action)
        search.advance(action)


def test_results_describe_the_root() -> None:
    state = go(board_size=5).new_initial_state()
    result = mcts(state.game, simulations=400).search(state)
    assert sum(result.visits.values()) == 400
    assert result.visits[result.action] == max(result.visits.values())
    assert result.pv[0] == result.action
    assert -1 <= result.value <= 1
    assert result.value == pytest.approx(result.values[result.action])
    assert result.statistics["simulations"] == 400


# -- the end of play ------------------------------------------------------------------------------

WON = """
    .X.O.
    XX.OO
    .X.O.
    XX.OO
    .X.O."""


def test_a_pass_is_answered_by_a_pass_when_that_wins() -> None:
    white_behind = play(position(WON, komi=-3.5), "pass")
    assert searched(white_behind, simulations=200) != "pass", "a pass would lose at once"
    white_ahead = play(position(WON, komi=3.5), "pass")
    assert searched(white_ahead, simulations=200) == "pass"


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "japanese", "aga"])
def test_games_between_searches_end_by_passes(rules: str) -> None:
    game = go(board_size=5, rules=rules, komi=5.5)
    agents = [miai.make_agent("mcts", game, simulations=150, seed=s) for s in (1, 2)]
    record = miai.play(game, agents)
    assert record.termination == "terminal"
    assert [move.text for move in record.moves[-2:]] == ["pass", "pass"]
    assert len(record.moves) < game.max_moves


def test_under_territory_scoring_a_won_board_is_not_filled() -> None:
    """Black leads by territory and has nothing to gain: it passes first."""
    state = position(
        """
        .X.XO.O
        XX.XOOO
        ...XO..
        XXXXOOO
        ...XO.O
        XX.XOOO
        .X.XO.O""",
        rules="japanese",
        komi=0.5,
    )
    assert state.score_with_dead(()).margin > 0
    assert searched(state, simulations=1500) == "pass"


def test_resignation_has_a_threshold_and_is_off_by_default() -> None:
    lost = position("O.O.O OOOOO O.O.O OOOOO O.O..", komi=0.5)
    for threshold, resigns in ((None, False), (-0.9, True)):
        search = mcts(lost.game, simulations=100, resign_below=threshold)
        assert search.search(lost).resign is resigns


# -- the opponent's time --------------------------------------------------------------------------


def test_the_tree_grows_while_the_opponent_thinks() -> None:
    game = go(board_size=5, komi=0.5)
    reused: dict[bool, Any] = {}
    for ponders in (False, True):
        state, search = game.new_initial_state(), mcts(game, simulations=30)
        own = search.search(state).action
        state.apply_action(own)
        search.advance(own)
        if ponders:
            search.ponder(state, iter([False] * 20 + [True]).__next__)
        reply = search.search(state).action
        state.apply_action(reply)
        search.advance(reply)
        reused[ponders] = search.search(state).statistics["reused"]
    assert reused[True] > 100 + reused[False]  # 20 times 30 simulations, most below the best reply


# -- time -----------------------------------------------------------------------------------------


def test_an_agent_keeps_within_its_clock() -> None:
    game = go(board_size=9)
    agent = miai.make_agent("mcts", game, simulations=10_000_000, seed=1)
    control = TimeControl(kind="per-move", seconds=0.1, margin=3)
    other = miai.make_agent("fast-random", game, seed=2)
    record = miai.play(game, [agent, other], time_control=control, move_limit=4)
    assert record.termination == "move-limit", record.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("random", "japanese"),
        ("fast-random", "tromp-taylor"),
        ("mcts", "tromp-taylor"),
        ("mcts", "japanese"),
        pytest.param("random", "tromp-taylor", marks=pytest.mark.soak),
        pytest.param("fast-random", "japanese", marks=pytest.mark.soak),
    ],
)
def test_after_new_game_no_kernel_is_loaded_or_compiled(name: str, rules: str) -> None:
    """Counts compiled versions before the first move of a new process and after the last."""
    dead_stones = "none" if rules == "tromp-taylor" else "agreement"
    program = f"""
import sys, miai
from miai.clock import Clock, TimeControl

def loaded():
    modules = [m for n, m in sys.modules.items() if n.startswith("miai_go.kernels.")]
    parts = {{f for m in modules for f in vars(m).values() if hasattr(f, "overloads")}}
    return {{(f.__name__, str(s)) for f in parts for s in f.overloads}}

game = miai.load_game("go", board_size=4, rules={rules!r}, dead_stones={dead_stones!r})
given = {{"simulations": 20}} if {name!r} == "mcts" else {{}}
agents = [miai.make_agent({name!r}, game, **given) for _ in range(2)]
for player, agent in enumerate(agents):
    agent.new_game(3, player=player)
before = loaded()
assert before
state = game.new_initial_state()
clock = Clock(TimeControl()).reading()
while not state.is_terminal():
    for player, agent in enumerate(agents):
        agent.observe(state.observation(player))
    state.apply_action(agents[state.current_player()].act(clock).action)
print(sorted(loaded() - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# -- rollouts -------------------------------------------------------------------------------------


def test_rollouts_value_states_in_player_order() -> None:
    won = position("X.X.X XXXXX X.X.X XXXXX X.X..", komi=0.5)
    lost = position("O.O.O OOOOO O.O.O OOOOO O.O..", komi=0.5)
    rollouts = GoRollouts(won.game, GoRolloutParameters(rollouts=50))
    values = rollouts.evaluate([won, lost])
    assert values.shape == (2, 2)
    assert (values.sum(axis=1) == 0).all()
    assert values[0, 0] > 0.8
    assert values[1, 0] < -0.8
    assert [p.sum() for p in rollouts.prior([won, lost])] == pytest.approx([1, 1])
    for dead_stones in ("none", "agreement"):  # the game is over, or its end is being settled
        state = go(board_size=3, komi=0.5, dead_stones=dead_stones).new_initial_state()
        for action in (4, 9, 9):
            state.apply_action(action)
        assert GoRollouts(state.game).evaluate([state]).tolist() == [[1.0, -1.0]]


def test_rollouts_are_seeded() -> None:
    state = go(board_size=9).new_initial_state()
    rollouts = GoRollouts(state.game, GoRolloutParameters(rollouts=20))
    drawn = []
    for seed in (1, 1, 2):
        rollouts.seed(seed)
        drawn.append([float(rollouts.evaluate([state])[0, 0]) for _ in range(5)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_long_searches_expand_later_by_default_and_playouts_can_be_tactical() -> None:
    for simulations, seconds, late in ((10_000, 1.0, 1), (10_001, None, 8), (0, 1.0, 8)):
        given = GoMctsParameters(simulations=simulations, seconds=seconds)
        assert given.expand_after == late
    assert GoMctsParameters().expand_after == 1
    game = go(board_size=5)
    state = game.new_initial_state()
    light, tactical = (mcts(game, simulations=200, playouts=p) for p in ("light", "tactical"))
    assert light.search(state).visits != tactical.search(state).visits
