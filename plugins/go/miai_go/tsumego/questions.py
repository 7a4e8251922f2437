"""Questions about a zone, and answers: what is asked of a prover, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import stack, stones

NO_BAN: Final = -1


class Goal(Enum):
    """What is to be reached: the capture of the target by the attacker, or life by the defender."""

    CAPTURE = stack.CAPTURE
    LIFE = stack.LIFE


class Master(Enum):
    """Who may retake a ko at once, as if it always had the larger threat; nobody: neither may."""

    NOBODY = stack.NO_MASTER
    ATTACKER = int(stones.ATTACKER)
    DEFENDER = int(stones.DEFENDER)


class Verdict(Enum):
    """What became of a question."""

    REACHED = "reached"
    PREVENTED = "prevented"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a zone.

    Attributes:
      attackers, defenders: stones as sets of points of the zone.
      side: who is to move, 0 the attacker, 1 the defender.
      ban: the point that may not be played because of a ko, -1 for none.
    """

    attackers: int
    defenders: int
    side: int
    ban: int = NO_BAN


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a question.

    Attributes:
      verdict: whether the goal can be forced.
      move: the best move found for the side to move, as a point of the zone, 63 for the pass;
        None where the position was decided by itself.
      nodes: positions that were made.
      entered: nodes that were gone down into.
      seconds: wall time.
      why: why it is unsolved, empty otherwise.
    """

    verdict: Verdict
    move: int | None
    nodes: int
    entered: int
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """Positions that searches met; all of shape (n,).

    Attributes:
      attackers, defenders: uint64, stones as sets of points of the zone.
      sides, bans: int64, as in `Place`.
      work: int64, positions that were made the last time it was gone down into.
    """

    attackers: NDArray[np.uint64]
    defenders: NDArray[np.uint64]
    sides: NDArray[np.int64]
    bans: NDArray[np.int64]
    work: NDArray[np.int64]
