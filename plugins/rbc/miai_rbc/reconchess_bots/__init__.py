"""miai's agents as bots of reconchess, one importable module each.

::

    rc-bot-match miai_rbc.reconchess_bots.rbc_random reconchess.bots.random_bot

A module holds one line, `player_class("agent")`, whose class is named after the agent.
"""
