"""The agent `solved`: plays the average policy in a file that `miai solve` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.equilibria.solver import SolutionHeader, averaged
from miai.equilibria.tree import START, digest_after
from miai.errors import WeightsError
from miai.game import Game
from miai.parameters import Parameters, parameter


class SolvedParameters(Parameters):
    """Parameters of `Solved`."""

    file: str = parameter(
        help="File that `miai solve` wrote", min_length=1, max_length=4096, opens="file"
    )


class Solved(Agent):
    """Draws from the policy of a solution. Raises `WeightsError` if it is for another game."""

    policy_is_fixed = True

    def __init__(self, game: Game, parameters: SolvedParameters) -> None:
        super().__init__(game)
        self._path = Path(parameters.file)
        header, tensors = SolutionHeader.read_solution(self._path, game)
        self.version = f"{header.algorithm} {header.iterations}"
        self._starts, self._actions = tensors["starts"], tensors["actions"]
        self._policy = averaged(tensors["tables"][1], self._starts)
        self._numbers = {key.tobytes(): number for number, key in enumerate(tensors["keys"])}

    def policy(self) -> Mapping[int, float]:
        """Return the probabilities in the file."""
        number = self._numbers.get(reduce(digest_after, self.view.observations, START))
        if number is None:
            raise WeightsError(
                f"{self._path}: has no policy for these observations of player "
                f"{self.view.player}; the game has changed, so solve it again"
            )
        slots = slice(self._starts[number], self._starts[number + 1])
        pairs = zip(self._actions[slots].tolist(), self._policy[slots].tolist(), strict=True)
        return {action: probability for action, probability in pairs if probability > 0}

    def act(self, clock: ClockReading) -> Decision:
        """Return an action drawn by the policy."""
        policy = self.policy()
        return Decision(self.rng.choices(list(policy), list(policy.values()))[0])
