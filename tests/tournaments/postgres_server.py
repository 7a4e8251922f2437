"""A PostgreSQL server of the tests' own, on a free port of the loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

START_SECONDS = 60


def programs() -> Path:
    """Return the folder of the server's programs; skip the test where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = found[-1] if found else shutil.which("initdb")
    if initdb is None:
        pytest.skip("needs PostgreSQL's server; apt-get install postgresql")
    return Path(initdb).parent


class Server:
    """A server, begun at once.

    Attributes:
      url: of its database.
      port: that it listens at.
    """

    def __init__(self) -> None:
        self._programs = programs()
        # The server refuses to be root, and pytest's folders are closed to all others.
        self._user = "postgres" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        self._data = self._folder / "data"
        self._data.mkdir()
        if self._user is not None:
            self._folder.chmod(0o711)
            shutil.chown(self._data, self._user)
        self._do("initdb", "-D", str(self._data), "-U", "miai", "-A", "trust", "-N")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self.url = f"postgresql://miai@127.0.0.1:{self.port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Begin to serve."""
        log = (self._folder / "log").open("ab")
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "fsync": "off"}
        options["unix_socket_directories"] = ""
        self._process = subprocess.Popen(
            [
                *(str(self._programs / "postgres"), "-D", str(self._data)),
                *(word for key, value in options.items() for word in ("-c", f"{key}={value}")),
            ],
            user=self._user,
            stdout=log,
            stderr=log,
            cwd="/",
        )
        log.close()
        until = time.monotonic() + START_SECONDS
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < until, "the server does not begin to serve"
            time.sleep(0.1)

    def kill(self) -> None:
        """End it at once, as a crash would: all its processes end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)  # "immediate shutdown": without a farewell
        self._process.wait()

    def close(self) -> None:
        """End it, and remove what it wrote."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self._folder)

    def psql(self, statement: str) -> str:
        """Return what the server answers to a statement."""
        done = subprocess.run(
            [self._programs / "psql", self.url, "-At", "-c", statement],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def _do(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            check=True,
            capture_output=True,
            cwd="/",
        )
