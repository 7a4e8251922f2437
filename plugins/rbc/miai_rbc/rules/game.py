"""Reconnaissance Blind Chess: each turn a player senses a 3x3 window, then moves.

The rules are those of `LocalGame` of reconchess 1.6.9 (https://github.com/reconnaissanceblindchess).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import Game, GameInfo
from miai_rbc.parameters import RbcParameters
from miai_rbc.rules.actions import NUM_ACTIONS
from miai_rbc.rules.rows import board_of_fen
from miai_rbc.rules.state import RbcState

if TYPE_CHECKING:
    from miai_rbc.kernels.bits import Words


_PAWN_MOVES, _CAPTURES = 96, 30  # maximum: six steps by sixteen pawns, all pieces but kings


class RbcGame(Game):
    """The game; its actions are numbered in `miai_rbc.rules.actions`.

    Raises:
      InvalidStateError: the starting position is not a FEN.
    """

    parameters: RbcParameters

    def __init__(self, parameters: RbcParameters | None = None) -> None:
        self.parameters = parameters or RbcParameters()
        self.start = board_of_fen(self.parameters.fen)
        zeroing = _PAWN_MOVES + _CAPTURES
        turns = (zeroing + 1) * self.parameters.reversible_moves_limit
        if self.parameters.full_turn_limit is not None:
            turns = min(turns, 2 * self.parameters.full_turn_limit)
        self.info = GameInfo(
            name="rbc",
            version=1,
            num_players=2,
            num_distinct_actions=NUM_ACTIONS,
            max_game_length=2 * turns,
            player_names=("white", "black"),
            perfect_information=False,
        )

    def new_initial_state(self) -> RbcState:
        """Return the starting position, before a sense."""
        return RbcState(self)

    def state_at(
        self,
        row: Words,
        *,
        senses: bool,
        captured: int | None = None,
        halfmove_clock: int = 0,
        fullmove_number: int = 1,
    ) -> RbcState:
        """Return a state with a given board and clocks, and no history.

        Args:
          senses: whether the side to move senses next; otherwise it moves.
          captured: the square where the last move captured.
        """
        state = self.new_initial_state()
        state.set_board(row, senses=senses, captured=captured)
        state.halfmove_clock, state.fullmove_number = halfmove_clock, fullmove_number
        return state
