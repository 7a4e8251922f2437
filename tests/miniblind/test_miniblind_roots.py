"""Roots of the three classes are what they are said to be, and come from their seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import value_by_definition
from tests.framework.histories import seen_by
from tests.whole_texts import assert_expected

from miai import EnumeratedBelief
from miai.beliefs.problem import Root
from miai_miniblind.mini_rbc import (
    MiniRbc,
    MiniRbcParameters,
    MiniRbcProblem,
    MiniRbcPublic,
    MiniRbcState,
)
from miai_miniblind.phantom_lines import PhantomLinesProblem
from miai_miniblind.roots import ROOT_CLASSES, RootProver, hard_roots, random_roots, won_roots
from miai_miniblind.sub_hunt import SubHuntProblem

PROBLEMS: dict[str, Any] = {
    "mini_rbc": MiniRbcProblem(4, 2),
    "mini_rbc decoy": MiniRbcProblem(4, 2, decoy=True, graded=True),
    "phantom_lines": PhantomLinesProblem(3),
    "sub_hunt": SubHuntProblem(5, 1, 2),
}
problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def apart(n: int, a: int, b: int) -> int:
    (row, column), (row_b, column_b) = divmod(a, n), divmod(b, n)
    return max(abs(row - row_b), abs(column - column_b))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_roots_are_the_states_nearest_to_one(seed: int) -> None:
    problem = MiniRbcProblem(5, 3)
    for root in random_roots(problem, 3, seed=seed):
        king, rook = root.public.king, root.public.rook
        possible = {s for s in range(25) if s != rook and apart(5, s, king) > 1}
        assert root.public.senses
        assert king != rook
        chosen, others = set(root.hidden), possible - set(root.hidden)
        assert chosen <= possible
        assert len(possible) <= 10 * len(chosen)
        assert any(
            max(apart(5, c, s) for s in chosen) <= min((apart(5, c, s) for s in others), default=9)
            for c in chosen
        )


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_roots_of_marks_are_a_fifth_of_them_at_least(seed: int) -> None:
    for root in random_roots(PhantomLinesProblem(3), 3, seed=seed):
        marks = root.public.own.bit_count()
        assert marks in (1, 2)
        assert all(h.bit_count() == marks and not h & root.public.own for h in root.hidden)
        possible = 8 if marks == 1 else 21
        assert possible <= 5 * len(root.hidden) <= 5 * possible


def test_all_sizes_of_random_roots_occur() -> None:
    roots = random_roots(SubHuntProblem(3, 1, 1), 400, seed=3)
    assert {len(root.hidden) for root in roots} == set(range(4, 37))


@pytest.mark.parametrize(
    "problem", [*PROBLEMS.values(), PhantomLinesProblem(4)], ids=[*PROBLEMS, "phantom_lines 3x4"]
)
def test_hard_roots_have_states_that_are_won_alone(problem: Any) -> None:
    """By the definition of the value, without bounds."""
    for root in hard_roots(problem, 3, depth=1, seed=8):
        assert 3 <= len(root.hidden) <= 12
        assert set(root.hidden) <= set(problem.consistent(root.public))
        for hidden in root.hidden:
            alone = value_by_definition(problem, root.public, frozenset([hidden]), 1)
            assert alone == problem.greatest


@problems
def test_won_roots_are_the_hard_ones_that_are_won(problem: Any) -> None:
    hard = hard_roots(problem, 6, depth=1, seed=2)
    won = [
        root
        for root in hard
        if value_by_definition(problem, root.public, frozenset(root.hidden), 1) == problem.greatest
    ]
    assert won_roots(problem, len(won), depth=1, seed=2) == won
    assert won


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "depth"), [(MiniRbcProblem(4, 2), 3), (PhantomLinesProblem(3), 2)]
)
def test_not_all_hard_roots_are_won(problem: Any, depth: int) -> None:
    """The information problem is real."""
    hard = hard_roots(problem, 12, depth=depth, seed=1)
    won = won_roots(problem, 12, depth=depth, seed=1)
    assert won[0] in hard
    assert won != hard


@problems
def test_seeds_reproduce_roots_and_fewer_are_the_first_of_more(problem: Any) -> None:
    draws: list[Callable[[int, int], list[Root[Any]]]] = [
        lambda count, seed: random_roots(problem, count, seed=seed),
        lambda count, seed: hard_roots(problem, count, depth=1, seed=seed),
        lambda count, seed: won_roots(problem, count, depth=1, seed=seed),
    ]
    for draw in draws:
        roots = draw(3, 1)
        assert roots == draw(3, 1)
        assert roots[:2] == draw(2, 1)
        assert roots != draw(3, 2)


@pytest.mark.slow
def test_roots_and_what_actions_lead_to_are_as_they_were_read() -> None:
    """Seeds stay good; the replies are those of the first state of each root."""
    lines = []
    for name, problem in [*PROBLEMS.items(), ("phantom_lines 4", PhantomLinesProblem(4))]:
        for kind in ROOT_CLASSES:
            for root in problem.roots(kind, 2, depth=1, seed=1):
                public, hidden = root.public, root.hidden
                lines.append(f"{name} {kind}: {public} {hidden}\n")
                for action in problem.actions(public):
                    replies = problem.replies(public, hidden[0], action)
                    after = {problem.after(public, action, r.observation) for r in replies[:1]}
                    cost = problem.cost(public, action)
                    told = [(r.ends, r.value, r.observation, r.hidden) for r in replies]
                    lines.append(f"  {action} costs {cost}: {told} {after}\n")
    assert_expected("miniblind/roots.txt", "".join(lines))


def test_drawing_is_given_up_where_there_is_nothing_to_find() -> None:
    with pytest.raises(ValueError, match="choose a greater depth"):
        hard_roots(MiniRbcProblem(4, 2), 1, depth=0, seed=1)
    with pytest.raises(ValueError, match="none of 1000 draws is won within depth 1"):
        won_roots(SubHuntProblem(6, 0, 1), 1, depth=1, seed=1)


def test_a_game_begins_at_a_root() -> None:
    for twin in (mini_rbc(5, 3), mini_rbc(4, 2, decoy=True)):
        for root in random_roots(twin.problem, 3, seed=5):
            state = MiniRbc.from_root(twin.problem, root).new_initial_state()
            ends = [state.child(action) for action in state.legal_actions()]
            assert {end.public for end in ends} == {root.public}
            assert Root(root.public, tuple(end.hidden for end in ends)) == root


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


STATES = 12  # of one belief, looked at under one public part

twins = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
seeds = st.integers(0, 2**32)


def some_states(twin: Twin, seed: int) -> tuple[Any, list[int]]:
    rng = random.Random(seed)
    public = random_public(twin.problem, rng)
    states = list(twin.problem.universe(public))
    return public, sorted(rng.sample(states, min(STATES, len(states))))


@twins
@given(seed=seeds)
@settings(max_examples=12, deadline=None)
def test_both_have_the_same_actions_and_replies_cost_depth(twin: Twin, seed: int) -> None:
    public, states = some_states(twin, seed)
    for hidden in states:
        state = twin.game.state_at(public, hidden)
        assert (state.public, state.hidden) == (public, hidden)
        assert list(twin.problem.actions(public)) == state.legal_actions()
        for action in state.legal_actions():
            if not (child := state.child(action)).is_terminal():
                assert twin.problem.cost(public, action) == child.current_player()


@twins
@given(seed=seeds)
@settings(max_examples=12, deadline=None)
def test_every_action_has_the_same_outcome_in_both(twin: Twin, seed: int) -> None:
    """The same ends and next states, and the same told of two states in one iff in the other."""
    public, states = some_states(twin, seed)
    actions = twin.game.state_at(public, states[0]).legal_actions()
    for action in random.Random(seed).sample(actions, min(8, len(actions))):
        allowed: dict[Hashable, set[int]] = {}
        texts: dict[Hashable, str] = {}
        for hidden in states:
            state = twin.game.state_at(public, hidden)
            by_game = set(transitions(twin, state, action))
            replies = twin.problem.replies(public, hidden, action)
            assert len(set(replies)) == len(replies)
            by_problem: set[object] = {reply.value for reply in replies if reply.ends}
            for reply in replies:
                if not reply.ends:
                    after = twin.problem.after(public, action, reply.observation)
                    by_problem.add((reply.observation, reply.hidden, after))
                    if after not in allowed:
                        allowed[after] = set(twin.problem.universe(after))
                    assert reply.hidden in allowed[after]
            output = {o[0] for o in by_game if isinstance(o, tuple)}
            observations = {o[0] for o in by_problem if isinstance(o, tuple)}
            assert len(output) == len(observations) <= 1, "what is told depends on the answer"
            for text, observation in zip(output, observations, strict=True):
                assert texts.setdefault(observation, text) == text
            assert bare(by_game) == bare(by_problem)
        assert len(set(texts.values())) == len(texts)


def bare(outcomes: set[Any]) -> set[Any]:
    return {o[1:] if isinstance(o, tuple) else o for o in outcomes}


@twins
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_both_implementations_track_equal_beliefs(twin: Twin, seed: int) -> None:
    """From the start of a random game; by replies, and by enumerating all games."""
    rng = random.Random(seed)
    state = twin.game.new_initial_state()
    state.apply_action(rng.choice(state.legal_actions()))
    belief = set(twin.game.starts)
    if len(belief) > 300:
        return  # enumerating is slow there
    public = state.public
    for _ in range(7):
        before, action = state.hidden, rng.choice(state.legal_actions())
        state.apply_action(action)
        if not state.is_terminal() and state.current_player() == 1:
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            break
        replies = twin.problem.replies(public, before, action)
        output = next(r.observation for r in replies if r.hidden == state.hidden)
        everywhere = (r for h in belief for r in twin.problem.replies(public, h, action))
        belief = {r.hidden for r in everywhere if not r.ends and r.observation == output}
        public = twin.problem.after(public, action, output)
        assert public == state.public
        assert state.hidden in belief
        assert worlds_of(twin.game, state) == belief


VALUED = ["mini_rbc", "mini_rbc graded", "mini_rbc decoy"]


@pytest.mark.parametrize("name", VALUED)
@given(seed=seeds)
@settings(max_examples=4, deadline=None)
def test_values_by_definition_are_those_of_the_game(name: str, seed: int) -> None:
    twin, rng = TWINS[name], random.Random(seed)
    public = twin.problem.random_public(rng)
    states = rng.sample(list(twin.problem.consistent(public)), rng.randint(1, 3))
    games: list[MiniRbcState] = [twin.game.state_at(public, hidden) for hidden in states]
    by_game = value_by_game(twin, games, 1)
    assert value_by_definition(twin.problem, public, frozenset(states), 1) == by_game
    prover = RootProver(twin.problem)
    assert prover.wins(public, states, 1) == (by_game == twin.problem.greatest)
