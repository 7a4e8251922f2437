"""A person at a real terminal."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from tests.framework.histories import TTT
from tests.warm_command import TerminalMiai
from tests.whole_texts import assert_expected

import miai
from miai.agent import Agent
from miai.cli.people import HumanAgent, PlaySession, hint_text
from miai.game import Game
from miai.information import PlayerView
from miai.parameters import Parameters
from miai.plain import Json
from miai.playing.replay import replay
from miai.record import GameRecord
from miai.search.protocol import SearchResult


def terminal(*words: str) -> TerminalMiai:
    environment = {**os.environ, "TERM": "dumb"}  # letters instead of signs
    return TerminalMiai(["play", *words], environment)


def test_a_person_plays_tic_tac_toe_to_the_end() -> None:
    child = terminal("tic_tac_toe", "--x", "human", "--o", "human")
    state = TTT.new_initial_state()
    for cell, player in zip((0, 3, 1, 4, 2), "xoxox", strict=True):
        child.expect(rf"{player}> ")
        child.sendline(state.action_to_string(cell))
        state.apply_action(cell)
    assert child.expect_end() == 0
    said = child.before or ""
    assert said.count("wins") == said.count("The game is over: X wins") == 1, "once, and by name"


def conversation(*answers: str, game: Game = TTT) -> str:
    """Return what a person is shown who answers so, and then leaves, at tic-tac-toe."""
    shown = io.StringIO()
    read = io.StringIO("".join(f"{answer}\n" for answer in answers))
    person = HumanAgent(game, Parameters(), read=read, write=shown)
    with pytest.raises(KeyboardInterrupt, match="the game was left unfinished"):
        miai.play(game, [person, miai.make_agent("random", game)], seed=4)
    return shown.getvalue()


def test_the_board_is_shown_again_when_it_has_scrolled_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    board = "...\n...\n...\n"
    assert conversation("nonsense").count(board) == 1
    assert conversation("nonsense", "help", "help", "nonsense").count(board) == 2


@pytest.mark.parametrize("leave", ["\x04", "\x03"])
def test_quitting_is_not_a_crash(leave: str) -> None:
    child = terminal("tic_tac_toe")
    child.expect("x> ")
    child.send(leave)
    child.expect("miai: the game was left unfinished\r\n")
    assert child.expect_end() == 130
    assert child.before == ""


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


# -- what is offered beside moves -----------------------------------------------------------------


def game_at_table(
    *answers: str, game: Game = TTT, opponent: str | Agent = "random", seed: int = 4
) -> tuple[str, GameRecord]:
    """Return what a person is shown, and the record of the game."""
    shown = io.StringIO()
    read = io.StringIO("".join(f"{answer}\n" for answer in answers))
    person = HumanAgent(game, Parameters(), read=read, write=shown)
    if isinstance(opponent, str):
        opponent = miai.make_agent(opponent, game)
    noted: list[int] = []
    table = PlaySession(
        game,
        [person, opponent],
        note=lambda state, move: noted.append(move.ply),
        save=lambda record, file: f"saved {len(record.moves)} moves to {file}",
        adviser=lambda: miai.make_agent("mcts", game, simulations=50).search,  # type: ignore[attr-defined]
    )
    record = table.play(seed=seed)
    assert [move.ply for move in record.moves] == list(range(len(record.moves)))
    assert len(noted) >= len(record.moves)  # what was taken back was noted, too
    return shown.getvalue(), record


def test_the_faces_of_a_die_are_said() -> None:
    game = miai.load_game("pig", players=2, goal=6)
    shown, record = game_at_table(*["roll"] * 20, game=game, seed=1)
    said = [move.text for move in record.moves if move.actor < 0]
    assert re.findall(r"^chance: (\d)$", shown, re.MULTILINE) == said


def test_decisions_before_a_take_back_stay_in_the_record() -> None:
    words = ("b2", "a1", "undo", "c3", "resign")
    shown, record = game_at_table(*words, opponent="mcts")
    assert re.search(
        r"^o played ..: its win rate \d+\.\d %, 1000 simulations, expects( ..){5}, ", shown, re.M
    )
    assert [move.opening for move in record.moves] == [False] * len(record.moves)
    assert "value" in record.moves[1].statistics
    assert record.moves[0].seconds is not None


def test_what_people_are_told_is_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    alone = ("nonsense", "hint", "undo", "save x.jsonl", "help", "quit")
    nonsense = ("Z99", "", "moves", "\x1b[A", "D4 D4", "C3", "C3")
    told = [conversation(*alone)]
    told.append(conversation("help", "Z9", *nonsense, game=miai.load_game("go", board_size=5)))
    game, shown = miai.load_game("go", board_size=5, dead_stones="agreement"), io.StringIO()
    read = io.StringIO("C3\npass\npass\nC3\npass\nresume\nquit\n")
    people = [HumanAgent(game, Parameters(), read=read, write=shown) for _ in range(2)]
    with pytest.raises(KeyboardInterrupt):
        miai.play(game, people)
    told.append(shown.getvalue())
    table = ("help", "?", "hint", "save", "save a.jsonl", "b2", "undo", "a1", "undo", "undo", "c3")
    text, record = game_at_table(*table, "resign")
    told.append(re.sub(r"\d\.\d s$", "0.0 s", text, flags=re.MULTILINE))
    assert_expected("conversations.txt", "\n\n".join(told))
    assert [move.text for move in record.moves] == ["c3", "a1"]
    replay(record)


def test_a_hint_of_a_search_without_visits_goes_by_its_priors() -> None:
    view = PlayerView.at(TTT.new_initial_state(), 0)
    priors: list[Json] = [[0, 0.5], [4, 0.3], [8, 0.0]]
    result = SearchResult(action=4, value=0.5, pv=(4,), statistics={"priors": priors})
    shown = hint_text(view, result)
    assert "1. b2: utility +0.50, prior 30 %\n2. a3: prior 50 %\nExpected: b2" in shown
    assert "3. " not in shown


def test_people_are_told_a_command_that_plays_where_nothing_can_be_hidden() -> None:
    refused = terminal("goofspiel", "--set", "players=3", "--player1", "random")
    refused.expect("cannot hide the choices of player2 and player3 from each other")
    refused.expect("miai play goofspiel --set players=3 --player3 random")
    assert refused.expect_end() == 2


@pytest.mark.parametrize(
    ("words", "turns", "secrets"),
    [
        (
            "kuhn_poker",
            "first pass second bet first bet",
            {"first": "card: Q", "second": "card: J"},
        ),
        (
            "goofspiel --set num_cards=3",
            "player1 1 player2 3 player1 2 player2 2",
            {"player1": "player1> 1", "player2": "player2> 3"},
        ),
    ],
)
def test_nobody_sees_what_another_saw_or_typed_at_the_terminal(
    tmp_path: Path, words: str, turns: str, secrets: dict[str, str]
) -> None:
    """Everything before the end is on the second screen, which is cleared for each player."""
    environment = {**os.environ, "TERM": "xterm", "XDG_DATA_HOME": str(tmp_path)}
    child = TerminalMiai(["play", *words.split(), "--seed", "1"], environment)
    shown, entries = "", turns.split()
    for player, entry in zip(entries[::2], entries[1::2], strict=True):
        child.expect(f"{player}: press Enter when nobody else is looking. ")
        shown += f"{child.before}{child.after}"
        child.sendline("")
        child.expect(f"{player}> ")
        shown += f"{child.before}{child.after}"
        child.sendline(entry)
    child.expect_end()
    shown += str(child.before)
    entered, cleared, left = "\x1b[?1049h", "\x1b[2J", "\x1b[?1049l"
    main, *screens = shown.split(entered)
    for player, screen in zip(entries[::2], screens, strict=True):
        inside, outside = screen.split(left)
        assert inside.startswith(cleared)
        assert inside.endswith(cleared)
        for other, secret in secrets.items():
            assert (secret in inside) <= (other == player)
        main += outside
    assert all(secret in shown for secret in secrets.values())
    assert "The game is over" in main
    assert "> " not in main
