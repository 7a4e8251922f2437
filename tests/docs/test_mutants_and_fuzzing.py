"""The pages of mutation testing and fuzzing, and the mutants that are argued equivalent."""

from __future__ import annotations

import re
from pathlib import Path

from tests import fuzz, mutants

ROOT = Path(__file__).parents[2]


def test_the_page_of_fuzzing_is_as_the_script_writes_it() -> None:
    text = fuzz.PAGE.read_text("utf-8")
    assert fuzz.page(fuzz.read_rows(text)) == text
    assert set(fuzz.read_rows(text)) == set(fuzz.TARGETS)


def test_every_file_of_a_room_exists() -> None:
    for name, room in mutants.ROOMS.items():
        assert all(list(ROOT.glob(pattern)) for pattern in room.sources), name
        assert all((ROOT / test).is_file() for test in room.tests), name


def test_a_mutant_is_one_edit_that_compiles() -> None:
    mutants_of_clocks = mutants.mutants_of("clocks", ROOT / "framework/miai/clock.py")
    assert len({mutant.name for mutant in mutants_of_clocks}) == len(mutants_of_clocks) > 50
    source = (ROOT / "framework/miai/clock.py").read_bytes()
    for mutant in mutants_of_clocks:
        text = mutants.edited(mutant, source)
        assert text != source
        compile(text, mutant.path, "exec", dont_inherit=True)


def test_arguments_of_equivalence_are_about_mutants_that_exist() -> None:
    """An argument about code that has changed is to be made again."""
    names = {
        mutant.name
        for room in mutants.ROOMS
        for pattern in mutants.ROOMS[room].sources
        for path in ROOT.glob(pattern)
        for mutant in mutants.mutants_of(room, path, checked=False)
    }
    arguments = mutants.arguments_of_equivalence()
    assert set(arguments) <= names
    assert all(len(reason) > 20 for reason in arguments.values())


def test_the_page_of_mutants_has_95_per_cent_of_400() -> None:
    text = mutants.PAGE.read_text("utf-8")
    (row,) = re.findall(r"^\| all \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    total, killed, argued, survived = map(int, row)
    assert total == killed + argued + survived >= 400
    assert f"\n{100 * (killed + argued) / total:.1f}% are killed or argued equivalent." in text
    assert killed + argued >= 0.95 * total
    assert text.count("\n- `") == survived
