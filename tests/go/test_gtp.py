"""External GTP engines as players: real processes that behave, and that misbehave in every way."""

import itertools
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.go.engine_processes import all_gone, running_with
from tests.go.positions import go
from tests.go.positions import play as play_moves
from tests.slow import with_slow

from miai import TimeControl, load_game, make_agent
from miai.clock import Clock, ClockReading
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    ConfigError,
)
from miai.parameters import build_parameters
from miai.playing.match import play
from miai.playing.replay import record_of_actions, replay
from miai.process import programs
from miai.process.agent_process import AgentProcess
from miai.process.programs import ProgramProcess
from miai.process.sandbox import Isolation, ProcessLimits, sandbox_hindrance
from miai.record import Termination
from miai_go.gtp import client as gtp_client
from miai_go.gtp.agent import (
    ClockDialect,
    GtpAgent,
    GtpJudge,
    dialect_for,
    time_left,
    time_settings,
)
from miai_go.gtp.client import EngineLog, GtpClient, Response, ResponseReader
from miai_go.gtp.engine_parameters import GtpParameters, engine_seed
from miai_go.learning.data.importing import GameFilters, ImportReport, import_games
from miai_go.rules.coordinates import parse_vertex
from miai_go.rules.dead_stones import RefereeError
from miai_go.rules.game import GoState, Phase

ENGINE = [sys.executable, "-S", "-E", str(Path(__file__).parent / "engines" / "engine.py")]

pytestmark = pytest.mark.usefixtures("token")
NO_CLOCK = ClockReading(control=TimeControl())


MakeAgent = Callable[..., GtpAgent]
MakeClient = Callable[..., GtpClient]


@pytest.fixture
def agent() -> Iterator[MakeAgent]:
    """Make agents whose engine is the test engine with some options."""
    with ExitStack() as stack:

        def make(*options: str, game: dict[str, Any] | None = None, **values: Any) -> GtpAgent:
            given = {"command": [*ENGINE, *options], "probe": False, **values}
            parameters = build_parameters(GtpParameters, given)
            made = GtpAgent(go(**{"board_size": 5, **(game or {})}), parameters)
            return stack.enter_context(closing(made))

        yield make


@pytest.fixture
def client() -> Iterator[MakeClient]:
    with ExitStack() as stack:

        def make(*options: str, limit: int = gtp_client.MAX_OUTPUT_BYTES) -> GtpClient:
            engine = ProgramProcess([*ENGINE, *options])
            made = GtpClient(engine, EngineLog(), who="engine 'test'", limit=limit)
            return stack.enter_context(closing(made))

        yield make


def begin(agent: GtpAgent, *, player: int = 0, seed: int = 1, log: Path | None = None) -> None:
    """Begin a game and tell the agent of it, as a referee does."""
    agent.new_game(seed, player=player, log=log)
    output = agent.game.new_initial_state().observation(player)
    assert output is not None
    agent.observe(output)


def tell(agent: GtpAgent, *moves: str) -> GoState:
    """Have the agent observe moves, of whoever is to move; return the state that it sees."""
    for move in moves:
        state = agent.view.state.clone()
        state.apply_action(state.string_to_action(move))
        output = state.observation(agent.view.player)
        assert output is not None
        agent.observe(output)
    assert isinstance(agent.view.state, GoState)
    return agent.view.state


def sent(log: Path) -> list[str]:
    """Return the commands in a log, without their identity numbers."""
    lines = log.read_text().splitlines()
    return [re.sub(r"^\d+ ", "", line[11:]) for line in lines if line[9] == ">"]


# -- responses --------------------------------------------------------------------------------


def read_all(data: bytes, cuts: list[int] | None = None) -> list[Response]:
    reader = ResponseReader(lambda line: None)
    found = []
    edges = [0, *sorted(cuts or []), len(data)]
    for start, end in itertools.pairwise(edges):
        reader.feed(data[start:end])
        while (response := reader.next()) is not None:
            found.append(response)
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"=\n\n", Response(True, None, "")),
        (b"= \n\n", Response(True, None, "")),
        (b"=7\n\n", Response(True, 7, "")),
        (b"=7 D4\n\n", Response(True, 7, "D4")),
        (b"= D4\n\n", Response(True, None, "D4")),
        (b"=D4\n\n", Response(True, None, "D4")),
        (b"= 7.5\n\n", Response(True, None, "7.5")),
        (b"? unknown command\n\n", Response(False, None, "unknown command")),
        (b"?3 syntax error\n\n", Response(False, 3, "syntax error")),
        (b"=1 a\nb\n c \n\n", Response(True, 1, "a\nb\n c")),
        (b"=1\nA1 B2\nC3\n\n", Response(True, 1, "\nA1 B2\nC3")),
        (b"=1 D4\r\n\r\n", Response(True, 1, "D4")),
        (b"=1\tD4\tE5\n\n", Response(True, 1, "D4 E5")),
        (b"\n\r\n  \n# hello\n=1 D4\n\n", Response(True, 1, "D4")),
        (b"=1 # no comment\n\n", Response(True, 1, "# no comment")),
        (b"=1 a\n# b\n\n", Response(True, 1, "a\n# b")),
        (b"=1 \x00\x07D\x7f4\n\n", Response(True, 1, "D4")),
        (b"=1 caf\xc3\xa9 \xff\n\n", Response(True, 1, "caf\u00e9 \ufffd")),
    ],
)
def test_a_response_is_read_as_the_specification_has_it(data: bytes, expected: Response) -> None:
    assert read_all(data) == [expected]
    assert read_all(2 * data, list(range(2 * len(data)))) == [expected, expected]


@pytest.mark.parametrize("data", [b"hello\n", b"D4\n\n", b"!1\n", b" = 4\n"])
def test_a_line_that_does_not_begin_a_response_is_refused(data: bytes) -> None:
    with pytest.raises(AgentProtocolError, match="begins with '=' or '\\?'"):
        read_all(data)


@pytest.mark.parametrize("data", [b"=" + b"x" * 70_000, b"= a\n" + (b"y" * 60_000 + b"\n") * 20])
def test_lines_and_responses_are_bounded(data: bytes) -> None:
    with pytest.raises(AgentFloodError, match="more than"):
        read_all(data)


# -- parameters and the way to the engine -----------------------------------------------------


def test_a_command_is_a_list_or_one_line_without_a_shell() -> None:
    line = build_parameters(GtpParameters, {"command": "gnugo --level '3 4' $HOME;ls"})
    assert line.command == ("gnugo", "--level", "3 4", "$HOME;ls")
    listed = build_parameters(GtpParameters, {"command": ["gnugo", "--level", "3 4"]})
    assert listed.command == ("gnugo", "--level", "3 4")


def test_an_engine_is_found_off_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "games" / "gnugo"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(programs, "MORE_FOLDERS", (str(program.parent),))
    assert gtp_client.find_engine("gnugo") == program
    assert gtp_client.find_engine(str(program)) == program


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("gnugo", "apt install gnugo"),
        ("leelaz", "apt install leela-zero"),
        ("pachi", "is a platform game"),
        ("katago", "needs a network"),
        ("my-engine", "give its whole path"),
    ],
)
def test_a_missing_engine_is_named_with_its_package_and_where_it_was_looked_for(
    program: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "MORE_FOLDERS", ("/no/such/games",))
    with pytest.raises(AgentUnavailableError) as caught:
        make_agent("gtp", load_game("go"), command=f"{program} --mode gtp")
    for part in (f"'{program}'", package, "on PATH and in 1 usual folder"):
        assert part in str(caught.value)


def test_a_file_that_is_not_executable_is_not_an_engine(tmp_path: Path) -> None:
    file = tmp_path / "engine"
    for path, why in ((tmp_path / "none", "is missing"), (tmp_path, "is a folder")):
        with pytest.raises(AgentUnavailableError, match=why):
            gtp_client.find_engine(str(path))
    file.write_text("no program")
    with pytest.raises(AgentUnavailableError, match="may not be run"):
        gtp_client.find_engine(str(file))
    file.chmod(0o755)
    with pytest.raises(AgentUnavailableError, match="cannot be started"):
        ProgramProcess([str(file)], advice=gtp_client.ADVICE)


def test_other_games_are_refused() -> None:
    with pytest.raises(AgentUnavailableError, match="play go, not tic_tac_toe"):
        GtpAgent(load_game("tic_tac_toe"), GtpParameters(command=tuple(ENGINE)))


def test_working_directory_and_environment_are_the_engine_s_own(
    tmp_path: Path, agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "salt")
    script = tmp_path / "where"
    script.write_text(f'#!/bin/sh\necho "$PWD $FLAVOUR$MY_SECRET" >&2\nexec {shlex.join(ENGINE)}\n')
    script.chmod(0o755)
    player = agent(command=[str(script)], cwd=str(tmp_path), environment={"FLAVOUR": "mint"})
    log = tmp_path / "log"
    begin(player, log=log)
    player.act(NO_CLOCK)
    assert f"! {tmp_path} mint\n" in log.read_text()


# -- one command ------------------------------------------------------------------------------


def test_a_client_learns_who_the_engine_is(client: MakeClient) -> None:
    engine = client("--knows", "kata-time_settings")
    engine.handshake(seconds=10)
    assert (engine.name, engine.version) == ("Test Engine", "1.5")
    assert engine.knows("genmove")
    assert engine.knows("kata-time_settings")
    assert not engine.knows("undo")
    assert engine.ask("genmove b", seconds=10) == "D4"
    with pytest.raises(AgentProtocolError, match="refused 'undo': unknown command"):
        engine.ask("undo", seconds=10)
    assert engine.ask("genmove b", seconds=10) == "E5"  # a refusal is no death


def test_an_engine_without_identity_numbers_is_spoken_to_without(
    client: MakeClient,
) -> None:
    engine = client("--no-ids")
    engine.handshake(seconds=10)
    assert engine.name == "Test Engine"
    assert engine.ask("genmove b", seconds=10) == "D4"


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        ("die", AgentCrashedError, "exited with status 3; .*first line / out of luck"),
        ("crash", AgentCrashedError, "was killed by SIGSEGV"),
        ("leave-child", AgentCrashedError, "exited with status 4"),
        ("hang", AgentTimeoutError, "gave no answer to 'genmove b' within 0.4 s"),
        ("hang-stubbornly", AgentTimeoutError, "gave no answer to 'genmove b' within 0.4 s"),
        ("flood-output", AgentFloodError, "more than"),
        ("flood-line", AgentFloodError, "a line of more than 65536 bytes"),
        ("flood-unasked", AgentFloodError, "more than 200000 bytes of output"),
        ("flood-errors", AgentFloodError, "more than 200000 bytes to standard error"),
        ("nonsense", AgentProtocolError, "'What would you like to do\\?'"),
        ("another-id", AgentProtocolError, "answered command 6 instead of 5"),
        ("close-output", AgentProtocolError, "closed its output"),
    ],
)
def test_an_engine_s_mistake_is_reported_and_ends_the_game(
    mode: str, error: type[AgentError], message: str, client: MakeClient, token: str
) -> None:
    engine = client("--mode", mode, limit=200_000)
    engine.handshake(seconds=10)
    began = time.monotonic()
    with pytest.raises(error, match=message) as caught:
        engine.ask("genmove b", seconds=0.4 if "hang" in mode else 10)
    assert time.monotonic() - began < 9
    assert str(caught.value).startswith("engine 'test' ")
    assert not engine.is_alive()
    assert all_gone(token)
    with pytest.raises(AgentCrashedError, match="is not running"):
        engine.ask("name", seconds=1)


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        ("twice", AgentProtocolError, "nobody asked for|instead of"),
        ("answer-and-die", AgentCrashedError, "exited with status 5"),
        ("answer-and-close-input", AgentProtocolError, "closed its input and went on running"),
    ],
)
def test_an_answer_counts_whatever_follows_it(
    mode: str, error: type[AgentError], message: str, client: MakeClient
) -> None:
    engine = client("--mode", mode)
    engine.handshake(seconds=10)
    assert engine.ask("genmove b", seconds=10) == "D4"
    with pytest.raises(error, match=message):
        engine.ask("name", seconds=10)


def test_an_engine_that_fills_its_standard_error_blocks_nobody(
    client: MakeClient,
) -> None:
    engine = client("--mode", "chatter", "--moves", "")
    engine.handshake(seconds=10)
    for _ in range(3):  # 2 MB each, a pipe holds 64 KiB
        assert engine.ask("genmove b", seconds=20) == "D4"
        engine.new_game(EngineLog())


def test_an_engine_that_reads_no_input_blocks_nobody(client: MakeClient) -> None:
    engine = client("--mode", "hang", "--at", "start")
    with pytest.raises(AgentTimeoutError):
        engine.command("x" * 300_000, seconds=0.4)


def test_an_interruption_leaves_no_old_answer(client: MakeClient, token: str) -> None:
    engine = client("--mode", "hang")
    engine.handshake(seconds=10)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.ask("genmove b", seconds=10)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert all_gone(token)


# -- the end of processes ---------------------------------------------------------------------


def test_an_engine_that_ignores_every_request_to_quit_is_killed_with_its_child(
    client: MakeClient, token: str
) -> None:
    engine = client("--stubborn")
    engine.handshake(seconds=10)
    assert len(running_with(token)) == 2
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 10
    assert all_gone(token)


def test_cpu_time_of_the_engine_and_its_children_is_counted(agent: MakeAgent) -> None:
    player = agent("--mode", "burn", "--knows", "kgs-genmove_cleanup")
    begin(player)
    before = player.cpu_seconds()
    player.act(NO_CLOCK)
    used = player.cpu_seconds() - before
    assert 0.25 <= used <= 1.0
    player.end((1.0, -1.0))
    assert player.cpu_seconds() >= before + used
    begin(player)
    assert player.cpu_seconds() >= before + used


# -- games ------------------------------------------------------------------------------------


def test_an_engine_plays_a_game(agent: MakeAgent, tmp_path: Path) -> None:
    player = agent("--moves", "c3,d4,pass")
    begin(player, log=tmp_path / "log")
    size = 5
    assert player.act(NO_CLOCK).action == parse_vertex("C3", size)
    tell(player, "C3", "B2")
    assert player.act(NO_CLOCK).action == parse_vertex("D4", size)
    tell(player, "D4", "pass")
    assert player.act(NO_CLOCK).action == size * size
    assert player.version == "Test Engine 1.5"
    assert sent(tmp_path / "log") == [
        *("protocol_version", "name", "version", "list_commands"),
        *("boardsize 5", "clear_board", "komi 7.5"),
        *("genmove b", "play w B2", "genmove b", "play w pass", "genmove b"),
    ]


def test_an_engine_may_resign(agent: MakeAgent) -> None:
    player = agent("--moves", "Resign")
    record = play(player.game, [player, make_agent("random", player.game)])
    assert record.termination == Termination.RESIGNATION
    assert record.returns == (-1.0, 1.0)


def test_an_illegal_move_is_for_the_referee_to_judge(agent: MakeAgent) -> None:
    player, other = agent("--moves", "A1,A1"), agent("--moves", "B1")
    record = play(player.game, [player, other])
    assert record.termination == Termination.ILLEGAL_ACTION
    assert record.loser == 0
    assert "(A1) is not legal at ply 2" in record.detail


@pytest.mark.parametrize("answer", ["Z9", "hello", "A0", "E6", "A1 B2", "I3", "25"])
def test_an_answer_must_be_a_vertex(answer: str, agent: MakeAgent, token: str) -> None:
    player = agent("--moves", answer)
    begin(player)
    with pytest.raises(AgentProtocolError, match="asked for a move"):
        player.act(NO_CLOCK)
    assert all_gone(token)
    with pytest.raises(AgentCrashedError, match="is not running"):
        player.act(NO_CLOCK)


def test_a_legal_move_that_the_engine_refuses_ends_its_game(agent: MakeAgent) -> None:
    player = agent("--refuse", "play")
    begin(player, player=1)
    tell(player, "C3")
    with pytest.raises(AgentProtocolError, match=r"refused C3 of black .*positional.*allowed"):
        player.act(NO_CLOCK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--refuse", "boardsize"], "does not play on a board of size 5: not today"),
        (["--refuse", "kata-set-rules"], "not today.*rules = 'own'"),
        (["--mode", "die", "--at", "start"], "exited with status 3.*out of luck"),
        (["--mode", "nonsense", "--at", "start"], "GTP mode"),
        (["--mode", "hang-stubbornly", "--at", "start"], r"'protocol_version' within 0\.\d+ s"),
        (["--protocol", "3"], "of GTP, not 2"),
        (["--refuse", "seed"], "refused 'seed 2': not today$"),
        (["--lacks", "genmove,komi"], "does not know komi, genmove, which every player needs"),
    ],
)
def test_an_engine_that_cannot_start_or_play_this_is_unavailable(
    options: list[str], message: str, agent: MakeAgent, token: str
) -> None:
    more: dict[str, Any] = {"timeouts": {"startup": 0.4}} if "hang-stubbornly" in options else {}
    known = ("--knows", "seed,kata-set-rules")
    with pytest.raises(AgentUnavailableError, match=message):
        agent(*known, *options, startup=["seed {seed}"], **more).new_game(1, player=0)
    assert all_gone(token)


def test_suicide_is_tried_once_and_leaves_no_stones(agent: MakeAgent, tmp_path: Path) -> None:
    player = agent(probe=True, restart="never")
    for number in range(2):
        begin(player, log=tmp_path / f"log{number}")
        player.end((1.0, -1.0))
    first, second = (sent(tmp_path / f"log{number}") for number in range(2))
    start = ["boardsize 5", "clear_board"]
    probe = ["play b A1", "play w A2", "play w B2", "play w C1", "play b B1"]
    assert first[4:] == [*start, "komi 7.5", *start, *probe, *start, "komi 7.5"]
    assert second == [*start, "komi 7.5"]


@pytest.mark.parametrize("game", [{"rules": "chinese"}, {"board_size": 2}])
def test_suicide_is_tried_only_where_it_can_be(game: dict[str, Any], agent: MakeAgent) -> None:
    begin(agent("--refuse", "play", game=game, probe=True))


@pytest.mark.parametrize("restart", ["game", "never"])
def test_a_process_a_game_or_one_for_all(
    restart: str, agent: MakeAgent, tmp_path: Path, token: str
) -> None:
    commands = ["level 3", "set_random_seed {seed}"]
    player = agent("--knows", "level,set_random_seed", restart=restart, startup=commands)
    pids = []
    for seed in (7, 8):
        begin(player, seed=seed, log=tmp_path / f"{seed}")
        pids += running_with(token)
        player.act(NO_CLOCK)
        player.end((0.0, 0.0))
        assert bool(running_with(token)) == (restart == "never")
    assert len(set(pids)) == (2 if restart == "game" else 1)
    second = sent(tmp_path / "8")
    assert f"set_random_seed {engine_seed(8)}" in second
    assert ("level 3" in second) == (restart == "game")
    assert second.count("clear_board") == 1


def test_a_warm_engine_that_died_between_games_is_started_again(
    agent: MakeAgent, token: str, tmp_path: Path
) -> None:
    player = agent(restart="never")
    begin(player)
    (pid,) = running_with(token)
    os.kill(pid, signal.SIGKILL)
    while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:  # it is buried when it is missed
        time.sleep(0.01)
    begin(player, log=tmp_path / "log")
    assert player.act(NO_CLOCK).action == parse_vertex("D4", 5)
    assert "genmove b" in sent(tmp_path / "log")


def test_placeholders_are_filled_in(agent: MakeAgent, tmp_path: Path) -> None:
    note = "{seed}/{board_size}/{komi}/{other}"
    player = agent("--note", note, game={"komi": 6.5})
    begin(player, seed=2**62, log=tmp_path / "log")
    started = (tmp_path / "log").read_text().splitlines()[0]
    assert 1 <= engine_seed(2**62) < 2**31  # any engine can read it
    assert f"'{engine_seed(2**62)}/5/6.5/{{other}}'" in started


def test_a_move_that_was_not_taken_is_taken_back(agent: MakeAgent, tmp_path: Path) -> None:
    player = agent("--moves", "C3,D4")
    begin(player, log=tmp_path / "log")
    player.act(NO_CLOCK)
    tell(player, "A1", "B1")
    player.act(NO_CLOCK)
    assert sent(tmp_path / "log")[-6:] == [
        *("boardsize 5", "clear_board", "komi 7.5", "play b A1", "play w B1", "genmove b")
    ]


# -- what an engine is told -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "values", "expected"),
    [
        ("", {}, ["komi 0.5", "play b C3", "play b G7"]),
        ("", {"handicap": "announced"}, ["komi 0.5", "play b C3", "play b G7"]),
        ("set_free_handicap", {}, ["komi 0.5", "play b C3", "play b G7"]),
        (
            "set_free_handicap,fixed_handicap",
            {"handicap": "announced"},
            ["komi 0.5", "set_free_handicap C3 G7"],
        ),
        ("fixed_handicap", {"handicap": "announced"}, ["komi 0.5", "fixed_handicap 2"]),
    ],
)
def test_handicap(
    known: str, values: dict[str, str], expected: list[str], agent: MakeAgent, tmp_path: Path
) -> None:
    game = {"board_size": 9, "handicap": 2}
    player = agent("--knows", known, "--handicap", "G7,C3", game=game, **values)
    begin(player, log=tmp_path / "log", player=1)
    player.act(NO_CLOCK)
    assert sent(tmp_path / "log")[6:] == [*expected, "genmove w"]


def test_komi_compensates_a_handicap_unless_announced(agent: MakeAgent, tmp_path: Path) -> None:
    game = {"board_size": 9, "handicap": 3, "rules": "chinese", "komi": 0.5}
    known = "set_free_handicap,kata-set-rules"
    for knows, handicap, komi, bonus in (
        (known, "moves", "3.5", "0"),
        (known, "announced", "0.5", "N"),
        ("", "announced", "3.5", ""),  # which the engine cannot take
    ):
        log = tmp_path / f"{knows} {handicap}"
        begin(agent("--knows", knows, game=game, handicap=handicap), log=log)
        assert [line for line in sent(log) if line.startswith("komi")][-1] == f"komi {komi}"
        assert (f'"whiteHandicapBonus":"{bonus}"' in log.read_text()) == bool(knows)


def test_a_handicap_on_other_points_is_refused(agent: MakeAgent) -> None:
    options = ("--knows", "fixed_handicap", "--handicap", "C3,C7")
    player = agent(*options, game={"board_size": 9, "handicap": 2}, handicap="announced")
    with pytest.raises(AgentProtocolError, match="on C3 C7, not on C3 G7"):
        player.new_game(1, player=0)


def test_a_starting_position_is_played(agent: MakeAgent, tmp_path: Path) -> None:
    game = {"black_stones": ["A2", "B1"], "white_stones": ["C3"], "first_player": "white"}
    player = agent("--moves", "A1", game=game)
    begin(player, player=1, log=tmp_path / "log")
    player.act(NO_CLOCK)
    assert sent(tmp_path / "log")[7:] == ["play b B1", "play b A2", "play w C3", "genmove w"]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("tromp-taylor", ("POSITIONAL", "AREA", "NONE", "true")),
        ("chinese", ("POSITIONAL", "AREA", "NONE", "false")),
        ("japanese", ("SIMPLE", "TERRITORY", "SEKI", "false")),
        ("aga", ("SITUATIONAL", "AREA", "NONE", "false")),
    ],
)
def test_rules_are_sent_to_engines_that_support_them(
    preset: str, expected: tuple[str, ...], agent: MakeAgent, tmp_path: Path
) -> None:
    ko, scoring, tax, suicide = expected
    player = agent("--knows", "kata-set-rules", game={"rules": preset})
    begin(player, log=tmp_path / "log")
    assert (
        f'kata-set-rules {{"ko":"{ko}","scoring":"{scoring}","tax":"{tax}","suicide":{suicide},'
        '"hasButton":false,"whiteHandicapBonus":"0"}' in sent(tmp_path / "log")
    )
    own = agent("--knows", "kata-set-rules", game={"rules": preset}, rules="own")
    begin(own, log=tmp_path / "own")
    assert "kata-set-rules" not in " ".join(sent(tmp_path / "own"))


PER_MOVE = TimeControl(kind="per-move", seconds=2.5)
ABSOLUTE = TimeControl(kind="absolute", seconds=90)
FISCHER = TimeControl(kind="fischer", seconds=60, increment=2.5)
EVERY_SECOND = TimeControl(kind="fischer", seconds=60, increment=1)
BYO_YOMI = TimeControl(kind="byo-yomi", seconds=30, periods=3, period_seconds=5.5)


@pytest.mark.parametrize(
    ("control", "dialect", "spent", "settings", "left"),
    [
        (TimeControl(), "gtp", 1, "time_settings 0 1 0", ""),
        (TimeControl(), "kgs", 1, "kgs-time_settings none", ""),
        (TimeControl(), "kata", 1, "kata-time_settings none", ""),
        (PER_MOVE, "gtp", 1, "time_settings 0 2 1", "time_left b 2 1"),
        (PER_MOVE, "kgs", 1, "kgs-time_settings canadian 0 2 1", "time_left b 2 1"),
        (PER_MOVE, "kata", 1, "kata-time_settings canadian 0 2.5 1", "time_left b 2.5 1"),
        (ABSOLUTE, "gtp", 0.7, "time_settings 90 0 0", "time_left b 89 0"),
        (ABSOLUTE, "kgs", 0.7, "kgs-time_settings absolute 90", "time_left b 89 0"),
        (ABSOLUTE, "kata", 0.7, "kata-time_settings absolute 90", "time_left b 89.3 0"),
        (FISCHER, "gtp", 10, "time_settings 57 2 1", "time_left b 50 0"),
        (FISCHER, "gtp", 60, "time_settings 57 2 1", "time_left b 2 1"),
        (EVERY_SECOND, "gtp", 10, "time_settings 59 1 1", "time_left b 50 0"),
        (FISCHER, "kata", 10, "kata-time_settings fischer 60 2.5", "time_left b 52.5 0"),
        (BYO_YOMI, "gtp", 10, "time_settings 30 5 1", "time_left b 20 0"),
        (BYO_YOMI, "gtp", 37, "time_settings 30 5 1", "time_left b 5 1"),
        (BYO_YOMI, "kgs", 37, "kgs-time_settings byoyomi 30 5 3", "time_left b 5 2"),
        (BYO_YOMI, "kata", 37, "kata-time_settings byoyomi 30 5.5 3", "time_left b 5.5 2"),
    ],
)
def test_time_in_the_words_of_the_engine(
    control: TimeControl, dialect: ClockDialect, spent: float, settings: str, left: str
) -> None:
    clock = Clock(control)
    clock.charge(spent)
    assert time_settings(control, dialect) == settings
    assert time_left(clock.reading(), "b", dialect) == left


def test_the_best_command_for_time_is_chosen() -> None:
    every = {"time_settings", "kgs-time_settings", "kata-time_settings"}
    assert dialect_for(FISCHER, every) == "kata"
    assert dialect_for(FISCHER, every - {"kata-time_settings"}) == "gtp"
    assert dialect_for(BYO_YOMI, every - {"kata-time_settings"}) == "kgs"
    assert dialect_for(BYO_YOMI, {"time_settings"}) == "gtp"
    assert dialect_for(BYO_YOMI, {"genmove"}) is None


@pytest.mark.parametrize(
    ("known", "control", "said"),
    [
        ("time_settings", TimeControl(kind="per-move", seconds=0.5), "has 0.5 s for a move"),
        ("time_settings", TimeControl(kind="per-move", seconds=1), ""),
        ("kata-time_settings", TimeControl(kind="per-move", seconds=0.5), ""),
        ("time_left", TimeControl(kind="per-move", seconds=5), "does not see its clock"),
        ("time_left", TimeControl(), ""),
    ],
)
def test_an_engine_that_does_not_see_its_clock_is_told_of_in_its_log(
    agent: MakeAgent, tmp_path: Path, known: str, control: TimeControl, said: str
) -> None:
    player = agent("--knows", known, "--moves", "c3,d4")
    begin(player, player=1, log=tmp_path / "log")
    clock = Clock(control).reading()
    tell(player, "B2")
    player.act(clock)
    tell(player, "C3", "B3")
    player.act(clock)
    notes = [line for line in (tmp_path / "log").read_text().splitlines() if "the engine" in line]
    assert len(notes) == bool(said)
    assert said in "".join(notes)


def test_settings_are_sent_once_and_time_left_every_move(agent: MakeAgent, tmp_path: Path) -> None:
    player = agent("--knows", "time_settings,time_left", restart="never")
    clock = Clock(ABSOLUTE)
    begin(player, log=tmp_path / "1")
    player.act(clock.reading())
    clock.charge(10.5)
    tell(player, "D4", "pass")
    player.act(clock.reading())
    assert sent(tmp_path / "1")[7:] == [
        *("time_settings 90 0 0", "time_left b 90 0", "genmove b", "play w pass"),
        *("time_left b 79 0", "genmove b"),
    ]
    begin(player, log=tmp_path / "2")  # a warm engine has to forget the clock of the last game
    player.act(NO_CLOCK)
    assert sent(tmp_path / "2")[3:] == ["time_settings 0 1 0", "genmove b"]


# -- time and the referee ---------------------------------------------------------------------


def test_a_hang_costs_the_game_and_the_process_at_the_deadline(
    agent: MakeAgent, token: str, tmp_path: Path
) -> None:
    player = agent("--mode", "hang")
    other = make_agent("random", player.game)
    control = TimeControl(kind="per-move", seconds=0.3, margin=0.1)
    began = time.monotonic()
    record = play(player.game, [player, other], time_control=control, log_dir=tmp_path)
    assert time.monotonic() - began < 20
    assert record.termination == Termination.TIME
    assert record.loser == 0
    assert re.search(r"gave no answer to 'genmove b' within 0\.\d+ s", record.detail)
    assert all_gone(token)
    log = (tmp_path / "black.log").read_text()
    assert re.search(r"> \d+ genmove b\n.*! thinking\n.*\* gave no answer", log, re.DOTALL)
    assert "was killed by SIGKILL" in log


def test_without_a_clock_moves_and_other_commands_have_times_of_their_own(agent: MakeAgent) -> None:
    player = agent("--mode", "hang", timeouts={"move": 0.3})
    begin(player)
    with pytest.raises(AgentTimeoutError, match=r"within 0\.\d+ s"):
        player.act(NO_CLOCK)
    with pytest.raises(AgentTimeoutError, match=r"'komi 7\.5' within 1\.5 s"):
        begin(agent("--mode", "hang", "--at", "komi", timeouts={"command": 1.5}))


@pytest.mark.parametrize("level", with_slow(Isolation, Isolation.SANDBOX)[1:])
def test_a_killed_host_takes_its_engine_along(token: str, level: Isolation) -> None:
    if level is Isolation.SANDBOX and (reason := sandbox_hindrance()):
        pytest.skip(reason)
    command, limits = {"command": [*ENGINE, "--stubborn"]}, ProcessLimits(isolation=level)
    seat = AgentProcess("go", {"board_size": 5}, "gtp", command, name="engine", limits=limits)
    try:
        seat.new_game(1, player=0, log=None)
        assert "Test Engine 1.5" in seat.version
        assert seat.pid is not None
        host = psutil.Process(seat.pid)
        if level is Isolation.PROCESS:
            assert {os.getpgid(p.pid) for p in host.children(recursive=True)} == {seat.pid}
        host.kill()
        seat.kill()
        assert all_gone(token)
    finally:
        seat.close()


# -- the log ----------------------------------------------------------------------------------


def test_a_log_is_readable_and_holds_both_sides(agent: MakeAgent, tmp_path: Path) -> None:
    log = tmp_path / "log"
    player = agent("--mode", "bytes")
    begin(player, log=log)
    player.act(NO_CLOCK)
    player.end((0.0, 0.0))
    lines = log.read_text().splitlines()
    assert all(re.fullmatch(r" *\d+\.\d{3} [><!*] .*", line) for line in lines)
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    text = "\n".join(line[9:] for line in lines)
    assert "> 8 genmove b\n< # caf\ufffd\u00e9\n< =8 d4 \n> 9 quit\n< =9\n" in text
    assert lines[0].split(maxsplit=2)[1:][0] == "*"
    assert "started process" in lines[0]
    assert lines[-1].endswith("* after quit it exited with status 0")


def test_a_log_is_bounded_and_says_so(tmp_path: Path) -> None:
    conversation = EngineLog(tmp_path / "log", max_bytes=1000)
    for _ in range(1000):
        conversation.log("!", "x" * 50)
    conversation.log(">", "y" * 10_000)
    conversation.note("died")
    conversation.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert (tmp_path / "log").stat().st_size < 1200
    assert "the log is full" in lines[-2]
    assert lines[-1].endswith("* died")


def test_a_log_shows_control_characters_and_cuts_long_lines(tmp_path: Path) -> None:
    conversation = EngineLog(tmp_path / "log")
    conversation.log("!", "a\x1b[31mb\u202e")
    conversation.log("!", "c" * 5000)
    conversation.close()
    first, second = (tmp_path / "log").read_text().splitlines()
    assert first.endswith("! a\\x1b[31mb\\u202e")
    assert second.endswith("ccc ... (3000 more characters)")


# -- dead stones ------------------------------------------------------------------------------


def test_an_engine_s_dead_stones_are_proposed(agent: MakeAgent) -> None:
    game = {
        "rules": "chinese",
        "dead_stones": "agreement",
        "black_stones": ["C1", "C2", "C3", "C4", "C5", "E3"],
        "white_stones": ["B1", "B2", "B3", "B4", "B5", "A1", "E2"],
    }
    player = agent("--knows", "final_status_list", "--dead", "E2,A1,B3", game=game)
    begin(player)
    state = tell(player, "pass", "pass")
    assert state.phase == Phase.PROPOSE
    while state.phase == Phase.PROPOSE:
        action = player.act(NO_CLOCK).action
        tell(player, state.action_to_string(action))
    white = [parse_vertex(name, 5) for name in ("A1", "B1", "B2", "B3", "B4", "B5", "E2")]
    assert state.dead == tuple(sorted(white))  # A1 and B3 stand for their whole chain


@pytest.mark.parametrize(
    ("known", "dead", "answer"),
    [
        ("final_status_list", "E2", "pass"),
        ("final_status_list", "E3", "resume"),
        ("final_status_list", "", "resume"),
        ("", "E2", "resume"),  # without a list, every stone lives
    ],
)
def test_a_proposal_is_accepted_unless_it_is_worse_than_the_engine_s_own_list(
    known: str, dead: str, answer: str, agent: MakeAgent
) -> None:
    game = {
        "dead_stones": "agreement",
        "rules": "chinese",
        "black_stones": ["A1", "B1", "E3"],
        "white_stones": ["E2"],
    }
    player = agent("--knows", known, "--dead", dead, game=game)
    begin(player, player=1)
    state = tell(player, "pass", "pass", "E2", "pass")  # Black proposes that White's E2 is dead
    assert state.phase == Phase.REPLY
    assert state.action_to_string(player.act(NO_CLOCK).action) == answer


def test_after_a_refused_proposal_the_dead_are_captured(agent: MakeAgent, tmp_path: Path) -> None:
    game = {"dead_stones": "agreement", "rules": "chinese", "black_stones": ["C3"]}
    player = agent("--knows", "kgs-genmove_cleanup", game=game)
    begin(player, player=1, log=tmp_path / "log")
    tell(player, "pass", "pass", "C3", "pass", "resume", "A1")
    assert player.act(NO_CLOCK).action == parse_vertex("D4", 5)
    assert sent(tmp_path / "log")[-4:] == [
        *("play b pass", "play w pass", "play b A1", "kgs-genmove_cleanup w")
    ]


def judged(*options: str, settings: dict[str, Any] | None = None) -> GoState:
    """Return a finished position whose dead stones are the test engine's to name."""
    values = {"command": shlex.join([*ENGINE, "--knows", "final_status_list", *options])}
    referee = {"referee": "gtp", "referee_settings": {**values, **(settings or {})}}
    stones = {"black_stones": ["C3", "C4"], "white_stones": ["A1"]}
    game = go(board_size=5, rules="chinese", dead_stones="referee", **referee, **stones)
    return play_moves(game.new_initial_state(), "pass pass")


def test_a_referee_s_dead_stones_are_taken_off_in_whole_chains() -> None:
    state = judged("--dead", "C4,E5")
    assert state.score().dead == (parse_vertex("C3", 5), parse_vertex("C4", 5))
    assert state.returns() == (-1.0, 1.0)


def test_a_record_starts_no_referee(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = judged().game
    record = record_of_actions(game, [25, 25], players=["Black", "White"])
    monkeypatch.setattr(GtpJudge, "dead_points", lambda *_: pytest.fail("the referee was asked"))
    with pytest.raises(ConfigError, match="names a program, which a file may not start"):
        replay(record)
    path = tmp_path / "game.jsonl"
    path.write_text(record.to_json_lines())
    report = ImportReport()
    assert not list(import_games([path], GameFilters(size=5), report))
    assert "names a program" in report.failures[0][1]
    monkeypatch.undo()
    monkeypatch.setenv("MIAI_RUN_PROGRAMS", "1")
    assert replay(record).is_terminal()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mode", "hang", "--at", "final_status_list"], r"within 1\.5 s"),
        (["--mode", "die", "--at", "final_status_list"], "exited with status 3"),
        (["--dead", "nothing"], "'nothing' is not a vertex"),
        (["--refuse", "final_status_list"], "not today"),
    ],
)
def test_a_failing_referee_is_nobody_s_fault(options: list[str], message: str, token: str) -> None:
    state = judged(*options, settings={"timeouts": {"command": 1.5 if "hang" in options else 30.0}})
    with pytest.raises(RefereeError, match=message):
        state.score()
    assert all_gone(token)
