"""The tutorial's code is the classics', its sessions are true, and its own plugin works.

The blocks of the page are taken as a reader takes them: what belongs to the classics is compared
with their source, sessions are run as doctests, the files of the reader's plugin are written and
installed into an environment of their own, and every command is run, in order.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from miai.testing import AGENT_RULES, GAME_RULES

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


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "toml", "pycon", "sh"}
    files = sum(language in ("python", "toml") for language, _ in BLOCKS)
    assert len(named("classics")) + len(named("sharp")) == files


@pytest.mark.parametrize(
    ("name", "text"), named("classics"), ids=[name for name, _ in named("classics")]
)
def test_shown_code_is_the_classics_own(name: str, text: str) -> None:
    source = (CLASSICS / name).read_text(encoding="utf-8")
    assert text.strip() in source


def test_tic_tac_toe_is_shown_whole_and_in_order() -> None:
    name = "miai_classics/tic_tac_toe.py"
    shown = "".join(text for shown_name, text in named("classics") if shown_name == name)
    source = (CLASSICS / name).read_text(encoding="utf-8")
    assert re.sub(r"\n+", "\n", shown) == re.sub(r"\n+", "\n", source)


def test_the_rules_are_listed_as_they_are() -> None:
    for rule, text in [*GAME_RULES.items(), *AGENT_RULES.items()]:
        assert f"- **{rule}**: {text}\n" in PAGE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder, with all files of the page written."""
    folder = tmp_path_factory.mktemp("miai-sharp")
    for name, text in named("sharp"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the reader's own that sees what is installed here."""
    venv = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)])
    python = venv / "bin" / "python"
    output = run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    # `addsitedir` also reads the .pth files of editable installs, which a bare path would not.
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(output.strip()) / "parent.pth").write_text(line)
    return python


def run(words: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def as_here(command: str, python: Path) -> list[str]:
    """Return a command as run in the reader's environment; pip is this one's, and goes offline."""
    program, *words = shlex.split(command)
    if program == "pip":
        offline = ["--no-index", "--no-deps", "--no-build-isolation"]
        return [sys.executable, "-m", "pip", "--python", str(python), *words, *offline]
    return [str(python), "-m", program, *words]


@pytest.mark.slow
@pytest.mark.timeout(300)  # a dozen processes, one after the other
def test_every_command_runs(folder: Path, python: Path) -> None:
    output = {command: run(as_here(command, python), folder) for command in commands()}
    assert "tic_tac_toe: Three in a row" in output["miai list games"]
    assert "3 passed" in output["pytest -q test_sharp.py"]
    (check,) = [text for command, text in output.items() if command == "miai plugins check"]
    assert "sharp" in check
    report = output["miai tournament report phantom"]
    assert "sharp" in report
    assert "chance" in report
