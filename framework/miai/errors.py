"""The tree of errors that miai raises on purpose.

::

    MiaiError
    +-- GameError (ValueError)          a game was used against its rules
    |   +-- InvalidActionError          no action of this game: bad number or text
    |   +-- IllegalActionError          an action of the game, but not in this position
    |   +-- InvalidStateError           a text or file that describes no state of the game
    |   +-- HiddenInformationError      perfect information was asked of a game that has none
    |   +-- UnsuitableGameError         a search cannot handle games of this sort
    |   +-- EmptyBeliefError            no world explains what a player was told
    |   +-- BeliefTooLargeError         more worlds than the stated limit
    +-- PluginError                     a plugin or component
    |   +-- UnknownComponentError       no component of that kind and name (LookupError)
    |   +-- ParameterError              a parameter is unknown, of the wrong type or out of range
    |   +-- PluginLoadError             a plugin is broken; its own error is the cause
    |   +-- RegistrationError           two components claim one name, or a kind is not declared
    +-- AgentError                      an agent failed: its fault, a forfeit
    |   +-- AgentUnavailableError       it cannot be started (a missing engine, extra or file)
    |   +-- AgentCrashedError           it raised, or its process died
    |   +-- AgentTimeoutError           no answer at the deadline; its process was killed
    |   +-- AgentProtocolError          an answer that is no answer
    |   +-- AgentFloodError             more output than the stated limit
    +-- RecordError (ValueError)        a game record cannot be read
    +-- ConfigError (ValueError)        a config file says something wrong
    +-- StoreError                      a tournament's store is corrupt, foreign or in use
    +-- WorkerError                     a worker process cannot start, or cannot perform a job
    +-- ConformanceError                a game or agent breaks the rules that `miai.testing`
                                        checks (AssertionError)

Every message says what was wrong, where, and what to do next. The command line prints the
message of a `MiaiError` and exits with status 2; any other exception is a defect of miai.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class MiaiError(Exception):
    """Base of every error that miai raises on purpose."""


class GameError(MiaiError, ValueError):
    """A game, state or action was used against the rules of the game."""


class InvalidActionError(GameError):
    """The number or text names no action of the game at all."""


class IllegalActionError(GameError):
    """The action exists but is not legal here; the message carries the position.

    Attributes:
      action: the refused action.
      position: the position as text, as the acting player may see it.
    """

    def __init__(self, message: str, *, action: int, position: str) -> None:
        super().__init__(f"{message}\n{position}" if position else message)
        self.action = action
        self.position = position


class InvalidStateError(GameError):
    """A text, file or set-up that describes no state of the game."""


class HiddenInformationError(GameError):
    """The operation needs perfect information, and the game hides something."""


class UnsuitableGameError(GameError):
    """A search cannot handle games of this sort: too many players, or no constant sum."""


class EmptyBeliefError(GameError):
    """No world explains what the player was told: a defect of the game or a false observation."""


class BeliefTooLargeError(GameError):
    """More worlds than the stated limit; take a belief made for the game."""


class PluginError(MiaiError):
    """A plugin or one of its components."""


class UnknownComponentError(PluginError, LookupError):
    """No component of that kind has that name; the message offers near matches."""

    def __str__(self) -> str:  # LookupError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class ParameterError(PluginError, ValueError):
    """A parameter is unknown, of the wrong type or out of range."""


class PluginLoadError(PluginError):
    """A plugin is broken; the plugin's own error is chained as the cause."""


class RegistrationError(PluginError):
    """Two components claim one name, or a component's kind is not declared."""


class AgentError(MiaiError):
    """An agent failed. In a game that is a forfeit; see docs/errors.md."""


class AgentUnavailableError(AgentError):
    """The agent cannot be started: a missing engine, extra or file, named in the message."""


class AgentCrashedError(AgentError):
    """The agent raised an exception, or its process died."""


class AgentTimeoutError(AgentError):
    """The agent gave no answer by its deadline plus the margin; its process was killed."""


class AgentProtocolError(AgentError):
    """The agent's answer was no answer: malformed, of the wrong type or out of turn."""


class AgentFloodError(AgentError):
    """The agent wrote more output than the stated limit."""


class RecordError(MiaiError, ValueError):
    """A game record is malformed or of an unknown schema."""


class ConfigError(MiaiError, ValueError):
    """A config file is malformed or contradictory; the message names file and path."""


class StoreError(MiaiError):
    """A tournament's store is corrupt, foreign, of another schema or in use."""


class WorkerError(MiaiError):
    """A worker process cannot be started, or cannot perform a job."""


class ConformanceError(MiaiError, AssertionError):
    """A game or an agent breaks rules; the message lists all of them.

    It is an `AssertionError` too, so that test runners report a failure and not a defect.

    Attributes:
      violations: the first violation found of each rule.
    """

    def __init__(self, subject: str, violations: Sequence[Violation]) -> None:
        count = f"{len(violations)} rule" + ("s" if len(violations) > 1 else "")
        lines = "".join(f"\n  {violation}" for violation in violations)
        super().__init__(
            f"{subject} breaks {count} (docs/tutorial.md explains them). To reproduce one, apply "
            f"its actions to a new initial state, or repeat the check with its seed.{lines}"
        )
        self.violations = tuple(violations)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that are broken."""
        return tuple(violation.rule for violation in self.violations)


def near_matches(name: str, known: Iterable[str]) -> str:
    """Return a sentence that offers the known names nearest to a misspelt one.

    Returns ``"Did you mean 'x'?"``, or a list of all known names when none is near, or an empty
    string when nothing is known.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(f"'{match}'" for match in close) + "?"
    return f"Known: {', '.join(names)}." if names else ""


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
