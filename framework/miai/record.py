"""The game record: everything about one game, as JSON lines.

The first line is the head, then one line for every action, then the end::

    {"schema": "miai.record/1", "game": {...}, "players": [...], ...}
    {"ply": 0, "actor": 0, "action": 40, "text": "E5", "seconds": 0.01, ...}
    {"returns": [1.0, -1.0], "termination": "terminal", ...}

The last line also holds what few games have: adjudicators' verdicts, several losers, comments,
variations and marks.
`miai.record_reader` reads records; writing them needs no pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from miai.drawn import Drawn
from miai.errors import RecordError
from miai.game import Game, Observation
from miai.plain import Json, dumps, listed, one_line, to_plain

SCHEMA = "miai.record/1"


class Termination(StrEnum):
    """Why a game ended. All but the first five are forfeits by the record's `loser`."""

    TERMINAL = "terminal"
    UNFINISHED = "unfinished"
    MOVE_LIMIT = "move-limit"
    ADJUDICATION = "adjudication"
    AGREEMENT = "agreement"
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
      parameters: the agent's parameters as configured.
      seed: the argument of `new_game`.
      version: version of the agent's plugin, followed by the engine's own if it reports one.
      cpu_seconds: CPU time of all decisions; None if not measured.
      seconds: wall time charged to its clock, including a final answer that timed out.
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
      actor: the player number; -1 for chance.
      action, text: the action and the game's notation of it.
      opening: whether the referee played it from an opening.
      seconds, cpu_seconds: time of the decision; None for chance and openings.
      statistics: the agent's report on its decision.
      policy: probabilities of legal actions from which the player drew; None if not recorded.
      observations: each player's observation, ``{"actor", "action", "data"}``, by player number as
        text, with ``"actions"`` where the player saw what others did at the same time. Players who
        observed nothing are left out. Empty in games of perfect information.

    A decision that several players take at once is a move of each, in player order; players
    observe it with the last of them.
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
    policy: Mapping[int, float] | None = None


@dataclass(slots=True, kw_only=True)
class VerdictRecord:
    """An adjudicator's first verdict on a recorded game.

    Attributes:
      rule: name of the adjudicator.
      ply: number of the last move before the verdict; -1 if there was none.
      returns: each player's utility according to the verdict.
      reason: explanation in words.
    """

    rule: str
    ply: int
    returns: tuple[float, ...]
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class GameRecord(Drawn):
    """One game from its first to its last action.

    Attributes:
      game: name of the game component.
      game_version: `GameInfo.version`.
      game_parameters: all parameters of the game, defaults included.
      players: in player order.
      moves: every action, oldest first.
      seed: the seed from which those of players and chance derive.
      time_control: the fields of the time control.
      move_limit: maximum number of plies before truncation; None for the game's own length.
      start_observations: each player's observation before the first action.
      returns: each player's utility; 0 for all if the game is unfinished.
      termination: why the game ended; ``unfinished`` if it goes on, or nobody said who won.
      loser: who resigned or forfeited; None otherwise. If several did at one decision, the first.
      losers: all who resigned or forfeited, if several did at one decision; else empty.
      detail: the reason in words: the error of a forfeit, the game's own notation of the result,
        the rule of an adjudication and its reason after a colon.
      terminated, truncated: Gymnasium's terms: ended with a result (resignations, forfeits and
        verdicts included), or stopped by the move limit.
      started: start time, ISO 8601 in UTC.
      seconds: wall time of the game.
      versions: versions of python, miai, numpy and the plugins involved.
      tags: the organiser's labels: tournament, round, pair, opening. A record that was read from a
        file of another format has its text in a tag named by the suffix, such as ``.sgf``, and what
        the reader found wrong in the list `warnings`.
      verdicts: the first verdict of each adjudicator, oldest first. If `termination` is
        ``adjudication``, the last one ended the game; otherwise the game was held out and played
        on, to measure how often adjudicators are wrong.
      comments: pairs of the number of a position and what somebody said of it. Position 0 is before
        the first action, n after n of `moves`; those of `variations` follow.
      variations: actions that were not taken: pairs of the number of a position and the action that
        leads from there to one more, which a later pair may continue.
      marks: signs drawn on positions: the number of a position, the name of a region of its picture
        (`miai.render.Region`), and ``triangle``, ``square``, ``circle``, ``cross``, ``dark`` or
        ``light`` (territory), a label behind ``=``, or behind ``>`` or ``-`` the name of the region
        to which an arrow or a line leads.
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
    losers: tuple[int, ...] = ()
    detail: str = ""
    terminated: bool = True
    truncated: bool = False
    started: str = ""
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, Json] = field(default_factory=dict)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    variations: list[tuple[int, int]] = field(default_factory=list)
    marks: list[tuple[int, str, str]] = field(default_factory=list)

    def to_json_lines(self) -> str:
        """Return the record as JSON lines, ASCII text ending in a newline.

        Raises `RecordError` if something in it is not plain data, or is NaN or infinite.
        """
        head = _values(self)
        moves = head.pop("moves")
        head["players"] = [_values(player) for player in self.players]
        head["verdicts"] = [_values(verdict) for verdict in self.verdicts]
        end = {name: head.pop(name) for name in _END}
        # Millions of records need not say that they have none of these.
        end |= {name: value for name in _RARE if (value := head.pop(name))}
        try:
            lines = [{"schema": SCHEMA, **head}, *map(_values, moves), end]
            return "".join(dumps(line) + "\n" for line in lines)
        except (TypeError, ValueError, RecursionError) as error:
            raise RecordError(
                f"game record of {self.game} cannot be written: {error}; parameters, tags, "
                "statistics and observations must be plain data"
            ) from error


_REASONS: Final[Mapping[Termination, str]] = {
    Termination.MOVE_LIMIT: " at the move limit",
    Termination.ADJUDICATION: " by adjudication",
    Termination.AGREEMENT: " by agreement",
    Termination.RESIGNATION: "resigned",
    Termination.TIME: "ran out of time",
    Termination.ILLEGAL_ACTION: "played an illegal action",
    Termination.CRASH: "crashed",
    Termination.PROTOCOL: "broke the protocol",
    Termination.FLOOD: "sent too much",
    Termination.UNAVAILABLE: "could not play",
}
"""Why a game ended, after its result or its loser's name."""
_BETWEEN_TWO: Final = {Termination.RESIGNATION: " by resignation", Termination.TIME: " on time"}


def ending_text(record: GameRecord, game: Game | None = None) -> str:
    """Return in words who won a game and why: ``White wins by 6.5 points``.

    Args:
      game: the record's, which names the players and the reason; without it the record does.
    """
    names = [p.name for p in record.players] if game is None else game.info.player_names
    payoffs = len(names) == 1 or (game is not None and game.info.payoffs)
    best = [n for n, r in zip(names, record.returns, strict=False) if r == max(record.returns)]
    ending = "draw" if len(best) == len(names) > 1 else winners_text(best) if best else ""
    if payoffs and any(record.returns):
        amounts = zip(names, record.returns, strict=True)
        ending = listed([f"{n} {'loses' if r < 0 else 'gains'} {abs(r):g}" for n, r in amounts])
    detail = f" ({one_line(record.detail)})" if record.detail else ""
    why = detail
    if record.termination is Termination.TERMINAL:
        why = reason_text(record.detail, game)
    elif record.termination is Termination.UNFINISHED:
        ending = "unfinished"
    elif record.termination is Termination.MOVE_LIMIT and len(best) != 1 and not payoffs:
        ending = "no winner"  # a draw in a tournament
    elif record.losers:  # the detail says why each of them did
        why = f", {listed([names[loser] for loser in record.losers])} forfeited{detail}"
    elif len(names) == 2 and record.termination in _BETWEEN_TWO:
        why = f"{_BETWEEN_TWO[record.termination]}{detail}"
    else:
        who = "" if record.loser is None else f", {names[record.loser]} "
        why = f"{who}{_REASONS[record.termination]}{detail}"
    return f"{ending[:1].upper()}{ending[1:]}{why}"


def reason_text(result: str, game: Game | None) -> str:
    """Return why a game ended with a result, to follow who won: `` by 6.5 points``."""
    plain = f"({result})" if result else ""
    reason = plain if game is None else game.result_reason(result)
    return f" {one_line(reason)}" if reason else ""


def winners_text(names: Sequence[str]) -> str:
    """Return that one player wins, or that several, but not all, share the best result."""
    return f"{names[0]} wins" if len(names) == 1 else f"{listed(names)} share the win"


def _values(part: GameRecord | MoveRecord | PlayerRecord | VerdictRecord) -> dict[str, Any]:
    values = {name: getattr(part, name) for name in part.__slots__}
    if values.get("policy", part) is None:  # as of most moves
        del values["policy"]
    return values


_END = ("returns", "termination", "loser", "detail", "terminated", "truncated", "seconds")
_RARE = ("verdicts", "losers", "comments", "variations", "marks")


def observations_as_json(observations: Sequence[Observation | None]) -> dict[str, Json]:
    """Return the players' observations as a record stores them. Raises `TypeError`."""
    values: dict[str, Json] = {}
    for player, observation in enumerate(observations):
        if observation is not None:
            actor = observation.actor
            value: dict[str, Json] = {
                "actor": None if actor is None else int(actor),
                "action": observation.action,
                "data": to_plain(observation.data, what="the data of an observation"),
            }
            if observation.actions:
                value["actions"] = list(observation.actions)
            values[str(player)] = value
    return values


class RecordFormat(Protocol):
    """A file format of records; the suffix of its files has the dot, such as ``.sgf``."""

    suffix: str

    def write(self, record: GameRecord) -> str:
        """Return the record in this format."""


MOST_GAMES: Final = 50
MOST_MOVES: Final = 20_000
"""Maximum numbers of games that are opened of a file, and of all their moves."""
ONLY_FIRST: Final = f"only the first {MOST_GAMES} games are opened; split the file for the rest"
"""A warning."""


def refuse_long(source: str, *, moves: int) -> None:
    """Raise `RecordError` if games have too many moves; readers ask before the work."""
    if moves > MOST_MOVES:
        raise RecordError(f"{source}: has more than {MOST_MOVES} moves; split the file")


@runtime_checkable
class ReadableFormat(RecordFormat, Protocol):
    """A record format that is also read."""

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the games of a file, at least one.

        It plays at most `MOST_GAMES` of them, and calls `refuse_long` before.

        Args:
          data: the file, of untrusted origin.
          source: its name, for messages.

        Raises `RecordError`, which names the file, the place and what is wrong.
        """
