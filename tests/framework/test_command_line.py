"""The command line: fast help, listings, and one message with status 2 for a user's mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.child_imports import install
from tests.tournaments.support import RANDOMS, config_text
from tests.warm_command import call_miai, run_miai, run_python
from tests.whole_texts import assert_transcript

from miai.errors import ConfigError
from miai.plain import listed, parse_assignment, parse_value


def miai(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return run_miai(words, env={**os.environ, **environment})


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['miai', '--help']\n"
        "from miai.cli.app import build_app\n"
        "try: build_app()()\n"
        "except SystemExit: pass\n"
        "heavy = {'jinja2', 'numpy', 'numba', 'pydantic', 'rich', 'sgfmill', 'sqlite3', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    help = run_python(code)
    for command in ("list", "play", "plugins", "tournament"):
        assert re.search(rf"^  {command} ", help, re.MULTILINE)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("miai.playing.match", {"numpy", "psutil", "pydantic"}),
        ("miai.pytest_plugin", {"numpy", "pydantic", "numba", "rich", "miai.game"}),
    ],
)
def test_the_referee_and_the_plugin_of_pytest_import_nothing_heavy(
    module: str, heavy: set[str]
) -> None:
    assert run_python(f"import sys, {module}; print({heavy} & set(sys.modules))") == "set()\n"


@pytest.mark.slow
def test_help_answers_at_once() -> None:
    def processor_seconds(*words: str) -> float:
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_utime + usage.ru_stime

    # 0.2 s more than an interpreter; the best of a few, since a busy machine has slow caches.
    bare = min(processor_seconds("-c", "pass") for _ in range(5))
    assert min(processor_seconds("-m", "miai", "--help") for _ in range(5)) < bare + 0.4


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b", "c"], limit=3) == "a, b and c"
    assert listed(["a", "b", "c", "d"], limit=2) == "a, b and 2 more"


def test_listings_are_for_people() -> None:
    transcript = "listings.txt", lambda line: call_miai(line.split()).stdout
    assert_transcript(*transcript, prompt="$ miai ")
    assert "search" in json.loads(call_miai(["list", "--json"]).stdout)


def test_a_mistake_gets_one_message_and_status_2() -> None:
    def answer(line: str) -> str:
        done = call_miai(line.split())
        assert done.returncode == 2, line
        return f"{done.stdout}{done.stderr}"

    assert_transcript("refusals.txt", answer, prompt="$ miai ")


def test_the_version_is_printed() -> None:
    done = call_miai(["--version"])
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"miai \d+\.\d+\.\d+\n", done.stdout)


def test_listings_load_no_compiler() -> None:
    code = (
        "import sys\n"
        "from miai.cli.app import build_app\n"
        "for kind in sys.argv[1:]:\n"
        "    sys.argv = ['miai', 'list', kind]\n"
        "    try: build_app()()\n"
        "    except SystemExit: pass\n"
        "    heavy = {'numba', 'sgfmill', 'torch'} & set(sys.modules)\n"
        "    assert not heavy, f'{kind} loads {heavy}'\n"
    )
    kinds = ("agents", "searches", "evaluators", "games", "go.dead-stones", "opening-reader")
    assert run_python(code, *kinds).count("Parameters of one: miai list ") == len(kinds)


# -- Ctrl-C before a command has prepared for it --------------------------------------------------

INTERRUPT = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


def assert_interrupted(status: int | None, output: str) -> None:
    assert status == 130
    assert output == "miai: interrupted\n"


@pytest.mark.parametrize("module", ["typer", "slow_plugin"])
def test_ctrl_c_while_the_command_line_or_a_plugin_is_imported(module: str, tmp_path: Path) -> None:
    install(tmp_path, "slow", "slow_plugin", **{module: INTERRUPT})
    done = miai("list", PYTHONPATH=str(tmp_path))
    assert_interrupted(done.returncode, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("play", "slow"), ("tournament", "check", "slow.toml")])
def test_ctrl_c_while_a_game_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    install(
        tmp_path,
        *("slow", "slow_plugin"),
        slow_game=INTERRUPT,
        slow_plugin="from miai import hookimpl\n@hookimpl\ndef miai_register(registry):\n"
        "    registry.add('game', 'slow', 'slow_game:Slow', summary='Takes long to import')\n",
    )
    monkeypatch.chdir(tmp_path)
    Path("slow.toml").write_text(config_text(*RANDOMS, game={"name": "slow"}))
    done = miai(*words, PYTHONPATH=str(tmp_path))
    assert_interrupted(done.returncode, done.stderr)


def test_plugins_are_listed() -> None:
    rows = json.loads(call_miai(["plugins", "list", "--json"]).stdout)
    (go,) = [row for row in rows if row["name"] == "go"]
    facts = {"target": "miai_go.plugin", "distribution": "miai-go", "version": version("miai-go")}
    assert go == {"name": "go", **facts, "state": "loaded", "error": "", "absent": []}
    line = "go               loaded    miai_go.plugin               miai-go " + go["version"]
    assert line in call_miai(["plugins", "list"]).stdout.splitlines()
    off = json.loads(miai("plugins", "list", "--json", MIAI_DISABLE_PLUGINS="go").stdout)
    assert {row["name"]: row["state"] for row in off}["go"] == "disabled"
    gone = miai("play", "go", MIAI_DISABLE_PLUGINS="go")
    assert gone.returncode == 2


def test_a_closed_output_pipe_is_not_an_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "miai", "list", "agents"], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert done.stderr == b""


def test_a_game_is_played_and_recorded(tmp_path: Path) -> None:
    file = tmp_path / "game.jsonl"
    words = ("play", "tic_tac_toe", "--x", "mcts", "--o=random", "--x.simulations", "200")
    done = call_miai([*words, "--record", str(file), "--quiet", "--seed", "3"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("X wins\n", "O wins\n", "Draw\n"))
    head = json.loads(file.read_text().splitlines()[0])
    assert [p["agent"] for p in head["players"]] == ["mcts", "random"]
    assert head["players"][0]["parameters"] == {"simulations": 200}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("7.5", 7.5),
        ("true", True),
        ('"5"', "5"),
        ('["a", "b"]', ["a", "b"]),
        ("gnugo --mode gtp", "gnugo --mode gtp"),
        ("1\nother = 2", "1\nother = 2"),
        ("", ""),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_values_are_toml_or_text(text: str, value: object) -> None:
    assert parse_value(text) == value


def test_an_assignment_splits_at_the_first_sign() -> None:
    assert parse_assignment("command = gnugo --seed=5") == ("command", "gnugo --seed=5")
    with pytest.raises(ConfigError, match="name=value"):
        parse_assignment("command")
