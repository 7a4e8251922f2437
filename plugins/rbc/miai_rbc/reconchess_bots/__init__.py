"""miai's agents as bots of reconchess, one importable module each.

::

    rc-bot-match miai_rbc.reconchess_bots.rbc_random reconchess.bots.random_bot

A module holds one line, `player_class("agent")`, whose class is named after the agent.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from statistics import median
from typing import Any

import chess

from miai.agent import Agent
from miai.api import load_game, make_agent
from miai.clock import ClockReading, TimeControl
from miai.game import Observation
from miai.plain import Json
from miai_rbc.rbc_parameters import START_FEN
from miai_rbc.reconchess.loading import import_reconchess
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_name, action_of
from miai_rbc.rules.game import SENSES, window
from miai_rbc.rules.rows import kernel_move

_CENTRES = {frozenset(window(square)): square for square in range(64)}


class _Phase(Enum):
    AWAY = auto()  # the opponent's turn
    SENSE = auto()
    MOVE = auto()


class _ServerClock:
    """Finds the increment of a game's clock, which reconchess does not tell its players.

    After a turn the clock shows the seconds before it, less those used, plus the increment. Until
    the second turn the increment counts as 0.

    Attributes:
      increment: the median over all turns, in seconds per turn.
    """

    def __init__(self) -> None:
        self.increment = 0.0
        self._increments: list[float] = []
        self._expected: float | None = None
        self._seconds = self._begun = 0.0

    def begin_turn(self, seconds: float) -> None:
        """Note what the clock shows at the first decision of a turn."""
        if self._expected is not None and math.isfinite(seconds):
            self._increments.append(max(0.0, seconds - self._expected))
            self.increment = median(self._increments)
        self._seconds, self._begun = seconds, time.monotonic()

    def end_turn(self) -> None:
        """Note the time that the turn took."""
        if math.isfinite(self._seconds):
            self._expected = self._seconds - (time.monotonic() - self._begun)

    def reading(self, shown: float) -> ClockReading:
        """Return the clock for an agent, from the seconds that the server shows."""
        if math.isinf(shown):
            return ClockReading(control=TimeControl())
        remaining = max(0.0, shown)
        seconds = max(remaining, 1e-3)
        control = TimeControl(
            kind="fischer", seconds=seconds, increment=self.increment, increment_per="turn"
        )
        return ClockReading(control=control, main=remaining, limit=remaining)


class ReconchessBot:
    """Plays by an agent; `player_class` makes subclasses that are players of reconchess.

    The seed of the module `random` repeats its games, as the agent's seed is drawn from it. A
    question out of turn, as rc-playback asks for the other colour, is answered with None.

    Attributes:
      agent_name, agent_parameters: the agent, set by the subclass.
    """

    agent_name: str
    agent_parameters: Mapping[str, Any]

    def __init__(self) -> None:
        self._agent: Agent | None = self._make(START_FEN)  # compiles before the clock runs
        self._fen = START_FEN
        self._player = 0
        self._phase = _Phase.AWAY
        self._begins = False
        self._actions: tuple[int, ...] = ()
        self._clock = _ServerClock()

    # -- calls of reconchess --------------------------------------------------------------------

    def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
        """Begin a game."""
        fen = board.fen(en_passant="fen")
        if self._agent is None or fen != self._fen:
            self._agent, self._fen = self._make(fen), fen
        self._player = 0 if color == chess.WHITE else 1
        self._agent.new_game(random.getrandbits(63), player=self._player)
        self._begins = board.turn == color
        self._phase = _Phase.AWAY
        self._clock = _ServerClock()
        self._observe(None, None, {"captured": None}, SENSES if self._begins else ())

    def handle_opponent_move_result(
        self, captured_my_piece: bool, capture_square: int | None
    ) -> None:
        """Observe the opponent's move; before a game's first move there is none."""
        self._phase = _Phase.SENSE
        if self._begins:
            self._begins = False
            return
        self._observe(1 - self._player, None, {"captured": _name(capture_square)}, SENSES)

    def choose_sense(
        self, sense_actions: Sequence[int], move_actions: Sequence[chess.Move], seconds_left: float
    ) -> int | None:
        """Return the square to sense, or None."""
        if self._phase != _Phase.SENSE:
            return None
        self._actions = (PASS, *sorted(set(map(_action_of, move_actions))))
        self._clock.begin_turn(seconds_left)
        action = self._act(seconds_left)
        return None if action is None or action == SENSE_NOTHING else action

    def handle_sense_result(self, sense_result: Sequence[tuple[int, chess.Piece | None]]) -> None:
        """Observe a window, the chosen one or another."""
        pieces = dict(sense_result)
        action = _CENTRES[frozenset(pieces)] if pieces else SENSE_NOTHING
        sensed: list[Json] = []
        for square in window(action) if pieces else ():
            piece = pieces[square]
            sensed.append([chess.square_name(square), piece.symbol() if piece else None])
        self._phase = _Phase.MOVE
        self._observe(self._player, action, {"sensed": sensed}, self._actions)

    def choose_move(
        self, move_actions: Sequence[chess.Move], seconds_left: float
    ) -> chess.Move | None:
        """Return one of the move actions, or None to pass."""
        if self._phase != _Phase.MOVE:
            return None
        action = self._act(seconds_left)
        if action is None or action == PASS:
            return None
        same = [move for move in move_actions if _action_of(move) == action]
        return max(same, key=lambda move: move.promotion or 0)

    def handle_move_result(
        self,
        requested_move: chess.Move | None,
        taken_move: chess.Move | None,
        captured_opponent_piece: bool,
        capture_square: int | None,
    ) -> None:
        """Observe the outcome of a request, the chosen one or another."""
        self._clock.end_turn()
        action = _action_of(requested_move)
        data: dict[str, Json] = {
            "requested": None if requested_move is None else action_name(action),
            "taken": None if taken_move is None else taken_move.uci(),
            "captured": _name(capture_square),
        }
        self._phase = _Phase.AWAY
        self._observe(self._player, action, data, ())

    def handle_game_end(
        self, winner_color: bool | None, win_reason: Any, game_history: Any
    ) -> None:
        """Report the end to the agent, and close it."""
        agent, self._agent = self._agent, None
        self._phase = _Phase.AWAY
        if agent is not None:
            white = 0.0 if winner_color is None else 1.0 if winner_color else -1.0
            agent.end((white, -white))
            agent.close()

    # -- the agent ------------------------------------------------------------------------------

    def _make(self, fen: str) -> Agent:
        game = load_game("rbc", **({} if fen == START_FEN else {"fen": fen}))
        return make_agent(self.agent_name, game, **self.agent_parameters)

    def _observe(
        self, actor: int | None, action: int | None, data: Json, legal: tuple[int, ...]
    ) -> None:
        assert self._agent is not None, "handle_game_start comes first"
        self._agent.observe(Observation(self._player, actor, action, data, legal))

    def _act(self, seconds: float) -> int | None:
        """Return the agent's action; None if it resigns, which reconchess does not know."""
        assert self._agent is not None, "handle_game_start comes first"
        decision = self._agent.act(self._clock.reading(seconds))
        return None if decision.resign else decision.action


def _name(square: int | None) -> str | None:
    return None if square is None else chess.square_name(square)


def _action_of(move: chess.Move | None) -> int:
    """Return the action that requests a move; a promotion without a piece is one to a queen."""
    return action_of(kernel_move(move))


def player_class(agent: str, /, **parameters: Any) -> type[Any]:
    """Return a subclass of `reconchess.Player` that plays as an agent of miai.

    It takes no arguments, and is named after the agent: ``RbcRandom`` for ``rbc-random``. The
    calling module must bind it to that name, so that other processes find it there.

    Args:
      agent: the name of an agent that plays rbc.
      parameters: of the agent.

    Raises:
      AgentUnavailableError: reconchess is not installed.
    """
    player = import_reconchess().Player
    name = "".join(part.capitalize() for part in agent.replace("_", "-").split("-"))
    module = sys._getframe(1).f_globals.get("__name__", __name__)  # as namedtuple does
    return type(
        name,
        (ReconchessBot, player),
        {
            "__doc__": f"The agent {agent!r} of miai as a player of reconchess.",
            "__module__": module,
            "agent_name": agent,
            "agent_parameters": parameters,
        },
    )
