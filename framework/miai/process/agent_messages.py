"""The messages between the referee and an agent's process, as plain data.

The referee's messages, each with an ``id`` that the answer repeats:

=============  ==========================================================  ======================
``call``       further fields                                              answer
=============  ==========================================================  ======================
``confine``    limits
``hello``      game, game_parameters, agent, agent_parameters              version,
                                                                           policy_is_fixed
``new_game``   seed, player, log (whether there is one)                    version,
                                                                           policy_is_fixed
``act``        observations, clock                                         action, resign,
                                                                           statistics
``policy``                                                                 policy, of the last
                                                                           decision
``ponder``     observations                                                none
``end``        observations, returns
``quit``                                                                   none: the process exits
=============  ==========================================================  ======================

Observations wait for the next ``act`` or ``end``: that saves the way there and back, and keeps an
agent from thinking in its opponent's time by observing slowly. Where players may ponder, they come
at once, with ``ponder``; the agent then thinks until the next message, and an error in it is the
answer to that one. An answer is ``{"id", "ok",
"cpu"}``, with the agent's CPU seconds so far, or ``{"id", "error": {"type", "message"}}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from miai.agent import Decision
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentProtocolError
from miai.game import Observation
from miai.plain import to_plain

_CONTROL = tuple(field.name for field in fields(TimeControl))


def pack_observation(observation: Observation) -> list[Any]:
    """Return an observation as a list. Raises `TypeError` when its data is not plain."""
    o = observation
    actor = None if o.actor is None else int(o.actor)
    data = None if o.data is None else to_plain(o.data, what="the data of an observation")
    return [o.player, actor, o.action, data, o.legal_actions, o.actions]


def unpack_observation(values: Sequence[Any]) -> Observation:
    """Return the observation that `pack_observation` wrote."""
    player, actor, action, data, legal_actions, actions = values
    return Observation(player, actor, action, data, tuple(legal_actions), tuple(actions))


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
    return {name: getattr(decision, name) for name in ("action", "resign", "statistics")}


def unpack_decision(values: Mapping[str, Any]) -> Decision:
    """Return the decision of an answer. Raises `AgentProtocolError` when it is none."""
    action, resign = values.get("action"), values.get("resign")
    statistics = values.get("statistics")
    if type(action) is not int or action.bit_length() > 63:
        raise AgentProtocolError(f"an action is an integer of 64 bits, got {str(action)[:40]!r}")
    if type(resign) is not bool or type(statistics) is not dict:
        raise AgentProtocolError("an answer to 'act' holds an action, resign and statistics")
    return Decision(action, resign, statistics)


def pack_policy(policy: Mapping[int, float] | None) -> dict[str, Any]:
    """Return a policy as an object."""
    return {"policy": None if policy is None else list(policy.items())}


def unpack_policy(values: Mapping[str, Any]) -> dict[int, float] | None:
    """Return the policy of an answer, for `checked_policy`. Raises `AgentProtocolError`."""
    pairs = values.get("policy")
    try:
        return None if pairs is None else dict(pairs)
    except (TypeError, ValueError):
        raise AgentProtocolError("an answer to 'policy' holds pairs or null") from None


def unpack_cpu(answer: Mapping[str, Any], *, limit: float) -> float:
    """Return the CPU seconds of an answer, at most `limit`.

    Raises:
      AgentProtocolError: there are none, or more than possible.
    """
    cpu: Any = answer.get("cpu")
    if type(cpu) is not float or not 0 <= cpu <= limit:
        raise AgentProtocolError(f"an answer holds CPU seconds, got {str(cpu)[:40]!r}")
    return cpu
