"""What players know of rows, eye spaces and corner groups, against the prover."""

from __future__ import annotations

import pytest
from tests.tsumego.drawn import fate_of

from miai_go.errors import ProblemError
from miai_go.tsumego.problems.canonical_keys import CanonicalForm
from miai_go.tsumego.problems.diagrams import Diagram, Placement
from miai_go.tsumego.problems.families import eye_space, members, row
from miai_go.tsumego.zones import Zone, find_zone

LARGEST = 19
MEMBERS = {member.name: member for member in members()}


def zone_of(diagram: Diagram, *, size: int = LARGEST, defender: int = 1, symmetry: int = 0) -> Zone:
    problem = diagram.place(size, defender=defender, symmetry=symmetry)
    return find_zone(problem.stones, problem.target)


@pytest.mark.parametrize("family", sorted({member.family for member in MEMBERS.values()}))
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
