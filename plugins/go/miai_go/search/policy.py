"""The search ``policy`` of Go: a policy network's moves, without a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.game import State
from miai.search.protocol import SearchResult
from miai_go.nets.encoder import positions_of
from miai_go.nets.oracle import Oracle
from miai_go.rules.chains import fills_eye
from miai_go.rules.game import GoGame
from miai_go.rules.playouts import load_rules
from miai_go.rules.state import GoState
from miai_go.search.ending import go_state, root_mask, settled
from miai_go.search.neural import open_oracle
from miai_go.search.parameters import PolicyParameters
from miai_go.shipped import find_weights


class PolicyPlayer:
    """Plays a policy network's most likely move, or draws a move by its probabilities.

    Moves that fill an own eye are left out, and a pass that would end and lose the game.

    Attributes:
      game, parameters: what it was built from.
    """

    def __init__(self, game: GoGame, parameters: PolicyParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or PolicyParameters()
        self._oracle: Oracle | None = None
        self._rng = np.random.default_rng(0)

    def new_game(self, seed: int) -> None:
        """Seed the randomness; load the network and let it make a first answer.

        Raises:
          MiaiError: the weights are not available.
        """
        load_rules()
        self._rng = np.random.default_rng(seed)
        self._ask(self.game.new_initial_state())

    def advance(self, action: int) -> None:
        """Nothing is kept between moves."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the policy's move, with the network's value where it has one.

        Args:
          state: a state of Go in which a player is to move; not changed.
          seconds: ignored: a move takes one answer of the network.

        Raises:
          GameError: the state is of another game, or the game is over.
          InferenceError: the network cannot answer.
        """
        position = go_state(state, self.game)
        done = settled(position, pass_when_winning=self.parameters.pass_when_winning)
        if done is not None:
            return done
        logits, value = self._ask(position)
        probabilities = _softmax(np.where(_sensible(position), logits, -np.inf))
        action = self._draw(probabilities)
        resign = self.parameters.resign_below
        order = np.argsort(-probabilities, kind="stable")[:10].tolist()
        return SearchResult(
            action=action,
            value=value or 0.0,
            pv=(action,),
            resign=resign is not None and value is not None and value < resign,
            statistics={"priors": [[a, round(float(probabilities[a]), 4)] for a in order]},
        )

    @property
    def oracle(self) -> Oracle | None:
        """The network; None before it is loaded."""
        return self._oracle

    def close(self) -> None:
        """Release the network."""
        if self._oracle is not None:
            self._oracle.close()

    def _ask(self, state: GoState) -> tuple[NDArray[np.float64], float | None]:
        """Return the logits (size * size + 1,) and the value for the player to move."""
        oracle = self._oracle
        if oracle is None:
            size = self.game.size
            path = find_weights(self.parameters.weights, default=f"policy-{size}x{size}")
            oracle = self._oracle = open_oracle(path, self.parameters, size=size)
        answers = oracle.infer(oracle.encoder.encode(positions_of([state])))
        value = None if answers.value is None else float(answers.value[0])
        if answers.policy is None:
            from miai_go.errors import WeightsError

            raise WeightsError("policy: these weights have no policy head; name others")
        return answers.policy[0].astype(np.float64), value

    def _draw(self, probabilities: NDArray[np.float64]) -> int:
        if self.parameters.temperature == 0:
            return int(probabilities.argmax())
        tempered = _softmax(np.log(np.maximum(probabilities, 1e-300)) / self.parameters.temperature)
        tempered[probabilities == 0] = 0
        return int(self._rng.choice(len(tempered), p=tempered / tempered.sum()))


def _sensible(state: GoState) -> NDArray[np.bool_]:
    """Return the moves that may be played, (size * size + 1,), pass last."""
    mask = root_mask(state, np.ones(state.game.pass_action + 1, np.bool_))
    stones = state.board.stones().reshape(-1).tolist()
    for point in np.flatnonzero(mask[:-1]).tolist():
        if fills_eye(stones, point, state.to_move + 1):
            mask[point] = False
    if not mask.any():
        mask[-1] = True
    return mask


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp(logits - logits.max())
    total: float = weights.sum()
    return weights / total
