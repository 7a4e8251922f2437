"""The agent ``reconchess``: a bot written for reconchess plays in miai's games."""

from __future__ import annotations

import operator
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import chess
import numpy as np
import psutil

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import AgentProtocolError, AgentUnavailableError
from miai.game import Game, Observation
from miai_rbc.rbc_parameters import ReconchessParameters
from miai_rbc.reconchess.loading import import_reconchess, load_bot, make_bot, reload_bot
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of
from miai_rbc.rules.game import RbcGame
from miai_rbc.rules.knowledge import OwnBoard
from miai_rbc.rules.observations import square_of_name
from miai_rbc.rules.rows import kernel_move

_PAUSE = 0.001  # seconds between two calls of a bot that has nothing to do


class BotProcesses:
    """Processes that a bot started while they were recorded, such as its engine.

    Looking for them takes milliseconds, so it is done only when a bot is made and a game begins.
    """

    def __init__(self) -> None:
        self._processes: set[psutil.Process] = set()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the processes started within."""
        before = set(psutil.Process().children(recursive=True))
        try:
            yield
        finally:
            self._processes |= set(psutil.Process().children(recursive=True)) - before

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of those still running."""
        total = 0.0
        for process in self._processes:
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def kill(self) -> None:
        """Kill those still running."""
        for process in self._processes:
            with suppress(psutil.Error):  # psutil spares another process with the same pid
                process.kill()
        self._processes.clear()


class GlobalRandomness:
    """The states of the global generators of `random` and `numpy.random` for one bot.

    Within `installed` they continue where this bot left them, so that a seed repeats a game.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        # Bots use the legacy generator, whose seed has 32 bits.
        self._numpy = np.random.RandomState(seed & 0xFFFFFFFF).get_state()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Install the bot's states, and restore the previous ones afterwards."""
        before = random.getstate(), np.random.get_state()
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])


SenseWindow = list[tuple[int, chess.Piece | None]]
ResultT = TypeVar("ResultT")


class ReconchessAgent(Agent):
    """Plays by a bot of reconchess, a new one in every game, called as by `LocalGame`.

    The bot gets lists of its own, which it may change. The agent's seed sets the generators of
    `random` and numpy. An exception in the bot is a crash of the agent; an answer that is not among
    the offered actions is a violation of protocol. The history at the end holds the bot's own turns
    as it observed them, and no true boards.

    Raises:
      AgentUnavailableError: reconchess or the bot cannot be imported, or the game is not rbc.
    """

    def __init__(self, game: Game, parameters: ReconchessParameters) -> None:
        super().__init__(game, parameters)
        if not isinstance(game, RbcGame):
            raise AgentUnavailableError(f"bots of reconchess play rbc, not {game.info.name}")
        self._parameters = parameters
        self._start = game.start
        self._reconchess = import_reconchess()
        modules = set(sys.modules)
        self._factory = load_bot(parameters.bot)
        self._used = self._factory.__module__ in modules  # another bot may have changed it
        self._randomness = GlobalRandomness(0)
        self._processes = BotProcesses()
        self._bot: Any = None  # a `reconchess.Player`; the package has no types
        self._own = OwnBoard(game.start, chess.WHITE)
        self._requested: chess.Move | None = None
        self._history: Any = None
        self.version = f"reconchess {self._reconchess.__version__}"

    # -- the four calls -------------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a new bot."""
        super().new_game(seed, player=player, log=log)
        self._randomness = GlobalRandomness(seed)
        if self._used and self._parameters.reload:
            self._factory = self._call(lambda: reload_bot(self._factory, self._parameters.bot))
        self._used = True
        self._own = OwnBoard(self._start, self._colour)
        self._requested = None
        self._history = self._reconchess.GameHistory()
        names = [getattr(self._factory, "__name__", "bot"), self._parameters.opponent]
        self._history.store_players(*(names if self._colour else reversed(names)))
        source, opponent = self._parameters.bot, self._parameters.opponent
        with self._processes.recording():
            self._bot = bot = self._call(lambda: make_bot(self._factory, source))
            self._call(lambda: bot.handle_game_start(self._colour, self._start.copy(), opponent))

    def observe(self, observation: Observation) -> None:
        """Pass on an observation."""
        super().observe(observation)
        data = observation.data
        assert isinstance(data, Mapping)
        if "sensed" in data:
            self._tell_sense(data)
        elif "requested" in data:
            self._tell_move(data)
        elif "result" not in data and observation.legal_actions:
            square = square_of_name(data["captured"])
            self._own.lose(square)
            taken = square is not None
            self._call(lambda: self._player.handle_opponent_move_result(taken, square))

    def act(self, clock: ClockReading) -> Decision:
        """Return the bot's choice.

        Raises:
          AgentProtocolError: it is not one of the offered actions.
        """
        seconds = self._parameters.seconds if clock.control.kind == "none" else clock.limit
        assert seconds is not None
        senses = self.view.legal_actions[0] < SENSE_NOTHING
        return Decision(self._sense(seconds) if senses else self._move(seconds))

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Call the bot's `while_we_wait` again and again, if it has one.

        The name is that of StrangeFish2's bots; a call should take a few milliseconds.
        """
        if (work := getattr(self._bot, "while_we_wait", None)) is not None:
            while not stop():
                self._call(work)
                time.sleep(_PAUSE)

    def end(self, returns: tuple[float, ...]) -> None:
        """Report the end to the bot, and drop it."""
        bot, self._bot = self._bot, None
        if bot is None:
            return
        winner = None if returns[0] == returns[1] else returns[0] > returns[1]
        reason = self._reason(winner is not None)
        self._history.store_results(winner, reason)
        self._call(lambda: bot.handle_game_end(winner, reason, self._history))

    def close(self) -> None:
        """Drop the bot, and kill the processes it left."""
        self._bot = None
        self._processes.kill()

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of this process and the bot's engine."""
        return super().cpu_seconds() + self._processes.cpu_seconds()

    # -- observations ---------------------------------------------------------------------------

    def _tell_sense(self, data: Mapping[str, Any]) -> None:
        contents: SenseWindow = [
            (chess.parse_square(name), chess.Piece.from_symbol(piece) if piece else None)
            for name, piece in data["sensed"]
        ]
        action = self.view.observations[-1].action
        square = None if action == SENSE_NOTHING else action
        self._history.store_sense(self._colour, square, list(contents))
        self._call(lambda: self._player.handle_sense_result(contents))

    def _tell_move(self, data: Mapping[str, Any]) -> None:
        taken, square = _move(data["taken"]), square_of_name(data["captured"])
        requested = self._as_written(_move(data["requested"]), taken)
        self._requested = None
        self._own.move(taken)
        self._history.store_move(self._colour, requested, taken, square)
        self._call(
            lambda: self._player.handle_move_result(requested, taken, square is not None, square)
        )

    def _as_written(
        self, requested: chess.Move | None, taken: chess.Move | None
    ) -> chess.Move | None:
        """Return a request as the bot wrote it: it may promote with or without a queen."""
        for candidate in (self._requested, taken):
            if (
                candidate is not None
                and candidate.promotion in (None, chess.QUEEN)
                and chess.Move(candidate.from_square, candidate.to_square) == requested
            ):
                return candidate
        return requested

    def _reason(self, won: bool) -> Any:
        reasons = self._reconchess.WinReason
        data = self.view.observations[-1].data
        result = str(data.get("result", "")) if isinstance(data, Mapping) else ""
        if won:
            return reasons.KING_CAPTURE if "king" in result else reasons.RESIGN
        return reasons.TURN_LIMIT if "turn" in result else reasons.MOVE_LIMIT

    # -- choices --------------------------------------------------------------------------------

    def _sense(self, seconds: float) -> int:
        senses, moves = list(chess.SQUARES), self._own.move_actions()
        choice = self._call(lambda: self._player.choose_sense(senses, moves, seconds))
        if choice is None:
            return SENSE_NOTHING
        try:
            square = operator.index(choice)
        except TypeError:
            square = -1
        if not 0 <= square < SENSE_NOTHING:
            raise AgentProtocolError(
                f"{self._who} chose to sense {choice!r}, which is not a square"
            )
        return square

    def _move(self, seconds: float) -> int:
        moves = self._own.move_actions()
        choice = self._call(lambda: self._player.choose_move(moves.copy(), seconds))
        if choice is None:
            return PASS
        if not isinstance(choice, chess.Move):
            raise AgentProtocolError(f"{self._who} chose {choice!r}, which is not a move")
        full = choice
        if chess.Move(choice.from_square, choice.to_square, chess.QUEEN) in moves:
            full = chess.Move(choice.from_square, choice.to_square, choice.promotion or chess.QUEEN)
        if full not in moves:
            raise AgentProtocolError(f"{self._who} chose {choice}, which is not in move_actions")
        self._requested = choice
        return action_of(kernel_move(full))

    # -- the bot --------------------------------------------------------------------------------

    @property
    def _colour(self) -> chess.Color:
        return chess.WHITE if self.view.player == 0 else chess.BLACK

    @property
    def _who(self) -> str:
        return f"bot '{self._parameters.bot}'"

    @property
    def _player(self) -> Any:
        assert self._bot is not None, "new_game comes first"
        return self._bot

    def _call(self, call: Callable[[], ResultT]) -> ResultT:
        with self._randomness.installed():
            return call()


def _move(name: str | None) -> chess.Move | None:
    return None if name is None else chess.Move.from_uci(name)
