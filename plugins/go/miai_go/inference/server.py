"""The inference server: one process a machine that runs networks for all others.

Self-play workers, tournaments' agents and whoever else asks share its networks, and their requests
fill one batch. The first client starts it (see `miai_go.inference.client`); it ends when nobody
was connected for some seconds. Each connection has a thread that reads a request, waits for its
batch and answers; bad frames end that connection, nothing more.

    python -m miai_go.inference.server --folder FOLDER [--threads 1] [--idle-seconds 60]
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from miai.errors import MiaiError
from miai.plugins.parameters import build_parameters
from miai_go.errors import InferenceError
from miai_go.inference.frames import Arrays, ConnectionOver, FrameError, Message, receive, send
from miai_go.inference.places import ServerPlace, server_place
from miai_go.inference.shelf import Held, NetworkWish, Shelf

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
    parser = argparse.ArgumentParser(prog="miai_go.inference.server")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=defaults.threads)
    parser.add_argument("--max-batch", type=int, default=defaults.max_batch)
    parser.add_argument("--max-wait", type=float, default=defaults.max_wait)
    parser.add_argument("--idle-seconds", type=float, default=defaults.idle_seconds)
    given = vars(parser.parse_args())
    return given.pop("folder"), ServerSettings(**given)


if __name__ == "__main__":
    main()
