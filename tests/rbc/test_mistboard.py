"""An agent as an engine of mistboard: what it is sent, what it believes, and what it answers."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import chess
import pytest
from tests.rbc.test_dark_chess import dark
from tests.seeds import seed_of_test

from miai_rbc.agents.dark import DarkMinimax
from miai_rbc.mistboard import PATHS, Engine
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
    ply = state.move_number()
    view = {"ply": ply, "kind": kind, "visibility_mask": hex(window), "visible_pieces": pieces}
    return {**view, "own_move": None, "own_capture_square": None, **facts}


def request(player: int = 0, **facts: Any) -> bytes:
    ids = {"protocolVersion": "1", "gameId": "g", "sessionId": "s", "engineId": "miai"}
    clock = {"remaining_ms": None, "increment_ms": 0}
    request = {**ids, "color": ("white", "black")[player], "engineSeed": 1, "clock": clock}
    return json.dumps({**request, **facts}).encode()


@pytest.mark.parametrize(("way", "player"), [("transcript", 0), ("delta", 0), ("push", 1)])
def test_a_game_is_played_and_the_truth_believed(way: str, player: int) -> None:
    rng, engine, state = (
        random.Random(seed_of_test()),
        Engine("dark-minimax"),
        dark().new_initial_state(),
    )
    transcript = [seen(state, player, "initial")]
    while not state.is_terminal() and state.move_number() < 11:
        texts = {state.action_to_string(action): action for action in state.legal_actions()}
        if state.current_player() != player:
            before = state.board()
            state.apply_action(rng.choice(list(texts.values())))
            lost = chess.SquareSet(
                before.occupied_co[player == 0] & ~state.board().occupied_co[player == 0]
            )
            transcript.append(
                seen(state, player, "opp_move", own_capture_square=next(iter(lost), None))
            )
            continue
        moves = {text: move_of(text, state) for text in texts}
        warm = way != "transcript" and state.move_number() > 1
        news = (
            {"latestObservationDelta": transcript[-1]}
            if warm
            else {"observationTranscript": transcript}
        )
        answer = engine.answer(request(player, legalMoves=[*moves.values()], **news))
        agent = engine._seats["s"].agent
        assert isinstance(agent, DarkMinimax)
        assert state in agent.belief
        assert answer["sessionId"] == "s"
        (text,) = (text for text, move in moves.items() if move == answer["move"])
        state.apply_action(texts[text])
        transcript.append(seen(state, player, "own_move", own_move=moves[text]))
        if way == "push":
            assert engine.answer(request(player, observation=transcript[-1]))["received"]
    assert state.move_number() > 8


TURN: dict[str, Any] = {"legalMoves": [{"from": "e2", "to": "e4"}]}
START = seen(dark().new_initial_state(), 0, "initial")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (TURN, "begins with observationTranscript"),
        ({"observationTranscript": [START]}, "a turn has legalMoves"),
        ({**TURN, "observationTranscript": [{**START, "visibility_mask": "f"}]}, "mask"),
        ({**TURN, "observationTranscript": [{**START, "visible_pieces": [[64, {}]]}]}, "less than"),
        ({**TURN, "observationTranscript": [{**START, "visible_pieces": [[0, {}]]}]}, "type"),
        ({**TURN, "observationTranscript": [{**START, "visible_pieces": []}]}, "standard start"),
        ({"legalMoves": [{"from": "e2", "to": "e9"}]}, "legalMoves"),
        ({"protocolVersion": "2"}, "protocolVersion"),
        ({"gameSpecId": "dark-xiangqi"}, "gameSpecId"),
        ({"color": "red"}, "color"),
    ],
)
def test_what_is_no_request_is_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Engine("random").answer(request(**facts))


@pytest.mark.slow
def test_the_command_answers_on_the_loopback_interface_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "miai", "dark-chess", "serve", "--agent", "random"]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        good, status = request(**TURN, observationTranscript=[START]), []
        for body, kind in (
            (good, "application/json"),
            (b"{", "application/json"),
            (good, "text/plain"),
        ):
            post = urllib.request.Request(address, body, {"content-type": kind})
            try:
                with urllib.request.urlopen(post, timeout=20) as answer:
                    assert json.load(answer)["move"] == TURN["legalMoves"][0]
                    status.append(answer.status)
            except urllib.error.HTTPError as error:
                status.append(error.code)
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
    assert status == [200, 400, 403]
    assert address.startswith("http://127.0.0.1:")
    assert address.endswith(PATHS[0])
