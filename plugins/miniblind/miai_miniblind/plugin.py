"""The plugin's entry point. It names the games by import path and imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_GAMES = (
    # module and name, game, problem's parameters, summary
    (
        *("mini_rbc", "MiniRbc", "MiniRbcProblemParameters"),
        "King and rook against a hidden king; senses one window per turn",
    ),
    (
        *("phantom_lines", "PhantomLines", "PhantomProblemParameters"),
        "Tic-tac-toe with hidden marks; senses one line per turn",
    ),
    (
        *("sub_hunt", "SubHunt", "HuntProblemParameters"),
        "A hunter pings and charges at a hidden submarine",
    ),
)


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games, their pictures and their problems."""
    for name, game, problem_parameters, summary in _GAMES:
        module = f"miai_miniblind.{name}"
        registry.add(
            "game",
            name,
            f"{module}:{game}",
            parameters=f"{module}:{game}Parameters",
            summary=summary,
        )
        registry.add(
            "renderer",
            name,
            f"miai_miniblind.pictures:{game}Renderer",
            summary="The certain squares, and where hidden pieces may be",
            game=name,
        )
        registry.add(
            "belief-problem",
            name,
            f"{module}:{name}_problem",
            parameters=f"{module}:{problem_parameters}",
            summary=summary,
        )
