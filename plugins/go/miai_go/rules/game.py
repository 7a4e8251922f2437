"""The game ``go``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from pydantic import ValidationError

from miai.errors import GameError, InvalidStateError, ParameterError
from miai.game import Game, GameInfo
from miai.parameters import StrictModel
from miai_go.kinds import DEAD_STONES
from miai_go.rules.board import BLACK, WHITE, Board, BoardError, KoRule
from miai_go.rules.coordinates import vertex
from miai_go.rules.parameters import GoParameters, compensation_points, default_max_moves
from miai_go.rules.playouts import load_playouts, load_rules
from miai_go.rules.state import PLANES, GoState, Start

if TYPE_CHECKING:
    from miai_go.rules.dead_stones import DeadStoneJudge


VERSION: Final = 1


class GoGame(Game):
    """Go on one board size under one rule set, from one starting position.

    Actions are `row * size + column` from A1, then the pass; `dead_stones = "agreement"` adds
    `resume`, which refuses a proposal of dead stones. Player 0 is Black. Utilities are 1, 0 and -1.

    Attributes:
      parameters: the parameters, with the preset's defaults written out.
      size: points on a side.
      start: the starting position, handicap included.
      white_bonus: komi and compensation, points.
      max_moves: actions after which the game ends, counted by area with every stone alive.
      pass_action, resume_action: those actions; `resume_action` is -1 without an agreement phase.

    Raises:
      ParameterError: the starting position has a chain without a liberty.
      AgentUnavailableError: the referee for dead stones is an engine that is not installed.
    """

    parameters: GoParameters

    def __init__(self, parameters: GoParameters) -> None:
        self.parameters = parameters.resolved()
        self.rules = parameters.resolved_rules()
        self.size = parameters.board_size
        self.ko_rule = KoRule[self.rules.ko.upper()]
        self.max_moves = parameters.max_moves or default_max_moves(self.size)
        self.white_bonus = self.rules.komi + compensation_points(
            self.rules.compensation, parameters.handicap_stones
        )
        self.start = Start(
            parameters.black_points(),
            parameters.white_points(),
            WHITE if self.parameters.first_player == "white" else BLACK,
        )
        self.pass_action = self.size * self.size
        agreement = self.rules.dead_stones == "agreement"
        self.resume_action = self.pass_action + 1 if agreement else -1
        self.info = GameInfo(
            name="go",
            version=VERSION,
            num_players=2,
            num_distinct_actions=self.pass_action + (2 if agreement else 1),
            max_game_length=self.max_moves,
            player_names=("black", "white"),
        )
        self._start_board = self._set_up(self.start)
        if self.rules.dead_stones in ("referee", "playouts"):
            _ = self.judge  # a missing referee is an error now, not at the end of a game

    def new_initial_state(self) -> GoState:
        """Return the starting position, handicap stones and set-up included."""
        load_rules()
        if self.rules.dead_stones in ("playouts", "agreement"):
            load_playouts()  # for the judge
        return GoState(self, self.start, self._start_board.copy())

    def new_state(self, start: Start) -> GoState:
        """Return a state that starts from another position, for analysis.

        Raises `InvalidStateError` if a stone is off the board, on another, or without a liberty.
        """
        try:
            return GoState(self, start, self._set_up(start))
        except ParameterError as error:
            raise InvalidStateError(str(error)) from error

    def deserialize(self, text: str) -> GoState:
        """Return the state that `GoState.serialize` wrote. Raises `InvalidStateError`."""
        try:
            values = _SerialisedState.model_validate_json(text)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise InvalidStateError(f"go: {text[:80]!r} is not a state: {reason}") from error
        if values.size != self.size:
            raise InvalidStateError(f"go: the state has size {values.size}, not {self.size}")
        if len(values.actions) > self.max_moves:
            raise InvalidStateError(
                f"go: {len(values.actions)} actions, but this game ends after {self.max_moves}"
            )
        state = self.new_state(Start(*values.start)) if values.start else self.new_initial_state()
        for ply, action in enumerate(values.actions):
            try:
                state.apply_action(action)
            except GameError as error:
                raise InvalidStateError(f"go: action {ply} of the state: {error}") from error
        return state

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return (planes, size, size); see `GoState.observation_tensor`."""
        return (PLANES, self.size, self.size)

    @cached_property
    def judge(self) -> DeadStoneJudge:
        """The judge of dead stones: the referee of the parameters, or else playouts."""
        from miai.plugins.loader import registry

        if self.rules.dead_stones == "referee":
            name, values = self.parameters.referee, self.parameters.referee_settings
        else:
            name, values = "playouts", {}
        component = registry().get(DEAD_STONES, name)
        judge: DeadStoneJudge = component.build(self, values=values, where="referee_settings")
        return judge

    def _set_up(self, start: Start) -> Board:
        if not (start.black or start.white):
            return Board(self.size)
        stones = np.zeros((self.size, self.size), np.int8)
        flat = stones.reshape(-1)
        for color, points in ((BLACK, start.black), (WHITE, start.white)):
            for point in points:
                if not 0 <= point < self.pass_action or flat[point]:
                    raise ParameterError(f"go: point {point} is off the board or occupied")
                flat[point] = color + 1
        try:
            return Board.from_stones(stones)
        except BoardError as error:
            names = ", ".join(vertex(p, self.size) for p in (*start.black, *start.white)[:20])
            raise ParameterError(f"go: starting position ({names}): {error}") from error


class _SerialisedState(StrictModel):
    """What `GoState.serialize` writes; `start` is as in `Start`."""

    size: int
    actions: list[int]
    start: tuple[tuple[int, ...], tuple[int, ...], Literal[0, 1]] | None = None
