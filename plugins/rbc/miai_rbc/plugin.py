"""The plugin's entry point: components.txt names its components, and nothing heavy is imported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from miai.game import Game
    from miai.parameters import Parameters
    from miai.playing.opponents import Opponents
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add Reconnaissance Blind Chess and what belongs to it."""
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands ``miai rbc`` and ``miai dark-chess``."""
    from miai_rbc import commands

    app.add_typer(commands.app, name="rbc")
    app.add_typer(commands.dark_app, name="dark-chess")


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return opponents for people, weakest first, and the analyst; see benchmarks/opponents.py."""
    from miai.playing.opponents import Analyst, Opponent, Opponents
    from miai_rbc.engines.kernel import EngineSearch

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
        ),
        Analyst(
            agent="rbc-strong",
            # A belief is followed anew for every few moves, and nobody senses in a game of chess.
            parameters={"limit": 50_000},
            budget="evaluations",
            truth=lambda _: EngineSearch(),
        ),
    )


def dark_opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return opponents for people in dark chess, weakest first, and the analyst."""
    from miai.playing.opponents import Analyst, Opponent, Opponents
    from miai_rbc.engines.kernel import EngineSearch

    agent, words = "dark-minimax", "the best worst score on {} boards, {} deep"
    few = {"samples": 4, "depth": 1}
    quick, strong = words.format("four", "one ply"), words.format(50, "three plies")
    limit = {"limit": 50_000}  # see `opponents`
    return Opponents(
        (
            Opponent(name="random", agent="random", summary="random moves"),
            Opponent(name="quick", agent=agent, parameters=few, summary=quick),
            Opponent(name="strong", agent=agent, summary=strong),
        ),
        Analyst(agent=agent, parameters=limit, budget="samples", truth=lambda _: EngineSearch()),
    )
