"""The agent ``gtp``: an external engine as a player of Go.

Dead stones by an engine's word: between players, and as the judge ``gtp``.

Clocks in GTP: which commands tell an engine its time.

GTP knows main time with Canadian overtime, in whole seconds; extensions know more. What a control
becomes, `m` its main time, `p` its period and `i` its increment:

=========  ====================  ==============================  =============================
control    kata-time_settings    kgs-time_settings               time_settings
=========  ====================  ==============================  =============================
none       none                  none                            0 1 0
per-move   canadian 0 m 1        canadian 0 m 1                  0 m 1
absolute   absolute m            absolute m                      m 0 0
fischer    fischer m i                                           m - i, i for one stone
byo-yomi   byoyomi m p periods   byoyomi m p periods             m, p for one stone
=========  ====================  ==============================  =============================

What an engine is told is never more than it has, but where a whole second is the least that GTP
can say: times are rounded down, a period to at least 1 second. Under ``time_settings`` the
increment of a Fischer clock is one more Canadian period that every move earns anew, and periods of
Japanese byo-yomi beside the last one are a reserve that the engine does not hear of.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Set
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from miai.agent import Agent, Decision
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentProtocolError,
    AgentUnavailableError,
    InvalidActionError,
)
from miai.game import Game, Observation
from miai_go.gtp.client import GtpClient
from miai_go.gtp.conversation import Conversation
from miai_go.gtp.engine import find_engine
from miai_go.gtp.parameters import PLACEHOLDERS, GtpEngineParameters, GtpParameters
from miai_go.gtp.setup import COLORS, begin_game, clear_board, engine_komi, launch, play_move
from miai_go.rules.board import BLACK_STONE, WHITE_STONE
from miai_go.rules.coordinates import parse_vertex, vertex
from miai_go.rules.dead_stones import RefereeError, settle
from miai_go.rules.game import GoGame
from miai_go.rules.state import GoState, Phase


def dead_stones(client: GtpClient, size: int, seconds: float) -> frozenset[int]:
    """Return the points that an engine lists as dead.

    Raises:
      AgentProtocolError: it does not know ``final_status_list``, or lists what is no point.
      AgentError: it died or hung.
    """
    listed = client.ask("final_status_list dead", seconds=seconds).split()
    try:
        points = frozenset(parse_vertex(word, size) for word in listed)
    except InvalidActionError as error:
        raise AgentProtocolError(f"{client.who}, asked for dead stones: {error}") from error
    return points - {size * size}


def whole_chains(state: GoState, points: Set[int]) -> tuple[int, ...]:
    """Return the points of all chains that have a stone on one of `points`, ascending."""
    stones = state.board.stones().reshape(-1)
    found: set[int] = set()
    for point in points:
        if stones[point] and point not in found:
            found.update(state.board.group_at(point).tolist())
    return tuple(sorted(found))


class GtpJudge:
    """The judge ``gtp``: asks any GTP engine for ``final_status_list dead``.

    One process an answer. The answer is a function of the position as far as the engine's is:
    give it a fixed seed in its command.

    Raises:
      AgentUnavailableError: the engine is not installed.
    """

    def __init__(self, game: GoGame, parameters: GtpEngineParameters) -> None:
        find_engine(parameters.command[0])
        self._game = game
        self._parameters = parameters

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the stones that the engine lists as dead, whole chains, ascending.

        Raises:
          RefereeError: it died, hung or gave no answer that can be read.
        """
        game = self._game
        try:
            client = launch(
                self._parameters,
                Conversation(),
                seed=0,
                board_size=game.size,
                komi=game.white_bonus,
            )
            try:
                return whole_chains(state, self._ask(client, state))
            finally:
                client.close()
        except AgentError as error:
            raise RefereeError(f"the referee for dead stones failed: {error}") from error

    def _ask(self, client: GtpClient, state: GoState) -> frozenset[int]:
        size, seconds = self._game.size, self._parameters.command_timeout
        clear_board(client, size, seconds)
        client.ask(f"komi {self._game.white_bonus:g}", seconds=seconds)
        stones = state.board.stones().reshape(-1)
        for color, stone in zip(COLORS, (BLACK_STONE, WHITE_STONE), strict=True):
            for point in np.flatnonzero(stones == stone).tolist():
                client.ask(f"play {color} {vertex(point, size)}", seconds=seconds)
        return dead_stones(client, size, seconds)


Dialect: TypeAlias = Literal["kata", "kgs", "gtp"]

_DIALECTS: Final[tuple[tuple[Dialect, str], ...]] = (
    ("kata", "kata-time_settings"),
    ("kgs", "kgs-time_settings"),
    ("gtp", "time_settings"),
)


def dialect_for(control: TimeControl, known: Collection[str]) -> Dialect | None:
    """Return how a control is best told to an engine; None when it knows no way.

    Args:
      known: the engine's commands.
    """
    for dialect, command in _DIALECTS:
        if command in known and not (dialect == "kgs" and control.kind == "fischer"):
            return dialect
    return None


def time_settings(control: TimeControl, dialect: Dialect) -> str:
    """Return the command that tells an engine its time control."""
    if dialect == "gtp":
        return f"time_settings {_plain_settings(control)}"
    number = _whole if dialect == "kgs" else _decimal
    main = number(control.seconds)
    settings = {
        "none": "none",
        "per-move": f"canadian 0 {_period(control.seconds, dialect)} 1",
        "absolute": f"absolute {main}",
        "fischer": f"fischer {main} {number(control.increment)}",
        "byo-yomi": f"byoyomi {main} {_period(control.period_seconds, dialect)} {control.periods}",
    }
    return f"{dialect}-time_settings {settings[control.kind]}"


def time_left(reading: ClockReading, color: str, dialect: Dialect) -> str:
    """Return the command that tells an engine what is left on its clock; empty without a clock.

    Args:
      color: ``b`` or ``w``, whose clock it is.
    """
    if reading.main is None:
        return ""
    seconds, stones = _left(reading, reading.main, dialect)
    shown = _decimal(seconds) if dialect == "kata" else _whole(seconds)
    return f"time_left {color} {shown} {stones}"


def _plain_settings(control: TimeControl) -> str:
    main, period = control.seconds, 0.0
    if control.kind == "none":
        return "0 1 0"
    if control.kind == "per-move":
        main, period = 0.0, control.seconds
    elif control.kind == "fischer":
        main, period = max(0.0, main - control.increment), control.increment
    elif control.kind == "byo-yomi":
        period = control.period_seconds
    if period == 0 or (control.kind == "fischer" and period < 1):
        return f"{_whole(control.seconds)} 0 0"
    return f"{_whole(main)} {_period(period, 'gtp')} 1"


def _left(reading: ClockReading, main: float, dialect: Dialect) -> tuple[float, int]:
    """Return seconds and stones (or periods, as kgs and kata have it) of `time_left`."""
    control = reading.control
    if control.kind == "per-move":
        return main, 1
    if control.kind == "byo-yomi" and (main == 0 or (main < 1 and dialect != "kata")):
        return control.period_seconds, 1 if dialect == "gtp" else reading.periods
    if control.kind == "fischer" and dialect == "gtp" and control.increment >= 1:
        reserve = main - control.increment
        return (reserve, 0) if reserve >= 1 else (main, 1)
    return main, 0


def _period(seconds: float, dialect: Dialect) -> str:
    return _decimal(seconds) if dialect == "kata" else str(max(1, int(seconds)))


def _whole(seconds: float) -> str:
    return str(int(seconds))


def _decimal(seconds: float) -> str:
    return f"{int(seconds * 1000) / 1000:.3f}".rstrip("0").rstrip(".")


__all__ = ["GtpAgent", "GtpEngineParameters", "GtpParameters"]


class GtpAgent(Agent):
    """Plays what an engine answers to ``genmove``.

    The engine is looked for when the agent is made, and started with the first game. Whatever it
    does wrong ends it, and is raised as the `AgentError` that says so; the next game starts it
    anew. An illegal move is returned as it is: the referee judges it.

    Attributes:
      version: name and version of the engine, as it told them; empty before the first game.

    Raises:
      AgentUnavailableError: the engine is not installed, or the game is not Go.
    """

    version = ""

    def __init__(self, game: Game, parameters: GtpParameters) -> None:
        super().__init__(game, parameters)
        if not isinstance(game, GoGame):
            raise AgentUnavailableError(f"GTP engines play go, not {game.info.name}")
        find_engine(parameters.command[0])
        self._go = game
        self._parameters = parameters
        self._client: GtpClient | None = None
        self._conversation = Conversation()
        self._cpu_of_past = 0.0
        self._timed = False  # whether the running engine was ever told a clock
        self._moves: list[tuple[int, int]] = []  # of the game, by player and action
        self._on_board: list[tuple[int, int]] = []  # what the engine has, its own answer included
        self._dialect: Dialect | None = None
        self._dead: frozenset[int] | None = None
        self._resumed = False  # whether dead stones are to be captured now

    # -- the four calls -----------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game, in a new process unless one is kept.

        Raises:
          AgentUnavailableError: the engine cannot be started, in its own words, or does not play
            on this board or by these rules.
          AgentError: it failed on the way.
        """
        super().new_game(seed, player=player, log=log)
        self._end_game(keep=self._parameters.restart == "never")
        self._conversation = Conversation(log)
        self._forget_game()
        try:
            client = self._start(seed) if self._client is None else self._continue(seed)
            begin_game(client, self._go, self._parameters)
        except AgentError as error:
            self._abandon(error)
            raise

    def observe(self, observation: Observation) -> None:
        """Note a move that was made, for the engine to be told on its turn."""
        playing = self._state.phase == Phase.PLAY
        super().observe(observation)
        if observation.action is None or observation.actor is None:
            return
        if playing:
            self._moves.append((observation.actor, observation.action))
            self._dead = None
        elif observation.action == self._go.resume_action:
            self._resumed = True

    def act(self, clock: ClockReading) -> Decision:
        """Return the engine's move.

        Raises:
          AgentTimeoutError: no answer before the clock's limit and its margin were over, or
            within `move_timeout` without a clock.
          AgentCrashedError: the engine died.
          AgentProtocolError: it answered what is no vertex, or refused a move or a command.
          AgentFloodError: it wrote more than it may.
        """
        limit, margin = clock.limit, clock.control.margin
        allowed = self._parameters.move_timeout if limit is None else limit + margin
        until = time.monotonic() + allowed
        client = self._running
        try:
            self._catch_up(client, until)
            if self._state.phase != Phase.PLAY:
                return self._settle(client, until)
            self._tell_time(client, clock, until)
            return self._move(client, until)
        except AgentError as error:
            self._abandon(error)
            raise

    def end(self, returns: tuple[float, ...]) -> None:
        """End the engine's process unless it is kept for the next game."""
        self._end_game(keep=self._parameters.restart == "never")

    def close(self) -> None:
        """End the engine's process."""
        self._end_game(keep=False)

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by this process and by the engine with its children."""
        running = self._client.cpu_seconds() if self._client is not None else 0.0
        return super().cpu_seconds() + self._cpu_of_past + running

    def _forget_game(self) -> None:
        self._moves.clear()
        self._on_board.clear()
        self._dialect = self._dead = None
        self._resumed = False

    # -- the process --------------------------------------------------------------------------

    def _start(self, seed: int) -> GtpClient:
        client = launch(
            self._parameters,
            self._conversation,
            seed=seed,
            board_size=self._go.size,
            komi=engine_komi(self._go, self._parameters),
        )
        self._client, self._timed = client, False
        self.version = f"{client.name} {client.version}".strip()
        return client

    def _continue(self, seed: int) -> GtpClient:
        """Take the running engine, or a new one if it died, into the next game."""
        client, parameters = self._running, self._parameters
        if not client.is_alive():
            client.close()
            self._forget(client)
            return self._start(seed)
        client.new_game(self._conversation)
        komi = engine_komi(self._go, parameters)
        _, filled = parameters.filled(seed=seed, board_size=self._go.size, komi=komi)
        for given, command in zip(parameters.startup, filled, strict=True):
            if any(placeholder in given for placeholder in PLACEHOLDERS):
                client.ask(command, seconds=parameters.startup_timeout)
        return client

    @property
    def _running(self) -> GtpClient:
        if self._client is None:
            raise AgentCrashedError(f"{self._parameters.called} is not running; begin a new game")
        return self._client

    def _end_game(self, *, keep: bool) -> None:
        client = self._client
        if client is not None and not keep:
            client.close()
            self._forget(client)
        self._conversation.close()

    def _abandon(self, error: AgentError) -> None:
        """Kill the engine after an error that it was raised for."""
        if self._client is not None:
            self._client.kill(str(error))
            self._forget(self._client)
        self._conversation.close()

    def _forget(self, client: GtpClient) -> None:
        self._cpu_of_past += client.cpu_seconds()
        self._client = None

    # -- the game -----------------------------------------------------------------------------

    @property
    def _state(self) -> GoState:
        state = self.view.state
        assert isinstance(state, GoState)
        return state

    def _catch_up(self, client: GtpClient, until: float) -> None:
        """Bring the engine's board to the present position."""
        if self._moves[: len(self._on_board)] != self._on_board:  # its move was not taken
            begin_game(client, self._go, self._parameters)
            self._on_board.clear()
        for player, action in self._moves[len(self._on_board) :]:
            play_move(client, self._go, player, action, self._seconds(until))
            self._on_board.append((player, action))

    def _tell_time(self, client: GtpClient, clock: ClockReading, until: float) -> None:
        """Tell the engine its clock, the control only once a game."""
        control = clock.control
        if self._dialect is None:
            if control.kind == "none" and not self._timed:
                return  # its command and its start-up commands say how long it thinks
            self._dialect = dialect_for(control, client.commands)
            if self._dialect is None:
                return
            client.ask(time_settings(control, self._dialect), seconds=self._seconds(until))
            self._timed = True
        left = time_left(clock, COLORS[self.view.player], self._dialect)
        if left and client.knows("time_left"):
            client.ask(left, seconds=self._seconds(until))

    def _move(self, client: GtpClient, until: float) -> Decision:
        """Return the engine's answer to a request for a move."""
        cleans_up = self._resumed and client.knows("kgs-genmove_cleanup")
        request = "kgs-genmove_cleanup" if cleans_up else "genmove"
        color = COLORS[self.view.player]
        answer = client.ask(f"{request} {color}", seconds=until - time.monotonic())
        if answer.strip().lower() == "resign":
            return Decision(self.view.legal_actions[-1], resign=True)
        try:
            action = parse_vertex(answer, self._go.size)
        except InvalidActionError as error:
            raise AgentProtocolError(f"{client.who}, asked for a move: {error}") from error
        self._on_board.append((self.view.player, action))
        return Decision(action)

    def _settle(self, client: GtpClient, until: float) -> Decision:
        """Return an action of the agreement on dead stones, by the engine's own list of them."""
        dead = self._dead
        if dead is None:
            listed = client.knows("final_status_list")
            seconds = until - time.monotonic()
            dead = dead_stones(client, self._go.size, seconds) if listed else frozenset()
            self._dead = dead
        return Decision(settle(self._state, whole_chains(self._state, dead)))

    def _seconds(self, until: float) -> float:
        return min(self._parameters.command_timeout, until - time.monotonic())
