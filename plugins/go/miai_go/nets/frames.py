"""Messages between the inference server and its clients: a JSON object and arrays.

A frame is a mark of four bytes, the length of the JSON and the length of the arrays' bytes (both
uint32, little-endian), the JSON, and the bytes of the arrays one after another. The JSON's
``arrays`` lists name, dtype and shape of each. Lengths are bounded, and memory is allocated as
bytes arrive, not as they are announced.

There is one server for each machine, user and installation. Agents with hidden folders share a
server of their own, which has the same folders hidden. The server's folder, private to the user, is
in ``XDG_RUNTIME_DIR`` or else in the temporary folder.
"""

from __future__ import annotations

import hashlib
import math
import os
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import miai_go
from miai.plain import dumps, loads
from miai.process.sandbox import CONFINEMENT, SHARED_FOLDER
from miai_go.errors import InferenceError

MAX_JSON: Final = 1 << 16
MAX_BODY: Final = 1 << 26
MAX_ARRAYS: Final = 4
MAX_DIMENSIONS: Final = 4
_MARK: Final = b"MGI1"
_HEAD: Final = struct.Struct("<4sII")
_CHUNK: Final = 1 << 18
_DTYPES: Final[Mapping[str, np.dtype[Any]]] = {"uint8": np.dtype("u1"), "float32": np.dtype("<f4")}

Message = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class FrameError(Exception):
    """Bytes that are not a frame, or exceed its limits. The connection cannot be used further."""


class ConnectionOver(Exception):  # noqa: N818 - an end, not an error: the other side closed
    """The other side closed the connection between two frames."""


def send(
    connection: socket.socket, message: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Send a frame. Raises `FrameError` if it would exceed the limits, `OSError` if broken."""
    descriptions = [[name, a.dtype.name, list(a.shape)] for name, a in arrays.items()]
    text = dumps({**message, "arrays": descriptions}).encode("ascii")
    body = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays.values())
    if len(text) > MAX_JSON or len(body) > MAX_BODY or len(arrays) > MAX_ARRAYS:
        raise FrameError(f"a frame of {len(text)} and {len(body)} bytes is over the limits")
    connection.sendall(b"".join((_HEAD.pack(_MARK, len(text), len(body)), text, body)))


def receive(connection: socket.socket) -> tuple[Message, Arrays]:
    """Return the next frame's message and arrays, which may be written to.

    Raises:
      FrameError: the bytes are not a frame, or exceed its limits.
      ConnectionOver: the other side closed the connection.
      OSError: the connection is broken, or silent for longer than its timeout.
    """
    mark, text_length, body_length = _HEAD.unpack(_exactly(connection, _HEAD.size, first=True))
    if mark != _MARK:
        raise FrameError(f"begins with {mark!r}; not of this protocol")
    if text_length > MAX_JSON or body_length > MAX_BODY:
        raise FrameError(f"announces {text_length} and {body_length} bytes, over the limits")
    try:
        message = loads(bytes(_exactly(connection, text_length)))
    except ValueError as error:
        raise FrameError(f"is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise FrameError("is not a JSON object")
    return message, _arrays(message.pop("arrays", None), _exactly(connection, body_length))


def _exactly(connection: socket.socket, length: int, *, first: bool = False) -> bytearray:
    """Return `length` bytes. With `first`, a stream that ends before them is over, not broken."""
    data = bytearray()
    while len(data) < length:
        chunk = connection.recv(min(length - len(data), _CHUNK))
        if not chunk:
            if first and not data:
                raise ConnectionOver
            raise FrameError(f"ends after {len(data)} of {length} bytes")
        data += chunk
    return data


def _arrays(descriptions: object, body: bytearray) -> Arrays:
    """Return the arrays that a body holds, as views of it."""
    if not isinstance(descriptions, list) or len(descriptions) > MAX_ARRAYS:
        raise FrameError("does not list its arrays")
    arrays: Arrays = {}
    offset = 0
    for entry in descriptions:
        name, dtype, shape = _description(entry)
        count = math.prod(shape)
        if offset + count * dtype.itemsize > len(body) or name in arrays:
            raise FrameError(f"'{name}' of shape {shape} is not in its {len(body)} bytes")
        arrays[name] = np.frombuffer(body, dtype, count, offset).reshape(shape)
        offset += count * dtype.itemsize
    if offset != len(body):
        raise FrameError(f"holds {len(body) - offset} bytes that no array explains")
    return arrays


def _description(entry: object) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if isinstance(entry, list) and len(entry) == 3:
        name, dtype, shape = entry
        sizes = isinstance(shape, list) and all(
            type(n) is int and 0 <= n <= MAX_BODY for n in shape
        )
        item = _DTYPES.get(dtype) if isinstance(dtype, str) else None
        if isinstance(name, str) and sizes and item is not None and len(shape) <= MAX_DIMENSIONS:
            return name, item, tuple(shape)
    raise FrameError(f"does not describe an array: {str(entry)[:60]}")


PROTOCOL = 2
_MAX_PATH = 100  # Linux allows 107 bytes for a socket's path


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The files of one server.

    Attributes:
      folder: of mode 0700.
      socket: the socket on which it listens.
      start_lock: locked by the client that starts it.
      run_lock: locked by the server while it runs.
      log: its standard error.
    """

    folder: Path
    socket: Path
    start_lock: Path
    run_lock: Path
    log: Path


def server_place(folder: Path | None = None) -> ServerPlace:
    """Return the files of the server in a folder, by default the user's own; create and check it.

    Raises:
      InferenceError: the folder cannot be created, or others have access to it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if folder is None and runtime and Path(runtime).is_dir():
        folder = Path(runtime) / "miai-go"
    elif folder is None:
        shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()  # an agent's is its own
        folder = Path(shared) / f"miai-go-{os.getuid()}"
    installation = f"{PROTOCOL} {sys.executable} {Path(miai_go.__file__).parent}"
    if hidden := os.environ.get(CONFINEMENT):
        installation += f" {hidden}"
    name = hashlib.sha256(installation.encode()).hexdigest()[:12]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise InferenceError(f"{folder}: cannot be created: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise InferenceError(
            f"{folder}: others have access to it, or it is not your folder, so the inference "
            "server does not listen there; remove it or chmod it to 700"
        )
    files = (folder / f"{name}.{end}" for end in ("sock", "start", "run", "log"))
    place = ServerPlace(folder, *files)
    if len(os.fsencode(place.socket)) > _MAX_PATH:
        raise InferenceError(
            f"{place.socket}: too long for a socket; set XDG_RUNTIME_DIR to a shorter folder"
        )
    return place
