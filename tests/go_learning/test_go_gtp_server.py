"""The command `miai gtp`, a real process spoken to over pipes."""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.go_learning.gtp_controllers import engine
from tests.warm_command import TalkingMiai, run_miai
from tests.whole_texts import assert_transcript, refusal

from miai import load_game, make_agent
from miai.cli.app import build_app
from miai.playing.match import play
from miai.record import Termination

SMALL = ("--simulations", "60", "--boardsize", "5")

CONVERSATION = [
    # (what is sent, the response)
    ("1 protocol_version", r"=1 2"),
    ("name", r"= miai mcts"),
    ("known_command play", r"= true"),
    ("known_command nonsense", r"= false"),
    ("000000012 known_command", r"\?12 syntax error: .*"),
    ("nonsense", r"\? unknown command"),
    ("3 ", r"\?3 unknown command"),
    ("\t 5 \tboardsize\t7 # a comment", r"=5"),
    ("clear\x00_board\r", r"="),
    ("komi 5.5", r"="),
    ("get_komi", r"= 5\.5"),
    ("play black D4", r"="),
    ("play b d5", r"="),
    ("play w D4", r"\? illegal move: D4 is occupied"),
    ("play w I4", r"\? invalid coordinate: .*"),
    ("play green D4", r"\? syntax error: .*"),
    ("undo", r"="),
    ("undo", r"="),
    ("undo", r"\? cannot undo"),
    ("fixed_handicap 4", r"= C3 E3 C5 E5"),
    ("fixed_handicap 2", r"\? board not empty"),
    ("boardsize 26", r"\? unacceptable size"),
    ("boardsize 5", r"="),
    ("genmove b", r"= [A-E][1-5]"),
    ("reg_genmove w", r"= ([A-E][1-5]|pass)"),
    ("kata-get-rules", r"= \{.*\"ko\":\"POSITIONAL\".*\}"),
    ("kata-raw-nn all", r"\? this agent has no network"),
    ("showboard", r"= *\n   A B C D E\n.*White to play.*"),
    ("\xff\xfe\x80 garbage", r"\? unknown command"),
    ("stop", r"="),
]


def test_a_conversation_with_garbage_in_it_goes_on_to_an_interrupt() -> None:
    with engine(*SMALL) as running:
        for sent, wanted in CONVERSATION:
            running.send("\n# nothing\n \t\n")
            running.send(sent.encode("latin-1") + b"\n")
            answer = running.response()
            assert re.fullmatch(wanted, answer, re.DOTALL), (sent, answer)
        running.send(b"x" * 300_000 + b"\n7 name\n")
        assert running.response() == "? a line of more than 65536 bytes"
        assert running.response() == "=7 miai mcts"
        running.send(b"\x00\x07\x1b[A" * 5000 + b"\n")
        assert running.response() == "? unknown command"
        running.send("kata-analyze 1\n")
        running.line()
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(30) == 130


@pytest.mark.slow
def test_a_script_that_comes_at_once_is_answered_line_by_line() -> None:
    """Its last move is searched to the end."""
    commands = ["protocol_version", "boardsize 5", "kata-analyze 10", "genmove b"]
    commands.append("gomill-explain_last_move")
    with engine("--simulations", "9000", "--max-nodes", "20000") as running:
        running.send("\n".join(commands))  # the end of input ends the last line
        assert running.leave() == 0
        answers = [running.response() for _ in commands]
        assert [answer[:1] for answer in answers] == ["="] * 5
        assert "simulations 9000" in answers[-1]


@pytest.mark.slow
def test_analyses_grow_until_the_next_line_of_input_and_moves_stay_within_the_clock() -> None:
    with engine("--simulations", "0", "--seconds", "30", "--max-nodes", "200000") as running:
        for kind in ("lz", "kata"):
            running.ask("clear_board")
            running.ask("play b E5")
            running.send(f"9 {kind}-analyze w 5 maxmoves 3\n")
            assert running.line() == "=9"
            visits = []
            for _ in range(4):
                moves = re.findall(r"info move (\S+) visits (\d+)", running.line())
                assert len(moves) == 3
                visits.append(int(moves[0][1]))
            assert visits == sorted(visits)
            assert visits[0] < visits[-1]
            began = time.monotonic()
            running.send("\n")
            while running.line():
                pass
            assert time.monotonic() - began < 20.0
            assert running.ask("10 name") == "=10 miai mcts"
        assert running.ask("kata-time_settings fischer 1 0.5") == "="
        answer, seconds = running.timed("genmove b")
        assert answer.startswith("= ")
        assert 0.2 < seconds < 10.0  # without a clock, 30 s
        running.ask("time_settings 60 10 5")
        running.ask("time_left w 1 5")
        _, seconds = running.timed("genmove w")
        assert seconds < 10.0
        running.send("lz-analyze 10\n")
        assert running.line() == "="
        assert running.leave() == 0  # the end of input ends an analysis, too


@pytest.mark.parametrize(
    ("command", "farewell"),
    [
        ("genmove b", ""),
        pytest.param("kata-genmove_analyze b 10", "quit\n", marks=pytest.mark.slow),
    ],
)
def test_a_controller_that_leaves_stops_a_long_search(command: str, farewell: str) -> None:
    with engine("--simulations", "10000000", "--max-nodes", "20000") as running:
        assert running.ask("name") == "= miai mcts"
        running.send(f"{command}\n")
        time.sleep(0.3)
        assert running.process.poll() is None
        running.send(farewell)
        assert running.leave() == 0
        assert running.process.stderr.read() == b""


@pytest.mark.slow
def test_a_controller_that_leaves_before_the_engine_is_up_leaves_no_search() -> None:
    process = TalkingMiai(["gtp", "--simulations", "10000000", "--max-nodes", "20000"])
    process.stdin.write(b"genmove b\n")
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0
    process.close()


@pytest.mark.slow
def test_a_closed_pipe_to_the_controller_is_not_a_failure() -> None:
    process = TalkingMiai(["gtp", "--agent", "fast-random"])
    process.stdout.close()
    process.stdin.write(b"name\nname\n")
    assert process.wait() == 0
    assert process.stderr.read() == b""
    process.close()


def test_wrong_options_are_refused_in_one_line() -> None:
    def answer(line: str) -> str:
        return refusal(lambda: build_app()(["gtp", *line.split()], standalone_mode=False))

    assert_transcript("gtp/mistakes.txt", answer, prompt="$ miai gtp ")


def test_a_wrong_game_is_reported_in_one_line_and_not_to_the_controller() -> None:
    done = run_miai(["gtp", "--boardsize", "99"])
    assert done.returncode == 2
    assert "game.board_size: 99 is too large; at most 25" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


# -- whole games ----------------------------------------------------------------------------------


NOISY = """
import os, sys
from miai.cli.main import main
from miai_go.search.mcts import GoMcts
search = GoMcts.search
def noisy(self, *args, **options):
    print("from Python")
    os.write(1, b"from below\\n")
    return search(self, *args, **options)
GoMcts.search = noisy
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("size", "rules"), [(5, "tromp-taylor"), (9, "japanese")])
def test_our_gtp_agent_plays_whole_games_against_our_engine(
    size: int, rules: str, tmp_path: Path
) -> None:
    """What an engine's agent prints does not reach the controller."""
    game = load_game("go", board_size=size, rules=rules)
    command = [sys.executable, "-c", NOISY, "gtp", "--simulations", "100", "--seed", "{seed}"]
    ours = make_agent("gtp", game, command=command, timeouts={"startup": 120.0})
    record = play(game, [make_agent("fast-random", game), ours], seed=3, log_dir=tmp_path)
    ours.close()
    assert record.termination == Termination.TERMINAL, record.detail
    assert record.returns == (-1.0, 1.0)
    assert ours.version.startswith("miai mcts")
    log = (tmp_path / "white.log").read_text()
    assert log.count("from Python") == log.count("from below") > 5
