"""A plugin from outside the tree: built, installed into an environment of its own, and played."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[1] / "fixtures" / "miai-nim"

CONFIG = """
[tournament]
name = "nim"
seed = 5
rounds = 3
[game]
name = "nim"
heaps = [1, 2, 4]
[[players]]
name = "perfect"
agent = "nim-sum"
[[players]]
name = "chance"
agent = "random"
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that sees this one's packages and has the plugin installed besides."""
    folder = tmp_path_factory.mktemp("outside")
    source = shutil.copytree(FIXTURE, folder / "source")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    wheel = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "wheels")
    run(*pip, *wheel, source)
    venv = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # `addsitedir` also reads the .pth files of editable installs, which a bare path would not.
    here = sysconfig.get_path("purelib")
    (Path(purelib) / "parent.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    (wheel_file,) = (folder / "wheels").glob("*.whl")
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel_file)
    return python


@pytest.mark.slow
def test_its_components_are_listed(environment: Path) -> None:
    games = json.loads(run(environment, "-m", "miai", "list", "games", "--json"))
    (nim,) = [game for game in games if game["name"] == "nim"]
    assert nim["plugin"] == "nim"
    assert nim["parameters"][0]["unit"] == "counters"
    assert "nim-sum" in run(environment, "-m", "miai", "list", "agents", "--game", "nim")


@pytest.mark.slow
def test_it_plays_in_a_tournament(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "nim.toml").write_text(CONFIG)
    miai = (environment, "-m", "miai", "tournament")
    run(*miai, "run", "nim.toml", "--out", "out", cwd=tmp_path)
    report = json.loads(run(*miai, "report", "out", "--json", cwd=tmp_path))
    table = {row["name"]: row for row in report["players"]}
    assert table["perfect"]["games"] == 6
    # The heaps 1, 2, 4 have Nim sum 7: the first player wins by perfect play, so the perfect
    # player wins at least its three games as first.
    assert table["perfect"]["wins"] >= 3


def test_the_environment_lacks_the_plugin() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "miai", "play", "nim"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no game is called 'nim'" in done.stderr
    assert "Traceback" not in done.stderr
