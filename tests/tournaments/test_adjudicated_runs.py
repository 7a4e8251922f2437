"""Runs whose games are adjudicated: who ends when, and what reports and replays tell of it.

That kills, executors and workers change no verdict is among the tests of kills.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.tournaments.support import config_text, player, rule, run_serially

from miai.errors import ConfigError
from miai.playing.adjudication import held_out
from miai.playing.replay import replay
from miai.record import GameRecord, Termination
from miai.record_reader import read_record
from miai_tournaments.config.extension import refuse_other_config
from miai_tournaments.config.load import load_tournament
from miai_tournaments.report.joint_ratings import read_run
from miai_tournaments.report.replays import replay_of
from miai_tournaments.report.report import build_report
from miai_tournaments.running.stored_run import run_info
from miai_tournaments.store.store import Store

PLAYERS = (player("deep", "mcts", simulations=30), player("flat", "mcts", simulations=4))
HOLD_OUT = 0.3
TEXT = config_text(
    *PLAYERS,
    tournament={"rounds": 12, "seed": 4},
    openings={"random_plies": 1},
    adjudication={"hold_out": HOLD_OUT},
) + (rule("resign-agreement", "below = -0.5", "moves = 1") + rule("solved", "nodes = 40"))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adjudicated") / "x.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def folder(config: Path) -> Path:
    """The folder of a serial run."""
    out = config.parent / "out"
    run_serially(config, out)
    return out


def records(folder: Path) -> dict[str, GameRecord]:
    with Store.read(folder) as store:
        return {row.game_id: read_record(store.record(row.game_id)) for row in store.results()}


@pytest.mark.slow
def test_games_end_by_verdicts_but_those_that_are_held_out(folder: Path) -> None:
    ended = Counter[tuple[bool, str]]()
    for record in records(folder).values():
        out = held_out(record.seed, HOLD_OUT)
        ended[out, record.termination] += 1
        assert replay(record).is_terminal() is (record.termination is Termination.TERMINAL)
        if record.termination is Termination.ADJUDICATION:
            assert record.detail.startswith(f"{record.verdicts[-1].rule}: ")
            assert len(record.verdicts) == 1
    assert ended[False, "adjudication"] > 5, ended
    assert ended[True, "terminal"] > 2, ended
    assert ended[True, "adjudication"] == 0, ended


def report(folder: Path) -> object:
    with Store.read(folder) as store:
        return build_report(store).to_json()["adjudication"]


def test_the_report_counts_what_the_records_tell(folder: Path) -> None:
    found = {name: Counter[str]() for name in ("resign-agreement", "solved")}
    for record in records(folder).values():
        for verdict in record.verdicts:
            if record.termination is Termination.ADJUDICATION:
                found[verdict.rule]["ended"] += 1
            else:
                found[verdict.rule]["held_out"] += 1
                found[verdict.rule]["wrong"] += verdict.returns != record.returns
    keys = ("ended", "held_out", "wrong")
    rules = [{"rule": name, **{key: found[name][key] for key in keys}} for name in found]
    assert report(folder) == {"hold_out": HOLD_OUT, "rules": rules}
    assert found["solved"]["held_out"] > 2
    text = (folder / "report.txt").read_text()
    table = text.partition("Adjudication: ")[2].splitlines()
    assert [line.split() for line in table[2:4]] == [
        [name, *(str(found[name][key]) for key in keys)] for name in found
    ]


def test_replays_show_verdicts(folder: Path) -> None:
    ended = [i for i, r in records(folder).items() if r.termination is Termination.ADJUDICATION]
    with Store.read(folder) as store:
        replayed = replay_of(store, ended[0])
    assert re.search("The game ends: (o wins|x wins|a draw) by adjudication", replayed)


def test_joining_runs_with_other_rules_warns(config: Path, tmp_path: Path) -> None:
    plain, same = tmp_path / "plain.toml", tmp_path / "same.toml"
    plain.write_text(TEXT.partition("[adjudication]")[0] + TEXT[TEXT.index("[[players]]") :])
    plain.write_text(plain.read_text().partition("\n[[adjudication")[0])
    same.write_text(TEXT.replace("hold_out = 0.3", "hold_out = 0.5"))
    output = [conditions(path, tmp_path)["adjudication"] for path in (config, plain, same)]
    assert output[0] == output[2] != output[1]
    assert output[1] == ""


def test_joining_runs_with_other_openings_warns(tmp_path: Path) -> None:
    (tmp_path / "book").write_text("b2\na1 b2\n")
    (tmp_path / "other").write_text("b2\nb2 a1\n")
    sets: dict[str, dict[str, object]]
    sets = {
        "none": {},
        "random": {"random_plies": 1},
        "book": {"file": "book"},
        "from the second": {"file": "book", "start": 2},
        "other": {"file": "other"},
    }
    output = {}
    for name, openings in sets.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(config_text(*PLAYERS, openings=openings))
        output[name] = conditions(path, tmp_path / "runs")["set of openings"]
    assert output["none"] == ""
    assert output["random"].startswith("1 random plies (")
    assert output["book"].startswith("2 lines (")
    assert output["from the second"] == output["book"] != output["other"]


def conditions(path: Path, out: Path) -> Mapping[str, str]:
    """Return the conditions of a run of a config of which no game is played."""
    run = load_tournament(path)
    folder = out / path.stem
    Store.create(folder, run_info(run), run.players, ()).close()
    return read_run(folder).conditions


def differing(folder: Path, path: Path, *settings: str) -> list[str]:
    with Store.read(folder) as store, pytest.raises(ConfigError) as caught:
        refuse_other_config(store, load_tournament(path, settings))
    return str(caught.value).splitlines()


def test_rules_stay_as_they_are(config: Path, folder: Path) -> None:
    changes = ("adjudication.hold_out=0", "adjudication.rules[solved].nodes=41")
    lines = differing(folder, config, *changes)
    assert "  adjudication.hold_out: 0.3 -> 0.0" in lines
    assert "  adjudication.rules.solved.nodes: 40 -> 41" in lines
    without = config.with_name("without.toml")
    without.write_text(TEXT.replace(rule("solved", "nodes = 40"), ""))
    assert "  adjudication.rules.solved: was removed" in differing(folder, without)
