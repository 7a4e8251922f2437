"""The executor ``ray``: workers that are actors of a Ray cluster, replaced when they die.

A worker is given jobs when it is placed, so a busy or small cluster plays with those that it has
room for, and lets jobs wait where it has none. The death of an actor
or of its whole node costs the job it was at; those behind it go to another. Ray is told to repeat
nothing by itself: what is played again is for the scheduler to decide.
"""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from miai.errors import MiaiError
from miai_tournaments.executors.cluster import LOCAL, connected
from miai_tournaments.executors.jobs import Outcome, Setup
from miai_tournaments.executors.pool import Pool
from miai_tournaments.executors.ray_worker import RayWorker

DEATHS: Final = 3
"""Workers that may die one after the other without an outcome between them."""

CLOSE_SECONDS: Final = 5.0


class RayExecutor(Pool[RayWorker]):
    """Performs jobs in the actors of a Ray cluster; see `Pool`.

    Agents' logs are kept where the cluster is this machine's own; on another machine there is no
    such folder.

    Args:
      address: ``local``, or where a cluster is; see `cluster.connected`.
      workers: most actors; each takes one processor of the cluster.
      game_deadline: seconds after which a worker is taken for hung; None for never.

    Raises:
      ConfigError: there is no such cluster, or Ray is not installed.
    """

    def __init__(
        self, setup: Setup, *, address: str, workers: int, game_deadline: float | None = None
    ) -> None:
        kept = setup if address == LOCAL else replace(setup, logs=None)
        super().__init__(kept, workers=workers, game_deadline=game_deadline)
        self._deaths = 0
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address, workers=workers))

    @property
    def places(self) -> list[tuple[str, int]]:
        """The machine and the process id of each worker that was placed."""
        return [worker.place for worker in self._workers if worker.place is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._close_idle()
            for worker in self._workers:
                worker.kill()
        finally:
            self._stack.close()

    def _spawn(self) -> RayWorker:
        return RayWorker(self._ray, self._setup)

    def _take(self, seconds: float | None) -> list[Outcome]:
        awaited = self._awaited()
        if not awaited:
            return []
        outcomes: list[Outcome] = []
        ready, _ = self._ray.wait(list(awaited), num_returns=1, timeout=seconds)
        while ready:
            for reference in ready:
                outcomes += self._take_from(awaited.pop(reference))
            if not (awaited := self._awaited()):
                break
            ready, _ = self._ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        return outcomes

    def _awaited(self) -> dict[Any, RayWorker]:
        return {w.awaited: w for w in self._workers if w.awaited is not None}

    def _take_from(self, worker: RayWorker) -> list[Outcome]:
        try:
            outcome = worker.take()
        except self._ray.exceptions.RayError as error:
            return self._lose(worker, f"is gone: {_cause(error)}")
        if outcome is None:
            return []
        self._deaths = 0
        if outcome.result is not None:
            self._pace.add(outcome.seconds)
        return [outcome]

    def _bury(self, worker: RayWorker, what: str) -> str:
        with contextlib.suppress(self._ray.exceptions.RayError):
            worker.kill()  # one that only the network has lost must not play on
        self._deaths += 1
        if worker.place is None and self._deaths >= DEATHS:
            raise MiaiError(
                f"{self._deaths} Ray workers died before they began, the last one: {what}; is "
                "miai with the same plugins installed on every machine of the cluster?"
            )
        return f"{worker.told()} {what}"

    def _close_idle(self) -> None:
        """Ask idle workers to end their agents, and give them their time."""
        asked = [w.closing() for w in self._workers if not w.jobs and w.place is not None]
        if asked:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.wait(asked, num_returns=len(asked), timeout=CLOSE_SECONDS)


def _cause(error: Any) -> str:
    """Return what Ray says of a death, in one line."""
    return " ".join(str(error).split())[:500]
