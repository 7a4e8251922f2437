"""Problems of life and death, their SGF files, and the collection that ships with miai-go.

In SGF, `AB` and `AW` are the stones, the whole wall included; `MA` marks stones of one block, the
target; `PL` is the side that should succeed; the variations at the root begin with the moves that
solve it. Generated problems also have `TS[1|0]`, whether the target is safe, `DS[1|0]`, whether the
defender moves first, `AS[n]`, the number of empty points in the zone, and `TR` on the best move.

A collection is one file with several games, or a folder of files. A problem that cannot be read
yields an error in its place; the others are read.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai.files import write_bytes, writing
from miai.plain import one_line
from miai_go.errors import ProblemError
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.chains import captured_stone, chain_at, liberties_of
from miai_go.rules.coordinates import vertex
from miai_go.sgf.check import SgfError, shown
from miai_go.sgf.reading import SgfGame, player_of, read_bytes, read_each
from miai_go.sgf.sources import files_of
from miai_go.sgf.writing import new_sgf, set_move, set_text
from miai_go.tsumego.shipped import PROBLEMS

_GZIP: Final = ".gz"
_SGF: Final = ".sgf"
_MAX_BYTES: Final = 4 << 20
STONE_OF: Final = {"b": BLACK_STONE, "w": WHITE_STONE}

_MAX_NAMES: Final = 6
"""Maximum number of points that an error names."""
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A board, the block whose life is asked about, and the answer key as far as a file has one.

    Attributes:
      size: points on a side.
      stones: int8 of shape (size * size,), row by row from A1: 0 empty, 1 black, 2 white.
      target: a stone of the target, as a point of the board.
      to_play: the colour that should succeed by moving first, 1 black, 2 white.
      solutions: the key's correct first moves, points of the board.
      name: name or source.
      first: the colour that moves first in the key's answer, 1 black, 2 white.
      safe: whether the target is safe then, according to the key.
      best: a solving move according to the key, a point of the board.
      empty: the number of empty points in the zone according to the key.
    """

    size: int
    stones: NDArray[np.int8]
    target: int
    to_play: int | None = None
    solutions: tuple[int, ...] = ()
    name: str = ""
    first: int | None = None
    safe: bool | None = None
    best: int | None = None
    empty: int | None = None


# -- reading -------------------------------------------------------------------------------------


def read_problems(data: bytes, *, source: str = "SGF") -> Iterator[Problem | ProblemError]:
    """Yield the problems of SGF data; for one that cannot be read, yield the error.

    Args:
      source: name of the data, for errors and for the names of problems.
    """
    try:
        for game in read_each(data, source=source):
            if isinstance(game, SgfError):
                yield ProblemError(str(game))
                continue
            try:
                yield problem_of(game)
            except ProblemError as error:
                yield error
    except SgfError as error:
        yield ProblemError(str(error))


def problems_of(source: Path) -> Iterator[Problem | ProblemError]:
    """Yield the problems, or errors, of an SGF file, a folder and all below it, or an archive.

    Raises:
      DataError: the source does not exist, or is of an unknown kind.
    """
    for file in files_of(source):
        if file.data is None:
            yield ProblemError(f"{file.name}: {file.error}")
        else:
            yield from read_problems(file.data, source=file.name)


def problem_of(game: SgfGame) -> Problem:
    """Return the problem in a game of SGF.

    Raises:
      ProblemError: there is not exactly one target, or the position is impossible.
    """
    return _Reader(game).problem()


class _Reader:
    """Reads one game. Every error begins with its source and place."""

    def __init__(self, game: SgfGame) -> None:
        self._size = game.size
        self._root = game.root
        self.name = ": ".join(part for part in (game.source, game.place) if part)

    def problem(self) -> Problem:
        stones = self._stones()
        target = self._target(stones)
        to_play, solutions = self._solutions(stones)
        if self._root.has_property("PL"):
            player = player_of(self._root)
            if player is None and self._root.get_raw("PL").strip():
                raise self._refuse(f"PL[{shown(self._root.get_raw('PL'))}] is malformed")
            to_play = to_play if player is None else player + 1
        defends = self._flag("DS")
        defender = int(stones[target])
        first = None if defends is None else defender if defends else 3 - defender
        return Problem(
            size=self._size,
            stones=stones,
            target=target,
            to_play=to_play,
            solutions=tuple(p for color, p in solutions if color == to_play),
            name=self.name,
            first=first,
            safe=self._flag("TS"),
            best=self._best(stones),
            empty=self._number("AS"),
        )

    def _stones(self) -> NDArray[np.int8]:
        placed = {name: self._points(name) for name in ("AB", "AW")}
        both = set(placed["AB"]) & set(placed["AW"])
        if both:
            raise self._refuse(f"AB and AW both contain {self._names(both)}")
        if not placed["AB"] and not placed["AW"]:
            raise self._refuse("has no stones; set them up with AB and AW in the first node")
        stones = np.zeros(self._size**2, np.int8)
        stones[placed["AB"]] = BLACK_STONE
        stones[placed["AW"]] = WHITE_STONE
        return stones

    def _target(self, stones: NDArray[np.int8]) -> int:
        marked = self._points("MA")
        if not marked:
            raise self._refuse("has no target; mark one of its stones with MA")
        empty = [p for p in marked if stones[p] == EMPTY]
        if empty:
            raise self._refuse(
                f"the mark at {self._names(empty)} is on an empty point; is the target captured?"
            )
        blocks = {min(chain_at(stones, p, self._size)): p for p in reversed(marked)}
        if len(blocks) > 1:
            raise self._refuse(
                f"has {len(blocks)} targets, at {self._names(blocks.values())}; mark only one block"
            )
        self._check_liberties(stones, marked[0])
        return marked[0]

    def _check_liberties(self, stones: NDArray[np.int8], target: int) -> None:
        if not liberties_of(stones, chain_at(stones, target, self._size), self._size):
            raise self._refuse(f"the target at {self._names([target])} has no liberty")
        point = captured_stone(stones, self._size)
        if point is not None:
            raise self._refuse(f"the stone at {self._names([point])} has no liberty")

    def _solutions(self, stones: NDArray[np.int8]) -> tuple[int | None, list[tuple[int, int]]]:
        """Return the colour that moves first in all variations, and the first moves."""
        moves: list[tuple[int, int]] = []
        for child in self._root:
            try:
                letter, move = child.get_move()
            except ValueError as error:
                raise self._refuse("the first move of a variation is off the board") from error
            if letter is None:
                continue
            point = self._size**2 if move is None else move[0] * self._size + move[1]
            if move is not None and stones[point] != EMPTY:
                raise self._refuse(f"a variation begins at {self._names([point])}, on a stone")
            if (STONE_OF[letter], point) not in moves:
                moves.append((STONE_OF[letter], point))
        colors = {color for color, _point in moves}
        return (colors.pop() if len(colors) == 1 else None), moves

    def _best(self, stones: NDArray[np.int8]) -> int | None:
        points = [p for p in self._points("TR") if stones[p] == EMPTY]
        return points[0] if len(points) == 1 else None

    def _points(self, name: str) -> list[int]:
        if not self._root.has_property(name):
            return []
        return sorted(row * self._size + column for row, column in self._value(name))

    def _flag(self, name: str) -> bool | None:
        number = self._number(name)
        if number not in (None, 0, 1):
            raise self._refuse(f"{name}[{number}] is neither 0 nor 1")
        return None if number is None else bool(number)

    def _number(self, name: str) -> int | None:
        if not self._root.has_property(name):
            return None
        raw = self._root.get_raw(name).strip()
        if not (raw.isdigit() and len(raw) <= len("999")):
            raise self._refuse(f"{name}[{shown(raw)}] is not a number from 0 to 999")
        return int(raw)

    def _value(self, name: str) -> Any:
        try:
            return self._root.get(name)
        except ValueError as error:
            raw = b"][".join(self._root.get_raw_list(name))
            size = f"{self._size}x{self._size}"
            cause = f"{name}[{shown(raw)}] is malformed or off the {size} board"
            raise self._refuse(cause) from error

    def _names(self, points: Iterable[int]) -> str:
        ordered = sorted(points)
        more = f" and {len(ordered) - _MAX_NAMES} more" if len(ordered) > _MAX_NAMES else ""
        return ", ".join(vertex(p, self._size) for p in ordered[:_MAX_NAMES]) + more

    def _refuse(self, cause: str) -> ProblemError:
        return ProblemError(f"{self.name}: {cause}")


# -- writing -------------------------------------------------------------------------------------


def problem_file(problem: Problem) -> Any:
    """Return a problem as an sgfmill `Sgf_game`, to which comments and moves may be added."""
    size = problem.size
    black, white = (
        np.flatnonzero(problem.stones == stone).tolist() for stone in (BLACK_STONE, WHITE_STONE)
    )
    file = new_sgf(size, black=black, white=white)
    root = file.get_root()
    root.set("MA", [divmod(problem.target, size)])
    if problem.to_play is not None:
        root.set("PL", "bw"[problem.to_play - 1])
    if problem.name:
        root.set("GN", one_line(problem.name, limit=_MAX_NAME))
    if problem.safe is not None:
        root.set("TS", str(int(problem.safe)))
    if problem.first is not None:
        defends = problem.first == int(problem.stones[problem.target])
        root.set("DS", str(int(defends)))
    if problem.empty is not None:
        root.set("AS", str(problem.empty))
    if problem.best is not None and problem.best < size * size:
        root.set("TR", [divmod(problem.best, size)])
    if problem.to_play is not None:
        for point in problem.solutions:
            set_move(root.new_child(), problem.to_play - 1, point)
    return file


def collection_sgf(problems: Iterable[Problem], *, command: str = "") -> bytes:
    """Return problems as one SGF file, a game for each; the first GC has the `command`, if any."""
    files = [problem_file(problem) for problem in problems]
    if files and command:
        set_text(files[0].get_root(), "GC", command)
    return b"".join(file.serialise() for file in files)


def write_collection(out: Path, problems: Sequence[Problem], *, command: str) -> str:
    """Write problems; return the SHA-256 of the uncompressed SGF.

    Args:
      out: a file that ends in .sgf or .sgf.gz, or a folder, which gets one file per problem.

    Raises:
      ProblemError: the collection cannot be written.
    """
    sgf = collection_sgf(problems, command=command)
    one_file = out.suffix in (_GZIP, _SGF)
    with writing(out, ProblemError):
        (out.parent if one_file else out).mkdir(parents=True, exist_ok=True)
        if one_file:
            # Without the time of day the same problems give the same file.
            write_bytes(out, gzip.compress(sgf, mtime=0) if out.suffix == _GZIP else sgf)
            return hashlib.sha256(sgf).hexdigest()
        for problem in problems:
            letters = (letter if letter.isalnum() else "-" for letter in problem.name)
            name = "".join(letters) + _SGF
            write_bytes(out / name, collection_sgf([problem], command=command))
    return hashlib.sha256(sgf).hexdigest()


# -- the shipped collection ----------------------------------------------------------------------


@cache
def shipped_problems() -> tuple[Problem, ...]:
    """Return the shipped problems, with names and proved answers.

    Raises:
      ProblemError: the file is missing or damaged.
    """
    try:
        games = read_bytes(shipped_sgf(), source=PROBLEMS.name)
    except SgfError as error:
        raise ProblemError(str(error)) from error
    return tuple(replace(problem_of(game), name=game.root.get("GN")) for game in games)


def shipped_sgf() -> bytes:
    """Return the shipped collection as SGF.

    Raises:
      ProblemError: the file is missing or damaged.
    """
    try:
        with gzip.open(PROBLEMS) as file:
            return file.read(_MAX_BYTES)
    except (OSError, EOFError) as error:
        raise ProblemError(f"{PROBLEMS}: cannot be read: {error}; reinstall miai-go") from error
