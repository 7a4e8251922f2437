"""miai as an engine: a session with one controller, from its first line to ``quit``.

`serve` runs a session over standard input and output. `Session` itself knows no pipes: it takes
lines and writes responses. The commands are in `miai_go.gtp.commands`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final

from miai.errors import MiaiError
from miai.search.protocol import SearchResult
from miai.seeds import derive_seed
from miai_go.gtp.clocks import MoveTime, SessionClock
from miai_go.gtp.commands import COMMANDS, STREAMING
from miai_go.gtp.players import PlayerMaker, SessionPlayer, player_maker
from miai_go.gtp.table import FreeState, SessionTable
from miai_go.gtp.wire import MAX_LINE_BYTES, Command, GtpError, one_line, opening, parse, response
from miai_go.rules.dead_stones import dead_by_playouts
from miai_go.rules.game import GoState
from miai_go.search.tree_search import clock_moves

_CHUNK: Final = 1 << 16
MAX_WAITING: Final = 256
"""Maximum lines that wait; beyond it the controller's pipe fills up, and the controller waits."""

_SCRIPT_SECONDS: Final = 0.25
"""Input that ends this soon after its last command is a script, whose commands are all answered."""

_MAX_ERROR: Final = 1000


class ControllerLeft(BaseException):
    """Ends the command that runs when the input ends. Not an error, and not to be caught as one."""


class TooLong:
    """Stands for a line of more than `MAX_LINE_BYTES`, which was discarded."""


class LineReader:
    """Reads lines from a descriptor until its end, in a thread that ends with the process.

    So an analysis notices the next line while it searches. When the controller has left, the thread
    calls `on_departure` again and again: when the input ends, but not at once after a command, as
    that of a script does; or when nobody can read `output` any more.
    """

    def __init__(self, descriptor: int, output: int, on_departure: Callable[[], None]) -> None:
        self._stream = os.fdopen(descriptor, "rb", closefd=False)
        self._output = output
        self._on_departure = on_departure
        self._last_command = time.monotonic()
        self._lines: deque[bytes | TooLong] = deque()
        self._over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="gtp-input", daemon=True).start()

    def next(self) -> bytes | TooLong | None:
        """Wait for the next line and return it without its newline; None at the end of input."""
        with self._changed:
            # On some systems Ctrl-C cannot interrupt a wait without a limit.
            while not self._lines and not self._over:
                self._changed.wait(1.0)
            line = self._lines.popleft() if self._lines else None
            self._changed.notify_all()
            return line

    def pending(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether a line, or the end of input, has come."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines) or self._over, max(seconds, 0.0))
            return bool(self._lines) or self._over

    def _read(self) -> None:
        with suppress(OSError):  # a closed descriptor ends the input, too
            for line in divide_lines(self._stream):
                self._put(line)
        with self._changed:
            self._over = True
            self._changed.notify_all()
        if time.monotonic() - self._last_command <= _SCRIPT_SECONDS:
            _await_no_reader(self._output)
        while True:  # a command that begins just now does not notice the first call
            self._on_departure()
            time.sleep(_SCRIPT_SECONDS)

    def _put(self, line: bytes | TooLong) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < MAX_WAITING)
            self._lines.append(line)
            self._changed.notify_all()
        if isinstance(line, TooLong) or line.strip() != b"quit":
            self._last_command = time.monotonic()


def _await_no_reader(descriptor: int) -> None:
    """Wait until the other end of a pipe or socket is closed; for ever on a file or a terminal."""
    poll = select.poll()
    poll.register(descriptor, 0)
    while not any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(1000)):
        pass


def divide_lines(stream: BinaryIO) -> Iterator[bytes | TooLong]:
    """Yield the lines of a stream without their newlines, which the last one may lack."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line.removesuffix(b"\n")
            continue
        while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield TooLong()


class Session:
    """The state of a session with one controller. Raises `MiaiError` for a wrong game or player.

    Args:
      values: parameters of the first game.
      write: called with each part of a response, which has to be sent at once.
      pending: waits up to the given seconds; returns whether a line, or the end of input, has come,
        which ends an analysis. By default that is always so.
      agent: the agent's name, part of the engine's.

    Attributes:
      clocks: Black's and White's clocks.
      last: position and result of the last search, or None.
      ended: whether the controller sent ``quit``.
      running: name of the command that is being answered, or an empty text.
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
        self.table: SessionTable = SessionTable(values)
        self.agent: str = agent
        self.write, self.pending = write, pending or (lambda _: True)
        self.clocks = [SessionClock(), SessionClock()]
        self.last: tuple[FreeState, SearchResult] | None = None
        self.ended = False
        self.running = ""
        self._streaming = False
        self._seed, self._games = seed, 0
        self._make_player = make_player
        self.player: SessionPlayer = make_player(self.table.game, self._next_seed())
        self._game = self.table.game

    # -- lines --------------------------------------------------------------------------------

    def take(self, line: bytes | TooLong) -> None:
        """Answer one line of the controller."""
        if isinstance(line, TooLong):
            self.write(response(None, f"a line of more than {MAX_LINE_BYTES} bytes", ok=False))
            return
        command = parse(line)
        if command is not None:
            self.running = command.name
            try:
                self._answer(command)
            finally:
                self.running = ""

    def _answer(self, command: Command) -> None:
        try:
            text = self._result(command)
        except MiaiError as error:
            self._fail(command, str(error))
        except BrokenPipeError:
            raise
        except Exception as error:
            # A defect, usually of the agent: the controller gets an error and may continue.
            traceback.print_exc()
            self._fail(command, f"the engine failed: {type(error).__name__}: {error}")
        else:
            self.write("\n" if text is None else response(command.id, text))
        self._streaming = False

    def _result(self, command: Command) -> str | None:
        """Return the response to a command, or None if it was written line by line."""
        if command.name in STREAMING:
            STREAMING[command.name](self, command)
            return None
        if command.name not in COMMANDS:
            raise GtpError("unknown command")
        return COMMANDS[command.name](self, command.arguments)

    def _fail(self, command: Command, reason: str) -> None:
        """Answer with an error, or end a response that has begun."""
        message = one_line(reason)[:_MAX_ERROR]
        if self._streaming:
            self.write("\n")
            print(f"miai: {command.name}: {message}", file=sys.stderr)
        else:
            self.write(response(command.id, message, ok=False))

    def stream(self, command: Command) -> Callable[[str], None]:
        """Begin a response of several lines; return the function that writes one."""
        self.write(f"{opening(command.id)}\n")
        self._streaming = True
        return lambda line: self.write(f"{line}\n")

    # -- the game -----------------------------------------------------------------------------

    def set_up(self, change: Callable[[], None], *, begin: bool = False) -> None:
        """Change the game on the table, and make a player for it if its parameters changed.

        With `begin`, a new game begins, with new clocks and a new seed. Raises `MiaiError` if the
        table refuses it, or no player can be made; nothing is then changed.
        """
        before = self.table.values, list(self.table.moves)
        change()
        try:
            self._follow(begin=begin)
        except Exception:
            self.table.restore(*before)
            self._game = self.table.game  # another object with equal parameters
            raise

    def play(self, player: int, action: int) -> None:
        """Play a move. Raises `GtpError` if it is illegal."""
        if self.table.play(player, action):
            self.player.advance(action)
        else:
            self.player.forget()

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of all dead stones by the rules, ascending.

        Raises `RefereeError` or `InferenceError` if the judge or the network fails.
        """
        rules = self.table.game.rules
        if rules.dead_stones == "none":
            return ()
        return (
            self.likely_dead(state)
            if rules.dead_stones == "playouts"
            else state.game.judge.dead_points(state)
        )

    def likely_dead(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the stones that will be captured, ascending.

        The player's network tells them together with random playouts, where it expects owners, else
        playouts alone do.
        """
        oracle = self.player.oracle()
        dead = None
        if oracle is not None:
            from miai_go.nets.dead_stones import dead_by_network

            dead = dead_by_network(oracle, state)
        return dead_by_playouts(state.board) if dead is None else dead

    def move_time(self, player: int) -> MoveTime | None:
        """Return the time of a move of `player`, or None for no limit."""
        state = self.table.state
        return self.clocks[player].move_time(clock_moves(state.game.size, state.move_number()))

    def charge(self, player: int, began: float) -> None:
        """Subtract the time since `began` (monotonic) from the player's clock."""
        self.clocks[player].charge(time.monotonic() - began)

    def _follow(self, *, begin: bool) -> None:
        game = self.table.game
        if game.parameters != self._game.parameters:
            player = self._make_player(game, self._next_seed())
            self.player.close()
            self.player = player
        elif begin:
            self.player.renew(self._next_seed())
        else:
            self.player.forget()
        if begin:
            self.clocks = [SessionClock(clock.settings) for clock in self.clocks]
        self._game = game
        self.last = None

    def _next_seed(self) -> int:
        self._games += 1
        return derive_seed(self._seed, "gtp", self._games)


def serve(agent: str, values: Mapping[str, Any], game: Mapping[str, Any], *, seed: int = 0) -> None:
    """Play for the controller at standard input and output until it sends ``quit`` or leaves.

    The end of the input stops a running search, too. Other writes to standard output go to standard
    error. Only for the main thread, where Python handles signals.

    Raises:
      MiaiError: agent or game are unknown or their parameters are wrong. Nothing was written.
    """
    maker = player_maker(agent, values)
    output = _private_output()
    main = threading.get_ident()
    # The signal reaches the handler, in this thread, between two slices of a compiled search.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    reader = LineReader(
        sys.stdin.fileno(),
        output.fileno(),
        lambda: signal.pthread_kill(main, signal.SIGUSR1),
    )

    def write(text: str) -> None:
        output.write(text.encode("utf-8", "replace"))
        output.flush()

    session = Session(maker, game, write=write, pending=reader.pending, seed=seed, agent=agent)

    def stop(*_: object) -> None:
        if session.running and not session.running.endswith("-analyze"):  # these end by themselves
            raise ControllerLeft

    signal.signal(signal.SIGUSR1, stop)
    try:
        while not session.ended:
            line = reader.next()
            if line is None:
                break
            session.take(line)
    except (BrokenPipeError, ControllerLeft):
        pass  # the controller left during a response
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        session.player.close()


def _private_output() -> BinaryIO:
    """Return standard output for responses alone, and redirect all other prints to stderr."""
    sys.stdout.flush()
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb", buffering=0)
