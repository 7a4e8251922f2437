"""The choice of a move: against brute force with python-chess and reconchess, and on short time."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reconchess.utilities import revise_move
from tests.rbc.games import follow, rbc, taken_moves

from miai_rbc.agents.choice import (
    Choice,
    MoveSettings,
    Scorer,
    choose_move,
    combine,
    draw_boards,
    opponent_weights,
    outcomes,
    rank_candidates,
    window_values,
    with_pieces,
)
from miai_rbc.belief.scans import CENTRES
from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.engines.protocol import BoardEvaluations
from miai_rbc.kernels.bitboards import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import NOTHING
from miai_rbc.kernels.filters import find_checks
from miai_rbc.rbc_parameters import START_FEN
from miai_rbc.rules.actions import move_name
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import Moved, Sensed, move_of_name
from miai_rbc.rules.rows import row_of_board, row_of_fen

MEAN: dict[str, Any] = {"low": 0.0}
WIDE: dict[str, Any] = {"samples": 500, "top": 3, "widest": 500}
"""Room for all boards and all candidates of the beliefs below: nothing is drawn."""


class Noting(KernelEngine):
    """The engine; notes every position that it is asked to value by score alone."""

    def __init__(self, depth: int = 1) -> None:
        self.valued: list[bytes] = []
        super().__init__(KernelParameters(depth=depth, table_mb=1))

    def evaluate(self, rows: Words, *, top: int = 1, **more: Any) -> BoardEvaluations:
        if top == 1:
            self.valued += [row.tobytes() for row in rows]
        return super().evaluate(rows, top=top, **more)


def choose(boards: BoardSet, scorer: Scorer | None = None, *, seed: int = 0, **more: Any) -> Choice:
    given = {name: more.pop(name) for name in ("weights", "deadline") if name in more}
    rng, parameters = np.random.default_rng(seed), MoveSettings(**{**WIDE, **more})
    scorer = scorer or Scorer(Noting())
    return choose_move(boards, boards.requests(), scorer, rng, parameters, **given)


@cache
def beliefs() -> Sequence[BoardSet]:
    """Return beliefs of random games, the player to move, of up to thirty boards."""
    found = []
    for seed in range(5):
        for played in follow(rbc(), random.Random(seed), 60, limit=2000):
            for belief in played.beliefs:
                to_move = int(belief.boards.rows[0, 7]) & 1 == belief.player
                if to_move and 1 < len(belief) <= 30 and played.state.legal_actions()[0] > 64:
                    found.append(belief.boards.copy())
    return found[:: max(1, len(found) // 16)]


def after(board: chess.Board, request: int) -> chess.Board:
    """Return the board after a request as it turns out there, by reconchess."""
    asked = None if request == NOTHING else chess.Move.from_uci(move_name(request))
    taken = None if asked is None else revise_move(board, asked)
    child = board.copy(stack=False)
    child.push(taken if taken is not None else chess.Move.null())
    return child


def captures_king(board: chess.Board, request: int) -> bool:
    return after(board, request).king(not board.turn) is None


# -- scores ---------------------------------------------------------------------------------------


def squeezed(score: float, king: float = 2000.0) -> float:
    """Return a score as it counts: beyond ten pawns compressed, so that WIN is `king`."""
    beyond = max(0.0, abs(score) - 1000) / (WIN - 1000)
    return math.copysign(min(abs(score), 1000) + beyond * (king - 1000), score)


scores = st.one_of(st.integers(-1500, 1500), st.integers(-WIN, WIN))
columns = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.tuples(st.lists(scores, min_size=width, max_size=width), st.integers(1, 9)),
        min_size=1,
        max_size=8,
    )
)


def low_end(ranked: list[tuple[float, int]], quantile: float) -> float:
    """Return the low end of ranked scores, from as many equal parts as the weights have."""
    if quantile == 0.0:
        return ranked[0][0]
    parts = [score for score, weight in ranked for _ in range(weight)]
    return next(s for i, s in enumerate(parts) if i + 1 > quantile * len(parts))


@pytest.mark.slow
@given(columns, st.floats(0, 1), st.integers(0, 100), st.floats(1000, 20_000))
@settings(max_examples=300, deadline=None)
def test_a_mixture_is_made_of_the_mean_and_the_low_end(
    table: list[tuple[list[int], int]], low: float, place: int, king: float
) -> None:
    weights = [weight for _, weight in table]
    total = sum(weights)
    # Between two sums of weights, where rounding decides nothing; or no quantile.
    quantile = (place % total + 0.5) / total if place else 0.0
    output = combine(
        np.array([row for row, _ in table], np.float64),
        np.array(weights, np.float64),
        MoveSettings(low=low, quantile=quantile, king=king),
    )
    for column, value in enumerate(output):
        ranked = sorted((squeezed(row[column], king), weight) for row, weight in table)
        average = sum(score * weight for score, weight in ranked) / total
        lowest = low_end(ranked, quantile)
        assert value == pytest.approx((1 - low) * average + low * lowest, abs=1e-6)


def test_with_few_pieces_neither_a_sure_loss_nor_a_risk_of_a_won_game_is_chosen() -> None:
    """A queen against a fifth of the king, and three pawns more against a fifth of a loss."""
    for sure, rest, fifth, many, few in ((-800, -60, -WIN, 0, 1), (600, 900, -500, 1, 0)):
        table = np.array([[sure, rest]] * 4 + [[sure, fifth]], np.float64)
        for fen, better in ((START_FEN, many), ("4k3/8/8/8/8/8/8/4K2Q w - - 0 1", few)):
            scaled = with_pieces(MoveSettings(low=0.0, king=5000.0), row_of_fen(fen)[None])
            assert np.argmax(combine(table, np.ones(5), scaled)) == better


def test_boards_of_no_weight_still_have_scores() -> None:
    """All weight may lie on boards that time did not reach, or in other outcomes of a sense."""
    table = np.array([[100.0, -50.0], [20.0, 30.0]])
    parameters = MoveSettings(**MEAN)
    found = combine(table, np.zeros(2), parameters)
    assert found.tolist() == combine(table, np.ones(2), parameters).tolist()


def test_a_matrix_holds_what_each_request_is_worth_on_each_board() -> None:
    for boards in beliefs()[::4]:
        requests = [NOTHING, *boards.requests()]
        found = Scorer(Noting()).matrix(boards.rows, requests)
        assert found.shape == (len(boards), len(requests))
        fresh = Noting()
        for row, board in zip(found, boards.boards(), strict=True):
            children = np.stack([row_of_board(after(board, request)) for request in requests])
            assert row.tolist() == (-fresh.evaluate(children).scores).tolist()


def test_waiting_is_worth_less_and_less_and_a_failed_request_a_pass() -> None:
    """On two boards: without a knight on h5, and with one."""
    boards = BoardSet.of_fens([f"4k3/8/8/{h5}/6P1/8/7R/K7 w - - 0 1" for h5 in ("8", "7n")])
    passed = BoardSet.of_fens(["4k3/8/8/8/6P1/8/7R/K7 b - - 0 1"])
    moves = [capture, _, pawn, _] = [*map(move_of_name, ("g4h5", "h2h5", "g4g5")), NOTHING]
    scorer, nothing = Scorer(Noting()), Sensed(0, np.zeros(7, np.uint64))
    before, progress = scorer.matrix(boards.rows, moves), scorer.progress
    assert before[0, 0] == before[0, 3] > 0
    for spent, rest in ((0.1, 0.99), (0.5, 0.75), (3.0, 0.0)):  # of the half-moves, and its square
        progress.follow(nothing, boards, spent)
        shares = [[rest, rest, 1, rest], [1, 1, 1, rest]]
        assert scorer.matrix(boards.rows, moves) == pytest.approx(before * shares)

    # The pass repeats one board. The capture is one too, until a sense has shown the knight.
    progress.follow(Moved(capture, NOTHING, None), passed, 1e-9)
    for known, same in ((boards, 3), (BoardSet(boards.rows[1:]), 0)):
        progress.follow(nothing, known, 1e-9)
        assert progress.tried(moves) == [moves[same], *moves[1:3], *moves[3 : 3 + (same == 0)]]
        expected = [[0, *before[0, 1:3], 0], before[1]]
        assert scorer.matrix(boards.rows, moves) == pytest.approx(np.array(expected))
    after = outcomes(boards.rows, moves)
    assert (progress.adjusted(-before, boards.rows, after) == -before).all()

    # After three passes another comes in four cases of five, by Laplace's rule, in check or not.
    for share in (0.0, 0.0, 0.8):
        progress.follow(nothing, BoardSet(boards.rows[:1]), 1e-9)
        check = scorer.matrix(boards.rows[:1], [move_of_name("h2e2")])
        assert share * WIN < check[0, 0] < share * WIN + 1000
    progress.follow(Moved(pawn, pawn, None), passed, 0.0)
    progress.follow(nothing, boards, 0.0)
    assert (scorer.matrix(boards.rows, moves) == before).all()


def test_values_are_in_order_and_no_position_is_asked_twice() -> None:
    engine = Noting()
    scorer = Scorer(engine)
    for boards in (*beliefs()[:6], *beliefs()[:3]):
        rows = np.concatenate([boards.rows, boards.rows[::-1]])
        found = scorer.values(rows)
        assert found.tolist() == Noting().evaluate(rows).scores.tolist()
        scorer.matrix(boards.rows, boards.requests()[:5])
    assert len(engine.valued) == len(set(engine.valued)) > 100
    assert scorer.lookups - scorer.hits >= len(engine.valued)
    before = len(engine.valued)
    scorer.new_game()
    assert scorer.lookups == scorer.hits == 0
    scorer.values(beliefs()[0].rows)
    assert len(engine.valued) > before


def test_values_without_search_are_not_kept() -> None:
    scorer, rows = Scorer(Noting(depth=3)), beliefs()[0].rows
    scorer.values(rows, deadline=0.0)
    assert scorer.values(rows).tolist() == Noting(depth=3).evaluate(rows).scores.tolist()


@pytest.mark.parametrize("top", [1, 3])
def test_best_moves_are_the_engine_s(top: int) -> None:
    boards = BoardSet.of_boards(board for found in beliefs() for board in found.boards())
    named = Scorer(Noting()).best_moves(boards.rows, top)
    expected = Noting().evaluate(boards.rows, top=top).moves.tolist()
    assert named == [[move for move in row if move != NO_MOVE] for row in expected]
    assert len(named) > 64  # more than one batch
    for moves, board in zip(named, boards.boards(), strict=True):
        assert {move_name(move) for move in moves} <= {m.uci() for m in taken_moves(board)}


def test_candidates_are_ranked_by_weight_and_rank() -> None:
    named = [[1, 2], [2, 3], [2]]
    assert rank_candidates(named, np.array([5.0, 1.0, 1.0]), 9) == [1, 2, 3]
    assert rank_candidates(named, np.array([1.0, 1.0, 1.0]), 9) == [2, 1, 3]
    assert rank_candidates(named, np.ones(3), 1) == [2]
    assert rank_candidates([[], []], np.ones(2), 5) == []


def numbered(count: int) -> Words:
    """Return rows of which each is its number."""
    return np.repeat(np.arange(count, dtype=np.uint64)[:, None], 8, axis=1)


def test_all_boards_are_drawn_with_their_own_weights_in_random_order() -> None:
    weights = np.arange(1.0, 101.0)
    whole = draw_boards(numbered(100), weights, 100, np.random.default_rng(1))
    order = whole.rows[:, 0].astype(int).tolist()
    assert sorted(order) == list(range(100))
    assert order != sorted(order), "boards that time cuts off are drawn too"
    assert whole.shares(100).tolist() == weights[order].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("urgent", [1.0, 10.0])
@pytest.mark.parametrize("count", [3, 4, 6])
def test_any_prefix_of_drawn_boards_weighs_every_board_fairly(urgent: float, count: int) -> None:
    weights = np.array([8.0, 4.0, 2.0, 1.0, 1.0, 0.5, 0.25, 0.0])
    urgency = np.where(np.arange(8) == 5, urgent, 1.0)
    rng, runs = np.random.default_rng(2), 4_000
    sums, early = np.zeros(8), 0
    for _ in range(runs):
        sample = draw_boards(numbered(8), weights, 6, rng, urgency=urgency)
        drawn = sample.rows[:count, 0].astype(int)
        assert len(set(drawn)) == count
        sums[drawn] += sample.shares(count)
        early += 5 in drawn
    assert sums / runs == pytest.approx(weights, rel=0.15, abs=0.02)
    if urgent > 1:
        assert early > runs * count / 8


# -- the choice -----------------------------------------------------------------------------------


def scored(boards: BoardSet, requests: Iterable[int], depth: int = 1) -> dict[int, list[float]]:
    """Return the scores of requests on all boards; one board and request at a time."""
    engine, plain = Noting(depth), list(boards.boards())

    def score(board: chess.Board, request: int) -> float:
        return -float(engine.evaluate(row_of_board(after(board, request))[None]).scores[0])

    return {request: [score(board, request) for board in plain] for request in requests}


def test_the_best_worst_score_is_that_of_brute_force() -> None:
    quiet = 0
    for boards in beliefs():
        choice = choose(boards)
        takers = [r for r in boards.requests() if any(captures_king(b, r) for b in boards.boards())]
        if takers:
            assert (choice.why, choice.request in takers) == ("king", True)
            continue
        quiet += 1
        named = Noting().evaluate(boards.rows, top=WIDE["top"]).moves.ravel().tolist()
        scores = scored(boards, {move for move in named if move != NO_MOVE})
        worst = {move: min(map(squeezed, each)) for move, each in scores.items()}
        assert choice.why == "minimax"
        assert choice.boards == len(boards)
        assert worst[choice.request] == max(worst.values()), list(boards.boards())
        assert choice.value == pytest.approx(worst[choice.request])
    assert quiet > 5


OPEN = "4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1"
"""The queen on e2 can capture the king on e8."""


def test_the_seed_s_rule_captures_a_king_where_one_board_of_many_allows_it() -> None:
    closed = [f"3k4/{n}p{7 - n}/8/8/8/8/4Q3/4K3 w - - 0 1" for n in range(1, 7)]
    assert choose(BoardSet.of_fens(closed)).why == "minimax"
    boards = BoardSet.of_fens([*closed, OPEN])
    for mixture in ({}, MEAN):
        choice = choose(boards, **mixture)
        assert (move_name(choice.request), choice.why) == ("e2e8", "king")


@pytest.mark.parametrize(("likely", "why"), [(0.49, "minimax"), (0.5, "king"), (0.51, "king")])
def test_a_king_is_captured_from_a_share_of_the_weight_on(likely: float, why: str) -> None:
    boards = BoardSet.of_fens([OPEN, "3k4/8/8/8/8/8/4Q3/4K3 w - - 0 1"])
    for total in (0.1, 1.0, 30.0):
        weights = total * np.array([likely, 1 - likely])
        assert choose(boards, capture=0.5, weights=weights).why == why


@pytest.mark.parametrize("likely", [0.02, 0.1, 0.3, 0.49])
def test_below_that_share_a_king_counts_in_proportion(likely: float) -> None:
    """On e8 the queen captures a king or is lost to a rook; the value of that decides."""
    boards = BoardSet.of_fens([OPEN, "k3r2r/8/8/8/8/8/4Q3/4K3 w - - 0 1"])
    weights = np.array([likely, 1 - likely])
    for king in (1500.0, 5000.0, 50_000.0):
        kings: dict[str, Any] = {"capture": 0.5, "king": king}
        choice = choose(boards, **MEAN, **kings, weights=weights)
        worth = {}
        for request in boards.requests():
            scores = Scorer(Noting()).matrix(boards.rows, [request])[:, 0]
            worth[request] = float(weights @ [squeezed(s, king) for s in scores])
        assert choice.value == pytest.approx(max(worth.values()))
        assert worth[choice.request] == pytest.approx(choice.value)


def test_a_sample_never_exceeds_the_requested_size_and_without_candidates_it_passes() -> None:
    rng, parameters = np.random.default_rng(0), MoveSettings(**WIDE)
    choice = choose_move(beliefs()[0], [], Scorer(Noting()), rng, parameters)
    assert (choice.request, choice.why, choice.value) == (NOTHING, "only", None)
    for boards in beliefs()[:5]:
        choice = choose(boards, samples=2, widest=3)
        assert choice.why == "king" or (choice.boards <= 2 and choice.candidates <= 3)
        assert choice == choose(boards, samples=2, widest=3)  # of the same seed


def test_weights_of_boards_are_a_distribution_that_prefers_the_opponent_s_good_ones() -> None:
    good, bad = "k7/8/8/q7/8/8/8/6K1 w - - 0 1", "k7/8/8/p7/8/8/8/6K1 w - - 0 1"
    rows = np.concatenate([BoardSet.of_fens([fen]).rows for fen in (good, bad)])
    weights = opponent_weights(rows, Scorer(Noting()), check=0.0)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > weights[1] > 0.4 / 2, "two fifths are spread evenly"


def test_an_attack_on_our_king_makes_a_board_as_probable_as_centipawns_would() -> None:
    """The rook gives check on one of two boards that are worth the same to an engine."""
    fens = ["k7/8/8/8/8/8/r7/4K3 w - - 0 1", "k7/8/8/8/8/8/4r3/1K6 w - - 0 1"]
    checked = ["k3r3/8/8/8/8/8/8/4K3 w - - 0 1", "k2r4/8/8/8/8/8/8/4K3 w - - 0 1"]
    rows = BoardSet.of_fens([*fens, *checked]).rows
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    assert checks.sum() == 1
    weights = (opponent_weights(rows, Scorer(Noting()), check=check) for check in (0.0, 300.0))
    plain, more = (share - 0.4 / len(rows) for share in weights)  # without the even part
    ratio = more / plain
    assert ratio[checks] / ratio[~checks] == pytest.approx([np.exp(2)] * 3)


def windows(boards: BoardSet, weights: NDArray[np.float64], settings: MoveSettings) -> Any:
    """Return the values of all windows for the player to move."""
    player, rng = int(boards.rows[0, 7]) & 1, np.random.default_rng(0)
    scorer, requests = Scorer(Noting()), boards.requests()
    return window_values(boards, weights, player, scorer, requests, rng, settings, deadline=None)


def test_windows_have_values_also_where_all_weight_lies_on_one_board() -> None:
    for boards in beliefs()[:6]:
        weights = np.zeros(len(boards))
        weights[0] = 1.0
        values = windows(boards, weights, MoveSettings(low=0.3, quantile=0.05, **WIDE))
        assert values.shape == (len(CENTRES),)
        assert np.isfinite(values).all()


def content(board: chess.Board, centre: int) -> tuple[chess.Piece | None, ...]:
    """Return what a sense shows: the nine squares around the centre."""
    squares = [centre + 8 * up + right for up in (-1, 0, 1) for right in (-1, 0, 1)]
    return tuple(board.piece_at(square) for square in squares)


@pytest.mark.parametrize("low", [0.0, 1.0, 0.4])
def test_a_window_is_worth_the_best_move_after_each_of_its_outcomes(low: float) -> None:
    """The boards split by what python-chess shows; moves valued by the engine, board by board."""
    parameters = MoveSettings(low=low, **WIDE)
    compared = split = 0
    for boards in beliefs()[:8]:
        requests = boards.requests()
        weights = np.arange(1.0, len(boards) + 1)
        values = windows(boards, weights, parameters)
        named = Scorer(Noting()).best_moves(boards.rows, parameters.top)
        candidates = sorted({move for moves in named for move in moves} & set(requests))
        scores = Scorer(Noting()).matrix(boards.rows, candidates)
        for centre, value in zip(CENTRES, values, strict=True):
            parts: dict[object, list[int]] = {}
            for number, board in enumerate(boards.boards()):
                parts.setdefault(content(board, centre), []).append(number)
            total = 0.0
            for members in parts.values():
                share = sum(weights[n] for n in members)
                total += share * max(
                    (1 - low) * sum(weights[n] * squeezed(scores[n, m]) for n in members) / share
                    + low * min(squeezed(scores[n, m]) for n in members)
                    for m in range(len(candidates))
                )
            assert value == pytest.approx(total / weights.sum())
            compared += 1
            split += len(parts) > 1
    assert compared == 8 * 36
    assert split > 50


# -- the race -------------------------------------------------------------------------------------

RACE: dict[str, Any] = {"depth": 1, "deeper": 0, "evaluations": 1_000_000, **MEAN}
RACE |= {"capture": 1.0, "king": 5000.0}
"""All moves on all boards; a capture of the king is a move like others."""


def worth_by_brute_force(boards: BoardSet, weights: list[float], depth: int) -> dict[int, float]:
    """Return the mean score of every request and the pass."""
    found = scored(boards, [*boards.requests(), NOTHING], depth)
    return {
        request: statistics.fmean([squeezed(score, 5000.0) for score in scores], weights)
        for request, scores in found.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("deeper", [0, 1])
def test_with_all_evaluations_the_best_of_all_moves_wins(deeper: int) -> None:
    compared = 0
    for boards in beliefs()[::3]:
        weights = [1.0 + number % 3 for number in range(len(boards))]
        choice = choose(boards, weights=np.array(weights), **{**RACE, "deeper": deeper})
        if choice.why == "king":
            continue
        worth = worth_by_brute_force(boards, weights, 1 + deeper)
        assert (choice.boards, choice.candidates) == (len(boards), len(worth))
        assert choice.depth == deeper
        assert choice.value == pytest.approx(worth[choice.request])
        if not deeper:  # else the depth before has decided which moves went on
            assert choice.value == pytest.approx(max(worth.values()))
        compared += 1
    assert compared > 4


def test_a_budget_bounds_the_evaluations_and_more_of_it_finds_better_moves() -> None:
    boards = middle_game(80)
    worth = worth_by_brute_force(boards, [1.0] * len(boards), 1)
    regrets = []
    for budget in (1, 400, 10_000):
        regret = []
        for seed in range(3):
            scorer = Scorer(Noting())
            choice = choose(boards, scorer, seed=seed, **{**RACE, "evaluations": budget})
            again = choose(boards, Scorer(Noting()), seed=seed, **{**RACE, "evaluations": budget})
            assert choice == again
            assert scorer.lookups <= budget + 10 * 64
            regret.append(max(worth.values()) - worth[choice.request])
        regrets.append(statistics.mean(regret))
    print(regrets)
    assert regrets[0] > regrets[-1] + 1.0
    assert regrets[-1] == pytest.approx(0.0, abs=1.0)


def test_a_known_board_is_searched_as_deep_as_time_allows() -> None:
    """Mate in three own moves by two rooks, which a search of one ply does not see."""
    boards = BoardSet.of_fens(["8/8/8/4k3/8/8/R7/1R4K1 w - - 0 1"])
    shallow = choose(boards, **RACE)
    assert (shallow.why, shallow.boards) == ("known", 1)
    assert shallow.value is not None
    assert shallow.value < WIN - 1000
    began = time.monotonic()
    deep = choose(boards, **{**RACE, "deeper": 30}, deadline=began + 2.0)
    assert deep.value is not None
    assert deep.value > shallow.value
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize(("evaluations", "extra"), [(1, 0), (67, 0), (69, 1), (154, 1), (155, 2)])
def test_evaluations_buy_depth_on_a_known_board(evaluations: int, extra: int) -> None:
    """A ply more costs 2.27 times as much with four pieces, and at most four times with many."""
    boards = BoardSet.of_fens(["8/8/8/3k4/8/8/R7/4R2K w - - 0 1"])
    assert len(boards.requests()) == 30
    choice = choose(boards, **{**RACE, "evaluations": evaluations, "deeper": 30})
    assert choice.depth == extra


def test_a_king_that_every_move_loses_passes_unless_it_is_in_check() -> None:
    stalemate, mate = ("7k/8/6QK/8/8/8/8/8 b - - 0 1", "7k/7Q/6K1/8/8/8/8/8 b - - 0 1")
    choices = [choose(BoardSet.of_fens([fen]), **RACE) for fen in (stalemate, mate)]
    assert [choice.request == NOTHING for choice in choices] == [True, False]


def test_more_time_scores_more_boards_and_then_deeper() -> None:
    boards, reached = middle_game(20), []
    for seconds, deeper in ((0.0, 30), (1000.0, 0), (1000.0, 1)):
        deadline = time.monotonic() + seconds
        choice = choose(boards, **{**RACE, "deeper": deeper}, deadline=deadline)
        reached.append((choice.depth, choice.boards))
    assert reached[0] < reached[1] == (0, 20)
    assert reached[2] == (1, 20)
    fens = [f"{file}k{7 - file}/8/8/8/8/8/4P3/4K3 w - - 0 1" for file in range(1, 7)]
    ending = BoardSet.of_fens(fens)
    deep = choose(ending, **{**RACE, "samples": 24, "deeper": 1})
    assert (deep.depth, deep.boards) == (1, 3), "three pieces of 24, so an eighth of the samples"


# -- time -----------------------------------------------------------------------------------------


def middle_game(count: int) -> BoardSet:
    """Return boards of one game's belief, more than are scored at once."""
    for seed in range(20):
        for played in follow(rbc(), random.Random(seed), 40, limit=4000):
            for belief in played.beliefs:
                to_move = int(belief.boards.rows[0, 7]) & 1 == belief.player
                if to_move and len(belief) > 2 * count:
                    return belief.boards.sample(count, np.random.default_rng(0))
    raise AssertionError("no belief of that size")


@pytest.mark.parametrize("left", [-100.0, -1e-6, 0.0, 0.001])
def test_an_answer_exists_without_time(left: float) -> None:
    for boards in (*beliefs(), middle_game(300)):
        began = time.monotonic()
        choice = choose(boards, Scorer(Noting(depth=6)), deadline=began + left)
        assert choice.request in (NOTHING, *boards.requests())
        assert choice.boards >= 1
        assert time.monotonic() - began < 10.0


def test_a_deadline_far_away_changes_nothing() -> None:
    for boards in beliefs()[:8]:
        assert choose(boards, deadline=time.monotonic() + 1000.0) == choose(boards)
