"""Formats with real games: the same tournament on any executor, and after any death."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.support import (
    config_text,
    games_of,
    play,
    player,
    refused,
    rule,
    run_serially,
    tournament,
)

from miai.errors import ConfigError
from miai.playing.adjudication import held_out
from miai.playing.replay import replay
from miai.record import GameRecord, Termination
from miai.record_reader import read_record
from miai_tournaments.config.extension import refuse_other_config
from miai_tournaments.config.load import load_tournament
from miai_tournaments.report.joint_ratings import read_run
from miai_tournaments.report.live import Reporter
from miai_tournaments.report.replays import replay_of
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import report_page
from miai_tournaments.running.stored_run import run_info
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.store import Store

SLOW = pytest.mark.soak

AGENTS = {"ann": "random", "deep": "mcts", "bob": "random", "cid": "random", "dan": "random"}

FORMATS: dict[str, tuple[str, int]] = {
    "swiss": ('name = "swiss"\nrounds = 3', 3),
    "knockout": ('name = "knockout"', 3),
    "adaptive": ('name = "adaptive"\npairs = 14', 3),
    "sprt": (
        'name = "match"\npairs = 60\nsprt = {elo0 = -50, elo1 = 50, alpha = 0.2, beta = 0.2}',
        2,
    ),
    "halving": (
        'name = "sweep"\nplayer = "deep"\nmethod = "halving"\nvary = {simulations = [1, 8]}',
        2,
    ),
}


def config(folder: Path, format_: str, players: int) -> Path:
    path = folder / "x.toml"
    tables = [
        f'[[players]]\nname = "{name}"\nagent = "{agent}"\n'
        + "simulations = 4\n" * (agent == "mcts")
        for name, agent in list(AGENTS.items())[:players]
    ]
    path.write_text(
        f'[tournament]\nname = "test"\nseed = 5\n[format]\n{format_}\n'
        '[game]\nname = "tic_tac_toe"\n[openings]\nrandom_plies = 1\n' + "".join(tables)
    )
    return path


def run(path: Path, folder: Path, **options: Any) -> list[str]:
    """Run a tournament to its end in this process; return the lines it would show."""
    said: list[str] = []

    class Lines(Reporter):
        def note(self, text: str) -> None:
            said.append(text)

    reporter = Lines()
    play(
        load_tournament(path), folder, make_reporter=lambda _: reporter, say=said.append, **options
    )
    return said


def outcome(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all that must not depend on how the games were played."""
    with Store.read(folder) as store:
        counts = store.counts()
        assert counts["done"] == sum(counts.values()), counts
        facts = dict(store.info().facts)
        surplus = {row.game_id for row in store.surplus()}
        report = build_report(store).to_json()
    games = games_of(folder)
    assert not surplus & games.keys()
    players: Any = report["players"]
    table = [(p["name"], p["elo"], p["games"], p["score"]) for p in players]
    return dict(games), {"facts": facts, "table": table}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [k if k == "sprt" else pytest.param(k, marks=SLOW) for k in FORMATS]
)
def test_one_worker_and_three_play_the_same_tournament(kind: str, tmp_path: Path) -> None:
    path = config(tmp_path, *FORMATS[kind])
    one, three = tmp_path / "one", tmp_path / "three"
    said = [run(path, one), run(path, three, executor="processes", workers=3)]
    found = outcome(one)
    assert outcome(three) == found
    text = found[1]["facts"]["text"]
    assert text
    assert all(text in lines for lines in said)
    for folder in (one, three):
        before = (folder / FILE_NAME).read_bytes()
        (said_again,) = run(path, folder)
        assert said_again.startswith("all games were played before")
        assert (folder / FILE_NAME).read_bytes() == before
    built = load_tournament(path).format
    assert len(found[0]) <= built.most_games()
    assert len(found[0]) == built.most_games() or not built.exact


@pytest.mark.slow
def test_a_decided_match_keeps_its_surplus_out_of_the_table(tmp_path: Path) -> None:
    """Hundreds of pairs may be played; the test needs few of them, and only these count."""
    text = 'name = "match"\npairs = 4000\nsprt = {elo0 = 0, elo1 = 100, alpha = 0.2, beta = 0.2}'
    path = config(tmp_path, text, 2)
    folder = tmp_path / "out"
    assert "at most 8000 games" in tournament("check", path).stdout
    said = run(path, folder, executor="processes", workers=2)
    games, output = outcome(folder)
    facts = output["facts"]
    assert facts["verdict"] in ("H0", "H1")
    assert (
        f"{facts['verdict']} accepted, {100 * (facts['verdict'] == 'H1')} normalised Elo"
        in (facts["text"])
    )
    assert len(games) == 2 * facts["pairs"] < 400
    assert {name[:-1] for name in games} == {
        f"ann~deep~{n:04}" for n in range(1, facts["pairs"] + 1)
    }
    assert facts["text"] in said
    with Store.read(folder) as store:
        extra = store.surplus()
        assert extra
        assert {row.status for row in extra} == {"surplus"}
        for row in extra:
            if row.returns:
                assert store.record(row.game_id)
    longer = path.read_text().replace("pairs = 4000", "pairs = 5000")
    path.write_text(longer)
    run(path, folder)
    assert outcome(folder) == (games, output)
    path.write_text(longer.replace("elo1 = 100", "elo1 = 90"))
    assert "format.sprt.elo1: 100" in refused("run", path, "--out", folder)


@pytest.mark.slow
def test_more_rounds_extend_a_swiss_and_more_players_do_not(tmp_path: Path) -> None:
    path = config(tmp_path, 'name = "swiss"\nrounds = 1', 4)
    folder, whole = tmp_path / "out", tmp_path / "whole"
    run(path, folder)
    before = games_of(folder)
    path.write_text(path.read_text().replace("rounds = 1", "rounds = 3"))
    run(path, folder)
    run(path, whole)
    assert before.items() <= games_of(folder).items()
    assert outcome(folder) == outcome(whole)
    output = refused("run", config(tmp_path, 'name = "swiss"\nrounds = 3', 5), "--out", folder)
    assert "a run can gain rounds, nothing else may change" in output
    assert "players[4] (dan): was added" in output


@pytest.mark.slow
def test_a_pairing_is_played_with_its_own_settings(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        '[tournament]\nname = "test"\nrounds = 1\n[game]\nname = "go"\nboard_size = 5\nkomi = 0.5\n'
        '[openings]\nrandom_plies = 1\n[format]\nname = "pairings"\n'
        '[[format.pairings]]\nfirst = "a"\nsecond = "b"\n'
        '[[format.pairings]]\nfirst = "b"\nsecond = "a"\ncolours = "fixed"\n'
        "settings = {komi = 40}\n"
        '[[players]]\nname = "a"\nagent = "fast-random"\n'
        '[[players]]\nname = "b"\nagent = "fast-random"\n'
    )
    folder = tmp_path / "out"
    run(path, folder)
    with Store.read(folder) as store:
        rows = store.results()
        heads = [json.loads(store.record(row.game_id).splitlines()[0]) for row in rows]
    assert [row.game_id for row in rows] == ["a~b~0001a", "a~b~0001b", "a~b~0002a"]
    assert [row.settings for row in rows] == [{}, {}, {"komi": 40}]
    assert [head["game_parameters"]["komi"] for head in heads] == [0.5, 0.5, 40.0]
    assert rows[2].players == ("b", "a")
    assert rows[2].returns == (-1.0, 1.0), "nobody makes up for 40 points on 25"


def test_a_sweep_s_variants_are_a_team_with_the_swept_parameters(tmp_path: Path) -> None:
    tournament_ = load_tournament(config(tmp_path, *FORMATS["halving"]))
    assert [(p.name, p.team, p.given) for p in tournament_.players] == [
        ("ann", "", {}),
        ("deep.1", "deep", {"simulations": 1}),
        ("deep.2", "deep", {"simulations": 8}),
    ]
    assert tournament_.place("deep.2") == "players[1] (deep.2)"


@pytest.mark.slow
def test_a_sweep_lists_its_variants(tmp_path: Path) -> None:
    vary = "vary = {simulations = [1, 8], exploration = {low = 0.5, high = 2.0}}"
    sweep = f'name = "sweep"\nplayer = "deep"\nmethod = "halving"\nsamples = 2\n{vary}'
    said = run(config(tmp_path, sweep, 2), tmp_path / "out")
    with Store.read(tmp_path / "out") as store:
        facts = store.info().facts
        given = {row.name: row.given for row in store.players() if row.team}
        page = report_page(build_report(store, details=True))
    best = given[facts["ranking"][0]]
    assert facts["parameters"] == given
    output = f"simulations {best['simulations']}, exploration {best['exploration']:.4g}"
    assert f"best variant: {facts['ranking'][0]} ({output})" in said
    assert all(f"exploration {values['exploration']}" in page for values in given.values())


@pytest.mark.slow
def test_a_team_of_seeds_is_one_player_a_seed(tmp_path: Path) -> None:
    path = config(tmp_path, 'name = "gauntlet"\nheroes = ["bob"]\nrounds = 1', 0)
    path.write_text(
        path.read_text()
        + '[[players]]\nname = "bob"\nagent = "random"\n'
        + '[[players]]\nname = "net"\nagent = "mcts"\nsimulations = 2\nseeds = [1, 2, 30]\n'
    )
    folder = tmp_path / "out"
    run(path, folder)
    with Store.read(folder) as store:
        players = store.players()
        assert [(p.name, p.team) for p in players] == [
            ("bob", ""),
            ("net-s1", "net"),
            ("net-s2", "net"),
            ("net-s30", "net"),
        ]
        assert len(store.results()) == 6
        assert len({row.seed for row in store.results()}) == 3


@pytest.mark.slow
def test_players_in_another_order_are_another_match(tmp_path: Path) -> None:
    """The order says whom the test is about, and who is seeded first."""
    path = config(tmp_path, 'name = "match"\npairs = 4', 2)
    tournament("run", path, "--out", tmp_path / "run")
    head, one, other = path.read_text().split("[[players]]")
    path.write_text("[[players]]".join((head, other, one)))
    output = refused("run", path, "--out", tmp_path / "run")
    assert "players: in the order deep, ann, begun as ann, deep" in output


# -- runs whose games are adjudicated --------------------------------------------------------------


PLAYERS = (player("deep", "mcts", simulations=30), player("flat", "mcts", simulations=4))
HOLD_OUT = 0.3
TEXT = config_text(
    *PLAYERS,
    tournament={"rounds": 12, "seed": 4},
    openings={"random_plies": 1},
    adjudication={"hold_out": HOLD_OUT},
) + (rule("resign-agreement", "below = -0.5", "moves = 1") + rule("solved", "nodes = 40"))


@pytest.fixture(scope="module")
def adjudicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adjudicated") / "x.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def folder(adjudicated: Path) -> Path:
    """The folder of a serial run."""
    out = adjudicated.parent / "out"
    run_serially(adjudicated, out)
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
    assert re.search("The game ends: (O wins|X wins|Draw) by adjudication", replayed)


def test_joining_runs_with_other_rules_warns(adjudicated: Path, tmp_path: Path) -> None:
    plain, same = tmp_path / "plain.toml", tmp_path / "same.toml"
    plain.write_text(TEXT.partition("[adjudication]")[0] + TEXT[TEXT.index("[[players]]") :])
    plain.write_text(plain.read_text().partition("\n[[adjudication")[0])
    same.write_text(TEXT.replace("hold_out = 0.3", "hold_out = 0.5"))
    output = [conditions(path, tmp_path)["adjudication"] for path in (adjudicated, plain, same)]
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


def test_rules_stay_as_they_are(adjudicated: Path, folder: Path) -> None:
    changes = ("adjudication.hold_out=0", "adjudication.rules[solved].nodes=41")
    lines = differing(folder, adjudicated, *changes)
    assert "  adjudication.hold_out: 0.3 -> 0.0" in lines
    assert "  adjudication.rules.solved.nodes: 40 -> 41" in lines
    without = adjudicated.with_name("without.toml")
    without.write_text(TEXT.replace(rule("solved", "nodes = 40"), ""))
    assert "  adjudication.rules.solved: was removed" in differing(folder, without)
