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
import numpy as np
import pytest
from tests.rbc.test_dark_chess import PROMOTIONS, dark, seen_by
from tests.seeds import seed_of_test

from miai import RandomAgent
from miai_rbc.agents.dark import DarkMinimax
from miai_rbc.kernels.board import EP_SHIFT, STATE
from miai_rbc.mistboard import PATH, _Move, answer
from miai_rbc.rules.dark import DarkState, view_of


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
