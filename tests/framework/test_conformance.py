"""The conformance kit passes good games and agents, and names what is wrong with broken ones."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.framework import broken_agents
from tests.framework.broken_agents import RULES, KeepsItsGenerator, Learns, RewritesData
from tests.framework.broken_games import BROKEN, Outcomes, TellsWhatIsBarred, finding, game_dealt_by
from tests.framework.histories import TTT, state_after
from tests.slow import with_slow
from tests.whole_texts import assert_expected

import miai
from miai import Agent, ClockReading, Decision, EnumeratedBelief, Game, State
from miai.api import game_names
from miai.beliefs.problem import GameProblem
from miai.errors import GameFailedError, ParameterError, UnsuitableGameError
from miai.testing import (
    AGENT_RULES,
    GAME_RULES,
    ConformanceError,
    check_agent,
    check_game,
    path_to_state,
)

GAMES = ("tic_tac_toe", "phantom_tic_tac_toe", "kuhn_poker")
OBSERVERS = ("single", "multi")
LONG = [n for n in BROKEN if re.search("Refusals|Hidden|Silent|Die|Mover", n)]
"""Broken games of which some are checked for most of a second."""


# -- games ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", with_slow(BROKEN, *LONG))
def test_a_broken_game_is_caught_by_the_right_rule(name: str) -> None:
    broken = BROKEN[name]
    with pytest.raises(ConformanceError) as caught:
        check_game(broken.make(), **{"games": 1, **broken.options})
    assert broken.rule in caught.value.rules, caught.value
    if broken.rule != "deterministic":
        assert_expected(f"broken-games/{name}.txt", finding(caught.value, broken.rule))


def test_the_referee_stops_a_game_that_forgets_to_declare_chance() -> None:
    game = BROKEN["ForgetsThatItHasChance"].make()
    with pytest.raises(GameFailedError, match="max_chance_outcomes is 0; set it above"):
        miai.play(game, [miai.RandomAgent(game), miai.RandomAgent(game)], seed=1)


def test_every_rule_of_games_has_a_game_that_breaks_it() -> None:
    assert {broken.rule for broken in BROKEN.values()} == set(GAME_RULES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_actions_that_depend_on_what_is_hidden_are_found_where_play_does_not_meet_them(
    seed: int,
) -> None:
    """In all states that a player cannot tell apart, though the game visits few of them."""
    broken = BROKEN["BarsACellBesideHiddenMarks"]
    with pytest.raises(ConformanceError) as caught:
        check_game(broken.make(), seed=seed, games=3)
    (violation,) = caught.value.violations
    assert violation.rule == "legal-actions-leak"
    # The two lists that the message names are those of two states told apart by nothing.
    state = state_after(broken.make(), *violation.actions)
    assert str(state.legal_actions()) in violation.message


def test_the_check_finds_what_belief_search_refuses() -> None:
    game = BROKEN["BarsACellBesideHiddenMarks"].make()
    problem = GameProblem(game, 0)
    states = [state_after(game, 4, 0, 2, last) for last in (6, 1)]
    output = {state.information_state_string(0) for state in states}
    assert len(output) == 1
    with pytest.raises(UnsuitableGameError):
        problem.public(states)


def test_the_list_of_actions_may_carry_information() -> None:
    """Where its information state has what the list tells, nothing depends on what is hidden."""
    assert check_game(TellsWhatIsBarred(), games=1).beliefs > 5


@pytest.mark.parametrize("name", with_slow(game_names(), "dark-chess"))
def test_no_shipped_game_has_actions_that_depend_on_what_is_hidden(name: str) -> None:
    game = miai.load_game(name)
    report = check_game(game, games=1, max_plies=5, worlds=500)
    assert (report.games, report.positions >= 4) == (1, True)
    assert (report.beliefs > 0) != game.info.perfect_information


def test_the_error_lists_rule_seed_and_reproducing_actions() -> None:
    broken = BROKEN["SerialisesWithoutRefusals"]
    with pytest.raises(ConformanceError) as caught:
        check_game(broken.make(), seed=3, games=1)
    (violation,) = caught.value.violations
    assert violation.rule == "serialise"
    assert f"seed 3, actions {list(violation.actions)}" in str(caught.value)
    with pytest.raises(ConformanceError) as other:
        check_game(broken.make(), seed=4, games=1)
    assert other.value.violations[0].actions != violation.actions
    game = broken.make()
    state = state_after(game, *violation.actions)
    assert game.deserialize(state.serialize()).key() != state.key()


def test_all_broken_rules_are_listed_once() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_game(BROKEN["HoldsTheCentreForLegal"].make(), games=3)
    assert sorted(caught.value.rules) == ["illegal-action", "legal-actions"]


def test_a_rule_can_be_skipped_but_not_misspelt() -> None:
    check_game(BROKEN["ListsActionsDownwards"].make(), games=2, skip=["legal-actions"])
    with pytest.raises(ParameterError, match="Did you mean 'legal-actions'"):
        check_game(TTT, skip=["legal-action"])
    check_agent(Learns, TTT, skip=["carried-over"])
    with pytest.raises(ParameterError, match="carried-over"):
        check_agent(Learns, TTT, skip=["carriedover"])


def test_beliefs_that_grow_too_large_are_reported() -> None:
    report = check_game(miai.load_game("phantom_tic_tac_toe"), games=3, worlds=10)
    assert any("more than 10 worlds" in skipped for skipped in report.skipped)


def test_a_game_can_be_stopped_early() -> None:
    report = check_game(miai.load_game("tic_tac_toe"), games=4, max_plies=2)
    assert report.positions == 4 * 3


class Leaning(EnumeratedBelief):
    """Draws honestly, but the true world three times out of five, by luck and not by sight."""

    def sample(self, rng: random.Random) -> State:
        return min((super(Leaning, self).sample(rng) for _ in range(4)), key=str)


@pytest.mark.slow
def test_an_honest_belief_is_not_accused() -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    check_game(game, games=4, belief=Leaning)


def test_a_world_that_is_nearly_certain_may_be_drawn_every_time() -> None:
    """The lowest of the cards that are left is dealt nearly always."""

    def deal(cards: Outcomes) -> Outcomes:
        rare = 0.002 / max(1, len(cards) - 1)
        return [
            (card, rare if n else 1 - rare * (len(cards) - 1)) for n, (card, _) in enumerate(cards)
        ]

    assert check_game(game_dealt_by(deal), games=3).beliefs > 10


# -- agents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_good_agents_pass(name: str) -> None:
    report = check_agent(lambda game: miai.make_agent("random", game), miai.load_game(name))
    assert report.games == 2 * 2 * 5  # seats, games, each thrice and two others between
    assert report.positions > 0


SEARCHES: list[Any] = [
    ("mcts", {"simulations": 10}, "prisoners_dilemma", {"rounds": 3}),
    ("mcts", {"simulations": 11, "temperature": 0.2}, "tic_tac_toe", {}),
    ("ismcts", {"simulations": 10}, "goofspiel", {"num_cards": 3, "imp_info": True, "players": 3}),
    ("ismcts", {"simulations": 11, "temperature": 1.0}, "kuhn_poker", {}),
    *(("ismcts", {"simulations": 24, "observers": o}, g, {}) for o in OBSERVERS for g in GAMES),
    *(("pimc", {"simulations": 24, "worlds": 8}, game, {}) for game in GAMES),
    ("belief-minimax", {"depth": 1, "nodes": 300}, "mini_rbc", {"size": 4, "window": 2}),
    ("belief-minimax", {"depth": 1, "nodes": 300}, "kuhn_poker", {}),
    ("equilibrium", {"iterations": 10}, "kuhn_poker", {}),
    ("equilibrium", {"iterations": 10}, "goofspiel", {"num_cards": 3}),
    ("equilibrium", {"iterations": 10}, "phantom_tic_tac_toe", {}),
]
"""Agents and games, each with its parameters."""


@pytest.mark.parametrize(
    ("agent", "given", "name", "values"),
    with_slow(SEARCHES, *SEARCHES[:4:2], SEARCHES[3], *SEARCHES[-2:]),
)
def test_searches_keep_the_rules_of_agents(
    agent: str, given: dict[str, Any], name: str, values: dict[str, Any]
) -> None:
    """The policies that they state, too, are the same whether they were asked before or not."""
    game, games = miai.load_game(name, **values), 1 if agent in ("mcts", "equilibrium") else 2
    report = check_agent(lambda game: miai.make_agent(agent, game, **given), game, games=games)
    assert report.games >= games


@pytest.mark.parametrize(
    "agent",
    with_slow(RULES, broken_agents.ThinksAgain, broken_agents.SaysThatItIsFixed),
    ids=lambda agent: agent.__name__,
)
def test_a_broken_agent_is_caught_by_the_right_rule(agent: type[Agent]) -> None:
    game = miai.load_game("phantom_tic_tac_toe" if agent is RewritesData else "tic_tac_toe")
    with pytest.raises(ConformanceError) as caught:
        check_agent(agent, game)
    assert caught.value.rules == (RULES[agent],), caught.value
    if RULES[agent] != "seeded":
        message = finding(caught.value, RULES[agent])
        assert_expected(f"broken-agents/{agent.__name__}.txt", message)


class AgreesByLuck(Agent):
    """Unseeded, and in the first seat its two games are alike and its third is not."""

    def __init__(self, game: Game, games: list[int]) -> None:
        super().__init__(game)
        self.games = games  # seeds of all games so far, of every agent

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.games.append(seed)

    def act(self, clock: ClockReading) -> Decision:
        legal = self.view.legal_actions
        return Decision(legal[-1] if len(self.games) in (5, 7) else legal[0])


def test_an_agent_without_a_seed_is_not_accused_of_what_it_carries_over() -> None:
    games: list[int] = []
    game = miai.load_game("tic_tac_toe")
    with pytest.raises(ConformanceError) as caught:
        check_agent(lambda game: AgreesByLuck(game, games), game)
    assert caught.value.rules == ("seeded",), caught.value
    # The two findings that this agent gives rise to, each seen alone.
    games.clear()
    with pytest.raises(ConformanceError) as caught:
        check_agent(lambda game: AgreesByLuck(game, games), game, skip=["seeded"])
    assert caught.value.rules == ("carried-over",), caught.value


def test_every_rule_of_agents_has_an_agent_that_breaks_it() -> None:
    assert set(RULES.values()) == set(AGENT_RULES)


def test_state_carried_between_games_is_found_in_hidden_move_games() -> None:
    for agent in (Learns, KeepsItsGenerator):
        with pytest.raises(ConformanceError) as caught:
            check_agent(agent, miai.load_game("phantom_tic_tac_toe"))
        assert caught.value.rules == ("carried-over",)


class Resigns(Agent):
    """Plays one move and gives up."""

    closed = 0

    def act(self, clock: ClockReading) -> Decision:
        action = self.view.legal_actions[0]
        return Decision(action, resign=len(self.view.observations) > 3)

    def close(self) -> None:
        Resigns.closed += 1


def test_an_agent_may_resign_and_is_closed() -> None:
    before = Resigns.closed
    check_agent(Resigns, miai.load_game("tic_tac_toe"), games=1)
    assert Resigns.closed == before + 2 * 2


# -- reach ------------------------------------------------------------------------------------


class Slotted:
    __slots__ = ("empty", "held")

    def __init__(self, held: object) -> None:
        self.held = held


def test_a_state_is_found_through_whatever_leads_to_it() -> None:
    state = miai.load_game("tic_tac_toe").new_initial_state()
    assert path_to_state([state]) == ""  # nothing was played: it tells nothing
    state.apply_action(4)

    def closure() -> State:
        return state

    assert path_to_state(state) == ""[:0]
    assert path_to_state({"a": [0, (1, state)]}) == "['a'][1][1]"
    assert path_to_state(Slotted(Slotted(state))) == ".held.held"
    assert path_to_state([closure]) == "[0]<state>"
    assert path_to_state(state.clone) == ".__self__"
    assert path_to_state(partial(print, state)) == ""  # by C code: not followed
    loop: list[object] = []
    loop.append(loop)
    assert path_to_state(loop) == ""


# -- pytest -----------------------------------------------------------------------------------

AUTHORS_TEST = """
import miai

def test_good(miai_check_game, miai_check_agent):
    report = miai_check_game("kuhn_poker", games=2)
    assert report.games == 2
    miai_check_agent("random", "kuhn_poker", games=1)
    miai_check_agent(lambda game: miai.make_agent("random", game), miai.load_game("tic_tac_toe"))

def test_parameters(miai_check_game):
    miai_check_game("kuhn_poker", {"antes": 2})

def test_fails(miai_seed):
    assert miai_seed == "something else"
"""


def run_pytest(folder: Path, *options: str) -> str:
    (folder / "test_authors.py").write_text(AUTHORS_TEST, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_fixtures_serve_authors_and_print_the_seed_on_failure(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, "--miai-seed=1234")
    assert "2 failed, 1 passed" in output
    assert "antes: unknown parameter" in output
    assert "repeat with: --miai-seed=1234" in output
    assert "assert 1234 == 'something else'" in output


@pytest.mark.slow
def test_a_test_has_one_seed_of_its_own_until_another_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # faster

    def seed_of(*options: str) -> str:
        (line,) = {
            line.strip()
            for line in run_pytest(
                tmp_path, "-p", "miai.pytest_plugin", *options, "-k", "fails"
            ).splitlines()
            if "repeat with" in line
        }
        return line

    own = seed_of()
    assert seed_of() == own
    assert seed_of("--miai-seed=random") != own
