"""`rbc-minimax`, the agent: plays what `RbcMinimaxSearch` or `RbcCompiledSearch` finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np

from miai import ClockReading, Decision, Json
from miai.beliefs.bounds import named_bounds
from miai.beliefs.protocol import BeliefResult
from miai.values import Evaluation
from miai_rbc.agents.belief_agents import BeliefAgent
from miai_rbc.agents.choice import Choice, outcomes
from miai_rbc.kernels.board import NOTHING, PAWNS
from miai_rbc.rbc_parameters import MinimaxAgentParameters, MinimaxProblemParameters, MinimaxRules
from miai_rbc.rules.actions import PASS, move_of
from miai_rbc.rules.game import RbcGame
from miai_rbc.search.compiled import RbcCompiledSearch, load_compiled
from miai_rbc.search.minimax import RbcMinimaxSearch, load_minimax
from miai_rbc.search.problem import RbcProblem, RbcRoot

_ADJUSTED = 1000  # boards on which the guarantee of a move is adjusted
_SPARE = 0.2  # share of the time kept for what a search does between two looks at the clock
_COUNTS = ("nodes", "leaves", "valued", "bounds_hits")


class RbcMinimax(BeliefAgent):
    """Plays the action with the best guarantee over the boards of its belief, or a sample.

    It searches before the sense and again before the move, one move deep and then two if time
    allows. Each search begins with empty bounds, as other boards give other candidates; the
    compiled search keeps values of boards for the game.
    """

    parameters: MinimaxAgentParameters

    def __init__(self, game: RbcGame, parameters: MinimaxAgentParameters | None = None) -> None:
        parameters = parameters or MinimaxAgentParameters()
        super().__init__(game, parameters)
        named_bounds(parameters.bounds, **parameters.bounds_parameters)  # raises now, not in a game
        self._searches = self._new_search(0)
        self._counts: dict[str, Json] = {}

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game; its seed decides which boards are drawn at roots."""
        super().new_game(seed, player=player, log=log)
        self._searches = self._new_search(seed)

    def act(self, clock: ClockReading) -> Decision:
        """Return a sense or a move, with the search's statistics."""
        self._counts = {}
        decision = super().act(clock)
        return Decision(decision.action, statistics={**self._counts, **decision.statistics})

    def sense(self, deadline: float | None, statistics: dict[str, Json]) -> int:
        """Return the centre of the window with the best guarantee."""
        return self._search(deadline, senses=True, barred=self.progress.failed)[0]

    def move(self, requests: list[int], deadline: float | None) -> Choice:
        """Return the move with the best guarantee, of which `Progress` takes off."""
        if not requests:
            return Choice(NOTHING, None, 0, 0, "only")
        rows, barred = self.belief.boards.rows[:_ADJUSTED], self.progress.failed
        best, guarantee = None, -np.inf
        while True:
            action, result, candidates = self._search(deadline, senses=False, barred=barred)
            start = (action - PASS - 1) >> 6
            pawn = action > PASS and bool(int(rows[0, PAWNS]) >> (start & 63) & 1)
            request, boards = move_of(action, pawn=pawn), result.statistics["boards"]
            if not result.depth:
                return best or Choice(request, None, boards, candidates, "minimax")
            scores, after = np.full((len(rows), 1), result.value), outcomes(rows, [request])
            value = min(result.value, float(self.progress.adjusted(scores, rows, after).min()))
            if best is None or value > guarantee:
                best, guarantee = Choice(request, value, boards, candidates, "minimax"), value
            # The other requests guarantee no more than this one did before it was adjusted, and a
            # tenth is not worth another search.
            if request == NOTHING or guarantee >= result.value - 0.1 * abs(result.value):
                return best
            barred = barred | {request}

    def _new_search(self, seed: int) -> Callable[[], RbcMinimaxSearch | RbcCompiledSearch]:
        """Return what gives the search of each turn: for the compiled one, always the same."""
        parameters = self.parameters
        rules = parameters.model_dump(include=set(MinimaxRules.model_fields))
        problem = RbcProblem(MinimaxProblemParameters(**rules), seed=seed)
        if parameters.compiled is None:
            load_minimax(parameters.bounds)
            make_bounds = named_bounds(parameters.bounds, **parameters.bounds_parameters)
            return lambda: RbcMinimaxSearch(problem, make_bounds)
        load_compiled()
        compiled = RbcCompiledSearch(problem, parameters.compiled)
        return lambda: compiled

    def _search(
        self, deadline: float | None, *, senses: bool, barred: AbstractSet[int] = frozenset()
    ) -> tuple[int, BeliefResult, int]:
        """Return the best action, the search result and the number of candidates."""
        search = self._searches()
        root = RbcRoot(self.belief.boards, senses=senses, barred=barred)
        seconds = None
        if deadline is not None:
            seconds = max(0.0, (1 - _SPARE) * (deadline - time.monotonic()))
        result = search.search(root, self.parameters.depth, deepening=True, seconds=seconds)
        candidates = search.candidates(root)
        self._counts |= {"depth": result.depth, "searched": result.statistics["boards"]}
        self._counts |= {key: result.statistics.get(key, 0) for key in _COUNTS}
        if result.depth:
            self._counts |= Evaluation(result.value, RbcProblem.value_unit).statistics()
        return (result.action if result.depth else candidates[0]), result, len(candidates)
