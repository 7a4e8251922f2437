"""What an agent that attacks its surroundings can do at each level of isolation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.child_imports import find_in
from tests.warm_command import run_python

import miai
from miai.files import open_plain
from miai.playing.match import play_game
from miai.process import child
from miai.process.agent_process import AgentProcess
from miai.process.control_group import ControlGroup
from miai.process.landlock import landlock_version
from miai.process.sandbox import Isolation, ProcessLimits, sandbox_hindrance
from miai.record import GameRecord, Termination

LEVELS = [Isolation.PROCESS, Isolation.SANDBOX]
both_levels = pytest.mark.parametrize("level", LEVELS, indirect=True)
"""Marks what is tried in the sandbox, too, whenever tests run."""
sandboxed = pytest.mark.parametrize("level", LEVELS[1:], indirect=True)
REFUSED = {"PermissionError", "ProcessLookupError", "FileNotFoundError", "OSError"}

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="the kernel has no such Landlock")


@pytest.fixture(scope="module", autouse=True)
def hostile() -> Iterator[None]:
    yield from find_in(Path(__file__).parent / "hostile")


@pytest.fixture(params=[LEVELS[0], pytest.param(LEVELS[1], marks=pytest.mark.slow)])
def level(request: pytest.FixtureRequest) -> Isolation:
    if request.param is Isolation.SANDBOX and (reason := sandbox_hindrance()):
        pytest.skip(reason)
    return Isolation(request.param)


@pytest.fixture(scope="module", autouse=True)
def innocents(hostile: None) -> Iterator[None]:
    """Let the innocent agents live for all tests of the file, as they would for a tournament."""
    yield
    for seat in INNOCENTS.values():
        seat.close()
    INNOCENTS.clear()


INNOCENTS: dict[ProcessLimits, AgentProcess] = {}


class Fight:
    """A hostile agent against an innocent one."""

    def __init__(self, level: Isolation, run: Path, **limits: Any) -> None:
        shared = ProcessLimits(isolation=level, **limits)
        if shared not in INNOCENTS:
            INNOCENTS[shared] = AgentProcess(
                "kuhn_poker", {}, "random", {}, name="innocent", limits=shared
            )
        self.limits = replace(shared, hidden=(str(run),))
        self.run = run
        self.innocent = INNOCENTS[shared]
        self.game = miai.load_game("kuhn_poker")

    def play(self, attack: str, **parameters: Any) -> GameRecord:
        """Play until the innocent one has answered after the attack; return the last record."""
        hostile = AgentProcess(
            "kuhn_poker", {}, "hostile", {"attack": attack, **parameters}, name="hostile",
            limits=self.limits,
        )  # fmt: skip
        self.innocent.start()
        pid = self.innocent.pid
        with hostile:
            record = play_game(self.game, [hostile, self.innocent], seed=3, log_dir=self.run)
            assert self.innocent.pid == pid, "the innocent process died"
        return record

    def result(self, attack: str, **parameters: Any) -> Any:
        record = self.play(attack, **parameters)
        assert record.termination is Termination.TERMINAL, record.detail
        results = [m.statistics["result"] for m in record.moves if "result" in m.statistics]
        return results[0]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with a store, a config and a log."""
    folder = tmp_path / "run"
    (folder / "logs").mkdir(parents=True)
    for name in ("store.sqlite", "config.toml", "logs/1.log"):
        (folder / name).write_text("seed = 271828182845")
    return folder


def test_the_processors_of_others_stay_theirs(level: Isolation, run: Path) -> None:
    before = os.sched_getaffinity(0)
    outcomes = Fight(level, run).result("affinity", pids=[os.getpid()])
    assert outcomes == ["done"], "the call is ignored rather than refused"
    assert os.sched_getaffinity(0) == before


@sandboxed
def test_a_sandbox_shares_no_namespace_and_has_no_capability(level: Isolation, run: Path) -> None:
    inside = Fight(level, run).result("rights")
    assert int(inside["capabilities"], 16) == 0
    outside = {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}
    shared = {name for name in outside if inside[name] == outside[name]}
    assert shared <= {"time", "time_for_children", "cgroup"}  # the last where the kernel refuses it


@sandboxed
def test_a_signal_to_all_reaches_only_its_own(level: Isolation, run: Path) -> None:
    record = Fight(level, run).play("kill_all")
    assert record.termination in {Termination.TERMINAL, Termination.CRASH}
    assert record.loser in {None, 0}


@both_levels
def test_the_installed_packages_cannot_be_changed(level: Isolation, run: Path) -> None:
    paths = [Path(miai.__file__), Path(json.__file__), Path(psutil.__file__)]
    before = [path.read_bytes() for path in paths]
    attacks = "unlink truncate write create fifo"
    outcomes = Fight(level, run).result(attacks, paths=[str(path) for path in paths])
    assert all(set(each) <= REFUSED for each in outcomes.values()), outcomes
    assert [path.read_bytes() for path in paths] == before


def test_attributes_of_files_stay_as_they_are(level: Isolation, run: Path) -> None:
    paths = [run, run / "store.sqlite"]
    before = [path.stat() for path in paths]
    attacks = "mode owner attribute times"
    outcomes = Fight(level, run).result(attacks, paths=[str(path) for path in paths])
    if level is Isolation.PROCESS:
        assert set(outcomes.pop("times")) <= REFUSED | {"done"}
        assert all(set(each) <= REFUSED for each in outcomes.values()), outcomes
    for path, status in zip(paths, before, strict=True):
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_mtime) == (
            status.st_mode, status.st_uid, status.st_mtime,
        )  # fmt: skip


@both_levels
@pytest.mark.parametrize("private", [True, False])
def test_what_the_config_names_is_read_only_for_all_and_no_secret_is_read(
    level: Isolation, run: Path, private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs, weights and books: by path, by a link and by their folder; also in memory."""
    for name in ("MY_SECRET", "MY_NAME"):
        monkeypatch.setenv(name, "secret-5")
    with tempfile.TemporaryDirectory(dir=Path.home()) as home:
        bases = (Path(home), run.parent)  # which may lie in /dev/shm
        files = [base / name for base in bases for name in ("bin/engine", "c/book", "c/net/1")]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("of the opponent")
        fixed = [
            str(base / name) for base in bases[private:] for name in ("bin", "c/book", "c/net")
        ]
        fight = Fight(level, run)
        fight.limits = replace(
            fight.limits,
            hidden=fight.limits.hidden * private,
            free=not private,
            fixed=tuple(fixed),
            environment=("MY_NAME",),
        )
        attacks = "unlink truncate write mode owner times create soft hard move environment"
        names = [*map(str, files)]
        outcomes = fight.result(
            f"{attacks} look_around", paths=names, pids=[os.getpid()], text="secret-5"
        )
        assert outcomes.pop("look_around") == ["MY_NAME"]
        outcomes.pop("times")  # changing them may be ignored
        if level is Isolation.SANDBOX:  # whose private folders gain what they like
            outcomes |= {name: outcomes[name][:3] for name in ("create", "move")}
        assert {word for each in outcomes.values() for word in each} <= REFUSED
        assert {file.read_text() for file in files} == {"of the opponent"}
        assert not list(Path(home).rglob("planted"))


def test_processes_that_fork_twice_end_with_the_agent(level: Isolation, run: Path) -> None:
    mark = f"stray-{os.getpid()}-{time.monotonic_ns()}"
    code = REFEREE.format(level=str(level), mark=mark)
    assert run_python(code) == "done\n"
    strays = processes_with(mark)
    for stray in strays:
        stray.kill()
    assert not strays


@pytest.mark.slow
@both_levels
def test_a_process_that_forks_and_exits_again_and_again_is_killed(level: Isolation) -> None:
    code = REFEREE.format(level=str(level), mark="").replace("fork_twice", "fork_on_and_on")
    code += "import psutil\nprint(psutil.Process().children())\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60.0
    )
    assert (done.stdout, done.returncode) == ("done\n[]\n", 0), done.stderr
    assert "was not killed" not in done.stderr


REFEREE = """
from miai.clock import ClockReading, TimeControl
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import ProcessLimits
from miai.process.child import adopt_orphans
from miai.process.sandbox import Isolation
import miai

adopt_orphans()
limits = ProcessLimits(isolation=Isolation("{level}"))
parameters = {{"attack": "fork_twice", "text": "{mark}"}}
with AgentProcess("tic_tac_toe", {{}}, "hostile", parameters, name="x", limits=limits) as seat:
    seat.new_game(1, player=0, log=None)
    seat.observe(miai.Observation(0, legal_actions=(0,)))
    reply = seat.act(ClockReading(control=TimeControl()), deadline=20.0)
    print(reply.decision.statistics["result"])
"""


def processes_with(mark: str) -> list[psutil.Process]:
    return [
        p for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or ())
    ]


def has_control_groups() -> bool:
    group = ControlGroup(memory=64, processes=8)
    made = bool(group.folders)
    group.kill()
    return made


def test_impossible_processor_time_is_a_forfeit(run: Path) -> None:
    record = Fight(Isolation.PROCESS, run).play("lie", text="1e308")
    assert (record.termination, record.loser) == (Termination.PROTOCOL, 0), record.detail


def test_a_removed_log_folder_does_not_void_the_game(
    level: Isolation, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_first(path: Path, flags: int) -> int:
        path.parent.rename(path.parent.with_name("moved"))
        return open_plain(path, flags)

    monkeypatch.setattr(child, "open_plain", remove_first)
    assert Fight(level, run).result("leave_log") == "printed"


def test_groups_of_killed_referees_are_removed() -> None:
    if not has_control_groups():
        pytest.skip("no control group can be made")
    code = "import os; from miai.process.control_group import ControlGroup as C\n" + (
        "print(*C(memory=64, processes=8).folders, sep='\\n', flush=True); os._exit(0)"
    )
    abandoned = [Path(line) for line in run_python(code).splitlines()]
    assert abandoned
    assert all(folder.exists() for folder in abandoned)
    group = ControlGroup(memory=64, processes=8)
    assert not any(folder.exists() for folder in abandoned)
    group.kill()


def test_orphans_that_cannot_be_killed_keep_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    getsid = os.getsid  # a container sees a session that began outside it as 0
    monkeypatch.setattr(os, "getsid", lambda pid: 0 if pid == 0 else getsid(pid))
    monkeypatch.setattr(child, "_adopts", True)
    monkeypatch.setattr(child, "_child_pids", lambda: [2**22 + 1])  # above every process id
    monkeypatch.setattr(child, "_kill", lambda pid: True)
    monkeypatch.setattr(child, "_ORPHAN_SECONDS", 0.2)
    began = time.monotonic()
    child.kill_orphans()
    assert time.monotonic() - began < 5.0
    assert "was not killed" in caplog.text
