"""Games from SGF and game records: read, filtered, checked on a board, without doubles.

Plain SGF (one game, no variations, no set-up, the players in turn) is read by two regular
expressions: one matches the whole of the data, the other extracts the moves. Everything else goes
to `miai_go.sgf.reading`, which reads plain SGF with the same result, but slower.

A game record, as tournaments write it, also says what the searches of its players found: their
visits become policy targets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from miai.errors import MiaiError, RecordError
from miai.parameters import Parameters, parameter
from miai.playing.replay import replay
from miai.record import GameRecord, MoveRecord, Termination
from miai.record_reader import read_record
from miai.values import Evaluation
from miai_go.learning.data.stored_games import BLACK_WON, DRAWN, UNKNOWN, WHITE_WON, StoredGame
from miai_go.rules.coordinates import MAX_SIZE, vertex
from miai_go.rules.game import Ending, GoGame, GoState, Phase
from miai_go.rules.game_parameters import MAX_KOMI, MAX_MOVES
from miai_go.rules.scoring import area_score
from miai_go.rules.sizes import BoardSizes, sizes_of
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import SgfGame, read_each
from miai_go.sgf.results import result_of
from miai_go.sgf.rule_sets import RULE_SETS, rule_set_named
from miai_go.sgf.sources import SGF, files_of

# Reading

_MAX_BYTES: Final = 256 * 1024
"""Below all limits of `miai_go.sgf.check`: on values, nodes and files."""

# Quantifiers are possessive (`*+`, `++`): a file that is not plain fails without backtracking, so
# the time is linear in its length, whatever it holds.
_SPACE: Final = rb"[ \t\r\n]*+"
_VALUES: Final = rb"(?:\[(?:[^\\\]]++|\\.)*+\]" + _SPACE + rb")++"
# Set-up and turns are excluded here, so that a file with any of them is not plain.
_PROPERTIES: Final = rb"(?:(?!(?:A[BWE]|PL|[BW])\[)[A-Z]{1,64}+" + _VALUES + rb")*+"
_MOVE: Final = rb";" + _SPACE + _PROPERTIES + rb"([BW])\[((?:[a-z][a-z])?)\]" + _SPACE + _PROPERTIES

_GAME = re.compile(
    _SPACE + rb"\(" + _SPACE + rb";" + _SPACE + b"(" + _PROPERTIES + b")"
    b"((?:" + _MOVE.replace(b"([BW])", b"[BW]").replace(b"((?:", b"(?:(?:") + rb")*+)"
    rb"\)" + _SPACE,
    re.DOTALL,
)
_MOVES = re.compile(_MOVE, re.DOTALL)
_HEADS = re.compile(rb"([A-Z]++)(" + _VALUES + rb")", re.DOTALL)
_PLAIN = re.compile(rb"[^\\\[\]\r\n]*+")
_SIZE = re.compile(rb"[1-9][0-9]?")
# What needs an interpretation, such as 375, is left to the reader.
_KOMI = re.compile(rb"-?[0-9]{1,2}(?:\.[05]0{0,3})?")

_UNICODE: Final = frozenset({None, b"UTF-8", b"utf-8", b"UTF8", b"utf8"})
_READ: Final = (b"RU", b"RE", b"BR", b"WR")


def scan(data: bytes, source: str = "SGF") -> ReadGame | None:
    """Return the game of plain SGF data, or None if the data is not plain."""
    if len(data) > _MAX_BYTES or b"\0" in data:
        return None
    match = _GAME.fullmatch(data)
    if match is None:
        return None
    head = _head(match[1])
    if head is None or not _is_text(data, head.get(b"CA")):
        return None
    size, komi = head.get(b"SZ", b"19"), head.get(b"KM")
    if not _SIZE.fullmatch(size) or (komi is not None and not _KOMI.fullmatch(komi)):
        return None
    if int(size) > MAX_SIZE:
        return None
    actions = _actions(_MOVES.findall(match[2]), int(size))
    if actions is None or len(actions) > MAX_MOVES:
        return None
    texts = {name: head.get(name, b"").decode("utf-8", "replace") for name in _READ}
    result, margin = _stated(texts[b"RE"])
    return ReadGame(
        source=source,
        komi=None if komi is None else float(komi),
        handicap=False,
        rules=texts[b"RU"],
        black_rank=texts[b"BR"],
        white_rank=texts[b"WR"],
        game=StoredGame(
            size=int(size),
            moves=np.array(actions, np.int16),
            half_komi=0,
            result=result,
            margin=margin,
        ),
    )


def _head(root: bytes) -> dict[bytes, bytes] | None:
    """Return the root's properties that are read here; None if one is not plain."""
    properties: dict[bytes, bytes] = {}
    for name, values in _HEADS.findall(root):
        if name in (b"SZ", b"KM", b"CA", b"GM", b"HA", *_READ):
            value = values.strip()[1:-1]
            if name in properties or not _PLAIN.fullmatch(value):
                return None
            properties[name] = value.strip()
    if properties.get(b"GM", b"1") != b"1" or properties.get(b"HA", b"0") != b"0":
        return None
    return properties


def _is_text(data: bytes, charset: bytes | None) -> bool:
    """Return whether the data is certainly text in its charset, and brackets are brackets."""
    if data.isascii():
        return b"\x1b" not in data
    if charset not in _UNICODE:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _actions(moves: list[tuple[bytes, bytes]], size: int) -> list[int] | None:
    """Return the actions; None if the players do not take turns or a move is off the board."""
    if not moves:
        return []
    colors, points = zip(*moves, strict=True)
    # One comparison for the whole game is faster than one for each move.
    if b"".join(colors) != (b"BW" * len(moves))[: len(moves)]:
        return None
    names = _names(size)
    try:
        return [names[point] for point in points]
    except KeyError:
        return None


@cache
def _names(size: int) -> dict[bytes, int]:
    """Return the actions by SGF name."""
    letters = "abcdefghijklmnopqrstuvwxy"[:size]
    names = {
        f"{x}{y}".encode(): (size - 1 - row) * size + column
        for row, y in enumerate(letters)
        for column, x in enumerate(letters)
    }
    names[b""] = size * size
    if size < 20:  # a pass in SGF up to version 3
        names[b"tt"] = size * size
    return names


_NUMBER = re.compile(r"(-?[0-9]{1,5}(?:\.[0-9]{1,3})?)\??")


@dataclass(frozen=True, slots=True, eq=False)
class ReadGame:
    """A game as its file states it.

    Attributes:
      source: file and place, for reports.
      komi: in points; None if missing.
      handicap: whether it has a handicap.
      rules, black_rank, white_rank: as written; empty if missing.
      game: moves and result, without komi and ratings.
    """

    source: str
    komi: float | None
    handicap: bool
    rules: str
    black_rank: str
    white_rank: str
    game: StoredGame

    def stored(self, *, komi: float) -> StoredGame:
        """Return the game as data sets store it, with a komi in points."""
        ratings = (rating_of(self.black_rank), rating_of(self.white_rank))
        return replace(self.game, half_komi=round(2 * komi), ratings=ratings)


def read_games(data: bytes, source: str) -> Iterator[ReadGame | SgfError]:
    """Yield the main lines of the games of SGF data; an error in place of each bad game."""
    plain = scan(data, source)
    if plain is not None and plain.game.legal_moves() == len(plain.game.moves):
        yield plain
        return
    try:
        for game in read_each(data, source=source):
            try:
                yield game if isinstance(game, SgfError) else from_sgf(game)
            except SgfError as error:
                yield error
    except SgfError as error:
        yield error


def from_sgf(game: SgfGame) -> ReadGame:
    """Return the main line of a game. Raises `SgfError`, also where its moves are in doubt."""
    line = game.main_line()
    if line.faults:
        raise game.error(line.faults[0], "")
    result, margin = _stated(game.result)
    return ReadGame(
        source=": ".join(part for part in (game.source, game.place) if part),
        komi=game.komi,
        handicap=game.handicap > 0,
        rules=game.rules,
        black_rank=game.black_rank,
        white_rank=game.white_rank,
        game=StoredGame(
            size=game.size,
            moves=np.array(line.actions, np.int16),
            half_komi=0,
            result=result,
            margin=margin,
            stones=line.start.stones(game.size),
            first=1 + line.start.to_move,
        ),
    )


def read_record_game(data: bytes, source: str) -> ReadGame:
    """Return the game of a record, with what the searches of its players reported.

    A move's policy target is the distribution of the visits, where the player reports all of them
    (the statistic ``visits``). Other moves have the weight 0, and moves without a search no root
    value. Who owned each point is known after a game that was counted.

    Raises:
      RecordError: the record is malformed, of another game, contradicts the game (see `replay`),
        or holds what data sets cannot store.
    """
    record = read_record(data.decode("utf-8", "replace"))
    if record.game != "go":
        raise RecordError(f"a record of {record.game}, not of go")
    end = replay(record)
    assert isinstance(end, GoState)
    game = end.game
    state = game.new_initial_state()
    played: list[MoveRecord] = []
    visits: list[Mapping[int, int]] = []
    for move in record.moves:
        if state.phase == Phase.PLAY:  # the rest is the agreement on dead stones
            played.append(move)
            if not state.board.is_legal(move.actor, move.action, suicide=False):
                raise RecordError(
                    f"move {len(played)}, {move.text}, is suicide, which data sets cannot store; "
                    "play with suicide = false"
                )
            visits.append(_visits(move, state))
        state.apply_action(move.action)
    if any(a.actor == b.actor for a, b in pairwise(played)):
        raise RecordError("a player moves twice, as play was resumed")
    result, margin, ownership = _end_of(record, end)
    policy, weight = _targets(visits, game)
    return ReadGame(
        source=source,
        komi=game.white_bonus,
        handicap=game.parameters.handicap > 0,
        rules=str(game.parameters.rules),
        black_rank="",
        white_rank="",
        game=StoredGame(
            size=game.size,
            moves=np.array([move.action for move in played], np.int16),
            half_komi=0,
            result=result,
            margin=margin,
            stones=game.start.stones(game.size),
            first=1 + game.start.to_move,
            policy=policy,
            weight=weight,
            root_value=_root_values(played, game),
            ownership=ownership,
        ),
    )


def _read_record(data: bytes, source: str) -> Iterator[ReadGame | MiaiError]:
    """Yield the game of a record, or the error in its place."""
    try:
        yield read_record_game(data, source)
    except MiaiError as error:
        yield error


def _end_of(record: GameRecord, state: GoState) -> tuple[int, float, NDArray[np.int8] | None]:
    """Return result, margin and ownership. A forfeit for an error says nothing about the game."""
    margin, ownership = float("nan"), None
    if record.termination == Termination.TERMINAL and state.ending != Ending.REPETITION:
        score = state.score()
        counted = area_score(state.board, white_bonus=0.0, dead=score.dead)
        margin, ownership = score.margin, counted.owners.ravel()
    elif record.termination not in _JUDGED:
        return UNKNOWN, margin, None
    black, white = record.returns
    result = BLACK_WON if black > white else WHITE_WON if white > black else DRAWN
    return result, margin, ownership


_JUDGED: Final = (
    Termination.RESIGNATION,
    Termination.TIME,
    Termination.MOVE_LIMIT,
    Termination.ADJUDICATION,
)


def _targets(
    visits: Sequence[Mapping[int, int]], game: GoGame
) -> tuple[NDArray[np.float16] | None, NDArray[np.float16]]:
    """Return policy targets, None without any, and their weights."""
    policy = np.zeros((len(visits), game.pass_action + 1))
    for ply, counts in enumerate(visits):
        policy[ply, list(counts)] = list(counts.values())
    total = policy.sum(axis=1, keepdims=True)
    shares: NDArray[np.float16] = (policy / np.maximum(total, 1)).astype(np.float16)
    return shares if total.any() else None, (total[:, 0] > 0).astype(np.float16)


def _root_values(moves: Sequence[MoveRecord], game: GoGame) -> NDArray[np.float16] | None:
    """Return the values of the roots, nan where there was no search; None without any."""
    values = np.full(len(moves), np.nan, np.float16)
    for ply, move in enumerate(moves):
        evaluation = Evaluation.from_statistics(move.statistics)
        if move.statistics.get("top") and evaluation is not None:
            value = evaluation.utility(game.info)
            values[ply] = np.nan if value is None else value
    return None if np.isnan(values).all() else values


def _visits(move: MoveRecord, state: GoState) -> Mapping[int, int]:
    """Return the visits that a player reported, by legal action; none if it reported none."""
    try:
        pairs = _VISITS.validate_python(move.statistics.get("visits", []))
    except ValidationError as error:
        raise RecordError(f"the visits of ply {move.ply}: {error.errors()[0]['msg']}") from error
    visits = dict(pairs)
    if len(visits) < len(pairs):
        raise RecordError(f"the visits of ply {move.ply} name an action twice")
    if not visits.keys() <= set(state.legal_actions() if visits else ()):
        raise RecordError(f"the visits of ply {move.ply} are of an action that is not legal")
    return visits


_Visits = Annotated[int, Field(strict=True, ge=0, le=10**9)]
_VISITS: Final = TypeAdapter(list[tuple[_Visits, _Visits]])


def _stated(text: str) -> tuple[int, float]:
    """Return the result that RE states, and Black's margin in points, nan if unknown."""
    stated = result_of(text)
    if stated is None:
        return UNKNOWN, float("nan")
    return (DRAWN, BLACK_WON, WHITE_WON)[stated.sign], stated.margin


def rating_of(rank: str) -> float:
    """Return the rating that BR or WR states as a number, as engine servers do; else nan."""
    match = _NUMBER.fullmatch(rank.strip())
    return float(match[1]) if match else float("nan")


# Filters

_RANK = re.compile(r"([1-9][0-9]?) ?([kdp])(?:yu|an|ro)?[?*]?", re.IGNORECASE)
_GRADES: Final[Mapping[str, tuple[int, int]]] = {"k": (1, -1), "d": (0, 1), "p": (9, 1)}
"""Rank before the first of each grade, above 1 kyu, and whether greater numbers are stronger."""


class GameFilters(Parameters):
    """Which games are imported.

    Games without komi need `default_komi`; games without ranks or ratings fail a minimum.
    """

    size: BoardSizes = parameter(9, help="Board size")
    komi_min: float = parameter(-MAX_KOMI, unit="points", help="Minimum komi")
    komi_max: float = parameter(MAX_KOMI, unit="points", help="Maximum komi")
    default_komi: float | None = parameter(
        None,
        ge=-MAX_KOMI,
        le=MAX_KOMI,
        multiple_of=0.5,
        unit="points",
        help="Komi of games that state none (default: drop them)",
    )
    min_moves: int = parameter(1, ge=0, unit="plies", help="Minimum number of moves")
    max_moves: int | None = parameter(None, ge=0, unit="plies", help="Maximum number of moves")
    min_rank: str | None = parameter(None, help="Minimum rank of both players: 5k, 1d or 1p")
    min_rating: float | None = parameter(
        None, unit="Elo", help="Minimum rating of both players, where BR and WR are numbers"
    )
    rules: tuple[str, ...] = parameter(
        (), help="Rule set to accept, such as chinese (repeatable; default: any, stated or not)"
    )
    any_result: bool = parameter(False, help="Import games without a result")
    setups: bool = parameter(False, help="Import handicap and set-up games")
    duplicates: bool = parameter(False, help="Import games again that are equal up to symmetry")

    @field_validator("min_rank")
    @classmethod
    def _is_rank(cls, rank: str | None) -> str | None:
        if rank is not None and rank_of(rank) is None:
            raise ValueError(f"{rank!r} is not a rank such as 5k, 1d or 1p")
        return rank

    @field_validator("rules")
    @classmethod
    def _are_rules(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if rule_set_named(name) is None:
                known = ", ".join(rules.name for rules in RULE_SETS)
                raise ValueError(f"unknown rules {name!r}; known are {known}")
        return names

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.komi_min > self.komi_max:
            raise ValueError("the minimum of komi is greater than the maximum")
        if self.max_moves is not None and self.max_moves < self.min_moves:
            raise ValueError("the maximum of moves is less than the minimum")
        return self

    def refuses(self, read: ReadGame) -> str | None:
        """Return the reason to drop a game, the same words for many games; None to import it."""
        game = read.game
        if game.size not in sizes_of(self.size):
            return "another board size"
        if not self.setups and (read.handicap or game.stones is not None or game.first != 1):
            return "handicap or set-up"
        length = len(game.moves)
        if length < self.min_moves or (self.max_moves is not None and length > self.max_moves):
            return "too short" if length < self.min_moves else "too long"
        if not self.any_result and game.result == UNKNOWN:
            return "result unknown"
        return self._komi_refuses(read.komi) or self._players_refuse(read)

    def komi(self, game: ReadGame) -> float:
        """Return the komi of a game that passes."""
        komi = self.default_komi if game.komi is None else game.komi
        assert komi is not None, "games without komi are dropped"
        return komi

    def _komi_refuses(self, komi: float | None) -> str | None:
        komi = self.default_komi if komi is None else komi
        if komi is None:
            return "no komi"
        return None if self.komi_min <= komi <= self.komi_max else "another komi"

    def _players_refuse(self, game: ReadGame) -> str | None:
        if self.min_rating is not None:
            ratings = (rating_of(game.black_rank), rating_of(game.white_rank))
            if not all(rating >= self.min_rating for rating in ratings):
                return "rating too low or unknown"
        if self.min_rank is not None:
            minimum = rank_of(self.min_rank)
            for rank in (rank_of(game.black_rank), rank_of(game.white_rank)):
                if rank is None or minimum is None or rank < minimum:
                    return "rank too low or unknown"
        if self.rules and rule_set_named(game.rules) not in map(rule_set_named, self.rules):
            return "other rules"
        return None


def rank_of(text: str) -> int | None:
    """Return a rank as a number, 0 for 1 kyu, greater for stronger; None if it is not a rank.

    >>> rank_of("2k"), rank_of("1d"), rank_of("1p"), rank_of("2500")
    (-1, 1, 10, None)
    """
    match = _RANK.fullmatch(text.strip())
    if match is None:
        return None
    begin, sign = _GRADES[match[2].lower()]
    return begin + sign * int(match[1])


# Importing

RECORD: Final = ".jsonl"
"""Suffix of game records."""
MAX_LISTED: Final = 1000
"""Maximum number of bad files that a report names; all are counted."""


@dataclass(slots=True)
class ImportReport:
    """Counts of an import.

    Attributes:
      files: files read.
      games: games in them, bad ones included.
      taken: games imported.
      dropped: games dropped by a filter, by reason.
      bad: games that cannot be read, or with illegal moves.
      failures: (file and place, cause) of the first `MAX_LISTED` bad games.
    """

    files: int = 0
    games: int = 0
    taken: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, source: str, cause: str) -> None:
        """Count a bad file or game."""
        self.bad += 1
        if len(self.failures) < MAX_LISTED:
            self.failures.append((source, cause))

    def reasons(self) -> str:
        """Return a clause with the reasons why games were dropped, and the first bad game."""
        reasons = [f"{count} dropped ({reason})" for reason, count in self.dropped.most_common()]
        if self.bad:
            reasons.append(f"{self.bad} bad, the first {': '.join(self.failures[0])}")
        return f": {'; '.join(reasons)}" if reasons else ""

    def left_out(self) -> str:
        """Return a line with the number of games left out, and why; empty if none was."""
        if self.taken == self.games:
            return ""
        return f"{self.games - self.taken} of {self.games} games are left out{self.reasons()}"

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "files": self.files,
            "games": self.games,
            "taken": self.taken,
            "dropped": dict(self.dropped.most_common()),
            "bad": self.bad,
            "bad_files": [{"source": source, "cause": cause} for source, cause in self.failures],
        }


def import_games(
    sources: Iterable[Path],
    filters: GameFilters,
    report: ImportReport,
    *,
    known: Iterable[bytes] = (),
    progress: Callable[[ImportReport], None] | None = None,
) -> Iterator[StoredGame]:
    """Yield the games of SGF files, game records, folders and archives that pass the filters.

    Args:
      report: updated with every game.
      known: names of games that count as duplicates.
      progress: called after every file.

    Raises:
      DataError: a source is missing or of an unknown kind, or an archive is damaged.
    """
    seen = set(known)
    for source in sources:
        for file in files_of(source, kinds=(SGF, RECORD)):
            report.files += 1
            if file.data is None:
                report.games += 1
                report.refuse(file.name, file.error)
            else:
                read = _READERS[RECORD if file.name.lower().endswith(RECORD) else SGF]
                for game in read(file.data, file.name):
                    report.games += 1
                    stored = _accepted(game, filters, report, seen, file.name)
                    if stored is not None:
                        yield stored
            if progress is not None:
                progress(report)


_READERS: Final[Mapping[str, Callable[[bytes, str], Iterator[ReadGame | MiaiError]]]] = {
    SGF: read_games,
    RECORD: _read_record,
}
"""Readers of the games of a file, by its suffix; they yield an error in place of each bad game."""


def _accepted(
    game: ReadGame | MiaiError,
    filters: GameFilters,
    report: ImportReport,
    seen: set[bytes],
    file: str,
) -> StoredGame | None:
    if isinstance(game, MiaiError):
        report.refuse(file, str(game).removeprefix(f"{file}: "))
        return None
    # Cheap filters first; the board then checks the moves, which names rely on.
    reason = filters.refuses(game)
    if reason is not None:
        report.dropped[reason] += 1
        return None
    stored = game.stored(komi=filters.komi(game))
    legal = stored.legal_moves()
    if legal < len(stored.moves):
        report.refuse(game.source, _why_illegal(stored, legal))
        return None
    if not filters.duplicates:
        name = stored.name()
        if name in seen:
            report.dropped["duplicate"] += 1
            return None
        seen.add(name)
    report.taken += 1
    return stored


def _why_illegal(game: StoredGame, legal: int) -> str:
    if legal < 0:
        return "the set-up has stones without liberties"
    name = vertex(int(game.moves[legal]), game.size)
    return f"move {legal + 1}, {name}, is illegal: occupied, a ko retaken at once, or suicide"
