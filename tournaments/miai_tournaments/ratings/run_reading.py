"""A run's store as what `joining` joins: its agents' identities and their results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from miai.errors import PluginError
from miai.plugins.loader import plugin_host
from miai_tournaments.config.openings import told_lines
from miai_tournaments.ratings.joining import Identity, RunResults, canonical
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.report.opening_names import OpeningNames
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo
from miai_tournaments.store.store import Store

FRAMEWORK = "miai"


def read_run(folder: Path) -> RunResults:
    """Return the results of the finished games of a run, as far as they are of one game.

    Those with parameters of the game of their own, a handicap say, are another game, in which the
    same difference in strength leads to other results: they are counted and left out. A position
    that an opening starts from is none of these: both players have either side of it.

    An agent's version is that of the distribution that brings it, as each game's row has it: an
    agent that was updated in the middle of a run is two identities. It is not known where the
    agent is not installed here.

    Raises:
      StoreError: there is no store, or it cannot be read.
    """
    with Store.read(folder) as store:
        info, players, rows = store.info(), store.players(), store.results()
    counter = _Counter(info, players)
    openings = OpeningNames(info, None)
    even = [row for row in rows if not openings.settings(row)]
    for row in even:
        counter.add(row)
    return RunResults(
        source=str(folder),
        key=canonical([info.name, info.seed, info.created, info.config_text]),
        game=info.game,
        game_parameters=canonical(info.game_parameters),
        conditions=_conditions(info),
        identities=tuple(counter.identities),
        results=counter.results(),
        seeds=frozenset(row.seed for row in even),
        left_out=len(rows) - len(even),
    )


def distribution_of(agent: str, game: str) -> str | None:
    """Return the name of the distribution that brings an agent; None where it is not known."""
    host = plugin_host()
    try:
        component = host.registry.get("agent", agent, game=game)
    except PluginError:  # not installed here
        return None
    status = next((plugin for plugin in host.plugins if plugin.name == component.plugin), None)
    if status is None:
        return None
    return status.distribution or (FRAMEWORK if status.name == FRAMEWORK else None)


class _Counter:
    """Games counted by the identities that played them.

    Attributes:
      identities: in the order in which they were met.
    """

    def __init__(self, info: RunInfo, players: list[PlayerRow]) -> None:
        self.identities: dict[Identity, int] = {}
        self._players = {player.name: player for player in players}
        self._brings = {p.name: distribution_of(p.agent, info.game) for p in players}
        self._known: dict[tuple[str, str], int] = {}
        self._counts: dict[tuple[int, int], list[int]] = {}

    def add(self, row: GameRow) -> None:
        """Count a finished game."""
        first, second = (self._number(name, row.versions) for name in row.players)
        lost = 1 - ((row.returns[0] > row.returns[1]) - (row.returns[0] < row.returns[1]))
        self._counts.setdefault((first, second), [0, 0, 0])[lost] += 1

    def results(self) -> PairResults:
        """Return the results; players are called by their numbers."""
        pairs, counts = list(self._counts), list(self._counts.values())
        columns = (
            [row[i] for row in rows] for rows, n in ((pairs, 2), (counts, 3)) for i in range(n)
        )
        names = [str(number) for number in range(len(self.identities))]
        return PairResults.from_counts(*columns, players=names)

    def _number(self, name: str, versions: Mapping[str, str]) -> int:
        brings = self._brings[name]
        version = versions.get(brings, "") if brings else ""
        key = (name, version)
        if key not in self._known:
            player = self._players[name]
            identity = Identity.of(
                name,
                player.agent,
                player.parameters,
                version=f"{brings} {version}" if version else "",
            )
            self._known[key] = self.identities.setdefault(identity, len(self.identities))
        return self._known[key]


def _conditions(info: RunInfo) -> dict[str, str]:
    """Return what should be the same in runs that are joined, besides the game."""
    rules = info.adjudication()
    rules = rules if rules.get("order") else {}
    clock = {key: value for key, value in info.time_control.items() if value is not None}
    return {
        "version of the game": str(info.game_version),
        "time control": json.dumps(clock, sort_keys=True),
        "move limit": str(info.move_limit or ""),
        "adjudication": canonical([rules.get("order"), rules.get("rules")]) if rules else "",
        "set of openings": _openings(info),
    }


def _openings(info: RunInfo) -> str:
    """Return what tells the run's set of openings from others, short; empty for none.

    A set has no order: the same lines from another one on, or shuffled by another seed, are the
    same set. Names count for nothing.
    """
    results = info.resolved.get("results")
    told = results.get("openings") if isinstance(results, Mapping) else None
    lines = told_lines(told) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not (lines or told.get("random_plies")):
        return ""
    played = sorted(canonical([line.actions, dict(line.settings)]) for line in lines or ())
    rest = [told.get("random_plies"), told.get("balance")]
    text = f"{len(lines)} lines" if lines else f"{told.get('random_plies')} random plies"
    digest = hashlib.sha256(canonical([played, rest]).encode()).hexdigest()
    return f"{text} ({digest[:8]})"
