"""Fixtures of the tests of tournaments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tournaments.support import RANDOMS, config_text, environment, run_serially
from tests.web.conftest import chromium as chromium


@pytest.fixture(scope="session")
def mischief(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes that find the mischief plugin."""
    return environment(tmp_path_factory.mktemp("mischief"))


@pytest.fixture
def children_find_mischief(mischief: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the child processes of this one find the mischief plugin."""
    monkeypatch.setenv("PYTHONPATH", mischief["PYTHONPATH"])


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """A file that makes mischief happen while it exists."""
    path = tmp_path / "flag"
    path.touch()
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, which is beside its config."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "x.toml").write_text(config_text(*RANDOMS, tournament={"rounds": 1}))
    run_serially(folder / "x.toml", folder / "out")
    return folder / "out"
