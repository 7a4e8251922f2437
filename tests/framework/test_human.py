"""A person at a real terminal."""

from __future__ import annotations

import io
import sys

import pexpect
import pytest

import miai
from miai.human import HumanAgent
from miai.plugins.parameters import Parameters


def terminal(*words: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable, ["-m", "miai", "play", *words], encoding="utf-8", timeout=30
    )


def test_a_person_plays_tic_tac_toe_to_the_end() -> None:
    child = terminal("tic_tac_toe", "--x", "human", "--o", "human")
    state = miai.load_game("tic_tac_toe").new_initial_state()
    for cell, player in zip((0, 3, 1, 4, 2), "xoxox", strict=True):
        child.expect(rf"{player}> ")
        child.sendline(state.action_to_string(cell))
        state.apply_action(cell)
    child.expect("you win|you lose")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_nonsense_is_explained_and_asked_again() -> None:
    child = terminal("go", "--set", "board_size=5", "--black", "human", "--white", "random")
    child.expect("black> ")
    for text in ("Z99", "", "moves", "\x1b[A", "D4 D4"):
        child.sendline(text)
        child.expect("black> ")
    child.sendline("C3")
    child.expect("black> ")
    child.sendline("C3")
    child.expect("black> ")
    child.sendline("resign")
    child.expect("resignation by black")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("leave", ["quit", "\x04", "\x03"])
def test_leaving_is_no_crash(leave: str) -> None:
    child = terminal("tic_tac_toe")
    child.expect("x> ")
    if leave == "quit":
        child.sendline(leave)
    else:
        child.send(leave)
    child.expect("left unfinished")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in (child.before or "")


def test_a_person_plays_a_game_that_hides_information() -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    namer = game.new_initial_state()
    # The second answer tries a cell that may be the opponent's; all are tried until the end.
    answers = "".join(f"{namer.action_to_string(a)}\n" for a in range(9)) * 3
    shown = io.StringIO()
    person = HumanAgent(game, Parameters(), read=io.StringIO(answers), write=shown)
    record = miai.play(game, [person, miai.make_agent("random", game)], seed=4)
    assert record.terminated
    assert "The game is over" in shown.getvalue()
