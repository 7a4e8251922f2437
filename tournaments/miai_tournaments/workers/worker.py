"""The main module of a worker process; the runner starts it with ``python -m``.

Jobs come in on standard input and outcomes go out on standard output, as frames of JSON; the
first frame is the setup, and the end of input the end of the worker. What anything prints goes to
standard error, which the runner shows. A worker ends with its runner, however that one ends.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings

from miai.plugins.loader import PluginWarning, plugin_host
from miai.process.messages import FrameReader, encode
from miai_tournaments.workers.game_runner import GameRunner
from miai_tournaments.workers.jobs import GameJob, Setup

MAX_FRAME_BYTES = 1 << 30
"""Bound of a frame; the biggest are outcomes, which hold a record."""

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Serve the runner; the argument is its process id, or 0 when it cannot be tied to."""
    _tie_to(int(arguments[0]))
    jobs, outcomes = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    frames = FrameReader(MAX_FRAME_BYTES)
    load_plugins()
    setup = _receive(jobs, frames)
    if setup is None:
        return
    with GameRunner(Setup.from_plain(setup)) as table:
        while (job := _receive(jobs, frames)) is not None:
            _send(outcomes, encode(table.perform(GameJob.from_plain(job)).to_plain()))


def load_plugins() -> None:
    """Load the plugins without a word on broken ones, which the runner has told already.

    Later warnings, of a plugin that fails when told of a game, are lines without their place.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        plugin_host()
    warnings.simplefilter("always", PluginWarning)
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, *place: object, **more: object) -> None:
    print(message, file=sys.stderr)


def _tie_to(runner: int) -> None:
    """Have the kernel end this process with the runner's, where it can."""
    if sys.platform != "linux" or runner == 0:
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != runner:  # it died before the tie was there
        os._exit(1)


def _receive(descriptor: int, frames: FrameReader) -> dict[str, object] | None:
    while (message := frames.next()) is None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            return None
        frames.feed(data)
    return message


def _send(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


if __name__ == "__main__":
    main(sys.argv[1:])
