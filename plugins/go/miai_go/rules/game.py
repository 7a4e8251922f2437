"""The game ``go`` and its state: board, history, passes, and the agreement on dead stones."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from miai.errors import GameError, InvalidActionError, InvalidStateError, ParameterError
from miai.game import Game, GameInfo, Player, State
from miai.parameters import StrictModel
from miai.plugins.loader import registry
from miai_go.rules.board import (
    BLACK,
    BLACK_STONE,
    EMPTY,
    WHITE,
    WHITE_STONE,
    Board,
    BoardError,
    KoRule,
    history_key,
)
from miai_go.rules.coordinates import draw, parse_vertex, star_points, vertex
from miai_go.rules.game_parameters import GoParameters, compensation_points, default_max_moves
from miai_go.rules.playouts import load_playouts, load_rules
from miai_go.rules.scoring import Score, area_score, result_text, territory_score

VERSION: Final = 1


class Phase(IntEnum):
    """Phase of a game.

    `PLAY`: players place stones. `PROPOSE`: under `dead_stones = "agreement"`, the player to move
    marks one dead chain per action, and passes to complete the list. `REPLY`: the opponent passes
    to accept, or resumes play. `OVER`.
    """

    PLAY = 0
    PROPOSE = 1
    REPLY = 2
    OVER = 3


class Ending(IntEnum):
    """Reason why a game is over: two passes, a repeated position (no result), or `max_moves`."""

    PASSES = 0
    REPETITION = 1
    MAX_MOVES = 2


@dataclass(frozen=True, slots=True)
class Start:
    """Starting position.

    Attributes:
      black, white: points of the stones, ascending.
      to_move: the player who moves first.
    """

    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_move: int = BLACK

    def stones(self, size: int) -> NDArray[np.int8] | None:
        """Return the stones, int8 of shape (points,): 0, 1 black, 2 white; None without stones."""
        if not self.black and not self.white:
            return None
        stones = np.zeros(size * size, np.int8)
        stones[list(self.black)] = BLACK_STONE
        stones[list(self.white)] = WHITE_STONE
        return stones


_ROOM: Final = 64
RESUME: Final = "resume"
REFUSALS: Final = 2
"""Refused proposals of dead stones after which every stone counts as alive."""


class PositionHistory:
    """Keys of positions (`history_key`) in the order in which they occurred, for superko."""

    __slots__ = ("_count", "_keys")

    def __init__(self) -> None:
        self._keys = np.empty(_ROOM, np.uint64)
        self._count = 0

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys, a uint64 view of shape (positions,); do not change it."""
        return self._keys[: self._count]

    def add(self, key: int) -> None:
        """Append the key of a new position."""
        if self._count == len(self._keys):
            grown = np.empty(2 * self._count, np.uint64)
            grown[: self._count] = self._keys
            self._keys = grown
        self._keys[self._count] = key
        self._count += 1

    def __contains__(self, key: int) -> bool:
        return bool((self._keys[: self._count] == np.uint64(key)).any())

    def copy(self) -> Self:
        """Return an independent copy."""
        other = object.__new__(type(self))
        other._keys = self._keys.copy()
        other._count = self._count
        return other


def why_illegal(state: GoState, action: int) -> str:
    """Return why an existing action is illegal, as a predicate such as ``is occupied``."""
    if state.phase == Phase.OVER:
        return "is not legal: the game is over"
    if state.phase != Phase.PLAY or action >= state.game.pass_action:
        legal = ", ".join(state.action_to_string(a) for a in state.legal_actions())
        return f"is not legal here; legal actions: {legal}"
    if state.board.color_at(action) != EMPTY:
        return "is occupied"
    if state.board.ko_point == action:
        return "would retake the ko at once"
    rules = state.game.rules
    if state.board.is_legal(state.to_move, action, suicide=rules.suicide):
        return f"would repeat an earlier position ({rules.ko} superko)"
    return "would be suicide"


PLANES: Final = 7

_TASKS: Final = {
    Phase.PLAY: "to play",
    Phase.PROPOSE: "to propose dead stones",
    Phase.REPLY: "to accept or resume",
}


class GoState(State):
    """A position of Go; see `GoGame` for the actions.

    Attributes:
      board: the stones, prisoners and simple ko; do not change it.
      start: the starting position.
      phase: the phase of the game; see `Phase`.
      dead: points of the stones proposed or agreed to be dead, ascending.
      ending: why the game is over; None while it is not.
      to_move: the player whose turn it is, 0 for Black, even when the game is over.
      passes: number of passes in a row up to now.
    """

    game: GoGame

    def __init__(self, game: GoGame, start: Start, board: Board) -> None:
        super().__init__(game)
        self.board = board
        self.start = start
        self.phase = Phase.PLAY
        self.dead: tuple[int, ...] = ()
        self.ending: Ending | None = None
        self.to_move = start.to_move
        self.passes = 0
        self._pass_stones = (0, 0)
        self._refusals = 0
        self._captured = False
        self._seen = PositionHistory()
        self._legal: list[int] | None = None
        self._score: Score | None = None
        self._remember()

    # -- the framework's protocol -------------------------------------------------------------

    def current_player(self) -> int:
        """Return 0 for Black, 1 for White, or `Player.TERMINAL`."""
        return Player.TERMINAL if self.phase == Phase.OVER else self.to_move

    def legal_actions(self) -> list[int]:
        """Return the legal actions, ascending: points, then the pass, then `resume`."""
        if self._legal is None:
            self._legal = self._find_legal()
        return self._legal.copy()

    def opening_actions(self) -> list[int]:
        """Return the legal points, or every legal action if there is no legal point."""
        legal = self.legal_actions()
        return [action for action in legal if action < self.game.pass_action] or legal

    def is_legal(self, action: int) -> bool:
        """Return whether the current player may take `action`, superko included."""
        if type(action) is not int:
            return False
        if self._legal is not None:
            return action in self._legal
        if self.phase != Phase.PLAY:
            return action in self.legal_actions()
        if not 0 <= action < self.game.pass_action:
            return action == self.game.pass_action
        if not self.board.is_legal(self.to_move, action, suicide=self.game.rules.suicide):
            return False
        return not self._repeats(action)

    def returns(self) -> tuple[float, ...]:
        """Return 1 for the winner and -1 for the loser, 0 for a draw and before the end."""
        if self.phase != Phase.OVER or self.ending == Ending.REPETITION:
            return (0.0, 0.0)
        return _utilities(self.score().margin)

    def truncated_returns(self) -> tuple[float, ...]:
        """Return the utilities by area, with every stone alive."""
        return _utilities(self.score_by_area().margin)

    def result_to_string(self) -> str:
        """Return ``B+3.5``, ``0`` for a draw, ``Void`` without result, empty before the end."""
        if self.phase != Phase.OVER:
            return ""
        if self.ending == Ending.REPETITION:
            return "Void"
        return result_text(self.score().margin)

    def key(self) -> bytes:
        """Return 16 bytes; equal keys mean equal futures.

        They cover the stones, the player to move, passes, phase, marks, simple ko, the number of
        actions (a game ends at `GoGame.max_moves`), prisoners if they count, and the set of earlier
        positions if the ko rule or the rule of repetition needs it. Two orders of the same moves
        are therefore usually *different* states. `position_key` ignores the history.
        """
        digest = hashlib.blake2b(self.board.stones().tobytes(), digest_size=16)
        digest.update(repr(self._memory()).encode())
        # Sorted: which positions may not recur matters, not when they occurred.
        digest.update(np.sort(self.positions()).tobytes())
        return digest.digest()

    def position_key(self) -> int:
        """Return the 64-bit Zobrist hash of the stones with the player to move.

        It ignores history, ko, prisoners and the number of moves.
        """
        return history_key(self.board.hash, self.to_move, KoRule.SITUATIONAL)

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return the board as `player` sees it, float32 of shape (7, size, size), row 0 lowest.

        Planes: 0 own stones, 1 the opponent's stones, 2 empty points, 3 points where the player to
        move may play, 4 the last stone played, 5 ones on `player`'s turn, 6 ones if `player` is
        Black.
        """
        size = self.game.size
        planes = np.zeros((PLANES, size, size), np.float32)
        stones = self.board.stones()
        planes[0] = stones == player + 1
        planes[1] = stones == 2 - player
        planes[2] = stones == EMPTY
        if self.phase == Phase.PLAY:
            planes[3].ravel()[self.legal_actions()[:-1]] = 1
        last = self.last_action
        if last is not None and last < self.game.pass_action:
            planes[4].ravel()[last] = 1
        planes[5] = self.current_player() == player
        planes[6] = player == BLACK
        return planes

    def action_to_string(self, action: int) -> str:
        """Return the vertex, ``pass`` or ``resume``."""
        return RESUME if action == self.game.resume_action else vertex(action, self.game.size)

    def string_to_action(self, text: str) -> int:
        """Return the legal action written as ``D4``, ``pass`` or ``resume``, in any case.

        While dead chains are marked, any stone of a chain names it. Raises `InvalidActionError`.
        """
        if text.strip().lower() == RESUME and self.game.resume_action >= 0:
            action = self.game.resume_action
        else:
            action = parse_vertex(text, self.game.size)
        if self.phase == Phase.PROPOSE and action < self.game.pass_action:
            action = next(iter(self.board.group_at(action).tolist()), action)
        if not self.is_legal(action):
            raise InvalidActionError(
                f"go: {self.action_to_string(action)} {why_illegal(self, action)}"
            )
        return action

    def serialize(self) -> str:
        """Return text for `GoGame.deserialize`."""
        values: dict[str, object] = {"size": self.game.size, "actions": self._history}
        if self.start != self.game.start:
            values["start"] = [self.start.black, self.start.white, self.start.to_move]
        return json.dumps(values, separators=(",", ":"))

    def __str__(self) -> str:
        """Return the board with coordinates and the last move marked, and the player to move."""
        return self.text()

    def text(self, marks: Mapping[int, str] | None = None) -> str:
        """Return the board, and the player to move or the result; for `marks` see `draw`."""
        result = self.result_to_string()  # asks the judge for dead stones
        last = self.last_action
        stars = star_points(self.game.size)
        picture = draw(self.board.stones(), last=last, dead=self.dead, stars=stars, marks=marks)
        by_black, by_white = self.board.captures
        prisoners = f"captured: Black {by_black}, White {by_white}"
        if self.phase == Phase.OVER:
            return f"{picture}\n{result}; {prisoners}"
        name = self.game.info.player_names[self.to_move].capitalize()
        after = "" if last is None else f" after {self.action_to_string(last)}"
        return f"{picture}\n{name} {_TASKS[self.phase]}{after}; {prisoners}"

    # -- of Go --------------------------------------------------------------------------------

    @property
    def last_action(self) -> int | None:
        """The last action; None at the start."""
        return self._history[-1] if self._history else None

    @property
    def pass_stones(self) -> tuple[int, int]:
        """Stones that Black and White gave up by passing, if passes cost stones."""
        black, white = self._pass_stones
        if self.game.rules.pass_stones and self.passes >= self.game.rules.passes:
            # White passes last: if Black made the second pass, White still owes a stone.
            whites_turn = (self.to_move == WHITE) != (self.phase == Phase.REPLY)
            white += whites_turn
        return black, white

    def positions(self) -> NDArray[np.uint64]:
        """Return the `history_key` of every position that may not recur, the present included.

        A uint64 view of shape (positions,); do not change it. Empty if no rule needs it.
        """
        return self._seen.keys

    def score(self) -> Score:
        """Return the score by the rules, or before the end of the game `score_by_area`.

        A game that ended by `GoGame.max_moves` is also scored by area under all rules, because
        prisoners and passes have not evened out. Raises `MiaiError` if the referee failed.
        """
        if self._score is None:
            self._score = self._count_points()
        return self._score

    def score_by_area(self) -> Score:
        """Return the score by area, with every stone alive."""
        return area_score(self.board, white_bonus=self.game.white_bonus)

    def score_with_dead(self, dead: tuple[int, ...]) -> Score:
        """Return the score by the rules if the stones on `dead` are dead."""
        rules, bonus = self.game.rules, self.game.white_bonus
        if rules.scoring == "area":
            return area_score(self.board, white_bonus=bonus, dead=dead)
        paid = self.pass_stones if rules.pass_stones else (0, 0)
        return territory_score(self.board, rules, white_bonus=bonus, pass_stones=paid, dead=dead)

    # -- moves --------------------------------------------------------------------------------

    def _apply(self, action: int) -> None:
        self._legal = None
        self._score = None
        if self.phase != Phase.PLAY:
            self._settle(action)
        elif action == self.game.pass_action:
            self._pass_turn()
        else:
            self._play(action)
        if len(self._history) + 1 >= self.game.max_moves and self.phase != Phase.OVER:
            self._end(Ending.MAX_MOVES)

    def _play(self, action: int) -> None:
        if self.board.play_unchecked(self.to_move, action):
            self._captured = True
        if self.game.rules.ko == "none":
            self.board.forget_ko()
        self.passes = 0
        self.to_move = 1 - self.to_move
        if self._remember():
            self._end(Ending.REPETITION)

    def _pass_turn(self) -> None:
        self.board.play_unchecked(self.to_move, self.game.pass_action)
        self.passes += 1
        black, white = self._pass_stones
        self._pass_stones = (black + (self.to_move == BLACK), white + (self.to_move == WHITE))
        self.to_move = 1 - self.to_move
        # After a pass the stones are the same, but not who is to move.
        if self.game.ko_rule == KoRule.SITUATIONAL:
            self._remember()
        if self.passes < self.game.rules.passes:
            return
        if self.game.rules.dead_stones == "agreement" and self._refusals < REFUSALS:
            self.phase = Phase.PROPOSE
        else:
            self._end(Ending.PASSES)

    def _settle(self, action: int) -> None:
        """Apply an action of the agreement on dead stones."""
        if action < self.game.pass_action:
            self.dead = tuple(sorted((*self.dead, *self.board.group_at(action).tolist())))
        elif self.phase == Phase.PROPOSE:
            self.phase = Phase.REPLY
            self.to_move = 1 - self.to_move
        else:
            self.to_move = 1 - self.to_move
            if action == self.game.resume_action:
                self.phase, self.dead = Phase.PLAY, ()
                self.passes = 0
                self._refusals += 1
            else:
                self._end(Ending.PASSES)

    def _end(self, ending: Ending) -> None:
        self.phase = Phase.OVER
        self.ending = ending
        # A proposal of dead stones that was cut short is void.
        if ending == Ending.MAX_MOVES:
            self.dead = ()

    # -- legality -----------------------------------------------------------------------------

    def _find_legal(self) -> list[int]:
        game = self.game
        if self.phase == Phase.PLAY:
            points = self.board.legal_points(self.to_move, suicide=game.rules.suicide)
            if self._may_repeat():
                seen = self._seen.keys
                points = self.board.without_repeats(self.to_move, points, seen, game.ko_rule)
            legal: list[int] = points.tolist()
        elif self.phase == Phase.PROPOSE:
            legal = [chain[0] for chain in self.board.chains() if chain[0] not in self.dead]
        else:
            legal = []
        if self.phase != Phase.OVER:
            legal.append(game.pass_action)
        if self.phase == Phase.REPLY:
            legal.append(game.resume_action)
        return legal

    def _may_repeat(self) -> bool:
        # Until stones are captured, every move makes a position with more stones than any before.
        rules = self.game.rules
        return rules.ko in ("positional", "situational") and (self._captured or rules.suicide)

    def _repeats(self, point: int) -> bool:
        """Return whether a move that is legal under simple ko is forbidden by superko."""
        if not self._may_repeat():
            return False
        after = self.board.hash_after(self.to_move, point)
        return history_key(after, 1 - self.to_move, self.game.ko_rule) in self._seen

    def _remember(self) -> bool:
        """Record the position; return whether it repeats an earlier one under simple ko."""
        rules = self.game.rules
        rule = self.game.ko_rule
        if rule == KoRule.SIMPLE:
            if rules.repetition == "allowed" or rules.ko == "none":
                return False
            rule = KoRule.SITUATIONAL
        key = history_key(self.board.hash, self.to_move, rule)
        if rules.ko == "simple" and self._captured and key in self._seen:
            return True
        self._seen.add(key)
        return False

    # -- scores, keys and copies --------------------------------------------------------------

    def _count_points(self) -> Score:
        rules = self.game.rules
        if self.ending != Ending.PASSES:
            return self.score_by_area()
        if rules.dead_stones in ("playouts", "referee"):
            self.dead = self.game.judge.dead_points(self)
        return self.score_with_dead(self.dead)

    def _memory(self) -> list[int]:
        """Return what else, besides stones and history, decides the future."""
        rules = self.game.rules
        ko_point = self.board.ko_point
        memory = [
            self.to_move,
            self.passes,
            int(self.phase),
            -1 if self.ending is None else int(self.ending),
            self._refusals,
            -1 if ko_point is None else ko_point,
            len(self._history),
        ]
        if rules.scoring == "territory":
            memory += [*self.board.captures, *self._pass_stones]
        return memory + list(self.dead) if rules.dead_stones == "agreement" else memory

    def _copy_to(self, other: Self) -> None:
        other.board = self.board.copy()
        other.start = self.start
        other.phase = self.phase
        other.dead = self.dead
        other.ending = self.ending
        other.to_move = self.to_move
        other.passes = self.passes
        other._pass_stones = self._pass_stones
        other._refusals = self._refusals
        other._captured = self._captured
        other._seen = self._seen.copy()
        other._legal = self._legal
        other._score = self._score


def _utilities(margin: float) -> tuple[float, float]:
    if margin == 0:
        return (0.0, 0.0)
    return (1.0, -1.0) if margin > 0 else (-1.0, 1.0)


class DeadStoneJudge(Protocol):
    """Finds the dead stones of a position in which both players passed."""

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of all dead stones, whole chains, ascending.

        The answer depends on nothing but the game so far.

        Raises:
          MiaiError: it cannot tell; see `miai_go.rules.dead_stones.RefereeError`.
        """


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
        self.ko_rule = KoRule["SIMPLE" if self.rules.ko == "none" else self.rules.ko.upper()]
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

    def result_reason(self, result: str) -> str:
        """Return ``by 3.5 points``, for a game without result ``by repetition``."""
        margin = re.fullmatch(r"[BW]\+(\d+(?:\.\d+)?)", result)
        if margin is None:
            return {"0": "", "Void": "by repetition"}.get(result, super().result_reason(result))
        return f"by {margin[1]} point{'s' * (margin[1] != '1')}"

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
        if self.rules.dead_stones == "referee":
            name, values = self.parameters.referee, self.parameters.referee_settings
        else:
            name, values = "playouts", {}
        component = registry().get("go.dead-stones", name)
        judge: DeadStoneJudge = component.build(self, values=values, where="referee_settings")
        return judge

    def _set_up(self, start: Start) -> Board:
        if not (start.black or start.white):
            return Board(self.size)
        stones = np.zeros((self.size, self.size), np.int8)
        flat = stones.ravel()
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
