"""The command `miai web`, as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.warm_command import call_miai
from tests.web.server import is_turn, served


def test_it_prints_its_address_answers_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with served(tmp_path / "g") as (process, browser):
        assert browser.ask("/").status == 200
        table = browser.new_table("tic_tac_toe")
        with browser.watching(table) as events:  # a page that is open says nothing at the end
            events.next()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.decode()) == (130, "miai: interrupted\n")


def test_its_agents_die_with_it(tmp_path: Path) -> None:
    with served(tmp_path / "g") as (process, browser):
        # The agent has the first move, so it has started when it is our turn.
        table = browser.new_table("tic_tac_toe", players__0__agent="random", players__1__agent="me")
        with browser.watching(table) as events:
            events.until(is_turn)
            family = psutil.Process(process.pid).children(recursive=True)
            process.kill()
    assert family
    until = time.monotonic() + 10
    while any(map(is_alive, family)):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = call_miai(["web", "--port", str(port), "--games", str(tmp_path)])
    assert done.returncode == 2
    assert re.fullmatch(r"miai: --port \d+: cannot listen on 127\.0\.0\.1: .*\n", done.stderr)


def test_its_options_reach_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr("miai.web.server.serve", lambda *given, **more: calls.append((given, more)))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "secret").write_text("t\n")
    chosen = ["--port", "1", "--host", "h", "--token-file", str(tmp_path / "secret"), "--games"]
    for words in ([], ["run", "more", *chosen, "g", "--open", "--allow-programs"]):
        assert call_miai(["web", *words]).returncode == 0
    monkeypatch.setenv("MIAI_WEB_TOKEN", "from the environment")
    assert call_miai(["web"]).returncode == 0
    assert "MIAI_WEB_TOKEN" not in os.environ, "agents inherit it"
    said = call_miai(["web", "--token", "seen by others"])  # as everybody on this machine sees
    assert (said.returncode, "--token-file" in said.stderr) == (2, True)
    usual = {"host": "", "port": 8642, "token": None, "open_browser": False, "programs": False}
    more = {"host": "h", "port": 1, "token": "t", "open_browser": True, "programs": True}
    assert calls == [
        ((tmp_path / "miai" / "web",), {**usual, "paths": ()}),
        ((Path("g"),), {**more, "paths": [Path("run"), Path("more")]}),
        ((tmp_path / "miai" / "web",), {**usual, "paths": (), "token": "from the environment"}),
    ]
