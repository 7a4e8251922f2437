"""A server of reconchess: what rc-connect asks for, over HTTP on this machine."""

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


class ServedGames:
    """The server's side of games that it invites a bot to, one after the other.

    The bot is white, `RandomBot` black.

    Attributes:
      games: by their number, from 1.
      finished: the number of games that the bot's process has said it is done with.
      done: set when that is so for all games.
      resigned: whether it gave up on an error.
      asked: the endpoints that were asked for.
      on_finish: called after each game.
    """

    def __init__(
        self, count: int, *, turns: int, seconds: float = 900.0, increment: float = 5.0
    ) -> None:
        random.seed(1)
        self.games = {
            number: reconchess.LocalGame(seconds, increment, full_turn_limit=turns)
            for number in range(1, count + 1)
        }
        self.finished = 0
        self.done = threading.Event()
        self.resigned = False
        self.asked: set[str] = set()
        self.on_finish: Callable[[], None] = lambda: None
        self._accepted = 0
        self._opponent = RandomBot()

    def answer(self, endpoint: str, body: bytes) -> str | None:
        """Return the answer to a request, or None for an endpoint that is not there."""
        self.asked.add(endpoint)
        output = (json.loads(body, cls=ChessJSONDecoder) if body else None) or {}
        answer = self._answer(endpoint, output)
        return None if answer is None else json.dumps(answer, cls=GameHistoryEncoder)

    def _answer(self, endpoint: str, output: dict[str, Any]) -> Any:
        match endpoint.split("/"):
            case ["version"]:
                return {"version": reconchess.__version__}
            case ["users", "me", "ranked" | "max_games"]:
                return {}
            case ["invitations", ""]:
                waits = self._accepted == self.finished < len(self.games)
                return {"invitations": [self.finished + 1] if waits else []}
            case ["invitations", number]:
                self._accepted += 1
                return {"game_id": int(number)}
            case ["invitations", _, "finish"]:
                self.finished += 1
                self.on_finish()
                if self.finished == len(self.games):
                    self.done.set()
                return {}
            case ["games", _, "error_resign"]:
                self.resigned = True
                return {}
            case ["games", number, what]:
                return self._of_game(self.games[int(number)], what, output)
        return None

    def _of_game(self, game: reconchess.LocalGame, what: str, output: dict[str, Any]) -> Any:
        answers: dict[str, Callable[[], Any]] = {
            "color": lambda: {"color": True},
            "starting_board": lambda: {"board": game.board},
            "opponent_name": lambda: {"opponent_name": "RandomBot"},
            "ready": lambda: game.start() or {},
            "sense_actions": lambda: {"sense_actions": game.sense_actions()},
            "move_actions": lambda: {"move_actions": game.move_actions()},
            "seconds_left": lambda: {"seconds_left": game.get_seconds_left()},
            "opponent_move_results": lambda: {
                "opponent_move_results": game.opponent_move_results()
            },
            "sense": lambda: {"sense_result": game.sense(output["square"])},
            "move": lambda: {"move_result": game.move(output["requested_move"])},
            "end_turn": lambda: self._end_turn(game),
            "game_status": lambda: {"is_over": game.is_over(), "is_my_turn": True},
            "winner_color": lambda: {"winner_color": game.get_winner_color()},
            "win_reason": lambda: {"win_reason": game.get_win_reason()},
            "game_history": lambda: {"game_history": game.get_game_history()},
        }
        return answers[what]() if what in answers else None

    def _end_turn(self, game: reconchess.LocalGame) -> dict[str, Any]:
        game.end_turn()
        if not game.is_over():
            play_turn(game, self._opponent, end_turn_last=True)
        if game.is_over():
            game.end()
        return {}


@contextmanager
def serving(games: ServedGames, *, port: int = 0) -> Iterator[str]:
    """Serve games; the value is the server's address."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = games.answer(self.path.removeprefix("/api/"), body)
            self.send_response(404 if answer is None else 200)
            data = (answer or "{}").encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler._serve)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
