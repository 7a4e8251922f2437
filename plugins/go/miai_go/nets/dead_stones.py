"""Finding dead stones by a network: the component ``network`` of kind ``go.dead-stones``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.errors import MiaiError, WeightsError
from miai_go.errors import require_torch
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import Ensemble, load_oracle
from miai_go.nets.network import WeightsHeader
from miai_go.nets.network_parameters import NetworkJudgeParameters
from miai_go.nets.oracle import NetworkOracle, Oracle, shown_positions
from miai_go.rules.board import BLACK
from miai_go.rules.dead_stones import RefereeError, dead_chains, playout_owners
from miai_go.rules.game import GoGame, GoState
from miai_go.shipped import find_weights


class NetworkJudge:
    """The judge ``network``: a chain is dead when the opponent is expected to own its points.

    See `dead_by_network`. The network is loaded for the first answer.

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
        """Return the points of the chains that the opponent is expected to own.

        Raises `RefereeError` if the network cannot answer.
        """
        try:
            dead = dead_by_network(self._loaded(), state, self._parameters)
        except MiaiError as error:
            raise RefereeError(f"the network for dead stones failed: {error}") from error
        assert dead is not None
        return dead

    def owners(self, state: GoState) -> NDArray[np.floating]:
        """Return what `expected_owners` does; raise `MiaiError` if the network cannot answer."""
        owners = expected_owners(self._loaded(), state)
        assert owners is not None
        return owners

    def _loaded(self) -> Oracle:
        if self._oracle is None:
            self._oracle = load_oracle(self._path, size=self._size, precision="fp32")
        return self._oracle


def dead_by_network(
    oracle: Oracle, state: GoState, parameters: NetworkJudgeParameters | None = None
) -> tuple[int, ...] | None:
    """Return the points of the chains that the opponent is expected to own, ascending.

    What a network expects (`expected_owners`) and the owners of playouts count equally: a network
    knows tactics and seki, but not what becomes of stones that its games left on the board;
    playouts capture them. Returns None without a head for owners. Raises `InferenceError` if the
    network cannot answer.
    """
    parameters = parameters or NetworkJudgeParameters()
    owners = expected_owners(oracle, state)
    if owners is not None and parameters.playouts:
        owners = (owners + playout_owners(state.board, parameters.playouts)) / 2
    return None if owners is None else dead_chains(state.board, owners, parameters.threshold)


def expected_owners(oracle: Oracle, state: GoState) -> NDArray[np.floating] | None:
    """Return the share with which Black owns each point minus that of White, (points,).

    A network is asked for all symmetric copies. Returns None without a head for
    owners. Raises `InferenceError` if the network cannot answer.
    """
    asked = Ensemble(oracle) if isinstance(oracle, NetworkOracle) else oracle
    positions = shown_positions(oracle, positions_of([state]))
    owners = asked.infer(asked.encoder.encode(positions)).ownership
    if owners is None:
        return None
    black: NDArray[np.floating] = owners[0].ravel() * (1 if state.to_move == BLACK else -1)
    return black
