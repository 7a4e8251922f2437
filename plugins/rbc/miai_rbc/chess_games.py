"""The record format ``pgn``: games of chess as games of blind chess in which nobody sensed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    are not written, and refused requests are passes. From the first move that chess forbids on,
    such as the capture of a king, moves are a comment.
    """

    suffix = ".pgn"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of rbc as PGN, without senses.

        Raises:
          RecordError: the record is of another game, or its moves are not legal in it.
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
        node, rest = _written(file, _moves_taken(record, RbcGame(parameters)))
        if rest:
            moves = " ".join("--" if move == chess.Move.null() else move.uci() for move in rest)
            node.comment = f"The game goes on with a move that chess forbids: {moves}"
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


def _moves_taken(record: GameRecord, game: RbcGame) -> list[chess.Move]:
    """Return the moves that were made, null moves for passes and for those that were refused."""
    state: RbcState = game.new_initial_state()
    moves = []
    for move in record.moves:
        player = state.current_player()
        try:
            state.apply_action(move.action)
        except MiaiError as error:
            raise RecordError(f"the record cannot be written as PGN: {error}") from error
        if move.action > SENSE_NOTHING:
            observation = state.observation(player)
            assert observation is not None, "the mover observes what was made of its request"
            data: Any = observation.data
            taken: str | None = data["taken"]
            moves.append(chess.Move.null() if taken is None else chess.Move.from_uci(taken))
    return moves


def _written(
    file: chess.pgn.Game, moves: Sequence[chess.Move]
) -> tuple[chess.pgn.GameNode, Sequence[chess.Move]]:
    """Add moves up to the first that chess forbids; return the last node and the moves left."""
    node: chess.pgn.GameNode = file
    board = file.board()
    for number, move in enumerate(moves):
        if move and not board.is_legal(move):
            return node, moves[number:]
        node = node.add_variation(move)
        board.push(move)
    return node, ()


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
