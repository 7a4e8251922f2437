"""`AgentProcess`: a player that lives in a process of its own."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from miai import errors
from miai.clock import ClockReading
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
)
from miai.game import Observation
from miai.plain import one_line, to_plain
from miai.playing.match import SeatReply
from miai.process.child import HIDDEN_FOLDERS, SCRATCH, SHARED_FOLDER, Channel
from miai.process.limits import ProcessLimits
from miai.process.messages import pack_clock, pack_observation, unpack_cpu, unpack_decision

ResultT = TypeVar("ResultT")

_ID_BITS = 53  # of a question, drawn at random: an answer cannot be prepared before it is asked

SECRETS = ("PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE")
"""Variables by which the organiser's own programs get at a database; agents do not have them."""

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",  # torch too
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class AgentProcess:
    """A seat whose agent lives in a warm process of its own.

    The process is spawned by `start`, or by the first `new_game`, and kept between games. An
    agent that raises, hangs, floods or answers wrongly is killed with all that it started; the
    next `new_game` starts it anew. Plain data is all that crosses, both ways.

    Its folder for temporary files is its own, and goes with the process. The agent's libraries get
    one thread each, or as many as its parameter ``threads`` says, and hashes of texts do not vary
    from process to process (``PYTHONHASHSEED=0``), so that the same seed gives the same game.

    Attributes:
      name: its name in the match.
      agent, parameters: the agent component and its parameters as given.
      version: of the plugin that brought the agent and of the engine it runs; empty before start.
      limits: what the process is allowed.
      start_timeout: seconds of wall time that starting may take.
      pid: id of the running process; None when there is none.
    """

    def __init__(
        self,
        game_name: str,
        game_parameters: Mapping[str, Any],
        agent_name: str,
        agent_parameters: Mapping[str, Any],
        *,
        name: str,
        limits: ProcessLimits | None = None,
        start_timeout: float = 60.0,
    ) -> None:
        self.name = name
        self.agent = agent_name
        self.parameters: Mapping[str, Any] = dict(agent_parameters)
        self.version = ""
        self.limits = limits or ProcessLimits()
        self.start_timeout = start_timeout
        self._hello = {
            "game": game_name,
            "game_parameters": to_plain(game_parameters, what="the game's parameters"),
            "agent": agent_name,
            "agent_parameters": to_plain(agent_parameters, what="the agent's parameters"),
            "limits": {
                "memory": self.limits.memory,
                "processors": self.limits.processors,
                "hidden": list(self.limits.hidden),
            },
        }
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._channel: Channel | None = None
        self._cpu = 0.0
        self._told: list[Any] = []

    # -- the process --------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Return the id of the running process, or None."""
        running = self._channel is not None and self._channel.is_alive()
        return self._channel.process.pid if running and self._channel else None

    def start(self) -> None:
        """Start the process and build the agent in it, unless it is there already.

        Raises:
          AgentUnavailableError: the agent cannot be built, in its own words, or not in time.
        """
        if self._channel is not None and self._channel.is_alive():
            return
        self.kill()
        try:
            self._scratch = tempfile.TemporaryDirectory(
                prefix=f"{SCRATCH}{os.getpid()}-", ignore_cleanup_errors=True
            )
            environment = _environment(self.parameters, self._scratch.name)
            if self.limits.hidden:
                environment[HIDDEN_FOLDERS] = os.pathsep.join(self.limits.hidden)
            self._channel = Channel(environment, self.limits)
        except OSError as error:
            raise AgentUnavailableError(f"{self._who} cannot be started: {error}") from error
        try:
            answer = self._ask("hello", self._hello, seconds=self.start_timeout)
        except AgentTimeoutError:
            raise AgentUnavailableError(
                f"{self._who} did not start within {self.start_timeout:g} s and was killed; if "
                "it needs longer, raise the start timeout"
            ) from None
        except AgentError as error:
            raise AgentUnavailableError(str(error)) from None
        self._note_version(answer)

    def kill(self) -> None:
        """Kill the process, if there is one, with all that it started."""
        if self._channel is not None:
            self._channel.kill()
            self._channel = None
        self._clear()

    def close(self) -> None:
        """Let the agent close and end the process. It may be started again."""
        if self._channel is not None:
            self._channel.quit()
            self._channel = None
        self._clear()

    def _clear(self) -> None:
        """Remove what the agent left in its folder for temporary files."""
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- the seat -----------------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game, in a new process when the last one is gone.

        A process that served before and fails now is replaced by a new one, once: what an earlier
        game left behind must not decide this one.

        Raises:
          AgentUnavailableError: it cannot be started.
          AgentError: of any other kind, as `act`.
        """
        message = {"seed": seed, "player": player, "log": None if log is None else str(log)}
        served_before = self.pid is not None
        try:
            self._begin(message, log)
        except AgentError:
            if not served_before:
                raise
            self._begin(message, log)

    def _begin(self, message: Mapping[str, Any], log: Path | None) -> None:
        self._told = []
        self.start()
        assert self._channel is not None
        self._channel.new_game(log)
        answer = self._ask("new_game", message, seconds=self.limits.new_game_seconds)
        self._cpu = self._checked(unpack_cpu, answer)
        self._note_version(answer)

    def observe(self, observation: Observation) -> None:
        """Keep what the player was told for the next `act` or `end`."""
        self._told.append(pack_observation(observation))

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        """Return the agent's decision.

        Args:
          deadline: seconds of wall time after which the process is killed; None for never.

        Raises:
          AgentTimeoutError: no answer by the deadline.
          AgentCrashedError: the agent raised or its process died.
          AgentFloodError: more output than the limits allow.
          AgentProtocolError: an answer that is none.
        """
        message = {"observations": self._take_told(), "clock": pack_clock(reading)}
        began = time.monotonic()
        answer = self._ask("act", message, seconds=deadline)
        seconds = time.monotonic() - began
        decision = self._checked(unpack_decision, answer["ok"])
        cpu = self._checked(unpack_cpu, answer)
        used, self._cpu = max(0.0, cpu - self._cpu), cpu
        return SeatReply(decision, seconds, used)

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the agent the end of the game. Raises `AgentError` as `act`."""
        message = {"observations": self._take_told(), "returns": list(returns)}
        self._ask("end", message, seconds=self.limits.end_seconds)

    def _take_told(self) -> list[Any]:
        told, self._told = self._told, []
        return told

    def _checked(self, unpack: Callable[[Any], ResultT], values: Any) -> ResultT:
        try:
            return unpack(values)
        except AgentProtocolError as error:
            self.kill()
            raise AgentProtocolError(f"{self._who}: {error}") from None

    def _ask(
        self, call: str, message: Mapping[str, Any], *, seconds: float | None
    ) -> dict[str, Any]:
        """Return the answer to a message; kill the process when there is none."""
        if self._channel is None:
            raise AgentCrashedError(f"{self._who} has no process; it died or was killed before")
        number = secrets.randbits(_ID_BITS)
        try:
            answer = self._channel.request({"id": number, "call": call, **message}, seconds=seconds)
            self._check(answer)
        except AgentTimeoutError:
            self.kill()
            limit = "" if seconds is None else f" within {seconds:.3g} s"
            raise AgentTimeoutError(
                f"{self._who} did not answer '{call}'{limit} and was killed"
            ) from None
        except AgentError as error:
            self.kill()
            raise type(error)(f"{self._who}: {error}") from None
        except BaseException:  # interrupted halfway: the next answer would be a stale one
            self.kill()
            raise
        return answer

    def _check(self, answer: Mapping[str, Any]) -> None:
        """Raise the error that the answer tells of, if it does."""
        told = answer.get("error")
        if told is None:
            if type(answer.get("ok")) is not dict:
                raise AgentProtocolError("an answer that holds neither a result nor an error")
            return
        if type(told) is not dict:
            raise AgentProtocolError("an answer whose error is no object")
        kind = one_line(str(told.get("type")), limit=80)
        message = one_line(str(told.get("message")))
        if kind in _TOLD_ERRORS:
            raise _TOLD_ERRORS[kind](message)
        raise AgentCrashedError(f"{kind}: {message}" if message else kind)

    def _note_version(self, answer: Mapping[str, Any]) -> None:
        self.version = one_line(str(answer["ok"].get("version", "")), limit=200)

    @property
    def _who(self) -> str:
        return f"agent '{self.name}'"

    def __repr__(self) -> str:
        return f"<agent process '{self.name}' ({self.agent}), pid {self.pid}>"


_TOLD_ERRORS: dict[str, type[AgentError]] = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, AgentError)
}


def _environment(parameters: Mapping[str, Any], scratch: str) -> dict[str, str]:
    threads = parameters.get("threads", 1)
    number = str(threads) if type(threads) is int and threads > 0 else "1"
    environment = dict(os.environ)
    environment.update(dict.fromkeys(_THREAD_VARIABLES, number))
    environment["PYTHONHASHSEED"] = "0"
    for name in SECRETS:
        environment.pop(name, None)
    environment.setdefault(SHARED_FOLDER, tempfile.gettempdir())
    environment["TMPDIR"] = scratch
    return environment
