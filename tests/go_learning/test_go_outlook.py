"""What networks expect at the end: owners and scores in play, in analysis, and for dead stones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.go.positions import go, play
from tests.go_learning.go_networks_small import write_tower

import miai
from miai.errors import AgentUnavailableError, MiaiError, WeightsError
from miai.plugins.loader import PluginWarning
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import Ensemble, load_oracle
from miai_go.rules.dead_stones import RefereeError
from miai_go.rules.game import GoState
from miai_go.search.forest import NetworkValuer, shifted_values
from miai_go.search.neural import PolicyPlayer
from miai_go.search.player_parameters import NetworkParameters, PolicyParameters

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


@pytest.mark.slow
def test_an_analysis_has_the_networks_owners_and_score(weights: Path) -> None:
    state = state_at("C3 D3", komi=7)
    oracle = load_oracle(weights, precision="fp32")
    answers = oracle.infer(oracle.encoder.encode(positions_of([state])))
    assert answers.ownership is not None
    assert answers.score is not None
    players: list[tuple[str, dict[str, Any]]] = [
        ("alphazero", {"weights": str(weights)}),
        ("alphago", {"policy": str(weights), "value": str(weights)}),
    ]
    for name, files in players:
        agent = miai.make_agent(
            name, state.game, simulations=8, network={"precision": "fp32"}, **files
        )
        search = agent.search  # type: ignore[attr-defined]  # a search's agent
        found = search.analyse(state, seconds=0.05).statistics
        assert found["ownership"] == pytest.approx(answers.ownership.reshape(-1), abs=1e-3), name
        assert found["score"] == pytest.approx(float(answers.score[0]), abs=1e-2)
        assert len(found["scores"]) >= 2
        for action, lead in found["scores"]:
            after = oracle.infer(oracle.encoder.encode(positions_of([state.child(action)]))).score
            assert after is not None
            assert lead == pytest.approx(-float(after[0]), abs=1e-2)  # for who moved
        agent.close()


@pytest.mark.parametrize(("komi", "points"), [(7, 0), (6.5, 0), (10.5, -3), (0.5, 6)])
def test_the_lead_counts_the_games_komi(weights: Path, komi: float, points: float) -> None:
    """`points` is what Black gains against the nearest komi of the training."""
    oracle = load_oracle(weights, precision="fp32")
    for moves, side in (("C3 D3", 1), ("C3", -1)):
        positions = positions_of([state_at(moves, komi=komi)])
        usual = oracle.infer(oracle.encoder.encode(positions)).score
        _owners, lead = NetworkValuer(oracle, oracle).outlook(positions)
        assert usual is not None
        assert lead is not None
        assert lead - usual == pytest.approx(side * points, abs=1e-5)


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
        seen = oracle.infer(oracle.encoder.encode(positions_of([state_at("C3 D3", komi=near)])))
        assert seen.value is not None
        assert seen.ownership is not None
        expected = shifted_values(seen.value, seen.ownership, np.array([gain], np.float32))
        state = state_at("C3 D3", komi=komi)
        assert values_of(valuer, state) == pytest.approx(float(expected[0]), abs=1e-6)
        assert state.game.white_bonus == komi


def test_a_network_without_owners_sees_any_komi(tmp_path: Path) -> None:
    """Its values cannot be shifted, and its score needs none."""
    path = write(tmp_path / "weights.safetensors", komi=True, owners=False)
    oracle = load_oracle(path, precision="fp32")
    state = state_at("C3 D3", komi=20.5)
    seen = oracle.infer(oracle.encoder.encode(positions_of([state])))
    assert seen.value is not None
    assert seen.score is not None
    value, score = float(seen.value[0]), float(seen.score[0])
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
        player = PolicyPlayer(
            state.game,
            PolicyParameters(weights=str(path), network=NetworkParameters(precision="fp32")),
        )
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
    answers = oracle.infer(oracle.encoder.encode(positions_of([state])))
    assert answers.score is not None
    value = values_of(NetworkValuer(oracle, oracle), state)
    expected = 0.8 * value + 0.2 * np.tanh((float(answers.score[0]) + points) / SIZE)
    valuer = NetworkValuer(oracle, oracle, score_weight=0.2)
    assert values_of(valuer, state) == pytest.approx(expected)


BLACK = [f"{column}{row}" for column in "BC" for row in range(1, 6)]
WHITE = [*(f"D{row}" for row in range(1, 6)), "E2", "E4"]


def after_a_pass() -> Any:
    """Return a position in which White passed; Black wins by 4.5 with a pass, too.

    If it takes a stone first it wins by 10.5.
    """
    game = go(
        board_size=SIZE,
        komi=-5.5,
        ko="simple",
        black_stones=BLACK,
        white_stones=[*WHITE, "A1"],
        first_player="white",
    )
    state = game.new_initial_state()
    state.apply_action(game.pass_action)
    return state


def test_a_player_who_weighs_the_score_does_not_pass_yet(weights: Path) -> None:
    """A pass would win, and is the answer unless the score weighs."""
    files: dict[str, Any] = {"weights": str(weights), "network": {"precision": "fp32"}}
    state = after_a_pass()
    for weight in (0.0, 0.3):
        agent = miai.make_agent(
            "alphazero", state.game, simulations=8, score_weight=weight, **files
        )
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
    return miai.load_game(
        "go",
        board_size=SIZE,
        rules="chinese",
        dead_stones="referee",
        referee="network",
        referee_settings={"weights": str(path), "threshold": 0.5, "playouts": 0},
        **parameters,
    )


def test_a_network_finds_the_chains_that_it_gives_to_the_opponent(weights: Path) -> None:
    game = judged(weights)
    state = game.new_initial_state()
    oracle = Ensemble(load_oracle(weights, precision="fp32"))
    found = []
    for side, move in zip(
        (-1, 1) * 5, ["B2", "D4", "B3", "D2", "E5", "A1", "C3", "D3", "E1", "A4"], strict=True
    ):
        state.apply_action(state.string_to_action(move))
        answers = oracle.infer(oracle.encoder.encode(positions_of([state])))
        assert answers.ownership is not None
        black = side * answers.ownership[0].reshape(-1)
        stones = state.board.stones().reshape(-1)
        expected: list[int] = []
        for chain in state.board.chains():
            own = float(black[chain].mean()) * (1 if stones[chain[0]] == 1 else -1)
            expected += chain if (1 - own) / 2 > 0.5 else []
        assert game.judge.dead_points(state) == tuple(sorted(expected))
        found += expected
    assert found


GAMES = [
    (
        "E5 E7 G6 E3 C4 G3 C7 G7 H7 F6 G8 F7 G5 F5 F4 G4 E4 H8 F3 F2 J8 H9 H5 F8 G2 H2 H3 G1 H4 G2 "
        "E2 E1 D2 J3 J4 J6 J2 H6 D1 C8 B8 D8 F1 C6 B6 E1 J1 D7 B7 C5 B5 B4 D6 B9 F1 C3 D5 E1 D3 C5 "
        "F1 D4 H1 C4 C6 B2 C2 B1 A4 B3 A5 A3 C1 A8 A7 C9 A9 J7 A8 E6 A2 A1 A2 J9 J5 G9 E9 F9 E8 D9 "
        "E9 E8 G2 G4 G3 C4 D4 B3 A3 B4 B2 C5 pass B1 pass pass",
        "B1 B3 B4 C4 C5",
    ),
    (
        "E5 E7 G6 E3 C4 G3 C7 G7 H7 F6 G5 F5 F4 G4 E4 H8 F3 F2 E2 G2 G8 F7 J8 H9 G9 H6 J9 H5 D8 C6 "
        "B6 D7 B8 C5 B5 D3 D2 C3 C2 B3 D4 B2 B4 E1 E8 F8 F9 J6 A3 D1 A2 C1 D6 H8 H9 J7 E6 H8 E9 H7 "
        "A4 B1 A1 pass D5 pass C9 pass A9 pass A7 pass A5 pass C5 pass G5 G6 D2 E2 H4 H3 J4 J3 G1 "
        "J5 H1 H2 J1 J2 H4 J4 pass pass",
        "D2 G1 H1 J1",
    ),
]
"""Games of `alphago` with itself, and the stones that GNU Go 3.8, level 10, lists as dead."""


@pytest.mark.parametrize(("moves", "dead"), GAMES)
def test_a_network_and_playouts_find_dead_stones_left_on_the_board(moves: str, dead: str) -> None:
    game = go(board_size=9, komi=7, rules="chinese", dead_stones="referee", referee="network")
    state = game.new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    found = game.judge.dead_points(state)
    assert sorted(state.action_to_string(point) for point in found) == dead.split()


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
