"""Random walled fights that make a problem.

A region of the board is grown cell by cell in a corner, on a side or in the centre, walled in by
the attacker and filled with stones of both sides. The fight becomes a problem if it is critical
with the attacker as ko master, and interesting:

- the target is not in atari at the start;
- the proofs take a minimum number of positions, which grows with the empty points;
- the side to play has at most two solving moves, and no more than the other side;
- some of these need a search: they do not all capture or make unconditional life at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from miai.seeds import derive_seed
from miai_go.errors import ProblemError
from miai_go.rules.chains import captured_stone, chain_at, liberties_of
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.problems.diagrams import Diagram, Placement, Point, beside, on_board, rim_of
from miai_go.tsumego.solver.answer_keys import SolvedProblem, UnprovedError, answer, with_key
from miai_go.tsumego.solver.solver import Status
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

MIN_EMPTY: Final = 3
MAX_EMPTY: Final = 20
SIZES: Final = (9, 13, 19)
DEFAULT_NODES: Final = 60_000
"""Default limit of positions per proof, a few hundredths of a second."""

_PLACEMENTS: Final = (Placement.CORNER, Placement.SIDE, Placement.CENTRE)
_PLACEMENT_SHARES: Final = (0.4, 0.4, 0.2)
_SIZE_SHARES: Final = (0.5, 0.25, 0.25)
_MAX_AREA: Final = 40
_MAX_EXTENT: Final = 9
"""Maximum rows and columns of a region, which fits on the largest board."""
_MAX_SOLUTIONS: Final = 2
_NODES_PER_EMPTY: Final = 12
_TRIES: Final = 5

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Fight:
    """A random fight, not yet examined.

    Attributes:
      region: the cells of the intended zone.
      stones: the side of each stone in it.
      target: a stone of the target.
      size, placement, shift, symmetry, defender: its place on a board; see `Diagram.place`.
    """

    region: tuple[Point, ...]
    stones: dict[Point, int]
    target: Point
    size: int
    placement: Placement
    shift: Point
    symmetry: int
    defender: int

    def problem(self) -> Problem:
        """Return the fight on its board."""
        wall = dict.fromkeys(rim_of(set(self.region), self.placement), ATTACKER)
        diagram = Diagram(self.placement, wall | self.stones, self.target)
        return diagram.place(
            self.size, defender=self.defender, symmetry=self.symmetry, shift=self.shift
        )


def find_walled(
    seed: int, empty: int, number: int, *, nodes: int = DEFAULT_NODES
) -> Problem | None:
    """Draw a fight, and return it if it makes a problem.

    If it is alive or dead, one stone changes sides, in favour of the side that fails, up to four
    times.

    Args:
      seed, number: determine the fight, independently of other draws.
      empty: empty points in its zone.
      nodes: maximum number of positions per proof; a fight that needs more is dropped.
    """
    rng = np.random.default_rng(derive_seed("tsumego-walled", seed, empty, number))
    fight = draw_fight(rng, empty)
    for _ in range(_TRIES):
        zone = None if fight is None else zone_within(fight.problem(), empty)
        if fight is None or zone is None:
            return None
        try:
            solved = answer(zone, nodes=nodes, min_nodes=_NODES_PER_EMPTY * empty)
        except UnprovedError:
            return None
        if isinstance(solved, SolvedProblem):
            return _problem_from(rng, fight.problem(), zone, solved, f"walled {empty}-{number}")
        # Random fights are mostly won or lost; a stone moved to the other side often puts them on
        # the border.
        fight = _balanced(rng, fight, solved)
    return None


def draw_fight(rng: Rng, empty: int) -> Fight | None:
    """Draw a fight with `empty` empty points, or None if the draw has no use."""
    placement = _PLACEMENTS[int(rng.choice(len(_PLACEMENTS), p=_PLACEMENT_SHARES))]
    # Three stones, and 0.4 to 1.5 for each empty point.
    area = empty + 3 + int(empty * rng.uniform(0.4, 1.5))
    region = grown_region(rng, min(area, _MAX_AREA), placement)
    stones = _fill(rng, region, len(region) - empty, placement)
    own = sorted(cell for cell, side in stones.items() if side == DEFENDER)
    wall = Diagram(placement, dict.fromkeys(rim_of(set(region), placement), ATTACKER), (0, 0))
    sizes = rng.choice(SIZES, size=len(SIZES), replace=False, p=_SIZE_SHARES).tolist()
    size = next((size for size in sizes if all(wall.room(size))), None)
    if not own or size is None:
        return None
    up, right = wall.room(size)
    return Fight(
        region=tuple(region),
        stones=stones,
        target=own[int(rng.integers(len(own)))],
        size=size,
        placement=placement,
        shift=(up[int(rng.integers(len(up)))], right[int(rng.integers(len(right)))]),
        symmetry=int(rng.integers(8)),
        defender=int(rng.integers(1, 3)),
    )


def zone_within(problem: Problem, empty: int) -> Zone | None:
    """Return the zone of a fight, or None if it is unsuitable.

    Every block needs a liberty and the target two; all the defender's stones must be in the zone,
    which must have `empty` empty points.
    """
    stones, size = problem.stones, problem.size
    if captured_stone(stones, size) is not None:
        return None
    try:
        zone = find_zone(problem.stones, problem.target)
    except ProblemError:
        return None
    inside = (stones == zone.defender).sum() == zone.defenders.bit_count()
    liberties = liberties_of(stones, chain_at(stones, problem.target, size), size)
    return zone if inside and zone.empty == empty and len(liberties) > 1 else None


def grown_region(rng: Rng, area: int, placement: Placement) -> list[Point]:
    """Grow a random connected region of at most `area` cells, compact or ragged."""
    # From ragged to compact: cells are drawn by this power of their neighbours in the region.
    fat = rng.uniform(0.0, 2.5)
    region: list[Point] = [(0, 0)]
    while len(region) < area:
        taken = set(region)
        edge = sorted({near for cell in region for near in beside(cell)} - taken)
        edge = [cell for cell in edge if on_board(cell, placement) and _fits([*region, cell])]
        if not edge:
            break
        touching = np.array([sum(near in taken for near in beside(cell)) for cell in edge])
        weights = touching**fat
        region.append(edge[int(rng.choice(len(edge), p=weights / weights.sum()))])
    return sorted(region)


def _fits(cells: Sequence[Point]) -> bool:
    rows, columns = [r for r, _ in cells], [c for _, c in cells]
    return max(max(rows) - min(rows), max(columns) - min(columns)) < _MAX_EXTENT


def _fill(rng: Rng, region: Sequence[Point], count: int, placement: Placement) -> dict[Point, int]:
    """Place `count` stones: the defender's mostly at the rim, the attacker's inside."""
    cells = set(region)
    outer = np.array(
        [any(n not in cells and on_board(n, placement) for n in beside(cell)) for cell in region]
    )
    weights = np.where(outer, rng.choice([3.0, 10.0, 100.0]), 1.0)
    chosen = rng.choice(len(region), size=max(count, 0), replace=False, p=weights / weights.sum())
    # An attacker's stone at the rim becomes part of the wall, so its odds are halved there.
    share = rng.uniform(0.0, 0.45)
    odds = np.where(outer, share / 2, share)
    return {
        region[i]: ATTACKER if rng.random() < odds[i] else DEFENDER for i in sorted(chosen.tolist())
    }


def _balanced(rng: Rng, fight: Fight, status: Status) -> Fight | None:
    """Return a fight with one stone changed in favour of the side that fails."""
    side = {Status.ALIVE: DEFENDER, Status.DEAD: ATTACKER}.get(status)
    cells = sorted(c for c, s in fight.stones.items() if s == side and c != fight.target)
    if side is None or not cells:
        return None
    cell = cells[int(rng.integers(len(cells)))]
    return replace(fight, stones={**fight.stones, cell: 1 - side})


def _problem_from(
    rng: Rng, problem: Problem, zone: Zone, solved: SolvedProblem, name: str
) -> Problem | None:
    """Return a solved fight as a problem, if it is interesting for one of the sides."""
    first = _chosen_side(rng, solved)
    if first is None:
        return None
    moves = solved.attacks if first == ATTACKER else solved.defences
    return with_key(problem, zone, first=first, moves=moves, name=name)


def _chosen_side(rng: Rng, solved: SolvedProblem) -> int | None:
    """Return the interesting side with the fewest solving moves, or None."""
    counts = {
        side: len(moves)
        for side, moves in ((ATTACKER, solved.attacks), (DEFENDER, solved.defences))
        if solved.deep[side] and 0 < len(moves) <= _MAX_SOLUTIONS
    }
    if not counts:
        return None
    fewest = [side for side, count in counts.items() if count == min(counts.values())]
    return fewest[int(rng.integers(len(fewest)))]
