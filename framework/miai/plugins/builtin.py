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
    worlds = "miai.search.worlds.agents"
    _add(
        registry,
        "agent",
        "ismcts",
        f"{worlds}:Ismcts",
        f"{worlds}:IsmctsParameters",
        "Information-set MCTS, single- or multi-observer, over worlds of its belief",
    )
    _add(
        registry,
        "agent",
        "pimc",
        f"{worlds}:Pimc",
        f"{worlds}:PimcParameters",
        "MCTS in each of some worlds of its belief, as if all were seen",
    )
    _add(
        registry,
        "agent",
        "belief-minimax",
        "miai.belief_search.agent:BeliefMinimax",
        "miai.belief_search.agent:BeliefMinimaxParameters",
        "The best worst case over its belief, against an opponent that sees everything",
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
    _add_bounds(registry)


def _add_bounds(registry: Registry) -> None:
    bounds = "miai.belief_search.bounds.components"
    for name, parameters, summary in (
        ("none", "", "Nothing is remembered"),
        ("table", "BoundsParameters", "Equal beliefs are known again"),
        ("singles", "BoundsParameters", "A table; each state of a belief is tried alone first"),
        ("exact", "BoundsParameters", "Every subset and superset, by antichains"),
        ("cores", "BoundsParameters", "Antichains of failing cores and winning closures; singles"),
        ("dominance", "SketchParameters", "Bottom-k sketches, one-sided, then tested exactly"),
        ("approx-dominance", "SketchParameters", "Bottom-k sketches alone: some bounds are false"),
        ("minhash", "MinHashParameters", "Estimated resemblance, then tested exactly"),
        ("approx-minhash", "MinHashParameters", "Resemblance alone: some bounds are false"),
    ):
        model = parameters and f"{bounds}:{parameters}"
        _add(registry, "bounds", name, _path(bounds, name), model, summary)
    retention = "miai.belief_search.retention.components"
    for name, parameters, summary in (
        ("none", "", "Keeps what came first"),
        ("lru", "", "Forgets what was not used for longest"),
        ("space-saving", "", "Forgets what was used least, by counters that are inherited"),
        ("count-sketch", "CountSketchParameters", "Forgets what a Count-Sketch finds rarest"),
    ):
        model = parameters and f"{retention}:{parameters}"
        _add(registry, "retention", name, _path(retention, name), model, summary)


def _path(module: str, name: str) -> str:
    return f"{module}:{name.replace('-', '_')}"


def _add(
    registry: Registry, kind: str, name: str, factory: str, parameters: str, summary: str
) -> None:
    registry.add(kind, name, factory, parameters=parameters or None, summary=summary)
