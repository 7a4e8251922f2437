"""Details of a report, which take longer to compute: pages, Markdown and JSON show them.

Use of time, results by opening and by parameters of the game, teams and the format's facts; and
the counts of adjudicated games.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from miai.errors import MiaiError, RecordError, StoreError
from miai.files import reading
from miai.game import Game
from miai.plain import loads
from miai.playing.adjudication import held_out
from miai.playing.openings import Opening
from miai.record import Termination
from miai.record_reader import read_verdicts
from miai.render import action_text
from miai_tournaments.config.opening_source import game_with_settings, plain_lines
from miai_tournaments.ratings.bootstrap import Bootstrap
from miai_tournaments.ratings.payoffs import MeanPayoff, Payoffs
from miai_tournaments.ratings.performance import OpeningScore, PerformanceRow, measure_performance
from miai_tournaments.ratings.rankings import ranks_of
from miai_tournaments.ratings.ratings import FitValue, Ratings
from miai_tournaments.report.standings import FORFEITS, PlayerStanding, Standings, Tally, outcome
from miai_tournaments.store.database import damaged
from miai_tournaments.store.row_checks import is_int
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo

if TYPE_CHECKING:
    from miai_tournaments.store.store import Store


@dataclass(frozen=True, slots=True)
class ParameterSeries:
    """Players of one agent whose parameters differ in one number.

    Attributes:
      agent: name of the agent.
      parameter: name of the parameter.
      players: names by the value of the parameter, ascending.
    """

    agent: str
    parameter: str
    players: Mapping[float, str]


_LARGEST: Final = 1e15
_FEW: Final = 3
"""Minimum number of values that make a line."""


def parameter_series(entered: Iterable[PlayerRow]) -> list[ParameterSeries]:
    """Return the groups of players of which a line of strength over a parameter can be drawn."""
    groups: dict[tuple[str, str, str], dict[float, str]] = {}
    for row in entered:
        for key, value in row.parameters.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not abs(value) <= _LARGEST:
                continue
            others = {name: other for name, other in row.parameters.items() if name != key}
            group = row.agent, key, json.dumps(others, sort_keys=True)
            groups.setdefault(group, {})[float(value)] = row.name
    return [
        ParameterSeries(agent, key, dict(sorted(players.items())))
        for (agent, key, _others), players in groups.items()
        if len(players) >= _FEW
    ]


QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUse:
    """One player's use of time, in seconds.

    Attributes:
      player: its name.
      games: games in which its time was measured.
      per_move, cpu_per_move: means over all its moves, wall and CPU time; None where unknown.
      quantiles: of the games' mean times of a move, at `QUANTILES`; empty without games.
      longest_game: maximum for one game.
      total: sum over all games.
      lost_on_time: games forfeited by its clock or a hang.
    """

    player: str
    games: int
    per_move: float | None
    cpu_per_move: float | None
    quantiles: tuple[float, ...]
    longest_game: float
    total: float
    lost_on_time: int


def time_uses(
    rows: Iterable[GameRow], standings: Mapping[str, PlayerStanding], players: Sequence[str]
) -> list[TimeUse]:
    """Return the players' use of time in games that are done, in the order given."""
    means: dict[str, list[float]] = {name: [] for name in players}
    longest, lost = dict.fromkeys(players, 0.0), Counter[str]()
    for row in rows:
        if row.loser is not None and row.termination == Termination.TIME:
            lost[row.players[row.loser]] += 1
        for name, seconds, moves in zip(row.players, row.seconds, row.player_moves, strict=False):
            longest[name] = max(longest[name], seconds)
            if moves:
                means[name].append(seconds / moves)
    return [
        TimeUse(
            player=name,
            games=len(means[name]),
            per_move=standings[name].seconds.value,
            cpu_per_move=standings[name].cpu_seconds.value,
            quantiles=tuple(np.quantile(means[name], QUANTILES).tolist()) if means[name] else (),
            longest_game=longest[name],
            total=standings[name].seconds.total,
            lost_on_time=lost[name],
        )
        for name in players
    ]


_MOST_PLIES = 40

_Key = tuple[tuple[int, ...], str]


class OpeningNames:
    """Names the openings of a run's games.

    Args:
      info: of the run, with the lines of an opening file and their names.
      game: provides the notation; without it actions are shown as numbers.
    """

    def __init__(self, info: RunInfo | None, game: Game | None) -> None:
        self._game = game
        self._lines = {_key(line.actions, line.settings): line for line in _lines(info)}
        self._counts = Counter(line.name for line in self._lines.values())
        self._keys = {frozenset(line.settings) for line in self._lines.values()}
        self._texts: dict[_Key, str] = {}

    def name(self, row: GameRow) -> str:
        """Return the name of a game's opening; empty for none."""
        opening = self._opening(row)
        key = _key(opening.actions, opening.settings)
        if key not in self._texts:
            self._texts[key] = self._text(opening)
        return self._texts[key]

    def settings(self, row: GameRow) -> dict[str, Any]:
        """Return a game's settings without those of its opening."""
        own = self._opening(row).settings
        return {name: value for name, value in row.settings.items() if name not in own}

    def _opening(self, row: GameRow) -> Opening:
        for names in self._keys:
            settings = {name: row.settings[name] for name in names & row.settings.keys()}
            line = self._lines.get(_key(row.opening, settings))
            if line is not None:
                return line
        return Opening(row.opening)

    def _text(self, opening: Opening) -> str:
        start = json.dumps(dict(opening.settings), sort_keys=True) if opening.settings else ""
        game = self._game
        try:
            game = None if game is None else game_with_settings(game, opening.settings)
        except MiaiError:  # of another version of the game
            game = None
        text = " ".join(filter(None, (start, opening_text(opening.actions, game))))
        if not opening.name:
            return text
        return opening.name if self._counts[opening.name] == 1 else f"{opening.name}: {text}"


def opening_text(actions: Sequence[int], game: Game | None) -> str:
    """Return an opening in the game's notation, cut where it is long."""
    shown = actions[:_MOST_PLIES]
    names: list[str] = []
    state = None if game is None else game.new_initial_state()
    for action in shown:
        names.append(str(action) if state is None else action_text(state, action))
        try:
            if state is not None:
                state.apply_action(action)
        except ValueError:  # of another version of the game: what follows stays numbers
            state = None
    return " ".join(names) + (" ..." if len(actions) > len(shown) else "")


def _key(actions: Sequence[int], settings: Mapping[str, Any]) -> _Key:
    return tuple(actions), json.dumps(dict(settings), sort_keys=True)


def _lines(info: RunInfo | None) -> Sequence[Opening]:
    return () if info is None else plain_lines(info.openings()) or ()


MOST_OPENINGS: Final = 20
"""Maximum number of openings in the list, those of most games first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team.

    Attributes:
      name: of the team.
      members: players' names.
      rating: mean of its members; None before any of them has played, and where results are
        payoffs.
      payoff: mean payoff of its members against all other players; None before any of them has
        played, and where games are won, drawn or lost.
      against_others: results of its members against all other players.
    """

    name: str
    members: tuple[str, ...]
    rating: FitValue | None
    payoff: MeanPayoff | None
    against_others: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Details of a report.

    Attributes:
      times: use of time, best player first.
      openings: results of the first player by opening, up to `MOST_OPENINGS` of them; these and
        `settings` are about scores, and left out where results are payoffs, and in games of more
        than two players.
      opening_count: number of openings.
      settings: the same by parameters of the game, if they vary.
      teams: in the order in which they were entered.
      facts: the latest facts of the format.
      terminations: games by reason, the most frequent first.
    """

    times: Sequence[TimeUse]
    openings: Sequence[PerformanceRow]
    opening_count: int
    settings: Sequence[PerformanceRow]
    teams: Sequence[Team]
    facts: Mapping[str, Any]
    terminations: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "times": [asdict(use) for use in self.times],
            "openings": [_line(line) for line in self.openings],
            "opening_count": self.opening_count,
            "settings": [_line(line) for line in self.settings],
            "teams": [_team(team) for team in self.teams],
            "format": dict(self.facts),
            "terminations": dict(self.terminations),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportContents:
    """What a report of a tournament shows.

    Attributes:
      info: facts of the whole run; None for a report of games without a run.
      standings: results of the games.
      ratings: ratings of the players; None where results are payoffs.
      bootstrap: bootstrap of the ratings, on request.
      superiority: whether the report includes matrices between players.
      details: details, on request.
      rows: the games in the order of the schedule, if they were read one by one.
      entered: the players as entered; empty for a report of games without a run.
      adjudications: counts of the rules of adjudication; None without rules.
      nash_convs: NashConv of the players that `miai exploit` has measured.
    """

    info: RunInfo | None
    standings: Standings
    ratings: Ratings | None
    bootstrap: Bootstrap | None = None
    superiority: bool = False
    details: Details | None = None
    rows: Sequence[GameRow] = ()
    entered: Sequence[PlayerRow] = ()
    adjudications: Adjudications | None = None
    nash_convs: Mapping[str, float] = field(default_factory=dict)

    def ranking(self) -> list[str]:
        """Return the players' names, best first: by rating, or by mean payoff."""
        if self.ratings is not None:
            return [self.ratings.players[i] for i in self.ratings.ranking()]
        payoffs = self.standings.payoffs or Payoffs()
        return payoffs.ranking(self.standings.players)


EXPLOIT_FILE: Final = Path("exploit", "exploit.json")
"""Where a report looks for the result of `miai exploit`, in the run's folder."""

EXPLOIT_SCHEMA: Final = "miai.exploit/1"


def read_nash_convs(folder: Path, info: RunInfo, players: Sequence[PlayerRow]) -> dict[str, float]:
    """Return the NashConv of those players of a run that `miai exploit` has measured.

    Raises `StoreError` if the file is damaged.
    """
    path = folder / EXPLOIT_FILE
    if not path.exists():
        return {}
    wanted = {row.name: (row.agent, row.parameters) for row in players}
    game = EXPLOIT_SCHEMA, info.game, info.game_parameters
    try:
        with reading(path, StoreError):
            values = loads(path.read_bytes())
        if (values["schema"], values["game"], values["game_parameters"]) != game:
            return {}
        return {
            each["name"]: float(each["nash_conv"])
            for each in values["players"]
            if wanted.get(each["name"]) == (each["agent"], each["parameters"])
        }
    except (ValueError, TypeError, LookupError):
        raise StoreError(f"{path}: is not a result of `miai exploit`; remove it") from None


def build_details(
    report: ReportContents,
    rows: Sequence[GameRow],
    *,
    players: Sequence[PlayerRow] = (),
    game: Game | None = None,
) -> Details:
    """Return the details of a report.

    Args:
      rows: the games of the report, in the order of the schedule.
      players: their teams.
      game: provides the notation; without it actions are shown as numbers.
    """
    names = report.ranking()
    done = [row for row in rows if row.status == "done"]
    scored = [] if report.ratings is None or report.standings.seats > 2 else done
    opening_names = OpeningNames(report.info, game)
    openings = measure_performance(_performance(scored, opening_names.name))
    listed = sorted(openings, key=lambda line: -line.games)
    named = len(listed) > 1 or any(line.opening for line in listed)
    return Details(
        times=time_uses(done, report.standings.players, names),
        openings=listed[:MOST_OPENINGS] if named else [],
        opening_count=len(listed) if named else 0,
        settings=_by_settings(scored, opening_names),
        teams=_teams(report, players),
        facts=report.info.facts if report.info else {},
        terminations=report.standings.terminations(),
    )


def game_of(info: RunInfo | None) -> Game | None:
    """Return the game of a run; None where its plugin is not installed or has changed."""
    from miai.api import recorded_game

    if info is None:
        return None
    try:
        return recorded_game(info.game, info.game_parameters)
    except (MiaiError, TypeError):
        return None


def _performance(rows: Iterable[GameRow], name: Callable[[GameRow], str]) -> list[OpeningScore]:
    """Return the games for `measure_performance`, grouped by `name`."""
    return [(name(row), (outcome(row) + 1) / 2) for row in rows]


def _by_settings(rows: Iterable[GameRow], names: OpeningNames) -> list[PerformanceRow]:
    """Return results by parameters of the game; empty if all games have the same."""

    def name(row: GameRow) -> str:
        settings = names.settings(row)
        return json.dumps(settings, sort_keys=True) if settings else ""

    lines = measure_performance(_performance(rows, name))
    return lines if len(lines) > 1 or any(line.opening for line in lines) else []


def _teams(report: ReportContents, players: Sequence[PlayerRow]) -> list[Team]:
    members: dict[str, list[str]] = {}
    for player in players:
        if player.team:
            members.setdefault(player.team, []).append(player.name)
    return [_one_team(report, name, tuple(found)) for name, found in members.items()]


def _one_team(report: ReportContents, name: str, members: tuple[str, ...]) -> Team:
    standings = report.standings
    others = [other for other in standings.players if other not in members]
    results = (standings.against(member, other) for member in members for other in others)
    played = [member for member in members if standings.players[member].total.games]
    return Team(
        name=name,
        members=members,
        rating=report.ratings.mean(played) if played and report.ratings else None,
        payoff=standings.payoffs.of_team(members) if standings.payoffs else None,
        against_others=sum(results, Tally()),
    )


def _line(line: PerformanceRow) -> dict[str, Any]:
    rest = {name: getattr(line, name) for name in ("wins", "draws", "losses", "low", "high")}
    return {"opening": line.opening, "games": line.games, "score": line.score, **rest}


def _team(team: Team) -> dict[str, Any]:
    figures: Mapping[str, Any] = dict.fromkeys(("elo", "standard_error", "low", "high"))
    if team.payoff is not None:
        figures = team.payoff.to_json()
    elif team.rating is not None:
        figures = team.rating.to_json("elo")
    return {
        "name": team.name,
        "members": list(team.members),
        **figures,
        **team.against_others.to_json(),
    }


@dataclass(slots=True)
class RuleCount:
    """The games that one rule of adjudication decided.

    Attributes:
      rule: its name.
      ended: games that it ended.
      held_out: games played on to an end without a forfeit, as a check.
      wrong: of these, games with another result than the verdict.
    """

    rule: str
    ended: int = 0
    held_out: int = 0
    wrong: int = 0


@dataclass(frozen=True, slots=True)
class Adjudications:
    """The rules of adjudication of a tournament.

    Attributes:
      hold_out: share of the games that are played to their end.
      rules: in the order of the config.
    """

    hold_out: float
    rules: Sequence[RuleCount]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def count_adjudications(store: Store, info: RunInfo) -> Adjudications | None:
    """Return the counts of the rules of a run; None if it has no rules.

    Raises:
      StoreError: the store cannot be read, or a record is malformed.
    """
    hold_out, names = _rules(info)
    if not names:
        return None
    counts = {name: RuleCount(name) for name in names}
    ended: Counter[str] = Counter()
    checked: list[str] = []
    for game_id, seed, termination, detail in store.cells(
        ("game_id", "seed", "termination", "detail")
    ):
        if termination == Termination.ADJUDICATION:
            ended[str(detail).partition(":")[0]] += 1  # as the referee writes it
        elif hold_out and termination not in FORFEITS:
            if not is_int(seed):
                raise damaged(store.path, f"table games, row '{game_id}': seed is not a number")
            if held_out(seed, hold_out):
                checked.append(game_id)
    for name, count in counts.items():
        count.ended = ended[name]
    for game_id in checked:
        _add_held_out(counts, store, game_id)
    return Adjudications(hold_out, list(counts.values()))


def _add_held_out(counts: Mapping[str, RuleCount], store: Store, game_id: str) -> None:
    try:
        returns, verdicts = read_verdicts(store.record(game_id))
    except RecordError as error:
        raise damaged(store.path, f"table records, row '{game_id}': {error}") from error
    for verdict in verdicts:
        count = counts.get(verdict.rule)
        if count is not None:
            count.held_out += 1
            count.wrong += ranks_of(verdict.returns) != ranks_of(returns)


def _rules(info: RunInfo) -> tuple[float, list[str]]:
    """Return the share of games that is held out, and the names of the rules."""
    section = info.adjudication()
    share, names = section.get("hold_out"), section.get("order")
    if not isinstance(share, (int, float)) or not isinstance(names, list):
        return 0.0, []
    return float(share), [str(name) for name in names]
