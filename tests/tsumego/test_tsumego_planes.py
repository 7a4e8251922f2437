"""Planes and canonical keys against their meaning on whole boards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.rules.chains import chain_at
from miai_go.rules.symmetry import turned_planes
from miai_go.tsumego.networks.zone_planes import encode, layout_of_zones
from miai_go.tsumego.problems.canonical_keys import canonical_keys
from miai_go.tsumego.zones import Zone, find_zone

WINDOW = 11
HALF = WINDOW // 2
CASES = 25
PLANE_NAMES = (
    "attacker first",
    "defender first",
    "stone of the target's colour",
    "stone of the attacker",
    "target",
    "sure eye",
    *(f"{n} liberties" for n in ("1", "2", "3", "4+")),
    *(f"block of {n}" for n in ("1", "2", "3", "4+")),
    "zone",
    "liberty of the target",
    "possible eye",
    "vital point of a room",
    "target round an eye",
    "forbidden to the attacker",
    "forbidden to the defender",
)


def zones(seed: int, count: int = CASES) -> Iterator[Zone]:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield tiny_zone(rng, most_points=12, most_empty=7)


def block_on(board: NDArray[np.int8], cell: tuple[int, int]) -> set[tuple[int, int]]:
    size = len(board)
    block = chain_at(board.reshape(-1), cell[0] * size + cell[1], size)
    return {divmod(point, size) for point in block}


def beside(board: NDArray[np.int8], cell: tuple[int, int]) -> Iterator[tuple[int, int]]:
    for row, column in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        near = (cell[0] + row, cell[1] + column)
        if all(0 <= n < len(board) for n in near):
            yield near


def filled(zone: Zone) -> NDArray[np.int8]:
    """Return the board with all that is beyond the zone given to the attacker."""
    board = np.full(zone.size**2, zone.attacker, np.int8)
    board[list(zone.points)] = zone.stones[list(zone.points)]
    return board.reshape(zone.size, zone.size)


def expected(zone: Zone, side: int, centre: tuple[int, int]) -> dict[str, NDArray[np.uint8]]:
    """Return the reference's planes, found point by point on the board."""
    board = filled(zone)
    beyond = {divmod(p, zone.size) for p in range(zone.size**2) if p not in zone.points}
    target = block_on(board, divmod(zone.target, zone.size))
    out = {name: np.zeros((WINDOW, WINDOW), np.uint8) for name in PLANE_NAMES[:14]}
    for row in range(zone.size):
        for column in range(zone.size):
            pixel = (row - centre[0] + HALF, column - centre[1] + HALF)
            if not all(0 <= n < WINDOW for n in pixel):
                continue
            out[PLANE_NAMES[side]][pixel] = 1
            cell = (row, column)
            if board[cell]:
                block = block_on(board, cell)
                liberties = {n for c in block for n in beside(board, c) if not board[n]}
                safe = board[cell] == zone.attacker and bool(block & beyond)
                own = board[cell] == zone.defender
                out[PLANE_NAMES[2 if own else 3]][pixel] = 1
                out["target"][pixel] = cell in target
                for title, count in (("liberties", len(liberties)), ("block", len(block))):
                    shown = "4+" if safe or count >= 4 else str(count)
                    name = f"{shown} liberties" if title == "liberties" else f"block of {shown}"
                    out[name][pixel] = 1
            elif all(board[n] == zone.defender for n in beside(board, cell)):
                corners = [
                    (row + r, column + c)
                    for r in (-1, 1)
                    for c in (-1, 1)
                    if 0 <= row + r < zone.size and 0 <= column + c < zone.size
                ]
                other = sum(board[corner] != zone.defender for corner in corners)
                out["sure eye"][pixel] = other <= (1 if len(corners) == 4 else 0)
    return out


@pytest.mark.slow
def test_planes_show_what_is_on_the_board() -> None:
    shown = np.zeros(14, np.int64)
    for zone in zones(1, 60):
        layout = layout_of_zones([zone])
        stones = sorted(block_on(filled(zone), divmod(zone.target, zone.size)))
        for side in (0, 1):
            for pick, centre in enumerate(stones):
                sets = ([0], [zone.attackers], [zone.defenders], [side])
                views = encode(layout, *sets, picks=[pick])
                wanted = expected(zone, side, centre)
                for number, (name, plane) in enumerate(wanted.items()):
                    assert (views.planes[0, number] == plane).all(), (name, side, centre, zone)
                    shown[number] += int(plane.any())
    assert (shown > 0).all(), shown  # every plane was there to be checked


def test_a_turned_view_is_the_view_turned() -> None:
    for zone in zones(2):
        layout = layout_of_zones([zone])
        sets = ([0] * 8, [zone.attackers] * 8, [zone.defenders] * 8, [1] * 8)
        turns = np.arange(8, dtype=np.uint8)
        views = encode(layout, *sets, turns=turns)
        assert (views.planes == turned_planes(np.repeat(views.planes[:1], 8, 0), turns)).all()
        own = views.planes[:, 2].reshape(8, -1)
        for number in range(len(zone.points)):
            place = views.places[:, number]
            assert (place >= 0).all()
            assert (own[np.arange(8), place] == (zone.defenders >> number & 1)).all()


def test_extended_planes_know_what_may_not_be_played() -> None:
    # The defender's eye at A1 is suicide for the attacker; the attacker's at E1 for the defender.
    board = np.zeros((9, 9), np.int8)
    board[:3, :6] = 1
    board[0, :5] = (0, 2, 2, 0, 2)
    board[1, :5] = (2, 2, 0, 2, 2)
    zone = find_zone(board, 9)
    views = encode(layout_of_zones([zone]), [0], [zone.attackers], [zone.defenders], [0])
    place = views.places[0, zone.points.index(0)]
    flat = dict(zip(PLANE_NAMES, views.planes[0].reshape(len(PLANE_NAMES), -1), strict=True))
    assert flat["sure eye"][place] == 1
    assert flat["forbidden to the attacker"][place] == 1
    assert flat["forbidden to the defender"][place] == 0


def target_of(zone: Zone) -> int:
    """Return the target's block as a set of points of the zone."""
    cells = block_on(filled(zone), divmod(zone.target, zone.size))
    return sum(1 << zone.points.index(r * zone.size + c) for r, c in cells)


def key_of(zone: Zone, side: int) -> int:
    sets = [[each] for each in (zone.attackers, zone.defenders, target_of(zone), side)]
    return int(canonical_keys(zone, *sets)[0])


def test_a_fight_in_the_middle_is_the_same_anywhere_but_not_at_the_edge() -> None:
    board = np.zeros((13, 13), np.int8)
    board[4:9, 4:9] = 1
    board[5:8, 5:8] = 2
    board[6, 6] = board[5, 6] = 0
    zone = find_zone(board, 5 * 13 + 5)
    assert key_of(find_zone(np.roll(board, (2, 1), (0, 1)), 7 * 13 + 6), 0) == key_of(zone, 0)
    assert key_of(zone, 0) != key_of(zone, 1)  # who moves first
    edge = np.roll(board, (-4, 0), (0, 1))
    edge[-1] = 0
    at_edge = np.roll(board, (-5, 0), (0, 1))
    at_edge[-1] = 0
    assert key_of(find_zone(edge, 1 * 13 + 5), 0) == key_of(zone, 0)
    assert key_of(find_zone(at_edge, 5), 0) != key_of(zone, 0)


def test_other_positions_have_other_keys() -> None:
    rng = np.random.default_rng(4)
    zone = tiny_zone(rng, most_points=12, most_empty=7)
    free = [i for i in range(len(zone.points)) if not (zone.attackers | zone.defenders) >> i & 1]
    attackers = [zone.attackers | 1 << i for i in free]
    same = [[each] * len(free) for each in (zone.defenders, target_of(zone), 0)]
    assert key_of(zone, 0) not in canonical_keys(zone, attackers, *same).tolist()
