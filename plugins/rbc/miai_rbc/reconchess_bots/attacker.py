"""The agent ``attacker`` as a bot of reconchess."""

from miai_rbc.reconchess_bots import player_class

Attacker = player_class("attacker")
