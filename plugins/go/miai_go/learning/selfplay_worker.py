"""The main module of a self-play worker: ``python -m miai_go.learning.selfplay_worker``.

Started by `miai_go.learning.selfplay`, never by hand. Orders come in on standard input and games
go out
on standard output, as frames of JSON; the first frame is the plan, and the end of input the end of
the worker. What anything prints goes to standard error. A worker ends with its parent, however that
one ends.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Any

from miai.errors import MiaiError
from miai.process.messages import MAX_REQUEST_BYTES, FrameReader, encode
from miai_go.learning.agent_games import AgentGames, GamesPlan, VoidGameError, pack

_PR_SET_PDEATHSIG = 1
_SHOWN = 2000  # characters of an error that are sent


def main(arguments: list[str]) -> None:
    """Serve the parent; the argument is its process id, or 0 when it cannot be tied to."""
    _tie_to(int(arguments[0]))
    orders, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    frames = FrameReader(MAX_REQUEST_BYTES)
    setup = _receive(orders, frames)
    if setup is None:
        return
    try:
        games = AgentGames(GamesPlan.model_validate(setup["plan"]), sgf=bool(setup["sgf"]))
    except Exception as error:  # an agent's defect would meet every game
        _send(answers, {"refused": _told(error)})
        return
    _send(answers, {"ready": True})
    try:
        while (order := _receive(orders, frames)) is not None:
            _send(answers, _played(games, int(order["number"])))
    finally:
        games.close()


def _played(games: AgentGames, number: int) -> dict[str, Any]:
    try:
        return {"number": number, "game": pack(games.play(number))}
    except VoidGameError as error:
        return {"number": number, "void": str(error)[:_SHOWN]}


def _told(error: Exception) -> str:
    """Return what to say of an error that is the end of all; its traceback goes to the log."""
    if isinstance(error, MiaiError):
        return str(error)[:_SHOWN]
    traceback.print_exc()
    return f"the players cannot begin: {type(error).__name__}: {error}"[:_SHOWN]


def _tie_to(parent: int) -> None:
    """Have the kernel end this process with its parent, where it can."""
    if sys.platform != "linux" or parent == 0:
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the tie was there
        os._exit(1)


def _receive(descriptor: int, frames: FrameReader) -> dict[str, Any] | None:
    while (message := frames.next()) is None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            return None
        frames.feed(data)
    return message


def _send(descriptor: int, message: dict[str, Any]) -> None:
    left = memoryview(encode(message))
    while left:
        left = left[os.write(descriptor, left) :]


if __name__ == "__main__":
    main(sys.argv[1:])
