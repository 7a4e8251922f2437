"""What stands on the pages: their blocks of code, commands and tables."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.warm_command import run_miai

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code in a language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """Return the words of each command in the blocks for a shell, without ``miai`` in front."""
    lines = (line.partition("  #")[0] for line in "".join(blocks(text, "sh")).splitlines())
    found = [shlex.split(line) for line in lines if line.strip()]
    assert {words[0] for words in found} == {"miai"}
    return [words[1:] for words in found]


def rows(text: str) -> set[str]:
    """Return the names in code that the rows of tables begin with."""
    return set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE))


def run_session(session: str, names: dict[str, object], name: str) -> None:
    """Check that a session prints what it shows; add the names that it defines."""
    parsed = doctest.DocTestParser().get_doctest(session, names, name, None, 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(parsed, out=printed.append, clear_globs=False)
    assert not printed, "".join(printed)
    names |= parsed.globs


ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


def run(command: str | Sequence[str], folder: Path, **environment: str) -> str:
    """Run a command of a page as its reader does, and return what it prints."""
    words = shlex.split(command) if isinstance(command, str) else [*command]
    env = {**ENVIRONMENT, **environment}
    if words[0] == "miai":
        done = run_miai(words[1:], cwd=folder, env=env, timeout=250)
    else:
        done = subprocess.run(
            words, cwd=folder, env=env, capture_output=True, text=True, timeout=250
        )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout
