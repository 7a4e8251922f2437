"""Asking the inference server, and starting it when it is not there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miai.errors import MiaiError
from miai.parameters import build_parameters
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
from miai_go.nets.inference import Backend, Precision, Symmetry, encoder_of
from miai_go.nets.oracle import Answers, Counter, Planes, check_planes, join
from miai_go.nets.server import NetworkWish, ServerSettings, file_digest
from miai_go.nets.weights import WeightsHeader

_START_SECONDS = 60.0
_RETRY_SECONDS = 0.05
_TRIES = 4  # to open a network on a server that hangs up
_BROKEN = (OSError, FrameError, ConnectionOver)
_MOST = 1024  # positions of one request


class RemoteOracle:
    """A network that the machine's inference server runs.

    The server is started if none runs. When it dies, it is started once more and asked again,
    so that nothing is lost. Several threads may ask; their requests go one after another.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self,
        path: str | Path,
        *,
        backend: Backend = "auto",
        precision: Precision = "auto",
        symmetry: Symmetry = "none",
        fixed_batch: int | None = None,
        device: str = "cpu",
        seed: int = 0,
        settings: ServerSettings | None = None,
        folder: Path | None = None,
        timeout: float = 120.0,
    ) -> None:
        """Have the server open the network; see `load_oracle` for what is not said here.

        Args:
          settings: of the server, if this has to start it.
          folder: of the server, if not the user's own.
          timeout: seconds to wait for an answer.

        Raises:
          WeightsError: the file cannot be read or is not what it says.
          InferenceError: the server cannot be started, or cannot run the network.
        """
        path = Path(path).resolve()
        self._wish = NetworkWish(
            path=str(path),
            sha256=file_digest(path),
            backend=backend,
            precision=precision,
            symmetry=symmetry,
            fixed_batch=fixed_batch,
            device=device,
            seed=seed,
        )
        self._place = server_place(folder)
        self._settings = settings or ServerSettings()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._counter = Counter()
        self._connection: socket.socket | None = None
        self._header: WeightsHeader | None = None
        with self._lock:
            self._ask({"op": "status"}, {})
        assert self._header is not None
        self.encoder = encoder_of(self._header, where=str(path))
        self.has_policy = "policy" in self._header.outputs
        self.has_value = "value" in self._header.outputs

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes.

        Raises:
          InferenceError: the planes do not fit, the network cannot answer, or the server died
            twice or cannot be started again.
        """
        check_planes(planes, self.encoder)
        most = max(min(_MOST, MAX_BODY // planes[0].size), 1)
        began = time.perf_counter()
        parts = []
        with self._lock:
            for begin in range(0, len(planes), most):
                _, arrays = self._ask({"op": "infer"}, {"planes": planes[begin : begin + most]})
                parts.append(
                    Answers(
                        policy=arrays.get("policy"),
                        value=arrays.get("value"),
                        ownership=arrays.get("ownership"),
                        score=arrays.get("score"),
                    )
                )
        seconds = time.perf_counter() - began
        self._counter.add(positions=len(planes), seconds=seconds, batches=len(parts))
        return join(parts)

    def statistics(self) -> dict[str, float]:
        """Return what was done so far; see `Counter.statistics`.

        Batches and seconds are of the requests of this client. Beside them, with ``server_``
        before their names, the figures of the server's network: all its clients together.
        """
        with self._lock:
            status, _ = self._ask({"op": "status"}, {})
        served = {f"server_{name}": figure for name, figure in status["own"].items()}
        return {**self._counter.statistics(), **served}

    def close(self) -> None:
        """Close the connection; the server ends by itself when nobody is left."""
        with self._lock:
            self._drop()

    def _ask(self, message: Message, arrays: Arrays) -> tuple[Message, Arrays]:
        """Return the server's answer; a server that died is started and asked once more."""
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
        """Return the connection, with the network opened, anew where there is none.

        A server that was just killed may still take a connection and then drop it, so that some
        tries are made.
        """
        for tries in range(_TRIES):
            if self._connection is not None:
                return self._connection
            connection = self._connection = connect(self._place, self._settings)
            connection.settimeout(self._timeout)
            try:
                wish = {"op": "open", **self._wish.model_dump()}
                opened, _ = exchange(connection, wish, {})
                self._header = build_parameters(WeightsHeader, opened["header"], where="header")
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
            f"{self._wish.path}: the inference server died again and again: "
            f"{error or 'it hung up'}; see {self._place.log}"
        )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def exchange(connection: socket.socket, message: Message, arrays: Arrays) -> tuple[Message, Arrays]:
    """Return the answer to one request.

    Raises:
      InferenceError: the server refused it; the message says why.
      OSError, FrameError, ConnectionOver: the server is gone or hung up.
    """
    send(connection, message, arrays)
    answer, found = receive(connection)
    if "error" in answer:
        raise InferenceError(f"the inference server: {answer['error']}")
    return answer, found


def server_status(folder: Path | None = None) -> dict[str, Any] | None:
    """Return the figures of the server that runs, or None if none does.

    pid, seconds since it began, clients connected, clients served so far, and for each of its
    networks path, digest, users and the figures of `BatchingOracle.statistics`.
    """
    return _tell(server_place(folder), {"op": "status"})


def stop_server(folder: Path | None = None) -> bool:
    """Make the server end, whoever is connected; return whether one ran."""
    return _tell(server_place(folder), {"op": "stop"}) is not None


def _tell(place: ServerPlace, message: Message) -> Message | None:
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
    """Return a connection to the server, started if none runs.

    Raises:
      InferenceError: it cannot be started.
    """
    deadline = time.monotonic() + _START_SECONDS
    connection = _connected(place)
    while connection is None:
        with _locked(place.start_lock, deadline):
            connection = _connected(place)  # whoever had the lock before may have started it
            if connection is None:
                _start(place, settings, deadline)
                connection = _connected(place)
        if connection is None:
            if time.monotonic() > deadline:
                raise InferenceError(f"the inference server does not listen; see {place.log}")
            time.sleep(_RETRY_SECONDS)  # an old one is about to end
    return connection


def _connected(place: ServerPlace) -> socket.socket | None:
    """Return a connection to the server, or None if none runs.

    Raises:
      InferenceError: it runs, and takes no connection.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            connection.connect(str(place.socket))
        except BlockingIOError as error:  # many clients come at once
            if time.monotonic() > deadline:
                connection.close()
                raise InferenceError(f"{place.socket}: nobody takes connections") from error
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
    options = {
        "--folder": place.folder,
        "--threads": settings.threads,
        "--max-batch": settings.max_batch,
        "--max-wait": settings.max_wait,
        "--idle-seconds": settings.idle_seconds,
    }
    words = [str(word) for option in options.items() for word in option]
    with place.log.open("wb") as log:
        # -P: a file of the working directory called numpy.py, say, is not what numpy means.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "miai_go.nets.server", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=place.folder,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it forks, so without threads
            start_new_session=True,
        )
    try:
        status = process.wait(max(deadline - time.monotonic(), 1.0))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise InferenceError(f"the inference server does not start; see {place.log}") from None
    if status:
        last = place.log.read_text(encoding="utf-8", errors="replace").strip()[-300:]
        raise InferenceError(f"the inference server cannot be started: {last}; see {place.log}")
