"""What the store gained since schema 1: settings, surplus games, teams, checksums."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from tests.tournaments.test_store import GAMES, INFO, PLAYERS, RESULT

from miai.errors import StoreError
from miai_tournaments.report.report import build_report
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import PlayerRow, ScheduledGame
from miai_tournaments.store.store import Store

SCHEMA_1 = """
PRAGMA application_id = 1835622761;
PRAGMA user_version = 1;
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE players (
    name TEXT PRIMARY KEY, agent TEXT NOT NULL, given TEXT NOT NULL, parameters TEXT NOT NULL
);
CREATE TABLE games (
    game_id TEXT PRIMARY KEY,
    pair_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    players TEXT NOT NULL,
    seed INTEGER NOT NULL,
    opening TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'void')),
    returns TEXT NOT NULL DEFAULT '[]',
    termination TEXT NOT NULL DEFAULT '',
    loser INTEGER,
    detail TEXT NOT NULL DEFAULT '',
    moves INTEGER NOT NULL DEFAULT 0,
    player_moves TEXT NOT NULL DEFAULT '[]',
    seconds TEXT NOT NULL DEFAULT '[]',
    cpu_seconds TEXT NOT NULL DEFAULT '[]',
    wall_seconds REAL NOT NULL DEFAULT 0,
    started TEXT NOT NULL DEFAULT '',
    versions TEXT NOT NULL DEFAULT '{}',
    void_count INTEGER NOT NULL DEFAULT 0,
    void_reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX games_by_status ON games (status, round, pair_id, game_id);
CREATE TABLE records (
    game_id TEXT PRIMARY KEY REFERENCES games (game_id),
    record TEXT NOT NULL
);
INSERT INTO run VALUES ('name', '"test"'), ('seed', '1'), ('rounds', '1'),
    ('game', '"tic_tac_toe"'), ('game_version', '1');
INSERT INTO players VALUES ('a', 'random', '{"x":1}', '{"x":1,"y":2}'),
    ('b', 'random', '{}', '{}');
INSERT INTO games (game_id, pair_id, round, players, seed, opening, status, returns, termination)
VALUES ('a~b~0001a', 'a~b~0001', 1, '["a","b"]', 7, '[4,0]', 'done', '[1.0,-1.0]', 'terminal'),
    ('a~b~0001b', 'a~b~0001', 1, '["b","a"]', 7, '[4,0]', 'pending', '[]', '');
INSERT INTO records VALUES ('a~b~0001a', 'the record');
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.executescript(SCHEMA_1)
        connection.execute("PRAGMA journal_mode = WAL")
    return tmp_path


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        return int(found)


def test_a_store_of_schema_1_is_read_as_it_is(old: Path) -> None:
    before = (old / FILE_NAME).read_bytes()
    with Store.read(old) as store:
        assert store.info() == INFO
        assert store.players() == PLAYERS
        assert [(r.game_id, r.settings, r.status) for r in store.games()] == [
            ("a~b~0001a", {}, "done"),
            ("a~b~0001b", {}, "pending"),
        ]
        assert store.counts() == {"pending": 1, "running": 0, "done": 1, "void": 0}
        assert store.surplus() == []
        assert build_report(store).standings.players["a"].total.wins == 1
    assert (old / FILE_NAME).read_bytes() == before


def test_a_store_of_schema_1_is_upgraded_when_it_is_written_to(old: Path) -> None:
    with Store.read(old) as reader, Store.open(old) as store:
        assert version(old) == 4
        assert [row.game_id for row in reader.results()] == ["a~b~0001a"]
        game = ScheduledGame(
            game_id="x", pair_id="x", round=2, players=("a", "b"), seed=1, settings={"komi": 1}
        )
        store.schedule([game], surplus=["a~b~0001a"], facts={"text": "so it goes"})
        store.extend(INFO, [PlayerRow(name="c", agent="random", team="t")], [])
        assert [p.team for p in store.players()] == ["", "", "t"]
        assert [(r.game_id, r.settings) for r in store.games()][1] == ("x", {"komi": 1})
        assert store.record("a~b~0001a") == "the record"
    with Store.open(old) as store:
        assert [row.game_id for row in store.surplus()] == ["a~b~0001a"]


def test_an_upgrade_that_fails_leaves_the_old_store(old: Path) -> None:
    with closing(sqlite3.connect(old / FILE_NAME)) as connection:
        connection.execute("ALTER TABLE games ADD COLUMN surplus")  # as no version of miai has it
        connection.commit()
    with pytest.raises(StoreError, match="duplicate column name"):
        Store.open(old)
    assert version(old) == 1
    with Store.read(old) as store:
        assert len(store.games()) == 2


def changed(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def with_two_played(folder: Path) -> None:
    with Store.create(folder, INFO, PLAYERS, GAMES) as store:
        store.finish([(game.game_id, RESULT, "r") for game in GAMES[:2]])
        store.schedule(surplus=[GAMES[1].game_id, GAMES[3].game_id])


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("surplus = 1 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'void' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'pending', returns = '[]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("surplus = 0 WHERE game_id = 'a~b~0001b'", "a~b~0001b"),
        ("checksum = NULL WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("void_count = 3 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
    ],
)
def test_a_game_whose_row_was_changed_does_not_fall_out_of_the_results(
    tmp_path: Path, change: str, row: str
) -> None:
    with_two_played(tmp_path)
    changed(tmp_path, f"UPDATE games SET {change}")
    with Store.read(tmp_path) as store:
        for reading in (store.results, lambda: list(store.cells(["returns"]))):
            with pytest.raises(StoreError, match=f"row '{row}': was damaged or changed"):
                reading()


def test_a_record_without_its_checksum_is_refused(tmp_path: Path) -> None:
    with_two_played(tmp_path)
    changed(tmp_path, "UPDATE records SET checksum = NULL")
    with (
        Store.read(tmp_path) as store,
        pytest.raises(StoreError, match=r"'a~b~0001a': was damaged .*its checksum is missing"),
    ):
        store.record("a~b~0001a")


def as_schema_3(folder: Path) -> None:
    """Give a store the checksums of schema 3, of the columns that it named; some rows had none."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        names = (
            "game_id, pair_id, round, players, seed, opening, settings, returns, termination, "
            "loser, detail, moves, player_moves, seconds, cpu_seconds, wall_seconds, started, "
            "versions"
        )
        cells = connection.execute(f"SELECT {names} FROM games WHERE rowid = 1").fetchone()
        text = "\x1f".join(map(str, cells))
        connection.execute("UPDATE games SET checksum = NULL")
        connection.execute(
            "UPDATE games SET checksum = ? WHERE rowid = 1", (zlib.crc32(text.encode()),)
        )
        connection.execute("UPDATE records SET checksum = NULL WHERE rowid = 2")
        connection.execute("PRAGMA user_version = 3")
        connection.commit()


def test_a_store_of_schema_3_is_read_and_its_games_are_sealed(tmp_path: Path) -> None:
    with_two_played(tmp_path)
    with Store.read(tmp_path) as store:
        expected = store.games(), store.surplus(), store.record("a~b~0001b")
    as_schema_3(tmp_path)
    with Store.read(tmp_path) as reader:
        assert (reader.games(), reader.surplus(), reader.record("a~b~0001b")) == expected
        assert [row.game_id for row in reader.results()] == ["a~b~0001a"]
        with Store.open(tmp_path) as store:
            assert version(tmp_path) == 4
            assert (store.games(), store.surplus(), store.record("a~b~0001b")) == expected
            assert [row.game_id for row in reader.results()] == ["a~b~0001a"]
    changed(tmp_path, "UPDATE games SET detail = 'x' WHERE game_id = 'a~b~0001b'")
    with Store.read(tmp_path) as store, pytest.raises(StoreError, match="'a~b~0001b': was damaged"):
        store.results()


def test_a_damaged_store_of_schema_3_is_not_sealed(tmp_path: Path) -> None:
    with_two_played(tmp_path)
    as_schema_3(tmp_path)
    changed(tmp_path, "UPDATE games SET moves = 77 WHERE game_id = 'a~b~0001a'")
    with pytest.raises(StoreError, match="'a~b~0001a': was damaged or changed"):
        Store.open(tmp_path)
    assert version(tmp_path) == 3


def test_a_damaged_game_does_not_become_surplus_with_a_new_checksum(tmp_path: Path) -> None:
    with Store.create(tmp_path, INFO, PLAYERS, GAMES) as store:
        store.finish([(GAMES[0].game_id, RESULT, "r")])
        changed(tmp_path, "UPDATE games SET moves = 77 WHERE game_id = 'a~b~0001a'")
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
        assert not {played, open_} & {r.game_id for r in (*store.games(), *store.unfinished())}
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
