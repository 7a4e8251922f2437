"""Generating many walled problems on any number of workers, with a journal to resume from.

For each number of empty points there is a stream of draws, each determined by the seed and its
number. A stream is drawn in order until its share of the problems is found, so that the result
depends neither on the number of workers nor on interruptions.

No two problems are the same under translation, symmetry and exchange of colours, and at most
`MAX_PER_SHAPE` have the same outline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import field_validator

from miai.errors import WorkerError
from miai.files import Journal, writing
from miai.parameters import StrictModel, parameter
from miai.process.workers import Job, WorkerPool, to_stderr
from miai_go.errors import ProblemError
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.walled import DEFAULT_NODES, MAX_EMPTY, MIN_EMPTY, find_walled
from miai_go.tsumego.solver.prover import load_prover
from miai_go.tsumego.zones import find_zone

_PART: Final = ".part"
_VERSION: Final = 3


class GeneratingJournal:
    """A file beside the result: one entry for the settings, and one per chunk of draws.

    Attributes:
      chunks: the problems, by empty points and the number of the chunk.

    Args:
      out: path of the result.
      settings: settings of the run, plain data.

    Raises:
      ProblemError: the file has other settings, or cannot be read or written.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.path = out.with_name(f"{out.name}{_PART}")
        self.chunks: dict[tuple[int, int], list[Problem]] = {}
        self._journal = Journal(self.path)
        head = {"version": _VERSION, "settings": dict(settings)}
        with writing(self.path, ProblemError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            entries = self._journal.read()
        if not entries:
            self._append(head)
        elif entries[0] != head:
            raise ProblemError(
                f"{self.path}: belongs to a run with other settings; repeat them, change "
                "--out, or remove the file"
            )
        for number, entry in enumerate(entries[1:], 2):
            self._restore(entry, number)

    def add(self, empty: int, chunk: int, problems: list[Problem]) -> None:
        """Record the problems of a chunk. Raises `ProblemError` if they cannot be written."""
        self.chunks[empty, chunk] = problems
        self._append([empty, chunk, [_to_row(problem) for problem in problems]])

    def remove(self) -> None:
        """Remove the file, after the result is written."""
        self.path.unlink(missing_ok=True)

    def _restore(self, entry: Any, number: int) -> None:
        try:
            empty, chunk, rows = entry
            self.chunks[int(empty), int(chunk)] = [_from_row(row) for row in rows]
        except (ValueError, TypeError, KeyError) as error:
            raise ProblemError(
                f"{self.path}: line {number} is damaged: {error}; remove the file to start again"
            ) from error

    def _append(self, entry: Any) -> None:
        with writing(self.path, ProblemError):
            self._journal.append([entry])


def _to_row(problem: Problem) -> dict[str, Any]:
    return {**asdict(problem), "stones": "".join(map(str, problem.stones.tolist()))}


def _from_row(row: Mapping[str, Any]) -> Problem:
    stones = np.array([int(mark) for mark in row["stones"]], np.int8)
    return Problem(**{**row, "stones": stones, "solutions": tuple(row["solutions"])})


MAX_PER_SHAPE: Final = 3

_CHUNK: Final = 40
_AHEAD: Final = 3
"""Chunks per worker that start before their results are needed."""
_BARREN_DRAWS: Final = 40_000
"""Draws without a new problem after which a run fails."""
_EASY: Final = 9
_HALVING: Final = 1.5

ProgressHook = Callable[[int, int, int], None]
"""Called with the number of empty points, the number of problems and their goal."""


class WalledPlan(StrictModel):
    """Parameters that determine the generated problems."""

    count: int = parameter(100, ge=0, le=100_000, unit="problems", help="Number of problems")
    seed: int = parameter(0, ge=0, help="Seed of the random draws")
    empty: str = parameter(
        "6-12", help=f"Range of empty points in a zone, from {MIN_EMPTY} to {MAX_EMPTY}"
    )
    nodes: int = parameter(
        DEFAULT_NODES,
        ge=100,
        unit="positions",
        help="Maximum positions per proof; large zones need more",
    )

    @field_validator("empty")
    @classmethod
    def _check_range(cls, text: str) -> str:
        match = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", text)
        if not match:
            raise ValueError(f"{text}: write a range of empty points, such as 6-12")
        low, high = int(match[1]), int(match[2] or match[1])
        if not MIN_EMPTY <= low <= high <= MAX_EMPTY:
            raise ValueError(
                f"no zone has {low} to {high} empty points; write a range within {MIN_EMPTY}-"
                f"{MAX_EMPTY}"
            )
        return f"{low}-{high}"


def shares(plan: WalledPlan) -> dict[int, int]:
    """Return the number of problems for each number of empty points.

    It is constant up to 9 empty points; above, where problems take longer, it halves with every
    one and a half points.
    """
    low, _, high = plan.empty.partition("-")
    numbers = range(int(low), int(high) + 1)
    weights = {empty: 2.0 ** (-max(empty - _EASY, 0) / _HALVING) for empty in numbers}
    whole = sum(weights.values())
    out, weight_so_far, count_so_far = {}, 0.0, 0
    for empty, weight in weights.items():
        weight_so_far += weight
        total = round(plan.count * weight_so_far / whole)
        out[empty], count_so_far = total - count_so_far, total
    return out


def draws_of(plan: WalledPlan) -> dict[str, int]:
    """Return the settings that determine the draws, for the journal; `count` does not."""
    return {"seed": plan.seed, "nodes": plan.nodes}


def make_walled(
    plan: WalledPlan,
    journal: GeneratingJournal,
    *,
    workers: int = 1,
    excluded: frozenset[int] = frozenset(),
    progress: ProgressHook = lambda *_: None,
) -> list[Problem]:
    """Return the problems of a plan, by empty points.

    Args:
      journal: the journal of the plan's draws.
      excluded: keys of problems to leave out.

    Raises:
      ProblemError: too many draws gave nothing new, or workers died.
    """
    out: list[Problem] = []
    with ExitStack() as stack:
        pool = None
        if workers > 1:
            pool = WorkerPool(
                "miai_go.tsumego.problems.generating:serve_chunks",
                plan.model_dump(mode="json"),
                workers=workers,
                on_output=to_stderr,
            )
            stack.enter_context(pool)
        for empty, wanted in shares(plan).items():
            if wanted:
                with closing(_chunks(plan, journal, empty, pool, workers * _AHEAD)) as chunks:
                    out += _stream(chunks, empty, wanted, excluded, progress)
    return out


def _stream(
    chunks: Iterator[list[Problem]],
    empty: int,
    wanted: int,
    excluded: frozenset[int],
    progress: ProgressHook,
) -> list[Problem]:
    """Return the problems that a stream adds.

    Raises:
      ProblemError: too many draws gave nothing new.
    """
    taken: list[Problem] = []
    keys, shapes = set(excluded), Counter[int]()
    barren = 0
    for problems in chunks:
        before = len(taken)
        for problem in problems:
            form = CanonicalForm(find_zone(problem.stones, problem.target))
            if form.key not in keys and shapes[form.shape] < MAX_PER_SHAPE:
                keys.add(form.key)
                shapes[form.shape] += 1
                taken.append(problem)
        progress(empty, min(len(taken), wanted), wanted)
        if len(taken) >= wanted:
            return taken[:wanted]
        # Small zones run out of different problems; without this a large count would never end.
        barren = 0 if len(taken) > before else barren + _CHUNK
        if barren >= _BARREN_DRAWS:
            break
    raise ProblemError(
        f"{barren} draws gave no new problem with {empty} empty points after {len(taken)} of "
        f"{wanted}; lower --count, or raise --nodes"
    )


def _chunks(
    plan: WalledPlan, journal: GeneratingJournal, empty: int, pool: WorkerPool | None, ahead: int
) -> Generator[list[Problem], None, None]:
    """Yield the problems of each chunk of a stream, in order and without end.

    Chunks that the journal lacks are drawn in this process or by a pool.
    """
    first = next(chunk for chunk in count() if (empty, chunk) not in journal.chunks)
    yield from [journal.chunks[empty, chunk] for chunk in range(first)]
    try:
        for chunk, problems in enumerate(_draw(plan, empty, first, pool, ahead), first):
            journal.add(empty, chunk, problems)
            yield problems
    except WorkerError as error:
        raise ProblemError(f"{journal.path}: {error}; repeat the command to resume") from error


def _draw(
    plan: WalledPlan, empty: int, first: int, pool: WorkerPool | None, ahead: int
) -> Iterator[list[Problem]]:
    if pool is None:
        return (draw_chunk(plan, empty, chunk) for chunk in count(first))
    jobs = (Job(f"{empty} empty points, chunk {chunk}", [empty, chunk]) for chunk in count(first))
    results = pool.in_order(jobs, ahead=ahead)
    return ([_from_row(row) for row in rows] for rows in results)


def draw_chunk(plan: WalledPlan, empty: int, chunk: int) -> list[Problem]:
    """Return the problems from the draws of a chunk, in order."""
    load_prover()
    numbers = range(chunk * _CHUNK, (chunk + 1) * _CHUNK)
    drawn = (find_walled(plan.seed, empty, number, nodes=plan.nodes) for number in numbers)
    return [problem for problem in drawn if problem is not None]


@contextmanager
def serve_chunks(setup: Mapping[str, Any]) -> Iterator[Callable[[Sequence[int]], Any]]:
    """Give the function with which a worker draws a chunk, given as empty points and number."""
    plan = WalledPlan.model_validate(setup)
    yield lambda job: [_to_row(walled) for walled in draw_chunk(plan, *job)]
