"""A conversation with one controller: lines in, responses out.

The engine's process: a controller's lines in, responses out, until it leaves.

Lines of a controller, read by a thread, so that an analysis sees when the next one is there.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from miai.errors import MiaiError
from miai.search.protocol import SearchResult
from miai.seeds import derive_seed
from miai_go.gtp.clocks import EngineClock
from miai_go.gtp.players import EnginePlayer, PlayerMaker, Stopwatch, player_maker
from miai_go.gtp.table import EngineTable, FreeState
from miai_go.gtp.wire import MAX_LINE_BYTES, Command, GtpError, one_line, opening, parse, response

_CHUNK: Final = 1 << 16
MAX_WAITING: Final = 256
"""Most lines that wait; the controller's pipe fills up then, which makes it wait too."""


class TooLong:
    """Stands for a line of more than `MAX_LINE_BYTES`, which was thrown away."""


class LineReader:
    """Reads lines from a descriptor until its end.

    Args:
      descriptor: read by the reader's own thread from now on, which ends with the process.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes | TooLong] = deque()
        self._over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="gtp-input", daemon=True).start()

    def next(self) -> bytes | TooLong | None:
        """Wait for the next line and return it without its newline; None at the end of input."""
        with self._changed:
            # A wait without a limit could not be interrupted by Ctrl-C on every system.
            while not self._lines and not self._over:
                self._changed.wait(1.0)
            line = self._lines.popleft() if self._lines else None
            self._changed.notify_all()
            return line

    def pending(self, seconds: float) -> bool:
        """Wait up to so many seconds; return whether a line, or the end of input, is there."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines) or self._over, max(seconds, 0.0))
            return bool(self._lines) or self._over

    def _read(self) -> None:
        divider = LineDivider()
        try:
            while data := os.read(self._descriptor, _CHUNK):
                for line in divider.feed(data):
                    self._put(line)
        except OSError:
            pass  # the input was taken away: that is its end
        last = divider.rest()
        if last is not None:
            self._put(last)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _put(self, line: bytes | TooLong) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < MAX_WAITING)
            self._lines.append(line)
            self._changed.notify_all()


class LineDivider:
    """Divides bytes into lines, however they come, and keeps none that is too long."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that end in `data`."""
        lines: list[bytes | TooLong] = []
        *ended, begun = data.split(b"\n")
        for part in ended:
            self._extend(part)
            lines.append(TooLong() if self._too_long else bytes(self._begun))
            self._begun.clear()
            self._too_long = False
        self._extend(begun)
        return lines

    def rest(self) -> bytes | TooLong | None:
        """Return the last line where no newline ended it; None without one."""
        if self._too_long:
            return TooLong()
        return bytes(self._begun) if self._begun else None

    def _extend(self, part: bytes) -> None:
        if len(self._begun) + len(part) > MAX_LINE_BYTES:
            self._too_long = True
            self._begun.clear()
        elif not self._too_long:
            self._begun += part


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
        self.table = EngineTable(values)
        self.agent = agent
        self.write, self.pending = write, pending or _always
        self.clocks = [EngineClock(), EngineClock()]
        self.last: tuple[FreeState, SearchResult] | None = None
        self.ended = False
        self._streaming = False
        self._seed, self._games = seed, 0
        self._make_player = make_player
        self.player: EnginePlayer = make_player(self.table.game, self._next_seed())
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
        from miai_go.gtp.commands import COMMANDS, STREAMING

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


def serve(
    agent: str,
    values: Mapping[str, Any],
    game: Mapping[str, Any],
    *,
    seed: int = 0,
) -> None:
    """Play for the controller at standard input and output until it says quit or goes away.

    Whatever else writes to standard output is sent to standard error.

    Args:
      agent, values: the agent's name and its parameters.
      game: parameters of the game to begin with.

    Raises:
      MiaiError: there is no such agent or game, before anything was answered.
    """
    maker = player_maker(agent, values)
    output = _private_output()
    reader = LineReader(sys.stdin.fileno())

    def write(text: str) -> None:
        output.write(text.encode("utf-8", "replace"))
        output.flush()

    session = Session(maker, game, write=write, pending=reader.pending, seed=seed, agent=agent)
    try:
        while not session.ended:
            line = reader.next()
            if line is None:
                break
            session.take(line)
    except BrokenPipeError:
        pass  # the controller left in the midst of a response
    finally:
        session.player.close()


def _private_output() -> BinaryIO:
    """Return standard output for responses alone; what libraries print goes to standard error."""
    sys.stdout.flush()
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb", buffering=0)
