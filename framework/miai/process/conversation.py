"""Conversations with programs in any language, by lines of JSON; see docs/programs.md."""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator

from miai.errors import AgentCrashedError, AgentFloodError, AgentProtocolError, AgentTimeoutError
from miai.parameters import CommandParameters, StrictModel, explain, mistakes, parameter
from miai.plain import Json, loads, one_line
from miai.process.child import Output
from miai.process.programs import ProgramProcess

PROTOCOL: Final = 1
"""Version of the protocol."""
MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that a program may write."""
MAX_COMPLAINTS: Final = 64 << 20
"""Bytes that a program may write to standard error in a game."""
PATIENCE: Final = 1.0
"""Seconds that a program may take to end, or to read its last message."""

_DAY: Final = 86_400.0
_MERCY: Final = 0.5
_CHUNK: Final = 1 << 16


class ProgramParameters(CommandParameters):
    """How a program is started and how long it may take."""

    startup_timeout: float = parameter(
        30.0, gt=0, le=_DAY, unit="seconds", help="Time limit for the program's start and hello"
    )

    @property
    def who(self) -> str:
        """The program's name in messages."""
        return f"program '{Path(self.command[0]).name}'"


class Conversation:
    """Lines of JSON to and from a program.

    Args:
      process: the program.
      who: its name in messages.

    Attributes:
      process: the program.
      complaints: what it writes to standard error.
      who: its name in messages.
    """

    def __init__(self, process: ProgramProcess, who: str) -> None:
        self.process, self.who = process, who
        self.complaints = Output(process.complaints)
        self.complaints.limit = MAX_COMPLAINTS
        self._partial = b""
        self._lines: deque[bytes] = deque()
        self._ended = False

    def send(self, message: Mapping[str, Json], *, until: float) -> None:
        """Write a message. Raises `AgentError` if the program dies or does not read it in time."""
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        while rest:
            self._wait(until, "did not read its messages", writing=True)
            try:
                rest = rest[os.write(self.process.requests, rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._death("closed its standard input") from None

    def greet(self, hello: Mapping[str, Json], *, until: float) -> dict[str, Any]:
        """Say hello, and return the program's hello. Raises `AgentError`."""
        self.send(hello, until=until)
        answer = self.receive(until=until, doing="did not say hello")
        protocol = answer.get("protocol")
        if answer.get("type") != "hello" or protocol != PROTOCOL:
            said = f"version {protocol!r}"
            if answer.get("type") != "hello":
                said = f"something else, {json.dumps(answer)}"
            raise AgentProtocolError(
                f"{self.who} speaks {one_line(said, limit=120)}; its first line must be a hello "
                f"of protocol {PROTOCOL}"
            )
        return answer

    def receive(self, *, until: float, doing: str) -> dict[str, Any]:
        """Return the program's next message.

        Args:
          until: time of the monotonic clock; infinity for no limit.
          doing: what it has to do, for messages: ``did not say hello``.

        Raises:
          AgentError: it dies, is late, writes too much or no JSON object, or reports an error.
        """
        while not self._lines:
            if self._ended:
                raise self._death()
            self._wait(until, doing, writing=False)
            self._read()
        message = read_line(self._lines.popleft(), self.who)
        if message.get("type") == "error":
            said = one_line(str(message.get("message", "")), limit=300)
            raise AgentProtocolError(f"{self.who} reports an error: {said}")
        return message

    def is_answered(self, *, within: float) -> bool:
        """Return whether the program has written a message, or ended, after up to `within` seconds.

        Raises `AgentFloodError` if it writes too much meanwhile.
        """
        until = time.monotonic() + within
        while not (self._lines or self._ended) and (left := until - time.monotonic()) > 0:
            if self._poll(left, writing=False):
                self._read()
        return bool(self._lines) or self._ended

    def end(self) -> float:
        """End the program: close its input, then SIGTERM, then SIGKILL; return its CPU seconds."""
        self.process.stop(patience=PATIENCE, mercy=_MERCY)
        return self.process.cpu_seconds()

    def log_to(self, path: Path | None) -> None:
        """Append what it writes to standard error from now on to a file."""
        self.complaints.log_to(path)
        self.complaints.size = 0

    def _read(self) -> None:
        try:
            data = os.read(self.process.answers, _CHUNK)
        except BlockingIOError:
            return
        self._ended = not data
        *whole, self._partial = (self._partial + data).split(b"\n")
        self._lines.extend(line for line in whole if line.strip())
        if max(map(len, [self._partial, *whole])) > MAX_LINE or len(self._lines) > _CHUNK:
            raise AgentFloodError(
                f"{self.who} wrote a line of more than {MAX_LINE:,} bytes, or thousands of lines"
            )

    def _wait(self, until: float, doing: str, *, writing: bool) -> None:
        """Wait until a pipe is ready. Raises `AgentTimeoutError` if it is late."""
        left = until - time.monotonic()
        if left <= 0:
            raise AgentTimeoutError(f"{self.who} {doing} in time{self.complaints.last_lines()}")
        if self._poll(left, writing=writing) and writing:
            self._read()
            if self._ended:
                raise self._death()

    def _poll(self, seconds: float, *, writing: bool) -> bool:
        """Wait up to a second until a pipe is ready; read the program's complaints meanwhile.

        Returns whether the program has written to standard output, or closed it.
        """
        poll = select.poll()
        if writing:
            poll.register(self.process.requests, select.POLLOUT)
        poll.register(self.process.answers, select.POLLIN)
        if not self.complaints.ended:
            poll.register(self.process.complaints, select.POLLIN)
        ready = dict(poll.poll(min(seconds, 1.0) * 1000))
        if self.process.complaints in ready:
            self.complaints.read()
            if self.complaints.over_limit:
                raise AgentFloodError(
                    f"{self.who} wrote more than {MAX_COMPLAINTS:,} bytes to standard error"
                )
        return self.process.answers in ready

    def _death(self, closed: str = "closed its standard output") -> AgentCrashedError:
        self.process.await_death(PATIENCE)
        self.complaints.read()
        how = self.process.exit_status()
        how = closed if how == "is running" else how
        return AgentCrashedError(f"{self.who} {how}{self.complaints.last_lines()}")


def read_line(line: bytes, who: str) -> dict[str, Any]:
    """Return the message in a line of a program. Raises `AgentProtocolError` if it is none."""
    message, why = None, ""
    try:
        message = loads(line)
    except (json.JSONDecodeError, UnicodeError):
        pass
    except ValueError as error:
        why = f": {error}"
    if not isinstance(message, dict):
        text = one_line(line.decode("utf-8", "replace"), limit=80)
        raise AgentProtocolError(
            f"{who} wrote {text!r}; each line must be a JSON object{why} "
            "(other output belongs on standard error)"
        )
    return message


class Message(StrictModel):
    """The fields of a program's message; others are ignored."""

    model_config = ConfigDict(extra="ignore")


def one_of(field: str, expected: str) -> Any:
    """Return a validator that words the mistake of a field of several types as a whole."""

    def read(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(expected) from None

    return field_validator(field, mode="wrap")(read)


MessageT = TypeVar("MessageT", bound=Message)


def read_message(model: type[MessageT], message: Mapping[str, Any], what: str) -> MessageT:
    """Return a message with the types of its fields checked; `what` names it in errors.

    Raises `ValueError` with the first mistake: ``answer.value: ...``.
    """
    try:
        return model.model_validate(message)
    except ValidationError as error:
        first = explain(mistakes(error)[0], model, what)
        raise ValueError(one_line(first, limit=300)) from None
