"""Archives and shards: read within limits, written whole or not at all, refused when damaged."""

from __future__ import annotations

import io
import json
import resource
import signal
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.go_learning.go_data_games import random_game, random_moves, sgf_of
from tests.whole_texts import assert_transcript, refusal

from miai_go.errors import DataError
from miai_go.learning.data.importing import GameFilters, ImportReport, import_games
from miai_go.learning.data.shard_files import LOCK
from miai_go.learning.data.shards import Shard, ShardWriter, open_shards, shard_folders
from miai_go.learning.data.stored_games import StoredGame
from miai_go.sgf.sources import Limits, files_of

FILES = {f"{i:02}/g{i}.sgf": sgf_of(random_moves(i, length=12), seed=i) for i in range(6)}


def write_tar(path: Path, files: dict[str, bytes], mode: str) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def names_in(source: Path, **options: Any) -> list[bytes]:
    report = ImportReport()
    return [g.name() for g in import_games([source], GameFilters(), report, **options)]


def test_folders_files_and_archives_hold_the_same_games(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(data)
    expected = names_in(folder)
    assert len(expected) == len(FILES)
    for suffix, mode in (("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.xz", "w:xz"),
                         ("tar.bz2", "w:bz2")):  # fmt: skip
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
    with ShardWriter(tmp_path / "set", size=9) as writer:
        writer.add(games[0])
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
    with ShardWriter(tmp_path, size=9) as writer:
        writer.add(random_game(5, length=5))
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
    with ShardWriter(tmp_path, size=9) as writer:
        for i in range(3):
            writer.add(random_game(i, length=8, search=True))
    return tmp_path / "000000"


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


@pytest.mark.parametrize("move", [-1, 82, 500])
def test_moves_off_the_board_are_refused(shard: Path, move: int) -> None:
    moves = np.load(shard / "moves.npy")
    moves[-1] = move
    np.save(shard / "moves.npy", moves)
    with pytest.raises(DataError, match="moves off the board"):
        Shard.open(shard, verify=False)


@pytest.mark.parametrize("offsets", [[0, 30, 8, 24], [0, 8, 16, 23], [1, 8, 16, 24],
                                     [0, 2**63 - 1, -2, 24]])  # fmt: skip
def test_offsets_that_lead_outside_are_refused(shard: Path, offsets: list[int]) -> None:
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


def test_columns_of_unknown_names_are_no_paths(shard: Path) -> None:
    path = shard / "manifest.json"
    values = json.loads(path.read_text())
    values["columns"]["../../moves"] = values["columns"]["moves"]
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match="unknown or missing columns"):
        Shard.open(shard)
