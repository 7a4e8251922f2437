"""What a search over beliefs needs of a game: `BeliefProblem`.

A state has a *public* part, which the player knows, and a *hidden* part. A belief is a set of
hidden parts that share one public part. The player's actions depend on the public part alone; the
opponent is taken to be omniscient, so that all its replies count. What a strategy guarantees
against it is

    V_0(X) = min over x in X of evaluate(x)
    V_d(X) = max over actions a of the least of the terminal values that a can lead to and, for
             every observation o, V_{d - cost(a)} of the hidden parts that a can lead to with o

from the player's point of view. It is the value of the best deterministic strategy that knows
nothing but what it is told, not that of an equilibrium. Sensing is an action of cost 0 that
changes nothing and tells something. The search that computes it is `miai.belief_search.search`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from miai.errors import UnsuitableGameError

Public = TypeVar("Public", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Reply:
    """One way in which an action can turn out: a reply of the opponent, or the end.

    Attributes:
      observation: what the player is told; None at the end of a game.
      hidden: the hidden part after it; -1 at the end of a game.
      value: the terminal value to the player; 0.0 where the game goes on.
    """

    observation: Hashable
    hidden: int
    value: float = 0.0

    @property
    def ends(self) -> bool:
        """Whether the game is over."""
        return self.hidden < 0


def goes_on(observation: Hashable, hidden: int) -> Reply:
    """Return a reply after which the game goes on."""
    return Reply(observation, hidden)


def over(value: float) -> Reply:
    """Return the end of a game, worth `value` to the player."""
    return Reply(None, -1, value)


@runtime_checkable
class BeliefProblem(Protocol[Public]):
    """A game from the point of view of the player who searches. Nothing in it changes.

    Hidden parts are numbers from 0 on, below 2**63; the same number means the same hidden part
    under every public part. Public parts are hashable and hold the phase of a turn.

    Attributes:
      least, greatest: bounds of all values.
      reachability: whether every value is `greatest` (won) or `least` (not proved), so that what
        is won in d plies is won in more, and what is refuted at d is refuted at fewer. Then a
        state is worth `least` where the depth ends; to win is to end the game.
    """

    least: float
    greatest: float
    reachability: bool

    def actions(self, public: Public) -> Sequence[int]:
        """Return the player's actions, in the order in which a search tries them."""

    def cost(self, public: Public, action: int) -> int:
        """Return the depth that an action costs: 0 for a sense."""

    def replies(self, public: Public, hidden: int, action: int) -> Sequence[Reply]:
        """Return every way in which an action can turn out in one state.

        None at all means that the state cannot be, or cannot go on, once the action is taken: it
        leaves the belief and puts no bound on the value.
        """

    def after(self, public: Public, action: int, observation: Hashable) -> Public:
        """Return the public part after an action and what was told."""

    def evaluate(self, public: Public, hidden: int) -> float:
        """Return what a state is worth where the depth ends."""

    def universe(self, public: Public) -> Iterable[int] | None:
        """Return all hidden parts that a public part allows; None where that is not known."""


def averages(problem: object) -> bool:
    """Return whether a belief is worth the mean of its states where the depth ends, not the least.

    A problem says so by an attribute `averages`. Then no belief bounds another (B1 fails).
    """
    return bool(getattr(problem, "averages", False))


def leaf_value(problem: BeliefProblem[Public], public: Public, hidden: int) -> float:
    """Return what a state is worth where the depth ends.

    Raises:
      UnsuitableGameError: values are only won or not proved, and this is neither the end nor
        `least`.
    """
    value = problem.evaluate(public, hidden)
    if problem.reachability and value != problem.least:
        raise UnsuitableGameError(
            f"{type(problem).__name__}: a state is worth {value} where the depth ends; of a "
            f"problem of reachability it is worth the least, {problem.least}"
        )
    return value


@dataclass(frozen=True, slots=True)
class Root(Generic[Public]):
    """Where a search begins.

    Attributes:
      public: the public part.
      hidden: the belief: hidden parts in increasing order, at least one, none twice.
    """

    public: Public
    hidden: tuple[int, ...]

    @property
    def size(self) -> int:
        """The states of the belief."""
        return len(self.hidden)

    def __post_init__(self) -> None:
        if not self.hidden:
            raise ValueError("a belief has at least one state")
        if self.hidden[0] < 0:
            raise ValueError(f"hidden parts are numbers from 0 on, not {self.hidden[0]}")
        if any(a >= b for a, b in zip(self.hidden, self.hidden[1:], strict=False)):
            raise ValueError("the states of a belief are in increasing order, none twice")
