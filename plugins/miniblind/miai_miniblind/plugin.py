"""The plugin's entry point: it names the games, and imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


_GAMES = {
    "mini_rbc": (
        "mini_rbc_game:MiniRbc",
        "mini_rbc_game:MiniRbcParameters",
        "King and rook against a hidden king, one window sensed a turn",
    ),
    "phantom_lines": (
        "phantom_lines_game:PhantomLines",
        "phantom_lines_game:PhantomLinesParameters",
        "Tic-tac-toe with hidden marks, one line sensed a turn",
    ),
    "sub_hunt": (
        "sub_hunt_game:SubHunt",
        "sub_hunt_game:SubHuntParameters",
        "A hunter pings and charges at a submarine that it does not see",
    ),
}


_PROBLEMS = {
    "mini_rbc": ("mini_rbc", "MiniRbcProblemParameters"),
    "phantom_lines": ("phantom_lines", "PhantomProblemParameters"),
    "sub_hunt": ("sub_hunt", "HuntProblemParameters"),
}


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games, their pictures, and their problems."""
    for name, (target, parameters, summary) in _GAMES.items():
        registry.add(
            "game",
            name,
            f"miai_miniblind.{target}",
            parameters=f"miai_miniblind.{parameters}",
            summary=summary,
        )
        registry.add(
            "renderer",
            name,
            "miai_miniblind.blind:BlindRenderer",
            summary="Certain squares, and ? elsewhere",
            game=name,
        )
    for name, (factory, parameters) in _PROBLEMS.items():
        registry.add(
            "belief-problem",
            name,
            f"miai_miniblind.problems:{factory}",
            parameters=f"miai_miniblind.problems:{parameters}",
            summary=_GAMES[name][2],
        )
