"""Adjudication of Go: unconditional life against everything an opponent can play; leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import miai
from miai.api import make_panel
from miai.errors import UnsuitableGameError
from miai.playing.match import play
from miai.playing.replay import replay
from miai.record import Termination
from miai_go.rules.adjudicators import Safe, ScoreLead, UnconditionalLife, find_safe
from miai_go.rules.board import BLACK, WHITE, Board, BoardError
from miai_go.rules.game import GoGame, GoState, Start
from miai_go.rules.game_parameters import GoParameters, ScoreLeadParameters
from miai_go.rules.scoring import Stones

MOST_BOARDS = 500


def diagram(*rows: str) -> Stones:
    """Return stones drawn with X for Black and O for White, the highest row first."""
    return np.array([[".XO".index(mark) for mark in row] for row in reversed(rows)], np.int8)


def drawn_boards(count: int, *, seed: int, size: int) -> Iterator[tuple[Stones, int]]:
    """Yield random positions, each with a player who has most of the stones."""
    rng = np.random.default_rng(seed)
    while count:
        color = int(rng.integers(2))
        shares = (0.2, 0.65, 0.15) if color == BLACK else (0.2, 0.15, 0.65)
        stones = rng.choice(3, size=(size, size), p=shares).astype(np.int8)
        try:
            Board.from_stones(stones)
        except BoardError:
            continue
        count -= 1
        yield stones, color


def reachable(stones: Stones, color: int, *, suicide: bool) -> list[Stones] | None:
    """Return every board that an opponent can reach who alone plays; None where they are many."""
    seen = {stones.tobytes()}
    boards = [stones]
    for each in boards:
        board = Board.from_stones(each)
        for point in board.legal_points(1 - color, suicide=suicide, ko=False):
            after = board.copy()
            after.play_unchecked(1 - color, int(point))
            found = after.stones()
            if found.tobytes() not in seen:
                seen.add(found.tobytes())
                boards.append(found)
        if len(boards) > MOST_BOARDS:
            return None
    return boards


@pytest.mark.parametrize("suicide", [False, True])
def test_safe_groups_survive_any_play(suicide: bool) -> None:
    found = Counter[str]()
    for number, (stones, color) in enumerate(drawn_boards(50, seed=11, size=4)):
        safe = find_safe(stones, color, suicide=suicide)
        boards = reachable(stones, color, suicide=suicide)
        if boards is None:
            continue
        where = f"board {number}, color {color}:\n{stones[::-1]}"
        sign = 1 if color == BLACK else -1
        leads = [sign * Board.from_stones(board).area_score() for board in boards]
        assert safe.min_lead(stones.size) <= min(leads), where
        never_taken = (np.array(boards) == color + 1).all(axis=0).reshape(-1)
        if suicide:
            assert never_taken[list(safe.stones)].all(), where
        else:  # Benson's theorem: these, and no others
            assert np.flatnonzero(never_taken).tolist() == list(safe.stones), where
        owners = [sign * Board.from_stones(board).owners().reshape(-1) for board in boards]
        assert all((owner[list(safe.eyes)] == 1).all() for owner in owners), where
        found["safe" if safe.stones else "not"] += 1
        found["shared"] += safe.shared > 0
    assert min(found["safe"], found["shared"]) >= 5, found
    assert suicide or found["not"] >= 3, found  # with it, few such boards can be looked at wholly


def test_known_shapes() -> None:
    two_eyes = diagram(".X.XO", "XXXXO", "OOOO.", ".....", ".....")
    stones, eyes = (15, 16, 17, 18, 21, 23), (20, 22)
    assert find_safe(two_eyes, BLACK, suicide=True) == Safe(stones, eyes, 0)
    assert find_safe(two_eyes, WHITE, suicide=True).stones == ()
    one_eye = diagram("..XO.", "XXXO.", "OOOO.", ".....", ".....")
    assert find_safe(one_eye, BLACK, suicide=False).stones == ()
    assert find_safe(diagram("...", "...", "..."), BLACK, suicide=False) == Safe((), (), 0)


def test_suicide_may_empty_a_region_that_is_full() -> None:
    # White fills a region but for a point beside Black; where suicide is legal that empties it.
    stones = diagram("XXXXXXX", "XOOOOOX", "XOOOOOX", "XOOOO.X", "XXXXXXX", "OOOOXX.", "....OX.")
    without, with_it = (find_safe(stones, BLACK, suicide=suicide) for suicide in (False, True))
    assert without.stones
    assert not with_it.stones


def a_game(**parameters: Any) -> GoGame:
    return GoGame(GoParameters(board_size=5, **parameters))


def black_alone(game: GoGame, *rows: str) -> GoState:
    """Return a state of a game with stones of Black's alone, White to move."""
    points = np.flatnonzero(diagram(*rows).reshape(-1) == 1)
    return game.new_state(Start(tuple(points.tolist()), (), WHITE))


def fast_random(game: GoGame) -> list[miai.Agent]:
    return [miai.make_agent("fast-random", game) for _ in range(2)]


def test_a_verdict_stands_though_the_winner_only_passes() -> None:
    game = a_game(komi=0.5)
    rng = np.random.default_rng(5)
    winners = Counter[int]()
    for seed in range(12):
        panel = make_panel(game, {"unconditional-life": {}})
        record = play(game, fast_random(game), seed=seed, panel=panel)
        if record.termination is not Termination.ADJUDICATION:
            continue
        winner = record.returns.index(1.0)
        winners[winner] += 1
        decided = replay(record)
        for _ in range(20):
            state = decided.clone()
            while not state.is_terminal():
                legal = state.legal_actions()
                passes = state.current_player() == winner
                state.apply_action(game.pass_action if passes else int(rng.choice(legal)))
            assert state.returns() == record.returns, f"seed {seed}"
    assert set(winners) == {BLACK, WHITE}, winners


def test_komi_decides_what_is_enough() -> None:
    # Black keeps his 22 stones and two eyes; White can have no more than the point between.
    rows = ("XXXXX", "X.XXX", "XXXXX", "XXX.X", "XXXX.")
    assert find_safe(diagram(*rows), BLACK, suicide=True).min_lead(25) == 25
    for komi, decided in ((24.5, True), (25.0, False)):
        game = a_game(komi=komi)
        verdict = UnconditionalLife(game).judge(black_alone(game, *rows), [])
        assert (verdict is not None) is decided


def test_a_lead_has_to_last() -> None:
    game = a_game(komi=0.5)
    state = black_alone(game, ".X.X.", "XXXXX", ".....", ".....", ".....")
    rule = ScoreLead(game, ScoreLeadParameters(points=5, plies=3, playouts=100, certainty=0.9))
    for _ in range(2):
        rule.new_game(7)
        assert rule.judge(state, []) is None
        assert rule.judge(state, []) is None
        verdict = rule.judge(state, [])
        assert verdict is not None
        assert verdict.returns == (1.0, -1.0)
        assert verdict.reason.startswith("black has led for 3 plies, now by ")
    rule.new_game(7)
    open_game = game.new_initial_state()
    assert all(rule.judge(open_game, []) is None for _ in range(4))


def test_a_lead_is_judged_alike_every_time() -> None:
    game = a_game(komi=0.5)
    rules = {"score-lead": {"points": 8, "plies": 2, "playouts": 50, "certainty": 0.9}}
    seeds = range(6)
    one, other = (
        [play(game, fast_random(game), seed=seed, panel=make_panel(game, rules)) for seed in order]
        for order in (seeds, reversed(seeds))
    )
    output = [record.verdicts for record in one]
    assert output == [record.verdicts for record in reversed(other)]
    assert any(output)
    for record in one:
        assert replay(record)


def test_an_adjudicated_game_is_written_as_sgf() -> None:
    from miai_go.sgf.writing import SgfRecords

    game = a_game(komi=0.5)
    rules = {"score-lead": {"points": 1, "plies": 1, "playouts": 10, "certainty": 0.5}}
    text = SgfRecords().write(play(game, fast_random(game), seed=1, panel=make_panel(game, rules)))
    assert "RE[B+]" in text or "RE[W+]" in text
    assert "adjudication: score-lead: " in text


def test_adjudicators_refuse_games_that_they_cannot_judge() -> None:
    with pytest.raises(UnsuitableGameError, match="by territory"):
        UnconditionalLife(a_game(rules="japanese"))
    with pytest.raises(UnsuitableGameError, match="a draw by repetition"):
        UnconditionalLife(a_game(ko="simple", suicide=True, repetition="draw"))
    with pytest.raises(UnsuitableGameError, match=r"with 7\.5 points for White"):
        make_panel(a_game(), {"draw-agreement": {"from_ply": 4}})
    make_panel(a_game(komi=7), {"draw-agreement": {"from_ply": 4}})


def test_while_dead_stones_are_settled_nothing_is_decided() -> None:
    game = a_game(komi=0.5, rules="chinese", dead_stones="agreement")
    state = black_alone(game, "XXXXX", "X.XXX", "XXXXX", "XXX.X", "XXXXX")
    rule = UnconditionalLife(game)
    assert rule.judge(state, []) is not None
    state.apply_action(game.pass_action)
    state.apply_action(game.pass_action)
    assert not state.is_terminal()
    assert rule.judge(state, []) is None
