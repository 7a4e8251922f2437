"""Reading SGF: games, set-up positions, variations, and the opening reader ``sgf``.

Files are checked against the limits of `miai_go.sgf.check` before sgfmill parses them. A file that
cannot be read or played raises `SgfError`, which names the file, the place and the cause.

>>> game = read_bytes(b"(;GM[1]SZ[9]KM[7];B[ee];W[ce](;B[eg])(;B[gc]))")[0]
>>> [line.actions for line in game.lines()]
[(40, 38, 22), (40, 38, 60)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sgfmill import sgf, sgf_grammar

from miai.errors import GameError
from miai.playing.openings import Opening, check_file
from miai_go.rules.board import BLACK, BLACK_STONE, EMPTY, WHITE, WHITE_STONE, Board, BoardError
from miai_go.rules.coordinates import MAX_SIZE, vertex
from miai_go.rules.game import GoGame, GoState, Start
from miai_go.rules.game_parameters import (
    MAX_KOMI,
    MAX_MOVES,
    GoParameters,
    Preset,
    SgfOpeningParameters,
)
from miai_go.sgf.check import SgfError, charset_of, check, shown
from miai_go.sgf.sources import read_bytes_of

_COLORS: Final = {"b": BLACK, "w": WHITE}


@dataclass(frozen=True, slots=True)
class SgfLine:
    """A line of play: a starting position and alternating moves.

    In the middle of a game SGF may set up stones or let one player move twice; actions cannot.
    The line then starts after that, and `start` is the position reached.

    Attributes:
      start: the starting position.
      actions: the moves from there, players alternating.
      place: the node where the line ends, for errors.
    """

    start: Start
    actions: tuple[int, ...]
    place: str


class _LineFollower:
    """Follows a line from node to node on a board; with a `handicap`, White moves first."""

    def __init__(self, size: int, source: str, place: str, *, handicap: int = 0) -> None:
        self._size = size
        self._source = source
        self._game = place
        self._place = place
        self._handicap = handicap
        self._board = Board(size)
        self._to_move = WHITE if handicap > 1 else BLACK
        self._start = Start((), (), self._to_move)
        self._actions: list[int] = []

    def copy(self) -> _LineFollower:
        """Return an independent follower at the same node."""
        other = object.__new__(_LineFollower)
        other.__dict__.update(self.__dict__)
        other._board = self._board.copy()
        other._actions = self._actions.copy()
        return other

    def line(self) -> SgfLine:
        """Return the line followed so far."""
        return SgfLine(self._start, tuple(self._actions), self._place)

    def take(self, node: Any, number: int) -> None:
        """Apply a node of sgfmill: its set-up first, then its move.

        Raises:
          SgfError: the node is malformed, or impossible on the board.
        """
        self._place = ", ".join(part for part in (self._game, f"node {number}") if part)
        try:
            if node.has_setup_stones():
                self._set_up(node)
            if node.has_property("PL"):
                self._turn(_COLORS[node.get("PL")])
            color, move = node.get_move()
        except (ValueError, BoardError) as error:
            if isinstance(error, SgfError):
                raise
            raise self._refuse(_malformed(node, error)) from error
        if color is not None:
            self._check_single(node)
            self._move(_COLORS[color], move)

    def _set_up(self, node: Any) -> None:
        black, white, empty = node.get_setup_stones()
        if black & white or black & empty or white & empty:
            raise self._refuse("AB, AW and AE repeat a point")
        stones = self._board.stones()
        for points, stone in ((black, BLACK_STONE), (white, WHITE_STONE), (empty, EMPTY)):
            for row, column in points:
                stones[row, column] = stone
        self._board = Board.from_stones(stones)
        self._restart(self._to_move)

    def _turn(self, color: int) -> None:
        if color != self._to_move:
            self._restart(color)

    def _move(self, color: int, move: tuple[int, int] | None) -> None:
        self._turn(color)
        if color == WHITE and self._black_placed_handicap():
            self._restart(WHITE)
        if len(self._actions) >= MAX_MOVES:
            raise self._refuse(f"more than {MAX_MOVES} moves in one line")
        size = self._size
        action = size * size if move is None else move[0] * size + move[1]
        if move is not None and self._board.color_at(action) != EMPTY:
            raise self._refuse(f"the move at {vertex(action, size)} is on an occupied point")
        # Ko and suicide are not checked here: files of all rule sets are read, and the game that
        # replays them checks.
        self._board.play_unchecked(color, action)
        self._actions.append(action)
        self._to_move = 1 - color

    def _black_placed_handicap(self) -> bool:
        """Return whether Black's moves so far are the handicap, as old files write it."""
        placed = len(self._start.black) + 1
        alone = len(self._actions) == 1 and not self._start.white
        return alone and placed == self._handicap and self._handicap > 1

    def _restart(self, color: int) -> None:
        flat = self._board.stones().reshape(-1)
        black = tuple(np.flatnonzero(flat == BLACK_STONE).tolist())
        white = tuple(np.flatnonzero(flat == WHITE_STONE).tolist())
        # A set-up position has no ko and no prisoners.
        self._board = Board.from_stones(flat.reshape(self._size, self._size))
        self._start = Start(black, white, color)
        self._actions = []
        self._to_move = color

    def _check_single(self, node: Any) -> None:
        both = node.has_property("B") and node.has_property("W")
        name = "B" if node.has_property("B") else "W"
        if both or len(node.get_raw_list(name)) > 1:
            raise self._refuse("more than one move in a node")

    def _refuse(self, cause: str) -> SgfError:
        return SgfError(cause, source=self._source, place=self._place)


def _malformed(node: Any, error: Exception) -> str:
    """Return which property of a node is malformed."""
    if isinstance(error, BoardError):
        return str(error)
    for name in ("AB", "AW", "AE", "PL", "B", "W"):
        if node.has_property(name):
            try:
                node.get(name)
            except ValueError:
                return f"{name}[{shown(node.get_raw(name))}] is malformed or off the board"
    return f"is malformed: {error}"


MAX_LINES: Final = 10_000
"""Maximum number of variations of a game."""

_PRESET_NAMES: Final[Mapping[str, Preset]] = {
    "trompt": "tromp-taylor",
    "cgos": "tromp-taylor",
    "chinese": "chinese",
    "japanese": "japanese",
    "jp": "japanese",
    "aga": "aga",
}


def preset_named(rules: str) -> Preset | None:
    """Return the preset that a value of RU names, or None if the name is unknown."""
    word = "".join(c for c in rules.lower() if c.isalnum())
    return next((preset for name, preset in _PRESET_NAMES.items() if word.startswith(name)), None)


def read_file(path: Path) -> list[SgfGame]:
    """Return the games of an SGF file, at least one.

    Raises:
      SgfError: the file cannot be read, exceeds a limit of `miai_go.sgf.check` or is malformed.
    """
    return read_bytes(read_bytes_of(path), source=str(path))


def read_bytes(data: bytes, *, source: str = "SGF") -> list[SgfGame]:
    """Return the games of SGF data, at least one. `source` names it in errors.

    Raises:
      SgfError: the data exceeds a limit of `miai_go.sgf.check` or is malformed.
    """
    games = []
    for game in read_each(data, source=source):
        if isinstance(game, SgfError):
            raise game
        games.append(game)
    return games


def board_of(file: Path, *, moves: int = 0) -> NDArray[np.int8]:
    """Return the board after `moves` moves of the main line of a file's first game.

    Returns:
      int8 of shape (size, size), row 0 lowest, 0 empty, 1 black, 2 white.

    Raises:
      SgfError: the file cannot be read, or has fewer moves.
    """
    game = read_file(file)[0]
    line = game.main_line()
    if moves > len(line.actions):
        raise SgfError(
            f"has {len(line.actions)} moves, not {moves}; set --moves to fewer",
            source=str(file),
        )
    played = GoGame(GoParameters.model_validate(game.parameters(line, komi=0.5)))
    return game.replay(played, line, plies=moves).board.stones()


def read_each(data: bytes, *, source: str = "SGF") -> Iterator[SgfGame | SgfError]:
    """Yield the games of SGF data; for a game that cannot be read, yield the error.

    Raises:
      SgfError: the data as a whole exceeds a limit of `miai_go.sgf.check` or is malformed.
    """
    check(data, source=source)
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise SgfError(f"is not SGF: {error}", source=source) from error
    many = len(trees) > 1
    # Collections name the same charset in every game; the whole data is checked once for each.
    charsets: dict[bytes | None, str] = {}
    for number, tree in enumerate(trees, 1):
        named = tree.sequence[0].get("CA", [None])[0]
        try:
            if named not in charsets:
                charsets[named] = charset_of(data, named, source=source)
            yield _game(tree, charsets[named], source, f"game {number}" if many else "")
        except SgfError as error:
            yield error


def _game(tree: Any, charset: str, source: str, place: str) -> SgfGame:
    root = tree.sequence[0]
    kind = root.get("GM", [b"1"])[0].strip()
    if kind != b"1":
        raise SgfError(f"GM[{shown(kind)}] is not Go, which is GM[1]", source=source, place=place)
    size = root.get("SZ", [b"19"])[0].strip()
    if not (size.isdigit() and len(size) <= len("19") and 1 <= int(size) <= MAX_SIZE):
        raise SgfError(
            f"SZ[{shown(size)}] is not a board size from 1 to {MAX_SIZE}",
            source=source,
            place=place,
        )
    try:
        parsed = sgf.Sgf_game.from_coarse_game_tree(tree, override_encoding=charset)
    except (ValueError, LookupError) as error:
        raise SgfError(f"is not a game of Go: {error}", source=source, place=place) from error
    return SgfGame(parsed, source=source, place=place)


class SgfGame:
    """One game of an SGF file, with its variations.

    Attributes:
      source, place: the file, and the game in it.
      size: points on a side.
      komi: KM, points; None if it is missing.
      handicap: HA, stones; 0 if it is missing.
      rules: RU as written; empty if it is missing.
      black, white: PB and PW, the players' names.
      black_rank, white_rank: BR and WR as written.
      result: RE as written.

    Raises:
      SgfError: a property of the root is malformed.
    """

    def __init__(self, parsed: Any, *, source: str = "SGF", place: str = "") -> None:
        self._parsed = parsed
        self.source = source
        self.place = place
        self.size: int = parsed.get_size()
        self.komi = self._real("KM")
        self.handicap = self._handicap()
        self.rules = self._text("RU")
        self.black = self._text("PB")
        self.white = self._text("PW")
        self.black_rank = self._text("BR")
        self.white_rank = self._text("WR")
        self.result = self._text("RE")

    @property
    def root(self) -> Any:
        """The first node, a `Tree_node` of sgfmill."""
        return self._parsed.get_root()

    def main_line(self) -> SgfLine:
        """Return the main line: the first variation throughout.

        Raises:
          SgfError: a set-up or a move is impossible on the board.
        """
        return next(self._follow(first_only=True))

    def lines(self) -> Iterator[SgfLine]:
        """Yield every variation, from the root to its end, in the file's order.

        Raises:
          SgfError: a set-up or a move is impossible, or there are more than `MAX_LINES` variations.
        """
        for number, line in enumerate(self._follow(first_only=False)):
            if number == MAX_LINES:
                raise self.error(f"more than {MAX_LINES} variations")
            yield line

    def count_variations(self) -> int:
        """Return how many variations `lines` has, of which the main line is one."""
        count, pending = 1, [self.root]
        while pending:
            children = pending.pop()[:]
            count += max(0, len(children) - 1)
            pending += children
        return count

    def preset(self) -> Preset | None:
        """Return the preset that RU names, or None if the name is unknown."""
        return preset_named(self.rules)

    def parameters(self, line: SgfLine | None = None, **overrides: Any) -> dict[str, Any]:
        """Return parameters for ``load_game("go")`` of the game in which `line` was played.

        Set-up stones become a starting position, or a handicap if they are all Black's and HA gives
        their number.

        Args:
          line: by default the main line.
          overrides: parameters that replace those of the file.

        Raises:
          SgfError: the komi is out of range or not a multiple of 0.5.
        """
        line = line or self.main_line()
        values: dict[str, Any] = {"board_size": self.size, **_start_values(line.start, self)}
        if preset := self.preset():
            values["rules"] = preset
        if self.komi is not None and "komi" not in overrides:
            if abs(self.komi) > MAX_KOMI or self.komi % 0.5:
                raise self.error(
                    f"komi {self.komi:g} is not a multiple of 0.5 up to {MAX_KOMI:g}; set komi"
                )
            values["komi"] = self.komi
        return {**values, **overrides}

    def replay(self, game: GoGame, line: SgfLine, *, plies: int | None = None) -> GoState:
        """Return the state after a line, played by the rules of `game`.

        Args:
          plies: number of actions to play; by default all.

        Raises:
          SgfError: the sizes or starting positions differ, or a move is illegal.
        """
        if game.size != self.size:
            raise self.error(f"is a {self.size}x{self.size} game, but board_size is {game.size}")
        if line.start != game.start:
            raise self.error(
                "the file and the game start from different positions; set black_stones, "
                "white_stones, handicap and first_player of the game to the file's",
                line.place,
            )
        state = game.new_initial_state()
        for ply, action in enumerate(line.actions[:plies], 1):
            try:
                state.apply_action(action)
            except GameError as error:
                reason = str(error).partition("\n")[0]
                raise self.error(
                    f"move {ply}, {vertex(action, self.size)}: {reason}", line.place
                ) from error
        return state

    def error(self, cause: str, place: str | None = None) -> SgfError:
        """Return an error that names the file, and a place in it: by default the game."""
        return SgfError(cause, source=self.source, place=self.place if place is None else place)

    def _follow(self, *, first_only: bool) -> Iterator[SgfLine]:
        """Yield the lines depth first, copying the position only where the game branches."""
        follower = _LineFollower(self.size, self.source, self.place, handicap=self.handicap)
        pending = [(self._parsed.get_root(), follower)]
        number = 0
        while pending:
            node, follower = pending.pop()
            number += 1
            follower.take(node, number)
            children = node[:1] if first_only else node[:]
            if not children:
                yield follower.line()
            for child in reversed(children[1:]):
                pending.append((child, follower.copy()))
            if children:
                pending.append((children[0], follower))

    def _text(self, name: str) -> str:
        text = self._value(name)
        return text if isinstance(text, str) else ""

    def _real(self, name: str) -> float | None:
        value = self._value(name)
        return float(value) if isinstance(value, float) else None

    def _handicap(self) -> int:
        value = self._value("HA")
        if value is None:
            return 0
        if not isinstance(value, int) or not 0 <= value < self.size * self.size:
            raise self.error(f"HA[{value}] is not a handicap of a {self.size}x{self.size} board")
        return value

    def _value(self, name: str) -> Any:
        root = self._parsed.get_root()
        if not root.has_property(name):
            return None
        try:
            return root.get(name)
        except ValueError as error:
            raise self.error(f"{name}[{shown(root.get_raw(name))}] is malformed") from error


def _start_values(start: Start, game: SgfGame) -> dict[str, Any]:
    values: dict[str, Any] = {}
    black = [vertex(point, game.size) for point in start.black]
    if game.handicap and len(black) == game.handicap and not start.white:
        values["handicap_points"] = black
    elif black:
        values["black_stones"] = black
    if start.white:
        values["white_stones"] = [vertex(point, game.size) for point in start.white]
    expected = WHITE if "handicap_points" in values else BLACK
    if start.to_move != expected:
        values["first_player"] = "white" if start.to_move == WHITE else "black"
    return values


class SgfOpenings:
    """Reads openings from SGF: one per game of the file, or one per variation.

    Set-up stones must match the starting position of the game, which its parameters
    `black_stones`, `white_stones`, `handicap` and `first_player` define.
    """

    def __init__(self, game: GoGame, parameters: SgfOpeningParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or SgfOpeningParameters()

    def read(self, path: Path) -> list[Opening]:
        """Return the distinct openings of a file, in the file's order.

        Raises:
          SgfError: the file is malformed, or a line is illegal or ends the game.
          ConfigError: the file does not exist.
        """
        check_file(path)
        lines = (
            self._opening(game, line)
            for game in read_file(path)
            for line in (game.lines() if self.parameters.variations else [game.main_line()])
        )
        return [Opening(actions) for actions in dict.fromkeys(lines)]

    def _opening(self, game: SgfGame, line: SgfLine) -> tuple[int, ...]:
        state = game.replay(self.game, line, plies=self.parameters.plies)
        if state.is_terminal():
            raise game.error("the opening ends the game; shorten it, or set plies", line.place)
        if not state.history():
            raise game.error(
                "contains no moves; remove the file to play from the start of the game", line.place
            )
        return tuple(state.history())
