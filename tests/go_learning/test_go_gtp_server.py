"""The command `miai gtp`, a real process spoken to over pipes."""

from __future__ import annotations

import io
import json
import random
import re
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.go_learning.go_sizes_small import small_weights
from tests.go_learning.gtp_controllers import Talk, engine
from tests.warm_command import TalkingMiai, run_miai
from tests.whole_texts import FOLDER, assert_expected, assert_transcript, refusal

from miai import __version__, load_game, make_agent
from miai.cli.app import build_app
from miai.game import State
from miai.playing.match import play
from miai.record import Termination
from miai.search.agent import SearchAgent
from miai.search.protocol import SearchResult
from miai.values import ValueUnit
from miai_go.gtp.clocks import SessionClock, named_settings, plain_settings
from miai_go.gtp.players import SearchPlayer, SessionPlayer, player_maker
from miai_go.gtp.session_commands import COMMANDS, STREAMING
from miai_go.gtp.standard_io import divide_lines
from miai_go.gtp.wire import MAX_LINE_BYTES, TooLong
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.nets.oracle import Answers
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, GoState
from miai_go.search.tree_search import TreeSearch
from miai_go.sgf.reading import read_bytes

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


@pytest.mark.parametrize("analyse", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_controller_that_leaves_stops_a_long_search(analyse: bool) -> None:
    command, farewell = ("kata-genmove_analyze b 10", "quit\n") if analyse else ("genmove b", "")
    with engine("--simulations", "10000000", "--max-nodes", "20000") as running:
        assert running.ask("name") == "= miai mcts"
        running.send(f"{command}\n")
        time.sleep(0.3)
        assert running.process.poll() is None
        running.send(farewell)
        assert running.leave() == 0
        assert running.process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.parametrize("begins", [True, False])
def test_a_pipe_that_closes_leaves_no_search_and_is_no_failure(begins: bool) -> None:
    """Before the engine is up, or while it answers."""
    long = ["--simulations", "10000000", "--max-nodes", "20000"]
    process = TalkingMiai(["gtp", *(long if begins else ["--agent", "fast-random"])])
    process.stdout.close()
    process.stdin.write(b"genmove b\n" if begins else b"name\nname\n")
    if begins:
        process.stdin.close()
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
def test_our_gtp_agent_plays_games_with_our_engine(size: int, rules: str, tmp_path: Path) -> None:
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


# -- in one process: positions, rules, clocks, files, any input at all ----------------------------


def test_every_command_is_listed_and_on_the_page() -> None:
    listed = Talk().ok("list_commands").split("\n")
    assert listed == sorted({*COMMANDS, *STREAMING})
    page = (Path(__file__).parents[2] / "docs" / "gtp.md").read_text(encoding="utf-8")
    output = set(re.findall(r"`([\w-]+)[^`]*`", page.partition("### Commands")[2]))
    assert output >= {*COMMANDS, *STREAMING}


@pytest.mark.parametrize("name", ["session", "analysis"])
def test_a_session_is_answered_line_by_line(name: str) -> None:
    """The commands are the lines of the file that begin with ``>``."""
    rules: Any = {"board_size": 9, "komi": 7.5, "rules": "japanese"}
    talk = Talk(**rules) if name == "session" else talk_of(Peeking)
    path = FOLDER / "gtp" / f"{name}.txt"
    commands = [line for line in path.read_text("utf-8").splitlines() if line.startswith("> ")]
    text = "".join(f"{line}\n{talk.raw(line[2:].encode())}" for line in commands)
    assert_expected(f"gtp/{name}.txt", text.replace(f"miai:{__version__}", "miai"))
    if name == "session":
        assert [(clock.left, clock.stones) for clock in talk.session.clocks] == [(0, 0), (7.5, 3)]


# -- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "aga", "japanese"])
def test_moves_are_legal_exactly_where_the_game_says_so(rules: str) -> None:
    rng = random.Random(7)
    talk = Talk("random", board_size=3, rules=rules)
    state = load_game("go", board_size=3, rules=rules, repetition="allowed").new_initial_state()
    assert isinstance(state, GoState)
    reasons: list[str] = []
    for _ in range(60):
        color = "bw"[state.to_move]
        for point in range(9):
            answer = talk.raw(f"play {color} {vertex(point, 3)}".encode())
            legal = answer.startswith("=")
            assert legal == state.is_legal(point), f"{rules}: {state.history()} {point}"
            if legal:
                talk.ok("undo")
            else:
                reasons.append(answer)
        points = state.legal_actions()[:-1] or [9]
        action = rng.choice(points)
        if action == 9 and state.passes:
            break
        talk.ok(f"play {color} {vertex(action, 3)}")
        state.apply_action(action)
    assert len(reasons) >= 30
    superko = any("would repeat" in reason for reason in reasons)
    assert superko == (rules in ("tromp-taylor", "chinese"))


def test_colours_may_play_twice_and_after_two_passes() -> None:
    talk = Talk()
    talk.play("b:C3 b:C2 w:pass w:B2 pass pass")
    assert talk.session.table.state.is_terminal()
    talk.ok("play w D4")
    talk.ok("play b D3")
    stones = talk.session.table.state.board.stones()
    assert {(2, 2), (1, 2), (2, 3)} == set(zip(*np.nonzero(stones == 1), strict=True))
    assert {(1, 1), (3, 3)} == set(zip(*np.nonzero(stones == 2), strict=True))
    assert talk.ok("genmove b") != "pass"
    assert talk.ok("genmove b")
    moves = len(talk.session.table.moves)
    for _ in range(moves):
        talk.ok("undo")
    assert talk.fails("undo") == "cannot undo"
    assert not talk.session.table.state.board.stones().any()
    assert talk.session.table.state.history() == []


def test_a_move_of_the_other_colour_is_asked_for_and_answered_for_it() -> None:
    talk = Talk()
    answer = talk.ok("genmove w")
    assert talk.session.table.moves == [(1, talk.session.table.state.history()[-1])]
    assert answer != "resign"
    assert talk.ok("reg_genmove w")
    assert len(talk.session.table.moves) == 1


def test_cleaning_up_captures_the_dead_before_it_passes() -> None:
    talk = Talk(rules="chinese", komi=0.5)
    talk.play("b:C1 b:C2 b:C3 b:C4 b:C5 w:D1 w:D2 w:D3 w:D4 w:D5 w:E2 w:E4 w:A5")
    choose, choices = talk.session.player.choose, []
    talk.session.player.choose = lambda *a, **k: choices.append(1) or choose(*a, **k)  # type: ignore[method-assign, func-returns-value]
    for moves in range(12):
        assert len(choices) == moves, "one search for each move, as its time is for one"
        if talk.ok("kgs-genmove_cleanup b") == "pass":
            break
        talk.ok("play w pass")
    assert talk.session.table.state.board.color_at(20) != 2
    assert (talk.session.table.state.board.stones() == 1).sum() >= 6


# -- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["tromp-taylor", "chinese", "japanese", "aga", "new-zealand", "korean"]
)
def test_rules_sent_and_read_back_are_equal(name: str) -> None:
    talk, other = Talk(), Talk()
    talk.ok("komi 3")
    talk.ok(f"kata-set-rules {name}")
    output = talk.ok("kata-get-rules")
    other.ok(f"kata-set-rules {output}")
    assert other.ok("kata-get-rules") == output
    assert talk.ok("get_komi") == "3"
    fields = json.loads(output)
    assert fields["scoring"] == ("TERRITORY" if name in ("japanese", "korean") else "AREA")


# -- clocks ---------------------------------------------------------------------------------------


def test_clocks_run_as_their_settings_say() -> None:
    kinds = ("none", "absolute 60", "canadian 40 20 3", "byoyomi 30 10 3", "fischer 30 5")
    lines = []
    for words in (*kinds, "fischer-capped 60 5 62 8", "300 0 0", "0 10 0", "0 10 2"):
        read = named_settings if words[0].isalpha() else plain_settings
        clock = SessionClock(read(words.split()))
        for spent in (0.0, 5.0, 30.0, 12.5, 4.0, 25.0, 3.0, 1.0):
            clock.charge(spent)
            text = f"{words}, after {spent:g}: {clock.left:g} {clock.stones}"
            lines.append(f"{text} {clock.move_time(20)}")
    bridged = ("canadian 60 2 1", 30.0, 1)  # a Fischer clock, as bridges send it
    for words, seconds, stones in (("none", 10.0, 2), ("none", 10.0, 0), bridged):
        clock = SessionClock(named_settings(words.split()))
        clock.set_left(seconds, stones)
        lines.append(f"{clock.settings} {clock.left:g} {clock.stones} {clock.move_time(20)}")
    assert_expected("gtp/clocks.txt", "\n".join(lines) + "\n")


def test_a_move_that_ends_in_overtime_counts_there() -> None:
    for words, moves, expected in (
        ("byoyomi 10 5 3", [10, 4, 5], (5, 3)),
        ("byoyomi 10 5 3", [17], (5, 2)),  # 5 of the 7 seconds beyond main time are a period
        ("byoyomi 10 5 3", [10, 5.5, 3, 6], (5, 1)),
        ("canadian 10 30 4", [17, 8], (15, 2)),
        ("canadian 10 30 4", [17, 8, 8, 1], (30, 4)),
    ):
        clock = SessionClock(named_settings(words.split()))
        for spent in moves:
            clock.charge(spent)
        assert (clock.left, clock.stones) == expected


# -- analysis -------------------------------------------------------------------------------------


def test_avoided_and_disallowed_moves_are_not_reported() -> None:
    talk = Talk()
    output = re.compile(r"info move (\w+)")
    only = talk.ok("lz-analyze b 1 allow b A1,B2 1")
    assert set(output.findall(only)) <= {"A1", "B2"}
    assert "C3" not in output.findall(talk.ok("lz-analyze 1 avoid b C3 1 avoid w A1 3"))
    assert "no legal move" in talk.fails("kata-analyze allow b A1 1 avoid b A1 1")
    assert talk.ok("kata-genmove_analyze b 1 allow b A1 1").endswith("play A1")


def test_agents_that_do_not_search_play_and_are_not_analysed() -> None:
    talk = Talk("fast-random")
    assert talk.ok("genmove b")
    assert talk.ok("lz-genmove_analyze w").startswith("play ")
    assert "does not search" in talk.fails("lz-analyze")


def test_an_agent_defect_is_reported_and_survived(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(Peeking):
        def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
            raise RuntimeError("a defect")

    talk = talk_of(Broken)
    assert talk.fails("genmove b") == "the engine failed: RuntimeError: a defect"
    assert talk.ok("name")
    assert "Traceback" in capfd.readouterr().err


class Peeking:
    """A search with a network of hand: every move's logit is how far it lies from C3."""

    def __init__(self, game: GoGame) -> None:
        self.oracle = Distances()

    def new_game(self, seed: int) -> None:
        pass

    def advance(self, action: int) -> None:
        pass

    def close(self) -> None:
        pass

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        return SearchResult(action=state.legal_actions()[0], value=0.0)

    def analyse(self, state: State, *, seconds: float) -> SearchResult:
        return SearchResult(
            action=0,
            value=0.5,
            visits={0: 3, 1: 1},
            statistics={"priors": {"0": 0.25, "1": 0.5}, "scores": [[0, 1.5]]},
        )


class Distances:
    has_policy = has_value = True

    def __init__(self) -> None:
        self.encoder: Encoder = load_encoder("zero", 5)

    def infer(self, planes: NDArray[np.uint8]) -> Answers:
        own = planes[:, 0].astype(np.float32).reshape(len(planes), 25)
        policy = np.concatenate([5 * own, np.zeros((len(planes), 1), np.float32)], axis=1)
        value = np.full(len(planes), 0.5, np.float32)
        return Answers(policy, value, ownership=own.reshape(len(planes), 5, 5))

    def statistics(self) -> dict[str, float]:
        return {}


def player_of(game: GoGame, search: Peeking) -> SessionPlayer:
    return SearchPlayer(SearchAgent(game, search), 0)


def talk_of(search: type[Peeking], **values: Any) -> Talk:
    return Talk(maker=lambda game, seed: player_of(game, search(game)), **values)


def test_network_values_have_the_right_sign() -> None:
    talk = talk_of(Peeking)
    talk.ok("play b B1")
    talk.ok("play w pass")
    blocks = talk.ok("kata-raw-nn all").split("symmetry ")[1:]
    assert [block[0] for block in blocks] == list("01234567")
    assert len({block[1:].strip() for block in blocks}) == 1  # turned back, all are the same
    lines = blocks[0].split("\n")
    assert "whiteWin 0.250000" in lines  # Black is to move, and half ahead
    policy = lines.index("policy")
    assert lines[policy + 5].split()[1] == "NAN"  # B1, in the lowest row, which comes last
    owned = lines.index("whiteOwnership")
    assert lines[owned + 5].split()[1] == "-1.000000"
    assert sum(line.count("-1.000000") for line in lines[owned:]) == 1
    assert "kata-raw-nn takes a symmetry" in talk.fails("kata-raw-nn 8")


def test_network_searches_report_priors_and_scores() -> None:
    talk = talk_of(Peeking)
    line = talk.ok("kata-analyze").split("\n")[-1]
    assert "info move A1 visits 3 utility 0.5" in line
    assert "scoreMean 1.5000 scoreLead 1.5000 prior 0.250000" in line
    assert "move B1 visits 1" in line
    assert "prior 0.500000" in line
    assert talk.ok("kata-analyze maxmoves 0").split("\n")[-1].count("info move") == 1
    output = talk.ok("kata-analyze minmoves 26").split("\n")[-1]
    assert output.count("info move") == 26
    assert sum(map(float, re.findall(r"prior (\S+)", output))) == pytest.approx(1.0, abs=1e-4)


class Greedy(Distances):
    """Expects the player to move to own the whole board, or nothing where it has no such head."""

    def __init__(self, *, owners: bool) -> None:
        super().__init__()
        self._owners = owners

    def infer(self, planes: NDArray[np.uint8]) -> Answers:
        board = np.ones((len(planes), 5, 5), np.float32)
        return super().infer(planes)._replace(ownership=board if self._owners else None)


REFEREE = {"rules": "chinese", "dead_stones": "referee", "referee": "none"}


@pytest.mark.parametrize(
    ("rules", "owners", "dead", "score"),
    [
        ({"rules": "chinese"}, True, ["B2", "C3 D3"], ["B+24.5", "W+25.5"]),
        ({"rules": "chinese"}, False, ["B2", "B2"], None),  # by playouts
        ({"rules": "tromp-taylor"}, True, ["", ""], ["B+0.5", "B+0.5"]),
        (REFEREE, True, ["", ""], ["B+0.5", "B+0.5"]),
    ],
)
def test_the_players_network_finds_dead_stones_where_no_referee_does(
    rules: dict[str, str], owners: bool, dead: list[str], score: list[str] | None
) -> None:
    class Owning(Peeking):
        def __init__(self, game: GoGame) -> None:
            self.oracle = Greedy(owners=owners)

    talk = talk_of(Owning, komi=0.5, **rules)
    talk.play("C3 B2 D3 pass")
    for turn in (0, 1):
        assert talk.ok("final_status_list dead") == dead[turn]
        if score is not None:
            assert talk.ok("final_score") == score[turn]
        talk.ok("play b pass")


class Valued(Peeking):
    """A search that values the position at 0.5 in a unit of its own."""

    unit = ValueUnit.UTILITY

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        return SearchResult(action=12, value=0.5, unit=self.unit, visits={12: 3}, values={12: 0.5})

    def analyse(self, state: State, *, seconds: float) -> SearchResult:
        return self.search(state)


@pytest.mark.parametrize(
    ("unit", "text", "winrate"),
    [
        (ValueUnit.EXPECTED_UTILITY, "win rate 75.0 %", 0.75),
        (ValueUnit.UTILITY, "utility +0.50", 0.75),
        (ValueUnit.PROBABILITY, "win rate 50.0 %", 0.5),
        (ValueUnit.CENTIPAWNS, "evaluation +0.01 pawns", 0.5),  # the protocol demands a rate
        (ValueUnit.SCORE, "score +0.50", 0.5),
    ],
)
def test_values_are_reported_in_their_unit(
    unit: ValueUnit, text: str, winrate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Valued, "unit", unit)
    talk = talk_of(Valued)
    line = talk.ok("kata-analyze rootInfo true").split("\n")[-1]
    assert re.findall(r"winrate (\S+)", line) == [f"{winrate:.6f}"] * 2
    assert re.findall(r"utility (\S+)", line) == [f"{2 * winrate - 1:.6f}"] * 2
    talk.ok("genmove b")
    output = talk.ok("gomill-explain_last_move").split("\n")
    assert output == [f"C3: {text}", f"C3: 3 visits, {text}"]


def searching(simulations: int) -> Talk:
    own = {"simulations": simulations, "max_nodes": 100_000}
    return Talk(maker=player_maker("mcts", own), board_size=7)


def infos_of(answer: str) -> list[str]:
    return [line for line in answer.split("\n") if line.startswith("info ")]


def test_an_analysed_move_is_the_one_that_is_made_without_analysis() -> None:
    plain, analysed = searching(3000), searching(3000)
    for color in "bwbw":
        made = plain.ok(f"genmove {color}")
        answer = analysed.ok(f"kata-genmove_analyze {color} 1")
        assert answer.endswith(f"\nplay {made}")
        visits = [re.findall(r"move \w+ visits (\d+)", line) for line in infos_of(answer)]
        counts = [sum(map(int, each)) for each in visits]
        assert counts == sorted(counts)
        assert counts[-1] >= 3000
    assert len(infos_of(searching(25_000).ok("lz-genmove_analyze b 1"))) > 2, "found meanwhile"


@pytest.mark.slow
def test_time_alone_limits_a_network_search_that_is_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TreeSearch, "_only_time_limits", lambda _search: False)
    weights = small_weights(tmp_path / "small.safetensors", (7,))
    assert weights.sizes == (7,)
    own = {"weights": str(tmp_path / "small.safetensors")}
    talk = Talk(maker=player_maker("alphazero", own), board_size=7)
    talk.ok("time_left b 1 1")
    began = time.monotonic()
    talk.ok("kata-genmove_analyze b 10")
    assert time.monotonic() - began > 0.8
    assert isinstance(talk.session.player, SearchPlayer)
    assert talk.session.player.search._limit == 0  # type: ignore[attr-defined]  # simulations


# -- files ----------------------------------------------------------------------------------------


def test_a_game_goes_to_a_file_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    talk = Talk(board_size=5, rules="japanese", komi=2.5)
    talk.play("C3 C4 D4 pass")
    talk.ok(f"printsgf {file}")
    assert file.read_text().strip() == talk.ok("printsgf")
    other = Talk(board_size=9)
    other.ok(f"loadsgf {file}")
    assert other.ok("get_komi") == "2.5"
    assert json.loads(other.ok("kata-get-rules"))["scoring"] == "TERRITORY"
    assert other.session.table.moves == talk.session.table.moves
    other.ok(f"loadsgf {file} 3")  # the position before move 3
    assert other.session.table.moves == talk.session.table.moves[:2]
    assert list(tmp_path.iterdir()) == [file]

    talk = Talk(board_size=9, rules="chinese")
    talk.ok("fixed_handicap 3")
    talk.play("w:E5 C5")
    file.write_text(talk.ok("printsgf"))
    assert read_bytes(file.read_bytes())[0].handicap == 3
    other.ok(f"loadsgf {file}")
    assert other.ok("printsgf") == talk.ok("printsgf")


@pytest.mark.parametrize("data", [b"", b"garbage", b"(;GM[1]SZ[9];B[zz])"])
def test_files_that_cannot_be_played_change_nothing(data: bytes, tmp_path: Path) -> None:
    talk = Talk()
    talk.ok("play b C3")
    (tmp_path / "x.sgf").write_bytes(data)
    for name in ("x.sgf", "none.sgf"):
        assert talk.fails(f"loadsgf {tmp_path / name}").startswith("cannot load file")
    assert "cannot write" in talk.fails(f"printsgf {tmp_path / 'no' / 'x.sgf'}")
    assert talk.session.table.moves == [(0, 12)]
    assert talk.ok("genmove w")


# -- any input ------------------------------------------------------------------------------------

VERTICES = st.sampled_from(["A1", "B2", "C3", "D4", "E5", "e1", "pass", "Z9", "I1", ""])
COLORS = st.sampled_from(["b", "w", "BLACK", "white", "x", ""])
NUMBERS = st.sampled_from(["0", "1", "2", "5", "7.5", "-3", "nan", "1e9", "99999999999999999999"])
WORDS = st.one_of(
    VERTICES, COLORS, NUMBERS, st.sampled_from(["chinese", "japanese", "interval", "true", "dead"])
)
# Without those that take files, and the end.
NAMES = st.sampled_from(sorted({*COMMANDS, *STREAMING} - {"loadsgf", "printsgf", "quit"}))
LIKELY = st.one_of(
    st.builds("play {} {}".format, COLORS, VERTICES),
    st.builds("genmove {}".format, COLORS),
    st.sampled_from(["undo", "clear_board", "boardsize 3", "boardsize 5", "kata-analyze 1"]),
    st.builds(lambda name, words: " ".join([name, *words]), NAMES, st.lists(WORDS, max_size=4)),
)
LINES = st.one_of(LIKELY.map(str.encode), st.binary(max_size=60).filter(lambda b: b"\n" not in b))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(st.lists(LINES, max_size=25))
def test_any_lines_are_answered_and_nothing_breaks(lines: list[bytes]) -> None:
    talk = Talk(board_size=3)
    for line in lines:
        answer = talk.raw(line)
        if answer:
            assert re.fullmatch(r"[=?]\d*( [^\n]*)?(\n[^\n]+)*\n\n", answer), (line, answer)
            assert "the engine failed" not in answer, (lines, answer)
        state = talk.session.table.state
        assert len(talk.session.table.moves) <= state.move_number()
    assert talk.ok("protocol_version") == "2"


class Pieces(io.RawIOBase):
    """A stream whose bytes come in pieces, none of them empty."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        if len(piece) > len(buffer):
            self._pieces.insert(0, piece[len(buffer) :])
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        return count


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_lines_are_the_same_however_they_come(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    *wanted, rest = data.split(b"\n")
    lines = [*wanted, rest] if rest else wanted
    assert list(divide_lines(io.BufferedReader(Pieces(pieces)))) == lines
    assert list(divide_lines(io.BytesIO(data))) == lines


def test_a_line_is_too_long_by_one_byte() -> None:
    data = b"a" * MAX_LINE_BYTES + b"\n" + b"a" * (MAX_LINE_BYTES + 1) + b"\nb\n"
    lines = list(divide_lines(io.BytesIO(data)))
    assert lines[0] == b"a" * MAX_LINE_BYTES
    assert isinstance(lines[1], TooLong)
    assert lines[2:] == [b"b"]
