"""One network for boards of several sizes, from games to play."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from tests.go_learning import go_sizes_small
from tests.go_learning.go_commands import run
from tests.go_learning.go_data_games import random_game, sgf_of
from tests.go_learning.go_forest_slow import Judged, random_judge
from tests.go_learning.go_networks_small import small_file
from tests.go_learning.go_training_games import Interrupting, config_text
from tests.go_learning.gtp_controllers import Talk
from tests.go_learning.test_go_training import tensors_at, train

import miai
from miai.errors import ConfigError, MiaiError, ParameterError, WeightsError
from miai.parameters import build_parameters, describe_parameters
from miai.tensors import read_tensors
from miai_go.commands.weights import export_checked
from miai_go.errors import DataError, InferenceError, TrainingError
from miai_go.gtp.players import player_maker
from miai_go.learning.data.batches import Batch
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import Shard, open_shards, sets_in
from miai_go.learning.selfplay.tree_games import SelfPlayPlan, play_set
from miai_go.learning.training.config_sections import DataSection, NetworkSection
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.measuring import evaluate_weights, measure
from miai_go.learning.training.rollout_policy import RolloutConfig, train_rollout
from miai_go.learning.training.run_folder import load_plan
from miai_go.learning.training.supervised import SupervisedConfig, train_supervised
from miai_go.nets.dead_stones import NetworkJudge
from miai_go.nets.encoders import ZeroEncoder
from miai_go.nets.inference import load_oracle
from miai_go.nets.network import Outputs, WeightsHeader, load_weights, save_weights
from miai_go.nets.network_parameters import ExportParameters, NetworkJudgeParameters
from miai_go.nets.onnx_export import export_onnx
from miai_go.nets.oracle import Answers
from miai_go.rules.board import Board
from miai_go.rules.game import GoGame
from miai_go.rules.sizes import board_names, parse_sizes

SIZES = (5, 6, 7)
# Names of sizes


def test_sizes_are_read_and_named() -> None:
    assert parse_sizes("9") == (9,)
    assert parse_sizes("7-10") == (7, 8, 9, 10)
    assert parse_sizes("13, 7-9,8") == (7, 8, 9, 13)
    assert board_names(9) == "9x9"
    assert board_names((7, 8)) == "7x7 and 8x8"
    assert board_names((13, 7, 9)) == "7x7, 9x9 and 13x13"
    assert board_names(range(7, 14)) == "7x7 to 13x13"
    for wrong in ("", "0", "26", "9-7", "9,8-7", "7-", "-7", "a", "7--9", "²", "9" * 5000, "009"):
        with pytest.raises(ConfigError, match="write 9, 7-13 or 9,13,19"):
            parse_sizes(wrong)


# Weights


def test_a_header_states_one_size_as_before_or_several(tmp_path: Path) -> None:
    header = go_sizes_small.small_weights(tmp_path / "several.safetensors", SIZES)
    assert header.sizes == SIZES
    assert json.loads(header.to_json())["size"] == list(SIZES)
    one = WeightsHeader.model_validate({**header.model_dump(), "size": [5]})
    assert json.loads(one.to_json())["size"] == 5
    for sizes, stated in (((5,), 5), ((7, 5), [5, 7])):
        copy = header.model_copy(update={"size": sizes})
        assert json.loads(copy.to_json())["size"] == stated
    for size in ([], [0], [5, 26], 5.0, True, "5", None, [5.0], [True, 5], ["5"], [[5]], {5: 6}):
        with pytest.raises(ValueError, match="size"):
            WeightsHeader.model_validate({**header.model_dump(), "size": size})
    for model, unit in ((SelfPlayPlan, None), (DataSection, "points")):
        (row,) = (r for r in describe_parameters(model) if r["name"] == "size")
        assert (row["type"], row["unit"]) == ("integer or array", unit)
        assert row["limits"] == {"minimum": 1, "maximum": 25}
    with pytest.raises(ParameterError, match=r"^size: a size from 1 to 25, or a list of such .*$"):
        build_parameters(SelfPlayPlan, {"weights": "w", "size": [7, 26]})


def test_weights_are_loaded_for_their_sizes_only(tmp_path: Path) -> None:
    path = tmp_path / "several.safetensors"
    go_sizes_small.small_weights(path, SIZES)
    for size in SIZES:
        assert load_oracle(path, size=size).encoder.size == size
        load_weights(path, size=size)
    for load in (load_weights, load_oracle):
        with pytest.raises(WeightsError, match="weights for 5x5 to 7x7, not for 9x9"):
            load(path, size=9)
    with pytest.raises(WeightsError, match="weights for 5x5 to 7x7; say which size"):
        load_oracle(path)


@pytest.mark.parametrize("size", SIZES)
def test_answers_on_each_size_are_those_of_the_layers(tmp_path: Path, size: int) -> None:
    path = tmp_path / "several.safetensors"
    go_sizes_small.small_weights(path, SIZES)
    planes = go_sizes_small.planes_of(size)
    expected = go_sizes_small.by_hand(path, planes)
    answers = load_oracle(path, size=size, precision="fp32").infer(planes).arrays()
    assert answers.keys() == expected.keys()
    for name, array in answers.items():
        np.testing.assert_allclose(array, expected[name].numpy(), rtol=1e-4, atol=1e-4)


# Networks that one size of board is built into


def test_a_head_for_one_size_is_refused_for_several() -> None:
    network = NetworkSection(name="tower", parameters={"width": 8, "value": "dense"})
    make_network(5, go_sizes_small.ZERO, network, seed=1)
    make_network((5,), go_sizes_small.ZERO, network, seed=1)
    with pytest.raises(TrainingError, match=r"cannot learn 5x5 and 6x6 .* of its value; use"):
        make_network((5, 6), go_sizes_small.ZERO, network, seed=1)


def test_a_start_may_be_for_other_sizes_if_it_depends_on_none(tmp_path: Path) -> None:
    path = tmp_path / "start.safetensors"
    before = go_sizes_small.small_weights(path, (5,))
    network = NetworkSection(name="tower", parameters=go_sizes_small.TOWER, start=str(path))
    built, encoders, header = make_network((6, 7), go_sizes_small.ZERO, network, seed=9)
    assert (header.sizes, set(encoders), before.sizes) == ((6, 7), {6, 7}, (5,))
    for name, tensor in built.state_dict().items():
        assert tensor.numpy().tobytes() == read_tensors(path)[0][name].tobytes()
    assert make_network(7, go_sizes_small.ZERO, network, seed=9)[2].size == 7
    dense, _encoders, old = make_network(5, go_sizes_small.ZERO, NetworkSection(), seed=2)
    save_weights(path, dense, old)
    with pytest.raises(TrainingError, match=r"network.start: 'tower' .* 5x5 and 6x6 .* its value"):
        make_network(6, go_sizes_small.ZERO, NetworkSection(start=str(path)), seed=9)


# Games


Key = tuple[int, bytes, int]


def keys_of(data: GoDataset, batch: Batch) -> list[Key]:
    """Return what identifies the positions of a batch: size, game and ply."""
    names = data.names()
    numbers = zip(batch.game.tolist(), batch.ply.tolist(), strict=True)
    return [(batch.size, names[game].tobytes(), ply) for game, ply in numbers]


def columns(batch: Batch) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each position of a batch."""
    named = {f.name: getattr(batch, f.name) for f in fields(batch) if f.name != "game"}
    arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
    return [{name: array[row] for name, array in arrays.items()} for row in range(len(batch))]


def mixed(folder: Path) -> GoDataset:
    encoders = {size: ZeroEncoder(size) for size in SIZES}
    return GoDataset(go_sizes_small.write_sets(folder, *SIZES), encoder=encoders, seed=4)


def test_positions_of_several_sizes_are_the_union_of_those_of_each(tmp_path: Path) -> None:
    data = mixed(tmp_path)
    assert data.sizes == SIZES
    assert len(data) == 24
    seen: dict[Key, dict[str, NDArray[Any]]] = {}
    for batch in data.batches(16, seed=1, symmetries=False):
        assert batch.planes is not None
        assert batch.planes.shape[2:] == (batch.size, batch.size)
        for key, row in zip(keys_of(data, batch), columns(batch), strict=True):
            assert key not in seen
            seen[key] = row
    for size in SIZES:
        single = GoDataset(tmp_path / f"{size}x{size}", encoder=ZeroEncoder(size))
        for batch in single.batches(16, seed=2, symmetries=False):
            for key, row in zip(keys_of(single, batch), columns(batch), strict=True):
                other = seen.pop(key)
                assert other.keys() == row.keys()
                for name, values in row.items():
                    np.testing.assert_array_equal(other[name], values)
    assert not seen


def test_sizes_take_turns_by_the_seed(tmp_path: Path) -> None:
    data = mixed(tmp_path)

    def turns(seed: int, epoch: int = 0, **options: Any) -> list[tuple[int, int]]:
        stream = data.batches(16, seed=seed, epoch=epoch, **options)
        return [(batch.size, len(batch)) for batch in stream]

    whole = turns(1)
    assert turns(1) == whole
    assert whole != turns(2)
    assert whole != turns(1, 1)
    assert [size for size, _count in whole] != sorted(size for size, _count in whole)
    assert [size for size, _ in turns(1, shuffle=False)] == sorted(size for size, _ in whole)
    kept = turns(1, drop_last=True)
    assert {count for _size, count in kept} == {16}
    assert {size for size, _count in kept} == set(SIZES)
    huge = [(b.size, len(b)) for b in data.batches(10_000, drop_last=True)]
    assert sorted(size for size, _ in huge) == list(SIZES), "sizes without a whole batch"


def test_the_komi_of_a_split_is_that_of_its_games(tmp_path: Path) -> None:
    games = [replace(random_game(n, length=12), half_komi=n) for n in range(40)]
    shards = [Shard.of(games)]
    parts: Any = {"fractions": (0.6, 0.2, 0.2)}
    train, test = (GoDataset.of_shards(shards, split=s, **parts) for s in ("train", "test"))
    everything = sorted([*train.komi(), *test.komi()])
    assert len(everything) < 40
    assert set(everything) < {n / 2 for n in range(40)}
    low, high = train.komi_range()
    assert {low, high} <= set(train.komi().tolist())
    assert (train.komi() < low).sum() <= 0.05 * len(train)
    assert (train.komi() > high).sum() <= 0.05 * len(train)


def test_sgf_of_several_sizes_is_imported(tmp_path: Path) -> None:
    for size in (5, 6, 7):
        for game in go_sizes_small.games_of(size, 2):
            text = sgf_of(game.moves.tolist(), size=size)
            (tmp_path / f"{size}-{len(game.moves)}.sgf").write_bytes(text)
    encoders = {size: ZeroEncoder(size) for size in (5, 7)}
    data = GoDataset(tmp_path, encoder=encoders)
    assert data.board_sizes().tolist() == [5, 5, 7, 7]
    assert data.report is not None
    assert data.report.dropped == {"another board size": 2}


# Lessons


def config_of(folder: Path) -> Path:
    path = folder / "sizes.toml"
    games = go_sizes_small.write_sets(folder / "games", *SIZES)
    path.write_text(config_text("sizes", games=games), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_mixed_training_resumes_and_is_the_same_wherever_lessons_are_made(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    whole = train(config, tmp_path / "whole")
    plan = load_plan(config, SupervisedConfig, command="train sl", out=tmp_path / "broken")
    with pytest.raises(KeyboardInterrupt):
        train_supervised(plan, journal=Interrupting(tmp_path / "broken", step=15), ahead=0)
    resumed = train(config, tmp_path / "broken")
    on_device = train(config, tmp_path / "resident", "data.resident=true")
    assert tensors_at(whole.weights) == tensors_at(resumed.weights)
    assert tensors_at(whole.weights) == tensors_at(on_device.weights)
    assert WeightsHeader.read(whole.weights).sizes == SIZES
    rows = [row.split(",") for row in (tmp_path / "whole/log.csv").read_text().splitlines()[1:]]
    positions = {row[1]: float(row[2]) for row in rows if row[1].endswith("positions")}
    whole_set = positions.pop("validation_positions")
    assert set(positions) == {"validation_5x5_positions", "validation_7x7_positions"}
    assert sum(positions.values()) == whole_set == 78


def test_a_size_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.size: .* no game of 8x8 to train on"):
        train(config_of(tmp_path), tmp_path / "run", "data.size=[5,6,7,8]")
    with pytest.raises(DataError, match="games on 7x7, but the encoder is for 5x5 and 6x6"):
        train(config_of(tmp_path / "."), tmp_path / "run", "data.size=[5,6]")
    with pytest.raises(ConfigError, match=r"data.size.*from 1 to 25"):
        train(config_of(tmp_path / "."), tmp_path / "run", "data.size=[5,26]")


def test_a_rollout_policy_learns_one_size(tmp_path: Path) -> None:
    path = tmp_path / "rollout.toml"
    path.write_text(f'[data]\nsources = ["{tmp_path}"]\nsize = [5, 6]\n', encoding="utf-8")
    plan = load_plan(path, RolloutConfig, command="train rollout", out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"a rollout policy takes one size .* not 5x5 and 6x6"):
        train_rollout(plan)


def test_measures_are_told_of_each_size_and_together(tmp_path: Path) -> None:
    path = tmp_path / "several.safetensors"
    go_sizes_small.small_weights(path, SIZES)
    sets = go_sizes_small.write_sets(tmp_path / "sets", *SIZES)
    together = evaluate_weights(str(path), [sets])
    rows = {name: part.figures() for name, part in together.parts().items()}
    assert list(rows) == ["5x5", "6x6", "7x7"]
    for size in SIZES:
        oracle = load_oracle(path, size=size, precision="fp32")
        single = GoDataset(sets / f"{size}x{size}", encoder=oracle.encoder)
        alone = measure(
            lambda planes, own=oracle: Outputs(  # type: ignore[misc]
                **{n: torch.from_numpy(a) for n, a in own.infer(planes).arrays().items()}
            ),
            single,
        ).figures()
        row = rows[f"{size}x{size}"]
        assert {name: row[name] for name in alone} == pytest.approx(alone, rel=1e-5)
    share = sum(row["top1"] * row["positions"] for row in rows.values())
    assert together.figures()["top1"] == pytest.approx(share / together.figures()["positions"])
    assert not evaluate_weights(str(path), [sets / "6x6"]).parts()
    with pytest.raises(DataError, match="games on 8x8, but the encoder is for 5x5 to 7x7"):
        evaluate_weights(str(path), [go_sizes_small.write_sets(tmp_path / "eight", 8)])


# Self-play


def judges(*sizes: int) -> list[dict[int, Judged]]:
    return [{size: Judged(random_judge(size, seed=1)) for size in sizes}]


def own_plan(**settings: Any) -> SelfPlayPlan:
    values = {"weights": "judge", "size": [2, 3, 4], "komi": 0.5, "komi_spread": 1.0, "seed": 5}
    values |= {"simulations": 6, "fast_simulations": 2, "full_share": 0.4, "games_a_shard": 12}
    return SelfPlayPlan.model_validate({**values, **settings})


def test_games_are_of_the_sizes_that_the_seed_draws(tmp_path: Path) -> None:
    assert play_set(own_plan(), 30, judges(2, 3, 4), tmp_path) == 36, "whole rounds"
    assert [path.name for path in sets_in(tmp_path)] == ["2x2", "3x3", "4x4"]
    data = GoDataset(tmp_path)
    counts = np.bincount(data.board_sizes(), minlength=5)[2:]
    assert counts.sum() == 36
    assert counts.min() >= 4, "about 12 of each"
    assert len(set(counts.tolist())) > 1, "drawn, not dealt"
    komi = set()
    for index in range(len(data)):
        game = data.game(index)
        board = Board(game.size)
        for ply, move in enumerate(game.moves.tolist()):
            if move < game.size**2:
                assert move in board.legal_points(ply % 2)
                board.play(ply % 2, move)
        passed = game.moves[-2:].tolist() == [game.size**2] * 2
        assert passed or len(game.moves) == 3 * game.size**2 // 2
        assert game.margin == board.area_score() - game.half_komi / 2
        komi.add(game.half_komi)
    assert komi == {-1, 0, 1, 2, 3}


@pytest.mark.slow
def test_sets_of_several_sizes_are_resumed_with_any_number_of_workers(tmp_path: Path) -> None:
    play_set(own_plan(), 36, 2 * judges(2, 3, 4), tmp_path / "whole")

    def stop(games: int) -> None:
        if games >= 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_set(own_plan(), 24, 2 * judges(2, 3, 4), tmp_path / "parts", progress=stop)
    before = len(GoDataset(tmp_path / "parts"))
    assert 14 <= before < 24
    assert play_set(own_plan(), 24, judges(2, 3, 4), tmp_path / "parts") == 24 - before
    assert play_set(own_plan(), 36, judges(2, 3, 4), tmp_path / "parts") == 12
    assert play_set(own_plan(), 36, judges(2, 3, 4), tmp_path / "parts") == 0
    for size in (2, 3, 4):
        whole, parts = (open_shards(tmp_path / n / f"{size}x{size}") for n in ("whole", "parts"))
        columns = [[s.manifest and s.manifest.columns for s in shards] for shards in (whole, parts)]
        assert columns[0] == columns[1]
    with pytest.raises(DataError, match="seed differ"):
        play_set(own_plan(seed=6), 12, judges(2, 3, 4), tmp_path / "parts")
    other = own_plan(size=[6, 7], seed=6)
    with pytest.raises(DataError, match=r"2x2.000000: .* \(seed, size differ\); use another fol"):
        play_set(other, 12, judges(6, 7), tmp_path / "parts")
    assert not (tmp_path / "parts" / "6x6").exists()
    with pytest.raises(DataError, match="has sets of several sizes"):
        play_set(own_plan(size=4), 12, judges(4), tmp_path / "parts")
    play_set(own_plan(size=4), 12, judges(4), tmp_path / "one")
    with pytest.raises(DataError, match="has games of one size"):
        play_set(own_plan(), 12, judges(2, 3, 4), tmp_path / "one")


# -- ONNX, players, GTP, the server, commands ------------------------------------------------------


PLAYED = (7, 9, 13)
BETWEEN = 8
"""A size for which the network would work, but was not trained."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = tmp_path_factory.mktemp("weights") / "net.safetensors"
    go_sizes_small.small_weights(weights, PLAYED)
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
@pytest.mark.parametrize("size", PLAYED)
def test_an_export_answers_on_each_size(path: Path, exports: dict[str, Path], size: int) -> None:
    planes = go_sizes_small.planes_of(size)
    expected = go_sizes_small.by_hand(path, planes)
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
        load_oracle(exports["fp32"], size=7).infer(go_sizes_small.planes_of(9))


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
                oracle.infer(go_sizes_small.planes_of(7))
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
    sets = go_sizes_small.write_sets(tmp_path / "sets", 7, 13)
    assert json.loads(run("eval", path, sets, "--positions", 3, "--json"))["positions"] == 3
    figures = json.loads(run("eval", path, sets, "--json"))
    assert [row["board"] for row in figures["by_size"]] == ["7x7", "13x13"]
    assert figures["positions"] == sum(row["positions"] for row in figures["by_size"])
    assert "by size" in run("eval", path, sets)
    assert "by size" not in run("eval", path, sets / "7x7")
