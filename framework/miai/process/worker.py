"""The main module of a worker process, started by `miai.process.workers.WorkerPool`."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from miai.errors import MiaiError
from miai.process.child import boot
from miai.process.messages import encode

Performer: TypeAlias = Callable[[Any], Any]
"""Performs a job, plain data, and returns its result, plain data."""

PerformerMaker: TypeAlias = Callable[[Any], AbstractContextManager[Performer]]
"""What a pool names: makes from the setup what performs the jobs of a worker."""


def main(arguments: list[str]) -> None:
    """Serve a pool; the arguments are those of `boot` and ``MODULE:FUNCTION``."""
    stream = boot(arguments[:3])
    module, name = arguments[3].split(":")
    setup = stream.receive()
    if setup is None:
        return
    with contextlib.ExitStack() as stack:
        try:
            make: PerformerMaker = getattr(importlib.import_module(module), name)
            perform = stack.enter_context(make(setup["setup"]))
        except Exception as error:
            stream.send(encode({"refused": _describe(error)}))
            return
        while (job := stream.receive()) is not None:
            try:
                answer = encode({"result": perform(job["job"])})
            except Exception as error:
                answer = encode({"error": _describe(error)})
            stream.send(answer)


def _describe(error: Exception) -> str:
    """Return the message of an expected error; print the traceback of any other."""
    if isinstance(error, MiaiError):
        return str(error)
    traceback.print_exc()
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1:])
