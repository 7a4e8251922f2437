"""The client of the inference server, which starts the server if none runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from miai.errors import MiaiError
from miai.parameters import build_parameters
from miai.process.child import Child
from miai_go.errors import InferenceError
from miai_go.nets.encoder import Encoder
from miai_go.nets.frames import (
    MAX_BODY,
    Arrays,
    ConnectionOver,
    FrameError,
    Message,
    ServerPlace,
    receive,
    send,
    server_place,
)
from miai_go.nets.oracle import (
    MAX_BATCH,
    Answers,
    Planes,
    WorkCounter,
    check_answers,
    check_planes,
    join,
)
from miai_go.nets.parameters import OracleOptions
from miai_go.nets.server import OpenRequest, ServerSettings, file_digest
from miai_go.nets.weights import WeightsHeader, encoder_of

_START_SECONDS = 60.0
_RETRY_SECONDS = 0.05
_TRIES = 4  # attempts to open a network on a server that hangs up
_BROKEN = (OSError, FrameError, ConnectionOver)


class RemoteOracle:
    """An `Oracle` that the machine's inference server runs, which is started if none runs.

    If the server dies, it is restarted and the request repeated. Safe for several threads; requests
    go one after another.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        size: int | None = None,
        settings: ServerSettings | None = None,
        folder: Path | None = None,
        timeout: float = 120.0,
        **options: Unpack[OracleOptions],
    ) -> None:
        """Have the server open the network.

        Args:
          size: points on a side of the boards to answer for; None for the only size that the
            network was trained for.
          settings: settings of the server, if this client starts it.
          folder: folder of the server; default: the user's own.
          timeout: seconds to wait for an answer.

        Raises `WeightsError` if the file is damaged, `InferenceError` if the server cannot run it.
        """
        path = Path(path).resolve()
        digest = file_digest(path)
        self._request = OpenRequest(path=str(path), sha256=digest, size=size, **options)
        self._place = server_place(folder)
        self._settings = settings or ServerSettings()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._counter = WorkCounter()
        self._connection: socket.socket | None = None
        self._header: WeightsHeader | None = None
        with self._lock:
            self._ask({"op": "status"}, {})
        self.encoder: Encoder = encoder_of(self.header, where=str(path), size=size)
        self.has_policy: bool = "policy" in self.header.outputs
        self.has_value: bool = "value" in self.header.outputs

    @property
    def header(self) -> WeightsHeader:
        """The header of the weights."""
        assert self._header is not None
        return self._header

    def infer(self, planes: Planes) -> Answers:
        """Return the network's answers. Raises `InferenceError` as `Oracle.infer`."""
        check_planes(planes, self.encoder)
        most = max(min(MAX_BATCH, MAX_BODY // planes[0].size), 1)
        began = time.perf_counter()
        parts = []
        with self._lock:
            for begin in range(0, len(planes), most):
                batch = planes[begin : begin + most]
                _, arrays = self._ask({"op": "infer"}, {"planes": batch})
                parts.append(Answers(**arrays))
                check_answers(parts[-1], self.header.outputs, batch, where="the inference server")
        seconds = time.perf_counter() - began
        self._counter.add(positions=len(planes), seconds=seconds, batches=len(parts))
        return join(parts)

    def statistics(self) -> dict[str, float]:
        """Return figures of this client and, as ``server_...``, of all clients of the network."""
        with self._lock:
            status, _ = self._ask({"op": "status"}, {})
        figures = {f"server_{name}": figure for name, figure in status["own"].items()}
        return {**self._counter.statistics(), **figures}

    def close(self) -> None:
        """Close the connection. The server ends by itself after its last client."""
        with self._lock:
            self._drop()

    def _ask(self, message: Message, arrays: Arrays) -> tuple[Message, Arrays]:
        """Return the server's answer; a dead server is restarted once."""
        for last in (False, True):
            connection = self._opened()
            try:
                return exchange(connection, message, arrays)
            except _BROKEN as error:
                self._drop()
                if last:
                    raise self._dead(error) from error
        raise AssertionError("the last try answers or raises")

    def _opened(self) -> socket.socket:
        """Return a connection on which the network is open.

        A server that was just killed may still accept a connection and then drop it, hence several
        attempts.
        """
        for tries in range(_TRIES):
            if self._connection is not None:
                return self._connection
            connection = self._connection = connect(self._place, self._settings)
            connection.settimeout(self._timeout)
            try:
                request = {"op": "open", **self._request.model_dump()}
                reply, _ = exchange(connection, request, {})
                self._header = build_parameters(WeightsHeader, reply["header"], where="header")
            except MiaiError:
                self._drop()
                raise
            except _BROKEN as error:
                self._drop()
                if tries == _TRIES - 1:
                    raise self._dead(error) from error
                time.sleep(_RETRY_SECONDS * (1 << tries))
        assert self._connection is not None
        return self._connection

    def _dead(self, error: Exception) -> InferenceError:
        return InferenceError(
            f"{self._request.path}: the inference server died repeatedly: "
            f"{error or 'it hung up'}; see {self._place.log}"
        )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def exchange(connection: socket.socket, message: Message, arrays: Arrays) -> tuple[Message, Arrays]:
    """Return the answer to one request.

    Raises `InferenceError` if the server refused it, one of `_BROKEN` if it is gone.
    """
    send(connection, message, arrays)
    answer, answered = receive(connection)
    if "error" in answer:
        raise InferenceError(f"the inference server: {answer['error']}")
    return answer, answered


def server_status(folder: Path | None = None) -> dict[str, Any] | None:
    """Return the figures of the running server, or None if none runs.

    pid, seconds since its start, clients connected, clients served so far, and for each of its
    networks path, digest, users and `BatchingOracle.statistics`.
    """
    return _ask_running(server_place(folder), {"op": "status"})


def stop_server(folder: Path | None = None) -> bool:
    """End the server, even with clients connected; return whether one ran."""
    return _ask_running(server_place(folder), {"op": "stop"}) is not None


def _ask_running(place: ServerPlace, message: Message) -> Message | None:
    connection = _connected(place)
    if connection is None:
        return None
    with connection:
        connection.settimeout(_START_SECONDS)
        try:
            return exchange(connection, message, {})[0]
        except _BROKEN:
            return None


def connect(place: ServerPlace, settings: ServerSettings) -> socket.socket:
    """Return a connection to the server, started if necessary, or raise `InferenceError`."""
    deadline = time.monotonic() + _START_SECONDS
    connection = _connected(place)
    while connection is None:
        with _locked(place.start_lock, deadline):
            connection = _connected(place)  # started meanwhile by another process?
            if connection is None:
                _start(place, settings, deadline)
                connection = _connected(place)
        if connection is None:
            if time.monotonic() > deadline:
                raise InferenceError(f"the inference server does not listen; see {place.log}")
            time.sleep(_RETRY_SECONDS)  # an old server is about to end
    return connection


def _connected(place: ServerPlace) -> socket.socket | None:
    """Return a connection; None if no server runs. Raises `InferenceError` if it refuses."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            connection.connect(str(place.socket))
        except BlockingIOError as error:  # many clients connect at once
            if time.monotonic() > deadline:
                connection.close()
                raise InferenceError(f"{place.socket}: no connection is accepted") from error
            time.sleep(_RETRY_SECONDS)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        except OSError as error:
            connection.close()
            raise InferenceError(f"{place.socket}: no connection: {error.strerror}") from error
        else:
            connection.setblocking(True)
            return connection


@contextlib.contextmanager
def _locked(path: Path, deadline: float) -> Iterator[None]:
    with path.open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InferenceError(
                        f"{path}: another process has been starting the inference server for too "
                        "long; end it and try again"
                    ) from None
                time.sleep(_RETRY_SECONDS)
        yield


def _start(place: ServerPlace, settings: ServerSettings, deadline: float) -> None:
    """Start a server; returns when it listens and has gone into the background."""
    options = {"folder": place.folder, **asdict(settings)}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    with place.log.open("wb") as log:
        # -P: a file of the working directory called numpy.py, say, is not what numpy means.
        process = Child(
            [sys.executable, "-P", "-m", "miai_go.nets.server", *words],
            stdout=log,
            stderr=log,
            cwd=place.folder,
            environment={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it forks, so no threads
            new_session=True,
            tied=False,
        )
    if not process.await_death(max(deadline - time.monotonic(), 1.0)):
        process.kill()
        raise InferenceError(f"the inference server does not start; see {place.log}")
    status = process.returncode()
    process.reap()
    if status:
        last = place.log.read_text(encoding="utf-8", errors="replace").strip()[-300:]
        raise InferenceError(f"the inference server cannot be started: {last}; see {place.log}")
