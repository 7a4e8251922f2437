"""Alpha-beta over beliefs of boards: `miai.beliefs.search` with arrays of board numbers.

One own move before the end, `LastMove` values a request board by board. Where the bounds ask for
it, boards are then tried alone first, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from miai.beliefs.protocol import AnyBelief, Bounds, Line
from miai.beliefs.search import Branches, NodeResult, Recursion, Refutation, SearchBudget
from miai.beliefs.sets import HashedSet
from miai_rbc.kernels.belief_search import Numbers, Values, least
from miai_rbc.kernels.bits import WIN
from miai_rbc.rules.actions import action_of
from miai_rbc.search.layers import MOVE, REPLY, SENSE, Layer, LayerStep, Place

BoardResult: TypeAlias = NodeResult[Numbers]
"""Cores and closures are increasing numbers of boards of the layer."""

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 4096
"""Boards valued before the worst of them is compared with the window again."""


class LastMove:
    """Values beliefs one own move before the end.

    Args:
      budget: counts the work and stops the search.
      forgiven: the number of worst boards ignored at each leaf.
      explains: whether to find closures.
    """

    def __init__(self, budget: SearchBudget, *, forgiven: int, explains: bool) -> None:
        self.budget = budget
        self._forgiven, self._explains = forgiven, explains

    def value(
        self, layer: Layer, boards: Numbers, request: int, alpha: float, beta: float
    ) -> BoardResult:
        """Return the value of the worst board after the last request, without the forgiven ones."""
        self.budget.count(1)
        line: Line = ((action_of(request), None),)
        column = layer.column(request)
        if self._forgiven:
            value, core = self._quantile(layer, request, column, boards, alpha)
            return BoardResult(value, core=core, line=line)
        missing = np.empty(len(boards), np.int64)
        worst, which, lacking = least(column, boards, missing)
        self.budget.leaves += len(boards) - lacking
        for some in _chunks(missing[:lacking]):
            if worst <= alpha:
                break
            self._fill(layer, request, some)
            at = int(np.argmin(column[some]))
            if column[some[at]] < worst:
                worst, which = float(column[some[at]]), int(some[at])
        closure = None
        if self._explains and worst >= beta:
            closure = np.flatnonzero(column >= beta)
        return BoardResult(worst, core=np.array([which]), closure=closure, line=line)

    def _quantile(
        self, layer: Layer, request: int, column: Values, boards: Numbers, alpha: float
    ) -> tuple[float, Numbers | None]:
        """Return the lowest value without the forgiven ones, and the boards at or below it."""
        k = self._forgiven
        if len(boards) <= k:
            return float(WIN), None
        missing = boards[np.isnan(column[boards])]
        self.budget.leaves += len(boards) - len(missing)
        for some in _chunks(missing):
            valued = boards[~np.isnan(column[boards])]
            if len(valued) > k and np.partition(column[valued], k)[k] <= alpha:
                break
            self._fill(layer, request, some)
        valued = boards[~np.isnan(column[boards])]
        lowest = valued[np.argpartition(column[valued], k)[: k + 1]]
        return float(column[lowest].max()), np.sort(lowest)

    def _fill(self, layer: Layer, request: int, some: Numbers) -> None:
        self.budget.count(0)
        self.budget.leaves += len(some)
        layer.fill(request, some)

    def refuting(self, layer: Layer, boards: Numbers, alpha: float) -> BoardResult | None:
        """Return the value of a board that alone is worth at most alpha; None without one."""
        for some in _chunks(boards[layer.best[boards] <= alpha]):
            remaining = some
            self.budget.singles += len(remaining)
            self.budget.count(len(remaining))
            for request in layer.requests():
                missing = remaining[np.isnan(layer.column(request)[remaining])]
                if len(missing):
                    self.budget.count(len(missing))
                    self._fill(layer, request, missing)
                remaining = remaining[layer.best[remaining] <= alpha]
                if len(remaining) == 0:
                    break
            if len(remaining):
                at = int(np.argmin(layer.best[remaining]))
                return BoardResult(float(layer.best[remaining[at]]), core=remaining[at : at + 1])
        return None

    def refuting_known(self, layer: Layer, boards: Numbers, alpha: float) -> BoardResult | None:
        """As `refuting`, from values already computed: one board is the smallest core."""
        columns = np.stack([layer.column(request)[boards] for request in layer.requests()])
        values = columns.max(axis=0)  # NaN if any is NaN
        at = int(np.argmin(np.where(values <= alpha, values, np.inf)))
        if not values[at] <= alpha:
            return None
        return BoardResult(float(values[at]), core=boards[at : at + 1])


def _chunks(some: Numbers) -> list[Numbers]:
    """Return boards in growing chunks: the first few may decide."""
    cuts, size = [0], _FIRST_CHUNK
    while cuts[-1] + size < len(some):
        cuts.append(cuts[-1] + size)
        size = min(2 * size, _LARGEST_CHUNK)
    ends = [*cuts[1:], len(some)]
    return [some[a:b] for a, b in zip(cuts, ends, strict=True) if a < b]


_NOBODY = np.empty(0, np.int64)
_MOST_SUSPECTS = 32
_TURN = -1
"""The opponent's turn as the only action of its node; lines leave it out."""


class BoardRecursion(Recursion[Place, Numbers]):
    """Alpha-beta over beliefs that are increasing arrays of board numbers.

    The depth is the number of own moves left. An action is the centre of a window or a move.

    Args:
      forgiven: the number of worst boards ignored at each leaf.
      blind_first: whether moves are tried before a sense, as if it showed nothing; the sense
        guarantees at least as much (B1).
      singles: whether boards are tried alone one move before the end; None leaves it to the bounds.
    """

    explains_exact = True

    def __init__(
        self, bounds: Bounds, *, forgiven: int, blind_first: bool, singles: bool | None = None
    ) -> None:
        super().__init__(bounds)
        self._last = LastMove(self.budget, forgiven=forgiven, explains=bounds.explains)
        self._forgiven = forgiven
        alone = bounds.singles if singles is None else singles
        self._singles = alone and not forgiven  # a board alone is forgiven
        self._blind_first = blind_first

    # -- sets ---------------------------------------------------------------------------------

    def key(self, place: Place, belief: Numbers) -> tuple[Hashable, HashedSet]:
        """Return the public part and the hashes of the boards."""
        return place.public, place.layer.belief(belief)

    def from_bounds(self, place: Place, belief: AnyBelief) -> Numbers | None:
        """Return the boards of a set that are of this layer."""
        if not self.bounds.explains or not isinstance(belief, HashedSet):
            return None
        return place.layer.find(belief)

    def union(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the union of two arrays."""
        return np.union1d(first, second)

    # -- a node -------------------------------------------------------------------------------

    def settle(
        self, place: Place, belief: Numbers, depth: int, alpha: float, beta: float
    ) -> BoardResult | None:
        """Return the value of a board that alone refutes the belief; None without one."""
        if self._singles and depth == 1 and place.phase != REPLY:
            return self._last.refuting(place.layer, belief, alpha)
        return None

    def search_actions(
        self,
        place: Place,
        belief: Numbers,
        depth: int,
        alpha: float,
        beta: float,
        suspects: Numbers | None = None,
    ) -> BoardResult:
        """Return the best action's result, moves being tried before a sense if asked for."""
        if place.phase == REPLY:
            return self.action(place, belief, _TURN, depth, alpha, beta)
        if place.phase == SENSE and self._blind_first and len(belief) > 1:
            return self._blind(place, belief, depth, alpha, beta)
        best = super().search_actions(place, belief, depth, alpha, beta, suspects)
        if best.value >= beta or not self.bounds.explains:
            return best
        if depth == 1 and place.phase == MOVE and not self._forgiven:
            alone = self._last.refuting_known(place.layer, belief, best.value)
            if alone is not None:
                return alone._replace(line=best.line)
        return best

    def _blind(
        self, place: Place, belief: Numbers, depth: int, low: float, high: float
    ) -> BoardResult:
        """Return the value of a belief before a sense, trying the moves without it first."""
        layer = place.layer
        blind = self.value(layer.places[MOVE], belief, depth, low, high)
        line: Line = ((layer.senses()[0], None), *blind.line)
        if blind.value >= high:
            return blind._replace(line=line)
        suspects, alpha = blind.core, max(low, blind.value)
        few = suspects is not None and len(suspects) <= _MOST_SUSPECTS
        if suspects is not None and few and depth == 1 and not self._forgiven:
            refuted = self._last.refuting(layer, suspects, alpha)
            if refuted is not None:
                return refuted._replace(line=line)
        sensed = super().search_actions(place, belief, depth, alpha, high, suspects)
        if low < blind.value >= sensed.value:  # no sense improves on the moves
            return NodeResult(blind.value, sensed.core, line=line)
        return sensed

    # -- actions ------------------------------------------------------------------------------

    def actions(self, place: Place, belief: Numbers) -> Sequence[int]:
        """Return the candidate senses or moves; one sense where a single board is left."""
        if place.phase == MOVE:
            return place.layer.requests()
        senses = place.layer.senses()
        return senses[:1] if len(belief) == 1 else senses

    def played(self, place: Place, action: int, observation: Hashable) -> Line:
        """Return a sense with its label, or a move; nothing for the opponent's turn."""
        if place.phase == REPLY:
            return ()
        if place.phase == MOVE:
            return ((action_of(action), None),)
        return ((action, observation),)

    def branches(
        self,
        place: Place,
        belief: Numbers,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        suspects: Numbers | None,
        refutations: Sequence[Refutation[Place, Numbers]],
    ) -> Branches[Place, Numbers] | BoardResult:
        """Return where an action leads; the result where it is the last move or ends the game."""
        layer, phase, _ = place
        if phase == SENSE:
            parts = layer.parts(belief, action)
            if suspects is not None:  # boards that refuted the last sense may refute this one
                reply = set(layer.labels_of(suspects, action).tolist())
                parts.sort(key=lambda part: part[0] not in reply)
            after = layer.places[MOVE]
            return Branches(math.inf, None, depth, [(label, after, part) for label, part in parts])
        if phase == MOVE and depth == 1:
            return self._last.value(layer, belief, action, alpha, beta)
        step = _step(place, action)
        ends = step.ends[belief]
        at = int(np.argmin(ends))
        worst, culprit = min(float(ends[at]), float(WIN)), belief[at : at + 1]
        if worst <= alpha:
            return NodeResult(worst, culprit, line=self.played(place, action, None))
        following, remaining = (REPLY, depth - 1) if phase == MOVE else (SENSE, depth)
        return Branches(
            worst,
            culprit,
            remaining,
            [
                (number, step.layers[number].places[following], part)
                for number, part in step.parts(belief)
            ],
        )

    def sources(
        self,
        place: Place,
        belief: Numbers,
        action: int,
        observation: Hashable,
        targets: Numbers | None,
        suspects: Numbers | None,
    ) -> Numbers | None:
        """Return boards of a belief that lead to all targets, suspects first; None for all."""
        assert isinstance(observation, int)
        if place.phase == SENSE:
            if targets is None:
                return place.layer.showing(action, observation, belief)
            return targets
        if targets is None:
            return None
        likely = np.isin(belief, _NOBODY if suspects is None else suspects, assume_unique=True)
        order = np.concatenate([belief[likely], belief[~likely]])
        return _step(place, action).sources(order, observation, targets)

    def closure(
        self,
        place: Place,
        belief: Numbers,
        action: int,
        solved: Mapping[Hashable, Numbers],
        beta: float,
    ) -> Numbers | None:
        """Return all boards of the layer from which an action leads to solved ones only."""
        closures = cast("Mapping[int, Numbers]", solved)
        if place.phase == SENSE:
            showing = place.layer.showing
            parts = [showing(action, label, boards) for label, boards in closures.items()]
            return np.sort(np.concatenate(parts))
        return _step(place, action).solved(closures, beta)


def _step(place: Place, action: int) -> LayerStep:
    return place.layer.move(action) if place.phase == MOVE else place.layer.replies()
