"""What can be said of a bot of reconchess. Imports nothing heavy."""

from __future__ import annotations

from miai.plugins.parameters import Parameters, parameter


class ReconchessParameters(Parameters):
    """Which bot plays, and what it is told that our game does not know."""

    bot: str = parameter(
        min_length=1,
        max_length=4096,
        help="a module (`reconchess.bots.trout_bot`) or the path of a .py file, as rc-bot-match "
        "takes it; of several classes in it, one is named after a colon",
    )
    opponent: str = parameter(
        "opponent", max_length=200, help="the name of its opponent that the bot is told"
    )
    seconds: float = parameter(
        900.0, gt=0, le=1e9, unit="seconds", help="told as left when the game has no clock"
    )
    reload: bool = parameter(
        True, help="execute the bot's module anew for each game, so that nothing is left in it"
    )
