"""Networks of life and death: what they answer, learn, keep, and what they are without torch."""

from __future__ import annotations

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from numpy.typing import NDArray
from tests.tsumego.small_nets import small_net, small_set
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai.errors import MiaiError, ParameterError, WeightsError
from miai.kernels.lanes import LANES
from miai_go.errors import TrainingError
from miai_go.learning.training.run_folder import TrainingPlan, load_plan
from miai_go.nets.network import Outputs, tensors_of
from miai_go.tsumego.commands import network_commands
from miai_go.tsumego.data.labelled_positions import LabelledPositions, folds_of, policy_targets
from miai_go.tsumego.kernels import stones
from miai_go.tsumego.networks import accuracy, net_files, net_training
from miai_go.tsumego.networks.accuracy import answering
from miai_go.tsumego.networks.array_nets import ArrayNet, read_array_net
from miai_go.tsumego.networks.net_files import HeldOut, load_net, quantize_net, save_net
from miai_go.tsumego.networks.net_training import TsumegoConfig, train_net
from miai_go.tsumego.networks.zone_planes import encode, layout_of

ROW = ("problem", "attackers", "defenders", "side")
CONFIG = """
[data]
folder = "{folder}"
[planes]
planes = "extended"
[network]
name = "dense"
parameters = {{ width = 64 }}
[optimiser]
method = "adamw"
rate = 0.002
warm_steps = 5
batch = 64
[run]
steps = 120
threads = 1
checkpoint_every = 60
log_every = 60
measure_every = 120
"""


def plan_of(config: Path, out: Path, *assignments: str) -> TrainingPlan[TsumegoConfig]:
    command = "tsumego train"
    return load_plan(config, TsumegoConfig, command=command, assignments=assignments, out=out)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("few") / "set"
    small_set(path, positions=100)
    return path


def held_out_net(path: Path, positions: LabelledPositions, *, data: str = "") -> Path:
    net, held = small_net(width=8), HeldOut(folds=3, fold=1, seed=2)
    header = {"data": data or positions.digest, "held_out": held}
    save_net(path, tensors_of(net.network), net.header.model_copy(update=header))
    return path


def life_measures(rows: slice = slice(None)) -> accuracy.LifeMeasures:
    return accuracy.LifeMeasures(
        chance=np.array([0.9, 0.62, 0.3, 0.2, 0.6])[rows],
        safe=np.array([1, 0, 1, 0, 1], bool)[rows],
        side=np.array([0, 0, 1, 1, 1], np.int8)[rows],
        empty=np.array([5, 6, 5, 6, 6])[rows],
        needed=np.array([1, 1, 0, 0, 1], bool)[rows],
        solved=np.array([1, 0, 0, 0, 1], bool)[rows],
    )


def test_measures_are_those_worked_out_by_hand() -> None:
    measures = life_measures()
    assert measures.figures() == pytest.approx(
        {
            "positions": 5,
            "accuracy": 3 / 5,
            "balanced": (2 / 3 + 1 / 2) / 2,
            "auc": 4 / 6,
            "error": (0.1**2 + 0.62**2 + 0.7**2 + 0.2**2 + 0.4**2) / 5,
            "majority": 3 / 5,
            "move": 2 / 3,
        }
    )
    single = life_measures(slice(3, 4)).figures()
    assert [*single] == ["positions", "accuracy", "error", "majority"]
    assert measures.calibration() == [
        {"told": 0.2, "safe": 0.0, "positions": 1},
        {"told": 0.3, "safe": 1.0, "positions": 1},
        {"told": 0.61, "safe": 0.5, "positions": 2},
        {"told": 0.9, "safe": 1.0, "positions": 1},
    ]
    assert measures.calibration_error() == pytest.approx((0.2 + 0.7 + 2 * 0.11 + 0.1) / 5)


def test_networks_are_measured_with_whole_tables(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = LabelledPositions.open(few)
    weights = [
        held_out_net(tmp_path / "one.safetensors", positions),
        held_out_net(tmp_path / "two.safetensors", positions, data="another"),
    ]
    asked = []

    def told(
        path: Path, _positions: Any, *, views: int, limit: int | None
    ) -> accuracy.LifeMeasures:
        asked.append((views, limit))
        return life_measures(slice(2) if path == weights[0] else slice(2, None))

    monkeypatch.setattr(accuracy, "measure_file", told)
    network_commands.evaluate(weights, few, views=2, positions=7)
    network_commands.evaluate(weights, few, as_json=True)
    assert asked == [(2, 7), (2, 7), (1, None), (1, None)]
    printed = "".join(capsys.readouterr())
    for folder in (tmp_path, few.parent):
        printed = printed.replace(str(folder), "")
    assert_expected("tsumego/measured.txt", printed)


def test_a_network_is_asked_in_every_view(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = LabelledPositions.open(few)
    header = small_net(width=8).header
    rows = np.arange(len(positions))[::-1]
    best = positions.columns["best"][rows]
    monkeypatch.setattr(accuracy, "BATCH", 100)
    asked: list[NDArray[np.uint8]] = []

    def answer(planes: NDArray[np.uint8]) -> Outputs:
        number, turn = divmod(len(asked), 2)
        part = slice(100 * number, 100 * number + 100)
        views = positions.views(rows[part], planes=header.planes, window=11, turn=turn)
        assert np.array_equal(planes, views.planes)
        asked.append(planes)
        right = policy_targets(best[part], views.places, 11) - turn  # wrong in the second view
        value = torch.full((len(planes),), (1.0, -0.5, 0.0, -1.0)[2 * number + turn])
        return Outputs(policy=torch.from_numpy(right), value=value)

    measures = accuracy.measure(answer, header, positions, rows, views=2)
    assert len(asked) == 4
    assert measures.chance.tolist() == [0.625] * 100 + [0.25] * 48
    assert measures.needed.tolist() == [0 < move < 1 << 63 for move in best.tolist()]
    assert measures.solved.tolist() == measures.needed.tolist()
    assert measures.safe.tolist() == positions.safe()[::-1].tolist()
    assert measures.side.tolist() == positions.columns["side"][::-1].tolist()
    assert measures.empty.tolist() == positions.empty_points()[::-1].tolist()


def test_the_held_out_part_is_measured(few: Path, tmp_path: Path) -> None:
    positions = LabelledPositions.open(few)
    path = held_out_net(tmp_path / "net.safetensors", positions)
    net = load_net(path)
    out = np.flatnonzero(folds_of(positions, folds=3, seed=2) == 1)
    side, safe = positions.columns["side"], positions.safe()
    right = 0
    for row in out.tolist():
        others = [r for r in range(len(positions)) if r not in out and side[r] == side[row]]
        right += (sum(safe[others]) * 2 >= len(others)) == safe[row]
    assert accuracy.majority_accuracy(positions, net.header) == right / len(out)
    answers = accuracy.answering(net.network)
    whole = accuracy.measure(answers, net.header, positions, out)
    assert accuracy.measure_file(path, positions).line() == whole.line()
    limited = accuracy.measure_file(path, positions, limit=9)
    picks = np.sort(np.random.default_rng(0).choice(len(out), 9, replace=False))
    assert limited.line() == whole.only(np.isin(np.arange(len(out)), picks)).line()
    open_header = net.header.model_copy(update={"held_out": None})
    assert accuracy.majority_accuracy(positions, open_header) == (63 + 48) / 148


def test_bits_are_measured(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positions = LabelledPositions.open(few)
    path = held_out_net(tmp_path / "net.safetensors", positions)
    small = tmp_path / "small.safetensors"
    with pytest.raises(WeightsError, match=r"^nothing to do: give --out for a file, --data for"):
        network_commands.quantize(path)
    network_commands.quantize(path, small, 4, few, positions=9, as_json=True)
    message = json.loads(capsys.readouterr().out)
    table = message.pop("table")
    assert message == {"file": "small.safetensors", "bits": 4, "bytes": small.stat().st_size}
    sizes = {32: 59244, 8: 15920, 7: 14096, 6: 12264, 5: 10432, 4: 8592, 3: 6768, 2: 4936}
    assert {row["bits"]: row["size"] for row in table} == sizes
    assert table[0]["figures"] == accuracy.measure_file(path, positions, limit=9).figures()
    assert table[5]["figures"] == accuracy.measure_file(small, positions, limit=9).figures()
    network_commands.quantize(path, small, 4, few, positions=0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "bits per weight"
    assert lines[-1] == f"{small}: 4 bits per weight, {small.stat().st_size} bytes"
    assert lines[2].split()[:3] == ["bits", "bytes", "positions"]
    held_out = len(accuracy.measure_file(path, positions).safe)
    rows = [[int(word) for word in line.split()[:3]] for line in lines[3:-1]]
    assert rows == [[bits, size, held_out] for bits, size in sizes.items()]
    with pytest.raises(WeightsError, match=f"^{path}: the network has 4 bits per weight already"):
        network_commands.quantize(small, path)


def test_lessons_depend_on_their_step_alone(few: Path, tmp_path: Path) -> None:
    config = tmp_path / "net.toml"
    config.write_text(CONFIG.format(folder=few))
    plan = plan_of(config, tmp_path / "run", "planes.window=9", "run.seed=4")
    positions = LabelledPositions.open(few)
    header = net_training._header(plan.config, positions)
    train, held = net_training._split(positions, header, str(few))
    assert np.array_equal(held, np.flatnonzero(folds_of(positions) == 0))
    assert sorted([*train, *held]) == list(range(len(positions)))

    def lessons(first: int) -> Any:
        return net_training._lessons(plan.config, positions, train, first=first)

    one, two, three, four = islice(lessons(0), 4)  # an epoch has two, and positions to spare
    (later,) = islice(lessons(3), 1)
    assert all(np.array_equal(getattr(later, n), getattr(four, n)) for n in ("planes", "policy"))
    assert len(train) // 64 == 2
    for step, lesson in enumerate((one, two, three, four)):
        epoch, number = divmod(step, 2)
        order = np.random.default_rng((4, epoch)).permutation(train)
        rows = order[64 * number : 64 * number + 64]
        assert lesson.value.tolist() == [1 if safe else -1 for safe in positions.safe()[rows]]
        rng = np.random.default_rng((4, epoch, number))
        views = positions.views(rows, planes="extended", window=9, rng=rng)
        assert np.array_equal(lesson.planes, views.planes)
        targets = policy_targets(positions.columns["best"][rows], views.places, 9)
        assert np.array_equal(lesson.policy, targets)


@pytest.mark.slow
def test_a_training_is_noted(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, out = tmp_path / "net.toml", tmp_path / "run"
    folder = shutil.copytree(few, tmp_path / "set")
    config.write_text(CONFIG.format(folder=folder))
    short = ["run.steps=2", "network.parameters={width=8}", "run.licence='CC0-1.0'"]
    network_commands.train(config, out, short)
    printed, error = capsys.readouterr()
    weights = out / "checkpoints" / "step-000000002" / "weights.safetensors"
    positions = LabelledPositions.open(folder)
    held_out = accuracy.measure_file(weights, positions).line()
    assert printed == f"held out: {held_out}\nweights: {weights}\n"
    assert error == (
        f"run folder: {out}; stop with Ctrl-C, the same command resumes\n"
        f"144 positions, 4 held out; 21587 weights; 2 steps\n  held out: {held_out}\n"
    )
    header = load_net(weights).header
    (record,) = header.history
    assert (record.steps, record.data) == (2, f"144 positions, {positions.digest}")
    given = (header.licence, header.held_out, header.data)
    assert given == ("CC0-1.0", HeldOut(), positions.digest)
    plan = plan_of(config, out, *short, "run.steps=4")
    small_set(folder, positions=150)
    with pytest.raises(TrainingError, match=r"was trained on another set than .* is now, whose"):
        train_net(plan)
    wrong = {
        "data.folds=1000": "has too few problems for 1000 folds: one side is empty",
        "data.fold=5": "data.fold = 5: there are folds 0 to 4",
    }
    for setting, message in wrong.items():
        with pytest.raises(TrainingError, match=message):
            train_net(plan_of(config, tmp_path / setting, *short, setting))


@pytest.mark.slow
def test_training_learns(tmp_path: Path) -> None:
    config = tmp_path / "net.toml"
    small_set(tmp_path / "set", positions=1500)
    config.write_text(CONFIG.format(folder=tmp_path / "set"))
    assert train_net(plan_of(config, tmp_path / "run")).measures.figures()["auc"] > 0.7


@pytest.mark.slow
def test_the_zone_s_config_makes_a_network_that_kernels_evaluate(few: Path, tmp_path: Path) -> None:
    positions = LabelledPositions.open(few)
    plan = plan_of(
        Path("configs/tsumego-zone.toml"),
        tmp_path,
        *(f"data.folder={few}", "run.steps=8", "optimiser.batch=64"),
    )
    learnt = train_net(plan)
    small = tmp_path / "small.safetensors"
    quantize_net(load_net(learnt.weights), 5, small)
    assert small.stat().st_size < 100_000
    row = [column[:50] for column in map(positions.columns.get, ROW) if column is not None]
    values, _logits = read_array_net(learnt.weights).evaluate(positions.layout, *row)
    views = positions.views(np.arange(50), planes="extended", window=11)
    outputs = accuracy.answering(load_net(learnt.weights).network)(views.planes)
    assert outputs.value is not None
    np.testing.assert_allclose(values, outputs.value.numpy(), atol=1e-4)


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    chance = np.round(rng.random(60), 1)
    safe = rng.random(60) < 0.4
    pairs = [
        (chance[i] > chance[j]) + (chance[i] == chance[j]) / 2
        for i in np.flatnonzero(safe)
        for j in np.flatnonzero(~safe)
    ]
    assert accuracy.area(chance, safe) == pytest.approx(np.mean(pairs))


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    net = small_net(width=8)
    path = tmp_path / "net.safetensors"
    save_net(path, tensors_of(net.network), net.header)
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="digest"):
        load_net(path)


# -- boards with chances ---------------------------------------------------------------------------


SGF = """(;GM[1]SZ[9]AB[ac][bc][cc][dc][ec][eb][ea]AW[ab][bb][cb][db][da]AW[gg];B[hh])"""
"""White in the corner with room at A9 to C9; one white stone that nothing surrounds."""


@pytest.fixture
def app() -> typer.Typer:
    group = typer.Typer()
    network_commands.add_commands(group)
    return group


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    net = small_net("zone", planes="extended", height=1, width=16)
    path = tmp_path / "net.safetensors"
    save_net(path, tensors_of(net.network), net.header)
    return path


def run(app: typer.Typer, *arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_predictions_are_listed_and_drawn(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    """For every block or with the reason why not, once a move is played, and as a picture."""
    file, picture = tmp_path / "corner.sgf", tmp_path / "corner.svg"
    file.write_text(SGF)
    words = ("predict", file, "--weights", weights)
    text = run(app, *words, "--svg", picture) + run(app, *words, "--moves", 1, "--json")
    assert_expected("tsumego/predicted.txt", text)
    assert_expected("tsumego/predicted.svg", picture.read_text("utf-8"))
    with pytest.raises(MiaiError, match="1 moves"):
        run(app, *words, "--moves", 2)


def test_infinite_answers_are_refused(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    file = tmp_path / "corner.sgf"
    file.write_text(SGF)
    net = small_net("zone", planes="extended", height=1, width=16)
    tensors = tensors_of(net.network)
    tensors["hidden.bias"][:] = 10
    tensors["value.weight"][:, ::2] = 3e38
    tensors["value.weight"][:, 1::2] = -3e38
    save_net(weights, tensors, net.header)
    with pytest.raises(WeightsError, match=r"net\.safetensors: its answers are not finite"):
        run(app, "predict", file, "--weights", weights, "--json")


# -- the network of the zone: the same with torch and in kernels, and what is refused -------------


POSITIONS = 63
MAX_ZONE_POINTS = 63
SETTINGS: list[dict[str, Any]] = [
    {"height": 2, "width": 32},
    {"height": 1, "width": 16},
    {"height": 0, "width": 48},
]


def zone_net(window: int = 11, **parameters: Any) -> net_files.Net:
    """Return a network whose weights, and what its norms have seen, are drawn."""
    header = net_files.NetHeader(
        network="zone", network_parameters=parameters, planes="extended", window=window
    )
    network = net_files.build_net(header, seed=3)
    drawn = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if "norm" in name and tensor.is_floating_point():
                low = 0.5 if name.endswith(("norm.weight", "var")) else -0.3
                tensor.uniform_(low, low + 0.8, generator=drawn)
    return net_files.Net(network.eval(), header)


def drawn_zone(rng: np.random.Generator, count: int) -> tuple[Any, list[int], int, int, int]:
    """Return a zone of so many points scattered on a board, and stones: sets of its points."""
    size = int(rng.integers(int(count**0.5) + 2, 20))
    points = sorted(rng.choice(size**2, count, replace=False).tolist())
    words = np.zeros(stones.ZONE_WORDS, np.uint64)
    open_points = 0
    for i, point in enumerate(points):
        row, column = divmod(point, size)
        for r, c in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
            if not (0 <= r < size and 0 <= c < size):
                continue
            if r * size + c in points:
                words[i] |= np.uint64(1 << points.index(r * size + c))
            else:
                open_points |= 1 << i
    kinds = rng.integers(3, size=count)
    target = int(rng.integers(count))
    kinds[target] = 2
    words[stones.POINTS] = (1 << count) - 1
    words[stones.OPEN], words[stones.TARGET] = open_points, 1 << target
    sets = [sum(1 << i for i in range(count) if kinds[i] == kind) for kind in (1, 2)]
    return words, points, size, sets[0], sets[1]


def drawn_positions(seed: int) -> tuple[Any, ...]:
    """Return a layout, problems, attackers, defenders and sides: zones of all sizes."""
    rng = np.random.default_rng(seed)
    zones = [drawn_zone(rng, 1 + i % MAX_ZONE_POINTS) for i in range(POSITIONS)]
    words, points, sizes, attackers, defenders = zip(*zones, strict=True)
    padded = [[*p, *[-1] * (MAX_ZONE_POINTS - len(p))] for p in points]
    twice = np.arange(2 * POSITIONS) // 2
    return (
        layout_of(np.stack(words), padded, sizes),
        twice,
        np.array(attackers, np.uint64)[twice],
        np.array(defenders, np.uint64)[twice],
        np.arange(2 * POSITIONS) % 2,
    )


def by_torch(net: net_files.Net, positions: tuple[Any, ...], picks: Any) -> tuple[Any, Any]:
    """Return values and logits of the points of the zone, the last of no move."""
    window = net.header.window
    views = encode(*positions, planes=net.header.planes, window=window, picks=picks)
    outputs = answering(net.network)(views.planes)
    assert outputs.value is not None
    assert outputs.policy is not None
    policy, places = outputs.policy.numpy(), views.places.astype(np.int64)
    logits = np.take_along_axis(policy, np.maximum(places, 0), 1)
    logits[places < 0] = -np.inf
    logits[:, 63] = policy[:, -1]
    return outputs.value.numpy(), logits


@pytest.mark.parametrize("window", [3, 11, 25])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_array_network_is_the_torch_network(settings: dict[str, Any], window: int) -> None:
    net, positions = zone_net(window, **settings), drawn_positions(window)
    picks = np.random.default_rng(1).integers(100, size=2 * POSITIONS)
    network = ArrayNet.of(net.header, tensors_of(net.network))
    values, logits = network.evaluate(*positions, picks=picks)
    wanted, wanted_logits = by_torch(net, positions, picks)
    assert values.std() > 0.01
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    np.testing.assert_allclose(logits, wanted_logits, atol=1e-4)


def test_the_order_of_positions_changes_nothing() -> None:
    net, positions = zone_net(height=1, width=16), drawn_positions(4)
    network = ArrayNet.of(net.header, tensors_of(net.network))
    values, logits = network.evaluate(*positions)
    order = np.random.default_rng(2).permutation(2 * POSITIONS)
    mixed = [column[order] for column in positions[1:]]
    again, again_logits = network.evaluate(positions[0], *mixed)
    np.testing.assert_array_equal(again, values[order])
    np.testing.assert_array_equal(again_logits, logits[order])


def test_planes_without_a_zone_have_no_move_and_no_features() -> None:
    outputs = answering(zone_net(height=1, width=16).network)(np.zeros((2, 21, 11, 11), np.uint8))
    assert outputs.value is not None
    assert outputs.policy is not None
    assert outputs.value[0] == outputs.value[1]
    assert (outputs.policy.argmax(1) == 121).all()


def test_few_bits_are_the_same_few_bits_in_kernels(tmp_path: Path) -> None:
    net, positions = zone_net(height=1, width=32), drawn_positions(5)
    size, packed = net_files.packed_net(net, 5)
    path = tmp_path / "small.safetensors"
    net_files.quantize_net(net, 5, path)
    assert size < sum(array.nbytes for array in tensors_of(net.network).values()) / 4
    values, _logits = read_array_net(path).evaluate(*positions)
    wanted, _ = by_torch(net_files.Net(packed, net.header), positions, None)
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    assert np.abs(values - by_torch(net, positions, None)[0]).max() > 1e-3


def test_planes_that_do_not_show_the_zone_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"planes\.planes = 'extended'"):
        small_net("zone", planes="reference")
    with pytest.raises(ParameterError, match=f"is not a multiple of {LANES}"):
        small_net("zone", planes="extended", width=LANES + 8)


@pytest.mark.parametrize(
    ("changes", "tensors", "reason"),
    [
        ({}, {"value.bias": None}, "'value.bias'"),
        ({}, {"blocks.1.spread.bias": np.zeros(16, np.float32)}, r"'blocks\.1\.spread\.bias'"),
        ({}, {"points.weight": np.zeros((1, 15), np.float32)}, r"'points\.weight'"),
        ({"network_parameters": {"width": 512, "height": 40}}, {}, "'blocks"),
        ({"planes": "reference"}, {}, "extended"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    changes: dict[str, Any], tensors: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    net, path = zone_net(height=1, width=16), tmp_path / "net.safetensors"
    arrays = {**tensors_of(net.network), **tensors}
    kept = {name: array for name, array in arrays.items() if array is not None}
    net_files.save_net(path, kept, net.header.model_copy(update=changes))
    for read in (read_array_net, net_files.load_net):
        with pytest.raises(WeightsError, match=reason):
            read(path)


def test_a_dense_network_is_left_to_torch(tmp_path: Path) -> None:
    net, path = small_net(width=8), tmp_path / "net.safetensors"
    net_files.save_net(path, tensors_of(net.network), net.header)
    with pytest.raises(WeightsError, match=r"net\.safetensors: .*'dense' is evaluated by torch"):
        read_array_net(path)


def test_beyond_all_bounds_is_refused() -> None:
    net = zone_net(height=0, width=16)
    arrays = tensors_of(net.network)
    wide = net.header.model_copy(update={"network_parameters": {"width": 1 << 40}})
    with pytest.raises(WeightsError, match="width"):
        ArrayNet.of(wide, arrays)
    arrays["first.norm.running_var"][3] = -1.0
    with pytest.raises(WeightsError, match="negative variance"):
        ArrayNet.of(net.header, arrays)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["first.weight", "blocks.0.first.norm.weight"])
def test_weights_that_become_infinite_with_their_norm_are_refused(name: str) -> None:
    net = zone_net(height=1, width=16)
    arrays = tensors_of(net.network)
    arrays["blocks.0.first.norm.running_var"][:] = 1e-6
    arrays["first.norm.running_var"][:] = 1e-6
    arrays[name][:] = 3e38
    with pytest.raises(WeightsError, match="too large"):
        ArrayNet.of(net.header, arrays)


# -- weights of few bits --------------------------------------------------------------------------


@pytest.mark.parametrize("bits", net_files.BITS)
def test_packed_numbers_come_back(bits: int) -> None:
    rng = np.random.default_rng(bits)
    half = 1 << (bits - 1)
    numbers = rng.integers(-half, half, 1001)
    words = net_files.pack(numbers, bits)
    assert words.nbytes <= 1001 * bits / 8 + 8
    assert (net_files.unpack(words, 1001, bits) == numbers).all()


def test_more_bits_lose_less() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 300))
    losses = []
    for bits in sorted(net_files.BITS):
        whole, scales = net_files.quantize(rows, bits)
        assert np.abs(whole).max() < 1 << (bits - 1)
        losses.append(float(((whole * scales[:, None] - rows) ** 2).mean()))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 1e-3


def test_tensors_keep_their_shapes_and_biases() -> None:
    tensors = {
        "a.weight": np.random.default_rng(1).normal(size=(4, 3, 2)).astype(np.float32),
        "a.bias": np.arange(4, dtype=np.float32),
        "zero.weight": np.zeros((2, 2), np.float32),
    }
    back = net_files.unpacked_tensors(net_files.packed_tensors(tensors, 8), 8, where="here")
    assert {n: a.shape for n, a in back.items()} == {n: a.shape for n, a in tensors.items()}
    assert (back["a.bias"] == tensors["a.bias"]).all()
    np.testing.assert_allclose(back["a.weight"], tensors["a.weight"], atol=0.02)
    assert (back["zero.weight"] == 0).all()


def test_inconsistent_parts_are_refused() -> None:
    from miai.errors import WeightsError

    tensors = {"a.weight": np.ones((4, 4), np.float32)}
    for name, change in (
        ("a.weight.scales", np.ones(3, np.float32)),
        ("a.weight.shape", np.array([1 << 40, 4], np.int64)),
        ("a.weight.shape", np.array([4, -4], np.int64)),
        ("a.weight.packed", np.ones(1, np.float32)),
        ("b.scales", np.ones(1, np.float32)),
    ):
        stored = net_files.packed_tensors(tensors, 5) | {name: change}
        with pytest.raises(WeightsError):
            net_files.unpacked_tensors(stored, 5, where="here")
    stored = net_files.packed_tensors(tensors, 5)
    stored.pop("a.weight.scales")
    with pytest.raises(WeightsError, match="missing"):
        net_files.unpacked_tensors(stored, 5, where="here")
