"""The framework's own components, registered through the same hook as anybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the agents, searches, evaluators, beliefs and formats that serve any game."""
    registry.add(
        "agent",
        "random",
        "miai.agent:RandomAgent",
        summary="Plays uniformly over its legal actions",
    )
    registry.add(
        "agent",
        "human",
        "miai.human:HumanAgent",
        summary="A person at the terminal; for `miai play`",
    )
    registry.add(
        "search",
        "mcts",
        "miai.search.mcts:Mcts",
        parameters="miai.search.mcts_parameters:MctsParameters",
        summary="Monte-Carlo tree search: UCT or PUCT, any number of players, chance, a solver",
    )
    registry.add(
        "search",
        "alpha-beta",
        "miai.search.alphabeta:AlphaBeta",
        parameters="miai.search.alphabeta:AlphaBetaParameters",
        summary="Alpha-beta for two players of constant sum: iterative deepening, chance",
    )
    registry.add(
        "evaluator",
        "random-rollout",
        "miai.search.evaluators:RandomRollout",
        parameters="miai.search.evaluators:RandomRolloutParameters",
        summary="Mean returns of uniformly random games",
    )
    registry.add(
        "evaluator",
        "zero",
        "miai.search.evaluators:ZeroEvaluator",
        summary="Everyone is worth the same, every action as likely",
    )
    registry.add(
        "belief",
        "enumerated",
        "miai.beliefs:enumerated_belief",
        parameters="miai.beliefs:EnumeratedBeliefParameters",
        summary="Every world a player holds possible, one by one; for small games",
    )
    registry.add(
        "record-format",
        "jsonl",
        "miai.record:JsonLines",
        summary="Game records as JSON lines; nothing is lost",
    )
    registry.add(
        "opening-reader",
        "moves",
        "miai.openings:MovesReader",
        summary="A line of moves in the game's notation an opening",
    )
