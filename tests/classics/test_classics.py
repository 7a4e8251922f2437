"""The classic games beside OpenSpiel, tables and counts: rules, rewards, what players see."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import pyspiel
import pytest
from tests.framework.histories import TTT, state_after, view_of
from tests.framework.test_information import histories
from tests.framework.tree_games import states_of
from tests.seeds import seed_of_test
from tests.slow import with_slow

import miai
import miai.render
from miai import Observation, Player, PlayerView, State
from miai.api import renderer_for
from miai.errors import IllegalActionError, InvalidActionError
from miai.testing import check_game
from miai_classics.pig import PigState

ORDERS = ("random", "ascending", "descending")
RETURNS = ("win_loss", "point_difference", "total_points")
CASES = [
    {"players": players, "num_cards": cards, "points_order": order, "returns_type": returns}
    for (players, cards), order, returns in product([(2, 5), (3, 4)], ORDERS, RETURNS)
]
TABLES: dict[str, dict[tuple[str, str], tuple[float, float]]] = {
    "matching_pennies": {
        ("heads", "heads"): (1, -1),
        ("heads", "tails"): (-1, 1),
        ("tails", "heads"): (-1, 1),
        ("tails", "tails"): (1, -1),
    },
    "rock_paper_scissors": {
        ("rock", "rock"): (0, 0),
        ("rock", "paper"): (-1, 1),
        ("rock", "scissors"): (3, -3),
        ("paper", "scissors"): (-1, 1),
        ("paper", "rock"): (1, -1),
        ("scissors", "paper"): (1, -1),
        ("scissors", "rock"): (-3, 3),
    },
    "prisoners_dilemma": {
        ("cooperate", "cooperate"): (3, 3),
        ("cooperate", "defect"): (0, 5),
        ("defect", "cooperate"): (5, 0),
        ("defect", "defect"): (1, 1),
    },
}
VALUES: dict[str, dict[str, Any]] = {"rock_paper_scissors": {"rock": 3.0}}
states = cache(partial(states_of, TTT))
PHANTOM = miai.load_game("phantom_tic_tac_toe")
play = partial(state_after, PHANTOM)


@pytest.mark.parametrize("values", CASES)
def test_goofspiel_goes_as_in_openspiel(values: dict[str, Any]) -> None:
    rng = random.Random(seed_of_test())
    game, other_game = miai.load_game("goofspiel", **values), pyspiel.load_game("goofspiel", values)
    # OpenSpiel's minimum is rounded to a whole number.
    assert game.max_utility() == pytest.approx(other_game.max_utility())
    for _ in range(8):
        state, other = game.new_initial_state(), other_game.new_initial_state()
        while not state.is_terminal():
            assert int(state.current_player()) == other.current_player()
            if state.is_chance_node():
                assert dict(state.chance_outcomes()) == pytest.approx(dict(other.chance_outcomes()))
                action = rng.choice(state.legal_actions())
                state.apply_action(action)
                other.apply_action(action)
                continue
            for player in range(values["players"]):
                assert state.legal_actions_of(player) == other.legal_actions(player)
            actions = [rng.choice(other.legal_actions(p)) for p in range(values["players"])]
            state.apply_actions(dict(enumerate(actions)))
            other.apply_actions(actions)
        if not other.is_terminal():  # OpenSpiel lets chance turn up the only prize that is left
            other.apply_action(other.legal_actions()[0])
        assert state.returns() == pytest.approx(other.returns())


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("values", with_slow(CASES[::4], CASES[8]))
def test_the_rules_of_goofspiel_are_kept(values: dict[str, Any], hidden: bool) -> None:
    game = miai.load_game("goofspiel", **values, imp_info=hidden)
    report = check_game(game, games=2, seed=seed_of_test())
    assert (report.beliefs > 0) == hidden


def test_hidden_bids_show_the_winner_only() -> None:
    game = miai.load_game(
        "goofspiel", num_cards=3, players=3, points_order="descending", imp_info=True
    )
    state = game.new_initial_state()
    assert state.legal_actions_of(2) == [0, 1, 2]
    state.apply_actions({0: 2, 1: 2, 2: 0})  # 3, 3 and 1 for the prize 3: nobody
    seen: Any = state.observation(2)
    assert (seen.actor, seen.action, seen.actions) == (miai.Player.SIMULTANEOUS, 0, ())
    assert seen.data == {"winners": [None]}
    state.apply_actions({0: 1, 1: 0, 2: 2})  # the last cards 1, 2, 2 are bid by themselves
    seen = state.observation(0)
    assert seen.data == {"winners": [2, None]}
    assert state.is_terminal()
    assert state.returns() == (-0.5, -0.5, 1.0)
    assert state.information_state_string(0) == "3:3>- 2:2>2 1:1>-"


def test_points_are_rewards_on_the_way() -> None:
    game = miai.load_game(
        "goofspiel", num_cards=3, points_order="descending", returns_type="total_points"
    )
    state, total = game.new_initial_state(), [0.0, 0.0]
    view = PlayerView(game, 1)
    for actions in ({0: 1, 1: 2}, {0: 2, 1: 0}):
        state.apply_action(actions[0])
        assert state.rewards() == (0.0, 0.0)
        assert state.observation(1) is None
        state.apply_action(actions[1])
        total = [a + b for a, b in zip(total, state.rewards(), strict=True)]
        view.observe(state.observation(1))  # type: ignore[arg-type]  # it is there
    assert tuple(total) == state.returns() == (2.0, 4.0)  # 2 loses to 3; 3 beats 1; 1 loses to 2
    assert view.state.key() == state.key()


# -- matrix games ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_rewards_are_those_of_the_table_and_add_up(name: str) -> None:
    table = TABLES[name]
    game = miai.load_game(name, rounds=len(table), **VALUES.get(name, {}))
    state, sums = game.new_initial_state(), [0.0, 0.0]
    for pair, rewards in table.items():
        assert state.current_player() == miai.Player.SIMULTANEOUS
        actions = [
            next(a for a in state.legal_actions_of(p) if state.action_to_string(a) == text)
            for p, text in enumerate(pair)
        ]
        state.apply_actions(dict(enumerate(actions)))
        assert state.rewards() == rewards
        sums = [a + b for a, b in zip(sums, rewards, strict=True)]
        assert state.returns() == tuple(sums)
    assert state.is_terminal()
    info = game.info
    assert all(info.min_utility <= value <= info.max_utility for value in sums)


@pytest.mark.parametrize("name", TABLES)
def test_the_rules_of_matrix_games_are_kept(name: str) -> None:
    game = miai.load_game(name, rounds=3, **VALUES.get(name, {}))
    assert check_game(game, games=3, seed=seed_of_test()).positions == 3 * 7


# -- Kuhn poker -----------------------------------------------------------------------------------


def test_every_history_of_kuhn_poker_is_that_of_openspiel() -> None:
    start: Any = pyspiel.load_game("kuhn_poker").new_initial_state()
    for state in histories(state_after("kuhn_poker")):
        theirs = start.clone()
        for ply, action in enumerate(state.history()):
            theirs.apply_action(action - 2 if ply < 2 else action)  # their cards are 0 to 2
        assert theirs.current_player() == state.current_player()
        assert tuple(theirs.returns()) == state.returns()
        if state.is_chance_node():
            cards = {card + 2: probability for card, probability in theirs.chance_outcomes()}
            assert cards == pytest.approx(dict(state.chance_outcomes()))
        else:
            assert theirs.legal_actions() == state.legal_actions()


# -- tic-tac-toe ----------------------------------------------------------------------------------


def test_published_counts_of_positions_of_tic_tac_toe() -> None:
    """5,478 positions, 958 of them final."""
    assert len(states()) == 5478
    assert Counter((*state.returns(), state.result_to_string()) for state in states()) == {
        (1.0, -1.0, "x wins"): 626,
        (-1.0, 1.0, "o wins"): 316,
        (0.0, 0.0, "draw"): 16,
        (0.0, 0.0, ""): 5478 - 958,
    }


def test_boards_and_names_of_cells() -> None:
    state = state_after(TTT, 0, 4, 8)
    assert str(state) == "x..\n.o.\n..x"
    assert state.action_to_string(2) == "c3"
    assert [state_after(TTT).action_to_string(a) for a in (0, 4, 6, 8)] == ["a3", "b2", "a1", "c1"]
    assert state.string_to_action(" B3 ") == 1
    with pytest.raises(InvalidActionError, match="'d1'"):
        state.string_to_action("d1")


def test_every_position_of_tic_tac_toe_is_that_of_openspiel() -> None:
    """Every position, by one path each, with the same actions, mover, returns and text."""
    theirs_at_start: Any = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for state in states():
        theirs = theirs_at_start.clone()
        for action in state.history():
            theirs.apply_action(action)
        assert str(theirs) == str(state)
        assert theirs.is_terminal() == state.is_terminal()
        assert theirs.legal_actions() == state.legal_actions()
        assert tuple(theirs.returns()) == state.returns()
        assert state.is_terminal() or theirs.current_player() == state.current_player()


# -- phantom tic-tac-toe --------------------------------------------------------------------------


def test_only_the_mover_learns_of_a_refusal_and_moves_again() -> None:
    state = play(4, 4)
    assert str(state) == "...\n.x.\n..."
    assert state.current_player() == 1
    assert state.observation(0) is None
    left = (0, 1, 2, 3, 5, 6, 7, 8)
    assert state.observation(1) == Observation(1, 1, 4, {"stood": False}, left)
    assert state.information_state_string(0) == play(4).information_state_string(0)


def test_the_refused_cell_stays_known_to_be_taken() -> None:
    state = play(4, 4, 0)
    assert 4 not in play(4, 4, 0, 1).legal_actions()
    assert 4 in play(4, 0, 1).legal_actions()  # o never tried it
    assert state.observation(0) == Observation(0, 1, None, None, (0, 1, 2, 3, 5, 6, 7, 8))


@pytest.mark.parametrize(
    ("player", "board"),
    [(0, ".x.|.x.|...|o out of sight: 2"), (1, "o.o|.x.|...|x out of sight: 1")],
)
def test_a_board_shows_a_players_marks_and_what_refused_it(player: int, board: str) -> None:
    shown = renderer_for(PHANTOM).render(view_of(PHANTOM, player, [4, 4, 0, 1, 2]))
    assert shown.split() == board.replace("|", " ").split()


def test_both_players_learn_the_end() -> None:
    state = play(0, 3, 1, 4, 2)
    assert state.is_terminal()
    assert state.returns() == (1.0, -1.0)
    assert state.observation(0) == Observation(0, 0, 2, {"stood": True, "result": "x wins"})
    assert state.observation(1) == Observation(1, 0, None, {"result": "x wins"})


def test_the_longest_game_has_seventeen_actions() -> None:
    """Whoever moves bumps into every mark of the other that it can, and nobody wins early."""
    state = play()
    for cell in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        mover = state.current_player()
        for taken in state.history():
            board = str(state).replace("\n", "")
            if board[taken] == "ox"[mover] and state.is_legal(taken):
                state.apply_action(taken)
        state.apply_action(cell)
    assert state.is_terminal()
    assert state.returns() == (0.0, 0.0)
    assert len(state.history()) == PHANTOM.max_game_length() == 17


def test_keys_forget_the_order_of_moves_and_nothing_else() -> None:
    assert play(0, 4, 8).key() == play(8, 4, 0).key()
    assert play(0, 4, 8).key() != play(0, 0, 4, 8).key()  # o knows more
    assert play(0, 4, 8).key() != play(4, 0, 8).key()


def spiel_start() -> Any:
    return pyspiel.load_game("phantom_ttt").new_initial_state()


def test_histories_and_information_states_are_those_of_openspiel() -> None:
    """All histories of up to 4 actions fall into the same information states of the mover."""
    ours: dict[tuple[int, str], set[tuple[int, ...]]] = defaultdict(set)
    theirs: dict[tuple[int, str], set[tuple[int, ...]]] = defaultdict(set)
    frontier: list[tuple[State, Any]] = [(play(), spiel_start())]
    while frontier:
        state, other = frontier.pop()
        assert state.is_terminal() == other.is_terminal()
        mover, history = state.current_player(), tuple(state.history())
        assert mover == other.current_player()
        assert state.legal_actions() == other.legal_actions()
        ours[mover, state.information_state_string(mover)].add(history)
        theirs[mover, other.information_state_string(mover)].add(history)
        if len(history) < 4:
            frontier.extend((state.child(a), other.child(a)) for a in state.legal_actions())
    assert len(ours) == len(theirs) > 300
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, theirs.values()))


@pytest.mark.parametrize("seed", range(3))
def test_random_games_of_phantom_are_those_of_openspiel(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        state, other = play(), spiel_start()
        while not state.is_terminal():
            assert not other.is_terminal()
            assert state.current_player() == other.current_player()
            assert state.legal_actions() == other.legal_actions()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            other.apply_action(action)
        assert other.is_terminal()
        assert tuple(other.returns()) == state.returns()


# -- pig ------------------------------------------------------------------------------------------


def play_pig(text: str, **parameters: int) -> PigState:
    """Play moves: a digit is a roll and its face, ``h`` a hold."""
    state = miai.load_game("pig", **parameters).new_initial_state()
    assert isinstance(state, PigState)
    for letter in text:
        for word in ("hold",) if letter == "h" else ("roll", letter):
            state.apply_action(state.string_to_action(word))
    return state


@pytest.mark.parametrize("players", with_slow([2, 3, 6], 6))
def test_pig_keeps_the_rules_of_games(players: int) -> None:
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
    state = play_pig(moves)
    assert (state.points, state.rolled, state.turn_of) == (points, rolled, turn)
    assert state.current_player() == turn
    assert state.legal_actions() == ([0, 1] if rolled else [0])


def test_nobody_holds_before_rolling() -> None:
    with pytest.raises(IllegalActionError):
        play_pig("").apply_action(1)


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
    state = play_pig(moves, **parameters)
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
