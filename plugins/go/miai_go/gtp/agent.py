"""The agent ``gtp``: an external engine as a player of Go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

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
from miai_go.agents import settle
from miai_go.coordinates import parse_vertex
from miai_go.game import GoGame
from miai_go.gtp import timing
from miai_go.gtp.client import GtpClient
from miai_go.gtp.conversation import Conversation
from miai_go.gtp.locate import find_engine
from miai_go.gtp.parameters import PLACEHOLDERS, EngineParameters, GtpParameters
from miai_go.gtp.setup import (
    COLORS,
    begin_game,
    engine_komi,
    launch,
    play_move,
)
from miai_go.gtp.status import dead_stones, whole_chains
from miai_go.state import GoState, Phase

if TYPE_CHECKING:
    from miai_go.gtp.timing import Dialect

__all__ = ["EngineParameters", "GtpAgent", "GtpParameters"]


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
            self._dialect = timing.dialect_for(control, client.commands)
            if self._dialect is None:
                return
            client.ask(timing.time_settings(control, self._dialect), seconds=self._seconds(until))
            self._timed = True
        left = timing.time_left(clock, COLORS[self.view.player], self._dialect)
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
