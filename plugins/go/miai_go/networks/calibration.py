"""Positions that a network meets when it plays against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.positions import Positions
from miai_go.encoders.protocol import Encoder
from miai_go.kernels.trail import begin_trail, extend_trail

if TYPE_CHECKING:
    from miai_go.networks.weights import Weights

_GAMES = 32
_TRIES = 20


def own_games(
    weights: Weights, encoder: Encoder, positions: int, *, seed: int
) -> NDArray[np.uint8]:
    """Return planes of positions of games in which moves are drawn from the network's policy.

    Without a policy head moves are drawn evenly. A game begins anew after as many moves as the
    board has points and half of that, or when no legal move was drawn, which happens rarely
    before its end.

    Args:
      positions: how many, rounded up to whole plies of the games played at once.

    Returns:
      uint8 of shape (positions, planes, size, size).
    """
    rng = np.random.default_rng(seed)
    size = encoder.size
    games = Positions.room(size, _GAMES)
    half_komi = np.int64(round(sum(weights.header.komi)))
    empty = games.words.copy()
    for row in range(_GAMES):
        begin_trail(games.words[row], games.trails[row], np.int64(1), half_komi)
    fresh = games.trails.copy()
    found: list[NDArray[np.uint8]] = []
    while len(found) * _GAMES < positions:
        planes = encoder.encode(games)
        found.append(planes.copy())
        chances = _chances(weights, encoder, planes)
        for row in range(_GAMES):
            over = games.plies()[row] >= size**2 * 3 // 2
            if over or not _play(games, row, chances[row], rng):
                games.words[row], games.trails[row] = empty[row], fresh[row]
    return np.concatenate(found)


def _chances(weights: Weights, encoder: Encoder, planes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the probabilities of the moves, (n, size * size + 1)."""
    import torch

    actions = weights.header.shape.actions
    if "policy" not in weights.header.outputs:
        return np.full((len(planes), actions), 1 / actions)
    scaled = torch.from_numpy(planes * encoder.scales[None, :, None, None])
    device = next(weights.network.parameters()).device
    with torch.inference_mode():
        policy = weights.network.eval()(scaled.to(device)).policy
        chances: NDArray[np.float64] = torch.softmax(policy.double(), 1).cpu().numpy()
    chances /= chances.sum(1, keepdims=True)
    return chances


def _play(
    games: Positions, row: int, chances: NDArray[np.float64], rng: np.random.Generator
) -> bool:
    """Play a drawn move in one game; return whether a legal one was drawn."""
    for _ in range(_TRIES):
        action = np.array([rng.choice(len(chances), p=chances)], np.int16)
        if extend_trail(games.words[row], games.trails[row], action, False) == 1:
            return True
    return False
