"""Reports as files, and the commands that write them."""

from __future__ import annotations

import csv
import io
import json
import re
import webbrowser
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.support import store_of
from tests.tournaments.test_report import INFO, game, small_tournament
from tests.whole_texts import assert_transcript, refusal, table_of

from miai.errors import ConfigError
from miai.pages.replay_frames import WORLDS
from miai_tournaments.commands.report import (
    ReportRequest,
    build,
    parse_request,
    write,
    write_replay,
)
from miai_tournaments.report import replays
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import csv_files, write_parquet
from miai_tournaments.store.rows import PlayerRow
from miai_tournaments.store.store import Store


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


def requested(**given: Any) -> tuple[Any, ...] | None:
    """Return what is to be written for some options of the command; None to print the report."""
    options = dict.fromkeys(("as_json", "format", "out", "replays", "open_page"))
    request = parse_request(**{**options, **given})
    return None if request is None else astuple(request)


def test_the_options_say_what_is_written() -> None:
    page = Path("x.html")
    assert requested() == requested(as_json=True) is None
    assert requested(format="csv", open_page=False) == ("csv", None, 0, False)
    assert requested(out=page, open_page=True) == ("html", page, 0, True)
    assert requested(replays="all", open_page=False) == ("html", None, None, False)
    assert requested(replays="004", format="html", open_page=True) == ("html", None, 4, True)


def test_contradictory_options_are_refused() -> None:
    def answer(line: str) -> str:
        return refusal(lambda: requested(**table_of(line)))

    assert_transcript("report-options.txt", answer)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are opened; there is no browser."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_files_are_written_printed_and_opened(
    tmp_path: Path,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[tuple[str, int, str]] = []

    def replay_of(store: Store, game_id: str, *, worlds: int = WORLDS, report: str = "") -> str:
        made.append((game_id, worlds, report))
        return "<p>a replay"

    monkeypatch.setattr(replays, "replay_of", replay_of)
    rows = [game(n, "a" if n % 2 else "b", "b" if n % 2 else "a", 1) for n in range(12)]
    players = [PlayerRow(name=name, agent="random") for name in "ab"]
    with store_of(tmp_path, INFO, players, rows) as store:
        report = build(store, details=True)
        write_replay(store, "g003", out=None, worlds=None, open_page=True)
        request = ReportRequest(format="html", out=None, replays=10, open_page=True)
        write(store, report, request)
        write(store, report, replace(request, out=tmp_path / "x", replays=0, open_page=False))
        write_replay(store, "g005", out=tmp_path / "y", worlds=7, open_page=False)
        with pytest.raises(ConfigError, match=r"^GAME_ID g03: .* game\. Did you mean 'g003'"):
            replays.record_of(store, "g03")
        with pytest.raises(ConfigError, match=r"^--anchor-elo: is nan; give"):
            build(store, anchor="a", anchor_elo=float("nan"))
    folder = tmp_path / "report"
    first = [f"g{n:03}" for n in range(10)]
    beside = [(name, WORLDS, "../index.html") for name in first]
    assert made == [("g003", WORLDS, ""), *beside, ("g005", 7, "")]
    assert sorted(path.stem for path in (folder / "replays").iterdir()) == first
    assert (folder / "replays" / "g003.html").read_text() == "<p>a replay"
    links = re.findall(r'href="(replays/[^"]+)"', (folder / "index.html").read_text())
    assert links == [f"replays/{name}.html" for name in first]
    assert "replays/" not in (tmp_path / "x").read_text()
    out, err = capsys.readouterr()
    pages = [folder / "replays" / "g003.html", folder / "index.html"]
    files = [*pages, tmp_path / "x", tmp_path / "y"]
    kinds = ("Replay", "Report", "Report", "Replay")
    assert out.splitlines() == [f"{k}: {path}" for k, path in zip(kinds, files, strict=True)]
    none = [f"miai: no browser was found here; open {page} in one" for page in pages]
    lines = [f"replay {n} of 10: {name}" for n, name in enumerate(first, start=1)]
    assert err.splitlines() == [none[0], *lines, none[1]]
    assert opened == [page.as_uri() for page in pages]
