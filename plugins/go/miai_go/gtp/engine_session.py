"""miai as an engine: the state of a session with one controller.

It knows no pipes: `miai_go.gtp.standard_io` has these, `miai_go.gtp.session_commands` the
commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from miai.search.protocol import SearchResult
from miai.seeds import derive_seed
from miai_go.gtp.clocks import MoveTime, SessionClock
from miai_go.gtp.players import PlayerMaker, SessionPlayer
from miai_go.gtp.session_table import FreeState, SessionTable
from miai_go.gtp.wire import Command, opening
from miai_go.rules.dead_stones import dead_by_playouts
from miai_go.rules.game import GoState
from miai_go.search.tree_search import clock_moves


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
      streaming: whether its response has begun and may go on for several lines.
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
        self.streaming = False
        self._seed, self._games = seed, 0
        self._make_player = make_player
        self.player: SessionPlayer = make_player(self.table.game, self._next_seed())
        self._game = self.table.game

    def stream(self, command: Command) -> Callable[[str], None]:
        """Begin a response of several lines; return the function that writes one."""
        self.write(f"{opening(command.id)}\n")
        self.streaming = True
        return lambda line: self.write(f"{line}\n")

    # -- the game -----------------------------------------------------------------------------

    def set_up(self, change: Callable[[], None], *, begin: bool = False) -> None:
        """Change the game on the table, and make a player for it if its parameters changed.

        With `begin`, a new game begins, with new clocks and a new seed. Raises `MiaiError` if the
        table refuses it, or no player can be made; nothing is then changed.
        """
        # A controller that is refused goes on with the game that it had, so the table is put back.
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
