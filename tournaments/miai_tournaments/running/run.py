"""One sitting of a tournament: begin, extend or resume it, and play until it ends.

The runner: hands the games that are not done to an executor and commits what comes back.

It is the only one that writes to the store while games are played. After each commit it hears from
the director whether games are added, or not needed any more. It ends when all games that are
needed are done, when it is told to stop, or when games are void again and again.

Forfeit or void: what the outcome of a game means. Decided here and nowhere else.

=====================================================  ===========================================
what happened                                          what it means
=====================================================  ===========================================
the game ended by its rules, its move limit or a       the result stands
resignation
an agent raised, died, hung, flooded, answered         a forfeit: the result stands, the agent lost
nonsense or an illegal action, or lost on time
an agent could not be started any more                 void: the game is played again
the worker died or hung; the game, the referee or a    void: the game is played again
plugin raised an exception
an agent crashed while the run was being stopped       dropped: whoever stops the run may have
                                                       stopped the agent; the game stays pending
=====================================================  ===========================================

docs/errors.md tells the same to users.

Which limits of a config this machine cannot keep; the run goes on, and says so.

Openings are valued before the first game: how far it is, and that it can be stopped.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Literal

from miai.api import load_game
from miai.errors import AgentUnavailableError, ConfigError, StoreError, UnknownComponentError
from miai.game import Game, GameInfo
from miai.playing.adjudication import make_panel
from miai.process.child import SCRATCH
from miai.process.sandbox import hindrance
from miai.record import RecordFormat, Termination
from miai_tournaments.config.extension import refuse_other_config
from miai_tournaments.config.load import Tournament, rules_of
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.schema import LimitsSection, TournamentConfig, available_processors
from miai_tournaments.formats.format import how_many
from miai_tournaments.report.counting import count_store
from miai_tournaments.report.document import counted
from miai_tournaments.report.live import Reporter, one_line
from miai_tournaments.running.schedule import (
    Director,
    TournamentPlan,
    extend,
    player_seed,
    run_info,
    stored_config,
    stored_format,
    stored_openings,
    with_judgement,
)
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.store.address import DRAFT_FILE
from miai_tournaments.store.export import RecordFiles, record_format
from miai_tournaments.store.folder import (
    LOGS,
    RunLock,
    check_database,
    has_store,
    locked,
    refuse_foreign,
    settle_draft,
    store_url,
)
from miai_tournaments.store.rows import GameResult, GameRow, PlayerRow, ScheduledGame
from miai_tournaments.store.store import Store
from miai_tournaments.workers.executor import Executor, make_executor
from miai_tournaments.workers.game_runner import UNNAMED
from miai_tournaments.workers.jobs import GameJob, Outcome, Setup


class GameDecision(Enum):
    """What is done with an outcome: committed, played again as void, or dropped unseen."""

    RESULT = "result"
    VOID = "void"
    DROPPED = "dropped"


def judge(outcome: Outcome, *, stopping: bool) -> GameDecision:
    """Return what the outcome of a game means; `stopping` is whether the run was told to end."""
    result = outcome.result
    if stopping and (result is None or result.termination == Termination.CRASH):
        return GameDecision.DROPPED
    if result is None or result.termination == Termination.UNAVAILABLE:
        return GameDecision.VOID
    return GameDecision.RESULT


def void_reason(outcome: Outcome) -> str:
    """Return why a game was void, in words."""
    return outcome.reason if outcome.result is None else outcome.result.detail


POLL_SECONDS = 0.25
"""How often the runner looks whether it was told to stop."""

VOIDS_IN_A_ROW = 2
"""Attempts at one game, one after the other, that stop the run when they are void. In the whole run
it is as many, and more than there are workers: a machine that dies takes all of its own along."""


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended.

    Attributes:
      kind: complete; stopped: on request; failed: too many games were void.
      reason: in words; empty when complete.
    """

    kind: Literal["complete", "stopped", "failed"]
    reason: str = ""


def start_players(
    executor: Executor, places: Mapping[str, str], *, stop_asked: Callable[[], str | None]
) -> None:
    """Start the agent of every player, so that none is found missing when games are played.

    Args:
      places: where each player, by name, was asked for, for the message.

    Raises:
      AgentUnavailableError: some cannot be started, each told on a line of its own.
      Stopped: the run was told to end meanwhile.
    """
    waiting = deque(GameJob(job_id=name, kind="start", players=(name,)) for name in places)
    begun: set[str] = set()
    problems: list[str] = []
    while waiting or begun:
        while waiting and len(begun) < executor.capacity:
            job = waiting.popleft()
            begun.add(job.job_id)
            executor.submit(job)
        for outcome in executor.wait(POLL_SECONDS):
            begun.discard(outcome.job_id)
            if outcome.fault:
                name = outcome.job_id
                said = outcome.reason.removeprefix(f"agent '{name}': ")
                problems.append(f"{places[name]}: {said}")
        if (reason := stop_asked()) is not None:
            raise Stopped(reason)
    if problems:
        raise AgentUnavailableError("\n".join(sorted(problems)))


def pending(game: ScheduledGame) -> GameRow:
    """Return the row of a game that was just scheduled."""
    values = {name: getattr(game, name) for name in ScheduledGame.__dataclass_fields__}
    return GameRow(status="pending", **values)


class Runner:
    """Plays the unfinished games of a store.

    Args:
      stop_asked: returns why the run is to end, or None; asked a few times a second. Running
        games are finished.
      files: where records are written besides.
      director: adds games as others are done; None where all are known.
      workers: at most so many play at once.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        *,
        reporter: Reporter,
        stop_asked: Callable[[], str | None],
        files: RecordFiles,
        director: Director | None = None,
        workers: int = 1,
    ) -> None:
        self._store = store
        self._executor = executor
        self._reporter = reporter
        self._stop_asked = stop_asked
        self._files = files
        self._director = director
        self._tournament = store.info().name
        self._queue: deque[GameRow] = deque(store.unfinished())
        self._handed: dict[str, GameRow] = {}
        self._voids: dict[str, int] = {}
        self._voids_in_a_row = 0
        self._most_voids = max(VOIDS_IN_A_ROW, workers + 1)
        self._ending: RunEnding | None = None

    def run(self) -> RunEnding:
        """Play until the end and return how it came.

        Raises:
          StoreError: the store cannot be written.
        """
        try:
            while self._needed() or (self._queue and self._ending is None):
                self._look_for_stop()
                self._hand_out()
                self._take(self._executor.wait(POLL_SECONDS))
                self._reporter.tick(self._executor.running)
        finally:
            self._store.release()
        return self._ending or RunEnding("complete")

    def _needed(self) -> bool:
        """Return whether a game is being played whose result counts."""
        surplus = self._director.surplus if self._director else frozenset()
        return any(game_id not in surplus for game_id in self._handed)

    def _look_for_stop(self) -> None:
        reason = None if self._ending else self._stop_asked()
        if reason is not None:
            self._end(RunEnding("stopped", reason))

    def _end(self, ending: RunEnding) -> None:
        """Begin no more games."""
        self._ending = self._ending or ending
        for game_id in self._executor.cancel():
            self._queue.append(self._handed.pop(game_id))
        self._reporter.ending(ending.reason, len(self._handed))

    def _hand_out(self) -> None:
        room = self._executor.capacity - len(self._handed)
        if self._ending is not None or room <= 0:
            return
        rows = [self._queue.popleft() for _ in range(min(room, len(self._queue)))]
        if not rows:
            return
        self._store.mark_running([row.game_id for row in rows])
        for row in rows:
            self._handed[row.game_id] = row
            self._executor.submit(self._job(row))

    def _job(self, row: GameRow) -> GameJob:
        return GameJob(
            job_id=row.game_id,
            kind="game",
            players=row.players,
            seed=row.seed,
            seeds=tuple(player_seed(row, name) for name in row.players),
            opening=row.opening,
            settings=row.settings,
            tags={
                "tournament": self._tournament,
                "game_id": row.game_id,
                "pair_id": row.pair_id,
                "round": row.round,
            },
        )

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        """Commit the results together, then deal with the void games."""
        finished: list[tuple[GameRow, GameResult, str]] = []
        for outcome in outcomes:
            row = self._handed.pop(outcome.job_id)
            verdict = judge(outcome, stopping=self._stopping())
            if verdict is GameDecision.VOID:
                self._void(row, void_reason(outcome))
            elif verdict is GameDecision.DROPPED:
                self._queue.append(row)
            elif outcome.result is not None:
                self._voids_in_a_row = 0
                finished.append((row, outcome.result, outcome.record))
        self._commit(finished)

    def _stopping(self) -> bool:
        self._look_for_stop()
        return self._ending is not None and self._ending.kind == "stopped"

    def _commit(self, finished: Sequence[tuple[GameRow, GameResult, str]]) -> None:
        if not finished:
            return
        self._store.finish((row.game_id, result, record) for row, result, record in finished)
        for row, result, record in finished:
            self._files.write(row.game_id, record)
            self._reporter.finished(row, result)
        if self._director is not None and not self._director.finished:
            for row, result, _ in finished:
                self._director.note(row.game_id, result.returns)
            self._advance(self._director)

    def _advance(self, director: Director) -> None:
        """Do what the format decides, now that more games are done."""
        facts = director.facts
        games = director.advance(room=self._executor.capacity)
        surplus = director.surplus
        if not games and director.facts == facts and not director.finished:
            return
        self._store.schedule(games, surplus=surplus, facts=director.facts)
        self._queue.extend(pending(game) for game in games)
        if surplus:
            self._drop(surplus)
        if games or surplus:
            self._reporter.scheduled(sum(self._store.counts().values()))
        if director.finished and (text := director.facts.get("text")):
            self._reporter.note(str(text))

    def _drop(self, surplus: Collection[str]) -> None:
        """Begin none of the surplus games; those that are being played are not waited for."""
        self._queue.extend(self._handed.pop(game_id) for game_id in self._executor.cancel())
        self._queue = deque(row for row in self._queue if row.game_id not in surplus)

    def _void(self, row: GameRow, reason: str) -> None:
        if self._director is not None and row.game_id in self._director.surplus:
            return
        self._store.void(row.game_id, reason)
        self._reporter.voided(row, reason)
        self._voids[row.game_id] = self._voids.get(row.game_id, 0) + 1
        self._voids_in_a_row += 1
        if self._voids[row.game_id] >= VOIDS_IN_A_ROW:
            self._end(RunEnding("failed", f"game {row.game_id} was void twice in a row: {reason}"))
        elif self._voids_in_a_row >= self._most_voids:
            told = f"{self._voids_in_a_row} games in a row were void, the last one: {reason}"
            self._end(RunEnding("failed", told))
        else:
            self._queue.appendleft(row)


def unkept_limits(limits: LimitsSection, folder: Path, *, executor: str) -> list[str]:
    """Return a line for each limit that agents on this machine are not kept within.

    Args:
      folder: of the run.
      executor: by name; with ``ray`` agents run on other machines, whose processors differ.
    """
    lines = []
    if limits.private and (reason := hindrance(folder)):
        lines.append(f"{reason}: agents could read the run's folder")
    asked, here = limits.processors, available_processors()
    if asked is not None and asked > here and executor != "ray":
        lines.append(f"limits.processors = {asked}: agents share the {here} of this machine")
    return lines


_SECONDS = 5.0
"""Between two lines about the openings."""


class ValuationWatch:
    """Is called before each valuation of an opening.

    Args:
      say: shows a line.
      stop_asked: returns why to end; None while there is no reason.
    """

    def __init__(self, say: Callable[[str], None], stop_asked: Callable[[], str | None]) -> None:
        self._say, self._stop_asked = say, stop_asked
        self._count = 0
        self._told = time.monotonic()

    def __call__(self) -> None:
        """Tell how many openings were valued, now and then. Raises `Stopped` when asked to."""
        if (reason := self._stop_asked()) is not None:
            raise Stopped(reason)
        if time.monotonic() - self._told >= _SECONDS:
            self._told = time.monotonic()
            self._say(f"{self._count} openings were valued ...")
        self._count += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one sitting plays; none of it changes a result.

    Attributes:
      say: shows a line before the first game; by default nothing is said.
      executor, workers, address, store, records: instead of those of the config's ``[run]``; None
        keeps them.
      make_reporter: makes what shows the progress, from a title.
    """

    make_reporter: Callable[[str], Reporter]
    say: Callable[[str], None] = lambda _: None
    executor: str | None = None
    workers: int | None = None
    address: str | None = None
    store: str | None = None
    records: tuple[str, ...] | None = None


def run(tournament: Tournament, folder: Path, options: Options) -> RunEnding:
    """Begin a tournament in a folder, or extend and continue the one that is there.

    Every player is started before anything is written.

    Raises:
      MiaiError: the folder holds something else, is in use or holds a run of another config; or
        a player cannot be started.
    """
    refuse_foreign(folder)
    if (folder / DRAFT_FILE).exists():
        with locked(folder):
            settle_draft(folder)
    if options.store not in {None, store_url(folder)} and has_store(folder):
        raise ConfigError(f"--store: {folder} holds a run already, which stays where it is kept")
    plan = TournamentPlan(
        format=tournament.format,
        players=tournament.players,
        seed=tournament.config.tournament.seed,
        openings=tournament.openings,
    )
    sitting = _Sitting(tournament.config, tournament.game, plan, folder, options)
    if has_store(folder):
        return sitting.play_on(tournament)
    return sitting.play_anew(tournament)


def resume(folder: Path, options: Options) -> RunEnding:
    """Continue the tournament of a folder.

    Raises:
      MiaiError: there is none, it is in use, its game has changed, or a player cannot be started.
    """
    with Store.read(folder) as store:
        info, players = store.info(), store.players()
    config = stored_config(info, folder)
    game = load_game(config.game.name, **config.game.parameters)
    make_panel(game, rules_of(config))  # what has changed since is told before the first game
    plan = TournamentPlan(
        format=stored_format(config, players, folder),
        players=players,
        seed=config.tournament.seed,
        openings=stored_openings(info, config, game, folder),
    )
    return _Sitting(config, game, plan, folder, options).play_on(None)


def _format(name: str, info: GameInfo) -> RecordFormat:
    """Return a record format; those of a config were looked at before, so it is an option's."""
    try:
        return record_format(name, info)
    except UnknownComponentError as error:
        raise ConfigError(f"--records {name}: {error}") from None


class _Sitting:
    """What a run and a resumed run have in common."""

    def __init__(
        self,
        config: TournamentConfig,
        game: Game,
        plan: TournamentPlan,
        folder: Path,
        options: Options,
    ) -> None:
        section = config.run
        formats = section.records if options.records is None else options.records
        self.config, self.game, self.plan, self.folder = config, game, plan, folder
        self.players = plan.players
        self.files = RecordFiles(folder, [_format(name, game.info) for name in formats])
        self.make_reporter, self.say = options.make_reporter, options.say
        self.executor_name = options.executor or section.executor
        self.workers = options.workers or section.worker_count()
        if options.address is not None and self.executor_name != "ray":
            raise ConfigError(
                f"--address: is of a Ray cluster, and the executor is {self.executor_name}; "
                "add --executor ray, or leave it out"
            )
        self.address = options.address or section.address
        self.store = options.store or section.store
        self.signals = StopSignals(section.grace)
        self.lock: RunLock | None = None
        self.reporter: Reporter | None = None

    def play_anew(self, tournament: Tournament) -> RunEnding:
        """Begin a run in a folder that holds none."""
        if self.store is not None:
            check_database(self.folder, self.store)
        with self._stoppable() as stack:
            self._watch_valuing()
            tournament = self._with(tournament, tournament.openings.judged(self.plan.seed))
            places = {row.name: tournament.place(row.name) for row in self.players}
            most = self.plan.format.most_games()
            executor = self._start(stack, most, tournament.source, places)
            self.lock = stack.enter_context(locked(self.folder))
            director = self.plan.director()
            games = director.advance(room=executor.capacity)
            info = replace(
                run_info(tournament),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                facts=director.facts,
            )
            store = Store.create(self.folder, info, self.players, games, url=self.store)
            return self._play(stack.enter_context(store), executor, director)
        return self._stopped()

    def play_on(self, tournament: Tournament | None) -> RunEnding:
        """Play what is left in the folder's store, extended to a config that allows for it."""
        Store.look(self.folder)  # what is no store is refused before a lock is written beside it
        with self._stoppable() as stack:
            self.lock = stack.enter_context(locked(self.folder))
            store = stack.enter_context(Store.open(self.folder))
            store.expect_all()
            _refuse_other_version(store, self.game)
            if tournament is not None:
                refuse_other_config(store, tournament)
                told = with_judgement(tournament.openings, store.info(), self.folder)
                tournament = self._with(tournament, told)
            self._watch_valuing()
            director, games = self.plan.continued(store, extended=tournament is not None)
            left = len(store.unfinished()) + len(games)
            if left == 0:
                self._settle(store, director)
                self.files.complete(store)
                return RunEnding("complete")
            source, places = str(self.folder), self._numbered()
            if tournament is not None:
                source = tournament.source
                places = {row.name: tournament.place(row.name) for row in self.players}
            most = left if director is None else self.plan.format.most_games()
            executor = self._start(stack, most, source, places)
            if tournament is not None:
                extend(store, tournament, games)
            elif games:
                store.schedule(games)
            self._settle(store, director)
            return self._play(store, executor, director)
        return self._stopped()

    def _with(self, tournament: Tournament, openings: Openings) -> Tournament:
        """Return a tournament with openings of which it is known which are balanced."""
        self.plan = replace(self.plan, openings=openings)
        return replace(tournament, openings=openings)

    def _watch_valuing(self) -> None:
        """Tell how many openings were valued, and end when asked to, until the first game."""
        if (balance := self.plan.openings.balance) is not None:
            balance.watch = ValuationWatch(self.say, self.signals.asked)

    def _settle(self, store: Store, director: Director | None) -> None:
        """Write what the format has decided and a runner that was killed did not write."""
        if director is None:
            return
        told = {row.game_id for row in store.surplus()}
        surplus = (director.surplus & store.identities()) - told
        if surplus or store.info().facts != director.facts:
            store.schedule(surplus=surplus, facts=director.facts)

    def _numbered(self) -> dict[str, str]:
        """Return where players stand when nothing but the store tells of them."""
        return {row.name: f"players[{n}] ({row.name})" for n, row in enumerate(self.players)}

    @contextmanager
    def _stoppable(self) -> Iterator[ExitStack]:
        """Give a stack; a signal to end at once winds it up and ends the block."""
        with suppress(Stopped), self.signals, ExitStack() as stack:
            yield stack

    def _stopped(self) -> RunEnding:
        return RunEnding("stopped", self.signals.asked() or "stopped")

    def _start(
        self, stack: ExitStack, games: int, source: str, places: Mapping[str, str]
    ) -> Executor:
        """Return an executor that has started every player once.

        Args:
          games: at most so many are played.
          source, places: what named the players, and where in it each of them is.
        """
        executor = stack.enter_context(
            make_executor(
                self.executor_name,
                make_setup(self.config, self.game, self.players, self.folder),
                workers=min(self.workers, games),
                game_deadline=self.config.run.game_deadline,
                on_output=self._show_output,
                address=self.address,
            )
        )
        for line in unkept_limits(self.config.limits, self.folder, executor=self.executor_name):
            self.say(line)
        told = {name: f"{source}: {place}" for name, place in places.items()}
        self.say(f"starting {counted(len(told), 'player')} ...")
        start_players(executor, told, stop_asked=self.signals.asked)
        return executor

    def _play(self, store: Store, executor: Executor, director: Director | None) -> RunEnding:
        if (balance := self.plan.openings.balance) is not None:
            balance.close()
        store.release()
        _sweep(self.folder / LOGS)
        self.files.complete(store)
        counts = store.counts()
        games = counted(sum(counts.values()), "game")
        if director is not None and not director.finished:
            games = how_many(self.plan.format)
        self.say(f"{self._title()}; {games}, kept in {self.folder}")
        reporter = self.reporter = self.make_reporter(self._title())
        try:
            reporter.begin(
                done=counts["done"],
                total=sum(counts.values()),
                standings=partial(count_store, store),
            )
            runner = Runner(
                store,
                executor,
                reporter=reporter,
                stop_asked=self._stop_asked,
                files=self.files,
                director=director,
                workers=1 if self.executor_name == "serial" else self.workers,
            )
            ending = runner.run()
            self.signals.finish()
        finally:
            self.reporter = None
            reporter.close()
        return ending

    def _title(self) -> str:
        count = 0 if self.executor_name == "serial" else self.workers
        workers = f"{count} worker{'s' * (count != 1)}" if count else "serial"
        return (
            f"{self.config.tournament.name}: {self.game.info.name}, {len(self.players)} players, "
            f"{self.plan.format.title()}, {workers}"
        )

    def _stop_asked(self) -> str | None:
        if (reason := self.signals.asked()) is not None:
            return reason
        asked = self.lock is not None and self.lock.stop_asked()
        return "stopped by `miai tournament stop`" if asked else None

    def _show_output(self, line: str) -> None:
        """Show what a worker printed: a warning of a plugin, say."""
        text = f"worker: {one_line(line)}"
        if self.reporter is None:
            print(text, file=sys.stderr)
        else:
            self.reporter.note(text)


def make_setup(
    config: TournamentConfig, game: Game, players: Iterable[PlayerRow], folder: Path
) -> Setup:
    """Return what the workers are told of a run."""
    return Setup(
        game=game.info.name,
        game_parameters=game.parameters.model_dump(mode="json", exclude_unset=True),
        agents={player.name: (player.agent, player.given) for player in players},
        time_control=asdict(config.time.control()),
        move_limit=config.tournament.move_limit,
        limits=asdict(config.limits.limits(folder)),
        start_timeout=config.limits.start_timeout,
        warm_agents=config.run.warm_agents,
        logs=str((folder / LOGS).absolute()),
        rules=list(rules_of(config).items()),
        hold_out=config.adjudication.hold_out,
    )


def _sweep(logs: Path) -> None:
    """Remove what workers that were killed have left: logs, boards, temporary files of agents."""
    for left in logs.glob(f"{UNNAMED}*"):
        shutil.rmtree(left, ignore_errors=True)
    for board in logs.glob(".board-*"):
        board.unlink(missing_ok=True)
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*"):
        pid = left.name.split("-")[2]
        if pid.isdecimal() and Path("/proc/self").exists() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)


def _refuse_other_version(store: Store, game: Game) -> None:
    info = store.info()
    if info.game != game.info.name or info.game_version != game.info.version:
        raise StoreError(
            f"{store.folder}: was begun with {info.game} version {info.game_version}, installed "
            f"is {game.info.name} version {game.info.version}: their results do not belong in one "
            "table; finish with the old version or begin a new run"
        )
