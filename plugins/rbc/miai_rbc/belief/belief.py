"""`RbcBelief`: every board that a player holds possible, with a bound on its memory.

Up to the limit it is exact: the set of all boards that explain what the player was told. When the
opponent's turn would lead past the limit, a uniform sample of the boards is expanded and lives on;
the others are stashed as they are. Should all that live be contradicted later, stashed boards are
brought up to date, through everything that was told since, under the same limit. So the truth is
lost only when the stash itself is full.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from miai import Observation
from miai_rbc.belief.fallback import impose
from miai_rbc.belief.stash import Order, Stash
from miai_rbc.kernels.board import NOTHING, PAWNS, STATE
from miai_rbc.kernels.filters import keep_kings
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import (
    BadObservationError,
    Event,
    Moved,
    OpponentMoved,
    Sensed,
    event_of,
)
from miai_rbc.rules.rows import row_of_board

if TYPE_CHECKING:
    from miai_rbc.parameters import BeliefParameters
    from miai_rbc.rules.game import RbcGame
    from miai_rbc.rules.state import RbcState


_KEPT_FOR_FALLBACK = 1000
_FOLLOWS: dict[type[Event] | None, tuple[type[Event], ...]] = {
    None: (OpponentMoved, Sensed),
    OpponentMoved: (Sensed,),
    Sensed: (Moved,),
    Moved: (OpponentMoved,),
}


class RbcBelief:
    """What one player holds possible.

    Attributes:
      game, player: whose belief it is.
      limit: most boards that live, counted after the opponent's turn and before the sense; None
        for no limit.
      boards: those that live.
      events: what was told so far, oldest first.
      quiet: half-moves since the last capture or move of one's own pawns: what the half-move clock
        shows at most, for pawns that the opponent moves are not told of.
      fullmove_number: as in a FEN.
      patience: most seconds to search the stash for boards when all that lived are contradicted;
        None for no limit. What was not reached stays there, and is searched at later turns.
      rebuilt: how many times nothing was left and the belief was made up anew, from what was seen
        last (`miai_rbc.belief.fallback`); 0 as long as the belief can be trusted.
    """

    def __init__(
        self,
        game: RbcGame,
        player: int,
        *,
        limit: int | None = None,
        stash_bytes: int = 1 << 30,
        spill_bytes: int = 8 << 30,
        order: Order = "earliest",
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        if limit is not None and limit < MAX_MOVES:
            raise ValueError(f"a belief's limit is at least {MAX_MOVES} boards, got {limit}")
        self.game, self.player, self.limit = game, player, limit
        self.boards = BoardSet(row_of_board(game.start)[None])
        self.patience: float | None = None
        self.rebuilt = 0
        self._made_up = False  # whether boards were, while others were still stashed
        self.quiet, self.fullmove_number = game.start.halfmove_clock, game.start.fullmove_number
        self._stash = Stash(memory_bytes=stash_bytes, disk_bytes=spill_bytes)
        self._order: Order = order
        self._threads = threads
        self._rng = np.random.default_rng(seed)
        self.events: list[Event] = []
        self._started = False
        self._kept = self.boards.copy()  # for the fallback: of the last event that left something

    # -- what is told ---------------------------------------------------------------------------

    def observe(self, observation: Observation) -> None:
        """Keep the boards that explain what the player was told.

        Raises:
          BadObservationError: it is no observation of the game.
        """
        if not self._started:
            self._started = True
            if self._to_move() == self.player:
                return  # the player begins, and is told that nothing was captured
            if observation.actor is None:
                return
        pawns = int(self.boards.rows[0, PAWNS]) if len(self.boards) else 0
        self.take_in(event_of(observation, pawns=pawns))

    def take_in(self, event: Event) -> None:
        """As `observe`, of an event.

        Raises:
          BadObservationError: it is not what follows the last one.
        """
        last = type(self.events[-1]) if self.events else None
        if type(event) not in _FOLLOWS[last]:
            raise BadObservationError(
                f"rbc: {type(event).__name__} cannot follow {last and last.__name__}: a turn of "
                "the opponent, a sense and a move are told one after the other"
            )
        self.events.append(event)
        self._count(event)
        self.boards = self._after(self.boards, event, len(self.events) - 1)
        if len(self.boards) == 0 or self._made_up:
            self._recover(event)
        self._kept = self.boards.sample(_KEPT_FOR_FALLBACK, self._rng)

    def _count(self, event: Event) -> None:
        """Keep up the clocks, as far as they can be known."""
        if isinstance(event, Sensed):
            return
        pawn = isinstance(event, Moved) and event.taken != NOTHING and self._own_pawn(event.taken)
        self.quiet = 0 if pawn or event.captured is not None else self.quiet + 1
        mover = self.player if isinstance(event, Moved) else 1 - self.player
        self.fullmove_number += mover

    def _own_pawn(self, taken: int) -> bool:
        return len(self.boards) > 0 and bool(int(self.boards.rows[0, PAWNS]) >> (taken & 63) & 1)

    def _to_move(self) -> int:
        return int(self.boards.rows[0, STATE]) & 1

    def _after(self, boards: BoardSet, event: Event, turn: int) -> BoardSet:
        """Return what becomes of boards; those without room are stashed."""
        match event:
            case OpponentMoved():
                found, left = boards.after_opponent(
                    event.captured, limit=self.limit, threads=self._threads, rng=self._rng
                )
                self._stash.add(turn, left)
                if event.captured is not None and not event.ends:
                    found = BoardSet(found.rows[: keep_kings(found.rows)])
                return found
            case Sensed():
                return boards.sensed(event.window, event.pieces) if event.window else boards
            case Moved():
                return boards.moved(event.requested, event.taken, event.captured, ends=event.ends)

    # -- the stash ------------------------------------------------------------------------------

    @property
    def stashed(self) -> int:
        """Number of boards that are stashed, unexpanded."""
        return len(self._stash)

    @property
    def dropped(self) -> int:
        """Number of boards that the stash had no room for: with 0 the truth is not lost."""
        return self._stash.dropped

    @property
    def complete(self) -> bool:
        """Whether every possible board lives, and none is stashed or lost."""
        return not (self.stashed or self.dropped or self.rebuilt)

    def _recover(self, event: Event) -> None:
        ends = math.inf if self.patience is None else time.monotonic() + self.patience
        found = self.boards.sample(0, self._rng)
        while len(found) == 0 and time.monotonic() < ends:
            if (entry := self._stash.take(self._order)) is None:
                break
            found = self._brought_up(*entry, ends=ends)
        if len(found):
            self.boards = found
        elif len(self.boards) == 0:
            self.boards = impose(self._kept, event)
            self.rebuilt += 1
        self._made_up = len(found) == 0 and self.stashed > 0

    def _brought_up(self, turn: int, boards: BoardSet, *, ends: float = math.inf) -> BoardSet:
        """Return what became of boards that were left at a turn; the rest is stashed again."""
        for later in range(turn, len(self.events)):
            if len(boards) == 0:
                break
            if time.monotonic() > ends:
                self._stash.add(later, boards)
                return boards.sample(0, self._rng)
            boards = self._after(boards, self.events[later], later)
        return boards

    def recall(self) -> None:
        """Bring all that is stashed up to date, as far as the limit, lifted before, allows."""
        sets = [self.boards]
        while (entry := self._stash.take("earliest")) is not None:
            sets.append(self._brought_up(*entry))
            if self.stashed and self.limit is not None:
                break
        first, *others = sets
        self.boards = first.union(*others)

    def close(self) -> None:
        """Release the stash and its files."""
        self._stash.close()

    # -- worlds, as `miai.information.BeliefState` ------------------------------------------------

    def sample(self, rng: random.Random) -> RbcState:
        """Return one world, uniformly: a state with that board and no history.

        Boards that differ in their half-move clocks alone are one world, with the greatest clock
        that is possible.
        """
        return self._world(rng.randrange(len(self.boards)))

    def __iter__(self) -> Iterator[RbcState]:
        return map(self._world, range(len(self.boards)))

    def __len__(self) -> int:
        return len(self.boards)

    def __contains__(self, state: RbcState) -> bool:
        """Return whether a state's board and phase are those of a world; clocks do not count."""
        return state.senses == self._senses() and state.boards.rows[0] in self.boards

    def _senses(self) -> bool:
        return not (self.events and isinstance(self.events[-1], Sensed))

    def _world(self, number: int) -> RbcState:
        last = self.events[-1] if self.events else OpponentMoved(None)
        captured = None if isinstance(last, Sensed) else last.captured
        return self.game.state_at(
            self.boards.rows[number],
            senses=self._senses(),
            captured=captured,
            halfmove_clock=self.quiet,
            fullmove_number=self.fullmove_number,
        )


def make_belief(
    game: RbcGame, player: int, parameters: BeliefParameters, *, seed: int = 0
) -> RbcBelief:
    """Return a player's belief before anything was told: the component ``enumerated`` of rbc."""
    return RbcBelief(
        game,
        player,
        limit=parameters.limit,
        stash_bytes=parameters.stash_mb << 20,
        spill_bytes=parameters.spill_mb << 20,
        order=parameters.order,
        threads=parameters.threads,
        seed=seed,
    )
