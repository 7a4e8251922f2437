"""What a worker process does: judge positions of a recorded game.

A task is a few decisions of one player. Its agent begins with a seed that the first of them
determines and observes the game up to each, so that a task gives the same result in any order, in
any process, and after an interruption.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypedDict

from miai.agent import Agent
from miai.api import analyst_of, make_agent, recorded_game, renderer_for
from miai.errors import MiaiError
from miai.game import Game, State
from miai.plain import Json
from miai.playing.match import InProcessSeat
from miai.playing.opponents import Analyst
from miai.process.workers import Performer
from miai.record import GameRecord
from miai.record_reader import read_record
from miai.render import estimate_of
from miai.search.protocol import Search
from miai.search.worlds import OpenSearch
from miai.seeds import derive_seed
from miai.values import Evaluation

_TOGETHER: Final = 10
"""Decisions in a task where following a belief from the start takes long."""


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
