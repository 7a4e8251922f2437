"""SVG pictures of beliefs, and of a turn's observations, on the board of `chess.svg`."""

from miai_rbc.pictures.chances import draw_belief
from miai_rbc.pictures.moments import draw_observation

__all__ = ["draw_belief", "draw_observation"]
