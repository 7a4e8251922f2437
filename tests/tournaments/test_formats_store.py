"""Settings, surplus games, teams and checksums in the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tournaments.support import change
from tests.tournaments.test_store import GAMES, INFO, PLAYERS, RESULT

from miai.errors import StoreError
from miai_tournaments.report.report import build_report
from miai_tournaments.store.store import Store


def with_two_played(folder: Path) -> None:
    with Store.create(folder, INFO, PLAYERS, GAMES) as store:
        store.finish([(game.game_id, RESULT, "r") for game in GAMES[:2]])
        store.schedule(surplus=[GAMES[1].game_id, GAMES[3].game_id])


@pytest.mark.parametrize(
    ("setting", "row"),
    [
        ("surplus = 1 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'void' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("status = 'pending', returns = '[]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("surplus = 0 WHERE game_id = 'a~b~0001b'", "a~b~0001b"),
        ("checksum = NULL WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("void_count = 3 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("players = '[\"b\",\"a\"]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("returns = '[0.5,-0.5]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("seed = 7, moves = 8, round = 2 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("opening = '[1]' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("termination = 'move-limit' WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
        ("wall_seconds = 0.25 WHERE game_id = 'a~b~0001a'", "a~b~0001a"),
    ],
)
def test_a_game_whose_row_was_changed_does_not_fall_out_of_the_results(
    tmp_path: Path, setting: str, row: str
) -> None:
    with_two_played(tmp_path)
    change(tmp_path, f"UPDATE games SET {setting}")
    with Store.read(tmp_path) as store:
        for reading in (store.results, lambda: list(store.cells(["returns"]))):
            with pytest.raises(StoreError, match=f"row '{row}': was damaged or changed"):
                reading()


def test_a_record_without_its_checksum_is_refused(tmp_path: Path) -> None:
    with_two_played(tmp_path)
    change(tmp_path, "UPDATE records SET checksum = NULL")
    with (
        Store.read(tmp_path) as store,
        pytest.raises(StoreError, match=r"'a~b~0001a': was damaged .*its checksum is missing"),
    ):
        store.record("a~b~0001a")


def test_a_damaged_game_does_not_become_surplus_with_a_new_checksum(tmp_path: Path) -> None:
    with Store.create(tmp_path, INFO, PLAYERS, GAMES) as store:
        store.finish([(GAMES[0].game_id, RESULT, "r")])
        change(tmp_path, "UPDATE games SET moves = 77 WHERE game_id = 'a~b~0001a'")
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
        assert not {played, open_} & {*store.unfinished(), *(r.game_id for r in store.games())}
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
