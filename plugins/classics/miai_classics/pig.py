"""Pig: a race of dice for two to six players.

In its turn a player rolls a die as often as it likes. A one ends the turn and loses what was rolled
in it; other numbers add up, and are kept when the player holds (John Scarne, "Scarne on Dice",
1945). Whoever reaches the goal ends the game; the others are ranked by what they have kept. This
differs from OpenSpiel's ``pig``, where only the winner counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from miai import Game, GameInfo, Parameters, Player, State
from miai.parameters import parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")
FACES = 6
ROLL, HOLD, FIRST_FACE = 0, 1, 2
ACTIONS: tuple[str, ...] = ("roll", "hold", *map(str, range(1, FACES + 1)))
"""The actions by number: two of the players, then the faces that chance rolls."""


class PigParameters(Parameters):
    """Parameters of pig."""

    players: int = parameter(3, ge=2, le=len(NAMES), help="Number of players", unit="players")
    goal: int = parameter(30, ge=2, le=1000, help="Points that end the game", unit="points")
    turns: int = parameter(
        20, ge=1, le=1000, help="Turns of each player after which the game ends", unit="turns"
    )


class Pig(Game):
    """The game. Players roll (0) or hold (1); chance rolls a one (2) up to a six (7)."""

    parameters: PigParameters

    def __init__(self, parameters: PigParameters | None = None) -> None:
        self.parameters = parameters or PigParameters()
        players, goal = self.parameters.players, self.parameters.goal
        rolls = goal // 2 + 1  # each but the last adds two points or more
        self.info = GameInfo(
            name="pig",
            version=1,
            num_players=players,
            num_distinct_actions=2,
            max_game_length=players * self.parameters.turns * (rolls + 1),
            player_names=NAMES[:players],
            max_chance_outcomes=len(ACTIONS),
        )

    def new_initial_state(self) -> PigState:
        """Return the state before the first turn."""
        return PigState(self)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the length of the tensor: the points of the turn, and of each player."""
        return (1 + self.num_players(),)


class PigState(State):
    """The points of the players and of the turn."""

    game: Pig

    def __init__(self, game: Pig) -> None:
        super().__init__(game)
        self._points = [0] * game.num_players()
        self._turn = 0  # of all players
        self._rolled = 0  # in this turn
        self._in_air = False  # whether the die is

    @property
    def points(self) -> tuple[int, ...]:
        """What each player has kept."""
        return tuple(self._points)

    @property
    def rolled(self) -> int:
        """What the player whose turn it is has rolled in it."""
        return self._rolled

    @property
    def turn_of(self) -> int | None:
        """The player whose turn it is, also while the die is in the air; None after the end."""
        return None if self.is_terminal() else self._turn % len(self._points)

    def current_player(self) -> int:
        """Return whose turn it is, chance while the die is in the air, or that the game is over."""
        if self._in_air:
            return Player.CHANCE
        players, parameters = len(self._points), self.game.parameters
        if max(self._points) >= parameters.goal or self._turn == players * parameters.turns:
            return Player.TERMINAL
        return self._turn % players

    def legal_actions(self) -> list[int]:
        """Return roll and hold, after a first roll; or the faces of the die."""
        if self._in_air:
            return [FIRST_FACE + face for face in range(FACES)]
        if self.is_terminal():
            return []
        return [ROLL, HOLD] if self._rolled else [ROLL]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the faces, equally probable, while the die is in the air."""
        return [(face, 1 / FACES) for face in self.legal_actions()] if self._in_air else []

    def _apply(self, action: int) -> None:
        if action == ROLL:
            self._in_air = True
            return
        if action != HOLD:
            self._in_air = False
            face = action - FIRST_FACE + 1
            self._rolled = self._rolled + face if face > 1 else 0
            player = self._turn % len(self._points)
            if face > 1 and self._points[player] + self._rolled < self.game.parameters.goal:
                return
        self._points[self._turn % len(self._points)] += self._rolled
        self._rolled = 0
        self._turn += 1

    def returns(self) -> tuple[float, ...]:
        """Return each player's rank as a utility: 1 for the first, -1 for the last, evenly between.

        Players with equal points share the mean of their ranks.
        """
        points = self._points
        if not self.is_terminal():
            return (0.0,) * len(points)
        return tuple(
            sum((own > other) - (own < other) for other in points) / (len(points) - 1)
            for own in points
        )

    def _copy_to(self, other: Self) -> None:
        other._points = self._points.copy()
        other._turn, other._rolled, other._in_air = self._turn, self._rolled, self._in_air

    def key(self) -> str:
        """Return all points, the turn and whether the die is in the air."""
        return f"{self._points} {self._turn} {self._rolled} {int(self._in_air)}"

    def __str__(self) -> str:
        names = self.game.info.player_names
        width = max(map(len, names))
        lines = []
        for player, (name, points) in enumerate(zip(names, self._points, strict=True)):
            turn = f" + {self._rolled}" if player == self.turn_of else ""
            lines.append(f"{name:{width}} {points}{turn}")
        return "\n".join(lines)

    def action_to_string(self, action: int) -> str:
        """Return ``roll`` or ``hold``, or the face of the die."""
        return ACTIONS[action]

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return the points of the turn and of the players from `player` on, as shares of the goal.

        They are followed in the order of the table.
        """
        import numpy as np

        points = [self._rolled, *self._points[player:], *self._points[:player]]
        goal = self.game.parameters.goal
        return np.array([value / goal for value in points], dtype=np.float32)

    def result_to_string(self) -> str:
        """Return the players' points, ``30-12-21``; empty before the end."""
        return "-".join(map(str, self._points)) if self.is_terminal() else ""
