"""The page on payoffs: its code runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "payoffs.md"


def test_its_config_exists() -> None:
    (config,) = re.findall(r"miai tournament run (\S+)", PAGE.read_text("utf-8"))
    assert (PAGE.parents[1] / config).is_file()
