"""Agents in processes of their own: real ones, that really hang, flood and die."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

import miai
from miai.agent import Decision, RandomAgent
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    ConfigError,
)
from miai.playing.match import InProcessSeat, play_game
from miai.process.agent_messages import unpack_cpu, unpack_decision
from miai.process.agent_process import AgentProcess, _environment
from miai.process.landlock import landlock_version
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import GameRecord, Termination
from miai.record_reader import read_record
from miai.seeds import derive_seed

CONTROL = TimeControl(kind="per-move", seconds=20.0)
SHORT = TimeControl(kind="per-move", seconds=0.3)
READING = ClockReading(control=TimeControl())

MakeSeat = Callable[..., AgentProcess]


def own_limits(**limits: Any) -> ProcessLimits:
    """Return limits of a process that shows the tests what it does in files and signals."""
    return ProcessLimits(isolation=Isolation.PROCESS, free=True, **limits)


def play_against(
    seat: AgentProcess, *, seed: int, control: TimeControl = CONTROL, log_dir: Path | None = None
) -> GameRecord:
    game = miai.load_game("tic_tac_toe")
    other = InProcessSeat(RandomAgent(game))
    return play_game(
        game, [other, seat], seed=1, seeds=[1, seed], time_control=control, log_dir=log_dir
    )


def fatal(how: str) -> int:
    """Return the seed at which the agent `unruly` misbehaves in one of its ways."""
    return derive_seed("unruly", how)


def play_fatal_game(
    seat: AgentProcess, how: str, *, control: TimeControl = CONTROL, log_dir: Path | None = None
) -> GameRecord:
    """Play a quiet game, then the one in which the agent fails, and return its record.

    The quiet game shows that whatever failed on this seat before has left nothing behind.
    """
    quiet = play_against(seat, seed=7)
    assert quiet.termination is Termination.TERMINAL, quiet.detail
    return play_against(seat, seed=fatal(how), control=control, log_dir=log_dir)


@pytest.fixture(scope="module")
def shared_seats(unruly: None) -> Iterator[MakeSeat]:
    """One `unruly` seat a moment of failure, for all tests: each follows another failure."""
    seats: dict[str, AgentProcess] = {}
    limits = own_limits(new_game_seconds=0.7, end_seconds=0.5)

    def shared(when: str = "act") -> AgentProcess:
        if when not in seats:
            seats[when] = AgentProcess(
                "tic_tac_toe", {}, "unruly", {"when": when}, name="unruly", limits=limits
            )
        return seats[when]

    yield shared
    quiet = play_against(shared(), seed=7)
    assert quiet.termination is Termination.TERMINAL, quiet.detail
    for seat in seats.values():
        seat.close()


# -- each kind of failure, and the game after it --------------------------------------------------

FAILURES: list[tuple[str, Termination, str]] = [
    ("raise", Termination.CRASH, "ValueError: out of / ideas"),
    ("bad_exception", Termination.CRASH, "UnspeakableError"),
    ("exit", Termination.CRASH, "exited with status 3; its last output:.*these are my last words"),
    ("sigkill", Termination.CRASH, "killed by SIGKILL"),
    ("close_pipes", Termination.PROTOCOL, "closed its connection"),
    ("flood_in_c", Termination.FLOOD, "output of more than 1048576 bytes"),
    ("flood_answer", Termination.FLOOD, "an answer of 2\\d{6} bytes; the limit is 262144"),
    ("occupied", Termination.ILLEGAL_ACTION, r"action \d \([abc][123]\) is not legal at ply 1"),
    ("text_action", Termination.PROTOCOL, "cannot be interpreted as an integer"),
    ("object_statistics", Termination.PROTOCOL, r"statistics\['it'\] is of type object"),
    ("say_list", Termination.PROTOCOL, "not a JSON object"),
    ("say_wrong_id", Termination.PROTOCOL, "out of turn"),
    ("twice", Termination.PROTOCOL, "an answer that nobody asked for|out of turn"),
]


@pytest.mark.parametrize(("how", "reason", "detail"), FAILURES, ids=[f[0] for f in FAILURES])
def test_a_failure_is_a_forfeit_and_the_next_game_works(
    shared_seats: MakeSeat, tmp_path: Path, how: str, reason: Termination, detail: str
) -> None:
    record = play_fatal_game(shared_seats(), how, log_dir=tmp_path)
    assert (record.termination, record.loser) == (reason, 1), record.detail
    assert re.search(detail, record.detail), record.detail
    assert record.detail.isprintable()
    if reason not in (Termination.ILLEGAL_ACTION, Termination.RESIGNATION):
        assert "agent 'unruly'" in record.detail
    assert record.returns == (1.0, -1.0)
    log = (tmp_path / "o.log").read_text()
    assert ("Traceback" in log and "misbehave" in log) or how != "raise"
    assert "Traceback" not in record.detail


def test_an_answer_holds_a_result_or_an_error() -> None:
    check = AgentProcess("tic_tac_toe", {}, "random", {}, name="x")._check
    for answer in ({}, {"ok": 1}):
        with pytest.raises(AgentProtocolError, match="neither a result nor an error"):
            check(answer)
    with pytest.raises(AgentProtocolError, match="error is not an object"):
        check({"error": "bad"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": 1.0}, {"action": True}, {"action": 1 << 63}, {"action": 10**400},
        {"resign": 0}, {"resign": "no"}, {"statistics": []}, {"statistics": None},
        {"cpu": -1.0}, {"cpu": float("nan")}, {"cpu": 11.0}, {"cpu": 1}, {"action": None},
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"action": 1, "resign": False, "statistics": {}, "cpu": 0.5}
    assert unpack_decision(right) == Decision(1)
    assert unpack_cpu(right, limit=10.0) == 0.5
    with pytest.raises(AgentProtocolError):
        _ = unpack_decision(right | wrong), unpack_cpu(right | wrong, limit=10.0)


def test_a_hang_ends_at_the_deadline(shared_seats: MakeSeat) -> None:
    began = time.monotonic()
    record = play_fatal_game(shared_seats(), "hang_deaf", control=SHORT)
    assert record.termination is Termination.TIME
    assert "did not answer 'act' within 0.4 s and was killed" in record.detail
    assert 0.4 <= record.players[1].seconds < 5.0
    assert time.monotonic() - began < 20.0


@pytest.mark.parametrize(
    ("when", "how", "reason"),
    [
        ("new_game", "raise", Termination.CRASH),
        ("new_game", "hang_in_c", Termination.TIME),
        ("observe", "raise", Termination.CRASH),
    ],
)
def test_failures_at_other_moments(
    shared_seats: MakeSeat, when: str, how: str, reason: Termination
) -> None:
    record = play_fatal_game(shared_seats(when), how)
    assert (record.termination, record.loser) == (reason, 1), record.detail
    if when == "new_game":
        assert record.moves == []


def test_a_process_is_kept_between_games(shared_seats: MakeSeat) -> None:
    seat = shared_seats()
    pids = set()
    for seed in range(5):
        play_against(seat, seed=seed)
        pids.add(seat.pid)
    assert len(pids) == 1


@pytest.mark.slow
def test_threads_left_behind_that_flood_are_noticed(shared_seats: MakeSeat) -> None:
    seat = shared_seats()
    record = play_against(seat, seed=fatal("background"))
    pid, until = seat.pid, time.monotonic() + 20
    while record.termination is Termination.TERMINAL and seat.pid == pid:
        assert time.monotonic() < until
        record = play_against(seat, seed=7)
    assert record.termination in (Termination.FLOOD, Termination.TERMINAL)
    assert play_against(seat, seed=7).termination is Termination.TERMINAL


# -- starting -------------------------------------------------------------------------------------


def test_an_agent_that_is_unavailable_says_why(make_seat: MakeSeat) -> None:
    with pytest.raises(
        AgentUnavailableError, match="no program 'gnugo' was found; install"
    ) as output:
        make_seat("absent").start()
    assert "Traceback" not in str(output.value)
    assert output.value.__cause__ is None


@pytest.mark.parametrize(
    ("agent", "values", "message"),
    [
        ("no_such_agent", {}, "no agent is called 'no_such_agent'"),
        ("unruly", {"how": "raise", "when": "init"}, "ValueError: out of"),
    ],
)
def test_an_agent_that_cannot_be_built_is_unavailable(
    make_seat: MakeSeat, agent: str, values: dict[str, Any], message: str
) -> None:
    seat = make_seat(agent, **values)
    with pytest.raises(AgentUnavailableError, match=message) as output:
        seat.start()
    for name in ("UnknownComponentError", "ParameterError", "PluginLoadError"):
        assert name not in str(output.value)
    assert seat.pid is None


def test_an_agent_that_never_starts_is_given_up(make_seat: MakeSeat) -> None:
    seat = make_seat("unruly", how="hang_in_c", when="init", settings={"start_timeout": 1.0})
    with pytest.raises(AgentUnavailableError, match=r"did not start within 1 s"):
        seat.start()
    assert seat.pid is None


def test_a_person_cannot_play_from_a_process(make_seat: MakeSeat) -> None:
    record = play_against(make_seat("human"), seed=1)
    assert (record.termination, record.loser) == (Termination.UNAVAILABLE, 1)
    assert "needs a terminal" in record.detail


def test_parameters_that_are_not_plain_are_refused() -> None:
    with pytest.raises(TypeError, match=r"parameters\['note'\] is of type object"):
        AgentProcess("tic_tac_toe", {}, "unruly", {"note": object()}, name="x")


def test_limits_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="frame_bytes is 0"):
        own_limits(frame_bytes=0)


def test_memory_is_bounded_and_processors_are_few(
    shared_seats: MakeSeat, make_seat: MakeSeat
) -> None:
    seat = make_seat("unruly", settings={"limits": own_limits(memory=600, processors=1)})
    given = output(seat)["processors"]
    assert len(given) == 1
    assert set(given) <= os.sched_getaffinity(0)
    record = play_fatal_game(seat, "glutton")
    assert record.termination is Termination.CRASH
    assert "MemoryError" in record.detail
    assert output(shared_seats())["processors"] == sorted(os.sched_getaffinity(0))


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is nothing to share out")
def test_agents_do_not_share_processors_while_there_are_some(
    make_seat: MakeSeat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = sorted(os.sched_getaffinity(0))

    def taken(seat: AgentProcess) -> list[int]:
        found: list[int] = output(seat)["processors"]
        return found

    with ExitStack() as stack:
        limits = own_limits(processors=1)
        seats = [
            stack.enter_context(
                AgentProcess("tic_tac_toe", {}, "unruly", {}, name=f"{n}", limits=limits)
            )
            for n in range(2)
        ]
        first, second = map(taken, seats)
        assert len(first) == len(second) == 1
        assert first != second
        seats[0].kill()  # what is killed gives back what it had
        others = {processor for processor in given if [processor] != second}
        with AgentProcess("tic_tac_toe", {}, "unruly", {}, name="new", limits=limits) as new:
            assert set(taken(new)) <= others


def test_each_process_has_a_temporary_folder_that_goes_with_it(
    shared_seats: MakeSeat, make_seat: MakeSeat
) -> None:
    one = shared_seats()
    with make_seat("unruly") as other:
        folders = [Path(output(seat)["temporary"]) for seat in (one, other)]
        assert folders[0] != folders[1]
        assert all((folder / "mine").is_file() for folder in folders)
        play_fatal_game(one, "sigkill")
        assert not folders[0].exists(), "it was killed, and what it left is gone"
    assert not folders[1].exists()
    assert Path(tempfile.gettempdir()).is_dir()


def test_another_player_of_a_process_gets_a_new_agent_and_no_files(make_seat: MakeSeat) -> None:
    seat = make_seat("unruly", name="one")
    folder, pid = Path(output(seat)["temporary"]), seat.pid
    (folder / "deep").mkdir()
    (folder / "deep" / "note").write_text("of one")
    seat.serve("two", {"when": "end"})
    assert play_against(seat, seed=7).players[1].name == "two"
    assert (list(folder.iterdir()), seat.pid) == ([], pid)
    record = play_against(seat, seed=fatal("raise"))
    assert record.termination is Termination.TERMINAL, "it raised at the end of the game, as told"


@pytest.mark.skipif(not landlock_version(), reason="the kernel has no such Landlock")
def test_hidden_folders_cannot_be_read(unruly: None, tmp_path: Path) -> None:
    """Of the run's folder and of other agents an agent sees no more than names."""
    run, free, orders = tmp_path / "a" / "run", tmp_path / "free", tmp_path / "orders"
    for path in (run / "logs" / "board", run / "store", free / "deep" / "weights", orders):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    (tmp_path / "link").symlink_to(run / "store")
    (tmp_path / "to-free").symlink_to(free)
    limits = own_limits(hidden=(str(run),))
    seats = [
        AgentProcess("tic_tac_toe", {}, "unruly", {"note": str(orders)}, name=n, limits=limits)
        for n in ("one", "other")
    ]
    with seats[0], seats[1]:
        one, other = (Path(output(seat)["temporary"]) for seat in seats)
        (free / "deep" / "new").write_text("text")
        (run / "late").write_text("text")
        secret = [run / "logs" / "board", run / "store", run / "late", tmp_path / "link"]
        secret += [other / "mine"]
        if os.geteuid():  # root may look into every process
            secret += [Path(f"/proc/{seats[1].pid}/environ")]
        known = [free / "deep" / "weights", free / "deep" / "new", one / "mine"]
        known += [tmp_path / "to-free" / "deep" / "weights", Path(json.__file__)]
        orders.write_text("\n".join(map(str, [seats[1].pid, *secret, *known])))
        found = output(seats[0], "spy")
        for path in secret:
            read, status = found[str(path)]
            assert (read, status != 0) == ("PermissionError", True), path
        for path in known:
            assert found[str(path)][1] == 0, path
        if landlock_version() >= 6:
            assert found["signal"] == "PermissionError"


def output(seat: AgentProcess, way: str = "whereabouts") -> dict[str, Any]:
    record = play_against(seat, seed=fatal(way))
    found: Any = [move.statistics["it"] for move in record.moves if "it" in move.statistics]
    return dict(found[0])


def test_asking_without_a_process_is_a_crash() -> None:
    seat = AgentProcess("tic_tac_toe", {}, "random", {}, name="x")
    with pytest.raises(AgentCrashedError, match="has no process"):
        seat.act(READING, deadline=1.0)


# -- output ---------------------------------------------------------------------------------------


def test_each_game_has_its_own_log(shared_seats: MakeSeat, tmp_path: Path) -> None:
    seat = shared_seats()
    for number in range(2):
        play_against(seat, seed=7, log_dir=tmp_path / str(number))
        assert (tmp_path / str(number) / "o.log").read_text().count("a new game") == 1


def test_output_is_counted_by_the_game(make_seat: MakeSeat) -> None:
    limits = own_limits(output_bytes=600)
    seat = make_seat("unruly", settings={"limits": limits})
    for _ in range(5):  # about 200 to 400 bytes each, together more than the limit
        record = play_against(seat, seed=fatal("print"))
        assert record.termination is Termination.TERMINAL, record.detail


def test_answers_are_counted_by_the_game(make_seat: MakeSeat) -> None:
    limits = own_limits(answer_bytes=200)
    record = play_against(make_seat("random", settings={"limits": limits}), seed=1)
    assert record.termination is Termination.FLOOD
    assert "answers of more than 200 bytes in one game" in record.detail


# -- what an agent finds in its process -----------------------------------------------------------


def test_the_process_is_prepared(
    make_seat: MakeSeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of the working directory shadows what the agent imports."""
    for name in ("numpy", "miai", "miai_unruly"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is no library')\n")
    monkeypatch.chdir(tmp_path)
    moves = play_against(make_seat("probe"), seed=1).moves
    own: Any = next(move.statistics for move in moves if move.actor == 1)
    assert own["session"] == own["pid"] != os.getpid()
    assert set(own["threads"].values()) == {"1"}
    assert {"OMP_NUM_THREADS", "NUMBA_NUM_THREADS"} <= own["threads"].keys()
    assert own["stdin"] is True
    assert own["numpy"] == 0.5
    assert own["tuple"] == [1, 2]
    assert own["modules"] is False
    command = [sys.executable, "-c", "print(hash('miai'))"]
    known = subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": "0"})
    assert own["hash"] == int(known)


def test_the_environment_of_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a list of variables of the shell's, and those that the config names."""
    passed = "LC_ALL LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES MIAI_PLUGIN_FILES KMP_AFFINITY"
    refused = "MY_SECRET PGPASSWORD SSH_AUTH_SOCK NVIDIA_API_KEY XDG_RUNTIME_DIR MYPATH MY_HOME"
    for name in (*passed.split(), *refused.split(), "OTHER_KEY", "PYTHONHASHSEED"):
        monkeypatch.setenv(name, "5")
    output = _environment({"threads": 3}, "scratch", ["OTHER_KEY"])
    assert output.keys() & {*refused.split()} == set()
    assert {output[name] for name in (*passed.split(), "OTHER_KEY")} == {"5"}
    assert (output["PYTHONHASHSEED"], output["OMP_NUM_THREADS"]) == ("0", "3")
    assert _environment({"threads": "many"}, "scratch")["NUMBA_NUM_THREADS"] == "1"


def test_statistics_that_are_not_finite_become_texts(shared_seats: MakeSeat) -> None:
    record = play_against(shared_seats(), seed=fatal("nan_statistics"))
    assert record.moves[1].statistics == {"it": ["nan", "inf"]}
    assert read_record(record.to_json_lines()) == record


def test_the_version_of_an_agent_is_its_plugin_s(shared_seats: MakeSeat) -> None:
    shared_seats().start()
    assert shared_seats().version == "1.0"


# -- nothing is left over -------------------------------------------------------------------------


def test_a_crash_leaves_no_engine_behind(
    make_seat: MakeSeat, tmp_path: Path, gone: Callable[..., bool]
) -> None:
    note = tmp_path / "engine"
    record = play_fatal_game(make_seat("unruly", note=str(note)), "engine_alone")
    assert record.termination is Termination.CRASH
    assert gone(int(note.read_text()))


def test_closing_lets_the_agent_close_and_ends_the_process(
    make_seat: MakeSeat, gone: Callable[..., bool]
) -> None:
    seat = make_seat("random")
    seat.start()
    assert seat.version == miai.__version__
    pid = seat.pid
    assert pid
    seat.close()
    assert gone(pid)
    seat.close()  # may be repeated
    # It may be started again, by a thread that ends before it, too.
    thread = threading.Thread(target=seat.start)
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert seat.pid
    assert play_against(seat, seed=1).termination is Termination.TERMINAL


@pytest.mark.parametrize("how", ["hang_deaf", "raise"])
def test_closing_does_not_wait_for_an_agent_that_does_not_close(
    make_seat: MakeSeat, how: str
) -> None:
    limits = own_limits(close_seconds=0.3)
    seat = make_seat("unruly", how=how, when="close", settings={"limits": limits})
    seat.start()
    began = time.monotonic()
    seat.close()
    assert time.monotonic() - began < 5.0
    assert seat.pid is None


def test_descriptors_do_not_leak(shared_seats: MakeSeat) -> None:
    seat = shared_seats()
    play_against(seat, seed=7)
    before = psutil.Process().num_fds()
    play_fatal_game(seat, "exit")
    play_against(seat, seed=7)
    assert psutil.Process().num_fds() == before


PARENT = """
import time
from miai.clock import ClockReading, TimeControl
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import ProcessLimits
from miai.process.sandbox import Isolation
from miai.seeds import derive_seed
limits = ProcessLimits(isolation=Isolation.PROCESS)
seat = AgentProcess("tic_tac_toe", {}, "unruly", {"note": NOTE}, name="x", limits=limits)
def go():
    seat.new_game(derive_seed("unruly", "engine"), player=0, log=None)
    print(seat.pid, flush=True)
    seat.act(ClockReading(control=TimeControl()), deadline=None)
go()
"""


@pytest.mark.usefixtures("unruly")
def test_a_killed_referee_leaves_no_orphan(tmp_path: Path, gone: Callable[..., bool]) -> None:
    note = tmp_path / "engines"
    code = PARENT.replace("NOTE", repr(str(note)))
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout
    pids = [int(parent.stdout.readline())]
    while not note.exists() or len(note.read_text().split()) < 2:
        time.sleep(0.01)
    pids.append(int(note.read_text().split()[0]))  # the other one left the process group
    stray = int(note.read_text().split()[1])
    assert all(psutil.pid_exists(pid) for pid in pids)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(*pids)
    os.kill(stray, signal.SIGKILL)


def test_an_interrupted_question_leaves_no_stale_answer(shared_seats: MakeSeat) -> None:
    seat = shared_seats()
    seat.new_game(fatal("hang_deaf"), player=0, log=None)
    seat.observe(miai.Observation(0, legal_actions=(0,)))
    main = threading.main_thread().ident
    assert main
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        seat.act(READING, deadline=20.0)
    timer.join()
    assert seat.pid is None


# -- messages longer than a pipe holds -------------------------------------------------------------


def test_a_long_message_arrives_and_does_not_wait_for_a_deaf_agent(
    shared_seats: MakeSeat,
) -> None:
    long = miai.Observation(0, data="x" * 3_000_000, legal_actions=(4,))
    seat = shared_seats()
    for how, deadline in (("nothing", 20.0), ("stop", 0.5)):
        seat.new_game(fatal(how), player=0, log=None)
        seat.observe(miai.Observation(0, legal_actions=(4,)))
        if how == "stop":
            assert seat.pid
            os.kill(seat.pid, signal.SIGSTOP)
        seat.observe(long)
        if how == "stop":
            with pytest.raises(AgentTimeoutError):
                seat.act(READING, deadline=deadline)
        else:
            assert seat.act(READING, deadline=deadline).decision.action == 4


def test_a_message_beyond_the_limit_is_the_games_fault(
    shared_seats: MakeSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.process.agent_process.MAX_REQUEST_BYTES", 100_000)
    seat = shared_seats()
    seat.new_game(1, player=0, log=None)
    seat.observe(miai.Observation(0, data="x" * 100_000, legal_actions=(4,)))
    with pytest.raises(ValueError, match=r"a message of 100\d\d\d bytes"):
        seat.act(READING, deadline=20.0)
    assert seat.pid is None
