"""Alpha-beta over beliefs of boards, with bounds on beliefs that were never searched.

It is the search of `miai.beliefs.search` over arrays in place of masks. One own move before
the end a request is valued board by board, and a belief is worth its best request's worst board;
boards are then tried alone first, all at once, where the bounds ask for it.

The last move: requests valued board by board, nothing following them, and boards alone.

What a node returns, and what a search may spend.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from miai.beliefs.bounds import Bounds, NoBounds
from miai.beliefs.search import BudgetSpentError, Line
from miai.beliefs.sets import HashedSet
from miai_rbc.kernels.belief_leaves import Values
from miai_rbc.kernels.belief_subsets import Numbers, least
from miai_rbc.kernels.bits import WIN
from miai_rbc.rules.actions import action_of
from miai_rbc.search.layers import MOVE, REPLY, SENSE, Layer, LayerStep


class BoardNodeResult(NamedTuple):
    """What a node returned; as `miai.beliefs.search.NodeResult`, boards by their numbers.

    Attributes:
      value: exact within the window, else a bound.
      core: boards of the belief that are worth at most `value` by themselves, where that is below
        beta; None for all.
      closure: boards of the layer among which the same strategy gets at least beta; None for the
        belief.
      line: the actions expected.
    """

    value: float
    core: Numbers | None = None
    closure: Numbers | None = None
    line: Line = ()


@dataclass(slots=True)
class Meter:
    """What a search did, and how much it may do.

    Attributes:
      nodes: beliefs looked at with a depth and a window; boards tried alone are such, and a request
        that is valued at the end is one for all its boards, or for each one tried alone.
      leaves: boards looked at where the depth ended.
      singles: of the nodes, boards tried alone.
      max_nodes, deadline: where it stops; the latter on the monotonic clock.
    """

    nodes: int = 0
    leaves: int = 0
    singles: int = 0
    max_nodes: int | None = None
    deadline: float | None = None

    def begin(self, *, max_nodes: int | None = None, seconds: float | None = None) -> None:
        """Count anew."""
        self.nodes = self.leaves = self.singles = 0
        self.max_nodes = max_nodes
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def count(self, nodes: int) -> None:
        """Count nodes.

        Raises:
          BudgetSpentError: they are too many, or the time is up.
        """
        self.nodes += nodes
        if self.max_nodes is not None and self.nodes > self.max_nodes:
            raise BudgetSpentError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise BudgetSpentError


_FIRST_CHUNK, _LARGEST_CHUNK = 64, 4096
"""Boards valued between two looks at what they are worth."""


class LastMove:
    """Values beliefs one own move before the end.

    Args:
      meter: counts, and stops the search.
      forgiven: the worst boards at each leaf, which do not count.
      explains: whether closures are found.
    """

    def __init__(self, meter: Meter, *, forgiven: int, explains: bool) -> None:
        self.meter = meter
        self._forgiven, self._explains = forgiven, explains

    def value(
        self, layer: Layer, chosen: Numbers, request: int, alpha: float, beta: float
    ) -> BoardNodeResult:
        """Return the worst board after a request that nothing follows, the forgiven left out."""
        self.meter.count(1)
        line: Line = ((action_of(request), None),)
        column = layer.column(request)
        if self._forgiven:
            value, core = self._quantile(layer, request, column, chosen, alpha)
            return BoardNodeResult(value, core=core, line=line)
        missing = np.empty(len(chosen), np.int64)
        worst, which, lacking = least(column, chosen, missing)
        self.meter.leaves += len(chosen) - lacking
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
        return BoardNodeResult(worst, core=np.array([which]), closure=closure, line=line)

    def _quantile(
        self, layer: Layer, request: int, column: Values, chosen: Numbers, alpha: float
    ) -> tuple[float, Numbers | None]:
        """Return the least value but for the forgiven ones, and who has it or less."""
        k = self._forgiven
        if len(chosen) <= k:
            return float(WIN), None
        missing = chosen[np.isnan(column[chosen])]
        self.meter.leaves += len(chosen) - len(missing)
        for some in _chunks(missing):
            known = chosen[~np.isnan(column[chosen])]
            if len(known) > k and np.partition(column[known], k)[k] <= alpha:
                break
            self._fill(layer, request, some)
        known = chosen[~np.isnan(column[chosen])]
        lowest = known[np.argpartition(column[known], k)[: k + 1]]
        return float(column[lowest].max()), np.sort(lowest)

    def _fill(self, layer: Layer, request: int, some: Numbers) -> None:
        self.meter.count(0)
        self.meter.leaves += len(some)
        layer.fill(request, some)

    def refuting(self, layer: Layer, chosen: Numbers, alpha: float) -> BoardNodeResult | None:
        """Return the value of a board that alone is worth at most alpha; None without one."""
        for some in _chunks(chosen[layer.best[chosen] <= alpha]):
            left = some
            self.meter.singles += len(left)
            self.meter.count(len(left))
            for request in layer.requests():
                missing = left[np.isnan(layer.column(request)[left])]
                if len(missing):
                    self.meter.count(len(missing))
                    self._fill(layer, request, missing)
                left = left[layer.best[left] <= alpha]
                if len(left) == 0:
                    break
            if len(left):
                at = int(np.argmin(layer.best[left]))
                return BoardNodeResult(float(layer.best[left[at]]), core=left[at : at + 1])
        return None

    def refuting_known(self, layer: Layer, chosen: Numbers, alpha: float) -> BoardNodeResult | None:
        """As `refuting`, of what is known already: the smallest of cores."""
        columns = np.stack([layer.column(request)[chosen] for request in layer.requests()])
        values = columns.max(axis=0)  # not-a-number where one is
        at = int(np.argmin(np.where(values <= alpha, values, np.inf)))
        if not values[at] <= alpha:
            return None
        return BoardNodeResult(float(values[at]), core=chosen[at : at + 1])


def _chunks(some: Numbers) -> list[Numbers]:
    """Return boards in chunks that grow: the first few may settle it."""
    cuts, size = [0], _FIRST_CHUNK
    while cuts[-1] + size < len(some):
        cuts.append(cuts[-1] + size)
        size = min(2 * size, _LARGEST_CHUNK)
    ends = [*cuts[1:], len(some)]
    return [some[a:b] for a, b in zip(cuts, ends, strict=True) if a < b]


class BoardRecursion:
    """Values beliefs within a window.

    Args:
      forgiven: the worst boards at each leaf, which do not count.
      blind_first: whether the moves are tried before a sense, as if it told nothing: what they
        guarantee the sense guarantees too (B1).
      singles: whether boards are tried alone one move before the end; None: as the bounds ask.

    Attributes:
      bounds: what is known, and what is found is told to.
      meter: what was done, and where it stops with `BudgetSpentError`.
    """

    def __init__(
        self, bounds: Bounds, *, forgiven: int, blind_first: bool, singles: bool | None = None
    ) -> None:
        self.bounds = bounds
        self.meter = Meter()
        self._last = LastMove(self.meter, forgiven=forgiven, explains=bounds.explains)
        self._forgiven = forgiven
        self._remembers = not isinstance(bounds, NoBounds)
        alone = bounds.singles if singles is None else singles
        self._singles = alone and not forgiven  # a board alone is forgiven
        self._blind_first = blind_first

    def value(
        self, layer: Layer, phase: int, chosen: Numbers, depth: int, alpha: float, beta: float
    ) -> BoardNodeResult:
        """Return the value of a belief to the player who searches.

        Args:
          layer, chosen: the boards, and which of them in increasing order; at least one.
          phase: what comes next.
          depth: own moves left.
        """
        self.meter.count(1)
        low, high, belief = alpha, beta, None
        if self._remembers:
            belief = layer.belief(chosen)
            known = self.bounds.probe(layer.public(phase), depth, belief)
            if known.lower >= beta or known.lower >= known.upper:
                core, closure = self._of(layer, known.core), self._of(layer, known.closure)
                return BoardNodeResult(known.lower, core, closure)
            if known.upper <= alpha:
                return BoardNodeResult(known.upper, self._of(layer, known.core))
            low, high = max(alpha, known.lower), min(beta, known.upper)
        if self._singles and depth == 1 and phase != REPLY:
            refuted = self._last.refuting(layer, chosen, low)
            if refuted is not None:
                return refuted
        found = self._searched(layer, phase, chosen, depth, low, high)
        if belief is not None:
            self._record(layer, phase, depth, belief, found, low, high)
        return found

    def root(
        self, layer: Layer, phase: int, chosen: Numbers, depth: int, alpha: float, beta: float
    ) -> BoardNodeResult:
        """As `value`, and always with an action."""
        self.meter.count(1)
        found = self._searched(layer, phase, chosen, depth, alpha, beta)
        if self._remembers:
            belief = layer.belief(chosen)
            self._record(layer, phase, depth, belief, found, alpha, beta)
        return found

    def action(
        self,
        layer: Layer,
        phase: int,
        chosen: Numbers,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        core: Numbers,
    ) -> BoardNodeResult:
        """Return the worst that a sense or a request can lead to.

        Args:
          action: the centre of a window, or a move.
          core: boards likely to refute it, to be preferred in its core.
        """
        if phase == SENSE:
            return self._sense(layer, chosen, action, depth, alpha, beta, core)
        if depth == 1:
            return self._last.value(layer, chosen, action, alpha, beta)
        step = layer.move(action)
        found = self._through(step, REPLY, chosen, depth - 1, alpha, beta, core)
        return found._replace(line=((action_of(action), None), *found.line))

    # -- a node ---------------------------------------------------------------------------------

    def _searched(
        self, layer: Layer, phase: int, chosen: Numbers, depth: int, low: float, high: float
    ) -> BoardNodeResult:
        if phase == SENSE and self._blind_first and len(chosen) > 1:
            return self._blind(layer, chosen, depth, low, high)
        return self._best(layer, phase, chosen, depth, low, high, _NOBODY)

    def _blind(
        self, layer: Layer, chosen: Numbers, depth: int, low: float, high: float
    ) -> BoardNodeResult:
        """Return the value of a belief before a sense, the moves being tried without it first."""
        blind = self.value(layer, MOVE, chosen, depth, low, high)
        line: Line = ((layer.senses()[0], None), *blind.line)
        if blind.value >= high:
            return blind._replace(line=line)
        suspects = _NOBODY if blind.core is None else blind.core
        if depth == 1 and not self._forgiven and 0 < len(suspects) <= _MOST_SUSPECTS:
            refuted = self._last.refuting(layer, suspects, max(low, blind.value))
            if refuted is not None:
                return refuted._replace(line=line)
        found = self._best(layer, SENSE, chosen, depth, max(low, blind.value), high, suspects)
        if low < blind.value >= found.value:  # no sense tells what is worth more
            return BoardNodeResult(blind.value, core=found.core, line=line)
        return found

    def _best(
        self,
        layer: Layer,
        phase: int,
        chosen: Numbers,
        depth: int,
        low: float,
        high: float,
        suspects: Numbers,
    ) -> BoardNodeResult:
        if phase == REPLY:
            return self._through(layer.replies(), SENSE, chosen, depth, low, high, _NOBODY)
        actions = layer.senses() if phase == SENSE else layer.requests()
        if phase == SENSE and len(chosen) == 1:
            actions = actions[:1]  # there is nothing to find out
        best, alpha = BoardNodeResult(-math.inf), low
        core, whole = _NOBODY, False
        for action in actions:
            likely = core if len(core) else suspects
            found = self.action(layer, phase, chosen, action, depth, alpha, high, likely)
            if self.bounds.explains and not whole:
                whole = found.core is None
                core = _NOBODY if found.core is None else np.union1d(core, found.core)
            if found.value > best.value:
                best = found
            alpha = max(alpha, best.value)
            if best.value >= high:
                break
        if best.value >= high or not self.bounds.explains:
            return best._replace(core=None)
        if depth == 1 and phase == MOVE and not self._forgiven:
            alone = self._last.refuting_known(layer, chosen, best.value)
            if alone is not None:
                return alone._replace(line=best.line)
        return best._replace(core=core if len(core) and not whole else None)

    def _sense(
        self,
        layer: Layer,
        chosen: Numbers,
        centre: int,
        depth: int,
        alpha: float,
        beta: float,
        core: Numbers,
    ) -> BoardNodeResult:
        worst, line, refuting = math.inf, Line(), _NOBODY
        solved = []
        parts = layer.parts(chosen, centre)
        if len(core):  # what refuted the last sense may refute this one
            seen = set(layer.labels_of(core, centre).tolist())
            parts.sort(key=lambda part: part[0] not in seen)
        for label, part in parts:
            found = self.value(layer, MOVE, part, depth, alpha, min(beta, worst))
            if found.value < worst:
                worst, line = found.value, ((centre, label), *found.line)
                refuting = part if found.core is None else found.core
            if worst <= alpha:
                break
            if self.bounds.explains and worst >= beta:
                closure = part if found.closure is None else found.closure
                solved.append(layer.showing(centre, label, closure))
        if worst < beta:
            return BoardNodeResult(worst, core=refuting, line=line)
        closed = np.sort(np.concatenate(solved)) if solved else None
        return BoardNodeResult(worst, closure=closed, line=line)

    def _through(
        self,
        step: LayerStep,
        phase: int,
        chosen: Numbers,
        depth: int,
        alpha: float,
        beta: float,
        core: Numbers,
    ) -> BoardNodeResult:
        """Return the worst of all that a step leads to: the ends of the game, and what is told."""
        ends = step.ends[chosen]
        at = int(np.argmin(ends))
        worst = min(float(ends[at]), float(WIN))
        if worst <= alpha:
            return BoardNodeResult(worst, core=chosen[at : at + 1])
        solved, culprit = {}, BoardNodeResult(worst)
        which = -1
        for number, part in step.parts(chosen):
            layer = step.layers[number]
            found = self.value(layer, phase, part, depth, alpha, min(beta, worst))
            if found.value < worst:
                worst, culprit, which = found.value, found, number
            if worst <= alpha:
                break
            solved[number] = part if found.closure is None else found.closure
        if worst < beta:
            sources: Numbers | None = chosen[at : at + 1]
            if which >= 0:
                sources = self._sources(step, chosen, which, culprit, core)
            return BoardNodeResult(worst, core=sources, line=culprit.line)
        closure = step.solved(solved, beta) if self.bounds.explains else None
        return BoardNodeResult(worst, closure=closure, line=culprit.line)

    def _sources(
        self, step: LayerStep, chosen: Numbers, number: int, found: BoardNodeResult, core: Numbers
    ) -> Numbers | None:
        if not self.bounds.explains or found.core is None:
            return None
        preferred = np.isin(chosen, core, assume_unique=True)
        order = np.concatenate([chosen[preferred], chosen[~preferred]])
        return step.sources(order, number, found.core)

    # -- what is remembered ---------------------------------------------------------------------

    def _of(self, layer: Layer, belief: HashedSet | int) -> Numbers | None:
        if not self.bounds.explains or not isinstance(belief, HashedSet):
            return None
        return layer.find(belief)

    def _record(
        self,
        layer: Layer,
        phase: int,
        depth: int,
        belief: HashedSet,
        found: BoardNodeResult,
        alpha: float,
        beta: float,
    ) -> None:
        bounds, public = self.bounds, layer.public(phase)
        if found.value > alpha:
            bounds.record_lower(public, depth, belief, found.value)
        if bounds.explains and found.value >= beta and found.closure is not None:
            closure = layer.belief(found.closure)
            if len(closure) > len(belief):
                bounds.record_lower(public, depth, closure, beta)
        if found.value < beta:
            core = belief
            if bounds.explains and found.core is not None:
                core = layer.belief(found.core)
            bounds.record_upper(public, depth, core, found.value)


_NOBODY = np.empty(0, np.int64)
_MOST_SUSPECTS = 32
