"""Agents that misbehave on request, as a plugin that only the tests' child processes find.

`Unruly` plays its first legal action. In a game whose seed derives from the name of one of `WAYS`
it misbehaves in that way, at the moment that its parameter ``when`` names.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai import Agent, ClockReading, Decision, Game, Observation, Parameters, hookimpl
from miai.errors import AgentUnavailableError
from miai.seeds import derive_seed

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    add = registry.add
    add("agent", "unruly", Unruly, parameters=UnrulyParameters, summary="Misbehaves")
    add("agent", "probe", Probe, summary="Reports its surroundings")
    add("agent", "keeper", Keeper, summary="Plays by all its random numbers")
    add("agent", "absent", Absent, summary="Its engine is missing")
    add("agent", "sleeper", Sleeper, parameters=SleeperParameters, summary="Thinks by sleeping")


class UnrulyParameters(Parameters):
    how: str = "nothing"  # at the moments init and close, when there is no seed
    when: str = "act"
    note: str = ""


class Unruly(Agent):
    def __init__(self, game: Game, parameters: UnrulyParameters) -> None:
        super().__init__(game, parameters)
        self.how, self.when, self.note = parameters.how, parameters.when, parameters.note
        if self.when == "init":
            self.misbehave()

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.how = {derive_seed("unruly", how): how for how in WAYS}.get(seed, "nothing")
        print("a new game", flush=True)
        self.at("new_game")

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self.at("observe")

    def act(self, clock: ClockReading) -> Decision:
        given = self.at("act")
        if given is not None:
            return given  # type: ignore[no-any-return]  # that is the point
        return Decision(self.view.legal_actions[0])

    def end(self, returns: tuple[float, ...]) -> None:
        self.at("end")

    def close(self) -> None:
        if self.when == "close":
            self.misbehave()

    def at(self, moment: str) -> Any:
        return self.misbehave() if moment == self.when else None

    def misbehave(self) -> Any:
        return WAYS[self.how](self)


def _raise(agent: Unruly) -> None:
    raise ValueError("out of\nideas \x1b[31m")


def _bad_exception(agent: Unruly) -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    raise UnspeakableError


def _hang_in_c(agent: Unruly) -> None:
    ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter lock


def _hang_deaf(agent: Unruly) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)


def _flood(agent: Unruly) -> None:
    while True:
        print("x" * 1000)


def _flood_in_c(agent: Unruly) -> None:
    libc = ctypes.CDLL(None)
    while True:
        libc.write(2, b"y" * 1000, 1000)


def _die(number: int) -> Callable[[Unruly], None]:
    return lambda agent: os.kill(os.getpid(), number)


def _exit(agent: Unruly) -> None:
    print("these are my last words", flush=True)
    os._exit(3)


def _close_pipes(agent: Unruly) -> None:
    os.closerange(0, 256)
    time.sleep(1000)


def _say(body: bytes) -> Callable[[Unruly], None]:
    """Answer with a body of one's own, in which ``ID`` stands for the number of the question."""

    def say(agent: Unruly) -> None:
        os.write(int(sys.argv[2]), _frame(body.replace(b"ID", str(_question()).encode())))
        time.sleep(1000)

    return say


def _frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def _twice(agent: Unruly) -> None:
    """Answer now; the host's own answer to the same question is the second one."""
    agent.how = "nothing"
    os.write(int(sys.argv[2]), _frame(_ok(action=agent.view.legal_actions[0])))


def _question() -> int:
    """Return the number of the question that the host is answering."""
    frame = sys._getframe()
    while "message" not in frame.f_locals:
        assert frame.f_back
        frame = frame.f_back
    return int(frame.f_locals["message"]["id"])


def _engine(agent: Unruly) -> None:
    """Start an engine in this process group and one that leaves it, and hang."""
    engines = [
        subprocess.Popen(["sleep", "1000"]),
        subprocess.Popen(["sleep", "1000"], start_new_session=True),
    ]
    Path(agent.note).write_text(" ".join(str(e.pid) for e in engines))
    time.sleep(1000)


def _engine_alone(agent: Unruly) -> None:
    """Start an engine and die."""
    Path(agent.note).write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
    os._exit(3)


def _print(agent: Unruly) -> None:
    print("hello from Python")
    print("hello from standard error", file=sys.stderr)
    ctypes.CDLL(None).write(1, b"hello from C\n", 13)
    os.system("echo hello from a shell")


def _statistics(value: Any) -> Callable[[Unruly], Decision]:
    return lambda agent: Decision(agent.view.legal_actions[0], statistics={"it": value})


def _background(agent: Unruly) -> None:
    """Leave threads behind that flood while nobody asks."""
    agent.how = "nothing"
    threading.Thread(target=_flood, args=(agent,), daemon=True).start()


def _ok(**changes: Any) -> bytes:
    ok = {"action": 0, "resign": False, "statistics": {}, **changes}
    return json.dumps({"id": _question(), "ok": ok, "cpu": 0.0}).encode()


def _glutton(agent: Unruly) -> Decision:
    """Take more memory than is there for it, and leave a file behind."""
    Path(tempfile.gettempdir(), "left").write_text("behind")
    held = [bytearray(1 << 26) for _ in range(64)]
    return Decision(agent.view.legal_actions[0], statistics={"it": len(held)})


def _whereabouts(agent: Unruly) -> Decision:
    folder, processors = tempfile.gettempdir(), sorted(os.sched_getaffinity(0))
    Path(folder, "mine").write_text("x")
    output: Any = {"temporary": folder, "processors": processors}
    return Decision(agent.view.legal_actions[0], statistics={"it": output})


def _spy(agent: Unruly) -> Decision:
    """Tell which files can be read, here and by a child, and whether a process can be signalled.

    The file that `note` names has the process and the files, one a line.
    """
    process, *names = Path(agent.note).read_text().splitlines()
    output: Any = {}
    for name in names:
        child = subprocess.run(["/bin/cat", name], capture_output=True, check=False)
        output[name] = [_reads(name), child.returncode]
    try:
        os.kill(int(process), 0)
        output["signal"] = "sent"
    except OSError as error:
        output["signal"] = type(error).__name__
    return Decision(agent.view.legal_actions[0], statistics={"it": output})


def _reads(name: str) -> str:
    try:
        return Path(name).read_text()
    except OSError as error:
        return type(error).__name__


WAYS: dict[str, Callable[[Unruly], Any]] = {
    "nothing": lambda agent: None,
    "raise": _raise,
    "bad_exception": _bad_exception,
    "hang_in_c": _hang_in_c,
    "hang_deaf": _hang_deaf,
    "stop": _die(signal.SIGSTOP),
    "flood_in_c": _flood_in_c,
    "flood_answer": _statistics("x" * 2_000_000),
    "background": _background,
    "glutton": _glutton,
    "whereabouts": _whereabouts,
    "spy": _spy,
    "exit": _exit,
    "sigkill": _die(signal.SIGKILL),
    "close_pipes": _close_pipes,
    "twice": _twice,
    "engine": _engine,
    "engine_alone": _engine_alone,
    "print": _print,
    "occupied": lambda agent: Decision(agent.view.observations[-1].action or 0),
    "resign": lambda agent: Decision(0, resign=True),
    "text_action": lambda agent: Decision("b2"),  # type: ignore[arg-type]  # that is the point
    "object_statistics": _statistics(object()),
    "nan_statistics": _statistics([float("nan"), float("inf")]),
    "say_list": _say(b"[1, 2, 3]"),
    "say_wrong_id": _say(b'{"id": 9999999, "ok": {}, "cpu": 0}'),
}


class Probe(Agent):
    """Tells in its statistics what its process looks like."""

    def act(self, clock: ClockReading) -> Decision:
        import numpy as np

        facts = {
            "pid": os.getpid(),
            "session": os.getsid(0),
            "threads": {k: v for k, v in os.environ.items() if k.endswith("_NUM_THREADS")},
            "hash": hash("miai"),
            "stdin": sys.stdin.closed,
            "numpy": np.float64(0.5),
            "tuple": (1, 2),
            "modules": "miai.playing.match" in sys.modules,
        }
        return Decision(self.view.legal_actions[0], statistics=facts)


class Keeper(Agent):
    """Chooses by its generator and by the order of a set of texts."""

    def act(self, clock: ClockReading) -> Decision:
        texts = {f"action {action}" for action in self.view.legal_actions}
        first = next(iter(texts))
        if self.rng.random() < 0.5:
            return Decision(int(first.split()[1]))
        return Decision(self.rng.choice(self.view.legal_actions))


class Absent(Agent):
    """Needs what is not there."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        raise AgentUnavailableError("no program 'gnugo' was found; install the package gnugo")

    def act(self, clock: ClockReading) -> Decision:
        raise NotImplementedError


class SleeperParameters(Parameters):
    seconds: tuple[float, ...] = ()


class Sleeper(Agent):
    """Sleeps the given seconds at its successive moves."""

    def __init__(self, game: Game, parameters: SleeperParameters) -> None:
        super().__init__(game, parameters)
        self.seconds = parameters.seconds
        self.naps: list[float] = []

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.naps = list(self.seconds)

    def act(self, clock: ClockReading) -> Decision:
        if self.naps:
            time.sleep(self.naps.pop(0))
        statistics = {"main": clock.main, "periods": clock.periods, "limit": clock.limit}
        return Decision(self.view.legal_actions[0], statistics=statistics)
