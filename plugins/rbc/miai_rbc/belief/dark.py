"""`DarkBelief`: every board of dark chess that a player considers possible.

A view restricts boards at once: its squares hold what they show, an unseen square before an own
pawn is occupied, and an unseen one that the pawn attacks is empty. So a successor is kept or not
without looking along rays, before it is looked up or takes memory.
"""

from __future__ import annotations

from typing import ClassVar

from miai import Observation
from miai_rbc.belief.belief import RbcBelief, make_belief
from miai_rbc.belief.fallback import impose
from miai_rbc.kernels.board import PAWNS
from miai_rbc.kernels.expansion import NO_PASS
from miai_rbc.kernels.vision import keep_seen
from miai_rbc.rbc_parameters import BeliefParameters
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.dark import DarkGame, SeenMoved, SeenOpponentMoved, seen_event_of
from miai_rbc.rules.observations import Event


class DarkBelief(RbcBelief):
    """The boards that one player considers possible; as `RbcBelief`, with views for senses.

    Boards on which the opponent has no move are dropped with its next turn.
    """

    game: DarkGame
    FOLLOWS: ClassVar = {
        None: (SeenMoved, SeenOpponentMoved),
        SeenMoved: (SeenOpponentMoved,),
        SeenOpponentMoved: (SeenMoved,),
    }

    def observe(self, observation: Observation) -> None:
        """Keep the boards that are consistent with an observation.

        Raises:
          BadObservationError: not an observation of the game.
        """
        if observation.actor is not None:
            pawns = int(self.boards.rows[0, PAWNS])
            self.take_in(seen_event_of(observation, pawns=pawns))

    def _after(self, boards: BoardSet, event: Event, turn: int) -> BoardSet:
        match event:
            case SeenOpponentMoved():
                after, unexpanded = boards.after_opponent(
                    NO_PASS if event.captured is None else event.captured,
                    limit=self.limit,
                    threads=self._threads,
                    rng=self._rng,
                    view=event.view.to_words(),
                )
                self._stash.add(turn, unexpanded)
                return after
            case SeenMoved():
                move, captured, ends = event.taken, event.captured, event.ends
                after = boards.moved(move, move, captured, ends=ends)
                return BoardSet(after.rows[: keep_seen(after.rows, event.view.to_words())])
        raise TypeError(f"{type(event).__name__} is not an event of dark chess")

    def _imposed(self, boards: BoardSet, event: Event) -> BoardSet:
        assert isinstance(event, SeenMoved | SeenOpponentMoved)
        return impose(impose(boards, event), event.view.sensed())


def make_dark_belief(
    game: DarkGame, player: int, parameters: BeliefParameters, *, seed: int = 0
) -> RbcBelief:
    """Return a player's belief at the start: the component ``enumerated`` of dark chess."""
    return make_belief(game, player, parameters, seed=seed, kind=DarkBelief)
