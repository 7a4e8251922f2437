"""External engines in games of miai: the agent ``gtp`` and the judge of dead stones ``gtp``."""

from __future__ import annotations

import time
from collections.abc import Set
from pathlib import Path

import numpy as np

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentProtocolError,
    AgentUnavailableError,
    InvalidActionError,
)
from miai.game import Game, Observation
from miai_go.gtp.client import EngineLog, GtpClient, find_engine
from miai_go.gtp.engine_parameters import PLACEHOLDERS, GtpEngineParameters, GtpParameters
from miai_go.gtp.engine_setup import (
    COLOR_NAMES,
    ClockDialect,
    begin_game,
    check_rules,
    clear_board,
    clock_hindrance,
    dialect_for,
    filled,
    launch,
    place_points,
    play_move,
    require_commands,
    time_left,
    time_settings,
)
from miai_go.rules.board import BLACK_STONE, WHITE_STONE
from miai_go.rules.coordinates import parse_vertex
from miai_go.rules.dead_stones import RefereeError, settle
from miai_go.rules.game import GoGame, GoState, Phase


def dead_stones(client: GtpClient, size: int, seconds: float) -> frozenset[int]:
    """Return the points that an engine lists as dead.

    Raises `AgentProtocolError` if it does not know ``final_status_list`` or answers nonsense.
    """
    listed = client.ask("final_status_list dead", seconds=seconds).split()
    try:
        points = frozenset(parse_vertex(word, size) for word in listed)
    except InvalidActionError as error:
        raise AgentProtocolError(f"{client.who}, asked for dead stones: {error}") from error
    return points - {size * size}


def whole_chains(state: GoState, points: Set[int]) -> tuple[int, ...]:
    """Return the points of all chains that have a stone on one of `points`, ascending."""
    return tuple(sorted(p for c in state.board.chains() if not points.isdisjoint(c) for p in c))


class GtpJudge:
    """The judge ``gtp``: asks an engine for ``final_status_list dead``, in a process per answer.

    For reproducible answers give the engine a fixed seed in its command. Raises
    `AgentUnavailableError` if it is not installed.
    """

    def __init__(self, game: GoGame, parameters: GtpEngineParameters) -> None:
        find_engine(parameters.command[0])
        self._game = game
        self._parameters = parameters

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the chains that the engine lists. Raises `RefereeError`."""
        try:
            client = launch(self._parameters, EngineLog(), self._game, seed=0)
            try:
                return whole_chains(state, self._ask(client, state))
            finally:
                client.close()
        except AgentError as error:
            raise RefereeError(f"the referee for dead stones failed: {error}") from error

    def _ask(self, client: GtpClient, state: GoState) -> frozenset[int]:
        size, seconds = self._game.size, self._parameters.timeouts.command
        clear_board(client, size, seconds)
        client.ask(f"komi {self._game.white_bonus:g}", seconds=seconds)
        stones = state.board.stones().ravel()
        black, white = (np.flatnonzero(stones == s).tolist() for s in (BLACK_STONE, WHITE_STONE))
        place_points(client, (black, white), size, seconds)
        return dead_stones(client, size, seconds)


class GtpAgent(Agent):
    """Plays the moves that an engine answers to ``genmove``.

    The program is looked up at once and started with the first game. Any failure kills the engine
    and raises an `AgentError`; the next game starts it again. Illegal moves are returned unchanged,
    for the referee to judge.

    Attributes:
      version: name and version that the engine reports; empty before the first game.

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
        self._conversation = EngineLog()
        self._past_cpu_seconds = 0.0  # of engines that have ended
        self._timed = False  # whether the running engine was ever sent a clock
        self._moves: list[tuple[int, int]] = []  # of the game, as players and actions
        self._on_board: list[tuple[int, int]] = []  # on the engine's board, its own answer included
        self._dialect: ClockDialect | None = None
        self._dead: frozenset[int] | None = None
        self._resumed = False  # whether dead stones have to be captured now
        self._warned = False  # whether the log of this game tells of the clock
        self._checked = False  # whether the engine was asked what it can play

    # -- the four calls -----------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game, in a new process unless one is kept. Raises `AgentError` if it fails.

        Before its first game an engine is asked whether it can play it, so that a tournament finds
        out before it begins.
        """
        super().new_game(seed, player=player, log=log)
        self._end_game(keep=self._parameters.restart == "never")
        self._conversation = EngineLog(log)
        self._moves.clear()
        self._on_board.clear()
        self._dialect = self._dead = None
        self._resumed = self._warned = False
        try:
            client = self._start(seed) if self._client is None else self._continue(seed)
            require_commands(client)
            begin_game(client, self._go, self._parameters)
            if not self._checked and check_rules(client, self._go, self._parameters):
                begin_game(client, self._go, self._parameters)
            self._checked = True
        except AgentError as error:
            self._abandon(error)
            raise

    def observe(self, observation: Observation) -> None:
        """Note a move, to be sent to the engine on its turn."""
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
          AgentTimeoutError: no answer within the clock's limit and its margin, or within
            `timeouts.move` without a clock.
          AgentCrashedError: the engine died.
          AgentProtocolError: its answer is not a vertex, or it refused a move or a command.
          AgentFloodError: it wrote more than the limits allow.
        """
        limit, margin = clock.limit, clock.control.margin
        # The referee judges the time by its own clock; this only ends a wait that has become
        # pointless.
        allowed = self._parameters.timeouts.move if limit is None else limit + margin
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
        return super().cpu_seconds() + self._past_cpu_seconds + running

    # -- the process --------------------------------------------------------------------------

    def _start(self, seed: int) -> GtpClient:
        client = launch(self._parameters, self._conversation, self._go, seed)
        self._client, self._timed = client, False
        self.version = f"{client.name} {client.version}".strip()
        return client

    def _continue(self, seed: int) -> GtpClient:
        """Prepare the running engine, or a new one if it died, for the next game."""
        client, parameters = self._running, self._parameters
        if not client.is_alive():
            client.close()
            self._forget(client)
            return self._start(seed)
        client.new_game(self._conversation)
        _, startup = filled(parameters, self._go, seed)
        for template, command in zip(parameters.startup, startup, strict=True):
            if any(placeholder in template for placeholder in PLACEHOLDERS):
                client.ask(command, seconds=parameters.timeouts.startup)
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
        """Kill the engine after its error."""
        if self._client is not None:
            self._client.kill(str(error))
            self._forget(self._client)
        self._conversation.close()

    def _forget(self, client: GtpClient) -> None:
        self._past_cpu_seconds += client.cpu_seconds()
        self._client = None

    # -- the game -----------------------------------------------------------------------------

    @property
    def _state(self) -> GoState:
        state = self.view.state
        assert isinstance(state, GoState)
        return state

    def _catch_up(self, client: GtpClient, until: float) -> None:
        """Bring the engine's board up to date."""
        if self._moves[: len(self._on_board)] != self._on_board:  # its last answer was not played
            begin_game(client, self._go, self._parameters)
            self._on_board.clear()
        for player, action in self._moves[len(self._on_board) :]:
            play_move(client, self._go, player, action, self._seconds(until))
            self._on_board.append((player, action))

    def _tell_time(self, client: GtpClient, clock: ClockReading, until: float) -> None:
        """Send the time control, once per game, and the time left."""
        control = clock.control
        if self._dialect is None:
            if control.kind == "none" and not self._timed:
                return  # the engine's command line says how long it thinks
            self._dialect = dialect_for(control, client.commands)
            hindrance = clock_hindrance(control, self._dialect)
            if hindrance and not self._warned:
                self._conversation.note(hindrance)
                self._warned = True
            if self._dialect is None:
                return
            client.ask(time_settings(control, self._dialect), seconds=self._seconds(until))
            self._timed = True
        left = time_left(clock, COLOR_NAMES[self.view.player], self._dialect)
        if left and client.knows("time_left"):
            client.ask(left, seconds=self._seconds(until))

    def _move(self, client: GtpClient, until: float) -> Decision:
        """Return the engine's answer to a request for a move."""
        cleans_up = self._resumed and client.knows("kgs-genmove_cleanup")
        request = "kgs-genmove_cleanup" if cleans_up else "genmove"
        color = COLOR_NAMES[self.view.player]
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
        """Return an action of the agreement on dead stones, by the engine's list of them."""
        dead = self._dead
        if dead is None:
            lists = client.knows("final_status_list")
            seconds = until - time.monotonic()
            dead = dead_stones(client, self._go.size, seconds) if lists else frozenset()
            self._dead = dead
        return Decision(settle(self._state, whole_chains(self._state, dead)))

    def _seconds(self, until: float) -> float:
        return min(self._parameters.timeouts.command, until - time.monotonic())
