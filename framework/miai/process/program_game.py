"""The game ``program``: rules in any language, by lines of JSON; see docs/programs.md.

The program is a pure function. A *position* is any JSON value of its own making, which miai gives
back with the actions that are taken there, and the answer describes the next position. So the
program remembers nothing, copies of a state cost nothing, and a program that died is started again
without a loss. All games and states of a process with the same command share one running program.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, field_validator

from miai.errors import AgentCrashedError, AgentError, GameFailedError
from miai.game import Game, GameInfo, Observation, Player, SimultaneousState, State
from miai.parameters import parameter
from miai.plain import Json, dumps, one_line, to_plain
from miai.process.confined import launcher
from miai.process.conversation import (
    PROTOCOL,
    Conversation,
    Message,
    ProgramParameters,
    one_of,
    read_message,
)
from miai.process.programs import ProgramProcess
from miai.search.evaluators import RandomRollout, RandomRolloutParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME: Final = "program"
"""Name of the game's component."""

# Languages whose numbers are doubles hold seeds of this size exactly.
_SEED_BITS: Final = 32
_VERIFIED: Final = 100  # random games, where the referee looks whether a program fails
_MOST_ACTIONS: Final = 1_000_000
_LONGEST: Final = 1_000_000  # plies
_ROUNDING: Final = 1e-6  # by which probabilities may miss a sum of one
_PLAYER_NAME: Final = r"^[A-Za-z][\w-]{0,39}$"  # options of the command line, and names of files


class ProgramGameParameters(ProgramParameters):
    """How the program of a game is started, and how long it may take."""

    parameters: dict[str, Any] = parameter({}, help="Parameters of the game, told to the program")
    identity: str = parameter(
        "", max_length=80, help="Name of the game that the program must say (default: any)"
    )
    answer_timeout: float = parameter(
        10.0, gt=0, le=3600.0, unit="seconds", help="Time limit for an answer of the program"
    )
    remembered: int = parameter(
        20_000, ge=0, le=100_000_000, unit="answers", help="Answers kept in memory"
    )

    @field_validator("parameters")
    @classmethod
    def _are_plain(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        try:
            _plain(parameters, "parameters")
        except TypeError as error:  # such as a date in a config
            raise ValueError(str(error)) from None
        return parameters


def program_game(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of the game that a table with ``program`` stands for.

    Keys that are not those of `ProgramGameParameters` are parameters of the game itself.
    """
    own = ProgramGameParameters.model_fields.keys() - {"parameters"}
    rest = {key: value for key, value in table.items() if key not in {"program", "parameters"}}
    given = table.get("parameters", {})
    inner = {key: value for key, value in rest.items() if key not in own}
    outer = {key: value for key, value in rest.items() if key in own}
    parameters = {**inner, **given} if isinstance(given, Mapping) else given
    return NAME, {**outer, "command": table["program"], "parameters": parameters}


# -- what the program says ------------------------------------------------------------------------


class GameHello(Message):
    """What a program says of its game; the facts are those of `GameInfo`.

    Attributes:
      players: their names.
      actions: the notations of the players' actions, or how many there are.
      chance: the same of the outcomes of chance, whose numbers follow those of the actions.
      playouts: whether it answers ``playouts``.
    """

    name: str = Field(min_length=1, max_length=80)
    version: int = Field(ge=1)
    players: tuple[str, ...] = Field(min_length=1, max_length=64)
    actions: int | tuple[str, ...]
    max_game_length: int = Field(ge=1, le=_LONGEST)
    chance: int | tuple[str, ...] = 0
    min_utility: float = -1.0
    max_utility: float = 1.0
    utility_sum: float | None = 0.0
    perfect_information: bool = True
    payoffs: bool = False
    simultaneous: bool = False
    intermediate_rewards: bool = False
    teams: tuple[int, ...] = ()
    playouts: bool = False

    @field_validator("players")
    @classmethod
    def _distinct(cls, players: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(players)) < len(players) or not all(re.match(_PLAYER_NAME, p) for p in players):
            raise ValueError("names of players are different words of letters, digits, _ and -")
        return players

    def info(self) -> GameInfo:
        """Return the facts of the game. Raises `ValueError` if they contradict each other."""
        actions, chance = _count(self.actions), _count(self.chance)
        if actions < 1 or chance < 0 or actions + chance > _MOST_ACTIONS:
            raise ValueError(
                f"hello.actions: a game has 1 to {_MOST_ACTIONS:,} actions, chance included"
            )
        texts = self.texts()
        if len({text.lower() for text in texts}) < len(texts):
            raise ValueError("hello.actions, hello.chance: two are written alike")
        if not self.min_utility < self.max_utility:
            raise ValueError("hello.min_utility must be less than max_utility")
        if self.teams and len(self.teams) != len(self.players):
            raise ValueError("hello.teams must have a number for each player")
        return GameInfo(
            name=NAME,
            version=self.version,
            num_players=len(self.players),
            num_distinct_actions=actions,
            max_game_length=self.max_game_length,
            player_names=self.players,
            max_chance_outcomes=actions + chance if chance else 0,
            min_utility=self.min_utility,
            max_utility=self.max_utility,
            utility_sum=self.utility_sum,
            perfect_information=self.perfect_information,
            payoffs=self.payoffs,
            simultaneous=self.simultaneous,
            intermediate_rewards=self.intermediate_rewards,
            teams=self.teams,
            title=one_line(self.name, limit=80),
        )

    def texts(self) -> Sequence[str]:
        """Return the notations of all actions, chance's last."""
        start = _count(self.actions)
        of_players = _notations(self.actions, 0)
        return [*of_players, *_notations(self.chance, start)]


def _count(actions: int | tuple[str, ...]) -> int:
    return actions if isinstance(actions, int) else len(actions)


def _notations(actions: int | tuple[str, ...], first: int) -> Sequence[str]:
    if isinstance(actions, int):
        return [str(number) for number in range(first, first + actions)]
    return [one_line(text, limit=80) for text in actions]


class _Seen(Message):
    """What a player observes of a transition, beside its own action."""

    sees: Literal["action", "actor"] | tuple[int, ...] | None = None
    data: Any = None

    _says_what_it_may_be = one_of("sees", 'expected "action", "actor" or a list of players')


class PositionAnswer(Message):
    """A position, as the program describes it."""

    state: Any
    player: int
    legal: tuple[Any, ...] = ()
    legal_text: tuple[str, ...] | None = None
    chance: tuple[tuple[int, float], ...] = ()
    returns: tuple[float, ...] | None = None
    observations: tuple[_Seen | None, ...] | None = None
    text: str | None = Field(default=None, max_length=100_000)


class _ReturnsAnswer(Message):
    """Mean returns of random games, for each position."""

    returns: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Position:
    """A position, checked.

    Attributes:
      state: the program's own value of it.
      key: that value as text.
      player: who acts, a player or a constant of `Player`.
      legal: each player's legal actions, ascending.
      chance: (action, probability) pairs at a chance node, ascending.
      returns: each player's utility; zeros where the program gives none.
      observations: what each player observes of the transition to it; empty if all see everything.
      texts: the notations of legal actions that are written otherwise here.
      text: the position for people.
    """

    state: Json
    key: str
    player: int
    legal: tuple[tuple[int, ...], ...]
    chance: tuple[tuple[int, float], ...]
    returns: tuple[float, ...]
    observations: tuple[_Seen | None, ...]
    texts: Mapping[int, str]
    text: str


def read_hello(message: Mapping[str, Any]) -> GameHello:
    """Return what a program says of its game. Raises `ValueError` with the first mistake."""
    return read_message(GameHello, message, "hello")


def read_position(message: Mapping[str, Any], info: GameInfo) -> Position:
    """Return the position in an answer. Raises `ValueError` if it is none of the game."""
    answer = read_message(PositionAnswer, message, "answer")
    try:
        state = _plain(answer.state, "state")
        key = state if isinstance(state, str) else dumps(state)
        return Position(
            state,
            key,
            answer.player,
            _legal(answer, info),
            _chance(answer, info),
            _returns(answer, info),
            () if info.perfect_information else _observations(answer, info),
            _texts(answer, info),
            key if answer.text is None else answer.text,
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _plain(value: Any, what: str) -> Json:
    """Return a copy of a value of JSON. Raises `TypeError` or `ValueError` if it cannot go back."""
    plain = to_plain(value, what=what)
    if plain != value:  # to_plain writes them as texts
        raise ValueError(f"{what} has a number that is not finite")
    return plain


def _legal(answer: PositionAnswer, info: GameInfo) -> tuple[tuple[int, ...], ...]:
    """Return each player's legal actions."""
    player, players, limit = answer.player, info.num_players, info.num_distinct_actions
    lists: list[Sequence[Any]] = [()] * players
    if player == Player.SIMULTANEOUS:
        lists = _lists(answer, info)
    elif 0 <= player < players:
        lists[player] = answer.legal
    elif player not in (Player.CHANCE, Player.TERMINAL):
        raise ValueError(f"player is {player}: 0 to {players - 1}, -1 chance, -2 several, -4 over")
    elif answer.legal:
        raise ValueError(f"legal must be empty, as player is {player}")
    if player in (Player.SIMULTANEOUS, *range(players)) and not any(lists):
        raise ValueError("legal has no action, and the game is not over")
    for own in lists:
        if not all(type(action) is int and 0 <= action < limit for action in own):
            raise ValueError(f"legal must have numbers of actions, 0 to {limit - 1}")
        if len(set(own)) < len(own):
            raise ValueError("legal has an action twice")
    return tuple(tuple(sorted(own)) for own in lists)


def _lists(answer: PositionAnswer, info: GameInfo) -> list[Sequence[Any]]:
    """Return the legal actions of players who act at once."""
    if not info.simultaneous:
        raise ValueError("player is -2, but the hello does not say simultaneous")
    lists: list[Sequence[Any]] = [own for own in answer.legal if isinstance(own, list)]
    if not len(lists) == len(answer.legal) == info.num_players:
        raise ValueError("legal must be a list of each player's actions, as player is -2")
    return lists


def _returns(answer: PositionAnswer, info: GameInfo) -> tuple[float, ...]:
    """Return each player's utility; zeros where none is due and none is given."""
    if answer.returns is None:
        if answer.player == Player.TERMINAL or info.intermediate_rewards:
            raise ValueError("returns are missing")
        return (0.0,) * info.num_players
    if len(answer.returns) != info.num_players:
        raise ValueError(f"returns has {len(answer.returns)} numbers, one a player is due")
    _refuse_beyond_bounds(answer.returns, info)
    total, due = math.fsum(answer.returns), info.utility_sum
    if (
        answer.player == Player.TERMINAL
        and due is not None
        and abs(total - due) > _ROUNDING * max(1.0, abs(due), info.max_utility)
    ):
        raise ValueError(f"returns sum to {total:g}, but utility_sum is {due:g}")
    return answer.returns


def _refuse_beyond_bounds(returns: Iterable[float], info: GameInfo) -> None:
    low, high = info.min_utility - _ROUNDING, info.max_utility + _ROUNDING
    if not all(low <= value <= high for value in returns):
        raise ValueError(f"returns must be from {info.min_utility:g} to {info.max_utility:g}")


def _observations(answer: PositionAnswer, info: GameInfo) -> tuple[_Seen | None, ...]:
    """Return what each player observes."""
    observations = answer.observations or ()
    if len(observations) != info.num_players:
        raise ValueError("observations must have an entry for each player")
    for number, seen in enumerate(observations):
        if seen is not None:
            _plain(seen.data, f"observations[{number}].data")
            if isinstance(seen.sees, tuple) and not info.simultaneous:
                raise ValueError(
                    "sees: a list of players is for games in which several act at once"
                )
    return observations


def _texts(answer: PositionAnswer, info: GameInfo) -> Mapping[int, str]:
    """Return the notations of legal actions that are written otherwise here."""
    if answer.legal_text is None:
        return {}
    if info.simultaneous or not info.perfect_information:
        raise ValueError("legal_text is for games of turns in which all see everything")
    if len(answer.legal_text) != len(answer.legal):
        raise ValueError("legal_text must have a text for each legal action")
    texts = (one_line(text, limit=80) for text in answer.legal_text)
    return {a: text for a, text in zip(answer.legal, texts, strict=True) if isinstance(a, int)}


def _chance(answer: PositionAnswer, info: GameInfo) -> tuple[tuple[int, float], ...]:
    """Return the outcomes of a chance node, ascending, with probabilities that sum to one."""
    outcomes = sorted(answer.chance)
    if bool(outcomes) != (answer.player == Player.CHANCE):
        raise ValueError("chance must have outcomes where player is -1, and nowhere else")
    if not outcomes:
        return ()
    first, end = info.num_distinct_actions, info.max_chance_outcomes
    if not end:
        raise ValueError("player is -1, but the hello names no outcomes of chance")
    if not all(first <= action < end for action, _ in outcomes):
        raise ValueError(f"chance has an outcome beyond {first} to {end - 1}")
    if len({action for action, _ in outcomes}) < len(outcomes):
        raise ValueError("chance has an outcome twice")
    total = math.fsum(probability for _, probability in outcomes)
    if min(p for _, p in outcomes) <= 0 or abs(total - 1) > _ROUNDING:
        raise ValueError(f"the probabilities of chance sum to {total:g}; each is more than 0")
    return tuple((action, probability / total) for action, probability in outcomes)


# -- the program ----------------------------------------------------------------------------------


class GameProgram:
    """A running program that serves a game.

    It is asked by one thread at a time, and killed when nothing refers to this object any more.

    Args:
      parameters: how it is started.

    Attributes:
      hello: what it says of its game.
      info: the facts of the game.
      questions: how many it was asked.
      starts: how often it was started.

    Raises:
      GameFailedError: it cannot be started, or says hello wrongly.
    """

    def __init__(self, parameters: ProgramGameParameters) -> None:
        self._parameters = parameters
        self._who = f"the game's {parameters.who}"  # until it says what it is called
        self._lock = threading.RLock()
        self._conversation: list[Conversation] = []  # at most one
        self._answers: OrderedDict[str, _Remembered] = OrderedDict()
        self.questions = self.starts = 0
        weakref.finalize(self, _kill, self._conversation)
        try:
            self.hello = self._start()
            self.info = self.hello.info()
        except (AgentError, ValueError) as error:
            _kill(self._conversation)
            text = str(error) if isinstance(error, AgentError) else f"{self._who}: {error}"
            raise GameFailedError(f"{text}; {_SEE}") from None

    def start(self) -> Position:
        """Return the first position. Raises `GameFailedError`."""
        return self._remembered({"type": "start"})

    def next(self, position: Position, actions: Sequence[int]) -> Position:
        """Return the position after actions, one of each who acts. Raises `GameFailedError`."""
        return self._remembered({"type": "next", "state": position.state, "actions": list(actions)})

    def playouts(
        self, positions: Sequence[Position], count: int, seed: int
    ) -> list[tuple[float, ...]]:
        """Return each position's mean returns of `count` random games by a seed.

        Raises `GameFailedError`.
        """
        states = [position.state for position in positions]
        question: dict[str, Json] = {"states": states, "count": count, "seed": seed}
        answer = self._ask({"type": "playouts", **question}, "returns")
        try:
            rows = read_message(_ReturnsAnswer, answer, "answer").returns
            if len(rows) != len(states) or {len(row) for row in rows} != {self.info.num_players}:
                raise ValueError("returns must have a list for each state, a number a player")
            _refuse_beyond_bounds(itertools.chain(*rows), self.info)
        except ValueError as error:
            raise self._failure(str(error), answer) from None
        return list(rows)

    def _remembered(self, question: dict[str, Json]) -> Position:
        """Return the answer to a question, from memory if it is there.

        A remembered answer is compared with a new one when it is first used: a program that
        contradicts itself is found soon, and a search that comes by again and again pays nothing.
        """
        text = dumps(question)
        with self._lock:
            known = self._answers.get(text)
            if known is not None and known.confirmed:
                self._answers.move_to_end(text)
                return known.position
            answer = self._ask(question, "state")
            try:
                position = read_position(answer, self.info)
            except ValueError as error:
                raise self._failure(str(error), answer) from None
            if known is not None:
                if position != known.position:
                    raise self._contradiction(question, known.position, position)
                known.confirmed = True
            elif self._parameters.remembered:
                self._answers[text] = _Remembered(position)
                while len(self._answers) > self._parameters.remembered:
                    self._answers.popitem(last=False)
            return position

    def _ask(self, question: dict[str, Json], kind: str) -> dict[str, Any]:
        """Return an answer, without its id; a program that died is started again, once."""
        with self._lock:
            try:
                try:
                    return self._asked(question, kind)
                except AgentCrashedError:
                    return self._asked(question, kind)
            except AgentError as error:
                raise GameFailedError(f"{error}; {_SEE}") from None

    def _asked(self, question: dict[str, Json], kind: str) -> dict[str, Any]:
        if not self._conversation:
            self._restart()
        self.questions += 1
        number, fields = self.questions, dict(question)
        message = {"type": fields.pop("type"), "id": number, **fields}
        seconds = self._parameters.answer_timeout
        until = time.monotonic() + seconds
        try:
            conversation = self._conversation[0]
            conversation.complaints.size = 0
            conversation.send(message, until=until)
            answer = conversation.receive(
                until=until, doing=f"did not answer '{question['type']}' ({seconds:g} s)"
            )
        except BaseException:  # interrupted halfway, the next answer would be a stale one
            _kill(self._conversation)
            raise
        if answer.get("type") != kind or answer.get("id") != number:
            said = f"type {answer.get('type')!r}, id {answer.get('id')!r}"
            wanted = f"{said}, where type {kind!r}, id {number} was wanted"
            raise self._failure(wanted, answer)
        return {key: value for key, value in answer.items() if key != "id"}

    def _restart(self) -> None:
        """Start it again. Raises `AgentError`, or `GameFailedError` if it says another hello."""
        try:
            hello = self._start()
        except ValueError as error:
            raise self._failure(str(error)) from None
        if hello != self.hello:
            raise self._failure("started again, it says another hello")

    def _start(self) -> GameHello:
        """Start it, exchange greetings and return its hello. Raises `AgentError`, `ValueError`."""
        parameters = self._parameters
        until = time.monotonic() + parameters.startup_timeout
        process = ProgramProcess(
            parameters.command,
            launcher=launcher(),
            cwd=parameters.folder,
            environment=parameters.environment,
        )
        conversation = Conversation(process, self._who)
        self._conversation.append(conversation)
        hello: dict[str, Json] = {
            "type": "hello",
            "protocol": PROTOCOL,
            "role": "game",
            "parameters": to_plain(parameters.parameters, what="parameters of the game"),
        }
        try:
            greeting = conversation.greet(hello, until=until)
        except BaseException:
            _kill(self._conversation)
            raise
        self.starts += 1
        answer = read_hello(greeting)
        self._who = conversation.who = f"{parameters.who} of {one_line(answer.name, limit=80)}"
        return answer

    def _failure(self, problem: str, answer: Mapping[str, Any] | None = None) -> GameFailedError:
        """Return the error of a wrong answer, after which the program is not asked again."""
        _kill(self._conversation)
        quoted = "" if answer is None else f", in {one_line(json.dumps(answer), limit=200)}"
        return GameFailedError(f"{self._who} answered wrongly: {problem}{quoted}; {_SEE}")

    def _contradiction(
        self, question: Mapping[str, Json], first: Position, second: Position
    ) -> GameFailedError:
        _kill(self._conversation)
        names = (part.name for part in dataclasses.fields(Position))
        pairs = ((name, getattr(first, name), getattr(second, name)) for name in names)
        name, one, other = next((name, a, b) for name, a, b in pairs if a != b)
        asked = one_line(dumps(question), limit=200)
        return GameFailedError(
            f"{self._who} contradicts itself: asked {asked}, it said {name} "
            f"{one_line(str(one), limit=80)} and then {one_line(str(other), limit=80)}; {_SEE}"
        )


_SEE: Final = "see docs/programs.md"


@dataclass(slots=True)
class _Remembered:
    """An answer in memory, and whether a second one agreed with it."""

    position: Position
    confirmed: bool = False


def _kill(conversation: list[Conversation]) -> None:
    while conversation:
        conversation.pop().process.kill()


_running: Final[weakref.WeakValueDictionary[str, GameProgram]] = weakref.WeakValueDictionary()
_starting: Final = threading.Lock()


def _shared(parameters: ProgramGameParameters) -> GameProgram:
    """Return the running program of these parameters; it is started if need be."""
    key = dumps(to_plain(parameters.model_dump(exclude={"identity"}), what="parameters"))
    # Held while it starts: two games of one command must not start it twice.
    with _starting:
        program = _running.get(key)
        if program is None:
            program = _running[key] = GameProgram(parameters)
            _started.add(_how(parameters))
        return program


_started: Final[set[str]] = set()
"""How the programs of this process were started."""


def _how(parameters: ProgramGameParameters) -> str:
    """Return what decides which program runs, as text."""
    fields = {"command", "cwd", "environment"}
    return dumps(to_plain(parameters.model_dump(include=fields), what="parameters"))


def has_started(parameters: Mapping[str, Any]) -> bool:
    """Return whether this process has started the program of a game's parameters before."""
    try:
        return _how(ProgramGameParameters.model_validate(dict(parameters))) in _started
    except ValidationError:
        return False


# -- the game -------------------------------------------------------------------------------------


class ProgramGame(Game):
    """A game whose rules are a program.

    Attributes:
      program: the running program, shared by games of the same parameters.

    Raises:
      GameFailedError: the program cannot be started, says hello wrongly, refuses the parameters,
        or serves another game than `identity`.
    """

    parameters: ProgramGameParameters

    def __init__(self, parameters: ProgramGameParameters) -> None:
        self.program = _shared(parameters)
        self.info, title = self.program.info, self.program.hello.name
        if parameters.identity not in ("", title):
            raise GameFailedError(
                f"the game's {parameters.who} serves the game '{title}', not "
                f"'{parameters.identity}'; give the program of that game"
            )
        self.parameters = parameters.model_copy(update={"identity": title})
        self.texts = self.program.hello.texts()

    def new_initial_state(self) -> ProgramState:
        """Return the first position. Raises `GameFailedError`."""
        return ProgramState(self)

    def __repr__(self) -> str:
        return f"<game {self.info.title} v{self.info.version} of {self.parameters.who}>"

    def public_parameters(self) -> Mapping[str, object]:
        """Return the parameters of the game, without those of its program."""
        return self.parameters.parameters

    def verify(self, history: Sequence[int]) -> None:
        """Compare what the program says with what the same command says when it is started again.

        Raises `GameFailedError` if it fails or they differ, at the first position along `history`.
        """
        # A new process: one that remembers, or was broken by an earlier question, agrees with
        # itself.
        fresh = GameProgram(self.parameters)
        if fresh.hello != self.program.hello:
            raise GameFailedError(
                f"the game's {self.parameters.who}, started again, says another hello; {_SEE}"
            )
        state, again = self.new_initial_state(), fresh.start()
        for action in history:
            _refuse_difference(self, state, again)
            if not 0 <= action < len(self.texts) or not state.is_legal(action):
                return
            actions = [*state.pending_actions().values(), action]
            before = state.position
            state.apply_action(action)
            if not state.pending_actions():
                again = fresh.next(before, actions)
        _refuse_difference(self, state, again)
        if fresh.hello.playouts:
            fresh.playouts([again], _VERIFIED, 0)


def _refuse_difference(game: ProgramGame, state: ProgramState, again: Position) -> None:
    if state.position != again:
        raise GameFailedError(
            f"the game's {game.parameters.who} contradicts itself: started again, it says "
            f"otherwise about the position after the actions {state.history()}; {_SEE}",
            history=state.history(),
        )


class _Trail:
    """What the players observed on the way to a state; digests are made when they are asked for.

    Args:
      before: that of the state before; None at the start.
      seen: what each player observes of the last transition.
    """

    __slots__ = ("_before", "_digests", "_seen")

    def __init__(self, before: _Trail | None, seen: Sequence[Observation | None]) -> None:
        self._before, self._seen = before, seen
        self._digests: tuple[bytes, ...] = ()

    def digest(self, player: int) -> bytes:
        """Return a digest of all that a player observed; empty for nothing."""
        without: list[_Trail] = []
        trail: _Trail | None = self
        while trail is not None and not trail._digests:
            without.append(trail)
            trail = trail._before
        digests = (b"",) * len(self._seen) if trail is None else trail._digests
        for later in reversed(without):
            digests = later._digests = tuple(map(_digest, digests, later._seen))
        return digests[player]


def _digest(before: bytes, seen: Observation | None) -> bytes:
    if seen is None:
        return before
    parts = [seen.actor, seen.action, seen.data, seen.legal_actions, seen.actions]
    text = dumps(to_plain(parts, what="an observation"))
    return hashlib.blake2b(before + text.encode(), digest_size=16).digest()


class ProgramState(SimultaneousState):
    """A state of the game of a program.

    Attributes:
      position: the position, as the program describes it.
    """

    game: ProgramGame

    def __init__(self, game: ProgramGame) -> None:
        super().__init__(game)
        self.position = game.program.start()
        self._trail: _Trail | None = None
        self._follow()

    def current_player(self) -> int:
        """Return who acts."""
        return self.position.player

    def legal_actions_of(self, player: int) -> list[int]:
        """Return the legal actions of one player."""
        return list(self.position.legal[player])

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return (action, probability) pairs at a chance node."""
        return list(self.position.chance)

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        taken = [actions[actor] for actor in sorted(actions)]
        try:
            self.position = self.game.program.next(self.position, taken)
        except GameFailedError as error:
            error.history = (*self._history, taken[-1])
            raise

    def apply_unchecked(self, action: int) -> None:
        """Take an action that is known to be legal. Raises `GameFailedError`."""
        super().apply_unchecked(action)
        if not self._pending:
            self._follow()

    def _follow(self) -> None:
        """Note what the players observe of the last transition, if something is hidden."""
        if not self.game.info.perfect_information:
            seen = [self._observation(player) for player in range(self.game.info.num_players)]
            self._trail = _Trail(self._trail, seen)

    def _observation(self, player: int) -> Observation | None:
        position = self.position
        if self.game.info.perfect_information:
            return super()._observation(player)
        seen, legal = position.observations[player], position.legal[player]
        own = player in self._last
        if seen is None:
            if not (own or legal):
                return None
            seen = _Seen()
        data = to_plain(seen.data, what="data")  # a copy: whoever receives it may change it
        if not self._last:
            return Observation(player, None, None, data, legal)
        if self._joint:
            others = seen.sees if isinstance(seen.sees, tuple) else ()
            everybody = seen.sees == "action"
            actions = {
                actor: action
                for actor, action in self._last.items()
                if everybody or actor == player or actor in others
            }
            return self._observation_of(player, actions, data)
        ((actor, action),) = self._last.items()
        known = own or seen.sees is not None
        told = own or seen.sees == "action"
        return Observation(player, actor if known else None, action if told else None, data, legal)

    def information_state_string(self, player: int) -> str:
        """Return a digest of all that a player observed."""
        if self._trail is None:
            return super().information_state_string(player)
        return self._trail.digest(player).hex()

    def returns(self) -> tuple[float, ...]:
        """Return each player's utility."""
        return self.position.returns

    def truncated_returns(self) -> tuple[float, ...]:
        """Return the rewards so far and an equal share of the rest, or what is nearest to zero."""
        info = self.game.info
        so_far = self.returns() if info.intermediate_rewards else (0.0,) * info.num_players
        if info.utility_sum is not None:
            rest = (info.utility_sum - math.fsum(so_far)) / info.num_players
            return tuple(value + rest for value in so_far)
        if info.intermediate_rewards:
            return so_far
        return (min(max(0.0, info.min_utility), info.max_utility),) * info.num_players

    def _copy_to(self, other: Self) -> None:
        other.position, other._trail = self.position, self._trail

    def _key(self) -> Hashable:
        return self.position.key

    def action_to_string(self, action: int) -> str:
        """Return the program's notation of an action."""
        text = self.position.texts.get(action)
        if text is not None:
            return text
        return self.game.texts[action] if 0 <= action < len(self.game.texts) else str(action)

    def __str__(self) -> str:
        return self.position.text


# -- random games of the program's own -------------------------------------------------------------


class ProgramRollout(RandomRollout):
    """The evaluator ``random-rollout``: random games that the program plays, if it can.

    Where it cannot, or they are to be stopped after some plies, miai plays them.
    """

    def __init__(self, game: Game, parameters: RandomRolloutParameters | None = None) -> None:
        super().__init__(game, parameters)
        able = isinstance(game, ProgramGame) and game.program.hello.playouts
        self._program = game.program if isinstance(game, ProgramGame) and able else None

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return mean returns, float64 of shape (len(states), num_players)."""
        if self._program is None or self._max_plies < math.inf:
            return super().evaluate(states)
        positions = [s.position for s in states if isinstance(s, ProgramState)]
        if len(positions) < len(states) or any(state.pending_actions() for state in states):
            return super().evaluate(states)
        try:
            seed = self._rng.getrandbits(_SEED_BITS)
            rows = self._program.playouts(positions, self._rollouts, seed)
        except GameFailedError as error:
            error.history = states[0].history()
            raise
        return np.array(rows, dtype=np.float64)

    def evaluate_in_place(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return the same; the states may be changed."""
        if self._program is None or self._max_plies < math.inf:
            return super().evaluate_in_place(states)
        return self.evaluate(states)
