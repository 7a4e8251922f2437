"""A conversation with one controller: lines in, responses out."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from miai.errors import MiaiError
from miai.search.protocol import SearchResult
from miai.seeds import derive_seed
from miai_go.gtp.server.clocks import EngineClock
from miai_go.gtp.server.free_state import FreeState
from miai_go.gtp.server.players import Player, PlayerMaker, Stopwatch
from miai_go.gtp.server.reading import TooLong
from miai_go.gtp.server.table import Table
from miai_go.gtp.server.wire import (
    MAX_LINE_BYTES,
    Command,
    GtpError,
    one_line,
    opening,
    parse,
    response,
)

__all__ = ["Session"]

_MAX_ERROR: Final = 1000
_MOVES_LEFT: Final = 8  # of a player, at least, by which main time is divided
_FILLED: Final = 0.7  # of the points, when a game is over


class Session:
    """What an engine knows while a controller talks to it.

    Args:
      make_player: makes who plays, for each game that is set up.
      values: parameters of the game to begin with.
      write: called with each part of a response; the part has to leave at once.
      pending: waits up to so many seconds; returns whether the controller has said something more,
        or gone, which ends an analysis. By default it is so at once.
      seed: what the randomness of all games derives from.
      agent: what the engine says of itself: the agent's name.

    Attributes:
      table: the game.
      player: who plays.
      clocks: Black's and White's.
      last: what was last searched, and where; None before.
      ended: whether the controller said quit.

    Raises:
      MiaiError: the game or the player cannot be had.
    """

    def __init__(
        self,
        make_player: PlayerMaker,
        values: Mapping[str, Any],
        *,
        write: Callable[[str], None],
        pending: Callable[[float], bool] | None = None,
        seed: int = 0,
        agent: str = "",
    ) -> None:
        self.table = Table(values)
        self.agent = agent
        self.write, self.pending = write, pending or _always
        self.clocks = [EngineClock(), EngineClock()]
        self.last: tuple[FreeState, SearchResult] | None = None
        self.ended = False
        self._streaming = False
        self._seed, self._games = seed, 0
        self._make_player = make_player
        self.player: Player = make_player(self.table.game, self._next_seed())
        self._game = self.table.game

    # -- lines --------------------------------------------------------------------------------

    def take(self, line: bytes | TooLong) -> None:
        """Answer one line of the controller, whatever it is."""
        if isinstance(line, TooLong):
            self.write(response(None, f"a line of more than {MAX_LINE_BYTES} bytes", ok=False))
            return
        command = parse(line)
        if command is not None:
            self._answer(command)

    def _answer(self, command: Command) -> None:
        try:
            text = self._result(command)
        except MiaiError as error:
            self._fail(command, str(error))
        except BrokenPipeError:
            raise
        except Exception as error:
            # A defect, of the agent as a rule: the controller hears of it, and may go on.
            traceback.print_exc()
            self._fail(command, f"the engine failed: {type(error).__name__}: {error}")
        else:
            self.write("\n" if text is None else response(command.id, text))
        self._streaming = False

    def _result(self, command: Command) -> str | None:
        """Return the response to a command; None where it was written line by line."""
        from miai_go.gtp.server.commands import COMMANDS, STREAMING

        if command.name in STREAMING:
            STREAMING[command.name](self, command)
            return None
        if command.name not in COMMANDS:
            raise GtpError("unknown command")
        return COMMANDS[command.name](self, command.arguments)

    def _fail(self, command: Command, reason: str) -> None:
        """Answer with an error, or end a response that had begun."""
        told = one_line(reason)[:_MAX_ERROR]
        if self._streaming:
            self.write("\n")
            print(f"miai: {command.name}: {told}", file=sys.stderr)
        else:
            self.write(response(command.id, told, ok=False))

    def stream(self, command: Command) -> Callable[[str], None]:
        """Begin a response of several lines; return what writes one."""
        self.write(f"{opening(command.id)}\n")
        self._streaming = True
        return lambda line: self.write(f"{line}\n")

    # -- the game -----------------------------------------------------------------------------

    def set_up(self, change: Callable[[], None], *, begin: bool = False) -> None:
        """Change the game on the table, and have a player who plays that.

        Args:
          begin: whether a new game begins: clocks and randomness, too, begin anew.

        Raises:
          MiaiError: the table refuses it, or no player can be had; nothing was changed.
        """
        before = self.table.values, list(self.table.moves)
        change()
        try:
            self._follow(begin=begin)
        except Exception:
            self.table.restore(*before)
            self._game = self.table.game  # which is built anew, and equal
            raise

    def forget(self) -> None:
        """Have the player know nothing of earlier positions."""
        self.player.forget()

    def play(self, player: int, action: int) -> None:
        """Play a move. Raises `GtpError` for an illegal one."""
        if self.table.play(player, action):
            self.player.advance(action)
        else:
            self.forget()

    def budget(self, player: int) -> float | None:
        """Return the seconds that a move of `player` may take; None for no limit."""
        points = self.table.game.pass_action
        left = (_FILLED * points - self.table.state.move_number()) / 2
        return self.clocks[player].budget(max(int(left), _MOVES_LEFT))

    def charge(self, player: int, watch: Stopwatch) -> None:
        """Take what a move took off the player's clock."""
        self.clocks[player].charge(watch.seconds())

    def _follow(self, *, begin: bool) -> None:
        """Have a player of the game that is on the table."""
        game = self.table.game
        if game.parameters != self._game.parameters:
            player = self._make_player(game, self._next_seed())
            self.player.close()
            self.player = player
        elif begin:
            self.player.renew(self._next_seed())
        else:
            self.forget()
        if begin:
            self.clocks = [EngineClock(clock.settings) for clock in self.clocks]
        self._game = game
        self.last = None

    def _next_seed(self) -> int:
        self._games += 1
        return derive_seed(self._seed, "gtp", self._games)


def _always(seconds: float) -> bool:
    return True
