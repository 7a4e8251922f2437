"""Contests between weights of one run, for its gate and its ladder."""

from __future__ import annotations

from miai_go.inference.protocol import Oracle
from miai_go.neural_search.settings import TreeSettings
from miai_go.neural_search.valuers import NetworkValuer
from miai_go.selfplay.matches import MatchPlayer, MatchResult, MatchRules, play_match
from miai_go.training.zero_config import ZeroConfig


def contest(
    first: Oracle,
    second: Oracle,
    config: ZeroConfig,
    *,
    games: int,
    simulations: int,
    seed: int,
) -> MatchResult:
    """Return how two networks do against each other by PUCT, in the game of a config.

    Args:
      simulations: of a move; 0 plays the policy alone.
      seed: of the openings.

    Raises:
      InferenceError: a network cannot answer.
    """
    tree = TreeSettings(c_puct=config.search.c_puct, fpu=config.search.fpu)
    players = [
        MatchPlayer(valuer=NetworkValuer(oracle, oracle), tree=tree, simulations=simulations)
        for oracle in (first, second)
    ]
    rules = MatchRules(
        size=config.game.size,
        half_komi=round(2 * config.game.komi),
        max_moves=config.game.max_moves,
        games=games,
        opening=config.ladder.opening,
        seed=seed,
    )
    return play_match(players[0], players[1], rules)
