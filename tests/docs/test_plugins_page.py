"""The page on plugins shows the plugin that the tests build and play."""

from __future__ import annotations

import re
from pathlib import Path

from miai.plugins import hooks
from miai.plugins.kinds import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def test_its_code_is_the_tested_plugin_s() -> None:
    blocks = re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert [name for name, _ in blocks] == [
        "pyproject.toml",
        "miai_nim/plugin.py",
        "miai_nim/agent.py",
    ]
    for name, text in blocks:
        source = ROOT / "tests" / "fixtures" / "miai-nim" / name
        assert source.read_text(encoding="utf-8") == text


def test_it_names_every_kind_and_hook() -> None:
    for kind in KINDS:
        assert f"`{kind.name}`" in PAGE
    for hook in (name for name in dir(hooks) if name.startswith("miai_")):
        assert f"`{hook}(" in PAGE
