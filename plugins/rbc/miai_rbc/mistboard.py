"""An agent of dark chess as an engine of mistboard: version 1 of its request format, over HTTP.

The format is docs/engine-protocol.md of https://github.com/brianhliou/mistboard. A transcript does
not say where en passant was possible in earlier turns; there a belief leaves it open.
"""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
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
_MOST_BODY, _MOST_GAMES = 1 << 22, 16
_UNSEEN: Final = FOG * 64
_Square = Annotated[str, Field(pattern="^[a-h][1-8]$")]
_Index = Annotated[int, Field(ge=0, lt=64)]
_Milliseconds = Annotated[float, Field(ge=0, le=1e10)]


class _Move(BaseModel):
    start: _Square = Field(alias="from")
    to: _Square
    promotion: Literal["queen", "rook", "bishop", "knight"] | None = None

    def action(self) -> int:
        letter = "n" if self.promotion == "knight" else (self.promotion or "")[:1]
        return action_of(move_of_name(self.start + self.to + letter))

    def passes(self, cells: str) -> bool:
        """Return whether the move captures en passant: a pawn's step aside to an empty square."""
        to, pawn = chess.parse_square(self.to), cells[chess.parse_square(self.start)] in "pP"
        return pawn and self.start[0] != self.to[0] and cells[to] == EMPTY

    def captured(self, cells: str) -> int | None:
        start, end = chess.parse_square(self.start), chess.parse_square(self.to)
        if self.passes(cells):
            return end & 7 | start & 56
        return end if cells[end] not in EMPTY + FOG else None


class _Piece(BaseModel):
    type: Literal["P", "N", "B", "R", "Q", "K"]
    color: Literal["white", "black"]


class _Seen(BaseModel):
    ply: int
    kind: Literal["initial", "own_move", "opp_move"]
    own_move: _Move | None = None
    visibility_mask: str = Field(pattern="^0x[0-9a-fA-F]{1,16}$")
    visible_pieces: list[tuple[_Index, _Piece]]
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
    game_id: str = Field(max_length=200)
    session_id: str = Field(max_length=200)
    game_spec_id: Literal["dark-chess"] = "dark-chess"
    color: Literal["white", "black"]
    engine_seed: int = Field(0, ge=0)
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
    def __init__(self, agent: str, request: _Request) -> None:
        self.agent = miai.make_agent(agent, miai.load_game("dark-chess"))
        self._player = ("white", "black").index(request.color)
        self.agent.new_game(request.engine_seed, player=self._player)
        self._ply, self._cells = -1, _UNSEEN
        self._move: _Move | None = None

    def observe(self, seen: _Seen, legal: list[_Move] | None = None) -> None:
        """Take in an observation, with the legal moves if it is the latest, unless it is known."""
        if seen.ply <= self._ply:
            return
        if seen.kind == "opp_move" and seen.ply == self._ply + 2 and self._move is not None:
            self._tell(_UNSEEN, self._move.captured(self._cells), own=self._move)  # was not sent
        own = seen.own_move if seen.kind == "own_move" else None
        captured = own.captured(self._cells) if own else seen.own_capture_square
        self._tell(seen.cells(), captured, own=own, start=seen.kind == "initial", legal=legal)
        self._ply = seen.ply

    def _tell(
        self,
        cells: str,
        captured: int | None,
        *,
        own: _Move | None,
        start: bool = False,
        legal: list[_Move] | None = None,
    ) -> None:
        self._cells, player = cells, self._player
        if start and "RNBQKBNR" not in cells.upper():
            raise ValueError("only the standard start is played")
        passed = [move.to for move in legal or () if move.passes(cells)]
        data = {
            "view": "/".join(cells[rank : rank + 8] for rank in range(56, -1, -8)),
            "captured": None if captured is None else chess.square_name(captured),
            "en_passant": FOG if legal is None else passed[0] if passed else None,
        }
        actor = None if start else player if own else 1 - player
        actions = tuple(sorted(move.action() for move in legal or ()))
        action = own.action() if own else None
        self.agent.observe(Observation(player, actor, action, data, actions))

    def move(self, request: _Request) -> _Move:
        """Return the agent's choice among the legal moves."""
        action = self.agent.act(request.reading()).action
        self._move = next(move for move in request.legal_moves if move.action() == action)
        return self._move


class Engine:
    """Answers requests; of more than 16 games, the one that was silent longest is forgotten."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._seats: OrderedDict[str, _Seat] = OrderedDict()
        miai.make_agent(agent, miai.load_game("dark-chess")).close()  # compiled, or refused, now

    def answer(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
          ValueError: not a request of the format, or of a game that did not begin here.
        """
        request = _Request.model_validate_json(body)
        names = {"protocol_version", "game_id", "session_id"}
        facts = request.model_dump(include=names, by_alias=True)
        if request.observation is not None:
            if request.session_id in self._seats:
                self._seats[request.session_id].observe(request.observation)
            return {**facts, "received": True}
        move = self._seat(request).move(request)
        return {**facts, "move": move.model_dump(by_alias=True, exclude_none=True)}

    def _seat(self, request: _Request) -> _Seat:
        name, latest = request.session_id, request.latest_observation_delta
        if request.observation_transcript:
            *earlier, latest = request.observation_transcript
            if (old := self._seats.pop(name, None)) is not None:
                old.agent.close()
            self._seats[name] = _Seat(self._agent, request)
            for seen in earlier:
                self._seats[name].observe(seen)
        if latest is None or name not in self._seats or not request.legal_moves:
            raise ValueError("a game begins with observationTranscript, a turn has legalMoves")
        self._seats.move_to_end(name)
        if len(self._seats) > _MOST_GAMES:
            self._seats.popitem(last=False)[1].agent.close()
        self._seats[name].observe(latest, request.legal_moves)
        return self._seats[name]


def serve(agent: str, port: int) -> None:
    """Answer on the loopback interface until interrupted.

    Raises:
      ConfigError: the port cannot be used.
    """
    engine = Engine(agent)

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds of silence

        def do_POST(self) -> None:
            host = self.headers.get("host", "").partition(":")[0]
            size = self.headers.get("content-length", "")
            # A page of another site cannot send JSON here unless it is allowed to.
            json_only = self.headers.get_content_type() == "application/json"
            if host not in ("127.0.0.1", "localhost") or not json_only or self.path not in PATHS:
                self.send_error(403)
            elif not size.isdecimal() or int(size) > _MOST_BODY:
                self.send_error(413)
            else:
                self._answer(self.rfile.read(int(size)))

        def _answer(self, body: bytes) -> None:
            try:
                text = json.dumps(engine.answer(body)).encode()
            except (ValueError, MiaiError) as error:
                self.send_error(400, explain=one_line(str(error), limit=500))
                return
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    try:
        server = HTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; choose another") from None
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"{agent} answers at http://127.0.0.1:{server.server_port}{PATHS[0]}", flush=True)
        server.serve_forever()
