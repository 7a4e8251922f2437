"""Messages between processes: four bytes of length, big-endian, then a JSON object in UTF-8."""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Mapping
from typing import Any

from miai.errors import AgentFloodError, AgentProtocolError
from miai.plain import dumps, loads

MAX_REQUEST_BYTES = 1 << 26
"""Maximum bytes of a message to a child, its length included."""

# A length, not a delimiter: the reader knows whether a message is within its limit before it stores
# any of it.
_LENGTH = struct.Struct(">I")


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame. Raises `TypeError` or `ValueError` when it is not plain."""
    body = dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Cuts a stream of bytes into messages of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def __len__(self) -> int:
        """Return the number of bytes not returned yet, in complete and incomplete messages."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes of the stream."""
        self._buffer += data

    def next(self) -> dict[str, Any] | None:
        """Return the next message, or None while it is not complete.

        Raises `AgentFloodError` if it is longer than the limit, `AgentProtocolError` if it is not
        an object.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        # Refused by what it announces: a hostile child cannot fill the memory of the referee.
        if length > self.limit:
            raise AgentFloodError(f"an answer of {length} bytes; the limit is {self.limit}")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        try:
            message = loads(body)
        except ValueError as error:
            raise AgentProtocolError(f"an answer that is not JSON: {error}") from None
        if type(message) is not dict:
            raise AgentProtocolError(f"an answer that is not a JSON object: {body[:60]!r}")
        return message


class MessageStream:
    """A child's side of the messages: reads requests, writes answers, on blocking descriptors."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        self._reader = FrameReader(MAX_REQUEST_BYTES)

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; return None at the end of the stream."""
        while (message := self._reader.next()) is None:
            data = os.read(self._requests, 1 << 16)
            if not data:
                return None
            self._reader.feed(data)
        return message

    def is_waiting(self) -> bool:
        """Return whether a message, or a part of one, can be received at once."""
        return len(self._reader) > 0 or bool(select.select([self._requests], [], [], 0)[0])

    def send(self, frame: bytes) -> None:
        """Write a message that `encode` returned. Raises `BrokenPipeError` without a reader."""
        # A pipe takes as much as it has room for; the view spares copies of the rest.
        remaining = memoryview(frame)
        while remaining:
            remaining = remaining[os.write(self._answers, remaining) :]
