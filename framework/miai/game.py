"""Game, State and Player: the interface of a game.

The vocabulary is OpenSpiel's (https://openspiel.readthedocs.io), so that its users feel at home.
Deliberate departures: player sentinels are an enum, an illegal action raises an error that carries
the position, `State.key` identifies a state, and `State.observation` is all that a player learns.
A decision that several players take at once is a series of actions, in player order, of which
nobody learns before the last: histories, records and replays are lists of single actions.
"""

from __future__ import annotations

import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import TYPE_CHECKING, Final, Self

from miai.drawn import Drawn
from miai.errors import (
    GameFailedError,
    HiddenInformationError,
    IllegalActionError,
    InvalidActionError,
    InvalidStateError,
)
from miai.plain import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from miai.parameters import Parameters


class Player(IntEnum):
    """Who acts when no player does. Players are the integers 0, 1, 2, ..."""

    CHANCE = -1
    SIMULTANEOUS = -2
    TERMINAL = -4


# Looking up a member of an enumeration takes six times as long as comparing it (Python 3.11).
_CHANCE: Final = Player.CHANCE
_SIMULTANEOUS: Final = Player.SIMULTANEOUS
_TERMINAL: Final = Player.TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class GameInfo:
    """The facts of a game that hold for all its states.

    Attributes:
      name: the name of its component.
      version: increased when its behaviour changes; stored in every record.
      num_players: number of players, without chance.
      num_distinct_actions: players' actions are the integers from 0 up to this, exclusive.
      max_game_length: maximum number of plies of a game, chance excluded; each player's action is a
        ply, also where several act at once.
      player_names: names of the players, in player order.
      max_chance_outcomes: chance actions are the integers from 0 up to this, exclusive; 0 without
        chance.
      min_utility, max_utility: bounds of every entry of `State.returns`.
      utility_sum: the constant sum of the returns; None if it is not constant.
      payoffs: whether returns are amounts whose size counts, such as chips or points, and not just
        a win, a draw or a loss.
      perfect_information: whether every player sees everything, so that an agent may hold a state
        of its own. Players who act at once do not see each other's action, even then.
      simultaneous: whether there are decisions that several players take at once.
      intermediate_rewards: whether players are rewarded on the way, see `State.rewards`.
      teams: the number of each player's team, in player order; empty if nobody has a partner.
        Players of one team have equal returns.
      title: what people and players' programs know it by; the name of its component unless that
        stands for many games, as of a program.
    """

    name: str
    version: int
    num_players: int
    num_distinct_actions: int
    max_game_length: int
    player_names: tuple[str, ...]
    max_chance_outcomes: int = 0
    min_utility: float = -1.0
    max_utility: float = 1.0
    utility_sum: float | None = 0.0
    perfect_information: bool = True
    payoffs: bool = False
    simultaneous: bool = False
    intermediate_rewards: bool = False
    teams: tuple[int, ...] = ()
    title: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.name)

    def too_few_outcomes(self, greatest: int) -> str:
        """Return what is wrong if chance has an outcome of this number; empty if nothing is."""
        if greatest < self.max_chance_outcomes:
            return ""
        return (
            f"chance has the outcome {greatest}, but GameInfo.max_chance_outcomes is "
            f"{self.max_chance_outcomes}; set it above every action of chance_outcomes(): to "
            f"{greatest + 1} or more"
        )

    @property
    def payoff_bound(self) -> float | None:
        """The most that a return exceeds the mean of all players' by; None unless they are payoffs.

        For two players it is half the greatest difference of their returns.
        """
        others = self.num_players - 1
        spread = self.max_utility - self.min_utility
        return spread * others / self.num_players if self.payoffs else None


@dataclass(frozen=True, slots=True)
class Observation:
    """One player's information about one transition; plain data, no reference to a state.

    Attributes:
      player: the observing player.
      actor: who acted (`Player.CHANCE` for chance, `Player.SIMULTANEOUS` for several at once); None
        if hidden or before any action.
      action: the action taken, the observing player's own where several acted at once; None if
        hidden, or if there is none.
      data: any further information, such as a sensed window, a dealt card or a refusal.
      legal_actions: the player's legal actions if it is now its turn; else empty.
      actions: where several acted at once, the action of each player, in player order; None for one
        who did not act or whose action is hidden. Empty otherwise, or if all others' are hidden.
    """

    player: int
    actor: int | None = None
    action: int | None = None
    data: Json = None
    legal_actions: tuple[int, ...] = ()
    actions: tuple[int | None, ...] = ()


class Game(ABC):
    """A game with fixed parameters, which creates its states.

    Attributes:
      info: the facts of the game.
      parameters: its parameters; name and parameters together rebuild the game.
    """

    info: GameInfo
    parameters: Parameters

    def __init__(self, parameters: Parameters | None = None) -> None:
        from miai.parameters import Parameters  # imports pydantic, which a referee does not need

        self.parameters = parameters or Parameters()

    @abstractmethod
    def new_initial_state(self) -> State:
        """Return a new state at the start of the game."""

    def num_players(self) -> int:
        """Return the number of players, without chance."""
        return self.info.num_players

    def num_distinct_actions(self) -> int:
        """Return the number of distinct actions of players."""
        return self.info.num_distinct_actions

    def max_game_length(self) -> int:
        """Return the maximum number of plies of a game, chance excluded."""
        return self.info.max_game_length

    def min_utility(self) -> float:
        """Return the minimum utility of a player."""
        return self.info.min_utility

    def max_utility(self) -> float:
        """Return the maximum utility of a player."""
        return self.info.max_utility

    def resignation_returns(self, player: int) -> tuple[float, ...]:
        """Return each player's utility when `player` resigns or forfeits.

        The loser and its team receive the minimum utility. In a constant-sum game the others share
        the rest equally, otherwise each receives the maximum utility.
        """
        return self._returns_of_losers({player})

    def forfeit_returns(self, players: Collection[int]) -> tuple[float, ...]:
        """Return each player's utility when `players` resign or forfeit at the same decision.

        For one player they are its `resignation_returns`. Several players and their teams receive
        the minimum utility each, and the others what they receive there. In a constant-sum game in
        which nobody is left, all receive the same: a draw.
        """
        if len(players) == 1:
            return self.resignation_returns(next(iter(players)))
        return self._returns_of_losers(players)

    def _returns_of_losers(self, players: Collection[int]) -> tuple[float, ...]:
        info = self.info
        teams = info.teams or tuple(range(info.num_players))
        lost = {teams[player] for player in players}
        losers = sum(team in lost for team in teams)
        others = info.num_players - losers
        loss, rest = info.min_utility, info.max_utility
        if info.utility_sum is not None and others:
            rest = (info.utility_sum - losers * loss) / others
        elif info.utility_sum is not None:
            loss = info.utility_sum / losers
        return tuple(loss if team in lost else rest for team in teams)

    def deserialize(self, text: str) -> State:
        """Return the state that `State.serialize` wrote. Raises `InvalidStateError`."""
        try:
            actions = json.loads(text)
        except (ValueError, RecursionError):
            actions = None
        if not isinstance(actions, list) or not all(type(a) is int for a in actions):
            raise InvalidStateError(
                f"{self.info.title}: a serialised state is a JSON list of actions, "
                f"got {text[:80]!r}"
            )
        state = self.new_initial_state()
        for ply, action in enumerate(actions):
            try:
                state.apply_action(action)
            except (IllegalActionError, InvalidActionError) as error:
                raise InvalidStateError(
                    f"{self.info.title}: action {ply} of the serialised state: {error}"
                ) from error
        return state

    def public_parameters(self) -> Mapping[str, object]:
        """Return the parameters that players' programs are told; by default all."""
        return self.parameters.model_dump()

    def draw_returns(self) -> tuple[float, ...]:
        """Return each player's utility if all agree on a draw: equal shares of the constant sum."""
        share = (self.info.utility_sum or 0.0) / self.info.num_players
        return (share,) * self.info.num_players

    def result_reason(self, result: str) -> str:
        """Return why a game ended so, for people, to follow who won: ``by 3.5 points``.

        By default the result in parentheses; empty if it only says who won.

        Args:
          result: as `State.result_to_string` writes it; in a foreign record it may be any text.
        """
        return "" if result.endswith((" wins", "draw")) or not result else f"({result})"

    def verify(self, history: Sequence[int]) -> None:  # noqa: B027 - most games need none
        """Look whether the game itself fails, or contradicts itself, along some actions.

        The referee calls this before a player forfeits, with the actions so far and with those at
        which the player's copy of the game failed; chance is included. By default nothing happens:
        the code of a game does not change.

        Raises `GameFailedError` if it fails. Actions that are not legal are no failure.
        """

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the shape of `State.observation_tensor`; empty if the game has none."""
        return ()

    def __repr__(self) -> str:
        return f"<game {self.info.title} v{self.info.version} {self.parameters!r}>"


class State(Drawn, ABC):
    """The complete state of a game at one point, as the referee knows it.

    Subclasses implement the abstract methods; `apply_action` checks legality and keeps the history.
    A state is mutable; `clone` and `child` copy it.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self._history: list[int] = []
        self._actors: list[int] = []

    # -- what a game implements ---------------------------------------------------------------

    @abstractmethod
    def current_player(self) -> int:
        """Return who acts: a player's number, or a constant of `Player`.

        `Player.SIMULTANEOUS` stands for the players of `acting_players`; a state in which several
        players act at once is a `SimultaneousState`.
        """

    @abstractmethod
    def legal_actions(self) -> list[int]:
        """Return the actions of the current player in ascending order; empty when terminal.

        At a chance node, return the outcomes of positive probability. Where several players act at
        once, return the actions of the first of `acting_players`.
        """

    @abstractmethod
    def _apply(self, action: int) -> None:
        """Apply a legal action. The history does not contain it yet."""

    @abstractmethod
    def returns(self) -> tuple[float, ...]:
        """Return each player's utility at the end of the game.

        Before the end: zeros or, in a game with rewards on the way, the sum of those so far.
        """

    @abstractmethod
    def _copy_to(self, other: Self) -> None:
        """Copy the subclass's attributes to `other`, a state of the same game without them."""

    @abstractmethod
    def key(self) -> Hashable:
        """Return a key of the state: equal keys mean equal futures for all players.

        An int, str or bytes is the same in every process and version of Python.
        """

    @abstractmethod
    def __str__(self) -> str:
        """Return the state as text for people; it may reveal everything."""

    def truncated_returns(self) -> tuple[float, ...]:
        """Return each player's utility when a move limit stops the game here.

        The default is a draw: everyone receives the same. In a game with rewards on the way it is
        the sum of those so far.
        """
        if self.game.info.intermediate_rewards:
            return self.returns()
        total = self.game.info.utility_sum or 0.0
        return (total / self.game.info.num_players,) * self.game.info.num_players

    def rewards(self) -> tuple[float, ...]:
        """Return each player's reward for the last transition; zeros at the start.

        All rewards of a game sum to its returns. By default the returns are the reward for the last
        transition; a game with rewards on the way overrides this.
        """
        return self.returns() if self.is_terminal() else (0.0,) * self.game.info.num_players

    def result_to_string(self) -> str:
        """Return the result in the game's own notation (``B+3.5``); empty where it has none."""
        return ""

    def opening_actions(self) -> list[int]:
        """Return the legal actions, ascending, from which random openings are drawn.

        The default is all of them. A game with passes leaves the pass out unless it is the only
        action: a random pass could decide the game before the players are asked.
        """
        return self.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return (action, probability) pairs at a chance node; they sum to one.

        All actions are below `GameInfo.max_chance_outcomes`.
        """
        return []

    def observation(self, player: int) -> Observation | None:
        """Return what `player` observes of the last transition; None if nothing.

        Nobody observes an action of a decision that others have yet to take, too. At the initial
        state, return the observation before the first action. The default shows each action and its
        actor, which is right for perfect information only: other games override it.
        """
        if not self.game.info.perfect_information:
            raise HiddenInformationError(
                f"{self.game.info.title} hides information: its State must define observation()"
            )
        actor = self._actors[-1] if self._actors else None
        action = self._history[-1] if self._history else None
        return Observation(player, actor, action, None, self._legal_for(player))

    def information_state_string(self, player: int) -> str:
        """Return all information of `player` so far, as text.

        Games that hide information override it. Two states are in one information state of `player`
        exactly when the texts are equal.
        """
        if not self.game.info.perfect_information:
            raise HiddenInformationError(
                f"{self.game.info.title} hides information: its State must define "
                "information_state_string()"
            )
        return " ".join(map(str, self._history))

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return what `player` sees, float32 of shape `Game.observation_tensor_shape()`."""
        raise NotImplementedError(f"{self.game.info.title} has no observation tensor")

    def action_to_string(self, action: int) -> str:
        """Return the action in the game's own notation, by default its number."""
        return str(action)

    def string_to_action(self, text: str) -> int:
        """Return the legal action of this notation, in any case. Raises `InvalidActionError`."""
        notation = text.strip().lower()
        for action in self.legal_actions():
            if self.action_to_string(action).lower() == notation:
                return action
        raise InvalidActionError(f"{self.game.info.title}: no legal action is written {text!r}")

    # -- what every state has -----------------------------------------------------------------

    def acting_players(self) -> tuple[int, ...]:
        """Return the players whose actions are awaited, ascending; empty for chance and at the end.

        They are several only where several players act at once, and become fewer with each action.
        """
        player = self.current_player()
        return (player,) if player >= 0 else ()

    def next_actor(self) -> int:
        """Return who takes the next action: the current player, chance, or `Player.TERMINAL`.

        Where several players act at once, it is the first of `acting_players`.
        """
        return self.current_player()

    def pending_actions(self) -> Mapping[int, int]:
        """Return the actions, by player, of a decision that others have yet to take, too.

        Empty unless several players act at once and some, but not all, have acted. Until all have,
        nothing happens: nobody observes anything or is rewarded, and position, current player and
        `legal_actions_of` each player are those of the state in which the first acted.
        """
        return {}

    def legal_actions_of(self, player: int) -> list[int]:
        """Return the legal actions of one player in ascending order; empty unless it acts here."""
        return self.legal_actions() if self.current_player() == player else []

    def apply_actions(self, actions: Mapping[int, int]) -> None:
        """Take one action of each of `acting_players`, given by player.

        Raises as `apply_action`, also if a player is missing or does not act here; then nothing is
        changed.
        """
        acting = self.acting_players()
        if set(actions) != set(acting):
            raise InvalidActionError(
                f"{self.game.info.title}: actions of the players {sorted(actions)}, but an action "
                f"of each of {list(acting)} is due"
            )
        plain = [self._plain_action(actions[player]) for player in acting]
        for player, action in zip(acting, plain, strict=True):
            if action not in self.legal_actions_of(player):
                self._refuse(action, player)
        for action in plain:
            self.apply_unchecked(action)

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.current_player() == _TERMINAL

    def is_chance_node(self) -> bool:
        """Return whether chance acts next."""
        return self.current_player() == _CHANCE

    def is_legal(self, action: int) -> bool:
        """Return whether `action` is legal for the current player. Override it if faster."""
        return action in self.legal_actions()

    def apply_action(self, action: int) -> None:
        """Take an action of the current player, or an outcome of chance.

        Where several players act at once, it is the action of the first of `acting_players`.

        Raises:
          InvalidActionError: the game has no such action.
          IllegalActionError: the action is not legal here, or the game is over.
        """
        if type(action) is not int:
            action = self._plain_action(action)
        if not self.is_legal(action):
            self._refuse(action, self.current_player())
        self.apply_unchecked(action)

    def apply_unchecked(self, action: int) -> None:
        """Take an action that is known to be legal, without the check of `apply_action`.

        This is for searches, whose actions come from `legal_actions`; an illegal action has
        undefined effects.
        """
        actor = self.current_player()
        self._apply(action)
        self._history.append(action)
        self._actors.append(actor)

    def child(self, action: int) -> Self:
        """Return a copy of this state after `action`. Raises as `apply_action`."""
        state = self.clone()
        state.apply_action(action)
        return state

    def clone(self) -> Self:
        """Return an independent copy."""
        other = object.__new__(type(self))
        other.game = self.game
        other._history = self._history.copy()
        other._actors = self._actors.copy()
        self._copy_to(other)
        return other

    def history(self) -> list[int]:
        """Return the actions taken so far, chance included, oldest first."""
        return self._history.copy()

    def actors(self) -> list[int]:
        """Return who took each action of `history`."""
        return self._actors.copy()

    def move_number(self) -> int:
        """Return the number of actions taken so far, chance included."""
        return len(self._history)

    def serialize(self) -> str:
        """Return a text from which `Game.deserialize` rebuilds the state."""
        return json.dumps(self._history, separators=(",", ":"))

    def _legal_for(self, player: int) -> tuple[int, ...]:
        return tuple(self.legal_actions_of(player))

    def _plain_action(self, action: object) -> int:
        """Return an action of another integer type, such as numpy's, as an int."""
        if not isinstance(action, bool):
            with suppress(TypeError):
                return operator.index(action)  # type: ignore[arg-type]  # suppressed
        raise InvalidActionError(f"{self.game.info.title}: an action is an integer, not {action!r}")

    def _refuse(self, action: int, actor: int) -> None:
        info = self.game.info
        if actor == Player.TERMINAL:
            raise IllegalActionError(
                f"{info.title}: the game is over, action {action} was refused",
                action=action,
                position=str(self),
            )
        bound = "max_chance_outcomes" if actor == Player.CHANCE else "num_distinct_actions"
        limit = getattr(info, bound)
        if type(action) is not int or not 0 <= action < limit:
            raise InvalidActionError(
                f"{info.title}: actions are integers below {bound} = {limit}, got {action!r}"
            )
        raise IllegalActionError(
            f"{info.title}: action {action} ({self.action_to_string(action)}) is not legal here",
            action=action,
            position=str(self),
        )


class SimultaneousState(State):
    """A state of a game in which several players may act at once.

    Subclasses implement `current_player`, `legal_actions_of`, `_apply_actions`, `returns`, `_key`,
    `_copy_to` and `__str__`, and `_observation` and `information_state_string` if the game hides
    information. They know nothing of decisions that not all have taken: this class keeps the
    actions until the last of them is there.

    The returns of a game with rewards on the way are the sum of those so far; the rewards follow.
    """

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._pending: Mapping[int, int] = {}
        self._deciding: tuple[int, ...] | None = None  # who decides here, once somebody asked
        self._last: Mapping[int, int] = {}  # the actions of the last transition, by actor
        self._joint = False  # whether that was a decision of several players
        self._earlier_returns = (0.0,) * game.info.num_players

    # -- what a game implements ---------------------------------------------------------------

    @abstractmethod
    def legal_actions_of(self, player: int) -> list[int]:
        """Return the legal actions of one player in ascending order; empty unless it acts here."""

    @abstractmethod
    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        """Apply the legal actions of all who act, by player; of chance, by `Player.CHANCE`."""

    @abstractmethod
    def _key(self) -> Hashable:
        """Return the key of the state; see `State.key`."""

    def _deciding_players(self) -> tuple[int, ...]:
        """Return who acts at once here, ascending; by default, who has legal actions."""
        players = range(self.game.info.num_players)
        return tuple(player for player in players if self.legal_actions_of(player))

    def _observation(self, player: int) -> Observation | None:
        """Return what `player` observes of the last transition; see `State.observation`.

        The default shows all actions, which is right for perfect information only. Other games
        return the `_observation_of` what the player may see.
        """
        if not self.game.info.perfect_information:
            raise HiddenInformationError(
                f"{self.game.info.title} hides information: its State must define _observation()"
            )
        return self._observation_of(player, self._last)

    def _observation_of(
        self, player: int, actions: Mapping[int, int], data: Json = None
    ) -> Observation:
        """Return an observation of the last transition, with the player's legal actions now.

        `actions` are the actions that the player sees, by actor; its own must be among them.
        """
        legal = self._legal_for(player)
        if not self._joint:
            actor, action = next(iter(self._last.items()), (None, None))
            return Observation(player, actor, action if actor in actions else None, data, legal)
        seen = tuple(map(actions.get, range(self.game.info.num_players)))
        others = any(action is not None for p, action in enumerate(seen) if p != player)
        own = actions.get(player)
        return Observation(player, Player.SIMULTANEOUS, own, data, legal, seen if others else ())

    # -- what follows from it -----------------------------------------------------------------

    def legal_actions(self) -> list[int]:
        """Return the actions of `next_actor`, ascending."""
        actor = self.next_actor()
        if actor == _CHANCE:
            return [action for action, _ in self.chance_outcomes()]
        return self.legal_actions_of(actor) if actor >= 0 else []

    def acting_players(self) -> tuple[int, ...]:
        """Return the players whose actions are awaited, ascending."""
        if self.current_player() != _SIMULTANEOUS:
            return super().acting_players()
        if self._deciding is None:
            self._deciding = self._deciding_players()
            if not self._deciding:
                name = self.game.info.title
                raise GameFailedError(f"{name}: players act at once, but none has a legal action")
        return self._deciding[len(self._pending) :]

    def next_actor(self) -> int:
        """Return who takes the next action: the first of `acting_players` where there are some."""
        player = self.current_player()
        return self.acting_players()[0] if player == _SIMULTANEOUS else player

    def pending_actions(self) -> Mapping[int, int]:
        """Return the actions, by player, of a decision that others have yet to take, too."""
        return dict(self._pending)

    def observation(self, player: int) -> Observation | None:
        """Return what `player` observes of the last transition; None if nothing."""
        return None if self._pending else self._observation(player)

    def information_state_string(self, player: int) -> str:
        """Return all information of `player` so far; see `State.information_state_string`."""
        if not self.game.info.perfect_information:
            return super().information_state_string(player)
        return " ".join(map(str, self._history[: len(self._history) - len(self._pending)]))

    def rewards(self) -> tuple[float, ...]:
        """Return each player's reward for the last transition."""
        if self._pending or not self.game.info.intermediate_rewards:
            return super().rewards()
        pairs = zip(self.returns(), self._earlier_returns, strict=True)
        return tuple(now - before for now, before in pairs)

    def key(self) -> Hashable:
        """Return a key of the state, other for each pending action."""
        return (self._key(), *self._pending.items()) if self._pending else self._key()

    def apply_unchecked(self, action: int) -> None:
        """Take an action that is known to be legal; the last of a decision has an effect."""
        actor = self.current_player()
        if actor == _SIMULTANEOUS:
            actor = self.next_actor()
            self._apply(action)
        else:
            self._advance({actor: action}, joint=False)
        self._history.append(action)
        self._actors.append(actor)

    def clone(self) -> Self:
        """Return an independent copy."""
        other = super().clone()
        other._pending, other._last = self._pending, self._last  # replaced, never changed
        other._deciding, other._joint = self._deciding, self._joint
        other._earlier_returns = self._earlier_returns
        return other

    def _apply(self, action: int) -> None:
        """Take the next action of a decision of several players."""
        actor, *others = self.acting_players()
        actions = {**self._pending, actor: action}
        if others:
            self._pending = actions
        else:
            self._advance(actions, joint=True)
            self._pending, self._deciding = {}, None

    def _advance(self, actions: Mapping[int, int], *, joint: bool) -> None:
        if self.game.info.intermediate_rewards:
            self._earlier_returns = self.returns()
        self._apply_actions(actions)
        self._last, self._joint = actions, joint


def sample_chance(state: State, rng: Random) -> int:
    """Return an outcome of a chance node, drawn by its probabilities."""
    actions, probabilities = zip(*state.chance_outcomes(), strict=True)
    action: int = rng.choices(actions, probabilities)[0]
    return action
