"""An agent of dark chess as an engine of mistboard: version 1 of its request format, over HTTP.

The format is docs/engine-protocol.md of https://github.com/brianhliou/mistboard, whose requests
have whole transcripts: the engine keeps nothing between two of them. A transcript does not say
where en passant was possible in earlier turns; there a belief leaves it open.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Annotated, Any, Final, Literal

import chess
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import miai
from miai import Agent, ClockReading, Observation, TimeControl
from miai.errors import ConfigError, MiaiError
from miai.plain import one_line
from miai_rbc.rules.actions import action_of
from miai_rbc.rules.dark import EMPTY, FOG
from miai_rbc.rules.observations import move_of_name

PATH: Final = "/internal/engine/turn"
_MOST_DIGITS = 7  # of a body's length in bytes
_PROMOTIONS = {None: "", "queen": "q", "rook": "r", "bishop": "b", "knight": "n"}
_SQUARES = {name: square for square, name in enumerate(chess.SQUARE_NAMES)}
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
        start, end = _SQUARES[self.start], _SQUARES[self.to]
        if cells[end] not in EMPTY + FOG:
            return end
        aside = cells[start] in "pP" and self.start[0] != self.to[0]
        return end & 7 | start & 56 if aside else None


class _Piece(BaseModel):
    type: Literal["P", "N", "B", "R", "Q", "K"]
    color: Literal["white", "black"]


class _Seen(BaseModel):
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
    """`EngineTurnRequest` of a cold start."""

    model_config = ConfigDict(alias_generator=to_camel)

    protocol_version: Literal["1"]
    game_id: _Name
    session_id: _Name
    game_spec_id: Literal["dark-chess"] = "dark-chess"
    color: Literal["white", "black"]
    engine_seed: int = Field(0, ge=0, lt=1 << 64)
    clock: dict[Literal["remaining_ms", "increment_ms"], _Milliseconds | None] = {}
    legal_moves: list[_Move] = Field(min_length=1, max_length=512)
    observation_transcript: list[_Seen] = Field(min_length=1, max_length=5000)

    def observations(self) -> Iterator[Observation]:
        """Yield what the player observed. Raises `ValueError` if no game of the player does so."""
        player, cells, last = int(self.color == "black"), "", self.observation_transcript[-1]
        for seen in self.observation_transcript:
            before, cells, own = cells, seen.cells(), seen.own_move
            if (seen.kind == "initial") != (not before) or (own is not None and seen is last):
                raise ValueError("observationTranscript goes from the start to the opponent's move")
            if not before and "RNBQKBNR" not in cells.upper():
                raise ValueError("only the standard start is played")
            legal = self.legal_moves if seen is last else []
            sides = (m.to for m in legal if m.captured(cells) not in (None, _SQUARES[m.to]))
            captured = own.captured(before) if own else seen.own_capture_square
            data = {
                "view": "/".join(cells[rank : rank + 8] for rank in range(56, -1, -8)),
                "captured": None if captured is None else chess.square_name(captured),
                "en_passant": next(sides, None) if legal else FOG,
            }
            actor = None if not before else player if own else 1 - player
            actions = tuple(sorted({move.action() for move in legal}))
            yield Observation(player, actor, own.action() if own else None, data, actions)

    def reading(self) -> ClockReading:
        left, more = self.clock.get("remaining_ms"), self.clock.get("increment_ms") or 0
        if left is None:
            return ClockReading(control=TimeControl())
        seconds = max(1.0, left) / 1000
        control = TimeControl(kind="fischer", seconds=seconds, increment=more / 1000)
        return ClockReading(control=control, main=seconds, limit=seconds)


def answer(agent: Agent, body: bytes) -> dict[str, Any]:
    """Return the answer to a request. Raises `ValueError` or `MiaiError` if that is wrong."""
    request = _Request.model_validate_json(body)
    agent.new_game(request.engine_seed, player=int(request.color == "black"))
    for observation in request.observations():
        agent.observe(observation)
    action = agent.act(request.reading()).action
    move = next(move for move in request.legal_moves if move.action() == action)
    facts = {"protocolVersion": "1", "gameId": request.game_id, "sessionId": request.session_id}
    return {**facts, "move": move.model_dump(by_alias=True, exclude_none=True)}


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # seconds of silence
    agent: Agent

    def do_POST(self) -> None:
        host = self.headers.get("host", "").partition(":")[0]
        size = self.headers.get("content-length", "")
        # A page of another site cannot send JSON here unless it is allowed to.
        json_only = self.headers.get_content_type() == "application/json"
        if host not in ("127.0.0.1", "localhost") or not json_only or self.path != PATH:
            self.send_error(403)
        elif not size.isdecimal() or len(size) > _MOST_DIGITS:
            self.send_error(413)
        else:
            try:
                text = json.dumps(answer(self.agent, self.rfile.read(int(size)))).encode()
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
    _Handler.agent = miai.make_agent(agent, miai.load_game("dark-chess"))
    try:
        server = HTTPServer(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; choose another") from None
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"{agent} answers at http://127.0.0.1:{server.server_port}{PATH}", flush=True)
        server.serve_forever()
