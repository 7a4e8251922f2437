"""A store in PostgreSQL, on a real server: the same run, one driver at a time, any death."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.seeds import seed_of_test
from tests.tournaments.postgres_server import Server
from tests.tournaments.support import (
    command,
    config_text,
    environment,
    games_of,
    play,
    player,
    tournament,
)

from miai.errors import MiaiError, ParameterError, StoreError
from miai_tournaments.config.load import load_tournament
from miai_tournaments.store import postgres
from miai_tournaments.store import store as store_module
from miai_tournaments.store.folder import ADDRESS_FILE, DRAFT_FILE
from miai_tournaments.store.postgres import PostgresConnection
from miai_tournaments.store.rows import GameResult, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

PLAYERS = (player("ann"), player("bob"), player("deep", "mcts", simulations=5))
GAMES = 12
INFO = RunInfo(name="shared", seed=1, rounds=1, game="tic_tac_toe", game_version=1)
ROWS = [PlayerRow(name=name, agent="random", given={"x": 1}) for name in ("zoe", "ann")]
PAIR = [
    ScheduledGame(
        game_id=f"zoe~ann~0001{letter}",
        pair_id="zoe~ann~0001",
        round=1,
        players=players,
        seed=2**63 - 1,
        opening=(4, 0),
    )
    for letter, players in (("a", ("zoe", "ann")), ("b", ("ann", "zoe")))
]
RESULT = GameResult(returns=(1.0, -1.0), termination="crash", loser=1, detail="a\0b", moves=3)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "x.toml"
    path.write_text(config_text(*PLAYERS, tournament={"rounds": 2}, openings={"random_plies": 1}))
    return path


def test_it_holds_what_the_file_holds(server: Server, tmp_path: Path) -> None:
    found: list[list[Any]] = []
    for name, url in (("file", None), ("shared", server.url)):
        with Store.create(tmp_path / name, INFO, ROWS, PAIR, store=url) as store:
            store.mark_running([PAIR[0].game_id])
            store.finish([(PAIR[0].game_id, RESULT, '{"a": "\\u0000"}')])
            store.void(PAIR[1].game_id, "the worker died")
            store.schedule(surplus=[PAIR[1].game_id], facts={"verdict": "H1"})
            store.extend(INFO, ROWS, PAIR)  # what is there stays
        with Store.read(tmp_path / name) as store:
            found.append(
                [
                    *(store.info(), store.players(), store.games(), store.surplus()),
                    *(store.counts(), store.identities(), store.scores(), store.voided()),
                    store.record(PAIR[0].game_id),
                ]
            )
            with pytest.raises(StoreError, match="no finished game 'nobody'"):
                store.record("nobody")
    assert [row.name for row in found[0][1]] == ["zoe", "ann"], "as they were entered"
    output = [repr(part).replace("\\x00", "\ufffd") for part in found[0]]
    assert [repr(part) for part in found[1]] == output


@pytest.mark.slow
def test_a_run_is_that_of_the_file_and_resumes(
    server: Server, config: Path, tmp_path: Path
) -> None:
    seed = seed_of_test()
    rng = random.Random(seed)
    shared, plain = tmp_path / "shared", tmp_path / "plain"
    for _ in range(2):  # the driver is killed; the server gives its lock back
        again = (shared / ADDRESS_FILE).exists()
        words = ["resume", str(shared)] if again else ["run", str(config), "--out", str(shared)]
        process = subprocess.Popen(
            [*command(*words), *(() if again else ("--store", server.url))],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(rng.uniform(0.5, 2.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    tournament("run", config, "--out", shared, "--store", server.url)
    tournament("run", config, "--out", plain)
    assert not list(shared.glob("*.sqlite"))
    assert len(games_of(plain)) == GAMES
    assert games_of(shared) == games_of(plain)
    reports = [
        json.loads(tournament("report", folder, "--json").stdout) for folder in (shared, plain)
    ]
    assert reports[0]["crosstable"] == reports[1]["crosstable"]
    address = json.loads((shared / ADDRESS_FILE).read_text())
    count = server.psql(
        f"SELECT count(*), count(DISTINCT game_id) FROM {address['schema']}.records"
    )
    assert count == f"{GAMES}|{GAMES}"


def test_one_driver_at_a_time(server: Server, tmp_path: Path) -> None:
    with Store.create(tmp_path / "one", INFO, ROWS, PAIR, store=server.url):
        with pytest.raises(StoreError, match="another driver is running it"):
            Store.open(tmp_path / "one")
        with Store.read(tmp_path / "one") as reader:
            assert reader.counts()["pending"] == len(PAIR)
        with Store.create(tmp_path / "two", INFO, ROWS, PAIR, store=server.url):
            pass  # another run of the same database
    with Store.open(tmp_path / "one"):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("made", [True, False])
def test_a_driver_killed_at_start_leaves_a_known_run(
    made: bool, server: Server, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after it has said what it makes: with the schema made, or before."""
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        where: Any = store_module if made else PostgresConnection
        patched.setattr(
            where, "keep_draft" if made else "create_tables", Mock(side_effect=KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            play(load_tournament(config), folder, store=server.url)
    drafted = address_in(folder, DRAFT_FILE)
    if made:
        play(load_tournament(config), folder)
        assert address_in(folder) == drafted
    else:
        play(load_tournament(config), folder, store=server.url)
        assert address_in(folder) != drafted
    assert not (folder / DRAFT_FILE).exists()
    assert len(games_of(folder)) == GAMES


def address_in(folder: Path, name: str = ADDRESS_FILE) -> dict[str, str]:
    address: dict[str, str] = json.loads((folder / name).read_text())
    return address


def test_a_server_crash_leaves_whole_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_PAUSES", (0.1, 0.2))
    own = Server()
    try:
        store = Store.create(tmp_path / "run", INFO, ROWS, PAIR, store=own.url)
        store.finish([(PAIR[0].game_id, RESULT, "{}")])
        own.kill()
        with pytest.raises(StoreError, match=r"not answered for 0\.3 s; see that"):
            store.finish([(PAIR[1].game_id, RESULT, "{}")])
        with pytest.raises(StoreError, match="check the server"):
            Store.open(tmp_path / "run")
        store.close()
        own.start()
        with Store.open(tmp_path / "run") as again:
            assert {row.game_id for row in again.results()} == {PAIR[0].game_id}
            again.finish([(PAIR[1].game_id, RESULT, "{}")])
            assert again.counts()["done"] == len(PAIR)
    finally:
        own.close()


@pytest.mark.slow
def test_a_store_outlives_a_restart_of_its_server(tmp_path: Path) -> None:
    own = Server()
    try:
        with Store.create(tmp_path / "run", INFO, ROWS, PAIR, store=own.url) as store:
            own.kill()
            restart = threading.Timer(2.0, own.start)
            restart.start()
            store.finish([(PAIR[0].game_id, RESULT, "{}")])
            restart.join()
            assert [row.game_id for row in store.results()] == [PAIR[0].game_id]
            with pytest.raises(StoreError, match="another driver is running it"):
                Store.open(tmp_path / "run")  # it has its lock again
            own.kill()
            own.start()
            assert store.counts()["done"] == 1
    finally:
        own.close()


def test_a_run_that_is_gone_or_of_another_schema_is_refused(server: Server, tmp_path: Path) -> None:
    with Store.create(tmp_path / "run", INFO, ROWS, PAIR, store=server.url):
        schema = address_in(tmp_path / "run")["schema"]
    server.psql(f"UPDATE {schema}.about SET version = 99")
    with pytest.raises(
        StoreError, match="has schema 99 of a newer miai, but this one reads schema"
    ):
        Store.read(tmp_path / "run")
    server.psql(f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(StoreError, match=r"postgres \(\S+\): no longer contains a tournament"):
        Store.read(tmp_path / "run")


@pytest.mark.parametrize(
    "url", ["mysql://a@b/c", "postgresql://", "postgresql:///x y", "http://a", "", "--help"]
)
def test_invalid_addresses_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(
        MiaiError, match=r"not the address of a database|lacks a host or a database|no store is"
    ):
        Store.create(tmp_path / "run", INFO, ROWS, PAIR, store=url)
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_is_refused(config: Path, tmp_path: Path) -> None:
    url = "postgresql://me@127.0.0.1:9/x"
    done = tournament("run", config, "--out", tmp_path / "run", "--store", url, status=2)
    assert "check the server and your rights" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "starting" not in done.stdout, "it is refused before the players are started"
    assert not (tmp_path / "run" / ADDRESS_FILE).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"url": "postgresql://a@b/c", "schema": "public"}',
        '{"url": "file:///x", "schema": "miai_x"}',
        '{"url": "postgresql://a@b/c", "schema": "miai_x; DROP TABLE y"}',
        '{"url": 3, "schema": "miai_x"}',
        "[" * 100_000,
    ],
)
def test_a_file_with_other_content_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text(text)
    with pytest.raises(StoreError, match="is not the address of a store"):
        Store.read(tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@h/x",
        "postgresql://me:se/cret@h/x",
        "postgresql://me:sec@ret@h/x",
        "postgresql://me:@h/x",
        "postgresql://h/x?user=me&password=secret",
        "postgresql://h:secret/x",
    ],
)
def test_a_password_is_refused_and_not_shown(url: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"PGPASSWORD|malformed") as caught:
        Store.create(tmp_path / "run", INFO, ROWS, PAIR, store=url)
    assert "sec" not in str(caught.value)
    assert "cret" not in str(caught.value)
    assert not (tmp_path / "run").exists()
