"""Games of OpenSpiel as games of miai, for comparing searches on one and the same game."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import pyspiel
from open_spiel.python.observation import make_observation

from miai import Game, GameInfo, Observation, Parameters, Player, State


class OpenSpielGame(Game):
    """A game of OpenSpiel with perfect recall.

    After each action that a player notices, it observes what became public and what it alone
    learned; in a game without such observers, its whole information state.
    """

    def __init__(self, name: str) -> None:
        self.theirs: Any = pyspiel.load_game(name)
        self.parameters = Parameters()
        self.info = GameInfo(
            name=f"openspiel_{name}",
            version=1,
            num_players=self.theirs.num_players(),
            num_distinct_actions=self.theirs.num_distinct_actions(),
            max_game_length=self.theirs.max_game_length(),
            player_names=tuple(f"player{n}" for n in range(self.theirs.num_players())),
            max_chance_outcomes=self.theirs.max_chance_outcomes(),
            min_utility=self.theirs.min_utility(),
            max_utility=self.theirs.max_utility(),
            perfect_information=False,
            payoffs=self.theirs.max_utility() > 1,
        )

        self.observers = [
            make_observation(
                self.theirs,
                pyspiel.IIGObservationType(
                    public_info=public, perfect_recall=False, private_info=private
                ),
            )
            for public, private in (
                (True, pyspiel.PrivateInfoType.NONE),
                (False, pyspiel.PrivateInfoType.SINGLE_PLAYER),
            )
        ]

    def news(self, state: Any, player: int) -> tuple[str, str]:
        """Return what is public, and what the player alone knows, as texts."""
        if any(observer is None for observer in self.observers):
            return "", str(state.information_state_string(player))
        public, private = (observer.string_from(state, player) for observer in self.observers)
        return public, private

    def new_initial_state(self) -> OpenSpielState:
        return OpenSpielState(self)


class OpenSpielState(State):
    """A position, and what each player knew before the last action."""

    game: OpenSpielGame

    def __init__(self, game: OpenSpielGame) -> None:
        super().__init__(game)
        self.theirs = game.theirs.new_initial_state()
        self._before = self._texts()

    def current_player(self) -> int:
        if self.theirs.is_terminal():
            return Player.TERMINAL
        return Player.CHANCE if self.theirs.is_chance_node() else int(self.theirs.current_player())

    def legal_actions(self) -> list[int]:
        return [] if self.theirs.is_terminal() else list(self.theirs.legal_actions())

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return list(self.theirs.chance_outcomes()) if self.theirs.is_chance_node() else []

    def _apply(self, action: int) -> None:
        self._before = self._texts()
        self.theirs.apply_action(action)

    def _texts(self) -> list[tuple[str, str]]:
        return [self.game.news(self.theirs, p) for p in range(self.game.info.num_players)]

    def information_state_string(self, player: int) -> str:
        return str(self.theirs.information_state_string(player))

    def observation(self, player: int) -> Observation | None:
        news, before = self.game.news(self.theirs, player), self._before[player]
        legal = self._legal_for(player)
        if news == before and not legal:
            return None
        data = {"public": news[0], "private": news[1] if news[1] != before[1] else ""}
        own = bool(self._actors) and self._actors[-1] == player
        actor, action = (player, self._history[-1]) if own else (None, None)
        return Observation(player, actor, action, data, legal)

    def returns(self) -> tuple[float, ...]:
        return tuple(self.theirs.returns())

    def _copy_to(self, other: Self) -> None:
        other.theirs = self.theirs.clone()
        other._before = self._before

    def key(self) -> Hashable:
        return str(self.theirs.history_str())

    def __str__(self) -> str:
        return str(self.theirs)

    def action_to_string(self, action: int) -> str:
        return str(action)
