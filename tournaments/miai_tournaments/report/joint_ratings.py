"""Joint ratings: several runs as one league, with the agents that link them.

An agent is the same in two runs if its name, its component, its parameters and its version are the
same. An agent that learnt or whose code changed is therefore a new player. Runs of different games
can be joined on request: then an agent has one strength in all of them, and each game has values of
seats and frequencies of ties of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from miai.errors import ConfigError, PluginError
from miai.plain import listed
from miai.plugins.loader import plugin_host
from miai_tournaments.config.opening_source import plain_lines
from miai_tournaments.ratings.model import Integers
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.rankings import GameKind, Ranking, Rankings, ranks_of, results_of
from miai_tournaments.report.details import OpeningNames
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo
from miai_tournaments.store.store import Store

_LONGEST_LABEL: Final = 100
_MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of an agent across runs.

    Attributes:
      name: the player's own name.
      agent: name of the component.
      parameters: all parameters, as JSON with sorted keys.
      version: distribution of the agent with its version, such as ``miai-go 0.3.0``; empty if
        unknown.
    """

    name: str
    agent: str
    parameters: str = "{}"
    version: str = ""

    @classmethod
    def of(
        cls, name: str, agent: str, parameters: Mapping[str, Any], *, version: str = ""
    ) -> Identity:
        """Return the identity of a player with parameters that are plain data."""
        return cls(name, agent, canonical(parameters), version)

    def difference(self, other: Identity) -> dict[str, tuple[str, str]]:
        """Return the differences from another identity: agent, version, and single parameters."""
        pairs = {"agent": (self.agent, other.agent), "version": (self.version, other.version)}
        mine, theirs = (_table(identity.parameters) for identity in (self, other))
        for key in {**mine, **theirs}:
            pairs[key] = (canonical(mine.get(key)), canonical(theirs.get(key)))
        return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResults:
    """The results of one run.

    Attributes:
      source: name of the run in messages, such as its folder.
      key: equal for copies of the run.
      game, game_parameters: the game and its parameters as JSON.
      conditions: whatever else should be the same, by name: the game's version, clocks, move limit,
        openings, rules of adjudication.
      identities: the agents, in the order of `results.players`.
      results: results of the finished games; rankings where they have more than two players.
      seeds: seeds of the games; if two runs share some, the same games may count twice.
      left_out: finished games that do not count because they had other parameters.
      unfinished: games of a file that do not count because they have no result.
    """

    source: str
    game: str
    identities: tuple[Identity, ...]
    results: PairResults | Rankings
    key: str = ""
    game_parameters: str = "{}"
    conditions: Mapping[str, str] = field(default_factory=dict)
    seeds: frozenset[int] = frozenset()
    left_out: int = 0
    unfinished: int = 0

    @property
    def kind(self) -> tuple[str, str]:
        """The game and its parameters."""
        return self.game, self.game_parameters

    @property
    def games(self) -> float:
        """Number of games."""
        own = self.results
        return own.games() if isinstance(own, Rankings) else float(own.games.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joined:
    """Several runs as one league.

    Attributes:
      results: results of all games, rankings if some have more than two players or there are
        several games; `results.players` are labels: an agent's name and, among namesakes, what
        distinguishes it.
      kinds: the games and their parameters as JSON, in the order of the kinds of rankings.
      identities: identities of the labels, in their order.
      sources: runs in which each label finished games.
      links: labels of agents that played in several runs.
      groups: labels that games link, largest first; ratings compare within a group only.
      warnings: caveats for the reader, a line each.
    """

    results: PairResults | Rankings
    kinds: tuple[tuple[str, str], ...]
    identities: tuple[Identity, ...]
    sources: tuple[tuple[str, ...], ...]
    links: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]


def join_runs(
    runs: Sequence[RunResults], *, unlinked: bool = False, across_games: bool = False
) -> Joined:
    """Return the results of several runs as one league, for one joint fit.

    Agents without a finished game are left out.

    Args:
      unlinked: whether agents that no games link lead to a warning instead of an error.
      across_games: whether runs may be of different games or have other parameters of theirs.

    Raises:
      ConfigError: there is no run or no finished game, a run is there twice, runs are of
        different games, or not linked.
    """
    _check(runs)
    if not across_games:
        _check_game(runs)
    numbers: dict[Identity, int] = {}
    sources: list[list[str]] = []
    places: list[Integers] = []
    for run in runs:
        games, _ = run.results.totals()
        place = np.zeros(len(run.identities), dtype=np.int64)
        for i in np.flatnonzero(games > 0).tolist():
            place[i] = numbers.setdefault(run.identities[i], len(numbers))
            if place[i] == len(sources):
                sources.append([])
            if run.source not in sources[place[i]]:
                sources[place[i]].append(run.source)
        places.append(place)
    if not numbers:
        raise ConfigError("rate: no game is finished in any of the runs; play some first")
    labels = label(tuple(numbers))
    kinds = tuple(dict.fromkeys(run.kind for run in runs if run.games))
    results = _joined(runs, places, kinds, labels)
    groups = (results.pairs() if isinstance(results, Rankings) else results).groups()
    warnings = [*_mixture(kinds), *_left_out(runs)]
    for kind in kinds:
        alike = [run for run in runs if run.kind == kind]
        warnings += [*_conditions(alike), *_repeated(alike)]
    if len(groups) > 1:
        warning = _apart(tuple(numbers), labels, groups)
        if not unlinked:
            raise ConfigError(f"{warning}; or rate each group separately with --unlinked")
        warnings.append(warning)
    return Joined(
        results=results,
        kinds=kinds,
        identities=tuple(numbers),
        sources=tuple(map(tuple, sources)),
        links=tuple(name for name, where in zip(labels, sources, strict=True) if len(where) > 1),
        groups=groups,
        warnings=tuple(warnings),
    )


def _joined(
    runs: Sequence[RunResults],
    places: Sequence[Integers],
    kinds: Sequence[tuple[str, str]],
    labels: tuple[str, ...],
) -> PairResults | Rankings:
    """Return the results of all runs with the labels as players.

    Args:
      places: for each run the label of each of its players.
    """
    pairs = [(place, run.results) for place, run in zip(places, runs, strict=True)]
    if len(kinds) == 1 and all(isinstance(own, PairResults) for _, own in pairs):
        columns = [_columns(place, own) for place, own in pairs if isinstance(own, PairResults)]
        joined = (np.concatenate(column) for column in zip(*columns, strict=True))
        return PairResults.from_counts(*joined, players=labels)
    # All runs of a kind have as many seats, so their games can be stacked.
    parts: dict[tuple[str, str], list[tuple[Any, ...]]] = {kind: [] for kind in kinds}
    for place, run in zip(places, runs, strict=True):
        own = run.results
        rankings = own if isinstance(own, Rankings) else Rankings.from_pairs(own)
        for kind in rankings.kinds:
            parts[run.kind].append((place[kind.seats], kind.ranks, kind.count))
    stacked = (map(np.concatenate, zip(*part, strict=True)) for part in parts.values())
    return Rankings(
        players=labels, kinds=tuple(GameKind(seats=s, ranks=r, count=c) for s, r, c in stacked)
    )


def _columns(place: Integers, own: PairResults) -> tuple[Any, ...]:
    wins = own.points - own.draws / 2
    losses = own.games - own.draws - wins
    return place[own.first], place[own.second], wins, own.draws, losses


def label(identities: Sequence[Identity]) -> tuple[str, ...]:
    """Return a unique label for each identity: its name, and what distinguishes namesakes."""
    namesakes: dict[str, list[Identity]] = {}
    for identity in identities:
        namesakes.setdefault(identity.name, []).append(identity)
    labels = [_label(identity, namesakes[identity.name]) for identity in identities]
    taken: dict[str, int] = {}
    for i, text in enumerate(labels):
        taken[text] = taken.get(text, 0) + 1
        if taken[text] > 1:  # cut to the same beginning
            labels[i] = f"{text} #{taken[text]}"
    return tuple(labels)


def canonical(value: Any) -> str:
    """Return plain data as JSON that is the same for equal data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _label(identity: Identity, namesakes: Sequence[Identity]) -> str:
    keys: dict[str, None] = {}
    for other in namesakes:
        keys.update(dict.fromkeys(identity.difference(other)))
    if not keys:
        return identity.name
    parameters = _table(identity.parameters)
    own = {"agent": identity.agent, "version": identity.version or "version unknown"}
    details = [
        own[key] if key in own else f"{key}={canonical(parameters.get(key))}"
        for key in sorted(keys, key=lambda key: (key != "agent", key != "version", key))
    ]
    text = f"{identity.name} ({', '.join(details)})"
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 4]}...)"


def _table(parameters: str) -> dict[str, Any]:
    table = json.loads(parameters)
    return table if isinstance(table, dict) else {}


def _check(runs: Sequence[RunResults]) -> None:
    if not runs:
        raise ConfigError("rate: no run is given; name the folders of one or more runs")
    keys: dict[str, str] = {}
    for run in runs:
        for key in {run.source, run.key} - {""}:
            if key in keys:
                raise ConfigError(
                    f"{run.source}: is the same run as {keys[key]}, so its games would count "
                    "twice; name it once"
                )
        keys.update(dict.fromkeys({run.source, run.key} - {""}, run.source))


def _check_game(runs: Sequence[RunResults]) -> None:
    begin = runs[0]
    remedy = "rate runs of one game, or different games in one list with --across-games"
    for run in runs[1:]:
        if run.game != begin.game:
            raise ConfigError(
                f"{run.source}: is a run of {run.game}, {begin.source} of {begin.game}; {remedy}"
            )
        if run.game_parameters != begin.game_parameters:
            raise ConfigError(
                f"{run.source}: has other parameters of {run.game} than {begin.source}: "
                f"{_shown(begin.game_parameters, run.game_parameters)}; {remedy}"
            )


def _mixture(kinds: Sequence[tuple[str, str]]) -> Iterable[str]:
    if len(kinds) > 1:
        games = ", ".join(dict.fromkeys(game for game, _ in kinds))
        yield (
            f"{len(kinds)} games or settings of games are rated in one list ({games}): an agent "
            "that is strong in one of them and weak in another has a rating between"
        )


def _conditions(runs: Sequence[RunResults]) -> Iterable[str]:
    """Yield a line for each condition that is not the same in all runs."""
    for name in dict.fromkeys(key for run in runs for key in run.conditions):
        values: dict[str, list[str]] = {}
        for run in runs:
            values.setdefault(run.conditions.get(name, ""), []).append(run.source)
        if len(values) > 1:
            shown = "; ".join(
                f"{value or 'none'} in {listed(w, limit=_MOST_NAMES)}"
                for value, w in values.items()
            )
            yield f"the {name} differs, so ratings are for a mixture of conditions: {shown}"


def _left_out(runs: Sequence[RunResults]) -> Iterable[str]:
    for run in runs:
        if run.left_out:
            yield (
                f"{run.source}: {run.left_out} games with their own parameters, such as a "
                "handicap, are left out"
            )
        if run.unfinished:
            yield f"{run.source}: {run.unfinished} games without a result are left out"


def _repeated(runs: Sequence[RunResults]) -> Iterable[str]:
    for i, run in enumerate(runs):
        for other in runs[:i]:
            shared = len(run.seeds & other.seeds)
            if shared:
                yield (
                    f"{other.source} and {run.source} share {shared} seeds of games: "
                    "deterministic agents played the same games there, which count twice"
                )


def _apart(
    identities: Sequence[Identity], labels: Sequence[str], groups: Sequence[Sequence[str]]
) -> str:
    """Return a message on the groups that are not linked, with namesakes that differ."""
    shown = " | ".join(listed(list(group), limit=_MOST_NAMES) for group in groups[:_MOST_NAMES])
    text = f"rate: no games link these groups, so their ratings do not compare: {shown}"
    number = {name: i for i, group in enumerate(groups) for name in group}
    namesakes: dict[str, int] = {}
    for i, one in enumerate(identities):
        j = namesakes.setdefault(one.name, i)
        if number[labels[i]] != number[labels[j]]:
            differs = ", ".join(one.difference(identities[j]))
            return f"{text}. '{one.name}' would link them but for its {differs}"
    return text


def _shown(one: str, other: str) -> str:
    before, after = _table(one), _table(other)
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return ", ".join(
        f"{key} {canonical(before.get(key))} and {canonical(after.get(key))}" for key in keys
    )


FRAMEWORK = "miai"


def read_run(folder: Path) -> RunResults:
    """Return the results of the finished games of a run.

    Games with their own parameters, such as a handicap, are left out: there the same difference in
    strength leads to other results. Starting positions of openings count, since both players have
    either side of them.

    An agent's version is that of its distribution in each game's row, so an agent that was updated
    during a run is two identities. It is unknown if the agent is not installed here.

    Raises:
      StoreError: there is no store, or it cannot be read.
    """
    with Store.read(folder) as store:
        info, players, rows = store.info(), store.players(), store.results()
    if info.payoff_bound() is not None:
        raise ConfigError(
            f"{folder}: the results of {info.game} are payoffs, which have no ratings; see their "
            f"means with `miai tournament report {folder}`"
        )
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
        conditions=_run_conditions(info),
        identities=tuple(counter.identities),
        results=counter.results(),
        seeds=frozenset(row.seed for row in even),
        left_out=len(rows) - len(even),
    )


def distribution_of(agent: str, game: str) -> str | None:
    """Return the name of an agent's distribution; None if it is unknown."""
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
      identities: numbers of the identities, in order of appearance.
    """

    def __init__(self, info: RunInfo, players: list[PlayerRow]) -> None:
        self.identities: dict[Identity, int] = {}
        self._players = {player.name: player for player in players}
        self._distributions = {p.name: distribution_of(p.agent, info.game) for p in players}
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: Counter[Ranking] = Counter()

    def add(self, row: GameRow) -> None:
        """Count a finished game."""
        numbers = tuple(str(self._number(name, row.versions)) for name in row.players)
        self._counts[numbers, ranks_of(row.returns)] += 1

    def results(self) -> PairResults | Rankings:
        """Return the results; players are called by their numbers."""
        names = [str(number) for number in range(len(self.identities))]
        return results_of(self._counts, players=names)

    def _number(self, name: str, versions: Mapping[str, str]) -> int:
        distribution = self._distributions[name]
        version = versions.get(distribution, "") if distribution else ""
        key = (name, version)
        if key not in self._numbers:
            player = self._players[name]
            identity = Identity.of(
                name,
                player.agent,
                player.parameters,
                version=f"{distribution} {version}" if version else "",
            )
            self._numbers[key] = self.identities.setdefault(identity, len(self.identities))
        return self._numbers[key]


def _run_conditions(info: RunInfo) -> dict[str, str]:
    """Return the conditions that should be the same in joined runs, besides the game."""
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
    """Return a short text that identifies the set of openings; empty for none.

    The order of the lines and their names do not matter.
    """
    openings = info.openings()
    lines = plain_lines(openings)
    if not (lines or openings.get("random_plies")):
        return ""
    # Sorted: the same set of openings in another order is the same condition.
    played = sorted(canonical([line.actions, dict(line.settings)]) for line in lines or ())
    rest = [openings.get("random_plies"), openings.get("balance")]
    text = f"{len(lines)} lines" if lines else f"{openings.get('random_plies')} random plies"
    digest = hashlib.sha256(canonical([played, rest]).encode()).hexdigest()
    return f"{text} ({digest[:8]})"
