"""Reports as text: one problem with its board, or a line; a collection's summary.

What a problem's file tells, beside what was proved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from miai_go.life.problems import Problem
from miai_go.life.prover import Master
from miai_go.life.status import SIDE_NAMES, Answer, ProblemReport, Status
from miai_go.life.zones import ATTACKER, DEFENDER
from miai_go.rules.board import BLACK_STONE
from miai_go.rules.coordinates import vertex
from miai_go.rules.render import draw


class Moves(StrEnum):
    """How the moves that are told compare with those that are proved.

    `ALL`: they are the same. `SOME`: all that are told solve it, and so do others. `WRONG`: one
    that is told does not solve it. `NOT_NEEDED`: a pass does as well.
    """

    ALL = "all"
    SOME = "some"
    WRONG = "wrong"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class Told:
    """Whether what is told is what was proved; None where it is not told, or not proved.

    Attributes:
      to_play: whether the side that should succeed does, moving first.
      moves: how the moves compare that are told to solve it.
      safe: whether the target is as safe as is told.
    """

    to_play: bool | None
    moves: Moves | None
    safe: bool | None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def told(problem: Problem, report: ProblemReport) -> Told:
    """Compare what a problem tells with what was proved."""
    safe = None
    if problem.safe is not None and problem.first is not None:
        proved = report.first_answer(problem.first).is_safe
        safe = None if proved is None else proved == problem.safe
    if problem.to_play is None:
        return Told(None, None, safe)
    return Told(report.first_answer(problem.to_play).succeeds, _moves(problem, report), safe)


def _moves(problem: Problem, report: ProblemReport) -> Moves | None:
    if not problem.solutions or problem.to_play is None:
        return None
    answer = report.first_answer(problem.to_play)
    if not answer.succeeds:
        return None if answer.succeeds is None else Moves.WRONG
    if answer.needs_move is False:
        return Moves.NOT_NEEDED
    if not answer.moves and not answer.open_moves:
        return None  # they were not looked for, or none of them is known
    given, proved = set(problem.solutions), set(answer.moves)
    if given & set(answer.open_moves):
        return None
    if not given <= proved:
        return Moves.WRONG
    return Moves.ALL if given == proved and not answer.open_moves else Moves.SOME


_TOLD: Final = 20
"""How many unreadable problems are told on the screen; with --json all are."""


def describe(problem: Problem, report: ProblemReport) -> str:
    """Return a problem with what was found out, as text of several lines."""
    zone, size = report.zone, problem.size
    picture = draw(
        problem.stones.reshape(size, size),
        dead=_block(report),
        marks={p: "*" for answer in report.answers.values() for p in answer.moves if p < size**2},
    )
    lines = [
        *([problem.name] if problem.name else []),
        picture,
        f"{color_name(zone.defender)}'s block at {vertex(problem.target, size)} (lower case): "
        f"{report.status.value}",
        *(_answer(report, answer) for answer in report.answers.values()),
    ]
    lines.extend(_compared(problem, told(problem, report)))
    lines.append(
        f"zone of {len(zone.points)} points, {zone.empty} of them empty; "
        f"{report.nodes:,} positions, {report.seconds:.2f} s"
    )
    if report.why:
        lines.append(f"not all is solved: {report.why}")
    return "\n".join(lines)


def describe_in_a_line(problem: Problem, report: ProblemReport) -> str:
    """Return a problem with what was found out, in one line."""
    parts = [report.status.value]
    for side, answer in report.answers.items():
        if answer.moves:
            moves = " ".join(vertex(p, problem.size) for p in answer.moves)
            parts.append(f"{color_name(report.zone.color(side))} {moves}")
    if report.answers[ATTACKER].seki or report.answers[DEFENDER].seki:
        parts.append("seki")
    parts.append(f"{report.nodes:,} positions, {report.seconds:.2f} s")
    return f"{problem.name}: {'; '.join(parts)}"


def color_name(stone: int) -> str:
    """Return the name of a colour, 1 black, 2 white."""
    return "Black" if stone == BLACK_STONE else "White"


def plain(problem: Problem, report: ProblemReport) -> dict[str, Any]:
    """Return a problem with what was found out as plain data."""
    zone = report.zone
    names = {1: "black", 2: "white", None: None}
    return {
        "name": problem.name,
        "size": problem.size,
        "target": vertex(problem.target, problem.size),
        "defender": names[zone.defender],
        "to_play": names[problem.to_play],
        "told_moves": [vertex(p, problem.size) for p in problem.solutions],
        **report.as_dict(),
        "agrees": told(problem, report).as_dict(),
    }


@dataclass(slots=True)
class Summary:
    """What became of a collection.

    Attributes:
      statuses: how many problems there are of each status.
      agreeing: how many agree with what is told, by what and how.
      unreadable: why problems could not be read.
      nodes: positions that were made.
      seconds: spent on the problems, not on reading.
    """

    statuses: Counter[Status] = field(default_factory=Counter)
    agreeing: Counter[tuple[str, Any]] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    nodes: int = 0
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """How many problems were read."""
        return self.statuses.total()

    def add(self, problem: Problem, report: ProblemReport) -> None:
        """Take in a problem."""
        self.statuses[report.status] += 1
        self.nodes += report.nodes
        self.seconds += report.seconds
        for name, value in told(problem, report).as_dict().items():
            if value is not None:
                self.agreeing[name, value] += 1

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        agree = {
            "to_play": {"yes": self._of("to_play", True), "no": self._of("to_play", False)},
            "moves": {each.value: self._of("moves", each) for each in Moves},
            "safe": {"yes": self._of("safe", True), "no": self._of("safe", False)},
        }
        return {
            "problems": self.count,
            "solved": self.count - self.statuses[Status.UNSOLVED],
            "statuses": {status.value: self.statuses[status] for status in Status},
            "agrees": agree,
            "unreadable": len(self.unreadable),
            "nodes": self.nodes,
            "seconds": round(self.seconds, 4),
        }

    def lines(self) -> list[str]:
        """Return it as text."""
        solved = self.count - self.statuses[Status.UNSOLVED]
        out = [
            f"{self.count} problems, {solved} solved; {self.nodes:,} positions, "
            f"{self.seconds:.2f} s; {len(self.unreadable)} unreadable"
        ]
        found = [f"{s.value} {self.statuses[s]}" for s in Status if self.statuses[s]]
        out.extend([f"  {', '.join(found)}"] if found else [])
        for name, text in (("to_play", "who should succeed does"), ("safe", "safe or not as told")):
            asked = self._of(name, True) + self._of(name, False)
            out.extend([f"  {text}: {self._of(name, True)} of {asked}"] if asked else [])
        moves = [f"{m.value} {self._of('moves', m)}" for m in Moves if self._of("moves", m)]
        out.extend(
            [f"  moves that are told, of those that solve: {', '.join(moves)}"] * bool(moves)
        )
        out.extend(f"  unreadable: {reason}" for reason in self.unreadable[:_TOLD])
        if len(self.unreadable) > _TOLD:
            out.append(f"  and {len(self.unreadable) - _TOLD} more; --json tells all")
        return out

    def _of(self, name: str, value: Any) -> int:
        return self.agreeing[name, value]


def _block(report: ProblemReport) -> tuple[int, ...]:
    zone, size = report.zone, report.zone.size
    found, edge = {zone.target}, [zone.target]
    while edge:
        row, column = divmod(edge.pop(), size)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            q = r * size + c
            inside = 0 <= r < size and 0 <= c < size
            if inside and q not in found and zone.stones[q] == zone.defender:
                found.add(q)
                edge.append(q)
    return tuple(found)


def _answer(report: ProblemReport, answer: Answer) -> str:
    mover = color_name(report.zone.color(answer.first))
    word = {None: "unsolved", True: "safe", False: "unsafe"}
    text = f"{mover} first: {word[answer.is_safe]}"
    if answer.seki:
        text += " in seki"
    names = [vertex(p, report.zone.size) for p in answer.moves]
    verb = "takes" if answer.first == ATTACKER else "saves"
    if answer.needs_move is False:
        text += ", no move needed"
    elif names:
        text += f"; {', '.join(names)} {verb if len(names) == 1 else verb[:-1]} it"
    if answer.open_moves:
        unsolved = ", ".join(vertex(p, report.zone.size) for p in answer.open_moves)
        text += f"; unsolved: {unsolved}"
    others = [
        f"{word[safe]} with {_master(master)} as ko master"
        for master, safe in answer.safe.items()
        if safe != answer.is_safe
    ]
    return "; ".join([text, *others])


def _master(master: Master) -> str:
    return "nobody" if master == Master.NOBODY else f"the {SIDE_NAMES[master.value]}"


def _compared(problem: Problem, compared: Told) -> list[str]:
    lines = []
    if problem.to_play is not None and compared.to_play is not None:
        does = "does" if compared.to_play else "does not"
        lines.append(f"told: {color_name(problem.to_play)} should succeed, and {does}")
    if problem.solutions and compared.moves is not None:
        names = ", ".join(vertex(p, problem.size) for p in problem.solutions)
        how = {
            Moves.ALL: "these are all that solve it",
            Moves.SOME: "these solve it, and others do too",
            Moves.WRONG: "not all of these solve it",
            Moves.NOT_NEEDED: "no move is needed",
        }
        lines.append(f"told: {names}; {how[compared.moves]}")
    if compared.safe is not None:
        lines.append(f"told: safe or not; this is {'right' if compared.safe else 'wrong'}")
    return lines
