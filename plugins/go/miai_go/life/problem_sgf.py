"""Problems as SGF: a position, a mark on the target, and the moves that are said to solve it.

`AB` and `AW` are the stones, the whole wall included; `MA` marks stones of one block, the target;
`PL` is the side that should succeed; the variations at the root begin with the moves that solve it.
Problems made from others carry `TS[1|0]`, whether the target is safe, `DS[1|0]`, whether the
defender moves first, `AS[n]`, how many points of the zone are empty, and `TR` on the best move.

A collection is one file with several games, or a folder of files. Whatever is wrong with one
problem is told in its place, and the others are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sgfmill import sgf

from miai_go.errors import ProblemError
from miai_go.life.problems import Problem
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.coordinates import vertex
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import SgfGame, read_each
from miai_go.sgf.sources import files_of

STONE_OF: Final = {"b": BLACK_STONE, "w": WHITE_STONE}
LETTER_OF: Final = {BLACK_STONE: "b", WHITE_STONE: "w"}

_TOLD: Final = 6
"""How many blocks an error names."""
_MAX_NAME: Final = 200


def read_problems(data: bytes, *, source: str = "SGF") -> Iterator[Problem | ProblemError]:
    """Yield the problems of SGF data, or instead of a problem why it is none.

    Args:
      source: names the data in errors and in problems.
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
    """Yield the problems of an SGF file, of a folder with all below it, or of an archive.

    Raises:
      DataError: there is no such source, or it is of no known kind.
    """
    for file in files_of(source):
        if file.data is None:
            yield ProblemError(f"{file.name}: {file.error}")
        else:
            yield from read_problems(file.data, source=file.name)


def problem_of(game: SgfGame) -> Problem:
    """Return the problem that a game of SGF sets.

    Raises:
      ProblemError: there is no target or more than one, or the stones cannot stand so.
    """
    return _Reader(game).problem()


def write_problems(problems: Iterable[Problem]) -> bytes:
    """Return problems as one SGF file, a game for each."""
    return b"".join(problem_file(problem).serialise() for problem in problems)


def problem_file(problem: Problem) -> Any:
    """Return a problem as sgfmill's `Sgf_game`, to which comments and moves may be added."""
    file = sgf.Sgf_game(size=problem.size, encoding="UTF-8")
    root, size = file.get_root(), problem.size
    placed = [
        [divmod(int(p), size) for p in np.flatnonzero(problem.stones == stone)]
        for stone in (BLACK_STONE, WHITE_STONE)
    ]
    root.set_setup_stones(*placed)
    root.set("MA", [divmod(problem.target, size)])
    if problem.to_play is not None:
        root.set("PL", LETTER_OF[problem.to_play])
    if problem.name:
        root.set("GN", _one_line(problem.name))
    if problem.safe is not None:
        root.set("TS", str(int(problem.safe)))
    if problem.first is not None:
        defends = problem.first == int(problem.stones[problem.target])
        root.set("DS", str(int(defends)))
    if problem.empty is not None:
        root.set("AS", str(problem.empty))
    if problem.best is not None and problem.best < size * size:
        root.set("TR", [divmod(problem.best, size)])
    mover = problem.to_play
    for point in problem.solutions:
        if mover is not None:
            node = root.new_child()
            node.set_move(LETTER_OF[mover], divmod(point, size) if point < size * size else None)
    return file


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:_MAX_NAME]


class _Reader:
    """Reads one game; every error begins with the place of it."""

    def __init__(self, game: SgfGame) -> None:
        self._size = game.size
        self._root = game.root
        self.name = ": ".join(part for part in (game.source, game.place) if part)

    def problem(self) -> Problem:
        stones = self._stones()
        target = self._target(stones)
        to_play, solutions = self._solutions(stones)
        if self._root.has_property("PL"):
            to_play = STONE_OF[self._value("PL")]
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
            raise self._refuse(f"AB and AW both name {self._names(both)}")
        if not placed["AB"] and not placed["AW"]:
            raise self._refuse("no stones; a problem is set up by AB and AW in its first node")
        stones = np.zeros(self._size**2, np.int8)
        stones[placed["AB"]] = BLACK_STONE
        stones[placed["AW"]] = WHITE_STONE
        return stones

    def _target(self, stones: NDArray[np.int8]) -> int:
        marked = self._points("MA")
        if not marked:
            raise self._refuse("no target; mark one stone of it with MA")
        empty = [p for p in marked if stones[p] == EMPTY]
        if empty:
            raise self._refuse(
                f"the mark at {self._names(empty)} is on no stone; is the target taken already?"
            )
        blocks = {min(self._block(stones, p)): p for p in reversed(marked)}
        if len(blocks) > 1:
            raise self._refuse(
                f"{len(blocks)} targets, at {self._names(blocks.values())}; mark a stone of one"
            )
        self._check_liberties(stones, marked[0])
        return marked[0]

    def _check_liberties(self, stones: NDArray[np.int8], target: int) -> None:
        if not self._breathes(stones, self._block(stones, target)):
            raise self._refuse(
                f"the target at {self._names([target])} has no liberty: it is taken already"
            )
        seen: set[int] = set()
        for p in np.flatnonzero(stones).tolist():
            if p not in seen:
                block = self._block(stones, p)
                seen |= block
                if not self._breathes(stones, block):
                    raise self._refuse(f"the stone at {self._names([p])} has no liberty")

    def _breathes(self, stones: NDArray[np.int8], block: set[int]) -> bool:
        return any(stones[q] == EMPTY for p in block for q in self._near(p))

    def _solutions(self, stones: NDArray[np.int8]) -> tuple[int | None, list[tuple[int, int]]]:
        """Return whose moves the variations begin with where all agree, and those moves."""
        found = []
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
            if (STONE_OF[letter], point) not in found:
                found.append((STONE_OF[letter], point))
        colors = {color for color, _point in found}
        return (colors.pop() if len(colors) == 1 else None), found

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
            raise self._refuse(f"{name}[{_shown(raw)}] is no number of 0 to 999")
        return int(raw)

    def _value(self, name: str) -> Any:
        try:
            return self._root.get(name)
        except ValueError as error:
            raw = b"][".join(self._root.get_raw_list(name))
            size = f"{self._size}x{self._size}"
            off = "" if name == "PL" else f", or off the {size} board"
            raise self._refuse(f"{name}[{_shown(raw)}] is malformed{off}") from error

    def _block(self, stones: NDArray[np.int8], point: int) -> set[int]:
        found, edge = {point}, [point]
        while edge:
            for q in self._near(edge.pop()):
                if q not in found and stones[q] == stones[point]:
                    found.add(q)
                    edge.append(q)
        return found

    def _near(self, point: int) -> Iterator[int]:
        row, column = divmod(point, self._size)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= r < self._size and 0 <= c < self._size:
                yield r * self._size + c

    def _names(self, points: Iterable[int]) -> str:
        named = sorted(points)
        more = f" and {len(named) - _TOLD} more" if len(named) > _TOLD else ""
        return ", ".join(vertex(p, self._size) for p in named[:_TOLD]) + more

    def _refuse(self, cause: str) -> ProblemError:
        return ProblemError(f"{self.name}: {cause}")


def _shown(raw: bytes) -> str:
    return raw[:40].decode("ascii", "replace")
