"""The interface between a game and a search over beliefs: `BeliefProblem`.

A state has a *public* part, which the player knows, and a *hidden* part. A belief is a set of
hidden parts with one public part. The player's actions depend on the public part alone; the
opponent is assumed omniscient, so all its replies count. The player can then guarantee::

    V_0(X) = min over x in X of evaluate(x)
    V_d(X) = max over actions a of the minimum of the terminal values that a can lead to and, for
             every observation o, V_{d - cost(a)} of the hidden parts that a can lead to with o

from its own point of view. That is the value of the best deterministic strategy that knows only
its observations, not the value of an equilibrium. Sensing is an action of cost 0 that changes no
state. `miai.beliefs.recursion` computes these values.

`GameProblem` makes a problem of any game. It is slow; tests compare faster problems with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from miai.errors import UnsuitableGameError
from miai.game import Game, State
from miai.information import observation_key
from miai.values import ValueUnit

Public = TypeVar("Public", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Reply:
    """One outcome of an action: a reply of the opponent, or the end of the game.

    Attributes:
      observation: what the player observes; None at the end of a game.
      hidden: the next hidden part; -1 at the end of a game.
      value: the terminal value to the player; 0.0 otherwise.
    """

    observation: Hashable
    hidden: int
    value: float = 0.0

    @property
    def ends(self) -> bool:
        """Whether the game is over."""
        return self.hidden < 0


def goes_on(observation: Hashable, hidden: int) -> Reply:
    """Return a reply after which the game continues."""
    return Reply(observation, hidden)


def over(value: float) -> Reply:
    """Return the end of a game, worth `value` to the player."""
    return Reply(None, -1, value)


@runtime_checkable
class BeliefProblem(Protocol[Public]):
    """A game from the point of view of the player who searches; immutable.

    Hidden parts are integers from 0 to 2**63 - 1, with the same meaning under every public part.
    Public parts are hashable and include the phase of a turn.

    Attributes:
      least, greatest: the lowest and the highest value.
      reachability: whether every value is `greatest` (won) or `least` (not proved). Then wins hold
        at greater depths and refutations at smaller ones, only the end of a game wins, and
        `evaluate` always returns `least`.
    """

    least: float
    greatest: float
    reachability: bool

    def actions(self, public: Public) -> Sequence[int]:
        """Return the player's actions, in the order in which a search tries them."""

    def cost(self, public: Public, action: int) -> int:
        """Return the depth that an action costs: 0 for a sense."""

    def replies(self, public: Public, hidden: int, action: int) -> Sequence[Reply]:
        """Return every outcome of an action in one state.

        A state without outcomes is inconsistent with the action: it leaves the belief and does not
        limit the value.
        """

    def after(self, public: Public, action: int, observation: Hashable) -> Public:
        """Return the public part after an action and an observation."""

    def evaluate(self, public: Public, hidden: int) -> float:
        """Return the value of a state where the depth ends."""

    def universe(self, public: Public) -> Iterable[int] | None:
        """Return all hidden parts that a public part allows; None if they cannot be listed."""


@runtime_checkable
class SymmetricProblem(BeliefProblem[Public], Protocol[Public]):
    """A problem that knows its symmetries, so that equivalent positions can be searched once."""

    def canonical(self, public: Public) -> tuple[Public, Callable[[int], int]]:
        """Return the public part that represents all equivalent ones, and a map of hidden parts.

        The map is one to one, from the hidden parts of `public` to those of the representative. A
        belief and its image are worth the same at every depth. The representative represents
        itself.
        """


def value_unit(problem: object) -> ValueUnit:
    """Return the unit of a problem's values: its attribute `value_unit`, by default a score."""
    unit: ValueUnit = getattr(problem, "value_unit", ValueUnit.SCORE)
    return unit


def averages(problem: object) -> bool:
    """Return whether the value of a leaf is the mean over its states rather than the minimum.

    The problem's attribute `averages` says so. Then no belief bounds another (B1 fails).
    """
    return bool(getattr(problem, "averages", False))


def leaf_value(problem: BeliefProblem[Public], public: Public, hidden: int) -> float:
    """Return the value of a state where the depth ends.

    Raises:
      UnsuitableGameError: the value of a reachability problem is not `least`.
    """
    value = problem.evaluate(public, hidden)
    if problem.reachability and value != problem.least:
        raise UnsuitableGameError(
            f"{type(problem).__name__}: evaluate() returned {value}; in a reachability problem it "
            f"must return {problem.least}"
        )
    return value


@dataclass(frozen=True, slots=True)
class Root(Generic[Public]):
    """The belief that a search begins with.

    Attributes:
      public: the public part.
      hidden: the hidden parts, strictly increasing; at least one.
    """

    public: Public
    hidden: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of states in the belief."""
        return len(self.hidden)

    def __post_init__(self) -> None:
        if not self.hidden:
            raise ValueError("a belief needs at least one state")
        if self.hidden[0] < 0:
            raise ValueError(f"hidden parts are integers from 0 on, not {self.hidden[0]}")
        if any(a >= b for a, b in zip(self.hidden, self.hidden[1:], strict=False)):
            raise ValueError("the hidden parts of a belief must be strictly increasing")


Leaf = Callable[[State, int], float]
"""Returns the value of a state to a player where the depth ends."""


class GameProblem:
    """A game from one player's point of view.

    Args:
      game: of two players.
      player: the player who searches.
      leaf: values states where the depth ends; by default the midpoint of the game's utilities.
      cost: the depth that an action costs; by default 1.
      averages: whether the value of a leaf is the mean over its states.

    Attributes:
      least, greatest: the lowest and the highest utility of the game.
      reachability: False.

    Raises:
      UnsuitableGameError: players act at once.
    """

    reachability = False
    value_unit = ValueUnit.UTILITY

    def __init__(
        self,
        game: Game,
        player: int,
        *,
        leaf: Leaf | None = None,
        cost: Callable[[int], int] | None = None,
        averages: bool = False,
    ) -> None:
        if game.info.simultaneous:
            raise UnsuitableGameError(
                f"{game.info.title}: players act at once, which belief search does not handle; "
                "ismcts and pimc do"
            )
        self.game, self.player, self.averages = game, player, averages
        self.least, self.greatest = game.info.min_utility, game.info.max_utility
        self._leaf, self._cost = leaf, cost
        self._states: list[State] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, state: State) -> int:
        """Return the hidden part of a state in which the player is to move."""
        key = state.key()
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(state.clone())
        return self._numbers[key]

    def public(self, states: Iterable[State]) -> tuple[int, ...]:
        """Return the public part of a belief: the legal actions that its states share.

        Raises:
          UnsuitableGameError: legal actions depend on hidden state.
        """
        legal = {tuple(state.legal_actions()) for state in states}
        if len(legal) != 1:
            raise self._unsuitable()
        return legal.pop()

    def actions(self, public: tuple[int, ...]) -> Sequence[int]:
        """Return the player's actions."""
        return public

    def cost(self, public: tuple[int, ...], action: int) -> int:
        """Return the depth that an action costs."""
        return 1 if self._cost is None else self._cost(action)

    def replies(self, public: tuple[int, ...], hidden: int, action: int) -> Sequence[Reply]:
        """Return every outcome of an action, up to the player's next turn."""
        state = self._states[hidden]
        if tuple(state.legal_actions()) != public:
            raise self._unsuitable()
        return list(self._after(state.child(action), ()))

    def after(self, public: tuple[int, ...], action: int, observation: Hashable) -> tuple[int, ...]:
        """Return the legal actions after an observation."""
        assert isinstance(observation, tuple)
        legal: tuple[int, ...] = observation[-1][-1]
        return legal

    def evaluate(self, public: tuple[int, ...], hidden: int) -> float:
        """Return the value of a state where the depth ends."""
        if self._leaf is None:
            return (self.least + self.greatest) / 2
        return self._leaf(self._states[hidden], self.player)

    def universe(self, public: tuple[int, ...]) -> None:
        """Return None: the states cannot be listed."""
        return

    def _unsuitable(self) -> UnsuitableGameError:
        return UnsuitableGameError(
            f"{self.game.info.title}: the legal actions of player {self.player} depend on hidden "
            "state, so beliefs do not bound each other; let the game allow an action in all states "
            "of a belief and refuse it where it is impossible"
        )

    def _after(self, state: State, observations: tuple[Hashable, ...]) -> Iterable[Reply]:
        observation = state.observation(self.player)
        if observation is not None:
            key = observation_key(observation), tuple(observation.legal_actions)
            observations = (*observations, key)
        if state.is_terminal():
            yield over(state.returns()[self.player])
        elif state.current_player() == self.player:
            yield goes_on(observations, self.number(state))
        else:
            for action in state.legal_actions():
                yield from self._after(state.child(action), observations)
