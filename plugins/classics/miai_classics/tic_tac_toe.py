"""Tic-tac-toe: the smallest game of perfect information.

Two players, ``x`` and ``o``, place marks in turn; three in a row win, a full board is a draw.
Best play is a draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from miai import Game, GameInfo, Player, State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAMES = ("x", "o")
FULL = 0b111_111_111
LINES = tuple(
    sum(1 << cell for cell in line)
    for line in (
        *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
        *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
        *((0, 4, 8), (2, 4, 6)),
    )
)
"""The winning lines, each as a set of cells: bit `c` stands for cell `c`."""
CELLS = tuple(tuple(c for c in range(9) if marks >> c & 1) for marks in range(FULL + 1))
"""The cells of a set in ascending order, for all 512 sets."""
HAS_LINE = tuple(any(marks & line == line for line in LINES) for marks in range(FULL + 1))
"""Whether a set of cells holds three in a row, for all 512 sets."""


class TicTacToe(Game):
    """The game. Actions are the cells 0 to 8, row by row from the top left corner."""

    info = GameInfo(
        name="tic_tac_toe",
        version=1,
        num_players=2,
        num_distinct_actions=9,
        max_game_length=9,
        player_names=NAMES,
    )

    def new_initial_state(self) -> TicTacToeState:
        """Return an empty board, x to move."""
        return TicTacToeState(self)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return (planes, rows, columns)."""
        return (3, 3, 3)


class TicTacToeState(State):
    """A board, which also tells whose turn it is."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._marks = [0, 0]  # the cells of x and of o, as sets of bits

    def current_player(self) -> int:
        """Return 0 for x, 1 for o, or that the game is over."""
        x, o = self._marks
        if HAS_LINE[x] or HAS_LINE[o] or x | o == FULL:
            return Player.TERMINAL
        return self.move_number() % 2

    def legal_actions(self) -> list[int]:
        """Return the empty cells; none when the game is over."""
        return [] if self.is_terminal() else list(CELLS[FULL & ~(self._marks[0] | self._marks[1])])

    def _apply(self, action: int) -> None:
        self._marks[self.move_number() % 2] |= 1 << action

    def returns(self) -> tuple[float, ...]:
        """Return 1 for the winner and -1 for the loser; zeros for a draw and before the end."""
        x, o = (HAS_LINE[marks] for marks in self._marks)
        return (float(x - o), float(o - x))

    def _copy_to(self, other: Self) -> None:
        other._marks = self._marks.copy()

    def key(self) -> int:
        """Return the board as 18 bits, those of x lowest."""
        return self._marks[0] | self._marks[1] << 9

    def __str__(self) -> str:
        return board_text(self._marks)

    def action_to_string(self, action: int) -> str:
        """Return the cell's name as on a chess board: column a to c, row 3 to 1 from the top."""
        return cell_name(action)

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return three planes of 3x3: empty cells, the player's marks, the opponent's marks."""
        own, other = self._marks[player], self._marks[1 - player]
        return planes(FULL & ~(own | other), own, other)

    def result_to_string(self) -> str:
        """Return ``x wins``, ``o wins`` or ``draw``; empty before the end."""
        if not self.is_terminal():
            return ""
        won = [name for name, value in zip(NAMES, self.returns(), strict=True) if value > 0]
        return f"{won[0]} wins" if won else "draw"


def cell_name(cell: int) -> str:
    """Return ``a3`` for the top left cell, ``c1`` for the bottom right one."""
    return "abc"[cell % 3] + "321"[cell // 3]


def board_text(marks: list[int]) -> str:
    """Return three lines of ``x``, ``o`` and ``.``, from the cells of x and of o."""
    text = "".join(
        "x" if marks[0] >> c & 1 else "o" if marks[1] >> c & 1 else "." for c in range(9)
    )
    return f"{text[:3]}\n{text[3:6]}\n{text[6:]}"


def planes(*sets: int) -> NDArray[np.float32]:
    """Return sets of cells as float32 of shape (len(sets), 3, 3), ones where a cell is in."""
    import numpy as np

    bits = [[marks >> cell & 1 for cell in range(9)] for marks in sets]
    return np.array(bits, dtype=np.float32).reshape(len(sets), 3, 3)
