"""Whatever stands in a store's row, the commands tell it in one line or do not need it."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.tournaments.support import change, refused
from tests.whole_texts import assert_expected

from miai.errors import MiaiError, StoreError
from miai_tournaments.config.load import load_tournament
from miai_tournaments.report.live import make_reporter, read_status
from miai_tournaments.report.report import build_report
from miai_tournaments.running.tournament_run import RunOptions, play_tournament, resume_tournament
from miai_tournaments.store import sqlite
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import GameResult, PlayerRow, RunInfo
from miai_tournaments.store.store import Store

RUBBISH = (
    *("", "x", "[1", "null", "[]", "{}", '"x"', "[1]", '["x", null]', "[1e999, 0]", "true"),
    *(-1, 7, 10**18, 1e30, float("inf"), b"\xff", "1e999", "9" * 400, "[" * 5000),
    f"[{10**400}, 0]",
    '{"config": {}, "results": {"tournament": "x"}}',
    '{"config": [], "results": null}',
)
REMEDY = "; restore the file from a copy, or begin a new run in another folder"


@pytest.fixture(scope="module", autouse=True)
def frozen(finished: Path) -> Iterator[None]:
    gc.freeze()  # thousands of collections would look through all that is imported
    yield
    gc.unfreeze()


def _columns() -> Iterator[tuple[str, str, str]]:
    """Yield (table, column, row) of every column; in table ``run`` of every row."""
    for key in RunInfo.__dataclass_fields__:
        yield "run", "value", f"key = '{key}'"
    yield "run", "key", "key = 'seed'"
    for column in PlayerRow.__dataclass_fields__:
        yield "players", column, "rowid = 2"
    for column in (
        "game_id",
        "pair_id",
        "round",
        "players",
        "seed",
        "opening",
        "status",
        "settings",
    ):
        yield "games", column, "rowid = 3"
    for column in (*GameResult.__dataclass_fields__, "void_count", "void_reason"):
        yield "games", column, "rowid = 3"
    for column in ("game_id", "record"):
        yield "records", column, "rowid = 3"


def _status(finished: Path, folder: Path) -> None:
    read_status(folder).to_text()


def _report(finished: Path, folder: Path) -> None:
    with Store.read(folder) as store:
        made = build_report(store)
        made.to_json()
        made.to_text()


def _resume(finished: Path, folder: Path) -> None:
    resume_tournament(folder, RunOptions(make_reporter=make_reporter, executor="serial"))


def _run(finished: Path, folder: Path) -> None:
    options = RunOptions(make_reporter=make_reporter, executor="serial", records=("jsonl",))
    play_tournament(load_tournament(finished.parent / "x.toml"), folder, options)


USES: tuple[Callable[[Path, Path], None], ...] = (_status, _report, _resume, _run)


def _parts() -> Iterator[object]:
    """Yield each column with another quarter of the rubbish than the one before; and with all."""
    for number, place in enumerate(_columns()):
        yield pytest.param(*place, RUBBISH[number % 4 :: 4])
        yield pytest.param(*place, RUBBISH, marks=pytest.mark.soak)


@pytest.mark.parametrize(("table", "column", "row", "rubbishes"), list(_parts()))
def test_garbage_in_a_row_is_reported_unless_unused(
    finished: Path, tmp_path: Path, table: str, column: str, row: str, rubbishes: tuple[object, ...]
) -> None:
    store = tmp_path / FILE_NAME
    for rubbish in rubbishes:
        shutil.copy(finished / FILE_NAME, store)
        change(tmp_path, f"UPDATE {table} SET {column} = ? WHERE {row}", rubbish)
        before = store.read_bytes()
        for use in USES:
            try:
                use(finished, tmp_path)
            except StoreError as error:
                output = str(error)
                assert output.startswith(str(tmp_path)), (rubbish, use, output)
                assert len(output) < 400 + len(str(store)), (rubbish, use, output)
                assert "\n" not in output, (rubbish, use, output)
            except MiaiError:
                pass  # another config, another game: told as such
            gc.collect()  # on Python 3.13 a cursor in an error's traceback keeps the file open
            assert store.read_bytes() == before, (rubbish, use)


def test_a_corrupt_row_is_reported_with_file_row_cause_and_remedy(
    finished: Path, tmp_path: Path
) -> None:
    told = []
    for statement in (
        "UPDATE games SET returns = '[\"x\",null]' WHERE rowid = 3",
        "UPDATE games SET returns = '[1]' WHERE rowid = 3",
        "UPDATE games SET returns = '[]' WHERE rowid = 3",
        "UPDATE games SET players = '[1' WHERE rowid = 3",
        "UPDATE games SET status = 'dun' WHERE rowid = 3",
        "DELETE FROM players WHERE name = 'cid'",
        "DELETE FROM players",
        "DELETE FROM run WHERE key = 'name'",
        "INSERT INTO run VALUES ('colour', '1')",
    ):
        shutil.copy(finished / FILE_NAME, tmp_path)
        change(tmp_path, statement)
        with pytest.raises(StoreError) as caught:
            _report(finished, tmp_path)
        assert str(caught.value).startswith(f"{tmp_path / FILE_NAME}: ")
        assert str(caught.value).endswith(REMEDY)
        told.append(str(caught.value).removesuffix(REMEDY).partition(": ")[2])
    assert_expected("corrupt-rows.txt", "\n".join(told))


def test_damage_in_a_large_file_is_reported_when_it_is_read(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKED_BYTES", 0)
    path, output, whole = tmp_path / FILE_NAME, list[str](), _everything(finished)
    data = (finished / FILE_NAME).read_bytes()
    size = int.from_bytes(data[16:18], "big")
    for place in range(size, len(data), size):
        path.write_bytes(data[:place] + b"\xff" * size + data[place + size :])
        try:
            assert _everything(tmp_path) == whole  # a page of an index that nothing needs
        except StoreError as error:
            output.append(str(error))
    assert len(output) > len(data) // size // 2
    assert all(words.startswith(f"{path}: ") and words.endswith(REMEDY) for words in output)


def _everything(folder: Path) -> tuple[object, ...]:
    with Store.read(folder) as store:
        report = build_report(store, details=True).to_json()
        records = [store.record(row.game_id) for row in store.games()]
        return report, records, store.identities(), store.scores(), store.counts()


@pytest.mark.parametrize(
    "name", [b"CREATE TABLE records", b"CREATE INDEX games", b"NULL,\n    given"]
)
def test_statements_in_the_file_that_are_not_text_are_reported(
    finished: Path, tmp_path: Path, name: bytes
) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    data = (folder / FILE_NAME).read_bytes()
    assert name in data
    (folder / FILE_NAME).write_bytes(data.replace(name, name[:4] + b"\xff" + name[5:]))
    with pytest.raises(StoreError, match=f"{FILE_NAME}: .*{REMEDY}"), Store.open(folder) as store:
        build_report(store)


def test_exporting_a_corrupt_record_reports_it(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / FILE_NAME, tmp_path)
    change(tmp_path, "UPDATE records SET record = 'x' WHERE rowid = 3")
    with pytest.raises(StoreError, match=r"table records, row '\w+~\w+~0001\w': ") as caught:
        _run(finished, tmp_path)
    assert str(caught.value).endswith(REMEDY)


def test_an_invalid_config_is_reported(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / FILE_NAME, tmp_path)
    change(tmp_path, "UPDATE run SET value = '{\"config\": {}}' WHERE key = 'resolved'")
    with pytest.raises(StoreError, match=r"\(config\.tournament: is required\)"):
        _resume(finished, tmp_path)
    with pytest.raises(StoreError, match="value has no key 'results'"):
        _run(finished, tmp_path)


def test_a_wrong_option_of_the_report_is_named_as_it_is_written(finished: Path) -> None:
    output = refused("report", finished, "--anchor", "aan")
    assert output == "miai: --anchor: no player 'aan'. Did you mean 'ann'?\n"
    output = refused("report", finished, "--anchor-elo", "1e9")
    assert output.startswith("miai: --anchor-elo: is 1000000000.0; give a rating within ")
