"""Self-play of any two agents: each game is seeded by the run's seed and its own number.

Finished games as plain data, for other processes and the journal, are at the end.
"""

from __future__ import annotations

import base64
import binascii
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.agent import Agent
from miai.api import load_game, make_agent
from miai.errors import ConfigError, MiaiError
from miai.game import State
from miai.parameters import StrictModel
from miai.playing.match import InProcessSeat, play_game
from miai.record import GameRecord, MoveRecord, Termination
from miai.search.agent import SearchAgent
from miai.search.protocol import Search, SearchResult
from miai.seeds import derive_seed
from miai_go.errors import DataError
from miai_go.learning.games import BLACK_WON, DRAWN, UNKNOWN, WHITE_WON, StoredGame
from miai_go.learning.shards import COLUMNS, column_shape, columns_of
from miai_go.rules.game import GoGame
from miai_go.rules.scoring import area_score
from miai_go.rules.state import Ending, GoState
from miai_go.sgf.writing import SgfRecords

COLORS: Final = ("black", "white")
_FAIR: Final = (Termination.TERMINAL, Termination.RESIGNATION, Termination.MOVE_LIMIT)


class VoidGameError(MiaiError):
    """An agent failed, and its game is void."""


class PlayerPlan(StrictModel):
    """The agent of one colour, by name, and its parameters."""

    agent: str
    parameters: dict[str, Any] = Field(default={})


class GamesPlan(StrictModel):
    """Settings of a run that determine its games.

    Attributes:
      game: parameters of the game.
      black, white: the players.
      seed: the run's seed.
      opening_plies: random moves at the start of each game.
    """

    game: dict[str, Any]
    black: PlayerPlan
    white: PlayerPlan
    seed: int = 0
    opening_plies: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True, eq=False)
class PlayedGame:
    """A finished game.

    Attributes:
      game: the game as data sets store it.
      sgf: the game with the players' comments; empty if not requested.
    """

    game: StoredGame
    sgf: str


class AgentGames:
    """Plays games between two agents in this process.

    The same plan and number give the same game if the agents are deterministic; budgets in seconds
    are not reproduced.

    Raises:
      MiaiError: the plan is wrong, or an agent or its network is unavailable.
    """

    def __init__(self, plan: GamesPlan, *, sgf: bool = True) -> None:
        self.plan = plan
        self.game = load_go(plan.game)
        self._sgf = SgfRecords() if sgf else None
        self._agents: list[Agent] = []
        self._watched: list[_Watched | None] = []
        for number, color in enumerate(COLORS):
            player: PlayerPlan = getattr(plan, color)
            try:
                agent = make_agent(player.agent, self.game, **player.parameters)
                agent.new_game(0, player=number)  # loads networks and kernels
            except MiaiError as error:
                raise ConfigError(f"--{color} {player.agent}: {error}") from error
            self._agents.append(agent)
            self._watched.append(_watch(agent))

    def play(self, number: int) -> PlayedGame:
        """Play a game by number.

        Raises:
          VoidGameError: an agent raised or made an illegal move.
        """
        seed = derive_seed(self.plan.seed, "selfplay", number)
        opening = random_opening(
            self.game, self.plan.opening_plies, seed=derive_seed(seed, "opening")
        )
        notes = _Notes(self.game, self._watched)
        record = play_game(
            self.game,
            [InProcessSeat(agent) for agent in self._agents],
            seed=seed,
            opening=opening,
            tags={"selfplay": number},
            on_move=notes.take,
        )
        if record.termination not in _FAIR:
            loser = COLORS[record.loser] if record.loser is not None else "nobody"
            raise VoidGameError(f"{record.termination} by {loser}: {record.detail}")
        return PlayedGame(notes.stored(record), self._sgf.write(record) if self._sgf else "")

    def close(self) -> None:
        """Close the agents."""
        for agent in self._agents:
            agent.close()


def load_go(parameters: Mapping[str, Any]) -> GoGame:
    """Return the game of a plan.

    Raises:
      ConfigError: shards cannot store its games, because of suicide or of agreement on dead stones.
      MiaiError: the parameters are wrong.
    """
    game = load_game("go", **parameters)
    assert isinstance(game, GoGame)
    if game.rules.suicide:
        raise ConfigError("suicide = true: data sets cannot store suicide; remove it")
    if game.rules.dead_stones == "agreement":
        raise ConfigError(
            "dead_stones = agreement: data sets cannot store agreements on dead stones; "
            "use --set dead_stones=playouts"
        )
    return game


def random_opening(game: GoGame, plies: int, *, seed: int) -> list[int]:
    """Return uniformly random legal moves other than passes that do not end the game."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    for _ in range(plies):
        points = [action for action in state.legal_actions() if action < game.pass_action]
        if not points or state.is_terminal():
            break
        state.apply_action(rng.choice(points))
    moves = state.history()
    return moves[:-1] if state.is_terminal() else moves


class _Watched:
    """A search that keeps its last result with all visits, of which records have only five."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._last: SearchResult | None = None
        parameters = getattr(search, "parameters", None)
        # The visits of sequential halving follow its schedule, which is not a policy.
        self.has_policy = getattr(parameters, "search", "") != "gumbel"

    def new_game(self, seed: int) -> None:
        self._search.new_game(seed)

    def advance(self, action: int) -> None:
        self._search.advance(action)

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        self._last = self._search.search(state, seconds=seconds)
        return self._last

    def close(self) -> None:
        close = getattr(self._search, "close", None)
        if close is not None:
            close()

    def pop_result(self) -> SearchResult | None:
        """Return the result of the search before the last move, once."""
        last, self._last = self._last, None
        return last


def _watch(agent: Agent) -> _Watched | None:
    if not isinstance(agent, SearchAgent):
        return None
    watched = _Watched(agent.search)
    agent.search = watched
    return watched


class _Notes:
    """Policy targets and values of a game in play."""

    def __init__(self, game: GoGame, watched: list[_Watched | None]) -> None:
        self._game = game
        self._watched = watched
        self._state: GoState | None = None
        self._targets: list[NDArray[np.float16] | None] = []
        self._values: list[float] = []
        for search in watched:
            if search is not None:
                search.pop_result()

    def take(self, state: State, move: MoveRecord) -> None:
        """Record a move and the state after it."""
        assert isinstance(state, GoState)
        self._state = state
        watched = self._watched[move.actor]
        result = None if watched is None or move.opening else watched.pop_result()
        searched = result is not None and sum(result.visits.values()) > 0
        self._values.append(result.value if result is not None and searched else float("nan"))
        has_target = searched and watched is not None and watched.has_policy
        self._targets.append(self._target(result) if result and has_target else None)

    def stored(self, record: GameRecord) -> StoredGame:
        """Return the game as data sets store it."""
        state = self._state or self._game.new_initial_state()
        policy, weight = self._policy()
        values = np.array(self._values, np.float16)
        result, margin, ownership = _end(state, record)
        return StoredGame(
            size=self._game.size,
            moves=np.array(state.history(), np.int16),
            half_komi=round(2 * self._game.white_bonus),
            result=result,
            margin=margin,
            stones=self._game.start.stones(self._game.size),
            first=self._game.start.to_move + 1,
            policy=policy,
            weight=weight,
            root_value=None if np.isnan(values).all() else values,
            ownership=ownership,
        )

    def _target(self, result: SearchResult) -> NDArray[np.float16]:
        """Return the shares of the visits, of shape (size * size + 1,)."""
        target = np.zeros(self._game.pass_action + 1)
        for action, visits in result.visits.items():
            target[action] = visits
        shares: NDArray[np.float16] = (target / target.sum()).astype(np.float16)
        return shares

    def _policy(self) -> tuple[NDArray[np.float16] | None, NDArray[np.float16] | None]:
        if all(target is None for target in self._targets):
            return None, None
        nothing = np.zeros(self._game.pass_action + 1, np.float16)
        rows = [nothing if target is None else target for target in self._targets]
        weight = [float(target is not None) for target in self._targets]
        return np.array(rows, np.float16), np.array(weight, np.float16)


def _end(state: GoState, record: GameRecord) -> tuple[int, float, NDArray[np.int8] | None]:
    """Return result, margin and ownership; the last two are unknown after a resignation."""
    if record.loser is not None:
        return (WHITE_WON if record.loser == 0 else BLACK_WON), float("nan"), None
    if state.ending == Ending.REPETITION:
        return UNKNOWN, float("nan"), None
    score = state.score()
    counted = area_score(state.board, white_bonus=0.0, dead=score.dead)
    margin = score.margin
    result = BLACK_WON if margin > 0 else WHITE_WON if margin < 0 else DRAWN
    return result, margin, counted.owners.reshape(-1)


# Plain data

_ARRAYS: Final = ("moves", "stones", "policy", "weight", "root_value", "ownership")


def pack(played: PlayedGame) -> dict[str, Any]:
    """Return a game as plain data."""
    game = played.game
    arrays = {name: getattr(game, name) for name in _ARRAYS}
    return {
        "size": game.size,
        "half_komi": game.half_komi,
        "result": game.result,
        "margin": None if np.isnan(game.margin) else game.margin,
        "first": game.first,
        "sgf": played.sgf,
        "arrays": {
            name: base64.b64encode(np.ascontiguousarray(a, COLUMNS[name].dtype).tobytes()).decode()
            for name, a in arrays.items()
            if a is not None
        },
    }


def unpack(values: Mapping[str, Any]) -> PlayedGame:
    """Return the game of `pack`'s plain data. Raises `DataError` for anything else."""
    try:
        size, arrays = int(values["size"]), dict(values["arrays"])
        moves = len(base64.b64decode(arrays["moves"], validate=True)) // 2
        values_by_name: dict[str, Any] = {}
        for name in _ARRAYS:
            if name in arrays:
                column = COLUMNS[name]
                shape = column_shape(column, size=size, games=1, moves=moves)
                data = base64.b64decode(arrays[name], validate=True)
                array_shape = shape if column.per == "move" else shape[1:]
                values_by_name[name] = np.frombuffer(data, column.dtype).reshape(array_shape)
        margin = values["margin"]
        game = StoredGame(
            size=size,
            half_komi=int(values["half_komi"]),
            result=int(values["result"]),
            margin=float("nan") if margin is None else float(margin),
            first=int(values["first"]),
            **values_by_name,
        )
        columns_of([game])  # checks shapes and values
        return PlayedGame(game, str(values["sgf"]))
    except (KeyError, TypeError, ValueError, IndexError, binascii.Error) as error:
        raise DataError(f"a packed game is damaged: {type(error).__name__}: {error}") from error
