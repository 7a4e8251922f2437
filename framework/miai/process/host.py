"""The main module of an agent's process, started by `miai.process.agent_process.AgentProcess`."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import AgentProtocolError, GameFailedError
from miai.process.agent_messages import pack_decision, pack_policy, unpack_clock, unpack_observation
from miai.process.child import CONFINED, boot
from miai.process.confined import confine
from miai.process.messages import MessageStream, encode

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.game import Game

_MESSAGE_CHARACTERS = 2000


class AgentHost:
    """Serves one agent to the referee."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
        # As the referee set it: the one that Python chooses may be everybody's.
        self._scratch = Path(os.environ["TMPDIR"])
        self._game: Game | None = None
        self._agent: Agent | None = None
        self._plugin_version = ""
        self._failure: Exception | None = None  # while it pondered
        self._calls: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "confine": self._confine,
            "import": self._import,
            "hello": self._hello,
            "new_game": self._new_game,
            "act": self._act,
            "policy": self._policy,
            "end": self._end,
        }

    def serve(self) -> None:
        """Answer messages until the referee says quit or is gone."""
        while (message := self._stream.receive()) is not None and message["call"] != "quit":
            if message["call"] == "ponder":
                self._ponder(message)
                continue
            answer = encode(self._answer(message))
            # Before the answer, so that the referee counts what was printed with the move that
            # printed it.
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # an agent may have closed or replaced them
                    stream.flush()
            self._stream.send(answer)
        if self._agent is not None:
            self._agent.close()

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
            answer = self._calls[message["call"]](message)
            cpu = float(self._agent.cpu_seconds()) if self._agent is not None else 0.0
            if not math.isfinite(cpu):
                raise AgentProtocolError(f"cpu_seconds() returned {cpu}")
            return {"id": message["id"], "ok": answer, "cpu": cpu}
        except Exception as error:
            traceback.print_exc()
            return {"id": message["id"], "error": _describe(error)}

    def _confine(self, message: Mapping[str, Any]) -> dict[str, Any]:
        confine(**message["limits"])
        os.environ[CONFINED] = "1"
        return {}

    def _import(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Import the game and the agent, and tell whether they may compile kernels."""
        from miai.plugins.kinds import AGENT, GAME
        from miai.plugins.loader import registry

        with contextlib.suppress(Exception):  # which `hello` will report
            registry().get(GAME, message["game"]).load_factory()
            registry().get(AGENT, message["agent"], game=message["game"]).load_factory()
        return {"kernels": "numba" in sys.modules}

    def _hello(self, message: Mapping[str, Any]) -> dict[str, Any]:
        # Imported here, after `confine`: no plugin's code runs before the process is confined.
        from miai.api import load_game, make_agent
        from miai.errors import AgentError, AgentUnavailableError, MiaiError
        from miai.plugins.versions import component_version

        try:
            if self._agent is not None:  # another player's
                self._agent.close()
                self._agent = None
                for path in self._scratch.glob("*"):
                    shutil.rmtree(path, ignore_errors=True)  # a folder
                    with contextlib.suppress(OSError):
                        path.unlink()
            if self._game is None:
                self._game = load_game(message["game"], **message["game_parameters"])
            game = self._game
            self._agent = make_agent(message["agent"], game, **message["agent_parameters"])
        except AgentError:
            raise
        except MiaiError as error:  # its message says it all
            raise AgentUnavailableError(str(error)) from error
        self._plugin_version = component_version("agent", message["agent"], game=game.info.name)
        return self._version()

    def _new_game(self, message: Mapping[str, Any]) -> dict[str, Any]:
        # The referee writes the file, so that nothing that an agent does to files can stop it.
        log = Path("/dev/stderr") if message["log"] else None
        self._settled.new_game(message["seed"], player=message["player"], log=log)
        return self._version()

    def _act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from miai.agent import checked_decision

        self._observe(message)
        return pack_decision(checked_decision(self._settled.act(unpack_clock(message["clock"]))))

    def _policy(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from miai.agent import stated_policy

        return pack_policy(stated_policy(self._settled))

    def _ponder(self, message: Mapping[str, Any]) -> None:
        """Observe, and think until the next message; an error is the answer to that one."""
        try:
            if self._failure is None:
                self._observe(message)
                self._settled.ponder(self._stream.is_waiting)
        except Exception as error:
            self._failure = error

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
        version = "; ".join(filter(None, (self._plugin_version, str(own or ""))))
        return {"version": version, "policy_is_fixed": bool(self._settled.policy_is_fixed)}


def _describe(error: Exception) -> dict[str, Any]:
    try:
        message = str(error)
    except Exception:  # the agent's own exception class may be broken too
        message = "(its message cannot be shown)"
    description = {"type": type(error).__name__, "message": message[:_MESSAGE_CHARACTERS]}
    if isinstance(error, GameFailedError) and error.history is not None:
        return {**description, "history": list(error.history)}
    return description


def main(arguments: list[str]) -> None:
    """Serve an agent; the arguments are those of `boot`."""
    stream = boot(arguments)
    sys.stdin.close()  # so that an agent that asks a person fails at once
    with contextlib.suppress(BrokenPipeError):  # the referee is gone
        AgentHost(stream).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
