"""The agent ``rbc-seed`` as a bot of reconchess."""

from miai_rbc.reconchess_bots import player_class

RbcSeed = player_class("rbc-seed")
