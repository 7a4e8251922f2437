"""The entry point of the command ``miai``: error messages and exit status.

It imports almost nothing at first, so that Ctrl-C during the imports prints one line too.

Environment:
  MIAI_TRACEBACK: if set to anything but 0, the traceback of an error precedes its message.
"""

from __future__ import annotations

import io
import sys
from typing import NoReturn

USER_ERROR = 2
"""Exit status for errors that the user can correct."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; an error that the user can correct gives one line and status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")  # of an encoding such as ASCII
    try:
        status = _run()
    except KeyboardInterrupt as interruption:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C while the process ends
        print(f"miai: {str(interruption) or 'interrupted'}", file=sys.stderr)
        status = INTERRUPTED
    sys.exit(status)


def _run() -> int:
    from miai.cli.app import run
    from miai.errors import MiaiError
    from miai.process.compilations import say_to

    try:
        try:
            with say_to(sys.stderr):
                run()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # at exit it is too late to explain an error
    except MiaiError as error:
        return _report(error, str(error))
    except BrokenPipeError:  # the reader has closed the pipe (`miai list agent | head`)
        _drop_output()
    except OSError as error:
        return _report(error, _explain(error))
    return 0


def _report(error: Exception, message: str) -> int:
    import os

    if os.environ.get("MIAI_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    print(f"miai: {_printable(message)}", file=sys.stderr)
    return USER_ERROR


def _printable(message: str) -> str:
    """Return a message with escapes for what a terminal would not show as it is."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in message
    )


def _explain(error: OSError) -> str:
    """Return a message for a system error: about the file it names, about the output, or neither.

    Standard output has no name, but a write to it fails in few ways.
    """
    import errno

    if error.filename is not None:
        return f"{error.strerror}: {error.filename}; MIAI_TRACEBACK=1 shows the traceback"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF):
        return f"{type(error).__name__}: {error}; MIAI_TRACEBACK=1 shows the traceback"
    _drop_output()
    return f"the output cannot be written: {error.strerror}; free space or redirect it"


def _drop_output() -> None:
    """Discard all further output."""
    import os

    # Otherwise the interpreter reports an error when it flushes standard output at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
