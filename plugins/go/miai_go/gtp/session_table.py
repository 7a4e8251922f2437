"""The game of a session: settings, stones and moves, as a controller changes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from miai.errors import MiaiError
from miai.parameters import build_parameters
from miai_go.gtp.kata_rules import RULE_PARAMETERS
from miai_go.gtp.wire import GtpError
from miai_go.rules.board import Board, KoRule
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, GoState, Phase, Start, why_illegal
from miai_go.rules.game_parameters import MAX_KOMI, MAX_MOVES, GoParameters
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_file
from miai_go.sgf.writing import game_file, set_move, set_text, sgf_text


class FreeState(GoState):
    """A position of Go in which either player may move, and play goes on after two passes.

    The history alternates between the players, as searches and encoders expect: if one player
    moves twice, a pass of the other is inserted, which lifts the ko and has no other effect.
    Superko looks back over all of it.
    """

    def __init__(self, game: GoGame, start: Start, board: Board) -> None:
        super().__init__(game, start, board)
        self._choices: frozenset[int] | None = None

    def turn_to(self, player: int) -> bool:
        """Let `player` move next, also after the end of play. Returns whether that was needed."""
        resumed = self.phase != Phase.PLAY
        if resumed:
            self.phase, self.ending, self.dead = Phase.PLAY, None, ()
            self.passes = 0
            self._legal = self._score = None
        if player != self.to_move:
            self._skip()
            return True
        return resumed

    def restricted(self, actions: Iterable[int]) -> Self:
        """Return a copy in which the player to move can only choose from these actions.

        Unless the pass is among them, a preceding pass is forgotten: two would end the game.
        """
        other = self.clone()
        other._choices = frozenset(actions)
        if self.game.pass_action not in other._choices:
            other.passes = 0
        other._legal = None
        return other

    def legal_actions(self) -> list[int]:
        """Return the legal actions among the choices, ascending."""
        legal = super().legal_actions()
        if self._choices is None:
            return legal
        return [action for action in legal if action in self._choices]

    def is_legal(self, action: int) -> bool:
        """Return whether the current player may take `action`, superko included."""
        return (self._choices is None or action in self._choices) and super().is_legal(action)

    def _skip(self) -> None:
        """Give the turn to the other player by a pass that does not count towards the end."""
        actor = self.to_move
        self.board.play_unchecked(actor, self.game.pass_action)
        self.to_move, self.passes = 1 - actor, 0
        if self.game.ko_rule == KoRule.SITUATIONAL:
            self._remember()
        self._legal = self._score = None
        self._history.append(self.game.pass_action)
        self._actors.append(actor)

    def _apply(self, action: int) -> None:
        self._choices = None
        super()._apply(action)

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._choices = self._choices


PlayerMove: TypeAlias = tuple[int, int]
"""A player (0: Black, 1: White) and an action."""

_START_PARAMETERS: Final = (
    "handicap",
    "handicap_points",
    "black_stones",
    "white_stones",
    "first_player",
)
"""The parameters of the game that describe the starting position."""

_SPARE_MOVES: Final = 2  # a move, and the pass inserted before it


class SessionTable:
    """A game that follows its controller. Raises `MiaiError` if the values do not describe Go.

    It never ends: repetitions under simple ko are allowed, and so are moves after two passes.

    Attributes:
      game: board, rules and starting position.
      state: the current position; read-only.
      moves: the controller's moves, oldest first, without the passes that `state` inserts.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.game = _game(self._values)
        self._values["komi"] = self.game.rules.komi  # a handicap would change the default
        self.moves: list[PlayerMove] = []
        self.state = self._initial()

    # -- settings -----------------------------------------------------------------------------

    @property
    def values(self) -> dict[str, Any]:
        """The current parameters of the game."""
        return dict(self._values)

    def clear(self, **changes: Any) -> None:
        """Empty the board; change some parameters. Raises `MiaiError`, with nothing changed."""
        self.restore({**self._without(*_START_PARAMETERS), **changes}, [])

    def change(self, **changes: Any) -> None:
        """Change parameters and keep the position. Raises as `restore`."""
        self.restore({**self._values, **changes}, self.moves)

    def set_komi(self, komi: float) -> None:
        """Change the komi, points. Raises `GtpError` unless it is a multiple of 0.5."""
        if not abs(komi) <= MAX_KOMI or komi % 0.5:
            raise GtpError(f"komi must be a multiple of 0.5 within {MAX_KOMI:g}")
        self.change(komi=komi)

    def place_handicap(self, points: Iterable[int]) -> None:
        """Put Black's handicap on the empty board; White is to move."""
        self.require_empty()
        names = [vertex(point, self.game.size) for point in points]
        self.restore({**self._values, "handicap_points": names}, [])

    def replace(self, values: Mapping[str, Any], actions: Iterable[int]) -> None:
        """Set up another game: its parameters, then its alternating actions. Raises as `restore`.

        Parameters that describe rules or position and are not among `values` become the default.
        """
        resets = (*_START_PARAMETERS, *(RULE_PARAMETERS if "rules" in values else ()))
        parameters = {**self._without(*resets), **values}
        first = _game(parameters).start.to_move
        moves = [(first ^ (index % 2), action) for index, action in enumerate(actions)]
        self.restore(parameters, moves)

    def restore(self, values: Mapping[str, Any], moves: list[PlayerMove]) -> None:
        """Set all parameters and moves. Raises `MiaiError` if one is wrong; nothing is changed."""
        # All moves are played again, for `undo` as well: captures, superko and prisoners are then
        # right by construction, and a session has few moves.
        before = self._values, self.game, self.state, self.moves
        try:
            self.game = _game(values)
            self._values, self.moves, self.state = dict(values), [], self._initial()
            for player, action in moves:
                self.play(player, action)
        except BaseException:
            self._values, self.game, self.state, self.moves = before
            raise

    def require_empty(self) -> None:
        """Raise `GtpError` if there is a stone on the board or a move was made."""
        if self.moves or self.state.board.stones().any():
            raise GtpError("board not empty")

    # -- moves --------------------------------------------------------------------------------

    def play(self, player: int, action: int) -> bool:
        """Play a move. Returns whether `player` was to move and play had not ended.

        Raises `GtpError` if it is illegal, superko included, or the game too long.
        """
        self._check_room()
        regular = self.state.phase == Phase.PLAY and player == self.state.to_move
        if not regular:
            # Checked on a copy first, so that a refusal does not change whose turn it is.
            self._check(self.at_turn_of(player), action)
            self.state.turn_to(player)
        self._check(self.state, action)
        self.state.apply_action(action)
        self.moves.append((player, action))
        return regular

    def undo(self) -> None:
        """Take the last move back. Raises `GtpError` if there is none."""
        if not self.moves:
            raise GtpError("cannot undo")
        self.restore(self._values, self.moves[:-1])

    def at_turn_of(self, player: int) -> FreeState:
        """Return a copy of the position in which `player` is to move."""
        self._check_room()
        state = self.state.clone()
        state.turn_to(player)
        return state

    def _check_room(self) -> None:
        if self.state.move_number() + _SPARE_MOVES >= self.game.max_moves:
            raise GtpError(f"more than {MAX_MOVES} moves; begin a new game with clear_board")

    def _check(self, state: FreeState, action: int) -> None:
        if not state.is_legal(action):
            name = vertex(action, self.game.size)
            raise GtpError(f"illegal move: {name} {why_illegal(state, action)}")

    def _without(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name not in names}

    def _initial(self) -> FreeState:
        start = self.game.new_initial_state()  # loads the kernels that moves call
        return FreeState(self.game, self.game.start, start.board)


def load_sgf(table: SessionTable, path: Path, *, before: int | None) -> None:
    """Set up the main line of a file's first game, with its size, komi and rules.

    With `before`, the moves from that number on are left out. Raises `GtpError` if the file cannot
    be read or played; the table is then unchanged.
    """
    try:
        game = read_file(path)[0]
        line = game.main_line()
        if line.faults:
            raise game.error(line.faults[0], "")
        actions = line.actions if before is None else line.actions[: max(before - 1, 0)]
        table.replace(game.playable_parameters(line), actions)
    except SgfError as error:
        raise GtpError(f"cannot load file: {error}") from error
    except MiaiError as error:
        raise GtpError(f"cannot load file: {path}: {error}") from error


def table_as_sgf(table: SessionTable, *, result: str) -> str:
    """Return the game as SGF."""
    file = game_file(table.game)
    if result:
        set_text(file.get_root(), "RE", result)
    for player, action in table.moves:
        set_move(file.extend_main_sequence(), player, action)
    return sgf_text(file)


def free_handicap(points: list[int], stones: int, size: int) -> list[int]:
    """Return the points of a free handicap: `points`, then others far from all of them."""
    handicap = points[:stones]
    others = [point for point in range(size * size) if point not in handicap]
    while len(handicap) < stones:
        best = max(others, key=lambda point: _room_at(point, handicap, size))
        others.remove(best)
        handicap.append(best)
    return sorted(handicap)


def _room_at(point: int, handicap: list[int], size: int) -> tuple[int, int]:
    """Return the distance to the nearest chosen point, the edge counting half; then the order."""
    row, column = divmod(point, size)
    to_edge = 2 * min(row + 1, column + 1, size - row, size - column)
    others = [abs(row - p // size) + abs(column - p % size) for p in handicap]
    return min([to_edge, *others]), -point


def _game(values: Mapping[str, Any]) -> GoGame:
    parameters = build_parameters(GoParameters, values, where="game")
    overrides: dict[str, Any] = {"repetition": "allowed", "max_moves": MAX_MOVES}
    if parameters.resolved_rules().dead_stones == "agreement":
        overrides["dead_stones"] = "playouts"  # controllers have no moves to agree with
    return GoGame(parameters.model_copy(update=overrides))
