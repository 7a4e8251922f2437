"""The game record: everything about one game, as JSON lines.

The first line is the head, then one line for every action, then the end::

    {"schema": "miai.record/1", "game": {...}, "players": [...], ...}
    {"ply": 0, "actor": 0, "action": 40, "text": "E5", "seconds": 0.01, ...}
    {"returns": [1.0, -1.0], "termination": "terminal", ...}

A record with verdicts of adjudicators has them in its end and is of the schema ``miai.record/2``.

Reads game records of foreign origin: every field is checked before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from miai.errors import RecordError
from miai.game import Observation
from miai.plain import Json, dumps, loads, to_plain

SCHEMA = "miai.record/1"

SCHEMA_WITH_VERDICTS = "miai.record/2"
"""Of records that tell of verdicts; all others stay what versions without adjudication read."""


class Termination(StrEnum):
    """Why a game ended. All but the first four are forfeits by the player who is named."""

    TERMINAL = "terminal"
    MOVE_LIMIT = "move-limit"
    ADJUDICATION = "adjudication"
    RESIGNATION = "resignation"
    TIME = "time"
    ILLEGAL_ACTION = "illegal-action"
    CRASH = "crash"
    PROTOCOL = "protocol"
    FLOOD = "flood"
    UNAVAILABLE = "unavailable"


@dataclass(slots=True, kw_only=True)
class PlayerRecord:
    """One player of a recorded game.

    Attributes:
      name: its name in the tournament or match.
      agent: name of the agent component.
      parameters: the agent's parameters as given.
      seed: what `new_game` was called with.
      version: version of the plugin that brought the agent, with an engine's own where told.
      cpu_seconds: CPU time used for the decisions of the game; None where not measured.
      seconds: wall time charged to its clock, a last answer that never came included.
    """

    name: str
    agent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    version: str = ""
    cpu_seconds: float | None = None
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class MoveRecord:
    """One action of a recorded game, of a player or of chance.

    Attributes:
      ply: its number from 0, chance and the opening included.
      actor: who acted; -1 for chance.
      action, text: the action and the game's notation of it.
      opening: whether the referee played it from an opening.
      seconds, cpu_seconds: what the decision took; None for chance and openings.
      statistics: what the agent said of its decision.
      observations: what each player was told by it, by player number as text; players who were
        told nothing are left out. Each is ``{"actor", "action", "data"}``. Games of perfect
        information leave this empty: everybody was told everything.
    """

    ply: int
    actor: int
    action: int
    text: str
    opening: bool = False
    seconds: float | None = None
    cpu_seconds: float | None = None
    statistics: Mapping[str, Json] = field(default_factory=dict)
    observations: Mapping[str, Json] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class VerdictRecord:
    """What an adjudicator said of a recorded game, the first time that it spoke.

    Attributes:
      rule: name of the adjudicator.
      ply: number of the last move that it knew.
      returns: each player's utility, as it decided.
      reason: why, in words.
    """

    rule: str
    ply: int
    returns: tuple[float, ...]
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class GameRecord:
    """One game from its first to its last action.

    Attributes:
      game: name of the game component.
      game_version: `GameInfo.version`.
      game_parameters: all parameters of the game, defaults included.
      players: in player order.
      moves: every action, oldest first.
      seed: what the seeds of players and chance derive from.
      time_control: the fields of the time control.
      move_limit: most plies before truncation; None for the game's own length.
      start_observations: what each player was told before the first action.
      returns: each player's utility.
      termination: why the game ended.
      loser: who resigned or forfeited; None otherwise.
      detail: the reason in words: the error of a forfeit, the game's own notation of the result,
        the rule of an adjudication and its reason after a colon.
      terminated, truncated: Gymnasium's terms: ended with a result, also by a resignation or a
        forfeit or by a verdict, or stopped by the move limit.
      started: when, ISO 8601 in UTC.
      seconds: wall time of the game.
      versions: of python, miai, numpy and the plugins involved.
      tags: what the organiser adds: tournament, round, pair, opening.
      verdicts: of adjudicators, at most one of each rule, in the order in which they spoke. Where
        `termination` is ``adjudication`` the last of them ended the game; otherwise the game was
        held out, and played on to see whether they were right.
    """

    game: str
    game_version: int
    game_parameters: Mapping[str, Any]
    players: list[PlayerRecord]
    moves: list[MoveRecord] = field(default_factory=list)
    seed: int = 0
    time_control: Mapping[str, Any] = field(default_factory=dict)
    move_limit: int | None = None
    start_observations: Mapping[str, Json] = field(default_factory=dict)
    returns: tuple[float, ...] = ()
    termination: Termination = Termination.TERMINAL
    loser: int | None = None
    detail: str = ""
    terminated: bool = True
    truncated: bool = False
    started: str = ""
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, Json] = field(default_factory=dict)
    verdicts: list[VerdictRecord] = field(default_factory=list)

    def to_json_lines(self) -> str:
        """Return the record as JSON lines, ASCII text ending in a newline.

        Raises:
          RecordError: something in it is not plain data, NaN or infinity.
        """
        head = _values(self)
        moves = head.pop("moves")
        head["players"] = [_values(player) for player in self.players]
        end = {name: head.pop(name) for name in _END}
        schema, verdicts = SCHEMA, head.pop("verdicts")
        if verdicts:
            schema, end["verdicts"] = SCHEMA_WITH_VERDICTS, [_values(item) for item in verdicts]
        try:
            lines = [{"schema": schema, **head}, *map(_values, moves), end]
            return "".join(dumps(line) + "\n" for line in lines)
        except (TypeError, ValueError, RecursionError) as error:
            raise RecordError(
                f"game record of {self.game} cannot be written: {error}; parameters, tags, "
                "statistics and observations have to be plain data"
            ) from error

    @classmethod
    def from_json_lines(cls, text: str) -> GameRecord:
        """Return the record that `to_json_lines` wrote.

        Raises:
          RecordError: malformed, truncated, too long, contradictory or of another schema; the
            message names the line and the field.
        """
        return read_record(text)


def _values(part: GameRecord | MoveRecord | PlayerRecord | VerdictRecord) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__slots__}


_END = ("returns", "termination", "loser", "detail", "terminated", "truncated", "seconds")


def told_as_json(observations: Sequence[Observation | None]) -> dict[str, Json]:
    """Return what each player was told, in player order, as a record holds it.

    Raises:
      TypeError: the data of an observation is not plain.
    """
    told: dict[str, Json] = {}
    for player, observation in enumerate(observations):
        if observation is not None:
            actor = observation.actor
            told[str(player)] = {
                "actor": None if actor is None else int(actor),
                "action": observation.action,
                "data": to_plain(observation.data, what="the data of an observation"),
            }
    return told


class RecordFormat(Protocol):
    """A file format of records: the component kind ``record-format``.

    Attributes:
      suffix: of its files, with the dot: ``.sgf``.
    """

    suffix: str

    def write(self, record: GameRecord) -> str:
        """Return the record in this format."""


class JsonLines:
    """The record format ``jsonl``: nothing is lost."""

    suffix = ".jsonl"

    def __init__(self, parameters: object) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return the record as JSON lines."""
        return record.to_json_lines()


MAX_CHARACTERS = 1 << 28
"""Longest record that is read."""


class _WrongTypeError(Exception):
    """A value is not what its field holds; the message is what was expected."""


Check = Callable[[Any], Any]


def read_record(text: str) -> GameRecord:
    """Return the record that JSON lines hold. Raises `RecordError` naming the line."""
    if len(text) > MAX_CHARACTERS:
        raise RecordError(
            f"a game record of {len(text)} characters; at most {MAX_CHARACTERS} are read"
        )
    if not text.endswith("\n"):
        raise RecordError("the game record is truncated: its last line has no end")
    lines = [_line(line, number) for number, line in enumerate(text.split("\n")[:-1], 1)]
    if len(lines) < 2:
        raise RecordError("the game record is truncated: it has no end")
    schema = _schema_of(lines[0])
    head = _fields(lines[0], _HEAD, "line 1")
    players = [
        PlayerRecord(**_fields(player, _PLAYER, f"line 1, player {number}"))
        for number, player in enumerate(head.pop("players"))
    ]
    moves = [
        MoveRecord(**_fields(line, _MOVE, f"line {number}"))
        for number, line in enumerate(lines[1:-1], 2)
    ]
    where = f"line {len(lines)}, the end"
    end = _fields(lines[-1], _END_OF[schema], where)
    verdicts = _verdicts(end, where)
    record = GameRecord(**head, **end, players=players, moves=moves, verdicts=verdicts)
    _check_consistency(record)
    _check_verdicts(record)
    return record


def read_verdicts(text: str) -> tuple[tuple[float, ...], list[VerdictRecord]]:
    """Return the returns of a record and the verdicts on it; only its end is read.

    Raises:
      RecordError: the end is malformed.
    """
    end = _line(text.rstrip("\n").rpartition("\n")[2], text.count("\n"))
    schema = SCHEMA_WITH_VERDICTS if type(end) is dict and "verdicts" in end else SCHEMA
    values = _fields(end, _END_OF[schema], "the end")
    verdicts = _verdicts(values, "the end")
    if any(len(verdict.returns) != len(values["returns"]) for verdict in verdicts):
        raise RecordError("game record, the end: a verdict is on another number of players")
    return values["returns"], verdicts


def _verdicts(end: dict[str, Any], where: str) -> list[VerdictRecord]:
    """Take the verdicts out of the end of a record."""
    return [
        VerdictRecord(**_fields(verdict, _VERDICT, f"{where}, verdict {number}"))
        for number, verdict in enumerate(end.pop("verdicts", ()))
    ]


def _line(text: str, number: int) -> Any:
    try:
        return loads(text)
    except ValueError as error:
        raise RecordError(f"game record, line {number}: no JSON object: {error}") from None


def _schema_of(head: Any) -> str:
    """Take the schema out of a head and return it."""
    schema = head.pop("schema", None) if type(head) is dict else None
    if schema is None:
        raise RecordError("no game record: its first line is no head with a schema")
    if schema not in (SCHEMA, SCHEMA_WITH_VERDICTS):
        raise RecordError(
            f"game record of schema {str(schema)[:60]!r}; this version of miai reads {SCHEMA!r} "
            f"and {SCHEMA_WITH_VERDICTS!r}"
        )
    return str(schema)


def _fields(values: Any, checks: Mapping[str, Check], where: str) -> dict[str, Any]:
    """Return the fields of an object, all of them and no other, each checked."""
    if type(values) is not dict:
        raise RecordError(f"game record, {where}: not a JSON object")
    if values.keys() != checks.keys():
        missing = ", ".join(sorted(checks.keys() - values.keys())) or "none"
        unknown = ", ".join(sorted(values.keys() - checks.keys()))[:200] or "none"
        raise RecordError(
            f"game record, {where}: fields missing: {missing}; fields unknown: {unknown}"
        )
    fields = {}
    for name, check in checks.items():
        try:
            fields[name] = check(values[name])
        except _WrongTypeError as error:
            raise RecordError(
                f"game record, {where}: {name} is {_shown(values[name])}, not {error}"
            ) from None
    return fields


def _shown(value: Any) -> str:
    if type(value) is int and value.bit_length() > 200:
        return "an integer of many digits"
    return repr(str(value)[:60])


def _check_consistency(record: GameRecord) -> None:
    players = len(record.players)
    if players == 0 or len(record.returns) != players:
        raise RecordError(f"game record: {players} players but {len(record.returns)} returns")
    if record.loser is not None and not 0 <= record.loser < players:
        raise RecordError(f"game record: loser {record.loser} is none of {players} players")
    for number, move in enumerate(record.moves):
        if move.ply != number or not -1 <= move.actor < players:
            raise RecordError(
                f"game record, line {number + 2}: ply {move.ply} of actor {move.actor}; plies "
                f"count from 0, actors are -1 (chance) to {players - 1}"
            )


def _check_verdicts(record: GameRecord) -> None:
    for verdict in record.verdicts:
        if len(verdict.returns) != len(record.players) or verdict.ply >= len(record.moves):
            raise RecordError(
                f"game record: the verdict of '{verdict.rule[:60]}' at ply {verdict.ply} with "
                f"{len(verdict.returns)} returns is on no game of {len(record.players)} players "
                f"and {len(record.moves)} plies"
            )


def _of(kind: type, expected: str) -> Check:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise _WrongTypeError(expected)
        return value

    return check


def _or_null(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise _WrongTypeError("an integer of 0 or more")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise _WrongTypeError("a number")
    try:
        return float(value)
    except OverflowError:
        raise _WrongTypeError("a number that fits") from None


def _seconds(value: Any) -> float:
    number = _number(value)
    if number < 0:
        raise _WrongTypeError("a number of 0 or more")
    return number


def _returns(value: Any) -> tuple[float, ...]:
    if type(value) is not list:
        raise _WrongTypeError("a list of numbers")
    return tuple(map(_number, value))


def _termination(value: Any) -> Termination:
    if value not in _TERMINATIONS:
        raise _WrongTypeError("one of " + ", ".join(_TERMINATIONS))
    return Termination(value)


_TERMINATIONS: Sequence[str] = [reason.value for reason in Termination]
_text = _of(str, "a text")
_integer = _of(int, "an integer")
_flag = _of(bool, "true or false")
_object = _of(dict, "an object")
_list = _of(list, "a list")


def _texts(value: Any) -> Any:
    if any(type(item) is not str for item in _object(value).values()):
        raise _WrongTypeError("an object of texts")
    return value


_HEAD: Mapping[str, Check] = {
    "game": _text,
    "game_version": _integer,
    "game_parameters": _object,
    "players": _list,
    "seed": _integer,
    "time_control": _object,
    "move_limit": _or_null(_natural),
    "start_observations": _object,
    "started": _text,
    "versions": _texts,
    "tags": _object,
}
_PLAYER: Mapping[str, Check] = {
    "name": _text,
    "agent": _text,
    "parameters": _object,
    "seed": _integer,
    "version": _text,
    "cpu_seconds": _or_null(_seconds),
    "seconds": _seconds,
}
_MOVE: Mapping[str, Check] = {
    "ply": _natural,
    "actor": _integer,
    "action": _natural,
    "text": _text,
    "opening": _flag,
    "seconds": _or_null(_seconds),
    "cpu_seconds": _or_null(_seconds),
    "statistics": _object,
    "observations": _object,
}
_FILE_END: Mapping[str, Check] = {
    "returns": _returns,
    "termination": _termination,
    "loser": _or_null(_integer),
    "detail": _text,
    "terminated": _flag,
    "truncated": _flag,
    "seconds": _seconds,
}
_END_OF: Mapping[str, Mapping[str, Check]] = {
    SCHEMA: _FILE_END,
    SCHEMA_WITH_VERDICTS: {**_FILE_END, "verdicts": _list},
}
_VERDICT: Mapping[str, Check] = {
    "rule": _text,
    "ply": _natural,
    "returns": _returns,
    "reason": _text,
}
