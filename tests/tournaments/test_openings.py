"""Opening books: order, starts from positions, balance by an evaluator, books to look at."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.support import (
    CONFIGS,
    RANDOMS,
    config_text,
    config_with,
    load,
    play,
    player,
    refused,
    tournament,
)

import miai
from miai.errors import ConfigError, MiaiError, StoreError
from miai.playing.openings import Opening
from miai.playing.replay import replay
from miai.record_reader import read_record
from miai.search.evaluators import Appraisal, Appraiser
from miai_tournaments.commands import opening_book as book_command
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.opening_source import Balance, Openings, plain_lines
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.report.details import build_details, game_of
from miai_tournaments.report.live import Reporter
from miai_tournaments.report.report import build_report
from miai_tournaments.running.schedule import Schedule
from miai_tournaments.running.stored_run import JUDGED, stored_openings, with_judgement
from miai_tournaments.running.tournament_run import (
    RunEnding,
    RunOptions,
    play_tournament,
    resume_tournament,
)
from miai_tournaments.store.rows import RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

EXACT = {"search": "alpha-beta", "within": 0.5}
TWO = RANDOMS[:2]
GO = {"name": "go", "board_size": 5, "komi": 3.5}
ROOKS = "4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1"
PAWNS = "4k3/4p3/8/8/8/8/4P3/4K3 b - - 0 1"
EPD = f'{ROOKS[:-4]} id "rooks";\n{PAWNS}\n'


def openings(balance: dict[str, object] | None = None, **values: object) -> dict[str, Any]:
    """Return the tables of the openings for `config_text`."""
    return {"openings": values, **({"openings.balance": balance} if balance else {})}


def new_schedule(
    t: Tournament, seed: int = 3, scores: dict[str, Sequence[float]] | None = None
) -> Schedule:
    judged = t.openings.judged(seed)
    return Schedule(t.format, t.players, seed=seed, openings=judged, scores=scores)


def schedule(t: Tournament) -> list[ScheduledGame]:
    return new_schedule(t).advance(room=1)


@cache
def worth(board: tuple[int, ...], mover: int) -> int:
    """Return the first player's result of tic-tac-toe with best play, by trying everything.

    Args:
      board: 1, -1 or 0 for each square.
      mover: 1 or -1.
    """
    rows = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    for row in rows:
        if abs(sum(board[square] for square in row)) == 3:
            return board[row[0]]
    free = [square for square in range(9) if not board[square]]
    after = [worth((*board[:s], mover, *board[s + 1 :]), -mover) for s in free]
    return 0 if not free else max(after) if mover == 1 else min(after)


def exact(actions: Sequence[int]) -> int:
    board = [0] * 9
    for ply, action in enumerate(actions):
        board[action] = 1 if ply % 2 == 0 else -1
    return worth(tuple(board), 1 if len(actions) % 2 == 0 else -1)


# -- balance --------------------------------------------------------------------------------------


def test_a_search_reports_the_first_player_s_advantage() -> None:
    game = miai.load_game("tic_tac_toe")
    appraiser = Appraiser(game, "search", "alpha-beta", {"depth": 9})
    for actions in list(permutations(range(9), 4))[::37] + list(permutations(range(9), 3))[::11]:
        state = game.new_initial_state()
        for action in actions:
            state.apply_action(action)
        assert appraiser.advantage(state, seed=1) == exact(actions), actions


@pytest.mark.parametrize("plies", [2, 3, 4])
def test_random_openings_that_are_kept_are_draws(plies: int, tmp_path: Path) -> None:
    text = config_text(*TWO, tournament={"rounds": 20}, **openings(EXACT, random_plies=plies))
    games = schedule(load(tmp_path, text))
    assert len(games) == 40
    assert {len(game.opening) for game in games} == {plies}
    assert {exact(game.opening) for game in games} == {0}
    tables = openings(random_plies=plies)
    free = schedule(load(tmp_path, config_text(*TWO, tournament={"rounds": 20}, **tables)))
    for one, other in zip(free, games, strict=True):
        assert exact(one.opening) or one.opening == other.opening, "balanced at once"


def test_the_lines_of_a_file_that_are_kept_are_all_draws(tmp_path: Path) -> None:
    game = miai.load_game("tic_tac_toe")
    lines = list(permutations(range(9), 2))
    names = [
        [game.new_initial_state().action_to_string(action) for action in line] for line in lines
    ]
    (tmp_path / "all.moves").write_text("\n".join(map(" ".join, names)))
    t = load(tmp_path, config_text(*TWO, **openings(EXACT, file="all.moves")))
    judged = t.openings.judged(3)
    draws = [line for line in lines if exact(line) == 0]
    assert 0 < len(draws) < len(lines)
    assert [line.actions for line in judged.used_lines()] == draws
    assert [judged.opening(n, 0).actions for n in (1, len(draws), len(draws) + 1)] == [
        draws[0],
        draws[-1],
        draws[0],
    ]
    lost = [" ".join(n) for n, line in zip(names, lines, strict=True) if exact(line)]
    (tmp_path / "all.moves").write_text("\n".join(lost))
    t = load(tmp_path, config_text(*TWO, **openings(EXACT, file="all.moves")))
    with pytest.raises(ConfigError, match=rf"none of {len(lost)} openings is within 0\.5 of equal"):
        t.openings.judged(3)


@pytest.mark.parametrize(
    "balance",
    [
        {"search": "mcts", "simulations": 20, "within": 0.5},
        {"evaluator": "random-rollout", "rollouts": 40, "within": 0.2},
    ],
)
def test_openings_of_go_are_near_to_equal(balance: dict[str, Any], tmp_path: Path) -> None:
    players = (player("a", "fast-random"), player("b", "fast-random"))
    text = config_text(*players, game=GO, **openings(balance, random_plies=3))
    t = load(tmp_path, text)
    kind: Appraisal = "search" if "search" in balance else "evaluator"
    values = {key: balance[key] for key in balance.keys() & {"simulations", "rollouts"}}
    other = Appraiser(t.game, kind, balance[kind], values)
    found = [t.openings.drawn(seed) for seed in range(6)]
    again = [load(tmp_path, text).openings.drawn(seed) for seed in reversed(range(6))]
    assert found == again[::-1], "whatever was valued before"
    for opening, value in found:
        assert value is not None
        assert abs(value) <= balance["within"]
        state = t.game.new_initial_state()
        for action in opening.actions:
            state.apply_action(action)
        near = [other.advantage(state, seed=seed) for seed in range(5)]
        assert min(near) - 0.5 <= value <= max(near) + 0.5


@pytest.mark.slow
def test_a_run_has_the_same_openings_with_two_workers_and_when_it_goes_on(tmp_path: Path) -> None:
    balance = 'balance = {evaluator = "random-rollout", rollouts = 4, within = 0.3}'
    tables = (
        'format = {name = "swiss", rounds = 3}; players = ["a", "b", "c", "d"]; '
        f"openings = {{random_plies = 2, {balance}}}"
    )
    t = load(tmp_path, config_with(tables))
    found = []
    for executor, workers in (("serial", 1), ("processes", 2)):
        play(t, tmp_path / executor, executor=executor, workers=workers)
        with Store.read(tmp_path / executor) as store:
            found.append({row.game_id: (row.opening, row.returns) for row in store.results()})
    assert found[0] == found[1]
    assert len(found[0]) == 12
    folder = tmp_path / "serial"
    with Store.read(folder) as store:
        info, drawn = store.info(), store.openings()
        kept = stored_openings(info, t.config, t.game, folder)
        assert kept.balance is not None
        kept.balance.watch = never
        resumed = Schedule(t.format, t.players, seed=3, openings=kept)
        games = resumed.catch_up(store)
    assert resumed.finished
    assert not games, "all are known, and none is valued again"
    t.openings.balance.watch = lambda: None  # type: ignore[union-attr]
    for game in new_schedule(t, scores=found_scores(found[0])).advance(room=1):
        assert drawn[game.pair_id] == game.opening


def found_scores(found: dict[str, Any]) -> dict[str, Sequence[float]]:
    return {game_id: returns for game_id, (_, returns) in found.items()}


def never() -> None:
    raise AssertionError("an opening was valued")


@pytest.mark.parametrize(
    "balance",
    [
        {"evaluator": "random-rollout", "rollouts": 4, "within": 0.6},
        {"search": "alpha-beta", "depth": 2, "within": 0.6},
        {"search": "alpha-beta", "depth": 2, "evaluator": "zero", "within": 0.6},
    ],
    ids=["evaluator", "search", "both"],
)
def test_a_balance_is_read_from_a_store_as_it_was_written(
    balance: dict[str, object], tmp_path: Path
) -> None:
    config = load(tmp_path, config_text(*TWO, **openings(balance, random_plies=2))).config
    assert TournamentConfig.model_validate(config.model_dump(mode="json")) == config


def test_the_balanced_lines_of_a_store_are_those_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "x.moves").write_text("b2 a1\nb2 b1\na1 b2\n")
    given = load(tmp_path, config_text(*TWO, **openings(EXACT, file="x.moves"))).openings

    def kept(**judgement: object) -> tuple[object, object]:
        info = RunInfo(name="x", seed=0, rounds=1, game="tic_tac_toe", game_version=1)
        found = with_judgement(given, replace(info, resolved={JUDGED: judgement}), tmp_path)
        return found.kept, found.values

    assert kept(kept=[0, 2], values=[0.0, 0.5]) == ((0, 2), (0.0, 0.5))
    for bad in (
        {},
        {"kept": [0], "values": []},
        {"kept": ["x"], "values": [0.0]},
        {"kept": [0], "values": ["x"]},
    ):
        with pytest.raises(StoreError, match="does not say which openings are balanced"):
            kept(**bad)
    for numbers in ([], [3]):
        with pytest.raises(StoreError, match="value is about other openings"):
            kept(kept=numbers, values=[0.0] * len(numbers))


def test_openings_are_written_as_plain_data_and_read_again() -> None:
    lines = (Opening((1, 2), {"fen": "x"}, "one"), Opening((3,)))
    made = Openings(miai.load_game("tic_tac_toe"), 2, lines)
    plain = {"random_plies": 2, "lines": [[1, 2], [3]]}
    more: dict[str, Any] = {"settings": [{"fen": "x"}, {}], "names": ["one", ""]}
    assert made.to_plain() == plain | more
    assert plain_lines(plain | more) == lines
    assert replace(made, lines=lines[1:]).to_plain() == {"random_plies": 2, "lines": [[3]]}
    assert plain_lines(plain) == (Opening((1, 2)), Opening((3,)))
    wrong: tuple[dict[str, Any], ...] = ({"lines": [["x"]]}, {"names": [1, 2]}, {"settings": [{}]})
    for bad in wrong:
        assert plain_lines({**plain, **bad}) is None
    judged = replace(made, kept=(1,), values=(0.1234567,))
    assert judged.judgement() == {"kept": [1], "values": [0.123457]}
    assert made.judgement() == {}


@pytest.mark.slow
def test_the_lines_that_are_kept_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "x.moves").write_text("b2 a1\nb2 b1\na1 b2\nb1 a1\n")
    text = config_text(*TWO, tournament={"rounds": 2}, **openings(EXACT, file="x.moves"))
    t = load(tmp_path, text)
    play(t, tmp_path / "out")
    longer = load(tmp_path, text, "rounds=3")
    assert longer.openings.balance is not None
    longer.openings.balance.watch = never
    with pytest.raises(AssertionError, match="was valued"):
        longer.openings.judged(3)
    options = RunOptions(make_reporter=lambda _: Reporter(), executor="serial")
    # The watch is the run's own from here on; were a line valued, this component would break.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Balance, "value", lambda *_, **__: never())
        play_tournament(longer, tmp_path / "out", options)
    assert resume_tournament(tmp_path / "out", options) == RunEnding("complete")
    with Store.read(tmp_path / "out") as store:
        info = store.info()
        rows = {row.round: row.opening for row in store.results()}
    names = [game_text(rows[number]) for number in (1, 2, 3)]
    kept = info.resolved["openings"]["kept"]
    assert kept == [n for n, line in enumerate(t.openings.lines) if exact(line.actions) == 0]
    assert names == [game_text(t.openings.lines[n].actions) for n in (kept * 3)[:3]]


def game_text(actions: Sequence[int]) -> str:
    state = miai.load_game("tic_tac_toe").new_initial_state()
    return " ".join(state.action_to_string(action) for action in actions)


@pytest.mark.slow
def test_random_openings_none_of_which_is_balanced_are_refused(tmp_path: Path) -> None:
    # A first move in the centre or a corner, and so on: exact values are -1, 0 or 1, rollouts not.
    balance = {"evaluator": "random-rollout", "rollouts": 100, "within": 0.0001, "tries": 5}
    text = config_text(*TWO, **openings(balance, random_plies=1))
    path = tmp_path / "x.toml"
    path.write_text(text)
    output = refused("run", path, "--out", tmp_path / "out")
    assert "none of 5 openings of 1 random plies is within 0.0001 of equal" in output
    assert "Raise within or tries" in output
    assert not (tmp_path / "out" / "tournament.sqlite").exists()


@pytest.mark.slow
def test_a_run_may_go_on_with_more_tries(tmp_path: Path) -> None:
    text = config_text(*TWO, tournament={"rounds": 1}, **openings(EXACT, random_plies=2))
    play(load(tmp_path, text), tmp_path / "out")
    play(load(tmp_path, text, "openings.balance.tries=7", "rounds=2"), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"openings\.balance\.within: 0\.5 -> 0\.4"):
        play(load(tmp_path, text, "openings.balance.within=0.4"), tmp_path / "out")


# -- order ----------------------------------------------------------------------------------------


def test_a_file_is_taken_in_order_from_a_start_or_by_lot(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a1\nb1\nc1\na2\n")

    def order(*settings: str) -> str:
        t = load(tmp_path, config_text(*TWO, **openings(file="x.txt")), *settings)
        taken = [t.openings.opening(n, seed=n) for n in range(1, 6)]
        return " ".join(game_text(opening.actions) for opening in taken)

    assert order() == "a1 b1 c1 a2 a1"
    assert order("openings.start=3") == "c1 a2 a1 b1 c1"
    found = {order('openings.order="random"', f"seed={seed}") for seed in range(12)}
    assert len(found) > 6
    assert {tuple(sorted(text.split()[:4])) for text in found} == {("a1", "a2", "b1", "c1")}
    assert all(text.split()[4] == text.split()[0] for text in found)
    with pytest.raises(ConfigError, match=r"openings\.start.*is 5, but the file contains 4"):
        order("openings.start=5")
    with pytest.raises(ConfigError, match="start has no effect with a random order"):
        order('openings.order="random"', "openings.start=2")


def test_moves_with_spaces_are_separated_by_semicolons(tmp_path: Path) -> None:
    (tmp_path / "x.moves").write_text("sense -; e2e4; sense e4; e7e5 # open game\nsense -;\n")
    t = load(tmp_path, config_text(*TWO, game={"name": "rbc"}, **openings(file="x.moves")))
    assert [len(line.actions) for line in t.openings.lines] == [4, 1]
    (tmp_path / "y.moves").write_text("\n".join(book_command.book(t, count=1)))
    again = load(tmp_path, config_text(*TWO, game={"name": "rbc"}, **openings(file="y.moves")))
    assert again.openings.lines == t.openings.lines


# -- starts ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_games_start_from_the_positions_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.epd").write_text(EPD)
    players = (player("a", "rbc-random"), player("b", "rbc-random"))
    game = {"name": "rbc", "full_turn_limit": 2}
    text = config_text(*players, game=game, **openings(file="x.epd"))
    folder = tmp_path / "out"
    play(load(tmp_path, text, "rounds=1"), folder)
    play(load(tmp_path, text), folder)
    with Store.read(folder) as store:
        rows = store.results()
        records = [read_record(store.record(row.game_id)) for row in rows]
        report = build_report(store)
        info = store.info()
    assert [(row.round, dict(row.settings)) for row in rows] == [
        (1, {"fen": ROOKS}),
        (1, {"fen": ROOKS}),
        (2, {"fen": PAWNS}),
        (2, {"fen": PAWNS}),
    ]
    assert [record.game_parameters["fen"] for record in records[::2]] == [ROOKS, PAWNS]
    for row, record in zip(rows, records, strict=True):
        assert replay(record).returns() == row.returns
    details = build_details(report, rows, game=game_of(info))
    output = {line.opening: line.games for line in details.openings}
    assert output == {"rooks": 2, json.dumps({"fen": PAWNS}): 2}
    assert not details.settings, "they are the openings'"
    other = load(tmp_path, text, 'openings.file="x.epd"', "openings.start=2")
    with pytest.raises(ConfigError, match=r"openings\.settings"):
        play(other, folder)


def test_openings_are_read_by_their_suffix_and_named_in_time(tmp_path: Path) -> None:
    (tmp_path / "x.pgn").write_text('[Opening "Open game"]\n\n1. e4 e5 2. Nf3 *\n')
    rbc = {"name": "rbc"}
    t = load(tmp_path, config_text(*TWO, game=rbc, **openings(file="x.pgn", plies=2)))
    (line,) = t.openings.lines
    assert (len(line.actions), line.name) == (4, "Open game")
    (tmp_path / "bad.pgn").write_text("1. e4 e5 2. Ke3 *\n")
    with pytest.raises(ConfigError, match=r"openings\.file: .*bad\.pgn: game 1: ply 3: illegal"):
        load(tmp_path, config_text(*TWO, game=rbc, **openings(file="bad.pgn")))
    (tmp_path / "bad.epd").write_text("4k3/8/8/8/8/8/8/8 w - -\n")
    with pytest.raises(ConfigError, match=r"openings\.file: .*bad\.epd:1: .*white has 0 kings"):
        load(tmp_path, config_text(*TWO, game=rbc, **openings(file="bad.epd")))
    with pytest.raises(ConfigError, match="no opening-reader is called 'pgn' for tic_tac_toe"):
        load(tmp_path, config_text(*TWO, **openings(file="x.pgn")))


def test_a_pairing_does_not_set_what_the_openings_do(tmp_path: Path) -> None:
    (tmp_path / "x.epd").write_text(EPD)
    text = config_text(*TWO, game={"name": "rbc"}, **openings(file="x.epd")) + (
        '[format]\nname = "pairings"\n[[format.pairings]]\nfirst = "ann"\nsecond = "bob"\n'
    )
    limited = load(tmp_path, text + "settings = {full_turn_limit = 3}\n")
    (game, *_) = schedule(limited)
    assert game.settings == {"full_turn_limit": 3, "fen": ROOKS}
    with pytest.raises(ConfigError, match=r"settings\.fen: is also set by the openings"):
        load(tmp_path, text + f'settings = {{fen = "{PAWNS}"}}\n')


# -- books ----------------------------------------------------------------------------------------


def test_a_book_is_written_and_read_again(tmp_path: Path) -> None:
    path, book = tmp_path / "x.toml", tmp_path / "book.moves"
    path.write_text(config_text(*TWO, **openings(EXACT, random_plies=3)))
    done = tournament("openings", path, "--count", 12, "--out", book)
    assert done.stdout == f"{book}: 12 openings\n"
    assert (
        "12, within 0.5 of equal by alpha-beta; values are the first player's"
        in (book.read_text().splitlines()[0])
    )
    t = load(tmp_path, config_text(*TWO, **openings(EXACT, file="book.moves")))
    assert len({line.actions for line in t.openings.lines}) == 12
    assert {exact(line.actions) for line in t.openings.lines} == {0}
    assert book_command.book(t, count=1)[1:] == book.read_text().splitlines()[1:]


def test_position_books_are_shown_on_their_own(tmp_path: Path) -> None:
    (tmp_path / "x.epd").write_text(EPD)
    balance = {"evaluator": "zero", "within": 0.1}
    t = load(tmp_path, config_text(*TWO, game={"name": "rbc"}, **openings(balance, file="x.epd")))
    lines = book_command.book(t, count=1)
    assert lines[0].startswith("# openings of test (rbc): 2 of 2, within 0.1 of equal by zero")
    assert lines[1] == f"# +0.000 rooks {json.dumps({'fen': ROOKS}, separators=(',', ':'))}"
    with pytest.raises(ConfigError, match="a file of moves cannot"):
        book_command.write_book(t, lines, tmp_path / "y.moves")
    with pytest.raises(MiaiError, match="openings: has none; give random_plies or a file"):
        book_command.book(load(tmp_path, config_text(*TWO)), count=1)


# -- the pages ------------------------------------------------------------------------------------


def test_the_book_of_the_page_is_balanced() -> None:
    lines = tournament("openings", CONFIGS / "book.toml", "--count", 3).stdout.splitlines()
    assert lines[0].startswith("# openings of book (go): 3, within 0.2 of equal by mcts")
    values = [float(line.partition("# ")[2]) for line in lines[1:]]
    assert len(values) == 3
    assert max(map(abs, values)) <= 0.2


def test_the_tables_of_the_page_on_reconnaissance_blind_chess_work(tmp_path: Path) -> None:
    page = (CONFIGS.parent / "docs" / "rbc.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "book.pgn").write_text("1. e4 e5 *\n\n1. e4 d5 2. Qh5 Nf6 3. Kd1 Nxh5 *\n")
    text = config_text(*TWO, game={"name": "rbc"}) + "\n" + block
    t = load(tmp_path, text, "openings.balance.depth=2")
    assert len(t.openings.lines) == 2
    (line,) = t.openings.judged(3).used_lines()
    assert len(line.actions) == 4, "not the one in which white has lost its queen"
