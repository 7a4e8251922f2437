"""Weights files: what is written is read, and nothing else is."""

from __future__ import annotations

import json
import random
import re
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file
from tests.go_learning.go_networks_small import NETWORKS, small_file, small_header, small_network
from tests.whole_texts import assert_transcript, refusal

from miai.errors import MiaiError, MissingExtraError, WeightsError
from miai.plugins.extras import install_line
from miai.tensors import read_tensors, write_tensors
from miai_go.nets.network import WeightsHeader, load_weights, save_weights

Layout = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_file(tmp_path / "net.safetensors", "plain", height=1, width=4)


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


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    header = small_header(name)
    network = small_network(header)
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
    again = small_file(tmp_path / "again.safetensors", "plain", height=1, width=4)
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


@pytest.mark.parametrize("length", [1 << 63, 1 << 40, 1 << 24])
def test_an_announced_header_is_not_read_beyond_the_file(path: Path, length: int) -> None:
    path.write_bytes(struct.pack("<Q", length) + b"{}")
    with pytest.raises(WeightsError, match="truncated"):
        load_weights(path)


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(WeightsError, match="not a safetensors file"):
        load_weights(path)


def test_numbers_that_are_not_finite_are_neither_written_nor_read(path: Path) -> None:
    header = small_header("plain", height=1, width=4)
    network = small_network(header)
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
    header = small_header("tower")
    network = small_network(header)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # any write beyond fails
    try:
        with pytest.raises(WeightsError, match="cannot be written"):
            save_weights(path, network, header)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    for read in (WeightsHeader.read, load_weights):
        with pytest.raises(MiaiError, match="cannot be read: No such file"):
            read(tmp_path / "none.safetensors")


def test_without_torch_the_header_is_read_and_the_extra_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert WeightsHeader.read(path).size == 5
    with pytest.raises(MissingExtraError, match=re.escape(install_line("miai-go[nn]"))):
        load_weights(path)
