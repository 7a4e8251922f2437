"""A config is checked wholly before anything starts; mistakes are told by path, all at once."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.support import (
    RANDOMS,
    config_text,
    config_with,
    environment,
    load,
    player,
    refused,
    store_of,
    tournament,
)
from tests.whole_texts import assert_expected, assert_transcript, refusal

from miai.errors import ConfigError, ParameterError
from miai_tournaments.config.extension import refuse_other_config, resolve
from miai_tournaments.config.load import load_tournament
from miai_tournaments.config.mistakes import Mistakes
from miai_tournaments.config.schema import MOVE_DEADLINE
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import RunInfo


def test_a_config_is_read_with_its_defaults(tmp_path: Path) -> None:
    t = load(tmp_path, config_text(*RANDOMS, player("deep", "mcts", simulations=50)))
    assert t.config.tournament.rounds == 2
    assert t.format.most_games() == 2 * 4 * 3
    assert [p.name for p in t.players] == ["ann", "bob", "cid", "deep"]
    deep = t.players[3]
    assert deep.given == {"simulations": 50}
    assert deep.parameters["simulations"] == 50
    assert len(deep.parameters) > 1
    assert t.config.time.control().move_deadline == MOVE_DEADLINE


def test_a_clock_has_no_other_deadline_than_its_own(tmp_path: Path) -> None:
    t = load(tmp_path, config_text(*RANDOMS, time={"kind": "absolute", "seconds": 900}))
    control = t.config.time.control()
    assert (control.seconds, control.move_deadline) == (900, None)


def test_parameters_may_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    text = config_text(player("ann"), player("deep", "mcts"))
    t = load(tmp_path, text + "[players.parameters]\nsimulations = 7\n")
    assert t.players[1].given == {"simulations": 7}


CLOCK = {"kind": "fischer", "seconds": 60, "increment": 1}


def test_mistakes_are_reported_with_file_path_and_remedy(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "empty.sgf").write_text("(;GM[1]FF[4]SZ[5])")
    (tmp_path / "two.sgf").write_text("(;GM[1]FF[4]SZ[5];B[aa];W[bb])")
    assert_transcript(
        "config-mistakes.txt",
        lambda tables: refusal(lambda: load(tmp_path, config_with(tables)), folder=tmp_path),
    )
    just = load(tmp_path, config_text(*RANDOMS, time=CLOCK, run={"game_deadline": 120.0}))
    assert just.config.run.game_deadline == 120


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tournament\nname = 1", "is not TOML: "),
        (b"a = " + b"[" * 5000, "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"#" * (1 << 21), "larger than"),
        (b"[tournament]\nname = 'x'\nrounds = = 3\n", "line 3"),
    ],
)
def test_invalid_configs_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_tournament(tmp_path / "x.toml")


def test_a_byte_order_mark_is_no_part_of_a_config(tmp_path: Path) -> None:
    text = config_text(*RANDOMS)
    (tmp_path / "x.toml").write_text(f"\ufeff{text}", encoding="utf-8")
    assert load_tournament(tmp_path / "x.toml").config == load(tmp_path, text).config


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "quickstart.toml").touch()
    os.mkfifo(tmp_path / "pipe")

    def answer(name: str) -> str:
        return refusal(lambda: load_tournament(tmp_path / name), folder=tmp_path)

    assert_transcript("config-files.txt", answer)


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("rounds=20", "tournament.rounds", 20),
        ("workers=1", "run.workers", 1),
        ("tournament.name=other", "tournament.name", "other"),
        ("openings.random_plies=3", "openings.random_plies", 3),
        ("players[1].name=rob", "players.1.name", "rob"),
        ("players[bob].agent=mcts", "players.1.agent", "mcts"),
        ("players.bob.agent=mcts", "players.1.agent", "mcts"),
        ('run.records=["jsonl"]', "run.records.0", "jsonl"),
    ],
)
def test_settings_override_the_file(tmp_path: Path, setting: str, path: str, value: object) -> None:
    found: Any = load(tmp_path, config_text(*RANDOMS), setting).config.model_dump()
    for step in path.split("."):
        found = found[int(step)] if step.isdecimal() else found[step]
    assert found == value


def test_a_wrong_setting_is_refused(tmp_path: Path) -> None:
    assert_transcript(
        "wrong-settings.txt",
        lambda setting: refusal(
            lambda: load(tmp_path, config_text(*RANDOMS), setting), folder=tmp_path
        ),
    )


def test_a_reader_has_parameters_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.sgf").write_text("(;GM[1]FF[4]SZ[5];B[aa];W[bb];B[cc])")
    go = {"name": "go", "board_size": 5}
    openings = {"file": "x.sgf", "plies": 2}
    t = load(tmp_path, config_text(*RANDOMS, game=go, openings=openings))
    assert [len(line.actions) for line in t.openings.lines] == [2]
    with pytest.raises(ConfigError, match=r"openings\.pleis: unknown parameter.*'plies'"):
        load(tmp_path, config_text(*RANDOMS, game=go, openings={"file": "x.sgf", "pleis": 2}))
    with pytest.raises(ConfigError, match=r"openings\.pleis: unknown key"):
        load(tmp_path, config_text(*RANDOMS, openings={"random_plies": 2, "pleis": 2}))


def test_an_illegal_opening_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("nonsense\n")
    with pytest.raises(ConfigError, match=r"lines\.txt:1: move 1 'nonsense'"):
        load(tmp_path, config_text(*RANDOMS, openings={"file": "lines.txt"}))


def test_all_wrong_settings_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, config_text(*RANDOMS), "ronuds=3", "rounds=3", "a.b.c=3", "nothing")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "--set ronuds",
        "--set a.b.c",
        "--set nothing",
    ]


def test_mistakes_come_in_the_order_of_the_file_with_names_and_options() -> None:
    raw = {"players": [{"name": "ann"}, {"name": 5}, {"name": "x" * 41}]}
    settings = ["players[0].parameters.size", "tournament"]
    mistakes = Mistakes(raw, source="x.toml", settings=settings)
    mistakes.raise_if_any()
    for number in (3, 2, 1, 0):
        mistakes.add(f"players[{number}].depth", "is alike")
    mistakes.add("elsewhere", "is unknown")
    mistakes.add("players[1]", "is the second\nand bad")
    mistakes.add("players[0].size", "is given by an option")
    mistakes.add("players", "are few")
    mistakes.refuse_unknown("teams", "rde", ["red"], "team")
    mistakes.refuse_unknown("teams", "red", ["red"], "team")
    with mistakes.at("game"):
        raise ParameterError("game.rows: is odd\ngame.cols: is even")
    with mistakes.at("tournament.seed"):
        raise ConfigError("is no number")
    with mistakes.at("run"):
        raise KeyError("x")
    for number in (2, 0, 1):
        mistakes.add(f"players[{number}].width", "is the same")
    with pytest.raises(ConfigError) as caught:
        mistakes.raise_if_any()
    assert isinstance(caught.value.__cause__, ParameterError)
    assert_expected("mistakes.txt", str(caught.value))


def test_a_run_is_continued_by_configs_that_only_add(tmp_path: Path) -> None:
    deep = player("deep", "mcts", simulations=20)
    begun = load(tmp_path, config_text(*RANDOMS[:2], deep))
    info = RunInfo(name="x", seed=3, rounds=2, game="tic_tac_toe", game_version=1)
    told = []
    with store_of(
        tmp_path / "run", replace(info, resolved={"results": resolve(begun)}), begun.players, []
    ) as store:
        for text, *settings in (
            (config_text(RANDOMS[1], deep, RANDOMS[0]), "rounds=3"),
            (config_text(*RANDOMS, deep), "workers=7"),
            (config_text(*RANDOMS[:2], {**deep, "team": "t"}), "seed=8", "time.move_deadline=9"),
            (config_text(*RANDOMS[1:], {**deep, "simulations": 30}), "rounds=1"),
            (config_text(*RANDOMS[:2], deep, openings={"random_plies": 2}), "move_limit=8"),
            (config_text(*RANDOMS[:2], deep, format={"name": "swiss", "rounds": 2}),),
        ):
            if "[format]" in text:
                text = text.replace("rounds = 2\n", "", 1)
            try:
                refuse_other_config(store, load(tmp_path, text, *settings))
                told.append("continues")
            except ConfigError as error:
                told.append(str(error).replace(str(tmp_path), "FOLDER"))
    assert_expected("other-configs.txt", "\n\n".join(told))


# -- through the real command: one message with the place and the remedy, nothing written ----------


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
    assert "0.000 s" not in output
    assert "1e-05 s" in output or "did not answer" in output, output
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
