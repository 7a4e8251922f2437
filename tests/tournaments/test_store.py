"""The store: results are committed whole, and nothing foreign is ever touched."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournaments.support import change

from miai.errors import StoreError
from miai_tournaments.report.report import build_report
from miai_tournaments.store import sqlite
from miai_tournaments.store.address import settle_draft
from miai_tournaments.store.folder import (
    DRAFT_FILE,
    FILE_NAME,
    STOP,
    ask,
    locked,
    refuse_foreign,
    runner_of,
)
from miai_tournaments.store.row_checks import checks_of, row_values
from miai_tournaments.store.rows import GameResult, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

INFO = RunInfo(name="test", seed=1, rounds=1, game="tic_tac_toe", game_version=1)
PLAYERS = [
    PlayerRow(name="a", agent="random", given={"x": 1}, parameters={"x": 1, "y": 2}),
    PlayerRow(name="b", agent="random"),
]
GAMES = [
    ScheduledGame(
        game_id=f"a~b~000{number}{suffix}",
        pair_id=f"a~b~000{number}",
        round=number,
        players=seats,
        seed=2**63 - number,
        opening=(4, 0),
    )
    for number in (1, 2)
    for suffix, seats in (("a", ("a", "b")), ("b", ("b", "a")))
]
RESULT = GameResult(
    returns=(1.0, -1.0),
    termination="crash",
    loser=1,
    detail="agent 'b': RuntimeError",
    moves=5,
    player_moves=(3, 2),
    seconds=(0.5, 0.25),
    cpu_seconds=(0.25, None),
    wall_seconds=1.5,
    started="2026-01-01T00:00:00+00:00",
    versions={"miai": "0.1.0"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Store.create(tmp_path / "run", INFO, PLAYERS, GAMES).close()
    return tmp_path / "run"


def test_the_schedule_is_read_back(folder: Path) -> None:
    with Store.read(folder) as store:
        assert store.info() == replace(INFO, scheduled=4)
        assert store.players() == PLAYERS
        rows = store.games()
        assert [(r.game_id, r.players, r.seed, r.opening) for r in rows] == [
            (g.game_id, g.players, g.seed, g.opening) for g in GAMES
        ]
        assert store.counts() == {"pending": 4, "running": 0, "done": 0, "void": 0}
        assert store.rows(store.unfinished()) == rows
        assert store.results() == []


def test_a_result_is_committed_with_its_record(folder: Path) -> None:
    with Store.open(folder) as store:
        store.mark_running([GAMES[0].game_id, GAMES[1].game_id])
        store.finish([(GAMES[0].game_id, RESULT, "the record\n")])
        store.release()
    with Store.read(folder) as store:
        (row,) = store.results()
        assert row.game_id == GAMES[0].game_id
        for name in RESULT.__dataclass_fields__:
            assert getattr(row, name) == getattr(RESULT, name)
        assert store.record(row.game_id) == "the record\n"
        assert store.counts() == {"pending": 3, "running": 0, "done": 1, "void": 0}
        with pytest.raises(StoreError, match="no finished game"):
            store.record(GAMES[1].game_id)


def test_all_results_of_a_commit_are_there_or_none(folder: Path) -> None:
    results = [(game.game_id, RESULT, "r") for game in GAMES]

    def interrupted() -> Iterator[tuple[str, GameResult, str]]:
        yield from results[:-1]
        raise KeyboardInterrupt

    with Store.open(folder) as store:
        with pytest.raises(KeyboardInterrupt):
            store.finish(interrupted())
        assert store.results() == []
        store.finish(results)
        assert len(store.results()) == 4


def test_of_two_results_of_a_game_the_first_stays(folder: Path) -> None:
    second = replace(RESULT, detail="the second")
    with Store.open(folder) as store:
        store.finish([(GAMES[0].game_id, RESULT, "first")])
        store.finish([(GAMES[0].game_id, second, "second"), (GAMES[1].game_id, RESULT, "r")])
        assert [row.detail for row in store.results()] == [RESULT.detail] * 2
        assert store.record(GAMES[0].game_id) == "first"


def test_a_game_that_is_done_stays_done(folder: Path) -> None:
    with Store.open(folder) as store:
        store.finish([(GAMES[0].game_id, RESULT, "r")])
        store.void(GAMES[0].game_id, "late")
        store.mark_running([GAMES[0].game_id])
        store.extend(INFO, PLAYERS, GAMES)
        assert [row.game_id for row in store.results()] == [GAMES[0].game_id]
        assert store.results()[0].void_count == 0


def test_void_attempts_are_counted(folder: Path) -> None:
    with Store.open(folder) as store:
        store.void(GAMES[0].game_id, "the worker died")
        store.void(GAMES[0].game_id, "again")
        (row,) = store.voided()
        assert (row.status, row.void_count, row.void_reason) == ("void", 2, "again")
        assert store.unfinished()[0] == row.game_id
        assert store.rows([*store.unfinished()[::-1]])[-1] == row


def test_a_reader_may_look_while_a_writer_writes(folder: Path) -> None:
    with Store.open(folder) as writer, Store.read(folder) as reader:
        writer.finish([(GAMES[0].game_id, RESULT, "r")])
        assert reader.counts()["done"] == 1
        with pytest.raises(StoreError, match="readonly"):
            reader.release()


def test_a_second_store_is_not_made_over_the_first(folder: Path) -> None:
    with pytest.raises(StoreError, match="already contains a tournament"):
        Store.create(folder, INFO, PLAYERS, [])
    with Store.read(folder) as store:
        assert len(store.games()) == 4


def _other_program(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE games (id)")
    connection.close()


def _pragma(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA {statement}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    return change


def _damaged(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        for page in range(1, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 64)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (_folder, "is a folder, but should be the store of a tournament"),
    "pipe": (_pipe, "is a pipe or a device"),
    "text": (lambda path: path.write_text("no database" * 50), "is not an SQLite file"),
    "empty": (lambda path: path.write_bytes(b""), "is cut short"),
    "other program": (_other_program, "another program"),
    "newer": (_pragma("user_version = 99"), "schema 99 of a newer miai"),
    "older": (_pragma("user_version = 0"), "schema 0 of an older miai"),
    "damaged": (_damaged, "restore the file"),
    "truncated": (lambda path: os.truncate(path, 4096), "restore the file"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("use", [Store.read, Store.open])
def test_a_damaged_store_is_refused_and_left_alone(
    folder: Path, kind: str, use: Callable[[Path], Store]
) -> None:
    spoil, message = UNUSABLE[kind]
    path = folder / FILE_NAME
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError, match=message) as caught:
        use(folder)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_missing_store_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="miai tournament run"):
        Store.read(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_last_to_close_leaves_one_file(folder: Path) -> None:
    with Store.open(folder) as writer, Store.read(folder) as reader:
        writer.finish([(GAMES[0].game_id, RESULT, "r")])
        assert reader.counts()["done"] == 1
    with Store.read(folder) as reader, Store.read(folder) as other:
        assert reader.counts() == other.counts()
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]
    with Store.read(folder) as reader:
        assert reader.counts()["done"] == 1


def test_an_unfinished_store_is_not_a_store(tmp_path: Path) -> None:
    """A process that dies while it makes a store leaves a draft, which the next one replaces."""

    def interrupted() -> list[ScheduledGame]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.create(tmp_path, INFO, PLAYERS, (g for _ in "x" for g in interrupted()))
    assert not (tmp_path / FILE_NAME).exists()
    (tmp_path / f"{FILE_NAME}.new-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 64)
    refuse_foreign(tmp_path)
    Store.create(tmp_path, INFO, PLAYERS, GAMES).close()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("three years of work")
    with pytest.raises(StoreError, match=r"thesis\.tex"):
        refuse_foreign(tmp_path)
    with pytest.raises(StoreError, match="is a file"):
        refuse_foreign(tmp_path / "thesis.tex")
    refuse_foreign(tmp_path / "absent")


HOLD = """
import sys, time
from pathlib import Path
from miai_tournaments.store.folder import locked
with locked(Path(sys.argv[1])) as lock:
    print("held", flush=True)
    while not lock.stop_asked():
        time.sleep(0.01)
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_one_runner_at_a_time_and_its_lock_dies_with_it(tmp_path: Path) -> None:
    assert runner_of(tmp_path) is None
    process = hold(tmp_path)
    try:
        with pytest.raises(StoreError, match=f"process {process.pid} .*miai tournament stop"):
            locked(tmp_path).__enter__()
        assert f"process {process.pid} " in str(runner_of(tmp_path))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert runner_of(tmp_path) is None
    with locked(tmp_path) as lock:
        assert not lock.stop_asked()
        assert runner_of(tmp_path) is not None


def test_a_runner_is_asked_to_stop_and_no_later_one(tmp_path: Path) -> None:
    assert ask(tmp_path, STOP) is None
    assert list(tmp_path.iterdir()) == []
    process = hold(tmp_path)
    kept = tmp_path / "kept"
    process.send_signal(signal.SIGSTOP)  # it must not obey before the file is copied
    assert f"process {process.pid} " in str(ask(tmp_path, STOP))
    shutil.copy(tmp_path / "stop", kept)
    process.send_signal(signal.SIGCONT)
    assert process.wait(20) == 0
    process.communicate()
    assert not (tmp_path / "stop").exists()
    kept.rename(tmp_path / "stop")  # as if the runner had died before it looked
    with locked(tmp_path) as lock:
        assert not lock.stop_asked()


def test_a_draft_that_is_half_written_is_dropped(tmp_path: Path) -> None:
    (tmp_path / DRAFT_FILE).write_text('{"url": "post')
    settle_draft(tmp_path)
    assert not (tmp_path / DRAFT_FILE).exists()


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"x+: cannot be read: File name too long"):
        refuse_foreign(tmp_path / ("x" * 300))


@pytest.mark.parametrize(("value", "good"), [(0, True), (0.5, True), (-0.5, False), (-1, False)])
def test_no_duration_is_negative(value: float, good: bool) -> None:
    check = {"wall_seconds": checks_of(GameResult)["wall_seconds"]}
    with nullcontext() if good else pytest.raises(ValueError, match="wall_seconds is -"):
        row_values("games", check, [value])


@pytest.mark.parametrize(
    ("seed", "good"), [(0, True), (2**128 - 1, True), (-1, False), (2**128, False), (0.0, False)]
)
def test_the_seed_of_a_run_has_128_bits(seed: object, good: bool) -> None:
    check = {"seed": checks_of(RunInfo)["seed"]}
    with nullcontext() if good else pytest.raises(ValueError, match="seed is "):
        row_values("run", check, [seed])


def test_the_settings_of_listed_pairings_are_named_once() -> None:
    pairings = [{"settings": {"komi": 0.5}}, {"settings": {"komi": 0.5}}, {}, {"settings": {}}]
    info = replace(INFO, format={"pairings": [*pairings, {"settings": {"komi": 7.5}}]})
    assert info.pairing_settings() == [{"komi": 0.5}, {"komi": 7.5}]


COUNT = """
import sqlite3, sys
from contextlib import closing
with closing(sqlite3.connect(sys.argv[1])) as reader:
    print(reader.execute("SELECT count(*) FROM rows").fetchone()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system cannot be asked")
def test_reading_beside_a_writer_keeps_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer's locks outlast the reading ahead."""
    monkeypatch.setattr(sqlite, "LARGE", 1)
    path = tmp_path / "store"

    def rows() -> int:
        command = [sys.executable, "-c", COUNT, str(path)]
        return int(subprocess.run(command, capture_output=True, check=True).stdout)

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE rows (number)")
        thread = sqlite.read_ahead(path)
        assert thread is not None
        thread.join(10)
        assert rows() == 0
        writer.execute("INSERT INTO rows VALUES (1)")
        assert rows() == 1


# -- settings, surplus games, teams and checksums --------------------------------------------------


def with_two_played(folder: Path) -> None:
    with Store.create(folder, INFO, PLAYERS, GAMES) as store:
        store.finish([(game.game_id, RESULT, "r") for game in GAMES[:2]])
        store.schedule(surplus=[GAMES[1].game_id, GAMES[3].game_id])


@pytest.mark.parametrize(
    ("setting", "row"),
    [
        ("surplus = 1 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'void' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'pending', returns = '[]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("surplus = 0 WHERE game_id = 'a~b~0001b'", "a~b~0001b"),
        ("checksum = NULL WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("void_count = 3 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("players = '[\"b\",\"a\"]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("returns = '[0.5,-0.5]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("seed = 7, moves = 8, round = 2 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("opening = '[1]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("termination = 'move-limit' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("wall_seconds = 0.25 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
    ],
)
def test_a_game_whose_row_was_changed_does_not_fall_out_of_the_results(
    tmp_path: Path, setting: str, row: str
) -> None:
    with_two_played(tmp_path)
    change(tmp_path, f"UPDATE games SET {setting}")
    with Store.read(tmp_path) as store:
        for reading in (store.results, lambda: list(store.cells(["returns"]))):
            with pytest.raises(StoreError, match=f"row '{row}': was damaged or changed"):
                reading()


def test_a_record_without_its_checksum_is_refused(tmp_path: Path) -> None:
    with_two_played(tmp_path)
    change(tmp_path, "UPDATE records SET checksum = NULL")
    with (
        Store.read(tmp_path) as store,
        pytest.raises(StoreError, match=r"'a~b~0001a': was damaged .*its checksum is missing"),
    ):
        store.record("a~b~0001a")


def test_a_damaged_game_does_not_become_surplus_with_a_new_checksum(tmp_path: Path) -> None:
    with Store.create(tmp_path, INFO, PLAYERS, GAMES) as store:
        store.finish([(GAMES[0].game_id, RESULT, "r")])
        change(tmp_path, "UPDATE games SET moves = 77 WHERE game_id = 'a~b~0001a'")
        with pytest.raises(StoreError, match="'a~b~0001a': was damaged or changed"):
            store.schedule(surplus=[GAMES[0].game_id])


def test_surplus_games_are_kept_and_count_nowhere(tmp_path: Path) -> None:
    with Store.create(tmp_path, INFO, PLAYERS, GAMES) as store:
        played, open_ = GAMES[0].game_id, GAMES[1].game_id
        store.finish([(played, RESULT, "r")])
        store.schedule(surplus=[played, open_])
        store.schedule(surplus=[played, open_])
        assert store.counts() == {"pending": 2, "running": 0, "done": 0, "void": 0}
        assert [r.status for r in store.surplus()] == ["surplus"] * 2
        assert [r.returns for r in store.surplus()] == [RESULT.returns, ()]
        assert not {played, open_} & {*store.unfinished(), *(r.game_id for r in store.games())}
        assert store.results() == []
        assert store.scores() == {played: RESULT.returns}
        assert store.record(played) == "r"
        assert store.identities() == {game.game_id for game in GAMES}
        assert build_report(store).standings.statuses == {"pending": 2}


def test_a_format_s_decision_is_written_atomically(tmp_path: Path) -> None:
    with Store.create(tmp_path, INFO, PLAYERS, GAMES[:2]) as store:
        with pytest.raises(StoreError):
            store.schedule(GAMES[2:], facts={"llr": float("nan")})
        assert len(store.games()) == 2
        assert store.info().facts == {}
        store.schedule(GAMES, facts={"text": "x"})
        assert len(store.games()) == 4
        assert store.info().facts == {"text": "x"}
