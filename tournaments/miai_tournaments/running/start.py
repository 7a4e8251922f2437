"""What a run does before its first game: value openings, start an executor and every player."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from miai.errors import AgentUnavailableError
from miai.game import Game
from miai.plugins.loader import registry
from miai.process.landlock import hindrance, landlock_version
from miai.process.processors import available_processors
from miai.process.sandbox import SCRATCH, Isolation, sandbox_hindrance, strongest_isolation
from miai_tournaments.blame import is_foreign
from miai_tournaments.config.load import rules_of
from miai_tournaments.config.schema import LimitsSection, TournamentConfig
from miai_tournaments.kinds import EXECUTOR
from miai_tournaments.running.signals import Stopped
from miai_tournaments.store.folder import LOGS
from miai_tournaments.store.rows import PlayerRow
from miai_tournaments.workers.executor import Executor, GuardedExecutor, Workload
from miai_tournaments.workers.game_runner import UNNAMED
from miai_tournaments.workers.jobs import GameJob, Setup

POLL_SECONDS = 0.25
"""Interval at which a run checks whether it should stop."""

_SECONDS_BETWEEN_LINES = 5.0
_MOST_RETRIES = 2


class ValuationWatch:
    """Called before each valuation of an opening: shows progress, and stops when asked.

    Args:
      say: shows a line.
      stop_asked: returns the reason to stop; None while there is none.
    """

    def __init__(self, say: Callable[[str], None], stop_asked: Callable[[], str | None]) -> None:
        self._say, self._stop_asked = say, stop_asked
        self._count = 0
        self._last_line = time.monotonic()

    def __call__(self) -> None:
        """Count a valuation. Raises `Stopped` when asked to stop."""
        if (reason := self._stop_asked()) is not None:
            raise Stopped(reason)
        if time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._say(f"{self._count} openings were valued ...")
        self._count += 1


def make_setup(
    config: TournamentConfig,
    game: Game,
    players: Iterable[PlayerRow],
    folder: Path,
    *,
    hidden: Iterable[Path],
    fixed: Iterable[Path],
) -> Setup:
    """Return what all jobs of a run share.

    Args:
      folder: of the run.
      hidden: folders and files that agents may not see.
      fixed: those that they may not change.
    """
    return Setup(
        game=game.info.name,
        game_parameters=game.parameters.model_dump(mode="json", exclude_unset=True),
        agents={player.name: (player.agent, player.given) for player in players},
        time_control=asdict(config.time.control()),
        move_limit=config.tournament.move_limit,
        limits=asdict(config.limits.limits(*hidden, fixed=fixed)),
        start_timeout=config.limits.start_timeout,
        warm_agents=config.run.warm_count(),
        logs=str((folder / LOGS).absolute()),
        rules=list(rules_of(config).items()),
        hold_out=config.adjudication.hold_out,
        record_policies=config.run.record_policies,
    )


def make_executor(
    name: str, workload: Workload, parameters: Mapping[str, Any] = MappingProxyType({})
) -> Executor:
    """Return an executor by name.

    Raises:
      MiaiError: there is no such executor, its parameters are wrong, or what it needs is missing.
    """
    component = registry().get(EXECUTOR, name)
    executor = component.build(workload, values=parameters, where="run")
    return GuardedExecutor(executor, component.title) if is_foreign(component) else executor


def isolation_line(level: Isolation, *, local: bool) -> str:
    """Return a line that names the level of isolation and, if it is not the strongest, why.

    Args:
      local: whether agents run on this machine.
    """
    if not local:
        return "agents are isolated as each machine of the cluster can: sandbox, else process"
    reason = sandbox_hindrance()
    if level is Isolation.SANDBOX:
        return "agents run in sandboxes"
    if level is Isolation.NONE:
        return "agents run inside the workers, without isolation: nothing limits or stops them"
    return "agents run in processes of their own, not in sandboxes" + (
        f": {reason}" if reason else ""
    )


def unkept_limits(limits: LimitsSection, folder: Path, *, local: bool) -> list[str]:
    """Return a line for each limit of the config that this machine cannot enforce.

    Args:
      folder: of the run.
      local: whether agents run on this machine; the processors of others differ.
    """
    lines = []
    level = limits.limits().isolation or strongest_isolation()
    if level is Isolation.PROCESS and not landlock_version():
        lines.append("without Landlock agents could read and change files of the run and of others")
    elif limits.private and level is Isolation.PROCESS and (reason := hindrance(folder)):
        lines.append(f"{reason}: agents could read the run's folder")
    wanted, available = limits.processors, available_processors()
    if wanted is not None and wanted > available and local:
        lines.append(f"limits.processors = {wanted}: agents share the {available} of this machine")
    return lines


def distinct(players: Iterable[PlayerRow]) -> dict[str, str]:
    """Return the first of the players that differ in name and seed alone, and how many follow it.

    What one of them can do the others can. The number is text: `` and 49 like it``, or nothing.
    """
    alike: dict[str, list[str]] = {}
    for player in players:
        given = {key: value for key, value in player.given.items() if key != "seed"}
        alike.setdefault(json.dumps([player.agent, given], sort_keys=True), []).append(player.name)
    return {first: f" and {len(rest)} like it" if rest else "" for first, *rest in alike.values()}


def start_players(
    executor: Executor, places: Mapping[str, str], *, stop_asked: Callable[[], str | None]
) -> None:
    """Start the agents of players once, so that a missing one is noticed before any game.

    Args:
      places: for each player's name, where the config names it, for messages.

    Raises:
      AgentUnavailableError: some agents cannot be started; one line for each.
      Stopped: the run was asked to stop.
    """
    waiting = deque(GameJob(job_id=name, kind="start", players=(name,)) for name in places)
    running: set[str] = set()
    retries: Counter[str] = Counter()
    problems: list[str] = []
    # All players are started, even if one fails: the user wants to see every problem at once.
    while waiting or running:
        while waiting and len(running) < executor.capacity:
            job = waiting.popleft()
            running.add(job.job_id)
            executor.submit(job)
        for outcome in executor.wait(POLL_SECONDS):
            running.discard(outcome.job_id)
            # A worker that died or stood still is perhaps not the player's fault.
            retry = outcome.fault == "worker" or outcome.standstill > 0
            if retry and retries[outcome.job_id] < _MOST_RETRIES:
                retries[outcome.job_id] += 1
                job = GameJob(job_id=outcome.job_id, kind="start", players=(outcome.job_id,))
                waiting.append(job)
            elif outcome.fault:
                name = outcome.job_id
                problem = outcome.reason.removeprefix(f"agent '{name}': ")
                problems.append(f"{places[name]}: {problem}")
        if (reason := stop_asked()) is not None:
            raise Stopped(reason)
    if problems:
        raise AgentUnavailableError("\n".join(sorted(problems)))


def remove_leftovers(logs: Path) -> None:
    """Remove what killed workers left behind: logs and boards."""
    for path in (*logs.glob(f"{UNNAMED}*"), *logs.glob(".board-*")):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # a file, or a link, which is not followed
            path.unlink()


def remove_scratch() -> None:
    """Remove the temporary files of agents whose workers were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*"):
        # The name carries the worker's process. Where processes cannot be looked up, nothing is
        # removed: it may be in use.
        pid = path.name.split("-")[2]
        if pid.isdecimal() and Path("/proc/self").exists() and not Path("/proc", pid).exists():
            shutil.rmtree(path, ignore_errors=True)
