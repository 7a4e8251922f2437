"""`AgentProcess`: a player in a process of its own, and the channel to that process."""

from __future__ import annotations

import os
import secrets
import selectors
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar

from miai import errors
from miai.api import load_game
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    MiaiError,
    WorkerError,
)
from miai.game import Observation
from miai.plain import one_line, to_plain
from miai.playing.match import SeatReply, play_game
from miai.process.agent_messages import (
    pack_clock,
    pack_observation,
    unpack_cpu,
    unpack_decision,
    unpack_policy,
)
from miai.process.child import ModuleChild, child_environment, harmless_environment
from miai.process.confined import three_quarters_of_memory
from miai.process.control_group import ControlGroup
from miai.process.kernel_caches import is_unfilled, prepare_kernels, unfilled
from miai.process.messages import MAX_REQUEST_BYTES, encode
from miai.process.processors import Processors
from miai.process.sandbox import (
    SCRATCH,
    Isolation,
    ProcessLimits,
    sandbox_command,
    strongest_isolation,
)

ResultT = TypeVar("ResultT")

_ID_BITS = 53  # drawn at random, so that an answer cannot be prepared before its question

_GRACE = 1.0  # seconds in which a process that has closed its end may die


class AgentProcess:
    """A seat whose agent lives in a warm process of its own.

    `start`, or the first `new_game`, spawns the process, which is kept between games. An agent that
    raises, hangs, floods or answers wrongly is killed with all that it started; the next `new_game`
    starts it again. Only plain data crosses, both ways.

    The process has a temporary folder of its own, which is removed with it. The agent's libraries
    get one thread each, or as many as its parameter ``threads`` says, and hashes of texts are the
    same in every process (``PYTHONHASHSEED=0``), so that the same seed gives the same game.

    Attributes:
      name: its name in the match.
      agent, parameters: the agent component and its parameters.
      version: of the agent's plugin and of the engine it runs; empty before the start.
      policy_is_fixed: whether the agent states one policy for all seeds; False before the start.
      concurrent: True, it may be awaited beside others.
      limits: of the process.
      start_timeout: maximum wall time of the start, in seconds.
      programs: whether the agent may run other programs.
      pid: id of the running process, in a sandbox of bubblewrap's; None without one.
      isolation: level of isolation.
    """

    concurrent = True

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
        programs: bool = True,
    ) -> None:
        self.name = name
        self.agent = agent_name
        self.parameters: Mapping[str, Any] = dict(agent_parameters)
        self.version = ""
        self.policy_is_fixed = False
        self.limits = limits or ProcessLimits()
        self.start_timeout = start_timeout
        self.programs = programs
        self._game = game_name, dict(game_parameters)
        self._hello = {
            "game": game_name,
            "game_parameters": to_plain(game_parameters, what="the game's parameters"),
            "agent": agent_name,
            "agent_parameters": to_plain(agent_parameters, what="the agent's parameters"),
        }
        self._built = self._prepared = False
        self.isolation = Isolation(self.limits.isolation or strongest_isolation())
        self._processors: Processors | None = None
        self._group: ControlGroup | None = None
        self._started = 0.0
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._channel: Channel | None = None
        self._cpu = 0.0
        self._standstill = 0.0
        self._observations: list[Any] = []
        self._ponders = False

    # -- the process --------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Return the id of the running process, or None."""
        alive = self._channel is not None and self._channel.is_alive()
        return self._channel.child.pid if alive and self._channel else None

    def start(self) -> None:
        """Start the process and build the agent in it, unless it is running.

        Raises `AgentUnavailableError` if that fails or takes too long, and `WorkerError` if the
        machine cannot start a process, before any code of the agent is loaded.
        """
        alive = self.pid is not None
        if alive and self._built:
            return
        if not alive:
            self.kill()
            self._launch_confined()
        if not alive and not self._prepared:
            # Compiled here, as the process, which starts meanwhile, cannot write what it compiles.
            self._prepared = prepare_kernels(self._game[0], self.agent, self.parameters)
        try:
            if not alive and not self._prepared and self._lacks_kernels():
                # Once confined, the agent cannot write what it compiles.
                self.kill()
                self._fill_caches()
                self._launch_confined()
            answer = self._ask("hello", self._hello, seconds=self.start_timeout)
        except AgentTimeoutError:
            raise AgentUnavailableError(
                f"{self._who} did not start within {self.start_timeout:g} s and was killed; if "
                "it needs longer, raise limits.start_timeout"
            ) from None
        except AgentError as error:
            raise AgentUnavailableError(str(error)) from None
        self._note_version(answer)
        self._built = True

    def serve(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Be the seat of another player of the same agent, in the same process.

        With its next game the old agent is closed, its temporary files are removed, and one with
        the new parameters is built. They may differ in numbers other than ``threads``.
        """
        if name != self.name:
            self.name, self.parameters, self._built = name, dict(parameters), False
            plain = to_plain(parameters, what="the agent's parameters")
            self._hello = {**self._hello, "agent_parameters": plain}

    def _lacks_kernels(self) -> bool:
        """Return whether the agent has compiled kernels and nothing has filled their caches."""
        if self.limits.free or sys.platform != "linux":
            return False
        if not is_unfilled(self._game[0], self.agent, self.parameters):
            return False
        answer = self._ask("import", self._hello, seconds=self.start_timeout)
        return answer["ok"].get("kernels") is True

    def _fill_caches(self) -> None:
        """Play two moves with caches that can be written to, once after each change of a kernel.

        What goes wrong is reported when the agent itself starts.
        """
        game, parameters = self._game
        with suppress(MiaiError, OSError), unfilled(game, self.agent, self.parameters) as due:
            if not due:
                return
            limits = replace(
                self.limits, hidden=(), free=True, fixed=(), isolation=Isolation.PROCESS
            )
            loaded = load_game(game, **parameters)
            with suppress(AgentError), ExitStack() as stack:
                seats = []
                for _ in range(loaded.num_players()):
                    seat = AgentProcess(
                        game,
                        parameters,
                        self.agent,
                        self.parameters,
                        name=self.name,
                        limits=limits,
                        start_timeout=self.start_timeout,
                        programs=False,
                    )
                    stack.callback(seat.kill)
                    seats.append(seat)
                control = TimeControl(move_deadline=self.start_timeout)
                play_game(loaded, seats, seed=0, time_control=control, move_limit=2)

    def _launch_confined(self) -> None:
        """Start and limit the process. Raises `WorkerError`."""
        self._started = time.monotonic()
        try:
            self._launch()
            self._confine()
        except (OSError, AgentError) as error:
            self.kill()
            raise WorkerError(f"the process of {self._who} cannot be started: {error}") from error

    def _launch(self) -> None:
        """Start the process. Raises `OSError`."""
        limits, parameters = self.limits, self.parameters
        if self.isolation is Isolation.SANDBOX:
            scratch = "/tmp"  # noqa: S108 - its own, in the sandbox
        else:
            self._scratch = tempfile.TemporaryDirectory(
                prefix=f"{SCRATCH}{os.getpid()}-", ignore_cleanup_errors=True
            )
            scratch = self._scratch.name
        environment = _environment(parameters, scratch, limits.environment)
        self._channel = Channel(environment, limits, self._wrapper)
        if limits.processors is not None and sys.platform == "linux":
            pid = self._channel.child.pid
            self._processors = Processors(limits.processors, number=pid)
            # Set from outside: in the process itself the seccomp filter lets this call do nothing.
            os.sched_setaffinity(pid, self._processors.numbers)

    @property
    def _wrapper(self) -> Callable[[bool], Sequence[str]] | None:
        if self.isolation is not Isolation.SANDBOX:
            return None
        return lambda tied: sandbox_command(
            hidden=[Path(path) for path in self.limits.hidden],
            parameters={"agent": self.parameters, "game": self._game[1]},
            disk=self.limits.disk,
            tied=tied,
        )

    def _confine(self) -> None:
        """Limit the process and the sandbox around it, before any code of the agent is loaded."""
        assert self._channel is not None
        limits = self.limits
        memory = limits.memory or three_quarters_of_memory()
        sandbox = self.isolation is Isolation.SANDBOX
        confinement = {
            "memory": memory,
            "processes": limits.processes,
            "disk": limits.disk,
            "hidden": [] if sandbox else list(limits.hidden),
            "free": limits.free,
            "fixed": list(limits.fixed),
            "sandbox": sandbox,
            "programs": self.programs,
        }
        self._ask("confine", {"limits": confinement}, seconds=self.start_timeout)
        if sandbox:
            # bubblewrap and the agent are running already, so they join by hand; what they start
            # later belongs to their groups by itself.
            self._group = ControlGroup(memory=memory, processes=limits.processes)
            if self._group.folders:
                child = self._channel.child
                self._group.add([child.pid, *(process.pid for process in child.descendants())])

    def kill(self) -> None:
        """Kill the process with all that it started."""
        if self._channel is not None:
            self._standstill += self._channel.standstill
            self._channel.kill()
            self._channel = None
        self._clear()

    def close(self) -> None:
        """Let the agent close, and end the process. It may be started again."""
        if self._channel is not None:
            self._channel.quit()
            self._channel = None
        self._clear()

    def _clear(self) -> None:
        """Release what the process had beside itself."""
        if self._group is not None:
            self._group.kill()
            self._group = None
        if self._processors is not None:
            self._processors.release()
            self._processors = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()

    # -- the seat -----------------------------------------------------------------------------

    @property
    def standstill(self) -> float:
        """Return the seconds of this game in which the referee stood still, awaiting an answer.

        Stopped by a signal, frozen, or asleep with the machine, the referee cannot take an answer:
        a loss on time is not the agent's fault then.
        """
        return self._standstill + (self._channel.standstill if self._channel is not None else 0.0)

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game, in a new process if the last one is gone. Raises `AgentError` as `act`.

        A process that served before and fails now is replaced once: an earlier game must not decide
        this one.
        """
        message = {"seed": seed, "player": player, "log": log is not None}
        served_before = self.pid is not None
        self._standstill = 0.0
        if self._channel is not None:
            self._channel.standstill = 0.0
        try:
            self._begin(message, log)
        except AgentError:
            if not served_before:
                raise
            self._begin(message, log)

    def _begin(self, message: Mapping[str, Any], log: Path | None) -> None:
        self._observations = []
        self.start()
        assert self._channel is not None
        # Output and answers are limited by game: those of a long match must not add up to a flood.
        self._channel.new_game(log)
        seconds = self.limits.new_game_seconds
        try:
            answer = self._ask("new_game", message, seconds=seconds)
        except AgentTimeoutError:
            raise AgentTimeoutError(
                f"{self._who} did not begin a game within {seconds:.3g} s and was killed; if it "
                "needs longer, raise limits.new_game_seconds"
            ) from None
        self._cpu = self._checked(self._unpack_cpu, answer)
        self._note_version(answer)

    def observe(self, observation: Observation) -> None:
        """Keep an observation for the next `act` or `end`."""
        self._observations.append(pack_observation(observation))

    def ponder(self) -> None:
        """Send the observations so far, and let the agent think until its next question.

        A process that is gone, or does not read, shows with that question.
        """
        if self._channel is None or (self._ponders and not self._observations):
            return
        self._channel.notify({"call": "ponder", "observations": self._take_observations()})
        self._ponders = True

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        """Return the agent's decision. Raises `AgentError` as `Channel.request`.

        The process is killed after `deadline` seconds of wall time; None for never.
        """
        message = {"observations": self._take_observations(), "clock": pack_clock(reading)}
        began = time.monotonic()
        answer = self._ask("act", message, seconds=deadline)
        seconds = time.monotonic() - began
        decision = self._checked(unpack_decision, answer["ok"])
        cpu = self._checked(self._unpack_cpu, answer)
        spent, self._cpu = max(0.0, cpu - self._cpu), cpu
        return SeatReply(decision, seconds, spent)

    def policy(self) -> Mapping[int, float] | None:
        """Return the agent's policy of its last decision. Raises `AgentError` as `act`."""
        answer = self._ask("policy", {}, seconds=self.limits.end_seconds)
        return self._checked(unpack_policy, answer["ok"])

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the agent the end of the game. Raises `AgentError` as `act`."""
        message = {"observations": self._take_observations(), "returns": list(returns)}
        self._ask("end", message, seconds=self.limits.end_seconds)

    def _unpack_cpu(self, answer: Mapping[str, Any]) -> float:
        """Return an answer's CPU seconds, which the processors and the wall time bound."""
        # The agent reports its own CPU time, so it is believed only up to what the machine has.
        elapsed = time.monotonic() - self._started
        return unpack_cpu(answer, limit=1.0 + elapsed * (os.cpu_count() or 1))

    def _take_observations(self) -> list[Any]:
        observations, self._observations = self._observations, []
        return observations

    def _checked(self, unpack: Callable[[Any], ResultT], values: Any) -> ResultT:
        try:
            return unpack(values)
        except AgentProtocolError as error:
            self.kill()
            raise AgentProtocolError(f"{self._who}: {error}") from None

    def _ask(
        self, call: str, message: Mapping[str, Any], *, seconds: float | None
    ) -> dict[str, Any]:
        """Return the answer to a message; kill the process if there is none."""
        if self._channel is None:
            raise AgentCrashedError(f"{self._who} has no process; it died or was killed before")
        self._ponders = False
        # An answer that was written before its question cannot have its number.
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
            named = type(error)(f"{self._who}: {error}")
            named.game_failed_at = error.game_failed_at
            raise named from None
        except BaseException:  # interrupted halfway: the next answer would be a stale one
            self.kill()
            raise
        return answer

    def _check(self, answer: Mapping[str, Any]) -> None:
        error = answer.get("error")
        if error is None:
            if type(answer.get("ok")) is not dict:
                raise AgentProtocolError("an answer that holds neither a result nor an error")
            return
        if type(error) is not dict:
            raise AgentProtocolError("an answer whose error is not an object")
        kind = one_line(str(error.get("type")), limit=80)
        message = one_line(str(error.get("message")))
        if kind in _AGENT_ERRORS:
            raise _AGENT_ERRORS[kind](message)
        crash = AgentCrashedError(f"{kind}: {message}" if message else kind)
        crash.game_failed_at = _history(error.get("history"))
        raise crash

    def _note_version(self, answer: Mapping[str, Any]) -> None:
        self.version = one_line(str(answer["ok"].get("version", "")), limit=200)
        self.policy_is_fixed = answer["ok"].get("policy_is_fixed") is True

    @property
    def _who(self) -> str:
        return f"agent '{self.name}'"

    def __repr__(self) -> str:
        return f"<agent process '{self.name}' ({self.agent}), pid {self.pid}>"


_AGENT_ERRORS: dict[str, type[AgentError]] = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, AgentError)
}


def _history(value: Any) -> tuple[int, ...] | None:
    """Return the actions at which an agent says that its game failed; None if it says nothing."""
    if not isinstance(value, list) or any(type(action) is not int for action in value):
        return None
    return tuple(value)


def _environment(
    parameters: Mapping[str, Any], scratch: str, names: Collection[str] = ()
) -> dict[str, str]:
    threads = parameters.get("threads", 1)
    threads = threads if type(threads) is int and threads > 0 else 1
    environment = child_environment(harmless_environment(names), threads=threads)
    environment["TMPDIR"] = scratch
    return environment


BEAT: Final = 0.2
"""Maximum seconds between two looks at the clock, and at whether the process is alive."""

STANDSTILL: Final = 0.5
"""Seconds by which a beat must be late to count as a standstill, and not as a busy machine."""


class Heartbeat:
    """Notices that this process stood still: it was stopped, frozen, or asleep with the machine.

    The monotonic clock of Linux goes on while a process is stopped, but not while the machine
    sleeps; the boot-time clock goes on then, too.
    """

    def __init__(self) -> None:
        self._due, self._asleep = time.monotonic(), _seconds_asleep()

    def beat(self, pause: float) -> float:
        """Return for how many seconds the process stood still since the last beat; usually 0.

        The next beat is expected within `pause` seconds.
        """
        now, asleep = time.monotonic(), _seconds_asleep()
        late, slept = now - self._due, asleep - self._asleep
        self._due, self._asleep = now + pause, asleep
        # Small delays are those of a busy machine, which delays the agent as well.
        return sum(seconds for seconds in (late, slept) if seconds >= STANDSTILL)


def _seconds_asleep() -> float:
    """Return for how long the machine has been asleep since it started; 0 where nothing says it."""
    if sys.platform != "linux":
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


class Channel:
    """The connection to an agent's process.

    Every wait is for the answer, the output and the death of the process at once, so nothing that
    the process does, or does not do, keeps the referee longer than the deadline.

    Attributes:
      standstill: seconds for which this process stood still while it waited for answers.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        limits: ProcessLimits,
        wrapper: Callable[[bool], Sequence[str]] | None = None,
    ) -> None:
        self._limits = limits
        self._answer_bytes = 0
        self.standstill = 0.0
        self.child = ModuleChild(
            "miai.process.host",
            environment=environment,
            max_message=limits.frame_bytes,
            wrapper=wrapper,
        )
        self.child.output.limit = limits.output_bytes
        self._selector = selectors.DefaultSelector()
        self._descriptors = [self.child.answers, self.child.output.descriptor]
        if self.child.pidfd >= 0:
            self._descriptors.append(self.child.pidfd)
        for descriptor in self._descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def new_game(self, log: Path | None) -> None:
        """Count output and answers from zero and log to another file."""
        output = self.child.output
        output.read()
        output.log_to(log)
        output.size = self._answer_bytes = 0

    def request(self, message: Mapping[str, Any], *, seconds: float | None) -> dict[str, Any]:
        """Send a message and return its answer, within `seconds` of wall time (None for no limit).

        After any error the process has to be killed.

        Raises:
          AgentTimeoutError: no answer in time.
          AgentCrashedError: the process died.
          AgentFloodError: more output, or a longer answer, than the limits allow.
          AgentProtocolError: a malformed answer, or one to another message.
          ValueError: the message is too long, or not plain.
        """
        frame = encode(message)
        if len(frame) > MAX_REQUEST_BYTES:
            raise ValueError(
                f"a message of {len(frame)} bytes; at most {MAX_REQUEST_BYTES} are sent"
            )
        heart = Heartbeat()
        until = None if seconds is None else time.monotonic() + seconds
        self._receive()
        # Whatever has come since the last answer would be taken for the next one.
        if len(self.child.messages):
            raise AgentProtocolError("an answer that nobody asked for")
        writing = self.child.send(frame)
        while (answer := self.child.messages.next()) is None:
            self.standstill += heart.beat(BEAT)
            self._wait(until, writing=writing)
            writing = writing and self.child.flush()
        self.standstill += heart.beat(BEAT)
        if answer.get("id") != message["id"]:
            raise AgentProtocolError("an answer out of turn")
        return answer

    def notify(self, message: Mapping[str, Any]) -> None:
        """Send a message without an answer; what the pipe does not take follows with the next."""
        self.child.send(encode(message))

    def quit(self) -> None:
        """Ask the process to exit, and kill what is left of it after some time."""
        self.child.send(encode({"id": -1, "call": "quit"}))
        self.child.await_death(self._limits.close_seconds)
        self.kill()

    def is_alive(self) -> bool:
        """Return whether the process is running."""
        return not self.child.is_dead()

    def kill(self) -> None:
        """Kill the process and all that it started, and release everything."""
        self._selector.close()
        self.child.kill()

    def _wait(self, until: float | None, *, writing: bool) -> None:
        remaining = None if until is None else until - time.monotonic()
        if remaining is not None and remaining <= 0:
            raise AgentTimeoutError("no answer in time")
        child = self.child
        pause = BEAT if remaining is None else min(BEAT, remaining)
        if writing:
            # Watched only while something is unsent: a pipe with room is always ready, and the loop
            # would spin.
            self._selector.register(child.requests, selectors.EVENT_WRITE)
        ready = {key.fd for key, _ in self._selector.select(pause)}
        if writing:
            self._selector.unregister(child.requests)
        if child.output.descriptor in ready:
            self._read_output()
        # Answers before deaths: what a process said before it died counts.
        if child.answers in ready:
            self._receive()
        elif child.pidfd in ready or (child.pidfd < 0 and not ready and child.is_dead()):
            self._raise_death()

    def _receive(self) -> None:
        size = self.child.receive()
        if size is None:
            self._raise_death()
        self._answer_bytes += size or 0
        if self._answer_bytes > self._limits.answer_bytes:
            raise AgentFloodError(
                f"answers of more than {self._limits.answer_bytes} bytes in one game"
            )

    def _read_output(self) -> None:
        output = self.child.output
        output.read()
        if output.over_limit:
            raise AgentFloodError(
                f"output of more than {self._limits.output_bytes} bytes in one game"
            )
        if output.ended:
            self._selector.unregister(output.descriptor)

    def _raise_death(self) -> NoReturn:
        """Raise what the end of the connection or of the process means."""
        # The pipe of a dying process closes a moment before its status can be read.
        if not self.child.await_death(_GRACE):
            raise AgentProtocolError("it closed its connection to the referee")
        self.child.output.read()
        raise AgentCrashedError(
            f"its process {self.child.exit_status()}{self.child.output.last_lines()}"
        )
