"""What was found out about a problem: whether the target is safe, for either first mover."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from miai_go.life.prover import Master
from miai_go.life.zones import ATTACKER, DEFENDER, Zone
from miai_go.rules.coordinates import vertex

SIDE_NAMES: Final = {ATTACKER: "attacker", DEFENDER: "defender"}


class Status(Enum):
    """What becomes of the target.

    `ALIVE`: safe even if the attacker moves first. `DEAD`: unsafe even if the defender does.
    `CRITICAL`: whoever moves first succeeds. `KO`: the answer for some first mover is another one
    with the attacker as ko master than with the defender. `UNSOLVED`: not known.
    """

    ALIVE = "alive"
    CRITICAL = "critical"
    DEAD = "dead"
    KO = "ko-dependent"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known with one side moving first. Points are those of the board.

    Attributes:
      first: who moves first, 0 the attacker, 1 the defender.
      safe: for each ko master that was asked about, whether the target is safe; None: unsolved. The
        first is the one that the other attributes are about.
      needs_move: whether who moves first must move at once to succeed; False where a pass does as
        well, None where that is unsolved or the first mover does not succeed.
      moves: the first moves that solve the problem, each proved by itself, ascending; empty where
        no move is needed.
      open_moves: first moves of which it is not known whether they do.
      seki: whether the target is safe without ever being sure of two eyes; None where that is
        unsolved, or was not asked.
      moves_asked: whether moves were looked for; where they were not, none are named.
    """

    first: int
    safe: dict[Master, bool | None]
    needs_move: bool | None = None
    moves: tuple[int, ...] = ()
    open_moves: tuple[int, ...] = ()
    seki: bool | None = None
    moves_asked: bool = True

    @property
    def is_safe(self) -> bool | None:
        """Whether the target is safe, under the first of the ko masters."""
        return next(iter(self.safe.values()))

    @property
    def succeeds(self) -> bool | None:
        """Whether who moves first takes the target, as the attacker, or saves it."""
        safe = self.is_safe
        return None if safe is None else safe == (self.first == DEFENDER)

    @property
    def depends_on_ko(self) -> bool | None:
        """Whether the attacker as ko master makes another verdict than the defender as one."""
        by = [self.safe.get(master) for master in (Master.ATTACKER, Master.DEFENDER)]
        return None if None in by else by[0] != by[1]


@dataclass(frozen=True, slots=True, eq=False)
class ProblemReport:
    """All that was found out about a problem.

    Attributes:
      zone: where it is fought out.
      answers: for the attacker and for the defender as first mover.
      nodes: positions that were made.
      seconds: wall time.
      why: why something is unsolved; empty where nothing is.
    """

    zone: Zone
    answers: dict[int, Answer]
    nodes: int
    seconds: float
    why: str = ""

    @property
    def status(self) -> Status:
        """The status, under the first of the ko masters where no ko decides."""
        attacked, defended = self.answers[ATTACKER], self.answers[DEFENDER]
        on_ko = (attacked.depends_on_ko, defended.depends_on_ko)
        if True in on_ko:
            return Status.KO
        asked = Master.ATTACKER in attacked.safe and Master.DEFENDER in attacked.safe
        if None in (attacked.is_safe, defended.is_safe) or (asked and None in on_ko):
            return Status.UNSOLVED
        if attacked.is_safe:
            return Status.ALIVE
        return Status.CRITICAL if defended.is_safe else Status.DEAD

    @property
    def solved(self) -> bool:
        """Whether the status is known."""
        return self.status != Status.UNSOLVED

    def first_answer(self, color: int) -> Answer:
        """Return the answer with a colour moving first, 1 black, 2 white."""
        return self.answers[DEFENDER if color == self.zone.defender else ATTACKER]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, points as players write them."""
        row: dict[str, Any] = {"status": self.status.value}
        for side, answer in self.answers.items():
            row[f"{SIDE_NAMES[side]}_first"] = {
                "safe": answer.is_safe,
                "by_ko_master": {m.name.lower(): safe for m, safe in answer.safe.items()},
                "needs_move": answer.needs_move,
                "moves_asked": answer.moves_asked,
                "moves": self._names(answer.moves),
                "open_moves": self._names(answer.open_moves),
                "seki": answer.seki,
            }
        row |= {"points": len(self.zone.points), "empty": self.zone.empty}
        return row | {"nodes": self.nodes, "seconds": round(self.seconds, 4), "why": self.why}

    def _names(self, points: tuple[int, ...]) -> list[str]:
        return [vertex(point, self.zone.size) for point in points]
