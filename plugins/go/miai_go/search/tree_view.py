"""Reading one search tree, in the layout that UCT and the forest share.

A node is a column of an int32 array, whose rows `miai_go.kernels.uct` names; the children of a node
are consecutive columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.kernels import rules
from miai_go.kernels.uct import COUNT, FIRST, FORBIDDEN, POINT, STATUS, VISITS
from miai_go.rules.board import Board, BoardError

_Scalar = TypeVar("_Scalar", bound=np.generic)


class TreeView(ABC):
    """A view of one tree, valid until its arrays move.

    Values are results, 1 won, -1 lost, for the player to move at the root unless said otherwise.
    Arrays of shape (actions,) have an entry for each point, row by row from A1, and the pass last.

    Args:
      nodes: int32 of shape (fields, nodes).
      totals: sums of results for the player who moved to the node, of shape (nodes,).
      words: the board at the root.
      actions: points and the pass.
      priors: of shape (nodes,); None if the search has none.
      virtual: virtual results of the moves at the root, int32 of shape (actions,), which the arrays
        include and the view leaves out; None for none.
    """

    def __init__(
        self,
        nodes: NDArray[np.int32],
        totals: NDArray[np.int32] | NDArray[np.float64],
        words: NDArray[np.uint32],
        *,
        actions: int,
        priors: NDArray[np.float64] | None = None,
        virtual: NDArray[np.int32] | None = None,
    ) -> None:
        self._nodes = nodes
        self._totals = totals
        self._words = words
        self._size = actions
        self._priors = priors
        self._virtual = virtual

    @property
    @abstractmethod
    def board(self) -> Board:
        """A copy of the board at the root."""

    @property
    @abstractmethod
    def to_move(self) -> int:
        """The player to move at the root: 0 Black, 1 White."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Nodes in memory."""

    @property
    def simulations(self) -> int:
        """Simulations through the root, including those of earlier moves."""
        return int(self._nodes[VISITS, 0])

    @property
    def proven(self) -> int:
        """1 if the player to move at the root is proven to win, -1 to lose, 0 if neither."""
        # Status and totals of a node are for the player who moved there: at the root, the opponent.
        return -int(self._nodes[STATUS, 0])

    @property
    def value(self) -> float:
        """The mean result of the simulations through the root, 0 without any."""
        visits = self.simulations
        return -float(self._totals[0]) / visits if visits else 0.0

    def visits(self) -> NDArray[np.int32]:
        """Return the simulations of each move at the root, (actions,)."""
        return self.spread(self._results()[0])

    def values(self) -> NDArray[np.float64]:
        """Return the mean result of each move at the root, (actions,); nan if untried."""
        visits, totals = self._results()
        values = np.where(visits > 0, totals / np.maximum(visits, 1), np.nan)
        return self.spread(values, np.nan)

    def allowed(self) -> NDArray[np.bool_]:
        """Return the moves of an expanded root, bool of shape (actions,)."""
        return self.spread(self._nodes[STATUS, self.children()] != FORBIDDEN)

    def restrict(self, legal: ArrayLike) -> None:
        """Forbid moves at the root that a mask (actions,) leaves out. Raises `BoardError`."""
        mask = np.asarray(legal, np.bool_)
        if mask.shape != (self._size,):
            raise BoardError(f"the mask has shape {mask.shape}, not ({self._size},)")
        self._nodes[STATUS, self.children()][~mask[self.actions()]] = FORBIDDEN

    def children(self, node: int = 0) -> slice:
        """Return the block of a node's children."""
        first = int(self._nodes[FIRST, node])
        return slice(first, first + int(self._nodes[COUNT, node]))

    def actions(self, node: int = 0) -> NDArray[np.int64]:
        """Return the actions that lead to a node's children, (children,)."""
        # Nodes hold the place of a point's record in the board's words, not the point's number.
        points = self._nodes[POINT, self.children(node)]
        actions = self._words[points + rules.ACTION].astype(np.int64)
        return np.where(points == 0, self._size - 1, actions)

    def child(self, action: int) -> int:
        """Return the node that an action at the root leads to, 0 for none."""
        # Children are found by a scan: they are few, and moves are made rarely.
        places = np.flatnonzero(self.actions() == action)
        return self.children().start + int(places[0]) if len(places) else 0

    def spread(self, column: NDArray[_Scalar], fill: float = 0) -> NDArray[_Scalar]:
        """Return values for actions, (actions,), from values for the root's children."""
        out = np.full(self._size, fill, column.dtype)
        out[self.actions()] = column
        return out

    def best(self) -> int:
        """Return the move to play at an expanded root."""
        return self.best_child()[1]

    def best_child(self, node: int = 0) -> tuple[int, int]:
        """Return the best child of an expanded node, and the action that leads there.

        A proven win for the player to move there, otherwise the child with the most visits; a
        proven loss only if all are. Ties go to the higher mean result, then the higher prior, then
        the lower action.
        """
        block, actions = self.children(node), self.actions(node)
        visits, totals = self._results(node)
        values = totals / np.maximum(visits, 1)
        priors = np.zeros(len(actions)) if self._priors is None else self._priors[block]
        status = self._nodes[STATUS, block]
        # lexsort takes the last key first: proof, visits, value, prior, action.
        best = int(np.lexsort((actions, -priors, -values, -visits, -status))[0])
        return block.start + best, int(actions[best])

    def principal_variation(self, length: int = 20) -> list[int]:
        """Return the best actions of both players from the root, as far as they were tried."""
        actions: list[int] = []
        node = 0
        while len(actions) < length and self._nodes[COUNT, node] > 0:
            node, action = self.best_child(node)
            if self._nodes[VISITS, node] == 0:
                break
            actions.append(action)
        return actions

    def _results(self, node: int = 0) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return visits and sums of results of a node's children without virtual results."""
        block = self.children(node)
        visits, totals = self._nodes[VISITS, block], self._totals[block].astype(np.float64)
        if self._virtual is None or node:
            return visits, totals
        # Advice counts as visits in the search, but nobody made them: reports leave them out.
        virtual = self._virtual[self.actions()]
        return visits - np.abs(virtual), totals - virtual
