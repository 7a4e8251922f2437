"""Responses of GTP version 2, read from bytes as they come."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from miai.errors import AgentFloodError, AgentProtocolError

MAX_LINE_BYTES: Final = 1 << 16
MAX_RESPONSE_BYTES: Final = 1 << 20

_HEAD: Final = re.compile(r"([=?])(?:(\d{1,10})(?= |$))? *(.*)", re.DOTALL)
_CONTROLS: Final = {code: None for code in (*range(32), 127) if chr(code) != "\t"} | {9: " "}
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Response:
    """An engine's response to one command.

    Attributes:
      ok: whether the command succeeded: ``=`` rather than ``?``.
      id: the identity number that it repeats; None where it repeats none.
      text: the result or the error, lines divided by newlines, the empty last one left out.
    """

    ok: bool
    id: int | None
    text: str


class ResponseReader:
    """Divides an engine's output into responses.

    As the specification has it, a response begins with ``=`` or ``?`` and ends with an empty line;
    control characters, carriage returns among them, are left out, and a tab is a space. Before a
    response, empty lines and comments are skipped; any other line is an error. Bytes that are no
    UTF-8 become U+FFFD.

    Args:
      on_line: called with every line that is not empty, cleaned.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._buffer = bytearray()
        self._scanned = 0  # bytes of the buffer known to hold no end of line
        self._head: re.Match[str] | None = None
        self._lines: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take in more output."""
        self._buffer += data

    def next(self) -> Response | None:
        """Return the next whole response, or None.

        Raises:
          AgentProtocolError: a line that belongs to no response.
          AgentFloodError: a line or a response longer than the limits.
        """
        while (line := self._next_line()) is not None:
            response = self._take(line)
            if response is not None:
                return response
        return None

    def is_idle(self) -> bool:
        """Return whether nothing is begun: no response, no line."""
        return self._head is None and not bytes(self._buffer).strip()

    def _next_line(self) -> str | None:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
        if (self._scanned if end < 0 else end) > MAX_LINE_BYTES:
            raise AgentFloodError(f"a line of more than {MAX_LINE_BYTES} bytes")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return clean(line)

    def _take(self, line: str) -> Response | None:
        if line.strip():
            self._on_line(line)
        if self._head is not None:
            return self._continue(line)
        if line.strip() and not line.startswith("#"):
            self._head = _HEAD.fullmatch(line)
            if self._head is None:
                raise AgentProtocolError(
                    f"a response begins with '=' or '?', not {line[:_SHOWN]!r}"
                )
            self._lines, self._size = [self._head[3]], len(line)
        return None

    def _continue(self, line: str) -> Response | None:
        assert self._head is not None
        if line:
            self._lines.append(line)
            self._size += len(line)
            if self._size > MAX_RESPONSE_BYTES:
                raise AgentFloodError(f"a response of more than {MAX_RESPONSE_BYTES} bytes")
            return None
        sign, number, _ = self._head.groups()
        self._head = None
        text = "\n".join(self._lines).strip(" ")
        return Response(sign == "=", int(number) if number else None, text)


def clean(line: bytes) -> str:
    """Return a line as text, without control characters; a tab becomes a space."""
    return line.decode("utf-8", "replace").translate(_CONTROLS)
