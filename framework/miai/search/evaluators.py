"""Evaluators for any game, checks of their answers, and the advantage of the first player."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, model_validator

from miai.errors import HiddenInformationError, ParameterError, PluginError, UnsuitableGameError
from miai.game import Game, Player, State, sample_chance
from miai.parameters import Parameters, filled_parameters, parameter
from miai.plugins.kinds import EVALUATOR
from miai.search.protocol import Evaluator, InPlaceEvaluator, Search, Seedable, require_decision


def temperature_parameter() -> Any:
    """Return the field of a temperature, by which an action is drawn by its visits."""
    help_ = "Draw actions by visits ** (1 / temperature); 0: the most visited one"
    return parameter(0.0, ge=0, le=100, help=help_)


class TreeSearchParameters(Parameters):
    """Parameters of searches that evaluate the leaves of simulations."""

    simulations: int = parameter(
        1000, ge=0, unit="simulations", help="Simulations per move; 0: no limit, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Time limit per move beside simulations; not reproducible"
    )
    exploration: float = parameter(
        1.4, ge=0, unit="half the range of utilities", help="Weight of exploration"
    )
    evaluator: str = parameter("random-rollout", component="evaluator", help="Evaluator of leaves")
    evaluator_parameters: dict[str, Any] = parameter({}, help="Parameters of the evaluator")

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        if self.simulations == 0 and self.seconds is None:
            raise ValueError("simulations = 0 needs a budget in seconds")
        return self


def make_evaluator(name: str, game: Game, values: Mapping[str, Any], *, search: str) -> Evaluator:
    """Return the evaluator of that name that the game brings, or else the generic one.

    Raises `PluginError` if the name or a parameter is wrong.
    """
    from miai.plugins.loader import registry

    component = registry().get(EVALUATOR, name, game=game.info.name)
    where = f"{search}: evaluator_parameters of '{name}'"
    return component.build(game, values=values, where=where)


class ZeroEvaluator:
    """Values every state equally for all players, and every action as equally likely."""

    def __init__(self, game: Game, parameters: Parameters | None = None) -> None:
        players = game.info.num_players
        self._value = np.full(players, (game.info.utility_sum or 0.0) / players)

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return equal shares of the utility sum (0 without one), shape (states, players)."""
        return np.tile(self._value, (len(states), 1))

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return uniform probabilities."""
        return uniform_prior(states)


class RandomRolloutParameters(Parameters):
    """Parameters of `RandomRollout`."""

    rollouts: int = parameter(1, ge=1, le=1_000_000, help="Random games played from each state")
    max_plies: int | None = parameter(
        None, ge=1, unit="plies", help="Stop a rollout here and take State.truncated_returns"
    )


class RandomRollout:
    """Plays each state to its end by uniformly random actions, and takes the mean of the returns.

    Chance is sampled by its probabilities. A game may register a compiled evaluator of its own
    under the name ``random-rollout``.
    """

    def __init__(self, game: Game, parameters: RandomRolloutParameters | None = None) -> None:
        parameters = parameters or RandomRolloutParameters()
        self._rollouts = parameters.rollouts
        self._max_plies = parameters.max_plies or math.inf
        self._chance = game.info.max_chance_outcomes > 0
        self._rng = random.Random(0)

    def seed(self, seed: int) -> None:
        """Seed the rollouts."""
        self._rng.seed(seed)

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return mean returns, float64 of shape (len(states), num_players)."""
        return self.evaluate_in_place([state.clone() for state in states])

    def evaluate_in_place(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return the same, playing the last rollout of each state in the state itself."""
        return np.array([self._mean(state) for state in states], dtype=np.float64)

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return uniform probabilities."""
        return uniform_prior(states)

    def _mean(self, state: State) -> Sequence[float]:
        copies = [state.clone() for _ in range(self._rollouts - 1)]
        returns = [self._play(copy) for copy in (*copies, state)]
        if len(returns) == 1:
            return returns[0]
        return [sum(column) / len(returns) for column in zip(*returns, strict=True)]

    def _play(self, state: State) -> tuple[float, ...]:
        draw, chance, limit, plies = self._rng.random, self._chance, self._max_plies, 0
        while actions := state.legal_actions():
            if chance and state.current_player() == Player.CHANCE:
                state.apply_unchecked(sample_chance(state, self._rng))
                continue
            if plies >= limit:
                return state.truncated_returns()
            # Faster than `choice`; and the stream of `random` is the same in all versions of
            # Python.
            state.apply_unchecked(actions[int(draw() * len(actions))])
            plies += 1
        return state.returns()


def uniform_prior(states: Sequence[State]) -> list[NDArray[np.float64]]:
    """Return equal probabilities over the legal actions of each state."""
    counts = [len(state.legal_actions()) for state in states]
    return [np.full(count, 1.0 / count) for count in counts]


Evaluate: TypeAlias = Callable[[Sequence[State]], NDArray[np.float64]]


def evaluation_in_place(evaluator: Evaluator) -> Evaluate:
    """Return the evaluator's method for states that may be changed."""
    if isinstance(evaluator, InPlaceEvaluator):
        return evaluator.evaluate_in_place
    return evaluator.evaluate


def utilities(evaluate: Evaluate, states: Sequence[State]) -> list[list[float]]:
    """Return the utilities of the states, a list in player order for each.

    Raises `PluginError` if the answer has a wrong shape or is not finite.
    """
    shape = (len(states), states[0].game.info.num_players)
    values = evaluate(states)
    if values.shape != shape:
        raise PluginError(
            f"{_name(evaluate)} returned shape {values.shape} for {shape[0]} states of "
            f"{shape[1]} players; {shape} is expected"
        )
    rows: list[list[float]] = values.tolist()
    if not all(math.isfinite(value) for row in rows for value in row):
        raise PluginError(f"{_name(evaluate)} returned a value that is not finite: {rows}")
    return rows


def priors(evaluator: Evaluator, states: Sequence[State]) -> list[list[float]]:
    """Return the evaluator's priors over the legal actions of each state.

    Raises `PluginError` if a prior has a wrong length, is negative or not finite.
    """
    rows: list[list[float]] = [prior.tolist() for prior in evaluator.prior(states)]
    counts = [len(state.legal_actions()) for state in states]
    if [len(row) for row in rows] != counts:
        raise PluginError(
            f"{_name(evaluator.prior)} returned {[len(row) for row in rows]} probabilities for "
            f"states with {counts} legal actions"
        )
    if not all(math.isfinite(p) and p >= 0 for row in rows for p in row):
        raise PluginError(f"{_name(evaluator.prior)} returned an invalid probability: {rows}")
    return rows


def _name(method: Callable[..., Any]) -> str:
    return getattr(method, "__qualname__", repr(method))


Appraisal = Literal["evaluator", "search"]


class Appraiser:
    """Computes the advantage of the first player in a game for two.

    The component is an evaluator, or a search that is asked for the value of its root; `values` are
    its parameters, and `where` their path in a file, for messages. Raises `MiaiError` if it is
    unknown or unsuitable, or its parameters are wrong.
    """

    def __init__(
        self, game: Game, kind: Appraisal, name: str, values: Mapping[str, Any], *, where: str = ""
    ) -> None:
        from miai.plugins.loader import registry

        require_suitable_game(game, kind, name)
        component = registry().get(kind, name, game=game.info.name)
        instance = component.build(game, values=values, where=where)
        self._search: Search | None = instance if kind == "search" else None
        self._evaluator: Evaluator | None = instance if kind == "evaluator" else None

    def advantage(self, state: State, *, seed: int) -> float:
        """Return half the difference between the first and the second player's utilities.

        In a game with utilities 1 and -1 this is the first player's utility. The seed is that of
        all randomness; earlier calls have no influence.

        Raises `GameError` unless a player is to move, `PluginError` for malformed evaluations.
        """
        player = require_decision(state)
        if self._search is not None:
            self._search.new_game(seed)
            above = self._search.search(state).value - (state.game.info.utility_sum or 0.0) / 2
            return above if player == 0 else 0.0 - above
        assert self._evaluator is not None
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(seed)
        first, second = utilities(self._evaluator.evaluate, [state])[0]
        return (first - second) / 2

    def close(self) -> None:
        """Release what a search holds."""
        if self._search is not None:
            self._search.close()


def require_suitable_game(game: Game, kind: Appraisal, name: str) -> None:
    """Check that the component can compute a first player's advantage in the game.

    Raises `UnsuitableGameError` or `HiddenInformationError`.
    """
    info = game.info
    if info.num_players != 2:
        raise UnsuitableGameError(f"{info.title} has {info.num_players} players, not two")
    if kind == "search" and not info.perfect_information:
        raise HiddenInformationError(
            f"{info.title} hides information, which the search {name} cannot handle; name an "
            "evaluator, which values the true state"
        )
    if kind == "search" and info.utility_sum is None:
        raise UnsuitableGameError(
            f"the utilities of {info.title} have no constant sum, so the search {name} gives "
            "only one player's; name an evaluator"
        )


def refuse_seconds(filled: BaseModel, *, where: str) -> None:
    """Raise `ParameterError` for a parameter in seconds, which would not be reproducible."""
    for name, field, value in filled_parameters(filled):
        extra = field.json_schema_extra
        unit = extra.get("unit") if isinstance(extra, dict) else None
        if unit == "seconds" and value is not None:
            raise ParameterError(
                f"{where}.{name}: a budget in seconds is not reproducible; give one in "
                "simulations, nodes or plies"
            )
