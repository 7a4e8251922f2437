"""One sitting of a tournament: begin, extend or resume it, and play until it ends."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from miai.adjudication import make_panel
from miai.api import load_game
from miai.errors import ConfigError, StoreError, UnknownComponentError
from miai.game import Game, GameInfo
from miai.process.spawning import SCRATCH
from miai.record import RecordFormat
from miai_tournaments.config.adjudication import rules_of
from miai_tournaments.config.compare import refuse_other_config
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.executors.executor import Executor, make_executor
from miai_tournaments.executors.jobs import Setup
from miai_tournaments.executors.table import UNNAMED
from miai_tournaments.formats.build import how_many
from miai_tournaments.live.progress import Reporter, one_line
from miai_tournaments.report.cells import counted
from miai_tournaments.report.counting import count_store
from miai_tournaments.running.director import Director
from miai_tournaments.running.plan import (
    Plan,
    extend,
    run_info,
    stored_config,
    stored_format,
)
from miai_tournaments.running.runner import Ending, Runner, start_players
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.running.stored_openings import stored_openings, with_judgement
from miai_tournaments.running.unkept import unkept_limits
from miai_tournaments.running.valuing import Watch
from miai_tournaments.store.address import DRAFT_FILE
from miai_tournaments.store.export import RecordFiles, record_format
from miai_tournaments.store.folder import LOGS, RunLock, locked, refuse_foreign
from miai_tournaments.store.sharing import check_database, has_store, settle_draft, store_url
from miai_tournaments.store.store import PlayerRow, Store


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


def run(tournament: Tournament, folder: Path, options: Options) -> Ending:
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
    plan = Plan(
        format=tournament.format,
        players=tournament.players,
        seed=tournament.config.tournament.seed,
        openings=tournament.openings,
    )
    sitting = _Sitting(tournament.config, tournament.game, plan, folder, options)
    if has_store(folder):
        return sitting.play_on(tournament)
    return sitting.play_anew(tournament)


def resume(folder: Path, options: Options) -> Ending:
    """Continue the tournament of a folder.

    Raises:
      MiaiError: there is none, it is in use, its game has changed, or a player cannot be started.
    """
    with Store.read(folder) as store:
        info, players = store.info(), store.players()
    config = stored_config(info, folder)
    game = load_game(config.game.name, **config.game.parameters)
    make_panel(game, rules_of(config))  # what has changed since is told before the first game
    plan = Plan(
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
        plan: Plan,
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

    def play_anew(self, tournament: Tournament) -> Ending:
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

    def play_on(self, tournament: Tournament | None) -> Ending:
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
                return Ending("complete")
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
            balance.watch = Watch(self.say, self.signals.asked)

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

    def _stopped(self) -> Ending:
        return Ending("stopped", self.signals.asked() or "stopped")

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

    def _play(self, store: Store, executor: Executor, director: Director | None) -> Ending:
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
