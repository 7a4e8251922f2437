"""The configs that users start from are sound."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tournaments.support import CONFIGS, games_of, tournament

from miai_tournaments.config.load import load_tournament
from miai_tournaments.store.store import Store

NAMES = sorted(
    path.name
    for path in CONFIGS.glob("*.toml")
    if "[tournament]" in path.read_text("utf-8").splitlines()
)


def test_there_are_configs() -> None:
    assert {"quickstart.toml", "phantom.toml", "gnugo.toml", "swiss.toml", "sweep.toml"} <= set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_config_is_valid_and_named_after_its_file(name: str) -> None:
    tournament = load_tournament(CONFIGS / name)
    assert tournament.config.tournament.name == Path(name).stem


@pytest.mark.slow
def test_phantom_is_played_to_its_end(tmp_path: Path) -> None:
    """A game of imperfect information in the same tournament as any other."""
    out = tmp_path / "out"
    tournament("run", CONFIGS / "phantom.toml", "--out", out, "--set", "rounds=3", "--workers", 1)
    with Store.read(out) as store:
        rows = store.results()
        assert len(rows) == 18
        assert {row.termination for row in rows} == {"terminal"}
        assert '"observations":{' in store.record(rows[0].game_id)
    assert len(games_of(out)) == 18


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adaptive", "widest interval: "),
        pytest.param(
            "pig", "The seats are worth, in Elo beyond their mean: ", marks=pytest.mark.soak
        ),
        ("match-sprt", "SPRT of mcts-16 against mcts-4: "),
        ("poker", "test of ismcts against random: H1 accepted, a mean payoff above 0 after "),
        pytest.param("swiss", "after 4 rounds: ", marks=pytest.mark.soak),
        pytest.param("sweep", "best variant: mcts.", marks=pytest.mark.soak),
    ],
)
def test_a_format_s_config_is_played_to_its_end(name: str, text: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = tournament("run", CONFIGS / f"{name}.toml", "--out", out, "--workers", 1)
    assert f"\n{text}" in done.stdout
    with Store.read(out) as store:
        assert store.info().facts.get("text", text) in done.stdout
        assert store.unfinished() == []


@pytest.mark.soak
@pytest.mark.engine("gnugo")
def test_gnu_go_plays_a_match(tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = (
        *("--set", "rounds=1", "--set", "game.board_size=7"),
        *("--set", "players[mcts-10000].simulations=200"),
    )
    tournament("run", CONFIGS / "gnugo.toml", "--out", out, *settings, "--records", "sgf")
    with Store.read(out) as store:
        rows = store.results()
        assert len(rows) == 6
        assert {row.termination for row in rows} <= {"terminal", "resignation"}
        assert not store.voided()
        engines = [row for row in rows if "gnugo-1" in row.players]
        assert len(engines) == 4
        assert all(None not in row.cpu_seconds for row in engines)
    assert len(list((out / "records").glob("*.sgf"))) == 6
    assert all((out / "logs" / row.game_id).is_dir() for row in engines)
