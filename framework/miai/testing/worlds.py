"""The rules of beliefs and of resampling, in games that hide information.

A *world* is a state that is consistent with all that a player was told. A belief must hold the
true state and worlds of the player's own information state only; whoever resamples must not be
able to tell the true one from the rest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Hashable
from typing import TypeAlias

from miai.game import Game, Observation, State
from miai.information import (
    BeliefState,
    BeliefTooLargeError,
    Determinizer,
    EmptyBeliefError,
    PlayerView,
)
from miai.testing.findings import Findings, shown
from miai.testing.parting import PartingBelief
from miai.testing.telling import HIDDEN_ACTIONS, InformationIndex, Track

DRAWS = 40
"""Worlds drawn in one position before the true one every time is called a leak.

An honest resampler that takes the true world with probability q is accused there with probability
q**40: under 1e-12 for a uniform one, under 2e-9 for q = 0.6, 1.3e-4 for q = 0.8.
"""

SAMPLED_WORLDS = 8
"""Most worlds of one belief that are compared with the true state."""

RESAMPLED_POSITIONS = 200
"""Most positions of one check in which worlds are drawn."""

BeliefFactory: TypeAlias = Callable[[Game, int], BeliefState[State]]
"""Builds the belief of a player of a game, before anything was observed."""


class BeliefChecker:
    """Follows one player's belief through one game.

    Attributes:
      view: the player's view, which is told before the belief is.
    """

    def __init__(self, view: PlayerView, factory: BeliefFactory, findings: Findings) -> None:
        self.view = view
        self._findings = findings
        self._belief: BeliefState[State] | None = factory(view.game, view.player)

    def observe(self, observation: Observation, state: State) -> None:
        """Tell the belief what the player was told; the true state must be among its worlds."""
        if self._belief is None:
            return
        player = self.view.player
        try:
            self._belief.observe(observation)
        except BeliefTooLargeError as error:
            self._belief = None
            self._findings.note_skipped(f"beliefs that grow too large: {error}")
        except EmptyBeliefError as error:
            self._belief = None
            message = f"player {player} holds nothing possible: {error}"
            self._findings.add("belief", message, state.history())
        else:
            if not self._holds(state):
                message = f"the true state is not among player {player}'s {len(self._belief)}"
                self._findings.add("belief", f"{message} worlds", state.history())
            self._compare_actions(state)

    def _compare_actions(self, state: State) -> None:
        """Compare what the player may do with what it may do in all that it cannot tell apart."""
        player = self.view.player
        if state.current_player() != player:
            return
        legal, told = state.legal_actions(), state.information_state_string(player)
        worlds = [world for world in self._belief or () if world.history()]
        if isinstance(self._belief, PartingBelief):
            parted = self._belief.parted
            worlds += [w for w in parted if w.information_state_string(player) == told]
        for world in worlds:
            if world.current_player() == player and world.legal_actions() != legal:
                here, there = shown(legal), shown(world.legal_actions())
                message = (
                    f"player {player} has the legal actions {here}, but {there} after "
                    f"{world.history()}, in the same information state: {HIDDEN_ACTIONS}"
                )
                self._findings.add("legal-actions-leak", message, state.history())
                return

    def _holds(self, state: State) -> bool:
        """Ask the belief, which may know better than by keys what it leaves out of its worlds."""
        if isinstance(self._belief, Container):
            return state in self._belief
        return state.key() in self.keys()

    def keys(self) -> set[Hashable]:
        """Return the keys of all worlds; empty when there is no belief any more."""
        return {world.key() for world in self._belief or ()}

    def compare_worlds(self, track: Track, index: InformationIndex, rng: random.Random) -> None:
        """Compare a sample of the worlds with the true state, all in one information state."""
        worlds = list(self._belief or ())
        if len(worlds) < 2:
            return
        self._findings.beliefs += 1
        player = self.view.player
        for world in rng.sample(worlds, min(SAMPLED_WORLDS, len(worlds))):
            if track.state.history() and not world.history():
                self._compare_made(world, track)
                continue
            replayed = Track(self.view.game, world.history())
            if replayed.told[player] != track.told[player]:
                message = (
                    f"in the world {shown(str(world))}, after {world.history()}, player {player} "
                    "would have been told something else"
                )
                self._findings.add("belief", message, track.state.history())
            index.add(replayed)

    def _compare_made(self, world: State, track: Track) -> None:
        """Compare a world without a history, which a belief set up from what it holds."""
        state, player = track.state, self.view.player
        if world.current_player() != state.current_player():
            message = f"the world {shown(str(world))} has somebody else to move"
        elif state.current_player() == player and world.legal_actions() != state.legal_actions():
            message = f"in the world {shown(str(world))} player {player} has other legal actions"
        else:
            return
        self._findings.add("belief", message, state.history())

    def draw(self, rng: random.Random) -> State | None:
        """Return a world drawn from the belief; None when there is no belief any more."""
        return None if self._belief is None else self._belief.sample(rng)


def check_resampling(
    state: State,
    checker: BeliefChecker,
    *,
    findings: Findings,
    rng: random.Random,
    determinizer: Determinizer | None = None,
) -> None:
    """Draw worlds until one is not the true one; draws that always are it are a leak.

    Args:
      state: the true state, at the turn of the checker's player.
      determinizer: what draws; the belief itself by default.
    """
    keys = checker.keys()
    if len(keys) < 2:
        return
    before = state.serialize()
    for _ in range(DRAWS):
        world = determinizer.determinize(checker.view, rng) if determinizer else checker.draw(rng)
        if world is None:
            return
        if world.key() not in keys:
            message = f"drew a state that is no world of player {checker.view.player}: {world}"
            findings.add("resampling", message, state.history())
            return
        other = world.key() != state.key()
        world.apply_action(rng.choice(world.legal_actions()))
        if state.serialize() != before:
            findings.add("resampling-leak", "what is drawn is the true state", state.history())
            return
        if other:
            return
    message = f"{DRAWS} draws out of {len(keys)} worlds were the true one every time"
    findings.add("resampling-leak", message, state.history())
