"""Bounds where numba is not installed, as after README's install line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from miai.plugins.extras import install_line

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
def test_all_bounds_but_sketches_work_without_numba() -> None:
    command = [sys.executable, "-c", FRAMEWORK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert install_line("miai[sketches]") in done.stdout
