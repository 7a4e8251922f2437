"""The Python of the pages runs, and its sessions print what the pages say."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest
from tests.docs.page_parts import ROOT, blocks, run_session

from miai.errors import ConfigError
from miai_tournaments.api import run_tournament

SLOW = ("docs/belief-search.md", "docs/miniblind.md", "docs/python.md", "docs/rbc.md")
PAGES = {
    "docs/belief-search.md": 2,
    "docs/equilibria.md": 1,
    "docs/go.md": 4,
    "docs/miniblind.md": 3,
    "docs/python.md": 9,
    "docs/ratings.md": 3,
    "docs/rbc.md": 1,
    "docs/searches.md": 5,
    "plugins/classics/README.md": 1,
    "plugins/go/README.md": 1,
    "plugins/miniblind/README.md": 1,
    "plugins/rbc/README.md": 1,
}
"""Pages and their numbers of blocks; pages of Python that needs more have tests of their own."""


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.slow] if p in SLOW else []) for p in PAGES]
)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its blocks in their order, which share their names."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text("utf-8")
    found = blocks(text, "(?:python|pycon)")
    assert len(found) == PAGES[page]
    names: dict[str, object] = {}
    for block in found:
        if ">>> " not in block:
            exec(compile(block, page, "exec"), names)
            continue
        run_session(block, names, page)


def test_sessions_of_the_testing_package_are_true() -> None:
    import miai.testing

    results = doctest.testmod(miai.testing)
    assert results.attempted > 3
    assert results.failed == 0


def test_a_run_is_continued_and_extended(tmp_path: Path) -> None:
    lines: list[str] = []
    config = {
        "tournament": {"name": "match", "seed": 1, "rounds": 2},
        "game": {"name": "tic_tac_toe"},
        "players": [{"name": "a", "agent": "random"}, {"name": "b", "agent": "random"}],
    }
    first = run_tournament(config, tmp_path / "run", executor="serial", show=lines.append)
    again = run_tournament(config, tmp_path / "run", executor="serial")
    assert first.to_json() == again.to_json()
    more = run_tournament(
        config, tmp_path / "run", overrides=["tournament.rounds=4"], executor="serial"
    )
    assert more.standings.first_player.games == 2 * first.standings.first_player.games
    assert config["tournament"] == {"name": "match", "seed": 1, "rounds": 2}


def test_every_mistake_in_a_mapping_is_named_with_its_path(tmp_path: Path) -> None:
    config = {
        "tournament": {"name": "match", "rounds": 0},
        "game": {"name": "tic_tac_toes"},
        "players": [{"name": "a", "agent": "randon"}, {"name": "b", "agent": "random"}],
    }
    with pytest.raises(ConfigError) as caught:
        run_tournament(config, tmp_path / "run")
    for path in ("tournament.rounds", "game", "tic_tac_toe"):
        assert path in str(caught.value)
    assert not (tmp_path / "run").exists()
