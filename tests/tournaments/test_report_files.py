"""Reports as files and as a page, and the commands that write them."""

from __future__ import annotations

import csv
import io
import itertools
import re
import webbrowser
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.pages import read_page
from tests.tournaments.support import store_of
from tests.tournaments.test_many_players import INFO as POKER
from tests.tournaments.test_many_players import row as ranked_row
from tests.tournaments.test_many_players import rows as payoff_rows
from tests.tournaments.test_report import (
    HOSTILE,
    INFO,
    game,
    keys_of,
    match_games,
    round_robin,
    small_tournament,
    some_results,
)
from tests.whole_texts import assert_report, assert_transcript, refusal, table_of

from miai.errors import ConfigError
from miai.pages.charts import Scale, ticks
from miai.pages.replay_frames import WORLDS
from miai_tournaments.commands.report import (
    ReportRequest,
    build,
    parse_request,
    write,
    write_replay,
)
from miai_tournaments.report import replays
from miai_tournaments.report.details import build_details, parameter_series
from miai_tournaments.report.rating_tables import shade
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.report.report_files import csv_files, report_page
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo
from miai_tournaments.store.store import Store


@pytest.mark.parametrize("detail", ["=1+1", "+1", "-1", "@x", "\tx", 'a "b", c\nd'])
def test_no_cell_of_csv_is_a_formula(detail: str) -> None:
    rows = [game(0, "a", "b", 1, termination="crash", detail=detail)]
    (line,) = csv.DictReader(io.StringIO(csv_files(build_report(rows))["games.csv"]))
    assert line["detail"].lstrip("'") == detail
    assert not line["detail"].startswith(("=", "+", "-", "@", "\t", "\r"))


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


# -- the page: its numbers are those of the JSON, and names in it are inert ------------------------


ATTACKS = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style></script><h1>",
    "a' onmouseover='x",
    "javascript:alert(1)",
    "<!--",
    "]]>",
    "&lt;b&gt;&#60;",
    "\u202eevil\u202c",
    "n" * 40,
)


def made(rows: list[GameRow], info: RunInfo = INFO, **options: Any) -> TournamentReport:
    return build_report(rows, info=info, details=True, **options)


@pytest.mark.parametrize("text", [*ATTACKS, *HOSTILE])
def test_hostile_texts_are_inert(text: str) -> None:
    rows = [
        replace(game(0, text, "b", -1, termination="crash", detail=text), opening=(1,)),
        replace(game(1, "b", text, 1, termination=text), settings={text: text}),
        replace(game(2, "b", text, 0), void_count=1, void_reason=text),
        game(3, "b", "c", 1),
        game(4, "c", text, 1),
    ]
    if text == "b":
        pytest.skip("the other player's name")
    facts = {"text": text, "ranking": [text], "kind": text}
    info = replace(INFO, name=text, game=text, config_text=text, config_path=text, facts=facts)
    report = made(rows, info)
    html = report_page(report, replays=rows[:1])
    page = read_page(html)
    html.encode("utf-8")
    assert len(list(page.all("script"))) == 1
    assert page.one("h1").children
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", html)


def test_the_page_has_no_network_address() -> None:
    html = report_page(made(small_tournament()))
    assert "http" not in html.replace("http-equiv", "")
    assert "//" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


@pytest.mark.parametrize("curve", [None, 3, [], [[1, 2]], [[1, "x"], [2, 1]], [[1, 2, 3]] * 3])
def test_an_empty_curve_is_omitted(curve: object) -> None:
    facts = {"kind": "sprt", "llr": 0.1, "lower": -1.0, "upper": 1.0, "curve": curve}
    report = replace(build_report(round_robin(2), details=True), info=replace(INFO, facts=facts))
    assert report.details is not None
    report = replace(report, details=replace(report.details, facts=facts))
    section = read_page(report_page(report)).one("section", id="format")
    assert len(list(section.all("svg"))) == 1


def test_a_series_is_of_the_one_number_in_which_players_of_an_agent_differ() -> None:
    sizes = {"a": 100, "b": 1, "c": 10, "d": 10, "e": 1000}
    entered = [
        PlayerRow(
            name=name,
            agent="mcts",
            parameters={"reuse": name != "d", "huge": 1e300, "size": size, "rate": 0.5},
        )
        for name, size in sizes.items()
    ]
    another = {"size": 10, "rate": float("nan")}
    entered.append(PlayerRow(name="f", agent="another", parameters=another))
    [group] = parameter_series(entered)
    assert (group.agent, group.parameter) == ("mcts", "size")
    assert list(group.players.items()) == [(1, "b"), (10, "c"), (100, "a"), (1000, "e")]
    assert parameter_series(entered[:2]) == []


def test_ticks_are_round_and_within() -> None:
    for low, high in ((-203.0, 411.0), (0.0, 1.0), (0.0, 7.0), (1e-5, 3e-5), (5.0, 5.0)):
        found = ticks(low, high)
        assert 1 <= len(found) <= 7
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
        steps = {round((b - a) / (high - low), 9) for a, b in itertools.pairwise(found)}
        assert len(steps) <= 1


def test_scales_and_shades_keep_within_their_ends() -> None:
    scale = Scale(0, 10, 100, 200)
    assert [scale(value) for value in (-5, 0, 5, 10, 15)] == [100, 100, 150, 200, 200]
    assert [shade(score) for score in (0.0, 0.5, 1.0)] == [0, 4, 8]


def test_every_key_of_the_details_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    text = page.read_text(encoding="utf-8").partition("`details` has")[2]
    rows = [replace(row, opening=(i % 2,)) for i, row in enumerate(round_robin(4, rounds=2))]
    details: Any = made(rows).to_json()["details"]
    tally = {"games", "wins", "draws", "losses", "score"}
    free = ("terminations.", "format.")
    for key in keys_of(details):
        if not key.startswith(free) and (last := key.rsplit(".", 1)[-1]) not in tally:
            assert f"`{last}`" in text, key


# -- whole reports in every format: of a league, a match, payoffs and rankings ---------------------


RESULTS = {
    "adjudication": {"hold_out": 0.25, "order": ["score", "length"]},
    "openings": {"lines": [[0], [1], [2]], "names": ["corner", "", "corner"]},
}


@pytest.mark.slow
def test_a_league_with_openings_settings_teams_and_a_table(tmp_path: Path) -> None:
    rows = [
        replace(
            row,
            game_id=f"g{n}",
            pair_id=f"p{n // 2}",
            opening=(n % 3,),
            settings={"komi": 6.5} if n % 4 else {},
            seconds=(1 + n / 10, 5.0),
            moves=50 + n,
            detail="by hand" if n % 5 else "",
            status="pending" if n % 9 == 8 else "done",
        )
        for n, row in enumerate(round_robin(6))
    ]
    names = [f"agent-{n}" for n in range(6)]
    players = [
        PlayerRow(name=name, agent="mcts", team="odd" if n % 2 else "", given=size, parameters=size)
        for n, name in enumerate(names)
        for size in [{"size": 10**n}]
    ]
    table: list[object] = [
        {"name": name, "points": n / 2 or "many", "buchholz": n} for n, name in enumerate(names)
    ]
    ranking = [*names[::-1], "gone"]  # a store may be foreign
    facts = {"kind": "swiss", "ranking": ranking, "standings": [*table, "stray"]}
    info = replace(INFO, facts=facts, resolved={**INFO.resolved, "results": RESULTS})
    with store_of(tmp_path / "run", info, players, rows) as store:
        report = build_report(
            store,
            details=True,
            superiority=True,
            bootstrap=20,
            bootstrap_seed=1,
            anchor=names[0],
            anchor_elo=1500.0,
        )
    assert_report("league", report, tmp_path)


def test_a_match_with_its_test(tmp_path: Path) -> None:
    llr: dict[str, Any] = {"llr": 1.25, "lower": -2.94, "upper": 2.94, "verdict": None, "pairs": 3}
    llr["curve"] = [[1, -0.5], [2, 0.25], [3, 1.25]]
    facts = {"kind": "sprt", "text": "undecided so far", **llr}
    rows = match_games(some_results(12))
    report = build_report(rows, info=replace(INFO, facts=facts), details=True, bootstrap=20)
    assert_report("match", report, tmp_path)


def detailed(rows: Sequence[GameRow], info: RunInfo, *teams: str) -> TournamentReport:
    """Return a report with details of these players, each with its team."""
    players = [
        PlayerRow(name=name, agent="mcts", team=team, given=size, parameters=size)
        for n, (name, team) in enumerate(zip(("ann", "bob", "cid"), teams, strict=False))
        for size in [{"size": 3 - n}]
    ]
    report = build_report(rows, info=info, players=[player.name for player in players])
    found = build_details(report, rows, players=players)
    return replace(report, details=found, entered=players)


def test_payoffs_with_a_team(tmp_path: Path) -> None:
    games = [("ann", "bob", 1.0), ("bob", "ann", -1.0), ("bob", "cid", 2.0), ("cid", "bob", 1.5)]
    rows = payoff_rows(*games, ("ann", "cid", 1.0), ("cid", "ann", 4.0), *games)
    facts = {"kind": "payoff-test", "text": "undecided", "limit_h0": 2.9, "limit_h1": 3.1}
    curves = [[[1, 0.1], [2, 0.3], [3, 0.2]], [[1, -0.1], [2, -0.3], [3, 0.4]]]
    info = replace(POKER, facts={**facts, "curves": curves})
    assert_report("payoffs", detailed(rows, info, "blue", "", "blue"), tmp_path)


def test_rankings_of_three(tmp_path: Path) -> None:
    seatings = (("ann", "bob", "cid"), ("bob", "cid", "ann"), ("cid", "ann", "bob"))
    returns = ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.0, 3.0, 1.0), (1.0, 0.0, 0.5))
    rows = [
        ranked_row(seatings[n % 3], values, n // 3) for n, values in enumerate([*returns, *returns])
    ]
    rows[3] = replace(rows[3], termination="crash", loser=1, detail="out of memory")
    facts = {"ranking": ["bob", "ann"], "parameters": {"bob": {"size": 2, "deep": True}}}
    info = RunInfo(name="three", seed=1, rounds=1, game="pig", game_version=1, facts=facts)
    assert_report("rankings", detailed(rows, info, "", "red", "red"), tmp_path)


def test_no_games_yet(tmp_path: Path) -> None:
    assert_report("empty", build_report([], info=INFO, players=["a", "b"], details=True), tmp_path)
