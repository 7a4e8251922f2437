from __future__ import annotations

import io
import json
import math
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.tournaments.support import change, store_of
from tests.whole_texts import assert_expected

from miai.errors import StoreError
from miai.pages.document import printable
from miai.record import Termination
from miai_tournaments.report import standings as module
from miai_tournaments.report.head_to_head import head_to_head
from miai_tournaments.report.rating_tables import crosstable
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import Standings, count_games, count_store
from miai_tournaments.store.rows import GameResult, GameRow, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

quick = settings(max_examples=40, deadline=None)

INFO = RunInfo(
    name="quickstart",
    seed=7,
    rounds=2,
    game="go",
    game_version=1,
    game_parameters={"board_size": 9, "komi": 7.5, "rules": "tromp-taylor", "handicap": None},
    resolved={
        "config": {
            "game": {
                "name": "go",
                "parameters": {"rules": "tromp-taylor", "board_size": 9, "handicap_points": []},
            }
        }
    },
    created="2025-11-21T02:23:45+00:00",
)


def game(
    number: int,
    first: str,
    second: str,
    result: int,
    *,
    termination: str = "terminal",
    detail: str = "",
    worth: float = 1.0,
) -> GameRow:
    """Return a finished game; `result` is 1, 0 or -1 for the first player."""
    faulty = termination not in ("terminal", "move-limit", "adjudication", "agreement")
    return GameRow(
        game_id=f"g{number:03}",
        pair_id=f"pair-{number // 2}",
        round=1 + number // 6,
        players=(first, second),
        seed=number,
        status="done",
        returns=(worth * result, -worth * result),
        termination=termination,
        loser=(0 if result < 0 else 1) if faulty else None,
        detail=detail,
        moves=50 + number,
        player_moves=(25, 25),
        seconds=(2.5, 5.0),
        cpu_seconds=(2.25, 4.5),
        wall_seconds=8.0,
        started=f"2025-11-21T02:24:{number:02}+00:00",
        versions={"miai": "0.1.0", "python": "3.11.7"},
    )


def small_tournament() -> list[GameRow]:
    """Return two rounds of three players, one game still to come and one void."""
    crash = "process died of signal 9"
    rows = [
        game(0, "fast-random", "mcts-400", -1),
        game(1, "mcts-400", "fast-random", 1, termination="resignation"),
        game(2, "fast-random", "mcts-100", -1),
        game(3, "mcts-100", "fast-random", -1, termination="crash", detail=crash),
        game(4, "mcts-100", "mcts-400", 0),
        game(5, "mcts-400", "mcts-100", 1),
        game(6, "fast-random", "mcts-400", -1),
        game(7, "mcts-400", "fast-random", 1),
        game(8, "fast-random", "mcts-100", -1, termination="resignation"),
        game(9, "mcts-100", "fast-random", 1),
    ]
    void = replace(game(10, "mcts-100", "mcts-400", 0), status="void", void_count=1)
    pending = replace(game(11, "mcts-400", "mcts-100", 0), status="pending")
    return [*rows, replace(void, void_reason="the worker died"), pending]


def test_the_text_of_a_small_report() -> None:
    report = build_report(small_tournament(), info=INFO)
    assert_expected("quickstart.txt", report.to_text(80))


# -- figures ----------------------------------------------------------------------------------

PLAYERS = ("ada", "bob", "cyd", "dan")
results = st.tuples(
    st.sampled_from(PLAYERS),
    st.sampled_from(PLAYERS),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([str(termination) for termination in Termination]),
).filter(lambda result: result[0] != result[1])
tournaments = st.lists(results, max_size=30).map(
    lambda drawn: [
        game(i, a, b, result, termination="terminal" if result == 0 else termination)
        for i, (a, b, result, termination) in enumerate(drawn)
    ]
)


@quick
@given(tournaments)
def test_totals_crosstable_colours_and_terminations_agree_with_a_recount(
    rows: list[GameRow],
) -> None:
    document: Any = build_report(rows, players=PLAYERS).to_json()
    counted: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        signs = [int(math.copysign(1, r)) if r else 0 for r in row.returns]
        for seat, name in enumerate(row.players):
            outcome = {1: "wins", 0: "draws", -1: "losses"}[signs[seat]]
            side = ("as_first", "as_second")[seat]
            counted[name, outcome] += 1
            counted[name, side, outcome] += 1
            counted[name, row.players[1 - seat], outcome] += 1
            counted[name, row.termination, outcome] += 1
    for entry in document["players"]:
        name = entry["name"]
        for outcome in ("wins", "draws", "losses"):
            assert entry[outcome] == counted[name, outcome]
            for side in ("as_first", "as_second"):
                assert entry[side][outcome] == counted[name, side, outcome]
            for kind in map(str, Termination):
                ended = entry["terminations"].get(kind, {outcome: 0})
                assert ended[outcome] == counted[name, kind, outcome]
        games = sum(counted[name, outcome] for outcome in ("wins", "draws", "losses"))
        assert entry["games"] == games
        if games:
            points = counted[name, "wins"] + counted[name, "draws"] / 2
            assert entry["score"] == pytest.approx(points / games)
    for cell in document["crosstable"]:
        for outcome in ("wins", "draws", "losses"):
            assert cell[outcome] == counted[cell["player"], cell["opponent"], outcome]
    assert sum(cell["games"] for cell in document["crosstable"]) == 2 * len(rows)
    forfeits = [row for row in rows if row.loser is not None and row.termination != "resignation"]
    assert [forfeit["game_id"] for forfeit in document["forfeits"]] == [
        row.game_id for row in forfeits
    ]


@pytest.mark.slow
@quick
@given(tournaments)
def test_a_report_can_always_be_written(rows: list[GameRow]) -> None:
    report = build_report(rows, players=PLAYERS, superiority=True, bootstrap=5)
    json.dumps(report.to_json(), allow_nan=False)
    assert report.to_text(80)
    Console(file=io.StringIO(), width=80).print(report.render(80))


def test_statuses_and_void_attempts_are_counted() -> None:
    document: Any = build_report(small_tournament()).to_json()
    games = document["games"]
    assert (games["scheduled"], games["done"], games["pending"], games["void"]) == (12, 10, 1, 1)
    assert games["void_attempts"] == 1
    assert document["voids"] == [{"game_id": "g010", "attempts": 1, "reason": "the worker died"}]


def test_many_forfeits_are_cut_in_the_text_only() -> None:
    rows = [game(i, "a", "b", 1, termination="time") for i in range(30)]
    report = build_report(rows)
    document: Any = report.to_json()
    assert len(document["forfeits"]) == 30
    text = report.to_text()
    assert text.count("lost to a by time") == 10
    assert "and 20 more" in text


def test_groups_and_one_sided_results_are_reported() -> None:
    apart = build_report([game(0, "a", "b", 1), game(1, "c", "d", 1)])
    assert "No games link these groups" in apart.to_text()
    swept = build_report([game(0, "a", "b", 1), game(1, "b", "a", -1)])
    assert "rests on the prior: a; b." in " ".join(swept.to_text().split())


# -- what a report is made from ---------------------------------------------------------------


def test_mixed_settings_are_reported_with_the_ratings() -> None:
    apart = "strength and the worth of moving first cannot be told apart"
    fixed = [game(n, "ada", "bob", 1 if n % 3 else -1) for n in range(6)]
    assert apart in " ".join(build_report(fixed).to_text().split())
    assert apart not in " ".join(build_report(small_tournament()).to_text().split())
    listed = [{"first": "ada"}, *[{"settings": {"komi": 0.5, "handicap": 3}}] * 2, {"settings": {}}]
    info = replace(INFO, format={"name": "pairings", "pairings": listed})
    output = "games with parameters of their own, too: komi 0.5, handicap 3."
    assert output in " ".join(build_report(fixed, info=info).to_text().split())
    assert "of their own" not in build_report(fixed, info=INFO).to_text()


def test_a_store_and_its_games_give_one_report(tmp_path: Path) -> None:
    rows, names = small_tournament(), ("fast-random", "mcts-400", "mcts-100", "newcomer")
    players = [PlayerRow(name=name, agent="a") for name in names]
    with store_of(tmp_path, INFO, players, rows) as store:
        store.void("g010", "the worker died")
        stored = build_report(store)
    given = build_report(rows, info=INFO, players=names)
    bare = replace(stored, entered=())  # a store alone knows what plays under a name
    assert bare.to_json() == given.to_json()
    assert bare.to_text() == given.to_text()
    assert given.ranking()[-1] == "newcomer"


@pytest.mark.parametrize(
    "row",
    [
        replace(game(0, "a", "b", 1), players=("a", "b", "c"), returns=(1.0, 0.0)),
        replace(game(0, "a", "b", 1), players=("a",), returns=(1.0,)),
        replace(game(0, "a", "b", 1), returns=()),
    ],
)
def test_a_game_without_two_players_and_a_return_of_each_is_refused(row: GameRow) -> None:
    with pytest.raises(StoreError, match="game 'g000' has"):
        build_report([row])


# -- layout -----------------------------------------------------------------------------------


def round_robin(players: int, rounds: int = 1) -> list[GameRow]:
    rng = np.random.default_rng(players)
    names = [f"agent-{i}" for i in range(players)]
    kinds = [str(termination) for termination in Termination if termination != "agreement"]
    rows: list[GameRow] = []
    for _ in range(rounds):
        for a in names:
            for b in names:
                if a != b:
                    result = int(rng.integers(-1, 2))
                    kind = kinds[int(rng.integers(len(kinds)))] if result else "terminal"
                    rows.append(replace(game(0, a, b, result, termination=kind), game_id="g"))
    return rows


@pytest.mark.parametrize("players", [2, 5, 12, pytest.param(100, marks=pytest.mark.slow)])
def test_lines_fit_the_width(players: int) -> None:
    report = build_report(round_robin(players), info=INFO)
    for width in (60, 80, 132):
        for line in report.to_text(width).splitlines():
            assert cell_len(line) <= width, line
        out = io.StringIO()
        Console(file=out, width=width).print(report.render(width))
        for line in out.getvalue().splitlines():
            assert cell_len(line) <= width, line


@pytest.mark.slow
def test_a_crosstable_too_large_is_left_out_and_said_so() -> None:
    text = build_report(round_robin(60)).to_text(80)
    assert "Crosstable: left out for 60 players" in text
    assert "row against the column" not in text
    idle = [f"idle-{n}" for n in range(100)]
    table = crosstable(build_report(count_games(round_robin(3), players=idle)))
    assert table.title.endswith("row against the column, the first 100 of 103 players")
    assert (len(table.rows), len(table.columns)) == (100, 2 + 100)


def test_a_large_crosstable_comes_in_two_parts() -> None:
    text = build_report(round_robin(20)).to_text(80)
    assert text.count("Crosstable: score of the row against the column in %") == 2
    assert "column in %, continued\n" in text
    heads = [line.split() for line in text.splitlines() if line.startswith(" #  player")]
    columns = [["#", "player", *map(str, part)] for part in (range(1, 11), range(11, 21))]
    assert [head for head in heads if head[-1].isdigit()] == columns


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "[bold red]markup[/]",
    "[/]",
    "right-to-\u202eleft",
    "zero\u200bwidth\u2066",
    "z" + "\u0301" * 500,
    "lone \ud800 surrogate",
    "囲碁の強いソフトウェアその一二三四五六七八九",
    "x" * 10_000,
    "\u0301",
    "",
    "\x00",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(name: str) -> None:
    rows = [game(0, name, "b", -1, termination="crash", detail=name), game(1, "b", name, 1)]
    report = build_report(rows, info=replace(INFO, name=name, game=name))
    text = report.to_text(80)
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=True, color_system=None).print(report.render(80))
    for line in text.splitlines() + out.getvalue().replace("\x1b[1m", "").splitlines():
        assert cell_len(line) <= 80
    assert harmless(text)
    assert not name.startswith("[") or (name in text and name in out.getvalue())  # no markup
    text.encode("utf-8")
    document: Any = report.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert name in {player["name"] for player in document["players"]}


def harmless(text: str) -> bool:
    """Return whether nothing in a text controls a terminal, and no marks pile up in it."""
    categories = [unicodedata.category(character) for character in text]
    marks = [category in ("Mn", "Me") for category in categories]
    piled = any(marks[i] and marks[i + 1] and marks[i + 2] for i in range(len(marks) - 2))
    controls = zip(text, categories, strict=True)
    return not piled and all(c == "\n" or category[0] != "C" for c, category in controls)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.integers(1, 30))
def test_printable_text_is_one_harmless_line_within_its_limit(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert shown
    assert harmless(shown)
    assert "\n" not in shown
    assert unicodedata.category(shown[0]) not in ("Mn", "Me")
    assert cell_len(shown) <= limit
    assert printable(shown, limit) == shown


def test_ordinary_names_are_left_alone() -> None:
    for name in ("mcts-400", "GNU Go 3.8", "Ünïcødé", "囲碁", "नमस्ते", "שלום"):
        assert printable(name, 24) == name


# -- the JSON is documented -------------------------------------------------------------------


def keys_of(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        own = {f"{path}.{key}".lstrip(".") for key in value}
        return own.union(*(keys_of(item, f"{path}.{key}") for key, item in value.items()))
    if isinstance(value, list) and value:
        return keys_of(value[0], path)
    return set()


def test_every_key_of_the_json_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    text = page.read_text(encoding="utf-8")
    report = build_report(small_tournament(), info=INFO, superiority=True, bootstrap=10)
    free = ("game_parameters.", "time_control.", "versions.", "terminations.")
    for key in keys_of(report.to_json()):
        if not any(part in f"{key}." and not key.endswith(part[:-1]) for part in free):
            assert f"`{key.rsplit('.', 1)[-1]}`" in text, key


# -- a match of two players is reported as their difference ----------------------------------------


def match_games(
    results: list[tuple[int, int]], players: tuple[str, str] = ("new", "base")
) -> list[GameRow]:
    """Return pairs of games; results are for the first of `players`, who begins the first game."""
    one, other = players
    rows = []
    for number, (begins, replies) in enumerate(results):
        rows.append(game(2 * number, one, other, begins))
        rows.append(game(2 * number + 1, other, one, -replies))
    return [replace(row, pair_id=f"pair-{i // 2}") for i, row in enumerate(rows)]


def some_results(pairs: int, *, seed: int = 3) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.choice([1, 1, 0, -1]), rng.choice([1, 0, 0, -1])) for _ in range(pairs)]


def test_the_first_player_entered_has_the_point_of_view() -> None:
    rows = match_games([(1, 1), (1, 0), (1, -1)])
    ahead = head_to_head(build_report(rows, players=("new", "base")))
    behind = head_to_head(build_report(rows, players=("base", "new")))
    assert ahead is not None
    assert behind is not None
    assert ahead.pentanomial == (0, 0, 1, 1, 1)
    assert behind.pentanomial == (1, 1, 1, 0, 0)
    assert ahead.difference.value == pytest.approx(-behind.difference.value)
    assert ahead.difference.value > 0
    assert ahead.superiority == pytest.approx(1 - behind.superiority)


def test_a_game_without_its_other_half_is_not_in_a_pair() -> None:
    match = head_to_head(build_report(match_games([(1, 1), (0, 0)])[:-1]))
    assert match is not None
    assert (match.pentanomial, match.unpaired) == ((0, 0, 0, 0, 1), 1)
    assert match.results.games == 3


def test_others_are_no_match() -> None:
    rows = match_games(some_results(5))
    assert head_to_head(build_report(small_tournament())) is None
    assert head_to_head(build_report(rows, players=("new", "base", "third"))) is None
    assert head_to_head(build_report(rows, anchor="base")) is None
    assert head_to_head(build_report([], players=("new", "base"))) is None
    pending = [replace(row, status="pending") for row in rows]
    assert head_to_head(build_report(pending)) is None


@pytest.mark.parametrize("names", [("new", "base"), ("base", "new")])
def test_a_store_counts_the_same_pairs(tmp_path: Path, names: tuple[str, str]) -> None:
    rows = match_games(some_results(12))[:-1]
    players = [PlayerRow(name=name, agent="random") for name in names]
    with store_of(tmp_path, replace(INFO, game="tic_tac_toe"), players, rows) as store:
        by_column, by_row = count_store(store), count_games(rows, players=names)
    assert by_column.pairs == by_row.pairs
    assert {pair: asdict(tally) for pair, tally in by_column.pairs.items()}
    assert sum(tally.games for tally in by_column.pairs.values()) == 23


# -- a store counted by column adds up to the same as its rows; what is odd is told by row ---------


COUNTED = RunInfo(name="x", seed=1, rounds=1, game="tic_tac_toe", game_version=1)
NAMES = ("ann", "bob", "cid")
times = st.floats(0, 1e6, allow_nan=False)
any_results = st.builds(
    GameResult,
    returns=st.sampled_from([(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0), (2.5, -2.5), (1, -1)]),
    termination=st.sampled_from([str(ending) for ending in Termination]),
    moves=st.integers(0, 500),
    player_moves=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    seconds=st.tuples(times, times),
    cpu_seconds=st.tuples(st.none() | times, st.none() | times),
    wall_seconds=times,
    started=st.sampled_from(["", "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"]),
    versions=st.sampled_from([{}, {"miai": "1"}, {"miai": "2", "numpy": "3"}]),
)
games = st.lists(
    st.tuples(st.permutations(NAMES).map(lambda names: tuple(names[:2])), st.none() | any_results),
    max_size=40,
)


def stored(folder: Path, output: Iterable[tuple[tuple[str, ...], GameResult | None]]) -> Store:
    rows = [
        (
            ScheduledGame(
                game_id=f"g{number}", pair_id=f"p{number}", round=1, players=players, seed=number
            ),
            result,
        )
        for number, (players, result) in enumerate(output)
    ]
    players = [PlayerRow(name=name, agent="random") for name in NAMES]
    store = Store.create(folder, COUNTED, players, [row for row, _ in rows])
    store.finish((row.game_id, result, "{}") for row, result in rows if result is not None)
    for row, result in rows[::7]:
        if result is None:
            store.void(row.game_id, "gone")
    store.schedule(surplus=[row.game_id for row, _ in rows[5::9]])
    return store


def plain(standings: Standings) -> dict[str, Any]:
    """Return standings to be compared: sums of floats are rounded, rows in any order."""
    values = asdict(standings)
    for name in ("voids", "forfeits"):
        values[name] = sorted(row.game_id for row in getattr(standings, name))
    values["pairings"] = {str(key): asdict(t) for key, t in standings.pairings.items()}
    values["statuses"] = dict(standings.statuses)
    values["lengths"] = (standings.lengths.total, standings.lengths.count)
    for standing in values["players"].values():
        for mean in ("seconds", "cpu_seconds", "returns"):
            output = standing[mean]
            standing[mean] = (pytest.approx(output["total"], rel=1e-9, abs=1e-9), output["count"])
    return values


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(output=games)
def test_columns_add_up_to_what_rows_do(
    output: list[tuple[tuple[str, ...], GameResult | None]],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHUNK", 7)
    with stored(tmp_path_factory.mktemp("store") / "x", output) as store:
        by_rows = count_games(store.games(), players=NAMES)
        monkeypatch.setattr(module, "count_games", None)  # by columns, or not at all
        by_columns = count_store(store)
        monkeypatch.undo()
    assert plain(by_columns) == plain(by_rows)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("returns", "[1.0]"),
        ("returns", '["1", "2"]'),
        ("returns", "[1e400, 0]"),
        ("players", '["ann", "eve"]'),
        ("players", "3"),
        ("seconds", "[1.0, -2.0]"),
        ("seconds", "[1.0, 2.0], [3.0, 4.0]"),
        ("seconds", "[NaN, 2.0]"),
        ("seconds", "["),
        ("cpu_seconds", "[true, {}]"),
        ("player_moves", "[1.5, 2]"),
        ("moves", "many"),
    ],
)
def test_odd_values_are_reported_by_row(column: str, value: str, tmp_path: Path) -> None:
    result = GameResult(
        returns=(1.0, -1.0),
        termination="terminal",
        moves=3,
        player_moves=(2, 1),
        seconds=(0.1, 0.2),
        cpu_seconds=(0.1, None),
    )
    stored(tmp_path / "x", [(("ann", "bob"), result)] * 3).close()
    change(tmp_path / "x", f"UPDATE games SET {column} = ? WHERE game_id = 'g1'", value)
    with Store.read(tmp_path / "x") as store, pytest.raises(StoreError, match="row 'g1'"):
        count_store(store)
