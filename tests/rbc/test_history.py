"""Histories of reconchess: written so that it reads them, and read with every turn checked."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chess
import pytest
from reconchess import GameHistory, LocalGame, play_local_game
from reconchess.bots.random_bot import RandomBot
from tests.whole_texts import assert_transcript, refusal

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
    writer = registry().get("record-format", "reconchess", game="rbc").build(values={})
    path = folder / f"history{writer.suffix}"
    path.write_text(writer.write(record), encoding="ascii")
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


@pytest.mark.parametrize("seed", range(4))
def test_a_record_is_the_history_that_reconchess_writes(seed: int, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("termination", ["TIME", "RESIGNATION", "CRASH"])
@pytest.mark.parametrize("plies", [0, 1, 2, 3, 8])
def test_a_forfeit_names_who_won_and_how(termination: str, plies: int, tmp_path: Path) -> None:
    record, reason = record_of(1), "TIMEOUT" if termination == "TIME" else "RESIGN"
    del record.moves[plies:]
    record.termination, record.loser = Termination[termination], 0
    path = save(tmp_path, record)
    found = GameHistory.from_file(path)
    assert found._winner_color is chess.BLACK
    assert found._win_reason.name == reason
    history = read_history(path)
    assert (history.winner, history.reason) == (1, reason)
    assert len(history.actions) == plies


@pytest.mark.parametrize(
    ("returns", "winner", "reason"),
    [((1, -1), 0, "RESIGN"), ((-1, 1), 1, "RESIGN"), ((0, 0), None, ""), ((), None, "")],
)
def test_the_loser_of_a_verdict_resigns_and_a_stopped_game_has_none(
    returns: tuple[float, ...], winner: int | None, reason: str, tmp_path: Path
) -> None:
    record = record_of(2, move_limit=10)
    if returns:
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
def test_games_of_reconchess_are_read(seed: int, options: dict[str, int], tmp_path: Path) -> None:
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


def test_a_false_history_is_refused_at_its_place(tmp_path: Path) -> None:
    """Each line gives a place another value, or none."""
    path = save(tmp_path, record_of(1))
    text = path.read_text()
    assert json.loads(text)["win_reason"]["value"] == "KING_CAPTURE"

    def answer(line: str) -> str:
        table = history = json.loads(text)
        place, _, value = line.partition(" = ")
        *places, last = (int(word) if word.isdigit() else word for word in place.split("."))
        for each in places:
            table = table[each]
        if value:
            table[last] = json.loads(value)
        else:
            del table[last]
        path.write_text(json.dumps(history))
        return refusal(lambda: read_history(path), folder=tmp_path)

    assert_transcript("false-histories.txt", answer)


@pytest.mark.parametrize(
    ("colour", "count", "names", "message"),
    [
        ("false", 2, LISTS, "senses: white has turns when black has none"),
        ("true", 1, LISTS[2:], r"requested_moves: none at white's turn \d+, yet play goes on"),
    ],
)
def test_a_history_that_ends_too_soon_is_refused(
    colour: str, count: int, names: Sequence[str], message: str, tmp_path: Path
) -> None:
    path = save(tmp_path, record_of(1))
    history = json.loads(path.read_text())
    for name in names:
        del history[name][colour][-count:]
    path.write_text(json.dumps(history))
    with pytest.raises(RecordError, match=re.escape(f"{path}: ") + message):
        read_history(path)


def test_invalid_histories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.json"
    deep = b"[" * 100_000
    for data in (b"", b"[]", b"null", b"{", b'{"type": NaN}', deep, b"\xff", b'{"a":1,"a":2}'):
        path.write_bytes(data)
        with pytest.raises(RecordError, match=re.escape(f"{path}: ")):
            read_history(path)
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
        places = [(side, rng.randrange(len(side))), (history[name], colour)]
        table, place = rng.choice([*places, (history, rng.choice(list(history)))])
        table[place] = rng.choice(ODD)
        path.write_text(json.dumps(history))
        with contextlib.suppress(RecordError):  # and nothing else
            read_history(path)
