"""Jobs of the data set maker: a few sources each, the same wherever they are done."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection, parent_process
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.plugins.parameters import StrictModel, parameter
from miai.seeds import derive_seed
from miai_go.tsumego.data.columns import rows_of
from miai_go.tsumego.data.growing import grow
from miai_go.tsumego.data.sources import draw_fight_zone, draw_room_zone
from miai_go.tsumego.errors import ProblemError
from miai_go.tsumego.planes import load_planes
from miai_go.tsumego.problems import Problem
from miai_go.tsumego.prover import load_prover
from miai_go.tsumego.zones import Zone, find_zone

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
class Job:
    """Some sources in a row.

    Attributes:
      first, end: numbers of the first source and of the one after the last.
      problems: what they are, where they are not drawn.
    """

    first: int
    end: int
    problems: tuple[Problem, ...] = ()


def do_job(settings: MakingSettings, job: Job) -> list[dict[str, NDArray[Any]]]:
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


@cache
def follow_parent() -> None:
    """End this process when the one that started it has ended, even if that was killed."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
