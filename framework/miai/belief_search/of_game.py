"""Any game as a `BeliefProblem`: `GameProblem`. Slow, and the oracle of faster ones.

The hidden part is the whole state, numbered by its key; the public part is what the player may do
now. The opponent's actions and the outcomes of chance all count, whatever the opponent knows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from miai.belief_search.problem import Reply, goes_on, over
from miai.errors import UnsuitableGameError
from miai.game import Game, Observation, State
from miai.plain import dumps, to_plain

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
