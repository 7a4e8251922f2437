"""The entry point of the command ``miai``: its exit status, and what is told of a failure.

It imports next to nothing itself, so that Ctrl-C is told in a line from the start, whatever is
being imported.
"""

from __future__ import annotations

import sys
from typing import NoReturn

USER_ERROR = 2
"""Exit status for whatever the user can mend."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; a `MiaiError` becomes one message and exit status 2."""
    try:
        status = _run()
    except KeyboardInterrupt as interruption:
        _ignore_interrupts()
        print(f"miai: {str(interruption) or 'interrupted'}", file=sys.stderr)
        status = INTERRUPTED
    sys.exit(status)


def _run() -> int:
    from miai.cli.app import run
    from miai.errors import MiaiError

    try:
        run()
    except MiaiError as error:
        print(f"miai: {error}", file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        _drop_output()
    return 0


def _ignore_interrupts() -> None:
    """Let a second Ctrl-C not disturb the ending."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _drop_output() -> None:
    """Write no more: the reader of our output went away (`miai list agent | head`), no error."""
    import os

    # Else the interpreter would complain when it flushes standard output at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
