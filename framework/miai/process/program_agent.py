"""The agent ``program``: a player in any language, by lines of JSON; see docs/programs.md."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from miai.agent import Decision, ThinkingAgent, Thought, checked_policy
from miai.clock import ClockReading
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentProtocolError,
    AgentUnavailableError,
    GameError,
    HiddenInformationError,
)
from miai.game import Game, Observation
from miai.plain import Json, listed, one_line, to_plain
from miai.process.conversation import (
    PATIENCE,
    PROTOCOL,
    Conversation,
    Message,
    MessageT,
    ProgramParameters,
    one_of,
    read_message,
)
from miai.process.programs import ProgramProcess
from miai.render import action_text
from miai.values import Evaluation

_GRACE: Final = 5.0
_LAST_CALL: Final = 0.1
"""Seconds before the end of its time at which a program is told to stop."""
_LOOK: Final = 0.002
"""Seconds between two looks at whether pondering has to end."""


class PlayerHello(Message):
    """What a program says of itself.

    Attributes:
      games: names of the games that it plays; None for any.
      ponder, stop: whether it wants these messages.
    """

    name: str = ""
    version: str | int | float = ""
    games: tuple[str, ...] | None = None
    ponder: bool = False
    stop: bool = False

    _says_what_it_may_be = one_of("version", "expected a text or a number")


class ActionAnswer(Message):
    """A program's decision.

    Attributes:
      action: number or text of a legal action; None if it resigns.
      value: expected return for its player.
      pv: numbers or texts of the actions that it expects, its own first.
      policy: pairs of action and probability, from which the program drew its action.
      statistics: anything else for the record.
    """

    action: int | str | None = None
    resign: bool = False
    value: float | None = None
    pv: tuple[int | str, ...] | None = None
    policy: tuple[tuple[int | str, float], ...] | None = None
    statistics: dict[str, Any] = Field(default_factory=dict)

    _says_what_it_may_be = one_of("action", "expected a number or a text of a legal action")
    _says_what_they_may_be = one_of("pv", "expected a list of numbers or texts of actions")
    _says_what_pairs_are = one_of("policy", "expected a list of pairs of action and probability")


class ProgramAgent(ThinkingAgent):
    """A player that is a program; docs/programs.md describes the protocol.

    The program is started by the first game and serves all later ones. One that fails is killed,
    and the next game starts it again.
    """

    def __init__(self, game: Game, parameters: ProgramParameters) -> None:
        super().__init__(game, parameters)
        self._parameters = parameters
        self._who = parameters.who
        self._conversation: Conversation | None = None
        self._ponders = self._stops = False
        self._questions = 0
        self._news: list[dict[str, Json]] = []
        self._used = 0.0  # CPU seconds of programs that have ended

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Start the program if it does not run, and tell it that a game begins."""
        super().new_game(seed, player=player, log=log)
        self._news = []
        until = time.monotonic() + self._parameters.startup_timeout
        if self._conversation is not None and self._conversation.process.is_dead():
            self.close()  # after the last game was over, which costs nothing
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

    def think(self, clock: ClockReading) -> Thought:
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
            if self._stops and clock.limit is not None:
                # Half of the time at least, where the limit is a fraction of a second.
                last_call = max(clock.limit - _LAST_CALL, clock.limit / 2)
                if not self._conversation.is_answered(within=last_call):
                    self._conversation.send({"type": "stop", "id": self._questions}, until=until)
            answer = self._conversation.receive(until=until, doing="did not answer")
            return self._decision(answer, question)
        except AgentError:
            self.close()
            raise

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Let the program think until `stop` returns true, if its hello says that it ponders.

        It may ignore the end: the next question waits until it reads it.
        """
        if not self._ponders or self._conversation is None:
            return
        until = time.monotonic() + PATIENCE
        self._tell({"type": "ponder", "observations": list(self._news)}, until)
        self._news = []
        try:
            while not (stop() or self._conversation.is_answered(within=_LOOK)):
                pass
            self._conversation.send({"type": "stop"}, until=time.monotonic() + PATIENCE)
        except AgentError:
            self.close()
            raise

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the program how the game ended."""
        if self._conversation is not None:
            until = time.monotonic() + PATIENCE
            self._tell({"type": "end", "returns": list(returns)}, until)

    def close(self) -> None:
        """End the program: close its input, then SIGTERM, then SIGKILL."""
        if self._conversation is not None:
            conversation, self._conversation = self._conversation, None
            self._used += conversation.end()

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
        process = ProgramProcess(
            parameters.command, cwd=parameters.folder, environment=parameters.environment
        )
        self._conversation = conversation = Conversation(process, self._who)
        conversation.log_to(log)
        hello: dict[str, Json] = {
            "type": "hello",
            "protocol": PROTOCOL,
            "game": info.title,
            "parameters": to_plain(self.game.public_parameters(), what="game parameters"),
            "players": list(info.player_names),
            "perfect_information": info.perfect_information,
        }
        try:
            answer = conversation.greet(hello, until=until)
            self._note_greeting(answer)
        except AgentError as error:
            self.close()
            raise AgentUnavailableError(f"{error}; see docs/programs.md") from error
        return conversation

    def _note_greeting(self, answer: Mapping[str, Any]) -> None:
        """Keep what the program says of itself. Raises `AgentProtocolError`."""
        hello = self._read(PlayerHello, answer, "hello")
        title = self.game.info.title
        if hello.games is not None and title not in hello.games:
            known = one_line(listed(hello.games), limit=200)
            raise AgentProtocolError(f"{self._who} does not play {title}; it plays {known}")
        self._ponders, self._stops = hello.ponder, hello.stop
        name = one_line(hello.name or self._who, limit=80)
        self.version = one_line(f"{name} {hello.version}".strip(), limit=120)

    def _decision(self, answer: Mapping[str, Any], question: Mapping[str, Json]) -> Thought:
        """Return the decision and the policy in an answer. Raises `AgentProtocolError`."""
        if answer.get("type") != "action" or answer.get("id") != question["id"]:
            said = f"type {answer.get('type')!r}, id {answer.get('id')!r}"
            raise AgentProtocolError(
                f"{self._who} answered {one_line(said, limit=120)}, where an action with id "
                f"{question['id']} was wanted"
            )
        decided = self._read(ActionAnswer, answer, "answer")
        statistics = dict(decided.statistics)
        if decided.value is not None:
            statistics.update(Evaluation(decided.value).statistics())
        if decided.pv is not None:
            statistics["pv"] = self._line(decided.pv)
        if decided.resign:
            return Decision(self.view.legal_actions[0], resign=True, statistics=statistics), None
        if decided.action is None:
            raise AgentProtocolError(f"{self._who} answered without an action")
        texts = question["legal_text"]
        assert isinstance(texts, list)
        decision = Decision(self._number(decided.action, texts), statistics=statistics)
        if decided.policy is None:
            return decision, None
        policy = {self._number(action, texts): chance for action, chance in decided.policy}
        try:
            return decision, checked_policy(policy, self.view.legal_actions)
        except AgentProtocolError as error:
            raise AgentProtocolError(f"{self._who}: {error}") from None

    def _number(self, action: int | str, texts: list[Json]) -> int:
        """Return the number of an action, given by number or text. Raises `AgentProtocolError`."""
        if not isinstance(action, str):
            return action
        if action not in texts:
            raise AgentProtocolError(
                f"{self._who} answered {one_line(action, limit=80)!r}, "
                "which is not the text of a legal action"
            )
        return self.view.legal_actions[texts.index(action)]

    def _read(self, model: type[MessageT], message: Mapping[str, Any], what: str) -> MessageT:
        try:
            return read_message(model, message, what)
        except ValueError as error:
            raise AgentProtocolError(f"{self._who}: {error}") from None

    def _line(self, pv: Sequence[int | str]) -> list[int | str]:
        """Return a line with texts replaced by numbers, as far as it can be followed."""
        line: list[int | str] = []
        if self.game.info.perfect_information and not self.game.info.simultaneous:
            state = self.view.state.clone()
            with contextlib.suppress(GameError):
                for action in pv:
                    number = action if isinstance(action, int) else state.string_to_action(action)
                    state.apply_action(number)
                    line.append(number)
        return [*line, *pv[len(line) :]]

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
