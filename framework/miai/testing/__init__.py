"""Checks for authors of plugins: does a game, an agent, a determinizer keep its contract?

>>> import miai
>>> from miai.testing import check_agent, check_game
>>> game = miai.load_game("tic_tac_toe")
>>> check_game(game, games=5).games
5
>>> report = check_agent(lambda game: miai.make_agent("random", game), game)

`check_game` plays random games and checks the rules of `GAME_RULES` in all their positions;
`check_agent` lets an agent play every seat and checks those of `AGENT_RULES`. A `ConformanceError`
lists the first violation of each broken rule with the seed and the actions that reproduce it. Both
return a `ConformanceReport` with the extent of the check and what was left out.

The leak tests rest on two ideas. The information state of a player is taken twice, by
`State.information_state_string` and by all observations up to there: over all positions that the
check meets, one must be equal exactly when the other is, and the legal actions and the tensor must
be functions of it. And the player's belief is enumerated: the true state must be in it, and every
other world is one more position that the player cannot tell from the true one. A determinizer may
draw the true world, but where there are others not 40 times in a row; an honest one that takes it
with probability q is accused with probability q**40, below 1e-12 when it draws uniformly. In a
game too large for enumeration what is left is the comparison of positions met in play and of the
children of each; the report says so, and `check_game(belief=...)` takes a belief made for the
game.

No check can find this: a game that reveals too much both in its observations and in its information
state has other rules than its author intended, but consistent ones.

With miai installed, pytest has the fixtures `miai_check_game`, `miai_check_agent` and `miai_seed`;
see `miai.pytest_plugin`.
"""

from miai.errors import ConformanceError, Violation
from miai.testing.agents import check_agent
from miai.testing.findings import AGENT_RULES, GAME_RULES, ConformanceReport
from miai.testing.games import check_game, path_to_state

__all__ = [
    "AGENT_RULES",
    "GAME_RULES",
    "ConformanceError",
    "ConformanceReport",
    "Violation",
    "check_agent",
    "check_game",
    "path_to_state",
]
