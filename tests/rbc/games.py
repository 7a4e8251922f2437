"""Random games with the beliefs of both players, and beliefs by brute force with python-chess."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import chess

import miai
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.rules.game import RbcGame, RbcState
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed


def rbc(**parameters: Any) -> RbcGame:
    game = miai.load_game("rbc", **parameters)
    assert isinstance(game, RbcGame)
    return game


@dataclass
class Played:
    """One point of a random game: the state, and the beliefs that follow it."""

    state: RbcState
    beliefs: list[RbcBelief] = field(default_factory=list)


def follow(game: RbcGame, rng: random.Random, plies: int, **given: Any) -> Iterator[Played]:
    """Play random actions and yield the beliefs of both players after each.

    Senses look at the middle of the board more often than at the edge, as players do.
    """
    state = game.new_initial_state()
    played = Played(state, [RbcBelief(game, player, **given) for player in (0, 1)])
    for player, belief in enumerate(played.beliefs):
        _tell(state, belief, player)
    for _ in range(plies):
        if state.is_terminal():
            return
        legal = state.legal_actions()
        action = rng.choice(legal)
        if action <= 64 and rng.random() < 0.8:
            action = rng.choice([s for s in legal[:64] if 0 < s % 8 < 7 and 0 < s // 8 < 7])
        state.apply_action(action)
        if state.is_terminal():
            return
        for player, belief in enumerate(played.beliefs):
            _tell(state, belief, player)
        yield played


def _tell(state: RbcState, belief: RbcBelief, player: int) -> None:
    observation = state.observation(player)
    if observation is not None:
        belief.observe(observation)


# -- by brute force ------------------------------------------------------------------------------


def key(board: chess.Board) -> tuple[object, ...]:
    """Return the identity of a board: its en passant square only where a pawn can use it."""
    usable = any(board.generate_pseudo_legal_ep())
    return (
        board.board_fen(),
        board.turn,
        board.clean_castling_rights(),
        board.ep_square if usable else None,
    )


Boards = dict[tuple[object, ...], chess.Board]


def brute_force(boards: Boards, event: Event) -> Boards:
    """Return the boards after an event, with python-chess and reconchess alone."""
    from reconchess.utilities import capture_square_of_move, revise_move

    after: Boards = {}
    for board in boards.values():
        for child in children_of(board, event, revise_move, capture_square_of_move):
            after.setdefault(key(child), child)
    return after


def children_of(board: chess.Board, event: Event, revise: Any, lost: Any) -> Iterator[chess.Board]:
    match event:
        case Sensed():
            if all(
                board.pieces_mask(kind, colour) & event.window
                == int(event.pieces[kind - 1])
                & (int(event.pieces[6]) if colour else ~int(event.pieces[6]))
                & event.window
                for kind in chess.PIECE_TYPES
                for colour in chess.COLORS
            ):
                yield board
        case OpponentMoved():
            for move in [*taken_moves(board), None]:
                if lost(board, move) == event.captured:
                    child = pushed(board, move)
                    if child.kings.bit_count() == 2:
                        yield child
        case Moved():
            requested = chess_move(event.requested)
            taken = None if requested is None else revise(board, requested)
            if taken == chess_move(event.taken) and lost(board, taken) == event.captured:
                child = pushed(board, taken)
                if child.kings.bit_count() == 2:
                    yield child


def taken_moves(board: chess.Board) -> list[chess.Move]:
    """Return pseudo-legal moves with the castlings that python-chess leaves out."""
    from reconchess.utilities import is_psuedo_legal_castle

    moves = list(board.generate_pseudo_legal_moves())
    rank = 0 if board.turn else 7
    for file in (2, 6):
        castle = chess.Move(chess.square(4, rank), chess.square(file, rank))
        king = board.piece_at(castle.from_square) == chess.Piece(chess.KING, board.turn)
        if king and castle not in moves and is_psuedo_legal_castle(board, castle):
            moves.append(castle)
    return moves


def chess_move(move: int) -> chess.Move | None:
    if move == 0:
        return None
    becomes = move >> 12
    return chess.Move(move & 63, move >> 6 & 63, becomes + 1 if becomes else None)


def pushed(board: chess.Board, move: chess.Move | None) -> chess.Board:
    child = board.copy(stack=False)
    child.push(move if move is not None else chess.Move.null())
    return child
