"""Finding dead stones by a network: the component ``network`` of kind ``go.dead-stones``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.errors import MiaiError, WeightsError
from miai_go.errors import require_torch
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import Ensemble, load_oracle
from miai_go.nets.oracle import NetworkOracle, Oracle, shown_positions
from miai_go.nets.parameters import NetworkJudgeParameters
from miai_go.nets.weights import WeightsHeader
from miai_go.rules.board import BLACK
from miai_go.rules.dead_stones import RefereeError, dead_chains
from miai_go.rules.game import GoGame
from miai_go.rules.state import GoState
from miai_go.shipped import find_weights


class NetworkJudge:
    """The judge ``network``: a chain is dead when a network gives its points to the opponent.

    The network, loaded for the first answer, sees the eight symmetric copies of the position, with
    the last moves and the player to move.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: the weights are missing, for another size, or have no ownership head.
    """

    def __init__(self, game: GoGame, parameters: NetworkJudgeParameters) -> None:
        require_torch("the referee 'network'")
        self._parameters = parameters
        self._path = find_weights(parameters.weights, size=game.size)
        self._oracle: Oracle | None = None
        header = WeightsHeader.read(self._path)
        self._size = header.board_size(game.size, where=self._path)
        if "ownership" not in header.outputs:
            raise WeightsError(
                f"{self._path}: these weights have no ownership head, which finds dead stones; "
                "choose others"
            )

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the chains that the network gives to the opponent.

        Raises `RefereeError` if the network cannot answer.
        """
        try:
            if self._oracle is None:
                self._oracle = load_oracle(self._path, size=self._size, precision="fp32")
            black = expected_owners(self._oracle, state)
        except MiaiError as error:
            raise RefereeError(f"the network for dead stones failed: {error}") from error
        assert black is not None
        return dead_chains(state.board, black, self._parameters.threshold)


def expected_owners(oracle: Oracle, state: GoState) -> NDArray[np.floating] | None:
    """Return the share with which Black owns each point minus that of White, (points,).

    A network of this process is asked for all symmetric copies. Returns None without a head for
    owners. Raises `InferenceError` if the network cannot answer.
    """
    asked = Ensemble(oracle) if isinstance(oracle, NetworkOracle) else oracle
    positions = shown_positions(oracle, positions_of([state]))
    owners = asked.infer(asked.encoder.encode(positions)).ownership
    if owners is None:
        return None
    black: NDArray[np.floating] = owners[0].reshape(-1) * (1 if state.to_move == BLACK else -1)
    return black
