"""The game on an engine's table: settings, stones and moves, as a controller changes them.

Positions as a controller makes them: either player moves, and play goes on after two passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self, TypeAlias

from miai.parameters import build_parameters
from miai_go.gtp.wire import GtpError
from miai_go.rules.board import BLACK, EMPTY, WHITE, Board, KoRule
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import MAX_KOMI, MAX_MOVES, GoParameters
from miai_go.rules.state import GoState, Phase, Start, why_illegal


class FreeState(GoState):
    """A position of Go that a controller may lead anywhere.

    The history alternates between the players, as searches and encoders expect: where one player
    moves twice, a pass of the other is put in between, which lifts the ko and counts for nothing
    else. Superko looks back over all of it.
    """

    def __init__(self, game: GoGame, start: Start, board: Board) -> None:
        super().__init__(game, start, board)
        self._choices: frozenset[int] | None = None

    def turn_to(self, player: int) -> bool:
        """Let `player` move next, also after the end of play.

        Returns whether that took more than the ordinary course of the game.
        """
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
        """Return a copy in which the player to move has no other choice than these actions.

        Where the pass is none of them, a pass made just before is forgotten, which it could answer.
        """
        other = self.clone()
        other._choices = frozenset(actions)
        if self.game.pass_action not in other._choices:
            other.passes = 0
        other._legal = None
        return other

    def legal_actions(self) -> list[int]:
        """Return the legal actions, ascending, as far as they are among the choices."""
        legal = super().legal_actions()
        if self._choices is None:
            return legal
        return [action for action in legal if action in self._choices]

    def is_legal(self, action: int) -> bool:
        """Return whether the current player may take `action`, superko included."""
        return (self._choices is None or action in self._choices) and super().is_legal(action)

    def _skip(self) -> None:
        """Pass on the turn, as a pass that is none."""
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


Move: TypeAlias = tuple[int, int]
"""A player, 0 Black or 1 White, and an action."""

OF_POSITION: Final = (
    "handicap",
    "handicap_points",
    "black_stones",
    "white_stones",
    "first_player",
)
"""The parameters of a game that say where it starts."""

_SPARE_MOVES: Final = 2  # a play and the turn that it may skip


class EngineTable:
    """A game that follows its controller.

    No rule ends it: a repetition under simple ko is allowed, and so are moves after two passes.

    Attributes:
      game: board, rules and starting position.
      state: the position now; not to be changed from outside.
      moves: what was played, oldest first; a controller's, not the alternating history of `state`.

    Raises:
      MiaiError: the values are no parameters of Go.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.game = _game(self._values)
        self._values["komi"] = self.game.rules.komi  # a handicap would change the default
        self.moves: list[Move] = []
        self.state = self._initial()

    # -- settings -----------------------------------------------------------------------------

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the game, as given and changed since."""
        return dict(self._values)

    def clear(self, **changes: Any) -> None:
        """Empty the board; change some parameters. Raises `MiaiError`, with nothing changed."""
        kept = {name: v for name, v in self._values.items() if name not in OF_POSITION}
        self._set({**kept, **changes}, [])

    def change(self, **changes: Any) -> None:
        """Change parameters and leave the position.

        Raises:
          GtpError: the moves so far are not legal by them.
          MiaiError: they are no parameters of Go; nothing was changed.
        """
        self._set({**self._values, **changes}, self.moves)

    def set_komi(self, komi: float) -> None:
        """Change the komi, points. Raises `GtpError` for what is no multiple of 0.5."""
        if not abs(komi) <= MAX_KOMI or komi % 0.5:
            raise GtpError(f"komi must be a multiple of 0.5 within {MAX_KOMI:g}")
        self.change(komi=komi)

    def place_handicap(self, points: Iterable[int]) -> None:
        """Put Black's handicap on the empty board; White is to move."""
        self.require_empty()
        names = [vertex(point, self.game.size) for point in points]
        self._set({**self._values, "handicap_points": names}, [])

    def replace(self, values: Mapping[str, Any], actions: Iterable[int]) -> None:
        """Take over another game: its parameters, then its alternating actions.

        Raises:
          GtpError: an action is not legal.
          MiaiError: the parameters are wrong; in both cases nothing was changed.
        """
        game = _game(values)
        player = game.start.to_move
        moves = []
        for action in actions:
            moves.append((player, action))
            player = 1 - player
        self._set(values, moves)

    def restore(self, values: Mapping[str, Any], moves: list[Move]) -> None:
        """Put back values and moves that were on this table before."""
        self._set(values, moves)

    def require_empty(self) -> None:
        """Raise `GtpError` unless no stone lies on the board and no move was made."""
        if self.moves or self.state.board.stones().any():
            raise GtpError("board not empty")

    # -- moves --------------------------------------------------------------------------------

    @property
    def to_move(self) -> int:
        """Whose turn it is where nobody says otherwise."""
        return self.state.to_move

    def play(self, player: int, action: int) -> bool:
        """Play a move; return whether it was in the ordinary course of the game.

        Raises:
          GtpError: it is illegal, superko included, or one move too many; nothing was changed.
        """
        self._check_room()
        regular = self.state.phase == Phase.PLAY and player == self.to_move
        if not regular:
            # The point is looked at first, so that a refusal costs nobody the turn.
            self._check(self.at_turn_of(player), action)
            self.state.turn_to(player)
        self._check(self.state, action)
        self.state.apply_action(action)
        self.moves.append((player, action))
        return regular

    def undo(self) -> None:
        """Take the last move back. Raises `GtpError` where there is none."""
        if not self.moves:
            raise GtpError("cannot undo")
        self._set(self._values, self.moves[:-1])

    def at_turn_of(self, player: int) -> FreeState:
        """Return a copy of the position in which `player` is to move."""
        self._check_room()
        state = self.state.clone()
        state.turn_to(player)
        return state

    def _check_room(self) -> None:
        if self.state.move_number() + _SPARE_MOVES >= self.game.max_moves:
            raise GtpError(f"more than {MAX_MOVES} moves; clear_board begins anew")

    def _check(self, state: FreeState, action: int) -> None:
        if not state.is_legal(action):
            name = vertex(action, self.game.size)
            raise GtpError(f"illegal move: {name} {why_illegal(state, action)}")

    def _set(self, values: Mapping[str, Any], moves: list[Move]) -> None:
        """Take parameters and moves, or neither."""
        before = self._values, self.game, self.state, self.moves
        try:
            self.game = _game(values)
            self._values, self.moves, self.state = dict(values), [], self._initial()
            for player, action in moves:
                self.play(player, action)
        except BaseException:
            self._values, self.game, self.state, self.moves = before
            raise

    def _initial(self) -> FreeState:
        start = self.game.new_initial_state()  # loads what the moves of a game call
        return FreeState(self.game, self.game.start, start.board)


def handicap_places(table: EngineTable, points: list[int], wanted: int) -> list[int]:
    """Return so many points for a free handicap: `points`, then others far from them all."""
    size = table.game.size
    chosen = points[:wanted]
    left = [point for point in range(size * size) if point not in chosen]
    while len(chosen) < wanted:
        best = max(left, key=lambda point: _room_at(point, chosen, size))
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


def _room_at(point: int, chosen: list[int], size: int) -> tuple[int, int]:
    """Return how far a point is from the nearest chosen one, the edge counting half, then where."""
    row, column = divmod(point, size)
    to_edge = 2 * min(row + 1, column + 1, size - row, size - column)
    others = [abs(row - p // size) + abs(column - p % size) for p in chosen]
    return min([to_edge, *others]), -point


def stones_in_chains(table: EngineTable) -> list[tuple[int, list[int]]]:
    """Return the chains on the board, each as its player and its points, by their lowest point."""
    flat = table.state.board.stones().reshape(-1)
    seen: set[int] = set()
    chains = []
    for point in range(len(flat)):
        if flat[point] == EMPTY or point in seen:
            continue
        chain = table.state.board.group_at(point).tolist()
        seen.update(chain)
        chains.append((BLACK if flat[point] == BLACK + 1 else WHITE, chain))
    return chains


def _game(values: Mapping[str, Any]) -> GoGame:
    parameters = build_parameters(GoParameters, values, where="game")
    forced: dict[str, Any] = {"repetition": "allowed", "max_moves": MAX_MOVES}
    if parameters.resolved_rules().dead_stones == "agreement":
        forced["dead_stones"] = "playouts"  # a controller settles nothing by moves
    return GoGame(parameters.model_copy(update=forced))
