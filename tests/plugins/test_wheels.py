"""What is shipped with the wheels of the framework and of the plugins."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(source: Path, folder: Path) -> zipfile.ZipFile:
    """Return the wheel of a distribution, built in a folder."""
    words = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, str(source)],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.parametrize("plugin", ["classics", "go", "miniblind", "openspiel"])
def test_a_wheel_carries_its_licence(plugin: str, tmp_path: Path) -> None:
    source = shutil.copytree(ROOT / "plugins" / plugin, tmp_path / plugin)
    with build(source, tmp_path) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_frameworks_wheel_carries_what_pages_and_new_packages_are_made_of(
    tmp_path: Path,
) -> None:
    source = tmp_path / "source"
    for folder in ("framework", "tournaments"):
        shutil.copytree(
            ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for top in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / top, source)
    package = ROOT / "framework" / "miai"
    patterns = ("pages/templates/*", "pages/assets/*", "cli/skeleton/*.txt")
    files = [file for pattern in patterns for file in package.glob(pattern)]
    assert len(files) > 12
    with build(source, tmp_path) as archive:
        for file in files:
            name = file.relative_to(ROOT / "framework").as_posix()
            assert archive.read(name) == file.read_bytes()
