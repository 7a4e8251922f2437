"""Reports as files, and the commands that write them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournaments.pages import read_page
from tests.tournaments.support import config_text, player, refused, tournament
from tests.tournaments.test_report import game, small_tournament

from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import csv_files, write_parquet
from miai_tournaments.store.store import Store


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of tic-tac-toe: three players, six games."""
    folder = tmp_path_factory.mktemp("report")
    config = folder / "c.toml"
    players = (player("ann", "mcts", simulations=20), player("bob"), player("cid"))
    config.write_text(config_text(*players, tournament={"rounds": 1}, run={"workers": 1}))
    tournament("run", config, "--out", folder / "run")
    return folder / "run"


@pytest.mark.parametrize("detail", ["=1+1", "+1", "-1", "@x", "\tx", 'a "b", c\nd'])
def test_no_cell_of_csv_is_a_formula(detail: str) -> None:
    rows = [game(0, "a", "b", 1, termination="crash", detail=detail)]
    (line,) = csv.DictReader(io.StringIO(csv_files(build_report(rows))["games.csv"]))
    assert line["detail"].lstrip("'") == detail
    assert not line["detail"].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_parquet_has_every_column_of_every_game(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [replace(row, settings={"komi": 5.5}, opening=(3, 4)) for row in small_tournament()]
    write_parquet(rows, tmp_path / "games.parquet")
    for read, row in zip(
        parquet.read_table(tmp_path / "games.parquet").to_pylist(), rows, strict=True
    ):
        for name, value in read.items():
            expected = getattr(row, name)
            if name in ("settings", "versions"):
                assert json.loads(value) == expected
            else:
                assert value == (list(expected) if isinstance(expected, tuple) else expected), name
    write_parquet([], tmp_path / "none.parquet")
    assert parquet.read_table(tmp_path / "none.parquet").num_rows == 0


def test_markdown_escapes_names() -> None:
    rows = [game(0, "a|b`*_<i>[x](y)", "b", 1, termination="crash", detail="<script>|")]
    hostile = build_report(rows, details=True).to_markdown()
    assert r"a\|b\`\*\_\<i\>\[x\](y)" in hostile
    for table in hostile.split("\n\n"):
        lines = [line.replace(r"\|", "") for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1, table


@pytest.mark.slow
def test_every_format_is_written_by_the_command(run: Path, tmp_path: Path) -> None:
    printed = json.loads(tournament("report", run, "--json").stdout)
    done = tournament("report", run, "--format", "json", "--out", tmp_path / "r.json")
    assert str(tmp_path / "r.json") in done.stdout
    written = json.loads((tmp_path / "r.json").read_text())
    assert {key: value for key, value in written.items() if key != "details"} == printed
    tournament("report", run, "--format", "csv")
    assert (run / "report" / "csv" / "games.csv").read_text().count("\n") == 7


@pytest.mark.slow
def test_a_page_links_to_the_replays_that_were_written(run: Path) -> None:
    done = tournament("report", run, "--replays", "4", "--open", env=_without_browser())
    assert "no browser" in done.stderr
    page = read_page(run / "report" / "index.html")
    links = [a.attributes["href"] for a in page.one("section", id="replays").all("a")]
    assert len(links) == 4
    with Store.read(run) as store:
        known = {row.game_id: row.players for row in store.results()}
    found = [Path(link).stem for link in links]
    assert len({known[name] for name in found}) == 4  # as many pairings as can be
    for link in links:
        replay = read_page(run / "report" / link)
        assert "../index.html" in {a.attributes["href"] for a in replay.all("a")}


@pytest.mark.slow
def test_contradictory_options_are_refused(run: Path) -> None:
    assert "Did you mean 'html'" in refused("report", run, "--format", "htm")
    assert "--json" in refused("report", run, "--json", "--open")
    assert "--replays x" in refused("report", run, "--replays", "x")
    assert "--open" in refused("report", run, "--open", "--format", "csv")
    assert "--anchor" in refused("report", run, "--format", "html", "--anchor", "zoe")


def _without_browser() -> dict[str, str]:
    from tests.tournaments.support import environment

    values = environment(PATH="/nonexistent", BROWSER="")
    return {
        key: value for key, value in values.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")
    }
