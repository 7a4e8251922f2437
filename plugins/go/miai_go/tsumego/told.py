"""What a problem's file tells, beside what was proved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from miai_go.tsumego.problems import Problem
from miai_go.tsumego.status import Report


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


def told(problem: Problem, report: Report) -> Told:
    """Compare what a problem tells with what was proved."""
    safe = None
    if problem.safe is not None and problem.first is not None:
        proved = report.first_answer(problem.first).is_safe
        safe = None if proved is None else proved == problem.safe
    if problem.to_play is None:
        return Told(None, None, safe)
    return Told(report.first_answer(problem.to_play).succeeds, _moves(problem, report), safe)


def _moves(problem: Problem, report: Report) -> Moves | None:
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
