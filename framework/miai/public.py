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
from typing import Any, Protocol, cast, runtime_checkable

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
    return _shared_part([state.observation(p) for p in range(state.game.num_players())])


def private_part(state: State, player: int) -> Json:
    """Return what only `player` learns of the last transition; None if nothing.

    By default the fields of its observation, its legal actions included, without the public part.
    """
    if isinstance(state, PublicPartsState):
        return state.private_part(player)
    observation = state.observation(player)
    if not isinstance(observation, Observation):
        return None
    own = {**_fields(observation), "legal_actions": list(observation.legal_actions)}
    return _rest(own, public_part(state))


def public_state(state: State) -> tuple[str, ...]:
    """Return the public parts of all transitions so far, oldest first, as JSON.

    States that any player cannot distinguish have equal ones.
    """
    replay, parts = state.game.new_initial_state(), []
    for action in [None, *state.history()]:
        if action is not None:
            replay.apply_unchecked(action)
        if (part := public_part(replay)) is not None:
            parts.append(dumps(part))
    return tuple(parts)


_NOTHING = object()


def _fields(observation: Observation) -> dict[str, Any]:
    """Return what an observation says of its transition; fields that say nothing are left out."""
    values = {name: getattr(observation, name) for name in ("actor", "action", "data")}
    if observation.actions:
        values["actions"] = list(observation.actions)
    return {name: value for name, value in values.items() if value is not None}


def _shared_part(observations: Sequence[Observation | None]) -> Json:
    fields = []
    for observation in observations:
        if not isinstance(observation, Observation):
            return None
        fields.append(_fields(observation))
        if observation.actor == Player.SIMULTANEOUS:  # the action is each player's own
            fields[-1].pop("action", None)
    shared = _common(fields)
    return None if shared in (_NOTHING, {}) else shared


def _common(values: Sequence[Any]) -> Any:
    """Return in what plain values agree; `_NOTHING` if in nothing."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if not all(isinstance(value, Mapping) for value in values):
        return _NOTHING
    keys = [key for key in first if all(key in value for value in values)]
    parts = {key: _common([value[key] for value in values]) for key in keys}
    parts = {key: part for key, part in parts.items() if part is not _NOTHING}
    return parts or _NOTHING


def _rest(value: Any, shared: Any) -> Json:
    """Return what a value has beside its shared part; None if nothing."""
    if not isinstance(value, Mapping) or not isinstance(shared, Mapping):
        return cast("Json", value)
    rest = {
        key: _rest(part, shared.get(key))
        for key, part in value.items()
        if key not in shared or shared[key] != part
    }
    return rest or None
