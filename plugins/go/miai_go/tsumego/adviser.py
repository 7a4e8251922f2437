"""Advice to a search about enclosed groups: moves that save or kill them.

A proof of life or death is about a zone and ignores the rest of the board; only the search can tell
whether another move is bigger than the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from miai.parameters import Parameters
from miai_go.errors import ProblemError
from miai_go.rules.board import BLACK_STONE, WHITE_STONE, Board
from miai_go.rules.chains import connected_parts, diagonals, neighbours
from miai_go.rules.game import GoGame
from miai_go.search.advice import Advice
from miai_go.tsumego.shipped import NETWORK
from miai_go.tsumego.solver.prover import Master, load_prover
from miai_go.tsumego.solver.solver import ProblemReport, Solver
from miai_go.tsumego.zones import ATTACKER, DEFENDER, MAX_ZONE_POINTS, Zone, find_zone

if TYPE_CHECKING:
    from miai_go.tsumego.components import SolverAdviserParameters
    from miai_go.tsumego.networks.predictor import Predictor


_TABLE_BYTES: Final = 1 << 24
"""Memory of one group's provers, which is enough for the questions in play."""


@dataclass(frozen=True, slots=True)
class GroupAdvice:
    """Advice about one group for the player to move. Points are those of the board.

    Attributes:
      solved: whether every question is answered.
      moves: the moves that save the group, or kill it; empty if none does or none is needed.
      useless: points where a move does nothing for its life or death.
      confidence: 1 for a proof.
      nodes: positions that this call searched.
    """

    solved: bool
    moves: tuple[int, ...] = ()
    useless: tuple[int, ...] = ()
    confidence: float = 1.0
    nodes: int = 0


class Question(Protocol):
    """A question about one group, which remembers its partial answers."""

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
        """Return the advice after searching at most `nodes` positions for at most `seconds`."""


QuestionFactory = Callable[[Zone, int], Question]
"""Returns a question about a zone for a colour to move, 1 black, 2 white."""


class SolverQuestion:
    """A question that the solver proves, on the assumption that the opponent wins every ko.

    So its moves succeed regardless of ko threats. An owner's moves are called useless only if
    the target is lost although he wins every ko.
    """

    def __init__(self, zone: Zone, mover: int) -> None:
        self._side = DEFENDER if mover == zone.defender else ATTACKER
        own, other = Master.DEFENDER, Master.ATTACKER
        masters = (other, own) if self._side == DEFENDER else (own, other)
        self._solver: Solver | None = Solver(zone, ko_masters=masters, table_bytes=_TABLE_BYTES)
        self._answer = GroupAdvice(solved=False)

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
        """Return the advice, after continuing the search unless it is complete."""
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

    def _read(self, report: ProblemReport) -> GroupAdvice:
        zone, answer = report.zone, report.answers[self._side]
        lost = self._side == DEFENDER and answer.safe[Master.DEFENDER] is False
        empty = {point for point in zone.points if zone.stones[point] == 0}
        useless = empty if answer.moves or lost else set()
        useless -= {*answer.moves, *answer.open_moves}
        return GroupAdvice(
            solved=report.solved and not answer.open_moves,
            moves=answer.moves,
            useless=tuple(sorted(useless)),
            nodes=report.nodes,
        )


class NetworkQuestion:
    """A question that a network guesses: the policy's move if it finds the target critical."""

    def __init__(self, zone: Zone, mover: int, predictor: Predictor) -> None:
        self._zone = zone
        self._side = DEFENDER if mover == zone.defender else ATTACKER
        self._predictor = predictor

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
        """Return the network's advice, which takes a millisecond or two and no positions."""
        return self._answer

    @cached_property
    def _answer(self) -> GroupAdvice:
        from miai_go.tsumego.networks.predictor import best_move

        (attacked, defended), logits = self._predictor.evaluate(self._zone)
        move = best_move(self._zone, logits[self._side])
        if move is None or not attacked < 0.5 <= defended:
            return GroupAdvice(solved=True)
        return GroupAdvice(solved=True, moves=(move,), confidence=defended - attacked)


def solver_adviser(game: GoGame, parameters: SolverAdviserParameters) -> GroupAdviser:
    """Return the adviser ``solver``: proved answers."""
    load_prover()
    return GroupAdviser(SolverQuestion, nodes=parameters.nodes)


def network_adviser(game: GoGame, parameters: Parameters) -> GroupAdviser:
    """Return the adviser ``network``: guesses of the shipped network. Raises `WeightsError`."""
    from miai_go.tsumego.networks.predictor import Predictor

    predictor = Predictor(NETWORK)
    predictor.load()
    return GroupAdviser(lambda zone, mover: NetworkQuestion(zone, mover, predictor))


MOST_EMPTY: Final = 16
"""Maximum empty points of a zone; larger ones take too long in play."""

TIME_SHARE: Final = 0.2
"""Share of the seconds of a move that all questions together may take."""

_FULL: Final = 12
"""Stones of a group that counts in full; smaller ones count in proportion."""

_Key = tuple[bytes, tuple[int, ...], int, int, int]


class GroupAdviser:
    """Gives advice about the enclosed groups of a board, move after move of a game.

    Answers about unchanged groups are reused, and unsolved questions continued. `nodes` is the
    budget in positions for one board, all groups together; questions to a network take none.
    """

    def __init__(self, ask_about: QuestionFactory, *, nodes: int = 1) -> None:
        self._ask_about = ask_about
        self._nodes = nodes
        self._questions: dict[_Key, Question] = {}

    def look(self, board: Board, color: int, *, seconds: float | None = None) -> Advice:
        """Return the advice for a board: about the largest groups first, within the budgets.

        The weight of a move that saves or kills is 1 for a large group and a proof, less for
        smaller or less certain ones, summed over groups. Useless moves do nothing for the group in
        whose zone they are. The statistics are the numbers of groups (asked), of those with moves
        that decide (critical), of those solved, and of positions searched (nodes).

        Args:
          color: the player to move, 0 Black, 1 White.
          seconds: time of the move, of which this takes `TIME_SHARE`; None for no clock.
        """
        started, remaining = perf_counter(), self._nodes
        until = None if seconds is None else started + TIME_SHARE * seconds
        size, mover = board.size, color + 1
        weights, useless = np.zeros(size**2 + 1), np.zeros(size**2 + 1, np.bool_)
        groups = critical = proofs = 0
        questions: dict[_Key, Question] = {}
        for stones, zone in enclosed(board.stones().ravel(), ko=board.ko_point):
            rest = None if until is None else until - perf_counter()
            if remaining <= 0 or (rest is not None and rest <= 0):
                break
            key = _key(zone, mover)
            question = self._questions.get(key) or self._ask_about(zone, mover)
            questions[key] = question
            # Half of what is left for each, so that one hard group does not starve the others.
            half = None if rest is None else rest / 2
            answer = question.ask(nodes=(remaining + 1) // 2, seconds=half)
            remaining -= answer.nodes
            groups, proofs = groups + 1, proofs + answer.solved
            critical += bool(answer.moves)
            weights[list(answer.moves)] += answer.confidence * min(stones / _FULL, 1.0)
            useless[list(answer.useless)] = True
        # The other player's questions stay for his next move; those of groups that are gone do not.
        others = {k: q for k, q in self._questions.items() if k[-1] // 3 != mover}
        self._questions = {**others, **questions}
        nodes = self._nodes - remaining
        statistics = {"asked": groups, "critical": critical, "solved": proofs, "nodes": nodes}
        return Advice(weights, useless & (weights == 0), statistics)


def enclosed(stones: NDArray[np.int8], *, ko: int | None = None) -> Iterator[tuple[int, Zone]]:
    """Yield the blocks of a board that have a small enough zone: their stones, and the zone.

    The largest come first. A zone in which a ko was just taken, at the point `ko`, is left out,
    since a zone cannot forbid its first move.

    Args:
      stones: int8 of shape (size * size,), 0 empty, 1 black, 2 white.
    """
    size = round(len(stones) ** 0.5)
    blocks: list[tuple[int, int, int]] = []
    for defender in (BLACK_STONE, WHITE_STONE):
        for room in _rooms(stones, size, defender):
            own = {point for point in room if stones[point] == defender}
            chains = connected_parts(own, lambda point: neighbours(point, size))
            blocks += [(-len(chain), min(chain), min(room)) for chain in chains]
    refusals: set[tuple[int, int]] = set()  # blocks of one room have zones of the same points
    for count, point, corner in sorted(blocks):
        where = (int(stones[point]), corner)
        if where in refusals:
            continue
        zone = None
        with suppress(ProblemError):
            zone = find_zone(stones, point)
        if zone is None or zone.empty > MOST_EMPTY or ko in zone.points:
            refusals.add(where)
        else:
            yield -count, zone


def _rooms(stones: NDArray[np.int8], size: int, defender: int) -> Iterator[set[int]]:
    """Yield the regions that the attacker's stones enclose and that are small enough."""
    attacker = BLACK_STONE + WHITE_STONE - defender
    free = set(np.flatnonzero(stones != attacker).tolist())
    for room in connected_parts(
        free, lambda point: (*neighbours(point, size), *diagonals(point, size))
    ):
        empty = sum(1 for point in room if stones[point] == 0)
        if len(room) <= MAX_ZONE_POINTS and empty <= MOST_EMPTY:
            yield room


def _key(zone: Zone, mover: int) -> _Key:
    return (
        zone.words.tobytes(),
        zone.points,
        zone.attackers,
        zone.defenders,
        # `GroupAdviser.look` reads the mover from this number.
        mover * 3 + zone.defender,
    )
