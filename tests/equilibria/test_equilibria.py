"""Trees, best responses and regret minimisation: OpenSpiel's, by hand and by linear programs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import Policy as OpenSpielPolicy
from scipy.optimize import linprog
from tests.framework import histories
from tests.framework.broken_games import in_states
from tests.framework.tree_games import Choice, End, TreeGame, TreeState
from tests.seeds import seed_of_test
from typer.testing import CliRunner

from miai import Agent, Game, Observation
from miai.api import load_game, make_agent
from miai.cli.app import build_app
from miai.cli.solve import SOLUTION
from miai.equilibria import best_response, expected_values, exploitability, extract
from miai.equilibria.solver import (
    ALGORITHMS,
    Algorithm,
    EquilibriumSolver,
    SolutionHeader,
    averaged,
    run,
)
from miai.equilibria.tree import InformationSet, Policy, Tree
from miai.errors import AgentProtocolError, UnsuitableGameError, WeightsError
from miai.progress import Progress
from miai.tensors import read_tensors
from miai.testing import check_agent
from miai_openspiel.catalogue import parameters_of
from miai_openspiel.games import PREFIX, OpenSpielGame


def load(name: str, **parameters: Any) -> Game:
    """Return a game by name; of OpenSpiel, whose plugin tests do not load, with its prefix."""
    bridged = name.removeprefix(PREFIX)
    if bridged == name:
        return load_game(name, **parameters)
    return OpenSpielGame(bridged, parameters_of(bridged)(**parameters))


class Peer:
    """The game of OpenSpiel that a tree is of, and policies of the tree in it."""

    def __init__(self, tree: Tree) -> None:
        parameters = tree.game.parameters.model_dump(exclude_defaults=True)
        game = pyspiel.load_game(tree.game.info.name.removeprefix(PREFIX), parameters)
        turns = game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        self.tree, self.game = tree, game if turns else pyspiel.convert_to_turn_based(game)
        # Chance's actions are numbered differently, where chance begins.
        ours, theirs = (g.new_initial_state().legal_actions()[0] for g in (tree.game, self.game))
        self.offset = ours - theirs

    def text_of(self, at: InformationSet) -> str:
        state = self.game.new_initial_state()
        for action in at.history:
            state.apply_action(action - self.offset if state.is_chance_node() else action)
        return str(state.information_state_string(at.player))

    def policy(self, policy: Policy) -> OpenSpielPolicy:
        starts, by_text = self.tree.form.starts, {}
        for at in self.tree.information_sets:
            row = policy[starts[at.number] : starts[at.number + 1]].tolist()
            by_text[self.text_of(at)] = dict(zip(at.actions, row, strict=True))

        class Stated(OpenSpielPolicy):  # type: ignore[misc]  # it has no types
            def action_probabilities(self, state: Any, player: Any = None) -> dict[int, float]:
                return by_text[state.information_state_string()]

        return Stated(self.game, [0, 1])


QUICK: list[Any] = [
    ("kuhn_poker", {}),
    ("openspiel:kuhn_poker", {}),
    ("openspiel:liars_dice", {"dice_sides": 2}),
    ("openspiel:liars_dice", {"dice_sides": 3}),
    ("openspiel:dark_hex", {"board_size": 2}),
    ("goofspiel", {"num_cards": 3, "imp_info": True}),
]
LARGER = [
    ("openspiel:leduc_poker", {}),
    ("openspiel:liars_dice", {"dice_sides": 4}),
    ("openspiel:goofspiel", {"num_cards": 4, "imp_info": True}),
]


@pytest.mark.parametrize(
    ("name", "parameters"), QUICK + [pytest.param(*game, marks=pytest.mark.slow) for game in LARGER]
)
def test_exploitability_is_open_spiels(name: str, parameters: Mapping[str, Any]) -> None:
    tree = extract(load(name, **parameters))
    peer, rng = Peer(tree), np.random.default_rng(seed_of_test())
    weights = rng.exponential(size=tree.slots) * (rng.random(tree.slots) > 1 / 3)  # some are 0
    for policy in (tree.uniform(), averaged(weights, tree.form.starts)):
        found = nash_conv(peer.game, peer.policy(policy), return_only_nash_conv=False)
        measured = exploitability(tree, policy)
        assert measured.nash_conv == pytest.approx(found.nash_conv, abs=1e-9)
        gains = np.subtract(measured.best_responses, measured.values)
        assert gains == pytest.approx(found.player_improvements, abs=1e-9)
        value, response = best_response(tree, policy, 1)
        assert expected_values(tree, response)[1] == pytest.approx(value)


@pytest.mark.parametrize(("name", "parameters"), QUICK)
def test_a_walk_over_histories_adds_up_to_the_same(
    name: str, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = extract(load(name, **parameters))
    monkeypatch.setattr(f"{extract.__module__}._MOST_ENTRIES", 0)
    walked = extract(load(name, **parameters))
    assert (walked.is_walked, kept.is_walked) == (True, False)
    weights = np.random.default_rng(seed_of_test()).exponential(size=kept.slots)
    weights[: len(weights) // 3] *= np.arange(len(weights) // 3) % 2  # histories of no probability
    policy = averaged(weights, kept.form.starts)
    assert exploitability(walked, policy).nash_conv == pytest.approx(
        exploitability(kept, policy).nash_conv, abs=1e-12
    )
    with pytest.raises(UnsuitableGameError, match="walked in each iteration"):
        EquilibriumSolver(walked, "cfr")


KUHN = extract(load("kuhn_poker"))


def test_constant_sum_and_a_player_without_decisions() -> None:
    game = TreeGame(Choice(0, (End((1.0, 0.0)), End((0.0, 1.0)))), utility_sum=1.0)
    measured = exploitability(tree := extract(game), tree.uniform())
    assert (measured.values, measured.best_responses) == ((0.5, 0.5), (1.0, 0.5))


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(AgentProtocolError, match=r"sum to 0.9, .* player 0 after the actions"):
        KUHN.policy_from(lambda at: {0: 0.9})
    rounded = KUHN.policy_from(lambda at: {0: 0.5, 1: 0.5 + 5e-7})
    assert rounded[:2].sum() == pytest.approx(1.0, abs=1e-15)


class Silent(TreeState):
    """Tells players nothing."""

    def observation(self, player: int) -> Observation | None:
        return None


class Forgetful(TreeState):
    """Observes everything, and writes nothing."""

    def information_state_string(self, player: int) -> str:
        return ""


class Turning(TreeState):
    """Takes a position after an action for the start, or for each other."""

    def key(self) -> int:
        return min(1, len(self.history()) // 2)


def odd(states: type[TreeState], mover: int, *choices: tuple[End, ...]) -> Game:
    """Return a game in which player 0 decides after a player's action, with states of a class."""

    tree = Choice(mover, tuple(Choice(0, ends) for ends in choices))
    game: Game = in_states(TreeGame, lambda game: states(game))(tree)
    return game


ENDS = (End((1.0, -1.0)), End((-1.0, 1.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load("pig"), "pig: has 3 players; exp"),
        (lambda: TreeGame(Choice(0, ENDS), utility_sum=None), "no constant sum"),
        (
            lambda: TreeGame(Choice(1, (End((1.0, -0.5)), *ENDS))),
            r"the returns 1 and -0.5 after the actions \[0\] do not sum to 0",
        ),
        (lambda: load("phantom_tic_tac_toe"), r"about \d.\de\+10 .*from 500 .*limit is 57\."),
        (lambda: load("kuhn_poker"), "has more than 57 histories"),
        (lambda: odd(Turning, 0, ENDS, ENDS), "a state can recur, so a game may never end"),
        (
            lambda: TreeGame(Choice(0, (*[ENDS[0]] * 10, *[Choice(0, ENDS * 2)] * 10)), merge=True),
            "has 61 histories, and the limit is 57",  # of 4 worlds
        ),
        (lambda: odd(Silent, 0, ENDS, ENDS), r"the same observations .* \[\] and \[0\]"),
        (lambda: odd(Silent, 1, ENDS, ENDS[:1]), r"the same observations .* \[0\] and \[1\]"),
        (lambda: odd(Forgetful, 0, ENDS, ENDS), r"its information state after .* \[\] and \[0\]"),
        (lambda: TreeGame(ENDS[0]), "players never decide"),
    ],
)
def test_what_cannot_be_measured_is_refused(make: Callable[[], Game], message: str) -> None:
    with pytest.raises(UnsuitableGameError, match=message):
        extract(make(), max_histories=57)


# -- regret minimisation: OpenSpiel's iterates, the values of linear programs, files, the agent ---


SLOW = pytest.mark.slow


def payoffs_of(tree: Tree) -> Any:
    """Return what a player's sequences earn against the other's, (s + 2, s + 2)."""
    payoffs = np.zeros((tree.slots + 2, tree.slots + 2))
    rows = np.repeat(np.arange(tree.slots + 2), np.diff(tree.form.offsets))
    payoffs[rows, tree.form.columns] = tree.form.payoffs
    return payoffs


def value_of(tree: Tree) -> float:
    """Return the value for player 0, by the linear program of the sequence form."""
    form, size, sets = tree.form, tree.slots + 2, len(tree)
    plans = np.zeros((sets + 2, size))
    for i, (start, end) in enumerate(pairwise(form.starts)):
        plans[i, start:end], plans[i, form.parents[i]] = 1, -1  # an equation for each plan
    plans[-2, -2] = plans[-1, -1] = 1
    first = plans[[*range(form.bounds[1]), sets]]
    second = plans[[*range(form.bounds[1], sets), sets + 1]]
    payoffs = payoffs_of(tree)
    payoffs[[*range(form.starts[form.bounds[1]]), -2]] = 0  # those of player 1 remain
    # Maximise the last of v, where x is a plan of player 0, and second' v <= -payoffs x.
    found = linprog(
        np.repeat([0.0, -1.0], [size + len(second) - 1, 1]),
        A_ub=np.hstack([payoffs, second.T]),
        b_ub=np.zeros(size),
        A_eq=np.hstack([first, np.zeros((len(first), len(second)))]),
        b_eq=np.repeat([0.0, 1.0], [len(first) - 1, 1]),
        bounds=[(0, None)] * size + [(None, None)] * len(second),
    )
    return tree.constant / 2 - float(found.fun)


@pytest.mark.parametrize(
    ("name", "parameters", "value", "bounds"),
    [
        ("kuhn_poker", {}, -1 / 18, (2e-3, 2e-4, 1e-7)),  # prediction squares the rate here
        ("openspiel:liars_dice", {"dice_sides": 3}, 1 / 9, (2e-2, 1e-4, 1e-4)),
        pytest.param("openspiel:leduc_poker", {}, -0.0856, (2e-2, 1e-3, 1e-3), marks=SLOW),
    ],
)
def test_the_value_is_that_of_the_linear_program(
    name: str, parameters: Any, value: float, bounds: tuple[float, ...]
) -> None:
    tree = extract(load(name, **parameters))
    assert value_of(tree) == pytest.approx(value, abs=1e-4)
    for algorithm, bound in zip(ALGORITHMS, bounds, strict=True):
        solver = EquilibriumSolver(tree, algorithm)
        solver.advance(1000)
        found = exploitability(tree, solver.average())
        assert -1e-12 < found.exploitability < bound, algorithm
        assert found.values[0] == pytest.approx(value_of(tree), abs=2 * bound)


@pytest.mark.parametrize(
    ("name", "iterations"),
    [("kuhn_poker", 40), pytest.param("openspiel:leduc_poker", 6, marks=SLOW)],
)
@pytest.mark.parametrize(
    ("algorithm", "peer_solver"), [("cfr", cfr.CFRSolver), ("cfr+", cfr.CFRPlusSolver)]
)
def test_iterates_are_open_spiels(
    name: str, iterations: int, algorithm: Algorithm, peer_solver: Any
) -> None:
    tree = extract(load(name))
    peer, solver = Peer(tree), EquilibriumSolver(tree, algorithm)
    reference = peer_solver(peer.game)

    def stated(at: InformationSet) -> dict[int, float]:
        row = average.action_probability_array[average.state_lookup[peer.text_of(at)]]
        return {action: row[action] for action in at.actions}

    for _ in range(iterations):
        reference.evaluate_and_update_policy()
        solver.advance(1)
        average = reference.average_policy()
        assert np.abs(solver.average() - tree.policy_from(stated)).max() < 1e-9


def test_predictive_iterates_are_those_of_the_paper() -> None:
    """PCFR+ with dense matrices (Farina et al. 2021, algorithm 2, and section 4 for trees)."""
    form, size, policy = KUHN.form, KUHN.slots + 2, KUHN.uniform()
    payoffs, sets = payoffs_of(KUHN), [slice(*ends) for ends in pairwise(form.starts)]
    solver, regrets = EquilibriumSolver(KUHN, "pcfr+"), np.zeros(KUHN.slots)
    for _ in range(50):
        for player in range(2):
            plan = np.ones(size)
            for own, parent in zip(sets, form.parents, strict=True):
                plan[own] = plan[parent] * policy[own]
            observed, predicted = payoffs @ plan, payoffs @ plan
            for i in range(form.bounds[player + 1] - 1, form.bounds[player] - 1, -1):
                own, old = sets[i], policy[sets[i]].copy()
                regrets[own] += observed[own] - old @ observed[own]
                regrets[own] = np.maximum(regrets[own], 0)
                theta = np.maximum(regrets[own] + predicted[own] - old @ predicted[own], 0)
                policy[own] = theta / theta.sum() if theta.any() else 1 / len(old)
                observed[form.parents[i]] += old @ observed[own]
                predicted[form.parents[i]] += policy[own] @ predicted[own]
        solver.advance(1)
        assert np.abs(solver._tables[2] - policy).max() < 1e-9


def test_a_run_continues_bit_for_bit(tmp_path: Path) -> None:
    whole, parts = EquilibriumSolver(KUHN, "pcfr+"), EquilibriumSolver(KUHN, "pcfr+")
    run(whole, 300, tmp_path / "whole", Progress(file=StringIO()))
    run(parts, 30, tmp_path / "parts", Progress(file=StringIO()))
    parts.advance(20)  # to a milestone that is not measured yet
    parts.save(tmp_path / "parts")
    again = EquilibriumSolver(KUHN, "pcfr+")
    again.load(tmp_path / "parts")
    run(again, 300, tmp_path / "parts", Progress(file=StringIO()))
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@SLOW
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_was_stopped_is_continued(tmp_path: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "miai", "solve", "kuhn_poker", "--iterations", "500000"]
    folders = [tmp_path / name for name in ("whole", "stopped")]
    subprocess.run([*command, "--out", str(folders[0])], check=True, capture_output=True)
    stopped = [*command, "--out", str(folders[1])]
    process = subprocess.Popen(stopped, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (folders[1] / SOLUTION).exists():
        time.sleep(0.01)
    process.send_signal(stop)
    errors = process.communicate()[1]
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert b"the same command continues" in errors
    again = subprocess.run(stopped, check=True, capture_output=True, text=True)
    assert "continuing after" in again.stdout
    for name in (SOLUTION, "convergence.csv", "convergence.svg"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_the_agent_plays_what_the_command_solved(tmp_path: Path) -> None:
    words = ["solve", "goofspiel", "--set", "num_cards=3", "--iterations", "50", "--out"]
    result = CliRunner().invoke(build_app(), [*words, str(tmp_path)], catch_exceptions=False)
    assert "418 histories, 114 information sets, 234 actions" in result.output
    solver = EquilibriumSolver(tree := extract(load("goofspiel", num_cards=3)), "pcfr+")
    run(solver, 50, tmp_path / "again", Progress(file=StringIO()))
    count, value, regret = solver.rows[-1]
    assert f"{count:10,}  {value:25.6f}  {regret:14.3e}" in result.output

    def make(game: Game) -> Agent:
        return make_agent("solved", game, file=str(tmp_path / SOLUTION))

    agent = make(tree.game)
    policy = tree.policy_from(
        lambda it: histories.at(agent, *it.history, player=it.player).policy() or {}
    )
    assert policy == pytest.approx(solver.average(), abs=1e-15)
    check_agent(make, tree.game, seed=1)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("pig", "has 3 players"),
        ("prisoners_dilemma", "no constant sum of returns"),
        ("phantom_tic_tac_toe", "its tree has about"),
    ],
)
def test_the_command_refuses_what_it_cannot_solve(game: str, reason: str) -> None:
    refused = CliRunner().invoke(build_app(), ["solve", game])
    assert isinstance(refused.exception, UnsuitableGameError)
    assert reason in str(refused.exception)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path, solver = tmp_path / SOLUTION, EquilibriumSolver(KUHN, "cfr")
    solver.advance(1)
    solver.save(path)
    with pytest.raises(WeightsError, match=r"is for kuhn_poker \(version 1, .*, not for goofspiel"):
        make_agent("solved", load("goofspiel"), file=str(path))
    refused = CliRunner().invoke(build_app(), ["solve", "kuhn_poker", "--out", str(path)])
    assert "solution.safetensors: cannot be written" in str(refused.exception)
    with pytest.raises(WeightsError, match="was made by cfr on the tree"):
        EquilibriumSolver(KUHN, "cfr+").load(path)
    header, (tensors, _) = SolutionHeader.read(path), read_tensors(path)
    infinite = np.full((3, KUHN.slots), np.inf).view(np.int64)
    for name, wrong in (("tables", infinite), ("starts", tensors["starts"] + 1)):
        header.write(path, {**tensors, name: wrong})
        with pytest.raises(WeightsError, match="its tensors do not fit"):
            make_agent("solved", KUHN.game, file=str(path))
