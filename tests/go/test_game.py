"""The game object and its states: parameters, handicap, identity, text, tensors, conformance."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.positions import go, play

from miai.api import renderer_for
from miai.errors import InvalidActionError, InvalidStateError
from miai.information import PlayerView
from miai.playing.openings import MovesReader, random_opening
from miai.testing import check_game
from miai_go.rules.coordinates import parse_vertex, star_points, vertex
from miai_go.rules.game import Start
from miai_go.rules.game_parameters import PRESETS

# -- conformance ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize(
    "more",
    [
        {"board_size": 3},
        {"board_size": 5},
        {"board_size": 9, "handicap": 3},
        {"board_size": 4, "dead_stones": "agreement"},
        {"board_size": 2, "ko": "simple", "repetition": "allowed"},
        {"board_size": 1},
    ],
    ids=lambda more: "-".join(str(value) for value in more.values()),
)
def test_every_preset_keeps_the_contract_of_a_game(rules: str, more: dict[str, Any]) -> None:
    size = more["board_size"]
    dead_stones = {"dead_stones": "playouts" if size == 5 else "none"}
    if size > 2:
        dead_stones |= {k: v for k, v in more.items() if k == "dead_stones"}
    game = go(rules=rules, **{**more, **dead_stones})
    check_game(game, games=1 if size > 4 else 3, max_plies=25 if size > 4 else None)


# -- parameters -----------------------------------------------------------------------------------


def test_presets_settle_everything_and_single_parameters_override() -> None:
    japanese = go(rules="japanese").parameters
    assert (japanese.komi, japanese.ko, japanese.scoring) == (6.5, "simple", "territory")
    mixed = go(rules="japanese", ko="situational", komi=5).parameters
    assert (mixed.komi, mixed.ko, mixed.scoring) == (5, "situational", "territory")
    assert go(board_size=9).info.max_game_length == go(board_size=9).parameters.max_moves


@pytest.mark.parametrize("rules", PRESETS)
def test_a_game_is_rebuilt_from_its_parameters(rules: str) -> None:
    game = go(board_size=13, rules=rules, handicap_points=["D4", "K10"], white_stones=["C3"])
    values = json.loads(json.dumps(game.parameters.model_dump(mode="json")))
    again = go(**values)
    assert again.parameters == game.parameters
    assert again.rules == game.rules
    assert again.new_initial_state().key() == game.new_initial_state().key()
    assert again.white_bonus == game.white_bonus


FIXED = {
    9: "C3 G7 C7 G3 E5 C5 G5 E3 E7",
    13: "D4 K10 D10 K4 G7 D7 K7 G4 G10",
    19: "D4 Q16 D16 Q4 K10 D10 Q10 K4 K16",
}
"""Places of the GTP specification, 4.1.1: corners, centre, sides."""


@pytest.mark.parametrize("size", FIXED)
@pytest.mark.parametrize("stones", range(2, 10))
def test_fixed_handicap(size: int, stones: int) -> None:
    places = FIXED[size].split()
    corners, centre, sides = places[:4], places[4:5], places[5:]
    expected = corners[: min(stones, 4)] + sides[: {6: 2, 7: 2, 8: 4, 9: 4}.get(stones, 0)]
    expected += centre if stones in (5, 7, 9) else []
    state = go(board_size=size, handicap=stones).new_initial_state()
    found = {state.action_to_string(p) for p in np.flatnonzero(state.board.stones()).tolist()}
    assert found == set(expected)
    assert state.current_player() == 1, "White moves first"
    assert state.game.rules.komi == 0.5


def test_black_may_move_first_in_a_handicap_game_where_that_is_said() -> None:
    assert go(handicap=2, first_player="black").new_initial_state().current_player() == 0


# -- notation -------------------------------------------------------------------------------------


@given(st.integers(1, 25), st.data())
def test_vertices_are_read_back(size: int, data: st.DataObject) -> None:
    action = data.draw(st.integers(0, size * size))
    text = vertex(action, size)
    assert "I" not in text
    assert parse_vertex(text, size) == parse_vertex(f" {text.lower()} ", size) == action


@pytest.mark.parametrize(
    "text", ["", "I5", "A0", "A10", "K1", "A-1", "A1x", "55", "A²", "\0", "Ω1"]
)
def test_texts_that_are_not_vertices_are_refused(text: str) -> None:
    with pytest.raises(InvalidActionError, match=r"not a vertex|off the 9x9 board"):
        parse_vertex(text, 9)


def test_corners_and_stars() -> None:
    assert (vertex(0, 19), vertex(18, 19), vertex(360, 19)) == ("A1", "T1", "T19")
    assert vertex(24, 25) == "Z1"
    assert {vertex(p, 9) for p in star_points(9)} == {"C3", "C7", "G3", "G7", "E5"}
    assert len(star_points(19)) == 9
    assert star_points(6) == ()


@pytest.mark.parametrize(
    ("move", "said"),
    [("E5", "occupied"), ("D44", "off|no vertex"), ("resume", "not a vertex"), ("A1", "suicide")],
)
def test_moves_that_cannot_be_made_are_refused_with_the_reason(move: str, said: str) -> None:
    state = play(go(rules="chinese").new_initial_state(), "E5 A2 E6 B1")
    with pytest.raises(InvalidActionError, match=said):
        state.string_to_action(move)

    over = play(state, "pass pass")
    assert over.legal_actions() == []
    with pytest.raises(InvalidActionError, match="over"):
        over.string_to_action("E7")


def test_moves_files_open_games(tmp_path: Any) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("E5 C3 # tengen\nc3 g7 pass\n")
    read = MovesReader(go(board_size=9)).read(file)
    assert [opening.actions for opening in read] == [(40, 20), (20, 60, 81)]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_random_openings_pass_where_no_point_is_legal_and_nowhere_else(size: int) -> None:
    game = go(board_size=size, rules="chinese")
    for seed in range(200):
        state = game.new_initial_state()
        for action in random_opening(game, plies=min(size**2, 6), seed=seed):
            assert (action == game.pass_action) == (state.legal_actions()[0] == game.pass_action)
            state.apply_action(action)


# -- identity and text ----------------------------------------------------------------------------


def test_keys_tell_histories_apart_and_position_keys_do_not() -> None:
    one = play(go(board_size=5).new_initial_state(), "A1 B2 C3 D4")
    other = play(go(board_size=5).new_initial_state(), "C3 B2 A1 D4")
    assert one.key() != other.key(), "superko forbids each something else"
    assert one.position_key() == other.position_key()
    free = {"board_size": 5, "ko": "simple", "repetition": "allowed"}
    one = play(go(**free).new_initial_state(), "A1 B2 C3 D4")
    other = play(go(**free).new_initial_state(), "C3 B2 A1 D4")
    assert one.key() == other.key(), "where no rule looks back, transpositions are one state"


def test_keys_are_the_same_in_every_process_and_tell_passes_apart() -> None:
    state = play(go(board_size=5).new_initial_state(), "A1 B2 pass")
    assert state.key().hex() == "b9649647cbca5a78e7e5b6f301633703"
    assert state.position_key() == 10427005805796352787

    start = go(board_size=5, rules="japanese").new_initial_state()
    passed = play(start.clone(), "pass")
    assert passed.key() != start.key()
    assert passed.position_key() != start.position_key()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from(sorted(PRESETS)), st.sampled_from(["none", "agreement"])
)
def test_states_are_rebuilt_from_text(seed: int, rules: str, dead_stones: str) -> None:
    rng = random.Random(seed)
    game = go(board_size=4, rules=rules, dead_stones=dead_stones, handicap_points=["B2", "C3"])
    state = game.new_initial_state()
    for _ in range(rng.randrange(60)):
        if not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
    again = game.deserialize(state.serialize())
    assert again.key() == state.key()
    assert again.legal_actions() == state.legal_actions()
    assert str(again) == str(state)


def test_states_of_other_starts_are_rebuilt_from_text() -> None:
    game = go(board_size=5)
    state = game.new_state(Start((0, 6), (12,), to_move=1))
    state.apply_action(24)
    again = game.deserialize(state.serialize())
    assert again.start == state.start
    assert again.key() == state.key()
    with pytest.raises(InvalidStateError):
        game.new_state(Start((0, 0), (), to_move=0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"size":9,"actions":[0,0]}',
        '{"size":9,"actions":[500]}',
        '{"size":9,"actions":["0"]}',
        '{"size":9,"actions":[true]}',
        '{"size":9,"actions":[1e3]}',
        '{"size":19,"actions":[]}',
        '{"size":9,"actions":' + "[" * 100_000,
        '{"size":9,"actions":[' + "81," * 5000 + "81]}",
        '{"size":9,"actions":[],"start":[[0],[0],0]}',
        '{"size":9,"actions":[],"start":[[-1],[],0]}',
        '{"size":9,"actions":[],"start":[[0],[],7]}',
        '{"size":9,"actions":[],"start":5}',
        "[" * 100_000,
    ],
    ids=range(16),
)
def test_invalid_state_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidStateError, match="go"):
        go(board_size=9).deserialize(text)


def test_a_clone_shares_nothing_that_changes() -> None:
    state = play(go(board_size=5).new_initial_state(), "C3 C2")
    before = (str(state), state.key(), state.legal_actions())
    clone = play(state.clone(), "B2 D3 A1 A2 pass pass")
    assert clone.is_terminal()
    assert (str(state), state.key(), state.legal_actions()) == before
    state.legal_actions().clear()
    assert state.legal_actions() == before[2]


# -- what players see -----------------------------------------------------------------------------


def test_only_integers_are_actions() -> None:
    state = go(board_size=5).new_initial_state()
    strange: list[Any] = ["3", 3.0, True, None, np.int64(3)]
    for looked_at in (False, True):
        assert state.is_legal(3)
        assert not any(state.is_legal(action) for action in strange)
        assert looked_at or state.legal_actions()


def test_the_tensor_shows_the_board_from_the_players_side() -> None:
    state = play(go(board_size=5).new_initial_state(), "A1 C3")
    black, white = state.observation_tensor(0), state.observation_tensor(1)
    assert black.shape == state.game.observation_tensor_shape() == (7, 5, 5)
    assert black[0, 0, 0] == black[1, 2, 2] == 1
    assert white[1, 0, 0] == white[0, 2, 2] == 1
    assert black[2].sum() == 23
    assert (black[3] == black[2]).all(), "every empty point is legal"
    assert np.argwhere(black[4]).tolist() == [[2, 2]], "the last stone"
    assert set(np.unique(black)) == {0, 1}
    assert black[5:].all()
    assert not white[5:].any()


def test_the_board_is_drawn_with_coordinates_and_the_last_move() -> None:
    game = go(board_size=9)
    state = play(game.new_initial_state(), "E5 J1")
    drawn = renderer_for(game).render(PlayerView.at(state, 0))
    assert drawn == str(state)
    lines = drawn.split("\n")
    assert lines[0].split() == list("ABCDEFGHJ")
    assert lines[5] == " 5 . . . . X . . . . 5"
    assert lines[9] == " 1 . . . . . . . .(O)1"
    assert lines[7] == " 3 . . + . . . + . . 3"
    assert "Black to play after J1" in drawn

    state = play(go(board_size=25).new_initial_state(), "A25 Z1")
    lines = str(state).split("\n")
    assert lines[0].split() == list("ABCDEFGHJKLMNOPQRSTUVWXYZ")
    assert len({len(line) for line in lines[1:26]}) <= 2
    assert lines[25].endswith("(O)1")
