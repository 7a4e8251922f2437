"""A store counted by column adds up to the same as its rows; what is odd is told by row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tournaments.support import change

from miai.errors import StoreError
from miai.record import Termination
from miai_tournaments.report import standings as module
from miai_tournaments.report.standings import Standings, count_games, count_store
from miai_tournaments.store.rows import GameResult, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

INFO = RunInfo(name="x", seed=1, rounds=1, game="tic_tac_toe", game_version=1)
NAMES = ("ann", "bob", "cid")
times = st.floats(0, 1e6, allow_nan=False)
results = st.builds(
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
    st.tuples(st.permutations(NAMES).map(lambda names: tuple(names[:2])), st.none() | results),
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
    store = Store.create(folder, INFO, players, [row for row, _ in rows])
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
