"""Whole games by the command of reconchess against its own bots, by its clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from miai.process.programs import find_program
from miai_rbc.reconchess.reading import read_history

pytestmark = pytest.mark.long

BIN = Path(sys.executable).parent
OURS = "miai_rbc.reconchess_bots"
THEIRS = "reconchess.bots"
QUICK = """
from miai_rbc.reconchess_bots import player_class

RbcStrong = player_class("rbc-strong", depth=1, samples=20, considered=50, evaluations=None)
"""


def match(white: str, black: str, folder: Path, *, seconds: float) -> Path:
    """Play a game as a user does; return the file of its history."""
    stockfish = str(find_program("stockfish", advice={}))
    done = subprocess.run(
        [str(BIN / "rc-bot-match"), white, black, "--seconds_per_player", str(seconds)],
        cwd=folder,
        env={**os.environ, "STOCKFISH_EXECUTABLE": stockfish},
        capture_output=True,
        text=True,
        timeout=110,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "Game Over!" in done.stdout
    assert "Traceback" not in output, output
    assert "ERROR" not in output, output
    (file,) = folder.glob("*.json")
    return file


@pytest.mark.engine("stockfish")
@pytest.mark.parametrize(
    ("white", "black", "names", "seconds"),
    [
        pytest.param(
            *(f"{OURS}.rbc_strong", f"{THEIRS}.trout_bot", ("RbcStrong", "TroutBot"), 20.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(f"{THEIRS}.trout_bot", f"{OURS}.rbc_seed", ("TroutBot", "RbcSeed"), 8.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(f"{OURS}.rbc_seed", f"{THEIRS}.attacker_bot", ("RbcSeed", "AttackerBot"), 20.0),
            marks=pytest.mark.slow,
        ),
        (f"{THEIRS}.attacker_bot", "quick_strong.py", ("AttackerBot", "RbcStrong"), 20.0),
    ],
)
def test_our_bots_play_those_of_reconchess(
    white: str, black: str, names: tuple[str, str], seconds: float, tmp_path: Path
) -> None:
    # AttackerBot passes when its rushes are over: a long game, so a bot of a user's own that
    # thinks little.
    (tmp_path / "quick_strong.py").write_text(QUICK)
    file = match(white, black, tmp_path, seconds=seconds)
    history = read_history(file)  # every turn is played again by our rules
    assert history.players == names
    *_, last = history.states()
    ours = 0 if names[0].startswith("Rbc") else 1
    print(history.reason, history.winner, len(history.actions))
    if history.reason == "TIMEOUT":
        assert history.winner == ours, "our clock ran out"
    else:
        assert history.reason in ("KING_CAPTURE", "MOVE_LIMIT")
        assert last.is_terminal()
    assert len(history.actions) >= 10
    plain = json.loads(file.read_text())
    assert len(plain["senses"]["true"]) + len(plain["senses"]["false"]) == len(history.actions) // 2
