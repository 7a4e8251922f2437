"""The games as problems by name, for comparisons of searches."""

from __future__ import annotations

from miai import Parameters, parameter
from miai_miniblind.mini_rbc import GREATEST_SIZE, LEAST_SIZE, MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem
from miai_miniblind.sub_hunt import GREATEST_SIZE as WIDEST_SEA
from miai_miniblind.sub_hunt import LEAST_SIZE as NARROWEST_SEA
from miai_miniblind.sub_hunt import MOST_PINGS, SubHuntProblem


class MiniRbcProblemParameters(Parameters):
    """Parameters of the problem ``mini_rbc``."""

    n: int = parameter(5, ge=LEAST_SIZE, le=GREATEST_SIZE, help="Squares on a side of the board")
    w: int = parameter(3, ge=1, le=GREATEST_SIZE, help="Squares on a side of a window")
    decoy: bool = parameter(False, help="Add a second hidden black piece")
    graded: bool = parameter(False, help="Use graded values instead of won and not proved")


class PhantomProblemParameters(Parameters):
    """Parameters of the problem ``phantom_lines``."""

    columns: int = parameter(3, ge=3, le=4, help="Columns of the board, which has three rows")


class HuntProblemParameters(Parameters):
    """Parameters of the problem ``sub_hunt``."""

    n: int = parameter(8, ge=NARROWEST_SEA, le=WIDEST_SEA, help="Squares on a side of the sea")
    pings: int = parameter(2, ge=0, le=MOST_PINGS, help="of a turn")
    blast: int = parameter(2, ge=1, le=WIDEST_SEA, help="Squares on a side of a charge's block")


def mini_rbc(parameters: MiniRbcProblemParameters) -> MiniRbcProblem:
    """Return king and rook against a hidden king.

    Raises:
      ValueError: the window is larger than the board.
    """
    given = parameters
    return MiniRbcProblem(given.n, given.w, decoy=given.decoy, graded=given.graded)


def phantom_lines(parameters: PhantomProblemParameters) -> PhantomLinesProblem:
    """Return phantom tic-tac-toe with line sensing."""
    return PhantomLinesProblem(parameters.columns)


def sub_hunt(parameters: HuntProblemParameters) -> SubHuntProblem:
    """Return the submarine hunt.

    Raises:
      ValueError: the block is larger than the sea.
    """
    return SubHuntProblem(parameters.n, parameters.pings, parameters.blast)
