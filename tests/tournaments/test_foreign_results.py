"""Results of games from elsewhere, and leagues too large for matrices of players by players."""

from __future__ import annotations

import io
import random
from pathlib import Path

import chess.pgn
import numpy as np
import pytest

from miai.errors import ConfigError
from miai_tournaments.commands.rate import rate_runs
from miai_tournaments.ratings import ratings as fits
from miai_tournaments.ratings.model import Posterior
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import fit_ratings
from miai_tournaments.report.foreign_results import read_results

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
