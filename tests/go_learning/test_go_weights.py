"""Weights files: what is written is read, and nothing else is."""

from __future__ import annotations

import hashlib
import json
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file
from tests.go_learning import go_networks_small
from tests.go_learning.go_commands import run
from tests.slow import with_slow
from tests.whole_texts import assert_expected, assert_transcript, refusal

import miai
from miai.api import opponents_of
from miai.errors import MiaiError, MissingExtraError, WeightsError
from miai.plugins.extras import install_line
from miai.tensors import read_tensors, write_tensors
from miai_go import shipped
from miai_go.commands import weights
from miai_go.learning.training.config_sections import EncoderSection, NetworkSection
from miai_go.learning.training.initial_network import make_network
from miai_go.nets import inference, onnx_export
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import export_beside, load_oracle, prefers_int8
from miai_go.nets.network import WeightsHeader, load_weights, save_weights
from miai_go.nets.onnx_oracle import OnnxOracle
from miai_go.nets.patterns import PatternPolicy
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.rules.game import GoState
from miai_go.shipped import FOLDER, find_weights, shipped_names

Layout = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return go_networks_small.small_file(tmp_path / "net.safetensors", "plain", height=1, width=4)


def taken_apart(path: Path) -> tuple[Layout, bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def put_together(path: Path, layout: Layout, body: bytes) -> None:
    text = json.dumps(layout).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def with_header(path: Path, **changes: Any) -> None:
    """Change fields of the header as somebody would who also signs anew."""
    tensors, metadata = read_tensors(path)
    header = json.loads(metadata[WeightsHeader.KEY]) | changes
    known = {k: v for k, v in header.items() if k in WeightsHeader.model_fields}
    header["sha256"] = WeightsHeader(**known).digest(tensors)
    write_tensors(path, tensors, {WeightsHeader.KEY: json.dumps(header)})


@pytest.mark.parametrize("name", with_slow(go_networks_small.NETWORKS, "tower"))
def test_a_network_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    header = go_networks_small.small_header(name)
    network = go_networks_small.small_network(header)
    written = save_weights(tmp_path / "net.safetensors", network, header)
    weights = load_weights(tmp_path / "net.safetensors", size=header.sizes[0])
    assert weights.header == written == WeightsHeader.read(tmp_path / "net.safetensors")
    assert written.history == header.history
    assert written.licence == "Apache-2.0"
    assert set(header.network_parameters) <= set(written.network_parameters)
    state = network.state_dict()
    assert weights.network.state_dict().keys() == state.keys()
    for key, tensor in weights.network.state_dict().items():
        assert torch.equal(tensor, state[key])
    assert not weights.network.training


def test_the_safetensors_library_reads_the_same(path: Path) -> None:
    tensors = load_file(path)
    state = load_weights(path).network.state_dict()
    assert tensors.keys() == state.keys()
    assert all(np.array_equal(tensors[key], state[key].numpy()) for key in state)
    with safe_open(path, "numpy") as file:
        assert WeightsHeader.of_metadata(file.metadata(), where="") == WeightsHeader.read(path)


def test_the_same_network_makes_the_same_bytes(path: Path, tmp_path: Path) -> None:
    again = go_networks_small.small_file(tmp_path / "again.safetensors", "plain", height=1, width=4)
    assert again.read_bytes() == path.read_bytes()


def test_a_truncated_file_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in (0, 1, 7, 8, 9, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(WeightsError):
            load_weights(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(WeightsError, match="not what it says"):
        load_weights(path)


def test_any_flipped_bit_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    rng = random.Random(11)
    for _ in range(150):
        place, bit = rng.randrange(len(whole)), 1 << rng.randrange(8)
        changed = bytearray(whole)
        changed[place] ^= bit
        path.write_bytes(changed)
        print(f"bit {bit} of byte {place}")  # shown when it is read after all
        with pytest.raises(WeightsError):
            load_weights(path)


def test_an_unsigned_change_of_the_header_is_refused(path: Path) -> None:
    layout, body = taken_apart(path)
    header = json.loads(layout["__metadata__"][WeightsHeader.KEY])
    header["komi"] = [0.0, 0.0]
    layout["__metadata__"][WeightsHeader.KEY] = json.dumps(header)
    put_together(path, layout, body)
    with pytest.raises(WeightsError, match="changed after it was written"):
        load_weights(path)


def test_a_signed_header_that_is_wrong_is_refused(path: Path) -> None:
    content = path.read_bytes()

    def answer(line: str) -> str:
        path.write_bytes(content)
        changes = json.loads(line)
        try:
            with_header(path, **changes)
        except ValueError:  # the header cannot even be made, so it is written unsigned
            tensors, metadata = read_tensors(path)
            header = json.loads(metadata[WeightsHeader.KEY]) | changes
            write_tensors(path, tensors, {WeightsHeader.KEY: json.dumps(header)})
        return refusal(lambda: load_weights(path), folder=path.parent)

    assert_transcript("weights-headers.txt", answer)


def _named(layout: Layout) -> str:
    """Return the name of a tensor whose shape is another one in reverse."""
    shapes = {name: entry["shape"] for name, entry in layout.items() if name != "__metadata__"}
    return next(name for name, shape in shapes.items() if shape != shape[::-1])


SPOILT: dict[str, Callable[[Layout], Any]] = {
    "another type": lambda layout: layout[_named(layout)].update(dtype="F64"),
    "another shape": lambda layout: layout[_named(layout)]["shape"].reverse(),
    "less than nothing": lambda layout: layout[_named(layout)].update(shape=[-1, 4]),
    "huge": lambda layout: layout[_named(layout)].update(shape=[1 << 62, 1 << 62]),
    "overlapping": lambda layout: layout[_named(layout)].update(data_offsets=[0, 4]),
    "renamed": lambda layout: layout.update(stranger=layout.pop(_named(layout))),
    "an extra field": lambda layout: layout[_named(layout)].update(code="print(1)"),
    "no header": lambda layout: layout.pop("__metadata__"),
    "numbers": lambda layout: layout["__metadata__"].update(more=3),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_layout_is_refused(path: Path, name: str) -> None:
    layout, body = taken_apart(path)
    SPOILT[name](layout)
    put_together(path, layout, body)
    with pytest.raises(WeightsError, match=r"net\.safetensors"):
        load_weights(path)


def test_pickles_and_announced_headers_beyond_the_file_are_refused(path: Path) -> None:
    for length in (1 << 63, 1 << 40, 1 << 24):
        path.write_bytes(struct.pack("<Q", length) + b"{}")
        with pytest.raises(WeightsError, match="truncated"):
            load_weights(path)
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(WeightsError, match="not a safetensors file"):
        load_weights(path)


def test_numbers_that_are_not_finite_are_neither_written_nor_read(path: Path) -> None:
    header = go_networks_small.small_header("plain", height=1, width=4)
    network = go_networks_small.small_network(header)
    before = path.read_bytes()
    with torch.no_grad():
        next(network.parameters()).view(-1)[0] = float("nan")
    with pytest.raises(WeightsError, match="not finite"):
        save_weights(path, network, header)
    assert path.read_bytes() == before
    layout, body = taken_apart(path)
    begin = next(e["data_offsets"][0] for n, e in layout.items() if n.endswith(".bias"))
    spoilt = body[:begin] + struct.pack("<f", float("inf")) + body[begin + 4 :]
    put_together(path, layout, spoilt)
    with pytest.raises(WeightsError, match="not finite"):
        load_weights(path)


def test_a_full_disk_leaves_the_file_before(path: Path) -> None:
    before = path.read_bytes()
    header = go_networks_small.small_header("tower")
    network = go_networks_small.small_network(header)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # any write beyond fails
    try:
        with pytest.raises(WeightsError, match="cannot be written"):
            save_weights(path, network, header)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_missing_files_and_extras_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for read in (WeightsHeader.read, load_weights):
        with pytest.raises(MiaiError, match="cannot be read: No such file"):
            read(path.with_name("none.safetensors"))
    monkeypatch.setitem(sys.modules, "torch", None)
    assert WeightsHeader.read(path).size == 5
    with pytest.raises(MissingExtraError, match=re.escape(install_line("miai-go[nn]"))):
        load_weights(path)


# -- `miai go weights` and `miai go export` --------------------------------------------------------


torch.set_num_threads(1)

PATTERNS = shipped.FOLDER / "rollout-9x9.safetensors"


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return go_networks_small.small_file(tmp_path_factory.mktemp("weights") / "net.safetensors")


def test_weights_are_shown_with_what_made_them(tower: Path) -> None:
    text = run("weights", "show", tower) + run("weights", "show", tower, "--json")
    assert_expected("weights/net.txt", re.sub("[0-9a-f]{64}", "digest", text))
    # The size of a safetensors file: a length, a header, four bytes for each number.
    head = int.from_bytes(tower.read_bytes()[:8], "little")
    parameters = json.loads(run("weights", "show", tower, "--json"))["parameters"]
    counters = 4  # int64, not float32: the norms count their batches
    assert 0 <= tower.stat().st_size - 8 - head - parameters * 4 <= counters * 100


def test_a_checksum_is_that_of_the_file_and_damage_is_found(tower: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(tower.read_bytes()).hexdigest()
    assert run("weights", "checksum", tower) == f"{digest}  net.safetensors\n"
    data = bytearray(tower.read_bytes())
    data[-3] ^= 1
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(data)
    for command in ("checksum", "show"):
        with pytest.raises(WeightsError, match="digest"):
            run("weights", command, damaged)
    for name in ("gone", "gone.safetensors"):
        with pytest.raises(WeightsError, match="it is not a file, and shipped are"):
            run("weights", "checksum", name)


def test_shipped_weights_are_listed_and_checked_by_name(
    tower: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    text = run("weights", "list") + run("weights", "list", "--json")
    for name in ("zero-5x5", "policy-7-13"):
        shutil.copy(tower, tmp_path / f"{name}.safetensors")
    shutil.copy(PATTERNS, tmp_path)
    text += run("weights", "list") + run("weights", "list", "--json")
    text += run("weights", "show", "zero-5x5") + run("weights", "show", PATTERNS.stem)
    assert_expected("weights/shipped.txt", re.sub("[0-9a-f]{64}", "digest", text))


def test_shipped_files_are_checked_as_a_whole(
    tower: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    files = {"zero-5x5.safetensors": tower.read_bytes(), "zero-5x5.int8.onnx": b"an export"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    (tmp_path / "SHA256SUMS").write_text(sums)
    assert run("weights", "checksum") == sums
    for name in files:
        (tmp_path / name).write_bytes(files[name][:-1] + b"!")
        with pytest.raises(WeightsError, match=rf"{name}: is not the file that was shipped"):
            run("weights", "checksum")
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path.parent)
            with pytest.raises(WeightsError, match="is not the file that was shipped"):
                run("weights", "checksum", Path(tmp_path.name) / name)
        (tmp_path / name).unlink()
        with pytest.raises(WeightsError, match=rf"{name}: is not the file that was shipped"):
            run("weights", "checksum")
        (tmp_path / name).write_bytes(files[name])
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(WeightsError, match="SHA256SUMS: cannot be read"):
        run("weights", "checksum")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_exported_network_answers_the_same(precision: str, tower: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "net.onnx"
    words = ("export", tower, "--onnx", target, "--precision", precision, "--positions", "64")
    output = json.loads(run(*words, "--json"))
    assert output["positions"] == 64
    assert output["differences"].keys() == {"policy", "value", "ownership", "score"}
    planes = go_networks_small.random_planes(32, seed=5)
    one = load_oracle(tower, precision="fp32").infer(planes).arrays()
    other = load_oracle(target).infer(planes).arrays()
    assert np.abs(one["value"] - other["value"]).max() < output["tolerance"]
    assert [file.name for file in target.parent.iterdir()] == ["net.onnx"]
    assert "komi 5.5 to 7.5" in run("weights", "show", target)


def test_a_network_that_would_answer_otherwise_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be written is the shipped export: making one takes seconds."""
    export = shipped.FOLDER / "policy-7-13.int8.onnx"
    monkeypatch.setattr(onnx_export, "export_onnx", lambda _, to, **__: shutil.copy(export, to))
    monkeypatch.setattr(weights, "TOLERANCES", {"fp32": 0.0, "int8": 1e-9})
    target = tmp_path / "net.onnx"
    target.write_bytes(b"before")
    words = ("export", "policy-7-13", "--onnx", target, "--precision", "int8", "--positions", "32")
    with pytest.raises(WeightsError, match=r"as ONNX in int8 .* nothing is written; use fp32"):
        run(*words)
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_mistakes_are_reported_in_one_line(tower: Path, tmp_path: Path) -> None:
    (tmp_path / "no.safetensors").write_bytes(b"nothing of the sort")
    (tmp_path / "no.onnx").write_bytes(b"nothing of the sort")
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        (("export", tower, "--onnx", tmp_path / "net.bin"), "ends in .onnx"),
        (("export", tmp_path / "no.onnx", "--onnx", tmp_path / "x.onnx"), "is ONNX already"),
        (("export", tmp_path / "no.safetensors", "--onnx", tmp_path / "x.onnx"), "safetensors"),
        (("weights", "show", tmp_path / "no.onnx"), "not an ONNX model"),
        (("export", tower, "--onnx", tmp_path / "no.onnx" / "x.onnx"), "cannot be written"),
    ]
    for words, message in cases:
        with pytest.raises(MiaiError, match=message) as output:
            run(*words)
        assert "\n" not in str(output.value)


def test_a_missing_extra_is_reported_in_one_line(
    tower: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Callable[[str], object] = lambda name: None if name == "onnxscript" else name  # noqa: E731
    monkeypatch.setattr(onnx_export, "find_spec", found)
    with pytest.raises(MissingExtraError, match=r"onnxscript.*pip install .*\[nn,onnx\]'"):
        run("export", tower, "--onnx", tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_network_in_onnx_plays_and_is_measured_without_torch(tower: Path, tmp_path: Path) -> None:
    run("export", tower, "--onnx", tmp_path / "net.onnx")
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from miai.cli.app import build_app\n"
        "for words in sys.argv[1:]:\n"
        "    try: build_app()(words.split(), standalone_mode=False)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    few = "--simulations 2 --fast-simulations 1 --games 2 --games-a-shard 2 --workers 1"
    commands = [
        f"go data play --weights net.onnx --out games {few}",
        "go data annotate games --weights net.onnx --out more --simulations 2 --workers 1",
        "go eval net.onnx games",
        f"go eval {tower} games",
        f"go export {tower} --onnx other.onnx",
    ]
    words = [sys.executable, "-c", program, *commands]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.count("MissingExtraError") == 2, done
    lines = done.stdout.splitlines()
    assert lines[0].split()[1:3] == ["games", "played"]
    assert "annotated" in lines[1]
    assert "value_error" in lines[2]
    assert all(install_line("miai-go[nn]") in line for line in lines if "MissingExtra" in line)


@pytest.mark.slow
def test_lists_and_help_need_no_heavy_library(tower: Path) -> None:
    program = (
        "import sys\n"
        "from miai.cli.app import run\n"
        "tower = sys.argv[1]\n"
        "for words in (['--help'], ['show', tower], ['checksum', tower]):\n"
        "    sys.argv = ['miai', 'go', 'weights', *words]\n"
        "    try: run()\n"
        "    except SystemExit: pass\n"
        "heavy = {'torch', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    command = [sys.executable, "-c", program, str(tower)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "net.safetensors" in done.stdout


# -- the weights that come with the distribution: what they are, and that they win ----------------


NETWORKS = [name for name in shipped_names() if not name.startswith("rollout")]


def test_checksums_are_those_of_the_files() -> None:
    files = [*FOLDER.glob("*.safetensors"), *FOLDER.glob("*.onnx")]
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    assert sorted((FOLDER / "SHA256SUMS").read_text().splitlines()) == sorted(lines)


def test_there_are_weights_for_every_player() -> None:
    assert shipped_names() == ["policy-7-13", "rollout-9x9"]
    for size in range(7, 14):
        header = WeightsHeader.read(find_weights("", size=size))
        assert size in header.sizes
        assert header.outputs == ("policy", "value", "ownership", "score")
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 4 * 10**6


def test_a_network_is_found_for_each_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        coarse, fine = exported.infer(planes).arrays(), own.infer(planes).arrays()
        assert coarse["value"] == pytest.approx(fine["value"], abs=0.08), (size, komi)
        logits = coarse["policy"]
        assert np.abs(_softmax(logits) - _softmax(fine["policy"])).max() < 0.1
        assert len(np.unique(logits)) == logits.size, "no two moves are rated equal"


@pytest.mark.parametrize(
    ("size", "libraries", "int8", "plays"),
    [
        (9, {"torch"}, False, True),
        (9, {"onnxruntime"}, True, True),
        (9, {"onnxruntime"}, False, True),
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


def test_int8_is_taken_where_it_is_faster_or_torch_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = miai.load_game("go", board_size=9)
    for name in ("alphago", "policy"):
        agent = miai.make_agent(name, game)
        agent.new_game(1, player=0)
        oracle = agent.search.oracle  # type: ignore[attr-defined]  # a search's agent
        assert type(oracle) is (OnnxOracle if prefers_int8() else TorchOracle)
        agent.close()
    weights = find_weights("", size=9)
    monkeypatch.setattr(inference, "find_spec", lambda name: name != "torch" or None)
    monkeypatch.setattr(inference, "prefers_int8", lambda: False)
    assert isinstance(load_oracle(weights, size=9), OnnxOracle)


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
