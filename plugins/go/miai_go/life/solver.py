"""The questions of a problem: its status for both movers, the moves that solve it, seki, ko.

Some answers follow from others. A defender who is safe although the attacker moves first is safe
moving first, since he may pass. Mastery of kos only takes bans away from the master: a target that
is safe with the attacker as master is safe with nobody as one, and then with the defender.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

from miai_go.life.guiding import OrderingNet
from miai_go.life.problems import Problem
from miai_go.life.prover import Finding, Goal, Master, Place, ProofVerdict, Prover
from miai_go.life.status import Answer, ProblemReport
from miai_go.life.zones import ATTACKER, DEFENDER, Zone, find_zone

KO_MASTERS: Final = (Master.ATTACKER, Master.DEFENDER, Master.NOBODY)
"""Who may be ko master, the usual question first."""

_BY_FAVOUR: Final = (Master.ATTACKER, Master.NOBODY, Master.DEFENDER)
_PROVERS: Final = 4
_FIRST_SHARE = 0.5
"""Of what is left, what a question may take while others wait."""

_Key = tuple[Goal, Master, Place]


class Solver:
    """Answers the questions of one problem; what it found out it keeps for the next call.

    Args:
      problem: a zone, or a problem, whose zone is found.
      ko_masters: who is asked about as ko master. The status, the moves and seki are under the
        first; that a problem depends on ko is told where the attacker and the defender are among
        them.
      table_bytes: memory for what was found out, of all provers together.
      network: advises the provers what to look at first; see `Prover`.

    Raises:
      ProblemError: the problem has no zone, for the reason that is told.
    """

    def __init__(
        self,
        problem: Zone | Problem,
        *,
        ko_masters: Sequence[Master] = KO_MASTERS,
        table_bytes: int = 1 << 28,
        network: OrderingNet | None = None,
    ) -> None:
        self.zone = zone_of(problem)
        self.ko_masters = tuple(ko_masters)
        self._table_bytes = table_bytes // _PROVERS
        self._network = network
        self._provers: dict[tuple[Goal, Master], Prover] = {}
        self._verdicts: dict[_Key, ProofVerdict] = {}

    def prover(self, goal: Goal = Goal.CAPTURE, master: Master | None = None) -> Prover:
        """Return the prover of a goal and a ko master, the first one by default."""
        key = (goal, master or self.ko_masters[0])
        if key not in self._provers:
            self._provers[key] = Prover(
                self.zone,
                goal=goal,
                master=key[1],
                table_bytes=self._table_bytes,
                network=self._network,
            )
        return self._provers[key]

    def solve(
        self,
        *,
        first: int | None = None,
        moves: bool = True,
        seki: bool = True,
        seconds: float | None = 10.0,
        nodes: int | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> ProblemReport:
        """Return what is found out within the limits; what is not is left open, never guessed.

        Args:
          first: the mover, 0 the attacker, 1 the defender, for whom moves and seki are looked for;
            None for both.
          moves: look for all moves that solve the problem.
          seki: ask whether a target that is safe can be sure of two eyes.
          seconds, nodes: wall time, and positions made, for all questions together.
          stop: asked now and then whether to give up.
        """
        self.prover()  # loads the kernels before the clock runs
        run = _Run(self, seconds=seconds, nodes=nodes, stop=stop)
        sides = (ATTACKER, DEFENDER) if first is None else (first,)
        order = sides if first is None else (first, 1 - first)
        for share in (_FIRST_SHARE, 1.0):  # then what is still open gets all that is left
            run.share = share
            for master in self.ko_masters:
                for side in order:
                    run.safe(side, master)
            for side in sides:
                if moves:
                    run.moves(side)
                if seki:
                    run.seki(side)
        answers = {
            side: run.answer(side, moves=moves and side in sides, seki=seki and side in sides)
            for side in (ATTACKER, DEFENDER)
        }
        return ProblemReport(self.zone, answers, run.made, run.spent, run.why)


def solve(
    problem: Zone | Problem,
    *,
    first: int | None = None,
    ko_masters: Sequence[Master] = KO_MASTERS,
    moves: bool = True,
    seki: bool = True,
    seconds: float | None = 10.0,
    nodes: int | None = None,
    table_bytes: int = 1 << 28,
) -> ProblemReport:
    """Return what a `Solver` finds out about a problem.

    Raises:
      ProblemError: the problem has no zone, for the reason that is told.
    """
    solver = Solver(problem, ko_masters=ko_masters, table_bytes=table_bytes)
    return solver.solve(first=first, moves=moves, seki=seki, seconds=seconds, nodes=nodes)


def zone_of(problem: Zone | Problem) -> Zone:
    """Return the zone of a problem. Raises `ProblemError`."""
    return problem if isinstance(problem, Zone) else find_zone(problem.stones, problem.target)


class _Run:
    """One call: the limits, and the questions as far as they are answered.

    Attributes:
      share: the part of what is left that a question may take.
      made: positions that were made.
      why: why the last question that is open was given up.
    """

    def __init__(
        self,
        solver: Solver,
        *,
        seconds: float | None,
        nodes: int | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self._solver = solver
        self._main = solver.ko_masters[0]
        self._began = perf_counter()
        self._seconds, self._nodes, self._stop = seconds, nodes, stop
        self._open: dict[_Key, str] = {}
        self.share = 1.0
        self.made = 0

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self._began

    @property
    def why(self) -> str:
        """Why questions are open, the first that was asked; empty where none is."""
        return next(iter(self._open.values()), "")

    def safe(self, side: int, master: Master, *, ask: bool = True) -> bool | None:
        """Return whether the target is safe with a side moving first, None where unsolved."""
        known = self._follows(side, master)
        if known is not None or not ask:
            return known
        self._ask(Goal.CAPTURE, master, self._begin(side))
        return self._follows(side, master)

    def moves(self, side: int, *, ask: bool = True) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the first moves that solve the problem, and those that are open."""
        wanted = ProofVerdict.REACHED if side == ATTACKER else ProofVerdict.PREVENTED
        succeeds = self.safe(side, self._main, ask=False) == (side == DEFENDER)
        if not succeeds or self.needs_move(side) is False:
            return (), ()
        prover, zone = self._solver.prover(), self._solver.zone
        solving, unsolved = [], []
        for move, place in prover.moves(prover.begin(side)):
            point = zone.point(move)
            if point == zone.size**2:
                continue
            verdict = self._known(Goal.CAPTURE, self._main, place)
            if verdict is None and ask:
                verdict = self._ask(Goal.CAPTURE, self._main, place)
            if verdict == wanted:
                solving.append(point)
            elif verdict is None:
                unsolved.append(point)
        return tuple(sorted(solving)), tuple(sorted(unsolved))

    def needs_move(self, side: int) -> bool | None:
        """Return whether the side must move at once, None where unsolved or it cannot succeed."""
        if self.safe(side, self._main, ask=False) != (side == DEFENDER):
            return None
        passed = self.safe(1 - side, self._main, ask=False)
        return None if passed is None else passed != (side == DEFENDER)

    def seki(self, side: int, *, ask: bool = True) -> bool | None:
        """Return whether the target is safe, but cannot be made to live unconditionally."""
        safe = self.safe(side, self._main, ask=False)
        if not safe:
            return safe
        if self._known(Goal.LIFE, self._main, self._begin(ATTACKER)) == ProofVerdict.REACHED:
            return False  # sure of two eyes even if the attacker moves first
        place = self._begin(side)
        verdict = self._known(Goal.LIFE, self._main, place)
        if verdict is None and ask:
            verdict = self._ask(Goal.LIFE, self._main, place)
        return None if verdict is None else verdict == ProofVerdict.PREVENTED

    def answer(self, side: int, *, moves: bool, seki: bool) -> Answer:
        """Return what is known with a side moving first."""
        solving, unsolved = self.moves(side, ask=False) if moves else ((), ())
        return Answer(
            first=side,
            safe={m: self.safe(side, m, ask=False) for m in self._solver.ko_masters},
            needs_move=self.needs_move(side),
            moves=solving,
            open_moves=unsolved,
            seki=self.seki(side, ask=False) if seki else None,
            moves_asked=moves,
        )

    def _follows(self, side: int, master: Master) -> bool | None:
        """Return whether the target is safe, as far as what is known says so."""
        rank = _BY_FAVOUR.index(master)
        for safe, asked, masters in (
            (True, {ATTACKER, side}, _BY_FAVOUR[: rank + 1]),
            (False, {DEFENDER, side}, _BY_FAVOUR[rank:]),
        ):
            verdict = ProofVerdict.PREVENTED if safe else ProofVerdict.REACHED
            for each in masters:
                if any(self._known(Goal.CAPTURE, each, self._begin(s)) == verdict for s in asked):
                    return safe
        return None

    def _begin(self, side: int) -> Place:
        zone = self._solver.zone
        return Place(zone.attackers, zone.defenders, side)

    def _known(self, goal: Goal, master: Master, place: Place) -> ProofVerdict | None:
        return self._solver._verdicts.get((goal, master, place))

    def _ask(self, goal: Goal, master: Master, place: Place) -> ProofVerdict | None:
        key = (goal, master, place)
        finding = self._find(self._solver.prover(goal, master), place)
        self.made += finding.nodes
        if finding.verdict == ProofVerdict.UNSOLVED:
            self._open[key] = self._over() or finding.why
            return None
        self._open.pop(key, None)
        self._solver._verdicts[key] = finding.verdict
        return finding.verdict

    def _find(self, prover: Prover, place: Place) -> Finding:
        over = self._over()
        if over:
            return Finding(ProofVerdict.UNSOLVED, None, 0, 0, 0.0, over)
        seconds = nodes = None
        if self._seconds is not None:
            seconds = (self._seconds - self.spent) * self.share
        if self._nodes is not None:
            nodes = max(int((self._nodes - self.made) * self.share), 1)
        return prover.ask(place, nodes=nodes, seconds=seconds, stop=self._stop)

    def _over(self) -> str:
        """Return which limit is met, empty where none is."""
        if self._nodes is not None and self.made >= self._nodes:
            return f"{self._nodes:,} positions were made"
        if self._seconds is not None and self.spent >= self._seconds:
            return f"{self._seconds:g} s were over"
        return ""
