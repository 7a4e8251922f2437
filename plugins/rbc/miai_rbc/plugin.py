"""The plugin's entry point: names its components by import path and imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from miai.game import Game
    from miai.parameters import Parameters
    from miai.playing.opponents import Opponents
    from miai.plugins.registry import Registry

_AGENTS = "miai_rbc.agents.belief_agents"
_OPENINGS = "miai_rbc.chess_files"

_COMPONENTS = (
    # kind, name, factory, parameter model, summary
    (
        *("game", "rbc", "miai_rbc.rules.game:RbcGame", "RbcParameters"),
        "Reconnaissance Blind Chess: sense a 3x3 window, then move",
    ),
    (
        *("belief", "enumerated", "miai_rbc.belief.belief:make_belief", "BeliefParameters"),
        "Every board that a player considers possible, in arrays; beyond a limit a sample",
    ),
    (
        *("agent", "attacker", "miai_rbc.agents.attacker:AttackerAgent", ""),
        "Rushes at the king along a route chosen at the start",
    ),
    (
        *("agent", "rbc-seed", f"{_AGENTS}:SeedAgent", "SeedParameters"),
        "Partition scan; plays the move with the best worst-case score on sampled boards",
    ),
    (
        *("agent", "rbc-strong", f"{_AGENTS}:StrongAgent", "StrongParameters"),
        "Senses for its next move, on boards weighted by their value to the opponent",
    ),
    (
        *("agent", "rbc-minimax", "miai_rbc.search.agent:RbcMinimax", "MinimaxAgentParameters"),
        "Best guaranteed value over all boards of its belief, up to three moves deep",
    ),
    (
        *("agent", "rbc-random", "miai.agent:RandomAgent", ""),
        "Senses and moves uniformly at random",
    ),
    (
        *("agent", "reconchess", "miai_rbc.reconchess.player:ReconchessAgent"),
        *("ReconchessParameters", "Any bot written for reconchess"),
    ),
    (
        *("opponents", "rbc", "miai_rbc.plugin:opponents", ""),
        "Opponents for people, weakest first",
    ),
    (
        *("record-format", "reconchess", "miai_rbc.reconchess.histories:ReconchessRecords", ""),
        "Game histories of reconchess, which rc-replay and rc-playback read",
    ),
    (
        *("record-format", "pgn", "miai_rbc.chess_files:PgnRecords", ""),
        "Games of chess, read as games in which nobody sensed",
    ),
    (
        *("renderer", "rbc", "miai_rbc.pictures.renderer:RbcRenderer", ""),
        "Own pieces, the last sense, captures, and where the opponent was seen",
    ),
    (
        *("belief-problem", "rbc", "miai_rbc.search.problem:RbcProblem"),
        "MinimaxProblemParameters",
        "Beliefs of games of Reconnaissance Blind Chess, valued one to three moves deep",
    ),
    (
        *("belief-search", "rbc-minimax", "miai_rbc.search.minimax:minimax_search"),
        "miai_rbc.search.minimax:MinimaxSearchParameters",
        "The recursion of 'recursive' for the problem rbc, in plain Python, with any bounds",
    ),
    (
        *("belief-search", "rbc-compiled", "miai_rbc.search.compiled:compiled_search"),
        "CompiledMinimaxParameters",
        "The same search as a kernel, with bounds on the values of boards too",
    ),
    (
        *("opening-reader", "pgn", f"{_OPENINGS}:PgnOpenings", "PgnParameters"),
        "Openings from games of chess: main lines, or every variation",
    ),
    (
        *("evaluator", "engine", "miai_rbc.engines.kernel:EngineEvaluator", "EvaluatorParameters"),
        "Value of the true board by the embedded engine; to balance openings",
    ),
    (
        *("opening-reader", "epd", f"{_OPENINGS}:EpdOpenings", ""),
        "Positions to start from, a line each, as EPD, named by their id",
    ),
    (
        *("opening-reader", "fen", f"{_OPENINGS}:EpdOpenings", ""),
        "Positions to start from, a line each, as FEN",
    ),
)
_FOR_ANY_GAME = ("game", "belief-problem", "belief-search")


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add Reconnaissance Blind Chess and what belongs to it."""
    for kind, name, factory, parameters, summary in _COMPONENTS:
        if parameters and ":" not in parameters:
            parameters = f"miai_rbc.rbc_parameters:{parameters}"
        registry.add(
            *(kind, name, factory),
            parameters=parameters or None,
            summary=summary,
            game=None if kind in _FOR_ANY_GAME else "rbc",
        )


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands ``miai rbc``."""
    from miai_rbc import commands

    app.add_typer(commands.app, name="rbc")


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return opponents for people, weakest first; benchmarks/opponents.py compares them."""
    from miai.playing.opponents import Opponent, Opponents

    quick = {"samples": 20, "considered": 100, "evaluations": 500, "deeper": 0}
    return Opponents(
        (
            Opponent(name="random", agent="rbc-random", summary="random senses and moves"),
            Opponent(
                name="attacker",
                agent="attacker",
                summary="a rush at your king, without a look at your moves",
            ),
            Opponent(
                name="minimax",
                agent="rbc-minimax",
                parameters={"depth": 1},
                summary="the best guaranteed value, one move deep",
            ),
            Opponent(
                name="quick",
                agent="rbc-strong",
                parameters=quick,
                summary="sampled boards, one ply deep",
            ),
            Opponent(
                name="strong",
                agent="rbc-strong",
                summary="all moves on 200 sampled boards, as deep as time allows",
            ),
        )
    )
