"""What `miai play` does for the people at its table: undo, hints, saving, what opponents think."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from miai.advice import told_of
from miai.human import HumanAgent, TakeBack

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.game import Game, State
    from miai.record import GameRecord, MoveRecord
    from miai.search.protocol import Search, SearchResult


class Table:
    """A game between people and agents in this process, in which moves can be taken back.

    The referee knows nothing of it: after moves were taken back the game begins anew, and what was
    left of it is played as an opening. Only games that hide nothing can go back.

    Args:
      note: called with each state and the move that led there, once.
      save: writes a record to a file and returns what to say of it.
      adviser: makes the search that is asked for hints; None for none.

    Attributes:
      moves: the game so far.
    """

    def __init__(
        self,
        game: Game,
        agents: Sequence[Agent],
        *,
        note: Callable[[State, MoveRecord], None],
        save: Callable[[GameRecord, str], str],
        adviser: Callable[[], Search] | None,
    ) -> None:
        self.moves: list[MoveRecord] = []
        self._game, self._agents = game, agents
        self._note, self._save = note, save
        self._make_adviser = adviser
        self._adviser: Search | None = None
        self._seed = 0
        for agent in agents:
            if isinstance(agent, HumanAgent):
                agent.offers = self

    def play(self, *, seed: int) -> GameRecord:
        """Return the record of the game, as it went in the end. Raises as `miai.match.play`."""
        from miai.match import play

        self._seed = seed
        while True:
            kept = list(self.moves)
            opening = [move.action for move in kept]
            try:
                record = play(
                    self._game, self._agents, seed=seed, opening=opening, on_move=self._take
                )
            except TakeBack as wish:
                del self.moves[wish.ply :]
                continue
            record.moves[: len(kept)] = kept  # as they were decided, not as an opening
            return record

    def _take(self, state: State, move: MoveRecord) -> None:
        if move.opening:
            return
        self.moves.append(move)
        self._note(state, move)
        for number, person in enumerate(self._agents):
            if isinstance(person, HumanAgent) and move.actor not in (number, -1):
                person.tell(told_of(state, move))

    # -- what people are offered ----------------------------------------------------------------

    def last_ply_of(self, player: int) -> int | None:
        """Return the last ply that a player may take back; None for none."""
        if not self._game.info.perfect_information:
            return None
        own = [move.ply for move in self.moves if move.actor == player]
        return own[-1] if own else None

    def can_advise(self) -> bool:
        """Return whether there is a search to ask."""
        return self._make_adviser is not None

    def advise(self, state: State) -> SearchResult:
        """Return what the adviser finds. Raises `MiaiError`."""
        if self._adviser is None:
            assert self._make_adviser is not None, "can_advise says so"
            self._adviser = self._make_adviser()
        self._adviser.new_game(self._seed)
        return self._adviser.search(state)

    def can_save(self) -> bool:
        """Return whether a game that is going on may be seen as a whole."""
        return self._game.info.perfect_information

    def save(self, file: str) -> str:
        """Write the game so far; return what to say of it. Raises `MiaiError`."""
        return self._save(unfinished(self._game, self._agents, self.moves, self._seed), file)


def unfinished(
    game: Game, agents: Sequence[Agent], moves: Sequence[MoveRecord], seed: int
) -> GameRecord:
    """Return the record of a game that is going on, as one that was stopped."""
    from miai.record import GameRecord, PlayerRecord, Termination
    from miai.seeds import derive_seed
    from miai.versions import versions_of

    state = game.new_initial_state()
    for move in moves:
        state.apply_action(move.action)
    parameters = getattr(game, "parameters", None)
    return GameRecord(
        game=game.info.name,
        game_version=game.info.version,
        game_parameters={} if parameters is None else parameters.model_dump(mode="json"),
        players=[
            PlayerRecord(
                name=agent.component,
                agent=agent.component,
                parameters=dict(agent.given),
                seed=derive_seed(seed, "player", number),
                version=agent.version,
            )
            for number, agent in enumerate(agents)
        ],
        moves=list(moves),
        seed=seed,
        returns=tuple(float(value) for value in state.truncated_returns()),
        termination=Termination.MOVE_LIMIT,
        detail="saved while it was going on",
        terminated=False,
        truncated=True,
        versions=versions_of(game.info.name, {agent.component for agent in agents}),
    )
