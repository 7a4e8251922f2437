"""What is shipped with a plugin's wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("plugin", ["classics", "go", "miniblind"])
def test_a_wheel_carries_its_licence(plugin: str, tmp_path: Path) -> None:
    source = shutil.copytree(ROOT / "plugins" / plugin, tmp_path / plugin)
    words = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, str(source)],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
