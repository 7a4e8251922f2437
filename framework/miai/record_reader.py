"""Reads game records from untrusted text, with a strict pydantic model for each kind of line."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from miai.errors import RecordError
from miai.parameters import wording
from miai.plain import loads
from miai.record import SCHEMA, GameRecord, MoveRecord, PlayerRecord, Termination, VerdictRecord

MAX_CHARACTERS: Final = 1 << 28
"""Maximum length of a record."""
MAX_NAME: Final = 10_000
"""Maximum length of a name in characters."""
MAX_ENTRIES: Final = 1000
"""Maximum number of players, versions and verdicts."""
MAX_VARIATIONS: Final = 50_000
"""Maximum number of actions in variations, and of marks."""

_MAX_SHOWN: Final = 200

Name = Annotated[str, Field(max_length=MAX_NAME)]
Natural = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
_JSON = Field(strict=False)  # where JSON has lists
Returns = Annotated[tuple[float, ...], Field(strict=False, max_length=MAX_ENTRIES)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Player(_Strict):
    name: Name
    agent: Name
    parameters: dict[str, Any]
    seed: int
    version: str
    cpu_seconds: Seconds | None
    seconds: Seconds


class _Head(_Strict):
    game: Name
    game_version: int
    game_parameters: dict[str, Any]
    players: Annotated[list[_Player], Field(max_length=MAX_ENTRIES)]
    seed: int
    time_control: dict[str, Any]
    move_limit: Natural | None
    start_observations: dict[str, Any]
    started: Name
    versions: Annotated[dict[str, str], Field(max_length=MAX_ENTRIES)]
    tags: dict[str, Any]


class _Move(_Strict):
    ply: Natural
    actor: int
    action: Natural
    text: str
    opening: bool
    seconds: Seconds | None
    cpu_seconds: Seconds | None
    statistics: dict[str, Any]
    observations: dict[str, Any]
    policy: dict[Annotated[Natural, _JSON], Annotated[float, Field(ge=0)]] | None = None


class _Verdict(_Strict):
    rule: Name
    ply: Annotated[int, Field(ge=-1)]
    returns: Returns
    reason: str


class _End(_Strict):
    returns: Returns
    termination: Annotated[Termination, Field(strict=False)]
    loser: int | None
    detail: str
    terminated: bool
    truncated: bool
    seconds: Seconds
    verdicts: Annotated[list[_Verdict], Field(max_length=MAX_ENTRIES)] = []
    losers: Annotated[
        tuple[int, ...], Field(strict=False, min_length=2, max_length=MAX_ENTRIES)
    ] = ()
    comments: list[Annotated[tuple[Natural, str], _JSON]] = []
    variations: Annotated[
        list[Annotated[tuple[Natural, Natural], _JSON]], Field(max_length=MAX_VARIATIONS)
    ] = []
    marks: Annotated[
        list[Annotated[tuple[Natural, Name, Name], _JSON]], Field(max_length=MAX_VARIATIONS)
    ] = []


def read_record(text: str) -> GameRecord:
    """Return the record that `GameRecord.to_json_lines` wrote.

    Raises:
      RecordError: the text is malformed, truncated, too long, contradictory or of another schema;
        the message names the line and the field.
    """
    if len(text) > MAX_CHARACTERS:
        raise RecordError(
            f"a game record of {len(text)} characters; at most {MAX_CHARACTERS} are read"
        )
    # A file that was cut may end with a line that is whole JSON, but not with its newline.
    if not text.endswith("\n"):
        raise RecordError("the game record is truncated: its last line is incomplete")
    lines = [_line(line, number) for number, line in enumerate(text.split("\n")[:-1], 1)]
    if len(lines) < 2:
        raise RecordError("the game record is truncated: its last line is missing")
    _check_schema(lines[0])
    head = _fields(_Head, lines[0], "line 1")
    head["players"] = [PlayerRecord(**vars(player)) for player in head["players"]]
    moves = [
        MoveRecord(**_fields(_Move, line, f"line {number}"))
        for number, line in enumerate(lines[1:-1], 2)
    ]
    end = _end(lines[-1], f"line {len(lines)}, the end")
    record = GameRecord(**head, **end, moves=moves)
    _check_consistency(record)
    return record


def read_verdicts(text: str) -> tuple[tuple[float, ...], list[VerdictRecord]]:
    """Return the returns and the verdicts of a record, from its last line alone.

    Raises `RecordError` if that line is malformed.
    """
    line = _line(text.rstrip("\n").rpartition("\n")[2], text.count("\n"))
    end = _end(line, "the end")
    returns, verdicts = end["returns"], end["verdicts"]
    if any(len(verdict.returns) != len(returns) for verdict in verdicts):
        raise RecordError("game record, the end: a verdict has another number of players")
    return returns, verdicts


def _line(text: str, number: int) -> Any:
    try:
        return loads(text)
    except ValueError as error:
        raise RecordError(f"game record, line {number}: not a JSON object: {error}") from None


def _check_schema(head: Any) -> None:
    """Remove the schema from the first line. Raises `RecordError` for another one."""
    schema = head.pop("schema", None) if type(head) is dict else None
    if schema is None:
        raise RecordError("not a game record: its first line names no schema")
    if schema != SCHEMA:
        raise RecordError(
            f"game record of schema {str(schema)[:60]!r}; this version of miai reads {SCHEMA!r}"
        )


def _end(line: Any, where: str) -> dict[str, Any]:
    end = _fields(_End, line, where)
    end["verdicts"] = [VerdictRecord(**vars(verdict)) for verdict in end["verdicts"]]
    return end


def _fields(model: type[_Strict], values: Any, where: str) -> dict[str, Any]:
    try:
        return vars(model.model_validate(values))
    except ValidationError as error:
        raise RecordError(f"game record, {where}: {_explanation(error)}") from None


def _explanation(error: ValidationError) -> str:
    """Return which fields an object lacks or has too many, or what is wrong with one of them."""
    details = error.errors()
    first = details[0]
    names: dict[str, list[str]] = {"missing": [], "extra_forbidden": []}
    for detail in details:
        if detail["type"] in names:
            first = detail if first["type"] not in names else first
            if detail["loc"][:-1] == first["loc"][:-1]:
                names[detail["type"]].append(str(detail["loc"][-1]))
    missing, unknown = (
        ", ".join(sorted(entries))[:_MAX_SHOWN] or "none" for entries in names.values()
    )
    place = first["loc"][:-1] if first["type"] in names else first["loc"]
    path = "".join(f"[{part}]" if type(part) is int else f".{part}" for part in place)[1:]
    if first["type"] in names:
        message = f"fields missing: {missing}; fields unknown: {unknown}"
    elif first["type"] == "model_type":
        message = "not a JSON object"
    else:
        message = wording(first)
    return f"{path[:_MAX_SHOWN]}: {message}" if path else message


def _check_consistency(record: GameRecord) -> None:
    players = len(record.players)
    if players == 0 or len(record.returns) != players:
        raise RecordError(f"game record: {players} players but {len(record.returns)} returns")
    if record.loser is not None and not 0 <= record.loser < players:
        raise RecordError(f"game record: loser {record.loser} is not one of {players} players")
    losers = record.losers
    if losers and not (
        losers[0] == record.loser and sorted(set(losers)) == list(losers) and losers[-1] < players
    ):
        raise RecordError(
            f"game record: losers {losers} are not some of {players} players, ascending from the "
            f"loser {record.loser}"
        )
    for number, move in enumerate(record.moves):
        if move.ply != number or not -1 <= move.actor < players:
            raise RecordError(
                f"game record, line {number + 2}: ply {move.ply} of actor {move.actor}; plies "
                f"count from 0, actors are -1 (chance) to {players - 1}"
            )
    for number, (position, _) in enumerate(record.variations, len(record.moves)):
        if position > number:
            raise RecordError(
                f"game record, the end: action {number - len(record.moves)} of the variations "
                f"leads on from position {position}, which is not before it"
            )
    for verdict in record.verdicts:
        if len(verdict.returns) != players or verdict.ply >= len(record.moves):
            raise RecordError(
                f"game record: the verdict of '{verdict.rule[:60]}' at ply {verdict.ply} with "
                f"{len(verdict.returns)} returns does not fit a game of {players} players and "
                f"{len(record.moves)} plies"
            )


class JsonLines:
    """The record format ``jsonl``, which is lossless."""

    suffix = ".jsonl"

    def __init__(self, parameters: object) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return the record as JSON lines."""
        return record.to_json_lines()

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the game of a file. Raises `RecordError`."""
        try:
            return [read_record(data.decode("utf-8"))]
        except UnicodeDecodeError as error:
            raise RecordError(f"{source}: is not UTF-8: {error.reason}") from None
        except RecordError as error:
            raise RecordError(f"{source}: {error}") from None
