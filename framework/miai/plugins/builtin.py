"""The framework's own components, registered through the same hook as any plugin's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_AGREEMENT = "miai.playing.agreement"
_SEARCH = "miai.search"
_WORLDS = "miai.search.worlds"
_BELIEF_AGENT = "miai.beliefs.agent"
_BELIEF_SEARCHES = "miai.beliefs.search"
_BOUNDS = "miai.beliefs.bounds"
_RETENTION = "miai.beliefs.retention"

_COMPONENTS = (
    # kind, name, module, factory and parameter model of the module, summary
    ("agent", "random", "miai.agent", "RandomAgent", "", "Plays uniformly over its legal actions"),
    (
        *("agent", "human", "miai.cli.people", "HumanAgent", ""),
        "A person at the terminal; for `miai play`",
    ),
    (
        *("agent", "ismcts", _WORLDS, "Ismcts", "IsmctsParameters"),
        "Information-set MCTS, single- or multi-observer, over worlds of its belief",
    ),
    (
        *("agent", "pimc", _WORLDS, "Pimc", "PimcParameters"),
        "MCTS in several worlds of its belief, each with perfect information",
    ),
    (
        *("agent", "belief-minimax", _BELIEF_AGENT, "BeliefMinimax", "BeliefMinimaxParameters"),
        "Best guaranteed value over its belief, against an opponent that sees everything",
    ),
    (
        *("search", "mcts", f"{_SEARCH}.mcts", "Mcts", "MctsParameters"),
        "Monte-Carlo tree search: UCT or PUCT, any number of players, chance, a solver",
    ),
    (
        *("search", "alpha-beta", f"{_SEARCH}.alphabeta", "AlphaBeta", "AlphaBetaParameters"),
        "Alpha-beta for two players of constant sum: iterative deepening, chance",
    ),
    (
        *("evaluator", "random-rollout", f"{_SEARCH}.evaluators"),
        *("RandomRollout", "RandomRolloutParameters", "Mean returns of uniformly random games"),
    ),
    (
        *("evaluator", "zero", f"{_SEARCH}.evaluators", "ZeroEvaluator", ""),
        "Equal values for all players, uniform priors",
    ),
    (
        *("belief", "enumerated", _WORLDS, "enumerated_belief", "EnumeratedBeliefParameters"),
        "Every world that a player considers possible, enumerated; for small games",
    ),
    (
        *("record-format", "jsonl", "miai.record", "JsonLines", ""),
        "Game records as JSON lines, lossless",
    ),
    (
        *("opening-reader", "moves", "miai.playing.openings", "MovesReader", ""),
        "One opening per line, as moves in the game's notation",
    ),
    (
        *("adjudicator", "resign-agreement", _AGREEMENT),
        *("ResignAgreement", "ResignAgreementParameters"),
        "Loss for the player whom both players consider lost for several moves",
    ),
    (
        *("adjudicator", "draw-agreement", _AGREEMENT, "DrawAgreement", "DrawAgreementParameters"),
        "Draw when both players consider the game even for several moves",
    ),
    (
        *("adjudicator", "solved", f"{_SEARCH}.solved", "SolvedAdjudicator", "SolvedParameters"),
        "Result that a search to the end of the game proves within a budget",
    ),
    (
        *("belief-search", "recursive", _BELIEF_SEARCHES, "recursive", "BeliefSearchParameters"),
        "Alpha-beta over beliefs in plain Python, for any problem and any bounds",
    ),
    (
        *("belief-search", "compiled", _BELIEF_SEARCHES, "compiled", "BeliefSearchParameters"),
        "Compiled alpha-beta over beliefs, for enumerable problems; needs miai[sketches]",
    ),
    ("bounds", "none", _BOUNDS, "none", "", "Records nothing"),
    (
        *("bounds", "table", _BOUNDS, "table", "BoundsParameters"),
        "A table of beliefs, which recognises equal ones",
    ),
    (
        *("bounds", "singles", _BOUNDS, "singles", "BoundsParameters"),
        "A table; each state of a belief is tried alone first",
    ),
    (
        *("bounds", "exact", _BOUNDS, "exact", "BoundsParameters"),
        "Every subset and superset, by antichains",
    ),
    (
        *("bounds", "cores", _BOUNDS, "cores", "CoresParameters"),
        "Antichains of failing cores and winning closures; singles",
    ),
    (
        *("bounds", "dominance", _BOUNDS, "dominance", "SketchParameters"),
        "Bottom-k sketches, one-sided, then tested exactly",
    ),
    (
        *("bounds", "approx-dominance", _BOUNDS, "approx_dominance", "SketchParameters"),
        "Bottom-k sketches alone: some bounds are false",
    ),
    (
        *("bounds", "minhash", _BOUNDS, "minhash", "MinHashParameters"),
        "Estimated resemblance, then tested exactly",
    ),
    (
        *("bounds", "approx-minhash", _BOUNDS, "approx_minhash", "MinHashParameters"),
        "Estimated resemblance alone: some bounds are false",
    ),
    (
        *("bounds", "reference-minhash", _BOUNDS, "reference_minhash", "ReferenceParameters"),
        "As minhash, with the sketches of datasketch; slow, needs miai[reference]",
    ),
    ("retention", "none", _RETENTION, "KeepFirst", "", "Keeps the first entries"),
    (
        "retention",
        "lru",
        _RETENTION,
        "LeastRecentlyUsed",
        "",
        "Forgets the least recently used entry",
    ),
    (
        *("retention", "space-saving", _RETENTION, "SpaceSaving", ""),
        "Forgets the least used entry, by Space-Saving counters",
    ),
    (
        *("retention", "count-sketch", _RETENTION, "MostFrequent", "CountSketchParameters"),
        "Forgets the entry that a Count-Sketch estimates as the least frequent",
    ),
)


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the components that serve any game."""
    for kind, name, module, factory, model, summary in _COMPONENTS:
        parameters = f"{module}:{model}" if model else None
        registry.add(kind, name, f"{module}:{factory}", parameters=parameters, summary=summary)
