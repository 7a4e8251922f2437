"""A problem as an exercise: a person plays one side, the proof answers for the other.

The person takes the side that succeeds by moving first. Every move is judged by a search: a move
after which the side no longer succeeds is refuted, and one after which it still does is answered by
the move that leaves it the fewest ways to go on. The attacker may retake every ko at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.proof_tree import board_ending
from miai_go.tsumego.solver.prover import NO_BAN, SUCCESS, ProofVerdict, ZonePosition
from miai_go.tsumego.solver.solver import ProblemReport, Solver, Status
from miai_go.tsumego.zones import ATTACKER, DEFENDER

MOST_MOVES: Final = 100
"""Maximum number of moves in a line."""
_REPLY_NODES: Final = 50_000
_LONGEST_SEQUEL: Final = 30


class MoveVerdict(Enum):
    """What a move has come to."""

    RIGHT = "right"
    SOLVED = "solved"
    WRONG = "wrong"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ExerciseReply:
    """The answer to a person's move. Points are those of the board; ``size * size`` is a pass.

    Attributes:
      verdict: `RIGHT` if the side still succeeds, `SOLVED` if the board shows that it has, `WRONG`
        if the other side's answer refutes the move, `OPEN` if the search reached its limit.
      line: all moves so far, with the answer if there is one.
      reason: what ends the line; empty if it goes on.
      sequel: after a wrong move, how the refutation goes on, `line` first.
    """

    verdict: MoveVerdict
    line: tuple[int, ...]
    reason: str = ""
    sequel: tuple[int, ...] = ()


class Exercise:
    """A problem to be solved by a person.

    Args:
      problem: the problem.
      nodes: maximum number of positions for each search.
      table_bytes: memory limit for the tables of the search.

    Attributes:
      learner: the side that the person plays, 0 the attacker, 1 the defender; None if neither side
        succeeds only by moving first, or nothing is proved within the limit.

    Raises:
      ProblemError: the problem has no zone; the message says why.
    """

    def __init__(
        self, problem: Problem, *, nodes: int = 1_000_000, table_bytes: int = 1 << 26
    ) -> None:
        self.problem = problem
        self._nodes = nodes
        self._solver = Solver(problem, table_bytes=table_bytes)
        self.zone = self._solver.zone
        self._prover = self._solver.prover()
        self._report: ProblemReport | None = None
        self.learner = self._learner()

    def _learner(self) -> int | None:
        sides = [ATTACKER, DEFENDER]
        if self.problem.to_play is not None:
            sides = [ATTACKER if self.problem.to_play == self.zone.attacker else DEFENDER]
        for side in sides:
            wanted, passed = SUCCESS[side], self._prover.begin(1 - side)
            begun = self._verdict(self._prover.begin(side), self._nodes)
            if begun == wanted and self._verdict(passed, self._nodes) not in (
                wanted,
                ProofVerdict.UNSOLVED,
            ):
                return side
        return None

    @property
    def report(self) -> ProblemReport:
        """The status for both first movers, as far as it is proved within the limit."""
        if self._report is None:
            self._report = self._solver.solve(seconds=None, nodes=4 * self._nodes)
        return self._report

    def stones(self, line: Sequence[int] = ()) -> NDArray[np.int8]:
        """Return the board after a line, int8 of shape (size, size), row 0 lowest.

        Raises:
          ProblemError: a move is not legal.
        """
        place, zone = self._place(line), self.zone
        stones = zone.stones.copy()
        for number, point in enumerate(zone.points):
            attacked, defended = place.attackers >> number & 1, place.defenders >> number & 1
            stones[point] = zone.attacker * attacked + zone.defender * defended
        return stones.reshape(zone.size, zone.size)

    def choices(self, line: Sequence[int] = ()) -> list[int]:
        """Return the moves after a line: points of the zone, and the pass last.

        Raises:
          ProblemError: a move is not legal.
        """
        pass_ = self.zone.size**2
        moves = [self.zone.point(move) for move, _ in self._prover.moves(self._place(line))]
        return [*(move for move in moves if move != pass_), pass_]

    def play(self, line: Sequence[int], move: int) -> ExerciseReply:
        """Return the answer to the person's move after a line.

        Raises:
          ProblemError: it is not the person's turn, or a move is not legal.
        """
        if self.learner is None or len(line) % 2 or len(line) >= MOST_MOVES:
            raise ProblemError("it is not your turn; begin again")
        before = self._place(line)
        place, played = self._after(before, move), (*line, move)
        settled = self._settled(place, self.learner)
        verdict = settled or self._verdict(place, self._nodes)
        if verdict == ProofVerdict.UNSOLVED:
            reason = f"the search reached its limit of {self._nodes} positions"
            return ExerciseReply(MoveVerdict.OPEN, played, reason)
        if verdict != SUCCESS[self.learner]:
            return self._refuted(place, played)
        if settled is not None:
            return ExerciseReply(MoveVerdict.SOLVED, played, self._ending(place))
        answer = self._resistance(place)
        if answer is None:
            return ExerciseReply(
                MoveVerdict.SOLVED, played, "the other side has no useful move left"
            )
        answered, line = self._after(place, answer), (*played, answer)
        if self._settled(answered, self.learner) is not None:
            return ExerciseReply(MoveVerdict.SOLVED, line, self._ending(answered))
        if len(line) >= MOST_MOVES:
            return ExerciseReply(
                MoveVerdict.OPEN, line, f"the line is longer than {MOST_MOVES} moves"
            )
        return ExerciseReply(MoveVerdict.RIGHT, line)

    def solution(self, line: Sequence[int] = ()) -> tuple[int, ...]:
        """Return a line on which the person's side succeeds; empty if there is none.

        Raises:
          ProblemError: a move is not legal.
        """
        place = self._place(line)
        if self.learner is None or self._verdict(place, self._nodes) != SUCCESS[self.learner]:
            return ()
        return self._continued(place, tuple(line), self.learner)

    # -- moves ---------------------------------------------------------------------------------

    def _place(self, line: Sequence[int]) -> ZonePosition:
        place = self._prover.begin(self.learner or ATTACKER)
        for move in line:
            place = self._after(place, move)
        return place

    def _after(self, place: ZonePosition, move: int) -> ZonePosition:
        zone = self.zone
        for number, child in self._prover.moves(place):
            if zone.point(number) == move:
                return child
        if move != zone.size**2:
            raise ProblemError("this move is not legal here; begin again")
        return replace(place, side=1 - place.side, ban=NO_BAN)

    def _verdict(self, place: ZonePosition, nodes: int) -> ProofVerdict:
        return self._prover.settled(place) or self._prover.ask(place, nodes=nodes).verdict

    def _settled(self, place: ZonePosition, side: int) -> ProofVerdict | None:
        """Return the verdict if the board shows that a side has succeeded, otherwise None."""
        settled = self._prover.settled(place)
        return settled if settled == SUCCESS[side] else None

    def _winning(self, place: ZonePosition) -> int | None:
        """Return a move of the side to move that succeeds, one that ends the line if there is."""
        wanted, proved = SUCCESS[place.side], []
        best = self._prover.ask(place, nodes=self._nodes).move
        moves = self._prover.moves(place)
        for move, after in sorted(moves, key=lambda each: each[0] != best):
            if self._prover.settled(after) == wanted:
                return self.zone.point(move)
            if self._verdict(after, self._nodes) == wanted:
                proved.append(move)
        return self.zone.point(proved[0]) if proved else None

    def _resistance(self, place: ZonePosition) -> int | None:
        """Return the move after which the other side has the fewest ways to succeed."""
        winner = 1 - place.side
        best: tuple[tuple[bool, int], int] | None = None
        for move, after in self._prover.moves(place):
            point = self.zone.point(move)
            if self._prover.settled(after) is not None:
                rank = (True, 0)
            else:
                # The fewer replies succeed, the more the person has to find.
                replies = self._prover.moves(after)
                verdicts = (self._verdict(each, _REPLY_NODES) for _, each in replies)
                rank = (False, sum(verdict == SUCCESS[winner] for verdict in verdicts))
            if point == self.zone.size**2:
                rank = (True, 1)  # a pass only if nothing else goes on
            if best is None or rank < best[0]:
                best = rank, point
        return None if best is None else best[1]

    def _refuted(self, place: ZonePosition, line: tuple[int, ...]) -> ExerciseReply:
        answer = self._winning(place)
        if answer is None:  # the other side need not move
            answer = self.zone.size**2
        answered = self._after(place, answer)
        line = (*line, answer)
        return ExerciseReply(
            MoveVerdict.WRONG,
            line,
            self._ending(answered),
            self._continued(answered, line, place.side),
        )

    def _continued(
        self, place: ZonePosition, line: tuple[int, ...], winner: int
    ) -> tuple[int, ...]:
        """Return a line with its continuation until the board shows that a side has succeeded."""
        seen = {place}
        for _ in range(_LONGEST_SEQUEL):
            if self._settled(place, winner) is not None:
                break
            move = self._winning(place) if place.side == winner else self._resistance(place)
            if move is None:
                break
            place = self._after(place, move)
            line = (*line, move)
            if place in seen:
                break
            seen.add(place)
        return line

    def _ending(self, place: ZonePosition) -> str:
        ending = board_ending(self._prover, place)
        return ending.value if ending else ""


def status_text(report: ProblemReport) -> str:
    """Return the status as a sentence."""
    return {
        Status.ALIVE: "Alive: the target lives even if the attacker moves first.",
        Status.DEAD: "Dead: the target is captured even if the defender moves first.",
        Status.CRITICAL: "Critical: the side that moves first succeeds.",
        Status.KO: "Ko: who succeeds depends on who wins a ko.",
        Status.UNSOLVED: f"Unsolved: {report.why}.",
    }[report.status]
