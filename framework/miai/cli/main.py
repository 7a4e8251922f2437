"""The entry point of the command ``miai``: its exit status, and what is told of a failure.

It imports next to nothing itself, so that Ctrl-C is told in a line from the start, whatever is
being imported.

Environment:
  MIAI_TRACEBACK: when set to anything but 0, the traceback of an error is shown before its message.
"""

from __future__ import annotations

import sys
from typing import NoReturn

USER_ERROR = 2
"""Exit status for whatever the user can mend."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; what the user can mend becomes one message and exit status 2."""
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
        try:
            run()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # or the interpreter would, at a time when nobody can explain
    except MiaiError as error:
        return _told(error, str(error))
    except BrokenPipeError:  # the reader went away (`miai list agent | head`): no error
        _drop_output()
    except OSError as error:
        return _told(error, _explain(error))
    return 0


def _told(error: Exception, message: str) -> int:
    """Print the message of an error; return the exit status."""
    import os

    if os.environ.get("MIAI_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    print(f"miai: {message}", file=sys.stderr)
    return USER_ERROR


def _explain(error: OSError) -> str:
    """Return what the machine refused: a file that the error names, or the output."""
    if error.filename is not None:
        return f"{error.strerror}: {error.filename}; MIAI_TRACEBACK=1 shows why it was needed"
    _drop_output()
    return f"the output cannot be written: {error.strerror}; make room, or send it elsewhere"


def _ignore_interrupts() -> None:
    """Let a second Ctrl-C not disturb the ending."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _drop_output() -> None:
    """Write no more to an output that takes nothing."""
    import os

    # Else the interpreter would complain when it flushes standard output at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
