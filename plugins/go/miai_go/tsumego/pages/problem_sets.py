"""Sets of problems to choose from, and what has become of each problem."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from miai.errors import MiaiError
from miai.files import Journal, write_bytes
from miai_go.errors import DataError, ProblemError
from miai_go.tsumego.problem_sgf import (
    Problem,
    collection_sgf,
    problems_of,
    read_problems,
    shipped_problems,
)
from miai_go.tsumego.problems.walled import find_walled

MOST_PROBLEMS: Final = 2_000
"""Maximum number of problems in a set."""
MOST_SETS: Final = 100
GENERATED: Final = "generated"
_MOST_DRAWS: Final = 1_000
_MOST_LOOKED_AT: Final = 50
_LEVELS: Final = ((2, 5), (6, 7), (8, 9), (10, 14))
_OWN: Final = re.compile(r"own-([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """Problems in order.

    Attributes:
      name: its part of the address.
      title: what people read.
      problems: the problems.
      mistakes: what could not be read.
    """

    name: str
    title: str
    problems: Sequence[Problem]
    mistakes: Sequence[str] = ()


class Sets:
    """The sets that the pages show: shipped, generated, named on the command line, and opened.

    Args:
      folder: where generated and opened problems and the score are kept.
      paths: SGF files, folders and archives of problems.
    """

    def __init__(self, folder: Path, paths: Sequence[Path]) -> None:
        self._folder, self._paths = folder, paths
        self._lock = threading.RLock()
        self._known: dict[str, ProblemSet] = {}
        self._score = Journal(folder / "score", sync=False)
        self._outcomes: dict[tuple[str, int], bool] | None = None

    # -- sets ----------------------------------------------------------------------------------

    def all(self) -> list[ProblemSet]:
        """Return the sets. Raises `OSError` if the folder cannot be read."""
        names = [name for name, _ in self._shipped()]
        names += [f"given-{number}" for number in range(len(self._paths))]
        if self._file(GENERATED).exists():
            names.append(GENERATED)
        names += [path.stem for path in self._opened()]
        sets = (self.get(name) for name in names)
        return [each for each in sets if each is not None]

    def get(self, name: str) -> ProblemSet | None:
        """Return a set by name; None if there is none."""
        with self._lock:
            if name not in self._known:
                problem_set = self._read(name)
                if problem_set is None:
                    return None
                self._known[name] = problem_set
            return self._known[name]

    def _read(self, name: str) -> ProblemSet | None:
        if title := dict(self._shipped()).get(name):
            return ProblemSet(name, title, _shipped_level(name))
        number = re.fullmatch(r"given-([0-9]{1,4})", name)
        if number and int(number[1]) < len(self._paths):
            path = self._paths[int(number[1])]
            return _checked(name, path.name, problems_of(path))
        if (name == GENERATED or _OWN.fullmatch(name)) and (path := self._file(name)).exists():
            problems = read_problems(path.read_bytes(), source=name)
            return _checked(name, name.replace("-", " "), problems)
        return None

    def _shipped(self) -> list[tuple[str, str]]:
        return [
            (f"shipped-{low}-{high}", f"shipped, {low} to {high} empty points")
            for low, high in _LEVELS
        ]

    def open(self, data: bytes, title: str) -> ProblemSet:
        """Keep the problems of SGF data as a set of their own.

        Raises:
          ProblemError: the data has no problem, or there are too many sets.
          OSError: the set cannot be written.
        """
        read = _checked("", title, read_problems(data, source=title))
        if not read.problems:
            reason = read.mistakes[0] if read.mistakes else f"{title}: there is no problem in it"
            raise ProblemError(reason)
        with self._lock:
            numbers = [int(path.stem[4:]) for path in self._opened()]
            if len(numbers) >= MOST_SETS:
                raise ProblemError(
                    f"{MOST_SETS} sets are open; delete some of the files in {self._folder}"
                )
            name = f"own-{max(numbers, default=0) + 1}"
            self._write(name, read.problems)
            self._known[name] = ProblemSet(name, title, read.problems, read.mistakes)
            return self._known[name]

    def generate(self, empty: int, seed: int) -> int:
        """Add a random problem to the generated ones; return its number.

        Args:
          empty: empty points in its zone.
          seed: determines the problem.

        Raises:
          ProblemError: no draw gave a problem, or the set is full.
          OSError: the set cannot be written.
        """
        drawn = (find_walled(seed, empty, number) for number in range(_MOST_DRAWS))
        problem = next((each for each in drawn if each is not None), None)
        if problem is None:
            raise ProblemError(
                f"{_MOST_DRAWS} draws gave no problem with {empty} empty points; try another seed"
            )
        with self._lock:
            known = self.get(GENERATED)
            problems = [] if known is None else list(known.problems)
            if len(problems) >= MOST_PROBLEMS:
                raise ProblemError(f"{self._file(GENERATED)} is full; delete or rename it")
            problems.append(problem)
            self._write(GENERATED, problems)
            self._known[GENERATED] = ProblemSet(GENERATED, GENERATED, problems)
            return len(problems) - 1

    def _write(self, name: str, problems: Sequence[Problem]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_bytes(self._file(name), collection_sgf(problems))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.sgf"

    def _opened(self) -> list[Path]:
        paths = [path for path in self._folder.glob("own-*.sgf") if _OWN.fullmatch(path.stem)]
        return sorted(paths, key=lambda path: int(path.stem[4:]))

    # -- the score -----------------------------------------------------------------------------

    def note(self, name: str, number: int, *, solved: bool) -> None:
        """Count a problem as solved or missed, the first time. Raises `OSError`."""
        with self._lock:
            if (name, number) not in self.outcomes():
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._score.append([[name, number, solved]])
                self.outcomes()[name, number] = solved

    def outcomes(self) -> dict[tuple[str, int], bool]:
        """Return whether each problem that was tried was solved, by set and number."""
        with self._lock:
            if self._outcomes is None:
                self._outcomes = {}
                for entry in self._score.read():
                    if isinstance(entry, list) and [type(x) for x in entry] == [str, int, bool]:
                        self._outcomes.setdefault((entry[0], entry[1]), entry[2])
            return self._outcomes

    def counts(self, name: str) -> Mapping[str, int]:
        """Return how many problems of a set were solved and tried."""
        outcomes = [solved for (each, _), solved in self.outcomes().items() if each == name]
        return {"solved": sum(outcomes), "tried": len(outcomes)}


def is_source(path: Path) -> bool:
    """Return whether a path holds a problem: SGF, a folder or an archive of SGF."""
    try:
        first = islice(problems_of(path), _MOST_LOOKED_AT)
        return any(isinstance(each, Problem) for each in first)
    except (DataError, OSError):
        return False


def _checked(name: str, title: str, entries: Iterator[Problem | ProblemError]) -> ProblemSet:
    problems: list[Problem] = []
    mistakes: list[str] = []
    try:
        for each in islice(entries, MOST_PROBLEMS):
            if isinstance(each, Problem):
                problems.append(each)
            else:
                mistakes.append(str(each))
    except (MiaiError, OSError) as error:
        mistakes.append(str(error))
    return ProblemSet(name, title, problems, mistakes)


def _shipped_level(name: str) -> list[Problem]:
    low, high = map(int, name.split("-")[1:])
    return [
        problem
        for problem in shipped_problems()
        if problem.to_play is not None and low <= (problem.empty or 0) <= high
    ]
