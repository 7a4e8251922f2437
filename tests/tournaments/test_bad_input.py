"""Through the real command: one message with the place and the remedy, status 2, nothing written.

`test_config` has the whole list of a config's mistakes, `test_store` that of unusable stores.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.tournaments.support import RANDOMS, config_text, environment, player, refused, tournament
from tests.whole_texts import assert_transcript

from miai_tournaments.store.folder import FILE_NAME


def test_config_errors_are_reported_and_nothing_is_written(tmp_path: Path) -> None:
    text = config_text(
        player("ann", "mtcs"), player("bob", "mcts", simulatoins=5), tournament={"ronuds": 3}
    )
    (tmp_path / "x.toml").write_text(text)
    for action in ("run", "check"):
        output = refused(action, "x.toml", cwd=tmp_path)
        first, *rest = output.splitlines()
        assert first.startswith("miai: x.toml: tournament.ronuds: unknown key. Did you mean")
        assert [line.split(": ")[1] for line in rest] == ["players[0] (ann)", "players[1] (bob)"]
        assert [line.split(": ")[2] for line in rest] == ["agent", "simulatoins"]
        assert all("Did you mean" in line for line in rest)
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]


def test_a_wrong_command_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS))

    def answer(line: str) -> str:
        return refused(*shlex.split(line), cwd=tmp_path).rstrip()

    assert_transcript("tournament-refusals.txt", answer, prompt="$ miai tournament ")
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]


@pytest.mark.slow
def test_a_tournament_is_found_by_a_name_near_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS[:2], tournament={"rounds": 1}))
    tournament("run", "x.toml", "--executor", "serial", cwd=tmp_path)
    for word, output in (
        (("status", "runs/tset"), "does not exist. Did you mean 'runs/test'?"),
        (("status", "run/test"), "there is no folder run. Did you mean 'runs/test'?"),
        (("report", "test"), "test: does not exist. Did you mean 'runs/test'?"),
        (("stop", "runs"), "runs: contains tournaments; name one of them: runs/test"),
        (("run", "runs/test"), "is a tournament's folder; continue it with `miai tournament resum"),
    ):
        assert output in refused(*word, cwd=tmp_path)


@pytest.mark.slow
def test_a_clock_that_nobody_can_keep_is_refused(tmp_path: Path) -> None:
    clock = {"kind": "per-move", "seconds": 0.00001, "margin": 0.0}
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS[:2], time=clock))
    output = refused("run", "x.toml", "--out", "out", "--executor", "serial", cwd=tmp_path)
    assert "players[0] (ann) and 1 like it: " in output
    assert "traceback" not in output.lower()
    assert output.count("1e-05 s") == 2 or "did not answer" in output, output
    assert not (tmp_path / "out" / FILE_NAME).exists()


def _install(site: Path, name: str, source: str) -> None:
    (site / f"{name}.py").write_text(source)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[miai]\n{name} = {name}\n")


@pytest.mark.slow
def test_a_broken_plugin_is_named_where_a_config_needs_it(tmp_path: Path) -> None:
    env = environment(tmp_path)
    _install(tmp_path / "site", "shaky", "import a_module_that_is_nowhere")
    late = (
        "from miai import hookimpl\n@hookimpl\ndef miai_register(registry):\n"
        "    registry.add('agent', 'late', 'a_module_that_is_nowhere:Agent', summary='')\n"
    )
    _install(tmp_path / "site", "late", late)
    config = tmp_path / "x.toml"
    config.write_text(config_text(player("ann"), player("cid", "absent")))
    done = tournament("run", config, "--out", tmp_path / "out", env=env, status=2)
    assert "miai: warning: plugin 'shaky'" in done.stderr
    assert f"{config}: players[1] (cid): agent: no agent is called 'absent'" in done.stderr
    assert "It may belong to a broken plugin: 'shaky'" in done.stderr
    config.write_text(config_text(player("ann"), player("bob", "late")))
    done = tournament("run", config, "--out", tmp_path / "out", env=env, status=2)
    assert f"{config}: players[1] (bob): " in done.stderr
    assert "agent 'late' of plugin 'late': a_module_that_is_nowhere" in done.stderr
    assert done.stderr.count("'shaky'") == 1
    assert not (tmp_path / "out").exists()
    config.write_text(config_text(*RANDOMS[:2], tournament={"rounds": 1}))
    tournament("run", config, "--out", tmp_path / "out", "--executor", "serial", env=env)


def test_a_game_for_one_is_refused(tmp_path: Path, mischief: dict[str, str]) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS, game={"name": "solitaire"}))
    output = refused("run", "x.toml", cwd=tmp_path, env=mischief)
    assert "game.name: solitaire has 1 player; tournaments need a game for 2 to 12" in output


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS[:2]))
    (tmp_path / "file").write_text("")
    output = refused("run", "x.toml", "--out", "file/out", "--executor", "serial", cwd=tmp_path)
    assert "file/out: cannot be " in output
