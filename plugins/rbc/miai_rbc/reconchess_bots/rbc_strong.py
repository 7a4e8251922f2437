"""The agent ``rbc-strong`` as a bot of reconchess."""

from miai_rbc.reconchess_bots import player_class

RbcStrong = player_class("rbc-strong")
