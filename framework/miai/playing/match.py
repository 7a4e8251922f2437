"""The referee: plays one game between seats, by the rules of the game and of the clock.

A player's failure is a forfeit, which ends the game with a record. A failure of the game or of the
referee is an exception and leaves no record: the game is void. docs/errors.md lists all cases. A
`Seat` is a player as the referee sees it, in this process or in another.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from miai.agent import Agent, Decision, checked_decision, checked_policy, stated_policy
from miai.clock import Clock, ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
    AgentUnavailableError,
    ConfigError,
    GameFailedError,
    MiaiError,
)
from miai.game import Game, Observation, Player, State
from miai.plain import Json, to_plain
from miai.playing.adjudication import Panel
from miai.plugins.loader import PluginWarning, plugin_host
from miai.plugins.versions import versions_of
from miai.record import (
    GameRecord,
    MoveRecord,
    PlayerRecord,
    Termination,
    VerdictRecord,
    observations_as_json,
)
from miai.seeds import derive_seed

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class SeatReply:
    """A player's answer, as the referee received it.

    Attributes:
      decision: the decision, as plain data.
      seconds: wall time from the question to the answer.
      cpu_seconds: the agent's CPU time since its last answer; None if not measured.
      policy: from which the decision was drawn; None if unknown or not asked for.
    """

    decision: Decision
    seconds: float
    cpu_seconds: float | None
    policy: Mapping[int, float] | None = None


class Seat(Protocol):
    """A player, as the referee sees it.

    Every method but `close` may raise an `AgentError`, which is a forfeit.

    Attributes:
      name: its name in the match.
      agent, parameters: the agent component and its parameters as configured.
      version: version of the agent's plugin, followed by the engine's own if it reports one.
      concurrent: whether `act` may wait in a thread of its own while others do, because the player
        thinks in another process or is a person.
    """

    name: str
    agent: str
    parameters: Mapping[str, Any]
    version: str
    concurrent: bool

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game as `player`; forget the last one."""

    def observe(self, observation: Observation) -> None:
        """Pass an observation to the player before its next decision."""

    def ponder(self) -> None:
        """Let the player think until its next question, if it can; return at once."""

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        """Return the player's decision; `deadline` is in seconds of wall time, None for none."""

    def policy(self) -> Mapping[int, float] | None:
        """Return the policy from which the last decision was drawn; None if it states none."""

    def end(self, returns: tuple[float, ...]) -> None:
        """Pass the end of the game and all players' returns to the player."""

    def close(self) -> None:
        """Release what the seat holds."""


class InProcessSeat:
    """A seat whose agent, `player`, runs in this process, trusted.

    Nothing stops the agent before it answers; its clock is charged afterwards. Observations are
    copies of plain data, so that nothing the agent holds leads to the state.
    """

    concurrent = False
    standstill = 0.0  # agent and referee stand still together

    def __init__(
        self, player: Agent, *, name: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        self.player = player
        self.agent = player.component or type(player).__name__
        self.name = name or self.agent
        self.parameters: Mapping[str, Any] = dict(parameters or player.settings)
        self.version = ""
        self._log: Path | None = None

    @property
    def policy_is_fixed(self) -> bool:
        """Whether the agent states one policy for all seeds."""
        return self.player.policy_is_fixed

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game. Raises `AgentError`."""
        self._log = log
        self._guard(lambda: self.player.new_game(seed, player=player, log=log))
        self.version = self.version or self.player.version

    def observe(self, observation: Observation) -> None:
        """Pass the observation to the agent at once. Raises `AgentError`."""
        if observation.data is not None:
            data = to_plain(observation.data, what="the data of an observation")
            observation = replace(observation, data=data)
        self._guard(lambda: self.player.observe(observation))

    def ponder(self) -> None:
        """Do nothing: in one process, agents think one after the other."""

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        """Return the agent's decision, however long it takes. Raises `AgentError`."""
        cpu = self._guard(self.player.cpu_seconds)
        began = time.monotonic()
        decision = self._guard(lambda: self.player.act(reading))
        seconds = time.monotonic() - began
        spent = self._guard(self.player.cpu_seconds) - cpu
        return SeatReply(checked_decision(decision), seconds, max(0.0, spent))

    def policy(self) -> Mapping[int, float] | None:
        """Return the agent's policy at its view. Raises `AgentError`."""
        return self._guard(lambda: stated_policy(self.player))

    def end(self, returns: tuple[float, ...]) -> None:
        """Pass the end of the game to the agent. Raises `AgentError`."""
        self._guard(lambda: self.player.end(returns))

    def close(self) -> None:
        """Close the agent. Raises `AgentError`."""
        self._guard(self.player.close)

    def _guard(self, call: Callable[[], ResultT]) -> ResultT:
        try:
            return call()
        except (AgentError, GameFailedError):
            raise
        except Exception as error:
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    traceback.print_exc(file=file)
            raise AgentCrashedError(
                f"agent '{self.name}': {type(error).__name__}: {error}"
            ) from error


MoveHook = Callable[[State, MoveRecord], None]
"""Called after every action, before the players observe it, with the state and the move.

The state must not be changed.
"""

_REASONS: Mapping[type[AgentError], Termination] = {
    AgentTimeoutError: Termination.TIME,
    AgentCrashedError: Termination.CRASH,
    AgentProtocolError: Termination.PROTOCOL,
    AgentFloodError: Termination.FLOOD,
    AgentUnavailableError: Termination.UNAVAILABLE,
    AgentError: Termination.CRASH,  # any other
}

_MAY_BE_THE_GAMES = frozenset(
    {Termination.TIME, Termination.ILLEGAL_ACTION, Termination.CRASH, Termination.PROTOCOL}
)
"""Reasons behind which there may be a failure of the game, as the player saw it."""

_logger = logging.getLogger("miai.playing.match")


@dataclass(slots=True)
class _Failure:
    """Why a player forfeits the game; `error` is its seat's, if it is one."""

    player: int
    reason: Termination
    detail: str
    error: AgentError | None = None


class _Forfeit(Exception):  # noqa: N818 - a way out of the game, not an error
    """Players forfeit the game, several only at one decision."""

    def __init__(self, failures: Sequence[_Failure]) -> None:
        super().__init__(failures[0].detail)
        self.failures = failures


class DrawAgreed(BaseException):
    """Both players agree on a draw; raised by the seat of a person who is asked."""


def turn_is_over(before: int, state: State) -> bool:
    """Return whether the turn of whoever led to a state ended with that action.

    `before` is `State.current_player` before the action. A decision of several players is a turn of
    each.
    """
    return before == Player.SIMULTANEOUS or before != state.current_player()


class Match:
    """One game in progress.

    Attributes:
      state: the true state, which no player receives.
      clocks: one clock for each player.
      record: the record of the game so far.
      plies: number of players' actions so far.
      on_move: called after every action.
      panel: adjudicators that may end the game; None for none.
      record_policies: whether players are asked for the policies of their decisions.
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
        self.record_policies = False
        self.state = game.new_initial_state()
        self.clocks = [Clock(control) for _ in seats]
        self._chance = random.Random(derive_seed(record.seed, "chance"))
        self._ponders = control.ponder
        self.plies = 0
        self._active: set[int] = set()  # players who know of the game and have not failed
        self._limit = game.max_game_length() if record.move_limit is None else record.move_limit
        self._hides = not game.info.perfect_information

    def play(
        self, opening: Sequence[int], earlier: Sequence[MoveRecord], logs: Sequence[Path | None]
    ) -> None:
        """Play the game to its end and complete the record.

        The opening and the earlier moves after it are legal. Each player has a log file or None.
        """
        began = time.monotonic()
        try:
            self._begin(logs)
            for action in opening:
                actor, text = int(self.state.next_actor()), self._notation(action)
                self.state.apply_action(action)  # raises, with the position, if illegal
                self._note(MoveRecord(ply=0, actor=actor, action=action, text=text, opening=True))
            for move in earlier:
                self._play_again(move)
            verdict = None
            while verdict is None and not self._is_over():
                verdict = self._step()
            self._conclude(verdict)
        except _Forfeit as forfeit:
            self._forfeit(forfeit.failures)
        except DrawAgreed:
            self.record.returns = self.game.draw_returns()
            self.record.termination = Termination.AGREEMENT
        self._end()
        record = self.record
        record.verdicts = [] if self.panel is None else self.panel.verdicts
        for player, seat, clock in zip(record.players, self.seats, self.clocks, strict=True):
            player.version, player.seconds = seat.version, clock.spent
        record.seconds = time.monotonic() - began

    # -- the course of the game ---------------------------------------------------------------

    def _is_over(self) -> bool:
        """Return whether nobody acts any more; what chance does after the last ply still counts."""
        if self.state.is_terminal():
            return True
        return self.plies >= self._limit and not self.state.is_chance_node()

    def _begin(self, logs: Sequence[Path | None]) -> None:
        if self.panel is not None:
            self.panel.new_game(self.record.seed)
        observations = self._observations()
        self.record.start_observations = self._for_record(observations)
        for player, seat in enumerate(self.seats):
            with _charge(player):
                seat.new_game(self.seeds[player], player=player, log=logs[player])
            self._active.add(player)
        self._tell(observations)

    def _play_again(self, move: MoveRecord) -> None:
        """Play a move of the game's first part, with the clock and the draws of chance after it.

        A move without a time, such as one of a record, was made before the clocks began.
        """
        player = self.state.next_actor()
        if player == Player.CHANCE:
            self._chance.random()  # as `_draw`
        elif move.seconds is not None:
            self.clocks[player].charge(move.seconds)
        self._apply(move.action, player, timed=move.seconds is not None)
        self._note(replace(move))

    def _step(self) -> VerdictRecord | None:
        """Play the next decision, of one or several players, or a draw of chance.

        Returns the verdict that ends the game after it, or None.
        """
        if self.state.is_chance_node():
            action = _draw(self.state.chance_outcomes(), self._chance)
            if fault := self.game.info.too_few_outcomes(action):
                raise GameFailedError(f"{self.game.info.title}: {fault}")
            move = MoveRecord(ply=0, actor=-1, action=action, text=self._notation(action))
            self._apply(action, Player.CHANCE)
            self._note(move)
            return None
        # All decisions are taken before the first is applied: nobody acts on another's choice.
        for move in self._decide(self.state.acting_players()):
            self._apply(move.action, move.actor)
            self._note(move)
        if self.panel is None or self.state.is_terminal():
            return None
        return self.panel.judge(self.state, self.record.moves)

    def _apply(self, action: int, player: int, *, timed: bool = True) -> None:
        """Apply an action of a player or of chance; the end of a turn may add an increment."""
        before = self.state.current_player()
        self.state.apply_action(action)
        if timed and player >= 0 and turn_is_over(before, self.state):
            self.clocks[player].end_turn()

    def _decide(self, players: Sequence[int]) -> list[MoveRecord]:
        """Return a legal move of each player, none of them applied; raise `_Forfeit` for failures.

        All are asked before any answer is looked at: no answer depends on another, and who fails
        does not depend on who was faster.
        """
        for other in sorted(self._active.difference(players)) if self._ponders else ():
            self.seats[other].ponder()
        answers = self._ask(players)
        moves, failures = [], []
        for player, answer in zip(players, answers, strict=True):
            move = answer if isinstance(answer, _Failure) else self._move(player, answer)
            if isinstance(move, _Failure):
                failures.append(move)
            else:
                moves.append(move)
        if failures:
            raise _Forfeit(failures)
        return moves

    def _ask(self, players: Sequence[int]) -> list[SeatReply | _Failure]:
        """Return each player's answer; the clocks of all run from here.

        Players in other processes, and people, think at the same time; those in this process one
        after the other, each on its own clock.
        """
        if len(players) == 1:
            return [self._answer(players[0])]
        answers: dict[int, SeatReply | _Failure | BaseException] = {}

        def ask(player: int) -> None:
            try:
                answers[player] = self._answer(player)
            except BaseException as error:  # raised again below, in the referee's own thread
                answers[player] = error

        threads = [
            threading.Thread(target=ask, args=(player,), daemon=True)
            for player in players
            if self.seats[player].concurrent
        ]
        for thread in threads:
            thread.start()
        for player in players:
            if not self.seats[player].concurrent:
                ask(player)
        for thread in threads:
            thread.join()
        replies = []
        for player in players:
            answer = answers[player]
            if isinstance(answer, BaseException):
                raise answer
            replies.append(answer)
        return replies

    def _answer(self, player: int) -> SeatReply | _Failure:
        """Return the player's reply, charged to its clock, or why there is none in time."""
        clock, record = self.clocks[player], self.record.players[player]
        began = time.monotonic()
        try:
            reply = self.seats[player].act(clock.reading(), deadline=clock.deadline())
            if self.record_policies and not reply.decision.resign:
                policy, drawn = self.seats[player].policy(), reply.decision.action
                if policy is not None:
                    legal = self.state.legal_actions_of(player)
                    policy = checked_policy(policy, legal, drawn=drawn)
                reply = replace(reply, policy=policy, seconds=time.monotonic() - began)
        except AgentError as error:
            # The seat measures no time when it fails; the referee's clock includes the way there.
            clock.spent += time.monotonic() - began
            return _failure(player, error)
        if reply.cpu_seconds is not None:
            record.cpu_seconds = (record.cpu_seconds or 0.0) + reply.cpu_seconds
        # Taken before the charge, which changes it.
        limit = clock.limit()
        if not clock.charge(reply.seconds):
            late = f"answered after {reply.seconds:.3f} s with {limit:.3f} s left on the clock"
            return _Failure(player, Termination.TIME, late)
        return reply

    def _move(self, player: int, reply: SeatReply) -> MoveRecord | _Failure:
        """Return the move of a player's reply, or why it is none."""
        decision = reply.decision
        if decision.resign:
            return _Failure(player, Termination.RESIGNATION, "")
        if problem := self._illegality(player, decision.action):
            return _Failure(player, Termination.ILLEGAL_ACTION, problem)
        return MoveRecord(
            ply=0,
            actor=player,
            action=decision.action,
            text=self._notation(decision.action),
            seconds=reply.seconds,
            cpu_seconds=reply.cpu_seconds,
            statistics=decision.statistics,
            policy=reply.policy,
        )

    def _illegality(self, player: int, action: int) -> str:
        """Return why an action is not legal for the player; empty if it is."""
        if 0 <= action < self.game.num_distinct_actions():
            # Of a player alone the game is asked directly, which may be faster than a list.
            alone = self.state.current_player() == player
            legal = None if alone else self.state.legal_actions_of(player)
            if self.state.is_legal(action) if legal is None else action in legal:
                return ""
            text = f"{action} ({self._notation(action)})"
        else:
            text = f"{action} (the game has actions 0 to {self.game.num_distinct_actions() - 1})"
        return f"action {text} is not legal at ply {len(self.record.moves)}"

    def _note(self, move: MoveRecord) -> None:
        """Record the move just applied and pass its observations to the players."""
        move.ply = len(self.record.moves)
        self.record.moves.append(move)
        self.plies += move.actor != Player.CHANCE
        observations = self._observations()
        move.observations = self._for_record(observations)
        if self.on_move is not None:
            self.on_move(self.state, move)
        self._tell(observations)

    def _observations(self) -> list[Observation | None]:
        return [self.state.observation(player) for player in range(len(self.seats))]

    def _for_record(self, observations: Sequence[Observation | None]) -> Mapping[str, Json]:
        return observations_as_json(observations) if self._hides else {}

    def _tell(self, observations: Sequence[Observation | None]) -> None:
        for player, observation in enumerate(observations):
            if observation is not None:
                with _charge(player):
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
            record.returns = self._values(state.returns())
            record.detail = state.result_to_string()
            return
        record.returns = self._values(state.truncated_returns())
        record.termination = Termination.MOVE_LIMIT
        record.terminated, record.truncated = False, True
        record.detail = f"stopped after {self.plies} plies"

    def _values(self, returns: Sequence[float]) -> tuple[float, ...]:
        if len(returns) != self.game.num_players():
            what = f"returns {len(returns)} values for {self.game.num_players()} players"
            raise ValueError(f"the game {what}; `miai check` shows where")
        return _floats(returns)

    def _forfeit(self, failures: Sequence[_Failure]) -> None:
        """Conclude the game as lost by the players who failed, unless the game itself did."""
        for failure in failures:
            # Where the rules themselves are a program, they may have caused the failure; then the
            # game is void, and `verify` raises.
            if failure.reason in _MAY_BE_THE_GAMES:
                self.game.verify(self.state.history())
                if failure.error is not None and failure.error.game_failed_at is not None:
                    self.game.verify(failure.error.game_failed_at)
            if failure.reason is Termination.UNAVAILABLE and failure.player in self._active:
                # The player was available. No agent may void a game that it is losing.
                failure.reason = Termination.CRASH
            if failure.error is not None:
                self._active.discard(failure.player)
                if _is_defect(failure):  # its author needs the traceback
                    cause = failure.error.__cause__
                    _logger.error("%s", failure.detail, exc_info=cause)
        record, first = self.record, failures[0]
        losers = tuple(failure.player for failure in failures)
        record.returns = _floats(self.game.forfeit_returns(losers))
        record.termination, record.loser = first.reason, first.player
        record.detail = first.detail
        if len(failures) > 1:
            record.losers = losers
            record.detail = "; ".join(map(self._explanation, failures))

    def _explanation(self, failure: _Failure) -> str:
        name = self.game.info.player_names[failure.player]
        detail = f" ({failure.detail})" if failure.detail else ""
        return f"{name}: {failure.reason}{detail}"

    def _end(self) -> None:
        """Tell the players. Failures no longer change the result."""
        for player in sorted(self._active):
            try:
                self.seats[player].end(self.record.returns)
            except AgentError as error:
                _logger.warning("after the game was over: %s", error)

    def _notation(self, action: int) -> str:
        try:
            return self.state.action_to_string(action)
        except (ValueError, LookupError):
            return str(action)


@contextmanager
def _charge(player: int) -> Iterator[None]:
    """Turn an `AgentError` of the block into a player's forfeit."""
    try:
        yield
    except AgentError as error:
        raise _Forfeit([_failure(player, error)]) from error


def _failure(player: int, error: AgentError) -> _Failure:
    reason = next(r for kind, r in _REASONS.items() if isinstance(error, kind))
    return _Failure(player, reason, str(error), error)


def _is_defect(failure: _Failure) -> bool:
    """Return whether a player in this process failed with an exception of its own code.

    The messages of miai's errors already name their causes, such as an engine's missing answer.
    """
    exception = None if failure.error is None else failure.error.__cause__
    unexpected = exception is not None and not isinstance(exception, MiaiError)
    return unexpected and failure.reason is not Termination.UNAVAILABLE


def _draw(outcomes: Sequence[tuple[int, float]], rng: random.Random) -> int:
    """Return a random outcome. Only `Random.random` is used, whose stream never changes."""
    total = sum(probability for _, probability in outcomes)
    if not total > 0:
        raise ValueError("the game gives no probabilities of chance; `miai check` shows where")
    point = rng.random() * total
    for action, probability in outcomes:
        point -= probability
        if point < 0:
            return action
    return outcomes[-1][0]


def _floats(returns: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in returns)


def play_game(
    game: Game,
    seats: Sequence[Seat],
    *,
    seed: int,
    time_control: TimeControl | None = None,
    move_limit: int | None = None,
    opening: Sequence[int] = (),
    earlier: Sequence[MoveRecord] = (),
    seeds: Sequence[int] | None = None,
    tags: Mapping[str, Json] | None = None,
    log_dir: Path | None = None,
    on_move: MoveHook | None = None,
    panel: Panel | None = None,
    record_policies: bool = False,
) -> GameRecord:
    """Play one game and return its record. The seats are left open for the next game.

    Args:
      seats: in player order.
      seed: the seeds of chance and of the players derive from it, by ``derive_seed(seed,
        "chance")`` and ``derive_seed(seed, "player", number)``.
      time_control: the clock of every player; by default none.
      move_limit: maximum number of plies, the opening included and chance excluded, before the
        game is truncated; by default the game's own maximum length.
      opening: actions that the referee plays first, outcomes of chance included.
      earlier: moves of this game, after the opening, that were played before it was interrupted:
        the game goes on after them, with the clocks and the draws of chance that it would have had.
      seeds: the players' seeds in player order, instead of derived ones.
      tags: plain data that the organiser adds to the record.
      log_dir: folder for a log of each player, named after it (``black.log``); created if missing.
      on_move: called after every action.
      panel: adjudicators, asked after every move of a player. A panel judges one game at a time.
      record_policies: whether to check and record `Agent.policy`, on the players' clocks.

    Raises:
      ConfigError: the number of seats or seeds is not the number of players, or the move limit
        is less than 1.
      TypeError: tags or a seat's parameters are not plain data.
      OSError: a log cannot be written.
      Exception: any error of the game itself; the game is void.
    """
    _check_seats(game, seats, seeds)
    if move_limit is not None and move_limit < 1:
        raise ConfigError(f"move_limit is {move_limit}; give 1 or more, or none")
    if seeds is None:
        seeds = [derive_seed(seed, "player", number) for number in range(len(seats))]
    control = time_control or TimeControl()
    record = new_record(game, list(map(_player_record, seats, seeds)), seed=seed)
    record.time_control, record.move_limit = asdict(control), move_limit
    record.tags = _plain_mapping(tags or {}, what="tags")
    record.started = datetime.now(UTC).isoformat(timespec="milliseconds")
    state = game.new_initial_state()
    for action in [*opening, *(move.action for move in earlier)]:
        state.apply_action(action)  # raises if it is illegal, before any agent begins the game
    match = Match(game, seats, seeds, control, record)
    match.on_move, match.panel, match.record_policies = on_move, panel, record_policies
    match.play(opening, earlier, _logs(game, log_dir))
    _notify_plugins(record)
    return record


def _check_seats(game: Game, seats: Sequence[Seat], seeds: Sequence[int] | None) -> None:
    count = game.num_players()
    if len(seats) != count or (seeds is not None and len(seeds) != count):
        raise ConfigError(
            f"{game.info.title} is a game of {count} players: give as many seats (and seeds), "
            f"not {len(seats)}" + ("" if seeds is None else f" (and {len(seeds)})")
        )


def _player_record(seat: Seat, seed: int) -> PlayerRecord:
    parameters = _plain_mapping(seat.parameters, what=f"parameters of '{seat.name}'")
    return PlayerRecord(name=seat.name, agent=seat.agent, parameters=parameters, seed=seed)


class PlayOptions(TypedDict, total=False):
    """The options of `play`; see `play_game`."""

    time_control: TimeControl | None
    move_limit: int | None
    opening: Sequence[int]
    earlier: Sequence[MoveRecord]
    tags: Mapping[str, Json] | None
    log_dir: Path | None
    on_move: MoveHook | None
    panel: Panel | None
    record_policies: bool


def play(
    game: Game, agents: Sequence[Agent], *, seed: int = 0, **options: Unpack[PlayOptions]
) -> GameRecord:
    """Play one game between agents in this process and return its record.

    An agent with a seed of its own (`Agent.default_seed`) keeps it; the other agents' seeds derive
    from `seed`. The options are those of `play_game`. A game that ends by an agent's failure has a
    record too; the logger ``miai.playing.match`` logs the agent's exception with its traceback.

    Raises as `play_game`, and `ConfigError` if several people would see each other's secrets, in a
    game that hides information or in which players act at once.
    """
    info = game.info
    people = [agent for agent in agents if agent.component == "human"]
    if len(people) > 1 and (info.simultaneous or not info.perfect_information):
        why = "lets players act at once" if info.perfect_information else "hides information"
        raise ConfigError(
            f"{info.title} {why}, so that {len(people)} people at one terminal would see what the "
            "others may not; in `miai play` each has a screen of its own"
        )
    return play_in_process(game, agents, seed=seed, **options)


def play_in_process(
    game: Game, agents: Sequence[Agent], *, seed: int = 0, **options: Unpack[PlayOptions]
) -> GameRecord:
    """Play as `play`, also with several people, who the caller hides from each other."""
    seeds = [
        derive_seed(seed, "player", number) if agent.default_seed is None else agent.default_seed
        for number, agent in enumerate(agents)
    ]
    seats = [InProcessSeat(agent) for agent in agents]
    return play_game(game, seats, seed=seed, seeds=seeds, **options)


def new_record(game: Game, players: list[PlayerRecord], *, seed: int) -> GameRecord:
    """Return the record of a game before its first action, with parameters and versions."""
    # With the defaults, which another version may have changed.
    parameters = getattr(game, "parameters", None)
    return GameRecord(
        game=game.info.name,
        game_version=game.info.version,
        game_parameters={} if parameters is None else parameters.model_dump(mode="json"),
        players=players,
        seed=seed,
        versions=versions_of(game.info.name, {player.agent for player in players}),
    )


def _plain_mapping(values: Mapping[str, Any], *, what: str) -> Mapping[str, Json]:
    plain = to_plain(values, what=what)
    assert isinstance(plain, Mapping)
    return plain


def _logs(game: Game, folder: Path | None) -> list[Path | None]:
    if folder is None:
        return [None] * game.num_players()
    folder.mkdir(parents=True, exist_ok=True)
    names = [re.sub(r"[^\w.-]", "_", name) for name in game.info.player_names]
    return [folder / f"{name}.log" for name in names]


def _notify_plugins(record: GameRecord) -> None:
    manager = plugin_host().manager
    for implementation in manager.hook.miai_game_finished.get_hookimpls():
        plugin = implementation.plugin
        # One plugin a call, so that the failure of one costs the others nothing.
        others = [p for p in manager.get_plugins() if p is not plugin]
        try:
            manager.subset_hook_caller("miai_game_finished", others)(record=record)
        except Exception as error:
            warnings.warn(
                f"plugin '{implementation.plugin_name}' failed in miai_game_finished: "
                f"{type(error).__name__}: {error}",
                PluginWarning,
                stacklevel=3,
            )
