"""Dead stones by an engine's word: between players, and as the judge ``gtp``."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

import numpy as np

from miai.errors import AgentError, AgentProtocolError, InvalidActionError
from miai_go.board import BLACK_STONE, WHITE_STONE
from miai_go.coordinates import parse_vertex, vertex
from miai_go.dead_stones import RefereeError
from miai_go.gtp.client import GtpClient
from miai_go.gtp.conversation import Conversation
from miai_go.gtp.locate import find_engine
from miai_go.gtp.parameters import EngineParameters
from miai_go.gtp.setup import COLORS, clear_board, launch

if TYPE_CHECKING:
    from miai_go.game import GoGame
    from miai_go.state import GoState


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

    def __init__(self, game: GoGame, parameters: EngineParameters) -> None:
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
