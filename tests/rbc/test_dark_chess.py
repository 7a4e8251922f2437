"""Dark chess: its rules are those of OpenSpiel's `dark_chess`, its beliefs those of enumeration."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from http.client import HTTPConnection
from typing import Any, cast

import chess
import numpy as np
import pytest
from tests.rbc.games import follow, rbc
from tests.rbc.test_rbc_renderer import cells_of
from tests.seeds import seed_of_test

import miai
from miai import Game, Observation, PlayerView, RandomAgent, State
from miai.analysis.analysis import judging, setup_of
from miai.api import analyst_of, renderer_for
from miai.clock import ClockReading, TimeControl
from miai.information import BeliefState, EnumeratedBelief
from miai.playing.replay import record_of_actions
from miai.testing import check_game
from miai_rbc.agents.dark import DarkMinimax
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.belief.dark import DarkBelief
from miai_rbc.kernels.board import EP_SHIFT, STATE
from miai_rbc.mistboard import PATH, _Move, answer
from miai_rbc.rules.dark import DarkGame, DarkState, view_of
from miai_rbc.rules.game import RbcGame
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


@pytest.mark.slow
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


# -- an agent as an engine of mistboard ------------------------------------------------------------


def move_of(text: str) -> dict[str, str]:
    return {"from": text[:2], "to": text[2:]}


def seen(state: DarkState, player: int, kind: str, **facts: Any) -> dict[str, Any]:
    window = view_of(state.boards.rows[0], player).window
    pieces = [
        [square, {"type": piece.symbol().upper(), "color": ("black", "white")[piece.color]}]
        for square, piece in state.board().piece_map(mask=window).items()
    ]
    lost = seen_by(state, player)["captured"] if kind == "opp_move" else None
    facts |= {"visibility_mask": hex(window), "visible_pieces": pieces}
    facts["own_capture_square"] = chess.parse_square(lost) if lost else None
    return {"ply": state.move_number(), "kind": kind, **facts}


def request(player: int = 0, **facts: Any) -> bytes:
    ids = {"protocolVersion": "1", "gameId": "g", "sessionId": "s", "engineId": "miai"}
    clock = {"remaining_ms": None, "increment_ms": 0}
    request = {**ids, "color": ("white", "black")[player], "engineSeed": 1, "clock": clock}
    return json.dumps({**request, **facts}).encode()


@pytest.mark.parametrize(
    ("player", "opening"), [(0, "e2e4 a7a6 e4e5 d7d5"), (1, "a2a3 e7e5 a3a4 e5e4 d2d4")]
)
def test_a_game_is_played_and_the_truth_believed(player: int, opening: str) -> None:
    """The opening ends with a double step that can be captured en passant."""
    rng, game, texts = random.Random(seed_of_test()), dark(), opening.split()
    agent, state = DarkMinimax(game), game.new_initial_state()
    transcript = [seen(state, player, "initial")]
    while not state.is_terminal() and state.move_number() < 11:
        actions = {state.action_to_string(action): action for action in state.legal_actions()}
        text = texts.pop(0) if texts else rng.choice(list(actions))
        own, moves = state.current_player() == player, [move_of(text) for text in actions]
        if own and not texts:
            news = {"legalMoves": moves, "observationTranscript": transcript}
            text = "".join(answer(agent, request(player, **news))["move"].values())
            assert state in agent.belief
            passed = np.unique(agent.belief.boards.rows[:, STATE] >> EP_SHIFT & np.uint64(127))
            assert passed.tolist() == [(state.board().ep_square or -1) + 1]
        state.apply_action(actions[text])
        facts = {"own_move": move_of(text)} if own else {}
        transcript.append(seen(state, player, "own_move" if own else "opp_move", **facts))
    assert state.move_number() > 8


START = seen(dark().new_initial_state(), 0, "initial")
MOVES = [{"from": "e2", "to": "e4"}]


def turn(*transcript: Any) -> dict[str, Any]:
    return {"legalMoves": MOVES, "observationTranscript": transcript}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"legalMoves": MOVES, "latestObservationDelta": START}, "observationTranscript"),
        ({"observationTranscript": [START]}, "legalMoves"),
        (turn({**START, "own_move": MOVES[0]}), "to the opponent's move"),
        (turn({**START, "kind": "opp_move"}), "goes from the start"),
        (turn({**START, "visibility_mask": "f"}), "mask"),
        (turn({**START, "visible_pieces": [[64, {}]]}), "less than"),
        (turn({**START, "visible_pieces": []}), "standard start"),
        ({**turn(START), "legalMoves": [{"from": "e2", "to": "e9"}]}, "legalMoves"),
        ({**turn(START), "legalMoves": 513 * MOVES}, "at most 512"),
        ({**turn(START), "protocolVersion": "2"}, "protocolVersion"),
        ({**turn(START), "gameSpecId": "dark-xiangqi"}, "gameSpecId"),
    ],
)
def test_what_is_no_request_is_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        answer(RandomAgent(dark()), request(**facts))


@pytest.mark.parametrize(("role", "letter"), [("queen", ""), ("knight", "n"), ("rook", "r")])
def test_promotions_have_their_actions(role: str, letter: str) -> None:
    state = dark(fen=PROMOTIONS).new_initial_state()
    move = _Move.model_validate({**move_of("b7b8"), "promotion": role})
    assert state.action_to_string(move.action()) == f"b7b8{letter}"


@pytest.mark.slow
def test_the_command_answers_on_the_loopback_interface_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "miai", "dark-chess", "serve", "--agent", "random"]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        kind, statuses = {"content-type": "application/json"}, []
        for body, headers in [
            (request(**turn(START)), kind),
            (b"{", kind),
            (request(**turn(START)), {"content-type": "text/plain"}),
            (request(**turn(START)), {**kind, "host": "example.com"}),
            (b"", {**kind, "content-length": "10000000"}),
        ]:
            connection = HTTPConnection(address.split("/")[2], timeout=20)
            connection.request("POST", PATH, body, headers)
            statuses.append(connection.getresponse().status)
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
    assert statuses == [200, 400, 403, 403, 413]


# -- reconnaissance blind chess keeps the rules that `miai.testing` checks, with its own belief ----


RBC_ENDGAME = "8/8/4k3/8/8/3K4/4P3/8 w - - 0 1"


def exact_rbc(game: Game, player: int) -> BeliefState[State]:
    assert isinstance(game, RbcGame)
    return RbcBelief(game, player, limit=20_000)


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        ({"full_turn_limit": 10}, 20),
        ({"full_turn_limit": None, "reversible_moves_limit": 4}, 4 * 127),
        ({"full_turn_limit": 10_000, "reversible_moves_limit": 4}, 4 * 127),
    ],
)
def test_a_game_is_as_long_as_its_limits_allow(limits: dict[str, int | None], turns: int) -> None:
    """Of 126 moves that cannot be taken back, 96 are steps of pawns and 30 captures."""
    assert rbc(**limits).max_game_length() == 2 * turns


@pytest.mark.slow
@pytest.mark.parametrize("fen", [RBC_ENDGAME, "8/P3k3/8/8/8/8/3K3p/8 b - - 3 9"])
def test_reconnaissance_and_its_belief_keep_the_rules(fen: str) -> None:
    report = check_game(rbc(fen=fen, full_turn_limit=12), games=2, seed=5, belief=exact_rbc)
    assert report.games == 2
    assert report.beliefs > 20


def test_the_clocks_of_worlds_are_what_the_player_can_know() -> None:
    seed = seed_of_test()
    output = 0
    for played in follow(rbc(fen=RBC_ENDGAME), random.Random(seed), 60, limit=5_000):
        for belief in played.beliefs:
            assert belief.fullmove_number == played.state.fullmove_number
            assert belief.quiet >= played.state.halfmove_clock
            output += belief.quiet == played.state.halfmove_clock
            assert next(iter(belief)).halfmove_clock == belief.quiet
    assert output


def test_searches_over_worlds_play_it_on_its_own_belief() -> None:
    game = rbc(full_turn_limit=3)
    agents = [miai.make_agent("ismcts", game, simulations=2, seed=1)]
    agents.append(miai.make_agent("pimc", game, simulations=2, worlds=2, seed=1))
    record = miai.play(game, agents, seed=1)
    assert record.termination == "terminal", record.detail
    assert all(move.statistics["belief"] for move in record.moves)


def test_a_bishop_that_is_left_to_the_queen_is_a_mistake() -> None:
    """In the dark, too: its player sees the queen."""
    game, actions = dark(), list[int]()
    state = game.new_initial_state()
    for move in ("d2d4", "e7e5", "c1g5"):
        actions.append(state.string_to_action(move))
        state.apply_action(actions[-1])
    setup = setup_of(record_of_actions(game, actions, players=["w", "b"]), analyst_of(game), 20, 0)
    with judging(setup) as perform:
        (judgement,) = perform({"player": 0, "plies": [2]})
    assert setup["agent"] == "dark-minimax"
    assert -100 < judgement["value"] < 200
    assert judgement["played"] < judgement["value"] - 200
    assert judgement["truth"]["line"][0] != actions[2]
