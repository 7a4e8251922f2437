"""Reading SGF: games, set-up positions, variations, and the opening reader ``sgf``.

Every reader of SGF is this one. A fault costs the smallest part that it can, a property before a
game and a game before a file, and is kept as a warning. What cannot be read at all raises
`SgfError`, which names the file, the place and the cause.

>>> game = read_bytes(b"(;GM[1]SZ[9]KM[7];B[ee];W[ce](;B[eg])(;B[gc]))")[0]
>>> [line.actions for line in game.lines()]
[(40, 38, 22), (40, 38, 60)]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sgfmill import sgf

from miai.errors import GameError
from miai.game import State
from miai.playing.openings import Opening, check_file
from miai_go.rules.board import BLACK, BLACK_STONE, EMPTY, WHITE, WHITE_STONE, Board, BoardError
from miai_go.rules.coordinates import MAX_SIZE, vertex
from miai_go.rules.game import GoGame, GoState, Start, why_illegal
from miai_go.rules.game_parameters import (
    MAX_KOMI,
    MAX_MOVES,
    GoParameters,
    SgfOpeningParameters,
    default_max_moves,
)
from miai_go.sgf.check import MAX_FILE_BYTES, SgfError, shown
from miai_go.sgf.decoding import decode
from miai_go.sgf.grammar import parse
from miai_go.sgf.results import StatedResult, result_of
from miai_go.sgf.rule_sets import rule_set_named
from miai_go.sgf.sources import read_bytes_of

_COLORS: Final = {
    **dict.fromkeys((b"b", b"black", b"1"), BLACK),
    **dict.fromkeys((b"w", b"white", b"2"), WHITE),
}


@dataclass(frozen=True, slots=True)
class SgfLine:
    """A line of play: a starting position and alternating moves.

    In the middle of a game SGF may set up stones, let one player move twice or break the rules;
    actions cannot. The line then starts after that, and `start` is the position reached.

    Attributes:
      start: the starting position.
      actions: the moves from there, players alternating.
      place: the node where the line ends, for errors.
      nodes: its nodes of sgfmill, each with the number of actions up to it.
      begin: number of nodes up to where it starts.
      faults: what in the file is wrong and makes the line another than it was meant to be.
    """

    start: Start
    actions: tuple[int, ...]
    place: str
    nodes: tuple[tuple[Any, int], ...]
    begin: int
    faults: tuple[str, ...]


def player_of(node: Any) -> int | None:
    """Return the player whom PL of a node of sgfmill names; None if it names none."""
    return _COLORS.get(node.get_raw("PL").strip().lower())


class _LineFollower:
    """Follows a line of a game from node to node; with a handicap, White moves first."""

    def __init__(self, game: SgfGame) -> None:
        self._game = game
        self._size = game.size
        self._place = game.place
        self._board = Board(game.size)
        self._to_move = WHITE if game.handicap > 1 else BLACK
        self._start = Start((), (), self._to_move)
        self._actions: list[int] = []
        self._nodes: list[tuple[Any, int]] = []
        self._begin = 1
        self._left_out = False  # the last move
        self._faults: tuple[str, ...] = ()

    def copy(self) -> _LineFollower:
        """Return an independent follower at the same node."""
        other = object.__new__(_LineFollower)
        other.__dict__.update(self.__dict__)
        other._board = self._board.copy()
        other._actions = self._actions.copy()
        other._nodes = self._nodes.copy()
        return other

    def line(self) -> SgfLine:
        """Return the line followed so far."""
        return SgfLine(
            self._start,
            tuple(self._actions),
            self._place,
            tuple(self._nodes),
            self._begin,
            self._faults,
        )

    def take(self, node: Any, number: int) -> bool:
        """Apply a node of sgfmill: its set-up first, then its moves.

        Returns whether the line goes on: not behind a move that is off the board.

        Raises:
          SgfError: the node has stones of both players on a point, or one move too many.
        """
        self._place = ", ".join(part for part in (self._game.place, f"node {number}") if part)
        if node.has_setup_stones():
            self._set_up(node)
        moves = [name for name in node.properties() if name in ("B", "W")]
        if node.has_property("PL") and not moves:  # a move says itself whose it is
            color = player_of(node)
            if color is None:
                self._game.warn(f"{self._place}: PL[{shown(node.get_raw('PL'))}] is not a player")
            else:
                self._turn(color)
        if len(moves) > 1:
            self._say("has moves of both players")
        goes_on = all(self._move(_COLORS[name.lower().encode()], node, name) for name in moves)
        self._nodes.append((node, len(self._actions)))
        return goes_on

    def _say(self, cause: str) -> None:
        if len(self._faults) < _MAX_WARNINGS:
            self._faults += (f"{self._place}: {cause}",)
        self._game.warn(f"{self._place}: {cause}")

    def _points(self, node: Any, name: str) -> set[tuple[int, int]]:
        """Return the points of a property; none, with a warning, if it is malformed."""
        if not node.has_property(name):
            return set()
        try:
            return set(self._value(node, name))
        except ValueError:
            self._say(f"{name}[{shown(node.get_raw(name))}] is malformed or off the board")
            return set()

    def _value(self, node: Any, name: str) -> Any:
        """Return the value of a property of points, in small letters if in no other."""
        given = node.get_raw_list(name)
        node.set_raw_list(name, [value.strip() for value in given])
        try:
            return node.get(name)
        except ValueError:
            node.set_raw_list(name, [value.strip().lower() for value in given])
        try:
            value = node.get(name)
        except ValueError:
            node.set_raw_list(name, given)
            raise
        self._game.warn(f"{self._place}: {name} is written in capital letters")
        return value

    def _set_up(self, node: Any) -> None:
        stones, before = self._board.stones(), self._board.stones()
        taken: set[tuple[int, int]] = set()
        for name, stone in (("AB", BLACK_STONE), ("AW", WHITE_STONE), ("AE", EMPTY)):
            points = self._points(node, name)
            if points & taken:
                if not self._nodes:  # what lies there decides everything that follows
                    raise self._game.error("AB, AW and AE repeat a point", self._place)
                self._say("AB, AW and AE repeat a point; its set-up is left out")
                return
            for row, column in points:
                stones[row, column] = stone
            taken |= points
        if (stones == before).all():
            return
        try:
            self._board = Board.from_stones(stones)
        except BoardError as error:
            self._say(f"its set-up is left out: {error}")
            return
        self._restart(self._to_move)

    def _turn(self, color: int) -> None:
        if color != self._to_move and self._left_out:
            self._play(self._size**2)
        elif color != self._to_move:
            self._restart(color)

    def _move(self, color: int, node: Any, name: str) -> bool:
        """Play the move of a node; return whether it is on the board."""
        if len(node.get_raw_list(name)) > 1:
            self._say(f"has several moves {name}, of which the first is played")
            node.set_raw(name, node.get_raw(name))
        move, size = self._point(node, name), self._size
        if move is _NOWHERE:
            return False
        self._turn(color)
        if color == WHITE and self._black_placed_handicap():
            self._restart(WHITE)
        if len(self._actions) >= MAX_MOVES - 1:
            raise self._game.error(f"more than {MAX_MOVES - 1} moves in one line", self._place)
        action = size * size if move is None else move[0] * size + move[1]
        # Ko and suicide are not checked: files of all rule sets are read.
        self._board.forget_ko()
        if move is None or self._board.is_legal(color, action, suicide=True):
            self._play(action)
        elif node.has_property("KO"):
            self._force(color, action)
        else:
            self._say(f"the move at {vertex(action, size)} is on a stone, and left out")
            self._left_out = True
        return True

    def _play(self, action: int) -> None:
        self._board.play_unchecked(self._to_move, action)
        self._actions.append(action)
        self._to_move = 1 - self._to_move
        self._left_out = False

    def _point(self, node: Any, name: str) -> Any:
        """Return the point of a move, None for a pass, `_NOWHERE` with a warning if it has none."""
        try:
            return self._value(node, name)
        except ValueError:
            raw = shown(node.get_raw(name))
        self._say(f"the line ends before {name}[{raw}], which is malformed or off the board")
        return _NOWHERE

    def _force(self, color: int, action: int) -> None:
        """Place a stone on another; the line starts behind it."""
        stones = self._board.stones()
        stones.ravel()[action] = EMPTY
        try:
            board = Board.from_stones(stones)
            board.play_unchecked(color, action)
        except BoardError:
            return  # the move changes nothing that can be played on
        self._board = board
        self._restart(1 - color)

    def _black_placed_handicap(self) -> bool:
        """Return whether Black's moves so far are the handicap, as old files write it."""
        placed, handicap = len(self._start.black) + 1, self._game.handicap
        alone = len(self._actions) == 1 and not self._start.white
        return alone and placed == handicap and handicap > 1

    def _restart(self, color: int) -> None:
        if self._actions:
            self._game.warn(
                f"{self._place}: the line begins here, behind {len(self._actions)} moves"
            )
        flat = self._board.stones().ravel()
        black = tuple(np.flatnonzero(flat == BLACK_STONE).tolist())
        white = tuple(np.flatnonzero(flat == WHITE_STONE).tolist())
        # A set-up position has no ko and no prisoners.
        self._board = Board.from_stones(flat.reshape(self._size, self._size))
        self._start = Start(black, white, color)
        self._actions, self._begin = [], len(self._nodes) + 1
        self._to_move = color


_NOWHERE: Final = object()
MAX_LINES: Final = 10_000
"""Maximum number of variations of a game."""


def read_file(path: Path) -> list[SgfGame]:
    """Return the games of an SGF file, at least one.

    Raises:
      SgfError: the file cannot be read, exceeds a limit of `miai_go.sgf.check` or has no game.
    """
    return read_bytes(read_bytes_of(path), source=str(path))


def read_bytes(data: bytes, *, source: str = "SGF") -> list[SgfGame]:
    """Return the games of SGF data, at least one. `source` names it in errors.

    Games that cannot be read, such as those of backgammon, are a warning of the others.

    Raises:
      SgfError: the data exceeds a limit of `miai_go.sgf.check` or has no game that can be read.
    """
    games: list[SgfGame] = []
    refused: list[SgfError] = []
    for game in read_each(data, source=source):
        (refused if isinstance(game, SgfError) else games).append(game)  # type: ignore[arg-type]
    if not games:
        raise refused[0]
    for error in refused:
        games[0].warn(str(error).removeprefix(f"{source}: "))
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
            f"has {len(line.actions)} moves, not {moves}; set --moves to fewer", source=str(file)
        )
    return game.replay(game.playable(line), line, plies=moves).board.stones()


def read_each(data: bytes, *, source: str) -> Iterator[SgfGame | SgfError]:
    """Yield the games of SGF data; for a game that cannot be read, yield the error.

    Raises:
      SgfError: the data as a whole exceeds a limit of `miai_go.sgf.check` or has no game.
    """
    if len(data) > MAX_FILE_BYTES:
        raise SgfError(f"larger than {MAX_FILE_BYTES} bytes; split the file", source=source)
    text, charsets = decode(data, source=source)
    trees = list(parse(text, source=source))
    charsets.reverse()
    for number, (tree, said, end) in enumerate(trees, 1):
        place = f"game {number}" if len(trees) > 1 else ""
        warnings: dict[str, None] = {}
        while charsets and charsets[-1][0] < end:
            warnings[charsets.pop()[1]] = None
        try:
            yield _game(tree, (*warnings, *said), source, place)
        except SgfError as error:
            yield error


_SIZE: Final = re.compile(rb"([0-9]{1,3})(?:\s*[:xX]\s*([0-9]{1,3}))?")


def _game(tree: Any, warnings: tuple[str, ...], source: str, place: str) -> SgfGame:
    root = tree.sequence[0]
    kind = root.get("GM", [b"1"])[0].strip() or b"1"
    if kind.lstrip(b"0") != b"1":
        raise SgfError(f"GM[{shown(kind)}] is not Go, which is GM[1]", source=source, place=place)
    said = root.get("SZ", [b"19"])[0].strip()
    sides = _SIZE.fullmatch(said or b"19")
    size = 0 if sides is None else int(sides[1])
    if not 1 <= size <= MAX_SIZE or (sides and int(sides[2] or size) != size):
        raise SgfError(
            f"SZ[{shown(said)}] is not a board size from 1 to {MAX_SIZE}",
            source=source,
            place=place,
        )
    twice, root["SZ"] = len(root.get("SZ", [])) > 1, [str(size).encode()]
    try:
        parsed = sgf.Sgf_game.from_coarse_game_tree(tree, override_encoding="utf-8")
    except (ValueError, LookupError) as error:
        raise SgfError(f"is not a game of Go: {error}", source=source, place=place) from error
    game = SgfGame(parsed, source=source, place=place)
    warnings += ("SZ is given twice, of which the first is read",) * twice
    for warning in (*warnings, *(("SZ[] is empty; it is read as 19",) if not said else ())):
        game.warn(warning)
    return game


def text_of(node: Any, name: str) -> str:
    """Return the first value of a text property, of C all; empty if it has none."""
    if not node.has_property(name):
        return ""
    values = node.get_raw_list(name)
    node.set_raw(name, b"\n\n".join(values) if name == "C" else values[0])
    text = node.get(name)
    return text if isinstance(text, str) else ""


_KOMI: Final = re.compile(r"([-+]?[0-9]{1,4})?(?:[.,]([0-9]*))?\s*([^0-9]*)")
_HANDICAP: Final = re.compile(r"([0-9]{1,3})\b.*", re.DOTALL)
_MAX_WARNINGS: Final = 100


class SgfGame:
    """One game of an SGF file, with its variations.

    Attributes:
      parsed: the `Sgf_game` of sgfmill.
      source, place: the file, and the game in it.
      size: points on a side.
      komi: KM, points; None if it is missing or no number.
      handicap: HA, stones; 0 if it is missing or no number.
      rules: RU as written; empty if it is missing.
      black, white: PB and PW, the players' names.
      black_rank, white_rank: BR and WR as written.
      result: RE as written.
    """

    def __init__(self, parsed: Any, *, source: str = "SGF", place: str = "") -> None:
        self.parsed = parsed
        self._warnings: dict[str, None] = {}
        self.source = source
        self.place = place
        self.size: int = parsed.get_size()
        self.komi = self._komi()
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
        return self.parsed.get_root()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was wrong so far, and what was made of it."""
        return tuple(self._warnings)

    @property
    def length(self) -> int:
        """Number of nodes of the main line."""
        return sum(1 for _ in self.parsed.main_sequence_iter())

    def warn(self, cause: str) -> None:
        """Add a warning."""
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings[cause] = None

    def main_line(self) -> SgfLine:
        """Return the main line: the first variation throughout.

        Raises:
          SgfError: the line is too long.
        """
        return next(self._follow(first_only=True))

    def lines(self) -> Iterator[SgfLine]:
        """Yield every variation, from the root to its end, in the file's order.

        Raises:
          SgfError: a line is too long, or there are more than `MAX_LINES` variations.
        """
        for number, line in enumerate(self._follow(first_only=False)):
            if number == MAX_LINES:
                raise self.error(f"more than {MAX_LINES} variations")
            yield line

    def move_of(self, node: Any, state: State) -> tuple[int, ...]:
        """Return the move of a node, if any. Raises `ValueError` if it cannot follow `state`."""
        names = [name for name in ("B", "W", "AB", "AW", "AE") if node.has_property(name)]
        if not names:
            return ()
        written = "".join(f"{name}[{shown(node.get_raw(name))}]" for name in names)
        if names not in (["B"], ["W"]):
            raise ValueError(f"{written} sets up stones, or is not one move")
        try:
            point = node.get(names[0])
        except ValueError:
            raise ValueError(f"{written} is malformed or off the board") from None
        if state.current_player() != "BW".index(names[0]):
            raise ValueError(f"{written} is not the move of the player whose turn it is")
        action = self.size**2 if point is None else point[0] * self.size + point[1]
        assert isinstance(state, GoState)
        if not state.is_legal(action):
            raise ValueError(f"{vertex(action, self.size)} {why_illegal(state, action)}")
        return (action,)

    def stated_result(self) -> StatedResult | None:
        """Return the result that RE states; None if it states none that can be read."""
        return result_of(self.result)

    def parameters(self, line: SgfLine | None = None, **overrides: Any) -> dict[str, Any]:
        """Return parameters for ``load_game("go")`` of the game in which `line` was played.

        Set-up stones become a starting position, or a handicap if they are all Black's and HA gives
        their number.

        Args:
          line: by default the main line.
          overrides: parameters that replace those of the file.
        """
        line = line or self.main_line()
        values: dict[str, Any] = {"board_size": self.size, **_start_values(line.start, self)}
        if known := rule_set_named(self.rules):
            values |= known.parameters()
            if known.lacks:
                self.warn(f"RU[{known.name}]: the rules here lack {known.lacks}")
        elif self.rules:
            self.warn(f"RU[{self.rules[:40]}] is unknown here; the rules are those of {_UNSAID}")
        if self.komi is not None:
            values["komi"] = self.komi
        return {**values, **overrides}

    def playable(self, line: SgfLine | None = None, **overrides: Any) -> GoGame:
        """Return the game of `playable_parameters`."""
        values = self.playable_parameters(line, **overrides)
        return GoGame(GoParameters.model_validate(values))

    def playable_parameters(self, line: SgfLine | None, **overrides: Any) -> dict[str, Any]:
        """Return the `parameters` of a game in which the whole line can be played.

        Where the rules forbid a move or are over before the last, they are relaxed, with a
        warning: play went on under others, or by agreement.

        Raises:
          SgfError: no rules allow the line.
        """
        line = line or self.main_line()
        values = self.parameters(line, **overrides)
        no_point = self.size**2
        runs = [len(list(run)) for action, run in groupby(line.actions) if action == no_point]
        if line.actions and line.actions[-1] == no_point:
            runs[-1] -= 1  # the last one may end the game
        if (most := max(runs, default=0)) > 1:
            self.warn(f"play goes on after {most} passes")
            values["passes"] = max(most + 1, overrides.get("passes", 0))
        if len(line.actions) >= default_max_moves(self.size):
            values["max_moves"] = len(line.actions) + 1
        for said, relaxed in _RELAXED:
            game = GoGame(GoParameters.model_validate({**values, **relaxed}))
            try:
                self.replay(game, line)
            except SgfError as error:
                refused = error
            else:
                if said:
                    self.warn(said)
                return {**values, **relaxed}
        raise refused

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
        follower = _LineFollower(self)
        pending = [(self.parsed.get_root(), follower)]
        number = 0
        while pending:
            node, follower = pending.pop()
            number += 1
            goes_on = follower.take(node, number)
            children = [] if not goes_on else node[:1] if first_only else node[:]
            if not children:
                yield follower.line()
            for child in reversed(children[1:]):
                pending.append((child, follower.copy()))
            if children:
                pending.append((children[0], follower))

    def _text(self, name: str) -> str:
        if self.root.has_property(name) and len(self.root.get_raw_list(name)) > 1:
            self.warn(f"{name} is given twice, of which the first is read")
        return text_of(self.root, name)

    def _number(self, name: str) -> str | None:
        """Return the text of a property that should be a number; None if it has none."""
        root = self.root
        if not root.has_property(name):
            return None
        if len(root.get_raw_list(name)) > 1:
            self.warn(f"{name} is given twice, of which the first is read")
        text: str = root.get_raw(name).decode("utf-8", "replace").strip()
        if not text:
            self.warn(f"{name}[] is empty")
        return text or None

    def _komi(self) -> float | None:
        """Return KM in points, also where servers write it in zi, or in hundredths."""
        text = self._number("KM")
        if text is None:
            return None
        said = unicodedata.normalize("NFKC", text.replace("½", "半"))
        found = _KOMI.fullmatch(said)
        if found is None or not (found[1] or found[2]):
            if self.place:  # the other games of a collection are better without it
                raise self.error(f"KM[{text[:40]}] is not a number")
            self.warn(f"KM[{text[:40]}] is not a number, and left out")
            return None
        komi, unit = float(f"{found[1] or 0}.{found[2] or 0}"), found[3]
        komi += 0.5 * any(half in unit for half in "半반")
        if abs(komi) >= 100 and not (found[2] or "").strip("0"):  # Fox
            komi /= 100
        if (komi % 0.5 == 0.25 and abs(komi) < 5) or unit.lower().startswith(("zi", "子")):
            komi *= 2
        if abs(komi) > MAX_KOMI or komi % 0.5:
            self.warn(f"KM[{text[:40]}] is not a multiple of 0.5 up to {MAX_KOMI:g}, and left out")
            return None
        if unit or (found[2] and "," in text) or abs(komi) != abs(float(said)):
            self.warn(f"KM[{text[:40]}] is read as {komi:g}")
        return komi

    def _handicap(self) -> int:
        text = self._number("HA")
        found = text and _HANDICAP.fullmatch(text)
        if found and int(found[1]) < self.size**2:
            return int(found[1])
        if text:
            self.warn(f"HA[{text[:40]}] is not a handicap of a {self.size}x{self.size} board")
        return 0


_UNSAID: Final = "Tromp and Taylor"
_RELAXED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("", {}),
    ("a position is repeated, which its rules forbid or which ends the game", {"ko": "none"}),
    ("a move is suicide, which its rules forbid", {"suicide": True}),
    (
        "positions are repeated and a move is suicide, which its rules forbid",
        {"ko": "none", "suicide": True},
    ),
)


def _start_values(start: Start, game: SgfGame) -> dict[str, Any]:
    values: dict[str, Any] = {}
    black = [vertex(point, game.size) for point in start.black]
    if game.handicap and len(black) == game.handicap and not start.white:
        values["handicap_points"] = black
    elif black:
        values["black_stones"] = black
    elif game.handicap > 1:
        game.warn(f"HA[{game.handicap}] is without stones, and none are placed")
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
        if line.faults:
            raise game.error(f"{line.faults[0]}; mend the file", "")
        state = game.replay(self.game, line, plies=self.parameters.plies)
        if state.is_terminal():
            raise game.error("the opening ends the game; shorten it, or set plies", line.place)
        if not state.history():
            raise game.error(
                "contains no moves; remove the file to play from the start of the game", line.place
            )
        return tuple(state.history())
