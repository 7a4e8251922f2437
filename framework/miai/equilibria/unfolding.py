"""A player's information sets, found by following its observations from belief to belief.

The belief of a node is the set of worlds that are possible there. Many nodes are expanded at once:
an *element* is a node with one of its worlds.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.equilibria.kernels.histories import END, NOTHING, Nodes, Worlds

Ints = NDArray[np.int64]

_BATCH: Final = 1_000_000
"""Elements that are expanded at once, as far as nodes stay whole; some 500 bytes each."""


class ForgottenError(Exception):
    """A player forgets: two histories lead to one information set, but to different own actions.

    Attributes:
      histories: the two.
    """

    def __init__(self, *histories: list[int]) -> None:
        super().__init__(*histories)
        self.histories = histories


class _Elements(NamedTuple):
    """Elements, a column each.

    Attributes:
      node, world: numbers.
      sequence: the slot that the player took last, or `NOTHING`.
      step: the last step of a history that leads there, or `NOTHING`.
    """

    node: Ints
    world: Ints
    sequence: Ints
    step: Ints

    def rows(self, which: Any) -> _Elements:
        return _Elements(*(column[which] for column in self))


class _Column:
    """An array to which rows are added."""

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._rows, self._size = np.empty((1024, *shape), dtype), 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[Any]:
        return self._rows[: self._size]

    def add(self, rows: NDArray[Any]) -> None:
        size = self._size + len(rows)
        if size > len(self._rows):
            larger = np.empty((2 * size, *self._rows.shape[1:]), self._rows.dtype)
            larger[: self._size] = self.rows
            self._rows = larger
        self._rows[self._size : size] = rows
        self._size = size


class Unfolding:
    """The n nodes and m information sets of a player, each numbered after those before it.

    Raises `ForgottenError`.

    Attributes:
      nodes: the nodes.
      parents: (n,) the node before each.
      sets: (m,) the node of each information set.
      sequences: (m,) the slot that the player took last, or `NOTHING`.
      starts: (m + 1,) the first slot of each information set.
      actions: (slots,) the action of each slot.
    """

    def __init__(self, worlds: Worlds, player: int, start: int) -> None:
        self._worlds, self._player = worlds, player
        self._seen, self._parents = _Column(np.int32), _Column(np.int32)
        self._children, self._slots = _Column(np.int32, 2), _Column(np.int32)
        self._sets, self._sequences = _Column(np.int32), _Column(np.int64)
        self._starts, self._firsts = _Column(np.int64), _Column(np.int64, 2)  # world, step
        self._steps = _Column(np.int32, 2)  # the step before, an edge
        self._menus, self._width = _menus(worlds), np.max(worlds.seen, initial=0) + 2
        self._starts.add(np.zeros(1, np.int64))
        zero, nothing = np.zeros(1, np.int64), np.full(1, NOTHING)
        self._add_nodes(nothing, np.full(1, start))
        waiting, room = [_Elements(zero, zero, nothing, nothing)], _BATCH
        while waiting:
            if len(self._steps) > room:
                waiting = self._forget_steps(waiting)
                room = 2 * len(self._steps) + _BATCH
            children = self._expand(waiting.pop())
            begins = np.flatnonzero(np.diff(children.node, prepend=NOTHING))
            places = np.arange(0, len(children.node), _BATCH)
            cuts = np.unique(begins[np.searchsorted(begins, places, "right") - 1])
            ends = np.append(cuts, len(children.node))[1:]
            batches = [children.rows(slice(*ends)) for ends in zip(cuts, ends, strict=True)]
            waiting += batches[::-1]
        self.nodes = Nodes(self._seen.rows, self._children.rows, self._slots.rows)
        self.parents, self.sets, self.sequences = (
            column.rows for column in (self._parents, self._sets, self._sequences)
        )
        self.starts = self._starts.rows
        self._forget_steps([])
        self.actions = worlds.actions[self._edges_of(self._firsts.rows[:, 0])[1]]

    def _forget_steps(self, waiting: list[_Elements]) -> list[_Elements]:
        """Forget steps on no way to an information set or a waiting element, which it returns."""
        before, edge = self._steps.rows.T
        on_a_way = np.zeros(len(before), np.bool_)
        steps = np.concatenate([self._firsts.rows[:, 1], *(batch.step for batch in waiting)])
        while len(steps := np.unique(steps[steps != NOTHING])):
            on_a_way[steps] = True
            steps = before[steps]
        numbers = np.append(np.cumsum(on_a_way) - 1, NOTHING)  # that of NOTHING is the last
        self._steps = _Column(np.int32, 2)
        self._steps.add(np.stack([numbers[before[on_a_way]], edge[on_a_way]], axis=1))
        self._firsts.rows[:, 1] = numbers[self._firsts.rows[:, 1]]
        return [batch._replace(step=numbers[batch.step]) for batch in waiting]

    def history(self, number: int) -> list[int]:
        """Return the actions of a history that leads to an information set."""
        return self._history(self._firsts.rows[number, 1])

    def _history(self, step: int) -> list[int]:
        actions = []
        while step != NOTHING:
            step, edge = self._steps.rows[step]
            actions.append(int(self._worlds.actions[edge]))
        return actions[::-1]

    def _edges_of(self, world: Ints) -> tuple[Ints, Ints]:
        """Return the edges of worlds in turn: the place of the world, and the edge."""
        begin, end = self._worlds.edges[world].T
        counts = end - begin
        place = np.repeat(np.arange(len(world)), counts)
        offsets = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return place, begin[place] + offsets

    def _add_nodes(self, parents: Ints, seen: Ints) -> None:
        self._parents.add(parents)
        self._seen.add(seen)
        self._children.add(np.zeros((len(seen), 2)))
        self._slots.add(np.full(len(seen), NOTHING))

    def _expand(self, batch: _Elements) -> _Elements:
        """Return the elements of the nodes that follow, which it numbers, sorted by node."""
        found = []
        while len(batch.node):  # it is followed by what happens unobserved
            self._decide(batch)
            place, edge = self._edges_of(batch.world)
            world, child = batch.world[place], self._worlds.children[edge]
            first, acts = self._worlds.edges[world, 0], self._worlds.actors[world] == self._player
            node, sequence = batch.node[place], batch.sequence[place]
            sequence = np.where(acts, self._slots.rows[node] + edge - first, sequence)
            seen = self._worlds.seen[self._player, edge]
            columns = np.stack([node, seen, child, sequence, batch.step[place], edge])
            columns = columns[:, self._worlds.actors[child] != END]
            observed = columns[1] != NOTHING
            found.append(columns[:, observed])
            node, _, *rest = self._distinct(columns[:, ~observed])
            batch = _Elements(node, *rest)
        node, seen, *rest = self._distinct(np.hstack(found))
        new = (np.diff(node, prepend=NOTHING) != 0) | (np.diff(seen, prepend=NOTHING) != 0)
        numbers, parents = len(self._parents) + np.cumsum(new) - 1, node[new]
        begin = np.flatnonzero(np.diff(parents, prepend=NOTHING))
        ranges = np.stack([begin, np.append(begin, len(parents))[1:]], axis=1) + len(self._parents)
        self._children.rows[parents[begin]] = ranges
        self._add_nodes(parents, seen[new])
        return _Elements(numbers, *rest)

    def _distinct(self, columns: Ints) -> tuple[Ints, ...]:
        """Return node, observation, world, sequence and step of elements, each once and sorted."""
        node, seen, world, sequence = columns[:4]
        # Two keys are sorted in half the time of four.
        keys = np.stack([world * (self._starts.rows[-1] + 1) + sequence, node * self._width + seen])
        order = np.lexsort(keys)
        new = (np.diff(keys[:, order], prepend=-2) != 0).any(axis=0)
        node, seen, world, sequence, before, edge = columns[:, order[new]]
        step = len(self._steps) + np.arange(len(node))
        self._steps.add(np.stack([before, edge], axis=1))
        return node, seen, world, sequence, step

    def _decide(self, batch: _Elements) -> None:
        """Give the nodes of a batch, at which the player decides, their information sets."""
        acting = batch.rows(self._worlds.actors[batch.world] == self._player)
        new = acting.rows(self._slots.rows[acting.node] == NOTHING)
        new = new.rows(np.unique(new.node, return_index=True)[1])
        counts = np.diff(self._worlds.edges[new.world])[:, 0]
        ends = self._starts.rows[-1] + np.cumsum(counts)
        self._slots.rows[new.node] = ends - counts
        self._starts.add(ends)
        self._sets.add(new.node)
        self._sequences.add(new.sequence)
        self._firsts.add(np.stack([new.world, new.step], axis=1))
        number = np.searchsorted(self._starts.rows, self._slots.rows[acting.node])
        same = self._sequences.rows[number] == acting.sequence
        same &= self._menus[acting.world] == self._menus[self._firsts.rows[number, 0]]
        for wrong in np.flatnonzero(~same):
            raise ForgottenError(self.history(number[wrong]), self._history(acting.step[wrong]))


def _menus(worlds: Worlds) -> Ints:
    """Return a number for the actions of each world, (w,); equal actions have equal numbers."""
    numbers: dict[bytes, int] = {}
    texts = (worlds.actions[begin:end].tobytes() for begin, end in worlds.edges)
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts])
