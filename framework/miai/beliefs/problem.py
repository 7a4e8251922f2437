"""What a search over beliefs needs of a game: `BeliefProblem`.

A state has a *public* part, which the player knows, and a *hidden* part. A belief is a set of
hidden parts that share one public part. The player's actions depend on the public part alone; the
opponent is taken to be omniscient, so that all its replies count. What a strategy guarantees
against it is::

    V_0(X) = min over x in X of evaluate(x)
    V_d(X) = max over actions a of the least of the terminal values that a can lead to and, for
             every observation o, V_{d - cost(a)} of the hidden parts that a can lead to with o

from the player's point of view. It is the value of the best deterministic strategy that knows
nothing but what it is told, not that of an equilibrium. Sensing is an action of cost 0 that
changes nothing and tells something. The search that computes it is `miai.beliefs.search`.

Any game as a `BeliefProblem`: `GameProblem`. Slow, and the oracle of faster ones.

The hidden part is the whole state, numbered by its key; the public part is what the player may do
now. The opponent's actions and the outcomes of chance all count, whatever the opponent knows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from miai.errors import UnsuitableGameError
from miai.game import Game, Observation, State
from miai.plain import dumps, to_plain

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


Leaf = Callable[[State, int], float]
"""Returns what a state is worth to a player, where the depth ends."""


class GameProblem:
    """A game from one player's point of view.

    Args:
      game: of two players; only what it tells the player is used to tell states apart.
      player: who searches.
      leaf: values states where the depth ends; by default all are worth the middle of the game's
        utilities.
      cost: the depth that an action costs; by default 1 each.
      averages: whether a belief is worth the mean over its states where the depth ends.

    Attributes:
      least, greatest: bounds of the game's utilities.
      reachability: False.
    """

    reachability = False

    def __init__(
        self,
        game: Game,
        player: int,
        *,
        leaf: Leaf | None = None,
        cost: Callable[[int], int] | None = None,
        averages: bool = False,
    ) -> None:
        self.game, self.player, self.averages = game, player, averages
        self.least, self.greatest = game.info.min_utility, game.info.max_utility
        self._leaf, self._cost = leaf, cost
        self._states: list[State] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, state: State) -> int:
        """Return the hidden part that stands for a state at which the player is to move."""
        key = state.key()
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(state.clone())
        return self._numbers[key]

    def public(self, states: Iterable[State]) -> tuple[int, ...]:
        """Return the public part that states of one belief share: what the player may do.

        Raises:
          UnsuitableGameError: they do not share it: actions depend on what is hidden, and a value
            would say nothing of those of other beliefs.
        """
        found = {tuple(state.legal_actions()) for state in states}
        if len(found) != 1:
            raise self._unsuitable()
        return found.pop()

    def actions(self, public: tuple[int, ...]) -> Sequence[int]:
        """Return the player's actions."""
        return public

    def cost(self, public: tuple[int, ...], action: int) -> int:
        """Return the depth that an action costs."""
        return 1 if self._cost is None else self._cost(action)

    def replies(self, public: tuple[int, ...], hidden: int, action: int) -> Sequence[Reply]:
        """Return every way in which an action can turn out, up to the player's next turn."""
        state = self._states[hidden]
        if tuple(state.legal_actions()) != public:
            raise self._unsuitable()
        return list(self._after(state.child(action), ()))

    def after(self, public: tuple[int, ...], action: int, observation: Hashable) -> tuple[int, ...]:
        """Return what the player may do after it was told something."""
        assert isinstance(observation, tuple)
        legal: tuple[int, ...] = observation[-1][-1]
        return legal

    def evaluate(self, public: tuple[int, ...], hidden: int) -> float:
        """Return what a state is worth where the depth ends."""
        if self._leaf is None:
            return (self.least + self.greatest) / 2
        return self._leaf(self._states[hidden], self.player)

    def universe(self, public: tuple[int, ...]) -> None:
        """Return that the states are not known beforehand."""
        return

    def _unsuitable(self) -> UnsuitableGameError:
        return UnsuitableGameError(
            f"{self.game.info.name}: what player {self.player} may do depends on what is hidden "
            "from it, so values of beliefs bound nothing; have the game allow an action in all "
            "states of a belief, and refuse it where it cannot be taken"
        )

    def _after(self, state: State, told: tuple[Hashable, ...]) -> Iterable[Reply]:
        observation = state.observation(self.player)
        if observation is not None:
            told = (*told, _as_key(observation))
        if state.is_terminal():
            yield over(state.returns()[self.player])
        elif state.current_player() == self.player:
            yield goes_on(told, self.number(state))
        else:
            for action in state.legal_actions():
                yield from self._after(state.child(action), told)


def _as_key(observation: Observation) -> Hashable:
    """Return an observation as something that can be compared and hashed."""
    data = None if observation.data is None else dumps(to_plain(observation.data, what="data"))
    return (observation.actor, observation.action, data, tuple(observation.legal_actions))
