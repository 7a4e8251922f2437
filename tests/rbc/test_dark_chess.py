"""Dark chess: its rules are those of OpenSpiel's `dark_chess`, its beliefs those of enumeration."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any, cast

import chess
import pytest
from tests.rbc.test_rbc_renderer import cells_of
from tests.seeds import seed_of_test

import miai
from miai import Game, Observation, PlayerView
from miai.api import renderer_for
from miai.clock import ClockReading, TimeControl
from miai.information import EnumeratedBelief
from miai.testing import check_game
from miai_rbc.belief.dark import DarkBelief
from miai_rbc.rules.dark import DarkGame, DarkState, view_of
from miai_rbc.rules.observations import BadObservationError

PROMOTIONS = "4k3/PPP5/8/8/8/8/5ppp/4K3 w - - 0 1"
BLOCKED = "4k3/8/8/3n4/8/8/PPPPPPPP/4K3 b - - 0 1"
ENDGAME = "8/2p1k3/1p6/4p3/P7/3PK3/4P3/8 w - - 0 1"
EN_PASSANT = "4k3/pppp4/8/4P1P1/1p1p4/8/4PPPP/R3K2R w KQ - 0 1"


def dark(**parameters: object) -> DarkGame:
    game = miai.load_game("dark-chess", **parameters)
    assert isinstance(game, DarkGame)
    return game


def seen_by(state: DarkState, player: int) -> dict[str, Any]:
    return cast("dict[str, Any]", state.observation(player).data)


# -- against OpenSpiel -----------------------------------------------------------------------------


def move_names(theirs: Any, state: DarkState) -> dict[str, int]:
    """Return the legal actions of OpenSpiel's state by their moves, queens left out."""
    import pyspiel

    board = pyspiel.load_game("chess").new_initial_state(state.board().fen()).board()
    moves = ((pyspiel.chess.action_to_move(a, board), a) for a in theirs.legal_actions())
    return {move.to_lan().removesuffix("q"): action for move, action in moves}


def view_of_openspiel(theirs: Any, player: int) -> list[str]:
    """Return its cells, a1 first, without what it shows to the side whose pawn made two steps."""
    cells = theirs.observation_string(1 - player).partition(" ")[0]
    text = re.sub("[1-8]", lambda digit: "." * int(digit[0]), cells)
    return list("".join(reversed(text.split("/"))))


def play_both(game: DarkGame, rng: random.Random) -> str:
    """Play a random game in both implementations; return how it ended."""
    import pyspiel

    state = game.new_initial_state()
    theirs = pyspiel.load_game("dark_chess", {"fen": game.parameters.fen}).new_initial_state()
    seen = Counter[str]()
    while True:
        board = state.board()
        seen[board.epd()] += 1
        for player in (0, 1):
            ours = "".join(reversed(str(seen_by(state, player)["view"]).split("/")))
            view = view_of_openspiel(theirs, player)
            if board.ep_square is not None and board.turn == (player == 1):
                # OpenSpiel takes the passed square for one that the pawn's own side can capture on.
                for square in (board.ep_square, board.ep_square + (8 if player else -8)):
                    view[square] = ours[square] if ours[square] == "?" else view[square]
            assert ours == "".join(view), (board.fen(), player)
        if theirs.is_terminal() and not state.is_terminal():
            assert seen[board.epd()] == 3, board.fen()
            return "repetition"
        assert state.is_terminal() == theirs.is_terminal(), board.fen()
        if state.is_terminal():
            assert list(state.returns()) == theirs.returns()[::-1]
            return state.result_to_string().partition(" ")[2]
        actions = move_names(theirs, state)
        texts = {state.action_to_string(action): action for action in state.legal_actions()}
        assert sorted(texts) == sorted(actions), board.fen()
        text = rng.choice(sorted(texts))
        theirs.apply_action(actions[text])
        state.apply_action(texts[text])


@pytest.mark.parametrize("fen", [None, PROMOTIONS, EN_PASSANT])
@pytest.mark.parametrize("games", [8, pytest.param(1700, marks=pytest.mark.soak)])
def test_random_games_are_those_of_openspiel(fen: str | None, games: int) -> None:
    rng, game = random.Random(seed_of_test()), dark(**({"fen": fen} if fen else {}))
    ends = Counter(play_both(game, rng) for _ in range(games))
    print(ends)
    assert ends["king captured"] > games // 2


def test_a_player_without_a_move_draws() -> None:
    game = dark(fen="8/8/8/8/8/5p1p/4pPpp/4K1nk b - - 0 1")
    assert play_both(game, random.Random()) == "no move"


# -- beliefs ---------------------------------------------------------------------------------------


def exact(game: Game, player: int) -> DarkBelief:
    assert isinstance(game, DarkGame)
    return DarkBelief(game, player, limit=20_000)


@pytest.mark.parametrize("fen", [ENDGAME, PROMOTIONS, EN_PASSANT, BLOCKED])
@pytest.mark.parametrize("largest", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_a_belief_is_the_enumerated_one(fen: str, largest: int) -> None:
    """Enumeration compares whole observations, and knows nothing of what a view rules out."""
    rng, most = random.Random(seed_of_test()), 0
    for start in 2 * [fen, chess.Board(fen).mirror().fen()]:
        game = dark(fen=start)
        state = game.new_initial_state()
        pairs = [(exact(game, player), EnumeratedBelief(game, player)) for player in (0, 1)]
        while not state.is_terminal() and max(len(belief) for belief, _ in pairs) <= largest:
            for player, (belief, oracle) in enumerate(pairs):
                belief.observe(state.observation(player))
                oracle.observe(state.observation(player))
                worlds = [cast("DarkState", world).boards.rows for world in oracle]
                expected = {rows.tobytes() for rows in worlds}
                assert {row.tobytes() for row in belief.boards.rows} == expected, str(state)
                assert len(belief) == len(expected)
                most = max(most, len(belief))
            state.apply_action(rng.choice(state.legal_actions()))
    assert most > largest // 3


def test_the_game_and_its_belief_keep_the_rules() -> None:
    report = check_game(dark(fen=ENDGAME, full_turn_limit=6), games=1, seed=5, belief=exact)
    assert report.beliefs > 15


def test_a_limit_loses_no_board() -> None:
    """Boards without room wait, and those of the sample are all possible."""
    state = dark().new_initial_state()
    whole, part = exact(state.game, 0), DarkBelief(state.game, 0, limit=512)
    for text in ["a2a3", "e7e5", "a3a4", "d7d6", "a4a5", "g8f6", "a5a6", "h7h5"]:
        state.apply_action(state.string_to_action(text))
        for belief in (whole, part):
            belief.observe(state.observation(0))
    assert len(part) <= 512 < len(whole)
    assert part.stashed
    assert {row.tobytes() for row in part.boards.rows} < {r.tobytes() for r in whole.boards.rows}
    assert state in whole


@pytest.mark.parametrize("rank", ["P.......", "KKKKKKKK", "........"])
def test_a_view_that_no_board_shows_is_refused(rank: str) -> None:
    data = {"view": "/".join(8 * [rank]), "captured": None, "en_passant": None}
    with pytest.raises(BadObservationError):
        exact(dark(), 1).observe(Observation(1, 0, None, data))


# -- pictures --------------------------------------------------------------------------------------


def test_what_is_shown_as_certain_is_true_and_all_that_is_visible_is_shown() -> None:
    state, rng, fogged = dark().new_initial_state(), random.Random(seed_of_test()), 0
    views, renderer = [PlayerView(state.game, p) for p in (0, 1)], renderer_for(state.game)
    while not state.is_terminal():
        board = state.board()
        for view in views:
            view.observe(state.observation(view.player))
            window = view_of(state.boards.rows[0], view.player).window
            theirs = board.occupied_co[view.player == 1]
            for square, cell in cells_of(renderer.render(view)).items():
                unknown = cell == "x" and theirs >> square & 1
                true = "x" if unknown else board.piece_at(square) or "."
                uncertain = cell == "?" or cell[1:] == "'"
                assert uncertain or cell == str(true), (board.fen(), chess.square_name(square))
                assert not (uncertain and window >> square & 1)
                fogged += uncertain
        state.apply_action(rng.choice(state.legal_actions()))
    assert fogged > 500


@pytest.mark.parametrize("seat", [0, 1])
def test_the_baseline_beats_random_moves(seat: int) -> None:
    game = dark()
    agents = [miai.make_agent("dark-minimax", game, samples=10, depth=1)]
    agents.insert(1 - seat, miai.make_agent("random", game))
    record = miai.play(game, agents, seed=1)
    assert record.returns[seat] == 1, record.detail
    assert record.detail.endswith("king captured")
    own = [move.statistics for move in record.moves if move.actor == seat]
    assert all(statistics["boards"] and "rebuilt" not in statistics for statistics in own)


@pytest.mark.parametrize("listed", [0, 2000])  # also with more boards than are looked at
@pytest.mark.parametrize(("queen", "sign"), [("8/8/4Q3", 1), ("4q3/8/8", -1)])
def test_the_equilibrium_values_leaves_by_the_engine(
    queen: str, sign: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.search.equilibrium._LISTED", listed)
    game = dark(fen=f"7k/8/8/8/{queen}/K7 b - - 0 1")
    engine: dict[str, Any] = {"evaluator": "engine", "evaluator_parameters": {"depth": 1}}
    agent = miai.make_agent("equilibrium", game, iterations=20, **engine)
    agent.new_game(1, player=0)
    state = game.new_initial_state()
    for action in (None, state.string_to_action("h8g8")):
        if action is not None:
            state.apply_action(action)
        if (observation := state.observation(0)) is not None:
            agent.observe(observation)
    value = agent.act(ClockReading(control=TimeControl())).statistics["value"]
    assert isinstance(value, float)
    assert 0.9 < sign * value <= 1
