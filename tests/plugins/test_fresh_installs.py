"""Each distribution from its wheel, in a fresh environment, with and without extras.

What a newcomer installs is what these tests install, with pip from the configured index, so they
need a network: all are slow, and ``make soak`` runs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("miai", "miai-classics", "miai-go", "miai-miniblind", "miai-openspiel", "miai-rbc")

MATRIX = {
    "the framework alone": (
        ["miai"],
        {
            "--help": 0,
            "list games": 0,
            "plugins check": 0,
            "tournament check {configs}/poker.toml": 2,
        },
    ),
    "small games": (
        ["miai-classics"],
        {
            "list games": 0,
            "plugins check": 0,
            "play tic_tac_toe --x mcts --o random --x.simulations 20": 0,
            "tournament run {configs}/poker.toml --out run": 0,
            "tournament report run --format html": 0,
        },
    ),
    "small games of beliefs": (
        ["miai-miniblind"],
        {"plugins check": 0, "compare {configs}/compare-quick.toml --out compared": 0},
    ),
    "games of OpenSpiel": (
        ["miai-openspiel"],
        {
            "plugins check": 0,
            "play openspiel:kuhn_poker --p0 ismcts --p1 random": 0,
        },
    ),
    "Go without extras": (
        ["miai-go"],
        {
            "plugins check": 0,
            "play go --set board_size=5 --black mcts --white fast-random --black.simulations 20": 0,
            "go tsumego generate --count 1 --out one.sgf": 0,
            "go solve one.sgf": 0,
            "tournament check {configs}/quickstart.toml": 0,
            "go train zero {configs}/go-zero-5x5.toml": 2,
        },
    ),
    "Go with networks": (
        ["miai-go[nn]"],
        {
            "plugins check": 0,
            "play go --set board_size=9 --black policy --white fast-random": 0,
        },
    ),
    "blind chess": (
        ["miai-rbc"],
        {"plugins check": 0, "play rbc --white random --black random": 0},
    ),
    "everything": (
        [*(d for d in DISTRIBUTIONS if d != "miai"), "miai[parquet]"],
        {
            "plugins check": 0,
            "tournament run {configs}/phantom.toml --set rounds=1 --out run": 0,
            "tournament report run --format parquet": 0,
            "rate run": 0,
            "compare {configs}/compare-quick.toml --out compared": 0,
        },
    ),
}
DROPPED = ("PYTHONPATH", "VIRTUAL_ENV", "MIAI_DISABLE_PLUGINS")  # the last disables OpenSpiel
NAMES_THE_EXTRA = "pip install 'torch>=2.6,<2.14'"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    sources = [ROOT, *sorted((ROOT / "plugins").glob("*/"))]
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)),
        *(str(source) for source in sources if (source / "pyproject.toml").exists()),
    )
    assert len(list(folder.glob("*.whl"))) == len(DISTRIBUTIONS)
    return folder


def run(*command: str, cwd: Path | None = None, status: int = 0) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in DROPPED}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, cwd=cwd, env=environment, check=False
    )
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", MATRIX)
def test_a_fresh_environment(name: str, wheels: Path, tmp_path: Path) -> None:
    distributions, commands = MATRIX[name]
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    binaries = tmp_path / "venv" / "bin"
    options = ("--quiet", "--find-links", str(wheels))
    run(str(binaries / "python"), "-m", "pip", "install", *options, *distributions)
    for command, status in commands.items():
        words = command.format(configs=ROOT / "configs").split()
        output = run(str(binaries / "miai"), *words, cwd=tmp_path, status=status)
        assert "broken" not in output
        if words[:2] == ["go", "train"]:
            assert NAMES_THE_EXTRA in output
