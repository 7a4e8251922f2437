"""The check of an agent: it plays every seat, then the same games again."""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from miai.agent import Agent, checked_decision, stated_policy
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentProtocolError
from miai.game import Game, Observation, Player, State, sample_chance
from miai.testing.findings import (
    AGENT_RULES,
    ConformanceReport,
    Findings,
    refuse_unknown_rules,
    shown,
)
from miai.testing.snapshot import text_of

AgentFactory: TypeAlias = Callable[[Game], Agent]
"""Builds a new agent for a game: ``lambda game: miai.make_agent("mcts", game, simulations=20)``."""

DRAWS = 400
"""Seeds whose decisions are compared with a policy."""

RESIGNED = -1
"""Stands for a resignation among decisions."""


def check_agent(
    factory: AgentFactory,
    game: Game,
    *,
    seed: int = 0,
    games: int = 2,
    max_plies: int | None = None,
    skip: Collection[str] = (),
) -> ConformanceReport:
    """Let an agent play every seat against random moves, and check every rule of `AGENT_RULES`.

    Each game is played by a new agent, by a second one, and once more by the second after it played
    other games: the decisions must be the same. Its first policy that mixes actions is compared
    with decisions of 400 seeds. Give the agent a budget in simulations, nodes or plies; one in
    seconds is not reproducible, so `skip` ``seeded``, ``carried-over`` and ``policy`` for it.

    Args:
      factory: builds a new agent; called twice for each seat and game, and each is closed.
      game: what it plays, of perfect or imperfect information.
      seed: of all that is random in the check, the agent's seeds included.
      games: games in each seat.
      max_plies: maximum number of players' actions in a game; None to play to the end.
      skip: names of rules not to check.

    Raises:
      ConformanceError: rules are broken; it lists the first violation of each, with the actions
        that lead to it.
      ParameterError: `skip` names no rule.
      AgentUnavailableError: the agent does not serve the game, or lacks something.
    """
    refuse_unknown_rules(skip, AGENT_RULES)
    findings = Findings(subject=f"the agent in {game!r}", seed=seed, skip=skip)
    plies = game.max_game_length() if max_plies is None else max_plies
    for player in range(game.num_players()):
        for number in range(games):
            _check_seat(factory, game, findings, player=player, number=number, plies=plies)
    # An agent without a seed can play one game twice by luck, and differ in the third.
    findings.withdraw("carried-over", where_broken="seeded")
    return findings.report()


def _check_seat(
    factory: AgentFactory, game: Game, findings: Findings, *, player: int, number: int, plies: int
) -> None:
    seed = random.Random(f"{findings.seed}/{player}/{number}").getrandbits(32)
    policies: list[_Policies] = []

    def play(agent: Agent, *, seed: int, player: int) -> list[int] | None:
        one = _AgentGame(agent, game, findings, seed=seed, player=player, plies=plies)
        one.asks_first = agent is second
        policies.append(one.policies)
        return one.play()

    first, second = factory(game), factory(game)
    try:
        reference = play(first, seed=seed, player=player)
        again = play(second, seed=seed, player=player)
        _compare(reference, again, "seeded", "another agent of the same seed", findings)
        for other in range(game.num_players()):
            play(second, seed=seed + 1 + other, player=other)
        # The same game after others: what the agent has learnt there must not show.
        after = play(second, seed=seed, player=player)
        if reference == again:
            _compare(reference, after, "carried-over", "after other games", findings)
        if reference == again == after:
            pairs = zip(policies[0] * 2, policies[1] + policies[-1], strict=False)
            for one, another in pairs:
                if one != another:
                    message = f"{another[1]} before act() or after other games, {one[1]} else"
                    findings.add("policy", message, one[0])
        mixed = next((h for h, p in policies[0] if p and max(p.values()) < 1), None)
        if mixed is not None:
            _check_draws(first, game, findings, player=player, history=mixed)
    finally:
        first.close()
        second.close()


def _compare(
    reference: list[int] | None, again: list[int] | None, rule: str, when: str, findings: Findings
) -> None:
    """Report where two runs of one game diverge; None stands for a game with a fault."""
    if reference is None or again is None or reference == again:
        return
    same = next(
        (ply for ply, (a, b) in enumerate(zip(reference, again, strict=False)) if a != b),
        min(len(reference), len(again)),
    )
    message = f"{when}, the game goes on {again[same:][:8]} and not {reference[same:][:8]}"
    findings.add(rule, message, reference[:same])


_Policies: TypeAlias = "list[tuple[list[int], dict[int, float] | None]]"
"""The policies of a game's decisions, after the actions before each."""


def _check_draws(
    agent: Agent, game: Game, findings: Findings, *, player: int, history: Sequence[int]
) -> None:
    """Compare how often an action is drawn at a view, with many seeds, with its probability."""
    states = [game.new_initial_state()]
    for action in history:
        states.append(states[-1].child(action))
    seen = [state.observation(player) for state in states]
    excess: dict[int | None, float] = defaultdict(float)
    variance: dict[int | None, float] = defaultdict(float)
    policies = []
    for seed in range(DRAWS):
        agent.new_game(seed, player=player)
        for observation in filter(None, seen):
            agent.observe(copy.deepcopy(observation))
        decision = agent.act(ClockReading(control=TimeControl()))
        policy = stated_policy(agent)
        if policy is None or decision.resign:
            continue
        policies.append(policy)
        for action, probability in policy.items():
            excess[action] += (action == decision.action) - probability
            variance[action] += probability * (1 - probability)
        # Where policies change with the seed, their means may be right and each draw wrong.
        mean = sum(p * p for p in policy.values())
        excess[None] += policy.get(decision.action, 0.0) - mean
        variance[None] += sum(p**3 for p in policy.values()) - mean**2
    if agent.policy_is_fixed and policies.count(policies[0]) < len(policies):
        findings.add("policy", "policy_is_fixed, but it differs between seeds", history)
    for drawn, more in excess.items():
        # Bernstein's inequality: an agent that draws from its policy exceeds this once in 10**6.
        if more**2 > 28 * (variance[drawn] + abs(more) / 3):
            message = f"of {len(policies)} decisions with different seeds, {abs(more):.0f} "
            message += f"{'more' if more > 0 else 'fewer'} than the policy says are "
            message += "likely ones" if drawn is None else f"action {drawn}"
            findings.add("policy", message, history)


def random_action(state: State, rng: random.Random) -> int:
    """Return an outcome of chance by its probability, or a uniformly random legal action."""
    return (
        sample_chance(state, rng) if state.is_chance_node() else rng.choice(state.legal_actions())
    )


class _Fault(Exception):  # noqa: N818 - a way out of the game, not an error
    """The agent broke a rule after which the game cannot go on."""


class _AgentGame:
    """One game of the agent against random moves."""

    def __init__(
        self, agent: Agent, game: Game, findings: Findings, *, seed: int, player: int, plies: int
    ) -> None:
        self.agent, self.game, self.findings = agent, game, findings
        self.seed, self.player, self.plies = seed, player, plies
        self.rng = random.Random(seed)
        self.state: State = game.new_initial_state()
        self.observations: list[Observation] = []  # the referee's own copies
        self.policies: _Policies = []
        self.asks_first = False  # for the policy, and then for the decision

    def play(self) -> list[int] | None:
        """Return all actions, `RESIGNED` last when it resigned; None when a fault ended it."""
        self.findings.games += 1
        try:
            self._call(lambda: self.agent.new_game(self.seed, player=self.player))
            self._tell()
            resigned = self._play_on()
            self._call(lambda: self.agent.end(self._returns(resigned)))
        except _Fault:
            return None
        return self.state.history() + [RESIGNED] * resigned

    def _play_on(self) -> bool:
        while not self.state.is_terminal() and self.plies > 0:
            actor = self.state.next_actor()
            if actor == self.player:
                action = self._decision()
                if action == RESIGNED:
                    return True
            else:
                action = random_action(self.state, self.rng)
            self.plies -= actor != Player.CHANCE
            self.state.apply_action(action)
            self._tell()
        return False

    def _decision(self) -> int:
        self.findings.positions += 1
        reading = ClockReading(control=TimeControl())
        answers: list[Any] = []
        calls = [lambda: answers.append(self.agent.act(reading)), self._note_policy]
        for call in reversed(calls) if self.asks_first else calls:
            self._call(call)
        try:
            decision = checked_decision(answers[0])
        except AgentProtocolError as error:
            raise self._fault("decision", str(error)) from None
        self._check_view()
        if decision.resign:
            return RESIGNED
        if not self.state.is_legal(decision.action):
            message = f"action {decision.action} is not legal here; legal are "
            raise self._fault("decision", message + shown(self.state.legal_actions()))
        policy = self.policies[-1][1]
        if policy and not policy.get(decision.action):
            raise self._fault("policy", f"action {decision.action} has probability 0 in {policy}")
        return decision.action

    def _note_policy(self) -> None:
        try:
            self.policies.append((self.state.history(), stated_policy(self.agent)))
        except AgentProtocolError as error:
            raise self._fault("policy", str(error)) from None

    def _check_view(self) -> None:
        """Check the observations in the agent's view, and its state under perfect information."""
        view = self.agent.view
        texts = [text_of(observation) for observation in view.observations]
        if view.player != self.player or texts != [text_of(own) for own in self.observations]:
            message = "act() changed the agent's observations, or observe() did not keep them"
            raise self._fault("view", message)
        if not self.game.info.perfect_information:
            return
        unseen = len(self.state.pending_actions())  # of players who act at the same time
        known = self.state.history()[: self.state.move_number() - unseen]
        if view.state.history() != known or (not unseen and view.state.key() != self.state.key()):
            raise self._fault("view", "act() changed view.state; search on a clone")

    def _tell(self) -> None:
        observation = self.state.observation(self.player)
        if observation is None:
            return
        self.observations.append(copy.deepcopy(observation))
        self._call(lambda: self.agent.observe(copy.deepcopy(observation)))

    def _returns(self, resigned: bool) -> tuple[float, ...]:
        if resigned:
            return self.game.resignation_returns(self.player)
        if self.state.is_terminal():
            return self.state.returns()
        return self.state.truncated_returns()

    def _call(self, call: Callable[[], object]) -> None:
        try:
            call()
        except _Fault:
            raise
        except Exception as error:
            self.findings.raised(error, f"as player {self.player}", self.state.history())
            raise _Fault from error

    def _fault(self, rule: str, message: str) -> _Fault:
        self.findings.add(rule, f"player {self.player}: {message}", self.state.history())
        return _Fault()
