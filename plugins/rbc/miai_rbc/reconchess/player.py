"""The agent ``reconchess``: a bot written for reconchess plays in our games.

What can be said of a bot of reconchess. Imports nothing heavy.

The processes that a bot starts, such as its engine.

Random numbers of code that draws them from the interpreter's own generators.
"""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import chess
import numpy as np
import psutil

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import AgentProtocolError, AgentUnavailableError
from miai.game import Game, Observation
from miai_rbc.kernels.board import NOTHING
from miai_rbc.parameters import ReconchessParameters
from miai_rbc.reconchess.loading import import_reconchess, load_bot, make_bot, reload_bot
from miai_rbc.rules.actions import SENSE_NOTHING, action_of
from miai_rbc.rules.game import RbcGame
from miai_rbc.rules.knowledge import OwnBoard


class Offspring:
    """Processes that were started while `noting`.

    They are looked for only there, since looking takes milliseconds: bots start their engines when
    they are made and when a game begins.
    """

    def __init__(self) -> None:
        self._processes: set[psutil.Process] = set()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Take note of what is started within."""
        before = _descendants()
        try:
            yield
        finally:
            self._processes |= _descendants() - before

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by those that are still there."""
        total = 0.0
        for process in self._processes:
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def kill(self) -> None:
        """End those that are still there."""
        for process in self._processes:
            with suppress(psutil.Error):  # a process that took over a pid is not the same one
                process.kill()
        self._processes.clear()


def _descendants() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


class BorrowedRandomness:
    """The states of the generators of `random` and `numpy.random`, as one bot has them.

    Bots draw from those. Within `lent` they go on where this bot left them, so that a game is
    repeated by its seed, whoever else drew numbers between.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        # The legacy generator is the one that bots use, and takes 32 bits.
        self._numpy = np.random.RandomState(seed & 0xFFFFFFFF).get_state()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Put the bot's states in place, and what was there back again afterwards."""
        before = random.getstate(), np.random.get_state()
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])


__all__ = ["Bot", "ReconchessAgent", "ReconchessParameters"]

Seen = list[tuple[int, chess.Piece | None]]
ResultT = TypeVar("ResultT")


class Bot(Protocol):
    """The methods of `reconchess.Player`."""

    def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
        """Begin a game."""

    def handle_opponent_move_result(self, captured: bool, square: int | None) -> None:
        """Be told of the opponent's move."""

    def choose_sense(self, senses: list[int], moves: list[chess.Move], seconds: float) -> Any:
        """Return a square, or None."""

    def handle_sense_result(self, sense_result: Seen) -> None:
        """Be told what the window shows."""

    def choose_move(self, moves: list[chess.Move], seconds: float) -> Any:
        """Return a move, or None to pass."""

    def handle_move_result(
        self,
        requested: chess.Move | None,
        taken: chess.Move | None,
        captured: bool,
        square: int | None,
    ) -> None:
        """Be told how the move turned out."""

    def handle_game_end(self, winner: bool | None, reason: Any, history: Any) -> None:
        """Be told the end."""


class ReconchessAgent(Agent):
    """Asks a bot of reconchess, a new one in every game, as `LocalGame` would.

    The bot is handed lists of its own, which it may change. It draws from the generators of
    `random` and numpy by the agent's seed. What it raises is the agent's crash; an answer that is
    not among the actions it was offered is a violation of protocol. The history that it gets at
    the end holds what it was told itself: its own turns, and no true boards.

    Raises:
      AgentUnavailableError: reconchess or the bot cannot be imported, or the game is another.
    """

    def __init__(self, game: Game, parameters: ReconchessParameters) -> None:
        super().__init__(game, parameters)
        if not isinstance(game, RbcGame):
            raise AgentUnavailableError(f"bots of reconchess play rbc, not {game.info.name}")
        self._parameters = parameters
        self._start = game.start
        self._reconchess = import_reconchess()
        imported = set(sys.modules)
        self._factory = load_bot(parameters.bot)
        self._used = self._factory.__module__ in imported  # by a bot that may have changed it
        self._randomness = BorrowedRandomness(0)
        self._offspring = Offspring()
        self._bot: Bot | None = None
        self._own = OwnBoard(game.start, chess.WHITE)
        self._asked: chess.Move | None = None
        self._history: Any = None
        self.version = f"reconchess {self._reconchess.__version__}"

    # -- the four calls -------------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a new bot."""
        super().new_game(seed, player=player, log=log)
        self._randomness = BorrowedRandomness(seed)
        if self._used and self._parameters.reload:
            self._factory = self._lend(lambda: reload_bot(self._factory, self._parameters.bot))
        self._used = True
        self._own = OwnBoard(self._start, self._colour)
        self._asked = None
        self._history = self._reconchess.GameHistory()
        names = [getattr(self._factory, "__name__", "bot"), self._parameters.opponent]
        self._history.store_players(*(names if self._colour else reversed(names)))
        source, opponent = self._parameters.bot, self._parameters.opponent
        with self._offspring.noting():
            bot: Bot = self._lend(lambda: make_bot(self._factory, source))
            self._bot = bot
            self._lend(lambda: bot.handle_game_start(self._colour, self._start.copy(), opponent))

    def observe(self, observation: Observation) -> None:
        """Pass on what the player was told."""
        super().observe(observation)
        data = observation.data
        assert isinstance(data, Mapping)
        if "sensed" in data:
            self._tell_sense(data)
        elif "requested" in data:
            self._tell_move(data)
        elif "result" not in data and observation.legal_actions:
            self._tell_opponent(data)

    def act(self, clock: ClockReading) -> Decision:
        """Return what the bot chooses.

        Raises:
          AgentProtocolError: it is none of the actions offered.
        """
        seconds = self._parameters.seconds if clock.control.kind == "none" else clock.limit
        assert seconds is not None
        senses = self.view.legal_actions[0] < SENSE_NOTHING
        return Decision(self._sense(seconds) if senses else self._move(seconds))

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the bot the end, and let go of it."""
        bot, self._bot = self._bot, None
        if bot is None:
            return
        winner = None if returns[0] == returns[1] else returns[0] > returns[1]
        reason = self._reason(winner is not None)
        self._history.store_results(winner, reason)
        self._lend(lambda: bot.handle_game_end(winner, reason, self._history))

    def close(self) -> None:
        """Let go of the bot, and end the processes that it has left."""
        self._bot = None
        self._offspring.kill()

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by this process and the bot's engine."""
        return super().cpu_seconds() + self._offspring.cpu_seconds()

    # -- what the bot is told -------------------------------------------------------------------

    def _tell_sense(self, data: Mapping[str, Any]) -> None:
        seen: Seen = [
            (chess.parse_square(name), chess.Piece.from_symbol(piece) if piece else None)
            for name, piece in data["sensed"]
        ]
        action = self.view.observations[-1].action
        square = None if action == SENSE_NOTHING else action
        self._history.store_sense(self._colour, square, list(seen))
        self._lend(lambda: self._player.handle_sense_result(seen))

    def _tell_move(self, data: Mapping[str, Any]) -> None:
        taken, square = _move(data["taken"]), _square(data["captured"])
        requested = self._as_asked(_move(data["requested"]), taken)
        self._asked = None
        self._own.move(taken)
        self._history.store_move(self._colour, requested, taken, square)
        self._lend(
            lambda: self._player.handle_move_result(requested, taken, square is not None, square)
        )

    def _tell_opponent(self, data: Mapping[str, Any]) -> None:
        square = _square(data["captured"])
        self._own.lose(square)
        self._lend(lambda: self._player.handle_opponent_move_result(square is not None, square))

    def _as_asked(
        self, requested: chess.Move | None, taken: chess.Move | None
    ) -> chess.Move | None:
        """Return a request as the bot wrote it: a promotion to a queen with the queen, or not."""
        for written in (self._asked, taken):
            if requested is not None and written is not None:
                same = chess.Move(written.from_square, written.to_square) == requested
                if same and written.promotion in (None, chess.QUEEN):
                    return written
        return requested

    def _reason(self, won: bool) -> Any:
        reasons = self._reconchess.WinReason
        data = self.view.observations[-1].data
        result = str(data.get("result", "")) if isinstance(data, Mapping) else ""
        if won:
            return reasons.KING_CAPTURE if "king" in result else reasons.RESIGN
        return reasons.TURN_LIMIT if "turn" in result else reasons.MOVE_LIMIT

    # -- what the bot chooses -------------------------------------------------------------------

    def _sense(self, seconds: float) -> int:
        senses, moves = list(chess.SQUARES), self._own.move_actions()
        choice = self._lend(lambda: self._player.choose_sense(senses, moves, seconds))
        if choice is None:
            return SENSE_NOTHING
        try:
            square = operator.index(choice)
        except TypeError:
            square = -1
        if not 0 <= square < SENSE_NOTHING:
            raise AgentProtocolError(f"{self._who} chose to sense {choice!r}, which is no square")
        return square

    def _move(self, seconds: float) -> int:
        moves = self._own.move_actions()
        choice = self._lend(lambda: self._player.choose_move(moves.copy(), seconds))
        if choice is None:
            return action_of(NOTHING)
        if not isinstance(choice, chess.Move):
            raise AgentProtocolError(f"{self._who} chose {choice!r}, which is no move")
        full = choice
        if chess.Move(choice.from_square, choice.to_square, chess.QUEEN) in moves:
            full = chess.Move(choice.from_square, choice.to_square, choice.promotion or chess.QUEEN)
        if full not in moves:
            raise AgentProtocolError(f"{self._who} chose {choice}, which is not in move_actions")
        self._asked = choice
        becomes = full.promotion - 1 << 12 if full.promotion else 0
        return action_of(full.from_square | full.to_square << 6 | becomes)

    # -- the bot --------------------------------------------------------------------------------

    @property
    def _colour(self) -> chess.Color:
        return chess.WHITE if self.view.player == 0 else chess.BLACK

    @property
    def _who(self) -> str:
        return f"bot '{self._parameters.bot}'"

    @property
    def _player(self) -> Bot:
        assert self._bot is not None, "new_game comes first"
        return self._bot

    def _lend(self, call: Callable[[], ResultT]) -> ResultT:
        with self._randomness.lent():
            return call()


def _move(name: str | None) -> chess.Move | None:
    return None if name is None else chess.Move.from_uci(name)


def _square(name: str | None) -> int | None:
    return None if name is None else chess.parse_square(name)
