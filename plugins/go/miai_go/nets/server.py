"""The inference server: one process per machine that runs networks for all others.

Self-play workers, tournament agents and other clients share its networks, and waiting requests
become one batch. The first client starts it (see `miai_go.nets.client`); it ends some seconds after
the last client has left. Each connection has a thread that reads a request, waits for its batch and
answers; a bad frame ends only its own connection.

    python -m miai_go.nets.server --folder FOLDER [--threads 1] [--idle-seconds 60]
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from miai.errors import MiaiError
from miai.files import reading
from miai.parameters import StrictModel, build_parameters
from miai_go.errors import InferenceError
from miai_go.nets.frames import (
    Arrays,
    ConnectionOver,
    FrameError,
    Message,
    receive,
    send,
    server_place,
)
from miai_go.nets.inference import load_oracle
from miai_go.nets.oracle import Answers, Oracle, Planes, WorkCounter, check_planes
from miai_go.nets.parameters import Backend, Precision, Symmetry
from miai_go.nets.weights import WeightsHeader

# Merging requests into batches


@dataclass(slots=True, eq=False)
class _Request:
    planes: Planes
    since: float = field(default_factory=time.perf_counter)
    done: threading.Event = field(default_factory=threading.Event)
    answers: Answers | None = None
    error: BaseException | None = None


class BatchingOracle:
    """An oracle for many threads, which merges waiting requests into one batch of another oracle.

    One worker takes waiting requests in their order, up to `max_batch` positions; more gather while
    the network works. A request is never divided.

    Attributes:
      askers: number of threads that may ask; None if unknown. Once as many requests wait, no more
        can come and the batch begins.
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        max_batch: int = 64,
        max_wait: float = 0.0,
        askers: int | None = None,
    ) -> None:
        """Start the worker, which alone asks and closes `oracle`; see `ServerSettings`."""
        self.encoder = oracle.encoder
        self.has_policy = oracle.has_policy
        self.has_value = oracle.has_value
        self.askers = askers
        self._oracle = oracle
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._counter = WorkCounter()
        self._most_waiting = 0
        self._closed = False
        self._waiting: deque[_Request] = deque()
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="miai-go-batches", daemon=True)
        self._worker.start()

    def infer(self, planes: Planes) -> Answers:
        """Return the answers, after a wait for others. Raises `InferenceError` if closed, too."""
        check_planes(planes, self.encoder)
        request = _Request(planes)
        with self._changed:
            if self._closed:
                raise InferenceError("the network was closed; load it again")
            self._waiting.append(request)
            self._most_waiting = max(self._most_waiting, len(self._waiting))
            self._changed.notify()
        request.done.wait()
        if request.error is not None:
            raise InferenceError(str(request.error)) from request.error
        assert request.answers is not None
        return request.answers

    def statistics(self) -> dict[str, float]:
        """Return `WorkCounter.statistics`, and the requests that wait (queue) and their maximum."""
        with self._changed:
            queue = {"queue": float(len(self._waiting)), "most_waiting": float(self._most_waiting)}
        return {**self._counter.statistics(), **queue}

    def close(self) -> None:
        """Answer the waiting requests, end the worker and close the network's oracle."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._worker.join()
        self._oracle.close()

    def _work(self) -> None:
        while batch := self._next_batch():
            began = time.perf_counter()
            try:
                self._answer(batch)
            except BaseException as error:  # raised again in the threads that asked
                for request in batch:
                    request.error = error
            seconds = time.perf_counter() - began
            wait = sum(began - request.since for request in batch)
            positions = sum(len(request.planes) for request in batch)
            self._counter.add(positions=positions, seconds=seconds, requests=len(batch), wait=wait)
            for request in batch:
                request.done.set()

    def _next_batch(self) -> list[_Request]:
        """Return requests that fit in one batch, the oldest first; none after the last one."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            deadline = self._waiting[0].since + self._max_wait
            while not self._is_full() and (remaining := deadline - time.perf_counter()) > 0:
                self._changed.wait(remaining)
            batch = [self._waiting.popleft()]
            positions = len(batch[0].planes)
            while self._waiting and positions + len(self._waiting[0].planes) <= self._max_batch:
                positions += len(self._waiting[0].planes)
                batch.append(self._waiting.popleft())
            return batch

    def _is_full(self) -> bool:
        """Return whether the batch is full, or no further request can come."""
        if self._closed or (self.askers is not None and len(self._waiting) >= self.askers):
            return True
        return sum(len(request.planes) for request in self._waiting) >= self._max_batch

    def _answer(self, batch: list[_Request]) -> None:
        if len(batch) == 1:
            batch[0].answers = self._oracle.infer(batch[0].planes)
            return
        together = self._oracle.infer(np.concatenate([request.planes for request in batch]))
        begin = 0
        for request in batch:
            end = begin + len(request.planes)
            request.answers = together.rows(begin, end)
            begin = end


# The networks of the server

_MAX_UNUSED = 4  # networks without users that stay loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of a server, given by the client that starts it.

    Attributes:
      threads: threads of the library that runs a network.
      max_batch: positions from which a batch takes no further request.
      max_wait: seconds that a request may wait for others, besides the time the network is busy.
      idle_seconds: seconds without a connection after which the server ends.
    """

    threads: int = 1
    max_batch: int = 64
    max_wait: float = 0.0005
    idle_seconds: float = 60.0


class OpenRequest(StrictModel):
    """A client's request to open a network; see `load_oracle` for the options and the size.

    Attributes:
      path: absolute path of the weights file.
      sha256: digest of the whole file, which must not have been replaced since.
    """

    path: str = Field(max_length=4096)
    sha256: str = Field(max_length=64)
    size: int | None = None
    backend: Backend = "auto"
    precision: Precision = "auto"
    symmetry: Symmetry = "none"
    fixed_batch: int | None = Field(default=None, ge=1, le=1024)
    device: str = Field(default="cpu", max_length=40)
    seed: int = 0

    @property
    def key(self) -> str:
        """Identifies the network: everything but the path."""
        return self.model_copy(update={"path": ""}).model_dump_json()


@dataclass(slots=True, eq=False)
class SharedNetwork:
    """One network of the server: its first request, its connections, and what is loaded."""

    request: OpenRequest
    users: int = 0
    loading: threading.Lock = field(default_factory=threading.Lock)
    header: WeightsHeader | None = None
    oracle: BatchingOracle | None = None


class NetworkPool:
    """The networks of the server, each loaded once, with a queue that merges requests."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._networks: dict[str, SharedNetwork] = {}
        self._lock = threading.Lock()

    def take(self, request: OpenRequest) -> SharedNetwork:
        """Return the requested network, loaded if necessary. Raises `MiaiError`."""
        with self._lock:
            network = self._networks.pop(request.key, None) or SharedNetwork(request)
            self._networks[request.key] = network  # the most recently used come last
            self._count(network, 1)
        try:
            with network.loading:
                if network.oracle is None:
                    self._load(network)
                    with self._lock:
                        self._count(network, 0)
        except BaseException:
            self.release(network)
            raise
        return network

    def release(self, network: SharedNetwork) -> None:
        """Note that a connection stopped using a network; a few unused ones stay loaded."""
        with self._lock:
            self._count(network, -1)
            unused = [key for key, other in self._networks.items() if other.users == 0]
            failed = [key for key in unused if self._networks[key].oracle is None]
            surplus = [key for key in unused if key not in failed][:-_MAX_UNUSED]
            closing = [self._networks.pop(key) for key in failed + surplus]
        for other in closing:
            if other.oracle is not None:
                other.oracle.close()

    def statistics(self) -> list[dict[str, str | float]]:
        """Return the figures of each network, with its path, digest and users."""
        with self._lock:
            networks = list(self._networks.values())
        return [
            {
                "path": one.request.path,
                "sha256": one.request.sha256,
                "users": float(one.users),
                **(one.oracle.statistics() if one.oracle else {}),
            }
            for one in networks
        ]

    def _count(self, network: SharedNetwork, more: int) -> None:
        network.users += more
        if network.oracle is not None:
            network.oracle.askers = network.users

    def _load(self, network: SharedNetwork) -> None:
        request, settings = network.request, self._settings
        path = Path(request.path)
        _check_digest(path, request.sha256)
        options = request.model_dump(exclude={"path", "sha256"})
        oracle = load_oracle(path, threads=settings.threads, **options)
        _check_digest(path, request.sha256)  # it may have been replaced while it was read
        max_batch = request.fixed_batch or settings.max_batch
        network.header = oracle.header
        network.oracle = BatchingOracle(oracle, max_batch=max_batch, max_wait=settings.max_wait)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a whole file. Raises `InferenceError` if it cannot be read."""
    with reading(path, InferenceError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_digest(path: Path, wanted: str) -> None:
    if file_digest(path) != wanted:
        raise InferenceError(f"{path}: was replaced since it was asked for; open it again")


# The server

MAX_CLIENTS = 256
_LOOK_EVERY = 0.2  # seconds between checks for connected clients
_SHOWN = 2000  # characters of an error that are sent


class Server:
    """Listens, and answers every connection in a thread of its own."""

    def __init__(self, listener: socket.socket, settings: ServerSettings) -> None:
        self._listener = listener
        self._settings = settings
        self._pool = NetworkPool(settings)
        self._began = time.monotonic()
        self._clients = 0
        self._served = 0
        self._lock = threading.Lock()
        self._ending = threading.Event()

    def run(self) -> None:
        """Serve until no client was connected for `idle_seconds`, or until `end`."""
        self._listener.settimeout(_LOOK_EVERY)
        last = time.monotonic()
        while not self._ending.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                with self._lock:
                    busy = self._clients > 0
                if busy:
                    last = time.monotonic()
                elif time.monotonic() - last > self._settings.idle_seconds:
                    return
                continue
            last = time.monotonic()
            self._welcome(connection)

    def end(self) -> None:
        """Make `run` return soon. May be called from a signal handler."""
        self._ending.set()

    def _welcome(self, connection: socket.socket) -> None:
        connection.setblocking(True)  # it may have the listener's timeout
        with self._lock:
            full = self._clients >= MAX_CLIENTS
            self._clients += not full
            self._served += not full
        if full:
            with contextlib.suppress(OSError), connection:
                send(connection, {"error": f"it serves {MAX_CLIENTS} clients, its limit"}, {})
            return
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer one connection until it ends."""
        client = _Client(self._pool)
        try:
            with connection:
                while self._exchange(connection, client):
                    pass
        except (ConnectionOver, FrameError, OSError):
            pass  # the client is gone
        finally:
            client.leave()
            with self._lock:
                self._clients -= 1

    def _exchange(self, connection: socket.socket, client: _Client) -> bool:
        """Answer one request; return whether the connection can be used further."""
        try:
            message, arrays = receive(connection)
        except FrameError as error:
            send(connection, {"error": f"the request {error}"}, {})
            return False
        try:
            answer, answers = self._answer(client, message, arrays)
        except MiaiError as error:
            answer, answers = {"error": str(error)[:_SHOWN]}, {}
        except Exception as error:
            traceback.print_exc()
            answer, answers = {"error": f"a defect: {type(error).__name__}: {error}"[:_SHOWN]}, {}
        send(connection, answer, answers)
        return True

    def _answer(
        self, client: _Client, message: Message, arrays: Arrays
    ) -> tuple[dict[str, Any], Arrays]:
        operation = message.pop("op", None)
        if operation == "infer":
            return {}, client.infer(arrays)
        if operation == "open":
            return client.open(build_parameters(OpenRequest, message, where="open")), {}
        if operation == "status":
            with self._lock:
                clients, served = self._clients, self._served
            return {
                "pid": os.getpid(),
                "seconds": time.monotonic() - self._began,
                "clients": clients,
                "served": served,
                "networks": self._pool.statistics(),
                "own": client.statistics(),
            }, {}
        if operation == "stop":
            self.end()
            return {}, {}
        raise InferenceError(f"unknown operation {str(operation)[:40]!r}")


class _Client:
    """The network that one connection uses."""

    def __init__(self, pool: NetworkPool) -> None:
        self._pool = pool
        self._network: SharedNetwork | None = None

    def open(self, request: OpenRequest) -> dict[str, Any]:
        self.leave()
        self._network = self._pool.take(request)
        header = self._network.header
        assert header is not None
        return {"header": header.model_copy(update={"history": ()}).model_dump(mode="json")}

    def infer(self, arrays: Arrays) -> Arrays:
        if self._network is None or self._network.oracle is None:
            raise InferenceError("open a network on this connection first")
        if set(arrays) != {"planes"} or arrays["planes"].ndim != 4:
            raise InferenceError("give planes, uint8 of shape (n, planes, size, size)")
        return self._network.oracle.infer(arrays["planes"]).arrays()

    def statistics(self) -> dict[str, float]:
        if self._network is None or self._network.oracle is None:
            return {}
        return self._network.oracle.statistics()

    def leave(self) -> None:
        if self._network is not None:
            self._pool.release(self._network)
            self._network = None


def main() -> None:
    """Listen, go into the background, serve."""
    folder, settings = _arguments()
    place = server_place(folder)
    lock = place.run_lock.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another process is the only server
    with contextlib.suppress(FileNotFoundError):
        place.socket.unlink()  # of a server that was killed: the lock is ours now
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place.socket))
    listener.listen(MAX_CLIENTS)
    # The client that started this process waits for its exit and then connects. The server itself
    # is not a child of the client, which may be killed with all its children.
    if os.fork():
        os._exit(0)
    os.setsid()
    server = Server(listener, settings)
    signal.signal(signal.SIGTERM, lambda *_: server.end())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server.run()
    finally:
        place.socket.unlink(missing_ok=True)
        listener.close()
        lock.close()
        sys.stderr.flush()
        os._exit(0)  # without waiting for the threads that wait for clients


def _arguments() -> tuple[Path, ServerSettings]:
    parser = argparse.ArgumentParser(prog="miai_go.nets.server")
    parser.add_argument("--folder", type=Path, required=True)
    for name, value in asdict(ServerSettings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    arguments = vars(parser.parse_args())
    return arguments.pop("folder"), ServerSettings(**arguments)


if __name__ == "__main__":
    main()
