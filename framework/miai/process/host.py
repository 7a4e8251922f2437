"""The main module of an agent's process, started by `miai.process.agent_process.AgentProcess`."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.process.agent_messages import pack_decision, unpack_clock, unpack_observation
from miai.process.child import boot
from miai.process.messages import MessageStream, encode
from miai.process.sandbox import SCRATCH, hide, take_processors

if TYPE_CHECKING:
    from miai.agent import Agent

_MESSAGE_CHARACTERS = 2000


class AgentHost:
    """Serves one agent to the referee."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
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
        while (message := self._stream.receive()) is not None and message["call"] != "quit":
            answer = encode(self._answer(message))
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # an agent may have closed or replaced them
                    stream.flush()
            self._stream.send(answer)
        if self._agent is not None:
            self._agent.close()

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
        except MiaiError as error:  # its message says it all
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
        assert self._agent is not None, "the first message is hello"
        return self._agent

    def _version(self) -> dict[str, Any]:
        own = getattr(self._agent, "version", "")
        return {"version": "; ".join(filter(None, (self._plugin_version, str(own or ""))))}


def _describe(error: Exception) -> dict[str, str]:
    try:
        message = str(error)
    except Exception:  # the agent's own exception class may be broken too
        message = "(its message cannot be shown)"
    return {"type": type(error).__name__, "message": message[:_MESSAGE_CHARACTERS]}


def confine(*, memory: int | None, processors: int | None, hidden: Sequence[str] = ()) -> None:
    """Limit this process and all that it starts, before any code of the agent is loaded.

    Args:
      memory: maximum mebibytes of private memory; None for no limit.
      processors: how many to run on, if possible ones that no other agent of this user has; None
        for all.
      hidden: folders that it may not read, with other agents' temporary ones.
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
    """Serve an agent; the arguments are those of `boot`."""
    stream = boot(arguments)
    sys.stdin.close()  # so that an agent that asks a person fails at once
    with contextlib.suppress(BrokenPipeError):  # the referee is gone
        AgentHost(stream).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
