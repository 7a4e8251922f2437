"""Agents with one defect each, and the rule that each of them breaks."""

from __future__ import annotations

import random
from collections.abc import Mapping

from miai import Agent, ClockReading, Decision, Game, Observation, RandomAgent


class Learns(Agent):
    """Plays by the number of games that it has seen."""

    games = 0

    def act(self, clock: ClockReading) -> Decision:
        legal = self.view.legal_actions
        return Decision(legal[self.games % len(legal)])

    def end(self, returns: tuple[float, ...]) -> None:
        self.games += 1


class KeepsItsGenerator(Agent):
    """Does not seed its generator anew for each game."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.own = random.Random(7)

    def act(self, clock: ClockReading) -> Decision:
        return Decision(self.own.choice(self.view.legal_actions))


class Unseeded(Agent):
    """Draws from a generator that nobody seeded."""

    def act(self, clock: ClockReading) -> Decision:
        return Decision(random.SystemRandom().choice(self.view.legal_actions))


class PlaysTheFirstCell(Agent):
    """Plays action 0, taken or not."""

    def act(self, clock: ClockReading) -> Decision:
        return Decision(0)


class AnswersWithANumber(Agent):
    """Returns the action alone."""

    def act(self, clock: ClockReading) -> Decision:
        return self.view.legal_actions[0]  # type: ignore[return-value]  # the defect


class TellsOfItself(Agent):
    """Puts an object into its statistics."""

    def act(self, clock: ClockReading) -> Decision:
        return Decision(self.view.legal_actions[0], statistics={"agent": self})  # type: ignore[dict-item]  # the defect


class RewritesThePast(Agent):
    """Forgets what it was told."""

    def act(self, clock: ClockReading) -> Decision:
        action = self.view.legal_actions[0]
        del self.view.observations[0]
        return Decision(action)


class RewritesData(Agent):
    """Marks what it was told as read."""

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        if isinstance(observation.data, dict):
            observation.data["read"] = True

    def act(self, clock: ClockReading) -> Decision:
        return Decision(self.rng.choice(self.view.legal_actions))


class SearchesOnItsView(Agent):
    """Tries moves on the view's state and does not take them back."""

    def act(self, clock: ClockReading) -> Decision:
        action = self.view.legal_actions[0]
        if self.view.game.info.perfect_information:
            self.view.state.apply_action(action)
        return Decision(action)


class PlaysOneSideOnly(Agent):
    """Cannot play second."""

    def act(self, clock: ClockReading) -> Decision:
        return Decision({0: self.view.legal_actions}[self.view.player][0])


class DrawsOtherwise(RandomAgent):
    """States a uniform policy, and prefers the first action to all others."""

    def act(self, clock: ClockReading) -> Decision:
        return Decision(min(super().act(clock).action, super().act(clock).action))


class ThinksAgain(RandomAgent):
    """States another policy once it has acted, or with another seed."""

    policy_is_fixed = False

    def policy(self) -> Mapping[int, float]:
        rng = random.Random(repr(self.rng.getstate()))
        weights = {action: 1 + rng.random() / 9 for action in self.view.legal_actions}
        return {action: weight / sum(weights.values()) for action, weight in weights.items()}


class SaysThatItIsFixed(ThinksAgain):
    """Never draws, so that its policy changes with the seed alone."""

    policy_is_fixed = True

    def act(self, clock: ClockReading) -> Decision:
        return Decision(self.view.legal_actions[0])


RULES: dict[type[Agent], str] = {
    Learns: "carried-over",
    KeepsItsGenerator: "carried-over",
    Unseeded: "seeded",
    PlaysTheFirstCell: "decision",
    AnswersWithANumber: "decision",
    TellsOfItself: "decision",
    RewritesThePast: "view",
    RewritesData: "view",
    SearchesOnItsView: "view",
    PlaysOneSideOnly: "raises",
    DrawsOtherwise: "policy",
    ThinksAgain: "policy",
    SaysThatItIsFixed: "policy",
}
