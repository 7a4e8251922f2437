"""The shared part of all tree searches of Go: one tree, which follows a game."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from time import perf_counter
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from miai.clock import ClockReading
from miai.errors import PluginError
from miai.game import State
from miai.plain import Json
from miai.plugins.loader import registry
from miai.search.protocol import SearchResult
from miai.values import ValueUnit
from miai_go.kinds import ADVISER
from miai_go.rules.game import GoGame, GoState, Start
from miai_go.search.advice import Advice, Adviser
from miai_go.search.ending import choose, counts_like_a_tree, go_state, root_mask, settled
from miai_go.search.player_parameters import SearchParameters
from miai_go.search.tree_view import TreeView

_PONDER_SECONDS: Final = 0.02
"""Time between two looks at whether pondering has to stop."""

_MIN_SHARE: Final = 0.1
"""Share of the seconds after which the rate of simulations counts."""

_STEADY: Final = 0.3
"""Share of the time for which the move has to be the same, if it may take longer."""

_LONGEST: Final = 2.5
"""A search whose move changes takes at most this many times the main time of another."""

_SAVED: Final = 1.5
"""A search that stops early is given this many times the main time, because it saves a third."""

_LEAST_MOVES: Final = 12

_TURNS_BELOW: Final = 2
"""Turns in a row with a value below `resign_below` before a search resigns."""


def clock_moves(size: int, plies: int) -> float:
    """Return the number by which a player's main time is divided for a move of Go after `plies`.

    On 9x9 it is 30 at the start and 15 from ply 20, so that moves up to the middle of the game get
    the most time.
    """
    points = size * size
    # Fewer moves are assumed than a game still has, and fewer the longer it lasts, so that the
    # early middle game gets the most time. The floors keep late moves from taking the rest of the
    # clock.
    return max((0.75 * points - 1.5 * plies) / 2, 0.375 * points / 2, _LEAST_MOVES)


class SearchClock:
    """Ends a search when its time is over, or when the rest of it cannot change the move.

    The most visited move is played. Once the simulations that the remaining time allows, at the
    rate so far, cannot bring the second move to the visits of the first, the rest is saved (Huang,
    Coulom, Lin 2010, "Time management for Monte-Carlo tree search applied to the game of Go").
    Without `visits`, which returns those at the root, only time counts.

    A search whose most visited move has changed lately goes on, at most for `longest` seconds in
    all, until it has been the same for three tenths of the time. `tick` is called whenever the
    search asks whether to stop.
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float,
        visits: Callable[[], NDArray[np.int32]] | None = None,
        longest: float | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        self._tick = tick
        self._started = started
        self._seconds = seconds
        self._longest = seconds if visits is None else max(seconds, longest or 0.0)
        self._visits = visits
        self._leader = -1
        self._changed = 0.0  # seconds after which the most visited move was another
        # Visits that a kept tree brings along say nothing about the rate of this search.
        self._before = int(visits().sum()) if visits is not None else 0

    def remaining(self) -> float:
        """Return the seconds after which the search ends at the latest, below 0 when overdrawn."""
        return self._started + self._longest - perf_counter()

    def __call__(self) -> bool:
        """Return whether to stop."""
        if self._tick is not None:
            self._tick()
        passed = perf_counter() - self._started
        if self._visits is None:
            return passed >= self._seconds
        # At the start of a search the rate of simulations is still too uncertain to decide by.
        if passed >= self._longest or passed < _MIN_SHARE * self._seconds:
            return passed >= self._longest
        visits = self._visits()
        leader = int(visits.argmax()) if len(visits) else -1
        if leader != self._leader:
            self._leader, self._changed = leader, passed
        if passed >= self._seconds:
            return passed - self._changed >= _STEADY * passed
        # Could the second move still overtake, if it alone got all simulations that remain?
        visits = np.sort(visits)
        rate = (int(visits.sum()) - self._before) / passed
        lead = int(visits[-1] - visits[-2]) if len(visits) > 1 else 0
        return lead > rate * (self._seconds - passed)


class TreeSearch(ABC):
    """A search of one game by one tree, which is kept between moves.

    A subclass grows the tree. The tree counts by area with every stone alive; under other rules
    `miai_go.search.ending` handles the end of play. The tree does not know draws by repetition
    under simple ko.

    An adviser is asked first, and the moves that it recommends are favoured at the root; see
    `miai_go.search.advice`. Budgets in simulations on one thread are reproducible; budgets in
    seconds are not.
    """

    ROOT_IS_VALUED: ClassVar[bool]
    """Whether the root itself is valued once, which is not a simulation."""

    _tree: TreeView

    def __init__(self, game: GoGame, parameters: SearchParameters) -> None:
        self.game = game
        self.parameters = parameters
        self._begun = False
        self._start: Start | None = None
        self._line: list[int] = []
        self._adviser_component = registry().get(ADVISER, parameters.adviser)
        self._adviser_component.fill(parameters.adviser_parameters, where="adviser_parameters")
        self._adviser: Adviser | None = None
        self._limit = 0  # simulations of the present move, 0 for no limit
        self._lows: list[tuple[Start, list[int]]] = []
        """Positions of the game in which the value was below `resign_below`."""
        self._watcher: tuple[Callable[[SearchResult], None], float] | None = None

    def new_game(self, seed: int) -> None:
        """Forget everything, seed the randomness, and load or compile kernels and networks."""
        # A new adviser for each game: what it remembers of boards must not depend on earlier games.
        self._adviser = self._adviser_component.build(
            self.game, values=self.parameters.adviser_parameters
        )
        self._start, self._line = None, []
        self._plant(seed)
        self._begun = True

    def advance(self, action: int) -> None:
        """Follow the game: keep the tree beyond `action`."""
        if self._start is None:
            return
        tree, suicide = self._tree, self.game.rules.suicide
        # The game may go on after two passes, or take an action that is none of the tree's, such as
        # naming a dead chain; the next search then begins with a new tree.
        over = self._line[-1:] == [self.game.pass_action] == [action]
        inside = action <= self.game.pass_action and not over and self._keeps_tree()
        if inside and tree.board.is_legal(tree.to_move, action, suicide=suicide):
            self._play(action)
            self._line.append(action)
        else:
            self._start = None

    def close(self) -> None:  # noqa: B027 - most trees hold nothing outside this process
        """Release what the search holds outside this process."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the best move within `seconds`; values are for the player to move.

        Raises:
          GameError: the state is of another game, or the game is over.
          InferenceError: a network cannot answer.
        """
        return self._search(state, seconds)

    def search_on_clock(self, state: State, clock: ClockReading) -> SearchResult:
        """Return the best move; a difficult one takes longer where the clock has main time."""
        moves = clock_moves(self.game.size, go_state(state, self.game).move_number())
        if self._only_time_limits():
            moves /= _SAVED
        seconds = clock.allotment(moves_left=moves)
        longest = clock.allotment(moves_left=moves / _LONGEST)
        return self._search(state, seconds, longest=longest, timed=True)

    @contextmanager
    def watching(self, show: Callable[[SearchResult], None], *, every: float) -> Iterator[None]:
        """Show what searches find while they go on, as long as the context is open.

        Args:
          show: called with the result so far, which has what an analysis shows.
          every: seconds between two calls, about.
        """
        self._watcher = show, every
        try:
            yield
        finally:
            self._watcher = None

    def ponder(self, state: State, stop: Callable[[], bool]) -> None:
        """Grow the tree until `stop` returns true, or nothing is left to search."""
        position = go_state(state, self.game)
        if not self._keeps_tree() or self._settled(position) is not None:
            return
        while not stop():
            # Not early: there is no move to save time for, and a full tree ends the loop.
            result = self._search(state, _PONDER_SECONDS, early=False)
            if not result.statistics["simulations"]:
                return

    def _search(
        self,
        state: State,
        seconds: float | None,
        *,
        early: bool = True,
        longest: float | None = None,
        timed: bool = False,
    ) -> SearchResult:
        # Wall time, as the clock of a game is: a loaded machine gives fewer simulations, not more
        # time.
        started = perf_counter()
        position = go_state(state, self.game)
        result = self._settled(position)
        if result is not None:
            return result if self._watcher is None else self._with_outlook(position, result)
        if not self._begun:
            self.new_game(0)
        tree = self._tree_at(position)
        self._limit = self.parameters.simulation_limit(timed=timed)
        # The first limit reached ends the search: the player's own seconds, the clock's, or the
        # simulations. Advice is part of the same time.
        own = self.parameters.seconds
        limits = [limit for limit in (own, seconds) if limit is not None]
        advice = self._advice(tree, min(limits, default=None))
        # A kept tree begins with the visits of earlier moves, which are not charged to this one.
        before = tree.simulations

        def result_after(simulations: int) -> SearchResult:
            result = self._result(position, simulations, advice, started=started)
            return result if self._watcher is None else self._with_outlook(position, result)

        tick = self._ticker(lambda: result_after(tree.simulations - before))
        clock = None
        if limits or tick:
            clock = SearchClock(
                min(limits, default=inf),
                started=started,
                visits=tree.visits if limits and early and self._only_time_limits() else None,
                longest=longest if own is None or longest is None else min(longest, own),
                tick=tick,
            )
        simulations = self._grow(clock)
        result = result_after(simulations)
        # A tree that knows every line lost resigns at once, unless the game counts another way.
        lost = tree.proven < 0 and counts_like_a_tree(self.game)
        resigns = self._resigns(position, result.value, proven=lost)
        return replace(result, resign=resigns and (simulations > 0 or lost))

    def _ticker(self, result: Callable[[], SearchResult]) -> Callable[[], None] | None:
        """Return what shows the result to the watcher whenever that is due; None without one."""
        if self._watcher is None:
            return None
        show, every = self._watcher
        due = perf_counter() + every

        def tick() -> None:
            nonlocal due
            if perf_counter() >= due:
                show(result())
                due = perf_counter() + every

        return tick

    def _with_outlook(self, state: GoState, result: SearchResult) -> SearchResult:
        """Return a result with what an analysis shows in addition."""
        return result

    def _resigns(self, state: GoState, value: float, *, proven: bool) -> bool:
        """Return whether a game is given up: lost by proof, or low in value for some turns."""
        limit, start, line = self.parameters.resign_below, state.start, state.history()
        # Keep only the lows on the way to this position: moves may have been taken back, and the
        # same position may be searched twice.
        before = [low for low in self._lows if low == (start, line[: len(low[1])])]
        self._lows = [low for low in before if len(low[1]) < len(line)]
        if limit is None or value >= limit:
            return False
        self._lows.append((start, line))
        plies = {len(moves) for _start, moves in self._lows}
        return proven or all(len(line) - 2 * back in plies for back in range(_TURNS_BELOW))

    def _schedules_visits(self) -> bool:
        """Return whether visits follow a schedule, so that they are not a policy to learn from."""
        return False

    def _settled(self, state: GoState) -> SearchResult | None:
        return settled(state, pass_when_winning=self._passes_when_winning())

    def _passes_when_winning(self) -> bool:
        """Return whether a pass is answered by one that wins."""
        return True

    def _tree_at(self, state: GoState) -> TreeView:
        """Make the state the root; keep the tree if it followed the game."""
        tree = self._tree
        # A proof counts by area with every stone alive, so it holds only if the game does.
        trusted = tree.proven == 0 or counts_like_a_tree(self.game)
        if not (self._start == state.start and self._line == state.history() and trusted):
            self._set_root(state)
            # The line of actions, not the board, says which position the tree is of: superko and
            # encoders look at the history.
            self._start, self._line = state.start, state.history()
        self._expand_root()
        # Each time, as the rules may forbid more at the root than the tree, or fewer moves be asked
        # for.
        tree.restrict(root_mask(state, tree.allowed()))
        return tree

    def _advice(self, tree: TreeView, seconds: float | None) -> Advice | None:
        """Ask the adviser and favour its moves; return None without one or if all is proved."""
        if self._adviser is None or tree.proven:
            return None
        title = self._adviser_component.title
        try:
            advice = self._adviser.look(tree.board, tree.to_move, seconds=seconds)
        except PluginError as error:
            raise PluginError(f"{title}: {error}; a defect of the plugin") from error
        moves = self.game.size**2 + 1
        if not isinstance(advice, Advice) or len(advice.weights) != moves:
            got = f"advice of {len(advice.weights)}" if isinstance(advice, Advice) else repr(advice)
            raise PluginError(
                f"{title}: expected Advice of {moves} moves, got {got}; a defect of the plugin"
            )
        self._favour(advice)
        return advice

    def _result(
        self, state: GoState, simulations: int, advice: Advice | None, *, started: float
    ) -> SearchResult:
        tree = self._tree
        visits, values = tree.visits(), np.nan_to_num(tree.values())
        action = choose(state, tree)
        proven = tree.proven if counts_like_a_tree(self.game) else 0
        # Without a visit the move has no value of its own; the root's network has one.
        untried = tree.value if self.ROOT_IS_VALUED else 0.0
        value = float(proven or (values[action] if visits[action] else untried))
        pv = tree.principal_variation()
        moves = np.flatnonzero(visits).tolist()
        policy: list[Json] = []
        if not self._schedules_visits():
            policy = [[a, int(visits[a])] for a in moves]
        return SearchResult(
            action=action,
            value=value,
            unit=ValueUnit.EXPECTED_UTILITY,
            visits={a: int(visits[a]) for a in moves},
            values={a: float(values[a]) for a in moves},
            pv=tuple(pv) if pv[:1] == [action] else (action,),
            statistics={
                "simulations": simulations,
                "reused": max(tree.simulations - simulations - self.ROOT_IS_VALUED, 0),
                "nodes": tree.nodes,
                **({} if advice is None else {"advice": advice.statistics}),
                **({"visits": policy} if policy else {}),
                **self._statistics(started),
            },
        )

    # What a subclass implements

    @abstractmethod
    def _plant(self, seed: int) -> None:
        """Set `_tree` to an empty tree. Called once per game."""

    @abstractmethod
    def _set_root(self, state: GoState) -> None:
        """Start a new tree at a state."""

    @abstractmethod
    def _play(self, action: int) -> None:
        """Play a legal action at the root and keep the subtree."""

    @abstractmethod
    def _expand_root(self) -> None:
        """Give the root its children."""

    @abstractmethod
    def _favour(self, advice: Advice) -> None:
        """Apply the advice to the root."""

    def _keeps_tree(self) -> bool:
        """Return whether the tree follows the game."""
        return True

    def _only_time_limits(self) -> bool:
        """Return whether the search may end once the rest cannot change the move."""
        return not self._limit

    @abstractmethod
    def _grow(self, clock: SearchClock | None) -> int:
        """Search until the budget is spent or the clock stops it; return the simulations."""

    def _statistics(self, started: float) -> dict[str, Json]:
        """Return further statistics."""
        return {}
