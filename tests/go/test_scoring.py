"""Counting: area and territory, prisoners, dead stones and who finds them, compensation."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.positions import go, play, position

from miai.errors import AgentUnavailableError, UnknownComponentError
from miai_go.rules.board import Board
from miai_go.rules.dead_stones import PlayoutJudge, settle
from miai_go.rules.game import GoState, Phase
from miai_go.rules.game_parameters import PlayoutJudgeParameters
from miai_go.rules.scoring import in_seki

WALLS = "C5 D5 C4 D4 C3 D3 C2 D2 C1 D1"
"""On 5x5: Black holds A to C, White D and E; 15 points of area to 10."""


@pytest.mark.parametrize(
    ("scoring", "komi", "result"),
    [
        ("area", 0, "B+5"),
        ("area", 5, "0"),
        ("area", 7.5, "W+2.5"),
        ("territory", 0, "B+5"),  # 10 points to 5
        ("territory", 5.5, "W+0.5"),
    ],
)
def test_a_divided_board(scoring: str, komi: float, result: str) -> None:
    state = play(go(board_size=5, scoring=scoring, komi=komi).new_initial_state(), WALLS)
    play(state, "pass pass")
    assert state.result_to_string() == result
    margin = 0 if result == "0" else 1 if result[0] == "B" else -1
    assert state.returns() == (margin, -margin)


def test_a_move_inside_own_territory_costs_a_point_of_territory_and_none_of_area() -> None:
    for scoring, margin in (("area", 5), ("territory", 3)):
        game = go(board_size=5, scoring=scoring, komi=0)
        state = play(game.new_initial_state(), f"{WALLS} A1 pass A2 pass pass")
        assert state.score().margin == margin, scoring


def test_prisoners_count_under_territory_scoring() -> None:
    """White throws a stone into A1, Black answers by A2 and takes it by B1."""
    moves = f"{WALLS} pass A1 A2 pass B1 pass pass"
    area = play(go(board_size=5, scoring="area", komi=0).new_initial_state(), moves)
    territory = play(go(board_size=5, scoring="territory", komi=0).new_initial_state(), moves)
    assert area.score().margin == 5
    # Two of Black's points are filled and one prisoner is made: 8 + 1 to 5.
    assert territory.score().margin == 4


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, 2, 3, 5]))
def test_aga_rules_count_alike_by_area_and_by_territory(seed: int, stones: int) -> None:
    """Pass stones and White's last pass make the two methods one, handicap included (AGA, 1991)."""
    corners = ["B2", "D4", "B4", "D2", "C3"][:stones]
    games = [
        go(
            board_size=5,
            rules="aga",
            scoring=scoring,
            dead_stones="none",
            handicap_points=corners,
            komi=0.5,
            max_moves=2000,
        )
        for scoring in ("area", "territory")
    ]
    rng = random.Random(seed)
    states = [game.new_initial_state() for game in games]
    while not states[0].is_terminal():
        action = rng.choice(states[0].legal_actions())
        for state in states:
            state.apply_action(action)
    assert states[0].ending == 0, "both passed"
    assert states[0].score().margin == states[1].score().margin, f"seed {seed}"


def test_aga_pass_stones_are_owed_while_dead_stones_are_settled() -> None:
    """Black passes second, so White owes a stone: while settling, after it, and not in play."""
    parameters: dict[str, Any] = {"rules": "aga", "scoring": "territory", "komi": 0}
    state = go(board_size=5, dead_stones="agreement", **parameters).new_initial_state()
    moves = "C3 pass pass pass resume pass"
    seen = [play(state, move).pass_stones for move in moves.split()]
    assert seen == [(0, 0), (0, 1), (1, 2), (1, 2), (1, 1), (1, 2)]
    play(state, "pass pass pass")
    assert state.is_terminal()
    assert state.pass_stones == (2, 3), "three moves each, one of Black's a stone"


def test_compensation_follows_the_preset() -> None:
    points = ["C3", "G7", "C7"]
    bonus = {
        rules: go(board_size=9, rules=rules, handicap_points=points).white_bonus
        for rules in ("tromp-taylor", "chinese", "japanese", "aga")
    }
    assert bonus == {"tromp-taylor": 0.5, "chinese": 3.5, "japanese": 0.5, "aga": 2.5}
    assert go(board_size=9, rules="aga", scoring="territory", handicap=3).white_bonus == 0.5
    assert go(board_size=9, rules="chinese", handicap=3, compensation="none").white_bonus == 0.5
    assert go(board_size=9, rules="chinese", handicap=3, komi=7.5).white_bonus == 10.5


SPLIT = """
    XX...XO..
    .X...XO..
    XX...XOO.
    .....XO.O
    XXXXXXOO.
    ...O.XO..
    .O...XOOO
    .....XOX.
    .....XO.."""
# Black owns A to F and White G to J; Black's B.. wall encloses four white stones (D4, B3) and White
# one black stone (H2).
DEAD = {"D4", "B3", "H2"}


def split_board(**parameters: Any) -> GoState:
    return position(SPLIT, komi=0, **parameters)


def vertices(state: GoState, points: tuple[int, ...]) -> set[str]:
    return {state.action_to_string(point) for point in points}


def test_playouts_find_the_dead_stones_of_a_settled_board() -> None:
    state = play(split_board(dead_stones="playouts"), "pass pass")
    score = state.score()
    assert vertices(state, score.dead) == DEAD
    assert score.margin == 54 - 27
    as_it_stands = play(split_board(dead_stones="none"), "pass pass").score()
    assert as_it_stands.margin < 27


def test_dead_stones_are_prisoners_under_territory_scoring() -> None:
    state = play(split_board(dead_stones="playouts", scoring="territory"), "pass pass")
    score = state.score()
    black_stones, white_stones = 19, 14  # without the dead ones
    assert score.black == 54 - black_stones + 2
    assert score.white == 27 - white_stones + 1


@pytest.mark.parametrize(
    ("diagram", "points"),
    [
        # A neutral point beside both, and an eye of one, two or three points.
        (". X . O O / X X O O O / O O O O O / O O O O O / O O O O .", "A5"),
        (". . X . O / X X X O O / O O O O O / O O O O O / O O O O .", "A5 B5"),
        (". . . X . / X X X X O / O O O O O / O O O O O / O O O O .", ""),  # room for two eyes
        # Two eyes of one point: no seki. No neutral point: no seki.
        (". X . X . / X X X X O / O O O O O / O O O O O / O O O O .", ""),
        (". X O O O / X X O O O / O O O O O / O O O O O / O O O O .", ""),
    ],
)
def test_points_of_a_group_in_seki(diagram: str, points: str) -> None:
    """Drawn by hand; White has an eye at E1, of a group that touches the neutral point too."""
    rows = [[".XO".index(mark) for mark in row.split()] for row in diagram.split("/")]
    board = Board.from_stones(rows[::-1])
    owners = board.owners()
    owners[board.stones() != 0] = 0
    seki = in_seki(board.stones(), owners)
    found = {f"{'ABCDE'[x]}{y + 1}" for y, x in zip(*seki.nonzero(), strict=True)}
    assert found - {"E1"} == set(points.split())


def test_the_judge_is_a_function_of_the_position() -> None:
    state = play(split_board(dead_stones="playouts"), "pass pass")
    other = state.game.deserialize(state.serialize())
    judge = PlayoutJudge(state.game, PlayoutJudgeParameters())
    assert judge.dead_points(state) == judge.dead_points(state) == other.score().dead
    assert str(state) == str(state)


def test_agreement_is_reached_by_marking_chains() -> None:
    state = play(split_board(dead_stones="agreement"), "pass pass")
    assert state.phase == Phase.PROPOSE
    assert state.current_player() == 0
    assert state.legal_actions()[-1] == state.game.pass_action
    play(state, "D4 B3 H2")
    assert vertices(state, state.dead) == DEAD
    assert state.string_to_action("A9") == state.string_to_action("B8"), "any stone names its chain"
    play(state, "pass")
    assert (state.phase, state.current_player()) == (Phase.REPLY, 1)
    assert [state.action_to_string(a) for a in state.legal_actions()] == ["pass", "resume"]
    assert state.game.deserialize(state.serialize()).key() == state.key()
    play(state, "pass")
    assert state.is_terminal()
    assert state.result_to_string() == "B+27"


def test_a_refused_proposal_resumes_play_with_the_proposer_to_move() -> None:
    state = play(split_board(dead_stones="agreement"), "pass pass G9 pass resume")
    assert (state.phase, state.current_player(), state.dead) == (Phase.PLAY, 0, ())
    assert state.passes == 0
    play(state, "pass pass pass resume")
    assert state.phase == Phase.PLAY
    play(state, "pass pass")
    assert state.is_terminal(), "after two refusals the board is counted as it stands"
    assert state.score().dead == ()
    assert state.score().margin == state.score_by_area().margin


def test_players_settle_by_playouts() -> None:
    state = play(split_board(dead_stones="agreement"), "pass pass")
    while not state.is_terminal():
        state.apply_action(settle(state))
    assert vertices(state, state.score().dead) == DEAD


def test_a_player_refuses_what_is_worse_for_it() -> None:
    grabbing = play(split_board(dead_stones="agreement"), "pass pass G9 pass")
    assert settle(grabbing) == grabbing.game.resume_action
    generous = play(split_board(dead_stones="agreement"), "pass pass D4 pass")
    assert settle(generous) == generous.game.pass_action


def test_the_referee_is_any_component_of_the_kind() -> None:
    state = play(split_board(dead_stones="referee", referee="none"), "pass pass")
    assert state.score().dead == ()
    few = split_board(dead_stones="referee", referee="playouts", referee_settings={"playouts": 200})
    assert vertices(few, play(few, "pass pass").score().dead) == DEAD
    with pytest.raises(UnknownComponentError, match="Did you mean 'playouts'"):
        go(dead_stones="referee", referee="playout")


def test_a_missing_referee_is_reported_before_the_game() -> None:
    settings = {"command": ["no-such-engine", "--gtp"]}
    with pytest.raises(AgentUnavailableError, match="no-such-engine"):
        go(dead_stones="referee", referee="gtp", referee_settings=settings)


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "japanese", "aga"])
def test_the_move_limit_ends_the_game_by_current_area(rules: str) -> None:
    state = go(board_size=5, rules=rules, max_moves=12, komi=0).new_initial_state()
    play(state, f"{WALLS} A1")
    assert not state.is_terminal()
    assert state.truncated_returns() == (1.0, -1.0)
    play(state, "pass")
    assert state.is_terminal()
    assert state.result_to_string() == "B+5"
