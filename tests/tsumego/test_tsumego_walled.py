"""Random walled fights: what is kept, that a seed decides it, and what counts as the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.slow import with_slow
from tests.tsumego.drawn import fate_of
from tests.tsumego.test_tsumego_collection import reproved
from tests.tsumego.tiny_zones import tiny_zone

from miai.files import Journal
from miai_go.errors import ProblemError
from miai_go.rules.symmetry import point_tables
from miai_go.tsumego.problem_sgf import Problem, collection_sgf
from miai_go.tsumego.problems import generating
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.diagrams import Diagram, Placement
from miai_go.tsumego.problems.families import eye_space, members, row
from miai_go.tsumego.problems.walled import Fight, _balanced, find_walled
from miai_go.tsumego.solver.prover import Prover
from miai_go.tsumego.solver.solver import Status
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

PLAN = generating.WalledPlan(count=4, seed=7, empty="5-6")


def found_of(empty: int, *, seed: int, draws: int) -> list[Problem]:
    drawn = (find_walled(seed, empty, number) for number in range(draws))
    return [found for found in drawn if found is not None]


def made(folder: Path, plan: generating.WalledPlan, *, workers: int = 1) -> bytes:
    journal = generating.GeneratingJournal(folder / "out.sgf", generating.draws_of(plan))
    return collection_sgf(generating.make_walled(plan, journal, workers=workers))


@pytest.mark.parametrize("empty", [4, 7, 9])
def test_generated_problems_are_critical_with_all_solving_moves(empty: int) -> None:
    found = found_of(empty, seed=11, draws=30)
    assert found, "seed 11"
    for problem in found[:2]:
        zone = find_zone(problem.stones, problem.target)
        reproved(problem)
        assert zone.empty == empty
        assert problem.to_play is not None
        assert 1 <= len(problem.solutions) <= 2
        assert problem.safe == (problem.to_play == zone.defender)


def test_the_target_is_not_taken_at_once() -> None:
    for problem in found_of(6, seed=5, draws=50):
        zone = find_zone(problem.stones, problem.target)
        prover = Prover(zone)
        first = ATTACKER if problem.to_play == zone.attacker else DEFENDER
        begin = prover.begin(first)
        after = dict(prover.moves(begin))
        seen = [prover.settled(after[zone.number(move)]) for move in problem.solutions]
        assert None in seen, problem.name


def test_a_seed_decides_what_is_found() -> None:
    once, again, other = (collection_sgf(found_of(5, seed=seed, draws=20)) for seed in (1, 1, 2))
    assert once == again
    assert once
    assert once != other


@pytest.mark.slow
def test_workers_and_interruptions_change_nothing(tmp_path: Path) -> None:
    alone = made(tmp_path / "alone", PLAN)
    journal = tmp_path / "alone" / "out.sgf.part"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) > 2
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "out.sgf.part").write_bytes(b"".join(lines[:2]) + lines[2][:20])
    assert made(tmp_path / "cut", PLAN, workers=2) == alone
    assert (tmp_path / "cut" / "out.sgf.part").read_bytes() == journal.read_bytes()


def test_more_problems_go_on_with_what_was_drawn(tmp_path: Path) -> None:
    fewer = made(tmp_path, PLAN)
    drawn = (tmp_path / "out.sgf.part").read_bytes()
    more = made(tmp_path, PLAN.model_copy(update={"count": 5}))
    assert (tmp_path / "out.sgf.part").read_bytes().startswith(drawn)
    assert more != fewer
    assert more.startswith(fewer.split(b"(;")[0] + b"(;" + fewer.split(b"(;")[1])


def test_a_journal_of_other_settings_or_with_damage_is_refused(tmp_path: Path) -> None:
    made(tmp_path, PLAN)
    with pytest.raises(ProblemError, match="other settings"):
        made(tmp_path, PLAN.model_copy(update={"seed": 8}))
    Journal(tmp_path / "out.sgf.part").append([[1, 2, [{}]]])
    with pytest.raises(ProblemError, match="is damaged"):
        made(tmp_path, PLAN)


def test_shares_add_up_and_fall_with_the_size() -> None:
    parts = generating.shares(generating.WalledPlan(count=1000, empty="4-14"))
    assert sum(parts.values()) == 1000
    assert list(parts) == list(range(4, 15))
    assert parts[14] < parts[12] < parts[9]


def test_outlines_are_not_used_up(tmp_path: Path) -> None:
    plan = generating.WalledPlan(count=10, seed=3, empty="4")
    journal = generating.GeneratingJournal(tmp_path / "out.sgf", generating.draws_of(plan))
    problems = generating.make_walled(plan, journal)
    taken = [CanonicalForm(find_zone(each.stones, each.target)).shape for each in problems]
    assert len(problems) == 10
    assert max(taken.count(shape) for shape in set(taken)) <= generating.MAX_PER_SHAPE


@pytest.mark.parametrize(("status", "failing"), [(Status.ALIVE, ATTACKER), (Status.DEAD, DEFENDER)])
def test_a_fight_is_balanced_by_a_stone_for_who_fails(status: Status, failing: int) -> None:
    stones = {(0, 0): ATTACKER, (0, 1): DEFENDER, (1, 0): ATTACKER, (1, 1): DEFENDER}
    place = (Placement.CORNER, (0, 0), 0, 1)
    fight = Fight(tuple(stones), stones, (1, 1), 9, *place)
    balanced = _balanced(np.random.default_rng(0), fight, status)
    assert balanced is not None
    (cell,) = (cell for cell in stones if balanced.stones[cell] != stones[cell])
    assert cell != fight.target
    assert balanced.stones[cell] == failing


# Which positions are the same.


def moved(zone: Zone, *, symmetry: int, exchange: bool, up: int = 0, right: int = 0) -> Zone:
    """Return a zone turned, recoloured, and moved on a larger board."""
    table = point_tables(zone.size)[symmetry]
    board = np.zeros(zone.size**2, np.int8)
    board[table[:-1]] = zone.stones
    if exchange:
        board = np.where(board > 0, 3 - board, 0).astype(np.int8)
    larger = np.zeros((19, 19), np.int8)
    larger[up : up + zone.size, right : right + zone.size] = board.reshape(zone.size, zone.size)
    row, column = divmod(int(table[zone.target]), zone.size)
    return find_zone(larger.reshape(-1), (row + up) * 19 + column + right)


def inner_zone(rng: np.random.Generator) -> Zone:
    """Return a tiny zone that does not touch the edge."""
    while True:
        zone = tiny_zone(rng, most_points=12, most_empty=6)
        rows, columns = zip(*(divmod(p, zone.size) for p in zone.points), strict=True)
        if min(*rows, *columns) > 0 and max(*rows, *columns) < zone.size - 1:
            return zone


@pytest.mark.parametrize("seed", range(5))
def test_keys_stay_under_symmetry_colour_and_translation(seed: int) -> None:
    print(f"seed {seed}")
    zone = inner_zone(np.random.default_rng(seed))
    key = CanonicalForm(zone).key
    for symmetry in range(8):
        for exchange in (False, True):
            for up, right in ((1, 1), (5, 2), (8, 9)):
                twin = moved(zone, symmetry=symmetry, exchange=exchange, up=up, right=right)
                assert CanonicalForm(twin).key == key


@pytest.mark.parametrize("seed", range(2))
def test_positions_with_the_same_key_have_the_same_answer(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(100 + seed)
    fates: dict[int, object] = {}
    met = 0
    for _ in range(50):
        zone = tiny_zone(rng, most_points=4, most_empty=3)
        fate, key = fate_of(zone), CanonicalForm(zone).key
        met += key in fates
        assert fates.setdefault(key, fate) == fate
    assert met > 10


LARGEST = 19
MEMBERS = {member.name: member for member in members()}


def zone_of(diagram: Diagram, *, size: int = LARGEST, defender: int = 1, symmetry: int = 0) -> Zone:
    problem = diagram.place(size, defender=defender, symmetry=symmetry)
    return find_zone(problem.stones, problem.target)


@pytest.mark.parametrize(
    "family",
    with_slow(sorted({member.family for member in MEMBERS.values()}), "carpenter's square"),
)
def test_the_prover_finds_what_players_know(family: str) -> None:
    known = [member for member in MEMBERS.values() if member.family == family]
    assert known
    for member in known:
        assert fate_of(zone_of(member.diagram)) == member.fate, member.name


def test_no_two_members_are_the_same_problem() -> None:
    keys = {CanonicalForm(zone_of(member.diagram)).key for member in MEMBERS.values()}
    assert len(keys) == len(MEMBERS) > 250


@pytest.mark.parametrize("name", ["row of 7 on the side, wings 1", "L+2 group, wings 1 and 0"])
def test_colour_board_and_symmetry_change_nothing(name: str) -> None:
    member = MEMBERS[name]
    first = zone_of(member.diagram)
    for symmetry in range(8):
        for defender in (1, 2):
            for size in (LARGEST, 21):
                zone = zone_of(member.diagram, size=size, defender=defender, symmetry=symmetry)
                assert CanonicalForm(zone).key == CanonicalForm(first).key
                assert zone.defender == defender
        turned = zone_of(member.diagram, symmetry=symmetry, defender=2)
        assert fate_of(turned) == member.fate


def test_a_drawing_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ProblemError, match="use a larger one"):
        row(9, Placement.SIDE).diagram.place(9)
    with pytest.raises(ProblemError, match="there is no eye space 'flower seven'"):
        eye_space("flower seven", Placement.CENTRE)
