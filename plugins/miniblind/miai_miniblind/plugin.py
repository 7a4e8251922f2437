"""The plugin's entry point. It names the problems by import path and imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_PROBLEMS = (
    # module and name, parameters, summary
    (
        *("mini_rbc", "MiniRbcProblemParameters"),
        "King and rook against a hidden king; senses one window per turn",
    ),
    (
        *("phantom_lines", "PhantomProblemParameters"),
        "Tic-tac-toe with hidden marks; senses one line per turn",
    ),
    (
        *("sub_hunt", "HuntProblemParameters"),
        "A hunter pings and charges at a hidden submarine",
    ),
)


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the problems, and mini-RBC as a game with its pictures."""
    registry.add(
        "game",
        "mini_rbc",
        "miai_miniblind.mini_rbc:MiniRbc",
        parameters="miai_miniblind.mini_rbc:MiniRbcParameters",
        summary=_PROBLEMS[0][-1],
    )
    registry.add(
        "renderer",
        "mini_rbc",
        "miai_miniblind.pictures:MiniRbcRenderer",
        summary="The certain squares, and where hidden pieces may be",
        game="mini_rbc",
    )
    for name, parameters, summary in _PROBLEMS:
        module = f"miai_miniblind.{name}"
        registry.add(
            "belief-problem",
            name,
            f"{module}:{name}_problem",
            parameters=f"{module}:{parameters}",
            summary=summary,
        )
