"""The page on using miai from Python: its sessions, and the errors of the functions it shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from miai.errors import ConfigError
from miai_tournaments.api import run_tournament

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_continued_and_extended(folder: Path) -> None:
    lines: list[str] = []
    config = {
        "tournament": {"name": "match", "seed": 1, "rounds": 2},
        "game": {"name": "tic_tac_toe"},
        "players": [{"name": "a", "agent": "random"}, {"name": "b", "agent": "random"}],
    }
    first = run_tournament(config, folder / "run", executor="serial", show=lines.append)
    again = run_tournament(config, folder / "run", executor="serial")
    assert first.to_json() == again.to_json()
    more = run_tournament(
        config, folder / "run", overrides=["tournament.rounds=4"], executor="serial"
    )
    assert more.standings.first_player.games == 2 * first.standings.first_player.games
    assert config["tournament"] == {"name": "match", "seed": 1, "rounds": 2}


def test_every_mistake_in_a_mapping_is_named_with_its_path(folder: Path) -> None:
    config = {
        "tournament": {"name": "match", "rounds": 0},
        "game": {"name": "tic_tac_toes"},
        "players": [{"name": "a", "agent": "randon"}, {"name": "b", "agent": "random"}],
    }
    with pytest.raises(ConfigError) as caught:
        run_tournament(config, folder / "run")
    for path in ("tournament.rounds", "game", "tic_tac_toe"):
        assert path in str(caught.value)
    assert not (folder / "run").exists()
