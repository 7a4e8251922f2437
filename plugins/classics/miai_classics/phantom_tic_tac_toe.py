"""Phantom tic-tac-toe: tic-tac-toe in which players do not see the opponent's marks.

A player names a cell. If the opponent holds it, the placement is refused; only the mover learns of
it, and moves again. Otherwise the mover learns that the placement stood, and the opponent that it
is its turn. At the end both learn who won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from miai import Game, GameInfo, Json, Observation, Player
from miai_classics.tic_tac_toe import (
    CELLS,
    FULL,
    HAS_LINE,
    NAMES,
    TicTacToe,
    TicTacToeState,
    cell_name,
    planes,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PhantomTicTacToe(TicTacToe):
    """The game. Actions are the cells 0 to 8, row by row from the top left corner."""

    info = GameInfo(
        name="phantom_tic_tac_toe",
        version=1,
        num_players=2,
        num_distinct_actions=9,
        max_game_length=17,  # nine placements, and each player bumps into four marks at most
        player_names=NAMES,
        perfect_information=False,
    )

    def new_initial_state(self) -> PhantomTicTacToeState:
        """Return an empty board, x to move."""
        return PhantomTicTacToeState(self)


class PhantomTicTacToeState(TicTacToeState):
    """The board, which only the referee sees, and what each player has observed of it."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._bumps = [0, 0]  # cells that x and o know to be the opponent's
        self._views = ["x:", "o:"]  # the information states of x and of o
        self._to_move = 0
        self._stood = True  # whether the last placement did

    def current_player(self) -> int:
        """Return 0 for x, 1 for o, or that the game is over."""
        x, o = self._marks
        over = HAS_LINE[x] or HAS_LINE[o] or x | o == FULL
        return Player.TERMINAL if over else self._to_move

    def legal_actions(self) -> list[int]:
        """Return the cells that the mover does not know to be taken."""
        if self.is_terminal():
            return []
        mover = self._to_move
        return list(CELLS[FULL & ~(self._marks[mover] | self._bumps[mover])])

    def _apply(self, action: int) -> None:
        mover, other = self._to_move, 1 - self._to_move
        self._stood = not self._marks[other] >> action & 1
        if self._stood:
            self._marks[mover] |= 1 << action
            self._to_move = other
            self._views[mover] += f" {cell_name(action)}"
            self._views[other] += " ."
        else:
            self._bumps[mover] |= 1 << action
            self._views[mover] += f" {cell_name(action)}?"
        if self.is_terminal():
            self._views = [f"{view} {self.result_to_string()}" for view in self._views]

    def observation(self, player: int) -> Observation | None:
        """Return what `player` observes of the last placement; the opponent observes no refusal.

        `Observation.data` is ``{"stood": bool}`` for the mover. At the end it has ``"result"``
        too, for both players.
        """
        if not self._history:
            return Observation(player, legal_actions=self._legal_for(player))
        actor = self._actors[-1]
        if player != actor and not self._stood:
            return None
        data: dict[str, Json] = {"stood": self._stood} if player == actor else {}
        if self.is_terminal():
            data["result"] = self.result_to_string()
        action = self._history[-1] if player == actor else None
        return Observation(player, actor, action, data or None, self._legal_for(player))

    def information_state_string(self, player: int) -> str:
        """Return the observations: ``b2`` stood, ``b2?`` was refused, ``.`` for a hidden mark."""
        return self._views[player]

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._bumps = self._bumps.copy()
        other._views = self._views.copy()
        other._to_move = self._to_move
        other._stood = self._stood

    def key(self) -> int:
        """Return marks, bumps and the mover as 37 bits: all that the future depends on."""
        key = self._to_move
        for part in (*self._marks, *self._bumps):
            key = key << 9 | part
        return key

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return planes of 3x3: unknown cells, the player's marks, the opponent's known marks."""
        own, bumps = self._marks[player], self._bumps[player]
        return planes(FULL & ~(own | bumps), own, bumps)
