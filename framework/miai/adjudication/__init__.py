"""Adjudication: games that are decided before their end, by rules that the organiser has chosen.

`protocol` says what a rule is, `panel` asks the rules of a game after each move, `agreement` and
`solved` are those that serve any game.
"""

from miai.adjudication.panel import Panel, held_out, make_panel
from miai.adjudication.protocol import Adjudicator, Verdict

__all__ = ["Adjudicator", "Panel", "Verdict", "held_out", "make_panel"]
