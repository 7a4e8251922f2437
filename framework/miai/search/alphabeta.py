"""Alpha-beta search with iterative deepening, for two players of constant sum.

Fail-soft negamax (Knuth & Moore 1975) with a transposition table of bounded size, killer moves and
the history heuristic; chance nodes by expectiminimax with Star1 bounds (Ballard 1983). Internally,
utilities are shifted so that they sum to zero, and one player's value is minus the other's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from enum import IntEnum
from typing import Any, NamedTuple

from miai.game import Game, Player, State
from miai.parameters import Parameters, parameter
from miai.search.evaluators import evaluation_in_place, make_evaluator, utilities
from miai.search.protocol import (
    Evaluator,
    SearchResult,
    Seedable,
    deadline_after,
    require_decision,
    require_perfect_information,
    require_turns,
    require_two_player_constant_sum,
)
from miai.seeds import derive_seed


class Bound(IntEnum):
    """How the value of an entry relates to the true value."""

    EXACT = 0
    LOWER = 1
    UPPER = 2


class TableEntry(NamedTuple):
    """The result of a search of a state.

    Attributes:
      depth: depth of the search in plies; infinite if the horizon did not matter.
      bound: whether the value is exact or bounds the true one.
      value: utility for the player to move.
      action: the best action, or the one that caused the cut-off; or None.
    """

    depth: float
    bound: Bound
    value: float
    action: int | None


class TranspositionTable:
    """Entries by `State.key`, in two generations: when the young one is full, the old is dropped.

    An entry that is used moves to the young generation, so dropped entries were unused for at least
    half a table's worth of stores. Which of the at most `size` entries are kept depends only on the
    order of use, not on hash values, which differ between processes. `hits` counts the look-ups
    that found an entry.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._young: dict[Hashable, TableEntry] = {}
        self._old: dict[Hashable, TableEntry] = {}
        self.hits = 0

    def get(self, key: Hashable) -> TableEntry | None:
        """Return the entry of the key, or None."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is None:
                return None
            self.store(key, entry)
        self.hits += 1
        return entry

    def store(self, key: Hashable, entry: TableEntry) -> None:
        """Store the entry, replacing an older one of the key."""
        if len(self._young) >= self._half and key not in self._young:
            self._old, self._young = self._young, {}
        self._old.pop(key, None)
        self._young[key] = entry

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


_KILLERS = 2


class MoveOrdering:
    """Killer actions by ply, and the history table (Schaeffer 1989) by player and action."""

    def __init__(self, plies: int) -> None:
        self._killers: list[list[int]] = [[] for _ in range(plies + 1)]
        self._successes: dict[tuple[int, int], int] = {}

    def order(self, state: State, player: int, ply: int, first: int | None) -> list[int]:
        """Return the legal actions: `first`, then killers, then by past success."""
        killers, successes = self._killers[ply], self._successes

        def urgency(action: int) -> tuple[bool, bool, int]:
            return action != first, action not in killers, -successes.get((player, action), 0)

        return sorted(state.legal_actions(), key=urgency)

    def succeed(self, player: int, action: int, ply: int, *, depth: int) -> None:
        """Remember an action that caused a cut-off `depth` plies above the horizon."""
        killers = self._killers[ply]
        if action not in killers:
            self._killers[ply] = [action, *killers[: _KILLERS - 1]]
        # A cut-off far above the horizon has saved more, and counts for more (Schaeffer 1989).
        self._successes[player, action] = self._successes.get((player, action), 0) + depth * depth


_INSIDE = 1e-6
"""Margin between an estimate and the bounds, as a share of the range of utilities."""


class AlphaBetaParameters(Parameters):
    """Parameters of `AlphaBeta`."""

    depth: int = parameter(
        64, ge=1, le=100, unit="plies", help="Maximum search depth; chance actions do not count"
    )
    nodes: int = parameter(
        50_000, ge=0, unit="nodes", help="Budget of a move in visited states; 0: no limit"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Time limit per move beside nodes; not reproducible"
    )
    evaluator: str = parameter(
        "zero", component="evaluator", help="Evaluator of states at the maximum depth"
    )
    evaluator_parameters: dict[str, Any] = parameter({}, help="Parameters of the evaluator")
    resign_below: float | None = parameter(
        None, unit="utility", help="Resign when the best action's value is below this; none: never"
    )


class _OutOfBudgetError(Exception):
    """Unwinds the search to its root."""


class AlphaBeta:
    """Alpha-beta search. It draws no random numbers.

    The value is exact when the statistics say ``solved``. `SearchResult.values` holds the best
    action only: for the others alpha-beta proves only that they are not better. The evaluator gives
    values at the horizon; None for the one that the parameters name. The transposition table keeps
    at most `table_size` entries.

    Raises `GameError` unless the game has perfect information, two players and a constant sum.
    """

    def __init__(
        self,
        game: Game,
        parameters: AlphaBetaParameters | None = None,
        *,
        evaluator: Evaluator | None = None,
        table_size: int = 1_000_000,
    ) -> None:
        require_perfect_information(game, search="alpha-beta")
        require_two_player_constant_sum(game, search="alpha-beta")
        require_turns(game, search="alpha-beta")
        parameters = parameters or AlphaBetaParameters()
        self._parameters = parameters
        self._evaluator = evaluator or make_evaluator(
            parameters.evaluator, game, parameters.evaluator_parameters, search="alpha-beta"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        info = game.info
        self._shift = (info.utility_sum or 0.0) / 2
        # What one player can lose at most, the other can win at most, whatever the game states.
        self._max = max(info.max_utility - self._shift, self._shift - info.min_utility)
        self._horizon = self._max * (1 - 2 * _INSIDE)
        self._table = TranspositionTable(table_size)
        self.new_game(0)

    def new_game(self, seed: int) -> None:
        """Empty the table; seed the evaluator where it draws random numbers."""
        self._table.clear()
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))

    def advance(self, action: int) -> None:
        """Keep everything: what the table holds stays true."""

    def close(self) -> None:
        """Close the search; it holds nothing outside this process."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for the player to move, by the deepest iteration in the budget.

        An iteration that the budget cuts short counts as far as it got; it tries the best action of
        the one before first. When even the first is cut short, the answer is any action.

        Raises `GameError` at a terminal state or a chance node, `PluginError` for malformed
        evaluations.
        """
        player = require_decision(state)
        self._deadline = deadline_after(seconds, self._parameters.seconds)
        self._budget = self._parameters.nodes or math.inf
        self._nodes, self._cuts, hits = 0, 0, self._table.hits
        self._ordering = MoveOrdering(self._parameters.depth)
        self._best: tuple[int, float] | None = None
        depth, solved = self._deepen(state, player)
        if self._best is None:
            self._best = state.legal_actions()[0], self._estimate(state.clone(), player)
        action, value = self._best
        value += self._shift
        threshold = self._parameters.resign_below
        return SearchResult(
            action=action,
            value=value,
            values={action: value},
            resign=threshold is not None and value < threshold,
            statistics={
                "nodes": self._nodes,
                "depth": depth,
                "table_hits": self._table.hits - hits,
                "solved": solved,
            },
            pv=self._principal_variation(state, action),
        )

    # -- the root -----------------------------------------------------------------------------

    def _deepen(self, state: State, player: int) -> tuple[int, bool]:
        """Deepen until the budget is spent; return the last full depth and whether all is exact."""
        full_depth = 0
        try:
            for depth in range(1, self._parameters.depth + 1):
                self._cuts = 0
                value = self._look_from(state, player, depth)
                full_depth = depth
                # No horizon was met, or the value cannot be improved: a deeper search would repeat
                # it.
                if self._cuts == 0 or abs(value) >= self._max:
                    return depth, True
        except _OutOfBudgetError:
            pass  # what was found so far is the answer
        return full_depth, False

    def _look_from(self, state: State, player: int, depth: int) -> float:
        """Search the root to a depth, noting the best action as soon as it is known."""
        first = None if self._best is None else self._best[0]
        best, best_action = -math.inf, None
        for action in self._ordering.order(state, player, 0, first):
            value = self._after(state, action, player, depth - 1, best, math.inf, 1)
            if value > best:
                best, best_action = value, action
                self._best = action, value
            # Nothing is worth more, so the other actions need no search.
            if best >= self._max:
                break
        self._store(state.key(), depth, Bound.EXACT, best, best_action, cuts=0)
        return best

    def _principal_variation(self, state: State, action: int | None) -> tuple[int, ...]:
        """Return the best actions by the table, up to chance, the horizon or a lost entry."""
        state = state.clone()
        actions: list[int] = []
        while action is not None and len(actions) < self._parameters.depth:
            actions.append(action)
            state.apply_action(action)
            if state.current_player() < 0:
                break
            entry = self._table.get(state.key())
            action = None if entry is None else entry.action
        return tuple(actions)

    # -- the recursion: values are for `player`, shifted ----------------------------------------

    def _after(
        self,
        state: State,
        action: int,
        player: int,
        depth: int,
        alpha: float,
        beta: float,
        ply: int,
    ) -> float:
        """Return the value of an action, or of a chance outcome, for either next player."""
        self._count()
        child = state.clone()
        child.apply_unchecked(action)
        mover = child.current_player()
        if mover == Player.TERMINAL:
            return child.returns()[player] - self._shift
        if mover == Player.CHANCE:
            return self._expect(child, player, depth, alpha, beta, ply)
        # A player who moves twice in a row keeps sign and window.
        if mover == player:
            return self._look(child, player, depth, alpha, beta, ply)
        # Negamax: the opponent's value is minus ours; so is its window, with the ends swapped.
        return -self._look(child, mover, depth, -beta, -alpha, ply)

    def _look(
        self, state: State, player: int, depth: int, alpha: float, beta: float, ply: int
    ) -> float:
        """Return the value of a state in which `player` is to move; a bound outside the window."""
        if depth <= 0:
            # Before the table: it may know of a slow win, and an immediate one is to come first.
            self._cuts += 1
            return self._estimate(state, player)
        key, cuts = state.key(), self._cuts
        entry = self._table.get(key)
        if entry is not None and _settles(entry, depth, alpha, beta):
            # An entry that met the horizon taints this value as its own search would have.
            self._cuts += entry.depth < math.inf
            return entry.value
        best, best_action, bound = -math.inf, None, Bound.UPPER
        # Even an entry that is too shallow names a good first action.
        for action in self._ordering.order(state, player, ply, entry.action if entry else None):
            value = self._after(state, action, player, depth - 1, max(alpha, best), beta, ply + 1)
            if value > best:
                best = value
                if best > alpha:
                    best_action, bound = action, Bound.EXACT
            if best >= beta:
                bound = Bound.LOWER
                self._ordering.succeed(player, action, ply, depth=depth)
                break
        self._store(key, depth, bound, best, best_action, cuts=cuts)
        return best

    def _expect(
        self, state: State, player: int, depth: int, alpha: float, beta: float, ply: int
    ) -> float:
        """Return the expectation at a chance node; a bound outside the window (Star1).

        What is still to come is worth at least -max and at most max. A cut-off returns no better
        than the edge of the window that it fell off: rounding must not turn a bound into a value.
        """
        total, rest = 0.0, 1.0
        for outcome, probability in state.chance_outcomes():
            # Rounding may leave a little less than nothing.
            rest = max(0.0, rest - probability)
            low = (alpha - total - self._max * rest) / probability
            high = (beta - total + self._max * rest) / probability
            value = self._after(state, outcome, player, depth, low, high, ply)
            total += probability * value
            if value <= low:
                return min(alpha, total + self._max * rest)
            if value >= high:
                return max(beta, total - self._max * rest)
        return total

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > self._budget or time.monotonic() >= self._deadline:
            raise _OutOfBudgetError

    def _estimate(self, state: State, player: int) -> float:
        """Return the evaluator's value, kept inside the bounds that only the rules may reach."""
        value = utilities(self._evaluate, [state])[0][player] - self._shift
        return min(self._horizon, max(-self._horizon, value))

    def _store(
        self,
        key: Hashable,
        depth: int,
        bound: Bound,
        value: float,
        action: int | None,
        *,
        cuts: int,
    ) -> None:
        """Store an entry, good for any depth where the horizon played no part in its value."""
        # Entries from which no line met the horizon hold at any depth. So do values at the bound of
        # utilities: a deeper search could only confirm them.
        certain = (
            self._cuts == cuts
            or (value >= self._max and bound != Bound.UPPER)
            or (value <= -self._max and bound != Bound.LOWER)
        )
        self._table.store(key, TableEntry(math.inf if certain else depth, bound, value, action))


def _settles(entry: TableEntry, depth: int, alpha: float, beta: float) -> bool:
    if entry.depth < depth:
        return False
    if entry.bound == Bound.LOWER:
        return entry.value >= beta
    return entry.bound == Bound.EXACT or entry.value <= alpha
