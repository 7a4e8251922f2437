"""OpenSpiel's bots and policies as agents of miai, and agents of miai as OpenSpiel's bots."""

from __future__ import annotations

import ctypes
import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyspiel

from miai import Agent, ClockReading, Decision, Observation, Parameters, parameter
from miai.clock import Clock, TimeControl
from miai.errors import ParameterError, UnsuitableGameError, near_matches
from miai.files import reading
from miai.game import Player
from miai.seeds import derive_seed
from miai_openspiel.games import OpenSpielGame, OpenSpielState
from miai_openspiel.loading import without_its_complaints

_MAX_POLICY_BYTES: Final = 1 << 28


def _spiel(game: Any, agent: str) -> OpenSpielGame:
    if not isinstance(game, OpenSpielGame):
        raise UnsuitableGameError(
            f"{agent} plays games of OpenSpiel, not {game.info.title}; choose a game openspiel:NAME"
        )
    return game


class SpielBot(Agent):
    """A bot of OpenSpiel (``pyspiel.Bot``), for games of perfect information.

    It is handed the whole state, as OpenSpiel hands it to bots. Subclasses make the bot.

    Raises:
      UnsuitableGameError: the game is not one of OpenSpiel's, or hides information.
    """

    name = "a bot"
    """What it is called in messages."""

    def __init__(self, game: Any, parameters: Parameters | None = None) -> None:
        super().__init__(_spiel(game, self.name), parameters)
        if not game.info.perfect_information:
            raise UnsuitableGameError(
                f"{game.info.title} hides information, which {self.name} would see; use ismcts"
            )
        self._bot: Any = None

    @abstractmethod
    def make_bot(self, game: Any, player: int, seed: int) -> Any:
        """Return a new bot.

        Args:
          game: the ``pyspiel.Game``.
          player: the bot's player.
          seed: from 0 to 2**31 - 1.
        """

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with a new bot."""
        super().new_game(seed, player=player, log=log)
        number = derive_seed(seed, "openspiel") % (1 << 31)
        self._bot = self.make_bot(self.game.inner, player, number)  # type: ignore[attr-defined]  # an OpenSpielGame

    def observe(self, observation: Observation) -> None:
        """Tell the bot what others do, as ``open_spiel.python.algorithms.evaluate_bots`` does."""
        actor, action = observation.actor, observation.action
        in_turn = actor is not None and action is not None and actor != Player.SIMULTANEOUS
        if in_turn and actor != self.view.player:
            state = self.view.state
            assert isinstance(state, OpenSpielState)
            if actor == Player.CHANCE:
                actor, action = pyspiel.PlayerId.CHANCE, action - state.game.chance_offset
            self._bot.inform_action(state.inner, actor, action)
        super().observe(observation)

    def act(self, clock: ClockReading) -> Decision:
        """Return the bot's action, whatever the clock."""
        state = self.view.state
        assert isinstance(state, OpenSpielState)
        return Decision(int(self._bot.step(state.inner)))


class NamedBotParameters(Parameters):
    """Parameters of `NamedBot`."""

    bot: str = parameter(
        "uniform_random",
        max_length=100,
        help="A registered bot of OpenSpiel; in repeated rock, paper, scissors also one of "
        "pyspiel.roshambo_bot_names()",
    )


class NamedBot(SpielBot):
    """A bot that OpenSpiel has by name.

    Raises:
      ParameterError: OpenSpiel has no such bot for the game, or does not load it.
    """

    name = "openspiel-bot"

    def __init__(self, game: Any, parameters: NamedBotParameters | None = None) -> None:
        parameters = parameters or NamedBotParameters()
        super().__init__(game, parameters)
        self._wanted = parameters.bot
        throws = _throws(game.inner)
        known = [*pyspiel.bots_that_can_play_game(game.inner)]
        known += pyspiel.roshambo_bot_names() if throws else []
        if self._wanted not in known:
            raise ParameterError(
                f"bot: OpenSpiel has no bot '{self._wanted}' for {game.info.title}. "
                f"{near_matches(self._wanted, known)}"
            )
        self._throws = throws if self._wanted in pyspiel.roshambo_bot_names() else 0
        try:
            with without_its_complaints():
                self.make_bot(game.inner, 0, 0)
        except pyspiel.SpielError as error:
            reason = " ".join(str(error).split())[:300]
            raise ParameterError(
                f"bot: OpenSpiel does not load '{self._wanted}': {reason}"
            ) from None

    def make_bot(self, game: Any, player: int, seed: int) -> Any:
        """Return a new bot of the name."""
        if self._throws:
            return pyspiel.make_roshambo_bot(player, self._wanted, self._throws)
        return pyspiel.load_bot(self._wanted, game, player, {"seed": seed})

    def act(self, clock: ClockReading) -> Decision:
        """Return the bot's action; those of rock, paper, scissors draw from the C library."""
        if self._throws:
            ctypes.CDLL(None).srandom(self.rng.getrandbits(31))
        return super().act(clock)


def _throws(game: Any) -> int:
    """Return the number of rounds of repeated rock, paper, scissors; 0 for other games."""
    parameters = game.get_parameters()
    stage = parameters.get("stage_game")
    repeated = isinstance(stage, Mapping) and stage.get("name") == "matrix_rps"
    return int(parameters["num_repetitions"]) if repeated else 0


class SpielMctsParameters(Parameters):
    """Parameters of `SpielMcts`."""

    simulations: int = parameter(1000, ge=1, le=10**9, help="Simulations per move")
    uct_c: float = parameter(2.0, ge=0, le=1000, help="Weight of exploration")
    rollouts: int = parameter(1, ge=1, le=10_000, help="Random games that value a leaf")
    memory_mb: int = parameter(1000, ge=1, le=1 << 20, unit="MB", help="Memory of the tree")
    solve: bool = parameter(True, help="Prove wins and losses in the tree")


class SpielMcts(SpielBot):
    """OpenSpiel's Monte-Carlo tree search, for games of perfect information played in turns."""

    name = "openspiel-mcts"

    def __init__(self, game: Any, parameters: SpielMctsParameters | None = None) -> None:
        parameters = parameters or SpielMctsParameters()
        super().__init__(game, parameters)
        if game.info.simultaneous:
            raise UnsuitableGameError(
                f"in {game.info.title} players act at once, which openspiel-mcts cannot search; "
                "use mcts"
            )
        self._parameters = parameters

    def make_bot(self, game: Any, player: int, seed: int) -> Any:
        """Return a search with a new tree."""
        parameters = self._parameters
        return pyspiel.MCTSBot(
            game,
            pyspiel.RandomRolloutEvaluator(parameters.rollouts, seed),
            parameters.uct_c,
            parameters.simulations,
            parameters.memory_mb,
            parameters.solve,
            seed,
            False,  # prints nothing
        )


class SpielPolicyParameters(Parameters):
    """Parameters of `SpielPolicy`."""

    file: str = parameter("", max_length=4096, help="JSON file of the policy", opens="file")


class SpielPolicy(Agent):
    """Plays a policy that was computed in OpenSpiel, such as one of counterfactual regret.

    The file is a JSON object: the probability of each action, by OpenSpiel's text of the
    information state, or of the observation where it has none. `write_policy` writes it. A policy
    of a simultaneous game may be one of its turn-based form (``pyspiel.convert_to_turn_based``),
    as those of counterfactual regret are. In states that the policy does not contain, all actions
    are equally likely.
    """

    policy_is_fixed = True

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
        policy = self.policy()
        action = self.rng.choices(list(policy), list(policy.values()))[0]
        return Decision(action, statistics={"known": self._chances().get(action, 0.0) > 0})

    def policy(self) -> Mapping[int, float]:
        """Return the file's probabilities of the legal actions; equal ones where it has none."""
        legal, chances = self.view.legal_actions, self._chances()
        total = sum(chances.get(action, 0.0) for action in legal)
        if total <= 0:
            return dict.fromkeys(legal, 1 / len(legal))
        return {action: chances.get(action, 0.0) / total for action in legal}

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
