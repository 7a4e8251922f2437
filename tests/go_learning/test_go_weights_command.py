"""``miai go weights`` and ``miai go export``: what they show, check, write and refuse."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.go_learning.go_commands import run
from tests.go_learning.go_networks_small import random_planes, small_file
from tests.whole_texts import assert_expected

from miai.errors import MiaiError, MissingExtraError, WeightsError
from miai.plugins.extras import install_line
from miai_go import shipped
from miai_go.commands import weights

torch.set_num_threads(1)

PATTERNS = shipped.FOLDER / "rollout-9x9.safetensors"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_file(tmp_path_factory.mktemp("weights") / "net.safetensors")


def test_weights_are_shown_with_what_made_them(path: Path) -> None:
    text = run("weights", "show", path) + run("weights", "show", path, "--json")
    assert_expected("weights/net.txt", re.sub("[0-9a-f]{64}", "digest", text))
    # The size of a safetensors file: a length, a header, four bytes for each number.
    head = int.from_bytes(path.read_bytes()[:8], "little")
    parameters = json.loads(run("weights", "show", path, "--json"))["parameters"]
    counters = 4  # int64, not float32: the norms count their batches
    assert 0 <= path.stat().st_size - 8 - head - parameters * 4 <= counters * 100


def test_a_checksum_is_that_of_the_file_and_damage_is_found(path: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert run("weights", "checksum", path) == f"{digest}  net.safetensors\n"
    data = bytearray(path.read_bytes())
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
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    text = run("weights", "list") + run("weights", "list", "--json")
    for name in ("zero-5x5", "policy-7-13"):
        shutil.copy(path, tmp_path / f"{name}.safetensors")
    shutil.copy(PATTERNS, tmp_path)
    text += run("weights", "list") + run("weights", "list", "--json")
    text += run("weights", "show", "zero-5x5") + run("weights", "show", PATTERNS.stem)
    assert_expected("weights/shipped.txt", re.sub("[0-9a-f]{64}", "digest", text))


def test_shipped_files_are_checked_as_a_whole(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    files = {"zero-5x5.safetensors": path.read_bytes(), "zero-5x5.int8.onnx": b"an export"}
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
def test_an_exported_network_answers_what_the_network_does(
    precision: str, path: Path, tmp_path: Path
) -> None:
    from miai_go.nets.inference import load_oracle

    target = tmp_path / "new" / "net.onnx"
    words = ("export", path, "--onnx", target, "--precision", precision, "--positions", "64")
    output = json.loads(run(*words, "--json"))
    assert output["positions"] == 64
    assert output["differences"].keys() == {"policy", "value", "ownership", "score"}
    planes = random_planes(32, seed=5)
    one = load_oracle(path, precision="fp32").infer(planes)
    other = load_oracle(target).infer(planes)
    assert one.value is not None
    assert other.value is not None
    assert np.abs(one.value - other.value).max() < output["tolerance"]
    assert [file.name for file in target.parent.iterdir()] == ["net.onnx"]
    assert "komi 5.5 to 7.5" in run("weights", "show", target)


def test_a_network_that_would_answer_otherwise_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be written is the shipped export: making one takes seconds."""
    from miai_go.nets import onnx_export

    shipped_export = shipped.FOLDER / "policy-7-13.int8.onnx"
    monkeypatch.setattr(
        onnx_export, "export_onnx", lambda _weights, path, **_: shutil.copy(shipped_export, path)
    )
    monkeypatch.setattr(weights, "TOLERANCES", {"fp32": 0.0, "int8": 1e-9})
    target = tmp_path / "net.onnx"
    target.write_bytes(b"before")
    words = ("export", "policy-7-13", "--onnx", target, "--precision", "int8", "--positions", "32")
    with pytest.raises(WeightsError, match=r"as ONNX in int8 .* nothing is written; use fp32"):
        run(*words)
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_mistakes_are_reported_in_one_line(path: Path, tmp_path: Path) -> None:
    (tmp_path / "no.safetensors").write_bytes(b"nothing of the sort")
    (tmp_path / "no.onnx").write_bytes(b"nothing of the sort")
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        (("export", path, "--onnx", tmp_path / "net.bin"), "ends in .onnx"),
        (("export", tmp_path / "no.onnx", "--onnx", tmp_path / "x.onnx"), "is ONNX already"),
        (("export", tmp_path / "no.safetensors", "--onnx", tmp_path / "x.onnx"), "safetensors"),
        (("weights", "show", tmp_path / "no.onnx"), "not an ONNX model"),
        (("export", path, "--onnx", tmp_path / "no.onnx" / "x.onnx"), "cannot be written"),
    ]
    for words, message in cases:
        with pytest.raises(MiaiError, match=message) as output:
            run(*words)
        assert "\n" not in str(output.value)


def test_a_missing_extra_is_reported_in_one_line(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import util

    from miai_go.nets import onnx_export

    def find_spec(name: str, package: str | None = None) -> object:
        return None if name == "onnxscript" else util.find_spec(name, package)

    monkeypatch.setattr(onnx_export, "find_spec", find_spec)
    with pytest.raises(MissingExtraError, match=r"onnxscript.*pip install .*\[nn,onnx\]'"):
        run("export", path, "--onnx", tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_network_in_onnx_plays_and_is_measured_without_torch(path: Path, tmp_path: Path) -> None:
    run("export", path, "--onnx", tmp_path / "net.onnx")
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
        f"go eval {path} games",
        f"go export {path} --onnx other.onnx",
    ]
    done = subprocess.run(
        [sys.executable, "-c", program, *commands],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.count("MissingExtraError") == 2, done
    lines = done.stdout.splitlines()
    assert lines[0].split()[1:3] == ["games", "played"]
    assert "annotated" in lines[1]
    assert "value_error" in lines[2]
    assert all(install_line("miai-go[nn]") in line for line in lines if "MissingExtra" in line)


@pytest.mark.slow
def test_lists_and_help_need_no_heavy_library(path: Path) -> None:
    program = (
        "import sys\n"
        "from miai.cli.app import run\n"
        "path = sys.argv[1]\n"
        "for words in (['--help'], ['show', path], ['checksum', path]):\n"
        "    sys.argv = ['miai', 'go', 'weights', *words]\n"
        "    try: run()\n"
        "    except SystemExit: pass\n"
        "heavy = {'torch', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "net.safetensors" in done.stdout
