"""Framing of messages: four bytes of length, big-endian, then a JSON object in UTF-8."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from miai.errors import AgentFloodError, AgentProtocolError
from miai.plain import dumps, loads

MAX_REQUEST_BYTES = 1 << 26
"""Longest message of the referee, its length included."""

_LENGTH = struct.Struct(">I")


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame. Raises `TypeError` or `ValueError` when it is not plain."""
    body = dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Cuts a stream of bytes into messages.

    Attributes:
      limit: most bytes of one message.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def __len__(self) -> int:
        """Return the number of bytes that wait to be read, of whole messages or of parts."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes as they came."""
        self._buffer += data

    def next(self) -> dict[str, Any] | None:
        """Return the next message, or None while it is not complete.

        Raises:
          AgentFloodError: it announces more bytes than the limit.
          AgentProtocolError: it is not a JSON object.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
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
