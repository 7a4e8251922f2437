"""What `miai play` writes to terminals that show Unicode and colours, and to others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.warm_command import TerminalMiai, call_miai, run_miai

import miai
from miai.api import renderer_for
from miai.information import PlayerView
from miai.render import StyledRenderer

CODES = re.compile(r"\x1b\[[0-9;]*m")


def shown(folder: Path, *words: str, moves: tuple[str, ...], **variables: str) -> str:
    """Return what a terminal receives while a person plays."""
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    environment |= {"XDG_DATA_HOME": str(folder), **variables}
    child = TerminalMiai(["play", *words], environment)
    received = ""
    for move in moves:
        child.expect("> $")
        received += child.before or ""
        child.sendline(move)
    child.expect_end()
    return received + str(child.before)


def test_a_capable_terminal_shows_signs_and_colours(tmp_path: Path) -> None:
    text = shown(tmp_path, "tic_tac_toe", "--o", "random", moves=("b2", "resign"))
    assert "✕" in text
    assert CODES.search(text)
    assert re.search(r"^ [·○]  ✕  [·○] \r?$", CODES.sub("", text), re.MULTILINE)


@pytest.mark.parametrize(
    ("variables", "signs", "colours"),
    [({"NO_COLOR": "1"}, True, False), ({"PYTHONIOENCODING": "ascii"}, False, False)],
)
def test_other_terminals_show_what_they_can(
    tmp_path: Path, variables: dict[str, str], signs: bool, colours: bool
) -> None:
    words = ("tic_tac_toe", "--o", "random")
    text = shown(tmp_path, *words, moves=("b2", "resign"), **variables)
    assert ("✕" in text) == signs
    assert bool(re.search(r"\x1b\[[0-9;]*[34]8;", text)) == colours
    board = text.split("Type a move")[0]  # the end of the game shows the position in letters
    assert ("...\r\n..." in board) == (not signs)


def test_a_pipe_receives_letters() -> None:
    done = run_miai(["play", "tic_tac_toe", "--x", "random", "--o", "random", "--seed", "1"])
    assert not CODES.search(done.stdout)
    assert "✕" not in done.stdout


@pytest.mark.slow
def test_a_person_at_a_terminal_gets_a_page_of_the_game(tmp_path: Path) -> None:
    words = ("phantom_tic_tac_toe", "--x", "human", "--o", "ismcts", "--o.simulations", "50")
    text = shown(tmp_path, *words, moves=("hint", "b2", "resign"))
    assert re.search(r"ismcts suggests [abc][123]: win rate", text)
    (page,) = (tmp_path / "miai" / "games").glob("*phantom_tic_tac_toe*.html")
    assert f"replay: {page}" in text.replace("\r\n", "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert shown(tmp_path, *words, "--quiet", moves=("resign",)).count("replay:") == 0


def test_a_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    game = ["play", "tic_tac_toe", "--x", "random", "--o", "random", "--seed", "1", "--quiet"]
    page = tmp_path / "a" / "page.html"
    assert call_miai([*game, "--replay", str(page)]).stdout.endswith(f"\nreplay: {page}\n")
    assert "tic_tac_toe" in (tmp_path / "a" / "page.html").read_text()
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "page.html")
    refused = call_miai([*game, "--replay", below])
    assert refused.returncode == 2
    assert below in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_hint_marks_its_moves_on_the_styled_board() -> None:
    game = miai.load_game("go", board_size=5)
    renderer = renderer_for(game)
    assert isinstance(renderer, StyledRenderer)
    view = PlayerView.at(game.new_initial_state().child(12), 1)
    plain = renderer.styled(view, {0: "1", 24: "2"}).plain.splitlines()
    assert plain[1] == " 5 · · · · 2 5"
    assert plain[3] == " 3 · ·(●)· · 3"
    assert plain[5] == " 1 1 · · · · 1"
