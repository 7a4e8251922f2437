"""An agent that attacks whatever surrounds it, as a plugin that only the tests' children find."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai import Agent, ClockReading, Decision, Game, Parameters, hookimpl
from miai.errors import AgentUnavailableError

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


class HostileParameters(Parameters):
    attack: str
    pids: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    text: str = ""


class Hostile(Agent):
    """Attacks before its first move, reports what became of it, and plays on.

    Of several attacks, whose names stand in one text, it reports a table.
    """

    def __init__(self, game: Game, parameters: HostileParameters) -> None:
        super().__init__(game, parameters)
        self._parameters = parameters
        self._cpu = 0.0

        self._cards: dict[tuple[int, int], str] = {}
        if parameters.attack == "refuse_to_start" and time.time() > float(parameters.text):
            raise AgentUnavailableError("the engine is gone")

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.seed = seed

    def act(self, clock: ClockReading) -> Decision:
        names = self._parameters.attack.split()
        results = {name: ATTACKS[name](self, self._parameters) for name in names}
        result = results if len(names) > 1 else results[names[0]]
        return Decision(self.view.legal_actions[0], statistics={"result": result})

    def cpu_seconds(self) -> float:
        return self._cpu


def on_processes(call: Callable[[int], object]) -> Callable[[Hostile, HostileParameters], Any]:
    """Return an attack on each process of the parameters."""
    return lambda agent, parameters: [outcome(call, pid) for pid in parameters.pids]


def on_paths(call: Callable[[Path], object]) -> Callable[[Hostile, HostileParameters], Any]:
    """Return an attack on each path of the parameters."""
    return lambda agent, parameters: [outcome(call, Path(path)) for path in parameters.paths]


def outcome(call: Callable[..., object], *arguments: object) -> str:
    try:
        call(*arguments)
    except OSError as error:
        return type(error).__name__
    return "done"


def ptrace(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0):  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")


def fork_twice(agent: Hostile, parameters: HostileParameters) -> str:
    code = f"import os, time; os.fork() or (os.setsid(), time.sleep(1000)) # {parameters.text}"
    for environment in (dict(os.environ), {}):
        subprocess.run([sys.executable, "-S", "-c", code], env=environment, check=False)
    return "done"


def fork_on_and_on(agent: Hostile, parameters: HostileParameters) -> str:
    """Leave processes that fork, in sessions of their own, and exit, as do their children."""
    if all(os.fork() for _ in range(4)):
        return "done"
    until = time.monotonic() + 60.0
    os.setsid()
    while time.monotonic() < until:
        if os.fork():
            os._exit(0)
        os.setsid()
    os._exit(0)


def fork_bomb(agent: Hostile, parameters: HostileParameters) -> str:
    count = 0
    try:
        while count < 2000:
            if os.fork() == 0:
                time.sleep(1000)
            count += 1
    except OSError as error:
        return f"{type(error).__name__} after {count}"
    return f"{count} processes"


def take_memory(agent: Hostile, parameters: HostileParameters) -> str:
    """Take memory in many processes, each of which stays within the limit of one."""
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(200 << 20)
            block[::4096] = b"1" * len(block[::4096])
            time.sleep(1000)
    time.sleep(2.0)
    alive = 0
    while os.waitpid(-1, os.WNOHANG)[0]:
        alive -= 1
    return str(8 + alive)


def fill_disk(agent: Hostile, parameters: HostileParameters) -> list[str]:
    def fill(path: Path) -> None:
        with path.open("wb") as file:
            while True:
                file.write(bytes(1 << 20))

    folders = (tempfile.gettempdir(), "/dev/shm")
    return [outcome(fill, Path(folder, "flood")) for folder in folders]


def connect(agent: Hostile, parameters: HostileParameters) -> list[str]:
    def tcp() -> None:
        with socket.create_connection(("127.0.0.1", int(parameters.text)), timeout=2.0):
            pass

    def unix(path: str) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)

    return [outcome(tcp), *(outcome(unix, path.replace("@", "\0")) for path in parameters.paths)]


def lie(agent: Hostile, parameters: HostileParameters) -> str:
    agent._cpu = float(parameters.text)
    return ""


def find(agent: Hostile, parameters: HostileParameters) -> list[str]:
    """Look for a text where an agent can look: command lines, environments, files, descriptors."""
    places = [*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]
    places += [Path(path) for path in parameters.paths]
    hits = []
    for place in places:
        try:
            if parameters.text.encode() in place.read_bytes() and str(os.getpid()) not in str(
                place
            ):
                hits.append(str(place))
        except OSError:
            continue
    return hits


def remember_deal(agent: Hostile, parameters: HostileParameters) -> str:
    """Return the card that the opponent holds, known from the other game of the pair."""
    seat = agent.view.player
    known = agent._cards.get((agent.seed, 1 - seat), "")
    data: Any = agent.view.observations[0].data
    agent._cards[agent.seed, seat] = data["card"]
    return known


def refuse_to_start(agent: Hostile, parameters: HostileParameters) -> str:
    """Die, to be started again, from the moment on at which no start succeeds."""
    if time.time() > float(parameters.text):
        os._exit(1)
    return ""


def wait_until(agent: Hostile, parameters: HostileParameters) -> str:
    time.sleep(max(0.0, float(parameters.text) - time.time()))
    return ""


def replace_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def look_around(agent: Hostile, parameters: HostileParameters) -> list[str]:
    """Return the variables with a known value, of this process and of the one that started it."""
    texts = [f"{name}={value}" for name, value in os.environ.items()]
    for place in ("/proc/self/environ", f"/proc/{os.getppid()}/environ"):
        with contextlib.suppress(OSError):
            texts += Path(place).read_bytes().decode().split("\0")
    return sorted({text.split("=")[0] for text in texts if text.endswith(parameters.text)})


def write_through(make: Callable[[Path, Path], None], path: Path) -> None:
    """Write to a file through a link in the agent's own folder."""
    link = Path(tempfile.gettempdir(), f"link-{time.monotonic_ns()}")
    make(path, link)
    link.write_text("planted")


def leave_log(agent: Hostile, parameters: HostileParameters) -> str:
    print("a line for the log", flush=True)
    return "printed"


ATTACKS: dict[str, Callable[[Hostile, HostileParameters], Any]] = {
    "prlimit": on_processes(lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))),
    "affinity": on_processes(lambda pid: os.sched_setaffinity(pid, {0})),
    "scheduler": on_processes(
        lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    ),
    "priority": on_processes(lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19)),
    "oom": on_processes(lambda pid: Path(f"/proc/{pid}/oom_score_adj").write_text("1000")),
    "stop": on_processes(lambda pid: os.kill(pid, signal.SIGSTOP)),
    "kill": on_processes(lambda pid: os.kill(pid, signal.SIGKILL)),
    "kill_all": lambda agent, parameters: outcome(os.kill, -1, signal.SIGKILL),
    "ptrace": on_processes(ptrace),
    "memory": on_processes(lambda pid: Path(f"/proc/{pid}/mem").open("r+b").close()),
    "environment": on_processes(lambda pid: Path(f"/proc/{pid}/environ").read_bytes()),
    "rights": lambda agent, parameters: {
        "capabilities": Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0],
        **{path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()},
    },
    "read": on_paths(Path.read_bytes),
    "unlink": on_paths(Path.unlink),
    "truncate": on_paths(lambda path: os.truncate(path, 0)),
    "write": on_paths(lambda path: path.write_text("import os")),
    "mode": on_paths(lambda path: path.chmod(0)),
    "owner": on_paths(lambda path: os.chown(path, os.getuid(), os.getgid())),
    "attribute": on_paths(lambda path: os.setxattr(path, "user.miai", b"1")),
    "times": on_paths(lambda path: os.utime(path, (1, 1))),
    "create": on_paths(lambda path: (path.parent / "planted").write_text("import os")),
    "fifo": on_paths(replace_by_fifo),
    "move": on_paths(lambda path: path.parent.rename(path.parent.with_name("moved"))),
    "hard": on_paths(partial(write_through, os.link)),
    "soft": on_paths(partial(write_through, os.symlink)),
    "look_around": look_around,
    "fork_twice": fork_twice,
    "fork_on_and_on": fork_on_and_on,
    "fork_bomb": fork_bomb,
    "take_memory": take_memory,
    "fill_disk": fill_disk,
    "connect": connect,
    "lie": lie,
    "find": find,
    "remember_deal": remember_deal,
    "wait_until": wait_until,
    "refuse_to_start": refuse_to_start,
    "leave_log": leave_log,
}


@hookimpl
def miai_register(registry: Registry) -> None:
    registry.add("agent", "hostile", Hostile, parameters=HostileParameters, summary="Attacks")
