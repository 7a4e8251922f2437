"""An agent of dark chess as an engine of mistboard: version 1 of its request format, over HTTP.

The format is docs/engine-protocol.md of https://github.com/brianhliou/mistboard. A transcript does
not say where en passant was possible in earlier turns; there a belief leaves it open.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Annotated, Any, Final, Literal

import chess
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import miai
from miai import ClockReading, Observation, TimeControl
from miai.errors import ConfigError, MiaiError
from miai.plain import one_line
from miai_rbc.rules.actions import action_of
from miai_rbc.rules.dark import EMPTY, FOG
from miai_rbc.rules.observations import move_of_name

PATHS: Final = ("/internal/engine/turn", "/internal/engine/observe")
_MOST_DIGITS, _MOST_GAMES = 7, 16  # of a body's length in bytes
_PROMOTIONS = {None: "", "queen": "q", "rook": "r", "bishop": "b", "knight": "n"}
_Square = Annotated[str, Field(pattern="^[a-h][1-8]$")]
_Index = Annotated[int, Field(ge=0, lt=64)]
_Milliseconds = Annotated[float, Field(ge=0, le=1e10)]
_Name = Annotated[str, Field(max_length=200)]


class _Move(BaseModel):
    start: _Square = Field(alias="from")
    to: _Square
    promotion: Literal["queen", "rook", "bishop", "knight"] | None = None

    def action(self) -> int:
        return action_of(move_of_name(self.start + self.to + _PROMOTIONS[self.promotion]))

    def captured(self, cells: str) -> int | None:
        """Return the square of what the move captures on a board that is seen as `cells`."""
        start, end = chess.parse_square(self.start), chess.parse_square(self.to)
        if cells[end] not in EMPTY + FOG:
            return end
        aside = cells[start] in "pP" and self.start[0] != self.to[0]
        return end & 7 | start & 56 if aside else None


class _Piece(BaseModel):
    type: Literal["P", "N", "B", "R", "Q", "K"]
    color: Literal["white", "black"]


class _Seen(BaseModel):
    ply: int
    kind: Literal["initial", "own_move", "opp_move"]
    own_move: _Move | None = None
    visibility_mask: str = Field(pattern="^0x[0-9a-fA-F]{1,16}$")
    visible_pieces: list[tuple[_Index, _Piece]] = Field(max_length=64)
    own_capture_square: _Index | None = None

    def cells(self) -> str:
        mask = int(self.visibility_mask, 16)
        cells = [EMPTY if mask >> square & 1 else FOG for square in range(64)]
        for square, piece in self.visible_pieces:
            cells[square] = piece.type if piece.color == "white" else piece.type.lower()
        return "".join(cells)


class _Request(BaseModel):
    """`EngineTurnRequest`, or `EngineObservationPush` with an `observation`."""

    model_config = ConfigDict(alias_generator=to_camel)

    protocol_version: Literal["1"]
    game_id: _Name
    session_id: _Name
    game_spec_id: Literal["dark-chess"] = "dark-chess"
    color: Literal["white", "black"]
    engine_seed: int = Field(0, ge=0, lt=1 << 64)
    clock: dict[Literal["remaining_ms", "increment_ms"], _Milliseconds | None] = {}
    legal_moves: list[_Move] = Field([], max_length=512)
    observation_transcript: list[_Seen] = Field([], max_length=5000)
    latest_observation_delta: _Seen | None = None
    observation: _Seen | None = None

    def reading(self) -> ClockReading:
        left, more = self.clock.get("remaining_ms"), self.clock.get("increment_ms") or 0
        if left is None:
            return ClockReading(control=TimeControl())
        seconds = max(1.0, left) / 1000
        control = TimeControl(kind="fischer", seconds=seconds, increment=more / 1000)
        return ClockReading(control=control, main=seconds, limit=seconds)


class _Seat:
    """An agent in a game, and what it saw last."""

    def __init__(self, agent: str, request: _Request) -> None:
        self.agent = miai.make_agent(agent, miai.load_game("dark-chess"))
        weakref.finalize(self, self.agent.close)
        self._player = ("white", "black").index(request.color)
        self.agent.new_game(request.engine_seed, player=self._player)
        self._ply, self._cells = -1, FOG * 64
        self._move: _Move | None = None

    def observe(self, seen: _Seen, legal: list[_Move]) -> None:
        """Take in an observation unless it is known, with the legal moves if it is the latest."""
        if seen.ply <= self._ply:
            return
        if seen.ply == self._ply + 2 and self._move is not None:  # its own move was not sent
            facts = {"ply": seen.ply - 1, "kind": "own_move", "own_move": self._move}
            blind = _Seen.model_validate({**facts, "visibility_mask": "0x0", "visible_pieces": []})
            self.observe(blind, [])
        own, cells, player = seen.own_move, seen.cells(), self._player
        if seen.kind == "initial" and "RNBQKBNR" not in cells.upper():
            raise ValueError("only the standard start is played")
        captured = own.captured(self._cells) if own else seen.own_capture_square
        passed = [m.to for m in legal if m.captured(cells) not in (None, chess.parse_square(m.to))]
        data = {
            "view": "/".join(cells[rank : rank + 8] for rank in range(56, -1, -8)),
            "captured": None if captured is None else chess.square_name(captured),
            "en_passant": passed[0] if passed else None if legal else FOG,
        }
        actor = None if seen.kind == "initial" else player if own else 1 - player
        actions = () if own else tuple(sorted(move.action() for move in legal))
        action = own.action() if own else None
        self.agent.observe(Observation(player, actor, action, data, actions))
        self._ply, self._cells = seen.ply, cells

    def move(self, request: _Request) -> _Move:
        """Return the agent's choice among the legal moves."""
        moves = {move.action(): move for move in request.legal_moves}
        if not moves or moves.keys() != set(self.agent.view.legal_actions):
            raise ValueError("a turn has legalMoves, those of the latest observation")
        self._move = moves[self.agent.act(request.reading()).action]
        return self._move


class Engine:
    """Answers requests; of more than 16 games, the one that was silent longest is forgotten."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._seats: dict[str, _Seat] = {}  # those asked last at the end
        miai.make_agent(agent, miai.load_game("dark-chess")).close()  # compiled, or refused, now

    def answer(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request. Raises `ValueError` or `MiaiError` if it is wrong."""
        request = _Request.model_validate_json(body)
        name, seen = request.session_id, request.observation_transcript
        seat = self._seats.pop(name, None)  # forgotten if the request is wrong
        if seen:
            seat = _Seat(self._agent, request)
        elif latest := request.observation or request.latest_observation_delta:
            seen = [latest]
        if seat is None or not seen:
            raise ValueError("a game begins with observationTranscript")
        for each in seen:
            seat.observe(each, request.legal_moves if each is seen[-1] else [])
        answer: dict[str, Any] = {"received": True}
        if request.observation is None:
            answer = {"move": seat.move(request).model_dump(by_alias=True, exclude_none=True)}
        self._seats[name] = seat
        if len(self._seats) > _MOST_GAMES:
            del self._seats[next(iter(self._seats))]
        return {"protocolVersion": "1", "gameId": request.game_id, "sessionId": name, **answer}


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # seconds of silence
    engine: Engine

    def do_POST(self) -> None:
        host = self.headers.get("host", "").partition(":")[0]
        size = self.headers.get("content-length", "")
        # A page of another site cannot send JSON here unless it is allowed to.
        json_only = self.headers.get_content_type() == "application/json"
        if host not in ("127.0.0.1", "localhost") or not json_only or self.path not in PATHS:
            self.send_error(403)
        elif not size.isdecimal() or len(size) > _MOST_DIGITS:
            self.send_error(413)
        else:
            try:
                text = json.dumps(self.engine.answer(self.rfile.read(int(size)))).encode()
            except (ValueError, MiaiError) as error:
                self.send_error(400, explain=one_line(str(error), limit=500))
                return
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(text)


def serve(agent: str, port: int) -> None:
    """Answer on the loopback interface until interrupted.

    Raises:
      ConfigError: the port cannot be used.
    """
    _Handler.engine = Engine(agent)
    try:
        server = HTTPServer(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; choose another") from None
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"{agent} answers at http://127.0.0.1:{server.server_port}{PATHS[0]}", flush=True)
        server.serve_forever()
