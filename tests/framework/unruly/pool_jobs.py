"""What the workers of `test_worker_pool` do; a job names it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from miai.errors import ConfigError


@contextlib.contextmanager
def make(setup: Any) -> Iterator[Callable[[Any], Any]]:
    """Perform jobs; note the end in the file that the setup names."""
    if setup.get("refuse") == "expected":
        raise ConfigError("nothing here can be performed")
    if setup.get("refuse"):
        raise ZeroDivisionError("no performer")
    yield perform
    if "closed" in setup:
        Path(setup["closed"]).write_text("closed")


def perform(job: Any) -> Any:
    """Return what the job asks for, or fail as it says."""
    match job["do"]:
        case "echo":
            time.sleep(job.get("seconds", 0.0))
            return {"value": job["value"], "pid": os.getpid(), "hash": hash("a text")}
        case "raise":
            raise ValueError("a broken job")
        case "die":
            flag = Path(job["flag"])
            if flag.exists():
                if job.get("once"):
                    flag.unlink()
                with flag.with_name("deaths").open("a") as deaths:
                    deaths.write("dead\n")
                print("the end is near", file=sys.stderr)
                os.kill(os.getpid(), signal.SIGKILL)
            return {"value": job["value"]}
        case "hang":
            time.sleep(3600)
        case "talk":
            print("said by Python")
            os.system("echo said by a program")
            return {}
        case "start":
            command = [sys.executable, "-c", "import time; time.sleep(3600)"]
            child = subprocess.Popen(command, start_new_session=True)
            return {"child": child.pid}
    return object()
