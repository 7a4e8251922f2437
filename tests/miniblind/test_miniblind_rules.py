"""Facts of the small games: counts, boards, what is told, and what is refused."""

from __future__ import annotations

import itertools
from math import comb
from typing import Any

import pytest
from tests.framework.histories import state_after
from tests.slow import with_slow

import miai
from miai import Json, Observation
from miai.beliefs.problem import Root
from miai.testing import check_game
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcProblem, MiniRbcPublic
from miai_miniblind.phantom_lines import (
    PhantomLinesProblem,
    PhantomPublic,
    sensing_lines,
    winning_lines,
)
from miai_miniblind.roots import RootProver
from miai_miniblind.sub_hunt import HuntPublic, SubHuntProblem

A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, C3, D3, A4, B4, C4, D4 = range(16)  # on 4x4


# -- mini-RBC -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "w", "windows"), [(4, 2, 9), (5, 3, 9), (6, 3, 16), (8, 8, 1)])
def test_windows_are_counted(n: int, w: int, windows: int) -> None:
    assert list(MiniRbcProblem(n, w).actions(MiniRbcPublic(0, 1))) == list(range(windows))


def test_placements_are_counted() -> None:
    for king, rook in itertools.permutations(range(16), 2):
        assert len(MiniRbcProblem(4, 2).universe(MiniRbcPublic(king, rook))) == 14
        with_decoy = MiniRbcProblem(4, 2, decoy=True)
        assert len(with_decoy.universe(MiniRbcPublic(king, rook, decoy=True))) == 14 * 13
        assert len(with_decoy.universe(MiniRbcPublic(king, rook))) == 14


def test_moves_are_counted() -> None:
    """King on a1 beside the rook on b1: 2 steps; the rook has 2 squares east and 3 north."""
    problem = MiniRbcProblem(4, 2)
    moves = problem.actions(MiniRbcPublic(A1, B1, senses=False))
    rook, king = problem.numbers.rook, problem.numbers.king
    to = [rook + s for s in (C1, D1, B2, B3, B4)] + [king + s for s in (A2, B2)]
    assert list(moves) == [*to, problem.numbers.pass_]


@pytest.mark.slow
def test_black_always_has_a_step() -> None:
    """So no state leaves a belief; a king in the corner has three squares beside it."""
    problem = MiniRbcProblem(4, 2, decoy=True)
    for black in (A1, B1, D4):  # a corner bars most
        for king, rook, decoy in itertools.permutations(range(16), 3):
            public = MiniRbcPublic(king, rook, decoy=True, senses=False)
            if black not in (king, rook, decoy):
                hidden = problem.hidden(black, decoy)
                replies = problem.replies(public, hidden, problem.numbers.pass_)
                assert any(reply.ends or reply.hidden // 16 != black for reply in replies)


@pytest.mark.parametrize(
    ("pieces", "value"),
    [
        ((A1, D1, B3), 2 + 0 + 0 + 1),
        ((A1, C1, B3), 2 + 0 + 1 + 1),
        ((A1, A2, C3), 2 + 0 + 1 + 1),
        ((A1, D2, D4), 2 + 2 + 0 + 0),
        ((A1, D3, D4), 2 + 2 + 1 + 0),
    ],
)
def test_graded_leaves(pieces: tuple[int, int, int], value: float) -> None:
    king, rook, black = pieces
    public = MiniRbcPublic(king, rook)
    assert MiniRbcProblem(4, 2, graded=True).evaluate(public, black) == value
    assert MiniRbcProblem(4, 2).evaluate(public, black) == 0
    problem = MiniRbcProblem(4, 2, decoy=True, graded=True)
    assert problem.evaluate(public, problem.hidden(black)) == value + 2
    assert problem.evaluate(public, problem.hidden(black, B2)) == value


def test_a_slide_stops_at_what_it_meets() -> None:
    problem = MiniRbcProblem(4, 2, decoy=True)
    public = MiniRbcPublic(B1, A1, decoy=True, senses=False)
    to_the_end = problem.numbers.rook + A4
    behind = problem.replies(public, problem.hidden(A4, A2), to_the_end)
    assert {reply.observation for reply in behind} == {2 * A2 + 1}
    before = problem.replies(public, problem.hidden(A2, A4), to_the_end)
    assert [(reply.ends, reply.value) for reply in before] == [(True, 1.0)]


def test_a_game_of_mini_rbc_in_words() -> None:
    game = MiniRbc(miai.load_game("mini_rbc", size=4, window=2, decoy=True).parameters)  # type: ignore[arg-type]  # its own
    state = state_after(game, "@d4a3", "sense a3")
    legal = tuple(state.legal_actions())
    assert state.observation(0) == Observation(0, 0, 6, {"seen": ("da3",)}, legal)
    assert state.observation(1) == Observation(1, 0, 6, {"seen": ("da3",)})
    assert str(state) == "...k\nd...\n....\nRK.."
    state = state_after(game, "@d4a3", "sense a3", "Ra4", "kd3")
    assert str(state) == "....\nR..k\n....\n.K.."
    assert state.information_state_string(0) == (
        ". sense a3:seen=('da3',) Ra4:ended=a3,captured=True ."
    )
    assert state.information_state_string(1) == "@d4a3 sense a3 Ra4 kd3"
    state = state_after(game, "@d4a3", "sense a3", "Ra4", "kd3", "sense c3", "Rd3")
    assert state.returns() == (1.0, -1.0)
    shown: Json = {"ended": "d3", "captured": True, "result": "white wins"}
    assert state.observation(1) == Observation(1, 0, state.history()[-1], shown)


def test_black_captures_what_is_not_protected() -> None:
    game = miai.load_game("mini_rbc", size=4, window=2, king="d4", rook="a1")
    state = state_after(game, "@b1", "sense a1", "pass", "ka1")
    assert (state.returns(), state.result_to_string()) == ((-1.0, 1.0), "black wins")
    assert str(state) == "...K\n....\n....\nk..."
    beside = miai.load_game("mini_rbc", size=4, window=2, king="a2", rook="a1", starts=["c1"])
    state = state_after(beside, "@c1", "sense a1", "pass", "kb1", "sense a1", "pass")
    assert "ka1" not in map(state.action_to_string, state.legal_actions())
    assert "ka2" in map(state.action_to_string, state.legal_actions())  # White's king


def test_turns_run_out() -> None:
    game = miai.load_game("mini_rbc", max_turns=2)
    state = state_after(game, "@e5", "sense a1", "pass", "ke4", "sense a1", "pass", "ke5")
    assert state.is_terminal()
    assert state.returns() == (0.0, 0.0)
    assert len(state.history()) - 1 == game.max_game_length()
    assert state.result_to_string() == "draw"


def test_values_are_graded_where_that_is_asked_for() -> None:
    game = miai.load_game("mini_rbc")
    assert isinstance(game, MiniRbc)
    assert not game.belief_problem().graded
    assert game.belief_problem(graded=True).graded


# -- phantom tic-tac-toe with lines -------------------------------------------------------------


def test_lines_are_counted() -> None:
    assert (len(winning_lines(3)), len(winning_lines(4))) == (8, 14)
    assert (len(sensing_lines(3)), len(sensing_lines(4))) == (8, 11)
    assert sorted(sensing_lines(3)) == list(winning_lines(3))
    assert [line.bit_count() for line in sensing_lines(4)] == [4] * 3 + [3] * 8


@pytest.mark.parametrize("columns", [3, 4])
def test_sets_of_marks_are_counted(columns: int) -> None:
    problem = PhantomLinesProblem(columns)
    cells, wins = 3 * columns, winning_lines(columns)
    for own in (0b1, 0b11, 0b1000011):
        public = PhantomPublic(own=own)
        left = cells - own.bit_count()
        full = sum(not line & own for line in wins) if own.bit_count() == 3 else 0
        assert len(problem.universe(public)) == comb(left, own.bit_count()) - full
    known = PhantomPublic(own=0b11, known=0b100)
    assert len(problem.universe(known)) == cells - 3
    assert problem.universe(PhantomPublic(own=0b1, known=0b110)) == []


def test_a_refusal_costs_nothing_and_is_remembered() -> None:
    problem = PhantomLinesProblem(3)
    public = PhantomPublic(own=0b1, phase="place")
    (reply,) = problem.replies(public, 0b10, len(problem.lines) + 1)
    after = problem.after(public, len(problem.lines) + 1, reply.observation)
    assert after == PhantomPublic(own=0b1, known=0b10, phase="place")
    assert len(problem.lines) + 1 not in problem.actions(after)


@pytest.mark.parametrize(("columns", "boards"), [(3, 16), (4, 28)])
def test_a_full_board_is_a_draw(columns: int, boards: int) -> None:
    """x fills 3x3, o fills 3x4; 16 drawn boards of tic-tac-toe have five marks of x."""
    problem = PhantomLinesProblem(columns)
    cells, lines = 3 * columns, len(problem.lines)
    drawn = 0
    for chosen in itertools.combinations(range(cells), (cells + 1) // 2):
        own = sum(1 << cell for cell in chosen)
        other = (1 << cells) - 1 - own
        if any(own & line == line or other & line == line for line in winning_lines(columns)):
            continue
        drawn += 1
        if columns == 3:
            before = PhantomPublic(own=own & ~(1 << chosen[0]), phase="place")
            replies = problem.replies(before, other, lines + chosen[0])
        else:
            left = other & (other - 1)  # all but one of them
            replies = problem.replies(PhantomPublic(own=own, phase="await"), left, problem.await_)
        assert [(reply.ends, reply.value) for reply in replies] == [(True, 0.0)]
    assert drawn == boards


# -- submarine hunt -----------------------------------------------------------------------------


def test_a_submarine_has_one_to_three_moves() -> None:
    problem = SubHuntProblem(5, 0, 1)
    far = len(list(problem.actions(HuntPublic(0)))) - 1 + problem.lines  # the block on e5
    counts = [0] * 4
    for hidden in list(problem.universe(HuntPublic(0)))[:-4]:
        counts[len(problem.replies(HuntPublic(0), hidden, far))] += 1
    # A corner has 2 headings with one way and 2 with two, one corner being charged; on another
    # square of the edge the way out is barred to three of four headings.
    assert counts == [0, 3 * 2, 3 * 2 + 4 * 3 * 3, 9 * 4 + 4 * 3 * 1]


@pytest.mark.parametrize(
    ("n", "pings", "blast", "won"), [(4, 2, 2, True), (5, 2, 2, False), (6, 2, 3, True)]
)
def test_one_turn_finds_it_where_the_pings_cut_the_sea_into_blocks(
    n: int, pings: int, blast: int, won: bool
) -> None:
    """At most 2**pings answers of blast**2 squares each."""
    problem = SubHuntProblem(n, pings, blast)
    public = HuntPublic(pings)
    assert (2**pings * blast**2 >= n * n) == won
    assert RootProver(problem).wins(public, problem.universe(public), 1) == won


VARIANTS: list[dict[str, Any]] = [
    {"max_turns": 6},
    {"size": 4, "window": 2, "decoy": True, "max_turns": 4},
    {"decoy": True, "starts": ["e5d4", "d4e5"], "max_turns": 2},
]


@pytest.mark.parametrize("values", with_slow(VARIANTS, VARIANTS[0]))
def test_it_keeps_the_rules_of_games(values: dict[str, Any]) -> None:
    report = check_game(miai.load_game("mini_rbc", **values), games=2)
    assert report.beliefs > 7
    assert report.skipped == ()


# -- refusals ------------------------------------------------------------------------------------


def test_problems_refuse_sizes_that_they_do_not_have() -> None:
    for n, w in ((3, 2), (9, 2), (4, 0), (4, 5)):
        with pytest.raises(ValueError, match="squares on a side"):
            MiniRbcProblem(n, w)
    with pytest.raises(ValueError, match="3 or 4 columns"):
        PhantomLinesProblem(5)
    for sizes in ((2, 1, 1), (17, 1, 1), (4, 9, 1), (4, 1, 5)):
        with pytest.raises(ValueError, match="got"):
            SubHuntProblem(*sizes)


def test_games_begin_at_the_start_of_a_turn() -> None:
    with pytest.raises(ValueError, match="begins with a sense"):
        MiniRbc.from_root(MiniRbcProblem(4, 2), Root(MiniRbcPublic(0, 1, senses=False), (9,)))
