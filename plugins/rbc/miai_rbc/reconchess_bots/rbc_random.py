"""The agent ``rbc-random`` as a bot of reconchess."""

from miai_rbc.reconchess_bots import player_class

RbcRandom = player_class("rbc-random")
