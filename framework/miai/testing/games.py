"""The check of a game: random games, and every rule in every position of them."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

from miai.game import Game, Player, State
from miai.information import Determinizer, PlayerView
from miai.testing.findings import Findings, Report, refuse_unknown_rules
from miai.testing.futures import KeyIndex, check_replay
from miai.testing.parting import PartingBelief
from miai.testing.positions import CHECKS, Position, check_info
from miai.testing.reach import check_unreachable
from miai.testing.rules import GAME_RULES
from miai.testing.snapshot import Snapshot, difference, take_snapshot
from miai.testing.telling import (
    InformationIndex,
    Track,
    check_observations,
    check_perfect_information,
)
from miai.testing.worlds import (
    RESAMPLED_POSITIONS,
    BeliefChecker,
    BeliefFactory,
    check_resampling,
)

SIBLINGS = 8
"""Most children of one position that are compared with each other."""


def check_game(
    game: Game,
    *,
    seed: int = 0,
    games: int = 20,
    max_plies: int | None = None,
    worlds: int = 2000,
    belief: BeliefFactory | None = None,
    determinizer: Determinizer | None = None,
    skip: Collection[str] = (),
) -> Report:
    """Play random games and check every rule of `GAME_RULES` in all their positions.

    Args:
      game: the game.
      seed: of all that is random in the check; the same seed repeats it.
      games: random games to play.
      max_plies: stop each game after so many actions of players; None to play to the end.
      worlds: most worlds of an enumerated belief; where there are more, the rules of beliefs
        are not checked from there on, which the report says.
      belief: builds the game's own belief, which is checked in place of `EnumeratedBelief`.
      determinizer: the game's own; by default the worlds are drawn from the belief.
      skip: names of rules not to check.

    Returns:
      What was looked at, and what could not be.

    Raises:
      ConformanceError: rules are broken; it lists the first violation of each, with the actions
        that lead to it.
      ParameterError: `skip` names no rule.
    """
    refuse_unknown_rules(skip, GAME_RULES)
    findings = Findings(subject=repr(game), seed=seed, skip=skip)
    check_info(game.info, findings)
    setup = _Setup(
        game=game,
        findings=findings,
        max_plies=max_plies,
        belief=belief or _enumerated(worlds),
        determinizer=determinizer,
        keys=KeyIndex(findings, seed=seed),
        index=InformationIndex(findings),
    )
    for number in range(games):
        _CheckedGame(setup, random.Random(f"{seed}/{number}")).play()
    return findings.report()


def _enumerated(limit: int) -> BeliefFactory:
    return lambda game, player: PartingBelief(game, player, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What the games of one check share."""

    game: Game
    findings: Findings
    max_plies: int | None
    belief: BeliefFactory
    determinizer: Determinizer | None
    keys: KeyIndex
    index: InformationIndex


class _CheckedGame:
    """One random game under check."""

    def __init__(self, setup: _Setup, rng: random.Random) -> None:
        self.setup, self.rng = setup, rng
        self.findings = setup.findings
        self.plies = 0
        self.actions: list[int] = []
        self.kept: list[tuple[State, Snapshot]] = []  # clones, and what they answered

    def play(self) -> None:
        """Play it; an exception of the game ends it and is noted."""
        self.findings.games += 1
        try:
            self._begin()
            self._look(None)
            while not self._is_over():
                self._look(self._step())
            self._conclude()
        except Exception as error:
            self.findings.raised(error, "in a random game", self.actions)

    def _begin(self) -> None:
        game = self.setup.game
        self.track = Track(game)
        self.views = [PlayerView(game, player) for player in range(game.num_players())]
        hides = not game.info.perfect_information
        self.checkers = [
            BeliefChecker(view, self.setup.belief, self.findings) for view in self.views if hides
        ]

    def _is_over(self) -> bool:
        state, limit = self.track.state, self.setup.game.max_game_length()
        if state.is_terminal():
            return True
        if self.plies >= limit and not state.is_chance_node():
            message = f"the game goes on after max_game_length() = {limit} plies"
            self.findings.add("game-length", message, self.actions)
            return True
        return self.setup.max_plies is not None and self.plies >= self.setup.max_plies

    def _step(self) -> tuple[int, int]:
        """Take a random action; return who acted and how."""
        state = self.track.state
        actor = state.current_player()
        if actor == Player.CHANCE:
            outcomes = state.chance_outcomes()
            weights = [probability for _, probability in outcomes]
            action = self.rng.choices([action for action, _ in outcomes], weights)[0]
        else:
            action = self.rng.choice(state.legal_actions())
            self.plies += 1
        self._add_siblings()
        self.actions.append(action)
        self.track.apply(action)
        return actor, action

    def _add_siblings(self) -> None:
        """Compare the positions after other actions than the one that is taken, too."""
        actions = self.track.state.legal_actions()
        for action in self.rng.sample(actions, min(SIBLINGS, len(actions))):
            sibling = self.track.child(action)
            self.setup.index.add(sibling)
            self.setup.keys.add(sibling.state)

    # -- what is checked in every position ----------------------------------------------------

    def _look(self, last: tuple[int, int] | None) -> None:
        state, findings = self.track.state, self.findings
        findings.positions += 1
        self.kept.append((state.clone(), take_snapshot(state)))
        position = Position(state, findings, self.rng)
        for rule, check in CHECKS.items():
            try:
                check(position)
            except Exception as error:
                findings.raised(error, f"while '{rule}' was checked", self.actions)
        check_observations(state, self.views, findings=findings, last=last)
        self.setup.index.add(self.track)
        self.setup.keys.add(state.clone())
        if self.setup.game.info.perfect_information:
            check_perfect_information(state, self.views, findings)
        else:
            self._look_into_beliefs()

    def _look_into_beliefs(self) -> None:
        state = self.track.state
        for checker in self.checkers:
            observation = state.observation(checker.view.player)
            if observation is None:
                continue
            checker.observe(observation, state)
            checker.compare_worlds(self.track, self.setup.index, self.rng)
            if state.current_player() == checker.view.player:
                self._resample(checker)

    def _resample(self, checker: BeliefChecker) -> None:
        if self.findings.beliefs <= RESAMPLED_POSITIONS:
            check_resampling(
                self.track.state,
                checker,
                findings=self.findings,
                rng=self.rng,
                determinizer=self.setup.determinizer,
            )

    # -- what is checked at the end -----------------------------------------------------------

    def _conclude(self) -> None:
        for clone, snapshot in self.kept:
            if changed := difference(snapshot, take_snapshot(clone)):
                message = f"after the original played {self.actions}, of a clone {changed}"
                self.findings.add("clone", message, clone.history())
        snapshots = [snapshot for _, snapshot in self.kept]
        try:
            check_replay(self.setup.game, self.actions, snapshots, self.findings)
        except Exception as error:
            message = f"played again, {type(error).__name__}: {error}"
            self.findings.add("deterministic", message, self.actions)
        if not self.setup.game.info.perfect_information:
            check_unreachable(self.track.state, self.views, self.findings)
