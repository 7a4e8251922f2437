"""The tutorial's code is the classics', its sessions are true, and its own plugin works.

The blocks of the page are taken as a reader takes them: what belongs to the classics is compared
with their source, sessions are run as doctests, the files of the reader's plugin are written and
installed into a folder of their own, and every command is run, in order.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.tournaments.support import games_of
from tests.warm_command import run_miai

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
CLASSICS = ROOT / "plugins" / "classics"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def named(part: str) -> list[tuple[str, str]]:
    """Return name and text of the blocks that begin with a file's name, before or after part 4."""
    begin = PAGE.index("## 4. An agent")
    page = PAGE[:begin] if part == "classics" else PAGE[begin:]
    return re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", page, re.DOTALL)


def commands() -> list[str]:
    blocks = [text for language, text in BLOCKS if language == "sh"]
    return [line for text in blocks for line in text.splitlines() if line]


def test_shown_code_is_the_classics_own() -> None:
    """tutorial: "The games are those of the plugin *classics* in `plugins/classics`"."""
    assert {language for language, _ in BLOCKS} == {"python", "toml", "pycon", "sh"}
    files = sum(language in ("python", "toml") for language, _ in BLOCKS)
    assert len(named("classics")) + len(named("sharp")) == files
    for name, text in named("classics"):
        assert text.strip() in (CLASSICS / name).read_text(encoding="utf-8"), name
    name = "miai_classics/tic_tac_toe.py"
    shown = "".join(text for shown_name, text in named("classics") if shown_name == name)
    source, *_ = (CLASSICS / name).read_text(encoding="utf-8").split("\n\ndef ")
    lines, wanted = ([line for line in text.splitlines() if line] for text in (shown, source))
    assert lines == wanted, "in order, up to the functions at the end"


def test_its_sessions_are_true() -> None:
    """tutorial: "The tests compare every block of code below with that plugin, or run it"."""
    names: dict[str, object] = {}
    sessions = [text for language, text in BLOCKS if language == "pycon"]
    assert len(sessions) == 6
    for text in sessions:
        session = doctest.DocTestParser().get_doctest(text, names, "tutorial", None, 0)
        printed: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(session, out=printed.append, clear_globs=False)
        assert not printed, "".join(printed)
        names |= session.globs


def run(command: str, folder: Path) -> str:
    """Run a command as the reader does; pip goes offline, and installs into a folder."""
    program, *words = shlex.split(command)
    # The page needs the plugin classics alone.
    others = "go,miniblind,openspiel,rbc"
    env = {**os.environ, "PYTHONPATH": str(folder / "site"), "MIAI_DISABLE_PLUGINS": others}
    if program == "miai":
        done = run_miai(words, cwd=folder, env=env, timeout=110)
    else:
        words += ["--no-index", "--no-deps", "--no-build-isolation", "--target", "site"] * (
            program == "pip"
        )
        module = [sys.executable, "-m", program, *words]
        done = subprocess.run(
            module, cwd=folder, env=env, capture_output=True, text=True, timeout=110
        )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_its_commands_run_and_its_plugin_plays(tmp_path: Path) -> None:
    """tutorial: "This page builds three small games, an agent and a plugin, step by step";
    tutorial: "The same config and seed give the same games"."""
    for name, text in named("sharp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "site").mkdir()
    more = {"miai tournament run phantom.toml --out phantom": " --executor serial"}  # is quicker
    output = {command: run(command + more.get(command, ""), tmp_path) for command in commands()}
    assert "tic_tac_toe: Three in a row" in output["miai list games"]
    assert "3 passed" in output["pytest -q test_sharp.py"]
    assert "sharp" in output["miai plugins check"]
    report = output["miai tournament report phantom"]
    assert report.index("1  sharp") < report.index("2  chance")
    run("miai tournament run phantom.toml --out again --executor serial", tmp_path)
    assert games_of(tmp_path / "again") == games_of(tmp_path / "phantom")
