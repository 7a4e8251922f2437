"""What mini-RBC can be asked for, and the root at which a game of it begins."""

from __future__ import annotations

import re
from typing import Self

from pydantic import model_validator

from miai import Parameters, parameter
from miai.belief_search.problem import Root
from miai_miniblind.mini_rbc import MiniRbcProblem, MiniRbcPublic
from miai_miniblind.squares import parse_square, square_name


class MiniRbcParameters(Parameters):
    """The board, where it begins and when it ends."""

    size: int = parameter(5, ge=4, le=8, help="Squares on a side of the board")
    window: int = parameter(3, ge=1, le=8, help="Squares on a side of a sensed window")
    decoy: bool = parameter(False, help="Whether Black has a decoy, too")
    king: str = parameter("b1", help="Square of White's king at the start", max_length=3)
    rook: str = parameter("a1", help="Square of White's rook at the start", max_length=3)
    starts: tuple[str, ...] = parameter(
        (),
        help="Where Black may begin: squares of its king, followed by that of the decoy; "
        "by default wherever the kings are apart",
        max_length=4096,
    )
    max_turns: int = parameter(30, ge=1, le=10_000, help="White's moves after which it is a draw")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.window > self.size:
            raise ValueError(f"window is {self.window}, but the board has {self.size} on a side")
        root_of(self)
        return self


def root_of(parameters: MiniRbcParameters) -> Root[MiniRbcPublic]:
    """Return where a game begins: White's pieces and the hidden parts that may be.

    Raises:
      ValueError: a square is not on the board, two pieces share one, or the starts are not alike.
    """
    problem = problem_of(parameters)
    size = parameters.size
    king = parse_square(parameters.king, rows=size, columns=size)
    rook = parse_square(parameters.rook, rows=size, columns=size)
    if king == rook:
        raise ValueError(f"king and rook are both on {parameters.king}; give each a square")
    public = MiniRbcPublic(king, rook, parameters.decoy)
    if not parameters.starts:
        return Root(public, tuple(problem.consistent(public)))
    placed = [_parse_start(text, size) for text in parameters.starts]
    counts = {len(pieces) for pieces in placed}
    if len(counts) > 1 or not counts <= ({1, 2} if parameters.decoy else {1}):
        due = "king and decoy, or all the king alone" if parameters.decoy else "the king alone"
        raise ValueError(f"starts: each gives the square of {due}")
    public = public._replace(decoy=counts == {2})
    hidden = {problem.hidden(*pieces) for pieces in placed}
    if wrong := hidden - set(problem.universe(public)):
        first = problem.black_pieces(min(wrong))
        names = "".join(square_name(square, size) for square in first if square is not None)
        raise ValueError(f"starts: two pieces share a square in {names!r}")
    return Root(public, tuple(sorted(hidden)))


def _parse_start(text: str, size: int) -> list[int]:
    names = re.findall(r"[a-z][0-9]*", text) if re.fullmatch(r"([a-z][0-9]+){1,2}", text) else []
    if not names:
        raise ValueError(f"starts: {text[:20]!r} is not one or two squares; write e5 or e5d4")
    pieces = [parse_square(name, rows=size, columns=size) for name in names]
    if len(set(pieces)) < len(pieces):
        raise ValueError(f"starts: two pieces share a square in {text!r}")
    return pieces


def problem_of(parameters: MiniRbcParameters, *, graded: bool = False) -> MiniRbcProblem:
    """Return the problem of a game's board."""
    return MiniRbcProblem(parameters.size, parameters.window, parameters.decoy, graded)
