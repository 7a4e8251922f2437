"""A run of a tournament: begin, extend or resume it, and play until it ends.

`_Run` opens the folder, starts every player and makes the `Schedule`. `_GameLoop` then hands the
scheduled games to an executor, commits their results, and asks the schedule for more.

An outcome means one of three things; `judge` decides. docs/errors.md explains it to users.

=====================================================  ===========================================
what happened                                          what it means
=====================================================  ===========================================
the game ended by its rules, its move limit or a       the result stands
resignation
an agent raised, died, hung, flooded, answered         a forfeit: the result stands, the agent lost
nonsense or an illegal action, or lost on time
an agent could no longer be started                    void, up to `MOST_UNSTARTED` times a game;
                                                       then the agent has lost: the result stands
the worker died or hung; the game, the referee or a    void: the game is played again
plugin raised an exception
an agent lost on time while its referee stood still    void, up to `MOST_STANDSTILLS` times a game
an agent crashed while the run was being stopped       dropped: the stop may have killed the agent;
                                                       the game stays pending
=====================================================  ===========================================
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from miai.api import load_game, make_panel, record_format
from miai.errors import ConfigError, StoreError, UnknownComponentError
from miai.game import Game
from miai.pages.document import counted
from miai.plain import one_line
from miai.plugins.loader import registry, use_plugin_file
from miai.process.sandbox import Isolation, sandbox_hindrance
from miai.record import RecordFormat, Termination
from miai_tournaments.config.extension import refuse_other_config
from miai_tournaments.config.load import Tournament, rules_of
from miai_tournaments.config.opening_source import Openings
from miai_tournaments.config.schema import RunSection, TournamentConfig
from miai_tournaments.formats.format import Format, how_many
from miai_tournaments.kinds import EXECUTOR
from miai_tournaments.report.live import Reporter
from miai_tournaments.report.standings import count_store
from miai_tournaments.running.named_files import NamedFiles, named_files
from miai_tournaments.running.schedule import Schedule, player_seed
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.running.start import (
    POLL_SECONDS,
    ValuationWatch,
    distinct,
    isolation_line,
    make_executor,
    make_setup,
    remove_leftovers,
    remove_scratch,
    start_players,
    unkept_limits,
)
from miai_tournaments.running.stored_run import (
    expect_games,
    extend,
    run_info,
    stored_config,
    stored_format,
    stored_openings,
    with_judgement,
)
from miai_tournaments.store.address import (
    build_database,
    check_store,
    choice,
    leads_to,
    settle_draft,
)
from miai_tournaments.store.export import RecordFiles
from miai_tournaments.store.folder import (
    DRAFT_FILE,
    LOGS,
    RunLock,
    has_store,
    locked,
    locked_anew,
    refuse_foreign,
)
from miai_tournaments.store.rows import GameResult, GameRow, PlayerRow
from miai_tournaments.store.store import Store
from miai_tournaments.workers.executor import Executor, Workload
from miai_tournaments.workers.jobs import GameJob, JobOutcome

_OVERRIDES: Final = ("workers", "store", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is played; none of it changes a result.

    Attributes:
      make_reporter: makes the progress display from a title.
      say: shows a line before the first game; shows nothing by default.
      executor, workers, store, records: override the config's ``[run]``; None keeps it.
      address: the executor's parameter of this name; None keeps it.
    """

    make_reporter: Callable[[str], Reporter]
    say: Callable[[str], None] = lambda _: None
    executor: str | None = None
    workers: int | None = None
    address: str | None = None
    store: str | None = None
    records: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended.

    Attributes:
      kind: complete; stopped: on request; failed: too many games were void.
      reason: in words; empty when complete.
    """

    kind: Literal["complete", "stopped", "failed"]
    reason: str = ""


def play_tournament(tournament: Tournament, folder: Path, options: RunOptions) -> RunEnding:
    """Begin a tournament in a folder, or extend and continue the one there.

    Every player is started before anything is written.

    Raises:
      MiaiError: the folder contains something else, is in use or contains a run of another
        config; or a player cannot be started.
    """
    refuse_foreign(folder)
    if (folder / DRAFT_FILE).exists():
        with locked(folder):
            settle_draft(folder)
    if options.store is not None and has_store(folder) and not leads_to(folder, options.store):
        raise ConfigError(f"--store: {folder} contains a run already; its store cannot be moved")
    if tournament.draws_seed and has_store(folder):
        with Store.read(folder) as store:
            tournament = tournament.with_seed(store.info().seed)
    config, game = tournament.config, tournament.game
    source = Path(tournament.source)
    begun = _Run(config, game, tournament.format, tournament.players, folder, options, source)
    play = begun.extend if has_store(folder) else begun.begin
    return begun.until_stopped(partial(play, tournament))


def resume_tournament(folder: Path, options: RunOptions) -> RunEnding:
    """Continue the tournament of a folder.

    Raises:
      MiaiError: there is none, it is in use, its game has changed, or a player cannot be started.
    """
    with Store.read(folder) as store:
        info, players = store.info(), store.players()
    config = stored_config(info, folder)
    for file in config.plugins:
        use_plugin_file(Path(file))
    game = load_game(info.game, **info.game_parameters)
    make_panel(game, rules_of(config))  # rules that no longer work fail here, before any game
    format_ = stored_format(info, config, players, game.num_players(), folder)
    openings = stored_openings(info, config, game, folder)
    begun = _Run(config, game, format_, players, folder, options, Path(info.config_path))
    return begun.until_stopped(partial(begun.resume, openings))


class _Run:
    """A run in its folder, up to the first game: the store, the lock, the executor, the players."""

    def __init__(
        self,
        config: TournamentConfig,
        game: Game,
        format_: Format,
        players: Sequence[PlayerRow],
        folder: Path,
        options: RunOptions,
        source: Path,
    ) -> None:
        changes = {name: getattr(options, name) for name in _OVERRIDES}
        section = config.run.model_copy(
            update={name: value for name, value in changes.items() if value is not None}
        )
        section = _with_executor(section, options)
        self.config, self.game, self.format = config, game, format_
        self.isolation, self.source = config.limits.level(), source
        self.players, self.folder, self.section = players, folder, section
        formats = [_record_format(name, game.info.name) for name in section.records]
        self.files = RecordFiles(folder, formats)
        self.make_reporter, self.say = options.make_reporter, options.say
        self.signals = StopSignals(section.grace)
        self.lock: RunLock | None = None
        self.reporter: Reporter | None = None

    def begin(self, tournament: Tournament, stack: ExitStack) -> RunEnding:
        """Begin a run in a folder without one."""
        store_name, values = choice(self.section.store, self.section.store_parameters)
        check_store(self.section.store, self.section.store_parameters)
        build_database(self.folder, store_name, values).check_new()
        self._watch_valuations(tournament.openings)
        openings = tournament.openings.judged(self.config.tournament.seed)
        tournament = replace(tournament, openings=openings)
        # The lock creates the folder: a sandbox hides only what exists when it starts. A config
        # whose player cannot start leaves nothing behind.
        self.lock = stack.enter_context(locked_anew(self.folder, Stopped))
        executor = self._start(stack, self.format.most_games(), self._places(tournament), {})
        schedule = self._schedule(openings, payoffs=self.game.info.payoff_bound is not None)
        # The first games are scheduled before the store exists, and written with it: a store
        # without games would look like a run that is complete.
        games = schedule.advance(room=executor.capacity)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        info = replace(run_info(tournament), created=created, facts=schedule.facts)
        info = replace(info, resolved=self._circumstances(info.resolved))
        store = Store.create(
            self.folder,
            info,
            self.players,
            games,
            store=self.section.store,
            parameters=self.section.store_parameters,
        )
        del games  # of a thousand players a million, which the run need not keep
        return self._play(stack.enter_context(store), executor, schedule, openings)

    def extend(self, tournament: Tournament, stack: ExitStack) -> RunEnding:
        """Continue the run of the folder's store with a config that may extend it."""
        store = self._open(stack)
        refuse_other_config(store, tournament)
        openings = with_judgement(tournament.openings, store.info(), self.folder)
        tournament = replace(tournament, openings=openings)
        return self._continue(stack, store, openings, tournament)

    def resume(self, openings: Openings, stack: ExitStack) -> RunEnding:
        """Continue the run of the folder's store as it was begun."""
        return self._continue(stack, self._open(stack), openings, None)

    def until_stopped(self, play: Callable[[ExitStack], RunEnding]) -> RunEnding:
        """Return how `play` ended; a signal to stop at once unwinds its stack."""
        with suppress(Stopped), self.signals, ExitStack() as stack:
            return play(stack)
        return RunEnding("stopped", self.signals.asked() or "stopped")

    def _open(self, stack: ExitStack) -> Store:
        """Lock the folder and open its store."""
        Store.look(self.folder)  # refuse what is not a store before writing a lock beside it
        self.lock = stack.enter_context(locked(self.folder))
        store = stack.enter_context(Store.open(self.folder))
        store.expect_all()
        _refuse_other_version(store, self.game)
        return store

    def _continue(
        self, stack: ExitStack, store: Store, openings: Openings, tournament: Tournament | None
    ) -> RunEnding:
        """Play the remaining games of a store, and those that `tournament` adds."""
        self._watch_valuations(openings)
        schedule = self._schedule(openings, payoffs=store.info().payoff_bound() is not None)
        games = schedule.catch_up(store)
        expect_games(store)
        for line in store.gaps():
            self.say(line)
        remaining = len(store.unfinished()) + len(games)
        if remaining == 0:
            if tournament is not None:  # whoever plays an edited game again wants no old table
                self._name_files(store.info().resolved)
            self.say("all games were played before; --out FOLDER begins another run")
            _store_decisions(store, schedule)
            self.files.complete(store)
            return RunEnding("complete")
        games_left = remaining if schedule.finished else self.format.most_games()
        before = store.info().resolved
        executor = self._start(stack, games_left, self._places(tournament), before)
        if tournament is not None:
            extend(store, tournament, games)
        elif games:
            store.schedule(games)
        info = store.info()
        if (resolved := self._circumstances({**before, **info.resolved})) != info.resolved:
            store.extend(replace(info, resolved=resolved), (), ())
        _store_decisions(store, schedule)
        return self._play(store, executor, schedule, openings)

    def _watch_valuations(self, openings: Openings) -> None:
        """Show how many openings were valued, and let signals stop it."""
        if openings.balance is not None:
            openings.balance.watch = ValuationWatch(self.say, self.signals.asked)

    def _schedule(self, openings: Openings, *, payoffs: bool) -> Schedule:
        seed = self.config.tournament.seed
        return Schedule(self.format, self.players, seed=seed, openings=openings, payoffs=payoffs)

    def _places(self, tournament: Tournament | None) -> dict[str, str]:
        """Return for one player of each kind where the config, or else the store, names it."""
        names = distinct(self.players)
        if tournament is not None:
            source = tournament.source
            return {name: f"{source}: {tournament.place(name)}{n}" for name, n in names.items()}
        return {
            row.name: f"{self.folder}: players[{number}] ({row.name}){names[row.name]}"
            for number, row in enumerate(self.players)
            if row.name in names
        }

    def _start(
        self,
        stack: ExitStack,
        most_games: int,
        places: Mapping[str, str],
        before: Mapping[str, Mapping[str, Any]],
    ) -> Executor:
        """Return an executor that has started the players of `places` once.

        Args:
          before: what the store has of the circumstances of earlier sittings.
        """
        self._keep_level(str(before.get("isolation", {}).get("level")))
        self._name_files(before)
        remove_scratch()
        stack.callback(remove_scratch)  # of workers that are killed when the executor ends
        stack.callback(remove_leftovers, self.folder / LOGS)
        workload = Workload(
            setup=make_setup(
                self.config,
                self.game,
                self.players,
                self.folder,
                hidden=[self.folder, *filter(Path.is_file, [self.source])],
                fixed=self.named.paths.values(),
            ),
            workers=min(self.section.worker_count(), most_games),
            game_deadline=self.section.game_deadline,
            on_output=self._show_output,
        )
        executor = stack.enter_context(
            make_executor(self.section.executor, workload, self.section.executor_parameters)
        )
        self.say(isolation_line(self.isolation, local=executor.local))
        for line in unkept_limits(self.config.limits, self.folder, local=executor.local):
            self.say(line)
        self.say(f"starting {counted(len(self.players), 'player')} ...")
        start_players(executor, places, stop_asked=self.signals.asked)
        return executor

    def _name_files(self, before: Mapping[str, Mapping[str, Any]]) -> None:
        """Look at the files that the config names. Raises `StoreError` if one has changed."""
        paths = named_files(self.config, self.players, self.game, self.source, self.folder)
        self.named = NamedFiles(paths, before.get("files", {}), self.folder)

    def _keep_level(self, before: str) -> None:
        """Isolate agents as before, unless config or cluster decide. Raises `ConfigError`."""
        if before not in {*Isolation} or self.section.executor_parameters.get("address"):
            return
        if self.config.limits.isolation is not None:
            if before != self.isolation:
                self.say(f"agents were isolated at the level {before} so far")
            return
        self.isolation = Isolation(before)
        if self.isolation is Isolation.SANDBOX and (reason := sandbox_hindrance()):
            raise ConfigError(
                f"{self.folder}: agents ran in sandboxes so far, and {reason}; install it, or go "
                "on without by `miai tournament run CONFIG --set limits.isolation=process`"
            )
        limits = self.config.limits.model_copy(update={"isolation": self.isolation})
        self.config = self.config.model_copy(update={"limits": limits})

    def _circumstances(self, resolved: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return facts of the run, with those that later sittings are compared with."""
        files = {"files": self.named.facts} if self.named.facts else {}
        return {**resolved, "isolation": {"level": str(self.isolation)}, **files}

    def _show_output(self, line: str) -> None:
        """Show what a worker printed, such as a plugin's warning."""
        text = f"worker: {one_line(line)}"
        if self.reporter is None:
            print(text, file=sys.stderr)
        else:
            self.reporter.note(text)

    def _play(
        self, store: Store, executor: Executor, schedule: Schedule, openings: Openings
    ) -> RunEnding:
        """Play the games of the store and show the progress."""
        if openings.balance is not None:
            openings.balance.close()
        # Games that a killed runner left as running are pending again before they are counted.
        store.release()
        remove_leftovers(self.folder / LOGS)
        self.files.complete(store)
        counts = store.counts()
        total, title = sum(counts.values()), self._title(executor)
        games = counted(total, "game") if schedule.finished else how_many(self.format)
        self.say(f"{title}; {games}, kept in {self.folder}")
        reporter = self.reporter = self.make_reporter(title)
        try:
            standings = partial(count_store, store)
            reporter.begin(done=counts["done"], total=total, standings=standings)
            loop = _GameLoop(
                store,
                executor,
                schedule,
                reporter=reporter,
                stop_asked=self._stop_asked,
                pause_asked=self._pause_asked,
                check=self.named.check,
                files=self.files,
            )
            ending = loop.run()
            self.signals.finish()
        finally:
            self.reporter = None
            reporter.close()
        return ending

    def _title(self, executor: Executor) -> str:
        return (
            f"{self.config.tournament.name}: {self.game.info.title}, {len(self.players)} players, "
            f"{self.format.title()}, {counted(executor.workers, 'worker')}"
        )

    def _stop_asked(self) -> str | None:
        if (reason := self.signals.asked()) is not None:
            return reason
        asked = self.lock is not None and self.lock.stop_asked()
        return "stopped by `miai tournament stop`" if asked else None

    def _pause_asked(self) -> bool:
        return self.lock is not None and self.lock.pause_asked()


def _with_executor(section: RunSection, options: RunOptions) -> RunSection:
    """Return the table with the executor of the options, and with its address.

    Raises:
      ConfigError: that executor has no address.
    """
    name = options.executor or section.executor
    # The parameters in the config are those of its own executor.
    values = dict(section.executor_parameters) if name == section.executor else {}
    if options.address is not None:
        if not _has_address(name):
            known = (component.name for component in registry().components(EXECUTOR))
            others = " or ".join(other for other in known if _has_address(other))
            raise ConfigError(
                f"--address: the executor '{name}' has none; add --executor {others}, or leave "
                "--address out"
            )
        values["address"] = options.address
    return section.model_copy(update={"executor": name, "executor_parameters": values})


def _has_address(executor: str) -> bool:
    return "address" in registry().get(EXECUTOR, executor).load_parameters().model_fields


def _record_format(name: str, game: str) -> RecordFormat:
    """Return a record format. Only an option can be wrong: the config was checked."""
    try:
        return record_format(name, game)
    except UnknownComponentError as error:
        raise ConfigError(f"--records {name}: {error}") from None


def _refuse_other_version(store: Store, game: Game) -> None:
    info = store.info()
    if info.game != game.info.name or info.game_version != game.info.version:
        raise StoreError(
            f"{store.folder}: was begun with {info.game} version {info.game_version}, installed "
            f"is {game.info.name} version {game.info.version}: their results do not belong in one "
            "table; finish with the old version or begin a new run"
        )


def _store_decisions(store: Store, schedule: Schedule) -> None:
    """Write decisions of the format that a killed run did not write, and the number of games."""
    surplus = schedule.surplus
    if surplus:
        surplus = (surplus & store.identities()) - {row.game_id for row in store.surplus()}
    info = store.info()
    uncounted = info.scheduled is None and not store.expected
    # All that count are there again; what is still missing was surplus, and is not played again.
    uncounted |= schedule.finished and "missing" in store.counts()
    if surplus or uncounted or info.facts != schedule.facts:
        store.schedule(surplus=surplus, facts=schedule.facts)


VOIDS_IN_A_ROW = 2
"""Void attempts at one game, in a row, that stop the run. Over all games the run allows as many, or
one more than there are workers: a machine that dies takes all of its games with it."""

MOST_STANDSTILLS: Final = 5
"""Void attempts at one game because its referee stood still. After them a loss on time stands, so
that no agent that finds a way to stop its referee is saved by it."""

MOST_UNSTARTED: Final = 2
"""Void attempts at one game because a player could not be started, which it could before the run.
After them it has lost, so that no agent can halt a run by refusing to start."""


_MOST_AT_ONCE: Final = 500  # games that are read and submitted together


class _GameLoop:
    """Plays the unfinished games of a store, and those that the schedule adds.

    Nothing else writes to the store meanwhile. The loop ends when all needed games are done, when
    it is asked to stop, or when games are void again and again.

    Args:
      stop_asked: returns the reason to stop, or None; called a few times a second. Running games
        are finished.
      pause_asked: returns whether to begin no game for now.
      check: raises an error if what agents use has changed.
      files: the record files to write beside the store.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        schedule: Schedule,
        *,
        reporter: Reporter,
        stop_asked: Callable[[], str | None],
        pause_asked: Callable[[], bool],
        check: Callable[[], None],
        files: RecordFiles,
    ) -> None:
        self._store, self._executor, self._schedule = store, executor, schedule
        self._reporter, self._files = reporter, files
        self._stop_asked, self._pause_asked, self._check = stop_asked, pause_asked, check
        self._paused = False
        self._tournament = store.info().name
        # Identities: the rows of a million games would take long to read, and much memory.
        self._queue = deque(store.unfinished())
        self._submitted: dict[str, GameRow] = {}
        self._voids: Counter[str] = Counter()
        self._excused: Counter[tuple[str, str]] = Counter()  # by decision and game
        self._voids_in_a_row = 0
        # A machine that dies takes one game of each worker with it, and that must not end the run.
        self._most_voids = max(VOIDS_IN_A_ROW, executor.workers + 1)
        self._ending: RunEnding | None = None

    def run(self) -> RunEnding:
        """Play until the end.

        Raises:
          StoreError: the store cannot be written.
        """
        try:
            # Surplus games may still be running; nothing waits for them, or a decided match would
            # last as long as its longest unneeded game.
            while (self._submitted.keys() - self._schedule.surplus) or (
                self._queue and self._ending is None
            ):
                self._check_stop()
                self._check_pause()
                self._submit()
                self._take(self._executor.wait(POLL_SECONDS))
                self._reporter.tick(self._executor.running)
        finally:
            # Whatever ended the loop, no worker will report to it any more.
            self._store.release()
        return self._ending or RunEnding("complete")

    def _check_stop(self) -> None:
        self._store.check_present()
        self._check()
        reason = None if self._ending else self._stop_asked()
        if reason is not None:
            self._end(RunEnding("stopped", reason))

    def _check_pause(self) -> None:
        if self._ending is not None or self._pause_asked() == self._paused:
            return
        self._paused = not self._paused
        if self._paused:
            self._take_back()
        self._reporter.pause(len(self._submitted) if self._paused else None)

    def _end(self, ending: RunEnding) -> None:
        """Begin no more games."""
        self._ending = self._ending or ending
        self._take_back()
        self._reporter.ending(ending.reason, len(self._submitted))

    def _take_back(self) -> None:
        """Return submitted games that have not begun to the queue."""
        for game_id in self._executor.cancel():
            del self._submitted[game_id]
            self._queue.append(game_id)

    def _submit(self) -> None:
        """Submit as many games as the executor takes."""
        room = min(self._executor.capacity - len(self._submitted), _MOST_AT_ONCE)
        if self._ending is not None or self._paused or room <= 0 or not self._queue:
            return
        rows = self._store.rows([self._queue.popleft() for _ in range(min(room, len(self._queue)))])
        # One transaction for all: with games of milliseconds, commits are what a run waits for.
        self._store.mark_running([row.game_id for row in rows])
        for row in rows:
            self._submitted[row.game_id] = row
            self._executor.submit(_job(row, self._tournament))

    def _take(self, outcomes: Sequence[JobOutcome]) -> None:
        """Decide what outcomes mean, commit the results together and schedule what follows."""
        finished: list[tuple[GameRow, GameResult, str]] = []
        for outcome in outcomes:
            row = self._submitted.pop(outcome.job_id)
            # Ask again before each judgement: a signal to the whole process group kills agents a
            # moment before the runner hears of it, and their deaths must not become results.
            self._check_stop()
            stopping = self._ending is not None and self._ending.kind == "stopped"
            decision = judge(
                outcome,
                stopping=stopping,
                standstills=self._excused["standstill", row.game_id],
                unstarted=self._excused["unstarted", row.game_id],
            )
            result = outcome.result
            if decision == "void":
                self._void(row, _void_reason(outcome))
            elif decision in ("standstill", "unstarted"):
                self._excused[decision, row.game_id] += 1
                self._play_again(row, _void_reason(outcome))
            # The game stays unfinished in the store, and is played when the run is resumed.
            elif decision == "dropped":
                self._queue.append(row.game_id)
            elif result is not None:
                self._voids_in_a_row = 0
                finished.append((row, result, outcome.record))
        # The format is asked after the commit: a run that is killed in between asks it again, with
        # the scores in the store, and gets the same answer.
        if finished:
            self._commit(finished)
            self._advance()

    def _void(self, row: GameRow, reason: str) -> None:
        """Play a game again, or end the run if that cannot help."""
        self._play_again(row, reason)
        # Nobody waits for a surplus game, so its failure says nothing about the run.
        if row.game_id in self._schedule.surplus:
            return
        # Twice in a row at one game points at that game, as many as there are workers at the
        # machine; either would be void again and again.
        self._voids[row.game_id] += 1
        self._voids_in_a_row += 1
        if self._voids[row.game_id] >= VOIDS_IN_A_ROW:
            self._end(RunEnding("failed", f"game {row.game_id} was void twice in a row: {reason}"))
        elif self._voids_in_a_row >= self._most_voids:
            text = f"{self._voids_in_a_row} games in a row were void, the last one: {reason}"
            self._end(RunEnding("failed", text))

    def _play_again(self, row: GameRow, reason: str) -> None:
        """Note that an attempt at a game was void, and queue the game if it is still needed."""
        if row.game_id not in self._schedule.surplus:
            self._store.void(row.game_id, reason)
            self._reporter.voided(row, reason)
            # First in the queue, so that rounds stay complete and formats need not wait for it.
            self._queue.appendleft(row.game_id)

    def _commit(self, finished: Sequence[tuple[GameRow, GameResult, str]]) -> None:
        """Write results to the store, the record files and the schedule."""
        # The store comes first: record files and the schedule can be made again from it, the other
        # way round not.
        self._store.finish((row.game_id, result, record) for row, result, record in finished)
        for row, result, record in finished:
            self._files.write(row.game_id, record)
            self._reporter.finished(row, result)
            if not self._schedule.finished:
                self._schedule.record(row.game_id, result.returns)

    def _advance(self) -> None:
        """Schedule what the format asks for next, and drop what it no longer needs."""
        schedule = self._schedule
        if schedule.finished:
            return
        facts = schedule.facts
        games, surplus = schedule.advance(room=self._executor.capacity), schedule.surplus
        if not games and schedule.facts == facts and not schedule.finished:
            return
        self._store.schedule(games, surplus=surplus, facts=schedule.facts)
        self._queue.extend(game.game_id for game in games)
        if surplus:
            # None of them begins any more. Those already running are not waited for.
            self._take_back()
            self._queue = deque(game_id for game_id in self._queue if game_id not in surplus)
        if games or surplus:
            self._reporter.scheduled(sum(self._store.counts().values()))
        if schedule.finished and (text := schedule.facts.get("text")):
            self._reporter.note(str(text))


def _job(row: GameRow, tournament: str) -> GameJob:
    return GameJob(
        job_id=row.game_id,
        kind="game",
        players=row.players,
        seed=row.seed,
        seeds=tuple(player_seed(row, name) for name in row.players),
        opening=row.opening,
        settings=row.settings,
        tags={
            "tournament": tournament,
            "game_id": row.game_id,
            "pair_id": row.pair_id,
            "round": row.round,
        },
    )


def judge(
    outcome: JobOutcome, *, stopping: bool, standstills: int = 0, unstarted: int = 0
) -> Literal["result", "void", "standstill", "unstarted", "dropped"]:
    """Return what the outcome of a game means.

    Args:
      stopping: whether the run is being stopped.
      standstills: earlier attempts at the game that were void because the worker stood still.
      unstarted: earlier attempts that were void because a player could not be started.
    """
    result = outcome.result
    # Ctrl-C in a terminal reaches the agents, too. Their deaths are the stop's doing, not theirs.
    if stopping and (result is None or result.termination == Termination.CRASH):
        return "dropped"
    # A stopped or starved machine runs the clocks of all agents down; what they lost then is not
    # their fault.
    if outcome.standstill > 0 and standstills < MOST_STANDSTILLS:
        return "standstill"
    if result is None:
        return "void"
    if result.termination == Termination.UNAVAILABLE and unstarted < MOST_UNSTARTED:
        return "unstarted"
    return "result"


def _void_reason(outcome: JobOutcome) -> str:
    reason = outcome.reason if outcome.result is None else outcome.result.detail
    if outcome.standstill > 0:
        reason += f"; its referee stood still for {outcome.standstill:.1f} s"
    return reason
