"""Games of miai as environments of PettingZoo and Gymnasium, with action masks and `clone`.

An observation is a dictionary: ``observation``, the game's tensor for the player or, where it has
none, its information state in UTF-8; and ``action_mask``, int8 with a one for each legal action.
A player's reward for a step is what that adds to its returns: in most games zero until the end, and
its return then. Chance is drawn by the seed of `reset`. A game that reaches its maximum length is
truncated.

Needs gymnasium and pettingzoo, the extra ``environments``.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from miai.agent import Agent
from miai.api import make_agent
from miai.clock import Clock, TimeControl
from miai.errors import GameError, IllegalActionError, ParameterError
from miai.game import Game, State, sample_chance
from miai.plugins.extras import missing_extra
from miai.seeds import derive_seed

try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
    from pettingzoo import AECEnv, ParallelEnv
except ImportError as error:
    raise missing_extra(error, "miai", "a game as an environment") or error from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

ObservationDict = dict[str, Any]
"""``observation``: float32 of the game's shape, or uint8; ``action_mask``: int8 (actions,)."""

TEXT_BYTES: Final = 4096
"""Bytes of the text that games without a tensor show."""


class PlayedGame:
    """A game as an environment plays it: chance acts by itself, and the length is limited.

    Attributes:
      state: the true state.
      plies: players' actions so far.
    """

    def __init__(self, game: Game, seed: int | None) -> None:
        self.game = game
        self._rng = random.Random(seed)
        self.state: State = game.new_initial_state()
        self.plies = 0
        self._draw()

    @property
    def truncated(self) -> bool:
        """Whether the game was stopped at its maximum length."""
        state, limit = self.state, self.game.max_game_length()
        return self.plies >= limit and not (state.is_terminal() or state.pending_actions())

    @property
    def over(self) -> bool:
        """Whether nobody acts any more."""
        return self.truncated or self.state.is_terminal()

    def returns(self) -> tuple[float, ...]:
        """Return each player's utility so far; see `State.returns`."""
        return self.state.truncated_returns() if self.truncated else self.state.returns()

    def act(self, action: int) -> None:
        """Take an action, and then those of chance. Raises `IllegalActionError`."""
        self.state.apply_action(action)
        self.plies += 1
        self._draw()

    def act_together(self, actions: Mapping[int, int]) -> None:
        """Take an action of each acting player, and then those of chance.

        Raises:
          IllegalActionError: one of them is not legal; the game is as it was.
        """
        self.state.apply_actions(actions)
        self.plies += len(actions)
        self._draw()

    def gains(self, earlier: tuple[float, ...]) -> tuple[float, ...]:
        """Return what each player has won since its returns were the earlier ones."""
        return tuple(now - then for now, then in zip(self.returns(), earlier, strict=True))

    def clone(self) -> PlayedGame:
        """Return an independent copy that draws the same chances."""
        other = copy.copy(self)
        other.state, other._rng = self.state.clone(), copy.copy(self._rng)
        return other

    def _draw(self) -> None:
        while self.state.is_chance_node():
            self.state.apply_action(sample_chance(self.state, self._rng))


class GameSpaces:
    """The spaces of a game, the same for every player."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.shape = game.observation_tensor_shape()
        self.actions = spaces.Discrete(game.num_distinct_actions())
        seen: spaces.Space[Any] = spaces.Box(0, 255, (TEXT_BYTES,), np.uint8)
        if self.shape:
            seen = spaces.Box(-np.inf, np.inf, self.shape, np.float32)
        mask = spaces.Box(0, 1, (game.num_distinct_actions(),), np.int8)
        self.observations = spaces.Dict({"observation": seen, "action_mask": mask})

    def observe(self, state: State, player: int, legal: bool) -> ObservationDict:
        """Return what a player observes; `legal`: whether its legal actions are marked."""
        seen = state.observation_tensor(player) if self.shape else self.text(state, player)
        return {"observation": seen, "action_mask": self.mask(state if legal else None, player)}

    def text(self, state: State, player: int) -> NDArray[np.uint8]:
        """Return a player's information state in UTF-8, zeros after it: uint8 (TEXT_BYTES,).

        Raises:
          GameError: it is longer.
        """
        text = state.information_state_string(player).encode()
        if len(text) > TEXT_BYTES:
            raise GameError(
                f"{self.game.info.title} has no observation tensor, and its information state has "
                f"{len(text)} bytes; an environment shows at most {TEXT_BYTES}"
            )
        return np.frombuffer(text.ljust(TEXT_BYTES, b"\0"), np.uint8).copy()

    def mask(self, state: State | None, player: int) -> NDArray[np.int8]:
        """Return the mask of a player's legal actions; zeros for None."""
        mask = np.zeros(int(self.actions.n), np.int8)
        if state is not None:
            mask[state.legal_actions_of(player)] = 1
        return mask


class _GameOfAgents:
    """What both kinds of environments of PettingZoo have in common."""

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        self.game, self.render_mode = game, render_mode
        self.metadata = {
            "name": f"{game.info.title}_v{game.info.version}",
            "render_modes": ["ansi"],
            "is_parallelizable": False,
        }
        self.possible_agents = list(game.info.player_names)
        self.played = PlayedGame(game, None)
        self._spaces = GameSpaces(game)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observations."""
        return self._spaces.observations

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of an agent's actions."""
        return self._spaces.actions

    def clone(self) -> Self:
        """Return an independent copy, with the same chances to come."""
        other = copy.copy(self)
        # PettingZoo keeps the agents' rewards and so on in dictionaries, which a step changes.
        own = {k: copy.deepcopy(v) for k, v in vars(self).items() if isinstance(v, (list, dict))}
        vars(other).update(own, played=self.played.clone())
        return other

    def render(self) -> str | None:
        """Return the true state as text, with `render_mode` "ansi"."""
        return str(self.played.state) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Do nothing; PettingZoo asks for it where there is `render`."""


class AecEnvironment(_GameOfAgents, AECEnv[str, ObservationDict, int]):  # type: ignore[misc]  # it has no types
    """A game in which agents act one after the other; see `to_pettingzoo`.

    Agents who act at once in the game act in player order here, and observe nothing in between.
    """

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game; without a seed chance is drawn anew."""
        self.played = PlayedGame(self.game, seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self._take_turn()

    def observe(self, agent: str) -> ObservationDict:
        """Return what an agent observes; only whose turn it is has legal actions."""
        number = self.possible_agents.index(agent)
        state = self.played.state
        acts = not self.played.over and state.next_actor() == number
        return self._spaces.observe(state, number, acts)

    def step(self, action: int | None) -> None:
        """Take the action of the agent whose turn it is; None once its game is over.

        Raises:
          IllegalActionError: the action is not legal; the game is as it was.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise IllegalActionError(
                f"{self.game.info.title}: {agent} has to act, but the action is None",
                action=-1,
                position="",
            )
        earlier = self.played.returns()
        self.played.act(int(action))
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.agents, self.played.gains(earlier), strict=True))
        self._take_turn()
        self._accumulate_rewards()

    def _take_turn(self) -> None:
        played = self.played
        self.terminations = dict.fromkeys(self.agents, played.state.is_terminal())
        self.truncations = dict.fromkeys(self.agents, played.truncated)
        player = played.state.next_actor()
        self.agent_selection = self.possible_agents[0 if played.over else player]


class ParallelEnvironment(_GameOfAgents, ParallelEnv[str, ObservationDict, int]):  # type: ignore[misc]
    """A game in which all agents give an action at each step; see `to_pettingzoo`.

    The action of an agent that is not to act is ignored, and its mask has ones only.
    """

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, ObservationDict], dict[str, dict[str, Any]]]:
        """Begin a game; return observations and infos."""
        self.played = PlayedGame(self.game, seed)
        self.agents = list(self.possible_agents)
        return self._observations(), {name: {} for name in self.agents}

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[
        dict[str, ObservationDict],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Take the actions of those who are to act; return what PettingZoo asks for.

        Raises:
          IllegalActionError: one of them is not legal; the game is as it was.
        """
        played, agents = self.played, self.agents
        if not agents:
            return {}, {}, {}, {}, {}
        earlier, acting = played.returns(), played.state.acting_players()
        played.act_together({player: int(actions[agents[player]]) for player in acting})
        result = (
            self._observations(),
            dict(zip(agents, played.gains(earlier), strict=True)),
            dict.fromkeys(agents, played.state.is_terminal()),
            dict.fromkeys(agents, played.truncated),
            {name: dict[str, Any]() for name in agents},
        )
        if played.over:
            self.agents = []
        return result

    def _observations(self) -> dict[str, ObservationDict]:
        state = self.played.state
        acting = () if self.played.over else state.acting_players()
        observations = {}
        for number, name in enumerate(self.agents):
            observations[name] = self._spaces.observe(state, number, number in acting)
            if number not in acting:
                observations[name]["action_mask"][:] = 1
        return observations


class GymEnvironment(gymnasium.Env[ObservationDict, int]):
    """A game for one player against an opponent; see `to_gymnasium`."""

    def __init__(
        self,
        game: Game,
        opponents: list[Agent | None],
        player: int,
        *,
        illegal: Literal["lose", "raise"],
        render_mode: str | None = None,
    ) -> None:
        self.game, self.render_mode = game, render_mode
        self.metadata = {"render_modes": ["ansi"], "render_fps": 1}
        self._spaces = GameSpaces(game)
        self.observation_space = self._spaces.observations
        self.action_space: spaces.Space[Any] = self._spaces.actions
        self._opponents, self._player, self._illegal = opponents, player, illegal
        self._clock = Clock(TimeControl()).reading()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[ObservationDict, dict[str, Any]]:
        """Begin a game, and let opponents act until it is the player's turn."""
        super().reset(seed=seed)
        number = int(self.np_random.integers(1 << 62))
        self._played = PlayedGame(self.game, derive_seed(number, "chance"))
        for player, agent in enumerate(self._opponents):
            if agent is not None:
                agent.new_game(derive_seed(number, "player", player), player=player)
        # Opponents are told of the first position, and of chance's first draws.
        self._followed = self.game.new_initial_state()
        self._tell(self._followed)
        self._tell_news()
        self._let_others_act()
        return self._observe()

    def step(self, action: int) -> tuple[ObservationDict, float, bool, bool, dict[str, Any]]:
        """Take the player's action, and those of its opponents.

        Opponents who act at the same time choose before they learn of the player's action. An
        illegal action loses the game, as a resignation does, and `info` says ``illegal``; with
        `illegal` "raise" it raises.

        Raises:
          IllegalActionError: see above, or the game is over.
        """
        played, player = self._played, self._player
        earlier, legal = played.returns(), played.state.legal_actions_of(player)
        if played.over or int(action) not in legal:
            if played.over or self._illegal == "raise":
                raise IllegalActionError(
                    f"{self.game.info.title}: action {action} is not legal here",
                    action=int(action),
                    position=str(played.state),
                )
            observation, info = self._observe()
            lost = self.game.resignation_returns(player)[player] - earlier[player]
            return observation, lost, True, False, {**info, "illegal": True}
        self._act({player: int(action)})
        self._let_others_act()
        observation, info = self._observe()
        reward = played.gains(earlier)[player]
        return observation, reward, played.state.is_terminal(), played.truncated, info

    def render(self) -> str | None:
        """Return the true state as text, with `render_mode` "ansi"."""
        return str(self._played.state) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the opponents."""
        for agent in self._opponents:
            if agent is not None:
                agent.close()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, bool (actions,), as libraries for masked actions ask for."""
        state = None if self._played.over else self._played.state
        return self._spaces.mask(state, self._player).astype(np.bool_)

    def _observe(self) -> tuple[ObservationDict, dict[str, Any]]:
        observation = self._spaces.observe(self._played.state, self._player, not self._played.over)
        return observation, {"action_mask": observation["action_mask"]}

    def _let_others_act(self) -> None:
        played = self._played
        while not played.over and self._player not in played.state.acting_players():
            self._act({})

    def _act(self, actions: dict[int, int]) -> None:
        """Take the given actions together with those of the opponents who act here."""
        for number in self._played.state.acting_players():
            if number not in actions:
                agent = self._opponents[number]
                assert agent is not None
                actions[number] = agent.act(self._clock).action
        self._played.act_together(actions)
        self._tell_news()

    def _tell_news(self) -> None:
        """Tell opponents of each transition that they have not been told of."""
        for action in self._played.state.history()[self._followed.move_number() :]:
            self._followed.apply_action(action)
            self._tell(self._followed)

    def _tell(self, state: State) -> None:
        for player, agent in enumerate(self._opponents):
            if agent is not None and (seen := state.observation(player)) is not None:
                agent.observe(seen)


def to_pettingzoo(
    game: Game, *, parallel: bool = False, render_mode: Literal["ansi"] | None = None
) -> AecEnvironment | ParallelEnvironment:
    """Return a game as an environment of PettingZoo.

    Agents are called like the game's players. Unlike PettingZoo's own environments it has
    ``clone()``, which a search needs.

    Args:
      parallel: a ``ParallelEnv``, in which all agents give an action at each step, in place of an
        ``AECEnv``.

    Raises:
      MissingExtraError: pettingzoo or gymnasium is not installed.
    """
    kind = ParallelEnvironment if parallel else AecEnvironment
    return kind(game, render_mode)


def to_gymnasium(
    game: Game,
    opponent: str | Agent | Mapping[int, Agent] = "random",
    *,
    player: int = 0,
    illegal: Literal["lose", "raise"] = "lose",
    render_mode: Literal["ansi"] | None = None,
) -> GymEnvironment:
    """Return a game as an environment of Gymnasium, for one player against the others.

    Args:
      opponent: name of an agent, or an agent in a game for two; or agents by player.
      player: the player whom the environment's user plays.
      illegal: what an illegal action does: lose the game, or raise `IllegalActionError`.

    Raises:
      MissingExtraError: gymnasium is not installed.
      ParameterError: `player` is not one of the game, or another one has no agent.
    """
    others = [number for number in range(game.num_players()) if number != player]
    if len(others) == game.num_players():
        raise ParameterError(
            f"player is {player}, but {game.info.title} has players 0 to {game.num_players() - 1}"
        )
    if isinstance(opponent, str):
        agents = {number: make_agent(opponent, game) for number in others}
    elif isinstance(opponent, Agent):
        agents = dict.fromkeys(others, opponent)
    else:
        agents = dict(opponent)
    if set(agents) != set(others) or len(set(map(id, agents.values()))) < len(others):
        raise ParameterError(
            f"opponent: {game.info.title} needs an agent of its own for each of the players "
            f"{', '.join(map(str, others))}"
        )
    seats = [agents.get(number) for number in range(game.num_players())]
    return GymEnvironment(game, seats, player, illegal=illegal, render_mode=render_mode)
