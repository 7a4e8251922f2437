"""An agent as an engine of mistboard: what it is sent, what it believes, and what it answers."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import Any

import chess
import pytest
from tests.rbc.test_dark_chess import dark
from tests.seeds import seed_of_test

from miai import RandomAgent
from miai_rbc.agents.dark import DarkMinimax
from miai_rbc.mistboard import PATH, answer
from miai_rbc.rules.dark import DarkState, view_of

ROLES = {"n": "knight", "b": "bishop", "r": "rook"}


def move_of(text: str, state: DarkState) -> dict[str, str]:
    """Return an action's notation as a move; mistboard names the queen, too."""
    queen = text[3] in "18" and state.board().piece_type_at(chess.parse_square(text[:2])) == 1
    role = ROLES[text[4]] if len(text) == 5 else "queen" if queen else ""
    return {"from": text[:2], "to": text[2:4]} | ({"promotion": role} if role else {})


def seen(state: DarkState, player: int, kind: str, **facts: Any) -> dict[str, Any]:
    window = view_of(state.boards.rows[0], player).window
    pieces = [
        [square, {"type": piece.symbol().upper(), "color": ("black", "white")[piece.color]}]
        for square, piece in state.board().piece_map(mask=window).items()
    ]
    view = {"visibility_mask": hex(window), "visible_pieces": pieces}
    return {"ply": state.move_number(), "kind": kind, **view, **facts}


def request(player: int = 0, **facts: Any) -> bytes:
    ids = {"protocolVersion": "1", "gameId": "g", "sessionId": "s", "engineId": "miai"}
    clock = {"remaining_ms": None, "increment_ms": 0}
    request = {**ids, "color": ("white", "black")[player], "engineSeed": 1, "clock": clock}
    return json.dumps({**request, **facts}).encode()


@pytest.mark.parametrize("player", [0, 1])
def test_a_game_is_played_and_the_truth_believed(player: int) -> None:
    rng, game = random.Random(seed_of_test()), dark()
    agent, state = DarkMinimax(game), game.new_initial_state()
    transcript = [seen(state, player, "initial")]
    while not state.is_terminal() and state.move_number() < 11:
        texts = {state.action_to_string(action): action for action in state.legal_actions()}
        if state.current_player() != player:
            own = state.board().occupied_co[player == 0]
            state.apply_action(rng.choice(list(texts.values())))
            lost = chess.SquareSet(own & ~state.board().occupied_co[player == 0])
            square = next(iter(lost), None)
            transcript.append(seen(state, player, "opp_move", own_capture_square=square))
            continue
        moves = {text: move_of(text, state) for text in texts}
        turn = {"legalMoves": [*moves.values()], "observationTranscript": transcript}
        found = answer(agent, request(player, **turn))
        assert state in agent.belief
        (text,) = (text for text, move in moves.items() if move == found["move"])
        state.apply_action(texts[text])
        transcript.append(seen(state, player, "own_move", own_move=moves[text]))
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
