"""The engine's process: a controller's lines in, responses out, until it leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from miai_go.gtp.server.players import player_maker
from miai_go.gtp.server.reading import LineReader
from miai_go.gtp.server.session import Session


def serve(
    agent: str,
    values: Mapping[str, Any],
    game: Mapping[str, Any],
    *,
    seed: int = 0,
) -> None:
    """Play for the controller at standard input and output until it says quit or goes away.

    Whatever else writes to standard output is sent to standard error.

    Args:
      agent, values: the agent's name and its parameters.
      game: parameters of the game to begin with.

    Raises:
      MiaiError: there is no such agent or game, before anything was answered.
    """
    maker = player_maker(agent, values)
    output = _private_output()
    reader = LineReader(sys.stdin.fileno())

    def write(text: str) -> None:
        output.write(text.encode("utf-8", "replace"))
        output.flush()

    session = Session(maker, game, write=write, pending=reader.pending, seed=seed, agent=agent)
    try:
        while not session.ended:
            line = reader.next()
            if line is None:
                break
            session.take(line)
    except BrokenPipeError:
        pass  # the controller left in the midst of a response
    finally:
        session.player.close()


def _private_output() -> BinaryIO:
    """Return standard output for responses alone; what libraries print goes to standard error."""
    sys.stdout.flush()
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb", buffering=0)
