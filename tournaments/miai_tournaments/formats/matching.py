"""Maximum matchings in a graph that loses vertices two by two (Edmonds 1965).

The pairing of a round is a perfect matching of the players with the allowed edges. A search that
pairs the top players first checks after each pair whether the rest can still be paired; since the
matching is kept, that takes one augmenting path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

_NONE = -1


class Matching:
    """A maximum matching of the remaining vertices.

    Args:
      neighbours: for each vertex its possible mates; the relation is symmetric.
    """

    def __init__(self, neighbours: Sequence[Sequence[int]]) -> None:
        self._neighbours = neighbours
        self._remains = [True] * len(neighbours)
        self._mate = [_NONE] * len(neighbours)
        # A greedy matching first: it leaves few vertices for the searches, each of which takes
        # O(V^2) steps.
        for vertex, others in enumerate(neighbours):
            if self._mate[vertex] == _NONE:
                free = next((other for other in others if self._mate[other] == _NONE), None)
                if free is not None:
                    self._mate[vertex], self._mate[free] = free, vertex
        self._complete()

    @property
    def exposed(self) -> int:
        """Number of remaining vertices without a mate."""
        vertices = zip(self._remains, self._mate, strict=True)
        return sum(remains and mate == _NONE for remains, mate in vertices)

    def has(self, vertex: int) -> bool:
        """Return whether a vertex remains."""
        return self._remains[vertex]

    def without(self, *vertices: int) -> Matching:
        """Return a maximum matching without some of the vertices."""
        # Copying the mates of the old matching is what makes this cheap: at most as many paths have
        # to be found as vertices were taken away.
        rest = object.__new__(Matching)
        rest._neighbours = self._neighbours
        rest._remains, rest._mate = self._remains.copy(), self._mate.copy()
        for vertex in vertices:
            rest._remains[vertex] = False
            if rest._mate[vertex] != _NONE:
                rest._mate[rest._mate[vertex]] = _NONE
        for vertex in vertices:
            rest._mate[vertex] = _NONE
        rest._complete()
        return rest

    def _complete(self) -> None:
        """Augment the matching until it is maximum.

        A vertex without an augmenting path never gets one by other augmentations, so one pass is
        enough.
        """
        for vertex, mate in enumerate(self._mate):
            if self._remains[vertex] and mate == _NONE and self._mate[vertex] == _NONE:
                end, parent = self._path(vertex)
                while end != _NONE:
                    before = parent[end]
                    following = self._mate[before]
                    self._mate[end], self._mate[before] = before, end
                    end = following

    def _path(self, root: int) -> tuple[int, list[int]]:
        """Return the end of an augmenting path, -1 for none, and the way back from it."""
        n = len(self._mate)
        base, parent, outer = list(range(n)), [_NONE] * n, [False] * n
        outer[root] = True
        queue = deque([root])
        while queue:
            vertex = queue.popleft()
            for other in self._neighbours[vertex]:
                mate = self._mate[other]
                # Within a blossom every vertex can be reached at even and odd distance: nothing
                # new.
                if not self._remains[other] or base[vertex] == base[other]:
                    continue
                if self._mate[vertex] == other:
                    continue
                # Two outer vertices are joined: an odd cycle, which bipartite graphs do not have.
                if other == root or (mate != _NONE and parent[mate] != _NONE):
                    self._shrink(vertex, other, base, parent, outer, queue)
                elif parent[other] == _NONE:
                    parent[other] = vertex
                    if mate == _NONE:
                        return other, parent
                    # The edge to a matched vertex can only be followed by its matching edge, so
                    # both are taken at once.
                    outer[mate] = True
                    queue.append(mate)
        return _NONE, parent

    def _shrink(
        self,
        one: int,
        other: int,
        base: list[int],
        parent: list[int],
        outer: list[bool],
        queue: deque[int],
    ) -> None:
        """Shrink the blossom that an edge between two outer vertices closes."""
        top = self._ancestor(one, other, base, parent)
        inside: set[int] = set()
        # Inner vertices of the cycle become outer ones, reached the other way round; the new
        # parents lead that way back.
        for vertex, child in ((one, other), (other, one)):
            while base[vertex] != top:
                mate = self._mate[vertex]
                inside |= {base[vertex], base[mate]}
                parent[vertex] = child
                child, vertex = mate, parent[mate]
        for vertex in range(len(base)):
            if base[vertex] in inside:
                base[vertex] = top
                if not outer[vertex]:
                    outer[vertex] = True
                    queue.append(vertex)

    def _ancestor(self, one: int, other: int, base: list[int], parent: list[int]) -> int:
        """Return the base at which the paths of two outer vertices to the root meet."""
        way = {vertex := base[one]}
        while self._mate[vertex] != _NONE:
            way.add(vertex := base[parent[self._mate[vertex]]])
        vertex = base[other]
        while vertex not in way:
            vertex = base[parent[self._mate[vertex]]]
        return vertex
