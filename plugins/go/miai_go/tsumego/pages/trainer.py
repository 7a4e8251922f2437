"""The trainer of life and death: sets of problems, and a board on which the proof answers.

A page keeps the line of moves; the server keeps none, so that going back, a second tab and a
restart do no harm. It checks every line that it is sent.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from anyio import to_thread
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from miai.errors import MiaiError
from miai.files import Journal, write_bytes
from miai.plain import loads, one_line
from miai.web.sections import Site
from miai.web.templating import assets, page
from miai_go.errors import DataError, ProblemError
from miai_go.rules.board import COLOR_NAMES
from miai_go.rules.coordinates import draw, vertex
from miai_go.rules.render import BoardPart, board_definitions, board_picture, point_region
from miai_go.tsumego.pages.exercise import (
    MOST_MOVES,
    Exercise,
    ExerciseReply,
    MoveVerdict,
    status_text,
)
from miai_go.tsumego.problem_sgf import (
    Problem,
    collection_sgf,
    problems_of,
    read_problems,
    shipped_problems,
)
from miai_go.tsumego.problems.walled import find_walled
from miai_go.tsumego.zones import ATTACKER, Zone

# Each keeps up to 32 MiB of proofs, so that the next move is judged at once.
_MOST_EXERCISES: Final = 8
_TABLE_BYTES: Final = 1 << 25
_EMPTY: Final = (4, 14)
_ROUND_ZONE: Final = 2  # lines: the wall, and one more
_LEAST_SIDE: Final = 9
MOST_PROBLEMS: Final = 2_000
"""Maximum number of problems in a set."""
MOST_SETS: Final = 100
GENERATED: Final = "generated"
_MOST_DRAWS: Final = 1_000
_MOST_LOOKED_AT: Final = 50
_LEVELS: Final = ((2, 5), (6, 7), (8, 9), (10, 14))
_OWN: Final = re.compile(r"own-([0-9]{1,4})")


class Trainer:
    """The section ``problems`` of `miai web`; see `miai.web.sections.WebSection`."""

    def __init__(self, site: Site, parameters: object) -> None:
        self._sets = Sets(site.folder, [path for path in site.paths if is_source(path)])
        self._exercises: OrderedDict[tuple[str, int], tuple[Exercise, threading.Lock]] = (
            OrderedDict()
        )
        self._lock = threading.Lock()
        self.routes = [
            Route("/", self.overview),
            Route("/assets/{name}", assets(__package__)),
            Route("/opened", self.open, methods=["POST"]),
            Route("/generated", self.generate, methods=["POST"]),
            Route("/{name}/", self.collection),
            Route("/{name}/{number:int}", self.problem),
            Route("/{name}/{number:int}/moves", self.move, methods=["POST"]),
            Route("/{name}/{number:int}/solution", self.solution, methods=["POST"]),
            Route("/{name}/{number:int}/status", self.status, methods=["POST"]),
        ]

    def shows(self, path: Any) -> bool:
        """Return whether a path holds a problem."""
        return is_source(path)

    def close(self) -> None:
        """Do nothing: searches end at their limits."""

    # -- pages ---------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        """Show the sets, and the forms that add to them."""
        return await to_thread.run_sync(self._overview)

    def _overview(self, problem: str = "", entered: dict[str, str] | None = None) -> Response:
        sets = [
            (each.name, each.title, len(each.problems), self._sets.counts(each.name))
            for each in self._sets.all()
        ]
        entered = entered or {}
        return page(
            "problems.html",
            package=__package__,
            sets=sets,
            mistake=problem,
            limits=_EMPTY,
            empty=entered.get("empty", "8"),
            seed=entered.get("seed", ""),
        )

    async def collection(self, request: Request) -> Response:
        """Show the problems of a set."""
        chosen = await to_thread.run_sync(self._find, request)
        outcomes = self._sets.outcomes()
        marks = [outcomes.get((chosen.name, number)) for number in range(len(chosen.problems))]
        return page("problem_set.html", package=__package__, collection=chosen, marks=marks)

    async def open(self, request: Request) -> Response:
        """Open a file of problems."""
        async with request.form(max_files=1, max_fields=1) as form:
            file = form.get("file")
            name, data = "", b""
            if isinstance(file, UploadFile):
                name, data = file.filename or "SGF", await file.read()
        if not data:
            return await to_thread.run_sync(self._overview, "Choose a file of problems in SGF.")
        try:
            chosen = await to_thread.run_sync(self._sets.open, data, name[:80])
        except (MiaiError, OSError) as error:
            return await to_thread.run_sync(self._overview, one_line(str(error)))
        return RedirectResponse(f"/problems/{chosen.name}/", 303)

    async def generate(self, request: Request) -> Response:
        """Make a random problem."""
        async with request.form(max_files=0, max_fields=2) as form:
            entered = {key: value for key, value in form.items() if isinstance(value, str)}
        seed, empty = entered.get("seed", "").strip(), entered.get("empty", "")
        low, high = _EMPTY
        problem = ""
        if empty not in map(str, range(low, high + 1)):
            problem = f"Empty points: give a number from {low} to {high}."
        elif seed and not (seed.isdecimal() and len(seed) < 10):
            problem = "Seed: give a number of at most nine digits, or nothing for a fresh one."
        else:
            drawn = int(seed) if seed else secrets.randbelow(10**9)
            try:
                number = await to_thread.run_sync(self._sets.generate, int(empty), drawn)
                return RedirectResponse(f"/problems/generated/{number}", 303)
            except (MiaiError, OSError) as error:
                problem = one_line(str(error))
        return await to_thread.run_sync(self._overview, problem, entered)

    async def problem(self, request: Request) -> Response:
        """Show a problem."""
        chosen = await to_thread.run_sync(self._find, request)
        number = request.path_params["number"]
        if number >= len(chosen.problems):
            raise HTTPException(404, "There is no such problem.")
        size = chosen.problems[number].size
        try:
            first = await to_thread.run_sync(self._begin, chosen, number)
            mistake = ""
        except ProblemError as error:
            first, mistake = None, one_line(str(error))
        return page(
            "problem_board.html",
            package=__package__,
            scripts=["board.js", "/problems/assets/problem.js"],
            collection=chosen,
            number=number,
            title=chosen.problems[number].name,
            task=first and first[0],
            mistake=mistake,
            outcome=self._sets.outcomes().get((chosen.name, number)),
            counts=self._sets.counts(chosen.name),
            definitions=board_definitions(size, first[1]) if first else Markup(),
        )

    # -- moves ---------------------------------------------------------------------------------

    async def move(self, request: Request) -> Response:
        """Answer a move; without one, send the position."""
        return await self._answer(request, self._play)

    async def solution(self, request: Request) -> Response:
        """Send the line that solves the problem from here; it counts as missed."""
        return await self._answer(request, self._solve)

    async def status(self, request: Request) -> Response:
        """Send the status of the target."""
        return await self._answer(request, self._status)

    async def _answer(self, request: Request, answer: Any) -> Response:
        chosen = await to_thread.run_sync(self._find, request)
        number = request.path_params["number"]
        try:
            line, move = _request_content(loads(await request.body()))
        except ValueError as error:
            return JSONResponse({"problem": str(error)}, 400)
        if number >= len(chosen.problems):
            raise HTTPException(404, "There is no such problem.")
        try:
            return JSONResponse(await to_thread.run_sync(answer, chosen, number, line, move))
        except ProblemError as error:
            return JSONResponse({"problem": one_line(str(error))}, 409)

    def _begin(self, chosen: ProblemSet, number: int) -> tuple[str, BoardPart]:
        exercise, lock = self._exercise(chosen, number)
        with lock:
            return _task(exercise), _part(exercise.zone)

    def _play(
        self, chosen: ProblemSet, number: int, line: Sequence[int], move: int | None
    ) -> dict[str, Any]:
        exercise, lock = self._exercise(chosen, number)
        with lock:
            if move is None:
                return {"outcome": "", "frames": [_frame(exercise, line)], "text": ""}
            reply = exercise.play(line, move)
            if reply.verdict in (MoveVerdict.SOLVED, MoveVerdict.WRONG):
                self._sets.note(chosen.name, number, solved=reply.verdict == MoveVerdict.SOLVED)
            return {
                "outcome": reply.verdict.value,
                "text": _text(reply, exercise.zone.size),
                "frames": [_frame(exercise, reply.line, over=reply.verdict != MoveVerdict.RIGHT)],
                "sequel": _frames(exercise, reply.sequel, len(reply.line)),
                "counts": self._sets.counts(chosen.name),
            }

    def _solve(
        self, chosen: ProblemSet, number: int, line: Sequence[int], move: int | None
    ) -> dict[str, Any]:
        exercise, lock = self._exercise(chosen, number)
        with lock:
            self._sets.note(chosen.name, number, solved=False)
            solution = exercise.solution(line)
            return {
                "outcome": "shown",
                "text": "The solution." if solution else "Nothing solves it from here.",
                "frames": [_frame(exercise, line, over=True)],
                "sequel": _frames(exercise, solution, len(line)),
                "counts": self._sets.counts(chosen.name),
            }

    def _status(
        self, chosen: ProblemSet, number: int, line: Sequence[int], move: int | None
    ) -> dict[str, Any]:
        exercise, lock = self._exercise(chosen, number)
        with lock:
            return {"status": status_text(exercise.report)}

    # -- the rest ------------------------------------------------------------------------------

    def _find(self, request: Request) -> ProblemSet:
        chosen = self._sets.get(request.path_params["name"])
        if chosen is None:
            raise HTTPException(404, "There is no such set of problems.")
        return chosen

    def _exercise(self, chosen: ProblemSet, number: int) -> tuple[Exercise, threading.Lock]:
        """Return an exercise, kept while it is among the latest."""
        key = (chosen.name, number)
        with self._lock:
            if key in self._exercises:
                self._exercises.move_to_end(key)
                return self._exercises[key]
        # Outside the lock: a zone may take a while, and other pages need not wait for it.
        new = Exercise(chosen.problems[number], table_bytes=_TABLE_BYTES), threading.Lock()
        with self._lock:
            exercise = self._exercises.setdefault(key, new)
            while len(self._exercises) > _MOST_EXERCISES:
                self._exercises.popitem(last=False)
        return exercise


def _request_content(content: Any) -> tuple[list[int], int | None]:
    """Return the line and the move of a request. Raises `ValueError`."""
    line = content.get("line") if isinstance(content, dict) else None
    move = content.get("move") if isinstance(content, dict) else None
    if (
        not isinstance(line, list)
        or len(line) > MOST_MOVES
        or any(type(x) is not int for x in line)
    ):
        raise ValueError("send the moves so far")
    if move is not None and type(move) is not int:
        raise ValueError("send a move")
    return line, move


def _task(exercise: Exercise) -> str:
    """Return what is asked for, as a sentence; what is known if nothing can be asked."""
    zone, side = exercise.zone, exercise.learner
    target = vertex(zone.target, zone.size)
    if side is None:
        return f"The target is the block at {target}. {status_text(exercise.report)}"
    mover = COLOR_NAMES[zone.color(side)].capitalize()
    what = "capture" if side == ATTACKER else "save"
    return f"{mover} to move: {what} the block at {target}."


def _part(zone: Zone) -> BoardPart:
    """Return the part of the board that the page draws: the zone, its wall and a line more."""
    size = zone.size
    spans = [
        (max(0, int(lines.min()) - _ROUND_ZONE), min(size, int(lines.max()) + _ROUND_ZONE + 1))
        for lines in np.divmod(zone.points, size)
    ]
    side = max(min(size, _LEAST_SIDE), *(high - low for low, high in spans))
    bottom, first = (
        min(max(0, low - (side - (high - low)) // 2), size - side) for low, high in spans
    )
    return BoardPart(first, bottom, side)


def _text(reply: ExerciseReply, size: int) -> str:
    last = vertex(reply.line[-1], size)
    because = f": {reply.reason}" if reply.reason else ""
    if reply.verdict == MoveVerdict.SOLVED:
        return f"Solved{because}."
    if reply.verdict == MoveVerdict.WRONG:
        return f"Wrong: {last} refutes it{because and f', {reply.reason}'}."
    if reply.verdict == MoveVerdict.OPEN:
        return f"Undecided: {reply.reason}."
    return f"Right so far; the answer is {last}."


def _frames(exercise: Exercise, line: Sequence[int], begin: int) -> list[dict[str, Any]]:
    ends = range(begin, len(line) + 1)
    return [_frame(exercise, line[:end], over=True) for end in ends] if len(ends) > 1 else []


def _frame(exercise: Exercise, line: Sequence[int], *, over: bool = False) -> dict[str, Any]:
    """Return a position as the page draws it; without areas if it is over."""
    size, playing = exercise.zone.size, exercise.learner is not None and not over
    choices = exercise.choices(line) if playing else []
    regions = [point_region(size, move) for move in choices if move < size * size]
    areas = [{"name": each.name, "box": each.box, "halo": None} for each in regions]
    moves = [
        {"action": move, "text": vertex(move, size), "path": [i] if move < size * size else []}
        for i, move in enumerate(choices)
    ]
    stones, target = exercise.stones(line), exercise.zone.target
    picture = board_picture(
        stones,
        last=line[-1] if line else None,
        choices=[target] if stones.flat[target] else (),
        part=_part(exercise.zone),
    )
    text = draw(stones, last=line[-1] if line else None)
    return {"picture": picture, "text": text, "areas": areas, "moves": moves, "line": list(line)}


# -- sets of problems -----------------------------------------------------------------------------


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
