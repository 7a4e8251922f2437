"""The searches ``alphazero`` and ``alphago`` of Go."""

from __future__ import annotations

from pathlib import Path

from miai_go.errors import WeightsError
from miai_go.game import GoGame
from miai_go.inference.protocol import Oracle
from miai_go.neural_search.parameters import (
    AlphaGoParameters,
    AlphaZeroParameters,
    NetworkParameters,
)
from miai_go.neural_search.search import ForestSearch
from miai_go.neural_search.settings import TreeSettings
from miai_go.neural_search.valuers import NetworkValuer
from miai_go.patterns.policy import PatternPolicy
from miai_go.shipped import find_weights

__all__ = ["AlphaGo", "AlphaZero", "open_oracle"]


def open_oracle(weights: Path, parameters: NetworkParameters, *, size: int) -> Oracle:
    """Return a network at work, in this process or on this machine's server.

    Raises:
      MissingExtraError: a library is not installed.
      WeightsError: the file is no weights for boards of that size.
      InferenceError: what runs it, or the server, cannot be started.
    """
    oracle = _opened(weights, parameters)
    if oracle.encoder.size != size:
        trained = f"{oracle.encoder.size}x{oracle.encoder.size}"
        oracle.close()
        raise WeightsError(
            f"{weights}: weights for {trained}, not for {size}x{size}; choose weights trained on "
            f"{size}x{size}"
        )
    return oracle


def _opened(weights: Path, parameters: NetworkParameters) -> Oracle:
    fixed = parameters.fixed_batch or None
    if parameters.server:
        from miai_go.inference.client import RemoteOracle

        return RemoteOracle(
            weights,
            backend=parameters.backend,
            precision=parameters.precision,
            symmetry=parameters.symmetry,
            fixed_batch=fixed,
            device=parameters.device,
        )
    from miai_go.inference.loading import load_oracle

    return load_oracle(
        weights,
        backend=parameters.backend,
        precision=parameters.precision,
        threads=parameters.threads,
        symmetry=parameters.symmetry,
        fixed_batch=fixed,
        device=parameters.device,
    )


class AlphaZero(ForestSearch):
    """Tree search with one network for moves and values (Silver et al. 2017).

    PUCT, or sequential halving with Gumbel noise at the root (Danihelka et al. 2022). No noise
    otherwise: that belongs to self-play.
    """

    def __init__(self, game: GoGame, parameters: AlphaZeroParameters | None = None) -> None:
        own = parameters or AlphaZeroParameters()

        def valuer() -> NetworkValuer:
            path = find_weights(own.weights, default=f"zero-{game.size}x{game.size}")
            oracle = open_oracle(path, own, size=game.size)
            return NetworkValuer(oracle, oracle)

        settings = TreeSettings(
            c_puct=own.c_puct,
            fpu=own.fpu,
            root_fpu=own.fpu,
            virtual_loss=own.virtual_loss,
            temperature=own.temperature,
            gumbel=own.considered if own.search == "gumbel" else 0,
        )
        super().__init__(game, valuer=valuer, settings=settings, parameters=own)


class AlphaGo(ForestSearch):
    """Tree search with a policy network, a value network and rollouts (Silver et al. 2016).

    A leaf is worth (1 - mix) * value + mix * result of the rollouts. Where mix is 0 nothing is
    rolled out, where it is 1 no value network is asked.
    """

    def __init__(self, game: GoGame, parameters: AlphaGoParameters | None = None) -> None:
        own = parameters or AlphaGoParameters()
        board = f"{game.size}x{game.size}"

        def valuer() -> NetworkValuer:
            path = find_weights(own.policy, default=f"policy-{board}")
            policy = open_oracle(path, own, size=game.size)
            if own.mix == 1:
                return NetworkValuer(policy, None)
            value_path = find_weights(own.value, default=f"value-{board}")
            if value_path == path:
                return NetworkValuer(policy, policy)
            return NetworkValuer(policy, open_oracle(value_path, own, size=game.size))

        settings = TreeSettings(
            c_puct=own.c_puct,
            fpu=own.fpu,
            root_fpu=own.fpu,
            virtual_loss=own.virtual_loss,
            temperature=own.temperature,
            depth=own.depth,
            rollouts=own.rollouts if own.mix > 0 else 0,
            mix=own.mix,
            rollout_limit=own.rollout_limit,
        )
        super().__init__(
            game,
            valuer=valuer,
            settings=settings,
            parameters=own,
            rollout_policy=lambda: _rollout_policy(own.rollout, game.size),
        )


def _rollout_policy(named: str, size: int) -> PatternPolicy | None:
    """Return who plays rollouts; None for light playouts. Raises `WeightsError`."""
    if named == "light":
        return None
    return PatternPolicy.load(find_weights(named, default=""), size=size)
