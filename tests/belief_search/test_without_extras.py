"""Bounds where datasketch and numba are not installed, as after README's install line."""

from __future__ import annotations

import pytest
from tests.warm_command import run_python

from miai.plugins.extras import install_line

GAMES = """
import sys
sys.modules["datasketch"] = None  # importing it raises
import miai
from miai.beliefs.bounds import named_bounds
from miai.errors import MissingExtraError

hidden = miai.load_game("phantom_tic_tac_toe")
chess = miai.load_game("rbc", full_turn_limit=3)
players = {
    "belief-minimax": (hidden, "random", {"depth": 1}),
    "rbc-minimax": (chess, "rbc-random", {"depth": 1, "senses": 2, "moves": 2, "boards": 20}),
}
for name, (game, opponent, parameters) in players.items():
    player = miai.make_agent(name, game, bounds="minhash", **parameters)
    record = miai.play(game, [player, miai.make_agent(opponent, game)], seed=1)
    assert record.termination == "terminal", record.detail
try:
    miai.make_agent("belief-minimax", hidden, bounds="reference-minhash")
except MissingExtraError as error:
    print(error)
"""

FRAMEWORK = """
import sys
sys.modules["numba"] = None
import miai
from miai.errors import MissingExtraError

game = miai.load_game("phantom_tic_tac_toe")
for bounds in ("none", "table", "singles", "exact", "cores"):
    player = miai.make_agent("belief-minimax", game, bounds=bounds, depth=1)
    record = miai.play(game, [player, miai.make_agent("random", game)], seed=1)
    assert record.termination == "terminal", record.detail
try:
    miai.make_agent("belief-minimax", game, bounds="minhash")
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.slow
def test_both_agents_play_with_minhash_without_datasketch() -> None:
    assert install_line("miai[reference]") in run_python(GAMES)


@pytest.mark.slow
def test_all_bounds_but_sketches_work_without_numba() -> None:
    assert install_line("miai[sketches]") in run_python(FRAMEWORK)
