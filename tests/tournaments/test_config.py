"""A config is checked wholly before anything starts; mistakes are told by path, all at once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.support import RANDOMS, config_text, player

from miai.errors import ConfigError
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.config.schema import MOVE_DEADLINE


def load(folder: Path, text: str, *settings: str) -> Tournament:
    path = folder / "x.toml"
    path.write_text(text)
    return load_tournament(path, settings)


def test_a_config_is_read_with_its_defaults(tmp_path: Path) -> None:
    t = load(tmp_path, config_text(*RANDOMS, player("deep", "mcts", simulations=50)))
    assert t.config.tournament.rounds == 2
    assert t.config.game_count() == 2 * 4 * 3
    assert [p.name for p in t.players] == ["ann", "bob", "cid", "deep"]
    deep = t.players[3]
    assert deep.given == {"simulations": 50}
    assert deep.parameters["simulations"] == 50
    assert len(deep.parameters) > 1
    assert t.config.time.control().move_deadline == MOVE_DEADLINE


def test_a_clock_has_no_other_deadline_than_its_own(tmp_path: Path) -> None:
    t = load(tmp_path, config_text(*RANDOMS, time={"kind": "absolute", "seconds": 900}))
    assert t.config.time.control().move_deadline is None


def test_parameters_may_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    text = config_text(player("ann"), player("deep", "mcts"))
    t = load(tmp_path, text + "[players.parameters]\nsimulations = 7\n")
    assert t.players[1].given == {"simulations": 7}


MISTAKES = {
    "unknown table": (
        config_text(*RANDOMS, tiem={"kind": "none"}),
        "tiem: unknown key. Did you mean 'time'?",
    ),
    "unknown key": (
        config_text(*RANDOMS, tournament={"ruonds": 3}),
        "tournament.ruonds: unknown key. Did you mean 'rounds'?",
    ),
    "out of range": (config_text(*RANDOMS, tournament={"rounds": 0}), "tournament.rounds: "),
    "huge": (config_text(*RANDOMS, tournament={"rounds": 900_000}), "at most 1000000"),
    "wrong type": (config_text(*RANDOMS, run={"workers": "many"}), "run.workers: "),
    "bad name": (config_text(*RANDOMS, tournament={"name": "../up"}), "tournament.name: "),
    "unknown game": (
        config_text(*RANDOMS, game={"name": "tick_tac_toe"}),
        "game.name: no game is called 'tick_tac_toe'. Did you mean 'tic_tac_toe'",
    ),
    "unknown game parameter": (
        config_text(*RANDOMS, game={"name": "go", "bord_size": 9}),
        "game.bord_size: unknown parameter. Did you mean 'board_size'?",
    ),
    "unknown agent": (
        config_text(player("ann"), player("deep", "mtcs")),
        "players[1].agent: no agent is called 'mtcs' for tic_tac_toe. Did you mean 'mcts'?",
    ),
    "unknown agent parameter": (
        config_text(player("ann"), player("deep", "mcts", simulatoins=5)),
        "players[1].simulatoins: unknown parameter. Did you mean 'simulations'?",
    ),
    "agent parameter out of range": (
        config_text(player("ann"), player("deep", "mcts", simulations=-5)),
        "players[1].simulations: ",
    ),
    "missing agent": (config_text(player("ann"), {"name": "bob"}), "players[1].agent: is required"),
    "one player": (config_text(player("ann")), "players: "),
    "same name": (config_text(player("ann"), player("Ann")), "players[1].name: "),
    "player's name": (config_text(player("ann"), player("b/ob")), "players[1].name: "),
    "person": (config_text(player("ann"), player("me", "human")), "miai play"),
    "contradictory time": (
        config_text(*RANDOMS, time={"kind": "byo-yomi"}),
        "needs periods and period_seconds",
    ),
    "unknown format": (
        config_text(*RANDOMS, run={"records": ["jsonll"]}),
        "run.records[0]: no record-format is called 'jsonll'",
    ),
    "two sources of openings": (
        config_text(*RANDOMS, openings={"random_plies": 2, "file": "x.txt"}),
        "openings: give random_plies or a file, not both",
    ),
    "no openings": (
        config_text(*RANDOMS, openings={"file": "absent.txt"}),
        "absent.txt: cannot be read",
    ),
    "a name that is none": (
        config_text(player("ann b"), player("bob")),
        "players[0].name: 'ann b' is no name",
    ),
    "a misspelt clock": (
        config_text(*RANDOMS, time={"kind": "fisher"}),
        "time.kind: 'fisher' is unknown. Did you mean 'fischer'?",
    ),
    "more random moves than the game has": (
        config_text(*RANDOMS, openings={"random_plies": 50}),
        "openings.random_plies: 50 random moves end tic_tac_toe",
    ),
    "a device for openings": (
        config_text(*RANDOMS, openings={"file": "/dev/null"}),
        "openings.file: /dev/null: is no file",
    ),
    "unknown reader": (
        config_text(*RANDOMS, openings={"file": "absent.txt", "reader": "pgn"}),
        "openings.file: no opening-reader is called 'pgn'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_file_path_and_remedy(tmp_path: Path, mistake: str) -> None:
    text, message = MISTAKES[mistake]
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load(tmp_path, text)
    for line in str(caught.value).splitlines():
        assert line.startswith(f"{tmp_path}/x.toml: ")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = config_text(
        player("ann", "mtcs"),
        player("bob", "mcts", simulations="few"),
        tournament={"rounds": -1},
        time={"kind": "absolute"},
    )
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    told = str(caught.value)
    for path in ("tournament.rounds", "players[0].agent", "players[1].simulations"):
        assert f": {path}: " in told
    fixed = load(tmp_path, config_text(*RANDOMS, time={"kind": "absolute", "seconds": 5}))
    assert fixed.config.time.control().seconds == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tournament\nname = 1", "is not TOML: "),
        (b"a = " + b"[" * 5000, "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"#" * (1 << 21), "larger than"),
    ],
)
def test_what_is_no_config_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_tournament(tmp_path / "x.toml")


def test_a_syntax_error_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 3"):
        load(tmp_path, "[tournament]\nname = 'x'\nrounds = = 3\n")


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("quikstart.toml", "does not exist. Did you mean 'quickstart.toml'?"),
        (".", "is no file; name a config"),
        ("pipe", "is no file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: str, cause: str) -> None:
    (tmp_path / "quickstart.toml").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / path}: {cause}")):
        load_tournament(tmp_path / path)


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
    ],
)
def test_settings_override_the_file(tmp_path: Path, setting: str, path: str, value: object) -> None:
    found: Any = load(tmp_path, config_text(*RANDOMS), setting).config.model_dump()
    for step in path.split("."):
        found = found[int(step)] if step.isdecimal() else found[step]
    assert found == value


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rounds", "name=value"),
        ("ronuds=3", "Did you mean 'rounds'"),
        ("time=3", "time.key=value"),
        ("players[7].agent=mcts", "no entry '7' among 3"),
        ("players[bbo].agent=mcts", "Did you mean 'bob'?"),
        ("tournament.rounds.x=3", "'x' is below a value"),
        ("players.agent=3", "players[0].agent"),
        ("[=3", "no path"),
        ("game.komi=7", "game.komi: unknown parameter"),
    ],
)
def test_a_wrong_setting_is_refused(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load(tmp_path, config_text(*RANDOMS), setting)


def test_openings_are_read_and_taken_in_turn(tmp_path: Path) -> None:
    from miai import load_game

    state = load_game("tic_tac_toe").new_initial_state()
    centre, corner = state.action_to_string(4), state.action_to_string(0)
    (tmp_path / "lines.txt").write_text(f"{centre}\n{corner} {centre}  # a comment\n")
    t = load(tmp_path, config_text(*RANDOMS, openings={"file": "lines.txt"}))
    assert [t.openings.opening(n, 0) for n in (1, 2, 3)] == [(4,), (0, 4), (4,)]


def test_a_reader_has_parameters_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.sgf").write_text("(;GM[1]FF[4]SZ[5];B[aa];W[bb];B[cc])")
    go = {"name": "go", "board_size": 5}
    openings = {"file": "x.sgf", "plies": 2}
    t = load(tmp_path, config_text(*RANDOMS, game=go, openings=openings))
    assert [len(line) for line in t.openings.lines] == [2]
    with pytest.raises(ConfigError, match=r"openings\.pleis: unknown parameter.*'plies'"):
        load(tmp_path, config_text(*RANDOMS, game=go, openings={"file": "x.sgf", "pleis": 2}))
    with pytest.raises(ConfigError, match=r"openings\.pleis: unknown key"):
        load(tmp_path, config_text(*RANDOMS, openings={"random_plies": 2, "pleis": 2}))


def test_an_illegal_opening_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("nonsense\n")
    with pytest.raises(ConfigError, match=r"lines\.txt:1: move 1 'nonsense'"):
        load(tmp_path, config_text(*RANDOMS, openings={"file": "lines.txt"}))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rounds=x", "--set tournament.rounds: is a whole number, got 'x'"),
        ("players[bob].agent=mtcs", "--set players[1].agent: no agent is called 'mtcs'"),
        ("gmae.name=go", "--set gmae.name: there is no table 'gmae'. Did you mean 'game'?"),
    ],
)
def test_what_was_set_wrongly_is_blamed_on_the_option(
    tmp_path: Path, setting: str, message: str
) -> None:
    (tmp_path / "x.toml").write_text(config_text(player("ann"), player("bob")))
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_tournament(tmp_path / "x.toml", [setting])
