"""Controllers of our GTP engine: one that talks to its process, one that talks to a session."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.warm_command import TalkingMiai

from miai_go.gtp.engine_session import Session
from miai_go.gtp.players import player_maker
from miai_go.gtp.session_commands import answer

FEW = {"simulations": 20, "max_nodes": 20_000}
SECONDS = 60.0


class Engine:
    """The process, with its output read line by line as it comes."""

    def __init__(self, *options: str) -> None:
        self.process = TalkingMiai(["gtp", *options])
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))
        self._lines.put(None)

    def send(self, data: bytes | str) -> None:
        self.process.stdin.write(data.encode() if isinstance(data, str) else data)

    def line(self, seconds: float = SECONDS) -> str:
        line = self._lines.get(timeout=seconds)
        assert line is not None, "the engine closed its output"
        return line

    def response(self) -> str:
        """Return the lines up to the empty one that ends a response."""
        lines = []
        while line := self.line():
            lines.append(line)
        return "\n".join(lines)

    def ask(self, command: str) -> str:
        self.send(f"{command}\n")
        return self.response()

    def timed(self, command: str) -> tuple[str, float]:
        began = time.monotonic()
        return self.ask(command), time.monotonic() - began

    def leave(self) -> int:
        self.process.stdin.close()
        return self.process.wait(SECONDS)


@contextmanager
def engine(*options: str) -> Iterator[Engine]:
    running = Engine(*options)
    try:
        yield running
    finally:
        running.process.close()


class Talk:
    """A session in this process, and what it answered."""

    def __init__(self, agent: str = "mcts", maker: Any = None, **values: Any) -> None:
        self.written: list[str] = []
        parameters = {"board_size": 5, "rules": "tromp-taylor", **values}
        self.session = Session(
            maker or player_maker(agent, FEW if agent == "mcts" else {}),
            parameters,
            write=self.written.append,
            agent=agent,
        )

    def raw(self, line: bytes) -> str:
        self.written.clear()
        answer(self.session, line)
        return "".join(self.written)

    def ok(self, line: str) -> str:
        answer = self.raw(line.encode())
        assert (answer[:1], answer[-2:]) == ("=", "\n\n"), f"{line}: {answer}"
        return answer[1:].strip(" \n")

    def fails(self, line: str) -> str:
        answer = self.raw(line.encode())
        assert (answer[:1], answer[-2:]) == ("?", "\n\n"), f"{line}: {answer}"
        return answer[1:].strip()

    def play(self, moves: str) -> None:
        """Play vertices in turn, Black first; a colour before one names who plays."""
        turn = "b"
        for word in moves.split():
            given = re.fullmatch(r"([bw]):(\S+)", word)
            turn, vertex = given.groups() if given else (turn, word)
            self.ok(f"play {turn} {vertex}")
            turn = "w" if turn == "b" else "b"
