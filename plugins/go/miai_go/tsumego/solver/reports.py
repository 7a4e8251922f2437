"""Reports on solved problems as text and as plain data, and the summary of a collection."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from miai_go.rules.board import COLOR_NAMES
from miai_go.rules.chains import chain_at
from miai_go.rules.coordinates import draw, vertex
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.answer_keys import KeyComparison, KeyMoves, compare_key
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import SIDE_NAMES, Answer, ProblemReport, Status
from miai_go.tsumego.zones import ATTACKER, DEFENDER

_MAX_UNREADABLE: Final = 20
"""Maximum number of unreadable problems that a summary's text names."""


def describe(problem: Problem, report: ProblemReport) -> str:
    """Return a problem and its report as text of several lines."""
    zone, size = report.zone, problem.size
    picture = draw(
        problem.stones.reshape(size, size),
        dead=tuple(chain_at(zone.stones, zone.target, size)),
        marks={p: "*" for answer in report.answers.values() for p in answer.moves if p < size**2},
    )
    lines = [
        *([problem.name] if problem.name else []),
        picture,
        f"{COLOR_NAMES[zone.defender]}'s block at {vertex(problem.target, size)} (lower case): "
        f"{report.status.value}",
        *(_answer(report, answer) for answer in report.answers.values()),
    ]
    lines.extend(_key_lines(problem, compare_key(problem, report)))
    lines.append(
        f"zone of {len(zone.points)} points, {zone.empty} of them empty; "
        f"{report.nodes:,} positions, {report.seconds:.2f} s"
    )
    if report.why:
        lines.append(f"not everything is solved: {report.why}")
    return "\n".join(lines)


def describe_in_a_line(problem: Problem, report: ProblemReport) -> str:
    """Return a problem and its report in one line."""
    parts = [report.status.value]
    for side, answer in report.answers.items():
        if answer.moves:
            moves = " ".join(vertex(p, problem.size) for p in answer.moves)
            parts.append(f"{COLOR_NAMES[report.zone.color(side)]} {moves}")
    if report.answers[ATTACKER].seki or report.answers[DEFENDER].seki:
        parts.append("seki")
    parts.append(f"{report.nodes:,} positions, {report.seconds:.2f} s")
    return f"{problem.name}: {'; '.join(parts)}"


def plain(problem: Problem, report: ProblemReport) -> dict[str, Any]:
    """Return a problem and its report as plain data."""
    zone, colors = report.zone, {1: "black", 2: "white", None: None}

    def names(points: tuple[int, ...]) -> list[str]:
        return [vertex(point, zone.size) for point in points]

    row: dict[str, Any] = {
        "name": problem.name,
        "size": problem.size,
        "target": vertex(problem.target, problem.size),
        "defender": colors[zone.defender],
        "to_play": colors[problem.to_play],
        "told_moves": names(problem.solutions),
        "status": report.status.value,
    }
    for side, answer in report.answers.items():
        row[f"{SIDE_NAMES[side]}_first"] = {
            "safe": answer.is_safe,
            "by_ko_master": {m.name.lower(): safe for m, safe in answer.safe.items()},
            "needs_move": answer.needs_move,
            "moves_asked": answer.moves_asked,
            "moves": names(answer.moves),
            "open_moves": names(answer.open_moves),
            "seki": answer.seki,
        }
    row |= {"points": len(zone.points), "empty": zone.empty, "nodes": report.nodes}
    row |= {"seconds": round(report.seconds, 4), "why": report.why}
    return row | {"agrees": asdict(compare_key(problem, report))}


@dataclass(slots=True)
class Summary:
    """Results of a collection of problems.

    Attributes:
      statuses: number of problems by status.
      key_results: number of problems by attribute and value of their `KeyComparison`.
      unreadable: errors of the problems that could not be read.
      nodes: positions searched.
      seconds: time spent on solving, without reading.
    """

    statuses: Counter[Status] = field(default_factory=Counter)
    key_results: Counter[tuple[str, Any]] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    nodes: int = 0
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """Number of problems that were read."""
        return self.statuses.total()

    def add(self, problem: Problem, report: ProblemReport) -> None:
        """Count a problem."""
        self.statuses[report.status] += 1
        self.nodes += report.nodes
        self.seconds += report.seconds
        for name, value in asdict(compare_key(problem, report)).items():
            if value is not None:
                self.key_results[name, value] += 1

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        agree = {
            "to_play": {"yes": self._of("to_play", True), "no": self._of("to_play", False)},
            "moves": {each.value: self._of("moves", each) for each in KeyMoves},
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
        """Return the summary as lines of text."""
        solved = self.count - self.statuses[Status.UNSOLVED]
        out = [
            f"{self.count} problems, {solved} solved; {self.nodes:,} positions, "
            f"{self.seconds:.2f} s; {len(self.unreadable)} unreadable"
        ]
        statuses = [f"{s.value} {self.statuses[s]}" for s in Status if self.statuses[s]]
        out.extend([f"  {', '.join(statuses)}"] if statuses else [])
        for name, text in (
            ("to_play", "the side that should succeed does"),
            ("safe", "the answer key is right about safety"),
        ):
            compared = self._of(name, True) + self._of(name, False)
            out.extend([f"  {text}: {self._of(name, True)} of {compared}"] if compared else [])
        moves = [f"{m.value} {self._of('moves', m)}" for m in KeyMoves if self._of("moves", m)]
        out.extend([f"  solving moves in the answer key: {', '.join(moves)}"] if moves else [])
        out.extend(f"  unreadable: {reason}" for reason in self.unreadable[:_MAX_UNREADABLE])
        if len(self.unreadable) > _MAX_UNREADABLE:
            out.append(f"  and {len(self.unreadable) - _MAX_UNREADABLE} more; --json lists all")
        return out

    def _of(self, name: str, value: Any) -> int:
        return self.key_results[name, value]


def _answer(report: ProblemReport, answer: Answer) -> str:
    mover = COLOR_NAMES[report.zone.color(answer.first)]
    word = {None: "unsolved", True: "safe", False: "unsafe"}
    text = f"{mover} first: {word[answer.is_safe]}"
    if answer.seki:
        text += " in seki"
    names = [vertex(p, report.zone.size) for p in answer.moves]
    verb = "captures" if answer.first == ATTACKER else "saves"
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


def _key_lines(problem: Problem, comparison: KeyComparison) -> list[str]:
    lines = []
    if problem.to_play is not None and comparison.to_play is not None:
        does = "does" if comparison.to_play else "does not"
        lines.append(f"answer key: {COLOR_NAMES[problem.to_play]} should succeed, and {does}")
    if problem.solutions and comparison.moves is not None:
        names = ", ".join(vertex(p, problem.size) for p in problem.solutions)
        how = {
            KeyMoves.ALL: "these are all solving moves",
            KeyMoves.SOME: "these solve it, and so do others",
            KeyMoves.WRONG: "not all of these solve it",
            KeyMoves.NOT_NEEDED: "no move is needed",
        }
        lines.append(f"answer key: {names}; {how[comparison.moves]}")
    if comparison.safe is not None:
        lines.append(f"answer key: {'right' if comparison.safe else 'wrong'} about safety")
    return lines
