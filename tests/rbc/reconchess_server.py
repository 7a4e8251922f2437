"""A server of reconchess for one game: what rc-connect asks for, over HTTP on this machine."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import reconchess
from reconchess.bots.random_bot import RandomBot
from reconchess.history import GameHistoryEncoder
from reconchess.play import play_turn
from reconchess.utilities import ChessJSONDecoder


class OneGame:
    """The server's side of a game that it invites a bot to: the bot is white, `RandomBot` black.

    Attributes:
      finished: set when the bot's process says that it is done.
      resigned: whether it gave up on an error.
      asked: the endpoints that were asked for.
    """

    def __init__(self, turns: int) -> None:
        random.seed(1)
        self.game = reconchess.LocalGame(full_turn_limit=turns)
        self.opponent = RandomBot()
        self.finished = threading.Event()
        self.resigned = False
        self.asked: set[str] = set()
        self._accepted = False
        game = self.game
        self._answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "version": lambda output: {"version": reconchess.__version__},
            "users/me/ranked": lambda output: {},
            "users/me/max_games": lambda output: {},
            "invitations/": lambda output: {"invitations": [] if self._accepted else [1]},
            "invitations/1": self._accept,
            "invitations/1/finish": self._finish,
            "games/1/error_resign": self._error,
            "games/1/color": lambda output: {"color": True},
            "games/1/starting_board": lambda output: {"board": game.board},
            "games/1/opponent_name": lambda output: {"opponent_name": "RandomBot"},
            "games/1/ready": lambda output: game.start() or {},
            "games/1/sense_actions": lambda output: {"sense_actions": game.sense_actions()},
            "games/1/move_actions": lambda output: {"move_actions": game.move_actions()},
            "games/1/seconds_left": lambda output: {"seconds_left": game.get_seconds_left()},
            "games/1/opponent_move_results": lambda output: {
                "opponent_move_results": game.opponent_move_results()
            },
            "games/1/sense": lambda output: {"sense_result": game.sense(output["square"])},
            "games/1/move": lambda output: {"move_result": game.move(output["requested_move"])},
            "games/1/end_turn": self._end_turn,
            "games/1/game_status": lambda output: {"is_over": game.is_over(), "is_my_turn": True},
            "games/1/winner_color": lambda output: {"winner_color": game.get_winner_color()},
            "games/1/win_reason": lambda output: {"win_reason": game.get_win_reason()},
            "games/1/game_history": lambda output: {"game_history": game.get_game_history()},
        }

    def answer(self, endpoint: str, body: bytes) -> str | None:
        """Return the answer to a request, or None for an endpoint that is not there."""
        self.asked.add(endpoint)
        if endpoint not in self._answers:
            return None
        output = json.loads(body, cls=ChessJSONDecoder) if body else {}
        return json.dumps(self._answers[endpoint](output or {}), cls=GameHistoryEncoder)

    def _accept(self, output: dict[str, Any]) -> dict[str, int]:
        self._accepted = True
        return {"game_id": 1}

    def _finish(self, output: dict[str, Any]) -> dict[str, Any]:
        self.finished.set()
        return {}

    def _error(self, output: dict[str, Any]) -> dict[str, Any]:
        self.resigned = True
        return {}

    def _end_turn(self, output: dict[str, Any]) -> dict[str, Any]:
        self.game.end_turn()
        if not self.game.is_over():
            play_turn(self.game, self.opponent, end_turn_last=True)
        if self.game.is_over():
            self.game.end()
        return {}


@contextmanager
def serving(game: OneGame) -> Iterator[str]:
    """Serve a game; the value is the server's address."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = game.answer(self.path.removeprefix("/api/"), body)
            self.send_response(404 if answer is None else 200)
            data = (answer or "{}").encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler._serve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
