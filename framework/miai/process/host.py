"""The main module of an agent's process: ``python -m miai.process.host``.

Started by `miai.process.agent_process.AgentProcess`, never by hand. Standard output and error of
this
process are a pipe that the referee reads as output; the messages go over pipes of their own, so
nothing that an agent or its libraries print, from Python or from C, can be taken for an answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.process.child import SCRATCH
from miai.process.messages import (
    MAX_REQUEST_BYTES,
    FrameReader,
    encode,
    pack_decision,
    unpack_clock,
    unpack_observation,
)
from miai.process.sandbox import hide, take_processors

if TYPE_CHECKING:
    from miai.agent import Agent


_PR_SET_PDEATHSIG = 1
_F_SETSIG = 10
_MESSAGE_CHARACTERS = 2000


class AgentHost:
    """Serves one agent to the referee.

    Args:
      requests, answers: descriptors to read messages from and write answers to.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        self._reader = FrameReader(MAX_REQUEST_BYTES)
        self._agent: Agent | None = None
        self._plugin_version = ""
        self._calls: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "hello": self._hello,
            "new_game": self._new_game,
            "act": self._act,
            "end": self._end,
        }

    def serve(self) -> None:
        """Answer messages until the referee says quit or is gone."""
        while (message := self._receive()) is not None and message["call"] != "quit":
            answer = encode(self._answer(message))
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # an agent may have closed or replaced them
                    stream.flush()
            _write(self._answers, answer)
        if self._agent is not None:
            self._agent.close()

    def _receive(self) -> dict[str, Any] | None:
        while (message := self._reader.next()) is None:
            data = os.read(self._requests, 1 << 16)
            if not data:
                return None
            self._reader.feed(data)
        return message

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self._calls[message["call"]](message)
            cpu = self._agent.cpu_seconds() if self._agent is not None else 0.0
            return {"id": message["id"], "ok": answer, "cpu": float(cpu)}
        except Exception as error:
            traceback.print_exc()
            return {"id": message["id"], "error": _describe(error)}

    def _hello(self, message: Mapping[str, Any]) -> dict[str, Any]:
        confine(**message["limits"])
        from miai.api import load_game, make_agent
        from miai.errors import AgentError, AgentUnavailableError, MiaiError
        from miai.plugins.versions import component_version

        try:
            game = load_game(message["game"], **message["game_parameters"])
            self._agent = make_agent(message["agent"], game, **message["agent_parameters"])
        except AgentError:
            raise
        except MiaiError as error:  # its message says it all; the class is no word for users
            raise AgentUnavailableError(str(error)) from error
        self._plugin_version = component_version("agent", message["agent"], game=game.info.name)
        return self._version()

    def _new_game(self, message: Mapping[str, Any]) -> dict[str, Any]:
        log = Path(message["log"]) if message["log"] is not None else None
        self._settled.new_game(message["seed"], player=message["player"], log=log)
        return self._version()

    def _act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from miai.agent import checked_decision

        self._observe(message)
        return pack_decision(checked_decision(self._settled.act(unpack_clock(message["clock"]))))

    def _end(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._observe(message)
        self._settled.end(tuple(message["returns"]))
        return {}

    def _observe(self, message: Mapping[str, Any]) -> None:
        for values in message["observations"]:
            self._settled.observe(unpack_observation(values))

    @property
    def _settled(self) -> Agent:
        assert self._agent is not None, "the referee says hello first"
        return self._agent

    def _version(self) -> dict[str, Any]:
        own = getattr(self._agent, "version", "")
        return {"version": "; ".join(filter(None, (self._plugin_version, str(own or ""))))}


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _describe(error: Exception) -> dict[str, str]:
    try:
        message = str(error)
    except Exception:  # the agent's own exception class may be broken too
        message = "(its message cannot be shown)"
    return {"type": type(error).__name__, "message": message[:_MESSAGE_CHARACTERS]}


def _tie_to_parent(lifeline: int, parent: int) -> None:
    """Have the kernel end this process with the referee's, however that one dies.

    The referee holds the other end of the lifeline, a pipe in which nothing is ever written. When
    that end closes, Linux sends SIGKILL to this whole process group, engines included, even while
    a compiled loop holds the interpreter lock. Elsewhere the end of the messages has to do.
    """
    if sys.platform != "linux":
        return
    import ctypes
    import fcntl

    if parent:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC | os.O_NONBLOCK)
    orphan = parent and os.getppid() != parent
    if orphan or select.select([lifeline], [], [], 0)[0]:  # it died before the ties were there
        os._exit(1)


def confine(*, memory: int | None, processors: int | None, hidden: Sequence[str] = ()) -> None:
    """Bound this process and all that it starts, before any code of the agent's is loaded.

    Args:
      memory: mebibytes of private memory; None for no bound.
      processors: how many to run on, none of which another agent's process of this user has, as
        long as there are so many; None for all.
      hidden: folders that it is not to read, with other agents' temporary ones.

    Raises:
      OSError: the kernel refused.
    """
    if memory is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        bound = memory << 20 if hard == resource.RLIM_INFINITY else min(memory << 20, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    if processors is not None and sys.platform == "linux":
        os.sched_setaffinity(0, take_processors(processors))
    if hidden:
        hide(map(Path, hidden), own=Path(tempfile.gettempdir()), others=SCRATCH)


def main(arguments: list[str]) -> None:
    """Serve an agent; the arguments are three descriptors and the parent's process id or 0."""
    requests, answers, lifeline, parent = map(int, arguments)
    for descriptor in (requests, answers, lifeline):
        os.set_inheritable(descriptor, False)
    _tie_to_parent(lifeline, parent)
    faulthandler.enable()
    # A core dump would keep a dying process from being dead for as long as it takes to write.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.stdin.close()  # so that an agent which asks a person finds nobody there
    with contextlib.suppress(BrokenPipeError):  # the referee is gone, and so is all interest
        AgentHost(requests, answers).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
