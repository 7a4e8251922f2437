"""Random fights behind a wall, kept when they make a problem.

A region of the board is grown cell by cell in a corner, at a side or in the middle, walled in by
the attacker and filled with stones of both. It is kept when it is critical with the attacker as ko
master, and interesting:

- the target is not in atari at the start;
- the proofs take some positions at least, growing with the empty points;
- the side to play has at most two solving moves, one where the other side has more;
- these do more than capture, or make unconditional life, at once.

Keys of positions, the same under translation, the eight symmetries and exchange of colours.

A position of a zone is the same game as another when its points lie alike to each other, hold the
same sides' stones, and touch what is beyond the zone alike. So that, the target and who is to move
are all that a key holds; the edge of the board is in it because points there have fewer neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import numpy as np

from miai.seeds import derive_seed
from miai_go.errors import ProblemError
from miai_go.life.answers import SolvedProblem, UnprovedError, answer
from miai_go.life.diagrams import Cell, Diagram, Placement, beside, on_board, rim_of
from miai_go.life.kernels import stones as kernels
from miai_go.life.problems import Problem
from miai_go.life.prover import NO_BAN, Master
from miai_go.life.status import Status
from miai_go.life.zones import ATTACKER, DEFENDER, Zone, find_zone
from miai_go.rules.chains import captured_stone, chain_at, liberties_of
from miai_go.rules.symmetry import SYMMETRIES, turned_cells

KEY_BYTES: Final = 16

_EMPTY, _ATTACKER, _DEFENDER, _TARGET, _BAN = range(5)


class CanonicalForm:
    """Keys of the positions of one zone. Making it costs more than a key does.

    Attributes:
      shape: the key of the zone without its stones, `KEY_BYTES` bytes.
    """

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        open_points = int(zone.words[kernels.OPEN])
        self._near = [int(word) for word in zone.words[: len(zone.points)]]
        points = [divmod(point, zone.size) for point in zone.points]
        outlines = []
        for symmetry in range(SYMMETRIES):
            cells = turned_cells(points, symmetry)
            order = sorted(range(len(cells)), key=cells.__getitem__)
            outline = tuple((*cells[i], open_points >> i & 1) for i in order)
            outlines.append((outline, order))
        least = min(outline for outline, _ in outlines)
        self._orders = [order for outline, order in outlines if outline == least]
        self._outline = bytes(value for row in least for value in row)
        self.shape = blake2b(self._outline, digest_size=KEY_BYTES).digest()

    def key(
        self,
        attackers: int,
        defenders: int,
        *,
        master: Master = Master.ATTACKER,
        first: int | None = None,
        ban: int = NO_BAN,
    ) -> bytes:
        """Return the key of a position, `KEY_BYTES` bytes.

        Args:
          attackers, defenders: the stones of both sides, as sets of points of the zone.
          master: who may retake a ko at once.
          first: who is to move, 0 the attacker, 1 the defender; None for a key without it.
          ban: the point of the zone that may not be played because of a ko.
        """
        target = self._target(defenders)
        marks = [
            _TARGET
            if target >> i & 1
            else _DEFENDER
            if defenders >> i & 1
            else _ATTACKER
            if attackers >> i & 1
            else _EMPTY
            for i in range(len(self._near))
        ]
        if ban != NO_BAN:
            marks[ban] = _BAN
        content = min(bytes(marks[i] for i in order) for order in self._orders)
        asked = bytes((master.value + 1, 2 if first is None else first))
        return blake2b(self._outline + content + asked, digest_size=KEY_BYTES).digest()

    def _target(self, defenders: int) -> int:
        """Return the block of the target."""
        block = edge = int(self._zone.words[kernels.TARGET]) & defenders
        while edge:
            i = edge.bit_length() - 1
            edge ^= 1 << i
            new = self._near[i] & defenders & ~block
            block |= new
            edge |= new
        return block


def canonical_key(
    zone: Zone, *, master: Master = Master.ATTACKER, first: int | None = None
) -> bytes:
    """Return the key of a zone as it was found; see `CanonicalForm.key`."""
    form = CanonicalForm(zone)
    return form.key(zone.attackers, zone.defenders, master=master, first=first)


MIN_EMPTY: Final = 3
MAX_EMPTY: Final = 20
SIZES: Final = (9, 13, 19)
DEFAULT_NODES: Final = 60_000
"""Positions a proof may take, a few hundredths of a second."""

_PLACEMENTS: Final = (Placement.CORNER, Placement.SIDE, Placement.CENTRE)
_PLACEMENT_SHARES: Final = (0.4, 0.4, 0.2)
_SIZE_SHARES: Final = (0.5, 0.25, 0.25)
_MOST_AREA: Final = 40
_LONGEST: Final = 9
"""Cells that a region has in a row or a column at most; the largest board has room for it."""
_MOST_SOLUTIONS: Final = 2
_NODES_AN_EMPTY: Final = 12
_TRIES: Final = 5

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class WalledProblem:
    """A problem that was found.

    Attributes:
      problem: with the side to play, all its solving moves, the labels and a name.
      key: canonical, without the side to play, so that nothing is found twice.
      shape: key of the zone's outline.
      nodes: positions that the proofs for both movers took.
    """

    problem: Problem
    key: bytes
    shape: bytes
    nodes: int


@dataclass(frozen=True, slots=True)
class Fight:
    """A fight as it was drawn, before anything is known of it.

    Attributes:
      region: the cells that the zone is to have.
      stones: the side of each stone within.
      target: a stone of the target.
      size, placement, shift, symmetry, defender: where on which board; see `Diagram.place`.
    """

    region: tuple[Cell, ...]
    stones: dict[Cell, int]
    target: Cell
    size: int
    placement: Placement
    shift: Cell
    symmetry: int
    defender: int

    def problem(self) -> Problem:
        """Return it on its board."""
        wall = dict.fromkeys(rim_of(set(self.region), self.placement), ATTACKER)
        diagram = Diagram(self.placement, wall | self.stones, self.target)
        return diagram.place(
            self.size, defender=self.defender, symmetry=self.symmetry, shift=self.shift
        )


def find_walled(
    seed: int, empty: int, number: int, *, nodes: int = DEFAULT_NODES
) -> WalledProblem | None:
    """Draw one fight, and return it if it makes a problem.

    One that is alive or dead is made harder or easier for the defender a few times, by a stone that
    changes sides.

    Args:
      seed, number: which fight; the same ones give the same, whatever else was drawn.
      empty: empty points that its zone has.
      nodes: positions a proof may take; a fight that needs more is dropped.
    """
    rng = np.random.default_rng(derive_seed("tsumego-walled", seed, empty, number))
    fight = draw_fight(rng, empty)
    for _ in range(_TRIES):
        zone = None if fight is None else zone_within(fight.problem(), empty)
        if fight is None or zone is None:
            return None
        try:
            solved = answer(zone, nodes=nodes, least=_NODES_AN_EMPTY * empty)
        except UnprovedError:
            return None
        if isinstance(solved, SolvedProblem):
            return _found(rng, fight.problem(), zone, solved, f"walled {empty}-{number}")
        fight = _nearer(rng, fight, solved)
    return None


def draw_fight(rng: Rng, empty: int) -> Fight | None:
    """Draw a fight with so many empty points; None where nothing sensible was drawn."""
    placement = _PLACEMENTS[int(rng.choice(len(_PLACEMENTS), p=_PLACEMENT_SHARES))]
    area = empty + 3 + int(empty * rng.uniform(0.4, 1.5))
    region = grown_region(rng, min(area, _MOST_AREA), placement)
    stones = _filled(rng, region, len(region) - empty, placement)
    own = sorted(cell for cell, side in stones.items() if side == DEFENDER)
    wall = Diagram(placement, dict.fromkeys(rim_of(set(region), placement), ATTACKER), (0, 0))
    wanted = rng.choice(SIZES, size=len(SIZES), replace=False, p=_SIZE_SHARES).tolist()
    size = next((size for size in wanted if all(wall.room(size))), None)
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
    """Return the zone of a drawn fight, if it is all of the fight and the target has two liberties.

    There is none where a block has no liberty.
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


def grown_region(rng: Rng, area: int, placement: Placement) -> list[Cell]:
    """Grow a connected region of at most so many cells, fat or ragged by chance."""
    fat = rng.uniform(0.0, 2.5)
    region: list[Cell] = [(0, 0)]
    while len(region) < area:
        taken = set(region)
        edge = sorted({near for cell in region for near in beside(cell)} - taken)
        edge = [cell for cell in edge if on_board(cell, placement) and _short([*region, cell])]
        if not edge:
            break
        touching = np.array([sum(near in taken for near in beside(cell)) for cell in edge])
        weights = touching**fat
        region.append(edge[int(rng.choice(len(edge), p=weights / weights.sum()))])
    return sorted(region)


def _short(cells: Sequence[Cell]) -> bool:
    rows, columns = [r for r, _ in cells], [c for _, c in cells]
    return max(max(rows) - min(rows), max(columns) - min(columns)) < _LONGEST


def _filled(rng: Rng, region: Sequence[Cell], count: int, placement: Placement) -> dict[Cell, int]:
    """Put so many stones into a region: the defender's rather at its rim, the attacker's within."""
    cells = set(region)
    outer = np.array(
        [any(n not in cells and on_board(n, placement) for n in beside(cell)) for cell in region]
    )
    weights = np.where(outer, rng.choice([3.0, 10.0, 100.0]), 1.0)
    chosen = rng.choice(len(region), size=max(count, 0), replace=False, p=weights / weights.sum())
    share = rng.uniform(0.0, 0.45)
    odds = np.where(outer, share / 2, share)
    return {
        region[i]: ATTACKER if rng.random() < odds[i] else DEFENDER for i in sorted(chosen.tolist())
    }


def _nearer(rng: Rng, fight: Fight, status: Status) -> Fight | None:
    """Return a fight that is harder for the defender if he lived, easier if he died."""
    side = {Status.ALIVE: DEFENDER, Status.DEAD: ATTACKER}.get(status)
    others = sorted(c for c, s in fight.stones.items() if s == side and c != fight.target)
    if side is None or not others:
        return None
    turned = others[int(rng.integers(len(others)))]
    return replace(fight, stones={**fight.stones, turned: 1 - side})


def _found(
    rng: Rng, problem: Problem, zone: Zone, solved: SolvedProblem, name: str
) -> WalledProblem | None:
    """Return what was solved as a problem, if it is interesting for one of the sides."""
    first = _chosen_side(rng, solved)
    if first is None:
        return None
    form = CanonicalForm(zone)
    moves = solved.attacks if first == ATTACKER else solved.defences
    return WalledProblem(
        problem=told(problem, zone, first=first, moves=moves, name=name),
        key=form.key(zone.attackers, zone.defenders),
        shape=form.shape,
        nodes=solved.nodes,
    )


def told(problem: Problem, zone: Zone, *, first: int, moves: tuple[int, ...], name: str) -> Problem:
    """Return a critical problem with its answer: the side to play, its moves and the labels."""
    mover = zone.color(first)
    return replace(
        problem,
        to_play=mover,
        solutions=moves,
        name=name,
        first=mover,
        safe=first == DEFENDER,
        best=moves[0],
        empty=zone.empty,
    )


def _chosen_side(rng: Rng, solved: SolvedProblem) -> int | None:
    """Return who is to play: who has the fewest solving moves of those that are interesting."""
    counts = {
        side: len(moves)
        for side, moves in ((ATTACKER, solved.attacks), (DEFENDER, solved.defences))
        if solved.deep[side] and 0 < len(moves) <= _MOST_SOLUTIONS
    }
    if not counts:
        return None
    fewest = [side for side, count in counts.items() if count == min(counts.values())]
    return fewest[int(rng.integers(len(fewest)))]
