"""Results of a problem: statuses, and whether the target is safe for either first mover."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from miai_go.life.prover import Master
from miai_go.life.zones import ATTACKER, DEFENDER, Zone
from miai_go.rules.coordinates import vertex

SIDE_NAMES: Final = {ATTACKER: "attacker", DEFENDER: "defender"}


class Status(Enum):
    """Status of the target.

    `ALIVE`: safe even if the attacker moves first. `DEAD`: unsafe even if the defender does.
    `CRITICAL`: the side that moves first succeeds. `KO`: for some first mover, the answer depends
    on whether the attacker or the defender is ko master. `UNSOLVED`: unknown.
    """

    ALIVE = "alive"
    CRITICAL = "critical"
    DEAD = "dead"
    KO = "ko-dependent"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer with one side moving first. Points are those of the board.

    Attributes:
      first: the side that moves first, 0 the attacker, 1 the defender.
      safe: for each ko master in question, whether the target is safe; None if unsolved. The other
        attributes are for the first of the ko masters.
      needs_move: whether the first mover must move at once to succeed; False if a pass succeeds
        too, None if unsolved or if the first mover fails.
      moves: the first moves that solve the problem, each proved separately, ascending; empty if no
        move is needed.
      open_moves: first moves whose result is unsolved.
      seki: whether the target is safe without a guarantee of two eyes; None if unsolved or not
        asked.
      moves_asked: whether solving moves were searched for.
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
        """Whether the first mover captures the target, as the attacker, or saves it."""
        safe = self.is_safe
        return None if safe is None else safe == (self.first == DEFENDER)

    @property
    def depends_on_ko(self) -> bool | None:
        """Whether the verdicts with the attacker and the defender as ko master differ."""
        strict, mild = (self.safe.get(m) for m in (Master.ATTACKER, Master.DEFENDER))
        return None if strict is None or mild is None else strict != mild


@dataclass(frozen=True, slots=True, eq=False)
class ProblemReport:
    """Results of solving a problem.

    Attributes:
      zone: the zone of the problem.
      answers: by first mover, the attacker and the defender.
      nodes: positions searched.
      seconds: wall time.
      why: why something is unsolved; otherwise empty.
    """

    zone: Zone
    answers: dict[int, Answer]
    nodes: int
    seconds: float
    why: str = ""

    @property
    def status(self) -> Status:
        """The status; unless it depends on ko, under the first of the ko masters."""
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
        """Return the report as plain data, with points as vertices."""
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
