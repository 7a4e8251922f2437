"""A person at a terminal: a real one, its signs, and nothing that its seat does not observe."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.framework.histories import TTT
from tests.framework.twin_histories import ALL_SEEING, HIDDEN, SEATS, twins
from tests.slow import with_slow
from tests.warm_command import TerminalMiai, call_miai, run_miai
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

import miai
from miai import ClockReading, Decision
from miai.agent import Agent
from miai.api import renderer_for
from miai.cli.app import build_app
from miai.cli.people import HumanAgent, PlaySession, hint_text
from miai.game import Game
from miai.information import PlayerView
from miai.parameters import Parameters
from miai.plain import Json
from miai.playing.replay import replay
from miai.record import GameRecord
from miai.render import StyledRenderer, action_text
from miai.search.protocol import SearchResult

CODES = re.compile(r"\x1b\[[0-9;]*m")
OVER = "The game is over"


# -- playing a history through the command line ----------------------------------------------------


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


# -- signs of terminals ---------------------------------------------------------------------------


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


# -- games that hide information ------------------------------------------------------------------


class Scripted(Agent):
    """Plays given actions. It thinks aloud, and reports its secret in its statistics."""

    def __init__(self, game: Game, actions: Iterator[int], secret: str, pause: float) -> None:
        super().__init__(game)
        self.actions, self.secret, self.pause = actions, secret, pause
        self.component = "random"

    def act(self, clock: ClockReading) -> Decision:
        time.sleep(self.pause)
        self.pause = 0.0
        action = next(self.actions)
        print(self.secret, flush=True)
        print(self.secret, file=sys.stderr, flush=True)
        os.write(1, f"{self.secret} of its engine\n".encode())
        os.write(2, f"{self.secret} of its logger\n".encode())
        statistics: dict[str, Any] = {
            "value": len(self.secret) / 10,
            "simulations": len(self.secret),
            "pv": [action],
        }
        return Decision(action, statistics=statistics)


def parts_of(game: Game, history: Sequence[int]) -> dict[int, list[int]]:
    """Return the actions of each player in a history, and those of chance as -1."""
    state = game.new_initial_state()
    parts: dict[int, list[int]] = {player: [] for player in (-1, *range(game.num_players()))}
    for action in history:
        parts[int(state.current_player())].append(action)
        state.apply_action(action)
    return parts


def played(
    name: str,
    seat: int,
    history: Sequence[int],
    monkeypatch: pytest.MonkeyPatch,
    *,
    secret: str,
    pause: float,
) -> str:
    """Return all that the command prints while a person plays its part of a history, and resigns.

    The other players are the agent ``random``, which is replaced.
    """
    game = miai.load_game(name)
    parts = parts_of(game, history)
    answers = [action_text(game.new_initial_state(), action) for action in parts[seat]]
    chance = iter(parts[-1])
    others = [player for player in range(game.num_players()) if player != seat]
    scripts = {player: iter(parts[player]) for player in others}
    queue = iter(others)
    make_agent = miai.make_agent

    def make(agent: str, game: Game, **values: Any) -> Agent:
        if agent != "random":
            return make_agent(agent, game, **values)
        return Scripted(game, scripts[next(queue)], secret, pause)

    with monkeypatch.context() as patch:
        patch.setattr("miai.api.make_agent", make)
        patch.setattr("miai.playing.match._draw", lambda outcomes, rng: next(chance))
        words = ["play", name]
        for player, called in enumerate(game.info.player_names):
            words += [f"--{called}", "human" if player == seat else "random"]
        typed = "".join(f"{answer}\n" for answer in (*answers, "moves", "help", "undo", "resign"))
        result = CliRunner().invoke(build_app(), words, input=typed)
    assert result.exit_code == 0, result.output
    for text in (secret, f"{secret} of its engine", f"{secret} of its logger"):
        assert f"\n{text}\n" in result.output.partition(OVER)[2]
    return result.output


@pytest.mark.parametrize(("name", "seat"), with_slow(SEATS, ("rbc", 0), ("rbc", 1)))
def test_two_histories_that_look_the_same_print_the_same(
    name: str, seat: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = twins(name, seat)
    if (name, seat) in ALL_SEEING:
        assert (first, second) == ([], [])
        return
    assert first != second
    shown = [
        played(name, seat, history, monkeypatch, secret=secret, pause=pause)
        for history, secret, pause in ((first, "aha", 0.0), (second, "oh dear", 0.3))
    ]
    before, after = zip(*(text.split(OVER, 1) for text in shown), strict=True)
    assert before[0] == before[1]
    assert "aha" not in before[0]
    assert all("The full position:\n" in text for text in after)
    assert list(tmp_path.iterdir()) == []


def test_every_game_is_played_in_a_seat_from_which_something_is_hidden() -> None:
    assert {name for name, seat in SEATS if (name, seat) not in ALL_SEEING} == set(HIDDEN)
    assert {"kuhn_poker", "mini_rbc", "phantom_tic_tac_toe", "rbc"} <= set(HIDDEN)


# -- who may sit and who may watch -----------------------------------------------------------------


def test_who_watches_two_agents_sees_everything() -> None:
    words = ["play", "kuhn_poker", "--first", "random", "--second", "random"]
    result = CliRunner().invoke(build_app(), words)
    assert result.output.startswith("  1. chance ")
    assert "cards: first " in result.output
