"""Alpha-beta over beliefs of boards, with bounds on beliefs that were never searched.

It is the search of `miai.belief_search.search` over arrays in place of masks. One own move before
the end a request is valued board by board, and a belief is worth its best request's worst board;
boards are then tried alone first, all at once, where the bounds ask for it.
"""

from __future__ import annotations

import math

import numpy as np

from miai.belief_search.bounds.plain import NoBounds
from miai.belief_search.bounds.protocol import Bounds
from miai.belief_search.search import Line
from miai.belief_search.sets import HashedSet
from miai_rbc.actions import action_of
from miai_rbc.belief_minimax.found import Found, Meter
from miai_rbc.belief_minimax.kernels.subsets import Numbers
from miai_rbc.belief_minimax.last_move import LastMove
from miai_rbc.belief_minimax.layers import MOVE, REPLY, SENSE, Layer, Step
from miai_rbc.engines.protocol import WIN


class Recursion:
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
    ) -> Found:
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
                return Found(known.lower, core, closure)
            if known.upper <= alpha:
                return Found(known.upper, self._of(layer, known.core))
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
    ) -> Found:
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
    ) -> Found:
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
    ) -> Found:
        if phase == SENSE and self._blind_first and len(chosen) > 1:
            return self._blind(layer, chosen, depth, low, high)
        return self._best(layer, phase, chosen, depth, low, high, _NOBODY)

    def _blind(self, layer: Layer, chosen: Numbers, depth: int, low: float, high: float) -> Found:
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
            return Found(blind.value, core=found.core, line=line)
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
    ) -> Found:
        if phase == REPLY:
            return self._through(layer.replies(), SENSE, chosen, depth, low, high, _NOBODY)
        actions = layer.senses() if phase == SENSE else layer.requests()
        if phase == SENSE and len(chosen) == 1:
            actions = actions[:1]  # there is nothing to find out
        best, alpha = Found(-math.inf), low
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
    ) -> Found:
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
            return Found(worst, core=refuting, line=line)
        closed = np.sort(np.concatenate(solved)) if solved else None
        return Found(worst, closure=closed, line=line)

    def _through(
        self,
        step: Step,
        phase: int,
        chosen: Numbers,
        depth: int,
        alpha: float,
        beta: float,
        core: Numbers,
    ) -> Found:
        """Return the worst of all that a step leads to: the ends of the game, and what is told."""
        ends = step.ends[chosen]
        at = int(np.argmin(ends))
        worst = min(float(ends[at]), float(WIN))
        if worst <= alpha:
            return Found(worst, core=chosen[at : at + 1])
        solved, culprit = {}, Found(worst)
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
            return Found(worst, core=sources, line=culprit.line)
        closure = step.solved(solved, beta) if self.bounds.explains else None
        return Found(worst, closure=closure, line=culprit.line)

    def _sources(
        self, step: Step, chosen: Numbers, number: int, found: Found, core: Numbers
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
        found: Found,
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
