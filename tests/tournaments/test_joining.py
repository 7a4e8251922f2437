"""Runs joined by agents' identities, results from elsewhere, and the command ``miai rate``."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
import typer
from tests.tournaments.support import RANDOMS, Table, config_text, load, play, player
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai.errors import ConfigError, MiaiError, StoreError
from miai.plugins.versions import component_version
from miai_tournaments.commands.rate import RateList, rate, rate_runs
from miai_tournaments.ratings import ratings as fits
from miai_tournaments.ratings.model import Posterior
from miai_tournaments.ratings.pair_results import PairResults, ScoredGame
from miai_tournaments.ratings.ratings import fit_ratings, fit_results
from miai_tournaments.report.foreign_results import read_results
from miai_tournaments.report.joint_ratings import (
    Identity,
    RunResults,
    distribution_of,
    join_runs,
    label,
    read_run,
)
from miai_tournaments.report.printing import to_text

PGN = """\ufeff[Event "x"]
[White "Ann \\"A\\" O'Hara"]
[Black "Bob"]
[Result "1-0"]

1. e4 {a comment
[White "nobody"]
of lines} e5 ; and { to the end of the line
% escaped { line
2. Nf3 1-0

[White "Bob"]
[Black "Céline"]
[Result "1/2-1/2"]

1/2-1/2

[White "Bob"]
[Black "Céline"]
[Result "*"]

*
"""


def agent(name: str, version: str = "miai 1.0", **parameters: object) -> Identity:
    return Identity.of(name, "mcts", parameters, version=version)


def run_of(
    source: str, identities: Sequence[Identity], games: Sequence[ScoredGame], **more: object
) -> RunResults:
    """Return a run whose games name the players by their number."""
    numbers = [str(i) for i in range(len(identities))]
    return RunResults(
        source=source,
        game="go",
        identities=tuple(identities),
        results=PairResults.from_games(games, players=numbers),
        **more,  # type: ignore[arg-type]
    )


A, B, C, D = (agent(name) for name in "abcd")
ONE = run_of("one", [A, B], [("0", "1", 1.0, 6), ("1", "0", 1.0, 4)])
TWO = run_of("two", [C, B], [("0", "1", 1.0, 5), ("1", "0", 0.5, 7)])


# -- joining ----------------------------------------------------------------------------------


def test_two_runs_are_one_league() -> None:
    joined = join_runs([ONE, TWO])
    assert joined.results.players == ("a", "b", "c")
    assert joined.links == ("b",)
    assert joined.sources == (("one",), ("one", "two"), ("two",))
    assert joined.warnings == ()
    whole = fit_ratings(
        [("a", "b", 1.0, 6), ("b", "a", 1.0, 4), ("c", "b", 1.0, 5), ("b", "c", 0.5, 7)]
    )
    found = fit_results(joined.results)
    assert found.players == whole.players
    np.testing.assert_allclose(found.elo, whole.elo, atol=1e-9)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-9)


def test_another_version_or_parameter_is_another_agent() -> None:
    later = agent("b", "miai 2.0")
    more = agent("b", simulations=9)
    third = run_of("three", [B, later, more], [("0", "1", 1.0), ("1", "2", 1.0), ("2", "0", 0.5)])
    joined = join_runs([ONE, third])
    assert joined.results.players == (
        "a",
        "b (miai 1.0, simulations=null)",
        "b (miai 2.0, simulations=null)",
        "b (miai 1.0, simulations=9)",
    )
    assert joined.links == ("b (miai 1.0, simulations=null)",)


def test_runs_that_nobody_links_are_refused_with_the_reason() -> None:
    apart = run_of("three", [C, agent("b", "miai 2.0")], [("0", "1", 0.5, 9)])
    with pytest.raises(ConfigError, match="no games link") as refusal:
        join_runs([ONE, apart])
    assert "'b' would link them but for its version" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    joined = join_runs([ONE, apart], unlinked=True)
    assert [set(group) for group in joined.groups] == [{"a", "b (miai 1.0)"}, {"c", "b (miai 2.0)"}]
    assert "ratings do not compare" in joined.warnings[0]


def test_runs_of_other_games_are_refused() -> None:
    other = RunResults(source="x", game="chess", identities=(A, B), results=ONE.results)
    with pytest.raises(ConfigError, match="x: is a run of chess, one of go"):
        join_runs([ONE, other])
    komi = run_of("x", [A, B], [("0", "1", 1.0)], game_parameters='{"komi":6.5}')
    seven = run_of("y", [A, B], [("0", "1", 1.0)], game_parameters='{"komi":7.5}')
    with pytest.raises(ConfigError, match=r"y: has other parameters .* komi 6.5 and 7.5"):
        join_runs([komi, seven])


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="same run"):
        join_runs([ONE, ONE])
    copies = [run_of(name, [A, B], [("0", "1", 1.0)], key="k") for name in ("x", "y")]
    with pytest.raises(ConfigError, match="y: is the same run as x"):
        join_runs(copies)


def test_a_list_tells_all_that_makes_ratings_doubtful() -> None:
    many: list[ScoredGame] = [("0", "1", 1.0, 20), ("1", "0", 0.0, 10)]
    quick, slow = ({"time control": clock} for clock in ("1 s", "9 s"))
    three = run_of("three", [B, C], many, left_out=4, seeds=frozenset((2, 3)), conditions=quick)
    four = replace(run_of("four", [A, D], [("0", "1", 0.5, 3)]), game="chess")
    e = [agent("e"), agent("e", n=7)]
    games: list[ScoredGame] = [("0", "1", 1.0, 2), ("1", "0", 1.0)]
    five = run_of("five", e, games, seeds=frozenset((1, 2, 3)), conditions=slow)
    runs = (ONE, TWO, three, four, five)
    joined = join_runs(runs, unlinked=True, across_games=True)
    rated = RateList(runs=runs, joined=joined, ratings=fit_results(joined.results))
    assert_expected("rate/list.json", json.dumps(rated.to_json(), indent=1))
    assert_expected("rate/list.csv", rated.to_csv())
    texts = [to_text([rated.to_table()], width) for width in (100, 56, 49, 40, 34, 28)]
    assert_expected("rate/list.txt", "\n".join(texts))


@pytest.mark.parametrize("runs", [[], [run_of("x", [A, B], [])]])
def test_nothing_to_rate_is_refused(runs: list[RunResults]) -> None:
    with pytest.raises(ConfigError, match=r"^rate: no "):
        join_runs(runs)


def test_labels_are_all_different_and_bounded() -> None:
    namesakes = [agent("a", text="x" * 200 + str(i)) for i in range(4)]
    labels = label([*namesakes, D])
    assert len(set(labels)) == 5
    assert max(map(len, labels)) < 110
    assert labels[-1] == "d"


# -- stores and the command -------------------------------------------------------------------


def played(folder: Path, *players: Table, seed: int = 3) -> Path:
    """Play a small tournament into a folder."""
    text = config_text(*players, tournament={"seed": seed, "name": folder.name})
    play(load(folder.parent, text, "limits.isolation=none"), folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("rate")
    return [played(base / "one", *RANDOMS), played(base / "two", RANDOMS[0], player("dan"), seed=4)]


def invoke(*words: object) -> tuple[int, str, str]:
    app = typer.Typer()
    app.command()(rate)
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_a_store_is_read_with_its_agents_versions(folders: list[Path]) -> None:
    run = read_run(folders[0])
    assert {identity.name for identity in run.identities} == {"ann", "bob", "cid"}
    assert run.games == 12
    version = component_version("agent", "random", game="tic_tac_toe")
    assert {identity.version for identity in run.identities} == {f"miai {version}"}
    assert distribution_of("no-such-agent", "tic_tac_toe") is None


def test_games_with_parameters_of_their_own_are_left_out(tmp_path: Path) -> None:
    pairings = (
        '[format]\nname = "pairings"\n[[format.pairings]]\nfirst = "ann"\nsecond = "bob"\n'
        '[[format.pairings]]\nfirst = "bob"\nsecond = "ann"\nsettings = {goal = 9}\n'
    )
    pig, limits = {"name": "pig", "players": 2}, {"isolation": "none"}
    text = config_text(*RANDOMS[:2], game=pig, limits=limits) + pairings
    play(load(tmp_path, text), tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert found.games == found.left_out == 4
    (warning,) = join_runs([found]).warnings
    assert "4 games with their own parameters" in warning


def test_the_list_is_the_fit_of_all_games(folders: list[Path]) -> None:
    made = rate_runs(folders, anchor="ann", anchor_elo=1000.0)
    data = made.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert {entry["name"] for entry in data["players"]} == {"ann", "bob", "cid", "dan"}
    assert sum(entry["games"] for entry in data["players"]) == 2 * (12 + 4)
    ann = next(entry for entry in data["players"] if entry["name"] == "ann")
    assert (ann["elo"], ann["runs"]) == (1000.0, [str(folder) for folder in folders])
    assert data["links"] == ["ann"]


def test_the_command_prints_a_table_json_and_csv(folders: list[Path]) -> None:
    status, shown, _ = invoke(*folders)
    assert status == 0
    assert "16 games of 2 runs" in shown
    status, shown, _ = invoke(*folders, "--json")
    assert json.loads(shown)["schema"] == "miai.rate/1"
    status, shown, _ = invoke(*folders, "--csv")
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    elos = [float(row["elo"]) for row in rows]
    assert elos == sorted(elos, reverse=True)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--json", "--csv"], "--csv: cannot be combined with --json"),
        (["--anchor", "anne"], "--anchor: no player 'anne'. Did you mean 'ann'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    folders: list[Path], words: list[str], output: str
) -> None:
    with pytest.raises(MiaiError) as refusal:
        invoke(*folders, *words)
    assert output in str(refusal.value)


def test_folders_that_cannot_be_joined_are_refused(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="named twice"):
        rate_runs([folders[0], folders[0] / "." / ".." / folders[0].name])
    with pytest.raises(StoreError):
        rate_runs([tmp_path / "nowhere"])
    lone = played(tmp_path / "lone", player("eve"), player("fay"), seed=9)
    with pytest.raises(ConfigError, match="no games link") as refusal:
        rate_runs([folders[0], lone])
    assert "--unlinked" in str(refusal.value)
    status, shown, output = invoke(folders[0], lone, "--unlinked")
    assert status == 0
    assert "ratings do not compare" in output
    assert "eve" in shown


# -- results from elsewhere -----------------------------------------------------------------------


def test_pgn_is_read_as_by_python_chess(tmp_path: Path) -> None:
    path = tmp_path / "x.PGN"
    path.write_text(PGN, "utf-8")
    found = read_results(path)
    games, file = [], io.StringIO(PGN.removeprefix("\ufeff"))
    scores = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
    while game := chess.pgn.read_headers(file):
        if game["Result"] in scores:
            white = game["White"].replace('\\"', '"')  # escaped, as by PGN's standard 7
            games.append((white, game["Black"], scores[game["Result"]]))
    assert len(games) == 2
    assert found.unfinished == 1
    expected = PairResults.from_games(games)
    assert found.results.players == expected.players
    for one, other in zip(found.results.totals(), expected.totals(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_csv_and_pgn_are_one_league(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        'Result,White,Black,Date\n1-0,"x, y",b,2020\n0.5,b,c,\n*,b,c,\n'
    )
    (tmp_path / "b.pgn").write_text('[White "c"]\n[Black "x, y"]\n[Result "0-1"]\n')
    rated = rate_runs([tmp_path / "a.csv", tmp_path / "b.pgn"], anchor="b", anchor_elo=1500)
    own = fit_ratings(
        [("x, y", "b", 1.0), ("b", "c", 0.5), ("c", "x, y", 0.0)], anchor="b", anchor_elo=1500
    )
    assert [entry["player"] for entry in rated.entries()] == ["x, y", "b", "c"]
    np.testing.assert_allclose(rated.ratings.elo, own.elo)
    assert "1 games without a result" in rated.joined.warnings[0]
    assert "x, y" in rated.to_csv()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "first,second,score\na,b,1\na,b,2\na,,1\na\n", "{0}:3: the result is '2'"),
        ("a.csv", "first,second,score\na,a,1\na\n", "{0}:2: 'a' plays against itself"),
        ("a.csv", "first,second,score\na,,1\n", "{0}:2: has the player ''; a name has 1 to 200"),
        ("a.csv", "a,b,1\n", "{0}:1: the heading has no columns first, second and score"),
        ("a.csv", 'first,second,score\n"a,b\n', "{0}:2: unexpected end of data"),
        ("a.csv", "first,second,score\na,b,1" + "9" * 2**20, "{0}:2: has more than 1,048,576"),
        ("a.pgn", '[White "a"]\n[Result "1-0"]\n\n1-0\n', "{0}:1: a game without the tag Black"),
        ("a.pgn", '\n[White "a"\n[Black "b"]\n', "{0}:2: is not a tag"),
        (
            "a.pgn",
            '[White "a"]\n[Black "b"]\n[Result "1-0"]\n{ x\n',
            "{0}:1: begins a game",
        ),
        ("a.pgn", "", "{0}: has no game with a result"),
        ("b.csv/a.csv", "", "cannot be read"),
    ],
)
def test_bad_lines_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.parent == tmp_path:
        path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        rate_runs([path])
    assert message.format(path) in str(caught.value)


@pytest.mark.parametrize("anchor", [None, "p3"])
def test_a_large_league_is_fitted_as_a_small_one(
    anchor: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)
    elo = [rng.gauss(0, 300) for _ in range(120)]
    games = []
    for _ in range(2500):
        a, b = rng.sample(range(120), 2)
        win = 1 / (1 + 10 ** ((elo[b] - elo[a] - 30) / 400))
        score = 0.5 if rng.random() < 0.3 else float(rng.random() < win)
        games.append((f"p{a}", f"p{b}", score))
    small = fit_ratings(games, anchor=anchor)
    monkeypatch.setattr(fits, "LARGE", 100)
    large = fit_ratings(games, anchor=anchor)
    assert large.covariance.shape == (120,)
    np.testing.assert_allclose(large.elo, small.elo, atol=1e-6)
    np.testing.assert_allclose(large.standard_errors, small.standard_errors, rtol=0.05, atol=1e-9)
    for name in ("first_player_advantage", "draw_probability"):
        one, other = getattr(large, name), getattr(small, name)
        assert one.value == pytest.approx(other.value)
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.1)


def test_the_information_without_a_matrix_is_the_one_with_it() -> None:
    """Products, diagonal, and the covariance of what is drawn."""
    rng = np.random.default_rng(5)
    scores = ((f"p{a}", f"p{b}", s) for a in range(4) for b in range(4) for s in (1.0, 0.5, 0.0))
    games = [(*game, float(rng.integers(1, 9))) for game in scores if game[0] != game[1]]
    results = PairResults.from_games(games)
    posterior = Posterior(results.batch(), 4, prior_games=0.5, advantage=True, draws=True)
    point = posterior.at(rng.normal(size=(1, 6)))
    dense, sparse = point.information()[0], point.sparse_information()
    np.testing.assert_allclose([sparse.product(row) for row in np.eye(6)], dense, atol=1e-12)
    np.testing.assert_allclose(sparse.diagonal(), np.diagonal(dense))
    drawn = np.array([sparse.noise(rng) for _ in range(20_000)])
    np.testing.assert_allclose(np.cov(drawn.T), dense, atol=0.03 * dense.max())
