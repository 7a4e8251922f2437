"""The page on search over beliefs: its example runs, its table names what is registered."""

from __future__ import annotations

from pathlib import Path

from miai.plugins.loader import registry

PAGE = (Path(__file__).parents[2] / "docs" / "belief-search.md").read_text(encoding="utf-8")


def test_it_names_all_bounds_and_retention_policies() -> None:
    section = PAGE.split("## Bounds and retention\n")[1].split("\n## ")[0]
    for component in [*registry().components("bounds"), *registry().components("retention")]:
        if component.plugin == "miai":
            assert f"`{component.name}`" in section
