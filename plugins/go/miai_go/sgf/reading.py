"""Reading SGF: games, set-up positions and their variations.

Files are checked against stated limits before sgfmill parses them; see `miai_go.sgf.check`. What
cannot be read or played is refused with `SgfError`, which names the file, the place and the cause.

>>> game = read_bytes(b"(;GM[1]SZ[9]KM[7];B[ee];W[ce](;B[eg])(;B[gc]))")[0]
>>> [line.actions for line in game.lines()]
[(40, 38, 22), (40, 38, 60)]

Following one line of an SGF game: set-up and moves on a board.

Openings from SGF files: the opening reader ``sgf`` of Go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sgfmill import sgf, sgf_grammar

from miai.errors import GameError
from miai.playing.openings import Opening, check_file
from miai_go.rules.board import BLACK, BLACK_STONE, EMPTY, WHITE, WHITE_STONE, Board, BoardError
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import MAX_KOMI, MAX_MOVES, MAX_SIZE, SgfOpeningParameters
from miai_go.rules.phases import Start
from miai_go.rules.rule_sets import Preset
from miai_go.rules.state import GoState
from miai_go.sgf.check import SgfError, charset_of, check, read_bytes_of

_COLORS: Final = {"b": BLACK, "w": WHITE}


@dataclass(frozen=True, slots=True)
class SgfLine:
    """A line of play.

    SGF may put stones on the board, or let one player move twice, in the midst of a game; actions
    of Go cannot. Then the line starts after it, and `start` is the position reached there.

    Attributes:
      start: where the line starts.
      actions: the moves after it, the players in turn.
      place: the node where the line ends, for errors.
    """

    start: Start
    actions: tuple[int, ...]
    place: str


class Follower:
    """Follows a line from node to node.

    Args:
      handicap: of the game: then White is expected to move first.
    """

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

    def copy(self) -> Follower:
        """Return an independent follower at the same node."""
        other = object.__new__(Follower)
        other.__dict__.update(self.__dict__)
        other._board = self._board.copy()
        other._actions = self._actions.copy()
        return other

    def line(self) -> SgfLine:
        """Return the line followed so far."""
        return SgfLine(self._start, tuple(self._actions), self._place)

    def take(self, node: Any, number: int) -> None:
        """Take in a node of sgfmill's: its set-up first, then its move.

        Raises:
          SgfError: the node is malformed, or no board allows what it does.
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
            raise self._refuse("AB, AW and AE name one point twice")
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
        if color == WHITE and self._handicap_was_moved():
            self._restart(WHITE)
        if len(self._actions) >= MAX_MOVES:
            raise self._refuse(f"more than {MAX_MOVES} moves in one line")
        size = self._size
        action = size * size if move is None else move[0] * size + move[1]
        if move is not None and self._board.color_at(action) != EMPTY:
            raise self._refuse(f"a move at {vertex(action, size)}, which is occupied")
        self._board.play_unchecked(color, action)
        self._actions.append(action)
        self._to_move = 1 - color

    def _handicap_was_moved(self) -> bool:
        """Return whether Black's moves so far were just the handicap, as old files write it."""
        placed = len(self._start.black) + 1
        alone = len(self._actions) == 1 and not self._start.white
        return alone and placed == self._handicap and self._handicap > 1

    def _restart(self, color: int) -> None:
        flat = self._board.stones().reshape(-1)
        black = tuple(np.flatnonzero(flat == BLACK_STONE).tolist())
        white = tuple(np.flatnonzero(flat == WHITE_STONE).tolist())
        # Stones by hand forget ko and prisoners: those belong to what was played before.
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
    """Return which of the properties that are read here is malformed."""
    if isinstance(error, BoardError):
        return str(error)
    for name in ("AB", "AW", "AE", "PL", "B", "W"):
        if node.has_property(name):
            try:
                node.get(name)
            except ValueError:
                shown = node.get_raw(name)[:40].decode("ascii", "replace")
                return f"{name}[{shown}] is malformed, or off the board"
    return f"is malformed: {error}"


MAX_LINES: Final = 10_000
"""Most variations of one game that are followed to their end."""

_PRESET_NAMES: Final[Mapping[str, Preset]] = {
    "trompt": "tromp-taylor",
    "cgos": "tromp-taylor",
    "chinese": "chinese",
    "japanese": "japanese",
    "jp": "japanese",
    "aga": "aga",
}


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


def read_each(data: bytes, *, source: str = "SGF") -> Iterator[SgfGame | SgfError]:
    """Yield the games of SGF data, or instead of a game why it cannot be read.

    Raises:
      SgfError: the data as a whole exceeds a limit of `miai_go.sgf.check` or is malformed.
    """
    check(data, source=source)
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise SgfError(f"is no SGF: {error}", source=source) from error
    many = len(trees) > 1
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
        raise SgfError(f"GM[{_shown(kind)}] is not Go, which is GM[1]", source=source, place=place)
    size = root.get("SZ", [b"19"])[0].strip()
    if not (size.isdigit() and len(size) <= len("19") and 1 <= int(size) <= MAX_SIZE):
        raise SgfError(
            f"SZ[{_shown(size)}] is no board size of 1 to {MAX_SIZE}", source=source, place=place
        )
    try:
        parsed = sgf.Sgf_game.from_coarse_game_tree(tree, override_encoding=charset)
    except (ValueError, LookupError) as error:
        raise SgfError(f"is no SGF of Go: {error}", source=source, place=place) from error
    return SgfGame(parsed, source=source, place=place)


class SgfGame:
    """One game of an SGF file, with its variations.

    Attributes:
      source, place: the file, and which game of it.
      size: points on a side.
      komi: KM, points; None where it is missing.
      handicap: HA, stones; 0 where it is missing.
      rules: RU as written; empty where it is missing.
      black, white: PB and PW, the players' names.
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
        self.result = self._text("RE")

    @property
    def root(self) -> Any:
        """The first node, sgfmill's `Tree_node`: its properties and its children."""
        return self._parsed.get_root()

    def main_line(self) -> SgfLine:
        """Return the first variation throughout, as far as it goes.

        Raises:
          SgfError: a set-up or a move that no board allows.
        """
        return next(self._follow(first_only=True))

    def lines(self) -> Iterator[SgfLine]:
        """Yield every variation, from the root to its end, in the file's order.

        Raises:
          SgfError: a set-up or a move that no board allows, or more than `MAX_LINES` variations.
        """
        for number, line in enumerate(self._follow(first_only=False)):
            if number == MAX_LINES:
                raise SgfError(
                    f"more than {MAX_LINES} variations", source=self.source, place=self.place
                )
            yield line

    def preset(self) -> Preset | None:
        """Return the preset that RU names, or None for no name that is known here."""
        word = "".join(c for c in self.rules.lower() if c.isalnum())
        found = (preset for name, preset in _PRESET_NAMES.items() if word.startswith(name))
        return next(found, None)

    def parameters(self, line: SgfLine | None = None, **overrides: Any) -> dict[str, Any]:
        """Return the parameters of the game that `line` was played in, for ``load_game("go")``.

        Set-up is written out as stones; the handicap is kept where Black's stones are just it.

        Args:
          line: by default the main line.
          overrides: parameters that win over those of the file.

        Raises:
          SgfError: the komi is out of range or no multiple of 0.5.
        """
        line = line or self.main_line()
        values: dict[str, Any] = {"board_size": self.size, **_start_values(line.start, self)}
        if preset := self.preset():
            values["rules"] = preset
        if self.komi is not None and "komi" not in overrides:
            if abs(self.komi) > MAX_KOMI or self.komi % 0.5:
                raise SgfError(
                    f"komi {self.komi:g} is no multiple of 0.5 within {MAX_KOMI:g}; give komi",
                    source=self.source,
                    place=self.place,
                )
            values["komi"] = self.komi
        return {**values, **overrides}

    def replay(self, game: GoGame, line: SgfLine, *, plies: int | None = None) -> GoState:
        """Return the state after a line, played by the rules of `game`.

        Args:
          plies: how many of its actions are played; None for all.

        Raises:
          SgfError: the sizes or starting positions differ, or a move is illegal by the rules.
        """
        if game.size != self.size:
            raise SgfError(
                f"a {self.size}x{self.size} game, but board_size is {game.size}",
                source=self.source,
                place=self.place,
            )
        if line.start != game.start:
            raise SgfError(
                "starts from another position than the game: set black_stones, white_stones, "
                "handicap and first_player of the game to the file's",
                source=self.source,
                place=line.place,
            )
        state = game.new_initial_state()
        for ply, action in enumerate(line.actions[:plies], 1):
            try:
                state.apply_action(action)
            except GameError as error:
                reason = str(error).partition("\n")[0]
                raise SgfError(
                    f"move {ply}, {vertex(action, self.size)}: {reason}",
                    source=self.source,
                    place=line.place,
                ) from error
        return state

    def _follow(self, *, first_only: bool) -> Iterator[SgfLine]:
        """Yield the lines depth first; a position is copied only where the game branches."""
        follower = Follower(self.size, self.source, self.place, handicap=self.handicap)
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
            raise SgfError(
                f"HA[{value}] is no handicap of a {self.size}x{self.size} board",
                source=self.source,
                place=self.place,
            )
        return value

    def _value(self, name: str) -> Any:
        root = self._parsed.get_root()
        if not root.has_property(name):
            return None
        try:
            return root.get(name)
        except ValueError as error:
            shown = _shown(root.get_raw(name))
            raise SgfError(
                f"{name}[{shown}] is malformed", source=self.source, place=self.place
            ) from error


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


def _shown(raw: bytes) -> str:
    return raw[:40].decode("ascii", "replace")


class SgfOpenings:
    """Reads openings from SGF: one for each game of the file, or one for each variation.

    Set-up stones are no actions: they must be the starting position of the game itself, which its
    parameters `black_stones`, `white_stones`, `handicap` and `first_player` give.
    """

    def __init__(self, game: GoGame, parameters: SgfOpeningParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or SgfOpeningParameters()

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file, each once, in the file's order.

        Raises:
          SgfError: the file is malformed, or a line is not legal in the game or ends it.
          ConfigError: there is no such file.
        """
        check_file(path)
        openings: list[Opening] = []
        known: set[tuple[int, ...]] = set()
        for game in read_file(path):
            for line in game.lines() if self.parameters.variations else [game.main_line()]:
                actions = self._opening(game, line)
                if actions not in known:
                    known.add(actions)
                    openings.append(Opening(actions))
        return openings

    def _opening(self, game: SgfGame, line: SgfLine) -> tuple[int, ...]:
        state = game.replay(self.game, line, plies=self.parameters.plies)
        if state.is_terminal():
            raise SgfError(
                "the opening ends the game; leave something to play, or set plies",
                source=game.source,
                place=line.place,
            )
        if not state.history():
            raise SgfError(
                "holds no moves, so it is no opening; leave the file out for games from the start",
                source=game.source,
                place=line.place,
            )
        return tuple(state.history())
