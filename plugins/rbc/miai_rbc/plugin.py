"""The plugin's entry point: names its components by import path and imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add Reconnaissance Blind Chess and what belongs to it."""
    registry.add(
        "game",
        "rbc",
        "miai_rbc.rules.game:RbcGame",
        parameters="miai_rbc.parameters:RbcParameters",
        summary="Reconnaissance Blind Chess: sense a 3x3 window, then move",
    )
    registry.add(
        "belief",
        "enumerated",
        "miai_rbc.belief.belief:make_belief",
        parameters="miai_rbc.parameters:BeliefParameters",
        summary="Every board that a player considers possible, in arrays; beyond a limit a sample",
        game="rbc",
    )
    _add_players(registry)
    _add_searches(registry)
    _add_openings(registry)


def _add_players(registry: Registry) -> None:
    registry.add(
        "agent",
        "attacker",
        "miai_rbc.agents.attacker:AttackerAgent",
        summary="Rushes at the king along a route chosen at the start",
        game="rbc",
    )
    registry.add(
        "agent",
        "rbc-seed",
        "miai_rbc.agents.belief_agents:SeedAgent",
        parameters="miai_rbc.parameters:SeedParameters",
        summary="Partition scan; plays the move with the best worst-case score on sampled boards",
        game="rbc",
    )
    registry.add(
        "agent",
        "rbc-strong",
        "miai_rbc.agents.belief_agents:StrongAgent",
        parameters="miai_rbc.parameters:StrongParameters",
        summary="Senses for its next move, on boards weighted by their value to the opponent",
        game="rbc",
    )
    registry.add(
        "agent",
        "rbc-minimax",
        "miai_rbc.search.minimax:RbcMinimax",
        parameters="miai_rbc.parameters:MinimaxAgentParameters",
        summary="Best guaranteed value over all boards of its belief, one or two moves deep",
        game="rbc",
    )
    registry.add(
        "agent",
        "rbc-random",
        "miai.agent:RandomAgent",
        summary="Senses and moves uniformly at random",
        game="rbc",
    )
    registry.add(
        "agent",
        "reconchess",
        "miai_rbc.reconchess.player:ReconchessAgent",
        parameters="miai_rbc.parameters:ReconchessParameters",
        summary="Any bot written for reconchess",
        game="rbc",
    )
    registry.add(
        "record-format",
        "reconchess",
        "miai_rbc.reconchess.reading:ReconchessRecords",
        summary="Game histories of reconchess, which rc-replay and rc-playback read",
        game="rbc",
    )
    registry.add(
        "renderer",
        "rbc",
        "miai_rbc.pictures.renderer:RbcRenderer",
        summary="Own pieces, the last sense, captures, and where the opponent was seen",
        game="rbc",
    )


def _add_searches(registry: Registry) -> None:
    registry.add(
        "belief-problem",
        "rbc",
        "miai_rbc.search.problem:RbcProblem",
        parameters="miai_rbc.parameters:MinimaxProblemParameters",
        summary="Beliefs of games of Reconnaissance Blind Chess, valued one or two moves deep",
    )
    registry.add(
        "belief-search",
        "rbc-minimax",
        "miai_rbc.search.minimax:minimax_search",
        parameters="miai_rbc.parameters:MinimaxSearchParameters",
        summary="Search over beliefs of boards in arrays, for the problem rbc only",
    )


def _add_openings(registry: Registry) -> None:
    registry.add(
        "opening-reader",
        "pgn",
        "miai_rbc.openings:PgnOpenings",
        parameters="miai_rbc.parameters:PgnParameters",
        summary="Openings from games of chess: main lines, or every variation",
        game="rbc",
    )
    registry.add(
        "evaluator",
        "engine",
        "miai_rbc.engines.kernel:EngineEvaluator",
        parameters="miai_rbc.parameters:EvaluatorParameters",
        summary="Value of the true board by the embedded engine; to balance openings",
        game="rbc",
    )
    for name, lines in (("epd", "EPD, named by their id"), ("fen", "FEN")):
        registry.add(
            "opening-reader",
            name,
            "miai_rbc.openings:EpdOpenings",
            summary=f"Positions to start from, a line each, as {lines}",
            game="rbc",
        )


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands ``miai rbc``."""
    from miai_rbc import commands

    app.add_typer(commands.app, name="rbc")
