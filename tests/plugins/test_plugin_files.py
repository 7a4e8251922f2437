"""Plugins that are files, which cannot be loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.tournaments.support import RANDOMS, config_text
from tests.warm_command import run_miai


def run(*words: str, cwd: Path, status: int = 0, **environment: str) -> str:
    done = run_miai(words, cwd=cwd, env={**os.environ, **environment}, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


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
    tmp_path: Path, text: str | None, message: str
) -> None:
    (tmp_path / "x.toml").write_text('plugins = ["other.py"]\n' + config_text(*RANDOMS))
    if text is not None:
        (tmp_path / "other.py").write_text(text)
    first, *_ = run("tournament", "check", "x.toml", cwd=tmp_path, status=2).splitlines()
    assert first.startswith("miai: x.toml: plugins[0]: ")
    assert message in first
    if text is not None:
        said = run("list", "game", cwd=tmp_path, MIAI_PLUGIN_FILES="other.py")
        assert message in said
