"""What the messages hold: observations, clocks and decisions as plain data and back.

The referee's messages, each with an ``id`` that the answer repeats:

=============  ==========================================================  ======================
``call``       further fields                                              answer
=============  ==========================================================  ======================
``hello``      game, game_parameters, agent, agent_parameters              version
``new_game``   seed, player, log                                           version
``act``        observations, clock                                         action, resign,
                                                                           statistics
``end``        observations, returns
``quit``                                                                   none: the process exits
=============  ==========================================================  ======================

Observations wait for the next ``act`` or ``end``: that saves the way there and back, and keeps an
agent from thinking in its opponent's time by observing slowly. An answer is ``{"id", "ok",
"cpu"}``, with the agent's CPU seconds so far, or ``{"id", "error": {"type", "message"}}``.

Framing of messages: four bytes of length, big-endian, then a JSON object in UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from miai.agent import Decision
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentFloodError, AgentProtocolError
from miai.game import Observation
from miai.plain import dumps, loads, to_plain

_CONTROL = (
    "kind",
    "seconds",
    "increment",
    "periods",
    "period_seconds",
    "margin",
    "move_deadline",
)


def pack_observation(observation: Observation) -> list[Any]:
    """Return an observation as a list. Raises `TypeError` when its data is not plain."""
    o = observation
    actor = None if o.actor is None else int(o.actor)
    data = None if o.data is None else to_plain(o.data, what="the data of an observation")
    return [o.player, actor, o.action, data, o.legal_actions]


def unpack_observation(values: Sequence[Any]) -> Observation:
    """Return the observation that `pack_observation` wrote."""
    player, actor, action, data, legal_actions = values
    return Observation(player, actor, action, data, tuple(legal_actions))


def pack_clock(reading: ClockReading) -> list[Any]:
    """Return a clock reading as a list."""
    control = [getattr(reading.control, name) for name in _CONTROL]
    return [control, reading.main, reading.periods, reading.limit]


def unpack_clock(values: Sequence[Any]) -> ClockReading:
    """Return the clock reading that `pack_clock` wrote."""
    control, main, periods, limit = values
    named = dict(zip(_CONTROL, control, strict=True))
    return ClockReading(control=TimeControl(**named), main=main, periods=periods, limit=limit)


def pack_decision(decision: Decision) -> dict[str, Any]:
    """Return a decision as an object."""
    return {
        "action": decision.action,
        "resign": decision.resign,
        "statistics": decision.statistics,
    }


def unpack_decision(values: Mapping[str, Any]) -> Decision:
    """Return the decision of an answer. Raises `AgentProtocolError` when it is none."""
    action, resign = values.get("action"), values.get("resign")
    statistics = values.get("statistics")
    if type(action) is not int or action.bit_length() > 63:
        raise AgentProtocolError(f"an action is an integer of 64 bits, got {str(action)[:40]!r}")
    if type(resign) is not bool or type(statistics) is not dict:
        raise AgentProtocolError("an answer to 'act' holds an action, resign and statistics")
    return Decision(action, resign, statistics)


def unpack_cpu(answer: Mapping[str, Any]) -> float:
    """Return the CPU seconds of an answer. Raises `AgentProtocolError` when there are none."""
    cpu: Any = answer.get("cpu")
    if type(cpu) is not float or not cpu >= 0:
        raise AgentProtocolError(f"an answer holds CPU seconds, got {str(cpu)[:40]!r}")
    return cpu


MAX_REQUEST_BYTES = 1 << 26
"""Longest message of the referee, its length included."""

_LENGTH = struct.Struct(">I")


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame. Raises `TypeError` or `ValueError` when it is not plain."""
    body = dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Cuts a stream of bytes into messages.

    Attributes:
      limit: most bytes of one message.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def __len__(self) -> int:
        """Return the number of bytes that wait to be read, of whole messages or of parts."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes as they came."""
        self._buffer += data

    def next(self) -> dict[str, Any] | None:
        """Return the next message, or None while it is not complete.

        Raises:
          AgentFloodError: it announces more bytes than the limit.
          AgentProtocolError: it is not a JSON object.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > self.limit:
            raise AgentFloodError(f"an answer of {length} bytes; the limit is {self.limit}")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        try:
            message = loads(body)
        except ValueError as error:
            raise AgentProtocolError(f"an answer that is not JSON: {error}") from None
        if type(message) is not dict:
            raise AgentProtocolError(f"an answer that is not a JSON object: {body[:60]!r}")
        return message
