"""Life and death by exhaustion: every position that play can reach, on a board of sets.

Written apart from the solver and without any of its knowledge: no table, no unconditional life, no
numbers of liberties. Whether the goal can be forced is the least fixed point of "some move of who
wants it leads to where it is forced, or all moves of the other do".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

ATTACKER, DEFENDER, NOBODY = 0, 1, -1

State = tuple[frozenset[int], frozenset[int], int, int]
"""Stones of attacker and defender on the whole board, side to move, banned point or -1."""


@dataclass(frozen=True)
class Fight:
    """A board and where on it is played.

    Attributes:
      size: points on a side.
      points: where stones are put and taken; all others stay as they are.
      target: a point of the target.
      master: who may retake a ko at once.
    """

    size: int
    points: frozenset[int]
    target: int
    master: int

    def near(self, p: int) -> tuple[int, ...]:
        return _near(self.size, p)

    def block(self, stones: frozenset[int], p: int) -> frozenset[int]:
        found, edge = {p}, [p]
        while edge:
            for q in self.near(edge.pop()):
                if q in stones and q not in found:
                    found.add(q)
                    edge.append(q)
        return frozenset(found)

    def liberties(self, state: State, block: frozenset[int], side: int) -> set[int]:
        """Return the liberties of a block; what is beyond is a liberty of the attacker's alone."""
        out = {q for p in block for q in self.near(p)} - state[0] - state[1]
        if side == DEFENDER:
            return out & self.points
        beyond = any(q in state[0] and q not in self.points for p in block for q in self.near(p))
        return out | {-1} if beyond else out

    def moves(self, state: State) -> Iterator[State]:
        """Yield what play leads to, a pass included."""
        side, ban = state[2], state[3]
        for p in self.points - state[0] - state[1] - {ban}:
            after = self._played(state, p)
            if after is not None:
                yield after
        yield (state[0], state[1], 1 - side, -1)

    def _played(self, state: State, p: int) -> State | None:
        side = state[2]
        before, other = (state[0], state[1]) if side == ATTACKER else (state[1], state[0])
        own = before | {p}
        now = self._state(side, own, other)
        lost: set[int] = set()
        for q in self.near(p):
            if q in other and q in self.points and q not in lost:
                block = self.block(other, q)
                if not self.liberties(now, block, 1 - side):
                    lost |= block
        after = self._state(side, own, other - lost)
        mine = self.block(own, p)
        free = self.liberties(after, mine, side)
        if not free:
            return None
        ban = -1
        if len(lost) == 1 and mine == {p} and free == lost and self.master != 1 - side:
            (ban,) = lost
        return (after[0], after[1], 1 - side, ban)

    def _state(self, side: int, own: frozenset[int], other: frozenset[int]) -> State:
        return (own, other, side, -1) if side == ATTACKER else (other, own, side, -1)


@cache
def _near(size: int, p: int) -> tuple[int, ...]:
    row, column = divmod(p, size)
    around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return tuple(r * size + c for r, c in around if 0 <= r < size and 0 <= c < size)


def reachable(fight: Fight, root: State, max_states: int) -> dict[State, list[State]] | None:
    """Return every position with those that follow; None where there are more than `max_states`."""
    graph: dict[State, list[State]] = {}
    edge = [root]
    while edge:
        state = edge.pop()
        if state in graph:
            continue
        if len(graph) >= max_states:
            return None
        over = fight.target not in state[1]
        graph[state] = [] if over else list(fight.moves(state))
        edge.extend(graph[state])
    return graph


def forced(graph: dict[State, list[State]], reached: set[State], side: int) -> set[State]:
    """Return where `side` forces the play into `reached`."""
    before: dict[State, list[State]] = {state: [] for state in graph}
    for state, following in graph.items():
        for after in following:
            before[after].append(state)
    left = {state: len(following) for state, following in graph.items()}
    won, edge = set(reached), list(reached)
    while edge:
        for state in before[edge.pop()]:
            left[state] -= 1
            if state not in won and (state[2] == side or left[state] == 0):
                won.add(state)
                edge.append(state)
    return won


Stones = tuple[frozenset[int], frozenset[int]]


class LoneAttacker:
    """Unconditional life by its meaning: the attacker plays alone and still cannot take the target.

    No regions and nothing of Benson's algorithm: every order of the attacker's moves is tried, the
    owner always passing. What was found is remembered.
    """

    def __init__(self, fight: Fight) -> None:
        self._fight = fight
        self._takes: dict[Stones, bool] = {}

    def cannot_take(self, attackers: frozenset[int], defenders: frozenset[int]) -> bool:
        return not self._can_take((attackers, defenders))

    def _can_take(self, stones: Stones) -> bool:
        if self._fight.target not in stones[1]:
            return True
        if stones not in self._takes:
            # Attacker's stones only become more, the defender's only fewer: there are no loops.
            following = self._fight.moves((*stones, ATTACKER, -1))
            after = {(state[0], state[1]) for state in following} - {stones}
            self._takes[stones] = any(self._can_take(each) for each in after)
        return self._takes[stones]
