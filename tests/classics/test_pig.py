"""Pig: the die, who keeps what, the end and the ranking."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.slow import with_slow

import miai
from miai import Player, State
from miai.errors import IllegalActionError
from miai.testing import check_game
from miai_classics.pig import PigState


def play(text: str, **parameters: int) -> PigState:
    """Play moves: a digit is a roll and its face, ``h`` a hold."""
    state = miai.load_game("pig", **parameters).new_initial_state()
    assert isinstance(state, PigState)
    for letter in text:
        for word in ("hold",) if letter == "h" else ("roll", letter):
            state.apply_action(state.string_to_action(word))
    return state


@pytest.mark.parametrize("players", with_slow([2, 3, 6], 6))
def test_it_keeps_the_rules_of_games(players: int) -> None:
    game = miai.load_game("pig", players=players, goal=8, turns=3)
    assert check_game(game, games=6).positions > 20


@pytest.mark.parametrize(
    ("moves", "points", "rolled", "turn"),
    [
        ("", (0, 0, 0), 0, 0),
        ("46", (0, 0, 0), 10, 0),
        ("46h", (10, 0, 0), 0, 1),
        ("46h1", (10, 0, 0), 0, 2),
        ("46h1551", (10, 0, 0), 0, 0),
        ("46h3h5h2", (10, 3, 5), 2, 0),
        ("6666", (0, 0, 0), 24, 0),
    ],
)
def test_a_one_loses_the_turn_and_a_hold_keeps_it(
    moves: str, points: tuple[int, ...], rolled: int, turn: int
) -> None:
    state = play(moves)
    assert (state.points, state.rolled, state.turn_of) == (points, rolled, turn)
    assert state.current_player() == turn
    assert state.legal_actions() == ([0, 1] if rolled else [0])


def test_nobody_holds_before_rolling() -> None:
    with pytest.raises(IllegalActionError):
        play("").apply_action(1)


@pytest.mark.parametrize(
    ("moves", "parameters", "result", "returns"),
    [
        ("66666", {}, "30-0-0", (1.0, -0.5, -0.5)),
        ("2h3h66666", {}, "2-3-30", (-1.0, 0.0, 1.0)),
        ("5h5h66", {"goal": 12}, "5-5-12", (-0.5, -0.5, 1.0)),
        ("4h6h3h", {"turns": 1}, "4-6-3", (0.0, 1.0, -1.0)),
        ("4h4h4h", {"turns": 1}, "4-4-4", (0.0, 0.0, 0.0)),
        ("1" * 3, {"turns": 1}, "0-0-0", (0.0, 0.0, 0.0)),
        ("3h4h", {"turns": 1, "players": 2}, "3-4", (-1.0, 1.0)),
        ("2h3h4h5h", {"turns": 1, "players": 4}, "2-3-4-5", (-1.0, -1 / 3, 1 / 3, 1.0)),
    ],
)
def test_the_end_ranks_all_players(
    moves: str, parameters: dict[str, int], result: str, returns: tuple[float, ...]
) -> None:
    state = play(moves, **parameters)
    assert state.current_player() == Player.TERMINAL
    assert state.legal_actions() == []
    assert state.result_to_string() == result
    assert state.returns() == pytest.approx(returns)
    assert sum(state.returns()) == pytest.approx(0.0)


def test_a_short_race_has_the_value_that_counting_gives() -> None:
    """Goal 2, a turn each: whoever rolls no one first has won; two in a row draw."""
    one = Fraction(1, 6)
    first, second = 1 - one, one * (1 - one)

    def value(state: State) -> Fraction:
        if state.is_terminal():
            return Fraction(state.returns()[0])
        if state.is_chance_node():
            chances = [(action, Fraction(1, 6)) for action, _ in state.chance_outcomes()]
            return sum((p * value(state.child(a)) for a, p in chances), Fraction(0))
        return value(state.child(0))

    start = miai.load_game("pig", players=2, goal=2, turns=1).new_initial_state()
    assert value(start) == first - second
