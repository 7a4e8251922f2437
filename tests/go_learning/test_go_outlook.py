"""What networks expect at the end: owners and scores in play, in analysis, and for dead stones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.go.positions import go, play, position
from tests.go_learning.go_networks_small import write_tower
from tests.whole_texts import FOLDER

import miai
from miai.errors import AgentUnavailableError, MiaiError, WeightsError
from miai.plugins.loader import PluginWarning
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import Ensemble, load_oracle
from miai_go.nets.oracle import Oracle
from miai_go.rules.board import BLACK
from miai_go.rules.dead_stones import RefereeError, playout_owners
from miai_go.rules.game import GoState
from miai_go.rules.render import GoRenderer, board_picture
from miai_go.search.forest import NetworkValuer, shifted_values
from miai_go.search.neural import PolicyPlayer
from miai_go.search.player_parameters import NetworkParameters, PolicyParameters
from miai_go.shipped import find_weights

torch.set_num_threads(1)

SIZE = 5


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("weights") / "all.safetensors")


def write(path: Path, *, komi: bool = False, owners: bool = True, score: bool = True) -> Path:
    """Write random weights for komi 6.5 to 7.5, with heads for owners and score if asked."""
    heads = {"ownership": owners, "score": score}
    return write_tower(path, SIZE, heads, encoder_parameters={"komi": komi}, komi=(6.5, 7.5))


def state_at(moves: str, **parameters: Any) -> GoState:
    return play(go(board_size=SIZE, **parameters).new_initial_state(), moves)


def answers_of(oracle: Oracle, state: GoState) -> dict[str, Any]:
    """Return a network's answers for a state, by name."""
    return oracle.infer(oracle.encoder.encode(positions_of([state]))).arrays()


@pytest.mark.slow
def test_an_analysis_has_the_networks_owners_and_score(weights: Path) -> None:
    state = state_at("C3 D3", komi=7)
    oracle = load_oracle(weights, precision="fp32")
    answers = answers_of(oracle, state)
    for name, files in (("alphazero", ("weights",)), ("alphago", ("policy", "value"))):
        more: dict[str, Any] = dict.fromkeys(files, str(weights))
        more |= {"simulations": 8, "network": {"precision": "fp32"}}
        agent = miai.make_agent(name, state.game, **more)
        search = agent.search  # type: ignore[attr-defined]  # a search's agent
        found = search.analyse(state, seconds=0.05).statistics
        assert found["ownership"] == pytest.approx(answers["ownership"].reshape(-1), abs=1e-3), name
        assert found["score"] == pytest.approx(float(answers["score"][0]), abs=1e-2)
        assert len(found["scores"]) >= 2
        for action, lead in found["scores"]:
            after = answers_of(oracle, state.child(action))["score"]
            assert lead == pytest.approx(-float(after[0]), abs=1e-2)  # for who moved
        agent.close()


@pytest.mark.parametrize(("komi", "points"), [(7, 0), (6.5, 0), (10.5, -3), (0.5, 6)])
def test_the_lead_counts_the_games_komi(weights: Path, komi: float, points: float) -> None:
    """`points` is what Black gains against the nearest komi of the training."""
    oracle = load_oracle(weights, precision="fp32")
    for moves, side in (("C3 D3", 1), ("C3", -1)):
        state = state_at(moves, komi=komi)
        _owners, lead = NetworkValuer(oracle, oracle).outlook(positions_of([state]))
        assert lead is not None
        gained = lead - answers_of(oracle, state)["score"]
        assert gained == pytest.approx(side * points, abs=1e-5)


def test_a_value_is_the_chance_of_a_score_above_zero() -> None:
    """By the definition of the logistic distribution: its chances, and its deviation."""
    rng = np.random.default_rng(1)
    owners = rng.uniform(-1, 1, (6, SIZE, SIZE)).astype(np.float32)
    owners[0], owners[1] = 1, 0  # settled, and wide open
    values = np.array([0.3, 0.3, -0.8, 0.0, 0.95, 0.99], np.float32)
    gains = np.array([3, 3, 5, -4, -6, 0], np.float32)
    found = shifted_values(values, owners, gains)
    for value, owner, gain, after in zip(values, owners, gains, found, strict=True):
        scale = (5 + 0.4 * float((1 - owner**2).sum())) ** 0.5 * 3**0.5 / math.pi
        mean = scale * math.log((1 + value) / (1 - value))
        expected = 2 / (1 + math.exp(-(mean + gain) / scale)) - 1
        assert after == pytest.approx(expected, abs=1e-5)
    assert found[0] > found[1] > values[1]
    assert found[5] == pytest.approx(0.99, abs=1e-6)


def values_of(valuer: NetworkValuer, state: GoState) -> float:
    return float(valuer.value_leaves(positions_of([state]))[1][0])


@pytest.mark.parametrize("shown", [False, True])
def test_values_beyond_the_komi_of_the_training_are_shifted(tmp_path: Path, shown: bool) -> None:
    """From the nearest komi of the training, which is all that a network that sees komi sees."""
    path = write(tmp_path / "weights.safetensors", komi=shown)
    oracle = load_oracle(path, precision="fp32")
    valuer = NetworkValuer(oracle, oracle)
    for komi, near, gain in ((6.5, 6.5, 0), (7, 7, 0), (20.5, 7.5, -13), (-2, 6.5, 8.5)):
        seen = answers_of(oracle, state_at("C3 D3", komi=near))
        expected = shifted_values(seen["value"], seen["ownership"], np.array([gain], np.float32))
        state = state_at("C3 D3", komi=komi)
        assert values_of(valuer, state) == pytest.approx(float(expected[0]), abs=1e-6)
        assert state.game.white_bonus == komi


def test_a_network_without_owners_sees_any_komi(tmp_path: Path) -> None:
    """Its values cannot be shifted, and its score needs none."""
    path = write(tmp_path / "weights.safetensors", komi=True, owners=False)
    oracle = load_oracle(path, precision="fp32")
    state = state_at("C3 D3", komi=20.5)
    seen = answers_of(oracle, state)
    value, score = float(seen["value"][0]), float(seen["score"][0])
    assert values_of(NetworkValuer(oracle, oracle), state) == pytest.approx(value)
    _owners, leads = NetworkValuer(oracle, oracle).outlook(positions_of([state]))
    assert leads == pytest.approx([score])
    weighing = NetworkValuer(oracle, oracle, score_weight=0.2)
    expected = 0.8 * value + 0.2 * np.tanh(score / SIZE)
    assert values_of(weighing, state) == pytest.approx(expected)


def test_the_policy_player_values_the_komi_of_the_game(tmp_path: Path) -> None:
    path = write(tmp_path / "weights.safetensors", komi=True)
    oracle = Ensemble(load_oracle(path, precision="fp32"))
    for komi in (7, 20.5, -2):
        state = state_at("C3 D3", komi=komi)
        network = NetworkParameters(precision="fp32")
        player = PolicyPlayer(state.game, PolicyParameters(weights=str(path), network=network))
        player.new_game(1)
        expected = values_of(NetworkValuer(oracle, oracle), state)
        assert player.search(state).value == pytest.approx(expected)


@pytest.mark.parametrize(("shown", "owners"), [(False, False), (True, False), (False, True)])
def test_a_network_that_does_not_follow_komi_says_so(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, shown: bool, owners: bool
) -> None:
    path = write(tmp_path / "weights.safetensors", komi=shown, owners=owners)
    for komi, agent in ((7.5, "policy"), (8, "policy"), (6, "alphazero")):
        game = miai.load_game("go", board_size=SIZE, komi=komi)
        miai.make_agent(agent, game, weights=str(path)).new_game(1, player=0)
        said = [str(each.message) for each in recwarn if each.category is PluginWarning]
        recwarn.clear()
        assert len(said) == (komi != 7.5 and not shown and not owners)
        assert not said or f"6.5 to 7.5, which it learnt from, not for {komi:g}" in said[0]


@pytest.mark.parametrize(("komi", "points"), [(7, 0), (9.5, -2)])
def test_the_score_is_a_share_of_the_value(weights: Path, komi: float, points: float) -> None:
    """`points` is what Black, who is to move, gains by the komi."""
    oracle, state = load_oracle(weights, precision="fp32"), state_at("C3 D3", komi=komi)
    value = values_of(NetworkValuer(oracle, oracle), state)
    score = answers_of(oracle, state)["score"]
    expected = 0.8 * value + 0.2 * np.tanh((float(score[0]) + points) / SIZE)
    valuer = NetworkValuer(oracle, oracle, score_weight=0.2)
    assert values_of(valuer, state) == pytest.approx(expected)


def after_a_pass() -> Any:
    """Return a position in which White passed; Black wins by 4.5 with a pass, too.

    If it takes a stone first it wins by 10.5.
    """
    state = position(".XXO. .XXOO .XXO. .XXOO OXXO.", to_move="white", komi=-5.5, ko="simple")
    return play(state, "pass")


def test_a_player_who_weighs_the_score_does_not_pass_yet(weights: Path) -> None:
    """A pass would win, and is the answer unless the score weighs."""
    files: dict[str, Any] = {"weights": str(weights), "network": {"precision": "fp32"}}
    state = after_a_pass()
    for weight in (0.0, 0.3):
        more = {**files, "score_weight": weight}
        agent = miai.make_agent("alphazero", state.game, simulations=8, **more)
        search = agent.search  # type: ignore[attr-defined]  # a search's agent
        search.new_game(1)
        assert (search.search(state).statistics == {}) == (weight == 0)
        analysed = search.analyse(state, seconds=0.05).statistics
        assert len(analysed["ownership"]) == SIZE * SIZE, "also where the answer is settled"
        agent.close()


def test_weights_without_a_score_cannot_weigh_it(tmp_path: Path) -> None:
    path = str(write(tmp_path / "few.safetensors", owners=False, score=False))
    agent = miai.make_agent("alphazero", go(board_size=SIZE), weights=path, score_weight=0.1)
    with pytest.raises(AgentUnavailableError, match=r"score_weight.*no score head"):
        agent.new_game(1, player=0)


# -- dead stones ----------------------------------------------------------------------------------


def judged(path: Path | str, **parameters: Any) -> Any:
    settings = {"weights": str(path), "threshold": 0.5, "playouts": 0}
    referee = {"dead_stones": "referee", "referee": "network", "referee_settings": settings}
    return go(board_size=SIZE, rules="chinese", **referee, **parameters)


def test_a_network_finds_the_chains_that_it_gives_to_the_opponent(weights: Path) -> None:
    game = judged(weights)
    state = game.new_initial_state()
    oracle = Ensemble(load_oracle(weights, precision="fp32"))
    found = []
    for ply, move in enumerate(["B2", "D4", "B3", "D2", "E5", "A1", "C3", "D3", "E1", "A4"]):
        play(state, move)
        black = (-1, 1)[ply % 2] * answers_of(oracle, state)["ownership"].reshape(-1)
        stones = state.board.stones().reshape(-1)
        expected: list[int] = []
        for chain in state.board.chains():
            own = float(black[chain].mean()) * (1 if stones[chain[0]] == 1 else -1)
            expected += chain if (1 - own) / 2 > 0.5 else []
        assert game.judge.dead_points(state) == tuple(sorted(expected))
        found += expected
    assert found


LINES = (FOLDER / "go" / "dead-stones.txt").read_text("utf-8").splitlines()
"""A game of `alphago` with itself, then the stones that GNU Go 3.8, level 10, lists as dead."""


@pytest.mark.parametrize(("moves", "dead"), zip(LINES[::2], LINES[1::2], strict=True))
def test_a_network_and_playouts_find_dead_stones_left_on_the_board(moves: str, dead: str) -> None:
    game = go(board_size=9, komi=7, rules="chinese", dead_stones="referee", referee="network")
    state = play(game.new_initial_state(), moves)
    found = game.judge.dead_points(state)
    assert sorted(state.action_to_string(point) for point in found) == dead.split()


@pytest.mark.parametrize(("size", "moves"), [(9, "C3 G7 G3 D7"), (9, "C3 G7 G3"), (5, "C3 D3")])
def test_a_board_shows_whom_the_shipped_network_expects_to_own_each_point(
    size: int, moves: str
) -> None:
    """Without a network for the size, as on 5x5, who owns it in random games."""
    state = play(go(board_size=size).new_initial_state(), moves)
    owners = playout_owners(state.board, 1000)
    if size == 9:
        oracle = load_oracle(find_weights("", size=9), size=9, precision="fp32")
        answers = Ensemble(oracle).infer(oracle.encoder.encode(positions_of([state])))
        assert answers.ownership is not None
        owners = answers.ownership[0].ravel() * (1 if state.to_move == BLACK else -1)
    shown = GoRenderer(state.game).svg_estimate(miai.PlayerView.at(state, 0))
    expected = board_picture(state.board.stones(), last=state.last_action, owners=owners)
    assert str(shown) == str(expected)


def test_a_judge_needs_weights_that_fit(tmp_path: Path) -> None:
    path = write(tmp_path / "few.safetensors", owners=False, score=False)
    with pytest.raises(WeightsError, match="no ownership head"):
        judged(path)
    with pytest.raises(MiaiError, match="nowhere"):
        judged("nowhere")
    settings = {"weights": str(write(tmp_path / "full.safetensors"))}
    with pytest.raises(MiaiError, match="weights for 5x5, not for 9x9"):
        go(board_size=9, dead_stones="referee", referee="network", referee_settings=settings)


def test_a_network_that_vanished_voids_the_game(tmp_path: Path) -> None:
    game = judged(write(tmp_path / "gone.safetensors"))
    (tmp_path / "gone.safetensors").unlink()
    with pytest.raises(RefereeError, match="network for dead stones failed"):
        game.judge.dead_points(game.new_initial_state())
