"""Playing the games of a tournament, one after the other, with agents that stay warm between them.

For ``miai tournament watch``, the referee writes the position of its running game to a small file
in the run's log folder, at most twice a second and not before the game has lasted half a second.
In a game that hides information it writes what each player observes, not the true position.
Watching does not change a game: an error while a board is written is noted in the file or ends the
writing for that game.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from miai.api import load_game, make_panel, renderer_for
from miai.clock import Clock, TimeControl
from miai.errors import AgentError, AgentTimeoutError, AgentUnavailableError
from miai.files import write_text
from miai.game import Game, State
from miai.information import PlayerView
from miai.playing.adjudication import Panel
from miai.playing.match import MoveHook, play_game
from miai.plugins.loader import PluginWarning, plugin_host
from miai.process.child import adopt_orphans
from miai.record import GameRecord, MoveRecord, Termination
from miai_tournaments.store.folder import LOGS
from miai_tournaments.store.rows import GameResult
from miai_tournaments.workers.jobs import GameJob, JobOutcome, PlainData, Setup
from miai_tournaments.workers.seats import AgentSeat, SeatPool

INTERVAL: Final = 0.5
"""Seconds between two boards of a game."""

_NAME: Final = ".board-"
_MOST_LINES = 60
_LONGEST_LINE = 120
_LARGEST = 16_384
_MOST_ACTIONS = 1_000
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSnapshot(PlainData):
    """A position of a running game.

    Attributes:
      game_id: of the game.
      players: names in seat order.
      ply: actions so far, chance included.
      lines: the position as text or, where the game hides information, the view of each player.
      settings: parameters of this game that differ from the run's.
      actions: the actions so far, chance included; empty if there are too many.
    """

    game_id: str
    players: tuple[str, ...]
    ply: int
    lines: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    actions: tuple[int, ...] = ()


class BoardWriter:
    """Writes the boards of one referee's games.

    Attributes:
      path: the file; None to write nothing.
    """

    def __init__(self, logs: Path | None) -> None:
        self.path = None if logs is None else logs / f"{_NAME}{os.getpid()}"
        self._written = False

    def begin(
        self, game_id: str, players: Sequence[str], settings: Mapping[str, Any]
    ) -> MoveHook | None:
        """Return a hook for the referee to call after each action; None to write nothing."""
        path = self.path
        if path is None:
            return None
        due = time.monotonic() + INTERVAL
        broken = False
        views = SeatViews()

        def on_move(state: State, move: MoveRecord) -> None:
            nonlocal due, broken
            if broken:
                return
            try:
                views.follow(state)
            except Exception:  # of the game; the referee reports it where it matters
                broken = True
                return
            if time.monotonic() < due:
                return
            actions = state.history()
            board = LiveSnapshot(
                game_id=game_id,
                players=tuple(players),
                ply=move.ply + 1,
                lines=_lines(views),
                settings=settings,
                actions=tuple(actions) if len(actions) <= _MOST_ACTIONS else (),
            )
            # One failure ends the writing for this game: a full disk must not slow every move.
            broken = not _write(path, board)
            self._written = self._written or not broken
            due = time.monotonic() + INTERVAL

        return on_move

    def end(self) -> None:
        """Remove the board of a finished game."""
        if self.path is not None and self._written:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._written = False


class SeatViews:
    """What each player of a running game has observed, if the game hides information."""

    def __init__(self) -> None:
        self._state: State | None = None
        self._views: list[PlayerView] = []

    def follow(self, state: State) -> None:
        """Add what the players observe of the last transition."""
        game, self._state = state.game, state
        if game.info.perfect_information:
            return
        if not self._views:
            self._views = [PlayerView(game, player) for player in range(game.num_players())]
            self._observe(game.new_initial_state())
        self._observe(state)

    def current(self) -> Sequence[PlayerView]:
        """Return the view of each player, or one view if all see the position."""
        assert self._state is not None, "`follow` was called"
        return self._views or [PlayerView.at(self._state, 0)]

    def text(self) -> str:
        """Return the views as text, or the position if all see it."""
        views = self.current()
        if len(views) == 1:
            return _rendered(views[0])
        names = views[0].game.info.player_names
        parts = (f"{names[view.player]} sees:\n{_rendered(view)}" for view in views)
        return "\n".join(parts)

    def _observe(self, state: State) -> None:
        for view in self._views:
            observation = state.observation(view.player)
            if observation is not None:
                view.observe(observation)


def _rendered(view: PlayerView) -> str:
    return renderer_for(view.game).render(view)


_NO_BOARD = (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError)


def read_boards(folder: Path) -> list[LiveSnapshot]:
    """Return the newest board of each game in a run's folder.

    Malformed files and the boards of referees that died on this machine are left out.
    """
    newest: dict[str, tuple[float, LiveSnapshot]] = {}
    for path in sorted((folder / LOGS).glob(f"{_NAME}*[0-9]")):
        with contextlib.suppress(*_NO_BOARD):
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):  # reading a pipe would not end
                continue
            if status.st_size <= _LARGEST and time.time() - status.st_mtime < _STALE_SECONDS:
                values = json.loads(path.read_text(encoding="utf-8"))
                # A worker that was killed leaves its board behind; on another machine its process
                # cannot be looked up, so only age tells.
                if values["host"] == socket.gethostname() and not psutil.pid_exists(values["pid"]):
                    continue
                board = LiveSnapshot.from_plain(values)
                entry = (status.st_mtime, board)
                previous = newest.setdefault(board.game_id, entry)
                newest[board.game_id] = max(previous, entry, key=lambda item: item[0])
    return [newest[name][1] for name in sorted(newest)]


def _lines(views: SeatViews) -> tuple[str, ...]:
    try:
        text = views.text()
    except Exception as error:  # a failing picture must not end the game
        text = f"no picture: {type(error).__name__}: {error}"
    return tuple(line[:_LONGEST_LINE] for line in text.split("\n")[:_MOST_LINES])


def _write(path: Path, board: LiveSnapshot) -> bool:
    """Write a board; return whether that succeeded."""
    values = {**board.to_plain(), "host": socket.gethostname(), "pid": os.getpid()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(values), sync=False)
    except OSError:  # such as a full disk, which the runner will report
        return False
    return True


CRASH_PAUSE = 0.5
"""Seconds between the death of an agent and the report of its forfeit. Something that kills a whole
tree of processes, such as a shutdown, kills the agents shortly before or after the runner; such a
death must not become a result."""


SHORT_CLOCK = 2.0
"""Limit of the first move, in seconds, up to which agents have to make one before the run."""

_MOST_GAMES = 16
"""Maximum number of game objects, of different settings, that a worker keeps."""

UNNAMED = ".running-"
"""Prefix of the log folder of a running game; the referee's process id follows."""


class GameRunner(contextlib.AbstractContextManager["GameRunner"]):
    """Plays games: keeps the game objects, and the agents in a `SeatPool`.

    A context manager; leaving it ends the agents, at once after an exception.

    Attributes:
      setup: what the jobs share.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._games: OrderedDict[str, tuple[Game, Panel | None]] = OrderedDict()
        self._game({})  # so that a missing component is reported before the first job
        self._control = TimeControl(**setup.time_control)
        self._pool = SeatPool(setup)
        self._logs = Path(setup.logs) / f"{UNNAMED}{os.getpid()}" if setup.logs else None
        self._boards = BoardWriter(Path(setup.logs) if setup.logs else None)

    def perform(self, job: GameJob) -> JobOutcome:
        """Return the outcome of a job; it reports every error."""
        began = time.monotonic()
        try:
            return self._start(job) if job.kind == "start" else self._play(job)
        except AgentUnavailableError as error:
            return JobOutcome(job_id=job.job_id, fault="unavailable", reason=str(error))
        except Exception as error:
            return JobOutcome(
                job_id=job.job_id,
                fault="defect",
                reason=f"{type(error).__name__}: {error}",
                seconds=time.monotonic() - began,
            )

    def __exit__(self, kind: object = None, *rest: object) -> None:
        self._pool.close(politely=kind is None)
        if self._logs is not None:
            with contextlib.suppress(OSError):
                self._logs.rmdir()

    def _start(self, job: GameJob) -> JobOutcome:
        """Start agents and let them begin a game that is not played.

        If the clock is short they also make a move, because an agent that cannot keep it would lose
        every game.
        """
        for name in job.players:
            game, _ = self._game(job.settings)
            (seat,) = self._pool.seats([name], game, self._parameters(job.settings))
            try:
                seat.new_game(job.seed, player=0, log=None)
                _try_clock(seat, game, Clock(self._control))
            except AgentError as error:
                return JobOutcome(
                    job_id=job.job_id,
                    fault="unavailable",
                    reason=str(error),
                    standstill=seat.standstill,
                )
        return JobOutcome(job_id=job.job_id)

    def _play(self, job: GameJob) -> JobOutcome:
        game, panel = self._game(job.settings)
        seats = self._pool.seats(job.players, game, self._parameters(job.settings))
        try:
            record = play_game(
                game,
                seats,
                seed=job.seed,
                seeds=job.seeds,
                time_control=self._control,
                move_limit=self.setup.move_limit,
                opening=job.opening,
                tags={**job.tags, "isolation": str(self._pool.isolation)},
                log_dir=self._logs,
                on_move=self._boards.begin(job.job_id, job.players, job.settings),
                panel=panel,
                record_policies=self.setup.record_policies,
            )
        finally:
            self._boards.end()
            self._keep_logs(job.job_id)
        if record.termination is Termination.CRASH:
            time.sleep(CRASH_PAUSE)
        # Only a loser on time can blame a standstill; to its opponent it did no harm.
        lost = record.losers or (() if record.loser is None else (record.loser,))
        late = lost if record.termination is Termination.TIME else ()
        return JobOutcome(
            job_id=job.job_id,
            result=summary(record),
            record=record.to_json_lines(),
            seconds=record.seconds,
            standstill=max((seats[seat].standstill for seat in late), default=0.0),
        )

    def _keep_logs(self, job_id: str) -> None:
        """Rename the folder of the agents' logs after the game, if they logged anything.

        Few agents do, and a folder for each game would take longer than a short game.
        """
        if self._logs is None or not self._logs.is_dir() or not any(self._logs.iterdir()):
            return
        names = (f"{job_id}{suffix}" for suffix in ("", *(f".{n}" for n in range(2, 100))))
        for name in names:  # void attempts at the game keep their logs
            target = self._logs.with_name(name)
            if not target.exists():
                self._logs.rename(target)
                return

    def _parameters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.setup.game_parameters, **settings}

    def _game(self, settings: Mapping[str, Any]) -> tuple[Game, Panel | None]:
        """Return the game with some settings and its adjudicators; the latest few are kept."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._games:
            game = load_game(self.setup.game, **self._parameters(settings))
            rules, share = dict(self.setup.rules), self.setup.hold_out
            self._games[key] = game, make_panel(game, rules, hold_out=share) if rules else None
        self._games.move_to_end(key)
        while len(self._games) > _MOST_GAMES:
            self._games.popitem(last=False)
        return self._games[key]


def _try_clock(seat: AgentSeat, game: Game, clock: Clock) -> None:
    """Ask for the first move if the clock is short and the game begins with it.

    Raises:
      AgentError: it was not made in time.
    """
    limit, state = clock.limit(), game.new_initial_state()
    if clock.control.kind == "none" or limit is None or limit > SHORT_CLOCK:
        return
    if state.current_player() != 0:
        return
    if (observation := state.observation(0)) is not None:
        seat.observe(observation)
    reply = seat.act(clock.reading(), deadline=clock.deadline())
    if not clock.charge(reply.seconds):
        raise AgentTimeoutError(
            f"agent '{seat.name}': its first move took {reply.seconds:.2g} s, and the clock of "
            f"[time] has {limit:g} s; give it more"
        )


def summary(record: GameRecord) -> GameResult:
    """Return the result of a game for the store."""
    deciders = [m.actor for m in record.moves if m.actor >= 0 and not m.opening]
    return GameResult(
        returns=record.returns,
        termination=str(record.termination),
        loser=record.loser,
        detail=record.detail,
        moves=sum(move.actor >= 0 for move in record.moves),
        player_moves=tuple(deciders.count(seat) for seat in range(len(record.players))),
        seconds=tuple(player.seconds for player in record.players),
        cpu_seconds=tuple(player.cpu_seconds for player in record.players),
        wall_seconds=record.seconds,
        started=record.started,
        versions=dict(record.versions),
    )


def prepare_worker() -> None:
    """Load the plugins in a worker process, and adopt what its agents start."""
    # Agents may start processes of their own and die; as their new parent, the worker can end them.
    adopt_orphans()
    # The runner has reported broken plugins; later warnings, of hooks that fail, are one line.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        plugin_host()
    warnings.simplefilter("always", PluginWarning)
    warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)


@contextlib.contextmanager
def serve_games(setup: Mapping[str, Any]) -> Iterator[Callable[[Mapping[str, Any]], Any]]:
    """Give the function with which a worker performs jobs; setup, jobs and outcomes are plain."""
    prepare_worker()
    with GameRunner(Setup.from_plain(setup)) as runner:
        yield lambda job: runner.perform(GameJob.from_plain(job)).to_plain()
