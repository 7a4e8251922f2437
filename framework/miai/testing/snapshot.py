"""Snapshots of a state: the answers of all its methods, which later changes do not affect."""

from __future__ import annotations

from collections.abc import Mapping

from miai.game import Observation, State
from miai.testing.findings import shown

Snapshot = Mapping[str, object]
"""Answers of a state by question: ``{"current_player()": 0, ...}``."""


def take_snapshot(state: State) -> Snapshot:
    """Return the answers of `state` to every question, copied.

    Observations and texts are taken per player; the tensor only where the game has one.
    """
    answers: dict[str, object] = {
        "current_player()": int(state.current_player()),
        "acting_players()": tuple(state.acting_players()),
        "pending_actions()": dict(state.pending_actions()),
        "is_terminal()": state.is_terminal(),
        "legal_actions()": list(state.legal_actions()),
        "chance_outcomes()": list(state.chance_outcomes()),
        "returns()": tuple(state.returns()),
        "rewards()": tuple(state.rewards()),
        "key()": state.key(),
        "history()": list(state.history()),
        "actors()": [int(actor) for actor in state.actors()],
        "str()": str(state),
        "result_to_string()": state.result_to_string(),
    }
    # As bytes and texts, so that no later change of the state reaches the snapshot.
    has_tensor = bool(state.game.observation_tensor_shape())
    for player in range(state.game.num_players()):
        answers[f"observation({player})"] = text_of(state.observation(player))
        answers[f"legal_actions_of({player})"] = list(state.legal_actions_of(player))
        answers[f"information_state_string({player})"] = state.information_state_string(player)
        if has_tensor:
            answers[f"observation_tensor({player})"] = state.observation_tensor(player).tobytes()
    return answers


def text_of(observation: Observation | None) -> str:
    """Return an observation as text, equal exactly for equal observations.

    Data that is not plain appears by its ``repr``; a rule of its own finds it.
    """
    if observation is None:
        return "nothing"
    o = observation
    actor = None if o.actor is None else int(o.actor)
    actions, legal = tuple(o.actions), tuple(o.legal_actions)
    return repr(
        (o.player, actor, o.action, _canonical(o.data), legal, *([actions] if actions else []))
    )


def difference(before: Snapshot, after: Snapshot) -> str:
    """Return the first answers that differ, as text; empty when none does."""
    for question, answer in before.items():
        if after.get(question) != answer:
            return f"{question} is {shown(after.get(question))}, not {shown(answer)}"
    return ""


def _canonical(data: object) -> object:
    if isinstance(data, Mapping):
        return {key: _canonical(data[key]) for key in sorted(data, key=repr)}
    if isinstance(data, (list, tuple)):
        return [_canonical(item) for item in data]
    return data
