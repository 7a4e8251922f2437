"""Histories of reconchess: written so that it reads them, and read with every turn checked."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import pytest
from reconchess import GameHistory, LocalGame, play_local_game
from reconchess.bots.random_bot import RandomBot

import miai
from miai.errors import RecordError
from miai.plugins.loader import registry
from miai.record import GameRecord, Termination
from miai_rbc.reconchess import histories
from miai_rbc.reconchess.histories import COLOURS, LISTS, ReconchessRecords, read_history

PROMOTIONS = "4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 w - - 0 1"
CASTLES = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def record_of(seed: int, *, move_limit: int | None = None, **parameters: Any) -> GameRecord:
    game = miai.load_game("rbc", **parameters)
    agents = [miai.make_agent("random", game) for _ in range(2)]
    return miai.play(game, agents, seed=seed, move_limit=move_limit)


def save(folder: Path, record: GameRecord) -> Path:
    path = folder / "history.json"
    path.write_text(ReconchessRecords().write(record), encoding="ascii")
    return path


def local_game(seed: int, **options: Any) -> GameHistory:
    """Return the history of a game that reconchess refereed between bots of its own."""
    state = random.getstate()
    random.seed(seed)
    try:
        game = LocalGame(**options)
        return play_local_game(RandomBot(), RandomBot(), game=game)[2]
    finally:
        random.setstate(state)


# -- writing ------------------------------------------------------------------------------------


def test_the_format_is_found_by_name() -> None:
    component = registry().get("record-format", "reconchess", game="rbc")
    assert component.build(values={}).suffix == ".json"


@pytest.mark.parametrize("seed", range(4))
def test_a_record_is_the_history_that_reconchess_would_have_written(
    seed: int, tmp_path: Path
) -> None:
    record = record_of(seed)
    found = GameHistory.from_file(save(tmp_path, record))
    game = LocalGame(seconds_per_player=None)
    game.store_players("random", "random")
    game.start()
    for turn in found.turns():
        game.sense(found.sense(turn))
        if found.has_move(turn):
            game.move(found.requested_move(turn))
            game.end_turn()
    assert game.is_over()
    game.end()
    again = tmp_path / "again.json"
    game.get_game_history().save(again)
    assert json.loads(again.read_text()) == json.loads((tmp_path / "history.json").read_text())
    assert found == game.get_game_history()
    assert found.get_white_player_name() == "random"


@pytest.mark.parametrize("fen", [PROMOTIONS, CASTLES])
@pytest.mark.parametrize("seed", range(3))
def test_written_files_are_read_back(fen: str, seed: int, tmp_path: Path) -> None:
    record = record_of(seed, fen=fen)
    history = read_history(save(tmp_path, record))
    assert list(history.actions) == [move.action for move in record.moves]
    assert history.players == ("random", "random")
    assert history.game.parameters.fen == fen
    *_, last = history.states()
    assert last.returns() == record.returns
    assert last.result_to_string() == record.detail


@pytest.mark.parametrize(
    ("termination", "reason"),
    [
        (Termination.TIME, "TIMEOUT"),
        (Termination.RESIGNATION, "RESIGN"),
        (Termination.CRASH, "RESIGN"),
    ],
)
@pytest.mark.parametrize("plies", [0, 1, 2, 3, 8])
def test_a_forfeit_names_who_won_and_how(
    termination: Termination, reason: str, plies: int, tmp_path: Path
) -> None:
    record = record_of(1)
    del record.moves[plies:]
    record.termination, record.loser = termination, 0
    path = save(tmp_path, record)
    found = GameHistory.from_file(path)
    assert found._winner_color is chess.BLACK
    assert found._win_reason.name == reason
    history = read_history(path)
    assert (history.winner, history.reason) == (1, reason)
    assert len(history.actions) == plies


def test_a_game_that_was_stopped_has_no_winner_and_no_reason(tmp_path: Path) -> None:
    history = read_history(save(tmp_path, record_of(2, move_limit=10)))
    assert (history.winner, history.reason, len(history.actions)) == (None, "", 10)


@pytest.mark.parametrize(
    ("returns", "winner", "reason"),
    [((1.0, -1.0), 0, "RESIGN"), ((-1.0, 1.0), 1, "RESIGN"), ((0.0, 0.0), None, "")],
)
def test_the_loser_of_a_verdict_resigns_in_the_record(
    returns: tuple[float, ...], winner: int | None, reason: str, tmp_path: Path
) -> None:
    record = record_of(2, move_limit=10)
    record.termination, record.returns = Termination.ADJUDICATION, returns
    path = save(tmp_path, record)
    history = read_history(path)
    assert (history.winner, history.reason, len(history.actions)) == (winner, reason, 10)
    assert GameHistory.from_file(path)._winner_color == (None if winner is None else not winner)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [({"full_turn_limit": 5}, "TURN_LIMIT"), ({"reversible_moves_limit": 3}, "MOVE_LIMIT")],
)
def test_a_draw_has_its_reason(parameters: dict[str, int], reason: str, tmp_path: Path) -> None:
    path = save(tmp_path, record_of(2, **parameters))
    assert GameHistory.from_file(path)._win_reason.name == reason
    history = read_history(path)
    assert (history.winner, history.reason) == (None, reason)
    *_, last = history.states()
    assert last.is_terminal()


def test_games_that_the_format_cannot_hold_are_refused() -> None:
    game = miai.load_game("tic_tac_toe")
    agents = [miai.make_agent("random", game) for _ in range(2)]
    with pytest.raises(RecordError, match="not of tic_tac_toe"):
        ReconchessRecords().write(miai.play(game, agents))
    with pytest.raises(RecordError, match="white moves first"):
        ReconchessRecords().write(record_of(1, fen="4k3/8/8/8/8/8/8/4K3 b - - 0 1"))
    record = record_of(1)
    record.moves[0].action = 4000
    with pytest.raises(RecordError, match="cannot be written"):
        ReconchessRecords().write(record)


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"full_turn_limit": 8}, {"reversible_moves_limit": 6}])
@pytest.mark.parametrize("seed", range(3))
def test_games_that_reconchess_refereed_are_read(
    seed: int, options: dict[str, int], tmp_path: Path
) -> None:
    path = tmp_path / "history.json"
    theirs = local_game(seed, **options)
    theirs.save(path)
    history = read_history(path)
    assert history.reason == theirs._win_reason.name
    senses = [a if (a := theirs.sense(turn)) is not None else 64 for turn in theirs.turns()]
    assert list(history.actions[::2]) == senses
    white, black = history.observations(0), history.observations(1)
    assert white[0].data == black[0].data == {"captured": None}
    assert white[-1].data is not None


Change = Callable[[dict[str, Any]], object]


def put(*path: Any) -> Change:
    """Return a change that puts the last argument at a place."""

    def change(history: dict[str, Any]) -> None:
        *places, last, value = path
        for place in places:
            history = history[place]
        history[last] = value

    return change


def cut(colour: str, count: int, names: str = "") -> Change:
    """Return a change that leaves out the last turns in a colour's lists, or in some of them."""

    def change(history: dict[str, Any]) -> None:
        for name in LISTS:
            if not (names and name.startswith(names)):
                del history[name][colour][-count:]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("false", 2), "senses: white has turns when black has none"),
        (cut("true", 1, "sense"), r"requested_moves: none at white's turn \d+, yet play goes on"),
        (
            put("fens_before_move", "true", 0, "4k3/8/8/8/8/8/8/4K3 b - - 0 1"),
            "fens_before_move: at white's turn 0 black is to move",
        ),
        (put("type", "GameRecord"), "not a history of reconchess"),
        (lambda h: h.pop("fens_after_move"), "fields missing: fens_after_move"),
        (put("senses", []), "senses: not an object of 'true' and 'false'"),
        (put("senses", "true", {}), "senses, 'true': not a list"),
        (put("senses", "true", 0, 64), "senses, white's turn 0: 64: is not a square"),
        (put("senses", "true", 0, 1.5), "senses, white's turn 0: 1.5: is not a square"),
        (put("sense_results", "false", 1, []), "sense_results, black's turn 1"),
        (put("requested_moves", "true", 0, "e2e4"), "requested_moves, white's turn 0.*not a move"),
        (
            put("requested_moves", "true", 0, {"type": "Move", "value": "e2h4n"}),
            "requested_moves, white's turn 0.*cannot be requested",
        ),
        (
            put("taken_moves", "true", 2, {"type": "Move", "value": "a1a8"}),
            "taken_moves, white's turn 2.*by the rules",
        ),
        (put("capture_squares", "false", 0, 12), "capture_squares, black's turn 0: 12"),
        (put("fens_before_move", "true", 0, "x"), "fens_before_move, white's turn 0"),
        (put("fens_before_move", "true", 1, "x"), "fens_before_move, white's turn 1: 'x'"),
        (put("fens_after_move", "false", 0, None), "fens_after_move, black's turn 0: None"),
        (lambda h: h["taken_moves"]["true"].pop(), "the lists of white differ in length"),
        (put("winner_color", "white"), "winner_color: 'white'"),
        (put("winner_color", None), "winner_color and win_reason: nobody by KING_CAPTURE"),
        (put("win_reason", None), "winner_color and win_reason: black by nothing"),
        (
            put("win_reason", {"type": "WinReason", "value": "STALEMATE"}),
            "win_reason: .*none of reconchess 1.6.9",
        ),
    ],
)
def test_a_false_history_is_refused_at_its_place(
    change: Change, message: str, tmp_path: Path
) -> None:
    path = save(tmp_path, record_of(1))
    history = json.loads(path.read_text())
    assert history["win_reason"]["value"] == "KING_CAPTURE"
    change(history)
    path.write_text(json.dumps(history))
    with pytest.raises(RecordError, match=re.escape(f"{path}: ") + message):
        read_history(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"type": NaN}', "[" * 100_000, "\udcff", '{"a":1,"a":2}']
)
def test_invalid_histories_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError, match=re.escape(f"{path}: ")):
        read_history(path)


def test_files_that_cannot_be_read_or_are_too_long_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecordError, match="No such file"):
        read_history(tmp_path / "missing.json")
    with pytest.raises(RecordError, match="directory"):
        read_history(tmp_path)
    monkeypatch.setattr(histories, "MAX_BYTES", 1000)
    with pytest.raises(RecordError, match="longer than 1000 bytes"):
        read_history(save(tmp_path, record_of(1)))


ODD: tuple[Any, ...] = (None, True, -1, 70, 10**40, 0.5, "", "e2e4", [], {}, [[1]], {"type": 3})


@pytest.mark.parametrize("share", range(4))
def test_any_mutated_history_raises_only_history_errors(share: int, tmp_path: Path) -> None:
    rng = random.Random(share)
    path = save(tmp_path, record_of(1, move_limit=12))
    whole = json.loads(path.read_text())
    for _ in range(60):
        history = copy.deepcopy(whole)
        name, colour = rng.choice(LISTS), rng.choice(COLOURS)
        side = history[name][colour]
        where = rng.choice(
            [
                (side, rng.randrange(len(side))),
                (history[name], colour),
                (history, rng.choice(list(history))),
            ]
        )
        where[0][where[1]] = rng.choice(ODD)
        path.write_text(json.dumps(history))
        with contextlib.suppress(RecordError):  # and nothing else
            read_history(path)
