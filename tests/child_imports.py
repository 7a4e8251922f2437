"""Modules and plugins that child processes find, as an installer would leave them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def environment_with(*folders: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the modules of some folders come before all others."""
    paths = filter(None, [*map(str, folders), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def find_in(folder: Path) -> Iterator[None]:
    """Let the child processes of a fixture's tests, and only them, find the modules of a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", environment_with(folder)["PYTHONPATH"])
        yield


def install(folder: Path, name: str, target: str, facts: str = "", **modules: str) -> Path:
    """Write the distribution ``miai-NAME`` of a plugin and modules; return its metadata's folder.

    Args:
      folder: a folder of the import path; it is made.
      name: of the plugin.
      target: the module that registers it.
      facts: further lines of its metadata.
      modules: texts by name.
    """
    metadata = folder / f"miai_{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    head = f"Metadata-Version: 2.1\nName: miai-{name}\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(head + facts)
    (metadata / "entry_points.txt").write_text(f"[miai]\n{name} = {target}\n")
    return metadata
