"""Advice about enclosed groups at the root of a search: moves that save or kill them.

Nothing is forced. A proof of life or death is about a zone and ignores the rest of the board; only
the search can tell whether another move is bigger than the group. So the advice weighs as much as
some simulations (S. Gelly, D. Silver, "Combining online and offline knowledge in UCT", 2007), or as
a part of the priors, and enough simulations outweigh it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.life.prover import Master, load_prover
from miai_go.life.solver import ProblemReport, Solver
from miai_go.life.zones import ATTACKER, DEFENDER, MAX_ZONE_POINTS, Zone, find_zone
from miai_go.rules.board import BLACK_STONE, WHITE_STONE, Board
from miai_go.shipped import TSUMEGO

if TYPE_CHECKING:
    from miai_go.nets.life_predicting import Predictor


_TABLE_BYTES: Final = 1 << 24
"""Memory of one group's provers, which is enough for what is asked in play."""


@dataclass(frozen=True, slots=True)
class GroupAdvice:
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

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
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
        self._answer = GroupAdvice(solved=False)

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
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

    def _read(self, report: ProblemReport) -> GroupAdvice:
        zone, found = report.zone, report.answers[self._side]
        lost = self._side == DEFENDER and found.safe[Master.DEFENDER] is False
        useless = set(_empty(zone)) if found.moves or lost else set()
        useless -= {*found.moves, *found.open_moves}
        return GroupAdvice(
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
        self._answer: GroupAdvice | None = None

    def ask(self, *, nodes: int, seconds: float | None) -> GroupAdvice:
        """Return what the network says; it takes a millisecond or two, and no positions."""
        if self._answer is None:
            self._answer = self._guess()
        return self._answer

    def _guess(self) -> GroupAdvice:
        (attacked, defended), logits = self._predictor.evaluate(self._zone)
        free = _empty(self._zone)
        if not free or not attacked < 0.5 <= defended:
            return GroupAdvice(solved=True)
        best = max(free, key=lambda point: float(logits[self._side, self._zone.number(point)]))
        if logits[self._side, self._zone.number(best)] == -np.inf:
            return GroupAdvice(solved=True)
        return GroupAdvice(solved=True, moves=(best,), sure=defended - attacked)


def asking(who: str) -> Asking:
    """Return who asks, "solver" or "net", with all that it takes loaded.

    Raises:
      WeightsError: the shipped network cannot be read.
    """
    if who == "solver":
        load_prover()
        return SolverQuestion
    from miai_go.nets.life_predicting import Predictor

    predictor = Predictor(TSUMEGO)
    predictor.load()
    return lambda zone, mover: NetworkQuestion(zone, mover, predictor)


def _empty(zone: Zone) -> list[int]:
    return [point for point in zone.points if zone.stones[point] == 0]


MOST_EMPTY: Final = 16
"""Empty points of a zone at most: larger ones take too long in play."""

TIME_SHARE: Final = 0.2
"""Of the seconds of a move, what all questions may take together."""

_FULL: Final = 12
"""Stones of a group that counts in full; a smaller one counts in proportion."""
_WINS: Final = 30
_LOSSES: Final = 5
_DOUBTED: Final = 0.2
"""What is left of the prior of a move that does nothing for its group."""

_Key = tuple[bytes, tuple[int, ...], int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """What the answers favour at a root.

    Attributes:
      weights: of moves that save or kill, float64 of shape (size * size + 1,), pass last: 1 for a
        large group and a proof, less for less, more where it is about several groups; 0 for most.
      useless: moves that do nothing for the group in whose zone they are, bool of that shape.
      statistics: how many groups were asked about, how many of them have such moves and are solved,
        and the positions it took.
    """

    weights: NDArray[np.float64]
    useless: NDArray[np.bool_]
    statistics: dict[str, int]

    def results(self) -> NDArray[np.int32]:
        """Return virtual results of moves, (size * size + 1,): wins, or losses below 0."""
        wins = np.rint(_WINS * self.weights).astype(np.int32)
        return np.where(self.useless, -_LOSSES, wins).astype(np.int32)

    def mixed(self, priors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return priors of shape (size * size + 1,), of the same sum, with the advice mixed in.

        A move without a prior gets none.
        """
        out = np.where(self.useless, _DOUBTED * priors, priors)
        out = out + np.where(priors > 0, self.weights, 0.0)
        total = out.sum()
        return out * (priors.sum() / total) if total > 0 else priors


class InPlay:
    """Asks about the enclosed groups of one board after another, as a game goes on.

    A group that is unchanged is not asked about again, and what was not solved is gone on with.

    Args:
      asking: makes the questions.
      nodes: positions for one board, of all groups together.
    """

    def __init__(self, asking: Asking, *, nodes: int) -> None:
        self._asking = asking
        self._nodes = nodes
        self._kept: dict[_Key, Question] = {}

    def look(self, board: Board, color: int, *, seconds: float | None = None) -> Advice:
        """Return what is to be favoured.

        The same boards in the same order get the same advice, unless seconds are limited.

        Args:
          color: who is to move, 0 Black, 1 White.
          seconds: the time of the move, of which a share is taken; None for no clock.
        """
        started, left = perf_counter(), self._nodes
        until = None if seconds is None else started + TIME_SHARE * seconds
        size, mover = board.size, color + 1
        weights, useless = np.zeros(size**2 + 1), np.zeros(size**2 + 1, np.bool_)
        asked = critical = solved = 0
        kept: dict[_Key, Question] = {}
        for stones, zone in enclosed(board.stones().reshape(-1), ko=board.ko_point):
            rest = None if until is None else until - perf_counter()
            if left <= 0 or (rest is not None and rest <= 0):
                break
            key = _key(zone, mover)
            question = kept[key] = self._kept.get(key) or self._asking(zone, mover)
            half = None if rest is None else rest / 2
            answer = question.ask(nodes=(left + 1) // 2, seconds=half)
            left -= answer.nodes
            asked, solved = asked + 1, solved + answer.solved
            critical += bool(answer.moves)
            weights[list(answer.moves)] += answer.sure * min(stones / _FULL, 1.0)
            useless[list(answer.useless)] = True
        self._kept = kept
        told = {"asked": asked, "critical": critical, "solved": solved, "nodes": self._nodes - left}
        return Advice(weights, useless & (weights == 0), told)


def enclosed(stones: NDArray[np.int8], *, ko: int | None = None) -> Iterator[tuple[int, Zone]]:
    """Yield the blocks of a board that have a zone which is small enough, the largest first.

    A zone in which a ko was just taken is left out, since a zone knows of no ban at its beginning.

    Args:
      stones: int8 of shape (size * size,), 0 empty, 1 black, 2 white.
      ko: the point that may not be played because of a ko.

    Yields:
      how many stones the block has, and its zone.
    """
    size = round(len(stones) ** 0.5)
    blocks: list[tuple[int, int, int]] = []
    for defender in (BLACK_STONE, WHITE_STONE):
        for room in _rooms(stones, size, defender):
            own = {point for point in room if stones[point] == defender}
            blocks += [(-len(b), min(b), min(room)) for b in _parts(own, size, _near)]
    refused: set[tuple[int, int]] = set()  # blocks of one room have the same points as zone
    for count, point, corner in sorted(blocks):
        where = (int(stones[point]), corner)
        if where in refused:
            continue
        zone = _zone(stones, point)
        if zone is None or zone.empty > MOST_EMPTY or ko in zone.points:
            refused.add(where)
        else:
            yield -count, zone


def _zone(stones: NDArray[np.int8], point: int) -> Zone | None:
    try:
        return find_zone(stones, point)
    except ProblemError:
        return None


def _rooms(stones: NDArray[np.int8], size: int, defender: int) -> Iterator[set[int]]:
    """Yield what the attacker's stones enclose, as far as it may be a zone."""
    attacker = BLACK_STONE + WHITE_STONE - defender
    free = set(np.flatnonzero(stones != attacker).tolist())
    for room in _parts(free, size, _around):
        empty = sum(1 for point in room if stones[point] == 0)
        if len(room) <= MAX_ZONE_POINTS and empty <= MOST_EMPTY:
            yield room


def _parts(
    points: set[int], size: int, beside: Callable[[int, int], Iterable[int]]
) -> Iterator[set[int]]:
    """Yield the connected parts of a set of points, which is used up."""
    while points:
        start = points.pop()
        part, edge = {start}, [start]
        while edge:
            for point in beside(edge.pop(), size):
                if point in points:
                    points.discard(point)
                    part.add(point)
                    edge.append(point)
        yield part


def _near(point: int, size: int) -> Iterator[int]:
    row, column = divmod(point, size)
    if row:
        yield point - size
    if row < size - 1:
        yield point + size
    if column:
        yield point - 1
    if column < size - 1:
        yield point + 1


def _around(point: int, size: int) -> Iterator[int]:
    row, column = divmod(point, size)
    for r in range(max(row - 1, 0), min(row + 2, size)):
        for c in range(max(column - 1, 0), min(column + 2, size)):
            yield r * size + c


def _key(zone: Zone, mover: int) -> _Key:
    return (
        zone.words.tobytes(),
        zone.points,
        zone.attackers,
        zone.defenders,
        mover * 3 + zone.defender,
    )
