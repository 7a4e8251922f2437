"""An enumerated belief that keeps what only a list of legal actions tells from its worlds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from miai.game import Observation, State
from miai.information import EnumeratedBelief, _Told


class PartingBelief(EnumeratedBelief):
    """Every world, and beside them the states that the last list of legal actions ruled out.

    A player is told its legal actions, so that worlds in which they are others are no worlds any
    more. Where its information state does not tell them apart either, what it may do depends on
    what is hidden.

    Attributes:
      parted: the states that explain the last observation but for its legal actions, and all
        before it; at most `limit`.
    """

    parted: tuple[State, ...] = ()

    def _advance(self, worlds: list[State], told: _Told) -> dict[Hashable, State]:
        watching = _Watching(told.observation)
        found = super()._advance(worlds, watching)
        self.parted = ()
        if watching.parts:  # seldom: enumerate once more, and keep them
            alike = super()._advance(worlds, _Blind(told.observation))
            self.parted = tuple(state for key, state in alike.items() if key not in found)
        return found


class _Blind(_Told):
    """What was told, but for the legal actions."""

    __slots__ = ()

    def is_same(self, other: Observation) -> bool:
        return super().is_same(replace(other, legal_actions=self.observation.legal_actions))


class _Watching(_Told):
    """What was told.

    Attributes:
      parts: whether something was refused for its legal actions alone.
    """

    __slots__ = ("_blind", "parts")

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation)
        self.parts = False
        self._blind = _Blind(observation)

    def is_same(self, other: Observation) -> bool:
        if tuple(other.legal_actions) == tuple(self.observation.legal_actions):
            return super().is_same(other)
        self.parts = self.parts or self._blind.is_same(other)
        return False
