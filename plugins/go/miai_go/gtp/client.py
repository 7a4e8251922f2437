"""A controller of one engine: commands sent, responses awaited."""

from __future__ import annotations

import contextlib
import time
from typing import Final, NoReturn

from miai.errors import AgentCrashedError, AgentError, AgentProtocolError, AgentTimeoutError
from miai_go.gtp.conversation import Conversation
from miai_go.gtp.engine import EngineProcess
from miai_go.gtp.response import Response, ResponseReader
from miai_go.gtp.streams import OutputLimits, Streams

_QUIT_SECONDS: Final = 0.7  # to answer `quit`
_PATIENCE: Final = 0.5  # from there to SIGTERM
_MERCY: Final = 0.3  # from SIGTERM to SIGKILL
_ONE_LINE: Final = 100


class GtpClient:
    """Speaks GTP version 2 to an engine, one command at a time.

    After any `AgentError` but the refusal of a command the engine has been killed, with all that
    it started. Commands carry identity numbers, so that a response to anything else is found out;
    an engine that does not repeat them in its first response is spoken to without.

    Args:
      engine: the process, which is the client's from now on.
      conversation: the log.
      who: what messages call the engine: ``engine 'gnugo'``.
      limits: how much it may write.

    Attributes:
      who: what messages call the engine.
      commands: what ``list_commands`` told; empty before `handshake`.
      name, version: of the engine, as it told them; empty before `handshake`.
    """

    def __init__(
        self,
        engine: EngineProcess,
        conversation: Conversation,
        *,
        who: str,
        limits: OutputLimits | None = None,
    ) -> None:
        self.who = who
        self.commands: frozenset[str] = frozenset()
        self.name = self.version = ""
        self._engine, self._conversation = engine, conversation
        self._reader = ResponseReader(lambda line: self._conversation.received(line))
        self._streams = Streams(
            engine,
            limits or OutputLimits(),
            on_output=self._reader.feed,
            on_complaint=lambda line: self._conversation.complained(line),
        )
        self._numbered = True
        self._count = 0
        self._open = True

    # -- commands -----------------------------------------------------------------------------

    def handshake(self, *, seconds: float) -> None:
        """Learn who the engine is and what it knows.

        Args:
          seconds: wall time for all of it, the engine's own start included.

        Raises:
          AgentProtocolError: it speaks another version of GTP, or none.
          AgentError: as `command`.
        """
        until = time.monotonic() + seconds
        protocol = self._first_command(until)
        if protocol.ok and protocol.text != "2":
            self._fail(AgentProtocolError(f"speaks version {protocol.text[:20]!r} of GTP, not 2"))
        self.name = self._told("name", until)
        self.version = self._told("version", until)
        listed = self.command("list_commands", seconds=until - time.monotonic())
        self.commands = frozenset(listed.text.split() if listed.ok else ())

    def knows(self, command: str) -> bool:
        """Return whether the engine listed a command."""
        return command in self.commands

    def ask(self, command: str, *, seconds: float) -> str:
        """Send a command and return its result.

        Raises:
          AgentProtocolError: the engine refused it, and goes on running.
          AgentError: as `command`.
        """
        response = self.command(command, seconds=seconds)
        if not response.ok:
            raise AgentProtocolError(f"{self.who} refused '{command}': {one_line(response.text)}")
        return response.text

    def command(self, command: str, *, seconds: float) -> Response:
        """Send a command and return its response, be it a success or a failure.

        Args:
          command: one line, without an identity number.
          seconds: wall time for the response; the engine is killed after it.

        Raises:
          AgentTimeoutError: no response in time.
          AgentCrashedError: it died, or is not running any more.
          AgentProtocolError: it wrote what is no response, or not the one to this command.
          AgentFloodError: it wrote more than the limits allow.
        """
        if not self._open:
            raise AgentCrashedError(f"{self.who} is not running; it died or was killed before")
        try:
            return self._converse(command, time.monotonic() + seconds)
        except AgentTimeoutError:
            time_given = f"{max(seconds, 0.0):.3g} s"
            self._fail(AgentTimeoutError(f"gave no answer to '{command}' within {time_given}"))
        except AgentError as error:
            self._fail(type(error)(f"{error} (asked '{command}')"))
        except BaseException:  # interrupted halfway: the next response would be a stale one
            self.kill("interrupted")
            raise

    def _first_command(self, until: float) -> Response:
        response = self.command("protocol_version", seconds=until - time.monotonic())
        if response.id is None:
            self._numbered = False
            if not response.ok:  # it took the number for the command
                return self.command("protocol_version", seconds=until - time.monotonic())
        return response

    def _told(self, question: str, until: float) -> str:
        response = self.command(question, seconds=until - time.monotonic())
        return one_line(response.text) if response.ok else ""

    def _converse(self, command: str, until: float) -> Response:
        self._streams.drain()
        if self._reader.next() is not None or not self._reader.is_idle():
            raise AgentProtocolError("wrote a response that nobody asked for")
        self._count += 1
        line = f"{self._count} {command}" if self._numbered else command
        self._conversation.sent(line)
        self._streams.send(f"{line}\n".encode())
        while (response := self._reader.next()) is None:
            self._streams.wait(until)
        if response.id not in (self._count, None):
            raise AgentProtocolError(f"answered command {response.id} instead of {self._count}")
        return response

    # -- games and the end --------------------------------------------------------------------

    def new_game(self, conversation: Conversation) -> None:
        """Count what it writes from zero, and log to another conversation."""
        self._conversation = conversation
        self._streams.new_game()

    def is_alive(self) -> bool:
        """Return whether there is an engine to speak to."""
        return self._open and not self._engine.is_dead()

    def cpu_seconds(self) -> float:
        """Return CPU seconds used by the engine and what it started."""
        return self._engine.cpu_seconds()

    def close(self) -> None:
        """Ask the engine to quit, and end it in any case, within 1.5 s. May be repeated."""
        if not self._open:
            return
        with contextlib.suppress(AgentError):  # it is about to be ended anyhow
            self.command("quit", seconds=_QUIT_SECONDS)
        if self._open:
            self._open = False
            self._streams.close()
            self._engine.stop(patience=_PATIENCE, mercy=_MERCY)
            self._conversation.note(f"after quit it {self._engine.exit_status()}")

    def kill(self, reason: str) -> None:
        """Kill the engine with all that it started. May be repeated."""
        if not self._open:
            return
        self._open = False
        self._streams.close()
        self._engine.kill()
        self._conversation.note(f"{reason}; it {self._engine.exit_status()}")

    def _fail(self, error: AgentError) -> NoReturn:
        """Kill the engine and raise what it did, with its name."""
        self.kill(str(error))
        raise type(error)(f"{self.who} {error}") from None


def one_line(text: str) -> str:
    """Return the beginning of a text of an engine's, on one line."""
    return " ".join(text.split())[:_ONE_LINE]
