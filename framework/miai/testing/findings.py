"""Findings of a conformance check: violations, the report of a clean run, and all rules."""

from __future__ import annotations

import tomllib
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
    beliefs: int
    skipped: tuple[str, ...]


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
    skip: Collection[str]
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


_RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
GAME_RULES: Mapping[str, str] = _RULES["game"]
"""What `check_game` checks, by the name of the rule."""

AGENT_RULES: Mapping[str, str] = _RULES["agent"]
"""What `check_agent` checks, by the name of the rule, for every seat of the game."""
