"""The tutorial's code is the classics', its sessions are true, and its own plugin works.

The blocks of the page are taken as a reader takes them: what belongs to the classics is compared
with their source, sessions are run as doctests, the files of the reader's plugin are written and
installed into a folder of their own, and every command is run, in order.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from tests.docs.page_parts import ROOT, page, run, run_session
from tests.tournaments.support import games_of

PAGE = page("tutorial")
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
        run_session(text, names, "tutorial")


def run_offline(command: str, folder: Path) -> str:
    """Run a command as the reader does; pip goes offline, and installs into a folder."""
    program, *words = shlex.split(command)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", "site"]
    if program != "miai":
        words = ["-m", program, *words, *(offline if program == "pip" else [])]
    # The page needs the plugin classics alone.
    env = {"PYTHONPATH": str(folder / "site"), "MIAI_DISABLE_PLUGINS": "go,miniblind,openspiel,rbc"}
    return run([program if program == "miai" else sys.executable, *words], folder, **env)


def test_its_commands_run_and_its_plugin_plays(tmp_path: Path) -> None:
    """tutorial: "This page builds three small games, an agent and a plugin, step by step";
    tutorial: "The same config and seed give the same games"."""
    for name, text in named("sharp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "site").mkdir()
    more = {"miai tournament run phantom.toml --out phantom": " --executor serial"}  # is quicker
    output = {
        command: run_offline(command + more.get(command, ""), tmp_path) for command in commands()
    }
    assert "tic_tac_toe: Three in a row" in output["miai list games"]
    assert "3 passed" in output["pytest -q test_sharp.py"]
    assert "sharp" in output["miai plugins check"]
    report = output["miai tournament report phantom"]
    assert report.index("1  sharp") < report.index("2  chance")
    run_offline("miai tournament run phantom.toml --out again --executor serial", tmp_path)
    assert games_of(tmp_path / "again") == games_of(tmp_path / "phantom")
