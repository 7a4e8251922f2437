"""The rules of what follows: equal keys have equal futures, equal actions have equal effects."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence

from miai.game import Game, State
from miai.testing.findings import Findings
from miai.testing.snapshot import Snapshot, difference, take_snapshot, text_of

MAX_COMPARED = 500
"""Most pairs of positions with equal keys that are played on in one check."""


class KeyIndex:
    """Compares positions with equal keys, by playing both on in the same way.

    Attributes:
      plies: how far they are played on at most.
    """

    def __init__(self, findings: Findings, *, seed: int, plies: int = 12) -> None:
        self.plies = plies
        self._findings = findings
        self._rng = random.Random(seed)
        self._seen: dict[Hashable, State] = {}
        self._compared = 0

    def add(self, state: State) -> None:
        """Compare a position, which is kept, with the first one that had its key."""
        other = self._seen.setdefault(state.key(), state)
        if other.history() != state.history() and self._compared < MAX_COMPARED:
            self._compared += 1
            self._compare(other.clone(), state.clone())

    def _compare(self, one: State, other: State) -> None:
        begin = one.history(), other.history()
        changed = difference(_present(one), _present(other))
        for _ in range(self.plies):
            actions = one.legal_actions()
            if changed or not actions:
                break
            action = self._rng.choice(actions)
            one.apply_action(action)
            other.apply_action(action)
            changed = difference(_present(one) | _told(one), _present(other) | _told(other))
        if changed:
            message = (
                f"the key is that of {begin[0]}, but after {one.history()[len(begin[0]) :]} more "
                f"{changed}"
            )
            self._findings.add("key", message, begin[1])


def _present(state: State) -> dict[str, object]:
    return {
        "current_player()": state.current_player(),
        "legal_actions()": state.legal_actions(),
        "chance_outcomes()": state.chance_outcomes(),
        "returns()": state.returns(),
        "key()": state.key(),
    }


def _told(state: State) -> dict[str, object]:
    players = range(state.game.num_players())
    return {f"observation({player})": text_of(state.observation(player)) for player in players}


def check_replay(
    game: Game, actions: Sequence[int], snapshots: Sequence[Snapshot], findings: Findings
) -> None:
    """The same actions lead to the same positions again.

    Args:
      snapshots: of the initial state and of the state after each action.
    """
    state = game.new_initial_state()
    for ply, before in enumerate(snapshots):
        if ply:
            state.apply_action(actions[ply - 1])
        if changed := difference(before, take_snapshot(state)):
            message = f"played again, {changed}"
            findings.add("deterministic", message, actions[:ply])
            return
