"""Games are read from SGF alike by the fast and the full reader, checked, and filtered."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go_learning.go_data_games import random_game, random_moves, sgf_of

from miai.errors import ParameterError
from miai.parameters import build_parameters
from miai_go.learning.data.importing import (
    GameFilters,
    ImportReport,
    ReadGame,
    from_sgf,
    import_games,
    rating_of,
    read_games,
    scan,
)
from miai_go.learning.data.stored_games import StoredGame
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import point_tables
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_bytes
from miai_go.sgf.sources import files_of


def agree(data: bytes) -> bool:
    """Say whether the data is plain, having checked that then both readers read the same."""
    plain = scan(data)
    if plain is None:
        return False
    full = from_sgf(read_bytes(data)[0])
    assert plain.game.moves.tolist() == full.game.moves.tolist()
    for name in ("size", "result", "margin", "stones", "first"):
        np.testing.assert_equal(getattr(plain.game, name), getattr(full.game, name))
    for name in ("rules", "black_rank", "white_rank"):
        assert getattr(plain, name) == getattr(full, name).strip()
    assert (plain.komi, plain.handicap) == (full.komi, full.handicap)
    return True


@pytest.mark.parametrize("size", [5, 9, 13, 19, 25])
def test_plain_games_are_scanned_as_the_full_reader_reads_them(size: int) -> None:
    for seed in range(4):
        data = sgf_of(random_moves(seed, size=size, length=30), size=size, seed=seed, BR="2500?")
        assert agree(data), seed


def test_comments_and_escapes_do_not_hide_or_make_moves() -> None:
    scanned = 0
    for seed in range(40):
        data = sgf_of(random_moves(seed), seed=seed, odd=True)
        scanned += agree(data)
        games = list(read_games(data, "x.sgf"))
        assert len(games) == 1
        assert isinstance(games[0], ReadGame)
        assert games[0].game.moves.tolist() == random_moves(seed), seed
    assert 5 < scanned < 40  # those without variations


PIECES = [
    b"(", b")", b";", b"B[aa]", b"W[bb]", b"B[]", b"W[tt]", b"B[cc]", b"C[\\]]", b"C[;B[aa]", b"\\",
    b"AB[dd]", b"AW[dd]", b"AE[aa]", b"PL[W]", b"KM[7]", b"KM[x]", b"SZ[9]", b"SZ[5]", b"HA[2]",
    b"HA[0]", b" ", b"\n", b"[", b"]", b"b[aa]", b"BL[1]", b"W [ee]", b"B[a a]", b"RE[B+1]",
    b"GM[1]", b"CA[UTF-8]", b"\xe9", b"RU[a][b]", b"B[ee][ff]", b"RE[W+R]",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(0, 2**32))
def test_scanner_and_full_reader_agree(pieces: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    plain = [b"(", b";", b"SZ[9]", b"KM[7]", b";", b"B[dd]", b";", b"W[ee]", b";", b"B[gg]", b")"]
    for piece in pieces:
        plain.insert(rng.randrange(len(plain) + 1), piece)
    data = b"".join(plain)
    scanned = scan(data)
    if scanned is None:
        return
    repeated = [a for a in scanned.game.moves.tolist() if a != 81]
    if len(set(repeated)) < len(repeated):
        return  # on an occupied point, which the board of an import refuses
    assert agree(data), data


def test_the_board_of_an_import_refuses_what_is_illegal(tmp_path: Path) -> None:
    cases = {
        "occupied": "(;SZ[9]KM[7]RE[B+R];B[aa];W[aa])",
        "suicide": "(;SZ[9]KM[7]RE[B+R];B[ba];W[ii];B[ab];W[aa])",
        "ko": "(;SZ[9]KM[7]RE[B+R];B[bb];W[cb];B[ca];W[da];B[cc];W[dc];B[ii];W[eb];B[db];W[hh]"
        ";B[hg];W[cb];B[db])",
    }
    for name, text in cases.items():
        (tmp_path / f"{name}.sgf").write_text(text)
    report = ImportReport()
    assert not list(import_games([tmp_path], GameFilters(), report))
    output = {Path(source).stem: cause for source, cause in report.failures}
    assert report.bad == 3
    assert "node 3: the move at A9 is on a stone" in output["occupied"]
    assert "move 4, A9" in output["suicide"]
    assert "move 13, D8" in output["ko"]


def test_bad_files_are_counted_reported_and_skipped(tmp_path: Path) -> None:
    good = sgf_of(random_moves(1))
    bad = {
        "empty.sgf": b"",
        "binary.sgf": bytes(range(256)),
        "size.sgf": good.replace(b"SZ[9]", b"SZ[99]"),
        "chess.sgf": good.replace(b"GM[1]", b"GM[2]"),
        "off.sgf": good[:-3] + b";B[zz])",
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.sgf").write_bytes(good)
    (tmp_path / "notes.txt").write_text("no SGF")
    report = ImportReport()
    taken = list(import_games([tmp_path], GameFilters(), report))
    assert len(taken) == report.taken == 1
    assert taken[0].moves.tolist() == random_moves(1)
    assert report.files == len(bad) + 1
    assert {Path(source).name for source, _ in report.failures} == set(bad)
    assert all(cause for _, cause in report.failures)


def test_filters_drop_and_count(tmp_path: Path) -> None:
    moves = random_moves(3)
    games = {
        "plain": sgf_of(moves, BR="1d", WR="2p", RE="B+1"),
        "turned": sgf_of(point_tables(9)[5, moves], BR="3d", WR="1d", RE="B+1"),
        "small": sgf_of(random_moves(1, size=5, length=12), size=5),
        "short": sgf_of(random_moves(4, length=5)),
        "komi": sgf_of(random_moves(5), KM=0.5),
        "odd komi": sgf_of(random_moves(6), KM=7.25),
        "no komi": sgf_of(random_moves(7), KM=None),
        "no result": sgf_of(random_moves(8), RE="?"),
        "weak": sgf_of(random_moves(9), BR="1k", WR="9d", RE="B+1"),
        "rated": sgf_of(random_moves(10), BR="2500", WR="2400", RE="B+1"),
        "rules": sgf_of(random_moves(11), RU="Japanese", BR="1d", WR="1d", RE="B+1"),
        "handicap": sgf_of([], HA=2).replace(b"HA[2]", b"HA[2]AB[cc][gg]"),
    }
    for name, data in games.items():
        (tmp_path / f"{name}.sgf").write_bytes(data)
    output = {"komi_min": 7, "min_moves": 10, "min_rank": "1d", "rules": ["chinese"]}
    filters = build_parameters(GameFilters, output)
    report = ImportReport()
    assert len(list(import_games([tmp_path], filters, report))) == 1
    assert report.dropped == {
        "another board size": 1,
        "too short": 1,
        "another komi": 1,
        "no komi": 2,
        "result unknown": 1,
        "rank too low or unknown": 2,
        "other rules": 1,
        "handicap or set-up": 1,
        "duplicate": 1,
    }
    rated = ImportReport()
    taken = list(import_games([tmp_path], GameFilters(min_rating=2400), rated))
    assert [game.ratings for game in taken] == [(2500.0, 2400.0)]


@pytest.mark.parametrize(
    "values", [{"min_rank": "strong"}, {"rules": ["klingon"]}, {"komi_min": 8, "komi_max": 7}]
)
def test_filters_that_make_no_sense_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        build_parameters(GameFilters, values)


def test_set_ups_start_where_the_full_reader_says(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_bytes(
        b"(;SZ[9]KM[0.5]HA[2]RE[W+R]AB[cc][gg];W[ee];B[dd])(;SZ[9]KM[7]RE[B+R];W[ee];B[dd])"
    )
    first, second = import_games([tmp_path], GameFilters(setups=True), ImportReport())
    assert first.stones is not None
    assert np.flatnonzero(first.stones == 1).tolist() == [2 * 9 + 6, 6 * 9 + 2]
    assert first.first == second.first == 2
    assert second.stones is None
    assert first.moves.tolist() == second.moves.tolist() == [40, 5 * 9 + 3]
    assert first.name() != second.name()


def test_a_name_is_of_the_game_up_to_symmetry() -> None:
    names = set()
    for seed in range(20):
        game = random_game(seed, length=12)
        turns = [
            StoredGame(size=9, moves=point_tables(9)[s][game.moves], half_komi=0)
            for s in range(SYMMETRIES)
        ]
        assert {turn.name() for turn in turns} == {game.name()}
        names.add(game.name())
    assert len(names) == 20
    stones = np.zeros(81, np.int8)
    stones[[2, 70]] = 1, 2
    moves = np.array([40, 41], np.int16)
    set_up = set()
    for s in range(SYMMETRIES):
        table = point_tables(9)[s]
        lying = np.zeros(81, np.int8)
        lying[table[[2, 70]]] = 1, 2
        set_up.add(StoredGame(size=9, moves=table[moves], half_komi=0, stones=lying).name())
    assert len(set_up) == 1
    assert set_up.isdisjoint({StoredGame(size=9, moves=moves, half_komi=0).name()})


def test_ratings_are_read() -> None:
    assert [rating_of(t) for t in ("2500", " 2500? ", "-3.5")] == [2500.0, 2500.0, -3.5]
    assert np.isnan(rating_of("3d"))


def test_a_set_up_without_liberties_is_bad(tmp_path: Path) -> None:
    game = StoredGame(size=3, moves=np.zeros(0, np.int16), half_komi=0, stones=np.ones(9, np.int8))
    assert game.legal_moves() == -1
    (tmp_path / "a.sgf").write_bytes(b"(;SZ[2]KM[0]RE[0]AB[aa][ab][ba][bb];W[aa])")
    games = list(read_games((tmp_path / "a.sgf").read_bytes(), "a"))
    assert isinstance(games[0], SgfError)


def test_one_file_may_be_packed(tmp_path: Path) -> None:
    whole, damaged, bomb = (tmp_path / name for name in ("a.sgf.gz", "b.sgf.gz", "c.SGF.gz"))
    whole.write_bytes(gzip.compress(b"(;SZ[9];B[aa])"))
    damaged.write_bytes(whole.read_bytes()[:-9])
    bomb.write_bytes(gzip.compress(bytes(5 * 2**20)))
    assert [file.data for file in files_of(whole)] == [b"(;SZ[9];B[aa])"]
    (broken,), (large,) = files_of(damaged), files_of(bomb)
    assert broken.data is None
    assert "is damaged" in broken.error
    assert large.data is None
    assert "split the file" in large.error
