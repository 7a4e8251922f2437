"""What a check found: violations, and the report of a clean run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from miai.errors import ConformanceError, ParameterError, near_matches

__all__ = [
    "MAX_TEXT",
    "ConformanceError",
    "Findings",
    "Report",
    "Violation",
    "refuse_unknown_rules",
    "shown",
]

MAX_TEXT = 400
"""Most characters of one value that a message shows."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule, broken.

    Attributes:
      rule: name of the rule, one of `miai.testing.GAME_RULES` or `miai.testing.AGENT_RULES`.
      message: what was wrong.
      seed: of the check that found it.
      actions: the actions, those of chance included, that lead from the initial state to where
        it was found.
    """

    rule: str
    message: str
    seed: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}\n    seed {self.seed}, actions {list(self.actions)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check without a finding has looked at.

    Attributes:
      subject: the game or agent.
      seed: of the check.
      games: games played.
      positions: positions looked at.
      beliefs: beliefs of more than one world that were looked into; only games that hide
        information have any.
      skipped: what could not be checked, and why.
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
      seed: of the check.
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
        """Note that a rule is broken; only its first violation is kept."""
        if rule not in self.skip and rule not in self._violations:
            self._violations[rule] = Violation(rule, message, self.seed, tuple(actions))

    def withdraw(self, rule: str, *, where_broken: str) -> None:
        """Drop what was found against `rule` where a rule that it rests on is broken too."""
        if where_broken in self._violations:
            self._violations.pop(rule, None)

    def note_skipped(self, what: str) -> None:
        """Note something that could not be checked."""
        self._skipped[what] = None

    def raised(self, error: Exception, where: str, actions: Sequence[int]) -> None:
        """Note an exception that no contract allows, as the rule ``raises``."""
        place = _innermost(error)
        self.add("raises", f"{type(error).__name__}: {error} {where}{place}", actions)

    def report(self) -> Report:
        """Return what was looked at.

        Raises:
          ConformanceError: a rule was broken.
        """
        if self._violations:
            raise ConformanceError(self.subject, list(self._violations.values()))
        return Report(
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


def _innermost(error: Exception) -> str:
    """Return where an exception was raised: `` (tic_tac_toe.py:57)``."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f" ({name}:{trace.tb_lineno})"
