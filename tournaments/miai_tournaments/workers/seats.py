"""The seats of a worker: agents that stay warm, in processes that players of one kind share.

Players are of one kind if they have the same agent and their parameters differ in numbers alone,
``threads`` excepted. Only code that the referee runs anyway is shared: the framework's and that of
the game's distribution. Any other player has its processes for itself.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import psutil

from miai.api import make_agent
from miai.errors import AgentError, AgentUnavailableError, MiaiError
from miai.game import Game
from miai.playing.match import InProcessSeat
from miai.plugins.kinds import AGENT
from miai.plugins.loader import registry
from miai.process.agent_process import AgentProcess
from miai.process.control_group import free_memory
from miai.process.kernel_caches import choices, trusted_code
from miai.process.sandbox import Isolation, ProcessLimits, strongest_isolation
from miai_tournaments.workers.jobs import Setup

AgentSeat = AgentProcess | InProcessSeat

_DESCRIPTORS: Final = 8  # of this process, for an agent's
_SPARE: Final = 4
"""Processes for which there must be memory before one is added: all of them grow, and other workers
add some at the same time."""


class SeatPool:
    """Agents that stay warm between games, bounded in number and in memory.

    Attributes:
      isolation: level of the agents. At the level ``none`` they live in this process, except those
        that run a file or a program.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup, self._limits = setup, ProcessLimits(**setup.limits)
        self.isolation = Isolation(self._limits.isolation or strongest_isolation())
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = min(setup.warm_agents, descriptors // _DESCRIPTORS)
        self._warm: list[tuple[object, AgentSeat]] = []  # the least recently used first
        self._kinds: dict[str, str] = {}
        self._largest = 0

    def seats(
        self, players: Sequence[str], game: Game, given: Mapping[str, Any]
    ) -> list[AgentSeat]:
        """Return the seats of a game with the parameters `given`, in seat order.

        Raises:
          AgentUnavailableError: an agent cannot be built in this process.
        """
        seats: list[AgentSeat] = []
        names, settings = sorted(players), json.dumps(given, sort_keys=True)
        for player, name in enumerate(players):
            slot: tuple[object, ...] = (kind := self._kind(name), settings)
            # The games of a block have the same deal. If there is chance, a process serves one
            # seat in one game of a block only: what it remembers says nothing about the others.
            if game.info.max_chance_outcomes:
                slot = (*slot, player, 0 if kind == name else names.index(name))
            seats.append(self._seat(slot, name, game, given, seats))
        return seats

    def _kind(self, name: str) -> str:
        """Return the kind of a player; its name if it shares no process."""
        if name not in self._kinds:
            agent, parameters = self._setup.agents[name]
            kind = json.dumps([agent, choices(parameters), parameters.get("threads")])
            alone = self.isolation is Isolation.NONE or not trusted_code(self._setup.game, agent)
            self._kinds[name] = name if alone else kind
        return self._kinds[name]

    def _seat(
        self,
        slot: object,
        name: str,
        game: Game,
        given: Mapping[str, Any],
        busy: Sequence[AgentSeat],
    ) -> AgentSeat:
        """Return the player's own seat, or one with its parameters, a new one, one of its kind."""
        _, parameters = self._setup.agents[name]
        idle = [entry for entry in self._warm if entry[1] not in busy]
        fitting = [entry for entry in idle if entry[0] == slot]
        own = [entry for entry in fitting if entry[1].name == name]
        twins = [entry for entry in fitting if entry[1].parameters == parameters]
        if own or twins or (fitting and not self._has_room()):
            self._warm.remove(entry := (own or twins or fitting)[0])
            if isinstance(seat := entry[1], AgentProcess):
                seat.serve(name, parameters)
        else:
            while idle and not self._has_room():
                self._warm.remove(idle[0])
                with suppress(AgentError):  # of one that is done
                    idle.pop(0)[1].close()
            entry = slot, self._build(name, game, given)
        self._warm.append(entry)
        return entry[1]

    def _has_room(self) -> bool:
        """Return whether another process may be kept beside the warm ones."""
        if len(self._warm) >= self._most:
            return False
        with suppress(psutil.Error):
            if self._warm and (pid := getattr(self._warm[-1][1], "pid", None)) is not None:
                first = psutil.Process(pid)
                processes = (first, *first.children(recursive=True))
                size = sum(process.memory_info().rss for process in processes)
                self._largest = max(self._largest, size)
        return free_memory() > _SPARE * self._largest

    def _build(self, name: str, game: Game, given: Mapping[str, Any]) -> AgentSeat:
        agent, parameters = self._setup.agents[name]
        foreign = registry().get(AGENT, agent, game=game.info.name).foreign
        if self.isolation is Isolation.NONE and not foreign:
            try:
                player = make_agent(agent, game, **parameters)
            except MiaiError as error:
                raise AgentUnavailableError(f"agent '{name}': {error}") from error
            return InProcessSeat(player, name=name, parameters=parameters)
        limits, timeout = self._limits, self._setup.start_timeout
        names = self._setup.game, given, agent, parameters
        return AgentProcess(*names, name=name, limits=limits, start_timeout=timeout)

    def close(self, *, politely: bool) -> None:
        """End the agents; a polite end costs one up to `ProcessLimits.close_seconds`."""
        while self._warm:
            _, seat = self._warm.pop()
            if politely or isinstance(seat, InProcessSeat):
                with suppress(AgentError):
                    seat.close()
            else:
                seat.kill()
