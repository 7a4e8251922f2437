"""The page on the small games of the plugin miniblind, and its README, say what is so."""

from __future__ import annotations

from pathlib import Path

from miai.beliefs.problem import Root
from miai_miniblind.blind import square_name, squares_of
from miai_miniblind.phantom_lines import sensing_lines
from miai_miniblind.roots import random_roots
from miai_miniblind.sub_hunt import SubHuntProblem

ROOT = Path(__file__).parents[2]
PAGE = "docs/miniblind.md"


def test_it_names_the_diagonals_in_their_order() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    diagonals = sensing_lines(4)[7:]
    named = [[square_name(cell, 4) for cell in squares_of(line)] for line in diagonals]
    assert f"in the order {', '.join(''.join(cells) for cells in named)}" in text


def test_random_roots_are_drawn_as_it_says() -> None:
    """Step by step from the page, for the submarine, whose public part draws nothing."""
    import random

    rng, expected = random.Random(11), []
    for _ in range(5):
        states = list(range(4 * 36))
        centre = rng.choice(states)
        rng.shuffle(states)
        places = {state: divmod(state // 4, 6) for state in states}
        states.sort(
            key=lambda s: max(abs(a - b) for a, b in zip(places[s], places[centre], strict=True))
        )
        expected.append(tuple(sorted(states[: rng.randint(15, 144)])))
    problem = SubHuntProblem(6, 1, 2)
    roots = random_roots(problem, 5, seed=11)
    assert roots == [Root(roots[0].public, hidden) for hidden in expected]
