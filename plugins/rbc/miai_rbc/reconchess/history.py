"""Records as histories of reconchess 1.6.9: what its `GameHistory.from_file` reads."""

from __future__ import annotations

from typing import Any, Final

import chess

from miai.errors import MiaiError, RecordError
from miai.plain import dumps
from miai.plugins.parameters import build_parameters
from miai.record import GameRecord, Termination
from miai_rbc.actions import SENSE_NOTHING, move_name
from miai_rbc.game import RbcGame
from miai_rbc.kernels.board import NOTHING
from miai_rbc.parameters import RbcParameters
from miai_rbc.state import RbcState

__all__ = ["COLOURS", "LISTS", "ReconchessRecords", "piece_json"]

COLOURS: Final = ("true", "false")
"""The keys of white and black, by player."""

LISTS: Final = (
    "senses",
    "sense_results",
    "requested_moves",
    "taken_moves",
    "capture_squares",
    "fens_before_move",
    "fens_after_move",
)
"""The fields that hold a list for each colour, of one entry a turn."""

_REASONS: Final = {
    "king captured": "KING_CAPTURE",
    "turn limit": "TURN_LIMIT",
    "move limit": "MOVE_LIMIT",
}


class ReconchessRecords:
    """The record format ``reconchess``: the history that its tools read and bots learn from.

    It holds the true boards. Clocks, seeds and statistics are only in the format ``jsonl``. A
    player that failed has resigned, as on reconchess's server, and so has one that an adjudicator
    held for lost.
    """

    suffix = ".json"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of rbc as JSON.

        Raises:
          RecordError: the record is of another game, its moves are not legal in it, or black
            begins, which a history of reconchess cannot say.
        """
        if record.game != "rbc":
            raise RecordError(
                f"histories of reconchess hold games of rbc, not of {record.game}; write jsonl"
            )
        try:
            parameters = build_parameters(
                RbcParameters, record.game_parameters, where="game_parameters"
            )
            history = _History(RbcGame(parameters))
            for move in record.moves:
                history.add(move.action)
        except MiaiError as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(
                f"the record cannot be written as a history of reconchess: {error}"
            ) from error
        return dumps(_head(record) | history.lists | _end(record, history.state)) + "\n"


class _History:
    """The lists of a history while its game is played again."""

    def __init__(self, game: RbcGame) -> None:
        if game.start.turn == chess.BLACK:
            raise RecordError(
                "in a history of reconchess white moves first, in this game black; write jsonl"
            )
        self.state: RbcState = game.new_initial_state()
        self.lists: dict[str, dict[str, list[Any]]] = {
            name: {colour: [] for colour in COLOURS} for name in LISTS
        }
        self._board = game.start.copy()

    def add(self, action: int) -> None:
        """Take an action and enter in the lists what it told its player."""
        player = self.state.current_player()
        requested = self.state.move_of(action) if action > SENSE_NOTHING else NOTHING
        self.state.apply_action(action)
        told = self.state.observation(player)
        assert told is not None
        assert isinstance(told.data, dict)
        if action <= SENSE_NOTHING:
            self._note(player, "senses", None if action == SENSE_NOTHING else action)
            seen = [[chess.parse_square(s), piece_json(p)] for s, p in told.data["sensed"]]
            self._note(player, "sense_results", seen)
            return
        taken, captured = told.data["taken"], told.data["captured"]
        self._note(player, "requested_moves", _move_json(requested))
        self._note(player, "taken_moves", None if taken is None else _typed("Move", taken))
        square = None if captured is None else chess.parse_square(captured)
        self._note(player, "capture_squares", square)
        self._note(player, "fens_before_move", self._board.fen(en_passant="fen"))
        self._board.push(chess.Move.null() if taken is None else chess.Move.from_uci(taken))
        self._note(player, "fens_after_move", self._board.fen(en_passant="fen"))

    def _note(self, player: int, name: str, value: Any) -> None:
        self.lists[name][COLOURS[player]].append(value)


def piece_json(symbol: str | None) -> Any:
    """Return a piece as reconchess writes it; None for none."""
    return None if symbol is None else _typed("Piece", symbol)


def _move_json(move: int) -> Any:
    return None if move == NOTHING else _typed("Move", move_name(move))


def _typed(kind: str, value: str) -> dict[str, str]:
    return {"type": kind, "value": value}


def _head(record: GameRecord) -> dict[str, Any]:
    white, black = (player.name or player.agent for player in record.players)
    return {"type": "GameHistory", "white_name": white, "black_name": black}


def _end(record: GameRecord, state: RbcState) -> dict[str, Any]:
    winner, reason = _outcome(record, state)
    return {
        "winner_color": None if winner is None else winner == 0,
        "win_reason": None if reason is None else _typed("WinReason", reason),
    }


def _outcome(record: GameRecord, state: RbcState) -> tuple[int | None, str | None]:
    if record.loser is not None:
        timed_out = record.termination == Termination.TIME
        return 1 - record.loser, "TIMEOUT" if timed_out else "RESIGN"
    adjudicated = record.termination == Termination.ADJUDICATION
    if not adjudicated and not state.is_terminal():
        return None, None
    white, black = record.returns if adjudicated else state.returns()
    winner = None if white == black else int(black > white)
    if adjudicated:
        return winner, None if winner is None else "RESIGN"
    return winner, _REASONS[state.result_to_string().split(" ", 1)[1]]
