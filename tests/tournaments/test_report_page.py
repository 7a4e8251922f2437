"""The report as a page: its numbers are those of the JSON, and names in it are inert."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.pages import read_page
from tests.tournaments.test_report import (
    HOSTILE,
    INFO,
    game,
    keys_of,
    round_robin,
    small_tournament,
)

from miai.pages.charts import Scale, ticks
from miai_tournaments.report.details import parameter_series
from miai_tournaments.report.rating_tables import shade
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.report.report_files import report_page
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo

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
            name=name, agent="mcts", parameters={"size": size, "reuse": name != "d", "rate": 0.5}
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
