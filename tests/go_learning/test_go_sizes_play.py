"""One weights file on boards of several sizes: ONNX, players, GTP, the server, commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.go_learning.go_commands import run
from tests.go_learning.go_networks_small import small_file
from tests.go_learning.go_sizes_small import by_hand, planes_of, small_weights, write_sets
from tests.go_learning.gtp_controllers import Talk

import miai
from miai.errors import MiaiError, WeightsError
from miai_go.commands.weights import export_checked
from miai_go.errors import InferenceError
from miai_go.gtp.players import player_maker
from miai_go.learning.data.dataset import GoDataset
from miai_go.nets.dead_stones import NetworkJudge
from miai_go.nets.inference import load_oracle
from miai_go.nets.network import WeightsHeader, load_weights
from miai_go.nets.network_parameters import ExportParameters, NetworkJudgeParameters
from miai_go.nets.onnx_export import export_onnx
from miai_go.nets.oracle import Answers
from miai_go.rules.game import GoGame

SIZES = (7, 9, 13)
BETWEEN = 8
"""A size for which the network would work, but was not trained."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = tmp_path_factory.mktemp("weights") / "net.safetensors"
    small_weights(weights, SIZES)
    return weights


@pytest.fixture(scope="module")
def exports(path: Path) -> dict[str, Path]:
    """Exports in both precisions; that in int8 is where `auto` looks for it."""
    files = {"fp32": path.with_suffix(".onnx"), "int8": path.with_suffix(".int8.onnx")}
    result = export_checked(path, files["fp32"], ExportParameters(positions=96))
    assert result.positions == 96
    assert set(result.differences) == {"policy", "value", "ownership", "score"}
    export_onnx(load_weights(path), files["int8"], precision="int8", positions=96)
    return files


def softmax(logits: Any) -> Any:
    powers = np.exp(np.asarray(logits) - np.asarray(logits).max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def assert_near(answers: Answers, expected: dict[str, Any], *, tolerance: float) -> None:
    arrays = answers.arrays()
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        wanted = expected[name].numpy()
        if name == "policy":
            array, wanted = softmax(array), softmax(wanted)
        scale = max(np.abs(wanted).max(), 1.0)
        np.testing.assert_allclose(array / scale, wanted / scale, atol=tolerance, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_an_export_answers_on_each_size(path: Path, exports: dict[str, Path], size: int) -> None:
    planes = planes_of(size)
    expected = by_hand(path, planes)
    fine = load_oracle(exports["fp32"], size=size)
    assert_near(fine.infer(planes), expected, tolerance=1e-5)
    assert_near(fine.infer(planes[:1]), {n: a[:1] for n, a in expected.items()}, tolerance=1e-5)
    coarse = load_oracle(path, size=size, precision="int8")
    assert coarse.precision == "int8"
    assert_near(coarse.infer(planes), expected, tolerance=0.25)


@pytest.mark.slow
def test_an_export_is_for_the_sizes_of_its_weights(exports: dict[str, Path]) -> None:
    for file in exports.values():
        with pytest.raises(WeightsError, match=f"for 7x7, 9x9 and 13x13, not for {BETWEEN}x"):
            load_oracle(file, size=BETWEEN)
        with pytest.raises(WeightsError, match="say which size"):
            load_oracle(file)
    with pytest.raises(InferenceError, match="planes of uint8 and shape"):
        load_oracle(exports["fp32"], size=7).infer(planes_of(9))


@pytest.mark.slow
def test_a_model_whose_axes_do_not_fit_its_header_is_refused(
    path: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    header = WeightsHeader.read(path)
    free, fixed = onnx.load(exports["fp32"]), onnx.load(exports["fp32"])
    for axis in (2, 3):
        fixed.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = 7
    (entry,) = (e for e in free.metadata_props if e.key == header.KEY)
    entry.value = header.model_copy(update={"size": 7}).to_json()
    for model in (free, fixed):
        onnx.save(model, tmp_path / "model.onnx")
        with pytest.raises(WeightsError, match=r"its 'planes' is .* does not fit its header"):
            load_oracle(tmp_path / "model.onnx", size=7)


def with_policy(model: onnx.ModelProto, *nodes: onnx.NodeProto) -> onnx.ModelProto:
    """Return a model whose policy is made by nodes from the former one, called 'former'."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for node in changed.graph.node:
        for names in (node.input, node.output):
            names[:] = ["former" if name == "policy" else name for name in names]
    for name, number in (("zero", 0), ("one", 1), ("five", 5)):
        changed.graph.initializer.append(onnx.numpy_helper.from_array(np.array([number]), name))
    changed.graph.node.extend(nodes)
    return changed


@pytest.mark.slow
def test_answers_of_a_wrong_shape_reach_no_search(exports: dict[str, Path], tmp_path: Path) -> None:
    node = onnx.helper.make_node
    long = node("Concat", ["former"] * 40, ["policy"], axis=1)
    short = node("Slice", ["former", "zero", "five", "one"], ["policy"])
    many = node("Concat", ["former"] * 2, ["policy"], axis=0)
    for precision in ("fp32", "int8"):
        model = onnx.load(exports[precision])
        for wrong, shape in ((long, (12, 2000)), (short, (12, 5)), (many, (24, 50))):
            onnx.save(with_policy(model, wrong), tmp_path / "model.onnx")
            oracle = load_oracle(tmp_path / "model.onnx", size=7)
            with pytest.raises(InferenceError, match=r"model\.onnx: its policy for") as error:
                oracle.infer(planes_of(7))
            assert f"12 positions on 7x7 has shape {shape}, not (12, 50)" in str(error.value)


@pytest.mark.parametrize("name", ["policy", "alphazero", "alphago"])
def test_players_obey_the_range(path: Path, name: str) -> None:
    keys = ("policy", "value") if name == "alphago" else ("weights",)
    values: dict[str, Any] = {**dict.fromkeys(keys, str(path)), "network": {"precision": "fp32"}}
    if name != "policy":
        values["simulations"] = 4
    for size in (7, 13):
        game = miai.load_game("go", board_size=size, komi=7, max_moves=3)
        agents = [miai.make_agent(name, game, **values) for _ in range(2)]
        record = miai.play(game, agents, seed=1)
        assert 2 <= len(record.moves) <= 3
    agent = miai.make_agent(name, miai.load_game("go", board_size=BETWEEN), **values)
    with pytest.raises(MiaiError, match="weights for 7x7, 9x9 and 13x13, not for 8x8"):
        agent.new_game(1, player=0)


def test_a_judge_of_dead_stones_obeys_the_range(path: Path) -> None:
    parameters = NetworkJudgeParameters(weights=str(path))
    for size in (7, 13):
        game = miai.load_game("go", board_size=size)
        assert isinstance(game, GoGame)
        assert NetworkJudge(game, parameters).dead_points(game.new_initial_state()) == ()
    game = miai.load_game("go", board_size=BETWEEN)
    assert isinstance(game, GoGame)
    with pytest.raises(WeightsError, match="not for 8x8"):
        NetworkJudge(game, parameters)


def test_boardsize_obeys_the_range(path: Path) -> None:
    values = {"weights": str(path), "network": {"precision": "fp32"}, "simulations": 4}
    talk = Talk("alphazero", maker=player_maker("alphazero", values), board_size=9)
    for size in (7, 13, 9):
        talk.ok(f"boardsize {size}")
        assert talk.ok("genmove b")
        assert len(talk.ok("kata-raw-nn 0").splitlines()) > 2 * size
    assert "not for 8x8" in talk.fails("boardsize 8")
    assert talk.ok("genmove w"), "the game before goes on"


@pytest.mark.slow
def test_commands_show_sizes_and_obey_them(path: Path, tmp_path: Path) -> None:
    assert "board    7x7, 9x9 and 13x13, komi 5.5 to 7.5" in run("weights", "show", path)
    assert json.loads(run("weights", "show", path, "--json"))["size"] == [7, 9, 13]
    out = tmp_path / "own"
    play = ("data", "play", "--weights", path, "--out", out, "--precision", "fp32")
    few = ("--games-a-shard", 6, "--simulations", 2, "--fast-simulations", 1, "--max-moves", 8)
    small = small_file(tmp_path / "small.safetensors", "tower", height=1, width=8)
    blind = ("data", "play", "--weights", small, "--out", tmp_path / "blind", *few)
    with pytest.raises(MiaiError, match=r"--komi-spread 2: .*small.* cannot follow komi"):
        run(*blind, "--precision", "fp32", "--games", 6, "--komi-spread", 2)
    played = run(*play, *few, "--games", 6, "--sizes", "7,9", "--workers", 1)
    assert "6  games played" in played
    assert {child.name for child in out.iterdir()} == {"7x7", "9x9"}
    rows = json.loads(run("data", "stats", out, "--json"))
    assert [row["size"] for row in rows] == [7, 9]
    assert sum(row["games"] for row in rows) == 6
    assert "games of 9x9" in run("data", "stats", out)
    with pytest.raises(WeightsError, match="not for 8x8"):
        run(*play, *few, "--sizes", "7-9")
    annotated = ("--out", tmp_path / "annotated", "--weights", path, "--simulations", 2)
    run("data", "annotate", out / "7x7", *annotated, "--precision", "fp32", "--workers", 1)
    assert GoDataset(tmp_path / "annotated").size == 7
    with pytest.raises(MiaiError, match="games of 7x7 and 9x9, where one size of board"):
        run("data", "annotate", out, *annotated)
    sets = write_sets(tmp_path / "sets", 7, 13)
    assert json.loads(run("eval", path, sets, "--positions", 3, "--json"))["positions"] == 3
    figures = json.loads(run("eval", path, sets, "--json"))
    assert [row["board"] for row in figures["by_size"]] == ["7x7", "13x13"]
    assert figures["positions"] == sum(row["positions"] for row in figures["by_size"])
    assert "by size" in run("eval", path, sets)
    assert "by size" not in run("eval", path, sets / "7x7")
