"""The command ``miai`` in processes that are forked off one in which the imports are done.

What is run is what a user starts: a process of its own, with its arguments, environment, folder,
output and exit status. It is spared the half second of imports, which hundreds of tests would wait
for. Where the environment tells Python something else, a new interpreter is started, as it is by
all tests of signals, of start-up and of output that is refused; folders that are put before the
others on the import path, as those of plugins are, need none unless they hide what is imported.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import pty
import selectors
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from pexpect import EOF
from pexpect.fdpexpect import fdspawn

from miai.cli.main import main

SERVER = """
import contextlib, gc, json, os, runpy, sys
if "learns" in sys.argv:
    with contextlib.suppress(ImportError):
        import torch
import miai.cli.app, miai.cli.main, miai.api, miai.playing.match, miai.plugins.loader
import numpy, pydantic, rich.live, typer
import miai_tournaments.commands.tournament, miai_tournaments.report.live
import miai_tournaments.report.report
import miai_tournaments.running.tournament_run
import miai_go.rules.game, miai_go.rules.agents, miai_rbc.rules.game
from importlib.metadata import entry_points
plugins = [each.load() for each in entry_points(group="miai")]
gc.collect()
gc.freeze()  # the end of each process would look through all that is imported

def serve():
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

request = serve()
if request is not None:
    if request["files"][0] == request["files"][1]:
        os.setsid()  # the terminal that these are becomes the process's own
        sys.stdout.reconfigure(encoding=request["env"].get("PYTHONIOENCODING"))
    for number, path in enumerate(request["files"]):
        file = os.open(path, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for folder in request["paths"]:
        for name in os.listdir(folder):
            if name.partition(".")[0] in sys.modules:
                command = [sys.executable, "-m", "miai", *request["words"]]
                os.execve(sys.executable, command, request["env"])
    sys.path[1:1] = request["paths"]
    sys.argv = ["miai", *request["words"]]
    runpy.run_module("miai", run_name="__main__", alter_sys=True)
"""

LEARNING = {"train", "train-opponent", "measure-opponent", "quantize"}
"""Words of commands that import torch, which takes two seconds; they have a server of their own."""


class _Server:
    """The process that forks.

    Args:
      learns: whether torch is among the imports.
    """

    def __init__(self, *, learns: bool) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, *(["learns"] if learns else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self._selector.register(self.process.stdout, selectors.EVENT_READ)
        atexit.register(self.close)

    def start(self, request: Mapping[str, Any]) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.line(60)

    def run(self, request: Mapping[str, Any], timeout: float) -> int:
        child = self.start(request)
        try:
            return self.line(timeout)
        except TimeoutError:
            os.kill(child, 9)
            self.line(60)
            raise

    def close(self) -> None:
        if os.getpid() == self.owner and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()

    def line(self, timeout: float) -> int:
        if not self._selector.select(timeout):
            raise TimeoutError
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@cache
def _server(*, learns: bool) -> _Server:
    return _Server(learns=learns)


class TalkingMiai:
    """``miai`` that is talked to over pipes, as with `subprocess.Popen`; one at a time."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._server = _server(learns=False)
        given = dict(os.environ if env is None else env)
        self._status: int | None = None
        with tempfile.TemporaryDirectory() as name:
            files = [str(Path(name, each)) for each in ("in", "out", "err")]
            for file in files:
                os.mkfifo(file)
            paths = _more_paths(given)
            assert paths is not None, "the process that forks has another environment"
            request = {"words": words, "cwd": str(Path.cwd()), "env": given, "paths": paths}
            self.pid = self._server.start({**request, "files": files})
            self.stdin = io.FileIO(files[0], "w")
            self.stdout, self.stderr = (io.BufferedReader(io.FileIO(file)) for file in files[1:])

    def poll(self) -> int | None:
        """Return the exit status, None as long as it runs."""
        try:
            return self.wait(0)
        except TimeoutError:
            return None

    def wait(self, timeout: float = 60) -> int:
        if self._status is None:
            self._status = self._server.line(timeout)
        return self._status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def close(self) -> None:
        """Kill it if it runs."""
        self.send_signal(signal.SIGKILL)
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()


class TerminalMiai(fdspawn):  # type: ignore[misc]  # of a library without types
    """``miai`` at a terminal of its own, as with `pexpect.spawn`; one at a time."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self._server = _server(learns=False)
        master, self._slave = pty.openpty()
        termios.tcsetwinsize(self._slave, (24, 80))
        request = {"words": words, "cwd": str(Path.cwd()), "env": {**env}, "paths": []}
        self._server.start({**request, "files": [os.ttyname(self._slave)] * 3})
        super().__init__(master, encoding="utf-8", timeout=60)

    def expect_end(self) -> int:
        """Read what it says until it ends, into `before`; return its exit status."""
        status = self._server.line(60)
        os.close(self._slave)
        self.expect(EOF)
        self.close()
        return status


def run_miai(
    words: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 250,
) -> subprocess.CompletedProcess[str]:
    """Run ``miai`` with arguments; return its exit status and what it printed.

    Raises:
      subprocess.TimeoutExpired: it took too long, and was killed.
    """
    command = [sys.executable, "-m", "miai", *words]
    given = dict(os.environ if env is None else env)
    paths = _more_paths(given)
    if paths is None:
        return subprocess.run(
            command,
            cwd=cwd,
            env=given,
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
        )
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        out.touch()
        err.touch()
        where = str(Path.cwd() if cwd is None else cwd)
        request = {"words": words, "cwd": where, "env": given, "paths": paths}
        request |= {"files": [os.devnull, str(out), str(err)]}
        try:
            status = _server(learns=bool(LEARNING & {*words})).run(request, timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout) from None
        output = [path.read_bytes().decode().replace("\r\n", "\n") for path in (out, err)]
    return subprocess.CompletedProcess(command, status, *output)


def run_python(code: str, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Run code in an interpreter of its own, check that nothing fails, return what it printed."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def call_miai(words: Sequence[str], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``miai`` in this process, for tests that are not about processes and type nothing."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.object(sys, "argv", ["miai", *words]),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def _more_paths(environment: Mapping[str, str]) -> list[str] | None:
    """Return which folders come before ours on the import path; None where more is different."""
    given, ours = (
        {name: value for name, value in each.items() if name.startswith("PYTHON")}
        for each in (environment, os.environ)
    )
    paths, our_paths = (
        [path for path in each.pop("PYTHONPATH", "").split(os.pathsep) if path]
        for each in (given, ours)
    )
    more = paths[: len(paths) - len(our_paths)]
    same = given == ours and [*more, *our_paths] == paths
    return more if same and all(map(os.path.isdir, more)) else None
