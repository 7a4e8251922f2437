"""Making many problems: draws on any number of workers, what they find taken in order.

For each number of empty points there is a stream of draws, which the seed and the number of a draw
decide alone. A stream is drawn until its share of the problems is found, so that the result does
not depend on the number of workers, nor on how often the run was stopped.

No two problems are the same under translation, the symmetries and the exchange of colours, and at
most `MOST_OF_A_SHAPE` have the same outline: so diverse they are at least.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from itertools import count
from multiprocessing import get_context
from typing import Final

from miai.plugins.parameters import StrictModel, parameter
from miai_go.tsumego.data.jobs import follow_parent
from miai_go.tsumego.errors import ProblemError
from miai_go.tsumego.generating.journal import Journal
from miai_go.tsumego.generating.walled import (
    DEFAULT_NODES,
    FEWEST_EMPTY,
    MOST_EMPTY,
    Found,
    find_walled,
)
from miai_go.tsumego.problems import Problem
from miai_go.tsumego.prover import load_prover

MOST_OF_A_SHAPE: Final = 3

_CHUNK: Final = 40
_AHEAD: Final = 3
"""Chunks for each worker that are begun before their results are wanted."""
_BARREN_DRAWS: Final = 40_000
"""So many draws without a new problem end a run."""
_EASY: Final = 9
_HALVING: Final = 1.5

Progress = Callable[[int, int, int], None]
"""Told the empty points, and how many of how many problems are found."""


class WalledPlan(StrictModel):
    """What decides which problems are made."""

    count: int = parameter(100, ge=0, le=100_000, unit="problems", help="How many")
    seed: int = parameter(0, ge=0, help="Of all draws")
    least_empty: int = parameter(
        6, ge=FEWEST_EMPTY, le=MOST_EMPTY, unit="points", help="Empty points of the smallest zones"
    )
    most_empty: int = parameter(
        12, ge=FEWEST_EMPTY, le=MOST_EMPTY, unit="points", help="Empty points of the largest zones"
    )
    nodes: int = parameter(
        DEFAULT_NODES, ge=100, unit="positions", help="Made for one proof at most"
    )


def shares(plan: WalledPlan) -> dict[int, int]:
    """Return how many problems are made of each number of empty points.

    The same of each up to 9; from there on fewer, half as many with every one and a half points,
    since they take longer.

    Raises:
      ProblemError: the least number is larger than the greatest.
    """
    numbers = range(plan.least_empty, plan.most_empty + 1)
    if not numbers:
        raise ProblemError(
            f"no zone has {plan.least_empty} to {plan.most_empty} empty points: least_empty is the "
            "smaller number"
        )
    weights = {empty: 2.0 ** (-max(empty - _EASY, 0) / _HALVING) for empty in numbers}
    whole = sum(weights.values())
    out, before, given = {}, 0.0, 0
    for empty, weight in weights.items():
        before += weight
        upto = round(plan.count * before / whole)
        out[empty], given = upto - given, upto
    return out


def draws_of(plan: WalledPlan) -> dict[str, int]:
    """Return what decides the draws of a plan, for its journal: not how many are wanted."""
    return {"seed": plan.seed, "nodes": plan.nodes}


def make_walled(
    plan: WalledPlan,
    journal: Journal,
    *,
    workers: int = 1,
    known: frozenset[bytes] = frozenset(),
    progress: Progress = lambda *_: None,
) -> list[Problem]:
    """Return the problems of a plan, by empty points.

    Args:
      journal: of the plan's draws.
      known: keys of problems that are not wanted again.

    Raises:
      ProblemError: too many draws found nothing new, or a worker died.
    """
    out: list[Problem] = []
    with closing(_Drawing(plan, journal, workers)) as drawing:
        for empty, wanted in shares(plan).items():
            out += _stream(drawing, empty, wanted, known, progress)
    return out


def _stream(
    drawing: _Drawing, empty: int, wanted: int, known: frozenset[bytes], progress: Progress
) -> list[Problem]:
    taken: list[Problem] = []
    keys, shapes = set(known), Counter[bytes]()
    barren = 0
    if not wanted:
        return taken
    with closing(drawing.chunks(empty)) as chunks:
        for found in chunks:
            before = len(taken)
            for each in found:
                if each.key not in keys and shapes[each.shape] < MOST_OF_A_SHAPE:
                    keys.add(each.key)
                    shapes[each.shape] += 1
                    taken.append(each.problem)
            progress(empty, min(len(taken), wanted), wanted)
            if len(taken) >= wanted:
                return taken[:wanted]
            barren = 0 if len(taken) > before else barren + _CHUNK
            if barren >= _BARREN_DRAWS:
                break
    raise ProblemError(
        f"{barren} draws found no new problem of {empty} empty points, with {len(taken)} of "
        f"{wanted} found: ask for fewer, or give more --nodes"
    )


class _Drawing:
    """Draws chunks, here or by workers, unless the journal has them."""

    def __init__(self, plan: WalledPlan, journal: Journal, workers: int) -> None:
        self._plan = plan
        self._journal = journal
        self._ahead = workers * _AHEAD
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            self._pool = ProcessPoolExecutor(
                workers, mp_context=get_context("spawn"), initializer=_begin_worker
            )

    def close(self) -> None:
        """End the workers, as soon as they have done what they are at."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def chunks(self, empty: int) -> Generator[list[Found], None, None]:
        """Yield what each chunk of a stream gives, in order, without an end."""
        waiting: deque[Future[list[Found]]] = deque()
        begun = 0
        try:
            for chunk in count():
                if (empty, chunk) in self._journal.chunks:
                    yield self._journal.chunks[empty, chunk]
                    begun = chunk + 1
                    continue
                if self._pool is None:
                    found = draw_chunk(self._plan, empty, chunk)
                else:
                    while begun < chunk + self._ahead:
                        waiting.append(self._pool.submit(draw_chunk, self._plan, empty, begun))
                        begun += 1
                    found = waiting.popleft().result()
                self._journal.add(empty, chunk, found)
                yield found
        except BrokenProcessPool as error:
            raise ProblemError(
                f"{self._journal.path}: a worker died; the same command goes on"
            ) from error
        finally:
            for future in waiting:
                future.cancel()


def draw_chunk(plan: WalledPlan, empty: int, chunk: int) -> list[Found]:
    """Return what the draws of a chunk find, in order."""
    load_prover()
    numbers = range(chunk * _CHUNK, (chunk + 1) * _CHUNK)
    drawn = (find_walled(plan.seed, empty, number, nodes=plan.nodes) for number in numbers)
    return [found for found in drawn if found is not None]


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that writes ends the run
    follow_parent()
