"""The weights that come with the distribution: what they say they are, and that they win."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")

import miai
from miai.api import opponents_of
from miai.errors import WeightsError
from miai_go import shipped
from miai_go.learning.training.config_sections import EncoderSection, NetworkSection
from miai_go.learning.training.initial_network import make_network
from miai_go.nets import inference
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import export_beside, load_oracle, prefers_int8
from miai_go.nets.network import WeightsHeader, load_weights
from miai_go.nets.onnx_oracle import OnnxOracle
from miai_go.nets.patterns import PatternPolicy
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.rules.game import GoState
from miai_go.shipped import FOLDER, find_weights, shipped_names

SUMS = {
    name: digest
    for digest, name in (line.split() for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
}
NETWORKS = [name for name in shipped_names() if not name.startswith("rollout")]


def test_checksums_are_those_of_the_files() -> None:
    files = [*FOLDER.glob("*.safetensors"), *FOLDER.glob("*.onnx")]
    assert set(SUMS) == {path.name for path in files}
    for name, digest in SUMS.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_there_are_weights_for_every_player() -> None:
    assert shipped_names() == ["policy-7-13", "rollout-9x9"]
    for size in range(7, 14):
        header = WeightsHeader.read(find_weights("", size=size))
        assert size in header.sizes
        assert header.outputs == ("policy", "value", "ownership", "score")
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 4 * 10**6


def test_a_network_is_found_for_each_size_that_one_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = ("policy-7-13", "policy-9x9", "policy-15x15")
    for name in (*networks, "policy-rl-8x8", "rollout-14x14", "zero-6x6"):
        (tmp_path / f"{name}.safetensors").touch()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    found = {size: find_weights("", size=size).stem for size in (*range(7, 14), 15)}
    assert found == dict.fromkeys(range(7, 14), "policy-7-13") | {15: "policy-15x15"}
    assert find_weights("zero-6x6", size=6).stem == "zero-6x6"
    for size in (6, 14, 19):
        with pytest.raises(WeightsError, match=f"no network for {size}x{size} is shipped"):
            find_weights("", size=size)


@pytest.mark.parametrize("export", sorted(FOLDER.glob("*.onnx")), ids=lambda path: path.name)
def test_exports_are_of_the_weights_beside_them(export: Path) -> None:
    """`miai go export NAME --onnx FILE --precision int8` makes them again."""
    weights = FOLDER / f"{export.name.partition('.')[0]}.safetensors"
    assert export_beside(weights) == export
    header = WeightsHeader.read(weights)
    for size, komi in zip((7, 10, 13), (*header.komi, 7), strict=True):
        exported = load_oracle(export, size=size)
        own = load_oracle(weights, precision="fp32", size=size)
        assert exported.header.sha256 == header.sha256
        state = miai.load_game("go", board_size=size, komi=komi).new_initial_state()
        for move in ("E5", "E3", "G4"):
            state.apply_action(state.string_to_action(move))
        assert isinstance(state, GoState)
        planes = own.encoder.encode(positions_of([state]))
        coarse, fine = exported.infer(planes), own.infer(planes)
        assert coarse.policy is not None
        assert fine.policy is not None
        assert coarse.value == pytest.approx(fine.value, abs=0.08), (size, komi)
        assert np.abs(_softmax(coarse.policy) - _softmax(fine.policy)).max() < 0.1
        assert len(np.unique(coarse.policy)) == coarse.policy.size, "no two moves are rated equal"


@pytest.mark.parametrize(
    ("size", "libraries", "int8", "plays"),
    [
        (9, {"torch"}, False, True),
        (9, {"onnxruntime"}, True, True),
        (9, {"onnxruntime"}, False, False),
        (9, set(), True, False),
        (13, {"onnxruntime"}, True, True),
        (19, {"torch", "onnxruntime"}, True, False),
    ],
)
def test_opponents_with_networks_are_offered_where_they_can_play(
    size: int, libraries: set[str], int8: bool, plays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "find_spec", lambda name: name in libraries or None)
    monkeypatch.setattr(inference, "prefers_int8", lambda: int8)
    agents = [o.agent for o in opponents_of(miai.load_game("go", board_size=size))]
    assert agents == ["fast-random", *["mcts"] * 4, *["alphago"] * (2 * plays)]


def test_int8_is_taken_where_it_is_faster() -> None:
    game = miai.load_game("go", board_size=9)
    for name in ("alphago", "policy"):
        agent = miai.make_agent(name, game)
        agent.new_game(1, player=0)
        oracle = agent.search.oracle  # type: ignore[attr-defined]  # a search's agent
        assert type(oracle) is (OnnxOracle if prefers_int8() else TorchOracle)
        agent.close()


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max())
    chances: NDArray[np.float32] = powers / powers.sum()
    return chances


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_say_what_made_them(name: str) -> None:
    header = WeightsHeader.read(find_weights(name))
    assert header.licence
    assert header.history
    for record in header.history:
        assert record.date
        if record.command.startswith("miai go calibrate "):
            assert record.data
            continue
        config = re.search(r"miai go train \w+ (\S+\.toml)", record.command)
        assert config, record.command
        assert Path("configs", config[1]).is_file()
        assert "/" not in record.command.replace(config[1], "")
        assert record.steps > 0
    assert load_weights(find_weights(name), size=header.sizes[0]).header == header


STARTS = [
    path
    for path in sorted((Path(__file__).parents[2] / "configs").glob("go-*.toml"))
    if tomllib.loads(path.read_text("utf-8")).get("network", {}).get("start") in shipped_names()
]


def test_configs_start_from_shipped_weights() -> None:
    assert {path.stem for path in STARTS} >= {"go-rl", "go-sizes", "go-value", "go-zero-9x9"}


@pytest.mark.parametrize("path", STARTS, ids=lambda path: path.stem)
def test_a_network_that_starts_from_shipped_weights_is_made(path: Path) -> None:
    config = tomllib.loads(path.read_text("utf-8"))
    network = NetworkSection.model_validate(config["network"])
    encoder = EncoderSection.model_validate(config["encoder"])
    size = config["data" if "data" in config else "game"]["size"]
    _network, encoders, header = make_network(size, encoder, network, seed=1)
    start = WeightsHeader.read(find_weights(network.start))
    assert header.encoder_parameters == start.encoder_parameters
    assert {e.planes for e in encoders.values()} == {start.planes}


def test_the_rollout_policy_says_what_made_it() -> None:
    header = PatternPolicy.load(find_weights("rollout-9x9"), size=9).header
    assert header.licence
    assert "go-rollout.toml" in header.history[-1].command


@pytest.mark.slow
def test_a_short_match_is_won() -> None:
    """Without an error every game against random moves is won, with either colour."""
    game = miai.load_game("go", board_size=9, komi=7.0)
    player = miai.make_agent("alphazero", game, simulations=8)
    other = miai.make_agent("fast-random", game)
    for seed in range(2):
        black, white = (player, other) if seed == 0 else (other, player)
        record = miai.play(game, [black, white], seed=seed)
        assert record.returns[seed] == 1, f"seed {seed}"
    player.close()
