"""The agent ``program``: a player in any language, by lines of JSON; see docs/programs.md."""

from __future__ import annotations

import json
import os
import select
import shlex
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import field_validator

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    HiddenInformationError,
)
from miai.game import Game, Observation
from miai.parameters import Parameters, parameter
from miai.plain import Json, one_line, to_plain
from miai.process.child import Output
from miai.process.programs import ProgramProcess
from miai.render import action_text
from miai.values import Evaluation

PROTOCOL: Final = 1
"""Version of the protocol."""
MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that a program may write."""
MAX_COMPLAINTS: Final = 64 << 20
"""Bytes that a program may write to standard error in a game."""

_DAY: Final = 86_400.0
_PATIENCE, _MERCY, _GRACE = 1.0, 0.5, 5.0
_CHUNK: Final = 1 << 16


class ProgramParameters(Parameters):
    """How a program is started and how long it may take."""

    command: tuple[str, ...] = parameter(
        help="Program and arguments, as a list or one line, without a shell", min_length=1
    )
    cwd: str = parameter("", help="Working directory of the program (default: the current one)")
    environment: dict[str, str] = parameter(
        {}, help="Environment variables, added to the current ones"
    )
    startup_timeout: float = parameter(
        30.0, gt=0, le=_DAY, unit="seconds", help="Time limit for the program's start and hello"
    )

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(shlex.split(value)) if isinstance(value, str) else value

    @field_validator("command")
    @classmethod
    def _names_a_program(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not command[0].strip():
            raise ValueError("the first word of the command must be a program")
        if any("\0" in word for word in command):
            raise ValueError("the command contains a null character")
        return command

    @field_validator("cwd")
    @classmethod
    def _is_a_folder(cls, folder: str) -> str:
        if folder and not Path(folder).expanduser().is_dir():
            raise ValueError(f"{folder} is not a folder")
        return folder


class Conversation:
    """Lines of JSON to and from a program.

    Args:
      process: the program.
      who: its name in messages.
    """

    def __init__(self, process: ProgramProcess, who: str) -> None:
        self.process, self._who = process, who
        self.complaints = Output(process.complaints)
        self.complaints.limit = MAX_COMPLAINTS
        self._partial = b""
        self._lines: deque[bytes] = deque()
        self._ended = False

    def send(self, message: Mapping[str, Json], *, until: float) -> None:
        """Write a message. Raises `AgentError` if the program dies or does not read it in time."""
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        while rest:
            self._wait(until, "did not read its messages", writing=True)
            try:
                rest = rest[os.write(self.process.requests, rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._death() from None

    def receive(self, *, until: float, doing: str) -> dict[str, Any]:
        """Return the program's next message.

        Args:
          until: time of the monotonic clock; infinity for no limit.
          doing: what it has to do, for messages: ``did not say hello``.

        Raises:
          AgentError: it dies, is late, writes too much or no JSON object.
        """
        while not self._lines:
            if self._ended:
                raise self._death()
            self._wait(until, doing, writing=False)
            self._read()
        line = self._lines.popleft()
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            text = one_line(line.decode("utf-8", "replace"), limit=80)
            raise AgentProtocolError(
                f"{self._who} wrote {text!r}; each line must be a JSON object "
                "(other output belongs on standard error)"
            )
        return message

    def log_to(self, path: Path | None) -> None:
        """Append what it writes to standard error from now on to a file."""
        self.complaints.log_to(path)
        self.complaints.size = 0

    def _read(self) -> None:
        try:
            data = os.read(self.process.answers, _CHUNK)
        except BlockingIOError:
            return
        self._ended = not data
        *whole, self._partial = (self._partial + data).split(b"\n")
        self._lines.extend(line for line in whole if line.strip())
        if max(map(len, [self._partial, *whole])) > MAX_LINE or len(self._lines) > _CHUNK:
            raise AgentFloodError(
                f"{self._who} wrote a line of more than {MAX_LINE:,} bytes, or thousands of lines"
            )

    def _wait(self, until: float, doing: str, *, writing: bool) -> None:
        """Wait until a pipe is ready; read the program's complaints meanwhile."""
        poll = select.poll()
        if writing:
            poll.register(self.process.requests, select.POLLOUT)
        poll.register(self.process.answers, select.POLLIN)
        if not self.complaints.ended:
            poll.register(self.process.complaints, select.POLLIN)
        left = until - time.monotonic()
        if left <= 0:
            raise AgentTimeoutError(f"{self._who} {doing} in time{self.complaints.last_lines()}")
        ready = dict(poll.poll(min(left, 1.0) * 1000))
        if self.process.complaints in ready:
            self.complaints.read()
            if self.complaints.over_limit:
                raise AgentFloodError(
                    f"{self._who} wrote more than {MAX_COMPLAINTS:,} bytes to standard error"
                )
        if writing and self.process.answers in ready:
            self._read()
            if self._ended:
                raise self._death()

    def _death(self) -> AgentCrashedError:
        self.process.await_death(_PATIENCE)
        self.complaints.read()
        how = self.process.exit_status()
        how = "closed its standard output" if how == "is running" else how
        return AgentCrashedError(f"{self._who} {how}{self.complaints.last_lines()}")


class ProgramAgent(Agent):
    """A player that is a program; docs/programs.md describes the protocol.

    The program is started by the first game and serves all later ones. One that fails is killed,
    and the next game starts it again.
    """

    def __init__(self, game: Game, parameters: ProgramParameters) -> None:
        super().__init__(game, parameters)
        self._parameters = parameters
        self._who = f"program '{Path(parameters.command[0]).name}'"
        self._conversation: Conversation | None = None
        self._questions = 0
        self._news: list[dict[str, Json]] = []
        self._used = 0.0  # CPU seconds of programs that have ended

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Start the program if it does not run, and tell it that a game begins."""
        super().new_game(seed, player=player, log=log)
        self._news = []
        until = time.monotonic() + self._parameters.startup_timeout
        conversation = self._conversation or self._start(log, until)
        conversation.log_to(log)
        self._tell({"type": "new_game", "player": player, "seed": seed % 2**32}, until)

    def observe(self, observation: Observation) -> None:
        """Keep an observation for the next question."""
        news: dict[str, Json] = {"actor": observation.actor, "action": observation.action}
        if observation.action is not None:
            news["text"] = self._text(observation.action)
        if observation.actions:
            news["actions"] = list(observation.actions)
            news["texts"] = [None if a is None else self._text(a) for a in observation.actions]
        if observation.data is not None:
            news["data"] = to_plain(observation.data, what="the observation")
        self._news.append(news)
        super().observe(observation)

    def act(self, clock: ClockReading) -> Decision:
        """Ask the program. Raises `AgentError` for an answer that is none."""
        self._questions += 1
        legal = list(self.view.legal_actions)
        question: dict[str, Json] = {
            "type": "act",
            "id": self._questions,
            "observations": list(self._news),
            "legal": legal,
            "legal_text": [self._text(action) for action in legal],
            "clock": {
                "kind": clock.control.kind,
                "seconds": clock.main,
                "periods": clock.periods,
                "limit": clock.limit,
                "increment": clock.control.increment,
            },
        }
        self._news = []
        # The referee judges the time; this only ends a program that hangs.
        until = float("inf") if clock.limit is None else time.monotonic() + clock.limit + _GRACE
        self._tell(question, until)
        try:
            assert self._conversation is not None
            answer = self._conversation.receive(until=until, doing="did not answer")
            return self._decision(answer, question)
        except AgentError:
            self.close()
            raise

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the program how the game ended."""
        if self._conversation is not None:
            until = time.monotonic() + _PATIENCE
            self._tell({"type": "end", "returns": list(returns)}, until)

    def close(self) -> None:
        """End the program: close its input, then SIGTERM, then SIGKILL."""
        if self._conversation is not None:
            process = self._conversation.process
            self._conversation = None
            process.stop(patience=_PATIENCE, mercy=_MERCY)
            self._used += process.cpu_seconds()

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far, the program's included."""
        running = self._conversation
        return (
            super().cpu_seconds()
            + self._used
            + (running.process.cpu_seconds() if running is not None else 0.0)
        )

    def _start(self, log: Path | None, until: float) -> Conversation:
        """Start the program and exchange greetings."""
        parameters, info = self._parameters, self.game.info
        folder = Path(parameters.cwd).expanduser() if parameters.cwd else None
        process = ProgramProcess(parameters.command, cwd=folder, environment=parameters.environment)
        self._conversation = conversation = Conversation(process, self._who)
        conversation.log_to(log)
        hello: dict[str, Json] = {
            "type": "hello",
            "protocol": PROTOCOL,
            "game": info.name,
            "parameters": to_plain(self.game.parameters.model_dump(), what="game parameters"),
            "players": list(info.player_names),
            "perfect_information": info.perfect_information,
        }
        try:
            conversation.send(hello, until=until)
            answer = conversation.receive(until=until, doing="did not say hello")
            self.version = self._greeted(answer)
        except AgentError as error:
            self.close()
            raise AgentUnavailableError(f"{error}; see docs/programs.md") from error
        return conversation

    def _greeted(self, answer: Mapping[str, Any]) -> str:
        """Return the program's name and version from its greeting."""
        protocol, games = answer.get("protocol"), answer.get("games")
        if answer.get("type") != "hello" or protocol != PROTOCOL:
            said = f"version {protocol!r}" if answer.get("type") == "hello" else "something else"
            raise AgentProtocolError(
                f"{self._who} speaks {said}; its first line must be a hello of protocol {PROTOCOL}"
            )
        if isinstance(games, list) and self.game.info.name not in games:
            known = one_line(", ".join(map(str, games)), limit=200)
            raise AgentProtocolError(
                f"{self._who} does not play {self.game.info.name}; it plays {known}"
            )
        name = one_line(str(answer.get("name", self._who)), limit=80)
        return one_line(f"{name} {answer.get('version', '')}".strip(), limit=120)

    def _decision(self, answer: Mapping[str, Any], question: Mapping[str, Json]) -> Decision:
        """Return the decision in an answer. Raises `AgentProtocolError` if it is none."""
        if answer.get("type") != "action" or answer.get("id") != question["id"]:
            said = f"type {answer.get('type')!r}, id {answer.get('id')!r}"
            raise AgentProtocolError(
                f"{self._who} answered {one_line(said, limit=120)}, where an action with id "
                f"{question['id']} was wanted"
            )
        statistics = answer.get("statistics", {})
        if not isinstance(statistics, dict):
            raise AgentProtocolError(f"{self._who}: the statistics of an answer are an object")
        value = answer.get("value")
        if isinstance(value, int | float) and not isinstance(value, bool):
            statistics = {**statistics, **Evaluation(float(value)).statistics()}
        if "pv" in answer:
            statistics = {**statistics, "pv": answer["pv"]}
        if answer.get("resign") is True:
            return Decision(self.view.legal_actions[0], resign=True, statistics=statistics)
        action = answer.get("action")
        if isinstance(action, str):
            texts = question["legal_text"]
            assert isinstance(texts, list)
            if action not in texts:
                raise AgentProtocolError(
                    f"{self._who} answered {one_line(action, limit=80)!r}, "
                    "which is no text of a legal action"
                )
            action = self.view.legal_actions[texts.index(action)]
        if isinstance(action, bool) or not isinstance(action, int):
            raise AgentProtocolError(
                f"{self._who}: an action is a number or a text of a legal action, "
                f"not {one_line(repr(action), limit=80)}"
            )
        return Decision(action, statistics=statistics)

    def _tell(self, message: Mapping[str, Json], until: float) -> None:
        if self._conversation is None:
            raise AgentCrashedError(f"{self._who} does not run")
        try:
            self._conversation.send(message, until=until)
        except AgentError:
            self.close()
            raise

    def _text(self, action: int) -> str:
        """Return an action in the game's notation, as far as the player can know it."""
        try:
            return action_text(self.view.state, action)
        except HiddenInformationError:
            return action_text(self.game.new_initial_state(), action)
