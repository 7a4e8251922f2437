"""Mini-RBC twice, as a problem and as a game, and what belief values are by the game."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from tests.framework.histories import seen_by

from miai import EnumeratedBelief
from miai_miniblind.mini_rbc import (
    MiniRbc,
    MiniRbcParameters,
    MiniRbcProblem,
    MiniRbcPublic,
    MiniRbcState,
)

Leaf = Callable[[MiniRbcState], float]


@dataclass(frozen=True)
class Twin:
    """A problem and the game that it is of.

    Attributes:
      values: what a loss, a draw and a win of the game are worth in the problem.
      leaf: what a state of the game is worth where the depth ends.
    """

    problem: MiniRbcProblem
    game: MiniRbc
    values: tuple[float, float, float]
    leaf: Leaf

    def value_of(self, state: MiniRbcState) -> float:
        """Return what the end of a game is worth in the problem."""
        return self.values[int(state.returns()[0]) + 1]


def mini_rbc(n: int, w: int, *, decoy: bool = False, graded: bool = False) -> Twin:
    game = MiniRbc(MiniRbcParameters(size=n, window=w, decoy=decoy))
    problem = game.belief_problem(graded=graded)
    if graded:
        return Twin(problem, game, (-100, 0, 100), lambda s: graded_leaf(s, n, decoy=decoy))
    return Twin(problem, game, (0, 0, 1), lambda state: 0)


TWINS = {
    "mini_rbc": mini_rbc(5, 3),
    "mini_rbc graded": mini_rbc(4, 2, graded=True),
    "mini_rbc decoy": mini_rbc(4, 2, decoy=True, graded=True),
    "mini_rbc wide": mini_rbc(8, 1, decoy=True),
}


def graded_leaf(state: MiniRbcState, n: int, *, decoy: bool) -> float:
    """The graded value, read off the board as it is shown."""
    letters = state.letters()
    place_of = {letter: divmod(letters.index(letter), n) for letter in "KRk"}
    apart = [abs(a - b) for a, b in zip(place_of["k"], place_of["K"], strict=True)]
    beside = [abs(a - b) == 1 for a, b in zip(place_of["k"], place_of["R"], strict=True)]
    on_edge = bool({0, n - 1} & set(place_of["k"]))
    captured = decoy and "d" not in letters
    return 2 + 2 * on_edge + any(beside) + (max(apart) <= 2) + 2 * captured


# -- random states ------------------------------------------------------------------------------


def random_public(problem: MiniRbcProblem, rng: random.Random) -> MiniRbcPublic:
    """Any public part that a game can have, in every phase."""
    king, rook = rng.sample(range(problem.squares), 2)
    decoy = problem.decoy and rng.random() < 0.7
    return MiniRbcPublic(king, rook, decoy, rng.random() < 0.3)


# -- transitions of the game --------------------------------------------------------------------

Told = str
Outcome = tuple[Told, int, Hashable] | float


def transitions(twin: Twin, state: MiniRbcState, action: int) -> Iterator[Outcome]:
    """What playing an action leads to: what White is told, hidden and public part; or a value."""
    for end in played(state, action):
        if end.is_terminal():
            yield twin.value_of(end)
        else:
            yield (end.information_state_string(0), end.hidden, end.public)


# -- values by the game alone -------------------------------------------------------------------


def value_by_game(twin: Twin, states: Sequence[MiniRbcState], depth: int) -> float:
    """V_depth of a belief of game states, by its definition; no problem is asked.

    Each state has been told the same to player 0, whose turn it is.
    """
    if depth == 0:
        return min(map(twin.leaf, states))
    best = -float("inf")
    for action in states[0].legal_actions():
        worst, parts = float("inf"), dict[str, dict[Hashable, MiniRbcState]]()
        for end in (end for state in states for end in played(state, action)):
            if end.is_terminal():
                worst = min(worst, twin.value_of(end))
            else:
                parts.setdefault(end.information_state_string(0), {})[end.key()] = end
        for part in parts.values():
            if worst <= best:
                break
            ends = list(part.values())
            moved = ends[0].actors()[-1] == 1  # a turn is over
            worst = min(worst, value_by_game(twin, ends, depth - moved))
        best = max(best, worst)
    return best


def played(state: MiniRbcState, action: int) -> list[MiniRbcState]:
    """The states after an action of player 0, and after each answer to it where one is due."""
    child = state.child(action)
    if child.is_terminal() or child.current_player() == 0:
        return [child]
    return [child.child(answer) for answer in child.legal_actions()]


def worlds_of(game: MiniRbc, state: MiniRbcState) -> set[int]:
    """The hidden parts that player 0 holds possible after a game, by enumeration."""
    belief = EnumeratedBelief(game, 0)
    for observation in seen_by(game, 0, state.history()):
        belief.observe(observation)
    return {world.hidden for world in belief if isinstance(world, MiniRbcState)}
