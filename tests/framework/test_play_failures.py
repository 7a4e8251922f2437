"""`miai play` and a machine, an engine or a plugin that fails: one message, status 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.child_imports import install
from tests.warm_command import run_miai

from miai.cli.main import main

RANDOM = ("--x", "random", "--o", "random", "--seed", "1", "--quiet")


def miai(*words: str, redirect: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command, in a shell if there is a redirection such as ``<&-``."""
    variables = {**os.environ, **environment}
    if not redirect:
        return run_miai(words, env=variables)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "miai", *words],
        capture_output=True,
        text=True,
        timeout=100,
        env=variables,
    )


def assert_one_message(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("miai: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def plugin(folder: Path, *registrations: str, **sources: str) -> dict[str, str]:
    """Return an environment with a plugin ``broken`` of some components and modules."""
    body = "".join(f"    registry.add({words}, summary='')\n" for words in registrations)
    sources["broken_plugin"] = (
        f"from miai import hookimpl\n@hookimpl\ndef miai_register(registry):\n{body}"
    )
    install(folder, "broken", "broken_plugin", **sources)
    return {"PYTHONPATH": str(folder)}


def test_an_engine_that_cannot_start() -> None:
    engine = ("--black", "gtp", "--black.command", "sleep 100", "--black.timeouts.startup", "1")
    done = miai("play", "go", *engine, "--white", "fast-random", "--quiet")
    assert_one_message(done, " ".join(engine[:4]), "within 1 s", "in GTP mode?")
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize(("redirect", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_person_without_a_terminal(redirect: str, name: str) -> None:
    done = miai("play", "tic_tac_toe", "--o", "random", redirect=redirect)
    assert_one_message(done, "--x human", f"standard {name} is closed")


def test_a_record_that_would_be_a_folder_is_refused_before_the_game(tmp_path: Path) -> None:
    folder = tmp_path / "games.jsonl"
    folder.mkdir()
    done = miai("play", "tic_tac_toe", *RANDOM, "--record", str(folder))
    assert_one_message(done, f"--record {folder}: is a folder")
    assert done.stdout == ""


def test_a_disk_that_is_full_when_the_record_is_written(tmp_path: Path) -> None:
    file = tmp_path / "game.jsonl"
    file.symlink_to("/dev/full")
    done = miai("play", "tic_tac_toe", *RANDOM, "--record", str(file))
    assert_one_message(done, f"--record {file}: cannot be written: No space left on device")
    assert "X wins\n" in done.stdout


def test_an_output_that_takes_nothing() -> None:
    done = miai("list", "games", redirect=">/dev/full")
    assert_one_message(done, "the output cannot be written: No space left on device")


def test_a_system_error_that_is_not_of_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError("boom")

    monkeypatch.setattr("miai.cli.app.run", fail)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.startswith("miai: OSError: boom; MIAI_TRACEBACK=1")


@pytest.mark.slow
def test_an_agent_whose_factory_fails_and_what_the_check_says(tmp_path: Path) -> None:
    found = plugin(tmp_path, "'agent', 'loads', 'json:loads'")
    done = miai("play", "tic_tac_toe", "--x", "loads", "--o", "random", **found)
    assert_one_message(done, "agent 'loads' of plugin 'broken'", "TypeError", "plugins check")
    check = miai("plugins", "check", "--json", **found)
    assert check.returncode == 2
    (row,) = [row for row in json.loads(check.stdout) if row["state"] == "broken"]
    assert row["name"] == "broken"
    assert "json:loads cannot be called as factory(game, parameters)" in row["error"]


def test_an_agent_that_raises_is_shown_where_and_its_game_has_a_result(tmp_path: Path) -> None:
    source = (
        "import miai\nclass Raises(miai.Agent):\n"
        "    def act(self, clock):\n        raise RuntimeError('no idea')\n"
    )
    found = plugin(tmp_path, "'agent', 'raises', 'raises:Raises'", raises=source)
    done = miai("play", "tic_tac_toe", "--x", "raises", "--o", "random", "--quiet", **found)
    assert done.returncode == 0
    assert done.stdout.startswith("O wins, x crashed (agent 'raises': RuntimeError: no idea)")
    assert "in act" in done.stderr
