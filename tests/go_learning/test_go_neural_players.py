"""The players policy, alphago and alphazero, with small random networks that the tests write."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pytest
import torch
from tests.go.positions import go, play, position
from tests.go_learning.go_forest_slow import ONE, Judged, random_judge, random_state, root_of
from tests.go_learning.go_networks_small import write_tower

import miai
from miai.clock import Clock, TimeControl
from miai.errors import GameError, MiaiError, ParameterError, WeightsError
from miai.search.protocol import ClockedSearch, Search
from miai.testing import check_agent
from miai.values import ValueUnit
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import Ensemble, load_oracle
from miai_go.nets.network import WeightsHeader
from miai_go.nets.oracle import Oracle
from miai_go.rules.board import KoRule
from miai_go.rules.chains import fills_eye
from miai_go.rules.game import GoGame, GoState
from miai_go.search.forest import TreeSettings
from miai_go.search.neural import AlphaZero, ForestSearch
from miai_go.search.player_parameters import AlphaZeroParameters, TreeParameters
from miai_go.search.tree_search import TreeSearch

torch.set_num_threads(1)

FP32: dict[str, Any] = {"network": {"precision": "fp32"}}


@cache
def write(folder: Path, size: int, *, heads: str = "both", encoder: str = "zero") -> Path:
    """Write random weights for boards of one size; return the file."""
    missing = {"both": {}, "policy": {"value": "none"}, "value": {"policy": "none"}}[heads]
    path = folder / f"{heads}-{encoder}-{size}.safetensors"
    return write_tower(path, size, missing, encoder=encoder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("weights")


def player_values(name: str, folder: Path, size: int, **more: Any) -> dict[str, Any]:
    """Return the parameters of a player with small weights."""
    if name == "alphago":
        files = {
            "policy": str(write(folder, size, heads="policy", encoder="alphago")),
            "value": str(write(folder, size, heads="value", encoder="zero")),
        }
    else:
        files = {"weights": str(write(folder, size))}
    tree = {} if name == "policy" else {"simulations": 8, "leaves": 4}
    return {**files, **tree, **FP32, **more}


def search_of(name: str, game: GoGame, folder: Path, **more: Any) -> Search:
    values = player_values(name, folder, game.size, **more)
    agent = miai.make_agent(name, game, **values)
    search: Search = agent.search  # type: ignore[attr-defined]  # SearchAgent's, hidden by make_agent
    search.new_game(1)
    return search


def answers_of(oracle: Oracle, state: GoState) -> dict[str, Any]:
    """Return a network's answers for a state, by name."""
    return oracle.infer(oracle.encoder.encode(positions_of([state]))).arrays()


# -- games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("policy", {"rules": "tromp-taylor"}),
        ("alphago", {"rules": "japanese"}),
        ("alphazero", {"rules": "chinese", "dead_stones": "agreement"}),
    ],
)
def test_players_keep_agents_contract(name: str, rules: dict[str, Any], folder: Path) -> None:
    game = go(board_size=5, **rules)
    values = player_values(name, folder, 5)
    check_agent(lambda g: miai.make_agent(name, g, **values), game, games=1, max_plies=8)


GUMBEL = {"search": {"kind": "gumbel", "considered": 4}}
ROLLOUTS = {"leaf_value": {"kind": "mixed", "mix": 1.0}, "value": ""}


@pytest.mark.parametrize(
    ("rules", "players"),
    [
        ("japanese", {"alphazero": {}, "alphago": {}}),
        ("tromp-taylor", {"alphago": ROLLOUTS, "alphazero": GUMBEL}),
        ("chinese", {"policy": {"temperature": 1.0}, "alphago": {"leaf_value": "mixed"}}),
    ],
)
def test_they_play_each_other_to_the_end(
    rules: str, players: dict[str, dict[str, Any]], folder: Path
) -> None:
    game = go(board_size=5, rules=rules)
    agents = [
        miai.make_agent(name, game, seed=seed, **player_values(name, folder, 5, **values))
        for seed, (name, values) in enumerate(players.items(), 1)
    ]
    record = miai.play(game, agents)
    assert record.loser is None, record.detail
    state = game.new_initial_state()
    for move in record.moves:
        stones = state.board.stones().ravel().tolist()
        if move.action < game.pass_action:
            assert not fills_eye(stones, move.action, state.to_move + 1)
        state.apply_action(move.action)
    assert state.is_terminal()
    for agent in agents:
        agent.close()


# -- what they play -------------------------------------------------------------------------------

SETTLED = """
    .X.XO
    XXXXO
    .XXOO
    XXOO.
    XXO.O"""
"""Black has 16 points by area, White 9."""


@pytest.mark.parametrize("name", ["policy", "alphago", "alphazero"])
@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "japanese"])
def test_a_pass_is_answered_by_a_pass_if_it_wins(name: str, rules: str, folder: Path) -> None:
    for komi, wins in ((0.5, True), (25.5, False)):
        state = position(SETTLED, to_move="white", rules=rules, komi=komi)
        search = search_of(name, state.game, folder)
        state.apply_action(state.game.pass_action)
        found = search.search(state)
        if wins:
            assert found.action == state.game.pass_action
            assert found.value == 1
        alone = position("..X.. .XXX. ..X.. ..... .....", to_move="white", rules=rules, komi=komi)
        search = search_of(name, alone.game, folder)
        alone.apply_action(alone.game.pass_action)
        found = search.search(alone)
        assert (found.action == alone.game.pass_action) == wins


def forest_search(game: GoGame, judged: Judged, **tree: Any) -> ForestSearch:
    """Return a search in a tree that a judge values."""
    trees: Any = {"settings": TreeSettings(), "parameters": TreeParameters(**tree)}
    return ForestSearch(game, valuer=lambda: judged, **trees)


def test_under_territory_rules_a_won_board_is_not_filled() -> None:
    """Every move costs a point of Black's, which a tree that counts by area cannot see."""
    state = position(SETTLED, to_move="black", rules="japanese", komi=-3.5)
    flat = Judged(random_judge(5, seed=3, spread=0.0))
    search = forest_search(state.game, flat, simulations=200)
    assert search.search(state).action == state.game.pass_action


def test_dead_stones_are_the_games_business() -> None:
    """White's D5 is dead: counted as alive White is ahead, as the game counts it Black."""
    picture = ".X.O. XXXXX XXXXX OOOOO .O.O."
    for to_move, passes in (("white", True), ("black", False)):
        state = position(picture, to_move=to_move, rules="chinese", komi=2.5)
        assert state.score_by_area().margin == -1.5
        state.apply_action(25)
        search = forest_search(state.game, Judged(random_judge(5, seed=3)), simulations=100)
        assert (search.search(state).action == 25) == passes


@pytest.mark.slow
def test_a_policy_player_plays_what_its_network_says(folder: Path) -> None:
    game = go(board_size=5, rules="chinese")
    oracle = Ensemble(load_oracle(write(folder, 5), precision="fp32"))
    greedy = search_of("policy", game, folder)
    rng = np.random.default_rng(3)
    for moves in range(0, 24, 3):
        state = random_state(game, moves, rng)
        if state.passes:
            continue
        answers = answers_of(oracle, state)
        logits = answers["policy"][0].astype(float)
        stones, own = state.board.stones().ravel().tolist(), state.to_move + 1
        legal = state.legal_actions()
        sensible = [a for a in legal if a == 25 or not fills_eye(stones, a, own)]
        best = max(sensible, key=logits.__getitem__)
        found, powers = greedy.search(state), np.exp(logits)
        assert (found.action, found.pv, found.unit) == (best, (best,), ValueUnit.EXPECTED_UTILITY)
        assert found.value == pytest.approx(float(answers["value"][0]), abs=1e-6)
        priors: Any = found.statistics["priors"]
        assert priors[0] == [best, pytest.approx(powers[best] / powers[sensible].sum(), abs=1e-4)]
        assert len(priors) == 10
        assert priors == sorted(priors, key=lambda row: -row[1])
    state = game.new_initial_state()
    chances = np.exp(answers_of(oracle, state)["policy"][0].astype(float))
    chances /= chances.sum()
    drawing = search_of("policy", game, folder, temperature=1.0)
    drawn = [drawing.search(state).action for _ in range(500)]
    drawing.new_game(1)
    assert [drawing.search(state).action for _ in range(20)] == drawn[:20]
    counts = Counter(drawn)
    for action in range(26):
        wide = 5 * np.sqrt(500 * chances[action])
        assert abs(counts[action] - 500 * chances[action]) <= wide + 1, action


@pytest.mark.parametrize("mix", [0.0, 0.25, 1.0])
@pytest.mark.parametrize(("to_move", "result"), [("black", 1), ("white", -1)])
def test_leaves_of_alphago_are_mixed(mix: float, to_move: str, result: int, folder: Path) -> None:
    """On a settled board all rollouts agree, and the value network says what it says."""
    given: dict[str, Any] = {"leaf_value": {"kind": "mixed", "mix": mix}} if mix else {}
    state = position(SETTLED, to_move=to_move, komi=0.5)
    files = player_values("alphago", folder, 5)
    search = search_of("alphago", state.game, folder, **given)
    own = answers_of(load_oracle(files["value"], precision="fp32"), state)["value"]
    forest = search._forest  # type: ignore[attr-defined]  # the tree is not shown otherwise
    forest.set_root(0, root_of(state))
    forest.value_roots(ONE, search._valuer)  # type: ignore[attr-defined]
    expected = (1 - mix) * float(own[0]) + mix * result
    assert forest.tree(0).value == pytest.approx(expected, abs=1e-5)
    logits = answers_of(load_oracle(files["policy"], precision="fp32"), state)["policy"]
    allowed = forest.tree(0).allowed()
    powers = np.where(allowed, np.exp(logits[0].astype(float)), 0)
    assert forest.tree(0).priors() == pytest.approx(powers / powers.sum(), abs=1e-6)


@pytest.mark.slow
def test_resigning(folder: Path) -> None:
    game = go(board_size=5)
    for name in ("policy", "alphago", "alphazero"):
        values = player_values(name, folder, 5)
        more = {"weights": values["weights"]} if name == "policy" else {}
        for below, wanted in ((1.0, True), (-1.0, False), (None, False)):
            search = search_of(name, game, folder, resign_below=below, **more)
            state = game.new_initial_state()
            first = search.search(state)
            if name != "policy":  # which looks at one turn
                assert not first.resign
                state.apply_action(0)
                state.apply_action(1)
            assert search.search(state).resign == wanted, (name, below)
    values = player_values("alphazero", folder, 5)
    more = {**values, "resign_below": 1}
    agents = [miai.make_agent("alphazero", game, **given) for given in (values, more)]
    record = miai.play(game, agents)
    assert record.loser == 1
    assert len(record.moves) == 3  # at its second turn
    alone = str(write(folder, 5, heads="policy"))
    without = search_of("policy", game, folder, weights=alone, resign_below=1.0)
    found = without.search(game.new_initial_state())
    assert (found.value, found.unit, found.resign) == (0, ValueUnit.SCORE, False)


def test_a_value_must_be_low_for_some_turns_in_a_row(folder: Path) -> None:
    """Values by hand; a position that is searched again counts once, one taken back not at all.

    A controller may send the moves again: a new game changes nothing.
    """
    game = go(board_size=5)
    search = search_of("alphazero", game, folder, resign_below=-0.5)
    assert isinstance(search, AlphaZero)
    resigns = search._resigns
    states = [game.new_initial_state()]
    for action in range(12):
        states.append(states[-1].child(action))
    values = {2: -0.6, 4: -0.4, 6: -0.6}
    assert not any(resigns(states[ply], value, proven=False) for ply, value in values.items())
    assert not resigns(states[6], -0.6, proven=False)
    search.new_game(2)
    assert resigns(states[8], -0.6, proven=False)
    assert not resigns(states[4].child(20).child(21).child(22).child(23), -0.6, proven=False)
    assert not resigns(states[6], -0.6, proven=False)
    assert resigns(states[8], -0.6, proven=False)
    assert not resigns(states[6], -0.4, proven=False)  # after moves were taken back
    assert not resigns(states[8], -0.6, proven=False)
    assert resigns(states[8], -0.6, proven=True)


# -- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["puct", "gumbel"])
def test_seconds_end_a_search(search: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TreeSearch, "_only_time_limits", lambda _search: False)
    game = go(board_size=5)
    root = {"kind": search, **({"planned": 20_000} if search == "gumbel" else {})}
    limits = {"simulations": 0, "seconds": 0.08}
    player = search_of("alphazero", game, folder, search=root, **limits)
    for seconds, limit in ((None, 0.08), (5.0, 0.08), (0.05, 0.05)):
        began, spent = perf_counter(), process_time()
        found = player.search(game.new_initial_state(), seconds=seconds)
        assert perf_counter() - began > 0.8 * limit
        assert process_time() - spent < limit + 0.5
        assert 0 < found.statistics["simulations"] < 20_000  # type: ignore[operator]
    with pytest.raises(ParameterError, match="needs a budget in seconds"):
        miai.make_agent("alphazero", game, simulations=0)


def test_a_clock_bounds_a_search_by_simulations(folder: Path) -> None:
    game = go(board_size=5)
    player = search_of("alphazero", game, folder, simulations=1_000_000)
    began = process_time()
    found = player.search(game.new_initial_state(), seconds=0.1)
    assert process_time() - began < 0.6
    assert sum(found.visits.values()) == found.statistics["simulations"]


@pytest.mark.slow
def test_a_gumbel_search_plans_where_time_alone_limits_it(folder: Path) -> None:
    game = go(board_size=5)
    clock = Clock(TimeControl(kind="per-move", seconds=60.0)).reading()
    state = game.new_initial_state()
    for planned in (24, 600):
        root = {"kind": "gumbel", "planned": planned}
        search = search_of("alphazero", game, folder, search=root, simulations=None)
        assert isinstance(search, ClockedSearch)
        found = search.search_on_clock(state, clock)
        assert found.statistics["simulations"] == planned
        assert search.search(state).statistics["simulations"] == 400
        search.advance(found.action)
        before = state.clone()
        before.apply_action(found.action)
        search.ponder(before, iter([False, False, True]).__next__)  # type: ignore[attr-defined]
        assert search.search(before).statistics["reused"] == 0


def test_the_tree_is_kept_from_move_to_move(folder: Path) -> None:
    game = go(board_size=5, rules="chinese")
    search = search_of("alphazero", game, folder, simulations=60)
    state = game.new_initial_state()
    reused = []
    for _ in range(6):
        found = search.search(state)
        assert found.statistics["simulations"] == 60
        reused.append(found.statistics["reused"])
        assert sum(found.visits.values()) == 60 + found.statistics["reused"]  # type: ignore[operator]
        search.advance(found.action)
        state.apply_action(found.action)
    assert any(reused)
    assert reused[0] == 0
    fresh = search_of("alphazero", game, folder, simulations=60)
    assert fresh.search(state).statistics["reused"] == 0


def test_a_search_finds_the_state_it_is_given() -> None:
    """Whatever it was told before, another line or another game begins a tree of its own."""
    game = go(board_size=4, rules="chinese")
    rng = np.random.default_rng(1)

    def searching() -> ForestSearch:
        judged = Judged(random_judge(4, seed=3))
        search = forest_search(game, judged, simulations=30, leaves=2)
        search.new_game(5)
        return search

    output = searching()
    for moves in (3, 0, 8, 5):
        state = random_state(game, moves, rng)
        if state.passes:
            continue
        found, wanted = output.search(state), searching().search(state)
        assert (found.action, found.visits) == (wanted.action, wanted.visits)
        assert found.values == wanted.values
        output.advance(int(rng.choice(state.legal_actions())))


# -- the same again -------------------------------------------------------------------------------


def test_a_new_game_is_that_of_a_new_player(folder: Path) -> None:
    """Rollouts are part of the values, so random numbers tell."""
    game = go(board_size=5)
    used = search_of("alphago", game, folder, leaf_value="mixed", simulations=50)
    state = game.new_initial_state()
    results = []
    for seed in (1, 2, 1):
        used.new_game(seed)
        results.append([used.search(state).values for _ in range(2)])
    assert results[0] == results[2] != results[1]
    fresh = search_of("alphago", game, folder, leaf_value="mixed", simulations=50)
    assert [fresh.search(state).values for _ in range(2)] == results[0]


# -- what is refused ------------------------------------------------------------------------------


def refusal(name: str, size: int, values: dict[str, Any]) -> str:
    """Return the one line that a player is refused with."""
    agent = miai.make_agent(name, go(board_size=size), **values)
    with pytest.raises(MiaiError) as caught:
        agent.new_game(1, player=0)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_values_come_from_the_policy_where_it_has_them(folder: Path) -> None:
    both, other = str(write(folder, 5)), str(write(folder, 5, heads="value"))
    cases: tuple[dict[str, Any], ...] = ({"policy": both}, {"policy": both, "value": other})
    for given, value in zip(cases, (both, other), strict=True):
        agent = miai.make_agent("alphago", go(board_size=5), simulations=1, **given)
        agent.new_game(1, player=0)
        valuer = agent.search._valuer  # type: ignore[attr-defined]  # what it was built with
        assert valuer.value.header.sha256 == WeightsHeader.read(Path(value)).sha256
        assert (valuer.value is valuer.policy) == (value == both)
        agent.close()


def test_a_search_says_that_its_tree_is_full(folder: Path) -> None:
    game, weights = go(board_size=5), str(write(folder, 5))
    for nodes, full in ((200, True), (20_000, None)):
        given: dict[str, Any] = {"weights": weights, "max_nodes": nodes}
        agent = miai.make_agent("alphazero", game, simulations=100, **given)
        agent.new_game(1, player=0)
        found = agent.search.search(game.new_initial_state())  # type: ignore[attr-defined]
        assert found.statistics.get("full") is full
        agent.close()


def test_unavailable_weights_are_refused(folder: Path) -> None:
    five, policy = str(write(folder, 5)), str(write(folder, 5, heads="policy"))
    value = str(write(folder, 5, heads="value"))
    for name in ("policy", "alphazero"):
        assert "no weights 'nowhere.pt'" in refusal(name, 5, {"weights": "nowhere.pt"})
        assert "no network for 2x2 is shipped" in refusal(name, 2, {})
        assert "weights for 5x5, not for 7x7" in refusal(name, 7, {"weights": five})
        assert "policy head" in refusal(name, 5, {"weights": value})
    assert "value head" in refusal("alphazero", 5, {"weights": policy})
    two, moves = str(write(folder, 2)), str(write(folder, 2, heads="policy"))
    for given in ({}, {"policy": moves}, {"value": two}):
        assert "no network for 2x2 is shipped" in refusal("alphago", 2, given)
    assert "value: " in refusal("alphago", 2, {"policy": moves})
    assert "value head" in refusal("alphago", 5, {"policy": five, "value": policy})
    assert "not for 7x7" in refusal("alphago", 7, {**ROLLOUTS, "policy": five})
    spoilt = folder / "spoilt.safetensors"
    spoilt.write_bytes(Path(five).read_bytes()[:-9])
    assert "spoilt" in refusal("alphazero", 5, {"weights": str(spoilt)})
    with pytest.raises(WeightsError):
        AlphaZero(go(board_size=7), AlphaZeroParameters(weights=five)).new_game(1)


def test_states_of_other_games_and_finished_games_are_refused(folder: Path) -> None:
    for name in ("policy", "alphazero"):
        search = search_of(name, go(board_size=5), folder)
        with pytest.raises(GameError, match="5x5"):
            search.search(go(board_size=7).new_initial_state())
        for other in ({"komi": 3.5}, {"rules": "japanese"}):
            with pytest.raises(GameError, match="other rules or another komi"):
                search.search(go(board_size=5, **other).new_initial_state())
        over = play(go(board_size=5).new_initial_state(), "pass pass")
        with pytest.raises(GameError, match="over"):
            search.search(over)


# -- trails of states -----------------------------------------------------------------------------


def test_resuming_play_after_a_dispute_restarts_the_trail() -> None:
    game = go(board_size=4, rules="chinese", dead_stones="agreement")
    state = game.new_initial_state()
    for action in (5, 10, 16, 16):
        state.apply_action(action)
    state.apply_action(5)  # said to be dead
    state.apply_action(16)
    state.apply_action(game.resume_action)
    assert game.ko_rule == KoRule.POSITIONAL
    positions = positions_of([state])
    assert positions.plies().tolist() == [0]
    assert positions.colors().tolist() == [state.to_move + 1]
    assert (positions.board(0).stones() == state.board.stones()).all()


# -- one network, and what it answered ------------------------------------------------------------


def test_answers_are_remembered_over_a_game_and_forgotten_before_the_next(folder: Path) -> None:
    game = go(board_size=5)
    start = game.new_initial_state()
    after = start.clone()
    after.apply_action(after.string_to_action("B2"))
    states = [start, after, start]  # another tree each time

    def shares(search: Search) -> list[Any]:
        return [search.search(state).statistics.get("recalled", -1.0) for state in states]

    search = search_of("alphazero", game, folder, simulations=60)
    first = shares(search)
    assert first[1] < first[2] < 1
    search.new_game(1)
    assert shares(search) == first
    assert shares(search_of("alphazero", game, folder, simulations=60, remembered=0)) == [-1.0] * 3
