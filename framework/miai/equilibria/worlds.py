"""The worlds of a game: its states, those with equal keys as one."""

from __future__ import annotations

import random
import statistics
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai.equilibria.kernels.histories import END, NOTHING, Worlds, count_histories
from miai.errors import UnsuitableGameError
from miai.game import Game, Observation, Player, State
from miai.plain import dumps, to_plain

_PROBES: Final = 500
_SURE: Final = 4.0
"""Standard errors by which an estimate exceeds the limit where the tree is too large."""
_PROBE_LIMIT: Final = 1e30
_REPORT_EVERY: Final = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class GameWorlds:
    """A game as a graph of worlds, made by `number_worlds`.

    Attributes:
      worlds: the graph.
      lines: each observation as a line, see `line_of`, by number.
      start: what both players observe at the start, a number or `NOTHING`.
      histories, ends: number of histories, and of those that end the game.
      longest: length of the longest history.
    """

    worlds: Worlds
    lines: list[bytes]
    start: tuple[int, int]
    histories: float
    ends: float
    longest: int


def line_of(observation: Observation) -> bytes:
    """Return an observation as a line of JSON."""
    o = observation
    data = to_plain(o.data, what="an observation")
    return dumps([o.player, o.actor, o.action, data, o.legal_actions, o.actions]).encode("ascii")


def number_worlds(game: Game, limit: int, progress: Callable[[int], None] | None) -> GameWorlds:
    """Return the worlds of a game.

    Args:
      limit: maximum number of histories.
      progress: called with the number of worlds so far, every thousand.

    Raises:
      UnsuitableGameError: the game has more histories, no end, or a sum of returns that is not
        constant.
    """
    if estimate := is_larger(game, limit):
        source = f", estimated from {_PROBES} random games"
        raise _too_large(game, limit, f"about {estimate:.2g}", source)
    numbering = _Numbering(game, limit, progress)
    numbering.run()
    worlds = numbering.worlds()
    size = len(worlds.actors)
    ways, lengths = np.zeros(size), np.zeros(size, np.int32)
    ways[0], missing = 1.0, np.bincount(worlds.children, minlength=size).astype(np.int32)
    if not missing[0]:
        count_histories(worlds[:], ways, lengths, missing, np.zeros(size, np.int32))
    if missing.any():
        raise UnsuitableGameError(f"{game.info.title}: a state can recur, so a game may never end")
    if (histories := float(ways.sum())) > limit:
        raise _too_large(game, limit, f"{histories:,.0f}")
    return GameWorlds(
        worlds=worlds,
        lines=list(numbering.seen),
        start=numbering.start,
        histories=histories,
        ends=float(ways[worlds.actors == END].sum()),
        longest=int(lengths.max()),
    )


def is_larger(game: Game, limit: int) -> float:
    """Return an estimate of a game's histories if they are surely more than a limit, otherwise 0.

    It is unbiased (Knuth 1975), and made from random games; one that stands for more than 10**30
    histories is not played on.
    """
    rng, totals = random.Random(0), []
    for _ in range(_PROBES):
        state, ways = game.new_initial_state(), 1.0
        total = ways
        while not state.is_terminal() and ways < _PROBE_LIMIT:
            legal = state.legal_actions()
            ways *= len(legal)
            total += ways
            state.apply_unchecked(rng.choice(legal))
        totals.append(total)
    mean = statistics.fmean(totals)
    return mean if mean - _SURE * statistics.stdev(totals) / _PROBES**0.5 > limit else 0.0


def _too_large(game: Game, limit: int, number: str, source: str = "") -> UnsuitableGameError:
    return UnsuitableGameError(
        f"{game.info.title}: its tree has {number} histories{source}, and the limit is {limit:,}. "
        "Choose smaller parameters of the game or a higher limit"
    )


class _Numbering:
    """Visits all worlds, and numbers them and the observations in the order in which they show."""

    def __init__(self, game: Game, limit: int, progress: Callable[[int], None] | None) -> None:
        self._game, self._limit, self._progress = game, limit, progress
        self._constant = float(game.info.utility_sum or 0.0)
        self._numbers: dict[Hashable, int] = {}
        self._waiting: list[tuple[State, int]] = []
        self._actors, self._edges, self._payoffs = array("i"), array("q"), array("d")
        self._actions, self._children, self._chances = array("q"), array("i"), array("d")
        self._observed = array("i")
        self.seen: dict[bytes, int] = {}
        self.start = (NOTHING, NOTHING)

    def run(self) -> None:
        """Visit all worlds. Raises `UnsuitableGameError`."""
        state = self._game.new_initial_state()
        self._number(state)
        first, second = (self._observe(state, player) for player in range(2))
        self.start = first, second
        while self._waiting:
            state, world = self._waiting.pop()
            chance = self._actors[world] == Player.CHANCE
            outcomes = (
                state.chance_outcomes() if chance else [(a, 1.0) for a in state.legal_actions()]
            )
            self._edges[2 * world] = len(self._actions)
            for action, probability in outcomes:
                child = state.child(action)
                self._actions.append(action)
                self._chances.append(probability)
                self._observed.extend(self._observe(child, player) for player in range(2))
                self._children.append(self._number(child))
            self._edges[2 * world + 1] = len(self._actions)

    def worlds(self) -> Worlds:
        """Return what was visited."""
        return Worlds(
            actors=np.array(self._actors),
            edges=np.array(self._edges).reshape(-1, 2),
            actions=np.array(self._actions),
            children=np.array(self._children),
            chances=np.array(self._chances),
            seen=np.ascontiguousarray(np.array(self._observed).reshape(-1, 2).T),
            payoffs=np.array(self._payoffs),
        )

    def _observe(self, state: State, player: int) -> int:
        observation = state.observation(player)
        if observation is None:
            return NOTHING
        return self.seen.setdefault(line_of(observation), len(self.seen))

    def _number(self, state: State) -> int:
        """Return the number of a state's world, which waits to be visited if it is new."""
        count = len(self._actors)
        world = self._numbers.setdefault(state.key(), count)
        if world < count:
            return world
        if count >= self._limit:
            raise _too_large(self._game, self._limit, f"more than {count:,}")
        if self._progress is not None and count % _REPORT_EVERY == 0:
            self._progress(count)
        actor = state.next_actor()
        self._actors.append(actor)
        self._edges.extend((0, 0))
        self._payoffs.append(self._payoff(state) if actor == Player.TERMINAL else 0.0)
        if actor != Player.TERMINAL:
            self._waiting.append((state, world))
        return world

    def _payoff(self, state: State) -> float:
        first, second = state.returns()
        if abs(first + second - self._constant) > 1e-9:
            raise UnsuitableGameError(
                f"{self._game.info.title}: the returns {first:g} and {second:g} after the actions "
                f"{state.history()} do not sum to {self._constant:g}, as its `utility_sum` says"
            )
        return first - self._constant / 2
