"""Making a set: jobs on any number of workers, their results in order, shard after shard.

Jobs of the data set maker: a few sources each, the same wherever they are done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai.parameters import StrictModel, parameter
from miai.seeds import derive_seed
from miai_go.errors import DataError, ProblemError
from miai_go.learning.life_dataset import COLUMNS, LIFE_SHARDS, joined, rows_of
from miai_go.learning.life_sources import draw_fight_zone, draw_room_zone, grow
from miai_go.learning.shard_files import numbered_folders, prepare_folder
from miai_go.life.generating import follow_parent
from miai_go.life.problems import Problem
from miai_go.life.prover import load_prover
from miai_go.life.zones import Zone, find_zone
from miai_go.nets.life_planes import load_planes

RANDOM = "random"


class MakingSettings(StrictModel):
    """What decides which positions a set has."""

    problems: str = parameter(RANDOM, help="What it begins with: random, shipped, or a folder")
    seed: int = parameter(0, ge=0, help="Of the problems and of the boards that are kept")
    least_empty: int = parameter(
        6, ge=4, le=30, unit="points", help="Empty points of a fight, from; a room has 4 or more"
    )
    most_empty: int = parameter(14, ge=4, le=30, unit="points", help="Empty points of a zone, to")
    boards: int = parameter(20, ge=1, le=10_000, unit="boards", help="Boards of a problem at most")
    nodes: int = parameter(
        60_000, ge=100, unit="positions", help="Made by the prover at most for one answer"
    )


@dataclass(frozen=True, slots=True)
class LabellingJob:
    """Some sources in a row.

    Attributes:
      first, end: numbers of the first source and of the one after the last.
      problems: what they are, where they are not drawn.
    """

    first: int
    end: int
    problems: tuple[Problem, ...] = ()


def do_job(settings: MakingSettings, job: LabellingJob) -> list[dict[str, NDArray[Any]]]:
    """Return the columns of every source of a job that gives positions, in order."""
    load_prover()
    load_planes()
    out = []
    for source in range(job.first, job.end):
        rng = np.random.default_rng(derive_seed("tsumego-data", settings.seed, source))
        given = job.problems[source - job.first] if job.problems else None
        zone = _zone(settings, rng, source, given)
        if zone is None:
            continue
        positions = grow(zone, rng, most_boards=settings.boards, nodes=settings.nodes)
        if positions:
            out.append(rows_of(zone, positions, source))
    return out


def _zone(
    settings: MakingSettings, rng: np.random.Generator, source: int, given: Problem | None
) -> Zone | None:
    """Return the zone of a source: fights and rooms in turn, where none is given."""
    if given is not None:
        try:
            return find_zone(given.stones, given.target)
        except ProblemError:
            return None  # such as one with an open wall: the others go on
    most = max(settings.most_empty, settings.least_empty)
    empty = int(rng.integers(settings.least_empty, most + 1))
    if source % 2:
        return draw_room_zone(rng, most_empty=empty)
    return draw_fight_zone(rng, empty=empty)


SOURCES_A_JOB: Final = 32
POSITIONS_A_SHARD: Final = 20_000
_AHEAD: Final = 4
"""Jobs for each worker that are begun before their results are wanted."""
_BARREN_JOBS: Final = 400
"""So many jobs in a row without a new position end a run of random problems."""

Rows = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Made:
    """What a set has.

    Attributes:
      positions, problems: how many.
      sources: problems that were looked at.
      copies: positions that were left out because they were there already; of this run alone.
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
    progress: Callable[[Made], None] | None = None,
) -> Made:
    """Make a set of so many positions at least, or go on with one that is there.

    The shards do not depend on the number of workers, nor on how often the run was stopped.

    Args:
      positions: the run ends with the shard that reaches so many.
      problems: what to begin with; none to draw them.
      progress: told after every job.

    Raises:
      DataError: the folder is of other settings, damaged, or cannot be written; or a worker died.
    """
    prepare_folder(folder)
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
        progress: Callable[[Made], None] | None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._wanted = positions
        self._given = problems
        self._progress = progress
        self._known: dict[int, int] = {}
        self._parts: list[Rows] = []
        self._links: set[tuple[int, int]] = set()
        self._waiting = 0
        self._written = self._problems = self._next = self._shards = self._copies = 0
        self._take_up()

    def run(self, results: Iterator[tuple[int, list[Rows]]]) -> Made:
        barren = 0
        while self._written < self._wanted:
            following = next(results, None)
            if following is None:
                self._flush()
                break
            end, parts = following
            before = len(self._known)
            for part in parts:
                self._add(part)
            self._next = end
            if self._progress is not None:
                self._progress(self._made())
            barren = 0 if len(self._known) > before else barren + 1
            if barren >= _BARREN_JOBS:
                self._flush()
                raise DataError(
                    f"{self._folder}: {barren * SOURCES_A_JOB} random problems gave no new "
                    "position: raise --most-empty; what was found is kept"
                )
            if self._waiting >= min(POSITIONS_A_SHARD, self._wanted - self._written):
                self._flush()
        return self._made()

    def results(self, workers: int) -> Generator[tuple[int, list[Rows]], None, None]:
        """Yield for each job in order the number of the source after it, and what it gave."""
        if workers == 1:
            for job in self._jobs():
                yield job.end, do_job(self._settings, job)
            return
        pool = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=follow_parent
        )
        waiting: deque[tuple[int, Future[list[Rows]]]] = deque()
        try:
            for job in self._jobs():
                waiting.append((job.end, pool.submit(do_job, self._settings, job)))
                if len(waiting) >= workers * _AHEAD:
                    end, future = waiting.popleft()
                    yield end, future.result()
            while waiting:
                end, future = waiting.popleft()
                yield end, future.result()
        except BrokenProcessPool as error:
            raise DataError(
                f"{self._folder}: a worker died; the same command goes on after the last whole "
                "shard"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _jobs(self) -> Iterator[LabellingJob]:
        first = self._next
        while not self._given or first < len(self._given):
            end = first + SOURCES_A_JOB
            if self._given:
                end = min(end, len(self._given))
            yield LabellingJob(first, end, self._given[first:end])
            first = end

    def _add(self, part: Rows) -> None:
        """Take what is new of a problem; note which problems had the rest."""
        number = self._problems
        kept = []
        for i, key in enumerate(part["key"].tolist()):
            owner = self._known.get(key)
            if owner is None:
                self._known[key] = number
                kept.append(i)
                continue
            self._copies += 1
            if owner != number:
                self._links.add((owner, number))
        if not kept:
            self._links = {link for link in self._links if link[1] != number}
            return
        rows = {
            name: values[kept] if COLUMNS[name].per == "position" else values
            for name, values in part.items()
        }
        rows["problem"] = np.full(len(kept), number, np.int32)
        self._parts.append(rows)
        self._problems += 1
        self._waiting += len(kept)

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

    def _made(self) -> Made:
        return Made(self._written + self._waiting, self._problems, self._next, self._copies)

    def _take_up(self) -> None:
        """Go on after the last shard that is there."""
        for folder in numbered_folders(self._folder):
            settings = LIFE_SHARDS.read_manifest(folder).settings
            if settings != self._settings.model_dump(mode="json"):
                raise DataError(
                    f"{self._folder}: holds a set that was made otherwise; give another folder "
                    "with --out, or the settings that it was begun with"
                )
            manifest, columns = LIFE_SHARDS.open(folder)
            keys = columns["key"].tolist()
            self._known.update(zip(keys, columns["problem"].tolist(), strict=True))
            self._written += len(keys)
            self._problems += len(columns["size"])
            self._next = manifest.next_source
            self._shards += 1
