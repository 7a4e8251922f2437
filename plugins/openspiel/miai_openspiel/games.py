"""Games and states of OpenSpiel behind miai's interface.

What a player observes comes from OpenSpiel's information state or, where a game has none, from its
observation: a text for each player, which changes when the player learns something. Everything else
about the state stays with the referee. Players who act at once in OpenSpiel act at once here.

An action of a game that hides information, or in which players act at once, is written by its
number alone, as OpenSpiel writes it when a player first acts; chance's actions follow the players'
in numbering, so that none is written like a player's.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from miai import Game, GameInfo, Observation, Parameters, Player, SimultaneousState
from miai.errors import InvalidActionError, ParameterError
from miai.plain import Json, one_line
from miai_openspiel.catalogue import AnyGameParameters, games
from miai_openspiel.loading import MOST_DEALT, load, without_its_complaints

PREFIX: Final = "openspiel:"
_MOST_NAMED = 20_000  # actions of hidden games; those of games with more are written as numbers
_LEAST: Final = int(Player.SIMULTANEOUS)  # number of one or several who act, or of chance
_PRIVATE: Final = re.compile(r"\[(?:Observer|Private): [^\]]*\]")
_LONGEST = 1_000_000  # plies that miai's game length can be


class OpenSpielGame(Game):
    """A game of OpenSpiel.

    Args:
      name: OpenSpiel's name, or a text such as ``misere(game=tic_tac_toe())``.
      parameters: those of OpenSpiel; values equal to the defaults are not passed on.
      registered: name of its component; ``openspiel:NAME`` by default.

    Attributes:
      inner: the ``pyspiel.Game``.
      chance_offset: what is added to an outcome of chance to make its action.

    Raises:
      ParameterError: OpenSpiel has no such game, or refuses the parameters.
    """

    def __init__(
        self, name: str, parameters: Parameters | None = None, *, registered: str = ""
    ) -> None:
        self.parameters = parameters or Parameters()
        fields = type(self.parameters).model_fields
        values = {
            key: value
            for key, value in self.parameters.model_dump().items()
            if key != "game" and value != fields[key].default
        }
        self.inner = load(name, values)
        kind = self.inner.get_type()
        if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
            raise ParameterError(f"'{name}' is a mean-field game, which has no players")
        players, actions = self.inner.num_players(), self.inner.num_distinct_actions()
        least, greatest = float(self.inner.min_utility()), float(self.inner.max_utility())
        if not (math.isfinite(least) and math.isfinite(greatest)):
            raise ParameterError(f"'{name}' has returns without bounds")
        chance = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
            raise ParameterError(
                f"'{name}' draws its chance by itself, so that no game can be repeated"
            )
        self.chance_offset = actions
        self.shows_information_state = bool(kind.provides_information_state_string)
        observed = self.inner.get_parameters().get("obstype")
        self.is_keyed = self.short_name in _KEYED and observed == "reveal-nothing"
        total = self.inner.utility_sum()
        simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        length = self.inner.max_game_length() * (players if simultaneous else 1)
        self.info = GameInfo(
            name=registered or PREFIX + name,
            title=one_line(name, limit=80) if registered else "",
            version=2,
            num_players=players,
            num_distinct_actions=actions,
            max_game_length=min(max(1, length), _LONGEST),
            player_names=tuple(f"p{player}" for player in range(players)),
            max_chance_outcomes=actions + self.inner.max_chance_outcomes() if chance else 0,
            min_utility=least,
            max_utility=greatest if greatest > least else least + 1.0,
            utility_sum=None if total is None else float(total),
            perfect_information=kind.information
            != pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            payoffs=(least, greatest) != (-1.0, 1.0),
            simultaneous=simultaneous,
            intermediate_rewards=kind.reward_model == pyspiel.GameType.RewardModel.REWARDS,
            teams=(0,) * players if kind.utility == pyspiel.GameType.Utility.IDENTICAL else (),
        )

    def new_initial_state(self) -> OpenSpielState:
        """Return a new state at the start of the game."""
        inner = self.inner.new_initial_state()
        if not self.info.perfect_information and len(_PRIVATE.findall(self.text_for(inner, 0))) > 1:
            return LabelledState(self, inner)
        return OpenSpielState(self, inner)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the shape of the tensor of what a player sees; empty if there is none."""
        shapes = {
            "information_state": self.inner.information_state_tensor_shape,
            "observation": self.inner.observation_tensor_shape,
        }
        return tuple(shapes[self.tensor]()) if self.tensor else ()

    @property
    def short_name(self) -> str:
        """OpenSpiel's name of the game, without parameters."""
        return str(self.inner.get_type().short_name)

    @cached_property
    def tensor(self) -> str:
        """Which of OpenSpiel's tensors is used; empty for none.

        A game that hides information shows the tensor that belongs to the text that it shows.
        """
        kind = self.inner.get_type()
        kinds = ["observation", "information_state"]
        if not self.info.perfect_information:
            kinds = ["information_state" if self.shows_information_state else "observation"]
        if self.short_name in _WRONG_TENSORS:
            return ""
        for name in kinds:
            if getattr(kind, f"provides_{name}_tensor"):
                return name
        return ""

    def text_for(self, inner: Any, player: int) -> str:
        """Return what OpenSpiel tells a player in a state."""
        if self.is_keyed:
            return str(inner.information_state_string(player)).rpartition("\n")[0]
        if self.shows_information_state:
            return str(inner.information_state_string(player))
        return str(inner.observation_string(player))

    def tensor_for(self, inner: Any, player: int) -> Sequence[float] | NDArray[np.float32]:
        """Return OpenSpiel's tensor for a player in a state.

        All states of a game written in Python share one observer, and the parts of some observers
        keep what other states left in them: such a game gets a new observer each time.
        """
        if not hasattr(self.inner, "make_py_observer"):
            values: Sequence[float] = getattr(inner, f"{self.tensor}_tensor")(player)
            return values
        recall = self.tensor == "information_state"
        kind = pyspiel.IIGObservationType(perfect_recall=recall)
        observer = self.inner.make_py_observer(kind)
        observer.set_from(inner, player)
        return np.concatenate([np.ravel(part) for part in observer.dict.values()])

    def action_text(self, action: int) -> str:
        """Return how an action is written where its text depends on its number alone."""
        if action >= self.chance_offset:
            return f"chance {action - self.chance_offset}"
        return self._names.get(action, str(action))

    @cached_property
    def _names(self) -> dict[int, str]:
        """The texts of players' actions; empty if OpenSpiel does not give each its own."""
        if self.info.num_distinct_actions > _MOST_NAMED or self.short_name in _WRONG_TEXTS:
            return {}
        state, players = self.inner.new_initial_state(), range(self.info.num_players)
        for _ in range(MOST_DEALT):
            if not state.is_chance_node():
                break
            state.apply_action(state.chance_outcomes()[0][0])
        try:
            with without_its_complaints():
                names = {
                    action: _common_end([state.action_to_string(p, action) for p in players])
                    for action in range(self.info.num_distinct_actions)
                }
        except (pyspiel.SpielError, RuntimeError, IndexError, KeyError, ValueError):
            return {}
        distinct = {text.lower() for text in names.values() if text.isprintable() and text}
        return names if len(distinct) == len(names) else {}


def _common_end(texts: Sequence[str]) -> str:
    """Return the end that texts share, as of the texts x(1,1) and o(1,1) of two players."""
    shortest = min(map(len, texts))
    for length in range(shortest, 0, -1):
        if len({text[-length:] for text in texts}) == 1:
            return texts[0][-length:].lstrip(" :])}").rstrip()
    return ""


_WRONG_TENSORS: Final = frozenset(
    {"colored_trails", "dou_dizhu", "hanabi", "hearts", "lewis_signaling", "spades"}
)
"""Games without a tensor here: at the end or between deals theirs tells more than their text."""

_KEYED: Final = frozenset({"dark_hex", "phantom_ttt"})
"""Games whose state is what both players see, but for the text of their own actions, which is left
out of what they observe where it names nothing else."""

_WRONG_TEXTS: Final = frozenset({"oh_hell"})
"""Games whose actions are numbers here: OpenSpiel's texts are right in certain positions only."""


class OpenSpielState(SimultaneousState):
    """A state of OpenSpiel.

    Attributes:
      inner: the ``pyspiel.State``.
    """

    game: OpenSpielGame

    def __init__(self, game: OpenSpielGame, inner: Any) -> None:
        super().__init__(game)
        self.inner = inner
        self._before: Any = None  # the state before the last action, in games that hide information
        self._views: tuple[int, tuple[bytes, ...]] = (-1, ())

    def current_player(self) -> int:
        """Return who acts; OpenSpiel numbers chance and several players as miai does."""
        player = int(self.inner.current_player())  # games in Python return members of PlayerId
        return player if player >= _LEAST else Player.TERMINAL

    def legal_actions(self) -> list[int]:
        """Return the actions of `next_actor`, ascending."""
        if self.inner.current_player() >= 0:  # one player in turn
            return sorted(self.inner.legal_actions())
        return super().legal_actions()

    def legal_actions_of(self, player: int) -> list[int]:
        """Return the legal actions of one player in ascending order."""
        if player != self.inner.current_player() and not self.inner.is_simultaneous_node():
            return []
        return sorted(self.inner.legal_actions(player))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return (action, probability) pairs at a chance node; see `OpenSpielGame`."""
        if not self.inner.is_chance_node():
            return []
        offset = self.game.chance_offset
        outcomes = [(a + offset, p) for a, p in self.inner.chance_outcomes() if p > 0]
        total = math.fsum(p for _, p in outcomes)
        return sorted((action, p / total) for action, p in outcomes)

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        info = self.game.info
        if not info.perfect_information:
            self._before, self.inner = self.inner, self.inner.clone()
        if info.simultaneous and self.inner.is_simultaneous_node():
            players = range(info.num_players)
            self.inner.apply_actions([actions.get(p, pyspiel.INVALID_ACTION) for p in players])
            return
        ((actor, action),) = actions.items()
        self.inner.apply_action(action if actor >= 0 else action - self.game.chance_offset)

    def _copy_to(self, other: Self) -> None:
        other.inner = self.inner.clone()
        other._before = self._before  # is never changed
        other._views = self._views

    def returns(self) -> tuple[float, ...]:
        """Return each player's utility at the end; before, the rewards so far or zeros."""
        if not (self.game.info.intermediate_rewards or self.inner.is_terminal()):
            return (0.0,) * self.game.info.num_players
        return tuple(map(float, self.inner.returns()))

    def truncated_returns(self) -> tuple[float, ...]:
        """Return the rewards so far or zero, or the nearest utility that is possible."""
        info = self.game.info
        if info.utility_sum is not None:
            return super().truncated_returns()
        return tuple(
            min(max(value, info.min_utility), info.max_utility) for value in self.returns()
        )

    def _key(self) -> Hashable:
        """Return the history: OpenSpiel promises nothing about states with equal texts.

        In the games of `_KEYED`, return what both players know of the board, and who moves.
        """
        if self.game.is_keyed:
            views = (self.game.text_for(self.inner, player) for player in range(2))
            return " ".join([str(self.inner.current_player()), *views])
        # Without the actions of a decision that others have yet to take.
        decided = self._history[: len(self._history) - len(self._pending)]
        return " ".join(map(str, decided))

    def __str__(self) -> str:
        return str(self.inner)

    def action_to_string(self, action: int) -> str:
        """Return OpenSpiel's text of an action."""
        info = self.game.info
        by_number = info.simultaneous or not info.perfect_information
        if by_number or action >= self.game.chance_offset:
            return self.game.action_text(action)
        player = self.inner.current_player()
        if player < 0 or action not in self.inner.legal_actions():
            return str(action)
        return str(self.inner.action_to_string(player, action)).strip()

    def string_to_action(self, text: str) -> int:
        """Return the legal action of this text, if need be in another case."""
        notation = text.strip()
        by_text = {self.action_to_string(action): action for action in self.legal_actions()}
        if notation in by_text:
            return by_text[notation]
        folded = [action for own, action in by_text.items() if own.lower() == notation.lower()]
        if len(folded) == 1:
            return folded[0]
        raise InvalidActionError(f"{self.game.info.title}: no legal action is written {text!r}")

    # -- what players see -------------------------------------------------------------------------

    def _observation(self, player: int) -> Observation | None:
        """Return what a player observes of the last transition.

        Where the game hides information: its own action, and what OpenSpiel tells it if that has
        changed.
        """
        if self.game.info.perfect_information:
            return super()._observation(player)
        text = self.game.text_for(self.inner, player)
        legal = self._legal_for(player)
        if self._before is None:
            return Observation(player, None, None, text, legal)
        changed = text != self.game.text_for(self._before, player)
        data = text if changed else None
        if player in self._last:
            return self._observation_of(player, {player: self._last[player]}, data)
        return Observation(player, None, None, data, legal) if changed or legal else None

    def information_state_string(self, player: int) -> str:
        """Return all that a player has observed: a digest, and what OpenSpiel tells it now.

        OpenSpiel's own text of some games forgets; the digest covers everything observed so far.
        """
        if self.game.info.perfect_information:
            return super().information_state_string(player)
        digest = self._digests()[player].hex()[:32]
        return f"{digest} {self.game.text_for(self.inner, player)}"

    def _digests(self) -> tuple[bytes, ...]:
        """Return a digest of each player's observations, continued from an earlier state's."""
        count, digests = self._views
        if count < len(self._history):
            state = self.game.new_initial_state()
            for action in self._history[: max(0, count)]:
                state.apply_unchecked(action)
            if count < 0:
                digests = (b"",) * self.game.info.num_players
                digests = tuple(state._extended(d, p) for p, d in enumerate(digests))
            for action in self._history[max(0, count) :]:
                state.apply_unchecked(action)
                digests = tuple(state._extended(d, p) for p, d in enumerate(digests))
            self._views = len(self._history), digests
        return self._views[1]

    def _extended(self, digest: bytes, player: int) -> bytes:
        seen = self.observation(player)
        if seen is None:
            return digest
        return hashlib.sha256(
            digest + repr((seen.action, seen.data, seen.legal_actions)).encode()
        ).digest()

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return OpenSpiel's tensor of what a player sees; zeros where it has none."""
        tensor = np.zeros(self.game.observation_tensor_shape(), np.float32)
        if self.game.tensor:
            try:
                values = self.game.tensor_for(self.inner, player)
            except pyspiel.SpielError:  # undefined here
                return tensor
            tensor[:] = np.asarray(values, np.float32).reshape(tensor.shape)
        return tensor


class LabelledState(OpenSpielState):
    """A state whose texts label what is private: ``[Observer: 0][Private: 5]``, as in Leduc."""

    def public_part(self) -> str | None:
        """Return the unlabelled rest of the text, if it has changed; see `miai.public`."""
        if self._pending:
            return None
        inner = (self.inner, self._before)
        now, before = (i and _PRIVATE.sub("", self.game.text_for(i, 0)) for i in inner)
        return None if now == before else now

    def private_part(self, player: int) -> Json:
        """Return the player's action, its text without the public part, and its legal actions."""
        seen = self.observation(player)
        if seen is None:
            return None
        text = None if seen.data is None else str(seen.data).removesuffix(self.public_part() or "")
        return {"action": seen.action, "data": text, "legal_actions": seen.legal_actions}


def any_game(parameters: AnyGameParameters) -> OpenSpielGame:
    """Return the game of a text, which is registered as ``openspiel``."""
    return OpenSpielGame(parameters.game, parameters, registered="openspiel")


def __getattr__(name: str) -> Callable[[Parameters], OpenSpielGame]:
    """Return the factory of a game of the catalogue, as an attribute of its name."""
    if name in games():
        return partial(OpenSpielGame, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
