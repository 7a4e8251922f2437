"""The plugin's entry point. It names the problems by import path and imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_COMPONENTS = """
miai_miniblind.mini_rbc
  game mini_rbc MiniRbc MiniRbcParameters
    King and rook against a hidden king; senses one window per turn
  belief-problem mini_rbc mini_rbc_problem MiniRbcProblemParameters
    King and rook against a hidden king; senses one window per turn
miai_miniblind.pictures
  renderer mini_rbc MiniRbcRenderer game=mini_rbc
    The certain squares, and where hidden pieces may be
miai_miniblind.phantom_lines
  belief-problem phantom_lines phantom_lines_problem PhantomProblemParameters
    Tic-tac-toe with hidden marks; senses one line per turn
miai_miniblind.sub_hunt
  belief-problem sub_hunt sub_hunt_problem HuntProblemParameters
    A hunter pings and charges at a hidden submarine
"""


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the problems, and mini-RBC as a game with its pictures."""
    registry.add_all(_COMPONENTS)
