"""Pictures for people: what a player holds possible, and what a turn told it, as SVG."""

from miai_rbc.pictures.belief import draw_belief
from miai_rbc.pictures.observation import draw_observation

__all__ = ["draw_belief", "draw_observation"]
