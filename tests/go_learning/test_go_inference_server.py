"""The inference server, with real processes: shared, killed, abused, left alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.go_learning.go_networks_small import random_planes, small_file

from miai.process.sandbox import CONFINEMENT
from miai_go.errors import InferenceError
from miai_go.nets.client import RemoteOracle, server_status, stop_server
from miai_go.nets.frames import server_place
from miai_go.nets.inference import load_oracle
from miai_go.nets.onnx_export import export_onnx
from miai_go.nets.server import ServerSettings
from miai_go.nets.weights import load_weights

# A client of its own: asks `count` times about planes of its number, prints the policies' digest.
CLIENT = """
import hashlib, sys
from pathlib import Path
from miai_go.nets.client import RemoteOracle, server_status
import numpy as np
file, folder, number, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
oracle = RemoteOracle(file, folder=folder, fixed_batch=16)
print(server_status(folder)["pid"], flush=True)
total = hashlib.sha256()
for turn in range(count):
    rng = np.random.default_rng(1000 * number + turn)
    planes = rng.integers(0, 2, (1 + turn % 5, 4, 5, 5), dtype=np.uint8)
    total.update(oracle.infer(planes).policy.tobytes())
    total.update(oracle.infer(planes).value.tobytes())
    if turn == 9:
        print("at work", flush=True)
print(total.hexdigest(), flush=True)
"""

# ONNX Runtime starts faster than torch, and what is tested here is the same for both.
SETTINGS = ServerSettings(idle_seconds=20.0, max_wait=0.002)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = small_file(tmp_path_factory.mktemp("weights") / "net.safetensors")
    export_onnx(load_weights(weights), weights.with_suffix(".onnx"))
    return weights.with_suffix(".onnx")


@pytest.fixture
def folder() -> Iterator[Path]:
    # A socket's path may be no longer than about 100 bytes, and pytest's folders are long.
    made = Path(tempfile.mkdtemp(prefix="miai-"))
    yield made
    stop_server(made)
    shutil.rmtree(made)


@pytest.fixture
def oracle(path: Path, folder: Path) -> Iterator[RemoteOracle]:
    made = RemoteOracle(path, folder=folder, settings=SETTINGS)
    yield made
    made.close()


def policy(oracle: RemoteOracle, planes: NDArray[np.uint8]) -> NDArray[np.float32]:
    logits = oracle.infer(planes).policy
    assert logits is not None
    return logits


def client(path: Path, folder: Path, number: int, count: int) -> subprocess.Popen[str]:
    words = [str(path), str(folder), str(number), str(count)]
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, *words], stdout=subprocess.PIPE, text=True
    )


def pid_of(folder: Path) -> int:
    status = server_status(folder)
    assert status is not None
    return int(status["pid"])


def users(folder: Path) -> int:
    status = server_status(folder)
    assert status is not None
    return int(status["networks"][0]["users"])


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.long
def test_processes_started_together_share_one_server(path: Path, folder: Path) -> None:
    clients = [client(path, folder, number, 30) for number in range(3)]
    outputs = [process.communicate(timeout=100)[0].splitlines() for process in clients]
    assert [process.returncode for process in clients] == [0, 0, 0]
    assert len({pid for pid, *_ in outputs}) == 1
    status = server_status(folder)
    assert status is not None
    assert [status["pid"]] == [int(outputs[0][0])]
    (network,) = status["networks"]
    assert network["requests"] == 3 * 30 * 2
    assert network["positions"] == 3 * 2 * sum(1 + turn % 5 for turn in range(30))
    assert network["batches"] <= network["requests"]
    alone = client(path, folder, 1, 30).communicate(timeout=100)[0].splitlines()
    assert alone == outputs[1], "the same process, alone, gets other answers"


def test_the_server_answers_as_the_network_does(path: Path, oracle: RemoteOracle) -> None:
    planes = random_planes(7, seed=1)
    mine, remote = load_oracle(path).infer(planes), oracle.infer(planes)
    for name in ("policy", "value", "ownership", "score"):
        assert (getattr(mine, name) == getattr(remote, name)).all()
    assert oracle.has_policy
    assert oracle.has_value
    assert oracle.encoder.planes == planes.shape[1]
    figures = oracle.statistics()
    assert figures["positions"] == figures["server_positions"] == 7
    assert {"server_batches", "server_mean_batch", "server_queue_wait"} <= set(figures)


def test_a_long_request_is_cut(oracle: RemoteOracle) -> None:
    planes = random_planes(2500, seed=2)
    whole = oracle.infer(planes)
    assert whole.policy is not None
    assert len(whole.policy) == 2500
    last = oracle.infer(planes[-1:])
    assert last.policy is not None
    assert np.abs(last.policy[0] - whole.policy[-1]).max() < 1e-5


def test_a_killed_server_is_started_again(oracle: RemoteOracle, folder: Path) -> None:
    planes = random_planes(3, seed=3)
    before = oracle.infer(planes)
    pid = pid_of(folder)
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)
    assert server_place(folder).socket.exists(), "a killed server leaves its socket"
    after = oracle.infer(planes)
    assert before.policy is not None
    assert after.policy is not None
    assert (before.policy == after.policy).all()
    assert pid_of(folder) != pid


@pytest.mark.long
def test_a_server_killed_at_work_costs_no_answer(path: Path, folder: Path) -> None:
    expected = client(path, folder, 4, 200).communicate(timeout=100)[0].splitlines()[-1]
    process = client(path, folder, 4, 200)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert process.stdout.readline() == "at work\n"
    os.kill(pid, signal.SIGKILL)
    assert process.communicate(timeout=100)[0].strip() == expected
    assert process.returncode == 0


def test_a_client_killed_in_a_request_harms_nobody(
    path: Path, folder: Path, oracle: RemoteOracle
) -> None:
    process = client(path, folder, 5, 10**6)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    for turn in range(20):
        oracle.infer(random_planes(2, seed=turn))
    process.kill()
    process.wait()
    for turn in range(20):
        oracle.infer(random_planes(2, seed=turn))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if users(folder) == 1:
            break
        time.sleep(0.02)
    assert users(folder) == 1, "the dead client is still counted"
    assert pid_of(folder) == pid


@pytest.mark.long
def test_an_idle_server_ends(path: Path, folder: Path) -> None:
    oracle = RemoteOracle(path, folder=folder, settings=ServerSettings(idle_seconds=0.3))
    pid = pid_of(folder)
    time.sleep(1.0)
    assert pid_of(folder) == pid, "it ended though a client was connected"
    oracle.close()
    wait_until_gone(pid)
    assert not server_place(folder).socket.exists()
    assert server_status(folder) is None


def test_the_server_is_not_a_child_of_its_client(oracle: RemoteOracle, folder: Path) -> None:
    status = Path(f"/proc/{pid_of(folder)}/status").read_text(encoding="utf-8")
    parent = next(line for line in status.splitlines() if line.startswith("PPid:"))
    assert int(parent.split()[1]) != os.getpid()


@pytest.mark.slow
def test_networks_are_distinguished_by_file_content(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    planes = random_planes(2, seed=6)
    answers = []
    for seed in (1, 2):
        small_file(file, "four-conv", seed=seed, width=4, hidden=4)
        oracle = RemoteOracle(file, folder=folder, precision="fp32", settings=SETTINGS)
        answers.append((oracle, policy(oracle, planes)))
    for oracle, before in answers:
        assert (policy(oracle, planes) == before).all()
        oracle.close()
    assert (answers[0][1] != answers[1][1]).any()


def head(text: bytes, body: int, mark: bytes = b"MGI1") -> bytes:
    return struct.pack("<4sII", mark, len(text), body) + text


def infer_head(described: Any, body: bytes) -> bytes:
    return head(json.dumps({"op": "infer", "arrays": described}).encode(), len(body)) + body


HOSTILE = {
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "other mark": head(b"{}", 0, b"MGI9"),
    "huge": struct.pack("<4sII", b"MGI1", 1 << 31, 1 << 31),
    "huge body": head(b'{"arrays": []}', (1 << 26) + 1),
    "no JSON": head(b"{", 0),
    "no object": head(b"[]", 0),
    "deep": head(b"[" * 60000, 0),
    "NaN": head(b'{"arrays": [], "op": NaN}', 0),
    "no arrays": head(b'{"op": "status"}', 0),
    "object array": infer_head([["planes", "object", [1]]], b"x"),
    "negative": infer_head([["planes", "uint8", [-1]]], b"x"),
    "overflow": infer_head([["planes", "uint8", [1 << 20, 1 << 20, 1 << 20]]], b"x"),
    "too few": infer_head([["planes", "uint8", [4]]], b"xx"),
    "too many": infer_head([["planes", "uint8", [1]]], b"xx"),
    "twice": infer_head([["planes", "uint8", [1]], ["planes", "uint8", [1]]], b"xx"),
}

REFUSED: dict[str, dict[str, Any]] = {
    "unknown operation": {"op": "eval"},
    "no operation": {},
    "nothing opened": {"op": "infer"},
    "strange field": {"op": "open", "path": "/", "sha256": "", "shell": "true"},
    "no such file": {"op": "open", "path": "/nowhere/net.onnx", "sha256": ""},
    "a device as file": {"op": "open", "path": "/dev/null", "sha256": "0"},
    "wrong type": {"op": "open", "path": 3, "sha256": ""},
    "wrong batch": {"op": "open", "path": "/", "sha256": "", "fixed_batch": 10**9},
}


def raw(folder: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(server_place(folder).socket))
    connection.settimeout(20)
    return connection


def answer(connection: socket.socket) -> Any:
    _, length, body = struct.unpack("<4sII", connection.recv(12, socket.MSG_WAITALL))
    assert body == 0
    return json.loads(connection.recv(length, socket.MSG_WAITALL))


def test_hostile_clients_only_lose_their_connection(oracle: RemoteOracle, folder: Path) -> None:
    planes = random_planes(2, seed=7)
    oracle.infer(planes)
    pid = pid_of(folder)
    for name, data in HOSTILE.items():
        print(name)
        with raw(folder) as connection:
            connection.sendall(data)
            assert "the request" in answer(connection)["error"]
            with contextlib.suppress(ConnectionResetError):  # closed before all was read
                assert connection.recv(1) == b"", "the connection goes on after a bad frame"
    with raw(folder) as connection:
        connection.sendall(head(b'{"arrays"', 100)[:15])  # and hangs up in the middle
    for name, message in REFUSED.items():
        print(name)
        with raw(folder) as connection:
            text = json.dumps({**message, "arrays": []}).encode()
            connection.sendall(head(text, 0))
            refusal = answer(connection)["error"]
            assert "defect" not in refusal
            assert "\n" not in refusal
            status = json.dumps({"op": "status", "arrays": []}).encode()
            connection.sendall(head(status, 0))
            assert answer(connection)["pid"] == pid, "a refused request costs the connection"
    oracle.infer(planes)
    assert pid_of(folder) == pid
    assert server_place(folder).log.read_text(encoding="utf-8") == ""


def test_many_clients_that_say_nothing_leave_room(oracle: RemoteOracle, folder: Path) -> None:
    silent = [raw(folder) for _ in range(300)]
    try:
        oracle.infer(random_planes(1, seed=8))
    finally:
        for connection in silent:
            connection.close()
    deadline = time.monotonic() + 20
    while server_status(folder) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    oracle.infer(random_planes(1, seed=9))
    assert pid_of(folder)


def test_wrong_planes_are_refused_and_the_connection_goes_on(oracle: RemoteOracle) -> None:
    planes = random_planes(2, seed=10)
    with pytest.raises(InferenceError, match="takes uint8 of shape"):
        oracle.infer(planes[:, :1])
    assert oracle.infer(planes).policy is not None


def test_a_folder_that_others_can_enter_is_refused(path: Path, folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(InferenceError, match="others have access"):
        RemoteOracle(path, folder=folder)
    folder.chmod(0o700)


def test_a_missing_file_is_reported_by_name(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InferenceError, match="cannot be read"):
        RemoteOracle(tmp_path / "none.safetensors", folder=folder)


def test_agents_from_which_folders_are_hidden_have_a_server_for_themselves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that they started could not read the weights of others."""
    places = {server_place(folder).socket}
    for hidden in ("/runs/a", "/runs/b"):
        monkeypatch.setenv(CONFINEMENT, hidden)
        places.add(server_place(folder).socket)
    assert len(places) == 3
