"""Public and private parts of what players observe.

The public part of a transition is what all players learn of it alike, so that all know that all
know it; the rest of a player's observation is its private part (V. Kovarik, M. Schmid, N. Burch, M.
Bowling, V. Lisy, "Rethinking formal models of partially observable multiagent decision making",
2022). By default the public part is what the observations of all players have in common. A game
whose players may observe the same by coincidence, such as two equal cards, must state its own:
`check_game` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from miai.game import Observation, Player, State
from miai.plain import Json, dumps


@runtime_checkable
class PublicPartsState(Protocol):
    """A state that itself divides the observations of its last transition."""

    def public_part(self) -> Json:
        """Return what all players learn alike; None if nothing. It follows from each one's view."""

    def private_part(self, player: int) -> Json:
        """Return what with the public part gives the player's observation; None for nothing."""


def public_part(state: State) -> Json:
    """Return what all players learn alike of the last transition; None if nothing.

    By default ``{"actor", "action", "actions", "data"}``, as far as all observations agree, also in
    parts of `data`.
    """
    if isinstance(state, PublicPartsState):
        return state.public_part()
    observations = [state.observation(player) for player in range(state.game.num_players())]
    shared = _common([_fields(observation) for observation in observations])
    if any(isinstance(o, Observation) and o.actor == Player.SIMULTANEOUS for o in observations):
        shared.pop("action", None)  # each player's own
    return shared or None


def private_part(state: State, player: int) -> Json:
    """Return what only `player` learns of the last transition; None if nothing.

    By default the fields of its observation, its legal actions included, without the public part.
    """
    if isinstance(state, PublicPartsState):
        return state.private_part(player)
    observation, shared = state.observation(player), public_part(state)
    if not isinstance(observation, Observation):
        return None
    own = {**_fields(observation), "legal_actions": list(observation.legal_actions)}
    return _rest(own, shared if isinstance(shared, Mapping) else {})


def public_state(state: State) -> tuple[str, ...]:
    """Return the public parts of all transitions so far, oldest first, as JSON.

    States that any player cannot distinguish have equal ones.
    """
    states = [state.game.new_initial_state()]
    for action in state.history():
        states.append(states[-1].child(action))
    return tuple(dumps(part) for part in map(public_part, states) if part is not None)


def _fields(observation: Observation | None) -> dict[str, Any]:
    """Return what an observation says of its transition; fields that say nothing are left out."""
    if not isinstance(observation, Observation):
        return {}
    values = {name: getattr(observation, name) for name in ("actor", "action", "data")}
    values["actions"] = list(observation.actions) or None
    return {name: value for name, value in values.items() if value is not None}


def _common(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entries in which all mappings agree, and the common ones of mappings in them."""
    common = {}
    for key, first in values[0].items():
        parts = [value.get(key, _ABSENT) for value in values]
        if all(part == first for part in parts):
            common[key] = first
        elif all(isinstance(part, Mapping) for part in parts) and (shared := _common(parts)):
            common[key] = shared
    return common


def _rest(value: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that a mapping has beside the shared ones."""
    return {
        key: _rest(part, shared[key]) if key in shared else part
        for key, part in value.items()
        if shared.get(key, _ABSENT) != part
    }


_ABSENT = object()
