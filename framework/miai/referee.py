"""One game in progress: the referee's part of `miai.match`."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from miai.adjudication.panel import Panel
from miai.clock import Clock, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    MiaiError,
)
from miai.game import Game, Json, Observation, Player, State
from miai.record import GameRecord, MoveRecord, Termination, VerdictRecord, told_as_json
from miai.seat import Reply, Seat
from miai.seeds import derive_seed

MoveHook = Callable[[State, MoveRecord], None]
"""Called after every action with the state, which is not to be changed, and the move."""

_REASONS: Mapping[type[AgentError], Termination] = {
    AgentTimeoutError: Termination.TIME,
    AgentCrashedError: Termination.CRASH,
    AgentProtocolError: Termination.PROTOCOL,
    AgentFloodError: Termination.FLOOD,
    AgentUnavailableError: Termination.UNAVAILABLE,
    AgentError: Termination.CRASH,  # of no closer kind
}

_logger = logging.getLogger("miai.match")


class _Forfeit(Exception):  # noqa: N818 - a way out of the game, not an error
    """A player loses by what it did."""

    def __init__(self, player: int, reason: Termination, detail: str) -> None:
        super().__init__(detail)
        self.player, self.reason, self.detail = player, reason, detail


class Match:
    """One game in progress.

    Attributes:
      state: the true state, which no player is handed.
      clocks: one a player.
      record: of the game so far.
      plies: actions of players so far.
      on_move: called after every action.
      panel: who may end the game by a verdict; None for nobody.
    """

    def __init__(
        self,
        game: Game,
        seats: Sequence[Seat],
        seeds: Sequence[int],
        control: TimeControl,
        record: GameRecord,
    ) -> None:
        self.game, self.seats, self.seeds, self.record = game, seats, seeds, record
        self.on_move: MoveHook | None = None
        self.panel: Panel | None = None
        self.state = game.new_initial_state()
        self.clocks = [Clock(control) for _ in seats]
        self._chance = random.Random(derive_seed(record.seed, "chance"))
        self.plies = 0
        self._begun: set[int] = set()  # players who know of the game and have not failed
        self._limit = game.max_game_length() if record.move_limit is None else record.move_limit
        self._hides = not game.info.perfect_information

    def play(self, opening: Sequence[int], logs: Sequence[Path | None]) -> None:
        """Play the game to its end and complete the record.

        Args:
          opening: legal actions that are played first.
          logs: one file a player, or None.
        """
        began = time.monotonic()
        try:
            self._begin(logs)
            for action in opening:
                self._play_opening(action)
            verdict = None
            while verdict is None and not self.state.is_terminal() and self.plies < self._limit:
                verdict = self._step()
            self._conclude(verdict)
        except _Forfeit as forfeit:
            self._forfeit(forfeit)
        self._end()
        record = self.record
        record.verdicts = [] if self.panel is None else self.panel.verdicts
        for player, seat, clock in zip(record.players, self.seats, self.clocks, strict=True):
            player.version, player.seconds = seat.version, clock.spent
        record.seconds = time.monotonic() - began

    # -- the course of the game ---------------------------------------------------------------

    def _begin(self, logs: Sequence[Path | None]) -> None:
        if self.panel is not None:
            self.panel.new_game(self.record.seed)
        observations = self._observations()
        self.record.start_observations = self._for_record(observations)
        for player, seat in enumerate(self.seats):
            with _Charge(player):
                seat.new_game(self.seeds[player], player=player, log=logs[player])
            self._begun.add(player)
        self._tell(observations)

    def _play_opening(self, action: int) -> None:
        actor = self.state.current_player()
        text = self._notation(action)
        self.state.apply_action(action)  # refuses, with the position, what is not legal
        self._note(MoveRecord(ply=0, actor=int(actor), action=action, text=text, opening=True))

    def _step(self) -> VerdictRecord | None:
        """Have the next action taken; return the verdict that ends the game with it, or None."""
        player = self.state.current_player()
        if player == Player.CHANCE:
            action = _draw(self.state.chance_outcomes(), self._chance)
            move = MoveRecord(ply=0, actor=-1, action=action, text=self._notation(action))
        else:
            move = self._move(player)
        self.state.apply_action(move.action)
        self._note(move)
        if self.panel is None or player == Player.CHANCE or self.state.is_terminal():
            return None
        return self.panel.judge(self.state, self.record.moves)

    def _move(self, player: int) -> MoveRecord:
        """Return the player's move, legal but not yet applied."""
        reply = self._ask(player)
        decision = reply.decision
        if decision.resign:
            raise _Forfeit(player, Termination.RESIGNATION, "")
        self._refuse_illegal(player, decision.action)
        return MoveRecord(
            ply=0,
            actor=player,
            action=decision.action,
            text=self._notation(decision.action),
            seconds=reply.seconds,
            cpu_seconds=reply.cpu_seconds,
            statistics=decision.statistics,
        )

    def _ask(self, player: int) -> Reply:
        """Return the player's reply, its clock charged; raise `_Forfeit` when there is none."""
        clock, record = self.clocks[player], self.record.players[player]
        began = time.monotonic()
        try:
            with _Charge(player):
                reply = self.seats[player].act(clock.reading(), deadline=clock.deadline())
        except _Forfeit:
            clock.spent += time.monotonic() - began
            raise
        if reply.cpu_seconds is not None:
            record.cpu_seconds = (record.cpu_seconds or 0.0) + reply.cpu_seconds
        limit = clock.limit()
        if not clock.charge(reply.seconds):
            raise _Forfeit(
                player,
                Termination.TIME,
                f"answered after {reply.seconds:.3f} s with {limit:.3f} s left on the clock",
            )
        return reply

    def _refuse_illegal(self, player: int, action: int) -> None:
        if 0 <= action < self.game.num_distinct_actions():
            if self.state.is_legal(action):
                return
            text = f"{action} ({self._notation(action)})"
        else:
            text = f"{action} (the game has actions 0 to {self.game.num_distinct_actions() - 1})"
        raise _Forfeit(
            player,
            Termination.ILLEGAL_ACTION,
            f"action {text} is not legal at ply {len(self.record.moves)}",
        )

    def _note(self, move: MoveRecord) -> None:
        """Record a move that was just applied and tell every player what it is told."""
        move.ply = len(self.record.moves)
        self.record.moves.append(move)
        self.plies += move.actor != Player.CHANCE
        observations = self._observations()
        move.observations = self._for_record(observations)
        self._tell(observations)
        if self.on_move is not None:
            self.on_move(self.state, move)

    def _observations(self) -> list[Observation | None]:
        return [self.state.observation(player) for player in range(len(self.seats))]

    def _for_record(self, observations: Sequence[Observation | None]) -> Mapping[str, Json]:
        return told_as_json(observations) if self._hides else {}

    def _tell(self, observations: Sequence[Observation | None]) -> None:
        for player, observation in enumerate(observations):
            if observation is not None:
                with _Charge(player):
                    self.seats[player].observe(observation)

    # -- the end of the game ------------------------------------------------------------------

    def _conclude(self, verdict: VerdictRecord | None) -> None:
        record, state = self.record, self.state
        if verdict is not None:
            record.returns = verdict.returns
            record.termination = Termination.ADJUDICATION
            record.detail = f"{verdict.rule}: {verdict.reason}"
            return
        if state.is_terminal():
            record.returns = _floats(state.returns())
            record.detail = state.result_to_string()
            return
        record.returns = _floats(state.truncated_returns())
        record.termination = Termination.MOVE_LIMIT
        record.terminated, record.truncated = False, True
        record.detail = f"stopped after {self.plies} plies"

    def _forfeit(self, forfeit: _Forfeit) -> None:
        record = self.record
        if forfeit.reason is Termination.UNAVAILABLE and forfeit.player in self._begun:
            # Who has begun was there. A word must not make a game void that is being lost.
            forfeit.reason = Termination.CRASH
        record.returns = _floats(self.game.resignation_returns(forfeit.player))
        record.termination, record.loser = forfeit.reason, forfeit.player
        record.detail = forfeit.detail
        if isinstance(forfeit.__cause__, AgentError):
            self._begun.discard(forfeit.player)
            exception = forfeit.__cause__.__cause__
            if _is_defect(forfeit, exception):  # its author wants to see where
                _logger.error("%s", forfeit.detail, exc_info=exception)

    def _end(self) -> None:
        """Tell the players. The result stands, whatever a player does now."""
        for player in sorted(self._begun):
            try:
                self.seats[player].end(self.record.returns)
            except AgentError as error:
                _logger.warning("after the game was over: %s", error)

    def _notation(self, action: int) -> str:
        """Return the action in words, also one that may not be legal here."""
        try:
            return self.state.action_to_string(action)
        except (ValueError, LookupError):
            return str(action)


class _Charge:
    """Turns an `AgentError` inside the ``with`` block into the forfeit of a player."""

    __slots__ = ("player",)

    def __init__(self, player: int) -> None:
        self.player = player

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, AgentError):
            reason = next(r for k, r in _REASONS.items() if isinstance(error, k))
            raise _Forfeit(self.player, reason, str(error)) from error


def _is_defect(forfeit: _Forfeit, exception: BaseException | None) -> bool:
    """Return whether a player in this process failed by an exception in its own code.

    What miai's errors chain, such as an engine's missing answer, is told by their messages.
    """
    unforeseen = exception is not None and not isinstance(exception, MiaiError)
    return unforeseen and forfeit.reason is not Termination.UNAVAILABLE


def _draw(outcomes: Sequence[tuple[int, float]], rng: random.Random) -> int:
    """Return a random outcome. Only `Random.random` is used, whose stream never changes."""
    point = rng.random() * sum(probability for _, probability in outcomes)
    for action, probability in outcomes:
        point -= probability
        if point < 0:
            return action
    return outcomes[-1][0]


def _floats(returns: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in returns)
