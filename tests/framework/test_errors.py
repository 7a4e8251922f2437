"""The tree of errors is the one that is documented."""

from __future__ import annotations

import re

import miai.information
import miai.testing
from miai import errors
from miai.errors import MiaiError, near_matches


def tree(error: type[BaseException]) -> set[tuple[str, str]]:
    """Return (class, parent) of the framework's errors below one."""
    found = set()
    for child in error.__subclasses__():
        if child.__module__.startswith("miai."):
            found |= {(child.__name__, error.__name__)} | tree(child)
    return found


def documented() -> set[tuple[str, str]]:
    """Return (class, parent) as drawn in the module's docstring."""
    found, path = set(), [(0, "MiaiError")]
    for indent, name in re.findall(r"^    ([| ]*)\+-- (\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(indent) + 1
        path = [node for node in path if node[0] < depth]
        found.add((name, path[-1][1]))
        path.append((depth, name))
    return found


def test_the_drawn_tree_is_the_real_one() -> None:
    assert miai.information
    assert miai.testing
    assert documented() == tree(MiaiError)


def test_every_drawn_error_is_found_in_the_module() -> None:
    for name, parent in documented():
        assert issubclass(getattr(errors, name), getattr(errors, parent))
    assert miai.information.EmptyBeliefError is errors.EmptyBeliefError
    assert miai.testing.ConformanceError is errors.ConformanceError


def test_near_matches_offer_what_is_near_or_all_there_is() -> None:
    assert near_matches("mtcs", ["mcts", "random"]) == "Did you mean 'mcts'?"
    assert near_matches("zzz", ["mcts", "random"]) == "Known: mcts, random."
    assert near_matches("zzz", []) == ""
    assert near_matches("zzz", ["a:b", "c"]) == "Known: c, a:b."
    many = [f"openspiel:{number}" for number in range(130)]
    assert near_matches("zzz", [*many, "pig"]).startswith("Known: pig, openspiel:0, openspiel:1, ")
    assert near_matches("zzz", [*many, "pig"]).endswith(" and 119 more.")


def test_broken_rules_are_counted() -> None:
    violation = errors.Violation("returns", "wrong", 1, (0, 2))
    for count, words in enumerate(("1 rule (", "2 rules ("), start=1):
        text = str(errors.ConformanceError("pig", [violation] * count))
        assert text.startswith(f"pig breaks {words}")
        assert text.count("\n  returns: wrong\n    seed 1, actions [0, 2]") == count
