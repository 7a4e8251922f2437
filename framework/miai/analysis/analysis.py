"""The analysis of a recorded game: what each move lost, what was better, and who played how well.

Where nothing is hidden and two players share a constant sum, a move lost the difference between the
values of the positions before and after it. Elsewhere it lost what the analyst, in the player's
place and with what the player had observed, gives the best action more than the one played; beside
it stands what the move lost in the true position. The best action loses nothing.

A worker's task is a few decisions of one player. Its agent begins with a seed that the first of
them determines and observes the game up to each, so that a task gives the same result in any order,
in any process, and after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypedDict

from miai.agent import Agent
from miai.api import analyst_of, make_agent, recorded_game, renderer_for
from miai.errors import ConfigError, MiaiError, WorkerError
from miai.files import Journal, writing
from miai.game import Game, GameInfo, State
from miai.plain import Json
from miai.playing.match import InProcessSeat
from miai.playing.opponents import Analyst
from miai.plugins.kinds import AGENT
from miai.plugins.loader import registry
from miai.process.processors import available_processors
from miai.process.workers import Job, Performer, WorkerPool
from miai.progress import Progress
from miai.record import GameRecord, Termination
from miai.record_reader import read_record
from miai.render import estimate_of
from miai.search.protocol import Search
from miai.search.worlds import OpenSearch
from miai.seeds import derive_seed
from miai.values import Evaluation, ValueUnit, is_win_or_loss

SCHEMA: Final = "miai.analysis/1"
MISTAKES: Final = 5
"""Number of mistakes that are listed."""
PHASES: Final = ("beginning", "middle", "end")
"""Equal thirds of a game's plies."""
_TOGETHER: Final = 10
"""Decisions in a task where following a belief from the start takes long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What somebody expects of a decision.

    Attributes:
      value: of the position, for the acting player; None if unknown.
      line: the best action, and the play expected after it.
      loss: how much less the action played is worth, in the value's unit; None if unknown.
    """

    value: Evaluation | None
    line: tuple[int, ...]
    loss: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMove:
    """One decision of a player.

    Attributes:
      ply, actor, action: as in the record.
      assessment: of the analyst, who knows what the player knew.
      truth: of a search that sees everything, in a game that hides information; else None.
      points: what the move lost in points; None if the analyst does not count them.
      information: of an action that is to gain information, the bits that it was to gain, the most
        that one was to gain, and that action; empty if the analyst does not count them.
      gained: bits that it gained, by the worlds that it excluded; None if unknown.
    """

    ply: int
    actor: int
    action: int
    assessment: Assessment
    truth: Assessment | None
    points: float | None
    information: tuple[float, ...]
    gained: float | None

    @property
    def best(self) -> bool:
        """Whether the action is the analyst's, or no worse."""
        return self.action == self.assessment.line[0] or self.assessment.loss == 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How a game may end, in the analyst's opinion of a position.

    Attributes:
      estimate: what the renderer of the game draws of it; see `miai.render.EstimatingRenderer`.
      lead: of the first player in points; None if unknown.
    """

    estimate: Json
    lead: float | None

    def text(self, info: GameInfo) -> str:
        """Return who leads: ``Black leads by 2.4``; empty if unknown."""
        if self.lead is None:
            return ""
        leader = info.player_names[int(self.lead < 0)].capitalize()
        return f"{leader} leads by {abs(self.lead):.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSummary:
    """How well a player played.

    Attributes:
      moves: number of its decisions whose loss is known.
      best: share of them that the analyst would have taken; None without any.
      loss: mean loss of a move; None if unknown.
      points: mean loss in points; None if unknown.
      phases: mean loss in each of the `PHASES`.
    """

    moves: int
    best: float | None
    loss: float | None
    points: float | None
    phases: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What was found out about a game.

    Attributes:
      record, game: the game.
      setup: the analyst, its parameters and its seed.
      moves: the decisions judged so far, in the game's order.
      curve: for each position judged, its number, the player and the value: the first player's
        in games of two players and constant sum, else that player's own.
      truth: the same, of true positions in a game that hides information.
      outlooks: how the game may end, by the number of the position.
      judged, total: number of positions that are judged, and that there are.
      failure: why the rest is missing; empty if nothing failed.
    """

    record: GameRecord
    game: Game
    setup: JudgingSetup
    moves: Sequence[JudgedMove]
    curve: Sequence[tuple[int, int, Evaluation]]
    truth: Sequence[tuple[int, int, Evaluation]]
    outlooks: Mapping[int, Outlook]
    judged: int
    total: int
    failure: str = ""

    @property
    def analyst(self) -> str:
        """The analyst and its parameters in words."""
        settings = (f"{name}={value}" for name, value in self.setup["parameters"].items())
        return " ".join([self.setup["agent"], *settings])

    def mistakes(self, most: int | None = MISTAKES) -> list[JudgedMove]:
        """Return the moves that lost a notable amount, the largest first; None for all."""
        info = self.game.info
        lost = [move for move in self.moves if _share(move.assessment, info) >= _NOTABLE]
        lost.sort(
            key=lambda move: (-_share(move.assessment, info), -(move.points or 0.0), move.ply)
        )
        return lost[:most]

    def summary(self, player: int) -> PlayerSummary:
        """Return how well a player played."""
        judged = (move for move in self.moves if move.assessment.loss is not None)
        own = [move for move in judged if move.actor == player]
        size = max(1, len(self.record.moves))
        parts: list[list[JudgedMove]] = [[] for _ in PHASES]
        for move in own:
            parts[min(move.ply * len(PHASES) // size, len(PHASES) - 1)].append(move)
        return PlayerSummary(
            moves=len(own),
            best=fmean(move.best for move in own) if own else None,
            loss=_mean(move.assessment.loss for move in own),
            points=_mean(move.points for move in own),
            phases=tuple(_mean(move.assessment.loss for move in part) for part in parts),
        )


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


_NOTABLE: Final = 0.02
"""Share of the range of values from which on a loss is a mistake."""
_PAWNS: Final = 15.0
"""Pawns that count as the range of evaluations in centipawns."""


def _share(assessment: Assessment, info: GameInfo) -> float:
    """Return a loss as a share of the range of values, so that units can be compared."""
    unit = assessment.value.unit if assessment.value is not None else ValueUnit.SCORE
    low, high = info.min_utility, info.max_utility
    ranges = {ValueUnit.PROBABILITY: 1.0, ValueUnit.CENTIPAWNS: 100 * _PAWNS, ValueUnit.SCORE: 1.0}
    return (assessment.loss or 0.0) / ranges.get(unit, (high - low) or 1.0)


# -- running --------------------------------------------------------------------------------------


def analyze(
    record: GameRecord,
    *,
    analyst: Analyst | None = None,
    simulations: int | None = None,
    seed: int = 0,
    journal: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    deadline: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Analysis:
    """Judge a game; return the analysis, of a part of it if the analyst failed or was stopped.

    Args:
      record: a record that `miai.playing.replay.replay` accepts.
      analyst: who judges; None for the strongest that is installed.
      simulations: budget of a decision; None for the analyst's own.
      seed: of the analyst's randomness: the same seed and budget give the same analysis.
      journal: the file that keeps judgements, with which the same call goes on; None for none.
      workers: maximum number of processes; None for all processors.
      deadline: maximum number of seconds for a task, which are a few positions in a game that
        hides information, else one; a process that takes longer is killed. None for no limit.
      stopped: asked once a second and after each task.

    Raises `MiaiError` if the game or the analyst cannot be loaded, `ConfigError` if the journal
    cannot be written.
    """
    game = recorded_game(record.game, record.game_parameters)
    setup = setup_of(record, analyst or analyst_of(game), simulations, seed)
    component = registry().get(AGENT, setup["agent"], game=record.game)
    component.fill(setup["parameters"], where="analyst")
    known = {} if journal is None else _judgements(journal, setup)
    tasks = tasks_of(record, game)
    total = sum(len(task["plies"]) for task in tasks)
    remaining = [task for task in tasks if not set(task["plies"]) <= set(known)]
    if progress is not None:
        progress.begin(done=len(known), total=total)
    failure = ""
    try:
        most = workers or available_processors()
        for judged in _results(remaining, setup, most, deadline, stopped):
            known |= {judgement["ply"]: judgement for judgement in judged}
            if journal is not None:
                with writing(journal, ConfigError):
                    Journal(journal, sync=False).append(judged)
            if progress is not None:
                progress.reach(len(known), "positions judged", every=5.0)
    except WorkerError as error:
        failure = f"the analyst {setup['agent']} failed: {error}"
    finally:
        if progress is not None:
            progress.close()
    return replace(analysis_of(record, game, setup, known), total=total, failure=failure)


def _results(
    tasks: Sequence[Task],
    setup: JudgingSetup,
    most: int,
    deadline: float | None,
    stopped: Callable[[], bool],
) -> Iterator[list[dict[str, Any]]]:
    if not tasks or stopped():
        return
    target, workers = "miai.analysis.analysis:judging", min(most, len(tasks))
    # The name of a job is in the message of its failure.
    jobs = (Job(f"at ply {task['plies'][0] + 1}", dict(task)) for task in tasks)
    with WorkerPool(target, setup, workers=workers, threads=1, job_deadline=deadline) as pool:
        for judged in pool.in_order(jobs, ahead=2 * workers, stopped=stopped):
            yield judged
            if stopped():
                return


def _judgements(path: Path, setup: JudgingSetup) -> dict[int, Any]:
    """Return what a journal has of this analysis; begin it again if it is of another."""
    head = {"schema": SCHEMA, **setup}
    with writing(path, ConfigError):
        entries = Journal(path).read()
        if entries[:1] != [head]:
            Journal(path).replace([head])
            return {}
    return {entry["ply"]: entry for entry in entries[1:]}


# -- losses ---------------------------------------------------------------------------------------


def analysis_of(
    record: GameRecord, game: Game, setup: JudgingSetup, judgements: Mapping[int, Any]
) -> Analysis:
    """Return the analysis that the judgements of a game, by ply, make up."""
    info = game.info
    judged = [judgements[ply] for ply in sorted(judgements)]
    moves = [_move(record, j, judgements, info) for j in judged if j["ply"] < len(record.moves)]
    truths = [{**j["truth"], **_place(j)} for j in judged if j.get("truth")]
    drawn = estimate_of(renderer_for(game))
    outlooks = {
        j["ply"]: Outlook(
            estimate=j[drawn], lead=j["score"] * (-1) ** j["actor"] if "score" in j else None
        )
        for j in judged
        if drawn in j and info.perfect_information and info.num_players == 2
    }
    return Analysis(
        record=record,
        game=game,
        setup=setup,
        moves=moves,
        curve=_curve(judged, info),
        truth=_curve(truths, info),
        outlooks=outlooks,
        judged=len(judged),
        total=len(judged),
    )


def _curve(judged: Iterable[Any], info: GameInfo) -> list[tuple[int, int, Evaluation]]:
    points = ((j["ply"], j["actor"], _evaluation(j, info)) for j in judged)
    return [
        (ply, actor, value.of_first_player(actor, info)) for ply, actor, value in points if value
    ]


def _evaluation(judgement: Any, info: GameInfo) -> Evaluation | None:
    """Return the value of a judgement; a utility of a win or a loss is an expected one."""
    value = Evaluation.from_statistics(judgement)
    if value is not None and value.unit is ValueUnit.UTILITY and is_win_or_loss(info):
        return replace(value, unit=ValueUnit.EXPECTED_UTILITY)
    return value


def _move(
    record: GameRecord, judgement: Any, judgements: Mapping[int, Any], info: GameInfo
) -> JudgedMove:
    ply = judgement["ply"]
    move, following = record.moves[ply], judgements.get(ply + 1)
    truth = None
    if judgement.get("truth"):
        after = None if following is None else {**(following["truth"] or {}), **_place(following)}
        own = {**judgement["truth"], **_place(judgement), "played": None}
        truth = _assessment(record, own, after, info)
    known = following if info.perfect_information else None
    return JudgedMove(
        ply=ply,
        actor=move.actor,
        action=move.action,
        assessment=_assessment(record, judgement, known, info, ended=info.perfect_information),
        truth=truth,
        points=_points(judgement, known, move.action),
        information=tuple(judgement.get("information", ())),
        gained=_gained(judgement, following),
    )


def _gained(judgement: Any, following: Any) -> float | None:
    """Return the bits that an action gained whose player is the next to act."""
    if "information" not in judgement or not following or "worlds" not in following:
        return None
    same = following["actor"] == judgement["actor"]
    return log2(judgement["worlds"] / following["worlds"]) if same else None


def _place(judgement: Any) -> dict[str, int]:
    return {"ply": judgement["ply"], "actor": judgement["actor"]}


def _assessment(
    record: GameRecord, judgement: Any, following: Any, info: GameInfo, *, ended: bool = True
) -> Assessment:
    """Return what a judgement says of an action, by the next position if that can be compared."""
    action, actor = record.moves[judgement["ply"]].action, judgement["actor"]
    value, line = _evaluation(judgement, info), tuple(judgement["line"])
    last = len(record.moves) - 1
    assessment = Assessment(value=value, line=line)
    if value is None:
        return assessment
    played = judgement["played"]
    after = None if played is None else replace(value, value=played)
    if info.num_players == 2 and info.utility_sum is not None and not info.simultaneous:
        if following is not None:
            after = _evaluation(following, info)
            if after is not None and following["actor"] != actor:
                after = after.of_first_player(1, info)  # the other's value as this player's
        elif ended and record.termination is Termination.TERMINAL and judgement["ply"] == last:
            after = Evaluation(record.returns[actor], ValueUnit.EXPECTED_UTILITY)
    if action == line[0]:
        return replace(assessment, loss=0.0)
    utilities = {ValueUnit.UTILITY, ValueUnit.EXPECTED_UTILITY}
    if after is None or (after.unit != value.unit and not {after.unit, value.unit} <= utilities):
        return assessment
    return replace(assessment, loss=max(0.0, value.value - after.value))


def _points(judgement: Any, following: Any, action: int) -> float | None:
    """Return what an action lost in points, by the margins after it and after the best one."""
    best = judgement["line"][0]
    if action == best and "scores" in judgement:
        return 0.0
    margin: float | None = next(
        (margin for a, margin in judgement.get("scores", ()) if a == best), None
    )
    if margin is None or following is None or "score" not in following:
        return None
    same = following["actor"] == judgement["actor"]
    after: float = following["score"] if same else -following["score"]
    return max(0.0, margin - after)


# -- what a worker process does -------------------------------------------------------------------


class Task(TypedDict):
    """Decisions to judge: those before the actions `plies` of a record, all of one player."""

    player: int
    plies: list[int]


def tasks_of(record: GameRecord, game: Game) -> list[Task]:
    """Return what there is to judge: each decision, and the position at which a game stopped."""
    state = game.new_initial_state()
    for move in record.moves:
        state.apply_action(move.action)
    actors = [*(move.actor for move in record.moves), int(state.next_actor())]
    alone = game.info.perfect_information
    tasks: list[Task] = []
    for player in range(game.num_players()):
        plies = [ply for ply, actor in enumerate(actors) if actor == player]
        step = 1 if alone else _TOGETHER
        parts = (plies[begin : begin + step] for begin in range(0, len(plies), step))
        tasks += [{"player": player, "plies": part} for part in parts]
    return sorted(tasks, key=lambda task: task["plies"])


class JudgingSetup(TypedDict):
    """A record as JSON lines, and who judges it."""

    record: str
    agent: str
    parameters: dict[str, Any]
    seed: int


def setup_of(
    record: GameRecord, analyst: Analyst, simulations: int | None, seed: int
) -> JudgingSetup:
    """Return what an analysis depends on; without simulations, by the analyst's own budget.

    What people add to a record changes no judgement of its moves.
    """
    budget = {} if simulations is None else {analyst.budget: simulations}
    return {
        "record": replace(record, comments=[], variations=[], marks=[]).to_json_lines(),
        "agent": analyst.agent,
        "parameters": {**analyst.parameters, **budget},
        "seed": seed,
    }


@contextmanager
def judging(setup: JudgingSetup) -> Iterator[Performer]:
    """Make what performs tasks."""
    record, parameters = read_record(setup["record"]), setup["parameters"]
    game = recorded_game(record.game, record.game_parameters)
    agent = make_agent(setup["agent"], game, **parameters)
    truth: Search | None = None
    if not game.info.perfect_information:
        analyst = analyst_of(game)
        budget = int(parameters.get(analyst.budget, 1000))
        truth = analyst.truth(budget) if analyst.truth else OpenSearch(game, budget)
    try:
        yield lambda task: judge(record, game, agent, truth, task, seed=setup["seed"])
    finally:
        agent.close()


def judge(
    record: GameRecord, game: Game, agent: Agent, truth: Search | None, task: Task, *, seed: int
) -> list[dict[str, Json]]:
    """Return the judgements of a task, as the analysis' journal stores them."""
    seat, player, plies = InProcessSeat(agent), task["player"], task["plies"]
    kept = *_KEPT, *filter(None, [estimate_of(renderer_for(game))])
    seat.new_game(derive_seed(seed, "analysis", plies[0]), player=player, log=None)
    state, judgements = game.new_initial_state(), []
    for ply in range(plies[-1] + 1):
        observation = state.observation(player)
        if observation is not None:
            seat.observe(observation)
        action = record.moves[ply].action if ply < len(record.moves) else None
        if ply in plies:
            judgement = {"ply": ply, "actor": player, **_of_agent(agent, action, kept)}
            if truth is not None:
                truth.new_game(derive_seed(seed, "truth", ply))
                judgement["truth"] = _of_position(truth, state, player)
            judgements.append(judgement)
        if action is not None:
            state.apply_action(action)
    return judgements


_KEPT: Final = ("score", "scores", "information", "worlds")
"""Statistics that a judgement keeps, beside the estimate that a renderer draws."""


def _of_agent(agent: Agent, action: int | None, kept: Iterable[str]) -> dict[str, Json]:
    decision, played = agent.judge(action)
    figures = decision.statistics
    line = figures.get("pv")
    line = line if isinstance(line, list) and line[:1] == [decision.action] else [decision.action]
    evaluation = Evaluation.from_statistics(figures)
    return {
        "line": line,
        "played": played,
        **({} if evaluation is None else evaluation.statistics()),
        **{key: figures[key] for key in kept if key in figures},
    }


def _of_position(truth: Search, state: State, player: int) -> Json:
    """Return what is best in a true position; None where its search cannot say."""
    if state.acting_players()[0] != player:
        return None  # of a decision that several players take at once
    try:
        result = truth.search(state)
    except MiaiError:
        return None
    return {"line": list(result.pv[:10]), **Evaluation(result.value, result.unit).statistics()}
