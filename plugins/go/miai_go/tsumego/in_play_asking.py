"""Questions about one group in play: what the player to move must do about it, if anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from miai_go.shipped import TSUMEGO
from miai_go.tsumego.prover import Master, load_prover
from miai_go.tsumego.solver import Solver
from miai_go.tsumego.status import Report
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone

if TYPE_CHECKING:
    from miai_go.tsumego.predicting import Predictor

_TABLE_BYTES: Final = 1 << 24
"""Memory of one group's provers, which is enough for what is asked in play."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a group for the player to move. Points are those of the board.

    Attributes:
      solved: whether nothing is left to be asked.
      moves: the moves that save the group, or kill it; empty where none does or none is needed.
      useless: points where a move does nothing for its life or death.
      sure: how sure that is, 1 for a proof.
      nodes: positions that this call looked at.
    """

    solved: bool
    moves: tuple[int, ...] = ()
    useless: tuple[int, ...] = ()
    sure: float = 1.0
    nodes: int = 0


class Question(Protocol):
    """What is asked about one group; it remembers what was found out."""

    def ask(self, *, nodes: int, seconds: float | None) -> Answer:
        """Return what is known; look at so many positions at most, for so many seconds."""


Asking = Callable[[Zone, int], Question]
"""Makes a question about a zone, with a colour to move, 1 black, 2 white."""


class SolverQuestion:
    """A question that is proved. Where a ko decides, the other side is held to win it.

    So a move that is told succeeds whoever has the larger threats. Only where a target is lost
    although its owner wins every ko are his moves called useless.

    Args:
      mover: the colour to move, 1 black, 2 white.
    """

    def __init__(self, zone: Zone, mover: int) -> None:
        self._side = DEFENDER if mover == zone.defender else ATTACKER
        own, other = Master.DEFENDER, Master.ATTACKER
        masters = (other, own) if self._side == DEFENDER else (own, other)
        self._solver: Solver | None = Solver(zone, ko_masters=masters, table_bytes=_TABLE_BYTES)
        self._answer = Answer(solved=False)

    def ask(self, *, nodes: int, seconds: float | None) -> Answer:
        """Return what is known, after going on with what is not."""
        if self._solver is None:
            return self._answer
        report = self._solver.solve(
            first=self._side, moves=True, seki=False, nodes=nodes, seconds=seconds
        )
        answer = self._read(report)
        if answer.solved:
            self._solver = None  # and its memory with it
        self._answer = replace(answer, nodes=0)
        return answer

    def _read(self, report: Report) -> Answer:
        zone, found = report.zone, report.answers[self._side]
        lost = self._side == DEFENDER and found.safe[Master.DEFENDER] is False
        useless = set(_empty(zone)) if found.moves or lost else set()
        useless -= {*found.moves, *found.open_moves}
        return Answer(
            solved=report.solved and not found.open_moves,
            moves=found.moves,
            useless=tuple(sorted(useless)),
            nodes=report.nodes,
        )


class NetworkQuestion:
    """A question that a network guesses: its policy's move where it holds the target for critical.

    Args:
      mover: the colour to move, 1 black, 2 white.
    """

    def __init__(self, zone: Zone, mover: int, predictor: Predictor) -> None:
        self._zone = zone
        self._side = DEFENDER if mover == zone.defender else ATTACKER
        self._predictor = predictor
        self._answer: Answer | None = None

    def ask(self, *, nodes: int, seconds: float | None) -> Answer:
        """Return what the network says; it takes a millisecond or two, and no positions."""
        if self._answer is None:
            self._answer = self._guess()
        return self._answer

    def _guess(self) -> Answer:
        (attacked, defended), logits = self._predictor.evaluate(self._zone)
        free = _empty(self._zone)
        if not free or not attacked < 0.5 <= defended:
            return Answer(solved=True)
        best = max(free, key=lambda point: float(logits[self._side, self._zone.number(point)]))
        if logits[self._side, self._zone.number(best)] == -np.inf:
            return Answer(solved=True)
        return Answer(solved=True, moves=(best,), sure=defended - attacked)


def asking(who: str) -> Asking:
    """Return who asks, "solver" or "net", with all that it takes loaded.

    Raises:
      WeightsError: the shipped network cannot be read.
    """
    if who == "solver":
        load_prover()
        return SolverQuestion
    from miai_go.tsumego.predicting import Predictor

    predictor = Predictor(TSUMEGO)
    predictor.load()
    return lambda zone, mover: NetworkQuestion(zone, mover, predictor)


def _empty(zone: Zone) -> list[int]:
    return [point for point in zone.points if zone.stones[point] == 0]
