"""Monte-Carlo search in games that hide information, over worlds drawn from a belief.

`ismcts` keeps one tree of what players are told, `pimc` one tree for each drawn world. Neither ever
sees the true state: worlds come from the player's belief alone.
"""
