"""A run as tables: what its store and its records say, in cells without lists and tables."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournaments.test_report import INFO, game

import miai
from miai.errors import MissingExtraError, StoreError
from miai.plugins.extras import install_line
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import write_report
from miai_tournaments.store.rows import GameResult, PlayerRow, ScheduledGame
from miai_tournaments.store.store import Store

PLAYERS = (
    PlayerRow(name="deep", agent="ismcts", parameters={"simulations": 5, "prior": {"c": [1, 2.5]}}),
    PlayerRow(name="flat", agent="random", parameters={"simulations": 0.5}, team="+t"),
)
GAMES = (
    replace(game(0, "deep", "flat", 1), opening=(4, 2), settings={"ante": 2}),
    replace(game(1, "flat", "deep", 0), settings={"ante": "none"}, cpu_seconds=(None, 0.5)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two games of Kuhn poker, in which cards are dealt, and one to be played."""
    folder = tmp_path_factory.mktemp("run")
    poker = miai.load_game("kuhn_poker")
    agents = {"deep": miai.make_agent("ismcts", poker, simulations=5, seed=1)}
    agents["flat"] = miai.make_agent("random", poker, seed=2)
    pending = ScheduledGame(game_id="z", pair_id="z", round=9, players=("deep", "flat"), seed=1)
    names, results = ScheduledGame.__dataclass_fields__, GameResult.__dataclass_fields__
    games = [ScheduledGame(**{name: getattr(row, name) for name in names}) for row in GAMES]
    with Store.create(folder, INFO, PLAYERS, [*games, pending]) as store:
        for row in GAMES:
            result = GameResult(**{name: getattr(row, name) for name in results})
            record = miai.play(poker, [agents[name] for name in row.players], seed=3)
            for player, name in zip(record.players, row.players, strict=True):
                player.name = name
            record.moves[-1].statistics = {**record.moves[-1].statistics, "huge": 2**70}
            store.finish([(row.game_id, result, record.to_json_lines())])
    return folder


def test_tables_say_what_the_store_and_its_records_say(folder: Path) -> None:
    run = miai.tournaments.open_run(folder)
    moves = iter(run.moves)
    for row in GAMES:
        with Store.read(folder) as store:
            lines = store.record(row.game_id).splitlines()
        for line in map(json.loads, lines[1:-1]):
            found = next(moves)
            for name in ("ply", "actor", "action", "text", "opening", "seconds"):
                assert found[name] == line[name], name
            assert found["player"] == ([*row.players, None][line["actor"]])
            value, huge = (line["statistics"].get(name) for name in ("value", "huge"))
            assert found["statistics.value"] == value
            assert found["statistics.huge"] == (huge and str(huge)), "too large for 64 bits"
    assert next(moves, None) is None
    assert {found["actor"] for found in run.moves} == {-1, 0, 1}

    first, second, third = run.games
    assert (first["players.0"], first["returns.1"], first["opening"]) == ("deep", -1.0, "4 2")
    assert (first["settings.ante"], second["settings.ante"]) == ("2", "none")
    assert (second["cpu_seconds.0"], second["cpu_seconds.1"]) == (None, 0.5)
    assert (third["status"], third["returns.0"]) == ("pending", None)
    columns = run.players.columns
    assert (columns["parameters.simulations"], columns["parameters.prior.c.1"]) == (float, float)
    assert run.record(GAMES[0].game_id).moves[0].actor == -1
    with pytest.raises(StoreError):
        run.record("z")


def test_arrow_parquet_and_csv_have_the_same_cells(folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    run = miai.tournaments.open_run(folder)
    for table in (run.games, run.moves, run.players):
        rows, made = list(table), table.to_arrow()
        assert made.to_pylist() == rows
        assert {str(t) for t in made.schema.types} <= {"string", "int64", "double", "bool"}
    with Store.read(folder) as store:
        report = build_report(store, details=True)
    assert 'srcdoc="&lt;!' in report._repr_html_()  # in a notebook
    games = write_report(report, folder, "parquet", out=tmp_path / "games.parquet")
    moves = list(run.moves)
    read = parquet.read_table(games.with_name("moves.parquet"))
    assert read.to_pylist() == moves
    write_report(report, folder, "csv", out=tmp_path / "csv")
    cells = [cell["text"] for cell in csv.DictReader((tmp_path / "csv" / "moves.csv").open())]
    assert cells == [move["text"] for move in moves]
    run.players.write_csv(tmp_path / "players.csv")
    teams = [cell["team"] for cell in csv.DictReader((tmp_path / "players.csv").open())]
    assert teams == ["", "'+t"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_frames_have_the_same_cells(kind: str, folder: Path) -> None:
    pytest.importorskip(kind)
    run = miai.tournaments.open_run(folder)
    for table in (run.games, run.moves, run.players):
        frame = getattr(table, f"to_{kind}")()
        rows = frame.to_dict("records") if kind == "pandas" else frame.to_dicts()
        cells = [[str(cell).replace("<NA>", "None") for cell in row.values()] for row in rows]
        assert cells == [[str(cell) for cell in row.values()] for row in table]


@pytest.mark.parametrize(
    ("module", "method", "extra"),
    [("pyarrow", "arrow", "parquet"), ("pandas", "pandas", "pandas"), ("polars",) * 3],
)
def test_an_absent_library_is_named_with_the_line_that_installs_it(
    module: str, method: str, extra: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        getattr(miai.tournaments.open_run(folder).players, f"to_{method}")()
    assert f"needs {module}" in str(caught.value)
    assert install_line(f"miai[{extra}]") in str(caught.value)
