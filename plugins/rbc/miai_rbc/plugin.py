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

_COMPONENTS = """
miai_rbc.rules.game miai_rbc.rbc_parameters
  game rbc RbcGame RbcParameters
    Reconnaissance Blind Chess: sense a 3x3 window, then move
miai_rbc.belief.belief miai_rbc.rbc_parameters
  belief enumerated make_belief BeliefParameters game=rbc
    Every board that a player considers possible, in arrays; beyond a limit a sample
miai_rbc.agents.attacker
  agent attacker AttackerAgent game=rbc
    Rushes at the king along a route chosen at the start
miai_rbc.agents.belief_agents miai_rbc.rbc_parameters
  agent rbc-seed SeedAgent SeedParameters game=rbc
    Partition scan; plays the move with the best worst-case score on sampled boards
  agent rbc-strong StrongAgent StrongParameters game=rbc
    Senses for its next move, on boards weighted by their value to the opponent
miai_rbc.search.agent miai_rbc.rbc_parameters
  agent rbc-minimax RbcMinimax MinimaxAgentParameters game=rbc
    Best guaranteed value over all boards of its belief, up to three moves deep
miai.agent
  agent rbc-random RandomAgent game=rbc
    Senses and moves uniformly at random
miai_rbc.reconchess.player miai_rbc.rbc_parameters
  agent reconchess ReconchessAgent ReconchessParameters game=rbc foreign
    Any bot written for reconchess
miai_rbc.plugin
  opponents rbc opponents game=rbc
    Opponents for people, weakest first
miai_rbc.reconchess.histories
  record-format reconchess ReconchessRecords game=rbc
    Game histories of reconchess, which rc-replay and rc-playback read
miai_rbc.chess_files miai_rbc.rbc_parameters
  opening-reader pgn PgnOpenings PgnParameters game=rbc
    Openings from games of chess: main lines, or every variation
  record-format pgn PgnRecords game=rbc
    Games of chess, read as games in which nobody sensed
  opening-reader epd EpdOpenings game=rbc
    Positions to start from, a line each, as EPD, named by their id
  opening-reader fen EpdOpenings game=rbc
    Positions to start from, a line each, as FEN
miai_rbc.pictures.renderer
  renderer rbc RbcRenderer game=rbc
    Own pieces, the last sense, captures, and where the opponent was seen
miai_rbc.search.problem miai_rbc.rbc_parameters
  belief-problem rbc RbcProblem MinimaxProblemParameters
    Beliefs of games of Reconnaissance Blind Chess, valued one to three moves deep
miai_rbc.search.minimax
  belief-search rbc-minimax minimax_search MinimaxSearchParameters
    The recursion of 'recursive' for the problem rbc, in plain Python, with any bounds
miai_rbc.search.compiled miai_rbc.rbc_parameters
  belief-search rbc-compiled compiled_search CompiledMinimaxParameters
    The same search as a kernel, with bounds on the values of boards too
miai_rbc.engines.kernel miai_rbc.rbc_parameters
  evaluator engine EngineEvaluator EvaluatorParameters game=rbc
    Value of the true board by the embedded engine; to balance openings
"""


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add Reconnaissance Blind Chess and what belongs to it."""
    registry.add_all(_COMPONENTS)


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
