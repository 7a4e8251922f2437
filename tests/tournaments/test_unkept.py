"""A run says which limits of its config this machine cannot keep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.tournaments.support import config_text, player, tournament

from miai.process.sandbox import Isolation
from miai_tournaments.config.schema import LimitsSection
from miai_tournaments.running.start import unkept_limits


def test_too_many_processors_are_reported(tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))

    def output(processors: int, *, local: bool = True) -> list[str]:
        limits = LimitsSection(processors=processors, private=False)
        return unkept_limits(limits, tmp_path, local=local)

    assert output(here) == []
    line = f"limits.processors = {here + 1}: agents share the {here} of this machine"
    assert output(here + 1) == [line]
    assert output(here + 1, local=False) == []  # its machines are others


def test_a_folder_that_cannot_be_hidden_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "miai_tournaments.running.start.hindrance"
    monkeypatch.setattr(module, lambda folder: f"{folder.name}: no Landlock")
    limits = LimitsSection(isolation=Isolation.PROCESS)
    (line,) = unkept_limits(limits, tmp_path / "run", local=False)
    assert line == "run: no Landlock: agents could read the run's folder"
    assert unkept_limits(LimitsSection(private=False), tmp_path, local=True) == []
    monkeypatch.setattr("miai_tournaments.running.start.landlock_version", lambda: 0)
    (line,) = unkept_limits(LimitsSection(private=False), tmp_path, local=True)
    assert line == "without Landlock agents could read and change files of the run and of others"


@pytest.mark.slow
def test_a_run_says_so_before_its_first_game(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    players = (player("ann"), player("bob"))
    config.write_text(config_text(*players, limits={"processors": 4096}, run={"workers": 1}))
    done = tournament("run", config, "--out", tmp_path / "run")
    assert "limits.processors = 4096: agents share the " in done.stdout
