"""Reconnaissance Blind Chess: each turn a player senses a 3x3 window, then moves.

The rules are those of `LocalGame` of reconchess 1.6.9 (https://github.com/reconnaissanceblindchess).
A state holds the true board, and answers what each player observes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import chess

from miai import Game, GameInfo, Json, Observation, Player, State
from miai.errors import InvalidActionError
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.board import KINGS, NOTHING, PAWNS, STATE, WHITE
from miai_rbc.rbc_parameters import RbcParameters
from miai_rbc.rules.actions import (
    NUM_ACTIONS,
    PASS,
    SENSE_NOTHING,
    action_name,
    action_of,
    move_name,
    move_of_action,
    square_name,
)
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import KING_CAPTURED
from miai_rbc.rules.rows import board_of_fen, board_of_row, piece_at, row_of_board

# -- the state -------------------------------------------------------------------------------------

SENSES = tuple(range(SENSE_NOTHING + 1))
"""All senses as actions."""


def window(square: int) -> tuple[int, ...]:
    """Return the squares of the window round a square, row by row from the top left."""
    rank, file = divmod(square, 8)
    return tuple(
        8 * r + f
        for r in range(rank + 1, rank - 2, -1)
        for f in range(file - 1, file + 2)
        if 0 <= r < 8 and 0 <= f < 8
    )


class BoardState(State):
    """The true board with its clocks, in games without check that a captured king ends.

    Attributes:
      boards: the true board, a set of one.
      halfmove_clock: half-moves since the last capture or pawn move; passes count.
      fullmove_number: as in a FEN.
    """

    game: BoardGame

    def __init__(self, game: BoardGame) -> None:
        super().__init__(game)
        board = game.start
        self.boards = BoardSet(row_of_board(board)[None])
        self.halfmove_clock = board.halfmove_clock
        self.fullmove_number = board.fullmove_number
        self._mover = 0 if board.turn == chess.WHITE else 1
        self._captured: int | None = None  # by the last move
        self._legal: list[int] | None = None

    def current_player(self) -> int:
        """Return 0 for White, 1 for Black, or `Player.TERMINAL`."""
        return Player.TERMINAL if self._is_over() else self._mover

    def move_of(self, action: int) -> int:
        """Return the move of `kernels.board` that an action requests here."""
        return move_of_action(action, pawns=int(self.boards.rows[0, PAWNS]))

    def _play(self, move: int) -> int:
        """Play a requested move, as it turns out; return the move taken."""
        self._legal = None
        pawns = int(self.boards.rows[0, PAWNS])
        ((taken, self._captured),) = self.boards.play(move)
        quiet = taken == NOTHING or not pawns >> (taken & 63) & 1
        zeroing = self._captured is not None or not quiet
        self.halfmove_clock = 0 if zeroing else self.halfmove_clock + 1
        self.fullmove_number += self._mover
        self._mover = 1 - self._mover
        return taken

    def set_board(
        self, row: Words, *, captured: int | None, halfmove_clock: int, fullmove_number: int
    ) -> None:
        """Replace the board, for worlds of a belief, whose history is unknown."""
        self.boards = BoardSet(row[None].copy())
        self._mover = int(row[STATE]) & 1
        self._captured, self._legal = captured, None
        self.halfmove_clock, self.fullmove_number = halfmove_clock, fullmove_number

    # -- the end --------------------------------------------------------------------------------

    def _winner(self) -> int | None:
        kings, white = int(self.boards.rows[0, KINGS]), int(self.boards.rows[0, WHITE])
        if not kings & white:
            return 1
        return 0 if not kings & ~white else None

    def _draw(self) -> str:
        """Return why the game is drawn; empty if it is not, a captured king apart."""
        parameters = self.game.parameters
        limit = parameters.full_turn_limit
        if limit is not None and self.fullmove_number > limit:
            return "turn limit"
        return "move limit" if self.halfmove_clock >= parameters.reversible_moves_limit else ""

    def _is_over(self) -> bool:
        return self._winner() is not None or bool(self._draw())

    def returns(self) -> tuple[float, ...]:
        """Return 1 for the player that captured the king and -1 for the other; zeros for a draw."""
        winner = self._winner()
        if winner is None:
            return (0.0, 0.0)
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def result_to_string(self) -> str:
        """Return the result and its reason, empty before the end."""
        winner = self._winner()
        if winner is not None:
            return f"{('1-0', '0-1')[winner]} {KING_CAPTURED}"
        return f"1/2-1/2 {reason}" if (reason := self._draw()) else ""

    # -- copies, identity, text -----------------------------------------------------------------

    def _copy_to(self, other: Self) -> None:
        other.boards = self.boards.copy()
        other.halfmove_clock, other.fullmove_number = self.halfmove_clock, self.fullmove_number
        other._mover, other._captured, other._legal = self._mover, self._captured, self._legal

    def key(self) -> bytes:
        """Return the row and the clocks that can end the game."""
        return self.boards.rows.tobytes() + self._clocks().encode()

    def _clocks(self) -> str:
        turns = self.fullmove_number if self.game.parameters.full_turn_limit is not None else 0
        return f"{self.halfmove_clock} {turns}"

    def board(self) -> chess.Board:
        """Return the true board of python-chess, with its clocks and no history."""
        board = board_of_row(self.boards.rows[0])
        board.halfmove_clock, board.fullmove_number = self.halfmove_clock, self.fullmove_number
        return board

    def __str__(self) -> str:
        name = self.game.info.player_names[self._mover]
        text = f"{self.board()}\n{self.board().fen()}\n"
        return text + (self.result_to_string() or f"{name} {self._phase()}")

    def _phase(self) -> str:
        return "to move"

    def action_to_string(self, action: int) -> str:
        """Return ``e2e4``, ``e7e8n``, or what else `miai_rbc.rules.actions` lists."""
        if not 0 <= action < self.game.info.num_distinct_actions:
            raise InvalidActionError(f"{self.game.info.name}: {action} is not an action")
        return action_name(action)

    def string_to_action(self, text: str) -> int:
        """Return the legal action; a promotion to a queen may have its ``q``."""
        name = text.strip().lower()
        return super().string_to_action(name[:4] if len(name) == 5 and name[-1] == "q" else name)


class RbcState(BoardState):
    """A point in a game, before a sense or before a move."""

    game: RbcGame

    def __init__(self, game: RbcGame) -> None:
        super().__init__(game)
        self._senses = True  # else it moves
        self._taken = NOTHING  # by the last request
        self._texts: tuple[list[str], list[str]] = ([], [])  # observations of each player
        self._texts[self._mover].append("-")

    # -- rules ----------------------------------------------------------------------------------

    @property
    def senses(self) -> bool:
        """Whether the side to move senses next; otherwise it moves."""
        return self._senses

    def legal_actions(self) -> list[int]:
        """Return all senses, or all moves that can be requested."""
        if self._legal is None:
            if self._is_over():
                self._legal = []
            elif self._senses:
                self._legal = list(SENSES)
            else:
                self._legal = [PASS, *sorted(map(action_of, self.boards.requests()))]
        return self._legal.copy()

    def is_legal(self, action: int) -> bool:
        """Return whether the current player may take `action`."""
        if self._senses and not self._is_over():
            return type(action) is int and 0 <= action <= SENSE_NOTHING
        return super().is_legal(action)

    def _apply(self, action: int) -> None:
        self._legal = None
        if self._senses:
            self._senses = False
            self._texts[self._mover].append(_sensed_text(self.sensed(action)))
            return
        move = self.move_of(action)
        self._taken = self._play(move)
        capture = "-" if self._captured is None else square_name(self._captured)
        self._texts[1 - self._mover].append(f"{move_name(move)}:{move_name(self._taken)}:{capture}")
        self._senses = True
        self._texts[self._mover].append(capture)
        if self._is_over():
            for texts in self._texts:
                texts.append(self.result_to_string())

    def sensed(self, action: int) -> list[tuple[str, str | None]]:
        """Return the squares that a sense shows, with pieces (``P`` White's, ``p`` Black's)."""
        if action == SENSE_NOTHING:
            return []
        row = self.boards.rows[0]
        return [(square_name(square), piece_at(row, square)) for square in window(action)]

    def set_phase(self, *, senses: bool) -> None:
        """Set whether the side to move senses next, and forget what was observed."""
        self._senses, self._texts = senses, ([], [])

    # -- observations ---------------------------------------------------------------------------

    def observation(self, player: int) -> Observation | None:
        """Return what `player` observes of the last action; None for the opponent's sense.

        `Observation.data` is, after one's own sense, ``{"sensed": [[square, piece], ...]}``; after
        one's own move ``{"requested", "taken", "captured"}``, moves in UCI notation or None; after
        the opponent's move, and before the first turn, ``{"captured"}``, a square or None. At the
        end there is also the ``"result"``.
        """
        legal = self._legal_for(player)
        if not self._history:
            return Observation(player, data={"captured": None}, legal_actions=legal)
        actor, action = self._actors[-1], self._history[-1]
        captured = None if self._captured is None else square_name(self._captured)
        data: dict[str, Json]
        if player != actor:
            if action <= SENSE_NOTHING:
                return None
            data = {"captured": captured}
        elif action <= SENSE_NOTHING:
            data = {"sensed": self.sensed(action)}
        else:
            requested = None if action == PASS else action_name(action)
            taken = None if self._taken == NOTHING else move_name(self._taken)
            data = {"requested": requested, "taken": taken, "captured": captured}
        if self._is_over():
            data["result"] = self.result_to_string()
        return Observation(player, actor, action if player == actor else None, data, legal)

    def information_state_string(self, player: int) -> str:
        """Return all observations: captures, senses, and moves as requested and taken."""
        return " ".join(self._texts[player])

    # -- copies, identity, text -----------------------------------------------------------------

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._senses, other._taken = self._senses, self._taken
        other._texts = (self._texts[0].copy(), self._texts[1].copy())

    def key(self) -> bytes:
        """Return the row, the phase and the clocks that can end the game."""
        return self.boards.rows.tobytes() + f"{self._senses:d} {self._clocks()}".encode()

    def _phase(self) -> str:
        return "to sense" if self._senses else "to move"


def _sensed_text(sensed: list[tuple[str, str | None]]) -> str:
    if not sensed:
        return "?"
    return f"{sensed[0][0]}{sensed[-1][0]}=" + "".join(piece or "." for _, piece in sensed)


# -- the game --------------------------------------------------------------------------------------

_PAWN_MOVES, _CAPTURES = 96, 30  # maximum: six steps by sixteen pawns, all pieces but kings


class BoardGame(Game):
    """A game from a starting position; its actions are numbered in `miai_rbc.rules.actions`.

    Raises:
      InvalidStateError: the starting position is not a FEN.
    """

    NAME: ClassVar[str]
    ACTIONS_PER_TURN: ClassVar[int] = 1

    parameters: RbcParameters

    def __init__(self, parameters: RbcParameters | None = None) -> None:
        self.parameters = parameters or RbcParameters()
        self.start = board_of_fen(self.parameters.fen)
        zeroing = _PAWN_MOVES + _CAPTURES
        turns = (zeroing + 1) * self.parameters.reversible_moves_limit
        if self.parameters.full_turn_limit is not None:
            turns = min(turns, 2 * self.parameters.full_turn_limit)
        self.info = GameInfo(
            name=self.NAME,
            version=1,
            num_players=2,
            num_distinct_actions=NUM_ACTIONS,
            max_game_length=self.ACTIONS_PER_TURN * turns,
            player_names=("white", "black"),
            perfect_information=False,
        )

    def result_reason(self, result: str) -> str:
        """Return ``by king capture``, or the limit at which the game is drawn."""
        reason = result.partition(" ")[2]
        if reason == KING_CAPTURED:
            return "by king capture"
        return f"at the {reason}" if reason else super().result_reason(result)

    @abstractmethod
    def new_initial_state(self) -> BoardState:
        """Return the starting position."""


class RbcGame(BoardGame):
    """The game: each turn a sense and a move."""

    NAME = "rbc"
    ACTIONS_PER_TURN = 2

    def new_initial_state(self) -> RbcState:
        """Return the starting position, before a sense."""
        return RbcState(self)
