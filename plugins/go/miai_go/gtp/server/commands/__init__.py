"""The commands of the engine, by name."""

from __future__ import annotations

from collections.abc import Mapping

from miai_go.gtp.server.commands import analysing, core, ending, handicaps, moves, times, tools
from miai_go.gtp.server.commands.kinds import Handler, Streamer

__all__ = ["COMMANDS", "STREAMING"]

COMMANDS: Mapping[str, Handler] = {
    **core.COMMANDS,
    **moves.COMMANDS,
    **times.COMMANDS,
    **handicaps.COMMANDS,
    **ending.COMMANDS,
    **tools.COMMANDS,
    **analysing.COMMANDS,
}
"""Commands that answer at once, or when they are done."""

STREAMING: Mapping[str, Streamer] = analysing.STREAMING
"""Commands that answer line by line."""
