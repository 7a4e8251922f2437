"""`RbcBelief`: every board that a player considers possible, within limited memory.

Up to the limit it is exact: the set of all boards consistent with the player's observations. When
the opponent's turn would exceed the limit, a uniform sample of the boards is expanded, and the
others are stashed unexpanded. If all expanded boards are contradicted later, stashed boards are
updated with the observations since, under the same limit. So the true board is lost only when the
stash is full.
"""

from __future__ import annotations

import math
import random
import time
from bisect import insort
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import ClassVar, Literal

import numpy as np

from miai import Observation
from miai_rbc.belief.fallback import impose
from miai_rbc.kernels.board import NOTHING, PAWNS, STATE
from miai_rbc.kernels.filters import keep_kings
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rbc_parameters import BeliefParameters
from miai_rbc.rules.board_set import BYTES_PER_BOARD, BoardSet
from miai_rbc.rules.game import BoardGame, BoardState, RbcState
from miai_rbc.rules.observations import (
    BadObservationError,
    Event,
    Moved,
    OpponentMoved,
    Sensed,
    event_of,
)
from miai_rbc.rules.rows import row_of_board

# -- boards without room ---------------------------------------------------------------------------


class Stash:
    """Sets of unexpanded boards, each with its turn.

    Beyond its limit boards are dropped, those of the oldest turn first; of a single set, at least
    as many are stored as fill half of the room.

    Args:
      limit: maximum bytes of the boards.
      first: the turn whose boards `take` returns.

    Attributes:
      dropped: boards dropped so far.
    """

    def __init__(self, limit: int, first: Literal["earliest", "latest"] = "earliest") -> None:
        if limit < 0:
            raise ValueError("a stash's bytes are not negative")
        self.dropped = 0
        self._end = 0 if first == "earliest" else -1
        self._room = limit // BYTES_PER_BOARD
        self._sets: list[tuple[int, BoardSet]] = []  # in the order of their turns

    def add(self, turn: int, boards: BoardSet) -> None:
        """Store the unexpanded boards of a turn."""
        # They are in random order, so that the first ones are a uniform sample. A set gets half of
        # the room even if that is taken, so that one broad turn leaves some for those after it.
        fitting = max(self._room - len(self), self._room // 2)
        if len(boards) > fitting:
            self.dropped += len(boards) - fitting
            boards = BoardSet(boards.rows[:fitting].copy())
        if len(boards) == 0:
            return
        insort(self._sets, (turn, boards), key=itemgetter(0))
        while len(self) > self._room:
            self.dropped += len(self._sets.pop(0)[1])

    def take(self) -> tuple[int, BoardSet] | None:
        """Remove and return the `first` set with its turn; None if empty."""
        return self._sets.pop(self._end) if self._sets else None

    def __len__(self) -> int:
        return sum(len(boards) for _, boards in self._sets)


# -- the belief ------------------------------------------------------------------------------------

_FALLBACK_BOARDS = 1000


class RbcBelief:
    """The boards that one player considers possible.

    Attributes:
      game, player: the game and the player of the belief.
      limit: maximum boards after the opponent's turn; None for no limit.
      boards: the possible boards, or a sample of them.
      events: all observations, oldest first.
      quiet: half-moves since the last capture or own pawn move. The half-move clock may be lower,
        as the opponent's pawn moves are not observed.
      fullmove_number: as in a FEN.
      patience: maximum seconds to search the stash when all boards are contradicted; None for no
        limit. The rest of the stash is searched at later turns.
      rebuilt: how often no board was left and `miai_rbc.belief.fallback` made some; 0 while the
        belief can be trusted.
    """

    FOLLOWS: ClassVar[Mapping[type[Event] | None, tuple[type[Event], ...]]] = {
        None: (OpponentMoved, Sensed),
        OpponentMoved: (Sensed,),
        Sensed: (Moved,),
        Moved: (OpponentMoved,),
    }

    def __init__(
        self,
        game: BoardGame,
        player: int,
        *,
        limit: int | None = None,
        stash_bytes: int = 1 << 30,
        stash_first: Literal["earliest", "latest"] = "earliest",
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        if limit is not None and limit < MAX_MOVES:
            raise ValueError(f"a belief's limit is at least {MAX_MOVES} boards, got {limit}")
        self.game, self.player, self.limit = game, player, limit
        self.boards = BoardSet(row_of_board(game.start)[None])
        self.patience: float | None = None
        self.rebuilt = 0
        self._provisional = False  # made by the fallback while others were still stashed
        self.quiet, self.fullmove_number = game.start.halfmove_clock, game.start.fullmove_number
        self._stash = Stash(stash_bytes, stash_first)
        self._threads = threads
        self._rng = np.random.default_rng(seed)
        self.events: list[Event] = []
        self._started = False
        self._previous = self.boards.copy()  # for the fallback

    # -- observations ---------------------------------------------------------------------------

    def observe(self, observation: Observation) -> None:
        """Keep the boards that are consistent with an observation.

        Raises:
          BadObservationError: not an observation of the game.
        """
        if not self._started:
            self._started = True
            if int(self.boards.rows[0, STATE]) & 1 == self.player:
                return  # the player begins, and nothing was captured
            if observation.actor is None:
                return
        pawns = int(self.boards.rows[0, PAWNS]) if len(self.boards) else 0
        self.take_in(event_of(observation, pawns=pawns))

    def take_in(self, event: Event) -> None:
        """Keep the boards that are consistent with an event.

        Raises:
          BadObservationError: it cannot follow the last one.
        """
        last = type(self.events[-1]) if self.events else None
        if type(event) not in self.FOLLOWS[last]:
            raise BadObservationError(
                f"{self.game.info.name}: {type(event).__name__} cannot follow "
                f"{last and last.__name__}: all of a turn is observed, in order"
            )
        self.events.append(event)
        self._count(event)
        self.boards = self._after(self.boards, event, len(self.events) - 1)
        if len(self.boards) == 0 or self._provisional:
            self._recover(event)
        # Kept for the fallback, which changes boards from before the contradiction.
        self._previous = self.boards.sample(_FALLBACK_BOARDS, self._rng)

    def _count(self, event: Event) -> None:
        """Update the clocks, as far as they are known."""
        if isinstance(event, Sensed):
            return
        # The player's own pawns are the same on all boards.
        own = int(self.boards.rows[0, PAWNS]) if len(self.boards) else 0
        pawn = isinstance(event, Moved) and event.taken != NOTHING and own >> (event.taken & 63) & 1
        self.quiet = 0 if pawn or event.captured is not None else self.quiet + 1
        mover = self.player if isinstance(event, Moved) else 1 - self.player
        self.fullmove_number += mover

    def _after(self, boards: BoardSet, event: Event, turn: int) -> BoardSet:
        """Return boards after an event; those without room are stashed."""
        match event:
            case OpponentMoved():
                after, unexpanded = boards.after_opponent(
                    event.captured, limit=self.limit, threads=self._threads, rng=self._rng
                )
                self._stash.add(turn, unexpanded)
                if event.captured is not None and not event.ends:
                    after = BoardSet(after.rows[: keep_kings(after.rows)])
                return after
            case Sensed():
                return boards.sensed(event.window, event.pieces) if event.window else boards
            case Moved():
                return boards.moved(event.requested, event.taken, event.captured, ends=event.ends)

    # -- the stash ------------------------------------------------------------------------------

    @property
    def stashed(self) -> int:
        """The number of stashed boards."""
        return len(self._stash)

    @property
    def dropped(self) -> int:
        """The number of boards that the stash had no room for; with 0 the truth is not lost."""
        return self._stash.dropped

    @property
    def complete(self) -> bool:
        """Whether all possible boards are here, none stashed or lost."""
        return not (self.stashed or self.dropped or self.rebuilt)

    def _recover(self, event: Event) -> None:
        # Those of the earliest turn wait for most observations, which leave few of them.
        ends = math.inf if self.patience is None else time.monotonic() + self.patience
        recovered = self.boards.sample(0, self._rng)
        while len(recovered) == 0 and time.monotonic() < ends:
            if (entry := self._stash.take()) is None:
                break
            recovered = self._updated(*entry, ends=ends)
        if len(recovered):
            self.boards = recovered
        # Better a wrong board than none: an agent must answer, and the record says so.
        elif len(self.boards) == 0:
            self.boards = self._imposed(self._previous, event)
            self.rebuilt += 1
        # Made-up boards are replaced when the rest of the stash brings true ones.
        self._provisional = len(recovered) == 0 and self.stashed > 0

    def _imposed(self, boards: BoardSet, event: Event) -> BoardSet:
        return impose(boards, event)

    def _updated(self, turn: int, boards: BoardSet, *, ends: float) -> BoardSet:
        """Return the boards of a turn after all events since; unexpanded ones are stashed again."""
        for later in range(turn, len(self.events)):
            if len(boards) == 0:
                break
            if time.monotonic() > ends:
                self._stash.add(later, boards)
                return boards.sample(0, self._rng)
            boards = self._after(boards, self.events[later], later)
        return boards

    # -- worlds, as `miai.information.BeliefState` ------------------------------------------------

    def sample(self, rng: random.Random) -> BoardState:
        """Return a uniformly drawn world: a state with that board and no history.

        Its half-move clock is the greatest possible.
        """
        return self._world(rng.randrange(len(self.boards)))

    def __iter__(self) -> Iterator[BoardState]:
        return map(self._world, range(len(self.boards)))

    def __len__(self) -> int:
        return len(self.boards)

    def __contains__(self, state: BoardState) -> bool:
        """Return whether a world has the board and phase of a state, whatever the clocks."""
        phase = not isinstance(state, RbcState) or state.senses == self._senses()
        return phase and state.boards.rows[0] in self.boards

    def _senses(self) -> bool:
        return not (self.events and isinstance(self.events[-1], Sensed))

    def _world(self, number: int) -> BoardState:
        last = self.events[-1] if self.events else OpponentMoved(None)
        state = self.game.new_initial_state()
        state.set_board(
            self.boards.rows[number],
            captured=None if isinstance(last, Sensed) else last.captured,
            halfmove_clock=self.quiet,
            fullmove_number=self.fullmove_number,
        )
        if isinstance(state, RbcState):
            state.set_phase(senses=self._senses())
        return state


def make_belief(
    game: BoardGame,
    player: int,
    parameters: BeliefParameters,
    *,
    seed: int = 0,
    kind: type[RbcBelief] | None = None,
) -> RbcBelief:
    """Return a player's belief at the start: the component ``enumerated`` of rbc."""
    return (kind or RbcBelief)(
        game,
        player,
        limit=parameters.limit,
        stash_bytes=parameters.stash_mb << 20,
        stash_first=parameters.stash_first,
        threads=parameters.threads,
        seed=seed,
    )
