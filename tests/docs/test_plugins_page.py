"""The page on plugins shows the plugin that the tests build and play."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.child_imports import environment_with, install
from tests.docs.page_parts import page, run
from tests.tournaments import support as tournaments

import miai
from miai import play
from miai.plugins import hooks
from miai.plugins.kinds import KINDS
from miai.testing import check_game

POOL = "miai_pool.py"
PAGE = page("plugins")


@pytest.mark.slow
def test_the_commands_of_a_new_plugin_run(tmp_path: Path) -> None:
    """In their order; pip installs into a folder that later commands see, and goes offline."""
    begin = PAGE.index("## Start a plugin")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE[begin : PAGE.index("## An agent in")], re.DOTALL)
    environment = environment_with(tmp_path / "site")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", "site"]
    for line in block.splitlines():
        program, *words = line.split()
        more = offline if program == "pip" else []
        run([sys.executable, "-m", program, *words, *more], tmp_path, **environment)


@pytest.mark.slow
def test_its_agent_of_a_file_plays(tmp_path: Path) -> None:
    page = PAGE[PAGE.index("## An agent in") : PAGE.index("## Components")]
    (command,) = re.findall(r"```sh\n(miai .*?)\n```", page)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_agent.py").write_text(code)
    run(command, tmp_path)


@pytest.mark.slow
def test_its_executor_plays_the_games_of_the_others(tmp_path: Path) -> None:
    (code,) = re.findall(rf"```python\n# {POOL}\n(.*?)```", PAGE, re.DOTALL)
    site = tmp_path / "site"
    install(site, "pool", "miai_pool", miai_pool=code)
    environment = environment_with(site, COLUMNS="200")
    config = tmp_path / "games.toml"
    config.write_text(tournaments.config_text(*tournaments.RANDOMS[:2], tournament={"rounds": 1}))
    found = []
    for name in ("serial", "pool"):
        words = ("run", config, "--out", tmp_path / name, "--executor", name, "--workers", 1)
        tournaments.tournament(*words, env=environment)
        found.append(tournaments.games_of(tmp_path / name))
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_its_game_of_simultaneous_decisions_keeps_the_rules() -> None:
    page = PAGE[PAGE.index("## Players who act at once") : PAGE.index("## Values and")]
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "fingers.py", "exec"), names)
    game = names["Fingers"]()
    assert check_game(game, games=3).positions == 3 * 7
    state = game.new_initial_state()
    state.apply_actions({0: 1, 1: 0})
    assert state.rewards() == (-3.0, 3.0)
    record = play(game, [miai.make_agent("mcts", game, simulations=20) for _ in range(2)])
    assert record.loser is None


def test_it_names_every_kind_and_hook() -> None:
    for kind in KINDS:
        assert f"`{kind.name}`" in PAGE
    for hook in (name for name in dir(hooks) if name.startswith("miai_")):
        assert f"`{hook}(" in PAGE
