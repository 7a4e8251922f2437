"""Families of positions whose answers Go players know, with the fate of each and its source.

``families.toml`` and the tables here give the fates; the tests have the prover confirm every entry.
Statuses are with the attacker as ko master, who may retake a ko at once; `ko` says that the answer
for some first mover differs with the defender as ko master.

An exact answer depends on two things that players take for granted:

- *Wings* of rows and corner groups: the empty points of the first line between the last stone and
  the attacker's wall. Without wings, no ko arises there. With wings a hane can be captured, which
  leaves a ko for life in positions that players call dead; with the attacker as ko master they are
  right.
- *Outside* liberties of eye spaces. Only the rectangular six, the bent four and the L+2 group in
  the corner depend on them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from miai_go.errors import ProblemError
from miai_go.rules.chains import connected_parts
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import turned_cells
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.diagrams import (
    Diagram,
    Placement,
    Point,
    beside,
    enclose,
    rim_of,
    surround,
)
from miai_go.tsumego.problems.walled import SIZES
from miai_go.tsumego.solver.answer_keys import Fate, with_key
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import Status, solve
from miai_go.tsumego.zones import ATTACKER, DEFENDER, find_zone

ALIVE, CRITICAL, DEAD = Status.ALIVE, Status.CRITICAL, Status.DEAD
CENTRE, SIDE, CORNER = Placement.CENTRE, Placement.SIDE, Placement.CORNER

KO_KILLS: Final = Fate(CRITICAL, ko=True)
KO_LIVES: Final = Fate(DEAD, ko=True)
_TABLES: Final = tomllib.loads(Path(__file__).with_name("families.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Shape:
    """An eye space.

    Attributes:
      cells: rows from the top, separated by spaces; ``*`` for a point.
      status: with the attacker as ko master, anywhere on the board.
      source: the source of the status.
    """

    cells: str
    status: Status
    source: str


SHAPES: Final[Mapping[str, Shape]] = {
    name: Shape(**entry | {"status": Status(entry["status"])})
    for name, entry in _TABLES["shapes"].items()
}

CORNER_FACTS: Final[Mapping[tuple[str, int], tuple[Fate, str]]] = {
    ("bent four", 0): (KO_KILLS, "Sensei's Library, Bent Four in the Corner"),
    ("bent four", 1): (KO_KILLS, "Sensei's Library, Bent Four in the Corner"),
    ("rectangular six", 0): (Fate(CRITICAL), "Sensei's Library, Rectangular Six in the Corner"),
    ("rectangular six", 1): (KO_KILLS, "Sensei's Library, Rectangular Six in the Corner"),
}
"""Fates of shapes with their bend or a corner in the board's corner, by outside liberties."""

OTHERWISE_NAMED: Final = {("rectangular six", CORNER)}
"""Shapes that belong to another family with outside liberties, here the L+2 group."""

SECOND_LINE: Final = {SIDE: 7, CORNER: 5}
"""Length of the critical row; shorter rows are dead, longer ones alive."""

ROW_KOS: Final = {
    (SIDE, 7, 1),
    (SIDE, 5, 2),
    (SIDE, 6, 2),
    (SIDE, 7, 2),
    (CORNER, 4, 2),
    (CORNER, 5, 2),
}
"""Rows whose fate depends on ko: placement, stones, wings."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group at the edge with open sides.

    Attributes:
      stones: lines from the top: ``X`` the defender, ``.`` empty inside, ``O`` a cutting stone of
        the attacker, ``_`` outside. The attacker's wall surrounds the group except at the wings.
      placement: on a side, or in a corner, which is at the bottom left.
      fates: by wings, left and right along a side, upwards and to the right in a corner.
      source: the source of the fates.
    """

    stones: str
    placement: Placement
    fates: Mapping[tuple[int, int], Fate]
    source: str


def _group(entry: Mapping[str, Any]) -> Group:
    fates = {}
    for key, words in entry["fates"].items():
        left, right = map(int, key.split())
        status, *ko = words.split()
        fates[left, right] = Fate(Status(status), ko=bool(ko))
    return Group(entry["stones"], Placement(entry["placement"]), fates, entry["source"])


GROUPS: Final = {name: _group(entry) for name, entry in _TABLES["groups"].items()}


@dataclass(frozen=True, slots=True)
class Member:
    """One position of a family.

    Attributes:
      family: such as ``bulky five``.
      name: the family and its parameters.
      diagram: the position.
      fate: the fate of the target.
      source: the source of the fate, such as a proverb.
    """

    family: str
    name: str
    diagram: Diagram
    fate: Fate
    source: str


def eye_space(
    name: str, placement: Placement, *, symmetry: int = 0, outside: int = 0
) -> Member | None:
    """Return a member of a family of eye spaces, in a solid wall of the defender.

    Args:
      name: one of `SHAPES`.
      symmetry: the symmetry applied to the shape; see `miai_go.rules.symmetry`.
      outside: number of outside liberties of the defender's wall.

    Returns:
      The member, or None if the wall is not a single block.

    Raises:
      ProblemError: there is no such shape, or no room for the liberties.
    """
    if name not in SHAPES:
        raise ProblemError(f"there is no eye space '{name}'; choose from {', '.join(SHAPES)}")
    shape = SHAPES[name]
    cells = sorted(turned_cells(_cells(shape.cells, "*"), symmetry))
    if len(connected_parts(rim_of(set(cells), placement), beside)) != 1:
        return None
    fate, source = Fate(shape.status), shape.source
    # Where the corner of the board is the bend or a corner of the shape, other facts hold.
    if placement == CORNER and {(0, 0), (0, 1), (1, 0)} <= set(cells):
        fate, source = CORNER_FACTS.get((name, outside), (fate, source))
    libs = f", {outside} outside" if outside else ""
    title = f"{name}, {placement.value}, turned {symmetry}{libs}"
    diagram = enclose(cells, placement=placement, outside=outside)
    return Member(name, title, diagram, fate, source)


def row(stones: int, placement: Placement, *, wings: int = 0) -> Member:
    """Return a row of stones on the second line.

    Args:
      placement: SIDE or CORNER.
      wings: empty points of the first line beyond each end of the row, up to 2.
    """
    line = [(1, column) for column in range(stones)]
    left = -wings if placement == SIDE else 0
    space = [(0, column) for column in range(left, stones + wings)]
    critical = SECOND_LINE[placement]
    status = CRITICAL if stones == critical else DEAD if stones < critical else ALIVE
    where = "on the side" if placement == SIDE else "in the corner"
    return Member(
        family=f"row {where}",
        name=f"row of {stones} {where}, wings {wings}",
        diagram=surround(line, space, placement=placement),
        fate=Fate(status, ko=(placement, stones, wings) in ROW_KOS),
        source="proverb: on the second line six die and eight live, in the corner four and six",
    )


def group(name: str, *, wings: tuple[int, int]) -> Member:
    """Return a group at the edge with open sides.

    Args:
      name: one of `GROUPS`.
      wings: one of its `fates`.

    Raises:
      ProblemError: there is no such group, or no fate for these wings.
    """
    if name not in GROUPS or wings not in GROUPS[name].fates:
        raise ProblemError(f"there is no group '{name}' with wings {wings}; see GROUPS")
    drawing = GROUPS[name]
    wall, cuts = _cells(drawing.stones, "X"), set(_cells(drawing.stones, "O"))
    space = {*_cells(drawing.stones, "."), *_wings(drawing, wings)}
    diagram = surround(wall, space - cuts, placement=drawing.placement)
    return Member(
        family=name,
        name=f"{name}, wings {wings[0]} and {wings[1]}",
        diagram=diagram,
        fate=drawing.fates[wings],
        source=drawing.source,
    )


def members() -> Iterator[Member]:
    """Yield the positions of all families, without duplicates."""
    yield from _rows()
    yield from _eye_spaces()
    yield from _closed_corners()
    for name, drawing in GROUPS.items():
        for wings in drawing.fates:
            yield group(name, wings=wings)


def family_problems() -> Iterator[tuple[Member, Problem]]:
    """Yield the members of all families as problems with their answers.

    Board size, colours, symmetry and, for critical ones, the side to play vary in turn.
    """
    for number, member in enumerate(members()):
        yield member, _member_problem(number, member)


def family_keys() -> frozenset[int]:
    """Return the canonical keys of all members of families."""
    return frozenset(
        CanonicalForm(find_zone(problem.stones, problem.target)).key
        for _, problem in family_problems()
    )


def _member_problem(number: int, member: Member) -> Problem:
    fits = [size for size in SIZES if all(member.diagram.room(size))]
    problem = member.diagram.place(
        fits[number % len(fits)], defender=1 + number % 2, symmetry=number // 2 % SYMMETRIES
    )
    zone = find_zone(problem.stones, problem.target)
    status = member.fate.status
    first = DEFENDER if status == DEAD else ATTACKER
    moves: tuple[int, ...] = ()
    if status == CRITICAL:
        first = number // 3 % 2
        masters = (Master.ATTACKER,)
        report = solve(zone, first=first, ko_masters=masters, seki=False, seconds=None)
        moves = report.answers[first].moves
    return with_key(problem, zone, first=first, moves=moves, name=member.name)


def _rows() -> Iterator[Member]:
    for placement, lengths in ((SIDE, range(4, 10)), (CORNER, range(3, 8))):
        for stones in lengths:
            for wings in range(3):
                yield row(stones, placement, wings=wings)


def _eye_spaces() -> Iterator[Member]:
    for name, shape in SHAPES.items():
        for placement in Placement:
            seen: set[frozenset[Point]] = set()
            for symmetry in range(SYMMETRIES):
                cells = sorted(turned_cells(_cells(shape.cells, "*"), symmetry))
                if frozenset(cells) in seen:
                    continue
                # Turns that look the same at this place would be the same problem twice.
                seen |= _same_place(cells, placement)
                for outside in range(1 if (name, placement) in OTHERWISE_NAMED else 3):
                    member = eye_space(name, placement, symmetry=symmetry, outside=outside)
                    if member is not None:
                        yield member


def _closed_corners() -> Iterator[Member]:
    """Yield larger eye spaces in the corner, and the filled bent four."""
    for family, rows, columns, source in (
        ("rectangular eight in the corner", 2, 4, "Sensei's Library, Rectangular Eight"),
        ("square nine in the corner", 3, 3, "Sensei's Library, Square Nine: a seki at worst"),
    ):
        cells = [(r, c) for r in range(rows) for c in range(columns)]
        for outside in range(2):
            diagram = enclose(cells, placement=CORNER, outside=outside)
            yield Member(family, f"{family}, {outside} outside", diagram, Fate(ALIVE), source)
    family = "bent four in the corner, filled"
    cells = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    diagram = enclose(cells, placement=CORNER, inside=cells[:3])
    source = "proverb: bent four in the corner is dead"
    yield Member(family, family, diagram, KO_LIVES, source)


def _wings(drawing: Group, wings: tuple[int, int]) -> Iterator[Point]:
    """Yield the empty points along the edge beyond a group."""
    rows = drawing.stones.split()
    height, width = len(rows), len(rows[0])
    if drawing.placement == CORNER:
        yield from ((height + i, 0) for i in range(wings[0]))
    else:
        yield from ((0, -1 - i) for i in range(wings[0]))
    yield from ((0, width + i) for i in range(wings[1]))


def _cells(drawing: str, mark: str) -> list[Point]:
    rows = drawing.split()[::-1]
    return [(r, c) for r, line in enumerate(rows) for c, m in enumerate(line) if m == mark]


def _same_place(cells: list[Point], placement: Placement) -> set[frozenset[Point]]:
    """Return the turns of a shape that are the same problem at a placement, itself included."""
    turns = {
        CENTRE: range(SYMMETRIES),
        SIDE: (0, 2),  # left and right
        CORNER: (0, 4),  # along the diagonal
    }[placement]
    return {frozenset(turned_cells(cells, turn)) for turn in turns}
