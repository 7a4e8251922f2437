"""Histories of reconchess 1.6.9, as its `GameHistory` saves and loads them.

A history is read by playing each turn again, which has to turn out as written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import chess

from miai.errors import GameError, MiaiError, RecordError
from miai.files import reading
from miai.game import Observation
from miai.parameters import build_parameters
from miai.plain import dumps, loads
from miai.playing.replay import record_of_actions
from miai.record import GameRecord, Termination
from miai_rbc.kernels.board import NOTHING, QUEENS
from miai_rbc.rbc_parameters import START_FEN, RbcParameters
from miai_rbc.rules.actions import SENSE_NOTHING, action_of, move_name
from miai_rbc.rules.game import RbcGame, RbcState
from miai_rbc.rules.observations import move_of_name, square_of_name

__all__ = ["COLOURS", "LISTS", "ReconchessRecords", "piece_json"]

COLOURS: Final = ("true", "false")
"""The keys of white and black, by player."""

LISTS: Final = (
    "senses",
    "sense_results",
    "requested_moves",
    "taken_moves",
    "capture_squares",
    "fens_before_move",
    "fens_after_move",
)
"""The fields that hold a list for each colour, of one entry a turn."""

_REASONS: Final = {
    "king captured": "KING_CAPTURE",
    "turn limit": "TURN_LIMIT",
    "move limit": "MOVE_LIMIT",
}


class ReconchessRecords:
    """The record format ``reconchess``: the history that its tools read and bots learn from.

    It holds the true boards; clocks, seeds and statistics are only in the format ``jsonl``. A
    player that failed has resigned, as on reconchess's server, and so has one that an adjudicator
    declared lost.
    """

    suffix = ".json"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of rbc as JSON.

        Raises:
          RecordError: the record is of another game, its moves are illegal, or Black begins, which
            a history of reconchess cannot express.
        """
        if record.game != "rbc":
            raise RecordError(
                f"histories of reconchess hold games of rbc, not of {record.game}; write jsonl"
            )
        try:
            parameters = build_parameters(
                RbcParameters, record.game_parameters, where="game_parameters"
            )
            replay = _Replay(RbcGame(parameters))
            for move in record.moves:
                replay.add(move.action)
        except MiaiError as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(
                f"the record cannot be written as a history of reconchess: {error}"
            ) from error
        white, black = (player.name or player.agent for player in record.players)
        head = {"type": "GameHistory", "white_name": white, "black_name": black}
        winner, reason = _outcome(record, replay.state)
        end = {
            "winner_color": None if winner is None else winner == 0,
            "win_reason": None if reason is None else _typed("WinReason", reason),
        }
        return dumps(head | replay.lists | end) + "\n"

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the game of a history.

        Raises:
          RecordError: as `read_history`.
        """
        history = parse_history(data, source=source)
        loser = None if history.winner is None else 1 - history.winner
        reason = Termination.TIME if history.reason == "TIMEOUT" else Termination.RESIGNATION
        white, black = (
            name or colour for name, colour in zip(history.players, _NAMES, strict=True)
        )
        record = record_of_actions(
            history.game,
            history.actions,
            players=(white, black),
            loser=loser if history.reason in ("TIMEOUT", "RESIGN") else None,
            reason=reason,
        )
        return [record]


class _Replay:
    """A game played again, and the lists of its history so far.

    Attributes:
      state: the current state.
      lists: by name and colour, as in a history.
    """

    def __init__(self, game: RbcGame) -> None:
        if game.start.turn == chess.BLACK:
            raise RecordError(
                "in a history of reconchess white moves first, in this game black; write jsonl"
            )
        self.state: RbcState = game.new_initial_state()
        self.lists: dict[str, dict[str, list[Any]]] = {
            name: {colour: [] for colour in COLOURS} for name in LISTS
        }
        self._board = game.start.copy()

    def add(self, action: int) -> None:
        """Apply an action and record its outcome."""
        player = self.state.current_player()
        requested = self.state.move_of(action) if action > SENSE_NOTHING else NOTHING
        self.state.apply_action(action)
        observation = self.state.observation(player)
        assert observation is not None
        data: Any = observation.data
        if action <= SENSE_NOTHING:
            window = [[chess.parse_square(s), piece_json(p)] for s, p in data["sensed"]]
            square = None if action == SENSE_NOTHING else action
            self._note(player, senses=square, sense_results=window)
            return
        taken, captured = data["taken"], data["captured"]
        before = self._board.fen(en_passant="fen")
        self._board.push(chess.Move.null() if taken is None else chess.Move.from_uci(taken))
        self._note(
            player,
            requested_moves=None if requested == NOTHING else _typed("Move", move_name(requested)),
            taken_moves=None if taken is None else _typed("Move", taken),
            capture_squares=square_of_name(captured),
            fens_before_move=before,
            fens_after_move=self._board.fen(en_passant="fen"),
        )

    def _note(self, player: int, **values: Any) -> None:
        for name, value in values.items():
            self.lists[name][COLOURS[player]].append(value)


def piece_json(symbol: str | None) -> Any:
    """Return a piece as reconchess writes it; None for none."""
    return None if symbol is None else _typed("Piece", symbol)


def _typed(kind: str, value: str) -> dict[str, str]:
    return {"type": kind, "value": value}


def _outcome(record: GameRecord, state: RbcState) -> tuple[int | None, str | None]:
    if record.loser is not None:
        timed_out = record.termination == Termination.TIME
        return 1 - record.loser, "TIMEOUT" if timed_out else "RESIGN"
    adjudicated = record.termination == Termination.ADJUDICATION
    if not adjudicated and not state.is_terminal():
        return None, None
    white, black = record.returns if adjudicated else state.returns()
    winner = None if white == black else int(black > white)
    if adjudicated:
        return winner, None if winner is None else "RESIGN"
    return winner, _REASONS[state.result_to_string().split(" ", 1)[1]]


MAX_BYTES: Final = 64 << 20
"""Maximum size of a file; the longest possible game takes 12 MiB."""

_MAX_TURNS: Final = 20_000  # of one colour; a game by the usual limits has at most 6,350
_REASON_NAMES: Final = ("KING_CAPTURE", "TIMEOUT", "RESIGN", "TURN_LIMIT", "MOVE_LIMIT")
_NAMES: Final = ("white", "black")
_USUAL_LIMIT, _MAX_LIMIT = 100, 10_000


@dataclass(frozen=True, slots=True)
class History:
    """A game that reconchess recorded.

    Attributes:
      players: the names of White and Black.
      game: with the start and the limits that follow from the history.
      actions: senses and moves, oldest first.
      winner: 0 for White, 1 for Black, None for neither.
      reason: the name of reconchess's `WinReason`; empty if the game was stopped.
    """

    players: tuple[str, str]
    game: RbcGame
    actions: tuple[int, ...]
    winner: int | None
    reason: str

    def states(self) -> Iterator[RbcState]:
        """Return the states of the game, from the first to the last; each is a copy."""
        state = self.game.new_initial_state()
        yield state.clone()
        for action in self.actions:
            state.apply_action(action)
            yield state.clone()

    def observations(self, player: int) -> list[Observation]:
        """Return all observations of a player."""
        every = (state.observation(player) for state in self.states())
        return [observation for observation in every if observation is not None]


def read_history(path: Path) -> History:
    """Return the game that a file of reconchess's `GameHistory.save` holds.

    Raises:
      RecordError: the file is unreadable, too long, malformed or of another version, or it breaks
        the rules; the message names file, field and turn.
    """
    with reading(path, RecordError), path.open("rb") as file:
        return parse_history(file.read(MAX_BYTES + 1), source=str(path))


def parse_history(data: bytes, *, source: str) -> History:
    """Return the game of a history, as `read_history`."""
    try:
        if len(data) > MAX_BYTES:
            raise RecordError(f"longer than {MAX_BYTES} bytes, so not the history of one game")
        return _Reader(_parsed(data)).read()
    except RecordError as error:
        raise RecordError(f"{source}: {error}") from None


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        history = loads(data)
    except ValueError as error:
        raise RecordError(f"not the JSON of a history of reconchess: {error}") from None
    if type(history) is not dict or history.get("type") != "GameHistory":
        raise RecordError("not a history of reconchess: not an object of type 'GameHistory'")
    missing = [name for name in (*LISTS, "winner_color", "win_reason") if name not in history]
    if missing:
        raise RecordError(
            f"fields missing: {', '.join(missing)}; histories of reconchess 1.6.9 are read"
        )
    return history


class _Reader:
    """Plays a parsed history again."""

    def __init__(self, history: Mapping[str, Any]) -> None:
        self._history = history
        self._lists = {name: _lists(history, name) for name in LISTS}
        self._check_lengths()
        self.winner, self.reason = _winner(history), _reason(history)
        self._replay = _Replay(RbcGame())

    def read(self) -> History:
        """Return the history; raises `RecordError` where a turn breaks the rules."""
        game = self._game()
        self._replay = _Replay(game)
        senses = self._lists["senses"]
        turns = len(senses[0]) + len(senses[1])
        for number in range(turns):
            turn, player = divmod(number, 2)
            if turn >= len(senses[player]):
                raise RecordError(
                    f"senses: {_NAMES[1 - player]} has turns when {_NAMES[player]} has none"
                )
            self._sense(player, turn)
            if turn < len(self._lists["requested_moves"][player]):
                self._move(player, turn)
            elif number + 1 < turns:
                raise RecordError(f"requested_moves: none at {_at(player, turn)}, yet play goes on")
        self._check_end()
        white, black = (str(self._history.get(f"{name}_name") or "")[:200] for name in _NAMES)
        actions = tuple(self._replay.state.history())
        return History((white, black), game, actions, self.winner, self.reason)

    def _check_lengths(self) -> None:
        for player in range(2):
            counts = {name: len(self._lists[name][player]) for name in LISTS}
            senses, moves = counts["senses"], counts["requested_moves"]
            expected = {name: senses if name.startswith("sense") else moves for name in LISTS}
            if counts != expected or not 0 <= senses - moves <= 1:
                lengths = ", ".join(f"{name} {count}" for name, count in counts.items())
                raise RecordError(f"the lists of {_NAMES[player]} differ in length: {lengths}")

    # -- the game -------------------------------------------------------------------------------

    def _game(self) -> RbcGame:
        """Return the game with the start and the limits that follow from the boards."""
        fens = self._lists["fens_before_move"][0]
        clocks = [_clocks(fen) for side in self._lists["fens_after_move"] for fen in side]
        longest = max((half_moves for half_moves, _ in clocks), default=0)
        turns = max((turn for _, turn in clocks), default=0)
        # A game that ended otherwise may have had no such limit, or a later one.
        limit = longest if self.reason == "MOVE_LIMIT" else max(_USUAL_LIMIT, longest + 1)
        values = {
            "fen": fens[0] if fens else START_FEN,
            "reversible_moves_limit": min(max(limit, 1), _MAX_LIMIT),
            "full_turn_limit": turns - 1 if self.reason == "TURN_LIMIT" and turns > 1 else None,
        }
        try:
            game = RbcGame(RbcParameters.model_validate(values))
        except ValueError as error:  # also those of our own errors
            raise RecordError(f"fens_before_move, white's turn 0: {error}") from None
        if game.start.turn == chess.BLACK:
            raise RecordError("fens_before_move: at white's turn 0 black is to move")
        return game

    def _sense(self, player: int, turn: int) -> None:
        square = self._lists["senses"][player][turn]
        if square is not None and not (type(square) is int and 0 <= square < SENSE_NOTHING):
            self._refuse("senses", player, turn, "is not a square")
        self._add(player, turn, SENSE_NOTHING if square is None else square)
        self._compare("sense_results", player, turn)

    def _move(self, player: int, turn: int) -> None:
        move, state = self._requested(player, turn), self._replay.state
        action = action_of(move)
        if not state.is_legal(action) or state.move_of(action) not in (move, move | QUEENS << 12):
            self._refuse("requested_moves", player, turn, "cannot be requested here")
        self._add(player, turn, action)
        self._compare("taken_moves", player, turn)
        self._compare("capture_squares", player, turn)
        for name in ("fens_before_move", "fens_after_move"):
            # Only these fields are written alike by every version.
            expected = self._expected(name, player).split(" ")[:3]
            if str(self._lists[name][player][turn]).split(" ")[:3] != expected:
                self._refuse(name, player, turn, f"by the rules it is {' '.join(expected)}")

    def _requested(self, player: int, turn: int) -> int:
        value = self._lists["requested_moves"][player][turn]
        if value is None:
            return NOTHING
        try:
            if type(value) is not dict or value.get("type") != "Move":
                raise TypeError
            return move_of_name(value.get("value"))
        except (TypeError, ValueError):
            self._refuse("requested_moves", player, turn, "is not a move")

    def _add(self, player: int, turn: int, action: int) -> None:
        try:
            self._replay.add(action)
        except GameError as error:
            reason = str(error).splitlines()[0]
            raise RecordError(f"{_at(player, turn)}: {reason}") from None

    # -- comparing ------------------------------------------------------------------------------

    def _expected(self, name: str, player: int) -> Any:
        return self._replay.lists[name][COLOURS[player]][-1]

    def _compare(self, name: str, player: int, turn: int) -> None:
        expected = self._expected(name, player)
        if self._lists[name][player][turn] != expected:
            self._refuse(name, player, turn, f"by the rules it is {_shown(expected)}")

    def _refuse(self, name: str, player: int, turn: int, why: str) -> NoReturn:
        value = self._lists[name][player][turn]
        raise RecordError(f"{name}, {_at(player, turn)}: {_shown(value)}: {why}")

    def _check_end(self) -> None:
        white, black = self._replay.state.returns()
        winner = None if white == black else int(black > white)
        draws = self.reason in ("MOVE_LIMIT", "TURN_LIMIT")
        has_end = self.reason == "KING_CAPTURE" or draws
        differs = has_end and (not self._replay.state.is_terminal() or winner != self.winner)
        if differs or (self.winner is None) != (draws or not self.reason):
            who = "nobody" if self.winner is None else _NAMES[self.winner]
            raise RecordError(
                f"winner_color and win_reason: {who} by {self.reason or 'nothing'}, which is not "
                "how the game ends"
            )


def _lists(history: Mapping[str, Any], name: str) -> tuple[list[Any], list[Any]]:
    sides = history[name]
    if type(sides) is not dict or sides.keys() != set(COLOURS):
        raise RecordError(f"{name}: not an object of 'true' and 'false'")
    for colour in COLOURS:
        side = sides[colour]
        if type(side) is not list or len(side) > _MAX_TURNS:
            raise RecordError(f"{name}, '{colour}': not a list of at most {_MAX_TURNS} turns")
    return sides["true"], sides["false"]


def _winner(history: Mapping[str, Any]) -> int | None:
    colour = history["winner_color"]
    if colour is not None and type(colour) is not bool:
        raise RecordError(f"winner_color: {_shown(colour)} is not true, false or null")
    return None if colour is None else 0 if colour else 1


def _reason(history: Mapping[str, Any]) -> str:
    reason = history["win_reason"]
    if reason is None:
        return ""
    value = reason.get("value") if type(reason) is dict else None
    if value not in _REASON_NAMES:
        names = ", ".join(_REASON_NAMES)
        raise RecordError(f"win_reason: {_shown(reason)} is none of reconchess 1.6.9: {names}")
    return str(value)


def _clocks(fen: Any) -> tuple[int, int]:
    """Return the half-move clock and the turn number of a FEN; zeros if they are missing."""
    fields = fen.split(" ") if isinstance(fen, str) and len(fen) < 200 else []
    numbers = [int(field) for field in fields[4:6] if field.isascii() and field.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def _at(player: int, turn: int) -> str:
    return f"{_NAMES[player]}'s turn {turn}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
