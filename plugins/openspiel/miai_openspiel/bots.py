"""OpenSpiel's search and policies as agents of miai, and agents of miai as OpenSpiel's bots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyspiel

from miai import Agent, ClockReading, Decision, Observation, Parameters, parameter
from miai.clock import Clock, TimeControl
from miai.errors import ParameterError, UnsuitableGameError
from miai.files import reading
from miai.seeds import derive_seed
from miai_openspiel.games import OpenSpielGame, OpenSpielState

_MAX_POLICY_BYTES: Final = 1 << 28


def _spiel(game: Any, agent: str) -> OpenSpielGame:
    if not isinstance(game, OpenSpielGame):
        raise UnsuitableGameError(
            f"{agent} plays games of OpenSpiel, not {game.info.name}; choose a game openspiel:NAME"
        )
    return game


class SpielMctsParameters(Parameters):
    """Parameters of `SpielMcts`."""

    simulations: int = parameter(1000, ge=1, le=10**9, help="Simulations per move")
    uct_c: float = parameter(2.0, ge=0, le=1000, help="Weight of exploration")
    rollouts: int = parameter(1, ge=1, le=10_000, help="Random games that value a leaf")
    memory_mb: int = parameter(1000, ge=1, le=1 << 20, unit="MB", help="Memory of the tree")
    solve: bool = parameter(True, help="Prove wins and losses in the tree")


class SpielMcts(Agent):
    """OpenSpiel's Monte-Carlo tree search, for games of perfect information played in turns."""

    def __init__(self, game: Any, parameters: SpielMctsParameters | None = None) -> None:
        super().__init__(_spiel(game, "openspiel-mcts"))
        if not game.info.perfect_information:
            raise UnsuitableGameError(
                f"{game.info.name} hides information, which openspiel-mcts would see; use ismcts"
            )
        if game.info.simultaneous:
            raise UnsuitableGameError(
                f"in {game.info.name} players act at once, which openspiel-mcts cannot search; use "
                "mcts"
            )
        self.parameters = parameters or SpielMctsParameters()
        self._bot: Any = None

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a new tree."""
        super().new_game(seed, player=player, log=log)
        parameters = self.parameters
        number = derive_seed(seed, "openspiel-mcts") % (1 << 31)
        evaluator = pyspiel.RandomRolloutEvaluator(parameters.rollouts, number)
        self._bot = pyspiel.MCTSBot(
            self.game.inner,  # type: ignore[attr-defined]  # an OpenSpielGame
            evaluator,
            parameters.uct_c,
            parameters.simulations,
            parameters.memory_mb,
            parameters.solve,
            number,
            False,  # prints nothing
        )

    def act(self, clock: ClockReading) -> Decision:
        """Return the move of the search, whatever the clock."""
        state = self.view.state
        assert isinstance(state, OpenSpielState)
        return Decision(int(self._bot.step(state.inner)))


class SpielPolicyParameters(Parameters):
    """Parameters of `SpielPolicy`."""

    file: str = parameter("", max_length=4096, help="JSON file of the policy")


class SpielPolicy(Agent):
    """Plays a policy that was computed in OpenSpiel, such as one of counterfactual regret.

    The file is a JSON object: the probability of each action, by OpenSpiel's text of the
    information state, or of the observation where it has none. `write_policy` writes it. A policy
    of a simultaneous game may be one of its turn-based form (``pyspiel.convert_to_turn_based``),
    as those of counterfactual regret are. In states that the policy does not contain, all actions
    are equally likely.
    """

    def __init__(self, game: Any, parameters: SpielPolicyParameters | None = None) -> None:
        super().__init__(_spiel(game, "openspiel-policy"))
        self.parameters = parameters or SpielPolicyParameters()
        self._policy = read_policy(Path(self.parameters.file))
        self._text = ""

    def observe(self, observation: Observation) -> None:
        """Note what OpenSpiel tells the player."""
        super().observe(observation)
        if isinstance(observation.data, str):
            self._text = observation.data

    def act(self, clock: ClockReading) -> Decision:
        """Return an action drawn by the policy."""
        legal = self.view.legal_actions
        chances = self._chances()
        weights = [chances.get(action, 0.0) for action in legal]
        if sum(weights) <= 0:
            return Decision(self.rng.choice(legal), statistics={"known": False})
        return Decision(self.rng.choices(legal, weights)[0], statistics={"known": True})

    def _chances(self) -> Mapping[int, float]:
        """Return the probabilities of actions in this information state; empty if unknown."""
        text, player = self._text, self.view.player
        if self.game.info.perfect_information:
            text = self.game.text_for(self.view.state.inner, player)  # type: ignore[attr-defined]  # an OpenSpielGame
        in_turns = f"Current player: {player}\n{text}"  # OpenSpiel's text of the turn-based form
        return self._policy.get(text) or self._policy.get(in_turns, {})


def read_policy(path: Path) -> dict[str, dict[int, float]]:
    """Return a policy from a file. Raises `ParameterError` if it is not one."""
    with reading(path, lambda reason: ParameterError(f"file: {reason}")), path.open("rb") as file:
        content = file.read(_MAX_POLICY_BYTES + 1)
    if len(content) > _MAX_POLICY_BYTES:
        raise ParameterError(f"file: {path} has more than {_MAX_POLICY_BYTES >> 20} MB")
    try:
        data = json.loads(content)
        policy = {
            str(text): {int(action): float(chance) for action, chance in chances.items()}
            for text, chances in data.items()
        }
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ParameterError(
            f"file: {path} is not a policy, a JSON object of probabilities by information state "
            f"and action: {error}"
        ) from None
    if not all(0 <= chance <= 1 for chances in policy.values() for chance in chances.values()):
        raise ParameterError(f"file: {path}: a probability is not between 0 and 1")
    return policy


def write_policy(policy: Any, path: str | Path) -> None:
    """Write a tabular policy of OpenSpiel (``open_spiel.python.policy.TabularPolicy``)."""
    table: dict[str, Mapping[str, float]] = {}
    for text, row in policy.state_lookup.items():
        chances = policy.action_probability_array[row]
        table[text] = {str(a): float(p) for a, p in enumerate(chances) if p > 0}
    Path(path).write_text(json.dumps(table) + "\n")


class MiaiBot(pyspiel.Bot):  # type: ignore[misc]  # it has no types
    """An agent of miai as a bot of OpenSpiel.

    OpenSpiel hands a bot the whole state. The agent is told its player's observations of it alone,
    as the referee of miai would.

    Args:
      agent: the agent, made for `game`.
      game: the game; its ``inner`` is the OpenSpiel game that is played.
      player: the player's number.
      seed: of the agent's games; each game takes the next one.
    """

    def __init__(self, agent: Agent, game: OpenSpielGame, player: int, *, seed: int = 0) -> None:
        super().__init__()
        self._agent, self._game, self._player, self._seed = agent, game, player, seed
        self._clock = Clock(TimeControl()).reading()
        self.restart()

    def restart(self) -> None:
        """Begin a new game."""
        self._agent.new_game(self._seed, player=self._player)
        self._seed += 1
        self._state = self._game.new_initial_state()
        self._followed = 0
        self._tell()

    def restart_at(self, state: Any) -> None:
        """Begin a game that has come to a state."""
        self.restart()
        self._follow(state)

    def step(self, state: Any) -> int:
        """Return the agent's action in a state where its player acts."""
        self._follow(state)
        return self._agent.act(self._clock).action

    def _follow(self, state: Any) -> None:
        """Tell the agent what happened since the last call."""
        history = state.full_history()
        for entry in history[self._followed :]:
            if entry.player != self._state.next_actor():  # has no choice where others have one
                continue
            chance = entry.player == pyspiel.PlayerId.CHANCE
            action = entry.action + self._game.chance_offset if chance else entry.action
            self._state.apply_action(int(action))
            self._tell()
        self._followed = len(history)

    def _tell(self) -> None:
        seen = self._state.observation(self._player)
        if seen is not None:
            self._agent.observe(seen)
