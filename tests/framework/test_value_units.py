"""Values keep their unit from the agent to every display, and nothing is clipped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.framework.histories import TTT
from tests.framework.test_human import game_at_table

import miai
from miai import Agent, ClockReading, Decision, GameInfo
from miai.cli.people import hint_text, move_text
from miai.information import PlayerView
from miai.playing.agreement import agreed_values
from miai.playing.match import InProcessSeat, play_game
from miai.record import MoveRecord
from miai.record_reader import read_record
from miai.search.protocol import SearchResult
from miai.values import Evaluation, ValueUnit

WON_OR_LOST = miai.load_game("go").info
POKER = miai.load_game("kuhn_poker").info
SHARES = replace(WON_OR_LOST, min_utility=0.0, max_utility=1.0, utility_sum=1.0)
THREE = replace(WON_OR_LOST, num_players=3, player_names=("a", "b", "c"))

U, E, P, C, S = (
    ValueUnit.UTILITY,
    ValueUnit.EXPECTED_UTILITY,
    ValueUnit.PROBABILITY,
    ValueUnit.CENTIPAWNS,
    ValueUnit.SCORE,
)


@pytest.mark.parametrize(
    ("value", "unit", "info", "text"),
    [
        (0.246, E, WON_OR_LOST, "win rate 62.3 %"),
        (-1.0, E, WON_OR_LOST, "win rate 0.0 %"),
        (0.25, E, SHARES, "win rate 25.0 %"),
        (0.246, U, WON_OR_LOST, "utility +0.25"),
        (0.5, E, POKER, "utility +0.50"),  # chips, not wins
        (0.5, E, THREE, "utility +0.50"),
        (0.5, E, replace(WON_OR_LOST, utility_sum=None), "utility +0.50"),
        (0.623, P, POKER, "win rate 62.3 %"),
        (42.0, C, WON_OR_LOST, "evaluation +0.42 pawns"),
        (-312.4, C, WON_OR_LOST, "evaluation -3.12 pawns"),
        (-0.2, C, WON_OR_LOST, "evaluation +0.00 pawns"),
        (99.5, S, WON_OR_LOST, "score +99.50"),
        (250.0, U, WON_OR_LOST, "utility +250.00"),
        (1.5, E, WON_OR_LOST, "utility +1.50"),
        (1.5, P, WON_OR_LOST, "score +1.50"),
    ],
)
def test_each_unit_has_its_words(value: float, unit: ValueUnit, info: GameInfo, text: str) -> None:
    assert Evaluation(value, unit).text(info) == text


def test_a_value_without_a_unit_is_a_utility_and_an_unknown_unit_a_score() -> None:
    assert Evaluation.from_statistics({"value": 0.5}) == Evaluation(0.5, U)
    assert Evaluation.from_statistics({"value": 7, "value_unit": "centipawns"}) == Evaluation(7, C)
    for unit in ("furlongs", 3, None, ["utility"]):
        assert Evaluation.from_statistics({"value": 1, "value_unit": unit}) == Evaluation(1, S)
    for value in (None, "1", True, float("nan"), float("inf"), 10**400):
        assert Evaluation.from_statistics({"value": value}) is None
    for unit in ValueUnit:
        evaluation = Evaluation(0.25, unit)
        assert Evaluation.from_statistics(evaluation.statistics()) == evaluation


def test_only_utilities_and_probabilities_are_utilities() -> None:
    assert Evaluation(0.5, U).utility(WON_OR_LOST) == 0.5
    assert Evaluation(0.5, E).utility(POKER) == 0.5
    assert Evaluation(0.75, P).utility(WON_OR_LOST) == 0.5
    assert Evaluation(0.75, P).utility(POKER) is None
    assert Evaluation(0.5, C).utility(WON_OR_LOST) is None
    assert Evaluation(0.5, S).utility(WON_OR_LOST) is None
    assert Evaluation(1.5, U).utility(WON_OR_LOST) is None


def test_the_other_players_value_is_the_opposite_in_its_own_unit() -> None:
    for unit, info, expected in (
        (U, WON_OR_LOST, -0.25),
        (E, SHARES, 0.75),
        (P, WON_OR_LOST, 0.75),
        (C, SHARES, -0.25),
        (S, SHARES, -0.25),
    ):
        assert Evaluation(0.25, unit).of_first_player(1, info) == Evaluation(expected, unit)
        assert Evaluation(0.25, unit).of_first_player(0, info) == Evaluation(0.25, unit)
    assert Evaluation(0.25).of_first_player(1, THREE) == Evaluation(0.25)


# -- what agents declare ---------------------------------------------------------------------------

DECLARED: list[tuple[str, str, dict[str, Any], ValueUnit]] = [
    ("tic_tac_toe", "mcts", {"simulations": 20}, E),
    ("tic_tac_toe", "alpha-beta", {}, U),
    ("go", "mcts", {"simulations": 20}, E),
    ("phantom_tic_tac_toe", "ismcts", {"simulations": 20}, E),
    ("phantom_tic_tac_toe", "pimc", {"simulations": 20}, E),
    ("phantom_tic_tac_toe", "belief-minimax", {"depth": 1}, U),
    ("mini_rbc", "belief-minimax", {"depth": 1}, S),  # 0 is 'not proved', not a draw
]


@pytest.mark.parametrize(("name", "agent", "values", "unit"), DECLARED)
def test_agents_declare_the_unit_of_their_value(
    name: str, agent: str, values: dict[str, Any], unit: ValueUnit
) -> None:
    game = miai.load_game(name)
    agents = [miai.make_agent(agent, game, **values), miai.make_agent("random", game)]
    record = read_record(miai.play(game, agents, move_limit=4).to_json_lines())
    first = next(move for move in record.moves if move.actor == 0)
    assert first.statistics["value_unit"] == unit
    assert (evaluation := Evaluation.from_statistics(first.statistics)) is not None
    assert evaluation.unit is unit


# -- displays --------------------------------------------------------------------------------------


class Claims(Agent):
    """Plays at random and reports a value of 88 centipawns."""

    def act(self, clock: ClockReading) -> Decision:
        statistics = Evaluation(88.0, C).statistics()
        return Decision(self.rng.choice(self.view.legal_actions), statistics=statistics)


def test_a_person_sees_the_opponents_value_in_its_unit() -> None:
    shown, _ = game_at_table("b2", "resign", opponent=Claims(TTT), seed=1)
    assert ": its evaluation +0.88 pawns, 0.0 s\n" in shown


def test_a_hint_shows_the_values_of_a_search_in_its_unit() -> None:
    view = PlayerView.at(TTT.new_initial_state(), 0)
    for unit, text in ((E, "win rate 75.0 %"), (U, "utility +0.50"), (C, "evaluation +0.01 pawns")):
        result = SearchResult(action=4, value=0.5, unit=unit, visits={4: 9}, values={4: 0.5})
        assert f"1. b2: {text}, 9 visits" in hint_text(view, result)


def test_a_record_of_before_units_is_shown_as_utility() -> None:
    state = miai.load_game("tic_tac_toe").new_initial_state()
    move = MoveRecord(ply=0, actor=0, action=4, text="b2", statistics={"value": 0.5})
    assert move_text(state, move) == "x played b2: its utility +0.50"


def test_centipawns_agree_to_nothing() -> None:
    seats = [InProcessSeat(Claims(TTT)) for _ in range(2)]
    moves = play_game(TTT, seats, seed=3).moves
    assert agreed_values(TTT, moves, count=1, from_ply=0) is None
    for move in moves:  # within the bounds of utilities, but still centipawns
        move.statistics = Evaluation(0.0, C).statistics()
    assert agreed_values(TTT, moves, count=1, from_ply=0) is None
    for move in moves:
        move.statistics = Evaluation(0.75, P).statistics()
    assert agreed_values(TTT, moves, count=1, from_ply=0) == [[0.5], [0.5]]
