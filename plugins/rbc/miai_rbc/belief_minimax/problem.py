"""Beliefs of games as roots of searches: `RbcProblem`, `RbcRoot`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from miai.belief_search.sets import HashedSet
from miai_rbc.belief_minimax.kernels.boards import hash_boards
from miai_rbc.belief_minimax.parameters import MinimaxProblemParameters, Rules
from miai_rbc.belief_minimax.roots import beliefs_of_games, beliefs_of_records
from miai_rbc.board_set import BoardSet
from miai_rbc.engines.protocol import WIN
from miai_rbc.kernels.board import STATE

_BARREN = 1000  # beliefs in a row that were roots before


@dataclass(frozen=True, slots=True, eq=False)
class RbcRoot:
    """A belief to search, our side to move.

    Attributes:
      boards: the belief, at least one board; all show the same own pieces.
      senses: whether a sense comes first; else it is our move.
      name: where it is from.
    """

    boards: BoardSet
    senses: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.boards) == 0:
            raise ValueError("a belief has at least one board")

    @property
    def size(self) -> int:
        """The boards of the belief."""
        return len(self.boards)

    @property
    def player(self) -> int:
        """Whose belief it is: 0 for white, 1 for black."""
        return int(self.boards.rows[0, STATE]) & 1


class RbcProblem:
    """Reconnaissance Blind Chess for one player, to a depth of one or two own moves.

    Values are centipawns from the point of view of the player whose belief it is; docs/rbc.md says
    what they are. The game's limits of turns are left out.

    Attributes:
      rules: what a value is.
      least, greatest: bounds of all values.
      root_classes: ``game``: beliefs before a sense, from games.
    """

    least, greatest = -float(WIN), float(WIN)
    reachability = False
    root_classes: Sequence[str] = ("game",)

    def __init__(self, parameters: MinimaxProblemParameters | None = None) -> None:
        self._given = parameters or MinimaxProblemParameters()
        self.rules: Rules = self._given
        if self._given.least > self._given.most:
            raise ValueError(
                f"least {self._given.least}, most {self._given.most}: no belief has as many boards"
            )

    def roots(self, kind: str, count: int, *, depth: int, seed: int) -> list[RbcRoot]:
        """Return the first beliefs of a class, none twice, the same for the same arguments.

        Args:
          depth: does not matter; it is what they will be searched to.

        Raises:
          ValueError: there is no such class, or the records have too few beliefs of that size.
          RecordError: a record cannot be read.
        """
        if kind != "game":
            raise ValueError(f"rbc has no roots of class {kind!r}; its class is 'game'")
        given = self._given
        sizes = (given.least, given.most)
        found: Iterable[tuple[str, BoardSet]]
        if given.records:
            found = beliefs_of_records(Path(given.records), sizes, a_game=given.a_game, seed=seed)
        else:
            found = beliefs_of_games(sizes, a_game=given.a_game, seed=seed)
        roots = list(islice(_distinct(found), count))
        if len(roots) < count:
            where = given.records or "the games played"
            raise ValueError(
                f"{where}: {len(roots)} beliefs of {given.least} to {given.most} boards, "
                f"not {count}; widen least and most, or raise a_game"
            )
        return roots


def _distinct(found: Iterable[tuple[str, BoardSet]]) -> Iterator[RbcRoot]:
    """Yield each belief once: games of the same agents begin alike."""
    seen: set[int] = set()
    barren = 0
    for name, boards in found:
        key = boards_key(boards)
        barren = barren + 1 if key in seen else 0
        if barren > _BARREN:
            return
        if key not in seen:
            seen.add(key)
            yield RbcRoot(boards, name=name)


def boards_key(boards: BoardSet) -> int:
    """Return 128 bits that stand for a set of boards, in whatever order."""
    hashes = np.empty(len(boards), np.uint64)
    hash_boards(np.ascontiguousarray(boards.rows), hashes)
    return HashedSet.of(hashes).key
