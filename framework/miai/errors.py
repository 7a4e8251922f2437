"""The tree of errors that miai raises on purpose.

::

    MiaiError
    +-- GameError (ValueError)          a game was used against its rules
    |   +-- InvalidActionError          not an action of this game: a bad number or text
    |   +-- IllegalActionError          an action of the game, but not in this position
    |   +-- InvalidStateError           a text or file that does not describe a state of the game
    |   +-- HiddenInformationError      the game hides information that the operation needs
    |   +-- UnsuitableGameError         a search or rule cannot handle this game
    |   +-- EmptyBeliefError            no world explains a player's observation
    |   +-- BeliefTooLargeError         more worlds than the limit
    +-- GameFailedError                 the game itself failed, so that it is void
    +-- PluginError                     a plugin or component
    |   +-- UnknownComponentError       no component of that kind and name (LookupError)
    |   +-- ParameterError              a parameter is unknown, of the wrong type or out of range
    |   +-- PluginLoadError             a plugin is broken; its own error is the cause
    |   +-- MissingExtraError           a library of an extra is not installed
    |   +-- RegistrationError           two components claim one name, or a kind is not declared
    +-- AgentError                      an agent failed: its fault, a forfeit
    |   +-- AgentUnavailableError       it cannot be started (a missing engine, extra or file)
    |   +-- AgentCrashedError           it raised, or its process died
    |   +-- AgentTimeoutError           no answer by the deadline; its process was killed
    |   +-- AgentProtocolError          an invalid answer
    |   +-- AgentFloodError             more output than the limit
    +-- RecordError (ValueError)        a game record cannot be read
    +-- ConfigError (ValueError)        a config file or option is wrong
    +-- WeightsError                    a weights file cannot be read, or does not fit
    +-- StoreError                      a tournament's store is corrupt, foreign or in use
    +-- WorkerError                     a worker process cannot start, or cannot perform a job
    +-- ConformanceError                a game or agent breaks rules that `miai.testing` checks
                                        (AssertionError)

Every message says what was wrong, where, and what to do next. The command line prints the
message of a `MiaiError` and exits with status 2; any other exception is a defect of miai.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final


class MiaiError(Exception):
    """Base of every error that miai raises on purpose."""


class GameError(MiaiError, ValueError):
    """A game, state or action was used against the rules of the game."""


class InvalidActionError(GameError):
    """The game has no action with this number or text."""


class IllegalActionError(GameError):
    """The game has this action, but it is not legal here; the message shows the position.

    Attributes:
      action: the refused action.
      position: the position as text, as the acting player may see it.
    """

    def __init__(self, message: str, *, action: int, position: str) -> None:
        super().__init__(f"{message}\n{position}" if position else message)
        self.action = action
        self.position = position


class InvalidStateError(GameError):
    """A text, file or set-up does not describe a state of the game."""


class HiddenInformationError(GameError):
    """The operation needs perfect information, but the game hides some."""


class UnsuitableGameError(GameError):
    """A search or rule cannot handle the game, for instance because of too many players."""


class EmptyBeliefError(GameError):
    """No world explains the player's observation: it is false, or the game has a defect."""


class BeliefTooLargeError(GameError):
    """A belief has more worlds than its limit; use a belief made for the game."""


class GameFailedError(MiaiError):
    """The game itself failed: a program that serves it died, hung or contradicted itself.

    The game is void. A player in a process of its own may meet the failure first; the referee then
    looks whether it meets it too, see `miai.Game.verify`.

    Attributes:
      history: the actions, chance included, after which it failed; None if it failed before any.
    """

    def __init__(self, message: str, *, history: Sequence[int] | None = None) -> None:
        super().__init__(message)
        self.history = history


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


class MissingExtraError(PluginError):
    """A library is not installed; the message names the extra that installs it.

    Attributes:
      extra: the extra, such as ``miai[ray]``.
    """

    def __init__(self, message: str, *, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra


class RegistrationError(PluginError):
    """Two components claim one name, or a component's kind is not declared."""


class AgentError(MiaiError):
    """An agent failed. In a game that is a forfeit; see docs/errors.md.

    Attributes:
      game_failed_at: the actions at which the agent says that its copy of the game failed; None if
        it says nothing.
    """

    game_failed_at: tuple[int, ...] | None = None


class AgentUnavailableError(AgentError):
    """The agent cannot be started; the message names the missing engine, extra or file."""


class AgentCrashedError(AgentError):
    """The agent raised an exception, or its process died."""


class AgentTimeoutError(AgentError):
    """The agent gave no answer by its deadline plus the margin; its process was killed."""


class AgentProtocolError(AgentError):
    """The agent's answer was malformed, of the wrong type or out of turn."""


class AgentFloodError(AgentError):
    """The agent wrote more output than the limit."""


class RecordError(MiaiError, ValueError):
    """A game record is malformed or of an unknown schema."""


class ConfigError(MiaiError, ValueError):
    """A config file is malformed or contradictory; the message names file and path."""


class WeightsError(MiaiError):
    """A weights file that cannot be read, is inconsistent, or does not fit."""


class StoreError(MiaiError):
    """A tournament's store is corrupt, foreign, of another schema or in use."""


class WorkerError(MiaiError):
    """A worker process cannot be started, or cannot perform a job."""


class ConformanceError(MiaiError, AssertionError):
    """A game or an agent breaks rules; the message lists all of them.

    It is also an `AssertionError`, so that test runners report a failure rather than an error.

    Attributes:
      violations: the first violation of each broken rule.
    """

    def __init__(self, subject: str, violations: Sequence[Violation]) -> None:
        count = f"{len(violations)} rule" + ("s" if len(violations) > 1 else "")
        lines = "".join(f"\n  {violation}" for violation in violations)
        super().__init__(
            f"{subject} breaks {count} (miai.testing.GAME_RULES, AGENT_RULES). To reproduce one, "
            f"apply its actions to a new initial state, or repeat the check with its seed.{lines}"
        )
        self.violations = tuple(violations)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the broken rules."""
        return tuple(violation.rule for violation in self.violations)


_MOST_NAMES: Final = 12
_MOST_NEAR: Final = 4
_SHORTEST_PART: Final = 4
"""Letters of a name that is looked for within others."""


def near_matches(name: str, known: Iterable[str], *, about: Mapping[str, str] | None = None) -> str:
    """Return ``Did you mean 'x'?`` with the known names nearest to a misspelt one.

    Near are names that are spelt alike, that contain the name, or whose summary `about` them does:
    ``gnugo`` finds ``External engine such as GNU Go``. If none is near, return a list of the known
    names, those without a colon first, and only the first of very many; if there are none, an empty
    string.
    """
    names = sorted(known, key=lambda name: (":" in name, name))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    about = about or {}
    if len(word := _squeezed(name)) >= _SHORTEST_PART:
        close += [each for each in names if word in _squeezed(each)]
    offered = {each: f"'{each}'" for each in close[:_MOST_NEAR]}
    if len(word) >= _SHORTEST_PART and len(offered) < _MOST_NEAR:
        for each in names:
            if word in _squeezed(about.get(each, "")) and len(offered) < _MOST_NEAR:
                offered.setdefault(each, f"'{each}' ({about[each]})")
    if offered:
        return f"Did you mean {' or '.join(offered.values())}?"
    rest = len(names) - _MOST_NAMES
    if rest > 1:
        return f"Known: {', '.join(names[:_MOST_NAMES])} and {rest} more."
    return f"Known: {', '.join(names)}." if names else ""


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule.

    Attributes:
      rule: name of the rule, one of `miai.testing.GAME_RULES` or `miai.testing.AGENT_RULES`.
      message: what was wrong.
      seed: seed of the check that found it.
      actions: the actions that lead to it from the initial state, chance included.
    """

    rule: str
    message: str
    seed: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}\n    seed {self.seed}, actions {list(self.actions)}"
