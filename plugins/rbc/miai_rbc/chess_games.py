"""The record format ``pgn``: games of chess as games of blind chess in which nobody sensed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import chess
import chess.pgn

from miai.errors import MiaiError, RecordError
from miai.parameters import build_parameters
from miai.playing.replay import record_of_actions
from miai.record import GameRecord
from miai_rbc.openings import decoded, games_of
from miai_rbc.parameters import PgnParameters, RbcParameters
from miai_rbc.rules.actions import SENSE_NOTHING, action_of
from miai_rbc.rules.game import RbcGame, RbcState
from miai_rbc.rules.rows import kernel_move

_LOSERS: Final = {"1-0": 1, "0-1": 0}
_RESULTS: Final[Mapping[tuple[float, ...], str]] = {
    (1.0, -1.0): "1-0",
    (-1.0, 1.0): "0-1",
    (0.0, 0.0): "1/2-1/2",
}
_LONGEST_NAME = 200


class PgnRecords:
    """The record format ``pgn``.

    A half-move of chess is a sense of nothing and a request; a null move (``--``) is a pass. Senses
    and refused requests cannot be written, nor moves that chess forbids, such as the capture of a
    king.
    """

    suffix = ".pgn"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of rbc as PGN, without senses.

        Raises:
          RecordError: the record is of another game, or a move is not one of chess.
        """
        if record.game != "rbc":
            raise RecordError(f"PGN holds games of chess, not of {record.game}; write jsonl")
        parameters = build_parameters(
            RbcParameters, record.game_parameters, where="game_parameters"
        )
        file = chess.pgn.Game()
        start = RbcGame(parameters).new_initial_state().board()
        if start.fen() != chess.STARTING_FEN:
            file.setup(start)
        for side, player in zip(("White", "Black"), record.players, strict=True):
            file.headers[side] = _line(player.name or player.agent or "?")
        file.headers["Date"] = record.started[:10].replace("-", ".") or "????.??.??"
        file.headers["Result"] = _RESULTS.get(record.returns, "*") if record.terminated else "*"
        state = RbcGame(parameters).new_initial_state()
        node: chess.pgn.GameNode = file
        for move in record.moves:
            node = _written(node, state, move.action)
        return f"{file}\n"

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the main lines of the games of a file.

        Raises:
          RecordError: not PGN, no game, or an illegal move; names file, game and ply.
        """
        try:
            text = decoded(data, source=source)
            games = games_of(text, PgnParameters(), source=source)
            records = [_record(game, where) for where, game in games]
        except MiaiError as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(str(error)) from error
        if not records:
            raise RecordError(f"{source}: holds no game of chess")
        return records


def _written(node: chess.pgn.GameNode, state: RbcState, action: int) -> chess.pgn.GameNode:
    """Apply an action, and return the node of its move; the same node for a sense."""
    player, board = state.current_player(), state.board()
    state.apply_action(action)
    if action <= SENSE_NOTHING:
        return node
    observation = state.observation(player)
    assert observation is not None
    data: Any = observation.data
    taken: str | None = data["taken"]
    move = chess.Move.null() if taken is None else chess.Move.from_uci(taken)
    if move and not board.is_legal(move):
        raise RecordError(
            f"ply {state.move_number()}: {taken} is not a move of chess, as kings stay in check or "
            "are captured; write reconchess or jsonl"
        )
    return node.add_variation(move)


def _record(game: chess.pgn.Game, where: str) -> GameRecord:
    start = game.board().fen(en_passant="fen")
    try:
        rules = RbcGame(build_parameters(RbcParameters, {"fen": start}, where="FEN"))
        actions = [
            action
            for move in game.mainline_moves()
            for action in (SENSE_NOTHING, action_of(kernel_move(move or None)))
        ]
        result = game.headers.get("Result", "*")
        return record_of_actions(
            rules,
            actions,
            players=[_line(game.headers.get(side, side)) for side in ("White", "Black")],
            loser=_LOSERS.get(result),
            detail=f"the file gives {_line(result)}" if result != "*" else "",
        )
    except (MiaiError, ValueError) as error:
        raise RecordError(f"{where}: {str(error).splitlines()[0]}") from error


def _line(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:_LONGEST_NAME] or "?"
