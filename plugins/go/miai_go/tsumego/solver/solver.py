"""Solving a problem: its status for both first movers, the solving moves, seki, ko.

Some answers follow from others. A target that is safe with the attacker first is safe with the
defender first, who may pass. Being ko master only lifts bans: a target that is safe with the
attacker as master is safe with nobody as master, and then with the defender.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Final

from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.ordering_net import OrderingNet
from miai_go.tsumego.solver.prover import (
    SUCCESS,
    Finding,
    Goal,
    Master,
    ProofVerdict,
    Prover,
    ZonePosition,
    limit_reached,
)
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

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
    needs_move: bool | None
    moves: tuple[int, ...]
    open_moves: tuple[int, ...]
    seki: bool | None
    moves_asked: bool

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
    why: str

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


KO_MASTERS: Final = (Master.ATTACKER, Master.DEFENDER, Master.NOBODY)
"""The ko masters to ask about, the usual one first."""

# From the ko master who favours the attacker most to the one who favours him least.
_BY_FAVOUR: Final = (Master.ATTACKER, Master.NOBODY, Master.DEFENDER)
_PROVERS: Final = 4
_FIRST_SHARE: Final = 0.5
"""Share of the remaining budget for one question while others wait."""

_Key = tuple[Goal, Master, ZonePosition]


class Solver:
    """Solves one problem, and keeps its results for the next call.

    Args:
      problem: a zone, or a problem, whose zone is found.
      ko_masters: the ko masters to ask about. Status, moves and seki are for the first; the status
        can depend on ko only if the attacker and the defender are among them.
      table_bytes: memory limit for the tables of all provers together.
      network: orders the provers' search; see `Prover`.

    Raises:
      ProblemError: the problem has no zone; the message says why.
    """

    def __init__(
        self,
        problem: Zone | Problem,
        *,
        ko_masters: Sequence[Master] = KO_MASTERS,
        table_bytes: int = 1 << 28,
        network: OrderingNet | None = None,
    ) -> None:
        if isinstance(problem, Problem):
            problem = find_zone(problem.stones, problem.target)
        self.zone = problem
        self.ko_masters = tuple(ko_masters)
        self._table_bytes = table_bytes // _PROVERS  # capture for three ko masters, and life
        self._network = network
        self._provers: dict[tuple[Goal, Master], Prover] = {}
        self._verdicts: dict[_Key, ProofVerdict] = {}

    def prover(self, goal: Goal = Goal.CAPTURE, master: Master | None = None) -> Prover:
        """Return the prover for a goal and a ko master, by default the first."""
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
    ) -> ProblemReport:
        """Return what is proved within the limits; the rest stays open and is never guessed.

        Args:
          first: first mover for which to search for moves and seki, 0 the attacker, 1 the defender;
            None for both.
          moves: find all moves that solve the problem.
          seki: find out whether a safe target can be sure of two eyes.
          seconds, nodes: limits of wall time and positions, for all questions together.
        """
        self.prover()  # loads the kernels before the clock runs
        run = _Run(self, seconds=seconds, nodes=nodes)
        sides = (ATTACKER, DEFENDER) if first is None else (first,)
        order = sides if first is None else (first, 1 - first)
        for share in (_FIRST_SHARE, 1.0):  # in the second round, open questions get the rest
            run.share = share
            # Statuses before moves: they matter most, and with them many questions about moves and
            # seki need not be asked.
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
        return ProblemReport(self.zone, answers, run.searched, run.spent, run.why)


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
    """Solve a problem once; see `Solver.solve`.

    Raises:
      ProblemError: the problem has no zone; the message says why.
    """
    solver = Solver(problem, ko_masters=ko_masters, table_bytes=table_bytes)
    return solver.solve(first=first, moves=moves, seki=seki, seconds=seconds, nodes=nodes)


class _Run:
    """One call of `Solver.solve`: its limits, and the answers so far.

    Attributes:
      share: the share of the remaining budget that one question may take.
      searched: positions searched.
    """

    def __init__(self, solver: Solver, *, seconds: float | None, nodes: int | None) -> None:
        self._solver = solver
        self._main = solver.ko_masters[0]
        self._began = perf_counter()
        self._seconds, self._nodes = seconds, nodes
        self._open: dict[_Key, str] = {}
        self.share = 1.0
        self.searched = 0

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self._began

    @property
    def why(self) -> str:
        """Why the first open question is open; empty if none is."""
        return next(iter(self._open.values()), "")

    def safe(self, side: int, master: Master, *, ask: bool = True) -> bool | None:
        """Return whether the target is safe with a side moving first; None if unsolved."""
        answer = self._derived(side, master)
        if answer is not None or not ask:
            return answer
        self._ask(Goal.CAPTURE, master, self._begin(side))
        return self._derived(side, master)

    def moves(self, side: int, *, ask: bool = True) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the first moves that solve the problem, and those that are unsolved."""
        # Where a pass succeeds too, nearly every move would solve the problem.
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
            if verdict == SUCCESS[side]:
                solving.append(point)
            elif verdict is None:
                unsolved.append(point)
        return tuple(sorted(solving)), tuple(sorted(unsolved))

    def needs_move(self, side: int) -> bool | None:
        """Return whether the side must move at once; None if unsolved or if it fails anyway."""
        if self.safe(side, self._main, ask=False) != (side == DEFENDER):
            return None
        passed = self.safe(1 - side, self._main, ask=False)
        return None if passed is None else passed != (side == DEFENDER)

    def seki(self, side: int, *, ask: bool = True) -> bool | None:
        """Return whether the target is safe but cannot be searched to live unconditionally."""
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
        """Return the answer so far with a side moving first."""
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

    def _derived(self, side: int, master: Master) -> bool | None:
        """Return whether the target is safe, if that follows from the verdicts so far."""
        # Safe for a master who favours the attacker as much, or more, is safe; lost likewise the
        # other way. The defender may pass, and so may the attacker.
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

    def _begin(self, side: int) -> ZonePosition:
        zone = self._solver.zone
        return ZonePosition(zone.attackers, zone.defenders, side)

    def _known(self, goal: Goal, master: Master, place: ZonePosition) -> ProofVerdict | None:
        return self._solver._verdicts.get((goal, master, place))

    def _ask(self, goal: Goal, master: Master, place: ZonePosition) -> ProofVerdict | None:
        key = (goal, master, place)
        finding = self._find(self._solver.prover(goal, master), place)
        self.searched += finding.nodes
        if finding.verdict == ProofVerdict.UNSOLVED:
            over = limit_reached(self.searched, self._nodes, self.spent, self._seconds)
            self._open[key] = over or finding.why
            return None
        self._open.pop(key, None)
        self._solver._verdicts[key] = finding.verdict
        return finding.verdict

    def _find(self, prover: Prover, place: ZonePosition) -> Finding:
        over = limit_reached(self.searched, self._nodes, self.spent, self._seconds)
        if over:
            return Finding(ProofVerdict.UNSOLVED, None, 0, 0, 0.0, over)
        # A question gets a share of what is left, so that one hard proof does not starve the rest.
        seconds = nodes = None
        if self._seconds is not None:
            seconds = (self._seconds - self.spent) * self.share
        if self._nodes is not None:
            nodes = max(int((self._nodes - self.searched) * self.share), 1)
        return prover.ask(place, nodes=nodes, seconds=seconds)
