"""Findings of a conformance check: violations, the report of a clean run, and all rules."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from miai.errors import ConformanceError, ParameterError, Violation, near_matches

MAX_TEXT = 400
"""Maximum number of characters of a value in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceReport:
    """The extent of a check that found no violation.

    Attributes:
      subject: the game or agent.
      seed: seed of the check.
      games: games played.
      positions: positions checked.
      beliefs: beliefs of more than one world that were checked; 0 without hidden information.
      skipped: checks that were left out, and why.
    """

    subject: str
    seed: int
    games: int
    positions: int
    beliefs: int = 0
    skipped: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Findings:
    """Collects violations, the first of each rule.

    Attributes:
      subject: the game or agent, for the messages.
      seed: seed of the check.
      skip: rules that are not checked.
      games, positions, beliefs: counts for the report.
    """

    subject: str
    seed: int
    skip: Collection[str] = ()
    games: int = 0
    positions: int = 0
    beliefs: int = 0
    _violations: dict[str, Violation] = field(default_factory=dict)
    _skipped: dict[str, None] = field(default_factory=dict)

    def add(self, rule: str, message: str, actions: Sequence[int]) -> None:
        """Record a violation; only the first of each rule is kept."""
        if rule not in self.skip and rule not in self._violations:
            self._violations[rule] = Violation(rule, message, self.seed, tuple(actions))

    def withdraw(self, rule: str, *, where_broken: str) -> None:
        """Drop the violation of `rule` if a rule that it depends on is broken too."""
        if where_broken in self._violations:
            self._violations.pop(rule, None)

    def note_skipped(self, what: str) -> None:
        """Record a check that was left out."""
        self._skipped[what] = None

    def raised(self, error: Exception, where: str, actions: Sequence[int]) -> None:
        """Record an unexpected exception as a violation of the rule ``raises``."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        self.add("raises", f"{type(error).__name__}: {error} {where}{place}", actions)

    def report(self) -> ConformanceReport:
        """Return the report. Raises `ConformanceError` if a rule was broken."""
        if self._violations:
            raise ConformanceError(self.subject, list(self._violations.values()))
        return ConformanceReport(
            subject=self.subject,
            seed=self.seed,
            games=self.games,
            positions=self.positions,
            beliefs=self.beliefs,
            skipped=tuple(self._skipped),
        )


def refuse_unknown_rules(skip: Collection[str], known: Collection[str]) -> None:
    """Raise `ParameterError` for a rule that does not exist."""
    for rule in skip:
        if rule not in known:
            raise ParameterError(f"no rule is called '{rule}'. {near_matches(rule, known)}")


def shown(value: object) -> str:
    """Return a value as text of bounded length."""
    text = repr(value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."


GAME_RULES: Mapping[str, str] = {
    "info": "the facts in GameInfo do not contradict each other",
    "raises": "no method raises an exception that its contract does not name",
    "clone": "a clone answers like its original; playing on one leaves the other as it was",
    "child": "child(a) is clone() and apply_action(a), and so is apply_unchecked(a)",
    "serialise": "deserialize(serialize()) answers every question like the original",
    "legal-actions": "legal actions are ascending ints in range, none exactly when the game is "
    "over, and is_legal() agrees",
    "illegal-action": "an illegal action raises IllegalActionError or InvalidActionError and "
    "changes nothing",
    "action-text": "each legal action has a text of its own, which string_to_action() reads; it "
    "depends on the action alone where the game hides information or players act at once",
    "deterministic": "the same actions, those of chance included, lead to the same positions",
    "returns": "returns are zero before the end, then within the bounds and of the stated sum, "
    "and equal in a team; with intermediate rewards they may change on the way",
    "rewards": "the rewards of all transitions sum to the returns",
    "simultaneous": "players who act at once are declared in GameInfo; their actions have one "
    "effect, given together or one by one in player order",
    "game-length": "a game is over after max_game_length() actions of players",
    "chance": "probabilities at a chance node are positive and sum to one; elsewhere are none",
    "key": "positions with equal keys have equal futures",
    "tensor": "an observation tensor is finite float32 of the stated shape",
    "observation": "a player observes its own actions and, on its turn, its legal actions",
    "observation-plain": "an observation is plain data: no state, no object, nothing that JSON "
    "cannot hold",
    "perfect-information": "with perfect information the observed actions rebuild the state",
    "observation-leak": "equal information states have equal observations",
    "legal-actions-leak": "legal actions depend on the mover's information state alone",
    "information-string-leak": "the information state's string depends on the observations alone",
    "tensor-leak": "the observation tensor depends on the observations alone",
    "state-reachable": "no object that a player receives leads to a state of the game in progress",
    "belief": "a belief contains the true state, and otherwise only worlds with the same "
    "observations",
    "resampling": "a resampled state is one of the player's worlds",
    "resampling-leak": "resampling does not always draw the true world if there are others",
}
"""What `check_game` checks, by the name of the rule."""

AGENT_RULES: Mapping[str, str] = {
    "raises": "no call raises",
    "decision": "act() returns a Decision of plain data with a legal action",
    "view": "the agent's view contains its observations, unchanged",
    "seeded": "the same seed and the same observations give the same decisions",
    "carried-over": "earlier games do not change decisions",
}
"""What `check_agent` checks, by the name of the rule, for every seat of the game."""
