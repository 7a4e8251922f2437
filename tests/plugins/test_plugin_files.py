"""Plugins that are files: the game of the README, in a tournament and on the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.warm_command import run_miai

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's game and its config."""
    (game,) = re.findall(r"```python\n(import miai\n\nclass .*?)```", README, re.DOTALL)
    (config,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "last_stone.py").write_text(game)
    (tmp_path / "last_stone.toml").write_text(config)
    return tmp_path


def run(*words: str, cwd: Path, status: int = 0, **environment: str) -> str:
    done = run_miai(words, cwd=cwd, env={**os.environ, **environment}, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_the_game_of_the_readme_is_played_in_a_tournament_which_resumes_anywhere(
    folder: Path,
) -> None:
    """Agents in processes, sandboxed where possible, know it too."""
    run("tournament", "run", "last_stone.toml", "--set", "rounds=2", cwd=folder)
    other = folder / "elsewhere"
    other.mkdir()
    (store,) = (folder / "runs").iterdir()
    assert "4 of 4 games done" in run("tournament", "resume", str(store), cwd=other)
    (folder / "last_stone.py").unlink()
    (line,) = run("tournament", "resume", str(store), cwd=other, status=2).splitlines()
    assert line.endswith("last_stone.py: there is no such file")


def test_the_game_of_the_readme_keeps_the_rules(folder: Path) -> None:
    said = run("check", "last_stone", cwd=folder, MIAI_PLUGIN_FILES="last_stone.py")
    assert "breaks" not in said
    assert "last_stone" in run("list", "game", cwd=folder, MIAI_PLUGIN_FILES="last_stone.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file"),
        ("import miai\n1 / 0\n", "cannot be imported: line 2: ZeroDivisionError"),
        ("def f(:\n", "cannot be imported: line 1: SyntaxError"),
        ("import miai\n", "is not loaded as a plugin: PluginLoadError: registers nothing"),
        (
            "import miai\n@miai.hookimpl\ndef miai_register(registry):\n"
            "    registry.add('game', 'go', miai.Game, summary='Another')\n",
            "game 'go' is already registered by plugin 'go'",
        ),
    ],
)
def test_a_file_that_is_no_plugin_is_one_mistake_of_the_config(
    folder: Path, text: str | None, message: str
) -> None:
    (folder / "last_stone.py").unlink()
    if text is not None:
        (folder / "other.py").write_text(text)
    config = folder / "last_stone.toml"
    config.write_text(config.read_text().replace("last_stone.py", "other.py"))
    first, *_ = run("tournament", "check", "last_stone.toml", cwd=folder, status=2).splitlines()
    assert first.startswith("miai: last_stone.toml: plugins[0]: ")
    assert message in first
    if text is not None:
        said = run("list", "game", cwd=folder, MIAI_PLUGIN_FILES="other.py")
        assert message in said
