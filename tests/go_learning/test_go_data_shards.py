"""Games for learning: read from SGF and archives within limits, written whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import resource
import shlex
import signal
import socket
import tarfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go_learning import go_commands
from tests.go_learning.go_commands import invoke
from tests.go_learning.go_data_games import random_game, random_moves, sgf_of, write_set
from tests.warm_command import run_miai
from tests.whole_texts import assert_expected, assert_transcript, refusal
from typer.testing import Result

from miai.errors import ParameterError
from miai.parameters import build_parameters
from miai_go.errors import DataError
from miai_go.learning.data import collections as download
from miai_go.learning.data import importing
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shard_files import LOCK
from miai_go.learning.data.shards import COLUMNS, Shard, ShardWriter, open_shards, shard_folders
from miai_go.learning.data.stored_games import StoredGame
from miai_go.rules.symmetry import point_tables
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_bytes
from miai_go.sgf.sources import Limits, files_of

FILES = {f"{i:02}/g{i}.sgf": sgf_of(random_moves(i, length=12), seed=i) for i in range(6)}


def write_tar(path: Path, files: dict[str, bytes], mode: str) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def imported(
    source: Path, filters: importing.GameFilters | None = None
) -> tuple[list[StoredGame], importing.ImportReport]:
    """Return the games of a file, an archive or a folder, and what was left out."""
    report = importing.ImportReport()
    filters = filters or importing.GameFilters()
    return list(importing.import_games([source], filters, report)), report


def names_in(source: Path) -> list[bytes]:
    return [game.name() for game in imported(source)[0]]


def test_folders_files_and_archives_hold_the_same_games(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(data)
    expected = names_in(folder)
    assert len(expected) == len(FILES)
    modes = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.xz": "w:xz", "tar.bz2": "w:bz2"}
    for suffix, mode in modes.items():
        assert names_in(write_tar(tmp_path / f"a.{suffix}", FILES, mode)) == expected, suffix
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    assert names_in(tmp_path / "a.zip") == expected
    one = folder / "00" / "g0.sgf"
    assert names_in(one) == expected[:1]


def test_archives_cannot_escape_their_folder_or_limits(tmp_path: Path) -> None:
    hostile = {
        "../../out.sgf": FILES["00/g0.sgf"],
        "/etc/abs\x1b[2J.sgf": FILES["01/g1.sgf"],
        "huge.sgf": b"(;SZ[9]C[" + b"x" * (5 * 1024 * 1024) + b"])",
        "picture.png": b"\x89PNG" * 100,
    }
    before = sorted(tmp_path.rglob("*"))
    tar = write_tar(tmp_path / "h.tar.gz", hostile, "w:gz")
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        link = tarfile.TarInfo("a.sgf")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    files = list(files_of(tar))
    assert [file.data is None for file in files] == [False, False, True]
    assert "\x1b" not in files[1].name
    assert "larger than" in files[2].error
    assert list(files_of(tmp_path / "links.tar")) == []
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tar, tmp_path / "links.tar"])
    for limits in (Limits(members=2), Limits(total=50_000), Limits(skipped=30_000)):
        with pytest.raises(DataError, match=r"h\.tar\.gz: contains more than"):
            list(files_of(tar, limits=limits))


def test_an_oversized_header_is_refused(tmp_path: Path) -> None:
    """A tar header that claims gigabytes of attributes does not get them."""
    head = tarfile.TarInfo("x")
    head.type, head.size = tarfile.XHDTYPE, 2**33
    (tmp_path / "b.tar").write_bytes(head.tobuf() + b"0" * 400_000)
    with pytest.raises(DataError):
        list(files_of(tmp_path / "b.tar", limits=Limits(skipped=100_000)))


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.xz", "a.zip", "a.tar", "a.7z", "gone.tar"])
def test_damaged_archives_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if not name.startswith("gone"):
        path.write_bytes(b"neither nor" * 1000)
    with pytest.raises(DataError, match=name):
        list(files_of(path))
    if name == "a.tar.gz":
        whole = write_tar(path, FILES, "w:gz").read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match="damaged"):
            list(files_of(path))


def test_an_encrypted_archive_member_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.sgf", FILES["00/g0.sgf"])
    data = bytearray(path.read_bytes())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + offset] |= 1
    path.write_bytes(data)
    assert "encrypted" in next(iter(files_of(path))).error


def same(a: StoredGame, b: StoredGame) -> bool:
    for name in StoredGame.__dataclass_fields__:
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None) or (x is not None and not np.array_equal(x, y, True)):
            return False
    return True


def test_games_come_back_from_shards_as_they_were(tmp_path: Path) -> None:
    games = [random_game(i, length=10 + i, search=True) for i in range(23)]
    with ShardWriter(tmp_path / "set", size=9, games_a_shard=10, sources=("a.zip",)) as writer:
        for game in games:
            writer.add(game)
    assert writer.written == 23
    shards = open_shards(tmp_path / "set")
    assert [shard.games for shard in shards] == [10, 10, 3]
    back = [shard.game(i) for shard in shards for i in range(shard.games)]
    assert all(same(a, b) for a, b in zip(games, back, strict=True))
    assert shards[0].manifest is not None
    assert shards[0].manifest.sources == ("a.zip",)
    assert isinstance(shards[0].columns["policy"], np.memmap)
    write_set(tmp_path / "set", games[:1])
    assert [shard.games for shard in open_shards(tmp_path / "set")] == [10, 10, 3, 1]


def test_an_unfinished_shard_is_not_seen(tmp_path: Path) -> None:
    def interrupted() -> None:
        with ShardWriter(tmp_path, size=9, games_a_shard=4) as writer:
            for i in range(6):
                writer.add(random_game(i, length=5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [shard.games for shard in open_shards(tmp_path)] == [4]
    left = tmp_path / ".unfinished-1"
    left.mkdir()
    (left / "manifest.json").write_text("{}")
    assert len(shard_folders(tmp_path)) == 1
    write_set(tmp_path, [random_game(5, length=5)])
    assert not left.exists()
    assert [shard.games for shard in open_shards(tmp_path)] == [4, 1]


def test_an_unwritable_shard_leaves_the_others_intact(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, size=9, games_a_shard=3)
    for i in range(3):
        writer.add(random_game(i, length=5))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        writer.add(random_game(8, length=200))
        with pytest.raises(DataError, match="cannot be written"):
            writer.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert {child.name for child in tmp_path.iterdir()} == {LOCK, "000000"}
    assert writer.flush() is not None  # what could not be written is not lost
    assert [shard.games for shard in open_shards(tmp_path)] == [3, 1]


def test_one_writer_has_a_set_at_a_time(tmp_path: Path) -> None:
    draft = tmp_path / ".unfinished-1"
    with ShardWriter(tmp_path, size=9) as writer:
        draft.mkdir()
        with pytest.raises(DataError, match="another process is writing games there; wait for it"):
            ShardWriter(tmp_path, size=9)
        assert draft.exists(), "it is the writer's"
        writer.add(random_game(1, length=5))
    with pytest.raises(DataError, match="another folder"):
        ShardWriter(tmp_path, size=7)
    with ShardWriter(tmp_path, size=9) as writer:
        assert not draft.exists()
        writer.add(random_game(2, length=5))
    assert [shard.games for shard in open_shards(tmp_path)] == [1, 1]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return write_set(tmp_path, [random_game(i, length=8, search=True) for i in range(3)]) / "000000"


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("column", ["moves", "offsets", "policy", "names"])
def test_truncated_files_are_refused(shard: Path, column: str, verify: bool) -> None:
    path = shard / f"{column}.npy"
    whole = path.read_bytes()
    for end in (0, 5, 60, len(whole) - 2):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=column):
            Shard.open(shard, verify=verify)
    path.unlink()
    with pytest.raises(DataError, match=column):
        Shard.open(shard, verify=verify)


def test_hostile_arrays_are_refused(shard: Path) -> None:
    path = shard / "moves.npy"
    for array in (
        np.array([{"a": 1}] * 24, object),
        np.zeros(24, np.int32),
        np.zeros(25, np.int16),
        np.zeros((24, 1), np.int16),
        np.zeros(24, ">i2"),
    ):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(DataError, match="moves"):
            Shard.open(shard, verify=False)


def test_a_changed_byte_is_found(shard: Path) -> None:
    path = shard / "result.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="not what its manifest says"):
        Shard.open(shard)


def test_moves_and_offsets_that_lead_outside_are_refused(shard: Path) -> None:
    moves = np.load(shard / "moves.npy")
    for move in (-1, 82, 500):
        np.save(shard / "moves.npy", np.append(moves[:-1], np.int16(move)))
        with pytest.raises(DataError, match="moves off the board"):
            Shard.open(shard, verify=False)
    np.save(shard / "moves.npy", moves)
    for offsets in ([0, 30, 8, 24], [0, 8, 16, 23], [1, 8, 16, 24], [0, 2**63 - 1, -2, 24]):
        np.save(shard / "offsets.npy", np.array(offsets, np.int64))
        with pytest.raises(DataError, match="offsets"):
            Shard.open(shard, verify=False)


def test_manifests_that_lie_are_refused(shard: Path) -> None:
    path = shard / "manifest.json"
    values = json.loads(path.read_text())

    def answer(line: str) -> str:
        path.write_text(json.dumps(values | json.loads(line)))
        return refusal(lambda: Shard.open(shard), folder=shard)

    assert_transcript("data/manifests.txt", answer)
    for text in ("", "[]", "{", "[" * 100_000, '{"format": NaN}'):
        path.write_text(text)
        with pytest.raises(DataError, match="manifest"):
            Shard.open(shard)
    values["columns"]["../../moves"] = values["columns"]["moves"]  # a name is no path
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match="unknown or missing columns"):
        Shard.open(shard)


# -- games are read from SGF alike by the fast and the full reader, checked, and filtered ----------


def agree(data: bytes) -> bool:
    """Say whether the data is plain, having checked that then both readers read the same."""
    plain = importing.scan(data)
    if plain is None:
        return False
    full = importing.from_sgf(read_bytes(data)[0])
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
        games = list(importing.read_games(data, "x.sgf"))
        assert len(games) == 1
        assert isinstance(games[0], importing.ReadGame)
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
    scanned = importing.scan(data)
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
    games, report = imported(tmp_path)
    assert not games
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
    taken, report = imported(tmp_path)
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
    taken, report = imported(tmp_path, build_parameters(importing.GameFilters, output))
    assert len(taken) == 1
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
    rated, _ = imported(tmp_path, importing.GameFilters(min_rating=2400))
    assert [game.ratings for game in rated] == [(2500.0, 2400.0)]


def test_filters_that_make_no_sense_are_refused() -> None:
    for values in ({"min_rank": "strong"}, {"rules": ["klingon"]}, {"komi_min": 8, "komi_max": 7}):
        with pytest.raises(ParameterError):
            build_parameters(importing.GameFilters, values)


def test_set_ups_start_where_the_full_reader_says(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_bytes(
        b"(;SZ[9]KM[0.5]HA[2]RE[W+R]AB[cc][gg];W[ee];B[dd])(;SZ[9]KM[7]RE[B+R];W[ee];B[dd])"
    )
    (first, second), _ = imported(tmp_path, importing.GameFilters(setups=True))
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
        turns = (table[game.moves] for table in point_tables(9))
        turned = {StoredGame(size=9, moves=moves, half_komi=0).name() for moves in turns}
        assert turned == {game.name()}
        names.add(game.name())
    assert len(names) == 20
    stones = np.zeros(81, np.int8)
    stones[[2, 70]] = 1, 2
    moves = np.array([40, 41], np.int16)
    set_up = set()
    for table in point_tables(9):
        lying = np.zeros(81, np.int8)
        lying[table[[2, 70]]] = 1, 2
        set_up.add(StoredGame(size=9, moves=table[moves], half_komi=0, stones=lying).name())
    assert len(set_up) == 1
    assert set_up.isdisjoint({StoredGame(size=9, moves=moves, half_komi=0).name()})


def test_ratings_are_read() -> None:
    assert [importing.rating_of(t) for t in ("2500", " 2500? ", "-3.5")] == [2500.0, 2500.0, -3.5]
    assert np.isnan(importing.rating_of("3d"))


def test_a_set_up_without_liberties_is_bad(tmp_path: Path) -> None:
    game = StoredGame(size=3, moves=np.zeros(0, np.int16), half_komi=0, stones=np.ones(9, np.int8))
    assert game.legal_moves() == -1
    (tmp_path / "a.sgf").write_bytes(b"(;SZ[2]KM[0]RE[0]AB[aa][ab][ba][bb];W[aa])")
    games = list(importing.read_games((tmp_path / "a.sgf").read_bytes(), "a"))
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


# -- miai go data: what it lists, imports, tells and refuses; and downloads -----------------------


def run(*words: object) -> str:
    return go_commands.run("data", *words)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for seed in range(8):
        moves = random_moves(seed, length=20)
        (folder / f"{seed}.sgf").write_bytes(sgf_of(moves, seed=seed))
    (folder / "turned.sgf").write_bytes(sgf_of(point_tables(9)[6, random_moves(0, length=20)]))
    (folder / "bad.sgf").write_bytes(b"(;SZ[99];B[aa])")
    return folder


def test_games_are_imported_once_however_often_it_is_called(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    first = json.loads(run("import", games, "--out", out, "--games-a-shard", "3", "--json"))
    assert (first["games"], first["taken"], first["written"], first["bad"]) == (10, 8, 8, 1)
    assert first["dropped"] == {"duplicate": 1}
    assert first["bad_files"][0]["source"].endswith("bad.sgf")
    assert first["bad_files"][0]["cause"]
    again = json.loads(run("import", games, "--out", out, "--json"))
    assert (again["taken"], again["dropped"]) == (0, {"duplicate": 9})
    assert len(GoDataset(out)) == 8
    text = run("import", games, "--out", tmp_path / "other", "--min-moves", "30")
    text = re.sub(r"\d+ games/s", "games/s", text.replace(str(tmp_path), ""))
    assert_expected("data/import.txt", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data", "stats"], "1 of 10 games are left out: 1 bad, the first "),
        pytest.param(
            ["eval", "policy-7-13"],
            "2 of 10 games are left out: 1 dropped (duplicate); 1 bad, ",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_omissions_are_reported_by_every_reader(words: list[str], said: str, games: Path) -> None:
    result = invoke(*words, games)
    assert result.exit_code == 0, result.output
    assert said in result.stderr
    assert "bad.sgf: SZ[99] " in result.stderr
    assert "left out" not in result.stdout


@pytest.mark.slow
def test_training_reports_omissions_and_wants_held_out_games(games: Path, tmp_path: Path) -> None:
    config = tmp_path / "patterns.toml"
    text = f'[data]\nsources = ["{games}"]\nvalidation = {{}}\ntest = 0.0\n[patterns]\nepochs = 1\n'

    def train(name: str, validation: float) -> Result:
        config.write_text(text.format(validation))
        return invoke("train", "rollout", config, "--out", tmp_path / name)

    learnt = train("learnt", 0.5)
    assert learnt.exit_code == 0, learnt.output
    assert "2 of 10 games are left out: 1 dropped (duplicate); 1 bad, " in learnt.stderr
    refused = train("refused", 0.0)
    assert isinstance(refused.exception, DataError)
    assert not list((tmp_path / "refused").glob("*.safetensors"))
    assert "epoch" not in refused.stderr


def test_statistics_are_those_of_the_games(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for i in range(6):
        moves = [40, 20, 21, *[81] * i]
        komi, result = (7.0, "B+R") if i < 4 else (5.5, "0")
        (folder / f"{i}.sgf").write_bytes(sgf_of(moves, KM=komi, RE=result, BR=str(2000 + i)))
    run("import", folder, "--out", tmp_path / "set", "--duplicates")
    write_set(tmp_path / "searched", [random_game(seed, search=True) for seed in (1, 2, 3)])
    sources = (folder, tmp_path / "set", tmp_path / "searched")
    text = "".join(run("stats", s, *words) for s in sources for words in ((), ("--json",)))
    assert_expected("data/statistics.txt", text)


def test_mistakes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_transcript("data/mistakes.txt", lambda line: refusal(lambda: run(*line.split())))


def test_public_data_sets_say_where_they_are_and_how_to_get_them() -> None:
    datasets = download.COLLECTIONS.values()
    assert len(datasets) > 3
    for dataset in datasets:
        assert dataset.page.startswith(("http://", "https://"))
        assert dataset.sizes
        assert dataset.licence
        assert "miai go data import" in dataset.instructions
        assert not dataset.url or dataset.url.startswith("https://")
    rows = json.loads(run("list", "--json"))
    assert [row["name"] for row in rows] == sorted(dataset.name for dataset in datasets)
    text = run("list")
    assert all(row["page"] in text for row in rows)


def test_a_download_without_network_says_how_to_go_on(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    url = f"https://127.0.0.1:{port}/games.tgz"
    with pytest.raises(DataError, match=r"miai go data import games\.tgz"):
        download.fetch(url, tmp_path / "games.tgz", sha256="", trust_first=True)
    for other in ("http://127.0.0.1/a.tgz", "file:///etc/passwd", "ftp://a/b"):
        with pytest.raises(DataError, match="only https"):
            download.fetch(other, tmp_path / "a.tgz", sha256="0" * 64)
    with pytest.raises(DataError, match="--sha256"):
        download.fetch(url, tmp_path / "games.tgz", sha256="")
    with pytest.raises(DataError, match="not a SHA-256"):
        download.fetch(url, tmp_path / "games.tgz", sha256="abc")
    assert list(tmp_path.iterdir()) == []


def test_redirections_lead_to_https_only() -> None:
    handler = download._OnlyHttps()
    request = urllib.request.Request("https://example.org/a")
    with pytest.raises(DataError, match="only https"):
        handler.redirect_request(request, None, 302, "", {}, "http://example.org/b")
    moved = handler.redirect_request(request, None, 302, "", {}, "https://example.org/b")
    assert moved.full_url == "https://example.org/b"


class Broken(io.BytesIO):
    """A stream that breaks off."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(4)
        if not data:
            raise OSError("connection reset")
        return data


def test_downloads_are_kept_whole_with_their_checksum_or_not_at_all(tmp_path: Path) -> None:
    data = b"games" * 1000
    good = hashlib.sha256(data).hexdigest()
    path = tmp_path / "a.tgz"
    refused: list[tuple[Any, dict[str, Any]]] = [
        (io.BytesIO(data), {"expected": "0" * 64}),
        (io.BytesIO(data), {"expected": good, "max_bytes": 4999}),
        (Broken(data), {"expected": good}),
    ]
    for stream, options in refused:
        with pytest.raises((DataError, OSError)):
            download.save(stream, path, **options)
        assert list(tmp_path.iterdir()) == []
    assert download.save(io.BytesIO(data), path, expected=good) == good
    assert path.read_bytes() == data
    path.unlink()
    assert download.expected_checksum(path, "", trust_first=True) == ""
    download.save(io.BytesIO(data), path, expected="")
    assert download.expected_checksum(path, "", trust_first=False) == good  # as noted
    (tmp_path / "a.tgz.sha256").write_text("garbage")
    with pytest.raises(DataError, match="not a SHA-256"):
        download.expected_checksum(path, "", trust_first=True)


# -- the page on data: its code and commands run, and its tables name what there is ----------------


PAGE = (Path(__file__).parents[2] / "docs" / "go-data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_its_code_and_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(Path(__file__).parents[2] / "configs")
    names: dict[str, Any] = {}
    output = ""
    for language, text in BLOCKS:
        if language == "python":
            exec(text, names)
            continue
        assert language == "sh"
        for line in text.splitlines():
            assert line.startswith("miai ")
            if "tournament" in line:
                done = run_miai([*shlex.split(line)[1:], "--set", "rounds=1"], cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                continue
            assert line.startswith("miai go ")
            output += go_commands.run(*shlex.split(line)[2:])
    assert len(BLOCKS) == 8
    for text in ("40  written to nine", "chess.sgf: ", "40 games of 9x9, 1200 moves"):
        assert text in output
    for text in ("40  annotated", "4  games played", "12  written to nine-agents"):
        assert text in output


def test_its_tables_name_the_options_and_the_columns() -> None:
    known = "".join(
        invoke("data", name, "--help", env={"COLUMNS": "200"}).stdout
        for name in ("import", "annotate", "play")
    )
    options = set(re.findall(r"`(--[\w-]+)`", PAGE))
    for option in options - {"--json", "--sha256", "--trust-first", "--records", "--set"}:
        assert option in known, option
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| \w", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(COLUMNS)
