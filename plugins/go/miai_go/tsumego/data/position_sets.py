"""Making a set of positions with proved answers, on any number of workers.

A job is a range of sources. Its positions depend on the settings and the numbers of the sources
alone, and the results of jobs are taken in order, so a set does not depend on the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import WorkerError
from miai.parameters import StrictModel, parameter
from miai.process.workers import Job, WorkerPool, to_stderr
from miai.seeds import derive_seed
from miai_go.errors import DataError, ProblemError
from miai_go.learning.data.shard_files import locked_set, numbered_folders
from miai_go.tsumego.data.growth import draw_fight_zone, draw_room_zone, grow
from miai_go.tsumego.data.labelled_positions import COLUMNS, LIFE_SHARDS, joined, rows_of
from miai_go.tsumego.networks.zone_planes import load_planes
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.prover import load_prover
from miai_go.tsumego.zones import Zone, find_zone

RANDOM = "random"


class MakingSettings(StrictModel):
    """Parameters that determine the positions of a set."""

    problems: str = parameter(RANDOM, help="Problems to start from: random, shipped, or SGF files")
    seed: int = parameter(0, ge=0, help="Seed of the problems and of the choice of boards")
    least_empty: int = parameter(
        6, ge=4, le=30, unit="points", help="Minimum empty points of a fight; a room has 4 or more"
    )
    most_empty: int = parameter(
        14, ge=4, le=30, unit="points", help="Maximum empty points of a zone"
    )
    boards: int = parameter(
        20, ge=1, le=10_000, unit="boards", help="Maximum number of boards of a problem"
    )
    nodes: int = parameter(
        60_000, ge=100, unit="positions", help="Maximum number of positions per proof"
    )


SOURCES_A_JOB: Final = 32
POSITIONS_A_SHARD: Final = 20_000
_AHEAD: Final = 4
"""Jobs per worker that start before their results are needed."""
_BARREN_JOBS: Final = 400
"""Jobs of random problems without a new position after which a run fails."""

PositionArrays = dict[str, NDArray[Any]]


# -- jobs ----------------------------------------------------------------------------------------


def label(
    settings: MakingSettings, first: int, end: int, problems: Sequence[tuple[Any, int]] = ()
) -> list[PositionArrays]:
    """Return the columns of each source from `first` to before `end` that gives positions.

    Args:
      problems: stones and target of each source, unless they are drawn.
    """
    load_prover()
    load_planes()
    out = []
    for source in range(first, end):
        rng = np.random.default_rng(derive_seed("tsumego-data", settings.seed, source))
        zone = _zone(settings, rng, source, problems[source - first] if problems else None)
        if zone is None:
            continue
        positions = grow(zone, rng, most_boards=settings.boards, nodes=settings.nodes)
        if positions:
            out.append(rows_of(zone, positions, source))
    return out


def _zone(
    settings: MakingSettings, rng: np.random.Generator, source: int, problem: tuple[Any, int] | None
) -> Zone | None:
    """Return the zone of a problem, or draw one: fights and rooms in turn."""
    if problem is not None:
        stones, target = problem
        try:
            return find_zone(np.asarray(stones, np.int8), target)
        except ProblemError:
            return None  # such as one with an open wall
    largest = max(settings.most_empty, settings.least_empty)
    empty = int(rng.integers(settings.least_empty, largest + 1))
    if source % 2:
        return draw_room_zone(rng, most_empty=empty)
    return draw_fight_zone(rng, empty=empty)


@contextmanager
def serve_labelling(setup: Mapping[str, Any]) -> Iterator[Callable[[Mapping[str, Any]], Any]]:
    """Give the function with which a worker performs a job; arrays travel as lists."""
    settings = MakingSettings.model_validate(setup)
    yield lambda job: [
        {name: values.tolist() for name, values in rows.items()} for rows in label(settings, **job)
    ]


def _arrays(columns: Mapping[str, list[Any]]) -> PositionArrays:
    return {name: np.array(values, COLUMNS[name].dtype) for name, values in columns.items()}


# -- sets ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetCounts:
    """The size of a set.

    Attributes:
      positions, problems: in the set.
      sources: problems that were examined.
      copies: positions of this run that were left out as duplicates.
    """

    positions: int
    problems: int
    sources: int
    copies: int


def make_set(
    folder: Path,
    *,
    settings: MakingSettings,
    positions: int,
    workers: int = 1,
    problems: tuple[Problem, ...] = (),
    progress: Callable[[SetCounts], None] | None = None,
) -> SetCounts:
    """Make a set of positions, or continue one.

    The shards do not depend on the number of workers, nor on interruptions.

    Args:
      positions: the run ends with the shard that reaches this number.
      problems: the sources; none to draw them.
      progress: called after every job.

    Raises:
      DataError: the folder has other settings, is damaged, or cannot be written; another process
        writes to it; or workers died.
    """
    with locked_set(folder):
        making = _Making(folder, settings, positions, problems, progress)
        with closing(making.results(workers)) as results:
            return making.run(results)


class _Making:
    def __init__(
        self,
        folder: Path,
        settings: MakingSettings,
        positions: int,
        problems: tuple[Problem, ...],
        progress: Callable[[SetCounts], None] | None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._wanted = positions
        self._sources = problems
        self._progress = progress
        self._owners: dict[int, int] = {}
        self._parts: list[PositionArrays] = []
        self._links: set[tuple[int, int]] = set()
        self._waiting = 0
        self._written = self._problems = self._next = self._shards = self._copies = 0
        self._resume()

    def run(self, results: Iterator[tuple[int, list[PositionArrays]]]) -> SetCounts:
        barren = 0
        while self._written < self._wanted:
            following = next(results, None)
            if following is None:
                self._flush()
                break
            end, parts = following
            before = len(self._owners)
            for part in parts:
                self._add(part)
            self._next = end
            if self._progress is not None:
                self._progress(self._counts())
            barren = 0 if len(self._owners) > before else barren + 1
            if barren >= _BARREN_JOBS:
                self._flush()
                raise DataError(
                    f"{self._folder}: {barren * SOURCES_A_JOB} random problems gave no new "
                    "position: raise --most-empty; what was found is kept"
                )
            if self._waiting >= min(POSITIONS_A_SHARD, self._wanted - self._written):
                self._flush()
        return self._counts()

    def results(self, workers: int) -> Generator[tuple[int, list[PositionArrays]], None, None]:
        """Yield for each job in order the number of the source after it, and its columns."""
        if workers == 1:
            for job in self._jobs():
                yield job["end"], label(self._settings, **job)
            return
        pool = WorkerPool(
            "miai_go.tsumego.data.position_sets:serve_labelling",
            self._settings.model_dump(mode="json"),
            workers=workers,
            on_output=to_stderr,
        )
        # The pool is ahead of the results that are taken.
        ours, theirs = tee(self._jobs())
        jobs = (Job(f"from source {job['first']}", job) for job in theirs)
        try:
            with pool:
                results = pool.in_order(jobs, ahead=workers * _AHEAD)
                for job, sources in zip(ours, results, strict=False):
                    yield job["end"], [_arrays(columns) for columns in sources]
        except WorkerError as error:
            raise DataError(
                f"{self._folder}: {error}; the same command goes on after the last whole shard"
            ) from error

    def _jobs(self) -> Iterator[dict[str, Any]]:
        """Yield the parameters of `label` for each job, as plain data."""
        first = self._next
        while not self._sources or first < len(self._sources):
            end = first + SOURCES_A_JOB
            if self._sources:
                end = min(end, len(self._sources))
            problems = [[p.stones.tolist(), p.target] for p in self._sources[first:end]]
            yield {"first": first, "end": end, "problems": problems}
            first = end

    def _add(self, part: PositionArrays) -> None:
        """Add the new positions of a problem; note which problems have the others."""
        number = self._problems
        new = []
        for i, key in enumerate(part["key"].tolist()):
            owner = self._owners.get(key)
            if owner is None:
                self._owners[key] = number
                new.append(i)
                continue
            self._copies += 1
            # The folds keep linked problems together.
            if owner != number:
                self._links.add((owner, number))
        if not new:  # the problem gets no number, so nothing can be linked to it
            self._links = {link for link in self._links if link[1] != number}
            return
        rows = {
            name: values[new] if COLUMNS[name].per == "position" else values
            for name, values in part.items()
        }
        rows["problem"] = np.full(len(new), number, np.int32)
        self._parts.append(rows)
        self._problems += 1
        self._waiting += len(new)

    def _flush(self) -> None:
        if not self._parts:
            return
        columns = joined(self._parts)
        columns["links"] = np.array(sorted(self._links), np.int32).reshape(-1, 2)
        fields = {"settings": self._settings.model_dump(mode="json"), "next_source": self._next}
        LIFE_SHARDS.write(self._folder, self._shards, columns, fields)
        self._written += self._waiting
        self._shards += 1
        self._parts, self._links, self._waiting = [], set(), 0

    def _counts(self) -> SetCounts:
        return SetCounts(self._written + self._waiting, self._problems, self._next, self._copies)

    def _resume(self) -> None:
        """Continue after the last shard."""
        # Shards are all that is left of an earlier run: sources after the last one are drawn again,
        # with the same results.
        for folder in numbered_folders(self._folder):
            settings = LIFE_SHARDS.read_manifest(folder).settings
            if settings != self._settings.model_dump(mode="json"):
                raise DataError(
                    f"{self._folder}: holds a set with other settings; give another folder with "
                    "--out, or repeat its settings"
                )
            manifest, columns = LIFE_SHARDS.open(folder)
            keys = columns["key"].tolist()
            self._owners.update(zip(keys, columns["problem"].tolist(), strict=True))
            self._written += len(keys)
            self._problems += len(columns["size"])
            self._next = manifest.next_source
            self._shards += 1
