"""A sitting of self-play: orders to workers, their games into the folder, until all are there.

The workers of a self-play run, seen from the process that writes: orders, games, deaths.

What the machine's inference server did during a run: its batches and its queue.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from miai.errors import AgentError, ConfigError
from miai.files import writing
from miai.plain import one_line
from miai.process.child import kill_all
from miai.process.messages import MAX_REQUEST_BYTES, FrameReader, encode
from miai_go.errors import DataError
from miai_go.learning.agent_games import GamesPlan, PlayedGame, unpack
from miai_go.learning.game_folder import GameFolder
from miai_go.learning.games import BLACK_WON, DRAWN, WHITE_WON, StoredGame

_MODULE: Final = "miai_go.learning.selfplay_worker"
_CHUNK: Final = 1 << 18
_TAIL: Final = 1000  # bytes of a worker's log that are looked at when it died
_TAIL_LINES: Final = 2
_CLOSE_SECONDS: Final = 5.0
_ONE_THREAD: Final = dict.fromkeys(
    (
        "OMP_NUM_THREADS",  # torch too
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True, slots=True)
class Finished:
    """A game was played to its end."""

    number: int
    played: PlayedGame


@dataclass(frozen=True, slots=True)
class Failed:
    """A game was not played to its end, or, without a number, a worker died before one.

    Attributes:
      reason: what happened, in words.
      died: whether the worker died of it.
    """

    number: int | None
    reason: str
    died: bool


Event = Finished | Failed


class RefusedError(ConfigError):
    """The players cannot be had; no worker can play."""


class Crew:
    """A fixed number of workers, each at one game; one that dies is replaced.

    Used in a ``with`` statement, at whose end they are ended.

    Args:
      logs: folder for what the workers write; made when missing.
    """

    def __init__(self, plan: GamesPlan, *, workers: int, logs: Path, sgf: bool = True) -> None:
        self._setup = encode({"plan": plan.model_dump(mode="json"), "sgf": sgf})
        self._logs = logs
        self._most = workers
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        with writing(self._logs, DataError):
            self._logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            if worker.number is None:
                worker.dismiss()
        for worker in list(self._workers):
            seconds = _CLOSE_SECONDS if worker.number is None and kind is None else 0.0
            worker.end(seconds)
            self._drop(worker)
        self._selector.close()

    @property
    def idle(self) -> int:
        """How many games it takes now."""
        return self._most - len(self.busy)

    @property
    def busy(self) -> list[int]:
        """Numbers of the games in play."""
        return [worker.number for worker in self._workers if worker.number is not None]

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._workers]

    def play(self, number: int) -> None:
        """Have a game played. Raises `DataError` where no worker can be started."""
        worker = next((w for w in self._workers if w.number is None), None) or self._spawn()
        worker.order(number)

    def wait(self, seconds: float) -> list[Event]:
        """Return what happened, waiting up to `seconds` for something to happen.

        Raises:
          RefusedError: the players cannot be had.
        """
        events: list[Event] = []
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            events += worker.take()
            if worker.over:
                events.append(self._bury(worker))
        return events

    def _spawn(self) -> _Worker:
        taken = {worker.log for worker in self._workers}
        logs = (self._logs / f"worker-{slot:03}.log" for slot in range(self._most))
        log = next(path for path in logs if path not in taken)
        try:
            worker = _Worker(log, self._setup)
        except OSError as error:
            raise DataError(f"a worker process cannot be started: {error.strerror}") from error
        self._workers.append(worker)
        self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        return worker

    def _bury(self, worker: _Worker) -> Failed:
        self._drop(worker)
        return Failed(worker.number, worker.end(1.0), died=True)

    def _drop(self, worker: _Worker) -> None:
        self._selector.unregister(worker.answers)
        self._workers.remove(worker)


class _Worker:
    """One worker process.

    Attributes:
      process: the child, the leader of a session of its own, so that Ctrl-C does not reach it.
      log: file of its standard error.
      number: of the game that it is at, or None.
      answers: descriptor to read from.
      over: whether it closed its answers or said what is no answer.
    """

    def __init__(self, log: Path, setup: bytes) -> None:
        # The kernel ties a child to the thread that spawned it; only the main one lives long
        # enough.
        in_main = threading.current_thread() is threading.main_thread()
        self.number: int | None = None
        self.over = False
        self.log = log
        self._frames = FrameReader(MAX_REQUEST_BYTES)
        with log.open("wb") as file:
            # -P: a file of the working directory called numpy.py, say, is not what numpy means.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(in_main * os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                bufsize=0,
                start_new_session=True,
                env={**os.environ, **_ONE_THREAD, "PYTHONHASHSEED": "0"},
            )
        self._input, output = _pipes(self.process)
        self.answers = output.fileno()
        self._output = output
        self._write(setup)

    def order(self, number: int) -> None:
        """Have it play a game."""
        self.number = number
        self._write(encode({"number": number}))

    def dismiss(self) -> None:
        """Let it end when it has nothing to do."""
        self._input.close()

    def take(self) -> list[Event]:
        """Take in what it has to say."""
        data = os.read(self.answers, _CHUNK)
        self.over = not data
        self._frames.feed(data)
        events: list[Event] = []
        try:
            while (answer := self._frames.next()) is not None:
                events += self._event(answer)
        except (AgentError, DataError, KeyError) as error:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"it answered what is no answer: {error}\n")
            self.over = True
        return events

    def end(self, seconds: float) -> str:
        """End it and all that it started; return how it ended, with its last words.

        Args:
          seconds: that it is given to end by itself.
        """
        until = time.monotonic() + seconds
        while (status := self._status()) is None and time.monotonic() < until:
            time.sleep(0.01)
        kill_all(self.process)
        self.process.wait()
        self._input.close()
        self._output.close()
        return f"worker process {self.process.pid} {_told(status)}{self._last_words()}"

    def _status(self) -> int | None:
        """Return the exit status, or minus the signal of its death; None while it lives.

        It is not buried by that, where the system can tell without: its id has to stay its own
        until its process group is killed.
        """
        if not hasattr(os, "waitid"):
            return self.process.poll()
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        result = os.waitid(os.P_PID, self.process.pid, options)
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def _event(self, answer: Mapping[str, Any]) -> list[Event]:
        if "refused" in answer:
            raise RefusedError(str(answer["refused"]))
        if "ready" in answer:
            return []
        number, self.number = self.number, None
        if number is None or answer["number"] != number:
            raise DataError("a game that was not asked for")
        if "void" in answer:
            return [Failed(number, str(answer["void"]), died=False)]
        return [Finished(number, unpack(answer["game"]))]

    def _write(self, data: bytes) -> None:
        """Send a frame, which is short enough for the pipe; its death is seen elsewhere."""
        with contextlib.suppress(BrokenPipeError):
            self._input.write(data)

    def _last_words(self) -> str:
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
        words = one_line("\n".join(lines[-_TAIL_LINES:]))
        return f"; its last words: {words}" if words else ""


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _told(status: int | None) -> str:
    if status is None:
        return "hung up and was killed"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # the real-time signals have no names
        return f"was killed by signal {-status}"


ATTEMPTS: Final = 3
"""How often a game is begun before it is given up."""

_WINDOW: Final = 8
"""Games a worker that may be ahead of the first unfinished one; they wait in memory."""
_LOOK_EVERY: Final = 0.25  # seconds between two looks whether to stop
_RESULTS: Final = {BLACK_WON: "black", WHITE_WON: "white", DRAWN: "draw"}


@dataclass(slots=True)
class SelfPlayTally:
    """What a sitting did.

    Attributes:
      games, moves: played to the end.
      targets: moves with a policy target.
      results: how many games ended how: black, white, draw, unknown.
      names: the different games, symmetries aside.
      lost: games that were given up, with the reason of the last failure.
      failures: attempts that failed.
      began: on the monotonic clock.
    """

    games: int = 0
    moves: int = 0
    targets: int = 0
    results: Counter[str] = field(default_factory=Counter)
    names: set[bytes] = field(default_factory=set)
    lost: dict[int, str] = field(default_factory=dict)
    failures: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time since it began."""
        return time.monotonic() - self.began

    def note(self, game: StoredGame) -> None:
        """Count a game."""
        self.games += 1
        self.moves += len(game.moves)
        self.targets += 0 if game.weight is None else int((game.weight > 0).sum())
        self.results[_RESULTS.get(game.result, "unknown")] += 1
        self.names.add(game.name())

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        seconds = self.seconds
        return {
            "games": self.games,
            "moves": self.moves,
            "moves_with_policy_targets": self.targets,
            "different_games": len(self.names),
            "results": dict(self.results),
            "lost": {str(number): reason for number, reason in self.lost.items()},
            "failed_attempts": self.failures,
            "seconds": round(seconds, 3),
            "games_per_hour": round(3600 * self.games / seconds, 1) if seconds else 0.0,
        }


class Sitting:
    """Plays the games that a folder lacks.

    Args:
      games: how many the folder is to have.
      workers: how many the crew has.
      tell: called with a line on each failure.

    Attributes:
      tally: what was done so far.
    """

    def __init__(
        self,
        folder: GameFolder,
        crew: Crew,
        *,
        games: int,
        workers: int,
        tell: Callable[[str], None],
    ) -> None:
        self.tally = SelfPlayTally()
        self._folder, self._crew, self._tell = folder, crew, tell
        self._window = _WINDOW * workers
        self._patience = ATTEMPTS * (workers + 2)
        self._numbers: Iterator[int] = folder.missing(games)
        self._waiting: deque[int] = deque()
        self._failures: Counter[int] = Counter()
        self._barren = 0

    def play(self, *, stop: Callable[[], bool], progress: Callable[[], None]) -> None:
        """Play until all games are there or `stop` says so.

        Args:
          progress: called several times a second.

        Raises:
          RefusedError: the players cannot be had.
          DataError: games cannot be written, or attempt after attempt fails.
        """
        while not stop():
            self._give_orders()
            if not self._crew.busy:
                return
            events = self._crew.wait(_LOOK_EVERY)
            self._take({e.number: e.played for e in events if isinstance(e, Finished)})
            for event in events:
                if isinstance(event, Failed):
                    self._fail(event)
            progress()

    def _give_orders(self) -> None:
        while self._crew.idle:
            if not self._waiting:
                self._waiting.extend(n for n in [next(self._numbers, None)] if n is not None)
            if not self._waiting or self._waiting[0] >= self._folder.turn + self._window:
                return
            self._crew.play(self._waiting.popleft())

    def _take(self, games: dict[int, PlayedGame]) -> None:
        if not games:
            return
        self._folder.add(games)
        for played in games.values():
            self.tally.note(played.game)
        self._barren = 0

    def _fail(self, event: Failed) -> None:
        self.tally.failures += 1
        self._barren += 1
        if self._barren >= self._patience:
            raise DataError(
                f"{self._barren} attempts failed one after another, the last by: {event.reason}"
            )
        number = event.number
        if number is None:
            self._tell(f"before any game, {event.reason}; another one is started")
            return
        self._failures[number] += 1
        times = self._failures[number]
        if times < ATTEMPTS:
            self._tell(f"game {number}: {event.reason}; it is played again")
            self._waiting.appendleft(number)
            return
        self._tell(f"game {number}: given up after {times} attempts: {event.reason}")
        self.tally.lost[number] = event.reason
        self._folder.lose(number, event.reason)


_COUNTED: Final = ("requests", "positions", "batches", "seconds", "waited")


class ServerWatch:
    """Reads the server's figures twice; what lies between is the run's, and others' beside it."""

    def __init__(self) -> None:
        self._before = _figures()

    def since(self) -> list[dict[str, Any]]:
        """Return for each network that was asked what was done since.

        path; requests, positions, batches and seconds of the network at work; mean_batch,
        positions in a batch; queue_wait, mean seconds that a request waited for its batch.
        """
        rows = []
        for key, after in _figures().items():
            before = self._before.get(key, {})
            done = {name: after[name] - before.get(name, 0.0) for name in _COUNTED}
            if done["requests"] > 0:
                waited = done.pop("waited")
                rows.append(
                    {
                        "path": key[1],
                        **{name: round(figure, 3) for name, figure in done.items()},
                        "mean_batch": round(done["positions"] / max(done["batches"], 1), 2),
                        "queue_wait": round(waited / done["requests"], 6),
                    }
                )
        return rows


def _figures() -> dict[tuple[int, str], dict[str, float]]:
    """Return the counts of each file's networks on the server that runs, by server and path."""
    from miai_go.nets.client import server_status

    status = server_status()
    found: dict[tuple[int, str], dict[str, float]] = {}
    networks: list[dict[str, Any]] = status["networks"] if status else []
    pid = status["pid"] if status else 0
    for network in networks:
        if "requests" not in network:  # not loaded
            continue
        # One file may be run in several ways, which the figures do not tell apart.
        counts = found.setdefault((pid, network["path"]), dict.fromkeys(_COUNTED, 0.0))
        for name in _COUNTED[:-1]:
            counts[name] += network[name]
        counts["waited"] += network["queue_wait"] * network["requests"]
    return found
