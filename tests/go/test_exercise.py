"""Exercises: what the person's moves come to, replayed on the board of the rules."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from tests.whole_texts import assert_expected

from miai_go.errors import ProblemError
from miai_go.rules.board import Board
from miai_go.tsumego.pages.exercise import Exercise, MoveVerdict, status_text
from miai_go.tsumego.problem_sgf import Problem, read_problems, shipped_problems
from miai_go.tsumego.zones import ATTACKER


@cache
def sampled() -> list[Problem]:
    problems = [each for each in shipped_problems() if each.to_play is not None]
    return random.Random(3).sample(problems, 40)


def replayed(exercise: Exercise, line: tuple[int, ...]) -> Board:
    """Return the board of the rules after a line; kos may be retaken at once."""
    zone = exercise.zone
    assert exercise.learner is not None
    board = Board.from_stones(zone.stones.reshape(zone.size, zone.size))
    colour = zone.color(exercise.learner)
    for point in line:
        if point < zone.size**2:
            board = Board.from_stones(board.stones())  # forgets the ko
            board.play(colour - 1, point)
        colour = 3 - colour
    return board


def is_taken(exercise: Exercise, line: tuple[int, ...]) -> bool:
    """Return whether the target is captured after a line, or can be at once."""
    board, zone = replayed(exercise, line), exercise.zone
    if board.stones().flat[zone.target] != zone.defender:
        return True
    next_side = exercise.learner if len(line) % 2 == 0 else 1 - (exercise.learner or ATTACKER)
    return next_side == ATTACKER and len(board.liberties(zone.target)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_the_keys_moves_are_right_and_all_others_are_refuted(number: int) -> None:
    problem = sampled()[number]
    exercise = Exercise(problem)
    assert exercise.zone.color(exercise.learner or ATTACKER) == problem.to_play
    for move in exercise.choices():
        reply = exercise.play((), move)
        by_rules = replayed(exercise, reply.line).stones()
        assert np.array_equal(exercise.stones(reply.line), by_rules)
        if move in problem.solutions:
            assert reply.verdict in (MoveVerdict.RIGHT, MoveVerdict.SOLVED)
        else:
            assert reply.verdict == MoveVerdict.WRONG
            assert reply.sequel[:2] == reply.line
            refuted_by_capture = exercise.learner != ATTACKER
            assert is_taken(exercise, reply.sequel) == refuted_by_capture


@pytest.mark.slow
def test_every_move_is_answered_as_it_was() -> None:
    lines = []
    for problem in sorted(sampled(), key=lambda each: each.empty or 0)[:12]:
        exercise = Exercise(problem)
        lines.append(f"{problem.name}: {exercise.learner} {exercise.solution()}")
        for move in exercise.choices():
            reply = exercise.play((), move)
            lines.append(f"{move}: {reply.verdict} {reply.line} {reply.sequel} {reply.reason}")
    assert_expected("tsumego/exercises.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("number", range(20))
def test_right_moves_lead_to_the_end(number: int) -> None:
    exercise = Exercise(sampled()[number])
    line: tuple[int, ...] = ()
    while True:
        reply = exercise.play(line, exercise.solution(line)[len(line)])
        line = reply.line
        if reply.verdict != MoveVerdict.RIGHT:
            break
        assert len(line) % 2 == 0
    assert reply.verdict == MoveVerdict.SOLVED
    assert reply.reason
    if exercise.learner == ATTACKER:
        assert is_taken(exercise, line)
    else:
        assert exercise.zone.target not in line
        assert not is_taken(exercise, line)


def exercise_of(sgf: bytes) -> Exercise:
    (problem,) = [each for each in read_problems(sgf) if isinstance(each, Problem)]
    return Exercise(problem)


def test_a_straight_three_is_saved_and_taken_at_its_middle() -> None:
    sgf = b"(;SZ[9]AB[da][db][cb][bb][ab]AW[ea][eb][ec][dc][cc][bc][ac]MA[db])"
    exercise = exercise_of(sgf)
    assert exercise.learner == ATTACKER
    middle, left = 8 * 9 + 1, 8 * 9
    assert status_text(exercise.report).startswith("Critical")
    assert exercise.play((), left).verdict == MoveVerdict.WRONG
    assert exercise.play((), left).line == (left, middle)
    assert exercise.play((), middle).verdict in (MoveVerdict.RIGHT, MoveVerdict.SOLVED)
    assert exercise.solution()[0] == middle
    assert exercise.play((), 81).line == (81, middle), "a pass is refuted too"


@pytest.mark.parametrize(("eye", "status"), [(4, "Alive"), (2, "Dead")])
def test_what_is_settled_has_no_side_to_play(eye: int, status: str) -> None:
    wall = "abcdefg"[eye]
    black = "".join(f"[{c}b]" for c in "abcdefg"[: eye + 1]) + f"[{wall}a]"
    beyond = "abcdefgh"[eye + 1]
    white = "".join(f"[{c}c]" for c in "abcdefgh"[: eye + 2]) + f"[{beyond}a][{beyond}b]"
    exercise = exercise_of(f"(;SZ[9]AB{black}AW{white}MA[ab])".encode())
    assert exercise.learner is None
    assert status_text(exercise.report).startswith(status)
    assert exercise.solution() == ()
    with pytest.raises(ProblemError, match="not your turn"):
        exercise.play((), 8 * 9)


def test_moves_that_are_not_legal_are_refused() -> None:
    exercise = Exercise(sampled()[0])
    occupied = exercise.zone.target
    for line, move in (((), occupied), ((), -1), ((), 10**6), ((occupied, 3), 1)):
        with pytest.raises(ProblemError, match="begin again"):
            exercise.play(line, move)
    with pytest.raises(ProblemError, match="not your turn"):
        exercise.play((exercise.choices()[0],), exercise.choices()[0])


def test_a_search_at_its_limit_leaves_a_move_undecided() -> None:
    hard = max((p for p in shipped_problems() if p.to_play is not None), key=lambda p: p.empty or 0)
    exercise = Exercise(hard)
    exercise._nodes = 1
    exercise._prover = type(exercise._prover)(exercise.zone)  # without what it has proved
    replies = {move: exercise.play((), move) for move in exercise.choices()}
    assert MoveVerdict.OPEN in {reply.verdict for reply in replies.values()}
    for move, reply in replies.items():
        if reply.verdict == MoveVerdict.OPEN:
            assert (reply.line, reply.sequel) == ((move,), ())
            assert "limit of 1 positions" in reply.reason
        else:
            assert (reply.verdict != MoveVerdict.WRONG) == (move in hard.solutions)
