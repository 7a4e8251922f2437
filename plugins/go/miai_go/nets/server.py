"""The inference server: one process a machine that runs networks for all others.

Self-play workers, tournament agents and other clients share its networks, and requests that wait
together become one batch. The first client starts it (see `miai_go.nets.client`); it ends some
seconds after the last client has left. Each connection has a thread that reads a request, waits for
its batch and answers; a bad frame ends its connection only.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from pydantic import Field

from miai.errors import MiaiError
from miai.files import reading
from miai.parameters import StrictModel, build_parameters
from miai_go.errors import InferenceError
from miai_go.nets.encoder import Encoder
from miai_go.nets.frames import (
    Arrays,
    ConnectionOver,
    FrameError,
    Message,
    ServerPlace,
    receive,
    send,
    server_place,
)
from miai_go.nets.inference import Ensemble, open_network
from miai_go.nets.oracle import Answers, Counter, Oracle, Planes, check_planes, rows
from miai_go.nets.weights import WeightsHeader


@dataclass(slots=True, eq=False)
class _Request:
    planes: Planes
    since: float = field(default_factory=time.perf_counter)
    done: threading.Event = field(default_factory=threading.Event)
    answers: Answers | None = None
    error: BaseException | None = None


class BatchingOracle:
    """An oracle for many threads, which merges what waits into one batch of another oracle.

    One worker takes the requests that wait, in their order, up to `max_batch` positions; while the
    network is at work the next ones gather. A request is never divided.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
      askers: how many threads are expected to ask; None if nobody knows. Once requests of so many
        wait, no more can come, and waiting on would be in vain.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self,
        oracle: Oracle,
        *,
        max_batch: int = 64,
        max_wait: float = 0.0,
        askers: int | None = None,
    ) -> None:
        """Start the worker.

        Args:
          oracle: answers the batches; it is asked by the worker alone, and closed with this one.
          max_batch: positions after which a batch takes no further request.
          max_wait: seconds that the oldest request may wait for others, beside the time that the
            network is busy: 0 to go ahead with what is there.
        """
        self.encoder = oracle.encoder
        self.has_policy = oracle.has_policy
        self.has_value = oracle.has_value
        self.askers = askers
        self._oracle = oracle
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._counter = Counter()
        self._most_waiting = 0
        self._closed = False
        self._waiting: deque[_Request] = deque()
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="miai-go-batches", daemon=True)
        self._worker.start()

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes; waits until a batch with them is done.

        Raises:
          InferenceError: the planes do not fit, the network cannot answer, or this was closed.
        """
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
        """Return what was done so far; see `Counter.statistics`.

        Beside it: queue, the requests that wait now, and most_waiting, the most that ever did.
        """
        with self._changed:
            queue = {"queue": float(len(self._waiting)), "most_waiting": float(self._most_waiting)}
        return {**self._counter.statistics(), **queue}

    def close(self) -> None:
        """Answer what waits, end the worker and close the network's oracle."""
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
            except BaseException as error:  # told to those who asked, in their threads
                for request in batch:
                    request.error = error
            seconds = time.perf_counter() - began
            wait = sum(began - request.since for request in batch)
            positions = sum(len(request.planes) for request in batch)
            self._counter.add(positions=positions, seconds=seconds, requests=len(batch), wait=wait)
            for request in batch:
                request.done.set()

    def _next_batch(self) -> list[_Request]:
        """Return requests that fit together, the oldest first; none when all is over."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            deadline = self._waiting[0].since + self._max_wait
            while not self._is_full() and (left := deadline - time.perf_counter()) > 0:
                self._changed.wait(left)
            batch = [self._waiting.popleft()]
            positions = len(batch[0].planes)
            while self._waiting and positions + len(self._waiting[0].planes) <= self._max_batch:
                positions += len(self._waiting[0].planes)
                batch.append(self._waiting.popleft())
            return batch

    def _is_full(self) -> bool:
        """Return whether waiting for more requests would be in vain."""
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
            request.answers = rows(together, begin, end)
            begin = end


_KEPT_UNUSED = 4


class NetworkWish(StrictModel):
    """Which network a client asks for, and how it is to be run; see `load_oracle`.

    Attributes:
      path: the weights file, from the root.
      sha256: digest of the whole file; what lies at the path now must have it.
    """

    path: str = Field(max_length=4096)
    sha256: str = Field(max_length=64)
    backend: Literal["auto", "torch", "onnx"] = "auto"
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    symmetry: Literal["none", "average", "random"] = "none"
    fixed_batch: int | None = Field(default=None, ge=1, le=1024)
    device: str = Field(default="cpu", max_length=40)
    seed: int = 0

    @property
    def key(self) -> str:
        """What two wishes for one network have in common: all but the path."""
        return self.model_copy(update={"path": ""}).model_dump_json()


@dataclass(slots=True, eq=False)
class Held:
    """One network of the shelf.

    Attributes:
      wish: the first wish for it.
      users: connections that use it.
      loading: held by who loads it.
      header, oracle: None until it is loaded.
    """

    wish: NetworkWish
    users: int = 0
    loading: threading.Lock = field(default_factory=threading.Lock)
    header: WeightsHeader | None = None
    oracle: BatchingOracle | None = None


class Shelf:
    """Networks by what was wished, loaded once, each with a queue that merges requests."""

    def __init__(self, *, threads: int, max_batch: int, max_wait: float) -> None:
        self._threads = threads
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._held: dict[str, Held] = {}
        self._lock = threading.Lock()

    def take(self, wish: NetworkWish) -> Held:
        """Return the network wished for, loaded if it is not; give it back with `release`.

        Raises:
          MiaiError: it cannot be loaded, or is another than wished for.
        """
        with self._lock:
            held = self._held.pop(wish.key, None) or Held(wish)
            self._held[wish.key] = held  # the last used are the last of the shelf
            self._count(held, 1)
        try:
            with held.loading:
                if held.oracle is None:
                    self._load(held)
                    with self._lock:
                        self._count(held, 0)
        except BaseException:
            self.release(held)
            raise
        return held

    def release(self, held: Held) -> None:
        """Note that a connection uses it no more; few that nobody uses are kept."""
        with self._lock:
            self._count(held, -1)
            unused = [key for key, other in self._held.items() if other.users == 0]
            failed = [key for key in unused if self._held[key].oracle is None]
            surplus = [key for key in unused if key not in failed][:-_KEPT_UNUSED]
            gone = [self._held.pop(key) for key in failed + surplus]
        for other in gone:
            if other.oracle is not None:
                other.oracle.close()

    def statistics(self) -> list[dict[str, str | float]]:
        """Return the figures of each network, with its path, digest and users."""
        with self._lock:
            held = list(self._held.values())
        return [
            {
                "path": one.wish.path,
                "sha256": one.wish.sha256,
                "users": float(one.users),
                **(one.oracle.statistics() if one.oracle else {}),
            }
            for one in held
        ]

    def _count(self, held: Held, more: int) -> None:
        held.users += more
        if held.oracle is not None:
            held.oracle.askers = held.users

    def _load(self, held: Held) -> None:
        wish = held.wish
        path = Path(wish.path)
        _check_digest(path, wish.sha256)
        runner = open_network(
            path,
            backend=wish.backend,
            precision=wish.precision,
            threads=self._threads,
            fixed_batch=wish.fixed_batch,
            device=wish.device,
        )
        _check_digest(path, wish.sha256)  # it may have been replaced while it was read
        oracle: Oracle = runner
        if wish.symmetry != "none":
            oracle = Ensemble(runner, wish.symmetry, seed=wish.seed)
        most = wish.fixed_batch or self._max_batch
        held.header = runner.header
        held.oracle = BatchingOracle(oracle, max_batch=most, max_wait=self._max_wait)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a whole file. Raises `InferenceError` where it cannot be read."""
    with reading(path, InferenceError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_digest(path: Path, wanted: str) -> None:
    if file_digest(path) != wanted:
        raise InferenceError(f"{path}: was replaced since it was asked for; open it again")


MAX_CLIENTS = 256
_LOOK_EVERY = 0.2  # seconds between two looks whether anybody is still there
_SHOWN = 2000  # characters of an error that are sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server works; those of the client that starts it hold for all.

    Attributes:
      threads: of the library that runs a network.
      max_batch: positions after which a batch takes no further request.
      max_wait: seconds that a request may wait for others, beside the time the network is busy.
      idle_seconds: after which it ends when nobody is connected.
    """

    threads: int = 1
    max_batch: int = 64
    max_wait: float = 0.0005
    idle_seconds: float = 60.0


class Server:
    """Listens, and answers every connection in a thread of its own."""

    def __init__(self, listener: socket.socket, settings: ServerSettings) -> None:
        self._listener = listener
        self._settings = settings
        self._shelf = Shelf(
            threads=settings.threads, max_batch=settings.max_batch, max_wait=settings.max_wait
        )
        self._began = time.monotonic()
        self._clients = 0
        self._served = 0
        self._lock = threading.Lock()
        self._ending = threading.Event()

    def run(self) -> None:
        """Serve until nobody was connected for the settings' idle seconds, or `end`."""
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
        """Make `run` return soon; callable from a signal handler."""
        self._ending.set()

    def _welcome(self, connection: socket.socket) -> None:
        connection.setblocking(True)  # it may have the listener's timeout
        with self._lock:
            full = self._clients >= MAX_CLIENTS
            self._clients += not full
            self._served += not full
        if full:
            with contextlib.suppress(OSError), connection:
                send(connection, {"error": f"it serves {MAX_CLIENTS} clients, and no more"}, {})
            return
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer one connection until it ends."""
        client = _Client(self._shelf)
        try:
            with connection:
                while self._exchange(connection, client):
                    pass
        except (ConnectionOver, FrameError, OSError):
            pass  # the client is gone; nobody is left to be told
        finally:
            client.leave()
            with self._lock:
                self._clients -= 1

    def _exchange(self, connection: socket.socket, client: _Client) -> bool:
        """Answer one request; return whether the connection is of further use."""
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
            return client.open(build_parameters(NetworkWish, message, where="open")), {}
        if operation == "status":
            return {**self._status(), "own": client.statistics()}, {}
        if operation == "stop":
            self.end()
            return {}, {}
        raise InferenceError(f"no operation is called {str(operation)[:40]!r}")

    def _status(self) -> dict[str, Any]:
        with self._lock:
            clients, served = self._clients, self._served
        return {
            "pid": os.getpid(),
            "seconds": time.monotonic() - self._began,
            "clients": clients,
            "served": served,
            "networks": self._shelf.statistics(),
        }


class _Client:
    """What one connection uses."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._held: Held | None = None

    def open(self, wish: NetworkWish) -> dict[str, Any]:
        self.leave()
        self._held = self._shelf.take(wish)
        header = self._held.header
        assert header is not None
        return {"header": header.model_copy(update={"history": ()}).model_dump(mode="json")}

    def infer(self, arrays: Arrays) -> Arrays:
        if self._held is None or self._held.oracle is None:
            raise InferenceError("no network was opened on this connection; open one first")
        if set(arrays) != {"planes"} or arrays["planes"].ndim != 4:
            raise InferenceError("give planes, uint8 of shape (n, planes, size, size)")
        answers = self._held.oracle.infer(arrays["planes"])
        named = {
            "policy": answers.policy,
            "value": answers.value,
            "ownership": answers.ownership,
            "score": answers.score,
        }
        return {name: array for name, array in named.items() if array is not None}

    def statistics(self) -> dict[str, float]:
        if self._held is None or self._held.oracle is None:
            return {}
        return self._held.oracle.statistics()

    def leave(self) -> None:
        if self._held is not None:
            self._shelf.release(self._held)
            self._held = None


def main() -> None:
    """Listen, go into the background, serve."""
    folder, settings = _arguments()
    place = server_place(folder)
    lock = _only_one(place)
    if lock is None:
        return
    with contextlib.suppress(FileNotFoundError):
        place.socket.unlink()  # of a server that was killed: the lock is ours now
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place.socket))
    listener.listen(MAX_CLIENTS)
    # Whoever started this waits for it to exit, and can connect then. What serves is no child of
    # that one, which may be killed with all its children.
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
        os._exit(0)  # threads that wait for clients are not waited for


def _only_one(place: ServerPlace) -> IO[bytes] | None:
    """Return the lock of the one server, or None where another has it."""
    lock = place.run_lock.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _arguments() -> tuple[Path, ServerSettings]:
    defaults = ServerSettings()
    parser = argparse.ArgumentParser(prog="miai_go.nets.server")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=defaults.threads)
    parser.add_argument("--max-batch", type=int, default=defaults.max_batch)
    parser.add_argument("--max-wait", type=float, default=defaults.max_wait)
    parser.add_argument("--idle-seconds", type=float, default=defaults.idle_seconds)
    given = vars(parser.parse_args())
    return given.pop("folder"), ServerSettings(**given)


if __name__ == "__main__":
    main()
