"""Checks for authors of plugins: does a game, an agent, a renderer keep its contract?

>>> import miai
>>> from miai.testing import check_agent, check_game
>>> game = miai.load_game("tic_tac_toe")
>>> check_game(game, games=5).games
5
>>> report = check_agent(lambda game: miai.make_agent("random", game), game)

`check_game` plays random games and checks the rules of `GAME_RULES` in all their positions;
`check_agent` lets an agent play every seat and checks those of `AGENT_RULES`. A `ConformanceError`
lists the first violation of each broken rule with the seed and the actions that reproduce it. Both
return a `ConformanceReport` with the extent of the check and what was left out. `check_renderer`
does the same for a game's texts, pictures and clicks, by `RENDERER_RULES`.

The leak tests rest on two ideas. First, a player's information state is taken twice, by
`State.information_state_string` and by all its observations: in all positions of the check one must
be equal exactly when the other is, and the legal actions and the tensor must be functions of it.
Second, the player's belief is enumerated: it must contain the true state, and the player cannot
distinguish its other worlds from the true one. If there are others, the belief may not draw the
true world 40 times in a row; an honest one that draws it with probability q fails with probability
q**40, below 1e-12 for uniform draws. In games too large for enumeration only the positions of play
and their children are compared, as the report says; `check_game(belief=...)` takes a belief of the
game's own.

No check can find a game that reveals too much both in its observations and in its information
state: its rules are consistent, though not those that its author intended.

With miai installed, pytest has the fixtures `miai_check_game`, `miai_check_agent`,
`miai_check_renderer` and `miai_seed`; see `miai.pytest_plugin`.
"""

from miai.errors import ConformanceError, Violation
from miai.testing.agent_checks import check_agent
from miai.testing.findings import AGENT_RULES, GAME_RULES, ConformanceReport
from miai.testing.game_checks import check_game, path_to_state
from miai.testing.renderer_checks import RENDERER_RULES, check_renderer

__all__ = [
    "AGENT_RULES",
    "GAME_RULES",
    "RENDERER_RULES",
    "ConformanceError",
    "ConformanceReport",
    "Violation",
    "check_agent",
    "check_game",
    "check_renderer",
    "path_to_state",
]
