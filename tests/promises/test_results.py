"""What is promised of results: the same games by every way there, and lists in the right order."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console
from tests.tournaments.pages import read_page
from tests.tournaments.support import (
    config_text,
    games_of,
    player,
    refused,
    run_serially,
    tournament,
)
from tests.warm_command import TalkingMiai, run_miai

from miai.playing.replay import replay
from miai.record_reader import read_record
from miai_tournaments.commands.rate import rate_runs
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.report.report_files import csv_files, report_page
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.store import Store

GAMES = 12
STRENGTH = ["zoe", "mia", "abe"]
"""The players, best first: neither in the order of the config nor in that of their names."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    players = (
        player("abe", "mischief", delay=0.05),  # gives a signal time to come between two games
        player("zoe", "mcts", simulations=40),
        player("mia", "mcts", simulations=6),
    )
    openings, limits = {"random_plies": 1}, {"isolation": "process"}
    path = tmp_path_factory.mktemp("results") / "x.toml"
    path.write_text(
        config_text(*players, tournament={"rounds": 2}, openings=openings, limits=limits)
    )
    return path


@pytest.fixture(scope="module")
def whole(config: Path, mischief: dict[str, str]) -> Path:
    """The folder of an undisturbed serial run."""
    folder = config.parent / "whole"
    tournament("run", config, "--out", folder, "--executor", "serial", env=mischief)
    return folder


@pytest.fixture(scope="module")
def report(whole: Path) -> TournamentReport:
    with Store.read(whole) as store:
        return build_report(store, details=True)


# -- the same games --------------------------------------------------------------------------------


def test_executors_and_workers_change_nothing(
    config: Path, whole: Path, mischief: dict[str, str]
) -> None:
    """README: "reproducible to the move"; tutorial: "The same config and seed give the same
    games". The executor ``ray``, which takes ten seconds to begin, is among the slow tests."""
    head, *players, _ = config.read_text().split("[[players]]")
    (config.parent / "two.toml").write_text("[[players]]".join([head, *players]))
    done = tournament("run", "two.toml", "--workers", 2, cwd=config.parent, env=mischief)
    folder = config.parent / "runs" / "test"
    assert re.findall(r"(?m)^\[(\d/\d)\] ", done.stdout) == ["1/4", "2/4", "3/4", "4/4"]
    assert done.stdout.splitlines()[-1].endswith("miai tournament report runs/test --open")
    assert (folder / "report.txt").read_text()
    with Store.read(folder) as store:
        assert store.counts() == {"pending": 0, "running": 0, "done": 4, "void": 0}
    assert games_of(folder).items() <= games_of(whole).items()


def test_another_seed_gives_other_games(config: Path, whole: Path, tmp_path: Path) -> None:
    """README: "reproducible to the move". By the seed, that is, which each run has."""
    head, _, *two = config.read_text().split("[[players]]")
    (tmp_path / "x.toml").write_text("[[players]]".join([head, *two]))
    run_serially(tmp_path / "x.toml", tmp_path / "out", "--set", "seed=4", "--set", "rounds=1")
    games, others = games_of(whole), games_of(tmp_path / "out")
    assert len(others) == 2
    assert not any(game[6] == games[name][6] for name, game in others.items())


def begun(folder: Path) -> dict[str, str]:
    """Return when each finished game began."""
    with Store.read(folder) as store:
        return {row.game_id: row.started for row in store.results()}


class Interrupted:
    """A run that was stopped by a signal, then killed, and then resumed to its end.

    Attributes:
      printed: what the run printed when it was stopped by Ctrl-C.
      errors: what it printed beside that.
      status: its exit status.
      stopped: the games that were finished by then.
      early: those that were finished when the run was killed.
      begun: when each of these began.
      left: the processes of the killed run that did not end.
    """

    def __init__(self, config: Path, env: dict[str, str]) -> None:
        self.folder = config.parent / "interrupted"
        self.env = env
        process = self._begun("run", config, "--out", self.folder, "--executor", "serial")
        process.send_signal(signal.SIGINT)
        self.printed, self.errors = (p.read().decode() for p in (process.stdout, process.stderr))
        self.status = process.wait()
        process.close()
        self.stopped = games_of(self.folder)
        process = self._begun("resume", self.folder, "--workers", 1)
        family = psutil.Process(process.pid).children(recursive=True)
        process.close()
        _, self.left = psutil.wait_procs(family, timeout=20)
        self.early, self.begun = games_of(self.folder), begun(self.folder)
        tournament("resume", self.folder, "--executor", "serial", env=env)

    def _begun(self, *words: object) -> TalkingMiai:
        """Return a run that has just finished its second game."""
        process = TalkingMiai(["tournament", *map(str, words)], self.env)
        for _ in range(2):
            while not (line := process.stdout.readline()).startswith(b"["):
                assert line, process.stderr.read()
        return process


@pytest.fixture(scope="module")
def interrupted(config: Path, mischief: dict[str, str]) -> Interrupted:
    return Interrupted(config, mischief)


def test_ctrl_c_finishes_the_running_games_and_says_how_to_go_on(interrupted: Interrupted) -> None:
    """errors: "tournaments finish or abandon running games and print the command that resumes"."""
    assert interrupted.status == 130
    assert "Traceback" not in interrupted.errors
    assert f"miai tournament resume {interrupted.folder}" in interrupted.printed
    done = re.search(rf"(\d+) of {GAMES} games are done", interrupted.printed)
    assert done
    assert len(interrupted.stopped) == int(done[1]) < GAMES


def test_a_killed_run_loses_no_game_and_ends_as_if_nothing_had_happened(
    interrupted: Interrupted, whole: Path
) -> None:
    """README: "survives `kill -9`"; README: "miai resumes exactly"."""
    assert len(interrupted.stopped) < len(interrupted.early) < GAMES
    assert interrupted.stopped.items() <= interrupted.early.items()
    assert interrupted.begun.items() <= begun(interrupted.folder).items(), "one was played again"
    assert games_of(interrupted.folder) == games_of(whole)
    tables = []
    for folder in (interrupted.folder, whole):
        with Store.read(folder) as store:
            players: Any = build_report(store).to_json()["players"]
        tables.append([{k: v for k, v in p.items() if "second" not in k} for p in players])
    assert tables[0] == tables[1]


def test_nothing_of_a_killed_run_goes_on(interrupted: Interrupted) -> None:
    """errors: "its agents and their engines are killed with it by the kernel; the game is void"."""
    assert not [p for p in interrupted.left if p.status() != psutil.STATUS_ZOMBIE]


def test_a_complete_run_is_left_as_it_is(config: Path, whole: Path, mischief: Any) -> None:
    """README: "reproducible to the move". A run that was begun with another config is refused."""
    before = (whole / FILE_NAME).stat().st_mtime_ns
    printed = tournament("run", config, "--out", whole, env=mischief).stdout
    assert re.search(r"played before; --out .*report\.txt", printed, re.DOTALL)
    output = refused("run", config, "--out", whole, "--set", "seed=8", env=mischief)
    assert "  tournament.seed: 3 -> 8" in output.splitlines()
    assert f"{GAMES} of {GAMES} games are done" in tournament("status", whole).stdout
    assert (whole / FILE_NAME).stat().st_mtime_ns == before


# -- the order and the signs of lists --------------------------------------------------------------


def listed(text: str, names: list[str] = STRENGTH) -> list[str]:
    """Return the names in the first table of ranks in a text, in their order."""
    ranks = [line.replace("|", " ").split() for line in text.splitlines()]
    rows = [words for words in ranks if len(words) > 1 and words[0].isdigit()]
    rows = [words for words in rows if words[1] in names][: len(names)]
    assert [words[0] for words in rows] == [str(n + 1) for n in range(len(names))]
    return [words[1] for words in rows]


def test_results_are_those_of_the_games_that_were_played(whole: Path) -> None:
    """README: "a tournament that is fast, reproducible to the move, survives `kill -9`, and ends
    in a table". Each result is what the rules say of the recorded moves, for the right player."""
    points = dict.fromkeys(STRENGTH, 0.0)
    with Store.read(whole) as store:
        rows = store.results()
        assert len(rows) == GAMES
        for row in rows:
            record = read_record(store.record(row.game_id))
            assert replay(record).returns() == record.returns == row.returns
            assert tuple(seat.name for seat in record.players) == row.players
            for seat, name in enumerate(row.players):
                points[name] += (1 + row.returns[seat]) / 2
    assert sorted(points, key=lambda name: -points[name]) == STRENGTH, points


OUTCOMES = ("wins", "draws", "losses")


def test_wins_and_losses_are_the_player_s_own_first_and_second(
    whole: Path, report: TournamentReport
) -> None:
    """README: "#  player        Elo    ±  score    W  D  L  games"."""
    counted: Counter[tuple[object, ...]] = Counter()
    with Store.read(whole) as store:
        for row in store.results():
            for seat, name in enumerate(row.players):
                value = row.returns[seat]
                outcome = "wins" if value > 0 else "losses" if value < 0 else "draws"
                for key in ((), (("as_first", "as_second")[seat],), (row.players[1 - seat],)):
                    counted[name, *key, outcome] += 1
    document: Any = report.to_json()
    for entry in document["players"]:
        for outcome in OUTCOMES:
            assert entry[outcome] == counted[entry["name"], outcome]
            for side in ("as_first", "as_second"):
                assert entry[side][outcome] == counted[entry["name"], side, outcome]
        first, second = (
            "-".join(
                str(counted[entry["name"], side, each]) for each in ("wins", "draws", "losses")
            )
            for side in ("as_first", "as_second")
        )
        line = rf"(?m)^\d  {entry['name']} +{first} +\S+ +{second} "
        assert re.search(line, report.to_text().partition("By colour")[2])
        points = counted[entry["name"], "wins"] + counted[entry["name"], "draws"] / 2
        assert entry["score"] == points / entry["games"]
    for cell in document["crosstable"]:
        for outcome in OUTCOMES:
            assert cell[outcome] == counted[cell["player"], cell["opponent"], outcome]


def test_the_stronger_is_above_in_the_text(report: TournamentReport, whole: Path) -> None:
    """README: "1  mcts-100     +617  161  95.8%  115  0    5    120"."""
    assert listed(report.to_text()) == STRENGTH
    assert listed((whole / "report.txt").read_text()) == STRENGTH
    assert re.search(r"^1  zoe +\+\d+ ", report.to_text(), re.MULTILINE)
    assert re.search(r"^3  abe +-\d+ ", report.to_text(), re.MULTILINE)


def test_the_stronger_is_above_at_the_terminal(report: TournamentReport) -> None:
    """README: "ends in a table with error bars"."""
    Console(file=(printed := io.StringIO()), width=100).print(report.render(100))
    text = printed.getvalue()
    assert listed(text) == listed(text[text.index("Ratings: Elo with 95% intervals") :]) == STRENGTH


def test_the_stronger_is_above_in_json_and_has_the_higher_rating(report: TournamentReport) -> None:
    """README: "4  fast-random  -698  203   1.7%    2  0  118    120"."""
    players: Any = report.to_json()["players"]
    assert [entry["name"] for entry in players] == STRENGTH
    assert [entry["rank"] for entry in players] == [1, 2, 3]
    for better, worse in pairwise(players):
        assert better["elo"] > worse["elo"]
        assert better["score"] > worse["score"]
    for entry in players:
        assert entry["low"] < entry["elo"] < entry["high"]


def test_the_stronger_is_above_in_csv(report: TournamentReport) -> None:
    """README: "#  player        Elo    ±  score    W  D  L  games"."""
    rows = list(csv.DictReader(io.StringIO(csv_files(report)["players.csv"])))
    assert [row["name"] for row in rows] == STRENGTH
    elos = [float(row["elo"]) for row in rows]
    assert elos == sorted(elos, reverse=True)


def test_the_stronger_is_above_in_markdown(report: TournamentReport) -> None:
    """README: "Ratings: Elo with 95% intervals, mean 0"."""
    text = report.to_markdown()
    assert listed(text[text.index("Ratings") :]) == STRENGTH


def test_the_stronger_is_above_on_the_page(report: TournamentReport) -> None:
    """README: "Ratings: Elo with 95% intervals, mean 0"."""
    tables = [
        [
            [cell.text().strip() for cell in row.all() if cell.tag in ("td", "th")]
            for row in table.all("tr")
        ]
        for table in read_page(report_page(report)).all("table")
    ]
    ratings = next(rows for rows in tables if "Elo" in rows[0])
    column = ratings[0].index("Elo")
    assert [next(name for name in STRENGTH if name in row) for row in ratings[1:4]] == STRENGTH
    elos = [int(row[column].replace("\N{MINUS SIGN}", "-")) for row in ratings[1:4]]
    assert elos == sorted(elos, reverse=True)


def test_the_stronger_is_above_in_a_list_of_several_runs(whole: Path, tmp_path: Path) -> None:
    """README: "rates many players of any game jointly"."""
    assert listed(run_miai(["rate", str(whole)]).stdout) == STRENGTH
    rated = rate_runs([whole])
    assert [entry["name"] for entry in rated.entries()] == STRENGTH
    assert [row["name"] for row in csv.DictReader(io.StringIO(rated.to_csv()))] == STRENGTH
    assert json.loads(json.dumps(rated.to_json()))["players"][0]["elo"] > 0
